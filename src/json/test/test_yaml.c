/* test_yaml.c - YAML in and out. What is expected here is what sigs.k8s.io/yaml 1.6 answers, but
 * for a single y or n. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/kj.h"

static void assert_reads(const char *yaml, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };

    if (kj_parse_yaml(yaml, strlen(yaml), 0, &doc, &err) < 0)
        fail_msg("%s: %s", yaml, err.text);
    kj_write(kj_root(doc), 0, &b);
    assert_string_equal(strbuf_str(&b), json);
}

static void assert_refused(const char *yaml, const char *message)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (kj_parse_yaml(yaml, strlen(yaml), 0, &doc, &err) != -EINVAL)
        fail_msg("accepted: %s", yaml);
    if (!strstr(err.text, message))
        fail_msg("'%s' lacks '%s'", err.text, message);
    assert_null(doc);
}

static void assert_writes(const char *json, const char *yaml)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *again = NULL;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    assert_int_equal(kj_parse(json, strlen(json), 0, &doc, NULL), 0);
    kj_write_yaml(kj_root(doc), &b);
    assert_string_equal(strbuf_str(&b), yaml);
    assert_int_equal(kj_parse_yaml(b.data, b.len, 0, &again, NULL), 0);
    assert_true(kj_equal(kj_root(doc), kj_root(again)));
}

/* ---- reading --------------------------------------------------------------------------------- */

static void test_plain_scalars_are_yaml_1_1(void **state)
{
    static const char *const cases[][2] = {
        { "a: yes", "{\"a\":true}" },
        { "a: Off", "{\"a\":false}" },
        { "a: y", "{\"a\":\"y\"}" },
        { "a: tRUE", "{\"a\":\"tRUE\"}" },
        { "a: 'yes'", "{\"a\":\"yes\"}" },
        { "a: 0x1F", "{\"a\":31}" },
        { "a: 0o17", "{\"a\":15}" },
        { "a: 017", "{\"a\":15}" },
        { "a: 09", "{\"a\":9}" },
        { "a: -0b11", "{\"a\":-3}" },
        { "a: 1_000", "{\"a\":1000}" },
        { "a: 1e3", "{\"a\":1000}" },
        { "a: .5", "{\"a\":0.5}" },
        { "a: 1.", "{\"a\":1}" },
        { "a: 1e400", "{\"a\":\"1e400\"}" },
        { "a: 18446744073709551615", "{\"a\":18446744073709551615}" },
        { "a: 99999999999999999999", "{\"a\":100000000000000000000}" },
        { "a: 1:30", "{\"a\":\"1:30\"}" },
        { "a: 2026-11-15", "{\"a\":\"2026-11-15\"}" },
        { "a: ~\nb:\nc: null", "{\"a\":null,\"b\":null,\"c\":null}" },
        { "a: \"1\"", "{\"a\":\"1\"}" },
        { "a: !!str 1", "{\"a\":\"1\"}" },
        { "a: !!int '5'", "{\"a\":5}" },
        { "a: !!float 5", "{\"a\":5}" },
        { "a: !!binary aGk=", "{\"a\":\"hi\"}" },
        { "a: !local 5", "{\"a\":\"5\"}" },
        { "a: 100m", "{\"a\":\"100m\"}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_reads(cases[i][0], cases[i][1]);
}

static void test_structures(void **state)
{
    (void)state;
    assert_reads("a:\n- b\n- c: 1\n  d: [x, {y: z}]\ne: {}\n",
                 "{\"a\":[\"b\",{\"c\":1,\"d\":[\"x\",{\"y\":\"z\"}]}],\"e\":{}}");
    assert_reads("a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}");
    assert_reads("{\"json\": [1, \"\\/\"]}", "{\"json\":[1,\"/\"]}");
    assert_reads("", "null");
    assert_reads("# nothing\n", "null");
    assert_reads("--- \n...\n", "null");
    assert_reads("5", "5");
}

static void test_keys_become_strings(void **state)
{
    (void)state;
    assert_reads("1: a\n0x10: b\n1.5: c\nyes: d\n2026-11-15: e\n",
                 "{\"1\":\"a\",\"16\":\"b\",\"1.5\":\"c\",\"true\":\"d\",\"2026-11-15\":\"e\"}");
    assert_refused("~: a", "must not be null");
    assert_refused("? [a]\n: b", "must be a scalar");
    assert_refused("? {a: b}\n: b", "must be a scalar");
}

static void test_duplicate_keys_are_errors(void **state)
{
    (void)state;
    assert_refused("a: 1\nb: 2\na: 3\n", "line 3: key \"a\" already set");
    assert_refused("x:\n  {a: 1, a: 2}\n", "line 2: key \"a\" already set");
    assert_refused("1: a\n'1': b\n", "key \"1\" already set");
}

static void test_anchors_and_merges(void **state)
{
    (void)state;
    assert_reads("a: &x [1, {b: 2}]\nc: *x\n", "{\"a\":[1,{\"b\":2}],\"c\":[1,{\"b\":2}]}");
    assert_reads("a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}");
    assert_reads("&k a: 1\nb: *k\n", "{\"a\":1,\"b\":\"a\"}");
    assert_reads("base: &b {x: 1, y: 2}\nv:\n  <<: *b\n  y: 3\n  z: 4\n",
                 "{\"base\":{\"x\":1,\"y\":2},\"v\":{\"y\":3,\"z\":4,\"x\":1}}");
    assert_reads("v:\n  <<: [{x: 1}, {x: 2, y: [3]}]\n", "{\"v\":{\"x\":1,\"y\":[3]}}");
    /* Anchors inside what a merge takes apart. */
    assert_reads("d:\n  <<: &x {b: [1]}\n  e: &y [2]\nc: *x\nf: *y\n",
                 "{\"d\":{\"e\":[2],\"b\":[1]},\"c\":{\"b\":[1]},\"f\":[2]}");
    assert_reads("'<<': {a: 1}\n", "{\"<<\":{\"a\":1}}");
    assert_refused("<<: 5\n", "map merge requires");
    assert_refused("a: *nope\n", "unknown anchor");
    assert_refused("a: &x [*x]\n", "contains itself");
}

static void test_alias_bombs_are_refused(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf laughs = STRBUF_INIT, texts = STRBUF_INIT;

    (void)state;
    strbuf_append(&laughs, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++)
        strbuf_appendf(&laughs, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i,
                       i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    assert_refused(laughs.data, "expand to too much");
    /* Few values, but long ones. */
    strbuf_append(&texts, "a: &a '");
    for (int i = 0; i < 100000; i++)
        strbuf_append(&texts, "0123456789");
    strbuf_append(&texts, "'\nb: [");
    for (int i = 0; i < 100; i++)
        strbuf_append(&texts, "*a, ");
    strbuf_append(&texts, "]\n");
    assert_refused(texts.data, "expand to too much");
}

static void test_nesting_is_capped(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf flow = STRBUF_INIT, aliases = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < KJ_DEPTH_MAX + 1; i++)
        strbuf_appendc(&flow, '[');
    assert_refused(flow.data, "nested too deep");
    strbuf_append(&aliases, "a0: &a0 [x]\n"); /* every alias is one level deeper */
    for (int i = 1; i < KJ_DEPTH_MAX + 1; i++)
        strbuf_appendf(&aliases, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    assert_refused(aliases.data, "nested too deep");
}

static void test_errors_name_the_line(void **state)
{
    (void)state;
    assert_refused("a: 1\nb: [1, 2\nc: 3\n", "line 3");
    assert_refused("a: 1\n\tb: 2\n", "line 2");
    assert_refused("a: .inf\n", "line 1");
    assert_refused("a:\n- !!int x\n", "line 2");
    assert_refused("a: \"\x01\"\n", "control characters");
}

static void test_bad_utf8_becomes_the_replacement_character(void **state)
{
    (void)state;
    assert_reads("a: \"x\xFF\"\n", "{\"a\":\"x\xEF\xBF\xBD\"}");
}

static void test_raw_numbers(void **state)
{
    static const char text[] = "[0.10, 0x10, 1_0, 5]";
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    assert_int_equal(kj_parse_yaml(text, strlen(text), KJ_RAW_NUMBERS, &doc, NULL), 0);
    kj_write(kj_root(doc), 0, &b);
    assert_string_equal(b.data, "[0.10,16,10,5]");
}

/* ---- several documents ----------------------------------------------------------------------- */

struct collected {
    struct strbuf text;
    int stop_after, n;
};

static int collect(void *arg, struct kj_doc *doc, int line, struct kerr *err)
{
    struct collected *c = arg;

    strbuf_appendf(&c->text, "%d:", line);
    kj_write(kj_root(doc), 0, &c->text);
    strbuf_appendc(&c->text, ' ');
    kj_doc_free(doc);
    return ++c->n == c->stop_after ? kerr_set(err, -EINTR, "enough") : 0;
}

static void test_every_document_of_a_stream(void **state)
{
    static const char text[] = "a: 1\n---\n# empty\n---\nb: 2\n...\n---\nnull\n---\n[c]\n";
    struct collected c = { .text = STRBUF_INIT };
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(kj_parse_yaml_all(text, strlen(text), 0, collect, &c, &err), 0);
    assert_string_equal(strbuf_str(&c.text), "1:{\"a\":1} 4:{\"b\":2} 9:[\"c\"] ");
    strbuf_reset(&c.text);
    c.stop_after = c.n + 1;
    assert_int_equal(kj_parse_yaml_all(text, strlen(text), 0, collect, &c, &err), -EINTR);
    assert_string_equal(err.text, "enough");
    assert_string_equal(strbuf_str(&c.text), "1:{\"a\":1} ");
    strbuf_reset(&c.text);
    c.stop_after = 0;
    assert_int_equal(kj_parse_yaml_all("{\"a\":1}", 7, 0, collect, &c, &err), 0);
    assert_int_equal(kj_parse_yaml_all("a: 1\n---\nb: [\n", 14, 0, collect, &c, &err), -EINVAL);
    strbuf_fini(&c.text);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void test_written_as_kubectl_does(void **state)
{
    (void)state;
    assert_writes(
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{\"containers\":[{\"name\":\"a\","
        "\"args\":[]},{\"name\":\"b\",\"env\":{}}]}}",
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - args: []\n    name: a\n"
        "  - env: {}\n    name: b\n");
    assert_writes(
        "{\"a\":\"true\",\"b\":\"1\",\"c\":\"\",\"d\":\"2026-11-15T18:20:00Z\",\"e\":\"x: y\","
        "\"f\":\"100m\",\"g\":null,\"h\":\"1:30\",\"i\":\"<<\",\"j\":\"y\"}",
        "a: \"true\"\nb: \"1\"\nc: \"\"\nd: \"2026-11-15T18:20:00Z\"\ne: 'x: y'\nf: 100m\n"
        "g: null\nh: \"1:30\"\ni: \"<<\"\nj: \"y\"\n");
    assert_writes("{\"a\":\"x\\ny\",\"b\":\"x\\n\",\"c\":\"x\\n\\n\"}",
                  "a: |-\n  x\n  y\nb: |\n  x\nc: |+\n  x\n\n");
    assert_writes("{\"a\":1e6,\"b\":0.5,\"c\":1000000,\"d\":1.5e-9}",
                  "a: 1e+06\nb: 0.5\nc: 1000000\nd: 1.5e-09\n");
    assert_writes("5", "5\n");
}

static void test_keys_are_in_natural_order(void **state)
{
    (void)state;
    assert_writes("{\"item10\":1,\"item9\":1,\"item\":1,\"b\":1,\"B\":1,\"-\":1}",
                  "'-': 1\nB: 1\nb: 1\nitem: 1\nitem9: 1\nitem10: 1\n");
}

static void test_odd_texts_survive(void **state)
{
    (void)state;
    assert_writes("[\"a\xE2\x80\xA8"
                  "b\"]",
                  "- \"a\\Lb\"\n");
    assert_writes("[\"\\u0001\"]", "- \"\\x01\"\n");
    assert_writes("[\"\\ttab\"]", "- \"\\ttab\"\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_scalars_are_yaml_1_1),
        cmocka_unit_test(test_structures),
        cmocka_unit_test(test_keys_become_strings),
        cmocka_unit_test(test_duplicate_keys_are_errors),
        cmocka_unit_test(test_anchors_and_merges),
        cmocka_unit_test(test_alias_bombs_are_refused),
        cmocka_unit_test(test_nesting_is_capped),
        cmocka_unit_test(test_errors_name_the_line),
        cmocka_unit_test(test_bad_utf8_becomes_the_replacement_character),
        cmocka_unit_test(test_raw_numbers),
        cmocka_unit_test(test_every_document_of_a_stream),
        cmocka_unit_test(test_written_as_kubectl_does),
        cmocka_unit_test(test_keys_are_in_natural_order),
        cmocka_unit_test(test_odd_texts_survive),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
