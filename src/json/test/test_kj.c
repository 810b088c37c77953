/* test_kj.c - parsing, reading, editing and writing of JSON documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "json/kj.h"

static struct kj_doc *parse(const char *text)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (kj_parse(text, strlen(text), 0, &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

static void assert_refused(const char *text, size_t n, const char *message)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    CLEANUP(mem_free) char *copy = xcalloc(1, n + KJ_PADDING);

    assert_int_equal(kj_parse(text, n, 0, &doc, &err), -EINVAL);
    assert_contains(err.text, message);
    memcpy(copy, text, n);
    memset(&err, 0, sizeof err);
    assert_int_equal(kj_parse_insitu(copy, n, 0, &doc, &err), -EINVAL);
    assert_contains(err.text, message);
    assert_null(doc);
}

static void assert_json(const struct kj_val *v, unsigned flags, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    kj_write(v, flags, &b);
    assert_string_equal(strbuf_str(&b), expected);
}

static void assert_mjson(const struct kj_mval *v, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    kj_mwrite(v, 0, &b);
    assert_string_equal(strbuf_str(&b), expected);
}

/* ---- parsing --------------------------------------------------------------------------------- */

static void test_lookups_chain_over_absent_values(void **state)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse("{\"spec\":{\"nodeName\":\"n1\",\"n\":3}}");
    const struct kj_val *r = kj_root(doc);

    (void)state;
    assert_string_equal(kj_str(kj_path(r, "spec.nodeName")), "n1");
    assert_null(kj_str(kj_get(kj_get(kj_get(r, "status"), "x"), "y")));
    assert_null(kj_at(kj_get(r, "spec"), 0));
    assert_null(kj_str(kj_path(r, "spec.n")));
    assert_string_equal(kj_str_or(kj_path(r, "spec.x"), "-"), "-");
    assert_int_equal(kj_type(NULL), KJ_ABSENT);
    assert_int_equal(kj_len(NULL), 0);
    assert_true(kj_bool(NULL, true));
    assert_int_equal(kj_i64_or(kj_path(r, "spec.n"), 7), 3);
    assert_null(kj_root(NULL));
}

static void test_last_duplicate_wins(void **state)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse("{\"a\":1,\"b\":{\"x\":[1]},\"a\":2,\"a\":3}");
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    (void)state;
    assert_int_equal(kj_i64_or(kj_get(kj_root(doc), "a"), 0), 3);
    /* A mutable copy has each key once. */
    assert_mjson(kj_mcopy(d, kj_root(doc)), "{\"b\":{\"x\":[1]},\"a\":3}");
}

static void test_errors_name_line_and_column(void **state)
{
    static const char text[] = "{\n  \"a\": 1,\n  \"b\": x\n}";
    static const char escaped[] = "{\n  \"a\": \"\\n\\n\",\n  \"b\": x\n}";

    (void)state;
    assert_refused(text, strlen(text), "line 3, column 8: ");
    /* Unescaped in place, the strings would add lines of their own. */
    assert_refused(escaped, strlen(escaped), "line 3, column 8: ");
    assert_refused("", 0, "line 1, column 1: ");
}

static void test_bad_texts_are_refused(void **state)
{
    static const char *const bad[] = { "{",
                                       "[1,2",
                                       "{\"a\"}",
                                       "{\"a\":1,}",
                                       "[1 2]",
                                       "nul",
                                       "NaN",
                                       "Infinity",
                                       "-",
                                       "01",
                                       "1.",
                                       "1e400",
                                       "\"a",
                                       "\"\\x\"",
                                       "\"\n\"",
                                       "{} {}",
                                       "[1]x",
                                       "'a'",
                                       "{a:1}",
                                       "/* c */ 1",
                                       "\"\\u12\"",
                                       "[\"\t\"]",
                                       "\xEF\xBB\xBF{}",
                                       "{\"a\":1,,\"b\":2}" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_refused(bad[i], strlen(bad[i]), "line ");
    assert_refused("[\0]", 3, "line ");
}

static void test_raw_numbers_let_nothing_more_in(void **state)
{
    static const char *const bad[] = { "1e400", "[-1E400]", "{\"a\":[1,12e+309]}" };
    static const char *const good[] = { "1e308", "[1e-400,-0]", "{\"e\":123456789012345678901}" };
    CLEANUP(strbuf_fini) struct strbuf digits = STRBUF_INIT;
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(kj_parse(bad[i], strlen(bad[i]), KJ_RAW_NUMBERS, &doc, &err), -EINVAL);
        assert_contains(err.text, "too large");
    }
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(kj_parse(good[i], strlen(good[i]), KJ_RAW_NUMBERS, &doc, &err), 0);
        doc = kj_doc_free(doc);
    }
    for (int i = 0; i < 310; i++)
        strbuf_appendc(&digits, '9');
    assert_int_equal(kj_parse(digits.data, digits.len, KJ_RAW_NUMBERS, &doc, &err), -EINVAL);
}

static void test_every_truncation_is_refused(void **state)
{
    static const char text[] =
        "{\"a\":[1,2.5,true,null,\"x\\u00e9\\ud83d\\ude00\"],\"b\":{\"c\":\"\xC3\xA9\"}}";
    struct kj_doc *doc = NULL;

    (void)state;
    for (size_t n = 0; n < sizeof text - 1; n++)
        assert_refused(text, n, "line ");
    assert_int_equal(kj_parse(text, sizeof text - 1, 0, &doc, NULL), 0);
    kj_doc_free(doc);
}

static void test_bad_utf8_becomes_the_replacement_character(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        { "[\"a\xFF"
          "b\"]",
          "[\"a\xEF\xBF\xBD"
          "b\"]" },
        { "[\"\xC3\"]", "[\"\xEF\xBF\xBD\"]" },
        { "[\"\xED\xA0\x80\"]", "[\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"]" }, /* surrogate */
        { "[\"\xC0\xAF\"]", "[\"\xEF\xBF\xBD\xEF\xBF\xBD\"]" },                 /* overlong */
        { "[\"\\ud800\"]", "[\"\xEF\xBF\xBD\"]" },
        { "[\"\\udc00x\\ud800\\u0041\"]", "[\"\xEF\xBF\xBDx\xEF\xBF\xBD"
                                          "A\"]" },
        { "[\"\\\\ud800\"]", "[\"\\\\ud800\"]" }, /* an escaped backslash, not an escape */
        { "{\"\xFF\":1}", "{\"\xEF\xBF\xBD\":1}" },
        { "[\"\xF0\x9F\x98\x80\"]", "[\"\xF0\x9F\x98\x80\"]" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = parse(cases[i].text), *again = NULL;
        size_t n = strlen(cases[i].text);
        CLEANUP(mem_free) char *copy = xcalloc(1, n + KJ_PADDING);

        assert_json(kj_root(doc), 0, cases[i].expected);
        memcpy(copy, cases[i].text, n);
        assert_int_equal(kj_parse_insitu(copy, n, 0, &again, NULL), 0);
        assert_true(kj_equal(kj_root(doc), kj_root(again)));
    }
}

static char *nested(size_t depth)
{
    char *text = xcalloc(1, 2 * depth + KJ_PADDING + 1);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    return text;
}

static void test_nesting_is_capped(void **state)
{
    CLEANUP(mem_free) char *ok = nested(KJ_DEPTH_MAX), *deep = nested(KJ_DEPTH_MAX + 1);
    CLEANUP(mem_free) char *bomb = nested(1000000);
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse(ok);

    (void)state;
    assert_non_null(doc);
    assert_refused(deep, strlen(deep), "nested too deep");
    assert_refused(bomb, strlen(bomb), "nested too deep");
    assert_refused(bomb, 1000000, "line 1");
    /* Many values do not make it deep, and depth is found behind many values. */
    CLEANUP(strbuf_fini) struct strbuf wide = STRBUF_INIT;
    strbuf_appendc(&wide, '[');
    for (int i = 0; i < 2000; i++)
        strbuf_append(&wide, "[1,{}],");
    size_t before = wide.len;
    strbuf_append(&wide, "0]");
    CLEANUP(kj_doc_free) struct kj_doc *flat = parse(wide.data);
    assert_int_equal(kj_len(kj_root(flat)), 2001);
    strbuf_truncate(&wide, before);
    strbuf_append(&wide, ok);
    strbuf_appendc(&wide, ']');
    assert_refused(wide.data, wide.len, "nested too deep");
    /* A value at the deepest level allowed does not end the search. */
    CLEANUP(strbuf_fini) struct strbuf two = STRBUF_INIT;
    strbuf_appendf(&two, "[%.*s1%s", KJ_DEPTH_MAX - 1, ok, ok + KJ_DEPTH_MAX + 1);
    CLEANUP(kj_doc_free) struct kj_doc *just = NULL;
    assert_int_equal(kj_parse(two.data, two.len, 0, &just, NULL), -EINVAL); /* not closed yet */
    strbuf_appendf(&two, ",%s]", ok);
    assert_refused(two.data, two.len, "nested too deep");
}

static void test_numbers_keep_64_bits(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *doc =
        parse("[9007199254740993,-9223372036854775808,18446744073709551615,1e3,2.0,1.5,1e300]");
    const struct kj_val *r = kj_root(doc);
    int64_t i;
    double f;

    (void)state;
    assert_int_equal(kj_i64_or(kj_at(r, 0), 0), 9007199254740993);
    assert_int_equal(kj_i64_or(kj_at(r, 1), 0), INT64_MIN);
    assert_int_equal(kj_i64(kj_at(r, 2), &i), -ERANGE);
    assert_int_equal(kj_i64_or(kj_at(r, 3), 0), 1000);
    assert_int_equal(kj_i64_or(kj_at(r, 4), 0), 2);
    assert_int_equal(kj_i64(kj_at(r, 5), &i), -EINVAL);
    assert_int_equal(kj_i64(kj_at(r, 6), &i), -ERANGE);
    assert_int_equal(kj_i64(r, &i), -EINVAL);
    assert_int_equal(kj_f64(kj_at(r, 2), &f), 0);
    assert_that(f, ==, 18446744073709551615.0);
    assert_json(r, 0,
                "[9007199254740993,-9223372036854775808,18446744073709551615,1000,2,1.5,1e+300]");
}

static void test_raw_numbers_keep_their_text(void **state)
{
    static const char text[] = "[0.10,1E5,123456789012345678901234567890,-0]";
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char num[64];
    int64_t i;

    (void)state;
    assert_int_equal(kj_parse(text, strlen(text), KJ_RAW_NUMBERS, &doc, NULL), 0);
    const struct kj_val *r = kj_root(doc);
    assert_json(r, 0, text);
    assert_int_equal(kj_type(kj_at(r, 0)), KJ_NUM);
    assert_int_equal(kj_num_text(kj_at(r, 0), num, sizeof num), 4);
    assert_string_equal(num, "0.10");
    assert_int_equal(kj_num_text(kj_at(r, 2), num, 6), 30);
    assert_string_equal(num, "12345");
    assert_int_equal(kj_i64_or(kj_at(r, 1), 0), 100000);
    assert_int_equal(kj_i64(kj_at(r, 2), &i), -ERANGE);
    assert_int_equal(kj_i64_or(kj_at(r, 3), 1), 0);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void assert_equality(const char *a, const char *b, bool equal)
{
    CLEANUP(kj_doc_free) struct kj_doc *x = parse(a), *y = parse(b);
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    if (kj_equal(kj_root(x), kj_root(y)) != equal || kj_equal(kj_root(y), kj_root(x)) != equal)
        fail_msg("%s and %s: expected %d", a, b, equal);
    assert_int_equal(kj_mequal(kj_mcopy(d, kj_root(x)), kj_mcopy(d, kj_root(y))), equal);
}

static void test_equality_ignores_object_order(void **state)
{
    (void)state;
    assert_equality("{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1}", true);
    assert_equality("{\"a\":1}", "{\"a\":1,\"b\":2}", false);
    assert_equality("{\"a\":1}", "{\"b\":1}", false);
    assert_equality("[1,2]", "[2,1]", false);
    assert_equality("1", "1.0", true);
    assert_equality("-1", "18446744073709551615", false);
    assert_equality("9007199254740993", "9007199254740992", false);
    assert_equality("4611686018427387904.0", "4611686018427388000", true); /* 2^62 as printed */
    assert_equality("\"1\"", "1", false);
    assert_equality("null", "false", false);
    assert_equality("{\"a\":1,\"a\":2}", "{\"a\":2}", true);
    assert_equality("{\"a\":1,\"a\":2}", "{\"a\":3,\"a\":2}", true);
    assert_equality("{\"a\":2,\"a\":1}", "{\"a\":1,\"a\":2}", false);
}

/* ---- editing --------------------------------------------------------------------------------- */

static void test_objects_are_edited_in_place(void **state)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *o = kj_mobj(d);

    (void)state;
    assert_mjson(o, "{}");
    kj_mset(d, o, "a", kj_mi64(d, -1));
    kj_mset(d, o, "a", kj_mstr(d, "only")); /* a ring of one */
    assert_mjson(o, "{\"a\":\"only\"}");
    kj_mset(d, o, "b", kj_mbool(d, true));
    kj_mset(d, o, "c", kj_mnull(d));
    kj_mset(d, o, "b", kj_mraw(d, "0.5", 3));
    assert_mjson(o, "{\"a\":\"only\",\"b\":0.5,\"c\":null}");
    assert_true(kj_mdel(o, "c", 1)); /* the last */
    kj_mset(d, o, "d", kj_mi64(d, 4));
    assert_true(kj_mdel(o, "a", 1)); /* the first */
    assert_false(kj_mdel(o, "a", 1));
    assert_mjson(o, "{\"b\":0.5,\"d\":4}");
    assert_true(kj_mdel(o, "b", 1) && kj_mdel(o, "d", 1));
    assert_mjson(o, "{}");
    kj_mset(d, o, "z", kj_marr(d));
    assert_mjson(o, "{\"z\":[]}");
}

static void test_arrays_are_edited_in_place(void **state)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *a = kj_marr(d);

    (void)state;
    for (int i = 0; i < 3; i++)
        kj_mpush(a, kj_mi64(d, i));
    kj_minsert(a, 0, kj_mstr(d, "first"));
    kj_minsert(a, 2, kj_mstr(d, "mid"));
    kj_minsert(a, 99, kj_mstr(d, "end"));
    assert_mjson(a, "[\"first\",0,\"mid\",1,2,\"end\"]");
    kj_mreplace_at(a, 5, kj_mnull(d));
    kj_mreplace_at(a, 0, kj_mi64(d, 7));
    kj_mreplace_at(a, 99, kj_mi64(d, 7));
    assert_mjson(a, "[7,0,\"mid\",1,2,null]");
    assert_true(kj_mdel_at(a, 5) && kj_mdel_at(a, 0) && kj_mdel_at(a, 1));
    assert_false(kj_mdel_at(a, 3));
    assert_mjson(a, "[0,1,2]");
    kj_mpush(a, kj_mi64(d, 3));
    assert_mjson(kj_mat(a, 3), "3");
    assert_null(kj_mat(a, 4));
}

static void test_copies_are_independent(void **state)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse("{\"a\":{\"b\":[1,{\"c\":\"x\"}]}}");
    struct kj_mval *m = kj_mcopy(d, kj_root(doc));

    (void)state;
    doc = kj_doc_free(doc);
    struct kj_mval *clone = kj_mclone(d, m);
    kj_mset(d, kj_mget(m, "a"), "b", kj_mi64(d, 1));
    assert_mjson(m, "{\"a\":{\"b\":1}}");
    assert_mjson(clone, "{\"a\":{\"b\":[1,{\"c\":\"x\"}]}}");
    CLEANUP(kj_doc_free) struct kj_doc *frozen = kj_freeze(clone);
    d = kj_mdoc_free(d);
    assert_json(kj_root(frozen), 0, "{\"a\":{\"b\":[1,{\"c\":\"x\"}]}}");
}

/* A view is made of the values as they are, with the texts of the document. */
static void test_views_do_not_follow_changes(void **state)
{
    static const char text[] =
        "{\"a\":{\"b\":[1,{\"c\":\"x\"},[],{}]},\"d\":1.50,\"e\":true,\"f\":null,\"g\":\"y\"}";
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *view = NULL, *scalar = NULL;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(kj_parse(text, strlen(text), KJ_RAW_NUMBERS, &doc, &err), 0);
    struct kj_mval *m = kj_mcopy(d, kj_root(doc));
    view = kj_view(m);
    assert_json(kj_root(view), 0, text);
    assert_true(kj_equal(kj_root(view), kj_root(doc)));
    assert_string_equal(kj_str(kj_get(kj_root(view), "g")), "y");
    kj_mset(d, kj_mget(m, "a"), "b", kj_mi64(d, 1));
    kj_mappend(d, m, "new", 3, kj_mstr(d, "z"));
    kj_mdel(m, "g", 1);
    assert_json(kj_root(view), 0, text);
    assert_mjson(m, "{\"a\":{\"b\":1},\"d\":1.50,\"e\":true,\"f\":null,\"new\":\"z\"}");
    scalar = kj_view(kj_mget(m, "new"));
    assert_json(kj_root(scalar), 0, "\"z\"");
}

static void test_values_that_json_cannot_hold(void **state)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    (void)state;
    assert_mjson(kj_mstrn(d, "a\xFF", 2), "\"a\xEF\xBF\xBD\"");
    assert_mjson(kj_mstr(d, NULL), "null");
    assert_null(kj_mraw(d, "{\"a\":", 5));
    assert_mjson(kj_mraw(d, "{\"a\":[1.10]}", 12), "{\"a\":[1.10]}");
    struct kj_mval *o = kj_mobj(d);
    kj_mset(d, o, "x", NULL);
    assert_mjson(o, "{}");
}

static void test_iterators_visit_everything_in_order(void **state)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse("{\"a\":[1,[2],3],\"b\":{\"c\":{}},\"d\":4}");
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_iter it = kj_iter(kj_root(doc));
    struct kj_miter mit = kj_miter(kj_mcopy(d, kj_root(doc)));
    const struct kj_val *v;
    struct kj_mval *m;
    struct str key, mkey;
    char seen[8] = "";

    (void)state;
    while (kj_next(&it, &key, &v)) {
        assert_true(kj_mnext(&mit, &mkey, &m));
        assert_true(str_eq(key, mkey));
        strncat(seen, key.p, key.n);
    }
    assert_string_equal(seen, "abd");
    assert_false(kj_mnext(&mit, &mkey, &m));
    it = kj_iter(kj_get(kj_root(doc), "a"));
    for (int n = 1; n <= 3; n++)
        assert_true(kj_next(&it, &key, &v) && key.p == NULL);
    assert_false(kj_next(&it, NULL, &v));
    it = kj_iter(kj_get(kj_root(doc), "d"));
    assert_false(kj_next(&it, NULL, &v));
}

/* ---- writing --------------------------------------------------------------------------------- */

static void test_writing_sorted_and_pretty(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *doc = parse("{\"b\":[],\"a\":[1,{\"z\":{},\"y\":null}],\"b\":2}");

    (void)state;
    assert_json(kj_root(doc), KJ_SORTED, "{\"a\":[1,{\"y\":null,\"z\":{}}],\"b\":2}");
    assert_json(kj_root(doc), KJ_SORTED | KJ_PRETTY,
                "{\n  \"a\": [\n    1,\n    {\n      \"y\": null,\n      \"z\": {}\n    }\n  ],\n"
                "  \"b\": 2\n}");
    assert_json(NULL, 0, "null");
}

static void test_strings_are_escaped(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    static const char text[] = "\"\\/\b\f\n\r\t\x01\x1f\x7f\xC3\xA9\xFFz\0!";
    kj_append_string(&b, text, sizeof text - 1);
    assert_string_equal(b.data, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xC3\xA9\xEF\xBF\xBDz"
                                "\\u0000!\"");
}

/* Eight bytes are looked at together: at every place of them, beside every neighbour. */
static void test_special_bytes_are_found_anywhere(void **state)
{
    static const char *const special[][2] = {
        { "\"", "\\\"" },      { "\\", "\\\\" },           { "\n", "\\n" },
        { "\x1f", "\\u001f" }, { "\xC3\xA9", "\xC3\xA9" }, { "\xFF", "\xEF\xBF\xBD" },
        { " ", " " },          { "\x7f", "\x7f" }
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(special); i++)
        for (int before = 0; before < 20; before++)
            for (int after = 0; after < 20; after++) {
                CLEANUP(strbuf_fini)
                struct strbuf in = STRBUF_INIT, out = STRBUF_INIT, want = STRBUF_INIT;
                strbuf_appendf(&in, "%.*s%s%.*s", before, "!#[]~ a!#[]~ a!#[]~ a", special[i][0],
                               after, "#![] ~b#![] ~b#![] ~b");
                strbuf_appendf(&want, "\"%.*s%s%.*s\"", before, "!#[]~ a!#[]~ a!#[]~ a",
                               special[i][1], after, "#![] ~b#![] ~b#![] ~b");
                kj_append_string(&out, in.data, in.len);
                assert_string_equal(out.data, want.data);
            }
}

/* The same of bytes that are not UTF-8, in what a document is built of. */
static void test_broken_bytes_are_found_anywhere(void **state)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    const char *const plain = "abcdefghijklmnopqrstuvwxyz";

    (void)state;
    for (int before = 0; before < 20; before++)
        for (int after = 0; after < 20; after++) {
            CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT, want = STRBUF_INIT;
            strbuf_appendf(&in, "%.*s\xFF%.*s", before, plain, after, plain);
            strbuf_appendf(&want, "%.*s\xEF\xBF\xBD%.*s", before, plain, after, plain);
            assert_string_equal(kj_mstr_get(kj_mstrn(d, in.data, in.len)), want.data);
            assert_string_equal(kj_mstr_get(kj_mstrn(d, want.data, want.len)), want.data);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookups_chain_over_absent_values),
        cmocka_unit_test(test_last_duplicate_wins),
        cmocka_unit_test(test_errors_name_line_and_column),
        cmocka_unit_test(test_bad_texts_are_refused),
        cmocka_unit_test(test_raw_numbers_let_nothing_more_in),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_bad_utf8_becomes_the_replacement_character),
        cmocka_unit_test(test_nesting_is_capped),
        cmocka_unit_test(test_numbers_keep_64_bits),
        cmocka_unit_test(test_raw_numbers_keep_their_text),
        cmocka_unit_test(test_equality_ignores_object_order),
        cmocka_unit_test(test_objects_are_edited_in_place),
        cmocka_unit_test(test_arrays_are_edited_in_place),
        cmocka_unit_test(test_copies_are_independent),
        cmocka_unit_test(test_views_do_not_follow_changes),
        cmocka_unit_test(test_values_that_json_cannot_hold),
        cmocka_unit_test(test_iterators_visit_everything_in_order),
        cmocka_unit_test(test_writing_sorted_and_pretty),
        cmocka_unit_test(test_strings_are_escaped),
        cmocka_unit_test(test_special_bytes_are_found_anywhere),
        cmocka_unit_test(test_broken_bytes_are_found_anywhere),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
