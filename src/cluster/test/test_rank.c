/* test_rank.c - which pods go first, and how long a pod bears a taint. */
#include <stdio.h>

#include "cluster/node.h"
#include "cluster/test/fixture_pods.h"

static void add_pod(struct fixture *b, const char *name, const char *json)
{
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"x\",\"uid\":"
                   "\"00000000-0000-4000-8000-%012zx\",\"creationTimestamp\":"
                   "\"2025-11-14T00:00:00Z\"%s",
                   name, b->pods.n + 1, json);
    fixture_add(b, text);
}

#define READY(node, since)                                                                       \
    "},\"spec\":{\"nodeName\":\"" node "\"},\"status\":{\"phase\":\"Running\",\"conditions\":[{" \
    "\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"" since "\"}]}}"

static void test_order_of_deletion(void **state)
{
    static const char *const want[] = { "unassigned", "pending",   "notready", "cheap",
                                        "crowded-a",  "crowded-b", "alone" };
    struct fixture b;

    (void)state;
    fixture_init(&b);
    add_pod(&b, "alone", READY("n2", "2025-11-14T00:00:00Z"));
    add_pod(&b, "crowded-a", READY("n1", "2025-11-14T00:00:00Z"));
    add_pod(&b, "crowded-b", READY("n1", "2025-11-14T00:00:00Z"));
    add_pod(&b, "cheap",
            ",\"annotations\":{\"controller.kubernetes.io/pod-deletion-cost\":\"-5\"}" READY(
                "n3", "2025-11-14T00:00:00Z"));
    add_pod(&b, "notready", "},\"spec\":{\"nodeName\":\"n4\"},\"status\":{\"phase\":\"Running\"}}");
    add_pod(&b, "pending", "},\"spec\":{\"nodeName\":\"n5\"},\"status\":{\"phase\":\"Pending\"}}");
    add_pod(&b, "unassigned", "},\"spec\":{},\"status\":{\"phase\":\"Pending\"}}");
    rank_for_deletion(&b.pods, &b.pods, NOW);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_string_equal(b.pods.items[i]->meta.name, want[i]);
    fixture_fini(&b);
}

#define LIMITED                                                                              \
    "},\"spec\":{\"tolerations\":[{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":" \
    "\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]},\"status\":{"
#define LATER "\"2025-11-15T09:47:40Z\"" /* a minute after NOW */

static void test_tolerations_in_time(void **state)
{
    struct taint t = {
        .key = TAINT_UNREACHABLE, .value = "", .effect = TAINT_NO_EXECUTE, .time_added = NOW
    };
    taintlist taints = { &t, 1 };
    struct fixture b;

    (void)state;
    fixture_init(&b);
    add_pod(&b, "none", "},\"spec\":{}}");
    add_pod(&b, "forever",
            "},\"spec\":{\"tolerations\":[{\"operator\":\"Exists\",\"effect\":\"NoExecute\"}]}}");
    add_pod(&b, "limited",
            "},\"spec\":{\"tolerations\":[{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":"
            "\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]}}");
    assert_int_equal(evict_after(pod_of(b.pods.items[0]), &taints, NOW), 0);
    assert_int_equal(evict_after(pod_of(b.pods.items[1]), &taints, NOW), NSEC_MAX);
    assert_int_equal(evict_after(pod_of(b.pods.items[2]), &taints, NOW + 100 * NSEC_PER_SEC),
                     200 * NSEC_PER_SEC);
    /* One that came later has its time from then on, wherever it is told. */
    add_pod(&b, "bound later",
            LIMITED "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
                    "\"True\",\"lastTransitionTime\":" LATER "}]}}");
    add_pod(&b, "started later", LIMITED "\"startTime\":" LATER "}}");
    for (size_t i = 3; i < 5; i++)
        assert_int_equal(evict_after(pod_of(b.pods.items[i]), &taints, NOW + 100 * NSEC_PER_SEC),
                         260 * NSEC_PER_SEC);
    /* The first toleration that matches decides. */
    add_pod(&b, "two",
            "},\"spec\":{\"tolerations\":[{\"operator\":\"Exists\",\"effect\":\"NoExecute\"},{"
            "\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":5}]}}");
    assert_int_equal(evict_after(pod_of(b.pods.items[5]), &taints, NOW), NSEC_MAX);
    t.effect = TAINT_NO_SCHEDULE;
    assert_int_equal(evict_after(pod_of(b.pods.items[0]), &taints, NOW), NSEC_MAX);
    fixture_fini(&b);
}

/* What people write is in range for the server, but its sum with another time may not be. */
static void test_times_beyond_the_last(void **state)
{
    struct taint t = { .key = "k", .value = "", .effect = TAINT_NO_EXECUTE, .time_added = NOW };
    taintlist taints = { &t, 1 };
    struct fixture b;
    nsec_t wait = 0;

    (void)state;
    fixture_init(&b);
    add_pod(&b, "old", READY("n1", "1678-01-01T00:00:00Z"));
    add_pod(&b, "new", READY("n2", "2025-11-14T00:00:00Z"));
    add_pod(&b, "bound",
            "},\"spec\":{\"tolerations\":[{\"operator\":\"Exists\",\"effect\":\"NoExecute\","
            "\"tolerationSeconds\":9223372036854775807}]}}");
    add_pod(&b, "late", READY("n3", "2262-04-11T00:00:00Z"));
    assert_false(pod_is_available(pod_of(b.pods.items[3]), 86400 * NSEC_PER_SEC, NOW, &wait));
    assert_true(wait > NSEC_MAX / 2);
    assert_true(evict_after(pod_of(b.pods.items[2]), &taints, NOW) > NSEC_MAX / 2);
    kobj_unref(vec_pop(&b.pods));
    kobj_unref(vec_pop(&b.pods));
    rank_for_deletion(&b.pods, &b.pods, NOW);
    assert_string_equal(b.pods.items[0]->meta.name, "new");
    fixture_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_deletion),
        cmocka_unit_test(test_tolerations_in_time),
        cmocka_unit_test(test_times_beyond_the_last),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
