/* test_koordlet_reporters.c - when and how NodeResourceTopology and Device are written
 * (koordlet-metrics 7.1, 8). */
#include "base/test/asserts.h"
#include "koordlet/report/test/reporter_fixture.h"

/* ---- NodeResourceTopology -------------------------------------------------------------------- */

static void test_topology_is_created_and_kept(void **state)
{
    struct fixture b;
    char buf[256];

    (void)state;
    fixture_init(&b);
    struct topology_reporter *r = topology_reporter_new(&b.env);
    topology_reporter_start(r);
    assert_null(topology_reporter_local(r));
    run(&b, 7 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).creates, 1);
    assert_int_equal(b.told, 1);
    CLEANUP(kj_doc_free) struct kj_doc *doc = stored(&b, NRTS);
    const struct kj_val *owner = kj_at(kj_path(kj_root(doc), "metadata.ownerReferences"), 0);
    assert_string_equal(kj_str(kj_get(owner, "uid")), "u-1");
    assert_int_equal(kj_len(kj_get(kj_root(doc), "zones")), 1);
    assert_string_equal(kj_str(kj_at(kj_get(kj_root(doc), "topologyPolicies"), 0)), "None");
    /* A quiet node: nothing is sent. */
    unsigned before = fake_stats(b.client.fake).requests;
    run(&b, 200 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).requests, before);
    assert_null(topology_reporter_missing(r));

    /* Another input: only the difference goes out; what others wrote stays. */
    fake_patch(b.client.fake, NRTS, "n1", "{\"metadata\":{\"annotations\":{\"theirs\":\"x\"}}}");
    set_node(&b, "2", "\"node.koordinator.sh/reservation\":\"{\\\"reservedCPUs\\\":\\\"1\\\"}\"");
    run(&b, 4 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 1);
    assert_int_equal(b.told, 2);
    assert_string_equal(stored_text(&b, NRTS, "metadata.annotations.theirs", buf, sizeof buf), "x");
    const struct topology *t = topology_reporter_local(r);
    assert_string_equal(kstrmap_get(&t->annotations, "node.koordinator.sh/reservation"),
                        "{\"reservedCPUs\":\"1\"}");

    /* Deleted: made again. */
    fake_delete(b.client.fake, NRTS, "n1");
    run(&b, 4 * SECOND);
    assert_int_equal(fake_count(b.client.fake, "noderesourcetopologies"), 1);
    topology_reporter_free(r);
    fixture_fini(&b);
}

static void assert_shown(struct fixture *b, const char *line, bool shown)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    metrics_write(&b->metrics, 1, &text);
    if ((strstr(strbuf_str(&text), line) != NULL) != shown)
        fail_msg("'%s' in\n%s", line, strbuf_str(&text));
}

static void test_topology_shows_the_shared_pools(void **state)
{
    struct fixture b;
    struct kerr err;

    (void)state;
    fixture_init(&b);
    struct topology_reporter *r = topology_reporter_new(&b.env);
    topology_reporter_start(r);
    assert_shown(&b, "koordlet_cpuset", false);
    run(&b, 7 * SECOND);
    assert_shown(&b, "koordlet_cpuset_share_pool_cpu_cores{node=\"n1\"} 2\n", true);
    assert_shown(&b, "koordlet_cpuset_be_share_pool_cpu_cores{node=\"n1\"} 2\n", true);
    assert_shown(&b, "pool_info", false);
    topology_reporter_free(r);

    assert_int_equal(gates_parse(&b.o.gates, "PerCPUMetric=true", &err), 0);
    r = topology_reporter_new(&b.env);
    topology_reporter_start(r);
    run(&b, 4 * SECOND);
    assert_shown(&b, "koordlet_cpuset_share_pool_info{cpu=\"1\",node=\"n1\"} 1\n", true);
    set_node(&b, "2", "\"node.koordinator.sh/reservation\":\"{\\\"reservedCPUs\\\":\\\"1\\\"}\"");
    run(&b, 4 * SECOND);
    assert_shown(&b, "koordlet_cpuset_share_pool_cpu_cores{node=\"n1\"} 1\n", true);
    assert_shown(&b, "koordlet_cpuset_share_pool_info{cpu=\"0\",node=\"n1\"} 1\n", true);
    assert_shown(&b, "koordlet_cpuset_be_share_pool_info{cpu=\"0\",node=\"n1\"} 1\n", true);
    assert_shown(&b, "cpu=\"1\"", false);
    topology_reporter_free(r);
    fixture_fini(&b);
}

/* A heartbeat of the node changes its version, but nothing of the topology. */
static void test_topology_ignores_heartbeats(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    struct topology_reporter *r = topology_reporter_new(&b.env);
    topology_reporter_start(r);
    run(&b, 7 * SECOND);
    unsigned before = fake_stats(b.client.fake).requests;
    for (int i = 2; i < 20; i++) {
        char version[16];
        (void)snprintf(version, sizeof version, "%d", i);
        set_node(&b, version, "");
        run(&b, 5 * SECOND);
    }
    assert_int_equal(fake_stats(b.client.fake).requests, before);
    assert_int_equal(b.told, 1);
    topology_reporter_free(r);
    fixture_fini(&b);
}

static void test_topology_follows_the_checkpoint_of_the_kubelet(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    b.kubelet.cpu_manager_policy = "static";
    struct topology_reporter *r = topology_reporter_new(&b.env);
    topology_reporter_start(r);
    run(&b, 7 * SECOND);
    const struct topology *t = topology_reporter_local(r);
    assert_string_equal(kstrmap_get(&t->annotations, "node.koordinator.sh/pod-cpu-allocs"), "null");
    tmpdir_write(&b.dir, "cpu_manager_state", "{\"entries\":{\"p\":{\"c\":\"1\"}}}");
    run(&b, 4 * SECOND);
    t = topology_reporter_local(r);
    assert_contains(kstrmap_get(&t->annotations, "node.koordinator.sh/pod-cpu-allocs"),
                    "\"cpuset\":\"1\"");
    /* Cut off while it is written: the last good copy stays, and the reason is told. */
    tmpdir_write(&b.dir, "cpu_manager_state", "{\"entries\":{\"p\":");
    run(&b, 4 * SECOND);
    assert_ptr_equal(topology_reporter_local(r), t);
    assert_contains(topology_reporter_missing(r), "Kubelet allocated cpus");
    tmpdir_write(&b.dir, "cpu_manager_state", "{\"entries\":{}}");
    run(&b, 4 * SECOND);
    assert_null(topology_reporter_missing(r));
    topology_reporter_free(r);
    fixture_fini(&b);
}

static void test_topology_survives_conflicts_and_overload(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_put(b.client.fake, NRTS, "n1", "{\"topologyPolicies\":[\"x\"],\"zones\":[]}");
    struct topology_reporter *r = topology_reporter_new(&b.env);
    topology_reporter_start(r);
    run(&b, 20 * NSEC_PER_MSEC); /* the list is in */
    fake_answer_next(b.client.fake, 2, 409, -1);
    run(&b, 4 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 1);
    set_node(&b, "2",
             "\"a\":\"b\",\"node.koordinator.sh/reservation\":\"{\\\"reservedCPUs\\\":"
             "\\\"1\\\"}\"");
    fake_answer_next(b.client.fake, 3, 429, 5);
    run(&b, 6 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 1);
    assert_non_null(topology_reporter_missing(r));
    run(&b, 30 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 2);
    assert_null(topology_reporter_missing(r));
    topology_reporter_free(r);
    fixture_fini(&b);
}

static void test_topology_without_the_gate_is_local(void **state)
{
    struct fixture b;
    struct kerr err = { 0 };

    (void)state;
    fixture_init(&b);
    assert_int_equal(gates_parse(&b.o.gates, "NodeTopologyReport=false", &err), 0);
    b.known.kubelet = NULL;
    struct topology_reporter *r = topology_reporter_new(&b.env);
    topology_reporter_start(r);
    run(&b, 7 * SECOND);
    assert_null(topology_reporter_local(r));
    assert_contains(topology_reporter_missing(r), "configuration from the kubelet");
    b.o.disable_kubelet_config = true;
    run(&b, 4 * SECOND);
    assert_non_null(topology_reporter_local(r));
    assert_int_equal(b.told, 1);
    assert_int_equal(fake_stats(b.client.fake).requests, 0);
    topology_reporter_free(r);
    fixture_fini(&b);
}

/* ---- Device ---------------------------------------------------------------------------------- */

struct found {
    bool known;
    uint32_t n;
    uint8_t status;
    unsigned asked;
    const char *partial;
};

/* Conditions carry the time of the question, as a careless source would have it. */
static int find_devices(void *arg, struct arena *a, struct device_report_in *ret, struct kerr *err)
{
    struct found *f = arg;
    (void)err;
    f->asked++;
    if (!f->known)
        return -EAGAIN;
    ret->devices.items = arena_newn0(a, f->n, struct device_info);
    ret->devices.n = f->n;
    ret->partial[0] = f->partial;
    for (uint32_t i = 0; i < f->n; i++) {
        struct meta_condition *c = arena_new0(a, struct meta_condition);
        *c = (struct meta_condition){ .type = "Healthy",
                                      .reason = "r",
                                      .message = "m",
                                      .last_transition_time = (nsec_t)f->asked * SECOND,
                                      .status = f->status };
        ret->devices.items[i] = (struct device_info){ .type = "gpu",
                                                      .id = arena_printf(a, "g-%u", f->n - i),
                                                      .minor = { true, (int32_t)(f->n - i) } };
        ret->devices.items[i].conditions.items = c;
        ret->devices.items[i].conditions.n = 1;
    }
    ret->labels.items = arena_new0(a, struct kstrpair);
    ret->labels.items[0] = (struct kstrpair){ "node.koordinator.sh/gpu-vendor", "nvidia" };
    ret->labels.n = 1;
    return 0;
}

static void test_device_is_written_when_it_changes(void **state)
{
    struct found found = { .status = COND_FALSE };
    struct fixture b;
    char buf[64], again[64];

    (void)state;
    fixture_init(&b);
    b.env.devices = (struct report_devices){ .devices = find_devices, .arg = &found };
    struct device_reporter *r = device_reporter_new(&b.env);
    device_reporter_start(r);
    run(&b, 7 * SECOND);
    assert_non_null(device_reporter_missing(r));
    found.known = true; /* but there are none: no object */
    run(&b, 7 * SECOND);
    assert_null(device_reporter_missing(r));
    assert_int_equal(fake_stats(b.client.fake).creates, 0);
    found.n = 2;
    fake_answer_next(b.client.fake, 1, 500, -1);
    run(&b, 7 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).creates, 1);
    CLEANUP(kj_doc_free) struct kj_doc *doc = stored(&b, DEVICES);
    const struct kj_val *first = kj_at(kj_path(kj_root(doc), "spec.devices"), 0);
    assert_int_equal(kj_i64_or(kj_get(first, "minor"), -1), 1); /* in order */
    (void)snprintf(buf, sizeof buf, "%s",
                   kj_str(kj_get(kj_at(kj_get(first, "conditions"), 0), "lastTransitionTime")));
    unsigned before = fake_stats(b.client.fake).requests, asked = found.asked;
    run(&b, 100 * SECOND);
    assert_that(found.asked, >, asked + 20);
    assert_int_equal(fake_stats(b.client.fake).requests, before); /* new times are no news */

    fake_patch(b.client.fake, DEVICES, "n1", "{\"metadata\":{\"labels\":{\"theirs\":\"1\"}}}");
    found.status = COND_TRUE;
    fake_answer_next(b.client.fake, 1, 409, -1);
    run(&b, 4 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 1);
    CLEANUP(kj_doc_free) struct kj_doc *now = stored(&b, DEVICES);
    first = kj_at(kj_path(kj_root(now), "spec.devices"), 0);
    (void)snprintf(again, sizeof again, "%s",
                   kj_str(kj_get(kj_at(kj_get(first, "conditions"), 0), "lastTransitionTime")));
    assert_string_not_equal(buf, again);
    assert_string_equal(stored_text(&b, DEVICES, "metadata.labels.theirs", buf, sizeof buf), "1");

    /* Half of them cannot be looked at. */
    found.n = 1;
    found.partial = "gpu";
    run(&b, 7 * SECOND);
    CLEANUP(kj_doc_free) struct kj_doc *kept = stored(&b, DEVICES);
    assert_int_equal(kj_len(kj_path(kj_root(kept), "spec.devices")), 2);
    found.n = 2;

    fake_delete(b.client.fake, DEVICES, "n1");
    run(&b, 4 * SECOND);
    assert_int_equal(fake_count(b.client.fake, "devices"), 1);
    device_reporter_free(r);
    fixture_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology_is_created_and_kept),
        cmocka_unit_test(test_topology_shows_the_shared_pools),
        cmocka_unit_test(test_topology_ignores_heartbeats),
        cmocka_unit_test(test_topology_follows_the_checkpoint_of_the_kubelet),
        cmocka_unit_test(test_topology_survives_conflicts_and_overload),
        cmocka_unit_test(test_topology_without_the_gate_is_local),
        cmocka_unit_test(test_device_is_written_when_it_changes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
