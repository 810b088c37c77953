/* test_bounds.c - what short expressions would have to be worked out for hours, or with more
 * memory than there is, ends soon, when it is compiled and when it is evaluated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/resource.h>

#include "base/map.h"
#include "base/test/asserts.h"
#include "cel/cel.h"
#include "cel/device.h"
#include "cel/lib.h"
#include "cel/schema.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOW = 30, MEMORY_COUNTS = false };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(thread_sanitizer)
enum { SLOW = 30, MEMORY_COUNTS = false };
#else
enum { SLOW = 1, MEMORY_COUNTS = true };
#endif
#else
enum { SLOW = 1, MEMORY_COUNTS = true };
#endif
enum { MS_MAX = 100, BYTES_MAX = 64 << 20 };

/* ---- cases ------------------------------------------------------------------------------------- */

/* Documents by name: what `self` is, and its schema. */
enum doc { DOC_NONE, DOC_TEXT, DOC_LABELS, DOC_SET, DOC_KEYED, DOC_LIST, DOC_OBJECTS, DOC_PAIRS };

struct bounded {
    const char *begin, *step; /* step: so many times behind begin */
    int times;
    const char *end;
    enum doc doc;
    uint32_t n; /* elements of the document, or bytes of its text */
    enum cel_failure want;
    bool any; /* whatever comes of it, as long as it comes soon */
    int ms;   /* 0: MS_MAX */
};

#define DEEPER ".map(a, dyn([[[[[[[[[[a]]]]]]]]]]))"
static const struct bounded cases[] = {
    /* Lists that hold each other many times. */
    { "[[1]]", ".map(a, a + a)", 26, ".size() > 0", .want = CEL_COST },
    { "[[1]]", ".map(a, a + a)", 70, ".size() > 0", .want = CEL_COST },
    { "[1]", ".map(a, [a, a])", 26, ".all(x, x == x)", .want = CEL_COST },
    { "[1]", ".map(a, dyn([a, a]))", 60, ".all(x, x == x)", .want = CEL_COST },
    { "[1]", ".map(a, [a, a])", 26, ".all(x, '%s'.format([x]) != '')", .want = CEL_COST },
    { "[1]", ".map(a, dyn([a, a]))", 60, ".all(x, '%s'.format([x]) != '')", .want = CEL_COST },
    { "[1]", ".map(a, dyn({'a': a, 'b': a}))", 40, ".all(x, x == x)", .want = CEL_COST },
    { "[1]", ".map(a, dyn({'a': a, 'b': a}))", 40, ".all(x, '%s'.format([x]) != '')",
      .want = CEL_COST },
    { "[1]", ".map(a, dyn([a, a]))", 40, ".flatten(50).size() > 0", .want = CEL_COST },
    { "[1]", ".map(a, dyn([a, a]))", 40, ".indexOf(1) < 0", .want = CEL_COST },
    { "[1]", ".map(a, dyn([a, a]))", 40, ".all(x, x in [x, x])", .want = CEL_COST },
    { "[1]", ".map(a, dyn([a, a]))", 40, ".all(x, [x, x].distinct().size() == 1)",
      .want = CEL_COST },
    { "[1]", ".map(a, dyn([a, a]))", 40, ".all(x, sets.contains([x], [x]))", .want = CEL_COST },
    { "[1]", ".map(a, optional.of([a, a]))", 12, ".all(x, optional.of(x) == optional.of(x))",
      .any = true },
    { "[1]", DEEPER, 150, ".all(x, x == x)", .want = CEL_COST },
    { "[1]", DEEPER, 150, ".all(x, '%s'.format([x]) != '')", .want = CEL_COST },
    { "[1]", DEEPER, 80, ".all(x, x == x)", .want = CEL_OK },
    /* Memory. */
    { "lists.range(8000).transformMap(i, v, v).size() == 8000", .want = CEL_OK },
    { "lists.range(20000).transformMapEntry(i, v, {string(v): v})['7'] == 7", .want = CEL_OK },
    { "[lists.range(4000)].map(l, l.map(x, (l + l).size()).size())[0] > 0", .want = CEL_COST },
    { "self.replace('', self).size() > 0", .doc = DOC_TEXT, .n = 20000, .want = CEL_COST },
    { "self.replace('', self).replace('', self).size() > 0", .doc = DOC_TEXT, .n = 20000,
      .want = CEL_COST },
    { "self.replace('', self).size() == 1000 * 1001 + 1000", .doc = DOC_TEXT, .n = 1000,
      .want = CEL_OK },
    { "['0.' + self.replace('&', '1')].all(t, lists.range(100000).all(i, double(t) > 0.0))",
      .doc = DOC_TEXT, .n = 1000000, .want = CEL_COST, .ms = 200 },
    { "[self.replace('&', '0h')].all(t, lists.range(100000).all(i, duration(t) == duration('0s')))",
      .doc = DOC_TEXT, .n = 1000000, .want = CEL_COST, .ms = 200 },
    { "['http://' + self.replace('&', 'a')].all(t, lists.range(100000).all(i, isURL(t)))",
      .doc = DOC_TEXT, .n = 1000000, .want = CEL_COST, .ms = 200 },
    { "lists.range(10000).all(i, '%x'.format([self]) != '')", .doc = DOC_TEXT, .n = 1000000,
      .want = CEL_COST },
    { "[self].map(s, lists.range(10000).map(i, s)).map(l, l.join().size())[0] > 0", .doc = DOC_TEXT,
      .n = 100000, .want = CEL_COST },
    { "lists.range(100000).all(i, !has(dyn({}).a) && dyn({})[self] == 1)", .doc = DOC_TEXT,
      .n = 1000000, .want = CEL_COST, .ms = 500 },
    { "['a']", ".map(a, a + a)", 25, ".all(x, x.split('').size() > 0)", .want = CEL_COST },
    { "url('https://h/?' + self.replace('&', 'a&')).getQuery().size() == 1", .doc = DOC_TEXT,
      .n = 100000, .want = CEL_OK },
    /* Steps. */
    { "lists.range(100000).all(i, self.size() > i)", .doc = DOC_TEXT, .n = 1000000,
      .want = CEL_COST },
    { "lists.range(100000).all(i, self.charAt(900000) == '&')", .doc = DOC_TEXT, .n = 1000000,
      .want = CEL_COST },
    { "self.lastIndexOf('b') == -1", .doc = DOC_TEXT, .n = 200000, .want = CEL_OK },
    { "[lists.range(400000)].all(l, sets.contains(l, l))", .want = CEL_COST },
    { "self.matches('", "(?:a?){1000}", 100, "b')", DOC_TEXT, .n = 2000, .want = CEL_COST },
    { "self.findAll('&.*y|&').size() > 0", .doc = DOC_TEXT, .n = 20000, .want = CEL_COST },
    /* Types. */
    { "[1]", ".map(a, {a: a})", 23, ".size() > 0", .want = CEL_CHECK },
    { "[1]", ".map(a, {a: a})", 60, ".size() > 0", .want = CEL_CHECK },
    { "[1]", ".map(a, {a: a})", 22, " == [1]", .want = CEL_CHECK },
    { "[1]", ".map(a, {a: a})", 7, " == [1]", .want = CEL_CHECK },
    { "[1]", ".map(a, [[[[[[[[[[a]]]]]]]]]])", 150, ".size() > 0", .want = CEL_CHECK },
    { "[1]", ".map(a, [[[[[[[[[[a]]]]]]]]]])", 80, ".size() > 0", .want = CEL_OK },
    /* Long lists and maps. */
    { "self.all(k, self[k] >= 0)", .doc = DOC_LABELS, .n = 20000, .want = CEL_OK },
    { "self.all(k, k in self)", .doc = DOC_LABELS, .n = 20000, .want = CEL_OK },
    { "lists.range(20000).all(i, self[i].v >= 0)", .doc = DOC_OBJECTS, .n = 20000, .want = CEL_OK },
    { "lists.range(20000).all(i, self.last().hasValue())", .doc = DOC_OBJECTS, .n = 20000,
      .want = CEL_OK },
    { "lists.range(20000).transformMap(i, v, v) == lists.range(20000).transformMap(i, v, v)",
      .want = CEL_OK },
    { "lists.range(2000).all(i, i in [", "-1, ", 20000, "-1] || true)", .want = CEL_OK },
    { "{", "1: 2, ", 15000, "3: 4}.size() == 2", .want = CEL_OK },
    { "self.all(x, (self + self).size() >= 0)", .doc = DOC_SET, .n = 1000, .want = CEL_OK },
    { "self == self.map(x, x)", .doc = DOC_SET, .n = 20000, .want = CEL_OK },
    { "self == [0].map(x, self + self)[0]", .doc = DOC_SET, .n = 20000, .want = CEL_OK },
    { "self == oldSelf", .doc = DOC_SET, .n = 20000, .want = CEL_OK },
    /* Wherever two of them are in memory: these are a multiple of 256 bytes apart. */
    { "lists.range(5006).all(i, self['a'][i] == self['b'][i])", .doc = DOC_PAIRS, .n = 5006,
      .want = CEL_OK },
    { "(self + self).size() == 10000", .doc = DOC_KEYED, .n = 10000, .want = CEL_OK },
    { "self == oldSelf", .doc = DOC_KEYED, .n = 20000, .want = CEL_OK },
    /* Found by a table, they are what they would be otherwise. */
    { "(self + lists.range(150)).size() == 150 && (self + [500, 5])[100] == 500 && "
      "(self + [500, 5])[5] == 5 && (self + [500, 5]).size() == 101",
      .doc = DOC_SET, .n = 100, .want = CEL_OK },
    { "self == lists.range(100).reverse() && self != lists.range(101) && "
      "self != [1] + lists.range(99)",
      .doc = DOC_SET, .n = 100, .want = CEL_OK },
    { "(self + [self[7]]).size() == 100 && self + self.filter(x, x.v > 50) == self && "
      "self == self.reverse() && self != self.slice(1, 100) + [self[1]]",
      .doc = DOC_KEYED, .n = 100, .want = CEL_OK },
    { "[lists.range(100).transformMap(i, v, v + 1)].all(m, m.size() == 100 && "
      "lists.range(100).all(i, m[i] == i + 1 && m[dyn(uint(i))] == i + 1 && "
      "m[dyn(double(i))] == i + 1 && i in m && !(i + 100 in m)))",
      .want = CEL_OK },
    { "lists.range(100).all(i, (i in [", "7, ", 40,
      "9]) == (i == 7 || i == 9) && (dyn(double(i)) in [7, 9]) == (i == 7 || i == 9))",
      .want = CEL_OK },
    { "lists.range(99).all(i, !(string(i) in self) && self['label-' + string(i)] == i)",
      .doc = DOC_LABELS, .n = 100, .want = CEL_OK },
    { "'\u00e9x\U0001f600z'.lastIndexOf('z') == 3 && '\u00e9x\u00e9x'.lastIndexOf('\u00e9x') == 2 "
      "&& "
      "'",
      "\u00e9", 100, "z'.charAt(100) == 'z'", .want = CEL_OK },
};

/* What variables of functions come to mean doubles with each loop. */
static void nested_variables(struct strbuf *out, int n)
{
    strbuf_append(out, "[]");
    for (int i = 0; i < n; i++)
        strbuf_appendf(out, ".all(v%d, %s", i, i + 1 < n ? "[]" : "true");
    for (int i = n - 1; i > 0; i--)
        strbuf_appendf(out, " && v%d == {v%d: v%d})", i - 1, i, i);
    strbuf_append(out, ")");
}

/* ---- documents --------------------------------------------------------------------------------- */

static void item(struct strbuf *out, enum doc doc, uint32_t i)
{
    if (doc == DOC_LABELS)
        strbuf_appendf(out, "\"label-%u\":%u", i, i);
    else if (doc == DOC_KEYED)
        strbuf_appendf(out, "{\"name\":\"n%u\",\"v\":%u}", i, i);
    else if (doc == DOC_OBJECTS)
        strbuf_appendf(out, "{\"v\":%u}", i);
    else
        strbuf_appendf(out, "%u", i);
}

/* {"a": [0, 1, ...], "b": [0, 1, ...], ...} */
static struct kj_doc *lists_of_letters(uint32_t n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_doc *ret = NULL;

    for (char name = 'a'; name <= 'c'; name++) {
        strbuf_appendf(&b, "%c\"%c\":", name == 'a' ? '{' : ',', name);
        for (uint32_t i = 0; i < n; i++)
            strbuf_appendf(&b, "%c%u", i ? ',' : '[', i);
        strbuf_appendc(&b, ']');
    }
    strbuf_appendc(&b, '}');
    assert_int_equal(kj_parse(b.data, b.len, 0, &ret, NULL), 0);
    return ret;
}

static struct kj_doc *document(enum doc doc, uint32_t n, bool reversed)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_doc *ret = NULL;

    if (doc == DOC_PAIRS)
        return lists_of_letters(n);
    strbuf_append(&b, doc == DOC_TEXT ? "\"" : doc == DOC_LABELS ? "{" : "[");
    for (uint32_t i = 0; i < n; i++) {
        if (doc == DOC_TEXT) {
            strbuf_appendc(&b, '&');
            continue;
        }
        strbuf_append(&b, i ? "," : "");
        item(&b, doc, reversed ? n - 1 - i : i);
    }
    strbuf_append(&b, doc == DOC_TEXT ? "\"" : doc == DOC_LABELS ? "}" : "]");
    assert_int_equal(kj_parse(b.data, b.len, 0, &ret, NULL), 0);
    return ret;
}

/* Types borrow from the schema. */
static struct kj_doc *schema_of(enum doc doc)
{
    static const char *const schemas[] = {
        [DOC_NONE] = "{\"type\":\"integer\"}",
        [DOC_TEXT] = "{\"type\":\"string\"}",
        [DOC_LABELS] = "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}",
        [DOC_SET] = "{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\","
                    "\"items\":{\"type\":\"integer\"}}",
        [DOC_KEYED] =
            "{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
            "\"x-kubernetes-list-map-keys\":[\"name\"],"
            "\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
            "\"v\":{\"type\":\"integer\"}}}}",
        [DOC_LIST] = "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}",
        [DOC_OBJECTS] = "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":"
                        "{\"v\":{\"type\":\"integer\"}}}}",
        [DOC_PAIRS] = "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"array\","
                      "\"items\":{\"type\":\"integer\"}}}",
    };
    struct kj_doc *schema = NULL;

    assert_int_equal(kj_parse(schemas[doc], strlen(schemas[doc]), 0, &schema, NULL), 0);
    return schema;
}

/* ---- measuring --------------------------------------------------------------------------------- */

static double now_ms(void) /* of this thread, whatever else the machine does */
{
    struct rusage use;

    getrusage(RUSAGE_THREAD, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
}

static size_t peak_bytes(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (size_t)use.ru_maxrss * 1024;
}

static enum cel_failure run(struct str text, enum doc doc, uint32_t n, int ms)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(arena_free) struct arena *types = arena_new();
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *now = doc ? document(doc, n, false) : NULL;
    CLEANUP(kj_doc_free) struct kj_doc *old = doc ? document(doc, n, true) : NULL;
    CLEANUP(kj_doc_free) struct kj_doc *schema = schema_of(doc);
    const struct cel_type *type = cel_schema_type(types, kj_root(schema), "Object", false);
    const struct cel_var vars[] = { { "self", type }, { "oldSelf", type } };
    const struct cel_env env = { .vars = vars, .n_vars = 2, .bind = true };
    uint64_t cost;

    double began = now_ms();
    size_t before = peak_bytes();
    enum cel_failure f = cel_compile(&env, text.p, text.n, &e, &why);
    if (f == CEL_OK) {
        struct cel_val values[] = { cel_v_json(a, kj_root(now), type),
                                    cel_v_json(a, kj_root(old), type) };
        struct cel_val v;
        f = cel_eval(e, values, CEL_LIMIT_CALL, a, &v, &cost);
        assert_int_equal(f == CEL_COST, cost > CEL_LIMIT_CALL);
        if (f == CEL_OK && v.kind != CK_BOOL)
            fail_msg("%.60s: no bool", text.p);
        if (f == CEL_OK && !v.b)
            fail_msg("%.60s: false", text.p);
        if (f == CEL_RUNTIME)
            fail_msg("%.60s: %.*s", text.p, (int)v.n, v.s);
    }
    double took = now_ms() - began;
    size_t grown = peak_bytes() - before;
    if (took > ms * SLOW)
        fail_msg("%.60s: %.0f ms", text.p, took);
    if (MEMORY_COUNTS && grown > BYTES_MAX)
        fail_msg("%.60s: %zu MiB", text.p, grown >> 20);
    assert_that(arena_used(a), <, (size_t)BYTES_MAX);
    assert_that(why.len, <, (size_t)1 << 20);
    return f;
}

static void test_what_would_take_too_long_ends_soon(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        const struct bounded *c = &cases[i];
        strbuf_append(&text, c->begin);
        for (int k = 0; k < c->times; k++)
            strbuf_append(&text, c->step);
        strbuf_append(&text, c->end ? c->end : "");
        enum cel_failure f =
            run((struct str){ text.data, text.len }, c->doc, c->n, c->ms ? c->ms : MS_MAX);
        if (f != c->want && !c->any)
            fail_msg("%.90s: %d, not %d", text.data, f, c->want);
    }
}

static void test_types_of_variables_are_bounded(void **state)
{
    (void)state;
    for (int n = 2; n < 60; n += 3) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        nested_variables(&text, n);
        enum cel_failure f = run((struct str){ text.data, text.len }, DOC_NONE, 0, MS_MAX);
        assert_int_equal(f, n < 8 ? CEL_OK : n > 11 ? CEL_CHECK : f);
    }
}

/* Keys that are long maps themselves are gone through while they are looked for: what is known of
 * them takes the place of what is known of the map that they are in, wherever they are in memory.
 */
static void test_keys_that_are_long_maps_are_found(void **state)
{
#define KEY "dyn([dyn(0 * lists.range(v).size()), dyn(lists.range(40).transformMap(a, b, b + v))])"
    static const char text[] = "[lists.range(40).transformMapEntry(i, v, {" KEY ": v})].all(m, "
                               "lists.range(40).all(v, " KEY " in m && !(dyn([v]) in m)))";

    (void)state;
    assert_int_equal(run(STR(text), DOC_NONE, 0, MS_MAX), CEL_OK);
}

/* Within one step of the evaluation, too, somebody may end it. */
static bool looks_run_out(void *arg)
{
    unsigned *left = arg;
    return (*left)-- == 0;
}

static void test_long_steps_can_be_interrupted(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT, twice = STRBUF_INIT;
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    static const struct cel_env env;
    unsigned looks = 3;
    const struct cel_interrupt stop = { looks_run_out, &looks };
    struct cel_val v;

    (void)state;
    strbuf_append(&twice, "[1]");
    for (int i = 0; i < 20; i++)
        strbuf_append(&twice, ".map(a, dyn([a, a]))");
    strbuf_append(&twice, ".all(x, x == x)");
    assert_int_equal(cel_compile(&env, twice.data, twice.len, &e, &why), CEL_OK);
    assert_int_equal(cel_eval_until(e, NULL, CEL_LIMIT_CALL, &stop, a, &v, NULL), CEL_STOPPED);
    assert_int_equal(cel_eval(e, NULL, CEL_LIMIT_CALL, a, &v, NULL), CEL_OK);
}

/* replace() measures its result before it writes it: what ends it in between must not make the text
 * longer than there is room for. */
static void test_replacing_can_be_interrupted_at_any_time(void **state)
{
    enum { BYTES = 100000 };
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    static const char replacing[] = "self.replace('a', '') == ''";
    const struct cel_var var = { "self", &cel_string };
    const struct cel_env env = { .vars = &var, .n_vars = 1 };
    bool stopped = true;

    (void)state;
    for (int i = 0; i < BYTES; i++)
        strbuf_appendc(&text, 'a');
    assert_int_equal(cel_compile(&env, replacing, sizeof replacing - 1, &e, NULL), CEL_OK);
    for (unsigned after = 0; stopped; after++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        unsigned looks = after;
        const struct cel_interrupt stop = { looks_run_out, &looks };
        struct cel_val self = cel_v_str(text.data, text.len), v;
        enum cel_failure f = cel_eval_until(e, &self, CEL_LIMIT_CALL, &stop, a, &v, NULL);
        stopped = f == CEL_STOPPED;
        assert_true(stopped || f == CEL_OK);
        assert_that(after, <, 1000);
    }
}

/* Variables may be in each other as often as there is room for in an object. */
static void test_deep_values_of_callers_are_bounded(void **state)
{
    static const char *const texts[] = { "x == x", "'%s'.format([x]) != ''",
                                         "x.flatten(100000) != []", "x.indexOf(1) != 0" };
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct cel_var var = { "x", &cel_list_dyn };
    const struct cel_env env = { .vars = &var, .n_vars = 1 };
    struct cel_val x = cel_v_int(1), v;

    (void)state;
    for (int i = 0; i < 100000; i++)
        x = cel_v_list(a, memcpy(arena_alloc(a, sizeof x, 16), &x, sizeof x), 1);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
        CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
        assert_int_equal(cel_compile(&env, texts[i], strlen(texts[i]), &e, &why), CEL_OK);
        assert_int_equal(cel_eval(e, &x, CEL_LIMIT_CALL, a, &v, NULL), CEL_COST);
    }
    CLEANUP(strbuf_fini) struct strbuf shown = STRBUF_INIT;
    cel_val_print(a, x, &shown);
    assert_string_equal(shown.data + shown.len - 4, "]...");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_would_take_too_long_ends_soon),
        cmocka_unit_test(test_types_of_variables_are_bounded),
        cmocka_unit_test(test_keys_that_are_long_maps_are_found),
        cmocka_unit_test(test_long_steps_can_be_interrupted),
        cmocka_unit_test(test_replacing_can_be_interrupted_at_any_time),
        cmocka_unit_test(test_deep_values_of_callers_are_bounded),
    };

    hash_set_key(1, 2);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
