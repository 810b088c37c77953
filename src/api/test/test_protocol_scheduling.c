/* Gangs, quotas, reservations, CPU and NUMA as the scheduler reads them (api 5.3 to 5.6). */
#include "base/test/asserts.h"
#include "pairs.h"

#include "api/protocol/cpu.h"
#include "api/protocol/gang.h"
#include "api/protocol/quota.h"
#include "api/protocol/reservation.h"

/* ---- gang ------------------------------------------------------------------------------------ */

static const struct gang_defaults defaults = {
    .waiting_time_ns = 600 * NSEC_PER_SEC,
    .match_policy = GANG_MATCH_ONCE_SATISFIED,
};

static struct objmeta meta_of(const char *name, kstrmap labels, kstrmap annotations)
{
    return (struct objmeta){
        .name = name, .ns = "default", .labels = labels, .annotations = annotations
    };
}

static void test_gang_name_by_label_or_annotation(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct objmeta m = meta_of("p", NO_PAIRS, pairs(a, ANNO_GANG_NAME, "third", NULL));

    (void)state;
    assert_string_equal(gang_name(&m), "third");
    m.labels = pairs(a, LABEL_POD_GROUP_NAME_OLD, "second", NULL);
    assert_string_equal(gang_name(&m), "second");
    m.labels = pairs(a, LABEL_POD_GROUP_NAME_OLD, "second", LABEL_POD_GROUP, "first", NULL);
    assert_string_equal(gang_name(&m), "first");
    assert_string_equal(gang_id("default", "first", a), "default/first");
    m = meta_of("p", pairs(a, LABEL_POD_GROUP, "", NULL), NO_PAIRS);
    assert_null(gang_name(&m));
}

static void test_gang_of_annotations(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct gang_spec g;
    struct kerr err = { 0 };
    struct objmeta m =
        meta_of("pod1", NO_PAIRS,
                pairs(a, ANNO_GANG_NAME, "ganga", ANNO_GANG_MIN_AVAILABLE, "2",
                      ANNO_GANG_WAITING_TIME, "30s", ANNO_GANG_MODE, "NonStrict", ANNO_GANG_GROUPS,
                      "[\"default/gangb\",\"default/ganga\"]", NULL));

    (void)state;
    assert_int_equal(gang_spec_from_pod(&m, &defaults, a, &g, &err), 0);
    assert_int_equal(g.min_available, 2);
    assert_int_equal(g.total_number, 2);
    assert_int_equal(g.waiting_time_ns, 30 * NSEC_PER_SEC);
    assert_int_equal(g.mode, GANG_NON_STRICT);
    assert_int_equal(g.match_policy, GANG_MATCH_ONCE_SATISFIED);
    assert_string_equal(g.group_id, "default/ganga,default/gangb");

    m.annotations = pairs(a, ANNO_GANG_NAME, "gangb", ANNO_GANG_MIN_AVAILABLE, "xxx", NULL);
    assert_int_equal(gang_spec_from_pod(&m, &defaults, a, &g, &err), -EINVAL);
    m.annotations = pairs(a, ANNO_GANG_NAME, "gangb", NULL);
    assert_int_equal(gang_spec_from_pod(&m, &defaults, a, &g, &err), -EINVAL);
    assert_int_equal(gang_spec_from_pod(&(struct objmeta){ 0 }, &defaults, a, &g, &err), -ENOENT);

    m.annotations =
        pairs(a, ANNO_GANG_NAME, "gangb", ANNO_GANG_MIN_AVAILABLE, "2", ANNO_GANG_TOTAL_NUMBER, "1",
              ANNO_GANG_MODE, "x", ANNO_GANG_WAITING_TIME, "x", ANNO_GANG_GROUPS, "ganga,gangx",
              ANNO_GANG_MATCH_POLICY, "x", ANNO_GANG_TOPOLOGY_SPEC, "{bad", NULL);
    assert_int_equal(gang_spec_from_pod(&m, &defaults, a, &g, &err), 0);
    assert_int_equal(g.total_number, 2);
    assert_int_equal(g.mode, GANG_STRICT);
    assert_int_equal(g.waiting_time_ns, 600 * NSEC_PER_SEC);
    assert_string_equal(g.group_id, "default/gangb");
    assert_int_equal(g.match_policy, GANG_MATCH_ONCE_SATISFIED);
    assert_int_equal(g.topology.gather.n, 0);
}

static void test_gang_fallbacks(void **state)
{
    static const char *const no_wait[] = { "0", "0s", "-20s", "soon", "" };
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct gang_spec g;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(no_wait); i++) {
        struct objmeta m = meta_of("p", NO_PAIRS,
                                   pairs(a, ANNO_GANG_NAME, "g", ANNO_GANG_MIN_AVAILABLE, "0",
                                         ANNO_GANG_WAITING_TIME, no_wait[i], NULL));
        assert_int_equal(gang_spec_from_pod(&m, &defaults, a, &g, NULL), 0);
        assert_int_equal(g.waiting_time_ns, 600 * NSEC_PER_SEC);
        assert_int_equal(g.min_available, 0);
        assert_int_equal(g.total_number, 0);
    }
    /* the deprecated label goes before the annotation */
    struct objmeta m = meta_of("p", pairs(a, LABEL_POD_GROUP_MIN_AVAILABLE_OLD, "5", NULL),
                               pairs(a, ANNO_GANG_NAME, "g", ANNO_GANG_MIN_AVAILABLE, "3",
                                     ANNO_GANG_TOTAL_NUMBER, "8", NULL));
    assert_int_equal(gang_spec_from_pod(&m, &defaults, a, &g, NULL), 0);
    assert_int_equal(g.min_available, 5);
    assert_int_equal(g.total_number, 8);
    /* the alias counts when the first key is empty */
    m = meta_of(
        "pg", NO_PAIRS,
        pairs(a, ANNO_GANG_MATCH_POLICY, "", ANNO_POD_GROUP_MATCH_POLICY, "only-waiting", NULL));
    gang_spec_from_podgroup(&m, 4, (struct opt_i32){ true, 90 }, &defaults, a, &g);
    assert_int_equal(g.match_policy, GANG_MATCH_ONLY_WAITING);
    assert_int_equal(g.min_available, 4);
    assert_int_equal(g.waiting_time_ns, 90 * NSEC_PER_SEC);
    assert_string_equal(g.group_id, "default/pg");
    gang_spec_from_podgroup(&m, 4, (struct opt_i32){ true, 0 }, &defaults, a, &g);
    assert_int_equal(g.waiting_time_ns, 600 * NSEC_PER_SEC);
}

static void test_gang_topology(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct network_topology_spec t;
    kstrmap m = pairs(a, ANNO_GANG_TOPOLOGY_SPEC,
                      "{\"gatherStrategy\":[{\"layer\":\"SpineLayer\",\"strategy\":"
                      "\"PreferGather\"},{\"layer\":\"BlockLayer\",\"strategy\":\"MustGather\","
                      "\"podCountMultiple\":2}]}",
                      ANNO_GANG_TOPOLOGY_INDEX, "3", NULL);

    (void)state;
    assert_int_equal(network_topology_spec_read(&m, a, &t, NULL), 1);
    assert_int_equal(t.gather.n, 2);
    assert_int_equal(t.gather.items[0].strategy, GATHER_PREFER);
    assert_int_equal(t.gather.items[1].strategy, GATHER_MUST);
    assert_int_equal(t.gather.items[1].pod_count_multiple, 2);
    assert_int_equal(gang_topology_index(&m), 3);
    assert_int_equal(gang_topology_index(&NO_PAIRS), -1);
    m = pairs(a, ANNO_GANG_TOPOLOGY_INDEX, "x", NULL);
    assert_int_equal(gang_topology_index(&m), -1);
    assert_that(gang_topology_order(1, "b", 2, "a"), <, 0);
    assert_that(gang_topology_order(-1, "a", 0, "b"), >, 0);
    assert_that(gang_topology_order(-1, "a", -1, "b"), <, 0);
    assert_that(gang_topology_order(1, "b", 1, "a"), >, 0);
    enum gang_match_policy p;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(gang_match_policy_parse(gang_match_policy_name((enum gang_match_policy)i), &p));
        assert_int_equal(p, i);
    }
}

/* ---- quota ----------------------------------------------------------------------------------- */

static reslist list(struct arena *a, const char *json)
{
    reslist l = { 0 };

    assert_int_equal(reslist_decode_text(json, a, &l, NULL), 0);
    return l;
}

static void test_quota_labels(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct objmeta q = meta_of("q", NO_PAIRS, NO_PAIRS);
    struct objmeta root = meta_of(QUOTA_ROOT_NAME, NO_PAIRS, NO_PAIRS);
    struct kerr err = { 0 };

    (void)state;
    assert_string_equal(quota_parent(&q), "koordinator-root-quota");
    assert_string_equal(quota_parent(&root), "");
    q.labels = pairs(a, LABEL_QUOTA_PARENT, "dad", LABEL_QUOTA_IS_PARENT, "true",
                     LABEL_QUOTA_ALLOW_LENT, "yes", LABEL_QUOTA_TREE_ID, "t", NULL);
    assert_string_equal(quota_parent(&q), "dad");
    assert_true(quota_is_parent(&q.labels));
    assert_true(quota_allows_lent(&q.labels)); /* only "false" says no */
    assert_string_equal(quota_tree_id(&q.labels), "t");
    q.labels = pairs(a, LABEL_QUOTA_ALLOW_LENT, "false", LABEL_QUOTA_PREEMPTIBLE, "false",
                     LABEL_QUOTA_IS_PARENT, "True", NULL);
    assert_false(quota_allows_lent(&q.labels));
    assert_false(pod_quota_preemptible(&q.labels));
    assert_false(quota_is_parent(&q.labels));
    assert_true(pod_quota_preemptible(&NO_PAIRS));
    assert_string_equal(pod_quota_name(&NO_PAIRS), "");
    assert_int_equal(quota_check_changeable("koordinator-root-quota", &err), -EINVAL);
    assert_string_equal(err.text, "invalid quota koordinator-root-quota");
    assert_int_equal(quota_check_changeable("koordinator-system-quota", &err), -EINVAL);
    assert_int_equal(quota_check_changeable("koordinator-default-quota", &err), 0);
    assert_int_equal(QUOTA_PROFILE_MAX, 4611686018427387);
}

static void test_quota_weight(void **state)
{
    static const char *const as_max[] = { "{\"cpu\":0,\"memory\":\"0\"}", "{}", "", "{bad",
                                          "null" };
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist max = list(a, "{\"cpu\":96,\"memory\":1000,\"pods\":1000}"), w;
    kstrmap m;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(as_max); i++) {
        m = pairs(a, ANNO_QUOTA_SHARED_WEIGHT, as_max[i], NULL);
        w = quota_weight(&m, &max, a);
        assert_true(reslist_equal(&w, &max));
    }
    w = quota_weight(&NO_PAIRS, &max, a);
    assert_true(reslist_equal(&w, &max));
    m = pairs(a, ANNO_QUOTA_SHARED_WEIGHT, "{\"cpu\":\"1\",\"memory\":\"0\"}", NULL);
    w = quota_weight(&m, &max, a);
    assert_int_equal(w.n, 2);
}

static void test_quota_lists(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap m = pairs(a, ANNO_QUOTA_NAMESPACES, "[\"ns1\",\"ns2\"]", ANNO_QUOTA_RESOURCE_KEYS,
                      "[\"nvidia.com/gpu\"]", NULL);
    kstrlist l = quota_namespace_list(&m, a);

    (void)state;
    assert_int_equal(l.n, 2);
    assert_string_equal(l.items[1], "ns2");
    l = quota_profile_keys(&m, a);
    assert_int_equal(l.n, 1);
    m = pairs(a, ANNO_QUOTA_NAMESPACES, "ns1", ANNO_QUOTA_RESOURCE_KEYS, "{}", NULL);
    assert_int_equal(quota_namespace_list(&m, a).n, 0); /* ignored */
    l = quota_profile_keys(&m, a);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.items[0], "cpu");
    assert_string_equal(l.items[1], "memory");
    assert_that(quota_profile_ratio("0.9"), ==, 0.9);
    static const char *const whole[] = { "0", "-1", "1.1", "x", "", "NaN" };
    for (size_t i = 0; i < ARRAY_LEN(whole); i++)
        assert_that(quota_profile_ratio(whole[i]), ==, 1);
    assert_that(quota_profile_ratio(NULL), ==, 1);
}

/* ---- reservation ----------------------------------------------------------------------------- */

static void test_reservation_affinity(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct reservation_affinity f;
    struct kerr err = { 0 };
    kstrmap m = pairs(a, ANNO_RESERVATION_AFFINITY, "", NULL);

    (void)state;
    assert_int_equal(reservation_affinity_read(&NO_PAIRS, a, &f, &err), 0);
    assert_int_equal(reservation_affinity_read(&m, a, &f, &err), 1); /* there, and empty */
    assert_string_equal(f.name, "");
    assert_null(f.required);
    m = pairs(a, ANNO_RESERVATION_AFFINITY,
              "{\"name\":\"r\",\"requiredDuringSchedulingIgnoredDuringExecution\":"
              "{\"reservationSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"k\",\"operator\":"
              "\"In\",\"values\":[\"v\"]}]}]},\"reservationSelector\":{\"k\":\"v\"},"
              "\"tolerations\":[{\"operator\":\"Exists\"}]}",
              NULL);
    assert_int_equal(reservation_affinity_read(&m, a, &f, &err), 1);
    assert_string_equal(f.name, "r");
    assert_int_equal(f.required->terms.n, 1);
    assert_int_equal(f.required->terms.items[0].match_expressions.items[0].op, SELOP_IN);
    assert_string_equal(kstrmap_get(&f.selector, "k"), "v");
    assert_int_equal(f.tolerations.items[0].op, TOL_OP_EXISTS);
    m = pairs(a, ANNO_RESERVATION_AFFINITY, "{\"name\":1}", NULL);
    assert_int_equal(reservation_affinity_read(&m, a, &f, &err), -EINVAL);
    assert_contains(err.text, ANNO_RESERVATION_AFFINITY);
}

static bool matches(struct arena *a, const char *names, const char *pod, const char *reserved)
{
    struct exact_match_spec s;
    reslist p = list(a, pod), r = list(a, reserved);

    assert_int_equal(exact_match_spec_decode(names, a, &s, NULL), 0);
    return exact_match(&s, &p, &r);
}

static void test_exact_match(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char *cpu = "{\"resourceNames\":[\"cpu\"]}";
    const char *both = "{\"resourceNames\":[\"gpu\",\"cpu\"]}";

    (void)state;
    assert_true(matches(a, cpu, "{\"cpu\":\"4\"}", "{\"cpu\":\"4000m\"}"));
    assert_false(matches(a, cpu, "{\"cpu\":\"4\"}", "{\"cpu\":\"8\"}"));
    assert_false(matches(a, cpu, "{}", "{\"cpu\":\"8\"}"));
    assert_true(matches(a, cpu, "{}", "{}"));
    assert_true(matches(a, "{}", "{\"cpu\":\"4\"}", "{\"cpu\":\"8\"}"));
    /* a name that neither side has does not end the comparison */
    assert_false(matches(a, both, "{\"cpu\":\"4\"}", "{\"cpu\":\"8\"}"));
}

static void test_reservation_labels(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap m = pairs(a, LABEL_RESERVATION_ORDER, "1700000000000", LABEL_OPERATING_MODE,
                      "Reservation", LABEL_PREEMPTION_POLICY, "PreemptLowerPriority",
                      LABEL_RESERVATION_IGNORED, "true", ANNO_PRE_ALLOCATABLE_PRIORITY, "-3", NULL);

    (void)state;
    assert_int_equal(reservation_order(&m), 1700000000000);
    assert_int_equal(pod_operating_mode(&m), OPERATING_RESERVATION);
    assert_int_equal(pod_preemption_policy(&m), PREEMPT_LOWER_PRIORITY);
    assert_int_equal(pre_allocatable_priority(&m, ANNO_PRE_ALLOCATABLE_PRIORITY), -3);
    assert_true(reservation_is_ignored(&m));
    m = pairs(a, LABEL_RESERVATION_ORDER, "first", LABEL_OPERATING_MODE, "x",
              LABEL_PREEMPTION_POLICY, "x", NULL);
    assert_int_equal(reservation_order(&m), 0);
    assert_int_equal(pod_operating_mode(&m), OPERATING_RUNNABLE);
    assert_int_equal(pod_preemption_policy(&m), PREEMPT_NEVER);
    assert_int_equal(pod_preemption_policy(&NO_PAIRS), PREEMPT_NONE);
    assert_int_equal(pre_allocatable_priority(&m, ANNO_PRE_ALLOCATABLE_PRIORITY), 0);
}

/* ---- CPU and NUMA ---------------------------------------------------------------------------- */

static void test_node_reservation(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct node_reservation r;

    (void)state;
    assert_int_equal(node_reservation_decode("{\"resources\":{\"cpu\":\"1500m\"}}", a, &r, NULL),
                     0);
    assert_int_equal(node_reservation_cores(&r), 2);
    assert_int_equal(r.apply_policy, NODE_RESERVATION_DEFAULT);
    assert_int_equal(node_reservation_decode("{\"resources\":{\"cpu\":\"1500m\"},"
                                             "\"reservedCPUs\":\"0-1\",\"applyPolicy\":"
                                             "\"ReservedCPUsOnly\"}",
                                             a, &r, NULL),
                     0);
    assert_int_equal(node_reservation_cores(&r), 0);
    assert_string_equal(r.reserved_cpus, "0-1");
    assert_int_equal(r.apply_policy, NODE_RESERVATION_CPUS_ONLY);
}

static void test_cpu_policies(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kubelet_cpu_manager k;
    struct system_qos_resource s;
    kstrmap m = pairs(a, LABEL_NODE_CPU_BIND_POLICY, "SpreadByPCPUs", NULL);

    (void)state;
    assert_int_equal(cpu_bind_policy_parse("FullPCPUs"), CPU_BIND_FULL_PCPUS);
    assert_int_equal(cpu_bind_policy_parse(""), CPU_BIND_NONE);
    assert_int_equal(cpu_bind_policy_parse("test"), CPU_BIND_OTHER);
    assert_string_equal(cpu_bind_policy_name(CPU_BIND_SPREAD_BY_PCPUS), "SpreadByPCPUs");
    assert_int_equal(cpu_exclusive_policy_parse("NUMANodeLevel"), CPU_EXCLUSIVE_NUMA_LEVEL);
    assert_int_equal(cpu_exclusive_policy_parse("None"), CPU_EXCLUSIVE_NONE);

    assert_int_equal(kubelet_cpu_manager_decode("{\"policy\":\"static\",\"options\":"
                                                "{\"full-pcpus-only\":\"true\"}}",
                                                a, &k, NULL),
                     0);
    assert_int_equal(node_cpu_bind_policy(&m, NULL), NODE_CPU_BIND_SPREAD);
    assert_int_equal(node_cpu_bind_policy(&m, &k), NODE_CPU_BIND_FULL_PCPUS_ONLY);
    k.policy = "none";
    assert_int_equal(node_cpu_bind_policy(&NO_PAIRS, &k), NODE_CPU_BIND_NONE);

    assert_int_equal(system_qos_resource_decode("{\"cpuset\":\"0-1\"}", a, &s, NULL), 0);
    assert_true(system_qos_is_exclusive(&s));
    assert_int_equal(system_qos_resource_decode("{\"cpusetExclusive\":false}", a, &s, NULL), 0);
    assert_false(system_qos_is_exclusive(&s));
}

static void test_numa_policies(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap m = pairs(a, LABEL_NODE_NUMA_POLICY, "Restricted", LABEL_NODE_NUMA_STRATEGY,
                      "DistributeEvenly", NULL);
    kstrmap odd = pairs(a, LABEL_NODE_NUMA_POLICY, "None", NULL);
    const char *words[] = { "None", "SingleNUMANodePodLevel" };
    kstrlist policies = { words, 2 };
    enum numa_policy p;

    (void)state;
    assert_int_equal(numa_policy_of_topology(&policies), NUMA_POLICY_SINGLE_NODE);
    assert_int_equal(node_numa_policy(&m, NUMA_POLICY_SINGLE_NODE), NUMA_POLICY_RESTRICTED);
    assert_int_equal(node_numa_policy(&odd, NUMA_POLICY_SINGLE_NODE), NUMA_POLICY_NONE);
    assert_int_equal(node_numa_policy(&NO_PAIRS, NUMA_POLICY_SINGLE_NODE), NUMA_POLICY_SINGLE_NODE);
    assert_false(numa_policy_merge(NUMA_POLICY_RESTRICTED, NUMA_POLICY_BEST_EFFORT, &p));
    assert_true(numa_policy_merge(NUMA_POLICY_RESTRICTED, NUMA_POLICY_RESTRICTED, &p));
    assert_int_equal(p, NUMA_POLICY_RESTRICTED);
    assert_true(numa_policy_merge(NUMA_POLICY_RESTRICTED, NUMA_POLICY_NONE, &p));
    assert_int_equal(p, NUMA_POLICY_RESTRICTED);
    assert_true(numa_policy_merge(NUMA_POLICY_NONE, NUMA_POLICY_BEST_EFFORT, &p));
    assert_int_equal(p, NUMA_POLICY_BEST_EFFORT);
    assert_int_equal(node_numa_strategy(&m, NUMA_MOST_ALLOCATED), NUMA_LEAST_ALLOCATED);
    assert_int_equal(node_numa_strategy(&NO_PAIRS, NUMA_MOST_ALLOCATED), NUMA_MOST_ALLOCATED);
}

static void test_resource_status_is_written_as_upstream(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *text = "{\"cpuset\":\"0-3\",\"numaNodeResources\":[{\"node\":0,\"resources\":"
                       "{\"cpu\":\"4\"}}]}";
    struct resource_status s;

    (void)state;
    assert_int_equal(resource_status_decode(text, a, &s, NULL), 0);
    assert_int_equal(s.numa_node_resources.items[0].node, 0);
    resource_status_encode(&s, &b);
    assert_string_equal(strbuf_str(&b), text); /* node is written even when 0 */
    strbuf_reset(&b);
    resource_status_encode(&(struct resource_status){ .cpuset = "" }, &b);
    assert_string_equal(strbuf_str(&b), "{}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gang_name_by_label_or_annotation),
        cmocka_unit_test(test_gang_of_annotations),
        cmocka_unit_test(test_gang_fallbacks),
        cmocka_unit_test(test_gang_topology),
        cmocka_unit_test(test_quota_labels),
        cmocka_unit_test(test_quota_weight),
        cmocka_unit_test(test_quota_lists),
        cmocka_unit_test(test_reservation_affinity),
        cmocka_unit_test(test_exact_match),
        cmocka_unit_test(test_reservation_labels),
        cmocka_unit_test(test_node_reservation),
        cmocka_unit_test(test_cpu_policies),
        cmocka_unit_test(test_numa_policies),
        cmocka_unit_test(test_resource_status_is_written_as_upstream),
    };
    RUN_TESTS(tests);
}
