/* sim_refused.c - pods that a node keeps refusing: made again with patience, and not kept for ever.
 */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>

#include "api/workload.h"
#include "base/ktime.h"

#define TEMPLATE(app, cpu)                                                      \
    "{\"metadata\":{\"labels\":{\"app\":\"" app                                 \
    "\"}},\"spec\":{\"nodeName\":\"hollow-0\",\"containers\":[{\"name\":\"c\"," \
    "\"image\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}]"
#define RS(name, replicas, cpu)                                                               \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"" name      \
    "\"},\"spec\":{\"replicas\":" #replicas ",\"selector\":{\"matchLabels\":{\"app\":\"" name \
    "\"}},\"template\":" TEMPLATE(name, cpu) "}}}}"
#define JOB(name, cpu)                                                                            \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"" name                \
    "\"},\"spec\":{\"backoffLimit\":1000,\"template\":" TEMPLATE(name, cpu) ",\"restartPolicy\":" \
                                                                            "\"Never\"}}}}"
#define HOLDER                                                                              \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"holder\"},\"spec\":{" \
    "\"nodeName\":\"hollow-0\",\"containers\":[{\"name\":\"c\",\"image\":\"a\","            \
    "\"resources\":{\"requests\":{\"cpu\":\"15\"}}}]}}"

/* One node of 16 cores; a pod holds 15 of them. */
static void begin(struct sim *s, size_t ended_pods_max)
{
    struct hollow_shape shape = { .count = 1 };

    sim_init(s, 1);
    sim_start(s, &(struct cluster_opts){ .replicaset = true,
                                         .job = true,
                                         .gc = true,
                                         .nodes = true,
                                         .ended_pods_max = ended_pods_max,
                                         .hollow = { .shapes = &shape, .nshapes = 1 } });
    assert_true(sim_until(s, 30 * SEC, sim_nodes_ready, NULL));
    assert_int_equal(sim_create(s, HOLDER), 201);
    sim_run(s, 5 * SEC);
}

static uint64_t created(const struct sim *s)
{
    return cluster_stats(s->cluster).pods_created;
}

static bool all_ready(struct sim *s, void *arg)
{
    int64_t want = sim_num(s, &kind_replicaset, "default", arg, "spec.replicas");
    return sim_num(s, &kind_replicaset, "default", arg, "status.readyReplicas") == want;
}

static void test_refused_set_waits_and_recovers(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 0);
    assert_int_equal(sim_create(&s, RS("r", 5, "2")), 201);
    sim_run(&s, 600 * SEC);
    assert_in_range(created(&s), 20, 40);
    assert_int_equal(sim_num(&s, &kind_replicaset, "default", "r", "status.replicas"), 0);
    assert_int_equal(sim_delete(&s, &kind_pod, "default", "holder", NULL), 200);
    assert_true(sim_until(&s, 40 * SEC, all_ready, "r"));
    /* Refusals of the past no longer count: a pod that goes is replaced at once. */
    uint64_t before = created(&s);
    CLEANUP(kj_doc_free) struct kj_doc *pods = sim_list(&s, &kind_pod, "default", "app=r");
    struct kj_iter it = kj_iter(kj_get(kj_root(pods), "items"));
    for (const struct kj_val *p; kj_next(&it, NULL, &p);)
        if (streq(kj_str_or(kj_path(p, "status.phase"), ""), "Running")) {
            const char *name = kj_str_or(kj_path(p, "metadata.name"), "");
            assert_int_equal(sim_delete(&s, &kind_pod, "default", name, NULL), 200);
            break;
        }
    sim_run(&s, NSEC_PER_SEC / 2);
    assert_int_equal(created(&s), before + 1);
    assert_true(sim_until(&s, 10 * SEC, all_ready, "r"));
}

static void test_an_edit_is_tried_at_once(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 0);
    assert_int_equal(sim_create(&s, RS("r", 1, "2")), 201);
    sim_run(&s, 600 * SEC);
    assert_int_equal(sim_patch(&s, &kind_replicaset, "default", "r", NULL,
                               "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":"
                               "\"c\",\"image\":\"a\"}]}}}}"),
                     200);
    assert_true(sim_until(&s, 5 * SEC, all_ready, "r"));
}

static void test_refused_job_backs_off(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 0);
    assert_int_equal(sim_create(&s, JOB("j", "2")), 201);
    sim_run(&s, 600 * SEC);
    assert_in_range(created(&s), 5, 7); /* 10, 20, 40, ... seconds apart */
    assert_int_equal(sim_delete(&s, &kind_pod, "default", "holder", NULL), 200);
    sim_run(&s, 620 * SEC);
    assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.succeeded"), 1);
}

/* Pods that skip the scheduler go to nodes that drive them out again. */
static void test_driven_out_by_a_taint(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 0);
    assert_int_equal(sim_patch(&s, &kind_node, NULL, "hollow-0", NULL,
                               "{\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":\"v\","
                               "\"effect\":\"NoExecute\"}]}}"),
                     200);
    sim_run(&s, 5 * SEC);
    assert_int_equal(sim_create(&s, RS("r", 2, "1")), 201);
    sim_run(&s, 600 * SEC);
    assert_in_range(created(&s), 10, 60);
    assert_int_equal(
        sim_patch(&s, &kind_node, NULL, "hollow-0", NULL, "{\"spec\":{\"taints\":null}}"), 200);
    assert_true(sim_until(&s, 40 * SEC, all_ready, "r"));
}

#define TOLERANT                                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{"  \
    "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"," \
    "\"tolerationSeconds\":60}],"                                                       \
    "\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]}}"

#define BINDING                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\"}," \
    "\"target\":{\"kind\":\"Node\",\"name\":\"hollow-0\"}}"

static bool is_leaving(struct sim *s, void *arg)
{
    char text[64];

    sim_text(s, &kind_pod, "default", arg, "metadata.uid", text, sizeof text);
    if (!*text)
        return true;
    sim_text(s, &kind_pod, "default", arg, "metadata.deletionTimestamp", text, sizeof text);
    return *text;
}

/* The taint is an hour old, the pod a few minutes, and it has been on the node for no time. */
static void test_a_pod_is_tolerated_from_its_arrival_on(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char json[300], text[KTIME_TEXT_MAX];

    (void)state;
    begin(&s, 0);
    (void)ktime_format(loop_wall(s.loop) - 3600 * SEC, text);
    (void)snprintf(json, sizeof json,
                   "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoExecute\",\"timeAdded\":"
                   "\"%s\"}]}}",
                   text);
    assert_int_equal(sim_patch(&s, &kind_node, NULL, "hollow-0", NULL, json), 200);
    s.no_binder = true;
    assert_int_equal(sim_create(&s, TOLERANT), 201);
    sim_run(&s, 200 * SEC);
    assert_int_equal(sim_do(&s,
                            &(struct kube_req){ .verb = KUBE_CREATE,
                                                .kind = &kind_pod,
                                                .ns = "default",
                                                .name = "p",
                                                .subresource = "binding",
                                                .body = BINDING,
                                                .body_len = strlen(BINDING) },
                            NULL),
                     201);
    sim_run(&s, 55 * SEC);
    assert_false(is_leaving(&s, "p"));
    assert_true(sim_until(&s, 10 * SEC, is_leaving, "p"));
}

/* As kubectl taint writes it. */
static void test_a_taint_that_does_not_tell_since_when(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 0);
    assert_int_equal(sim_create(&s, TOLERANT), 201);
    sim_run(&s, 200 * SEC);
    assert_int_equal(
        sim_patch(&s, &kind_node, NULL, "hollow-0", NULL,
                  "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoExecute\"}]}}"),
        200);
    sim_run(&s, 55 * SEC);
    assert_false(is_leaving(&s, "p"));
    assert_true(sim_until(&s, 10 * SEC, is_leaving, "p"));
}

static void test_ended_pods_are_collected(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 10);
    assert_int_equal(sim_create(&s, RS("r", 1, "2")), 201);
    sim_run(&s, 200 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *early = sim_list(&s, &kind_pod, "default", "app=r");
    const struct kj_val *items = kj_get(kj_root(early), "items");
    assert_in_range(kj_len(items), 8, 10);
    sim_run(&s, 1200 * SEC);
    /* Between two looks one or two may come. */
    assert_in_range(sim_count(&s, &kind_pod, "default", "app=r"), 10, 12);
    assert_that(created(&s), >, 40);
    for (size_t i = 0; i < kj_len(items); i++) { /* the old ones have gone */
        const char *name = kj_str_or(kj_path(kj_at(items, i), "metadata.name"), "");
        CLEANUP(kj_doc_free) struct kj_doc *gone = sim_get(&s, &kind_pod, "default", name);
        assert_null(gone);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_set_waits_and_recovers),
        cmocka_unit_test(test_an_edit_is_tried_at_once),
        cmocka_unit_test(test_refused_job_backs_off),
        cmocka_unit_test(test_driven_out_by_a_taint),
        cmocka_unit_test(test_a_pod_is_tolerated_from_its_arrival_on),
        cmocka_unit_test(test_a_taint_that_does_not_tell_since_when),
        cmocka_unit_test(test_ended_pods_are_collected),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
