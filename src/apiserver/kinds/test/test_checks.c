/* test_checks.c - rules of single fields: the downward API, policies of jobs, sets, services.
 *
 * Expected words are those of kube-apiserver 1.35, seen on a real one.
 */
#include "apiserver/test/api_fixture.h"
#include "base/test/asserts.h"

#define PODS     "/api/v1/namespaces/default/pods"
#define SERVICES "/api/v1/namespaces/default/services"
#define JOBS     "/apis/batch/v1/namespaces/default/jobs"
#define SETS     "/apis/apps/v1/namespaces/default/statefulsets"
#define DAEMONS  "/apis/apps/v1/namespaces/default/daemonsets"
#define POD(more) \
    "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'x'" more "}]}}"
#define VOLUME(source)                                                                           \
    "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'x'}],'volumes':[{'name" \
    "':'v'," source "}]}}"
#define ENV(from) POD(",'env':[{'name':'A','valueFrom':" from "}]")
#define JOB(more)                                                                                \
    "{'metadata':{'name':'j'},'spec':{'template':{'spec':{'restartPolicy':'Never','containers':" \
    "[{'name':'c','image':'x'}]}}," more "}}"
#define RULE(rule) JOB("'podFailurePolicy':{'rules':[{'action':'FailJob'," rule "}]}")
#define SET(mounts, more)                                                                  \
    "{'metadata':{'name':'s'},'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{"   \
    "'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'x'" mounts \
    "}]}}," more "}}"
#define CLAIM                                                                                    \
    "'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{'accessModes':['ReadWriteOnce'" \
    "],'resources':{'requests':{'storage':'1Gi'}}}}]"
#define SERVICE(spec) "{'metadata':{'name':'s'},'spec':{'ports':[{'port':80}]" spec "}}"
#define ENDPOINTS     "/api/v1/namespaces/default/endpoints"
#define SLICES        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
#define RULES         "spec.podFailurePolicy.rules[0]"

static const struct {
    const char *target, *body, *message; /* message: after "... is invalid: " */
} refusals[] = {
    { PODS, ENV("{'fieldRef':{'fieldPath':'metadata.labels'}}"),
      "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "
      "\"metadata.labels\": supported values: \"metadata.name\", \"metadata.namespace\", "
      "\"metadata.uid\", \"spec.nodeName\", \"spec.serviceAccountName\", \"status.hostIP\", "
      "\"status.hostIPs\", \"status.podIP\", \"status.podIPs\"" },
    { PODS, ENV("{'fieldRef':{'apiVersion':'v9','fieldPath':'metadata.name'}}"),
      "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"metadata.name\": "
      "error converting fieldPath: unsupported pod version: v9" },
    { PODS, ENV("{'resourceFieldRef':{'resource':'limits.cpu','divisor':'3'}}"),
      "spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "
      "\"limits.cpu\": only divisor's values 1m and 1 are supported with the cpu resource" },
    { PODS, VOLUME("'downwardAPI':{'items':[{'path':'../x'}]}"),
      "[spec.volumes[0].downwardAPI.path: Invalid value: \"../x\": must not contain '..', "
      "spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is "
      "required]" },
    { PODS, VOLUME("'projected':{'sources':[{'secret':{}}]}"),
      "spec.volumes[0].projected.sources[0].secret.name: Required value" },
    { PODS, POD(",'resizePolicy':[{'resourceName':'x','restartPolicy':'y'}]"),
      "[spec.containers[0].resizePolicy: Unsupported value: \"x\": supported values: \"cpu\", "
      "\"memory\", spec.containers[0].resizePolicy: Unsupported value: \"y\": supported values: "
      "\"NotRequired\", \"RestartContainer\"]" },
    { JOBS, RULE("'onExitCodes':{'operator':'In','values':[2,1]}"),
      RULES ".onExitCodes.values: Invalid value: [2,1]: must be ordered" },
    { JOBS, RULE("'onExitCodes':{'operator':'In','values':[1,1]}"),
      RULES ".onExitCodes.values[1]: Duplicate value: 1" },
    { JOBS, RULE("'onExitCodes':{'operator':'In','values':[0]}"),
      RULES ".onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator" },
    { JOBS, JOB("'backoffLimitPerIndex':1"),
      "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode" },
    { SETS,
      SET("", "'volumeClaimTemplates':[{'metadata':{'name':'Bad_'},'spec':{'accessModes':["
              "'ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}]"),
      "spec.template.spec.volumes[0].name: Invalid value: \"Bad_\": a lowercase RFC 1123 label "
      "must consist of lower case alphanumeric characters or '-', and must start and end with an "
      "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')" },
    { SETS, SET("", "'updateStrategy':{'type':'OnDelete','rollingUpdate':{'partition':1}}"),
      "spec.updateStrategy.rollingUpdate: Invalid value: {\"Partition\":1,\"MaxUnavailable\":null}:"
      " only allowed for updateStrategy 'RollingUpdate'" },
    { DAEMONS, SET("", "'updateStrategy':{'rollingUpdate':{'maxUnavailable':1,'maxSurge':1}}"),
      "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when "
      "maxUnavailable is non-zero" },
    { SERVICES, SERVICE(",'clusterIP':'x'"),
      "spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or "
      "2001:db8::ffff)" },
    { SERVICES, SERVICE(",'clusterIP':'10.96.0.5','ipFamilies':['IPv6']"),
      "spec.clusterIPs[0]: Invalid value: \"10.96.0.5\": expected an IPv6 value as indicated by "
      "`ipFamilies[0]`" },
    { SERVICES, SERVICE(",'type':'ExternalName','externalName':'a.b','clusterIP':'10.96.0.5'"),
      "spec.clusterIPs: Forbidden: may not be set for ExternalName services" },
    { ENDPOINTS,
      "{'metadata':{'name':'x'},'subsets':[{'addresses':[{'ip':'x','hostname':'a.b'}],'ports':[{"
      "'port':0},{'name':'a','port':1,'protocol':'x'}]}]}",
      "[subsets[0].addresses[0].ip: Invalid value: \"x\": must be a valid IP address, (e.g. "
      "10.9.8.7 "
      "or 2001:db8::ffff), subsets[0].addresses[0].hostname: Invalid value: \"a.b\": must not "
      "contain dots, subsets[0].addresses[0].ip: Invalid value: \"x\": must be a valid IP address, "
      "subsets[0].ports[0].name: Required value, subsets[0].ports[0].port: Invalid value: 0: must "
      "be "
      "between 1 and 65535, inclusive, subsets[0].ports[1].protocol: Unsupported value: \"x\": "
      "supported values: \"SCTP\", \"TCP\", \"UDP\"]" },
    { SLICES,
      "{'metadata':{'name':'x'},'addressType':'IPv6','endpoints':[{'addresses':['::1.2.3.4',"
      "'::ffff:1.2.3.4','10.0.0.1','::01.2.3.4','::1','::5']},{'addresses':[]}],'ports':[{},{}]}",
      "[ports[1].name: Duplicate value: \"\", endpoints[0].addresses[0]: Invalid value: "
      "\"::1.2.3.4\": must be in canonical form (\"::102:304\"), endpoints[0].addresses[1]: "
      "Invalid "
      "value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address, endpoints[0].addresses: "
      "Invalid value: \"10.0.0.1\": must be an IPv6 address, endpoints[0].addresses[3]: Invalid "
      "value: \"::01.2.3.4\": must not have leading 0s, endpoints[0].addresses[4]: Invalid value: "
      "\"::1\": may not be in the loopback range (127.0.0.0/8, ::1/128), endpoints[1].addresses: "
      "Required value: must contain at least 1 address]" },
    { SLICES,
      "{'metadata':{'name':'x'},'addressType':'FQDN','endpoints':[{'addresses':['a','b.c','b.c.']}]"
      "}",
      "endpoints[0].addresses[0]: Invalid value: \"a\": should be a domain with at least two "
      "segments "
      "separated by dots" },
    { SLICES, "{'metadata':{'name':'x'},'addressType':'IP'}",
      "addressType: Unsupported value: \"IP\": supported values: \"FQDN\", \"IPv4\", \"IPv6\"" },
};

static void test_these_are_refused_in_these_words(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 7);
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        int status = fixture_post(&r, refusals[i].target, fixture_json(refusals[i].body));
        const char *got = strstr(fixture_str(&r, "message"), "is invalid: ");
        if (status != 422 || !got || !streq(got + strlen("is invalid: "), refusals[i].message))
            fail_msg("%s\n  got %d %s\n  not %s", refusals[i].body, status,
                     fixture_str(&r, "message"), refusals[i].message);
    }
}

static void test_what_keeps_the_rules_is_taken(void **state)
{
    static const struct {
        const char *target, *body;
    } good[] = {
        { PODS "?dryRun=All",
          ENV("{'fieldRef':{'fieldPath':'metadata.labels[\\u0027a.b/C\\u0027]'}}") },
        { PODS "?dryRun=All",
          ENV("{'resourceFieldRef':{'resource':'limits.cpu','divisor':'1m'}}") },
        { PODS "?dryRun=All",
          VOLUME("'downwardAPI':{'items':[{'path':'x','fieldRef':{'fieldPath':'metadata.labels'"
                 "}}]}") },
        { PODS "?dryRun=All",
          VOLUME("'projected':{'sources':[{},{'serviceAccountToken':{'path':'t'}}]}") },
        { JOBS, RULE("'onExitCodes':{'operator':'NotIn','values':[0,3]}") },
        /* A claim template is a volume that containers may mount. */
        { SETS, SET(",'volumeMounts':[{'name':'data','mountPath':'/d'}]", CLAIM) },
        { DAEMONS,
          SET("", "'updateStrategy':{'rollingUpdate':{'maxUnavailable':0,'maxSurge':1}}") },
    };
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 8);
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (fixture_post(&r, good[i].target, fixture_json(good[i].body)) != 201)
            fail_msg("%s: %s", good[i].body, fixture_str(&r, "message"));
}

/* A client that reads, changes the type and writes back need not know what goes with a type. */
static void test_a_service_of_another_type_gives_back_what_it_had(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 9);
    assert_int_equal(fixture_post(&r, SERVICES, fixture_json(SERVICE(",'type':'NodePort'"))), 201);
    assert_that(kj_i64_or(kj_get(kj_at(fixture_val(&r, "spec.ports"), 0), "nodePort"), 0), >=,
                30000);
    assert_int_equal(fixture_do(&r, "PATCH", SERVICES "/s", MERGE,
                                fixture_json("{'spec':{'type':'ClusterIP'}}")),
                     200);
    assert_null(kj_get(kj_at(fixture_val(&r, "spec.ports"), 0), "nodePort"));
    assert_string_equal(fixture_str(&r, "spec.externalTrafficPolicy"), "");
    assert_true(*fixture_str(&r, "spec.clusterIP"));
    assert_int_equal(
        fixture_do(&r, "PATCH", SERVICES "/s", MERGE,
                   fixture_json("{'spec':{'type':'ExternalName','externalName':'a.b'}}")),
        200);
    assert_string_equal(fixture_str(&r, "spec.clusterIP"), "");
}

static void test_overhead_comes_from_a_runtime_class(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 10);
    assert_int_equal(
        fixture_post(&r, PODS,
                     fixture_json("{'metadata':{'name':'p'},'spec':{'containers':[{"
                                  "'name':'c','image':'x'}],'overhead':{'cpu':'1'}}}")),
        403);
    assert_string_equal(fixture_str(&r, "message"),
                        "pods \"p\" is forbidden: pod rejected: Pod Overhead set without "
                        "corresponding RuntimeClass defined Overhead");
    static const char kata[] = "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c',"
                               "'image':'x'}],'runtimeClassName':'kata'}}";
    assert_int_equal(fixture_post(&r, PODS, fixture_json(kata)), 403);
    assert_string_equal(fixture_str(&r, "message"),
                        "pods \"p\" is forbidden: pod rejected: RuntimeClass \"kata\" not found");
    assert_int_equal(fixture_post(&r, "/apis/node.k8s.io/v1/runtimeclasses",
                                  fixture_json("{'metadata':{'name':'kata'},'handler':'kata',"
                                               "'overhead':{'podFixed':{'cpu':'250m'}}}")),
                     201);
    assert_int_equal(fixture_post(&r, PODS, fixture_json(kata)), 201);
    assert_string_equal(fixture_str(&r, "spec.overhead.cpu"), "250m");
}

/* As many scopes as resources: each scope is held against all of them once. Each time would take
 * minutes, and the time of a test is bounded. */
static void test_a_large_quota_takes_no_time(void **state)
{
    enum { SCOPES = 20000, RESOURCES = 20000 };
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 12);
    strbuf_append(&body, "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{");
    for (int i = 0; i < RESOURCES; i++)
        strbuf_appendf(&body, "%s\"a.b/r%d\":\"1\"", i ? "," : "", i);
    strbuf_append(&body, "},\"scopes\":[\"NotBestEffort\"");
    for (int i = 1; i < SCOPES; i++)
        strbuf_append(&body, ",\"BestEffort\"");
    strbuf_append(&body, "]}}");
    assert_int_equal(fixture_post(&r, "/api/v1/namespaces/default/resourcequotas", body.data), 422);
    assert_contains(fixture_str(&r, "message"), "conflicting scopes");
}

/* Each of 500 errors shows the whole list: not all of them are told. */
static void test_an_answer_stays_short(void **state)
{
    enum { SCOPES = 20000 };
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 13);
    strbuf_append(&body, "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"scopes\":[\"x\"");
    for (int i = 1; i < SCOPES; i++)
        strbuf_appendf(&body, ",\"x%d\"", i);
    strbuf_append(&body, "]}}");
    assert_int_equal(fixture_post(&r, "/api/v1/namespaces/default/resourcequotas", body.data), 422);
    assert_that(kj_len(fixture_val(&r, "details.causes")), >, 1);
    assert_that(r.text.len, <, 32 << 20);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_these_are_refused_in_these_words),
    cmocka_unit_test(test_what_keeps_the_rules_is_taken),
    cmocka_unit_test(test_a_service_of_another_type_gives_back_what_it_had),
    cmocka_unit_test(test_overhead_comes_from_a_runtime_class),
    cmocka_unit_test(test_a_large_quota_takes_no_time),
    cmocka_unit_test(test_an_answer_stays_short),
};

FIXTURE_MAIN(tests)
