/* sim_contention.c - hollow nodes whose pods want more CPU than there is: who gets what, which work
 * gets done, and what NodeMetric says about it.
 */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>

#include "api/event.h"
#include "api/koord/nodemetric.h"
#include "api/koord/nodeslo.h"

#define MINUTE (60 * SEC)

/* On a node of 16 cores, of which the system uses 0.32 about. */
struct podspec {
    const char *name, *restart, *qos, *annotations, *requests, *limits;
};

static void make_pod(struct sim *s, const struct podspec *p)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
                   "\"labels\":{\"koordinator.sh/qosClass\":\"%s\"},\"annotations\":{%s}},"
                   "\"spec\":{\"nodeName\":\"hollow-0\",\"restartPolicy\":\"%s\",\"containers\":"
                   "[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{%s},"
                   "\"limits\":{%s}}}]}}",
                   p->name, p->qos ? p->qos : "LS", p->annotations ? p->annotations : "",
                   p->restart ? p->restart : "Always", p->requests, p->limits ? p->limits : "");
    assert_int_equal(sim_create(s, body), 201);
}

static void begin(struct sim *s)
{
    static const struct hollow_shape shape = { .count = 1 };

    sim_init(s, 31);
    s->no_binder = true;
    sim_start(s, &(struct cluster_opts){ .hollow = { .shapes = &shape, .nshapes = 1 } });
    assert_true(sim_until(s, 10 * SEC, sim_nodes_ready, NULL));
}

/* Milli-cores that the last NodeMetric gives a pod, "": the node. */
static int64_t reported(struct sim *s, const char *pod)
{
    CLEANUP(kj_doc_free) struct kj_doc *d = sim_get(s, &kind_nodemetric, NULL, "hollow-0");
    const struct kj_val *status = kj_get(kj_root(d), "status"),
                        *pods = kj_get(status, "podsMetric");
    const struct kj_val *v = kj_path(status, "nodeMetric.nodeUsage.resources.cpu");
    struct qty q;

    for (size_t i = 0; *pod && i < kj_len(pods); i++)
        if (streq(kj_str_or(kj_get(kj_at(pods, i), "name"), ""), pod))
            v = kj_path(kj_at(pods, i), "podUsage.resources.cpu");
    assert_int_equal(qty_parse(kj_str_or(v, ""), kj_len(v), &q, NULL), 0);
    return qty_milli(q);
}

static const char *phase(struct sim *s, const char *pod, char out[static 32])
{
    sim_text(s, &kind_pod, "default", pod, "status.phase", out, 32);
    return out;
}

static void test_a_pod_ends_when_its_work_is_done(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char text[32];

    (void)state;
    begin(&s);
    make_pod(&s, &(struct podspec){ .name = "job",
                                    .restart = "Never",
                                    .annotations = "\"sim.koordinator.sh/work\":\"1200\"",
                                    .requests = "\"cpu\":\"2\"" });
    sim_run(&s, 9 * MINUTE + 50 * SEC);
    assert_string_equal(phase(&s, "job", text), "Running");
    assert_int_equal(cluster_usage(s.cluster).work_done, 0);
    sim_run(&s, 40 * SEC); /* 1,200 CPU-seconds on two cores are ten minutes */
    assert_string_equal(phase(&s, "job", text), "Succeeded");
    assert_int_equal(cluster_usage(s.cluster).work_done, 1200 * 1000);
    assert_int_equal(cluster_usage(s.cluster).work_lost, 0);
}

/* Both want more than the node has; the service has a tenth of the weight. */
static void test_sharing_by_weight_slows_services(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    struct cluster_node_usage n;

    (void)state;
    begin(&s);
    make_pod(&s, &(struct podspec){ .name = "web",
                                    .annotations = "\"sim.koordinator.sh/load\":\"constant:cpu=4,"
                                                   "noise=0\"",
                                    .requests = "\"cpu\":\"1\"" });
    sim_run(&s, 5 * MINUTE);
    assert_int_equal(reported(&s, "web"), 4000);
    assert_int_equal(cluster_usage(s.cluster).slow_minutes, 0);
    make_pod(&s,
             &(struct podspec){ .name = "noisy",
                                .restart = "Never",
                                .annotations = "\"sim.koordinator.sh/work\":\"100000\","
                                               "\"sim.koordinator.sh/load\":\"constant:cpu=32\"",
                                .requests = "\"cpu\":\"9\"" });
    sim_run(&s, 10 * MINUTE);
    assert_in_range(reported(&s, "web"), 1500, 1600);
    assert_in_range(reported(&s, "noisy"), 13900, 14300);
    assert_in_range(reported(&s, ""), 15990, 16000);
    assert_in_range(cluster_usage(s.cluster).slow_minutes, 9, 11);
    assert_true(cluster_node_usage(s.cluster, 0, &n));
    assert_int_equal(n.services_short, 1);
    assert_false(cluster_node_usage(s.cluster, 1, &n));
}

/* The same neighbour as best effort: the service does not notice, with or without a NodeSLO. */
static void test_best_effort_is_held_back(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s);
    assert_int_equal(sim_patch(&s, &kind_node, NULL, "hollow-0", "status",
                               "{\"status\":{\"allocatable\":{\"kubernetes.io/batch-cpu\":"
                               "\"16000\"}}}"),
                     200);
    make_pod(&s, &(struct podspec){ .name = "web",
                                    .annotations = "\"sim.koordinator.sh/load\":\"constant:cpu=4,"
                                                   "noise=0\"",
                                    .requests = "\"cpu\":\"1\"" });
    make_pod(&s,
             &(struct podspec){ .name = "noisy",
                                .restart = "Never",
                                .qos = "BE",
                                .annotations = "\"sim.koordinator.sh/work\":\"100000\","
                                               "\"sim.koordinator.sh/load\":\"constant:cpu=32\"",
                                .requests = "\"kubernetes.io/batch-cpu\":\"9000\"",
                                .limits = "\"kubernetes.io/batch-cpu\":\"14000\"" });
    sim_run(&s, 5 * MINUTE);
    assert_int_equal(reported(&s, "web"), 4000);
    assert_in_range(reported(&s, "noisy"), 11500, 11800);
    assert_int_equal(sim_create(&s, "{\"apiVersion\":\"slo.koordinator.sh/v1alpha1\",\"kind\":"
                                    "\"NodeSLO\",\"metadata\":{\"name\":\"hollow-0\"},\"spec\":"
                                    "{\"resourceUsedThresholdWithBE\":{\"enable\":true,"
                                    "\"cpuSuppressThresholdPercent\":50,\"cpuSuppressPolicy\":"
                                    "\"cfsQuota\"}}}"),
                     201);
    sim_run(&s, 5 * MINUTE);
    assert_int_equal(reported(&s, "web"), 4000);
    assert_in_range(reported(&s, ""), 7990, 8000); /* half of the node in all */
    assert_int_equal(cluster_usage(s.cluster).slow_minutes, 0);
}

static void test_work_of_a_pod_that_is_stopped_is_lost(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s);
    make_pod(&s, &(struct podspec){ .name = "job",
                                    .restart = "Never",
                                    .annotations = "\"sim.koordinator.sh/work\":\"6000\"",
                                    .requests = "\"cpu\":\"2\"" });
    sim_run(&s, 10 * MINUTE);
    assert_int_equal(sim_delete(&s, &kind_pod, "default", "job", NULL), 200);
    sim_run(&s, MINUTE);
    struct cluster_usage u = cluster_usage(s.cluster);
    assert_int_equal(u.work_done, 0);
    assert_in_range(u.work_lost, 1150 * 1000, 1210 * 1000);
    /* 11 minutes of 16 cores; two of them at work for ten, and the system all the time. */
    assert_in_range(u.capacity, 16 * 640 * 1000, 16 * 672 * 1000);
    assert_in_range(u.used, u.work_lost + 100 * 1000, u.work_lost + 400 * 1000);
    assert_int_equal(u.best_effort, 0);
}

static void test_bad_annotations_are_told(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    bool told = false;

    (void)state;
    begin(&s);
    make_pod(&s, &(struct podspec){ .name = "odd",
                                    .restart = "Never",
                                    .annotations = "\"sim.koordinator.sh/work\":\"-5\","
                                                   "\"sim.koordinator.sh/run\":\"1m\"",
                                    .requests = "\"cpu\":\"1\"" });
    sim_run(&s, 30 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *d = sim_list(&s, &kind_event, "default", NULL);
    const struct kj_val *items = kj_get(kj_root(d), "items");
    for (size_t i = 0; i < kj_len(items); i++)
        told |= streq(kj_str_or(kj_get(kj_at(items, i), "reason"), ""), "InvalidWork");
    assert_true(told);
    sim_run(&s, MINUTE); /* it ends by time */
    char text[32];
    assert_string_equal(phase(&s, "odd", text), "Succeeded");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pod_ends_when_its_work_is_done),
        cmocka_unit_test(test_sharing_by_weight_slows_services),
        cmocka_unit_test(test_best_effort_is_held_back),
        cmocka_unit_test(test_work_of_a_pod_that_is_stopped_is_lost),
        cmocka_unit_test(test_bad_annotations_are_told),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
