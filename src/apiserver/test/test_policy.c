/* test_policy.c - ValidatingAdmissionPolicies: what they judge, how they deny, and what cannot be
 * written. Bodies are written with ' for ". */
#include "apiserver/test/api_fixture.h"
#include "base/klog.h"

#define POLICIES "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
#define BINDINGS "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
#define CM(name) "{\"metadata\":{\"name\":\"" name "\"},\"data\":{\"k\":\"v\"}}"
#define RULE(operations)                                                    \
    "{'operations':[" operations "],'apiGroups':[''],'apiVersions':['v1']," \
    "'resources':['configmaps']}"
#define MAPS "'matchConstraints':{'resourceRules':[" RULE("'*'") "]},"

static void post(struct fixture *r, const char *path, const char *body)
{
    if (fixture_post(r, path, fixture_json(body)) != 201)
        fail_msg("%s: %s", body, r->text.data);
}

/* spec: members of the policy's spec, each with a comma behind it but the last. */
static void policy(struct fixture *r, const char *name, const char *spec)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b, "{'metadata':{'name':'%s'},'spec':{%s}}", name, spec);
    post(r, POLICIES, b.data);
}

static void binding(struct fixture *r, const char *name, const char *policy_name, const char *more)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b,
                   "{'metadata':{'name':'%s'},'spec':{'policyName':'%s',%s"
                   "'validationActions':['Deny']}}",
                   name, policy_name, more);
    post(r, BINDINGS, b.data);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

#define DENIED                                                                              \
    "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied " \
    "request: "

static const struct {
    const char *spec;
    int status;
    const char *message; /* NULL: allowed */
} verdicts[] = {
    { MAPS "'validations':[{'expression':'true'}]", 201, NULL },
    { MAPS "'validations':[{'expression':'false'}]", 422, DENIED "failed expression: false" },
    { MAPS "'validations':[{'expression':'false','message':' no '}]", 422, DENIED "no" },
    { MAPS "'validations':[{'expression':'false','reason':'Forbidden'}]", 403,
      DENIED "failed expression: false" },
    { MAPS "'validations':[{'expression':'false','reason':'RequestEntityTooLarge'}]", 413,
      DENIED "failed expression: false" },
    { MAPS "'validations':[{'expression':'object.data.k.size() > 1','message':'m',"
           "'messageExpression':'string(object.data.k.size()) + object.data.k'}]",
      422, DENIED "1v" },
    /* What is not fit to be shown: an error, blanks, two lines. */
    { MAPS "'validations':[{'expression':'false','message':'m',"
           "'messageExpression':'object.nothing'},{'expression':'true'}]",
      0, NULL },
    { MAPS "'validations':[{'expression':'false','message':'m',"
           "'messageExpression':'string(object.nothing)'}]",
      422, DENIED "m" },
    { MAPS "'validations':[{'expression':'true'},{'expression':'object.x == 1'}]", 422,
      DENIED "expression 'object.x == 1' resulted in error: no such key: x" },
    { MAPS "'failurePolicy':'Ignore','validations':[{'expression':'object.x == 1'}]", 201, NULL },
    { MAPS "'failurePolicy':'Ignore','validations':[{'expression':'false'}]", 422,
      DENIED "failed expression: false" },
    { MAPS "'matchConditions':[{'name':'c','expression':'false'}],"
           "'validations':[{'expression':'false'}]",
      201, NULL },
    { MAPS "'matchConditions':[{'name':'c','expression':'object.x == 1'}],"
           "'validations':[{'expression':'true'}]",
      422, DENIED "expression 'object.x == 1' resulted in error: no such key: x" },
    { MAPS "'failurePolicy':'Ignore','matchConditions':[{'name':'c','expression':'object.x == "
           "1'}],'validations':[{'expression':'false'}]",
      201, NULL },
    { MAPS "'variables':[{'name':'n','expression':'object.data.k.size()'},{'name':'m',"
           "'expression':'variables.n + 1'}],'validations':[{'expression':'variables.m == 2'},"
           "{'expression':'variables.n > 1','messageExpression':'string(variables.m)'}]",
      422, DENIED "2" },
    /* A variable that nobody asks for harms nobody. */
    { MAPS "'variables':[{'name':'bad','expression':'object.x'}],"
           "'validations':[{'expression':'true || variables.bad == 1'}]",
      201, NULL },
    { MAPS "'variables':[{'name':'bad','expression':'object.x'}],"
           "'validations':[{'expression':'variables.bad == 1'}]",
      422,
      DENIED "expression 'variables.bad == 1' resulted in error: composited variable \"bad\" fails "
             "to evaluate: no such key: x" },
    { MAPS "'validations':[{'expression':'namespaceObject.metadata.name == request.namespace'}]",
      201, NULL },
    { MAPS "'validations':[{'expression':'authorizer.requestResource.check(request.operation."
           "lowerAscii()).allowed()'}]",
      201, NULL },
    { MAPS "'auditAnnotations':[{'key':'k','valueExpression':'object.x'}]", 0, NULL },
    { MAPS "'auditAnnotations':[{'key':'k','valueExpression':'string(object.x)'}]", 422,
      DENIED "expression 'string(object.x)' resulted in error: no such key: x" },
    { MAPS "'auditAnnotations':[{'key':'k','valueExpression':'object.data.k'}]", 0, NULL },
    { MAPS "'auditAnnotations':[{'key':'k','valueExpression':'string(object.data.k)'}]", 201,
      NULL },
    { MAPS "'validations':[{'expression':'lists.range(3000).all(i, lists.range(1000).all(j, "
           "true))'}]",
      422, "operation cancelled: actual cost limit exceeded" },
    /* Who is meant. */
    { "'matchConstraints':{'resourceRules':[" RULE(
          "'UPDATE'") "]},"
                      "'validations':[{'expression':'false'}]",
      201, NULL },
    { "'matchConstraints':{'resourceRules':[" RULE("'*'") "],'excludeResourceRules':[" RULE(
          "'CREATE'") "]},'validations':[{'expression':'false'}]",
      201, NULL },
    { "'matchConstraints':{'resourceRules':[{'resourceNames':['b'],"
      "'operations':['*'],'apiGroups':[''],'apiVersions':['v1'],'resources':['configmaps']}]},"
      "'validations':[{'expression':'false'}]",
      201, NULL },
    { "'matchConstraints':{'resourceRules':[{'resourceNames':['b','a'],"
      "'operations':['*'],'apiGroups':[''],'apiVersions':['v1'],'resources':['configmaps']}]},"
      "'validations':[{'expression':'false'}]",
      422, DENIED "failed expression: false" },
    { "'matchConstraints':{'resourceRules':[" RULE(
          "'*'") "],'objectSelector':{'matchLabels':"
                 "{'a':'b'}}},'validations':[{'expression':'false'}]",
      201, NULL },
    { "'matchConstraints':{'resourceRules':[" RULE(
          "'*'") "],'namespaceSelector':{'matchLabels':"
                 "{'kubernetes.io/"
                 "metadata.name':'default'}}},'validations':[{'expression':'false'}]",
      422, DENIED "failed expression: false" },
    { "'paramKind':{'apiVersion':'x.io/v1','kind':'Limit'}," MAPS
      "'validations':[{'expression':'true'}]",
      422,
      "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to "
      "configure policy: failed to find resource referenced by paramKind: 'x.io/v1, Kind=Limit'" },
};

static void test_verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
        CLEANUP(fixture_fini) struct fixture r;
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        fixture_init(&r, 1 + i);
        strbuf_appendf(&b, "{'metadata':{'name':'p'},'spec':{%s}}", verdicts[i].spec);
        int made = fixture_post(&r, POLICIES, fixture_json(b.data));
        if (!verdicts[i].status) { /* types that dyn is not */
            assert_int_equal(made, 422);
            assert_non_null(strstr(r.text.data, "must evaluate to"));
            continue;
        }
        if (made != 201)
            fail_msg("%s: %s", verdicts[i].spec, r.text.data);
        /* A policy without a binding does nothing. */
        assert_int_equal(fixture_post(&r, CMS, CM("free")), 201);
        binding(&r, "b", "p", "");
        int status = fixture_post(&r, CMS, CM("a"));
        if (status != verdicts[i].status)
            fail_msg("%s: %d %s", verdicts[i].spec, status, r.text.data);
        if (verdicts[i].message && !strstr(fixture_str(&r, "message"), verdicts[i].message))
            fail_msg("%s: %s", verdicts[i].spec, fixture_str(&r, "message"));
        assert_int_equal(fixture_delete(&r, BINDINGS "/b", NULL), 200);
        assert_int_equal(fixture_post(&r, CMS, CM("b")), 201);
    }
}

static void test_the_answer_has_a_cause(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 70);
    policy(&r, "p", MAPS "'validations':[{'expression':'false','message':'no'}]");
    binding(&r, "b", "p", "");
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 422);
    assert_string_equal(fixture_str(&r, "reason"), "Invalid");
    assert_string_equal(fixture_str(&r, "details.name"), "a");
    assert_string_equal(fixture_str(&r, "details.kind"), "configmaps");
    assert_string_equal(
        kj_str_or(kj_get(kj_at(fixture_val(&r, "details.causes"), 0), "message"), ""),
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no");
    /* Policies do not judge policies, and a deletion shows the old object. */
    assert_int_equal(fixture_delete(&r, POLICIES "/p", NULL), 200);
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 201);
    policy(&r, "p",
           MAPS "'validations':[{'expression':'request.operation != \\\"DELETE\\\" || "
                "(object == null && oldObject.data.k == \\\"w\\\")'}]");
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 422);
    assert_int_equal(fixture_get(&r, CMS "/a"), 200);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"w\"}}"), 200);
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 200);
}

/* The verdict of a policy with n variables. In "each", # is the variable before and @ one far
 * before. */
static int chain(int n, const char *each, const char *validation)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    fixture_init(&r, 60);
    strbuf_append(&b, "{'metadata':{'name':'p'},'spec':{" MAPS
                      "'variables':[{'name':'v1','expression':'1'}");
    for (int i = 2; i <= n; i++) {
        strbuf_appendf(&b, ",{'name':'v%d','expression':'", i);
        for (const char *p = each; *p; p++) {
            if (*p == '#')
                strbuf_appendf(&b, "variables.v%d", i - 1);
            else if (*p == '@')
                strbuf_appendf(&b, "variables.v%d", i > 50 ? i - 50 : 1);
            else
                strbuf_appendc(&b, *p);
        }
        strbuf_append(&b, "'}");
    }
    strbuf_appendf(&b, "],'validations':[{'expression':'%s'}]}}", validation);
    for (size_t i = 0; i < b.len; i++)
        b.data[i] = b.data[i] == '\'' ? '"' : b.data[i];
    r.patience = NSEC_PER_SEC;
    if (fixture_post(&r, POLICIES, b.data) != 201)
        fail_msg("%s", r.text.data);
    binding(&r, "b", "p", "");
    int status = fixture_post(&r, CMS, CM("a"));
    if (status != 201 && !strstr(fixture_str(&r, "message"), "failed expression") &&
        !strstr(fixture_str(&r, "message"), "running out of cost budget"))
        fail_msg("%s", r.text.data);
    return status;
}

/* Each variable uses the one before it: more of them than the stack may hold, as upstream. */
static void test_variables_in_variables(void **state)
{
    (void)state;
    assert_int_equal(chain(32, "# + 1", "variables.v32 == 32"), 201);
    assert_int_equal(chain(33, "# + 1", "variables.v33 == 33"), 201);
    assert_int_equal(chain(34, "# + 1", "variables.v34 == 0"), 422);
    assert_int_equal(chain(2000, "# + 1", "variables.v2000 == 2000 && variables.v1000 == 1000"),
                     201);
    /* Two ways down, and an error on the way that the other side of an || would hide. */
    assert_int_equal(chain(500, "# - @ + @ + 1", "variables.v500 == 500"), 201);
    assert_int_equal(chain(500, "# == 0 || true ? # + 1 : 0", "variables.v500 == 500"), 201);
    /* What is not used is not evaluated, however deep it is. */
    assert_int_equal(chain(500, "# / 0", "true || variables.v500 == 1"), 201);
    assert_int_equal(chain(500, "# > 0 ? # : @", "variables.v500 == 1"), 201);
}

/* A variable counts once, with what it costs: 500 of them do not fit into the budget. */
static void test_deep_variables_share_one_budget(void **state)
{
    (void)state;
    assert_int_equal(chain(100,
                           "# + [1,2,3,4,5,6,7,8,9,0].filter(a, [1,2,3,4,5,6,7,8,9,0].all(b, "
                           "b < 99)).size() / 10",
                           "variables.v100 == 100"),
                     201);
    assert_int_equal(chain(500,
                           "# + [1,2,3,4,5,6,7,8,9,0].filter(a, [1,2,3,4,5,6,7,8,9,0].all(b, "
                           "[1,2,3,4,5,6,7,8,9,0].all(c, [1,2,3,4,5,6,7,8,9,0].all(d, c < 99))))"
                           ".size() / 10",
                           "variables.v500 == 500"),
                     422);
}

/* 1,000 variables, each 200 lists around the one before: types do not grow with all of them. */
static void test_lists_in_lists(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char before[201], behind[201];
    (void)state;
    fixture_init(&r, 95);
    memset(before, '[', 200);
    memset(behind, ']', 200);
    before[200] = behind[200] = '\0';
    strbuf_append(&b, "{\"metadata\":{\"name\":\"p\"},\"spec\":{");
    strbuf_append(&b, fixture_json(MAPS));
    strbuf_append(&b, "\"variables\":[{\"name\":\"v0\",\"expression\":\"1\"}");
    for (int i = 1; i <= 1000; i++)
        strbuf_appendf(&b, ",{\"name\":\"v%d\",\"expression\":\"%svariables.v%d%s\"}", i, before,
                       i - 1, behind);
    strbuf_append(&b, "],\"validations\":[{\"expression\":\"size(variables.v9) == 1\"}]}}");
    assert_int_equal(fixture_post(&r, POLICIES, b.data), 201);
    binding(&r, "b", "p", "");
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 201);
}

/* ---- bindings -------------------------------------------------------------------------------- */

#define PARAMS                                                                    \
    "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'},'matchConstraints':{"     \
    "'resourceRules':[{'operations':['*'],'apiGroups':[''],'apiVersions':['v1']," \
    "'resources':['secrets']}]},"
#define SECRETS "/api/v1/namespaces/default/secrets"

static const struct {
    const char *ref;
    int status;
    const char *message;
} params[] = {
    { "'name':'limits','namespace':'kube-system','parameterNotFoundAction':'Deny'", 422, "max 3" },
    { "'name':'limits','parameterNotFoundAction':'Deny'", 422,
      "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed to configure binding: "
      "no params found for policy binding with `Deny` parameterNotFoundAction" },
    { "'name':'limits','parameterNotFoundAction':'Allow'", 201, NULL },
    { "'name':'own','parameterNotFoundAction':'Deny'", 422, "max 5" },
    { "'selector':{},'namespace':'kube-system','parameterNotFoundAction':'Deny'", 422, "max 3" },
    { "'selector':{'matchLabels':{'a':'b'}},'namespace':'kube-system',"
      "'parameterNotFoundAction':'Allow'",
      201, NULL },
};

static void test_params(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(params); i++) {
        CLEANUP(fixture_fini) struct fixture r;
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        fixture_init(&r, 80 + i);
        post(&r, CMS, "{'metadata':{'name':'own'},'data':{'max':'5'}}");
        post(&r, "/api/v1/namespaces/kube-system/configmaps",
             "{'metadata':{'name':'limits'},'data':{'max':'3'}}");
        policy(&r, "p",
               PARAMS "'validations':[{'expression':'params == null || size(object.data) < "
                      "int(params.data.max) - 10',"
                      "'messageExpression':'params.kind == \\\"ConfigMap\\\" ? \\\"max \\\" + "
                      "string(params.data.max) : \\\"\\\"'}]");
        strbuf_appendf(&b, "'paramRef':{%s},", params[i].ref);
        binding(&r, "b", "p", b.data);
        int status =
            fixture_post(&r, SECRETS, "{\"metadata\":{\"name\":\"s\"},\"data\":{\"k\":\"dg==\"}}");
        if (status != params[i].status)
            fail_msg("%s: %d %s", params[i].ref, status, r.text.data);
        if (params[i].message && !strstr(fixture_str(&r, "message"), params[i].message))
            fail_msg("%s: %s", params[i].ref, fixture_str(&r, "message"));
    }
}

static void test_a_binding_without_a_ref_has_null_params(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 90);
    policy(&r, "p", PARAMS "'validations':[{'expression':'params != null'}]");
    binding(&r, "b", "p", "");
    assert_int_equal(fixture_post(&r, SECRETS, "{\"metadata\":{\"name\":\"s\"}}"), 422);
    assert_non_null(strstr(fixture_str(&r, "message"), "failed expression: params != null"));
}

static void test_bindings_narrow_policies(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 91);
    policy(&r, "p", MAPS "'validations':[{'expression':'false'}]");
    binding(&r, "b", "p", "'matchResources':{'namespaceSelector':{'matchLabels':{'x':'y'}}},");
    binding(&r, "c", "other", "");
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 201);
    binding(&r, "d", "p", "'matchResources':{'resourceRules':[" RULE("'UPDATE'") "]},");
    assert_int_equal(fixture_post(&r, CMS, CM("b")), 201);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/b", MERGE, "{\"data\":{\"k\":\"w\"}}"), 422);
    assert_non_null(strstr(fixture_str(&r, "message"), "with binding 'd' denied"));
}

static void test_warnings(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 92);
    policy(&r, "p", MAPS "'validations':[{'expression':'false','message':'no'}]");
    post(&r, BINDINGS,
         "{'metadata':{'name':'b'},'spec':{'policyName':'p','validationActions':['Warn',"
         "'Audit']}}");
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 201);
    assert_non_null(strstr(r.warnings, "Validation failed for ValidatingAdmissionPolicy 'p' with "
                                       "binding 'b': no"));
}

static void keep_line(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

/* Audit and annotations go to the log, where no client sees them. */
static void test_audit_is_a_line_in_the_log(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf log = STRBUF_INIT;

    (void)state;
    fixture_init(&r, 93);
    policy(&r, "p",
           MAPS "'validations':[{'expression':'false','message':'no'},{'expression':'true'}],"
                "'auditAnnotations':[{'key':'who','valueExpression':'request.userInfo.username'},"
                "{'key':'nothing','valueExpression':'null'}]");
    post(&r, BINDINGS,
         "{'metadata':{'name':'b'},'spec':{'policyName':'p','validationActions':['Audit']}}");
    klog_set_sink(keep_line, &log);
    int status = fixture_post(&r, CMS, CM("a"));
    klog_set_sink(NULL, NULL);
    assert_int_equal(status, 201);
    assert_string_equal(r.warnings, "");
    assert_contains(strbuf_str(&log), "\"Validation failure\" policy=\"p\" binding=\"b\" "
                                      "resource=\"configmaps\" namespace=\"default\" name=\"a\" "
                                      "message=\"no\"\n");
    assert_contains(strbuf_str(&log), "\"Audit annotation\" policy=\"p\" key=\"who\" value=\"");
    assert_null(strstr(strbuf_str(&log), "nothing"));
    assert_int_equal(fixture_delete(&r, BINDINGS "/b", NULL), 200);
    strbuf_reset(&log);
    binding(&r, "b", "p", "");
    klog_set_sink(keep_line, &log);
    status = fixture_post(&r, CMS, CM("b"));
    klog_set_sink(NULL, NULL);
    assert_int_equal(status, 422);
    assert_null(strstr(strbuf_str(&log), "Validation failure")); /* Deny says it to the client */
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* 876,492: eleven fit into the budget of 10,000,000, twelve do not. */
#define COSTLY "lists.range(330).all(i, lists.range(330).all(j, i + j >= 0))"
#define SPENT                                                                           \
    "validation failed due to running out of cost budget, no further validation rules " \
    "will be run"

static int judge_costly(uint64_t seed, int n, const char *before, const char *last, char *message,
                        size_t size)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    fixture_init(&r, seed);
    strbuf_appendf(&b, MAPS "%s'validations':[", before);
    for (int i = 0; i < n; i++)
        strbuf_append(&b, "{'expression':'" COSTLY "'},");
    strbuf_appendf(&b, "%s]", last);
    policy(&r, "p", b.data);
    binding(&r, "b", "p", "");
    int status = fixture_post(&r, CMS, CM("a"));
    (void)snprintf(message, size, "%s", fixture_str(&r, "message"));
    return status;
}

static void test_validations_share_one_budget(void **state)
{
    static const char truth[] = "{'expression':'true'}",
                      lie[] = "{'expression':'false','message':'ran'}",
                      said[] =
                          "{'expression':'false','message':'plain','messageExpression':'" COSTLY
                          " ? \\u0027a\\u0027 : \\u0027b\\u0027'}";
    char message[600];

    (void)state;
    assert_int_equal(judge_costly(1, 11, "", truth, message, sizeof message), 201);
    assert_int_equal(judge_costly(2, 11, "", lie, message, sizeof message), 422);
    assert_string_equal(message, DENIED "ran");
    assert_int_equal(judge_costly(3, 12, "", lie, message, sizeof message), 422);
    assert_string_equal(message, DENIED SPENT);
    assert_int_equal(judge_costly(4, 12, "'failurePolicy':'Ignore',", lie, message, sizeof message),
                     201);
    /* What validations leave is what messages may cost. */
    assert_int_equal(judge_costly(5, 10, "", said, message, sizeof message), 422);
    assert_string_equal(message, DENIED "a");
    assert_int_equal(judge_costly(6, 11, "", said, message, sizeof message), 422);
    assert_string_equal(message, DENIED "failed messageExpression: " SPENT);
    /* A variable counts where it is first used, and once. */
    assert_int_equal(judge_costly(7, 10, "'variables':[{'name':'v','expression':'" COSTLY "'}],",
                                  "{'expression':'variables.v'},{'expression':'variables.v'}",
                                  message, sizeof message),
                     201);
    assert_int_equal(judge_costly(8, 11, "'variables':[{'name':'v','expression':'" COSTLY "'}],",
                                  "{'expression':'variables.v'}", message, sizeof message),
                     422);
    assert_string_equal(message, DENIED SPENT);
}

/* ---- the authorizer -------------------------------------------------------------------------- */

/* It allows what this server's authorization allows, here RBAC. */
static void test_the_authorizer_asks_rbac(void **state)
{
    static const char rbac[] = "/apis/rbac.authorization.k8s.io/v1";
    CLEANUP(fixture_fini) struct fixture r = { .loop = loop_new_virtual(WALL0, 94) };
    CLEANUP(mem_free) char *roles = xasprintf("%s/clusterroles", rbac);
    CLEANUP(mem_free) char *bindings = xasprintf("%s/namespaces/default/rolebindings", rbac);
    const struct apiserver_opts opts = { .no_crds = true, .authorization = APISERVER_RBAC };
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(apiserver_new(r.loop, &opts, &r.s, &err), 0);
    loop_advance(r.loop, NSEC_PER_SEC);
    policy(&r, "p",
           MAPS "'validations':[{'expression':'authorizer.serviceAccount(object.metadata.namespace,"
                " \\u0027robot\\u0027).group(\\u0027\\u0027).resource(\\u0027pods\\u0027)"
                ".namespace(object.metadata.namespace).check(\\u0027list\\u0027).allowed()',"
                "'message':'robot may not list pods'},{'expression':'authorizer.requestResource."
                "check(\\u0027create\\u0027).allowed()','message':'the user may not create'}]");
    binding(&r, "b", "p", "");
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 422);
    assert_string_equal(fixture_str(&r, "message"), DENIED "robot may not list pods");
    post(&r, roles,
         "{'metadata':{'name':'lister'},'rules':[{'verbs':['list'],'apiGroups':[''],'resources':["
         "'pods']}]}");
    post(&r, bindings,
         "{'metadata':{'name':'robot'},'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':"
         "'ClusterRole','name':'lister'},'subjects':[{'kind':'ServiceAccount','name':'robot',"
         "'namespace':'default'}]}");
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 201);
}

/* Equivalent, the default: rules of one version are about requests of others too. */
static void test_other_versions_of_the_kind(void **state)
{
    static const char scaler[] =
        "{'metadata':{'name':'a'},'spec':{'maxReplicas':3,'scaleTargetRef':{'apiVersion':'apps/v1',"
        "'kind':'Deployment','name':'d'}}}";
    static const char *const matches[] = { "Exact", "Equivalent" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(matches); i++) {
        CLEANUP(fixture_fini) struct fixture r;
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        fixture_init(&r, 95 + i);
        strbuf_appendf(&b,
                       "'matchConstraints':{'matchPolicy':'%s','resourceRules':[{'operations':["
                       "'*'],'apiGroups':['autoscaling'],'apiVersions':['v1'],'resources':["
                       "'horizontalpodautoscalers']}]},'validations':[{'expression':'false',"
                       "'messageExpression':'request.kind.version + request.requestKind.version + "
                       "object.apiVersion'}]",
                       matches[i]);
        policy(&r, "p", b.data);
        binding(&r, "b", "p", "");
        int status =
            fixture_post(&r, "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
                         fixture_json(scaler));
        assert_int_equal(status, i ? 422 : 201);
        if (i)
            assert_contains(fixture_str(&r, "message"), "denied request: v1v2autoscaling/v1");
        assert_int_equal(
            fixture_post(&r, "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
                         fixture_json(scaler)),
            422);
        assert_contains(fixture_str(&r, "message"), "denied request: v1v1autoscaling/v1");
    }
}

/* ---- what cannot be written ------------------------------------------------------------------ */

static const struct {
    const char *path, *spec, *why;
} refused[] = {
    { POLICIES, "'validations':[{'expression':'true'}]", "spec.matchConstraints: Required value" },
    { POLICIES, "'matchConstraints':{},'validations':[{'expression':'true'}]",
      "spec.matchConstraints.resourceRules: Required value" },
    { POLICIES,
      "'matchConstraints':{'resourceRules':[" RULE("") "]},"
                                                       "'validations':[{'expression':'true'}]",
      "spec.matchConstraints.resourceRules[0].operations: Required value" },
    { POLICIES, MAPS "'failurePolicy':'Never','validations':[{'expression':'true'}]",
      "spec.failurePolicy: Unsupported value: \"Never\": supported values: \"Fail\", \"Ignore\"" },
    { POLICIES, MAPS "'validations':[]",
      "spec.validations: Required value: validations or auditAnnotations must contain at least one "
      "item" },
    { POLICIES, MAPS "'validations':[{'expression':' '}]",
      "spec.validations[0].expression: Required value: expression is not specified" },
    { POLICIES, MAPS "'validations':[{'expression':'1'}]",
      "spec.validations[0].expression: Invalid value: \"1\": must evaluate to bool but got int" },
    { POLICIES, MAPS "'validations':[{'expression':'params.x'}]",
      "undeclared reference to 'params'" },
    { POLICIES, MAPS "'validations':[{'expression':'variables.x'}]",
      "undeclared reference to 'variables'" },
    { POLICIES,
      MAPS "'variables':[{'name':'a','expression':'variables.b'},{'name':'b',"
           "'expression':'1'}],'validations':[{'expression':'true'}]",
      "spec.variables[0].expression: Invalid value: \"variables.b\": compilation failed: ERROR: "
      "<input>:1:10: undefined field 'b'" },
    { POLICIES,
      MAPS "'variables':[{'name':'in','expression':'1'}],"
           "'validations':[{'expression':'true'}]",
      "spec.variables[0].name: Invalid value: \"in\": must be a valid CEL identifier" },
    { POLICIES,
      MAPS "'variables':[{'name':'a','expression':'1'}],"
           "'validations':[{'expression':'variables.a == \\\"x\\\"'}]",
      "found no matching overload for '_==_' applied to '(int, string)'" },
    { POLICIES, MAPS "'validations':[{'expression':'true','messageExpression':'1'}]",
      "spec.validations[0].messageExpression: Invalid value: \"1\": must evaluate to string but "
      "got int" },
    { POLICIES,
      MAPS "'validations':[{'expression':'true','messageExpression':'authorizer.path("
           "\\\"/\\\").check(\\\"get\\\").reason()'}]",
      "undeclared reference to 'authorizer'" },
    { POLICIES, MAPS "'validations':[{'expression':'true','message':'a\\nb'}]",
      "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line "
      "breaks" },
    { POLICIES, MAPS "'validations':[{'expression':'true','reason':'Gone'}]",
      "spec.validations[0].reason: Unsupported value: \"Gone\": supported values: \"Forbidden\", "
      "\"Invalid\", \"RequestEntityTooLarge\"" },
    { POLICIES, MAPS "'auditAnnotations':[{'key':'k','valueExpression':'1'}]",
      "must evaluate to one of [string null_type] but got int" },
    { POLICIES,
      "'paramKind':{'apiVersion':'a/b/c','kind':'X'}," MAPS "'validations':[{'expression':'true'}]",
      "spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: "
      "a/b/c" },
    { BINDINGS, "'validationActions':['Deny']", "spec.policyName: Required value" },
    { BINDINGS, "'policyName':'p'",
      "spec.validationActions: Required value: at least one validation action is required" },
    { BINDINGS, "'policyName':'p','validationActions':['Deny','Warn']",
      "must not contain both Deny and Warn" },
    { BINDINGS, "'policyName':'p','validationActions':['Shout']",
      "spec.validationActions[0]: Unsupported value: \"Shout\": supported values: \"Audit\", "
      "\"Deny\", \"Warn\"" },
    { BINDINGS,
      "'policyName':'p','validationActions':['Deny'],'paramRef':{"
      "'parameterNotFoundAction':'Deny'}",
      "spec.paramRef: Required value: one of name or selector must be specified" },
    { BINDINGS,
      "'policyName':'p','validationActions':['Deny'],'paramRef':{'name':'x',"
      "'selector':{},'parameterNotFoundAction':'Deny'}",
      "spec.paramRef.name: Forbidden: name and selector are mutually exclusive" },
    { BINDINGS, "'policyName':'p','validationActions':['Deny'],'paramRef':{'name':'x'}",
      "spec.paramRef.parameterNotFoundAction: Required value" },
};

static void test_what_cannot_be_written(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 93);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        strbuf_appendf(&b, "{'metadata':{'name':'x'},'spec':{%s}}", refused[i].spec);
        int status = fixture_post(&r, refused[i].path, fixture_json(b.data));
        if (status != 422 || !strstr(fixture_str(&r, "message"), refused[i].why))
            fail_msg("%s: %d %s", refused[i].spec, status, r.text.data);
    }
}

static void test_defaults_and_status(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 94);
    policy(&r, "p", MAPS "'validations':[{'expression':'true'}]");
    assert_string_equal(fixture_str(&r, "spec.failurePolicy"), "Fail");
    assert_string_equal(fixture_str(&r, "spec.matchConstraints.matchPolicy"), "Equivalent");
    assert_int_equal(kj_type(fixture_val(&r, "spec.matchConstraints.objectSelector")), KJ_OBJ);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 1);
    assert_int_equal(fixture_do(&r, "PATCH", POLICIES "/p/status", MERGE,
                                "{\"status\":{\"observedGeneration\":1,\"typeChecking\":{}},"
                                "\"spec\":{\"failurePolicy\":\"Ignore\"}}"),
                     200);
    assert_string_equal(fixture_str(&r, "spec.failurePolicy"), "Fail");
    assert_int_equal(kj_i64_or(fixture_val(&r, "status.observedGeneration"), 0), 1);
}

/* ---- types ----------------------------------------------------------------------------------- */

#define GAUGES                                                                        \
    "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':['ex.io']," \
    "'apiVersions':['v1'],'resources':['gauges']}]},"

static const struct {
    const char *spec, *field, *warning; /* NULL: none */
} typed[] = {
    { MAPS "'validations':[{'expression':'object.data.k == oldObject.metadata.name'}]", NULL,
      NULL },
    { MAPS "'validations':[{'expression':'object.spec.x == 1'}]", "spec.validations[0].expression",
      "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'spec'\n | object.spec.x == 1\n | "
      "......^\n" },
    { MAPS "'validations':[{'expression':'true','messageExpression':'object.metadata.name + "
           "string(object.immutable + 1)'}]",
      "spec.validations[0].messageExpression",
      "found no matching overload for '_+_' applied to '(bool, int)'" },
    { MAPS "'variables':[{'name':'n','expression':'object.data.size()'}],"
           "'validations':[{'expression':'true'},{'expression':'variables.n == 1 && "
           "object.gone'}]",
      "spec.validations[1].expression", "undefined field 'gone'" },
    { MAPS "'paramKind':{'apiVersion':'v1','kind':'Secret'},'validations':[{'expression':"
           "'params.type == object.data.k && params.gone'}]",
      "spec.validations[0].expression", "undefined field 'gone'" },
    { "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':['apps'],"
      "'apiVersions':['v1'],'resources':['deployments','statefulsets']}]},"
      "'validations':[{'expression':'object.spec.strategy.type == string(1)'}]",
      "spec.validations[0].expression",
      "apps/v1, Kind=StatefulSet: ERROR: <input>:1:12: undefined field 'strategy'" },
    { "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':['apps'],"
      "'apiVersions':['v1'],'resources':['deployments']}]},'validations':[{'expression':"
      "'object.spec.template.spec.containers.all(c, c.image == string(1)) && "
      "object.metadata.namespace == string(1) && object.metadata.creationTimestamp.getHours() > "
      "1'}]",
      NULL, NULL },
    { "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':['*'],"
      "'apiVersions':['v1'],'resources':['*']}]},'validations':[{'expression':'object.x == 1'}]",
      NULL, NULL },
    /* Kinds of definitions: their schema with all of metadata, apiVersion and kind. */
    { GAUGES "'validations':[{'expression':'object.spec.n + oldObject.spec.n > 1 && "
             "object.spec.names.all(x, x.startsWith(object.kind)) && object.metadata.namespace == "
             "object.apiVersion && object.spec.at.getHours() > 1 && object.metadata.labels.a == "
             "string(1) && object.spec.a__dash__b == 1 && has(object.spec.any)'}]",
      NULL, NULL },
    /* As upstream: what a schema lets pass without naming it is unknown here. */
    { GAUGES "'validations':[{'expression':'object.spec.any.x == 1'}]",
      "spec.validations[0].expression", "undefined field 'x'" },
    { GAUGES "'validations':[{'expression':'object.spec.gone == 1'}]",
      "spec.validations[0].expression",
      "ex.io/v1, Kind=Gauge: ERROR: <input>:1:12: undefined field 'gone'" },
    { GAUGES "'validations':[{'expression':'object.status.x == 1'}]",
      "spec.validations[0].expression", "undefined field 'status'" },
    { GAUGES "'validations':[{'expression':'object.spec.n == object.spec.names'}]",
      "spec.validations[0].expression", "applied to '(int, list(string))'" },
    { GAUGES "'validations':[{'expression':'object.metadata.gone == 1'}]",
      "spec.validations[0].expression", "undefined field 'gone'" },
    { GAUGES "'variables':[{'name':'n','expression':'object.spec.n'}],'validations':[{"
             "'expression':'true','messageExpression':'variables.n + string(1)'}]",
      "spec.validations[0].messageExpression", "applied to '(int, string)'" },
    { GAUGES "'paramKind':{'apiVersion':'ex.io/v1','kind':'Gauge'},'validations':[{'expression':"
             "'params.spec.n < object.spec.n && params.metadata.name == params.spec.names[0]'}]",
      NULL, NULL },
    { MAPS "'paramKind':{'apiVersion':'ex.io/v1','kind':'Gauge'},'validations':[{'expression':"
           "'object.data.k == params.spec.n'}]",
      "spec.validations[0].expression", "applied to '(string, int)'" },
    { MAPS "'paramKind':{'apiVersion':'ex.io/v1','kind':'Gauge'},'validations':[{'expression':"
           "'params.spec.gone == 1'}]",
      "spec.validations[0].expression",
      "/v1, Kind=ConfigMap: ERROR: <input>:1:12: undefined field 'gone'" },
    /* Params of a kind or version that is not there: no type, and no params either. */
    { MAPS "'paramKind':{'apiVersion':'ex.io/v2','kind':'Gauge'},'validations':[{'expression':"
           "'true'}]",
      NULL, NULL },
};

static void test_expressions_are_checked_against_the_kinds_they_match(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 95);
    post(&r, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
         "{'metadata':{'name':'gauges.ex.io'},'spec':{'group':'ex.io','scope':'Namespaced',"
         "'names':{'plural':'gauges','kind':'Gauge'},'versions':[{'name':'v1','served':true,"
         "'storage':true,'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{"
         "'type':'object','properties':{'n':{'type':'integer'},'names':{'type':'array','items':{"
         "'type':'string'}},'at':{'type':'string','format':'date-time'},'a-b':{'type':'integer'},"
         "'any':{'type':'object','x-kubernetes-preserve-unknown-fields':true}}}}}}}]}}");
    loop_advance(r.loop, NSEC_PER_SEC);
    for (size_t i = 0; i < ARRAY_LEN(typed); i++) {
        policy(&r, "p", typed[i].spec);
        loop_advance(r.loop, NSEC_PER_SEC);
        assert_int_equal(fixture_do(&r, "GET", POLICIES "/p", NULL, NULL), 200);
        assert_int_equal(kj_i64_or(fixture_val(&r, "status.observedGeneration"), 0), 1);
        const struct kj_val *one =
            kj_at(fixture_val(&r, "status.typeChecking.expressionWarnings"), 0);
        const char *field = kj_str_or(kj_get(one, "fieldRef"), ""),
                   *warning = kj_str_or(kj_get(one, "warning"), "");
        if (typed[i].field ? !streq(field, typed[i].field) || !strstr(warning, typed[i].warning)
                           : one != NULL)
            fail_msg("%s: %s: %s", typed[i].spec, field, warning);
        assert_int_equal(kj_type(fixture_val(&r, "status.typeChecking")), KJ_OBJ);
        assert_int_equal(fixture_do(&r, "DELETE", POLICIES "/p", NULL, NULL), 200);
    }
}

/* Each error shows its line: a policy of 300 KB has 50 MB to be said of it. */
static void test_warnings_stay_short(void **state)
{
    enum { VALIDATIONS = 20, FIELDS = 110, BLANKS = 12000 };
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    (void)state;
    fixture_init(&r, 96);
    strbuf_append(&body, "{\"metadata\":{\"name\":\"p\"},\"spec\":{");
    strbuf_append(&body, fixture_json(MAPS "'validations':["));
    for (int i = 0; i < VALIDATIONS; i++) {
        strbuf_appendf(&body, "%s{\"expression\":\"%*s", i ? "," : "", BLANKS, "");
        for (int k = 0; k < FIELDS; k++)
            strbuf_appendf(&body, "%sobject.x%d == 1", k ? " && " : "", k);
        strbuf_append(&body, "\"}");
    }
    strbuf_append(&body, "]}}");
    assert_int_equal(fixture_post(&r, POLICIES, body.data), 201);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_do(&r, "GET", POLICIES "/p", NULL, NULL), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "status.observedGeneration"), 0), 1);
    const struct kj_val *list = fixture_val(&r, "status.typeChecking.expressionWarnings");
    assert_that(kj_len(list), >, 0);
    assert_that(r.text.len, <, 10 << 20);
}

/* As in kube-apiserver, which would lock everybody out otherwise. */
static void test_reviews_are_not_judged(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 1);
    policy(&r, "p",
           "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':['*'],"
           "'apiVersions':['*'],'resources':['*']}]},'validations':[{'expression':'false'}]");
    binding(&r, "b", "p", "");
    assert_int_equal(fixture_post(&r, CMS, CM("a")), 422);
    assert_int_equal(fixture_post(&r, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"),
                     201);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_verdicts),
    cmocka_unit_test(test_the_answer_has_a_cause),
    cmocka_unit_test(test_variables_in_variables),
    cmocka_unit_test(test_deep_variables_share_one_budget),
    cmocka_unit_test(test_lists_in_lists),
    cmocka_unit_test(test_params),
    cmocka_unit_test(test_a_binding_without_a_ref_has_null_params),
    cmocka_unit_test(test_bindings_narrow_policies),
    cmocka_unit_test(test_warnings),
    cmocka_unit_test(test_audit_is_a_line_in_the_log),
    cmocka_unit_test(test_validations_share_one_budget),
    cmocka_unit_test(test_the_authorizer_asks_rbac),
    cmocka_unit_test(test_other_versions_of_the_kind),
    cmocka_unit_test(test_what_cannot_be_written),
    cmocka_unit_test(test_defaults_and_status),
    cmocka_unit_test(test_expressions_are_checked_against_the_kinds_they_match),
    cmocka_unit_test(test_warnings_stay_short),
    cmocka_unit_test(test_reviews_are_not_judged),
};

FIXTURE_MAIN(tests)
