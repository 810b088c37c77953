/* test_kinds.c - what creating and changing objects of the built-in kinds gives, or is told.
 *
 * Expected words are those of kube-apiserver 1.35, seen on a real one.
 */
#include "apiserver/test/api_fixture.h"
#include "base/test/asserts.h"

#include "apiserver/kinds/kinds.h"

#define LABEL_WORDS                                                                              \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and " \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "   \
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

struct refusal {
    const char *target, *body, *message; /* message: after "... is invalid: " */
};

static void expect_refusals(const struct refusal *list, size_t n)
{
    CLEANUP(fixture_fini) struct fixture r;

    fixture_init(&r, 7);
    for (size_t i = 0; i < n; i++) {
        int status = fixture_post(&r, list[i].target, fixture_json(list[i].body));
        const char *got = strstr(fixture_str(&r, "message"), "is invalid: ");
        if (status != 422 || !got || !streq(got + strlen("is invalid: "), list[i].message))
            fail_msg("%s\n  got %d %s\n  not %s", list[i].body, status, fixture_str(&r, "message"),
                     list[i].message);
    }
}

#define POD(spec) "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':{" spec "}}"
#define CONTAINER(more)                                                                          \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':{'containers':[{'name':'c'," \
    "'image':'x'" more "}]}}"

static void test_pods_that_are_refused(void **state)
{
    static const struct refusal list[] = {
        { PODS, POD("'containers':[]"), "spec.containers: Required value" },
        { PODS, POD("'containers':[{'name':'A_b','image':'x'}]"),
          "spec.containers[0].name: Invalid value: \"A_b\": " LABEL_WORDS },
        { PODS, POD("'containers':[{'name':'c'}]"), "spec.containers[0].image: Required value" },
        { PODS, POD("'containers':[{'name':'a','image':'x'},{'name':'a','image':'x'}]"),
          "spec.containers[1].name: Duplicate value: \"a\"" },
        { PODS, POD("'restartPolicy':'Maybe','containers':[{'name':'a','image':'x'}]"),
          "spec.restartPolicy: Unsupported value: \"Maybe\": supported values: \"Always\", "
          "\"OnFailure\", \"Never\"" },
        { PODS, CONTAINER(",'ports':[{'containerPort':70000}]"),
          "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and "
          "65535, inclusive" },
        { PODS, CONTAINER(",'resources':{'limits':{'cpu':'1'},'requests':{'cpu':'2'}}"),
          "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal "
          "to cpu limit of 1" },
        { PODS, CONTAINER(",'resources':{'limits':{'foo.io/x':'2'},'requests':{'foo.io/x':'1'}}"),
          "spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to foo.io/x "
          "limit of 2" },
        { PODS, CONTAINER(",'resources':{'requests':{'foo.io/x':'1'}}"),
          "spec.containers[0].resources.limits: Required value: Limit must be set for non "
          "overcommitable resources" },
        { PODS, CONTAINER(",'livenessProbe':{}"),
          "spec.containers[0].livenessProbe: Required value: must specify a handler type" },
        { PODS, CONTAINER(",'volumeMounts':[{'name':'zz','mountPath':'/y'}]"),
          "spec.containers[0].volumeMounts[0].name: Not found: \"zz\"" },
        { PODS, POD("'containers':[{'name':'a','image':'x'}],'tolerations':[{'operator':'Equal'}]"),
          "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when "
          "`key` is empty, which means \"match all values and all keys\"" },
        { PODS,
          POD("'containers':[{'name':'a','image':'x'}],'affinity':{'nodeAffinity':{'requiredDuring"
              "SchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[]}}}"),
          "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
          "nodeSelectorTerms: Required value: must have at least one node selector term" },
        { PODS,
          POD("'containers':[{'name':'a','image':'x'}],'schedulingGates':[{'name':'x.io/g'}],"
              "'nodeName':'n'"),
          "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared" },
    };
    (void)state;
    expect_refusals(list, ARRAY_LEN(list));
}

#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define JOBS        "/apis/batch/v1/namespaces/default/jobs"
#define TEMPLATE                                                                                   \
    "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'x'}]}" \
    "}"
#define SELECTOR "'selector':{'matchLabels':{'a':'b'}}"
#define DEPLOYMENT(spec) \
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d'},'spec':{" spec "}}"
#define PDB(spec)                                                                                  \
    "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':'b'},'spec':{" spec \
    "}}"

static void test_other_kinds_that_are_refused(void **state)
{
    static const struct refusal list[] = {
        { DEPLOYMENTS, DEPLOYMENT("'selector':{'matchLabels':{'x':'y'}}," TEMPLATE),
          "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match "
          "template `labels`" },
        { DEPLOYMENTS, DEPLOYMENT("'selector':{}," TEMPLATE),
          "spec.selector: Invalid value: {}: empty selector is invalid for deployment" },
        { DEPLOYMENTS, DEPLOYMENT("'replicas':-1," SELECTOR "," TEMPLATE),
          "spec.replicas: Invalid value: -1: must be greater than or equal to 0" },
        { DEPLOYMENTS,
          DEPLOYMENT("'strategy':{'rollingUpdate':{'maxSurge':0,'maxUnavailable':0}}," SELECTOR
                     "," TEMPLATE),
          "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when "
          "`maxSurge` is 0" },
        { JOBS,
          "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j'},'spec':{" TEMPLATE "}}",
          "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", "
          "\"Never\"" },
        { "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
          PDB("'minAvailable':1,'maxUnavailable':1," SELECTOR),
          "spec: Invalid value: {\"MinAvailable\":1,\"Selector\":{\"matchLabels\":{\"a\":\"b\"}},"
          "\"MaxUnavailable\":1,\"UnhealthyPodEvictionPolicy\":null}: minAvailable and "
          "maxUnavailable cannot be both set" },
        { "/apis/scheduling.k8s.io/v1/priorityclasses",
          "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass','metadata':{'name':'x'},"
          "'value':2000000000}",
          "value: Forbidden: maximum allowed value of a user defined priority is 1000000000" },
        { "/api/v1/nodes",
          "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n'},'spec':{'taints':[{'key':'a',"
          "'effect':''}]}}",
          "metadata.taints[0].effect: Required value" },
        { "/api/v1/namespaces/default/services",
          "{'apiVersion':'v1','kind':'Service','metadata':{'name':'s'},'spec':{}}",
          "spec.ports: Required value" },
        { CMS, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'},'data':{'a b':'c'}}",
          "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric "
          "characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex "
          "used for validation is '[-._a-zA-Z0-9]+')" },
        { "/apis/coordination.k8s.io/v1/namespaces/default/leases",
          "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'l'},'spec':"
          "{'leaseDurationSeconds':0}}",
          "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0" },
    };
    (void)state;
    expect_refusals(list, ARRAY_LEN(list));
}

static void test_pod_gets_its_defaults(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        fixture_post(&r, PODS,
                     fixture_json(CONTAINER(",'resources':{'limits':{'cpu':'1','memory':'1Gi'}},"
                                            "'ports':[{'containerPort':80}]"))),
        201);
    const struct kj_val *c = kj_at(fixture_val(&r, "spec.containers"), 0);
    assert_string_equal(kj_str(kj_get(c, "imagePullPolicy")), "Always");
    assert_string_equal(kj_str(kj_path(c, "resources.requests.cpu")), "1");
    assert_string_equal(kj_str(kj_get(kj_at(kj_get(c, "ports"), 0), "protocol")), "TCP");
    assert_string_equal(fixture_str(&r, "spec.restartPolicy"), "Always");
    assert_string_equal(fixture_str(&r, "spec.schedulerName"), "default-scheduler");
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.terminationGracePeriodSeconds"), 0), 30);
    assert_true(kj_bool(fixture_val(&r, "spec.enableServiceLinks"), false));
    assert_string_equal(fixture_str(&r, "status.phase"), "Pending");
    assert_string_equal(fixture_str(&r, "status.qosClass"), "Guaranteed");
}

static void test_pull_policy_follows_the_tag(void **state)
{
    static const char *const images[][2] = {
        { "a", "Always" },
        { "a:latest", "Always" },
        { "a:1", "IfNotPresent" },
        { "reg:5000/a", "Always" },
        { "reg:5000/a:v1", "IfNotPresent" },
        { "a@sha256:0000000000000000000000000000000000000000000000000000000000000000",
          "IfNotPresent" },
    };
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    for (size_t i = 0; i < ARRAY_LEN(images); i++) {
        char body[300];
        (void)snprintf(body, sizeof body,
                       "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':"
                       "{'containers':[{'name':'c','image':'%s'}]}}",
                       images[i][0]);
        assert_int_equal(fixture_post(&r, PODS "?dryRun=All", fixture_json(body)), 201);
        const struct kj_val *c = kj_at(fixture_val(&r, "spec.containers"), 0);
        assert_string_equal(kj_str(kj_get(c, "imagePullPolicy")), images[i][1]);
    }
}

static void test_job_finds_its_pods_by_its_uid(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        fixture_post(
            &r, JOBS,
            fixture_json("{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j'},'spec':"
                         "{'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c',"
                         "'image':'x'}]}}}}")),
        201);
    const char *uid = fixture_str(&r, "metadata.uid");
    const struct kj_val *labels = fixture_val(&r, "spec.template.metadata.labels");
    assert_string_equal(kj_str(kj_get(fixture_val(&r, "spec.selector.matchLabels"),
                                      "batch.kubernetes.io/controller-uid")),
                        uid);
    assert_string_equal(kj_str(kj_get(labels, "batch.kubernetes.io/job-name")), "j");
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.completions"), 0), 1);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.backoffLimit"), 0), 6);
    assert_string_equal(fixture_str(&r, "spec.podReplacementPolicy"), "TerminatingOrFailed");
}

static void test_service_gets_an_address(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    static const char body[] = "{'apiVersion':'v1','kind':'Service','metadata':{'name':'s'},"
                               "'spec':{'ports':[{'port':80}],'type':'NodePort'}}";

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(fixture_post(&r, "/api/v1/namespaces/default/services", fixture_json(body)),
                     201);
    assert_starts(fixture_str(&r, "spec.clusterIP"), "10.96.");
    const struct kj_val *p = kj_at(fixture_val(&r, "spec.ports"), 0);
    assert_int_equal(kj_i64_or(kj_get(p, "targetPort"), 0), 80);
    assert_in_range(kj_i64_or(kj_get(p, "nodePort"), 0), 30000, 32767);
}

static void test_pod_spec_hardly_changes(void **state)
{
    static const struct {
        const char *patch, *message; /* NULL: allowed */
    } list[] = {
        { "{'spec':{'containers':[{'name':'c','image':'y'}]}}", NULL },
        { "{'metadata':{'labels':{'a':'b'}}}", NULL },
        { "{'spec':{'activeDeadlineSeconds':100}}", NULL },
        { "{'spec':{'activeDeadlineSeconds':200}}",
          "spec.activeDeadlineSeconds: Invalid value: 200: must be less than or equal to previous "
          "value" },
        { "{'spec':{'nodeName':'n1'}}",
          "spec: Forbidden: pod updates may not change fields other" },
        { "{'spec':{'containers':[{'name':'d','image':'y'}]}}",
          "spec.containers: Forbidden: pod updates may not add or remove containers" },
        { "{'spec':{'tolerations':[]}}",
          "spec.tolerations: Forbidden: existing toleration can not be modified except its "
          "tolerationSeconds" },
    };
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        fixture_post(&r, PODS,
                     fixture_json(POD("'tolerations':[{'key':'k','operator':'Exists'}],"
                                      "'containers':[{'name':'c','image':'x'}]"))),
        201);
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        int status = fixture_do(&r, "PATCH", PODS "/p", "application/strategic-merge-patch+json",
                                fixture_json(list[i].patch));
        if (!list[i].message)
            assert_int_equal(status, 200);
        else if (status != 422 || !strstr(fixture_str(&r, "message"), list[i].message))
            fail_msg("%s: %d %s", list[i].patch, status, fixture_str(&r, "message"));
    }
}

static void test_selector_of_a_deployment_is_fixed(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(fixture_post(&r, DEPLOYMENTS, fixture_json(DEPLOYMENT(SELECTOR "," TEMPLATE))),
                     201);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.replicas"), 0), 1);
    assert_string_equal(fixture_str(&r, "spec.strategy.rollingUpdate.maxSurge"), "25%");
    assert_int_equal(
        fixture_do(&r, "PATCH", DEPLOYMENTS "/d", MERGE,
                   fixture_json("{'spec':{'selector':{'matchLabels':{'c':'d'}},'template':"
                                "{'metadata':{'labels':{'c':'d'}}}}}")),
        422);
    assert_contains(fixture_str(&r, "message"), "field is immutable");
}

static void test_events_have_two_forms(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        fixture_post(
            &r, "/api/v1/namespaces/default/events",
            fixture_json(
                "{'apiVersion':'v1','kind':'Event','metadata':{'name':'e'},'involvedObject':"
                "{'kind':'Pod','namespace':'default','name':'p'},'reason':'R','message':'m',"
                "'type':'Normal','source':{'component':'c'}}")),
        201);
    assert_int_equal(fixture_get(&r, "/apis/events.k8s.io/v1/namespaces/default/events/e"), 200);
    assert_string_equal(fixture_str(&r, "apiVersion"), "events.k8s.io/v1");
    assert_string_equal(fixture_str(&r, "regarding.name"), "p");
    assert_string_equal(fixture_str(&r, "note"), "m");
    assert_string_equal(fixture_str(&r, "deprecatedSource.component"), "c");
    assert_int_equal(fixture_get(&r, "/api/v1/namespaces/default/"
                                     "events?fieldSelector=involvedObject.name%3Dp,reason%3DR"),
                     200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1);
}

static void test_field_selectors(void **state)
{
    static const struct {
        const char *target;
        int status;
        size_t n;
    } list[] = {
        { PODS "?fieldSelector=spec.nodeName%3Dn1", 200, 1 },
        { PODS "?fieldSelector=spec.nodeName%3D", 200, 0 },
        { PODS "?fieldSelector=status.phase%3DPending,spec.schedulerName%3Ddefault-scheduler", 200,
          1 },
        { PODS "?fieldSelector=spec.hostNetwork%3Dfalse", 200, 1 },
        { PODS "?fieldSelector=spec.priority%3D0", 400, 0 },
        { "/api/v1/nodes?fieldSelector=spec.unschedulable%3Dfalse", 200, 1 },
        { "/api/v1/nodes?fieldSelector=status.phase%3Dx", 400, 0 },
        { "/api/v1/namespaces?fieldSelector=status.phase%3DTerminating", 200, 0 },
    };
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        fixture_post(&r, "/api/v1/nodes",
                     fixture_json("{'apiVersion':'v1','kind':'Node','metadata':{'name':"
                                  "'n1'}}")),
        201);
    assert_int_equal(
        fixture_post(&r, PODS,
                     fixture_json(POD("'nodeName':'n1','containers':[{'name':'c','image':'x'}]"))),
        201);
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        int status = fixture_get(&r, list[i].target);
        if (status != list[i].status || kj_len(fixture_val(&r, "items")) != list[i].n)
            fail_msg("%s: %d %s", list[i].target, status, strbuf_str(&r.text));
    }
}

static void test_every_kind_has_its_tables(void **state)
{
    size_t n;
    const struct resource *r = builtin_resources(&n);

    (void)state;
    assert_int_equal(n, 60);
    for (size_t i = 0; i < n; i++) {
        assert_non_null(r[i].type);
        assert_true(str_ends(r[i].list_kind, "List"));
        assert_non_null(r[i].store_res);
        assert_int_equal(r[i].has_status, r[i].subresources && strstr(r[i].subresources, "status"));
    }
}

/* Slices keep fields of gates that are off elsewhere, so selectors may ask for them. */
static void test_selectors_know_what_slices_keep(void **state)
{
    static const char classes[] = "/apis/resource.k8s.io/v1/deviceclasses";
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 1);
    assert_int_equal(
        fixture_post(&r, classes,
                     fixture_json("{'metadata':{'name':'a'},'spec':{'selectors':[{'cel':{"
                                  "'expression':'device.allowMultipleAllocations'}}]}}")),
        201);
    assert_int_equal(
        fixture_post(&r, classes,
                     fixture_json("{'metadata':{'name':'b'},'spec':{'selectors':[{'cel':{"
                                  "'expression':'device.allowNothing'}}]}}")),
        422);
    assert_contains(fixture_str(&r, "message"), "undefined field 'allowNothing'");
    assert_int_equal(
        fixture_post(
            &r, classes,
            fixture_json("{'metadata':{'name':'b'},'spec':{'selectors':[{'cel':{"
                         "'expression':'device.attributes.all(a, device.attributes.all(b, "
                         "device.attributes.all(c, device.attributes.all(d, "
                         "device.attributes.all(e, a + b + c + d + e != device.driver)))))'"
                         "}}]}}")),
        422);
    assert_contains(fixture_str(&r, "message"), "too complex, exceeds cost limit");
}

/* DeviceTaintRule is of an alpha version: served on request. */
static void test_alpha_kinds_are_served_on_request(void **state)
{
    static const char rules[] = "/apis/resource.k8s.io/v1alpha3/devicetaintrules";
    static const struct {
        const char *body, *message;
    } refused[] = {
        { "{'metadata':{'name':'a'},'spec':{'taint':{'key':'k'}}}", "spec.taint.effect: Required" },
        { "{'metadata':{'name':'a'},'spec':{'taint':{'key':'k','effect':'No'}}}",
          "spec.taint.effect: Unsupported value: \"No\"" },
        { "{'metadata':{'name':'a'},'spec':{'taint':{'key':'','effect':'None'}}}",
          "spec.taint.key" },
        { "{'metadata':{'name':'a'},'spec':{'deviceSelector':{'device':'A_'},'taint':{'key':'k',"
          "'effect':'None'}}}",
          "spec.deviceSelector.device" },
    };
    CLEANUP(fixture_fini) struct fixture r;
    struct kerr err = { 0 };

    (void)state;
    fixture_init(&r, 1);
    assert_int_equal(fixture_get(&r, rules), 404);
    apiserver_free(r.s);
    assert_int_equal(apiserver_new(r.loop,
                                   &(struct apiserver_opts){ .no_crds = true, .alpha_apis = true },
                                   &r.s, &err),
                     0);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        assert_int_equal(fixture_post(&r, rules, fixture_json(refused[i].body)), 422);
        assert_contains(fixture_str(&r, "message"), refused[i].message);
    }
    assert_int_equal(
        fixture_post(&r, rules,
                     fixture_json("{'metadata':{'name':'a'},'spec':{'deviceSelector':{'pool':'p'},"
                                  "'taint':{'key':'x.io/k','value':'v','effect':'NoSchedule'}},"
                                  "'status':{'conditions':[]}}")),
        201);
    assert_int_equal(fixture_get(&r, rules), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pods_that_are_refused),
        cmocka_unit_test(test_other_kinds_that_are_refused),
        cmocka_unit_test(test_pod_gets_its_defaults),
        cmocka_unit_test(test_pull_policy_follows_the_tag),
        cmocka_unit_test(test_job_finds_its_pods_by_its_uid),
        cmocka_unit_test(test_service_gets_an_address),
        cmocka_unit_test(test_pod_spec_hardly_changes),
        cmocka_unit_test(test_selector_of_a_deployment_is_fixed),
        cmocka_unit_test(test_events_have_two_forms),
        cmocka_unit_test(test_field_selectors),
        cmocka_unit_test(test_every_kind_has_its_tables),
        cmocka_unit_test(test_selectors_know_what_slices_keep),
        cmocka_unit_test(test_alpha_kinds_are_served_on_request),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
