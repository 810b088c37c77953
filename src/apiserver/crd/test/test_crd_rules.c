/* Rules of CRDs through the whole server: what tests/golden (cel/crd-rules) cannot see. Rules are
 * written with single quotes around JSON and double ones inside expressions. */
#include <sys/resource.h>

#include "apiserver/crd/internal.h"
#include "apiserver/test/api_fixture.h"
#include "base/klog.h"

#define CRDS   "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define THINGS "/apis/ex.io/v1/namespaces/default/things"

/* ' becomes " and ` becomes ': JSON with expressions in it that people can read. */
static char *json_of(const char *s)
{
    char *out = xstrdup(s);
    for (char *p = out; *p; p++)
        *p = *p == '\'' ? '"' : *p == '`' ? '\'' : *p;
    return out;
}

static char *definition_with(const char *spec)
{
    CLEANUP(mem_free)
    char *text = xasprintf(
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':"
        "{'name':'things.ex.io'},'spec':{'group':'ex.io','scope':'Namespaced','names':{'plural':"
        "'things','kind':'Thing'},'versions':[{'name':'v1','served':true,'storage':true,"
        "'subresources':{'status':{}},'schema':{'openAPIV3Schema':{'type':'object','properties':{"
        "'spec':%s,'status':{'type':'object','properties':{'ready':{'type':'integer',"
        "'x-kubernetes-validations':[{'rule':'self >= 0'}]}}}}}}}]}}",
        spec);
    return json_of(text);
}

static int define(struct fixture *r, const char *spec)
{
    CLEANUP(mem_free) char *body = definition_with(spec);
    int status = fixture_post(r, CRDS, body);
    loop_advance(r->loop, NSEC_PER_SEC);
    return status;
}

static int change(struct fixture *r, const char *target, const char *patch)
{
    CLEANUP(mem_free) char *body = json_of(patch);
    int status = fixture_do(r, "PATCH", target, MERGE, body);
    loop_advance(r->loop, NSEC_PER_SEC);
    return status;
}

static int create(struct fixture *r, const char *name, const char *spec)
{
    CLEANUP(mem_free)
    char *text = xasprintf("{'apiVersion':'ex.io/v1','kind':'Thing','metadata':{'name':'%s'},"
                           "'spec':%s}",
                           name, spec);
    CLEANUP(mem_free) char *body = json_of(text);
    return fixture_post(r, THINGS, body);
}

#define RANGE                                                                                 \
    "{'type':'object','properties':{'min':{'type':'integer'},'max':{'type':'integer'},"       \
    "'mode':{'type':'string','maxLength':9}},'x-kubernetes-validations':[{'rule':"            \
    "'self.min <= self.max','messageExpression':'`min %d is above max %d`.format([self.min, " \
    "self.max])','fieldPath':'.min'},{'rule':'!has(oldSelf.mode) || has(self.mode) && "       \
    "self.mode == oldSelf.mode','message':'mode is immutable','reason':'FieldValueForbidden'}]}"

static void test_rules_judge_objects(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(define(&r, RANGE), 201);
    assert_int_equal(create(&r, "a", "{'min':3,'max':2}"), 422);
    assert_string_equal(fixture_str(&r, "message"),
                        "Thing.ex.io \"a\" is invalid: spec.min: Invalid value: min 3 is above "
                        "max 2");
    assert_int_equal(create(&r, "a", "{'min':1,'max':2,'mode':'x'}"), 201);
    assert_int_equal(change(&r, THINGS "/a", "{'spec':{'mode':'y'}}"), 422);
    assert_string_equal(fixture_str(&r, "message"),
                        "Thing.ex.io \"a\" is invalid: spec: Forbidden: mode is immutable");
    assert_int_equal(change(&r, THINGS "/a", "{'spec':{'max':9}}"), 200);
    /* Status is written by its own subresource, and judged there. */
    assert_int_equal(change(&r, THINGS "/a/status", "{'status':{'ready':-1}}"), 422);
    assert_contains(fixture_str(&r, "message"),
                    "status.ready: Invalid value: -1: failed rule: self >= 0");
    assert_int_equal(change(&r, THINGS "/a/status", "{'status':{'ready':1}}"), 200);
}

/* A rule that came later warns about what was there before, and refuses what is new. */
static void test_what_did_not_change_is_a_warning(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(define(&r, "{'type':'object','properties':{'n':{'type':'integer'}}}"), 201);
    assert_int_equal(create(&r, "a", "{'n':30}"), 201);
    CLEANUP(mem_free)
    char *now = definition_with("{'type':'object','properties':{'n':{'type':'integer',"
                                "'x-kubernetes-validations':[{'rule':'self < 10'}]}}}");
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf patch = STRBUF_INIT;
    assert_int_equal(kj_parse(now, strlen(now), 0, &doc, NULL), 0);
    strbuf_append(&patch, "{\"spec\":{\"versions\":");
    kj_write(kj_path(kj_root(doc), "spec.versions"), 0, &patch);
    strbuf_append(&patch, "}}");
    assert_int_equal(fixture_do(&r, "PATCH", CRDS "/things.ex.io", MERGE, patch.data), 200);
    loop_advance(r.loop, NSEC_PER_SEC);

    assert_int_equal(change(&r, THINGS "/a", "{'metadata':{'labels':{'x':'y'}}}"), 200);
    assert_string_equal(r.warnings, "spec.n: Invalid value: 30: failed rule: self < 10;");
    assert_int_equal(change(&r, THINGS "/a", "{'spec':{'n':31}}"), 422);
    assert_int_equal(change(&r, THINGS "/a", "{'spec':{'n':3}}"), 200);
    assert_string_equal(r.warnings, "");
}

/* cel.md 7: a rule refused at the definition leaves the old definition serving. */
static void test_a_refused_definition_leaves_the_old_one(void **state)
{
    static const char bad[] =
        "{'spec':{'versions':[{'name':'v1','served':true,'storage':true,'schema':"
        "{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'object','properties':{"
        "'n':{'type':'integer'}},'x-kubernetes-validations':[{'rule':'self.m > 1'}]}}}}}]}}";
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(define(&r, RANGE), 201);
    assert_int_equal(change(&r, CRDS "/things.ex.io", bad), 422);
    assert_contains(fixture_str(&r, "message"), "undefined field 'm'");
    assert_int_equal(create(&r, "a", "{'min':3,'max':2}"), 422);
    assert_int_equal(create(&r, "a", "{'min':1,'max':2}"), 201);
}

/* kubernetes#124234: the length of string(int) is not known, so that a message with it is refused.
 */
static void test_the_cost_of_string_of_int_is_unbounded(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(define(&r, "{'type':'object','properties':{'n':{'type':'integer'}},"
                                "'x-kubernetes-validations':[{'rule':'self.n < 3',"
                                "'messageExpression':'`n is ` + string(self.n)'}]}"),
                     422);
    assert_contains(fixture_str(&r, "message"),
                    "messageExpression: Forbidden: estimated messageExpression cost exceeds budget "
                    "by factor of more than 100x");
    assert_int_equal(define(&r, "{'type':'object','properties':{'n':{'type':'integer'}},"
                                "'x-kubernetes-validations':[{'rule':'self.n < 3',"
                                "'messageExpression':'`n is %d`.format([self.n])'}]}"),
                     201);
}

/* The bound decides at the definition: a rule that is too much for what the schema allows is
 * refused before there is an object, one that is linear in a long text is not, and runs. */
static void test_the_estimate_decides_at_the_definition(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf spec = STRBUF_INIT;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        define(&r, "{'type':'object','properties':{'l':{'type':'array','maxItems':400,'items':"
                   "{'type':'array','maxItems':30,'items':{'type':'integer'},"
                   "'x-kubernetes-validations':[{'rule':'self.all(x, self.all(y, self.exists(z, "
                   "x + y + z > 1000)))'},{'rule':'self.size() > 100','message':'never'}]}}}}"),
        422);
    assert_contains(fixture_str(&r, "message"), "estimated rule cost exceeds budget by factor of ");
    assert_int_equal(
        define(&r, "{'type':'object','properties':{'s':{'type':'string','maxLength':200000,"
                   "'x-kubernetes-validations':[{'rule':'self.find(`(a|b)*c`) == ``'}]}}}"),
        201);
    strbuf_append(&spec, "{'s':'");
    for (int i = 0; i < 150000; i++)
        strbuf_appendc(&spec, 'a');
    strbuf_append(&spec, "'}");
    assert_int_equal(create(&r, "a", spec.data), 201);
}

/* A list with n rules of n x n steps, and after it a property whose rule says that it ran. */
static char *quadratic(int rules, int max_items)
{
    struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b,
                   "{'type':'object','properties':{'l':{'type':'array','maxItems':%d,'items':{"
                   "'type':'integer'},'x-kubernetes-validations':[",
                   max_items);
    for (int i = 0; i < rules; i++)
        strbuf_appendf(&b, "%s{'rule':'self.all(x, self.all(y, x + y >= 0))','message':'rule %d'}",
                       i ? "," : "", i);
    strbuf_append(&b, "]},'z':{'type':'integer','x-kubernetes-validations':[{'rule':'self > 9',"
                      "'message':'the later rule ran'}]}}}");
    return strbuf_take(&b);
}

static int create_long(struct fixture *r, const char *name, int items)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_append(&b, "{'l':[0");
    for (int i = 1; i < items; i++)
        strbuf_append(&b, ",1");
    strbuf_append(&b, "],'z':1}");
    return create(r, name, b.data);
}

/* Each rule is cheap enough, all of them together are not: 10,000,000 for one object. */
static void test_rules_share_one_budget(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(mem_free) char *spec = quadratic(30, 300);

    (void)state;
    fixture_init(&r, 7);
    if (define(&r, spec) != 201)
        fail_msg("%s", fixture_str(&r, "message"));
    assert_int_equal(create_long(&r, "a", 100), 422);
    assert_string_equal(fixture_str(&r, "message"),
                        "Thing.ex.io \"a\" is invalid: spec.z: Invalid value: 1: the later rule "
                        "ran");
    assert_int_equal(create_long(&r, "a", 300), 422);
    assert_string_equal(
        fixture_str(&r, "message"),
        "Thing.ex.io \"a\" is invalid: spec.l: Invalid value: \"array\": validation "
        "failed due to running out of cost budget, no further validation rules "
        "will be run");
}

/* One rule that costs more than 1,000,000, though its bound was good enough for the definition. */
static void test_a_rule_that_costs_too_much_is_the_last(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(mem_free) char *spec = quadratic(2, 1000);

    (void)state;
    fixture_init(&r, 7);
    if (define(&r, spec) != 201)
        fail_msg("%s", fixture_str(&r, "message"));
    assert_int_equal(create_long(&r, "a", 100), 422);
    assert_contains(fixture_str(&r, "message"), "the later rule ran");
    assert_int_equal(create_long(&r, "a", 900), 422);
    assert_string_equal(
        fixture_str(&r, "message"),
        "Thing.ex.io \"a\" is invalid: spec.l: Invalid value: \"array\": 'operation cancelled: "
        "actual "
        "cost limit exceeded': no further validation rules will be run due to call cost exceeds "
        "limit for rule: rule 0");
}

/* The stored definition with another limit of its list, as a server with other estimates would have
 * let it in. */
static void store_with(struct fixture *r, const char *from, const char *to)
{
    const struct store_key k = { "customresourcedefinitions.apiextensions.k8s.io", "",
                                 "things.ex.io" };
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT, changed = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *old = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct store *store = apiserver_store(r->s);
    struct kerr err = { 0 };
    uint64_t rev;
    char next[24];

    assert_int_equal(store_get(store, &k, &doc, &rev, &err), 0);
    const char *text = strbuf_str(&doc), *at = strstr(text, from);
    assert_non_null(at);
    strbuf_appendn(&changed, text, (size_t)(at - text));
    strbuf_appendf(&changed, "%s%s", to, at + strlen(from));
    assert_int_equal(kj_parse(changed.data, changed.len, KJ_RAW_NUMBERS, &old, &err), 0);
    struct kj_mval *obj = kj_mcopy(d, kj_root(old));
    (void)snprintf(next, sizeof next, "%llu", (unsigned long long)store_next_revision(store));
    kj_mset(d, kj_mget(obj, "metadata"), "resourceVersion", kj_mstr(d, next));
    strbuf_reset(&changed);
    kj_mwrite(obj, 0, &changed);
    assert_int_equal(store_put(store, &k, rev, changed.data, changed.len, NULL, NULL, &err), 0);
    loop_advance(r->loop, NSEC_PER_SEC);
}

/* As upstream: where the schema of a version is as it was, what one of its expressions may cost
 * is not asked again; what all of them may cost together is. */
static void test_stored_rules_may_cost_more_than_new_ones(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(mem_free) char *spec = quadratic(1, 1000);

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(define(&r, spec), 201);
    store_with(&r, "\"maxItems\":1000", "\"maxItems\":2000");
    assert_int_equal(change(&r, CRDS "/things.ex.io", "{'metadata':{'labels':{'a':'b'}}}"), 200);
    assert_int_equal(fixture_do(&r, "PATCH", CRDS "/things.ex.io", "application/json-patch+json",
                                "[{\"op\":\"add\",\"path\":\"/spec/versions/0/deprecated\","
                                "\"value\":true}]"),
                     200);
    assert_int_equal(create_long(&r, "a", 100), 422); /* and the rules are in force */
    assert_contains(fixture_str(&r, "message"), "the later rule ran");

    /* Anything else in the schema: the cost counts again. */
    assert_int_equal(fixture_do(&r, "PATCH", CRDS "/things.ex.io", "application/json-patch+json",
                                "[{\"op\":\"add\",\"path\":\"/spec/versions/0/schema/"
                                "openAPIV3Schema/description\",\"value\":\"new\"}]"),
                     422);
    assert_contains(fixture_str(&r, "message"), "properties[l].x-kubernetes-validations[0].rule: "
                                                "Forbidden: estimated rule cost exceeds budget by "
                                                "factor of ");
    store_with(&r, "\"maxItems\":2000", "\"maxItems\":20000");
    assert_int_equal(change(&r, CRDS "/things.ex.io", "{'spec':{'names':{'shortNames':['t']}}}"),
                     422);
    assert_contains(fixture_str(&r, "message"),
                    "estimated rule cost total for entire OpenAPIv3 schema exceeds budget by "
                    "factor of ");
    assert_null(strstr(fixture_str(&r, "message"), "Forbidden: estimated rule cost exceeds"));
}

static void keep_line(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

/* Definitions that are stored were judged before; if one does not compile now, somebody must know.
 */
static void test_a_stored_rule_that_does_not_compile_is_logged(void **state)
{
    static const char text[] =
        "{'spec':{'group':'ex.io','scope':'Namespaced','names':{'kind':'Thing','plural':'things'},"
        "'versions':[{'name':'v1','schema':{'openAPIV3Schema':{'type':'object','properties':{'spec'"
        ":{'type':'object','properties':{'n':{'type':'integer'}},'x-kubernetes-validations':[{"
        "'rule':'self.gone > 1'},{'rule':'self.n > 1','messageExpression':'self.n'}]}}}}}]}}";
    CLEANUP(strbuf_fini) struct strbuf log = STRBUF_INIT;
    CLEANUP(mem_free) char *json = json_of(text);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)state;
    assert_int_equal(kj_parse(json, strlen(json), KJ_RAW_NUMBERS, &doc, NULL), 0);
    klog_set_sink(keep_line, &log);
    struct crd_schema *s =
        crd_version_new(kj_root(doc), kj_at(kj_path(kj_root(doc), "spec.versions"), 0));
    klog_set_sink(NULL, NULL);
    crd_schema_release(&s->res);
    assert_contains(strbuf_str(&log), "\"A stored rule does not compile and is not judged\"");
    assert_contains(strbuf_str(&log), "rule=\"self.gone > 1\"");
    assert_contains(strbuf_str(&log), "undefined field 'gone'");
    assert_contains(strbuf_str(&log),
                    "\"A stored messageExpression does not compile and is not used\"");
    assert_contains(strbuf_str(&log), "must evaluate to a string");
}

/* Expressions that are no expressions, or too much of one, are refused with a reason. */
static void test_absurd_rules_are_refused(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    fixture_init(&r, 7);
    strbuf_append(&b, "{'type':'integer','x-kubernetes-validations':[{'rule':'self > ");
    for (int i = 0; i < 100001; i++)
        strbuf_appendc(&b, '1');
    strbuf_append(&b, "'}]}");
    assert_int_equal(define(&r, b.data), 422);
    assert_contains(fixture_str(&r, "message"), "expression code point size exceeds limit");

    strbuf_reset(&b);
    strbuf_append(&b, "{'type':'integer','x-kubernetes-validations':[{'rule':'");
    for (int i = 0; i < 10000; i++)
        strbuf_appendc(&b, '(');
    strbuf_append(&b, "'}]}");
    assert_int_equal(define(&r, b.data), 422);
    assert_contains(fixture_str(&r, "message"), "recursion limit exceeded: 250");

    assert_int_equal(define(&r, "{'type':'object','properties':{'l':{'type':'array','items':{"
                                "'type':'integer','x-kubernetes-validations':[{'rule':"
                                "'self == oldSelf'}]}}}}"),
                     422);
    assert_contains(fixture_str(&r, "message"),
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                    "spec.validation.openAPIV3Schema.properties[spec].properties[l]");
    assert_int_equal(fixture_get(&r, CRDS "/things.ex.io"), 404);
}

/* A thing with a keyed list and a map of n entries each, from the first or from the last. */
static int put_long(struct fixture *r, size_t n, bool reversed, const char *label)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b,
                   "{'apiVersion':'ex.io/v1','kind':'Thing','metadata':{'name':'a','labels':"
                   "{'a':'%s'},'resourceVersion':'%s'},'spec':{",
                   label, fixture_str(r, "metadata.resourceVersion"));
    strbuf_append(&b, "'l':[");
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&b, "%s{'k':'k%zu','v':1}", i ? "," : "", reversed ? n - 1 - i : i);
    strbuf_append(&b, "],'m':{");
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&b, "%s'k%zu':1", i ? "," : "", reversed ? n - 1 - i : i);
    strbuf_append(&b, "}}}");
    CLEANUP(mem_free) char *body = json_of(strbuf_str(&b));
    return fixture_put(r, THINGS "/a", body);
}

static long cpu_seconds(void)
{
    struct rusage u;

    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return u.ru_utime.tv_sec;
}

/* The old value of each of many items and members is found at once: comparing each with each takes
 * 40 s of the processor for these, or 400 with a sanitizer. */
static void test_old_values_in_long_lists_take_no_time(void **state)
{
    enum { ITEMS = 30000, SECONDS = 10 };
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    r.patience = 10 * NSEC_PER_SEC;
    if (define(&r, "{'type':'object','properties':{'l':{'type':'array','maxItems':30000,"
                   "'x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['k'],'items':{"
                   "'type':'object','required':['k'],'properties':{'k':{'type':'string',"
                   "'maxLength':9},'v':{'type':'integer','x-kubernetes-validations':[{'rule':"
                   "'self >= oldSelf'}]}}}},'m':{'type':'object','maxProperties':30000,"
                   "'additionalProperties':{'type':'integer','x-kubernetes-validations':[{'rule':"
                   "'self >= oldSelf'}]}}}}") != 201)
        fail_msg("%s", fixture_str(&r, "message"));
    assert_int_equal(create(&r, "a", "{}"), 201);
    assert_int_equal(put_long(&r, ITEMS, false, "x"), 200);
    long begin = cpu_seconds();
    assert_int_equal(put_long(&r, ITEMS, true, "x"), 200);
    assert_int_equal(put_long(&r, ITEMS, true, "y"), 200);
    assert_that(cpu_seconds() - begin, <, SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_judge_objects),
        cmocka_unit_test(test_what_did_not_change_is_a_warning),
        cmocka_unit_test(test_a_refused_definition_leaves_the_old_one),
        cmocka_unit_test(test_the_cost_of_string_of_int_is_unbounded),
        cmocka_unit_test(test_the_estimate_decides_at_the_definition),
        cmocka_unit_test(test_stored_rules_may_cost_more_than_new_ones),
        cmocka_unit_test(test_rules_share_one_budget),
        cmocka_unit_test(test_a_rule_that_costs_too_much_is_the_last),
        cmocka_unit_test(test_a_stored_rule_that_does_not_compile_is_logged),
        cmocka_unit_test(test_absurd_rules_are_refused),
        cmocka_unit_test(test_old_values_in_long_lists_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
