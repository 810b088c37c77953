/* test_koordlet_pods.c - pods and configuration from the kubelet, in good days and bad; claims. */
#include "base/arena.h"
#include "base/test/asserts.h"
#include "koordlet/states/states_int.h"
#include "koordlet/states/test/states_fixture.h"

#define UID_WEB "11111111-2222-3333-4444-555555555555"

static void count(void *arg)
{
    ++*(int *)arg;
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void test_a_good_kubelet_gives_pods_with_their_places(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    const struct podset *set = states_fixture_known(&r)->pods;
    assert_non_null(set);
    assert_int_equal(set->n, 1);
    const struct npod *p = podset_find(set, UID_WEB);
    assert_non_null(p);
    assert_null(podset_find(set, "other"));
    assert_string_equal(p->obj->meta.name, "web");
    assert_int_equal(p->kube_qos, KUBE_QOS_BURSTABLE);
    assert_int_equal(p->qos, QOS_LS);
    assert_int_equal(p->priority, PRIO_PROD);
    assert_string_equal(p->cgroup_dir,
                        "kubepods.slice/kubepods-burstable.slice/"
                        "kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice");
    assert_int_equal(p->ncontainers, 1);
    assert_string_equal(p->containers[0].name, "main");
    assert_string_equal(p->containers[0].id, "containerd://c-web");
    assert_string_equal(p->containers[0].dir, "cri-containerd-c-web.scope");
    assert_true(p->containers[0].running);
    assert_null(states_missing(r.states, 1)); /* NodeSLO is, nothing else */
    assert_string_equal(states_missing(r.states, 0), "no NodeSLO yet (koord-manager makes it)");
    assert_true(states_fixture_shows(r.internal,
                                     "koordlet_kubelet_request_duration_seconds_count{code="
                                     "\"200\",path=\"/pods/\",verb=\"get\"} 1"));
    assert_true(states_fixture_shows(r.internal, "le=\"0.016\""));
}

static void test_an_unchanged_pod_is_the_same_struct(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;
    int told = 0;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    snapshots_on(r.snapshots, STATES_PODS, "test", count, &told);
    states_fixture_run(&r, 1);
    assert_int_equal(told, 1);
    struct podset *first = podset_ref(states_fixture_known(&r)->pods);
    states_fixture_run(&r, 10);
    assert_int_equal(r.kubelet.asked, 2);
    assert_ptr_equal(states_fixture_known(&r)->pods, first); /* nothing happened at all */
    assert_int_equal(told, 1);
    fake_kubelet_add(&r.kubelet, "second", "db", "", true);
    states_fixture_run(&r, 10);
    struct podset *now = states_fixture_known(&r)->pods;
    assert_int_equal(now->n, 2);
    assert_int_equal(told, 2);
    assert_ptr_equal(podset_find(now, UID_WEB), first->pods[0]);
    /* A pod that changed is another one; who works with the old set keeps it. */
    strbuf_reset(&r.kubelet.pods);
    fake_kubelet_add(&r.kubelet, UID_WEB, "web", ",\"labels\":{\"x\":\"y\"}", true);
    states_fixture_run(&r, 10);
    assert_int_equal(told, 3);
    assert_int_equal(states_fixture_known(&r)->pods->n, 1);
    assert_ptr_not_equal(states_fixture_known(&r)->pods->pods[0], first->pods[0]);
    assert_int_not_equal(states_fixture_known(&r)->pods->pods[0]->stamp, first->pods[0]->stamp);
    assert_string_equal(first->pods[0]->obj->meta.name, "web");
    podset_unref(first);
}

static void test_pods_without_stamp_and_with_odd_uids(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    /* As a kubelet serves static pods. */
    fake_kubelet_add(&r.kubelet, "0123456789abcdef0123456789abcdef", "etcd",
                     ",\"creationTimestamp\":null,\"annotations\":{\"kubernetes.io/config.source\":"
                     "\"file\"}",
                     false);
    fake_kubelet_add(&r.kubelet, "../../etc", "evil", "", true);
    fake_kubelet_add(&r.kubelet, "", "nobody", "", true);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    const struct podset *set = states_fixture_known(&r)->pods;
    assert_int_equal(set->n, 2);
    const struct npod *p = podset_find(set, "0123456789abcdef0123456789abcdef");
    assert_int_equal(p->obj->meta.created, 0);
    assert_int_equal(p->ncontainers, 0);
    assert_true(str_ends(p->cgroup_dir, "-pod0123456789abcdef0123456789abcdef.slice"));
    assert_true(
        states_fixture_shows(r.internal, "koordlet_kubelet_failures_total{path=\"/pods/\"} 2"));
}

static void test_another_driver_moves_all_pods(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    r.host.driver = CGROUP_CGROUPFS;
    states_fixture_run(&r, 10);
    const struct npod *p = states_fixture_known(&r)->pods->pods[0];
    assert_string_equal(p->cgroup_dir, "kubepods/burstable/pod" UID_WEB);
    assert_string_equal(p->containers[0].dir, "c-web");
}

static void test_gauges_come_and_go_with_the_pods(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    fake_kubelet_add(&r.kubelet, "u2", "db", "", true);
    fake_kubelet_add(&r.kubelet, "u3", "starting", "", false);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    assert_true(states_fixture_shows(
        r.external, "koordlet_container_resource_requests{container_id=\"containerd://c-db\","
                    "container_name=\"main\",node=\"n1\",pod_name=\"db\",pod_namespace=\"ns\","
                    "pod_uid=\"u2\",resource=\"kubernetes.io/batch-cpu\",unit=\"integer\"} 500\n"));
    assert_true(states_fixture_shows(
        r.external, "koordlet_container_resource_limits{container_id=\"containerd://c-db\","
                    "container_name=\"main\",node=\"n1\",pod_name=\"db\",pod_namespace=\"ns\","
                    "pod_uid=\"u2\",resource=\"kubernetes.io/batch-memory\",unit=\"byte\"} "
                    "1.073741824e+09\n"));
    assert_false(states_fixture_shows(r.external, "pod_uid=\"u3\""));
    strbuf_reset(&r.kubelet.pods);
    fake_kubelet_add(&r.kubelet, UID_WEB, "web", "", true);
    states_fixture_run(&r, 10);
    assert_false(states_fixture_shows(r.external, "pod_uid=\"u2\""));
    assert_true(states_fixture_shows(r.external, "pod_uid=\"" UID_WEB "\""));
}

/* Each bad answer: the pods stay, a reason is there, and the next good one is taken. */
static void test_bad_answers_keep_the_known_pods(void **state)
{
    static const char deep[] = "{\"items\":[{\"metadata\":{\"name\":\"x\",\"uid\":\"y\"}";
    static const struct {
        enum kubelet_mood mood;
        int status;
        const char *text, *why;
    } cases[] = {
        { KUBELET_STATUS, 500, NULL, "request https://10.0.0.7:10250/pods/ failed, code 500" },
        { KUBELET_STATUS, 401, NULL, "failed, code 401" },
        { KUBELET_STATUS, 204, NULL, "failed, code 204" },
        { KUBELET_TEXT, 0, "{\"kind\":\"PodList\",\"items\":[]}", "the kubelet knows no pods" },
        { KUBELET_TEXT, 0, "{\"kind\":\"PodList\",\"items\":null}", "the kubelet knows no pods" },
        { KUBELET_TEXT, 0, "", "the answer ends too early" },
        { KUBELET_TEXT, 0, "<html>", "the answer is not a list of objects" },
        { KUBELET_TEXT, 0, "[{}]", "the answer is not a list of objects" },
        { KUBELET_TEXT, 0, "{\"items\":{}}", "the answer is not a list of objects" },
        { KUBELET_TEXT, 0, "{\"items\":[7]}", "the answer is not a list of objects" },
        { KUBELET_TEXT, 0, "{\"items\":[{]}]}", "item 0" },
        { KUBELET_TEXT, 0, "{\"items\":[{}]} {}", "the answer is not a list of objects" },
        { KUBELET_TEXT, 0, deep, "the answer ends too early" },
        { KUBELET_SILENT, 0, NULL, "/pods/ failed: no answer within 3s" },
        { KUBELET_DROPS, 0, NULL, "connection reset by peer" },
    };
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct podset *before = states_fixture_known(&r)->pods;
        unsigned asked = r.kubelet.asked;
        r.kubelet.mood = cases[i].mood;
        r.kubelet.status = cases[i].status;
        r.kubelet.text = cases[i].text;
        states_fixture_run(&r, 14);
        assert_in_range(r.kubelet.asked, asked + 1, asked + 2);
        assert_ptr_equal(states_fixture_known(&r)->pods, before);
        if (!strstr(r.states->pods.problem.text, cases[i].why))
            fail_msg("case %zu: '%s'", i, r.states->pods.problem.text);
        r.kubelet.mood = KUBELET_GOOD;
        states_fixture_run(&r, 14);
        assert_int_equal(r.states->pods.problem.code, 0);
    }
}

static void test_reasons_while_no_pods_came(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    fake_delete(r.api.fake, NODES, "n1");
    r.kubelet.refuse = true;
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    assert_string_equal(states_missing(r.states, 0), "no Node object yet");
    assert_string_equal(states_missing(r.states, 1), "no pods from the kubelet yet");
    fake_put(r.api.fake, NODES, "n1", "{\"status\":{\"addresses\":[]}}");
    states_fixture_run(&r, 1);
    assert_string_equal(states_missing(r.states, 0), "no pods from the kubelet yet: the Node has "
                                                     "no address of type InternalIP");
    fake_put(r.api.fake, NODES, "n1", NODE_JSON);
    states_fixture_run(&r, 15);
    assert_contains(states_missing(r.states, 0), "connection refused");
    r.kubelet.refuse = false;
    states_fixture_run(&r, 11);
    assert_non_null(states_fixture_known(&r)->pods);
    assert_int_equal(strncmp(states_missing(r.states, 0), "no NodeSLO yet", 14), 0);
}

static void test_a_huge_answer_is_refused(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    const struct podset *before = states_fixture_known(&r)->pods;
    strbuf_append(&text, "{\"items\":[{\"metadata\":{\"name\":\"");
    memset(strbuf_reserve(&text, LISTSPLIT_ITEM_MAX + 1000), 'x', LISTSPLIT_ITEM_MAX + 1000);
    text.len += LISTSPLIT_ITEM_MAX + 1000;
    strbuf_append(&text, "\"}}]}");
    r.kubelet.mood = KUBELET_TEXT;
    r.kubelet.text = text.data;
    states_fixture_run(&r, 10);
    assert_ptr_equal(states_fixture_known(&r)->pods, before);
    assert_string_equal(r.states->pods.problem.text,
                        "answer to /pods/: an item is larger than 8388608 bytes");
}

static void test_asking_is_coalesced_and_limited(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    assert_int_equal(r.kubelet.asked, 1);
    for (int i = 0; i < 100; i++)
        pods_ask(r.states);
    states_fixture_run(&r, 0.1);
    assert_int_equal(r.kubelet.asked, 2); /* one, and within 100 ms */
    /* An answer that is under way may have missed the newest pod: one more. */
    pods_ask(r.states);
    states_fixture_run(&r, 0);
    assert_non_null(r.states->pods.call);
    pods_ask(r.states);
    pods_ask(r.states);
    states_fixture_run(&r, 0.1);
    assert_int_equal(r.kubelet.asked, 4);
    /* Pods all the time: ten at once, then five a second. */
    for (int i = 0; i < 1000; i++) {
        pods_ask(r.states);
        states_fixture_run(&r, 0.01);
    }
    assert_in_range(r.kubelet.asked, 55, 65);
    /* The regular round comes its interval after the last. */
    unsigned asked = r.kubelet.asked;
    states_fixture_run(&r, 9);
    assert_in_range(r.kubelet.asked, asked, asked + 1);
}

static void test_a_thousand_pods_come_and_go(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    for (int round = 0; round < 10; round++) {
        strbuf_reset(&r.kubelet.pods);
        for (int i = 0; i < 100; i++) {
            char uid[40], name[40];
            (void)snprintf(uid, sizeof uid, "u-%d-%d", round, i);
            (void)snprintf(name, sizeof name, "p-%d-%d", round, i);
            fake_kubelet_add(&r.kubelet, uid, name, "", true);
        }
        states_fixture_run(&r, 10);
        assert_int_equal(states_fixture_known(&r)->pods->n, 100);
    }
    strbuf_reset(&r.kubelet.pods);
    fake_kubelet_add(&r.kubelet, UID_WEB, "web", "", true);
    states_fixture_run(&r, 10);
    assert_int_equal(states_fixture_known(&r)->pods->n, 1);
    assert_int_equal(metric_children(r.states->pods.requests), 1);
    assert_int_equal(r.states->pods.by_stamp.n, 1);
}

static void test_a_changed_address_is_followed(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    unsigned dials = r.kubelet.dials;
    r.kubelet.mood = KUBELET_SILENT;
    states_fixture_run(&r, 10); /* a call is under way when the Node changes */
    fake_patch(r.api.fake, NODES, "n1",
               "{\"status\":{\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":10666}}}}");
    states_fixture_run(&r, 1);
    assert_string_equal(r.states->pods.problem.text, "the address of the kubelet changed");
    r.kubelet.mood = KUBELET_GOOD;
    states_fixture_run(&r, 11);
    assert_int_equal(r.states->pods.problem.code, 0);
    assert_that(r.kubelet.dials, >, dials);
}

/* ---- the kubelet's configuration ------------------------------------------------------------- */

static void test_the_configuration_is_read_when_the_kubelet_may_be_new(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    assert_string_equal(states_fixture_known(&r)->kubelet->cpu_manager_policy, "static");
    states_fixture_run(&r, 250);
    assert_int_equal(r.kubelet.config_asked, 1); /* not every round */
    states_fixture_run(&r, 60);
    assert_int_equal(r.kubelet.config_asked, 2);
    r.kubelet.mood = KUBELET_STATUS;
    r.kubelet.status = 503;
    states_fixture_run(&r, 10);
    r.kubelet.mood = KUBELET_GOOD;
    r.kubelet.config = "{\"kubeletconfig\":{\"cpuManagerPolicy\":\"none\"}}";
    states_fixture_run(&r, 11);
    assert_int_equal(r.kubelet.config_asked, 3);
    assert_string_equal(states_fixture_known(&r)->kubelet->cpu_manager_policy, "none");
    fake_patch(r.api.fake, NODES, "n1",
               "{\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"v1.36.0\"}}}");
    r.kubelet.config = "nonsense";
    states_fixture_run(&r, 11);
    assert_int_equal(r.kubelet.config_asked, 4);
    assert_string_equal(states_fixture_known(&r)->kubelet->cpu_manager_policy, "none");
    assert_true(
        states_fixture_shows(r.internal, "koordlet_kubelet_failures_total{path=\"/configz\"} 1"));
}

static void test_configuration_of_newer_kubelets_and_defaults(void **state)
{
    static const char text[] =
        "{\"kubeletconfig\":{\"logging\":{\"flushFrequency\":\"5s\"},\"cpuManagerPolicy\":"
        "\"static\","
        "\"cpuManagerPolicyOptions\":{\"full-pcpus-only\":\"true\"},\"reservedSystemCPUs\":\"0-1\","
        "\"kubeReserved\":{\"cpu\":\"500m\"},\"evictionHard\":{\"memory.available\":\"200Mi\"},"
        "\"topologyManagerPolicy\":\"restricted\",\"topologyManagerScope\":\"pod\"}}";
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kubelet_config c;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(configz_decode(text, strlen(text), a, &c, &err), 0);
    assert_string_equal(c.cpu_manager_policy, "static");
    assert_string_equal(kstrmap_get(&c.cpu_manager_options, "full-pcpus-only"), "true");
    assert_string_equal(c.reserved_system_cpus, "0-1");
    assert_string_equal(kstrmap_get(&c.kube_reserved, "cpu"), "500m");
    assert_string_equal(kstrmap_get(&c.eviction_hard, "memory.available"), "200Mi");
    assert_string_equal(c.topology_policy, "restricted");
    assert_string_equal(c.topology_scope, "pod");
    assert_int_equal(configz_decode("{\"kubeletconfig\":{}}", 20, a, &c, &err), 0);
    assert_string_equal(c.cpu_manager_policy, "none");
    assert_string_equal(c.topology_scope, "container");
    assert_string_equal(kstrmap_get(&c.eviction_hard, "memory.available"), "100Mi");
    assert_int_equal(configz_decode("{}", 2, a, &c, &err), -EINVAL);
}

/* ---- volumes --------------------------------------------------------------------------------- */

static void test_only_claims_of_local_pods_are_read(void **state)
{
    static const char pod[] =
        ",{\"metadata\":{\"name\":\"v\",\"namespace\":\"ns\",\"uid\":\"uv\"},\"spec\":{"
        "\"containers\":[],\"volumes\":[{\"name\":\"d\",\"persistentVolumeClaim\":{\"claimName\":"
        "\"data\"}}]},\"status\":{}}";
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    r.o.volume_names = true;
    fake_put(r.api.fake, "/api/v1/namespaces/ns/persistentvolumeclaims", "data", "{\"spec\":{}}");
    fake_put(r.api.fake, "/api/v1/namespaces/ns/persistentvolumeclaims", "other",
             "{\"spec\":{\"volumeName\":\"pv-9\"}}");
    size_t without = r.kubelet.pods.len;
    strbuf_append(&r.kubelet.pods, pod);
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    assert_null(states_volume_name(r.states, "ns", "data")); /* not bound yet */
    fake_patch(r.api.fake, "/api/v1/namespaces/ns/persistentvolumeclaims", "data",
               "{\"spec\":{\"volumeName\":\"pv-1\"}}");
    states_fixture_run(&r, 11);
    assert_string_equal(states_volume_name(r.states, "ns", "data"), "pv-1");
    assert_null(states_volume_name(r.states, "ns", "other"));
    unsigned gets = fake_stats(r.api.fake).gets;
    states_fixture_run(&r, 30);
    assert_int_equal(fake_stats(r.api.fake).gets, gets); /* a bound claim is read once */
    strbuf_truncate(&r.kubelet.pods, without);
    states_fixture_run(&r, 11);
    assert_null(states_volume_name(r.states, "ns", "data"));
}

/* koordctl up: the API server knows the pods, nobody is asked at the node's address. */
static void test_without_a_kubelet_the_api_server_is_asked(void **state)
{
    CLEANUP(states_fixture_fini) struct states_fixture r;

    (void)state;
    states_fixture_init(&r);
    r.o.no_kubelet = true;
    r.o.query_kubelet_config = false;
    states_fixture_start(&r);
    states_fixture_run(&r, 1);
    assert_non_null(states_fixture_known(&r)->pods);
    assert_int_equal(states_fixture_known(&r)->pods->n, 0); /* an empty node is no failure */
    fake_put(r.api.fake, "/api/v1/namespaces/ns/pods", "web",
             "{\"metadata\":{\"uid\":\"" UID_WEB "\"},\"spec\":{\"nodeName\":\"n1\"}}");
    states_fixture_run(&r, 10);
    assert_int_equal(states_fixture_known(&r)->pods->n, 1);
    assert_string_equal(states_fixture_known(&r)->pods->pods[0]->obj->meta.name, "web");
    assert_int_equal(r.kubelet.dials, 0);
    assert_string_equal(states_missing(r.states, 0), "no NodeSLO yet (koord-manager makes it)");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_kubelet_gives_pods_with_their_places),
        cmocka_unit_test(test_an_unchanged_pod_is_the_same_struct),
        cmocka_unit_test(test_pods_without_stamp_and_with_odd_uids),
        cmocka_unit_test(test_another_driver_moves_all_pods),
        cmocka_unit_test(test_without_a_kubelet_the_api_server_is_asked),
        cmocka_unit_test(test_gauges_come_and_go_with_the_pods),
        cmocka_unit_test(test_bad_answers_keep_the_known_pods),
        cmocka_unit_test(test_reasons_while_no_pods_came),
        cmocka_unit_test(test_a_huge_answer_is_refused),
        cmocka_unit_test(test_asking_is_coalesced_and_limited),
        cmocka_unit_test(test_a_thousand_pods_come_and_go),
        cmocka_unit_test(test_a_changed_address_is_followed),
        cmocka_unit_test(test_the_configuration_is_read_when_the_kubelet_may_be_new),
        cmocka_unit_test(test_configuration_of_newer_kubelets_and_defaults),
        cmocka_unit_test(test_only_claims_of_local_pods_are_read),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
