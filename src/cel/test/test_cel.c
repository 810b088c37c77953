/* test_cel.c - expressions: what tests/golden cannot show - budgets, sharing, documents in place,
 * bad input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cel/authz.h"
#include "cel/cel.h"
#include "cel/device.h"
#include "cel/schema.h"

static const struct cel_env nothing;

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
    const struct cel_env env = { &var, 1, false };
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
    assert_int_equal(cel_device_compile(selector, sizeof selector - 1, false, &e, &why), CEL_OK);
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
        assert_int_equal(cel_device_compile(cases[i].text, strlen(cases[i].text), false, &e, &why),
                         CEL_OK);
        for (int k = 0; k < 3; k++) {
            arena_reset(a);
            assert_int_equal(cel_device_match(e, device, CEL_LIMIT_CALL, a, &v, &cost), CEL_OK);
            assert_int_equal(v.b, cases[i].want);
        }
        assert_int_equal(cel_device_match(e, broken, CEL_LIMIT_CALL, a, &v, &cost), CEL_RUNTIME);
        assert_non_null(memmem(v.s, v.n, "parse semantic version", 22));
    }
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
        a, "%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s", (int)q->service_account.n,
        str_or(q->service_account.p, ""), (int)q->verb.n, q->verb.p, (int)q->path.n,
        str_or(q->path.p, ""), (int)q->group.n, str_or(q->group.p, ""), (int)q->resource.n,
        str_or(q->resource.p, ""), (int)q->subresource.n, str_or(q->subresource.p, ""),
        (int)q->namespace.n, str_or(q->namespace.p, ""), (int)q->name.n, str_or(q->name.p, "")));
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
        { "authorizer.path('/healthz').check('get').reason()", "\"|get|/healthz|||||\"", 350003 },
        { "authorizer.serviceAccount('ns', 'sa').group('g').resource('r').subresource('s')"
          ".name('n').check('v').reason()",
          "\"ns:sa|v||g|r|s||n\"", 350007 },
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
    assert_int_equal(asked, 7);
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
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_maps_are_walked_in_the_order_of_their_keys),
        cmocka_unit_test(test_no_evaluation_exceeds_its_budget),
        cmocka_unit_test(test_schemas_give_types_and_documents_values),
        cmocka_unit_test(test_a_warm_arena_is_enough),
        cmocka_unit_test(test_a_device_is_made_once),
        cmocka_unit_test(test_an_expression_asks_the_authorizer),
        cmocka_unit_test(test_errors_of_syntax_have_upstreams_words),
        cmocka_unit_test(test_errors_of_syntax_are_bounded),
        cmocka_unit_test(test_text_that_is_no_utf8),
        cmocka_unit_test(test_bad_text_is_refused),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
