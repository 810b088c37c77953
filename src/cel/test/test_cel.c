/* test_cel.c - expressions: what tests/golden cannot show - budgets, sharing, documents in place,
 * bad input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include <cmocka.h>

#include "cel/authz.h"
#include "cel/cel.h"
#include "cel/device.h"
#include "cel/schema.h"

static const struct cel_env nothing;
static const struct cel_device_env plain;

static struct cel_expr *compile(const struct cel_env *env, const char *text)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    struct cel_expr *e = NULL;

    if (cel_compile(env, text, strlen(text), &e, &why) != CEL_OK)
        fail_msg("%s: %s", text, strbuf_str(&why));
    return e;
}

static void expect(const char *text, const char *value)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(cel_expr_free) struct cel_expr *e = compile(&nothing, text);
    CLEANUP(strbuf_fini) struct strbuf shown = STRBUF_INIT;
    struct cel_val v;

    (void)cel_eval(e, NULL, CEL_LIMIT_CALL, a, &v, NULL);
    cel_val_print(a, v, &shown);
    assert_string_equal(strbuf_str(&shown), value);
}

static void refuse(const char *text, size_t n, enum cel_failure how, const char *part)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;

    assert_int_equal(cel_compile(&nothing, text, n, &e, &why), how);
    if (!strstr(strbuf_str(&why), part))
        fail_msg("%.80s: %s", text, strbuf_str(&why));
}

/* The 'Must hold' lists of the specification. */
static void test_what_must_hold(void **state)
{
    (void)state;
    expect("1/0 == 0 || true", "true");
    expect("[0, 5].exists(x, 1/x > 0)", "division by zero");
    expect("[0, 1].exists(x, 1/x > 0)", "true");
    expect("dyn(1) == dyn('1')", "false");
    expect("{1: 'a'}[dyn(1.0)]", "\"a\"");
    expect("'\xc3\xa9\xf0\x9f\x98\x80'.size()", "2");
    expect("b'\xc3\xa9'.size()", "2");
    refuse("1 == '1'", 8, CEL_CHECK, "found no matching overload for '_==_'");
}

/* What generated expressions showed beside cel-go (tests/system/test_cel). */
static void test_odd_corners_are_upstreams(void **state)
{
    (void)state;
    expect("[,].size() + {,}.size()", "0");
    expect("has(has({}.a))", "false");
    expect("['k%s', ''][0].format([1, 2])", "\"k1\"");
    refuse("duration(1)", 11, CEL_CHECK, "1:10: invalid duration argument");
    expect("duration('90.5s').getMilliseconds()", "90500");
    expect("cidr('10.0.0.0/8').containsIP('x')", "no such overload");
    expect("quantity('1') == dyn(1)", "no such overload");
    expect("quantity('1') != dyn(1)", "true");
    expect("dyn(7).orValue(3)", "7");
    expect("[dyn('a'), dyn(1)].join()", "join: invalid input: 1");
    expect("[dyn(1), dyn('a')].join()", "no such overload: join(list)");
    expect("[dyn(null), dyn(1)].isSorted()", "no such overload: isSorted(list)");
    expect("[dyn(1), dyn(null)].min()", "no such overload");
    expect("[dyn(1)].unwrapOpt()", "no such overload: unwrapOpt(list)");
    expect("{'a': 1}[dyn(semver('1.2.3'))]", "invalid qualifier type: cel.Semver");
    expect("[1][?dyn(semver('1.2.3'))]", "invalid qualifier type: cel.Semver");
    refuse("{'a': 1}[?dyn([1])]", 19, CEL_CHECK, "invalid qualifier type: *types.baseList");
    refuse("optional.none().all(x, true)", 28, CEL_CHECK,
           "expression of type 'optional_type(_var0)' cannot be range of a comprehension");
    expect("[1.5].filter(x, false).sum() / 2.0", "0");
    expect("1u in [1u].filter(x, false) || [1u].filter(x, false).sum() == 0u", "true");
    expect("[double('NaN'), 1.5].min() == 1.5", "false");
    expect("[1.5, double('NaN')].max()", "1.5");
    expect("[1.5, double('NaN'), 1.0].isSorted()", "true");
    expect("1.5 < double('NaN')", "NaN values cannot be ordered");
    expect("[1, 2].transformMapEntry(i, v, {dyn([0]): v})",
           "insert failed: key [0] already exists");
}

/* Whatever is given for a field, no other part of a value is read as its number. */
static void test_fields_of_messages_have_their_type(void **state)
{
    static const char *const strange[] = { "'a'",       "b'a'",          "1.5",
                                           "true",      "null",          "[1]",
                                           "{1: 2}",    "type(1)",       "1u",
                                           "ip('::1')", "url('/a')",     "quantity('1')",
                                           "int",       "format.uuid()", "optional.none()" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(strange); i++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        struct cel_val v;
        const char *text = arena_printf(a,
                                        "[string(google.protobuf.Timestamp{seconds: dyn(%s)}), "
                                        "string(google.protobuf.Duration{nanos: dyn(%s)})]",
                                        strange[i], strange[i]);
        CLEANUP(cel_expr_free) struct cel_expr *e = compile(&nothing, text);
        assert_int_equal(cel_eval(e, NULL, CEL_LIMIT_CALL, a, &v, NULL), CEL_RUNTIME);
        assert_true(strncmp(v.s, "field type conversion error for google.protobuf.", 48) == 0);
    }
    expect("google.protobuf.Timestamp{seconds: 253402300799, nanos: 1000000000}",
           "timestamp overflow");
    expect("google.protobuf.Timestamp{seconds: 9223372036854775807, nanos: 1000000000}",
           "timestamp overflow");
}

/* [a, a] of [a, a] of ...: a value of few parts, as text or JSON one of many. */
static void test_shared_values_in_messages_are_bounded(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct cel_val v;

    (void)state;
    strbuf_append(&text, "google.protobuf.ListValue{values: [1]");
    for (int i = 0; i < 30; i++)
        strbuf_append(&text, ".map(a, [a, a])");
    strbuf_append(&text, "}.size() == 1");
    CLEANUP(cel_expr_free) struct cel_expr *e = compile(&nothing, strbuf_str(&text));
    assert_int_equal(cel_eval(e, NULL, CEL_LIMIT_CALL, a, &v, NULL), CEL_COST);
}

/* A bound value is evaluated where it is used first, perhaps in a loop: loops of its own must not
 * touch the variables of that one. */
static void test_what_is_bound_has_variables_of_its_own(void **state)
{
    (void)state;
    expect("[1, 2, 3].map(v, v * 2).first().optMap(b, [10, 20].map(c, b + c)).value()", "[12, 22]");
    expect("[1, 2, 3].map(v, v).first().optMap(a, [4, 5].map(v, a + v)).optMap(b, [10, 20].map(c, "
           "[1].map(d, b.map(x, x + c + d)))).value()",
           "[[[16, 17]], [[26, 27]]]");
    expect("[1].all(x, optional.of([1, 2].filter(y, y > 1)).optMap(z, [3].exists(v, v > z[0]))"
           ".value())",
           "true");
}

static int two_zones(struct str name, int64_t t, int64_t *ret)
{
    if (!str_eqz(name, "Europe/Berlin"))
        return -ENOENT;
    *ret = t < 1000000000 ? 3600 : 7200;
    return 0;
}

/* Names are the caller's, offsets need nobody. */
#define TEN       "0123456789"
#define HUNDRED   TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONG_NAME HUNDRED HUNDRED HUNDRED

static void test_time_zones(void **state)
{
    static const struct {
        const char *zone, *value;
    } cases[] = {
        { "UTC", "1" },
        { "", "1" },
        { "Local", "1" },
        { "Europe/Berlin", "3" },
        { "+02:30", "4" },
        { "-3:00", "22" },
        { "2:00", "3" },
        { "1:-60", "1" },
        { "Nowhere/Town", "unknown time zone Nowhere/Town" },
        { LONG_NAME, "file name too long" },
        { "x/" LONG_NAME, "unknown time zone x/" LONG_NAME },
        { "/etc/localtime", "time: invalid location name" },
        { "../x", "time: invalid location name" },
        { "x:0", "strconv.Atoi: parsing \"x\": invalid syntax" },
        { "1:", "strconv.Atoi: parsing \"\": invalid syntax" },
        { "99999999999999999999:0",
          "strconv.Atoi: parsing \"99999999999999999999\": value out of range" },
    };
    static const struct cel_var var = { "z", &cel_string };
    static const struct cel_env env = { .vars = &var, .n_vars = 1, .zone = two_zones };
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(cel_expr_free)
    struct cel_expr *e = compile(&env, "timestamp('2020-06-01T01:45:00Z').getHours(z)");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_fini) struct strbuf shown = STRBUF_INIT;
        struct cel_val v, zone = cel_v_str(cases[i].zone, strlen(cases[i].zone));
        (void)cel_eval(e, &zone, CEL_LIMIT_CALL, a, &v, NULL);
        cel_val_print(a, v, &shown);
        assert_string_equal(strbuf_str(&shown), cases[i].value);
    }
    expect("timestamp('2020-01-01T00:00:00Z').getHours('Europe/Berlin')",
           "unknown time zone Europe/Berlin");
    expect("timestamp('0001-01-01T00:00:00Z').getFullYear('-9999:00')", "-1");
}

static void test_urls(void **state)
{
    (void)state;
    expect("url('http://[fe80::1%25eth0]:80/').getHost()", "\"[fe80::1%eth0]:80\"");
    expect("url('http://[::1]:80/').getHostname()", "\"::1\"");
    expect("url('HTTP://a/b c#d').getEscapedPath()", "\"/b%20c\"");
    expect("url('//a/b').getHost()", "\"a\"");
    static const char *const bad[] = { "http://[::1/",     "http://[a^b]/",  "http://[10.0.0.1]/",
                                       "http://x[::1]/",   "http://[::1]x/", "http://[::1%25]/",
                                       "http://[::1%zz]/", "http://a:1:b/",  "http://a b/",
                                       "http://u|@a/" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        strbuf_appendf(&text, "isURL('%s')", bad[i]);
        expect(strbuf_str(&text), "false");
    }
}

/* What upstream computes in 64 bits, it also gets wrong in 64 bits. */
static void test_the_smallest_integer_taken_from_a_quantity(void **state)
{
    (void)state;
    expect("quantity('1').sub(-9223372036854775808) == quantity('-9223372036854775807')", "true");
    expect("quantity('-1').sub(-9223372036854775808) == quantity('9223372036854775807')", "true");
    expect("sign(quantity('9223372036854775807').sub(-9223372036854775808))", "1");
    expect("quantity('12e6').sub(quantity('-1').sub(9223372036854775807)) == "
           "quantity('-9223372036842775808')",
           "true");
    expect("sign(quantity('1.5').sub(-9223372036854775808))", "1");
}

static void test_maps_are_walked_in_the_order_of_their_keys(void **state)
{
    (void)state;
    expect("{'b': 1, 'c': 2, 'a': 3}.map(k, k)", "[\"a\", \"b\", \"c\"]");
    expect("{'b': 1, 'a': 3}.transformList(k, v, v)", "[3, 1]");
}

static void test_no_evaluation_exceeds_its_budget(void **state)
{
    static const char *const texts[] = {
        "lists.range(100000).map(x, lists.range(1000).map(y, x * y)).size() > 0",
        "lists.range(5000).distinct().size() == 5000",
        "lists.range(9223372036854775807).size() > 0",
        "'a'.matches('(a+)+$') && lists.range(1000000).all(x, x >= 0)",
    };
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CLEANUP(cel_expr_free) struct cel_expr *e = compile(&nothing, texts[i]);
        struct cel_val v;
        uint64_t cost;
        assert_int_equal(cel_eval(e, NULL, 10000, a, &v, &cost), CEL_COST);
        assert_string_equal(v.s, "operation cancelled: actual cost limit exceeded");
        arena_reset(a);
    }
}

static bool looks_run_out(void *arg)
{
    unsigned *left = arg;
    return (*left)-- == 0;
}

/* Looked at every 100 rounds, whatever loops these are; a limit that is reached before says so. */
static void test_an_evaluation_can_be_interrupted(void **state)
{
    static const struct {
        const char *text;
        uint64_t limit;
        unsigned looks; /* that find nothing */
        enum cel_failure failure;
        const char *says;
    } cases[] = {
        { "lists.range(1000).all(x, x >= 0)", CEL_LIMIT_CALL, 0, CEL_STOPPED,
          "operation interrupted" },
        { "lists.range(1000).all(x, x >= 0)", CEL_LIMIT_CALL, 9, CEL_STOPPED,
          "operation interrupted" },
        { "lists.range(1000).all(x, x >= 0)", CEL_LIMIT_CALL, 10, CEL_OK, NULL },
        { "lists.range(1000).all(x, x >= 0)", 1500, 9, CEL_COST,
          "operation cancelled: actual cost limit exceeded" },
        { "lists.range(99).all(x, x >= 0)", CEL_LIMIT_CALL, 0, CEL_OK, NULL },
        { "lists.range(50).map(x, lists.range(20).exists(y, y > x + 100)).size() == 50",
          CEL_LIMIT_CALL, 4, CEL_STOPPED, "operation interrupted" },
        /* An error or a side that decides does not hide it. */
        { "lists.range(200).exists(x, 1 / 0 == x) || lists.range(200).map(x, x).size() == 200",
          CEL_LIMIT_CALL, 2, CEL_STOPPED, "operation interrupted" },
        { "lists.range(200).map(x, x).size() == 200 || true", CEL_LIMIT_CALL, 0, CEL_STOPPED,
          "operation interrupted" },
    };
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(cel_expr_free) struct cel_expr *e = compile(&nothing, cases[i].text);
        unsigned looks = cases[i].looks;
        const struct cel_interrupt stop = { looks_run_out, &looks };
        struct cel_val v;
        assert_int_equal(cel_eval_until(e, NULL, cases[i].limit, &stop, a, &v, NULL),
                         cases[i].failure);
        if (cases[i].says)
            assert_string_equal(v.s, cases[i].says);
        assert_int_equal(cel_eval_until(e, NULL, CEL_LIMIT_CALL, NULL, a, &v, NULL), CEL_OK);
        arena_reset(a);
    }
}

/* Documents are read where they are; a compiled expression serves many of them. */
static void test_schemas_give_types_and_documents_values(void **state)
{
    static const char schema_text[] =
        "{\"type\":\"object\",\"properties\":{\"replicas\":{\"type\":\"integer\"},\"names\":{"
        "\"type\":"
        "\"array\",\"maxItems\":4,\"items\":{\"type\":\"string\",\"maxLength\":8},"
        "\"x-kubernetes-list-type\":\"set\"},\"a-b\":{\"type\":\"string\"},\"if\":{\"type\":"
        "\"boolean\"},\"at\":{\"type\":\"string\",\"format\":\"date-time\"}}}";
    static const char object_text[] =
        "{\"replicas\":3,\"names\":[\"x\",\"y\"],\"a-b\":\"dash\",\"if\":true,\"at\":"
        "\"2026-01-02T03:04:05Z\",\"unknown\":1}";
    CLEANUP(kj_doc_free) struct kj_doc *schema = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *object = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct cel_val v;

    (void)state;
    assert_int_equal(kj_parse(schema_text, sizeof schema_text - 1, 0, &schema, NULL), 0);
    assert_int_equal(kj_parse(object_text, sizeof object_text - 1, 0, &object, NULL), 0);
    const struct cel_type *type = cel_schema_type(a, kj_root(schema), "type_self", false);
    const struct cel_var var = { "self", type };
    const struct cel_env env = { .vars = &var, .n_vars = 1 };
    CLEANUP(cel_expr_free)
    struct cel_expr *e =
        compile(&env, "self.replicas == 3 && self.names == ['y', 'x'] && self.__if__ "
                      "&& self.a__dash__b == 'dash' && self.at.getHours() == 3 && "
                      "self.names.all(n, n.size() < 4)");
    assert_true(cel_expr_estimate(e).max < 100);
    assert_true(cel_expr_bytes(e) < 4096);
    struct cel_val self = cel_v_json(a, kj_root(object), type);
    assert_int_equal(cel_eval(e, &self, CEL_LIMIT_CALL, a, &v, NULL), CEL_OK);
    assert_true(v.kind == CK_BOOL && v.b);
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(cel_expr_free) struct cel_expr *bad = NULL;
    assert_int_equal(cel_compile(&env, "self.unknown", 12, &bad, &why), CEL_CHECK);
    assert_non_null(strstr(strbuf_str(&why), "undefined field 'unknown'"));
}

static const char odd_schema[] =
    "{\"type\":\"object\",\"properties\":{\"blob\":{\"type\":\"object\",\"x-kubernetes-preserve-"
    "unknown-fields\":true},\"s\":{\"type\":\"string\",\"maxLength\":100},\"n\":{\"type\":"
    "\"integer\",\"nullable\":true},\"labels\":{\"type\":\"object\",\"additionalProperties\":{"
    "\"type\":\"integer\"}},\"short\":{\"x-kubernetes-int-or-string\":true,\"maxLength\":7}}}";

/* Texts of a schema are read as its formats are checked; duration('1d') stays refused. */
static void test_durations_and_dates_of_schemas(void **state)
{
    static const char schema_text[] =
        "{\"type\":\"object\",\"properties\":{\"d\":{\"type\":\"array\",\"maxItems\":20,\"items\":{"
        "\"type\":\"string\",\"format\":\"duration\"}},\"t\":{\"type\":\"array\",\"maxItems\":20,"
        "\"items\":{\"type\":\"string\",\"format\":\"date-time\"}}}}";
    static const char object_text[] = "{\"d\":[\"1d\",\"2 weeks\",\"1 Hour, and 30 MINUTES!\",\"-1 "
                                      "d\",\"5 \u00b5s\",\"300 years 5 s\","
                                      "\"9223372036854775807 weeks\",\"1 d2 d\",\"-1.5h\",\"3 "
                                      "m5\",\"99999999999999999999 x 5 s\"],"
                                      "\"t\":[\"0000-01-01\",\"2020-02-03t00:00:00z\"]}";
    static const char *const durations[] = { "86400", "1209600", "5400",   "86400", "0.000005",
                                             "5",     "-604800", "259200", "-5400", "180" };
    CLEANUP(kj_doc_free) struct kj_doc *schema = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *object = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    assert_int_equal(kj_parse(schema_text, sizeof schema_text - 1, 0, &schema, NULL), 0);
    assert_int_equal(kj_parse(object_text, sizeof object_text - 1, 0, &object, NULL), 0);
    const struct cel_var var = { "self", cel_schema_type(a, kj_root(schema), "type_self", false) };
    const struct cel_env env = { .vars = &var, .n_vars = 1 };
    struct cel_val v, self = cel_v_json(a, kj_root(object), var.type);
    for (size_t i = 0; i <= ARRAY_LEN(durations); i++) {
        CLEANUP(cel_expr_free)
        struct cel_expr *e = compile(&env, arena_printf(a, "string(self.d[%zu])", i));
        int how = cel_eval(e, &self, CEL_LIMIT_CALL, a, &v, NULL);
        assert_int_equal(how, i < ARRAY_LEN(durations) ? CEL_OK : CEL_RUNTIME);
        if (i < ARRAY_LEN(durations))
            assert_string_equal(arena_printf(a, "%.*s", (int)v.n, v.s),
                                arena_printf(a, "%ss", durations[i]));
    }
    CLEANUP(cel_expr_free)
    struct cel_expr *old = compile(&env, "self.t[0].getFullYear() == 0 && "
                                         "string(self.t[0]) == '0000-01-01T00:00:00Z'");
    assert_int_equal(cel_eval(old, &self, CEL_LIMIT_CALL, a, &v, NULL), CEL_OK);
    assert_true(v.b);
    CLEANUP(cel_expr_free) struct cel_expr *lower = compile(&env, "self.t[1].getFullYear() == 0");
    assert_int_equal(cel_eval(lower, &self, CEL_LIMIT_CALL, a, &v, NULL), CEL_RUNTIME);
}

/* Bounds decide which rules are accepted; where upstream's are odd, ours are the same. */
static void test_bounds_are_upstreams(void **state)
{
    static const struct {
        const char *text;
        uint64_t max;
    } cases[] = {
        { "type(1) == int", 2 },
        { "self.labels.all(k, true)", 1348170 },
        { "[self.s].all(x, x == self.s)", 19 },
        { "self.short == self.s", 7 },
        { "dyn(self).s == self.s", 4 },
        { "[self][0].s == self.s", 55 },
        { "has(self.blob) && self.blob == self.blob", 5 },
    };
    CLEANUP(kj_doc_free) struct kj_doc *schema = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    assert_int_equal(kj_parse(odd_schema, sizeof odd_schema - 1, 0, &schema, NULL), 0);
    const struct cel_var var = { "self", cel_schema_type(a, kj_root(schema), "type_self", false) };
    const struct cel_env env = { .vars = &var, .n_vars = 1 };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(cel_expr_free) struct cel_expr *e = compile(&env, cases[i].text);
        assert_int_equal(cel_expr_estimate(e).max, cases[i].max);
    }
    static const char keys[] = "device.attributes['a'].transformList(k, v, k).all(x, format.uuid()"
                               ".validate(x).hasValue())"; /* a key has the size of a value */
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    assert_int_equal(cel_device_compile(&plain, keys, sizeof keys - 1, &e, &why), CEL_OK);
    assert_int_equal(cel_expr_estimate(e).max, 7791);
}

/* Lists of schemas compare and grow by the rules of their schema; has() takes one back when it does
 * not get as far as its field. */
static void test_values_of_schemas_are_strict(void **state)
{
    static const char schema_text[] =
        "{\"type\":\"object\",\"properties\":{\"nums\":{\"type\":\"array\",\"items\":{\"type\":"
        "\"integer\"}},\"ratios\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}},\"ports\":{"
        "\"type\":\"array\",\"items\":{\"x-kubernetes-int-or-string\":true}},\"tags\":{\"type\":"
        "\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}},\"labels\":{"
        "\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},\"waits\":{\"type\":"
        "\"array\",\"items\":{\"type\":\"string\",\"format\":\"duration\"}},\"none\":{\"type\":"
        "\"array\",\"items\":{\"type\":\"string\",\"format\":\"duration\"}}}}";
    static const char object_text[] = "{\"nums\":[1,2],\"ratios\":[0.5],\"ports\":[2,\"http\"],"
                                      "\"tags\":[\"a\"],\"labels\":{},\"waits\":[\"90s\",\"1h\"],"
                                      "\"none\":[]}";
    static const char no_int[] = "invalid data, expected int, got string";
    static const char no_text[] = "invalid data, expected string, got time.Duration";
    static const struct {
        const char *text;
        const char *why; /* NULL: true */
        uint64_t cost;   /* 0: not compared here */
    } cases[] = {
        { "dyn(self.nums) == dyn('x')", "no such overload" },
        { "dyn(self.tags) == dyn(1)", "no such overload" },
        { "dyn(self.labels) == dyn(1)", "no such overload" },
        { "dyn(self.nums) != dyn(null)", NULL },
        { "dyn('x') != dyn(self.nums)", NULL },
        { "dyn([1]) != dyn('x')", NULL },
        { "sets.contains(self.nums + self.ports, [2])", NULL },
        { "sets.contains(self.nums + self.ports, [3])", no_int },
        { "!sets.intersects([3], self.nums + self.ports)", NULL },
        { "3 in self.nums + self.ports", no_int },
        { "(self.nums + self.ports)[3] == 1", no_int },
        { "sets.equivalent(self.ratios + dyn(self.nums), [0.5, 1.0, 2.0])", NULL },
        /* What is added is read as text of the document, which a duration is not. */
        { "(self.waits + [duration('2h')]).isSorted()", no_text },
        { "duration('2h') in self.none.sort() + [duration('2h')]", no_text },
        { "duration('2h') in self.none.distinct() + [duration('2h')]", no_text },
        { "(self.waits + self.waits).max() == duration('1h')", no_text },
        { "(self.waits + self.waits).sum() == duration('1h')", no_text },
        { "sets.contains(self.waits + dyn(['2m']), [duration('120s')])", NULL },
        /* Going through durations costs one each, through lists in lists what is in them. */
        { "self.waits.indexOf(duration('1h')) == 1", NULL, 5 },
        { "[self.tags].indexOf(['b']) == -1", NULL, 13 },
        { "!has({'a': {'b': 1}}.?x.b)", NULL, 1 },
        { "!has(optional.none().a)", NULL, 2 },
    };
    CLEANUP(kj_doc_free) struct kj_doc *schema = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *object = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    assert_int_equal(kj_parse(schema_text, sizeof schema_text - 1, 0, &schema, NULL), 0);
    assert_int_equal(kj_parse(object_text, sizeof object_text - 1, 0, &object, NULL), 0);
    const struct cel_type *type = cel_schema_type(a, kj_root(schema), "type_self", false);
    const struct cel_var var = { "self", type };
    const struct cel_env env = { .vars = &var, .n_vars = 1 };
    struct cel_val self = cel_v_json(a, kj_root(object), type), v;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(cel_expr_free) struct cel_expr *e = compile(&env, cases[i].text);
        uint64_t cost;
        bool fails = cases[i].why;
        assert_int_equal(cel_eval(e, &self, CEL_LIMIT_CALL, a, &v, &cost),
                         fails ? CEL_RUNTIME : CEL_OK);
        if (fails)
            assert_string_equal(v.s, cases[i].why);
        else
            assert_true(v.kind == CK_BOOL && v.b);
        if (cases[i].cost)
            assert_int_equal(cost, cases[i].cost);
    }
}

/* Objects are equal with all that they have, also what expressions cannot see. */
static void test_equality_of_objects(void **state)
{
    static const struct {
        const char *x, *y;
        bool same;
    } cases[] = {
        { "{\"s\":\"a\",\"n\":1}", "{\"n\":1,\"s\":\"a\"}", true },
        { "{\"s\":\"a\"}", "{\"s\":\"a\",\"n\":null}", false },
        { "{\"blob\":{\"x\":1}}", "{\"blob\":{\"x\":1}}", true },
        { "{\"blob\":{\"x\":1}}", "{\"blob\":{\"x\":2}}", false },
    };
    CLEANUP(kj_doc_free) struct kj_doc *schema = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    assert_int_equal(kj_parse(odd_schema, sizeof odd_schema - 1, 0, &schema, NULL), 0);
    const struct cel_type *type = cel_schema_type(a, kj_root(schema), "type_self", false);
    const struct cel_var vars[] = { { "self", type }, { "oldSelf", type } };
    const struct cel_env env = { .vars = vars, .n_vars = 2 };
    CLEANUP(cel_expr_free) struct cel_expr *e = compile(&env, "self == oldSelf");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *x = NULL;
        CLEANUP(kj_doc_free) struct kj_doc *y = NULL;
        struct cel_val v;
        assert_int_equal(kj_parse(cases[i].x, strlen(cases[i].x), 0, &x, NULL), 0);
        assert_int_equal(kj_parse(cases[i].y, strlen(cases[i].y), 0, &y, NULL), 0);
        struct cel_val both[] = { cel_v_json(a, kj_root(x), type),
                                  cel_v_json(a, kj_root(y), type) };
        assert_int_equal(cel_eval(e, both, CEL_LIMIT_CALL, a, &v, NULL), CEL_OK);
        assert_int_equal(v.b, cases[i].same);
    }
}

static void test_a_warm_arena_is_enough(void **state)
{
    static const char selector[] = "device.driver == 'gpu.example.com' && device.attributes["
                                   "'gpu.example.com'].model == 'a100'";
    const struct cel_device_attr attr = { .name = STR("model"), .s = STR("a100") };
    const struct cel_device d = { .driver = STR("gpu.example.com"), .attrs = &attr, .n_attrs = 1 };
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    struct cel_val v;
    uint64_t cost, before = 0;

    (void)state;
    assert_int_equal(cel_device_compile(&plain, selector, sizeof selector - 1, &e, &why), CEL_OK);
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            before = alloc_count();
        assert_int_equal(cel_device_eval(e, &d, CEL_LIMIT_CALL, a, &v, &cost), CEL_OK);
        assert_true(v.b);
        arena_reset(a);
    }
    assert_int_equal(alloc_count(), before);
}

/* One value of a device serves many expressions, and its errors are the answer of all of them. */
static void test_a_device_is_made_once(void **state)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = { { "device.attributes['gpu.example.com'].model == 'a100'", true },
                  { "'nic.example.com' in device.attributes", true },
                  { "device.attributes['x.example.com'].size() == 0", true },
                  { "device.attributes['nic.example.com'].up", false } };
    struct cel_device_attr attrs[] = {
        { .name = STR("model"), .s = STR("a100") },
        { .name = STR("nic.example.com/up"), .kind = CEL_ATTR_BOOL },
        { .name = STR("firmware"), .kind = CEL_ATTR_VERSION, .s = STR("1.2.3") },
    };
    const struct cel_device d = { .driver = STR("gpu.example.com"),
                                  .attrs = attrs,
                                  .n_attrs = ARRAY_LEN(attrs) };
    CLEANUP(arena_free) struct arena *kept = arena_new(), *a = arena_new();
    struct cel_val device = cel_device_value(kept, &d), v;
    uint64_t cost;

    (void)state;
    attrs[2].s = STR("1.x");
    struct cel_val broken = cel_device_value(kept, &d);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
        assert_int_equal(cel_device_compile(&plain, cases[i].text, strlen(cases[i].text), &e, &why),
                         CEL_OK);
        for (int k = 0; k < 3; k++) {
            arena_reset(a);
            assert_int_equal(cel_device_match(e, device, CEL_LIMIT_CALL, NULL, a, &v, &cost),
                             CEL_OK);
            assert_int_equal(v.b, cases[i].want);
        }
        assert_int_equal(cel_device_match(e, broken, CEL_LIMIT_CALL, NULL, a, &v, &cost),
                         CEL_RUNTIME);
        assert_non_null(memmem(v.s, v.n, "parse semantic version", 22));
    }
}

/* What a selector may return, and what may be done with an attribute, whose type nobody knows. */
static void test_selectors_that_are_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "dyn(true)", "must evaluate to bool or the unknown type, not dyn" },
        { "string(timestamp(string(1.5)))",
          "must evaluate to bool or the unknown type, not string" },
        { "timestamp(string(1.5)) == timestamp('2020-01-01T00:00:00Z')",
          "program instantiation failed: " },
        { "[1, device.attributes['a'].b] == []", "expected type 'int' but found 'any'" },
        { "device.attributes['a'].b.all(x, true)",
          "expression of type 'any' cannot be range of a comprehension" },
        { "'%s'.format([device.attributes['a'].b]) == ''", "was given google.protobuf.Any" },
        { "device.allowMultipleAllocations", "undefined field 'allowMultipleAllocations'" },
    };
    static const struct cel_device_env consumable = { .consumable = true };
    CLEANUP(cel_expr_free) struct cel_expr *last = NULL;
    CLEANUP(strbuf_fini) struct strbuf none = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
        assert_int_equal(cel_device_compile(&plain, cases[i].text, strlen(cases[i].text), &e, &why),
                         CEL_CHECK);
        if (!strstr(strbuf_str(&why), cases[i].why))
            fail_msg("%s: %s", cases[i].text, strbuf_str(&why));
    }
    assert_int_equal(
        cel_device_compile(&consumable, "device.allowMultipleAllocations", 31, &last, &none),
        CEL_OK);
}

/* Allows reading pods in "default", says what it was asked. */
static void fake_check(void *arg, const struct cel_access *q, struct arena *a,
                       struct cel_access_answer *ret)
{
    int *asked = arg;

    (*asked)++;
    ret->allowed = str_eqz(q->verb, "get") && str_eqz(q->resource, "pods") &&
                   str_eqz(q->namespace, "default") && !q->service_account.n;
    ret->reason = str_of(arena_printf(
        a, "%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s", (int)q->service_account.n,
        str_or(q->service_account.p, ""), (int)q->verb.n, q->verb.p, (int)q->path.n,
        str_or(q->path.p, ""), (int)q->group.n, str_or(q->group.p, ""), (int)q->resource.n,
        str_or(q->resource.p, ""), (int)q->subresource.n, str_or(q->subresource.p, ""),
        (int)q->namespace.n, str_or(q->namespace.p, ""), (int)q->name.n, str_or(q->name.p, ""),
        (int)q->field_selector.n, str_or(q->field_selector.p, ""), (int)q->label_selector.n,
        str_or(q->label_selector.p, "")));
    if (str_eqz(q->verb, "fail"))
        ret->error = STR("no rules today");
}

static void test_an_expression_asks_the_authorizer(void **state)
{
    static const struct {
        const char *text, *want; /* the value, or the error */
        uint64_t cost;
    } cases[] = {
        { "authorizer.group('').resource('pods').namespace('default').check('get').allowed()",
          "true", 350005 },
        { "authorizer.group('apps').resource('pods').check('get').allowed()", "false", 350004 },
        { "authorizer.requestResource.check('get').allowed()", "true", 350002 },
        { "authorizer.path('/healthz').check('get').reason()", "\"|get|/healthz|||||||\"", 350003 },
        { "authorizer.serviceAccount('ns', 'sa').group('g').resource('r').subresource('s')"
          ".name('n').check('v').reason()",
          "\"ns:sa|v||g|r|s||n||\"", 350007 },
        { "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c').check('"
          "get')"
          ".reason()",
          "\"|get|||pods||||a=b|c\"", 350176 },
        { "authorizer.requestResource == authorizer.requestResource", "no such overload", 3 },
        { "authorizer.path('/').check('fail').errored()", "true", 350003 },
        { "authorizer.path('/').check('fail').error()", "\"no rules today\"", 350003 },
        { "authorizer.path('').check('get').allowed()", "path must not be empty", 350003 },
        { "authorizer.group('').resource(' ').check('get').allowed()", "resource must not be empty",
          350004 },
        { "authorizer.serviceAccount('n s', 'x').path('/').check('get').allowed()",
          "Invalid service account namespace", 350004 },
    };
    const struct cel_var vars[] = { { "authorizer", &cel_authorizer },
                                    { "authorizer.requestResource", &cel_resource_check } };
    const struct cel_env env = { .vars = vars, .n_vars = 2 };
    CLEANUP(arena_free) struct arena *a = arena_new();
    int asked = 0;
    const struct cel_authorizer auth = { fake_check, &asked };
    const struct cel_access own = { .resource = STR("pods"), .namespace = STR("default") };
    struct cel_val values[] = { cel_v_authorizer(a, &auth), cel_v_resource_check(a, &auth, &own) };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        struct cel_val v;
        uint64_t cost;
        if (cel_compile(&env, cases[i].text, strlen(cases[i].text), &e, &b) != CEL_OK)
            fail_msg("%s", b.data);
        if (cel_eval(e, values, CEL_LIMIT_CALL, a, &v, &cost) == CEL_OK)
            cel_val_print(a, v, &b);
        else
            strbuf_appendn(&b, v.s, v.n);
        assert_string_equal(strbuf_str(&b), cases[i].want);
        assert_int_equal(cost, cases[i].cost);
    }
    assert_int_equal(asked, 8);
}

/* One compiled expression and one document for all threads; arenas of their own. */
struct evaluations {
    const struct cel_expr *e;
    const struct kj_val *doc;
    const struct cel_type *type;
    uint64_t cost; /* of one evaluation alone */
    int wrong;
};

static void *evaluate_often(void *arg)
{
    struct evaluations *x = arg;
    CLEANUP(arena_free) struct arena *a = arena_new();

    for (int i = 0; i < 500; i++) {
        struct cel_val self = cel_v_json(a, x->doc, x->type), v;
        uint64_t cost = 0;
        enum cel_failure f = cel_eval(x->e, &self, CEL_LIMIT_CALL, a, &v, &cost);
        x->wrong += f != CEL_OK || v.kind != CK_STRING || cost != x->cost ||
                    !str_eqz(cel_str(v), "[\"a\", \"b\", \"c\"] 3 b");
        arena_reset(a);
    }
    return NULL;
}

/* cel.md 7: two evaluations of one compiled expression at the same time share nothing. */
static void test_threads_share_nothing(void **state)
{
    static const char text[] = "{\"names\":[\"c\",\"a\",\"b\"],\"s\":\"abc\"}";
    static const char schema_text[] =
        "{\"type\":\"object\",\"properties\":{\"names\":{\"type\":\"array\",\"items\":{\"type\":"
        "\"string\"},\"x-kubernetes-list-type\":\"set\"},\"s\":{\"type\":\"string\"}}}";
    CLEANUP(kj_doc_free) struct kj_doc *schema = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct evaluations x[4];
    pthread_t threads[ARRAY_LEN(x)];

    (void)state;
    assert_int_equal(kj_parse(schema_text, sizeof schema_text - 1, 0, &schema, NULL), 0);
    assert_int_equal(kj_parse(text, sizeof text - 1, 0, &doc, NULL), 0);
    const struct cel_type *type = cel_schema_type(a, kj_root(schema), "type_self", false);
    const struct cel_var var = { "self", type };
    const struct cel_env env = { .vars = &var, .n_vars = 1 };
    CLEANUP(cel_expr_free)
    struct cel_expr *e = compile(&env, "'%s %d %s'.format([self.names.sort(), self.names.map(n, "
                                       "n + self.s).filter(n, n.matches('^[a-z]+$')).size(), "
                                       "self.s.find('b+')])");
    struct cel_val self = cel_v_json(a, kj_root(doc), type), v;
    uint64_t cost;
    assert_int_equal(cel_eval(e, &self, CEL_LIMIT_CALL, a, &v, &cost), CEL_OK);
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        x[i] = (struct evaluations){ e, kj_root(doc), type, cost, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, evaluate_often, &x[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(x[i].wrong, 0);
    }
}

#define OPERAND                                                                              \
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, " \
    "STRING, BYTES, IDENTIFIER}"

/* cel-go's words for them (celpeer one EXPR): all messages without the source, "LINE:COLUMN: TEXT".
 */
static const struct {
    const char *text, *errors;
} broken[] = {
    { "", "1:0: Syntax error: mismatched input '<EOF>' expecting " OPERAND "\n" },
    { "1 +", "1:4: Syntax error: mismatched input '<EOF>' expecting " OPERAND "\n" },
    { "1 + + 2", "1:5: Syntax error: extraneous input '+' expecting " OPERAND "\n" },
    { "(1", "1:3: Syntax error: missing ')' at '<EOF>'\n" },
    { "[1", "1:3: Syntax error: mismatched input '<EOF>' expecting {']', ','}\n" },
    { "a..b", "1:3: Syntax error: no viable alternative at input '..'\n" },
    { "a.true", "1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER\n" },
    { "!", "1:2: Syntax error: extraneous input '<EOF>' expecting " OPERAND "\n" },
    { "-1 2", "1:4: Syntax error: extraneous input '2' expecting <EOF>\n" },
    { "1 = 1", "1:3: Syntax error: token recognition error at: '= '\n"
               "1:5: Syntax error: extraneous input '1' expecting <EOF>\n" },
    { "'a\\q'", "1:1: Syntax error: token recognition error at: ''a\\q'\n"
                "1:5: Syntax error: token recognition error at: '''\n"
                "1:6: Syntax error: mismatched input '<EOF>' expecting " OPERAND "\n" },
    { "rb'x'", "1:3: Syntax error: extraneous input ''x'' expecting <EOF>\n" },
    { "(a){}", "1:4: Syntax error: mismatched input '{' expecting <EOF>\n" },
    { "a.?1", "1:4: Syntax error: mismatched input '1' expecting {IDENTIFIER, ESC_IDENTIFIER}\n"
              "1:4: unsupported ident kind\n" },
    { "a.`b`", "1:3: unsupported syntax: '`'\n" },
    { "-1.f(].g",
      "1:6: Syntax error: extraneous input ']' expecting {'[', '{', '(', ')', '.', '-', "
      "'!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
      "IDENTIFIER}\n1:9: Syntax error: missing ')' at '<EOF>'\n" },
    { "[1].map(., 1)", "1:0: argument is not an identifier\n"
                       "1:10: Syntax error: no viable alternative at input '.,'\n" },
    { "if(if)", "1:1: reserved identifier: if\n" },
    { "[1].transformList(1, x, x).sortBy(y, y)",
      "1:19: argument must be a simple name\n1:19: sortBy can only be applied to a list, "
      "identifier, comprehension, call or select expression\n" },
    { "[1].all(if, 1)", "1:9: reserved identifier: if\n1:9: argument must be a simple name\n" },
};

/* The lines that begin with ERROR. */
static void errors_of(const char *why, struct strbuf *out)
{
    static const char head[] = "ERROR: <input>:";

    for (const char *p = why; p && (p = strstr(p, head)); p = strchr(p, '\n')) {
        p += sizeof head - 1;
        strbuf_appendn(out, p, strcspn(p, "\n"));
        strbuf_appendc(out, '\n');
    }
}

static void test_errors_of_syntax_have_upstreams_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT, errors = STRBUF_INIT;
        CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
        assert_int_equal(cel_compile(&nothing, broken[i].text, strlen(broken[i].text), &e, &why),
                         CEL_PARSE);
        errors_of(strbuf_str(&why), &errors);
        assert_string_equal(strbuf_str(&errors), broken[i].errors);
    }
    refuse("a\t@\xc3\xa9", 5, CEL_PARSE,
           "ERROR: <input>:1:3: Syntax error: token recognition error at: '@'\n | a @\xc3\xa9\n | "
           "..^\nERROR: <input>:1:4: Syntax error: token recognition error at: '\xc3\xa9'\n | a "
           "@\xc3\xa9\n | ...\uff3e");
}

static void repeat(struct strbuf *b, const char *part, int n)
{
    while (n--)
        strbuf_append(b, part);
}

static void test_errors_of_syntax_are_bounded(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    repeat(&b, "@", 99999);
    refuse(b.data, b.len, CEL_PARSE, "\n1 more errors were truncated");
    strbuf_reset(&b);
    repeat(&b, "[?", 60);
    refuse(b.data, b.len, CEL_PARSE, "error recovery attempt limit exceeded: 30");
    strbuf_reset(&b);
    strbuf_append(&b, "(1 1");
    repeat(&b, " 1", 300);
    refuse(b.data, b.len, CEL_PARSE, "error recovery token lookahead limit exceeded: 256");
    strbuf_reset(&b);
    repeat(&b, "1+(", 126); /* two levels of one rule each */
    strbuf_append(&b, "1");
    repeat(&b, ")", 126);
    refuse(b.data, b.len, CEL_PARSE, "expression recursion limit exceeded: 250");
}

static void test_text_that_is_no_utf8(void **state)
{
    enum { SIZE = 10 << 20 };
    CLEANUP(mem_free) char *huge = xmalloc(SIZE);

    (void)state;
    expect("'a\xff' + 'b' == 'a\xef\xbf\xbd' + 'b'", "true");
    expect("'a\xe2\x82'.size()", "3");
    expect("b'\xff'.size()", "3");
    memset(huge, '1', SIZE);
    refuse(huge, SIZE, CEL_PARSE, "expression code point size exceeds limit: size: 10485760");
    memset(huge, 0x80, SIZE);
    refuse(huge, SIZE, CEL_PARSE, "expression code point size exceeds limit: size: 10485760");
}

static void test_bad_text_is_refused(void **state)
{
    CLEANUP(mem_free) char *large = xmalloc(200000);

    (void)state;
    memset(large, '(', 200000);
    refuse(large, 10000, CEL_PARSE, "expression recursion limit exceeded: 250");
    refuse(large, 200000, CEL_PARSE, "expression code point size exceeds limit: size: 200000");
    memset(large, '!', 50000);
    memcpy(large + 50000, "true", 4);
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    assert_int_equal(cel_compile(&nothing, large, 50004, &e, &why), CEL_OK);
    refuse("[1,,]", 5, CEL_PARSE, "1:4: Syntax error: extraneous input ',' expecting ']'");
    refuse("'a\0b", 4, CEL_PARSE, "Syntax error");
    refuse("\xff", 1, CEL_PARSE, "Syntax error");
    refuse("", 0, CEL_PARSE, "Syntax error");
    /* Each optMap doubles what it is applied to. */
    CLEANUP(strbuf_fini) struct strbuf nested = STRBUF_INIT;
    strbuf_append(&nested, "optional.of(1)");
    for (int i = 0; i < 60; i++)
        strbuf_append(&nested, ".optMap(x, x)");
    refuse(nested.data, nested.len, CEL_CHECK, "expression too large");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_must_hold),
        cmocka_unit_test(test_odd_corners_are_upstreams),
        cmocka_unit_test(test_fields_of_messages_have_their_type),
        cmocka_unit_test(test_shared_values_in_messages_are_bounded),
        cmocka_unit_test(test_what_is_bound_has_variables_of_its_own),
        cmocka_unit_test(test_time_zones),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_the_smallest_integer_taken_from_a_quantity),
        cmocka_unit_test(test_maps_are_walked_in_the_order_of_their_keys),
        cmocka_unit_test(test_no_evaluation_exceeds_its_budget),
        cmocka_unit_test(test_an_evaluation_can_be_interrupted),
        cmocka_unit_test(test_schemas_give_types_and_documents_values),
        cmocka_unit_test(test_durations_and_dates_of_schemas),
        cmocka_unit_test(test_bounds_are_upstreams),
        cmocka_unit_test(test_values_of_schemas_are_strict),
        cmocka_unit_test(test_equality_of_objects),
        cmocka_unit_test(test_a_warm_arena_is_enough),
        cmocka_unit_test(test_a_device_is_made_once),
        cmocka_unit_test(test_selectors_that_are_refused),
        cmocka_unit_test(test_an_expression_asks_the_authorizer),
        cmocka_unit_test(test_threads_share_nothing),
        cmocka_unit_test(test_errors_of_syntax_have_upstreams_words),
        cmocka_unit_test(test_errors_of_syntax_are_bounded),
        cmocka_unit_test(test_text_that_is_no_utf8),
        cmocka_unit_test(test_bad_text_is_refused),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
