/* test_descheduler_kube.c - Kubernetes' ten plugins, under DefaultEvictor (descheduler 6). */
#include "api/node.h"
#include "api/pod.h"
#include "descheduler/test/fixture.h"

#define DESCHEDULE "deschedule"
#define BALANCE    "balance"

static void three_nodes(struct fixture *f)
{
    add_node(f, (struct node_text){ "n1", .labels = "\"zone\":\"a\",\"disk\":\"hdd\"" });
    add_node(f, (struct node_text){ "n2", .labels = "\"zone\":\"b\",\"disk\":\"ssd\"" });
    add_node(f, (struct node_text){ "n3", .labels = "\"zone\":\"c\",\"disk\":\"hdd\"" });
}

/* ---- PodLifeTime ------------------------------------------------------------------------------ */

static void test_lifetime_is_exceeded(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    three_nodes(&f);
    add_pod(&f, (struct pod_text){ "exact", "n1", .created = "2026-01-01T11:50:00Z" });
    add_pod(&f, (struct pod_text){ "over", "n2", .created = "2026-01-01T11:49:59Z" });
    add_pod(&f, (struct pod_text){ "oldest", "n3", .created = "2026-01-01T10:00:00Z" });
    add_pod(&f, (struct pod_text){ "young", "n3", .created = "2026-01-01T11:59:00Z" });
    assert_string_equal(run_plugin(&f, DESCHEDULE, "PodLifeTime", "{maxPodLifeTimeSeconds: 600}"),
                        "oldest over");
    fixture_fini(&f);
}

static void test_lifetime_criteria_are_anded(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    three_nodes(&f);
    add_pod(&f, (struct pod_text){
                    "image", "n1", .phase = "Pending",
                    .status = ",\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"waiting\":{"
                              "\"reason\":\"ImagePullBackOff\"}}}]" });
    add_pod(&f, (struct pod_text){ "evicted", "n1", .phase = "Failed",
                                   .status = ",\"reason\":\"Evicted\"" });
    add_pod(&f, (struct pod_text){ "code", "n2", .phase = "Failed",
                                   .status = ",\"containerStatuses\":[{\"name\":\"c\",\"state\":{"
                                             "\"terminated\":{\"exitCode\":137}}}]" });
    assert_string_equal(
        run_plugin(&f, DESCHEDULE, "PodLifeTime", "{states: [ImagePullBackOff, Evicted]}"),
        "evicted image");
    assert_string_equal(run_plugin(&f, DESCHEDULE, "PodLifeTime", "{exitCodes: [137]}"), "code");
    assert_string_equal(
        run_plugin(&f, DESCHEDULE, "PodLifeTime", "{exitCodes: [137], states: [Evicted]}"), "");
    assert_string_equal(
        run_plugin(&f, DESCHEDULE, "PodLifeTime",
                   "{states: [Evicted, Failed], ownerKinds: {exclude: [ReplicaSet]}}"),
        "");
    fixture_fini(&f);
}

static void test_lifetime_conditions(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    three_nodes(&f);
    add_pod(&f, (struct pod_text){ "long", "n1",
                                   .status =
                                       ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\","
                                       "\"reason\":\"X\",\"lastTransitionTime\":"
                                       "\"2026-01-01T11:00:00Z\"}]" });
    add_pod(&f, (struct pod_text){ "short", "n1",
                                   .status =
                                       ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\","
                                       "\"reason\":\"X\",\"lastTransitionTime\":"
                                       "\"2026-01-01T11:59:50Z\"}]" });
    assert_string_equal(run_plugin(&f, DESCHEDULE, "PodLifeTime",
                                   "{conditions: [{type: Ready, status: 'False', "
                                   "minTimeSinceLastTransitionSeconds: 60}]}"),
                        "long");
    assert_string_equal(
        run_plugin(&f, DESCHEDULE, "PodLifeTime", "{conditions: [{type: Ready, status: 'True'}]}"),
        "");
    fixture_fini(&f);
}

/* ---- RemoveFailedPods ------------------------------------------------------------------------- */

static void test_failed_pods_wait_for_an_hour(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    three_nodes(&f);
    add_pod(&f, (struct pod_text){ "hour", "n1", .phase = "Failed",
                                   .created = "2026-01-01T11:00:00Z" });
    add_pod(&f, (struct pod_text){ "young", "n1", .phase = "Failed",
                                   .created = "2026-01-01T11:00:01Z" });
    add_pod(&f, (struct pod_text){ "runs", "n1", .created = "2026-01-01T10:00:00Z" });
    assert_string_equal(run_plugin(&f, DESCHEDULE, "RemoveFailedPods", "{}"), "hour");
    assert_string_equal(
        run_plugin(&f, DESCHEDULE, "RemoveFailedPods", "{minPodLifetimeSeconds: 0}"), "hour young");
    assert_string_equal(
        run_plugin(&f, DESCHEDULE, "RemoveFailedPods", "{excludeOwnerKinds: [ReplicaSet]}"), "");
    assert_string_equal(run_plugin(&f, DESCHEDULE, "RemoveFailedPods", "{reasons: [Other]}"), "");
    fixture_fini(&f);
}

/* ---- RemoveDuplicates ------------------------------------------------------------------------- */

static void test_duplicates_are_spread(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    three_nodes(&f);
    add_pod(&f, (struct pod_text){ "a", "n1" });
    add_pod(&f, (struct pod_text){ "b", "n1" });
    add_pod(&f, (struct pod_text){ "c", "n1" });
    assert_string_equal(run_plugin(&f, BALANCE, "RemoveDuplicates", "{}"), "b c");
    assert_string_equal(
        run_plugin(&f, BALANCE, "RemoveDuplicates", "{excludeOwnerKinds: [ReplicaSet]}"), "");
    fixture_fini(&f);
}

static void test_duplicates_with_one_place_stay(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    three_nodes(&f);
    for (int i = 0; i < 3; i++) {
        const char *const names[] = { "a", "b", "c" };
        add_pod(&f, (struct pod_text){ names[i], "n2",
                                       .spec = ",\"nodeSelector\":{\"disk\":"
                                               "\"ssd\"}" });
    }
    /* Other images are another workload. */
    add_pod(&f, (struct pod_text){ "d", "n1", .image = "x" });
    add_pod(&f, (struct pod_text){ "e", "n1", .image = "y" });
    assert_string_equal(run_plugin(&f, BALANCE, "RemoveDuplicates", "{}"), "");
    fixture_fini(&f);
}

/* ---- RemovePodsHavingTooManyRestarts ---------------------------------------------------------- */

static void test_restarts(void **state)
{
    struct fixture f;
    const int counts[] = { 4, 5, 9 };

    (void)state;
    fixture_init(&f);
    three_nodes(&f);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        CLEANUP(mem_free) char *name = xasprintf("r%d", counts[i]);
        CLEANUP(strbuf_fini) struct strbuf status = STRBUF_INIT;
        strbuf_appendf(&status, ",\"containerStatuses\":[{\"name\":\"c\",\"restartCount\":%d}]",
                       counts[i]);
        add_pod(&f, (struct pod_text){ name, "n1", .status = strbuf_str(&status) });
    }
    add_pod(&f, (struct pod_text){ "ended", "n1", .phase = "Failed",
                                   .status = ",\"containerStatuses\":[{\"name\":\"c\","
                                             "\"restartCount\":7}]" });
    assert_string_equal(
        run_plugin(&f, DESCHEDULE, "RemovePodsHavingTooManyRestarts", "{podRestartThreshold: 5}"),
        "r9 ended r5");
    assert_string_equal(run_plugin(&f, DESCHEDULE, "RemovePodsHavingTooManyRestarts",
                                   "{podRestartThreshold: 5, states: [Running]}"),
                        "r9 r5");
    assert_string_equal(run_plugin(&f, DESCHEDULE, "RemovePodsHavingTooManyRestarts",
                                   "{podRestartThreshold: 5, states: [CrashLoopBackOff]}"),
                        "");
    fixture_fini(&f);
}

/* ---- violations ------------------------------------------------------------------------------- */

#define APART                                                                                   \
    ",\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{" \
    "\"labelSelector\":{\"matchLabels\":{\"app\":\"db\"}},\"topologyKey\":\"zone\"}]}}"

static void test_anti_affinity_lowest_priority_goes(void **state)
{
    struct fixture f;
    const char *db = ",\"labels\":{\"app\":\"db\"}";

    (void)state;
    fixture_init(&f);
    three_nodes(&f);
    add_node(&f, (struct node_text){ "n4", .labels = "\"zone\":\"a\"" });
    add_pod(&f, (struct pod_text){ "high", "n1", .meta = db, .spec = APART ",\"priority\":100" });
    add_pod(&f, (struct pod_text){ "low", "n1", .meta = db, .spec = APART ",\"priority\":1" });
    add_pod(&f, (struct pod_text){ "zone", "n4", .meta = db, .spec = APART ",\"priority\":50" });
    add_pod(&f, (struct pod_text){ "alone", "n2", .meta = db, .spec = APART });
    /* low leaves n1; high then is disturbed by zone (same zone) and goes; zone is alone then. */
    assert_string_equal(run_plugin(&f, DESCHEDULE, "RemovePodsViolatingInterPodAntiAffinity", "{}"),
                        "low high");
    fixture_fini(&f);
}

#define SSD                                                                                 \
    ",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{" \
    "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"disk\",\"operator\":\"In\","  \
    "\"values\":[\"ssd\"]}]}]}}}"
#define PREFER_SSD                                                                               \
    ",\"affinity\":{\"nodeAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{"    \
    "\"weight\":10,\"preference\":{\"matchExpressions\":[{\"key\":\"disk\",\"operator\":\"In\"," \
    "\"values\":[\"ssd\"]}]}}]}}"

static void test_node_affinity(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    three_nodes(&f);
    add_pod(&f, (struct pod_text){ "must", "n1", .spec = SSD });
    add_pod(&f, (struct pod_text){ "there", "n2", .spec = SSD });
    add_pod(&f, (struct pod_text){ "likes", "n3", .spec = PREFER_SSD });
    add_pod(&f, (struct pod_text){ "large", "n1", .cpu = "8", .spec = SSD });
    assert_string_equal(
        run_plugin(&f, DESCHEDULE, "RemovePodsViolatingNodeAffinity",
                   "{nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}"),
        "must");
    assert_string_equal(
        run_plugin(&f, DESCHEDULE, "RemovePodsViolatingNodeAffinity",
                   "{nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]}"),
        "likes");
    fixture_fini(&f);
}

static void test_taints(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "n1", .spec = "\"taints\":[{\"key\":\"k\",\"value\":\"v\","
                                                   "\"effect\":\"NoSchedule\"}]" });
    add_node(&f, (struct node_text){ "n2", .spec = "\"taints\":[{\"key\":\"soft\",\"effect\":"
                                                   "\"PreferNoSchedule\"}]" });
    add_pod(&f, (struct pod_text){ "a", "n1" });
    add_pod(&f,
            (struct pod_text){
                "b", "n1", .spec = ",\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]" });
    add_pod(&f, (struct pod_text){ "c", "n2" });
    const char *plugin = "RemovePodsViolatingNodeTaints";
    assert_string_equal(run_plugin(&f, DESCHEDULE, plugin, "{}"), "a");
    assert_string_equal(run_plugin(&f, DESCHEDULE, plugin, "{includePreferNoSchedule: true}"),
                        "a c");
    assert_string_equal(run_plugin(&f, DESCHEDULE, plugin, "{excludedTaints: ['k=v']}"), "");
    assert_string_equal(run_plugin(&f, DESCHEDULE, plugin, "{excludedTaints: ['k=w']}"), "a");
    assert_string_equal(run_plugin(&f, DESCHEDULE, plugin, "{includedTaints: [other]}"), "");
    fixture_fini(&f);
}

/* ---- topology spread -------------------------------------------------------------------------- */

#define SPREAD                                                                             \
    ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","             \
    "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"app\":" \
    "\"s\"}}}]"

static void add_spread(struct fixture *f, const char *node, int n)
{
    for (int i = 0; i < n; i++) {
        CLEANUP(mem_free) char *name = xasprintf("%s-%d", node, i);
        add_pod(f, (struct pod_text){ name, node, .meta = ",\"labels\":{\"app\":\"s\"}",
                                      .spec = SPREAD });
    }
}

static unsigned count_words(const char *text)
{
    unsigned n = *text != 0;
    for (; *text; text++)
        n += *text == ' ';
    return n;
}

/* Sizes 2, 3, 5, 5, 7, 8 become 5 each: 2 leave the one with 7, 3 the one with 8. */
static void test_spread_converges(void **state)
{
    static const int sizes[] = { 2, 3, 5, 5, 7, 8 };
    struct fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        CLEANUP(mem_free) char *name = xasprintf("d%zu", i);
        CLEANUP(mem_free) char *labels = xasprintf("\"zone\":\"z%zu\"", i);
        add_node(&f, (struct node_text){ name, .labels = labels });
        add_spread(&f, name, sizes[i]);
    }
    const char *gone = run_plugin(&f, BALANCE, "RemovePodsViolatingTopologySpreadConstraint", "{}");
    assert_int_equal(count_words(gone), 5);
    unsigned of_d4 = 0, of_d5 = 0;
    for (const char *p = gone; (p = strstr(p, "d4-")); p++)
        of_d4++;
    for (const char *p = gone; (p = strstr(p, "d5-")); p++)
        of_d5++;
    assert_int_equal(of_d4, 2);
    assert_int_equal(of_d5, 3);
    fixture_fini(&f);
}

static void test_spread_of_pods_that_fit_nowhere(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "a", .labels = "\"zone\":\"a\"" });
    add_node(&f, (struct node_text){ "b", .labels = "\"zone\":\"b\"", .cpu = "50m" });
    add_spread(&f, "a", 4);
    const char *plugin = "RemovePodsViolatingTopologySpreadConstraint";
    assert_string_equal(run_plugin(&f, BALANCE, plugin, "{}"), "");
    assert_int_equal(
        count_words(run_plugin(&f, BALANCE, plugin, "{topologyBalanceNodeFit: false}")), 2);
    assert_string_equal(run_plugin(&f, BALANCE, plugin, "{constraints: [ScheduleAnyway]}"), "");
    fixture_fini(&f);
}

/* Who may not go is not counted. Who fits nowhere stays, and one that fits goes in its place. */
static void test_spread_takes_who_can_go(void **state)
{
    struct fixture f;
    const char *plugin = "RemovePodsViolatingTopologySpreadConstraint";
    const char *app = ",\"labels\":{\"app\":\"s\"}";

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "a", .labels = "\"zone\":\"a\"" });
    add_node(&f, (struct node_text){ "b", .labels = "\"zone\":\"b\"", .cpu = "1" });
    add_pod(&f, (struct pod_text){ "large", "a", .cpu = "2", .meta = app, .spec = SPREAD });
    add_pod(&f, (struct pod_text){ "small", "a", .meta = app, .spec = SPREAD ",\"priority\":9" });
    assert_string_equal(run_plugin(&f, BALANCE, plugin, "{}"), "small");
    for (int i = 0; i < 3; i++) {
        CLEANUP(mem_free) char *name = xasprintf("bare%d", i);
        add_pod(&f, (struct pod_text){ name, "b", .owner = "", .meta = app, .spec = SPREAD });
    }
    assert_string_equal(run_plugin(&f, BALANCE, plugin, "{}"), "small");
    fixture_fini(&f);
}

/* ---- utilization ------------------------------------------------------------------------------ */

static void test_low_node_utilization(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "full", .pods = 10 });
    add_node(&f, (struct node_text){ "empty", .pods = 10 });
    add_node(&f, (struct node_text){ "cordoned", .pods = 10, .spec = "\"unschedulable\":true" });
    for (int i = 0; i < 8; i++) {
        CLEANUP(mem_free) char *name = xasprintf("p%d", i);
        CLEANUP(mem_free) char *priority = xasprintf(",\"priority\":%d", 100 - i);
        add_pod(&f, (struct pod_text){ name, "full", .cpu = "400m", .spec = priority });
    }
    /* 3200m of 4000m and 8 of 10 pods are in use; at 50% 2000m and 5 pods stay. */
    assert_string_equal(run_plugin(&f, BALANCE, "LowNodeUtilization",
                                   "{thresholds: {cpu: 30, pods: 30}, targetThresholds: {cpu: 50, "
                                   "pods: 50}}"),
                        "p7 p6 p5");
    assert_string_equal(run_plugin(&f, BALANCE, "LowNodeUtilization",
                                   "{thresholds: {cpu: 30}, targetThresholds: {cpu: 50}, "
                                   "evictionLimits: {node: 1}}"),
                        "p7");
    assert_string_equal(run_plugin(&f, BALANCE, "LowNodeUtilization",
                                   "{thresholds: {cpu: 30}, targetThresholds: {cpu: 50}, "
                                   "numberOfNodes: 1}"),
                        "");
    assert_string_equal(run_plugin(&f, BALANCE, "LowNodeUtilization",
                                   "{thresholds: {cpu: 30}, targetThresholds: {cpu: 50}, "
                                   "evictableNamespaces: {exclude: [default]}}"),
                        "");
    fixture_fini(&f);
}

/* A node that was promised more memory than it has goes on giving, though only cpu has a threshold.
 * Among equals those stay that would rather. */
static void test_low_node_utilization_of_the_rest(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "full", .memory = "1Gi" });
    add_node(&f, (struct node_text){ "empty" });
    for (int i = 0; i < 4; i++) {
        CLEANUP(mem_free) char *name = xasprintf("p%d", i);
        add_pod(&f, (struct pod_text){
                        name, "full", .cpu = "600m", .memory = "400Mi",
                        .meta = i ? NULL
                                  : ",\"annotations\":{\"descheduler.alpha.kubernetes.io/"
                                    "prefer-no-eviction\":\"\"}" });
    }
    assert_string_equal(run_plugin(&f, BALANCE, "LowNodeUtilization",
                                   "{thresholds: {cpu: 30}, targetThresholds: {cpu: 50}}"),
                        "p1 p2");
    fixture_fini(&f);
}

/* The average is one of the nodes that have the resource. */
static void test_low_node_utilization_by_deviation(void **state)
{
    struct fixture f;
    const char *asks = ",\"overhead\":{\"example.com/d\":\"1\"}";

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < 4; i++)
        fixture_add(&f, &kind_node,
                    "{\"metadata\":{\"name\":\"n%d\"},\"status\":{\"allocatable\":{\"cpu\":\"4\","
                    "\"memory\":\"8Gi\",\"pods\":\"9\"%s}}}",
                    i, i < 2 ? ",\"example.com/d\":\"4\"" : "");
    add_pod(&f, (struct pod_text){ "a", "n0", .spec = asks });
    add_pod(&f, (struct pod_text){ "b", "n0", .spec = asks });
    add_pod(&f, (struct pod_text){ "c", "n0", .spec = asks });
    /* 75% and 0%: the average is 37.5%, and n0 is above 67.5% only. Of four nodes it would
     * be 18.75%. */
    assert_string_equal(run_plugin(&f, BALANCE, "LowNodeUtilization",
                                   "{thresholds: {example.com/d: 30}, targetThresholds: "
                                   "{example.com/d: 30}, useDeviationThresholds: true}"),
                        "a");
    fixture_fini(&f);
}

static void test_high_node_utilization(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "busy" });
    add_node(&f, (struct node_text){ "idle" });
    add_pod(&f, (struct pod_text){ "b", "busy", .cpu = "2" });
    add_pod(&f, (struct pod_text){ "i", "idle", .cpu = "200m" });
    assert_string_equal(run_plugin(&f, BALANCE, "HighNodeUtilization", "{thresholds: {cpu: 20}}"),
                        "i");
    assert_string_equal(
        run_plugin(&f, BALANCE, "HighNodeUtilization", "{thresholds: {cpu: 20}, numberOfNodes: 1}"),
        "");
    add_pod(&f, (struct pod_text){ "names", "idle", .cpu = "0" });
    assert_string_equal(run_plugin(&f, BALANCE, "HighNodeUtilization",
                                   "{thresholds: {cpu: 20}, evictionModes: "
                                   "[OnlyThresholdingResources]}"),
                        "i names");
    assert_string_equal(run_plugin(&f, BALANCE, "HighNodeUtilization",
                                   "{thresholds: {pods: 2}, evictionModes: "
                                   "[OnlyThresholdingResources]}"),
                        "");
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lifetime_is_exceeded),
        cmocka_unit_test(test_lifetime_criteria_are_anded),
        cmocka_unit_test(test_lifetime_conditions),
        cmocka_unit_test(test_failed_pods_wait_for_an_hour),
        cmocka_unit_test(test_duplicates_are_spread),
        cmocka_unit_test(test_duplicates_with_one_place_stay),
        cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_anti_affinity_lowest_priority_goes),
        cmocka_unit_test(test_node_affinity),
        cmocka_unit_test(test_taints),
        cmocka_unit_test(test_spread_converges),
        cmocka_unit_test(test_spread_of_pods_that_fit_nowhere),
        cmocka_unit_test(test_spread_takes_who_can_go),
        cmocka_unit_test(test_low_node_utilization),
        cmocka_unit_test(test_low_node_utilization_of_the_rest),
        cmocka_unit_test(test_low_node_utilization_by_deviation),
        cmocka_unit_test(test_high_node_utilization),
    };
    return cmocka_run_group_tests_name("descheduler_kube", tests, NULL, NULL);
}
