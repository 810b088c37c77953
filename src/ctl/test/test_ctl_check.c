/* test_ctl_check.c - koordctl check: before an installation, after it, and what can be wrong. */
#include "ctl/test/fixture_cluster.h"

static void test_before_an_installation(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    cluster_init(&x);
    assert_int_equal(run(&x, "check"), CTL_OK);
    assert_contains(x.out, "  ok    API server v1.35.4\n");
    assert_contains(x.out, "koord is not installed in koordinator-system");
    assert_contains(x.out, "  note  13 are still to be installed: ");
    assert_contains(x.out, "  ok    you may install and remove koord\n");
    assert_contains(x.out, "  off   ");
    assert_contains(x.out, "koord can be installed, 0 warnings.\n");
    assert_int_equal(run(&x, "check", "now"), CTL_USAGE);
}

static void test_everything_works(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    cluster_init(&x);
    cluster_install(&x);
    assert_int_equal(run(&x, "check"), CTL_OK);
    assert_contains(x.out, "  ok    koord-manager v" KOORD_VERSION ": 1 ready\n");
    assert_contains(x.out, "  ok    13 are there\n");
    assert_contains(x.out,
                    "  ok    koord-scheduler: held by pod koord-scheduler, renewed 0 s ago\n");
    assert_contains(x.out, "  ok    the API server reaches " WEBHOOK_SERVICE ", 1 endpoints\n");
    assert_contains(x.out, "  ok    koordlet may do what it must\n");
    assert_contains(x.out, "  ok    n1: kernel 6.1.0, cgroup v2, driver systemd\n");
    assert_contains(
        x.out, "\nbatch and mid resources      on    koord-manager, koordlet, colocation-config");
    assert_contains(x.out, "\nmoving pods from hot nodes   off   ");
    assert_contains(x.out, "does not enable LowNodeLoad under balance\n");
    assert_contains(x.out, "\nBECPUSuppress                on    cpu-controller\n");
    assert_contains(x.out, "1 of 1 nodes, as n1: no bursts [cpu-burst: no file cpu.max.burst]\n");
    assert_contains(x.out, "koord works, 0 warnings.\n");
}

static void test_json_has_the_same(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *row;

    (void)state;
    cluster_init(&x);
    cluster_install(&x);
    assert_int_equal(run(&x, "check", "-o", "json", "--nodes=false"), CTL_OK);
    assert_int_equal(kj_parse(x.out, x.out_n, 0, &doc, NULL), 0);
    assert_true(kj_bool(kj_get(kj_root(doc), "installed"), false));
    assert_int_equal(kj_i64_or(kj_get(kj_root(doc), "failures"), -1), 0);
    row = kj_at(kj_get(kj_root(doc), "features"), 0);
    assert_string_equal(kj_str_or(kj_get(row, "feature"), ""), "batch and mid resources");
    assert_string_equal(kj_str_or(kj_get(row, "state"), ""), "on");
    assert_null(strstr(x.out, "kernel"));
}

static void test_a_server_that_is_too_old(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    cluster_init(&x);
    fake_say(x.f.fake, "/version", 200,
             "{\"major\":\"1\",\"minor\":\"26+\",\"gitVersion\":\"v1.26.3\"}");
    assert_int_equal(run(&x, "check"), CTL_FAILED);
    assert_contains(
        x.out, "  FAIL  API server v1.26.3 is too old: koord needs Kubernetes 1.30 or newer\n");
    assert_contains(x.out, "koord cannot be installed yet: 1 failure, ");
}

static void test_crds_are_missing_or_of_another_version(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    cluster_init(&x);
    cluster_install(&x);
    fake_delete(x.f.fake, CRDS, "nodeslos.slo.koordinator.sh");
    fake_patch(x.f.fake, CRDS, "podgroups.scheduling.sigs.k8s.io",
               "{\"spec\":{\"versions\":[{\"name\":\"v1alpha1\",\"served\":true,\"schema\":{"
               "\"openAPIV3Schema\":{\"properties\":{\"spec\":{\"properties\":{}}}}}}]}}");
    fake_patch(x.f.fake, CRDS, "devices.scheduling.koordinator.sh",
               "{\"spec\":{\"versions\":[{\"name\":\"v1beta7\",\"served\":true}]}}");
    assert_int_equal(run(&x, "check"), CTL_FAILED);
    assert_contains(x.out,
                    "  FAIL  1 missing: nodeslos.slo.koordinator.sh; koordctl crds | kubectl "
                    "apply --server-side -f -\n");
    assert_contains(x.out,
                    "  warn  podgroups.scheduling.sigs.k8s.io is of another version: it has no ");
    assert_contains(x.out,
                    "  FAIL  devices.scheduling.koordinator.sh does not serve version v1alpha1\n");
    assert_contains(x.out, "CRDs are missing\n");
}

static void test_a_lease_that_others_hold(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    cluster_init(&x);
    cluster_install(&x);
    cluster_put_lease(&x, "koord-scheduler", "somebody-else_1-2-3");
    cluster_put_lease(&x, "koord-descheduler", "");
    assert_int_equal(run(&x, "check"), CTL_FAILED);
    assert_contains(x.out,
                    "  FAIL  koord-scheduler: held by somebody-else_1-2-3, which is no pod of "
                    "koord-scheduler in koordinator-system");
    assert_contains(x.out, "  warn  koord-descheduler: nobody holds it\n");
    /* After its time nobody acts by it. */
    client_fixture_run(&x.f, 20 * NSEC_PER_SEC);
    assert_int_equal(run(&x, "check"), CTL_OK);
    assert_contains(x.out, "  warn  koord-scheduler: nobody holds it; last: somebody-else_1-2-3\n");
}

static void test_rights_are_missing(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    cluster_init(&x);
    fake_say(x.f.fake, REVIEWS "selfsubjectrulesreviews", 201,
             "{\"status\":{\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"\",\"apps\"],"
             "\"resources\":[\"*\"]}],\"incomplete\":false}}");
    assert_int_equal(run(&x, "check"), CTL_FAILED);
    assert_contains(x.out,
                    "  FAIL  you may not create customresourcedefinitions, create clusterroles");
    cluster_install(&x);
    fake_say(x.f.fake, REVIEWS "subjectaccessreviews", 201, "{\"status\":{\"allowed\":false}}");
    assert_int_equal(run(&x, "check"), CTL_FAILED);
    assert_contains(x.out, "  FAIL  koordlet may not list nodes, list nodeslos.slo.koordinator.sh");
    fake_say(x.f.fake, REVIEWS "subjectaccessreviews", 403,
             "{\"reason\":\"Forbidden\",\"message\":\"you may not ask\"}");
    assert_int_equal(run(&x, "check"), CTL_OK);
    assert_contains(x.out,
                    "  note  those of koord's accounts cannot be asked for: you may not ask\n");
}

static void test_why_a_program_is_not_ready(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    cluster_init(&x);
    cluster_install(&x);
    cluster_put_part(&x, PART_MANAGER, 2, 1);
    cluster_put_pod(&x, "koord-manager", "koord-manager", "health", false);
    fake_say(x.f.fake,
             "/api/v1/namespaces/" SYSTEM "/pods/koord-manager:9000/proxy/readyz/informer-sync",
             500, "internal server error: informers have not synced yet: nodeslos: forbidden");
    cluster_put_part(&x, PART_KOORDLET, 1, 1);
    cluster_put_pod(&x, "koordlet", "koordlet", "http", false);
    fake_patch(x.f.fake, SYSTEM_PODS, "koordlet",
               "{\"status\":{\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":"
               "\"CrashLoopBackOff\",\"message\":\"back-off\"}},\"lastState\":{\"terminated\":{"
               "\"message\":\"I1115 log line\\nkoordlet: NODE_NAME env is empty\\n\"}}}]}}");
    assert_int_equal(run(&x, "check", "--nodes=false"), CTL_FAILED);
    assert_contains(x.out, ": 1 of 2 ready: informers have not synced yet: nodeslos: forbidden\n");
    assert_contains(x.out, ": 0 of 1 ready: CrashLoopBackOff: koordlet: NODE_NAME env is empty\n");
    assert_contains(x.out, "koordlet is not ready\n");
}

static void test_webhooks_that_nobody_answers(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    cluster_init(&x);
    cluster_install(&x);
    fake_say(x.f.fake,
             "/api/v1/namespaces/" SYSTEM "/services/https:" WEBHOOK_SERVICE
             ":443/proxy/mutate-pod",
             503, "{\"reason\":\"ServiceUnavailable\",\"message\":\"connection refused\"}");
    assert_int_equal(run(&x, "check"), CTL_FAILED);
    assert_contains(x.out, "  FAIL  the API server cannot reach " WEBHOOK_SERVICE
                           ": connection refused\n");
    fake_delete(x.f.fake, DEPLOYMENTS, "koord-manager");
    fake_patch(x.f.fake, HOOKS "mutatingwebhookconfigurations", MUTATING_WEBHOOKS,
               "{\"webhooks\":[{\"name\":\"x\",\"failurePolicy\":\"Fail\"}]}");
    assert_int_equal(run(&x, "check"), CTL_FAILED);
    assert_contains(x.out, MUTATING_WEBHOOKS " is left behind: no koord-manager answers, and pods "
                                             "cannot be created");
}

static void test_nodes_that_lack_something(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    cluster_init(&x);
    cluster_install(&x);
    fake_put(
        x.f.fake, NODES, "n2",
        "{\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"v1.31.0\",\"architecture\":\"s390x\"}}}");
    fake_say(x.f.fake, "/api/v1/namespaces/" SYSTEM "/pods/koordlet:9000/proxy/capabilities", 200,
             "{\"kernel\":\"4.4\",\"cgroupVersion\":\"v1\",\"capabilities\":[{\"name\":"
             "\"cpu-controller\",\"reason\":\"not mounted\"}],\"features\":[{\"name\":"
             "\"BECPUSuppress\",\"state\":\"blocked\",\"needs\":[\"cpu-controller\"],\"missing\":"
             "\"cpu-controller\",\"consequence\":\"best-effort pods are not held back\"}]}");
    assert_int_equal(run(&x, "check"), CTL_OK);
    assert_contains(x.out,
                    "  warn  n1: kernel 4.4, cgroup v1, driver not known yet; on, and cannot "
                    "work there: BECPUSuppress\n");
    assert_contains(x.out, "  warn  n2 (no pod of koordlet runs there): not measured");
    assert_contains(x.out, "  warn  n2 (s390x): images of this build are for ");
    assert_contains(x.out, "  warn  n2 (v1.31.0): before 1.33 ");
    assert_contains(x.out, "\nBECPUSuppress                off   cpu-controller");
    assert_contains(x.out, "best-effort pods are not held back [cpu-controller: not mounted]\n");
}

static void test_no_server_is_one_line(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    cluster_init(&x);
    fake_say(x.f.fake, "/version", 401,
             "{\"reason\":\"Unauthorized\",\"message\":\"Unauthorized\"}");
    assert_int_equal(run(&x, "check"), CTL_FAILED);
    assert_string_equal(x.out, "");
    assert_contains(x.err, "Error from server (Unauthorized)");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_an_installation),
        cmocka_unit_test(test_everything_works),
        cmocka_unit_test(test_json_has_the_same),
        cmocka_unit_test(test_a_server_that_is_too_old),
        cmocka_unit_test(test_crds_are_missing_or_of_another_version),
        cmocka_unit_test(test_a_lease_that_others_hold),
        cmocka_unit_test(test_rights_are_missing),
        cmocka_unit_test(test_why_a_program_is_not_ready),
        cmocka_unit_test(test_webhooks_that_nobody_answers),
        cmocka_unit_test(test_nodes_that_lack_something),
        cmocka_unit_test(test_no_server_is_one_line),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
