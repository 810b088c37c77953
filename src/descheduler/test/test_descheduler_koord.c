/* test_descheduler_koord.c - CustomPriority, FragmentationAware, ScaleDownBinPack, DefaultEvictor:
 * the 'Must hold' list of descheduler 5; node fit and adapted nodes (2).
 */
#include "api/node.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/storage.h"
#include "descheduler/framework/nodefit.h"
#include "descheduler/test/fixture.h"

#define BALANCE "balance"

/* ---- CustomPriority --------------------------------------------------------------------------- */

#define LEVELS                                                                      \
    "evictionOrder: [{name: spot, nodeSelector: {matchLabels: {l: spot}}}, {name: " \
    "reserved, nodeSelector: {matchLabels: {l: reserved}}}]"

static void two_levels(struct fixture *f)
{
    add_node(f, (struct node_text){ "s1", .labels = "\"l\":\"spot\"" });
    add_node(f, (struct node_text){ "r1", .labels = "\"l\":\"reserved\"", .cpu = "2" });
}

static void test_pods_move_to_later_levels(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    two_levels(&f);
    add_pod(&f, (struct pod_text){ "large", "s1", .cpu = "3" });
    add_pod(&f, (struct pod_text){ "small", "s1", .cpu = "500m" });
    add_pod(&f, (struct pod_text){ "smaller", "s1", .cpu = "200m" });
    add_pod(&f, (struct pod_text){ "there", "r1", .cpu = "100m" });
    /* What fits an earlier level only stays, and nobody moves upwards. */
    assert_string_equal(run_plugin(&f, BALANCE, "CustomPriority", "{" LEVELS "}"), "smaller small");
    assert_string_equal(strbuf_str(&f.reasons),
                        "evicting from spot priority resource to lower priority resource|evicting "
                        "from spot priority resource to lower priority resource");
    assert_string_equal(run_plugin(&f, BALANCE, "CustomPriority", "{paused: true, " LEVELS "}"),
                        "");
    fixture_fini(&f);
}

static void test_drain_is_all_or_nothing(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    two_levels(&f);
    add_node(&f, (struct node_text){ "s2", .labels = "\"l\":\"spot\"" });
    add_pod(&f, (struct pod_text){ "a", "s1", .cpu = "1" });
    add_pod(&f, (struct pod_text){ "b", "s1", .cpu = "1500m" });
    add_pod(&f, (struct pod_text){ "c", "s2", .cpu = "1200m" });
    /* a and b together are too much for r1, so s1 stays whole; c has its place. */
    assert_string_equal(run_plugin(&f, BALANCE, "CustomPriority", "{mode: DrainNode, " LEVELS "}"),
                        "c");
    assert_string_equal(strbuf_str(&f.reasons), "drain node s2 (sourcePriority=spot)");
    fixture_fini(&f);
}

/* ---- FragmentationAware ----------------------------------------------------------------------- */

static void test_fragmentation(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "n1", .cpu = "1", .memory = "1024" });
    add_node(&f, (struct node_text){ "n2", .cpu = "1", .memory = "1024" });
    add_pod(&f, (struct pod_text){ "uneven", "n1", .cpu = "900m", .memory = "100" });
    assert_string_equal(run_plugin(&f, BALANCE, "FragmentationAware", "{}"), "uneven");
    assert_string_equal(strbuf_str(&f.reasons),
                        "fragmentation reduction: stdBefore=0.4012 stdAfter=0.0000 gain=0.4012");
    fixture_fini(&f);

    fixture_init(&f);
    add_node(&f, (struct node_text){ "n1", .cpu = "1", .memory = "1000" });
    add_node(&f, (struct node_text){ "n2", .cpu = "1", .memory = "1000" });
    add_pod(&f, (struct pod_text){ "even", "n1", .cpu = "500m", .memory = "500" });
    assert_string_equal(run_plugin(&f, BALANCE, "FragmentationAware", "{}"), "");
    fixture_fini(&f);
}

/* A pod that may not go counts in the score, and is no candidate. */
static void test_fragmentation_counts_all_pods(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "n1", .cpu = "1", .memory = "1000" });
    add_node(&f, (struct node_text){ "n2", .cpu = "1", .memory = "1000" });
    add_pod(&f, (struct pod_text){ "fixed", "n1", .owner = "", .cpu = "500m", .memory = "0" });
    add_pod(&f, (struct pod_text){ "tiny", "n1", .cpu = "250m", .memory = "0" });
    /* 0.75 and 0: deviation 0.375; without tiny 0.25: a gain of exactly 0.125 is not enough. */
    assert_string_equal(
        run_plugin(&f, BALANCE, "FragmentationAware", "{minImprovementThreshold: 0.125}"), "");
    assert_string_equal(
        run_plugin(&f, BALANCE, "FragmentationAware", "{minImprovementThreshold: 0.124}"), "tiny");
    fixture_fini(&f);
}

/* ---- ScaleDownBinPack ------------------------------------------------------------------------- */

static void test_binpack_order(void **state)
{
    struct fixture f;
    const char *target = ",\"labels\":{\"app\":\"t\"}";
    static const char *const many[] = { "n6-a", "n6-b", "n6-c" };

    (void)state;
    fixture_init(&f);
    for (int i = 1; i <= 6; i++) {
        CLEANUP(mem_free) char *name = xasprintf("n%d", i);
        add_node(&f, (struct node_text){ name });
    }
    add_pod(&f, (struct pod_text){ "n1-a", "n1", .cpu = "1", .memory = "1Gi", .meta = target });
    add_pod(&f, (struct pod_text){ "n2-a", "n2", .cpu = "1", .memory = "1Gi", .meta = target });
    add_pod(&f, (struct pod_text){ "other", "n2", .cpu = "1", .memory = "1Gi" });
    for (int i = 4; i <= 5; i++)
        for (int j = 0; j < 2; j++) {
            CLEANUP(mem_free) char *name = xasprintf("n%d-%c", i, 'a' + j);
            CLEANUP(mem_free) char *node = xasprintf("n%d", i);
            add_pod(&f,
                    (struct pod_text){ name, node, .cpu = "1", .memory = "1Gi", .meta = target });
        }
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        add_pod(&f,
                (struct pod_text){ many[i], "n6", .cpu = "500m", .memory = "1Gi", .meta = target });
    add_pod(&f, (struct pod_text){ "n6-large", "n6", .cpu = "1", .memory = "2Gi", .meta = target });
    add_pod(&f, (struct pod_text){ "n6-new", "n6", .cpu = "500m", .memory = "1Gi", .meta = target,
                                   .created = "2026-01-01T11:30:00Z" });
    add_pod(&f, (struct pod_text){ "n6-old", "n6", .cpu = "500m", .memory = "1Gi", .meta = target,
                                   .created = "2026-01-01T10:30:00Z" });
    const char *args = "{strategy: EvictDirectly, maxPodsToEvict: 100, podSelectors: [{selector: "
                       "{matchLabels: {app: t}}}]}";
    assert_string_equal(run_plugin(&f, BALANCE, "ScaleDownBinPack", args),
                        "n1-a n4-a n4-b n5-a n5-b n6-large n6-new n6-a n6-b n6-c n6-old n2-a");
    assert_string_equal(run_plugin(&f, BALANCE, "ScaleDownBinPack",
                                   "{strategy: EvictDirectly, maxPodsToEvict: 2, podSelectors: "
                                   "[{selector: {matchLabels: {app: t}}}]}"),
                        "n1-a n4-a");
    fixture_fini(&f);
}

/* ---- DefaultEvictor --------------------------------------------------------------------------- */

/* Which of the pods of a node may go, by these args. */
static const char *evictable(struct fixture *f, const char *args)
{
    CLEANUP(mem_free)
    char *yaml = config_of("deschedule", "PodLifeTime", "{maxPodLifeTimeSeconds: 0}", args);
    struct rounds r;

    rounds_init(&r, f, yaml);
    (void)rounds_run(&r);
    rounds_fini(&r);
    return strbuf_str(&f->gone);
}

static void add_variety(struct fixture *f)
{
    add_node(f, (struct node_text){ "n1" });
    add_node(f, (struct node_text){ "n2" });
    add_pod(f, (struct pod_text){ "plain", "n1" });
    add_pod(f, (struct pod_text){ "bare", "n1", .owner = "" });
    add_pod(f, (struct pod_text){ "bare-failed", "n1", .owner = "", .phase = "Failed" });
    add_pod(f, (struct pod_text){ "critical", "n1", .spec = ",\"priority\":2000000000" });
    add_pod(f,
            (struct pod_text){ "daemon", "n1", .owner = "",
                               .meta = ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","
                                       "\"kind\":\"DaemonSet\",\"name\":\"d\",\"uid\":\"d\"}]" });
    add_pod(f, (struct pod_text){ "local", "n1",
                                  .spec = ",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]" });
    add_pod(f, (struct pod_text){ "mirror", "n1",
                                  .meta = ",\"annotations\":{\"kubernetes.io/"
                                          "config.mirror\":\"x\"}" });
    add_pod(f, (struct pod_text){ "claim", "n1",
                                  .spec = ",\"volumes\":[{\"name\":\"v\","
                                          "\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]" });
    add_pod(f, (struct pod_text){
                   "wanted", "n1", .owner = "",
                   .meta = ",\"annotations\":{\"descheduler.alpha.kubernetes.io/evict\":\"\"}" });
    add_pod(f, (struct pod_text){ "unwanted", "n1",
                                  .meta = ",\"annotations\":{\"descheduler.alpha.kubernetes.io/"
                                          "prefer-no-eviction\":\"\"}" });
}

static void test_default_evictor(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_variety(&f);
    assert_string_equal(evictable(&f, "{}"), "claim plain unwanted wanted");
    assert_string_equal(evictable(&f, "{noEvictionPolicy: Mandatory}"), "claim plain wanted");
    assert_string_equal(evictable(&f, "{evictLocalStoragePods: true}"),
                        "claim local plain unwanted wanted");
    assert_string_equal(evictable(&f, "{evictFailedBarePods: true}"),
                        "bare-failed claim plain unwanted wanted");
    assert_string_equal(evictable(&f, "{evictSystemCriticalPods: true}"),
                        "claim critical plain unwanted wanted");
    assert_string_equal(evictable(&f, "{evictDaemonSetPods: true}"),
                        "claim daemon plain unwanted wanted");
    assert_string_equal(evictable(&f, "{ignorePvcPods: true}"), "plain unwanted wanted");
    assert_string_equal(evictable(&f, "{podProtections: {defaultDisabled: [DaemonSetPods], "
                                      "extraEnabled: [PodsWithPVC]}}"),
                        "daemon plain unwanted wanted");
    assert_string_equal(evictable(&f, "{minPodAge: 1h}"), "wanted");
    assert_string_equal(evictable(&f, "{ignorePodsWithoutPDB: true}"), "wanted");
    fixture_fini(&f);
}

static void test_default_evictor_thresholds(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "n1" });
    add_node(&f, (struct node_text){ "n2" });
    add_pod(&f, (struct pod_text){ "high", "n1", .spec = ",\"priority\":1000" });
    add_pod(&f, (struct pod_text){ "low", "n1", .spec = ",\"priority\":10" });
    add_pod(&f, (struct pod_text){ "none", "n1" });
    fixture_add(&f, &kind_priority_class, "{\"metadata\":{\"name\":\"p\"},\"value\":500}");
    assert_string_equal(evictable(&f, "{priorityThreshold: {value: 1000}}"), "low none");
    assert_string_equal(evictable(&f, "{priorityThreshold: {name: p}}"), "low none");
    assert_string_equal(evictable(&f, "{labelSelector: {matchLabels: {a: b}}}"), "");
    fixture_fini(&f);
}

static void test_protected_storage_classes(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "n1" });
    add_node(&f, (struct node_text){ "n2" });
    /* Of a claim that is not there the class is not known. */
    add_pod(&f,
            (struct pod_text){ "claimless", "n1",
                               .spec = ",\"volumes\":[{\"name\":\"v\","
                                       "\"persistentVolumeClaim\":{\"claimName\":\"gone\"}}]" });
    for (int i = 0; i < 2; i++) {
        const char *class = i ? "fast" : "slow";
        CLEANUP(strbuf_fini) struct strbuf volumes = STRBUF_INIT;
        strbuf_appendf(&volumes,
                       ",\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":"
                       "\"%s\"}}]",
                       class);
        add_pod(&f, (struct pod_text){ class, "n1", .spec = strbuf_str(&volumes) });
        fixture_add(&f, &kind_pvc,
                    "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{"
                    "\"storageClassName\":\"%s\"}}",
                    class, class);
    }
    assert_string_equal(
        evictable(&f, "{podProtections: {extraEnabled: [PodsWithPVC], config: {PodsWithPVC: "
                      "{protectedStorageClasses: [{name: fast}]}}}}"),
        "slow");
    fixture_fini(&f);
}

/* ---- node fit --------------------------------------------------------------------------------- */

static struct kd_view *view_of(struct fixture *f)
{
    const struct kd_view_opts o = { .objects = (const struct kobj *const *)f->objects.items,
                                    .nobjects = f->objects.n,
                                    .now = f->now };
    return kd_view_new(&o);
}

static void test_reserved_of_a_node_is_not_free(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_pod(&f, (struct pod_text){ "p", "elsewhere", .cpu = "3" });
#define RESERVED(text)                                                                      \
    "{\"metadata\":{\"name\":\"n%d\",\"annotations\":{\"node.koordinator.sh/reservation\":" \
    "\"" text "\"}},\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\","         \
    "\"pods\":\"10\"}}}"
    fixture_add(&f, &kind_node, RESERVED("{\\\"resources\\\":{\\\"cpu\\\":\\\"2\\\"}}"), 1);
    fixture_add(&f, &kind_node, RESERVED("{\\\"reservedCPUs\\\":\\\"0-1\\\"}"), 2);
    fixture_add(&f, &kind_node,
                RESERVED("{\\\"resources\\\":{\\\"cpu\\\":\\\"2\\\"},\\\"applyPolicy\\\":"
                         "\\\"ReservedCPUsOnly\\\"}"),
                3);
    fixture_add(&f, &kind_node, RESERVED("bad"), 4);
    struct kd_view *v = view_of(&f);
    const struct pod *p = pod_of(f.objects.items[0]);
    assert_false(kd_fits(v, p, 0, KD_FIT_KOORD));
    assert_false(kd_fits(v, p, 1, KD_FIT_KOORD));
    assert_true(kd_fits(v, p, 2, KD_FIT_KOORD));
    assert_true(kd_fits(v, p, 3, KD_FIT_KOORD));
    kd_view_free(v);
    fixture_fini(&f);
}

static void test_fit(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_pod(&f, (struct pod_text){ "p", "own", .cpu = "2" });
    add_node(&f, (struct node_text){ "cordoned", .spec = "\"unschedulable\":true" });
    add_node(&f, (struct node_text){ "full" });
    add_node(&f, (struct node_text){ "own", .cpu = "1" });
    add_node(&f, (struct node_text){ "tainted", .spec = "\"taints\":[{\"key\":\"k\",\"effect\":"
                                                        "\"NoExecute\"}]" });
    add_node(&f, (struct node_text){ "crowded", .pods = 1 });
    add_pod(&f, (struct pod_text){ "x", "full", .cpu = "3" });
    add_pod(&f, (struct pod_text){ "y", "crowded" });
    add_pod(&f, (struct pod_text){ "z", "full", .cpu = "3", .phase = "Succeeded" });
    struct kd_view *v = view_of(&f);
    const struct pod *p = pod_of(f.objects.items[0]);
    const char *const names[] = { "cordoned", "full", "tainted", "crowded" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_false(kd_fits(v, p, (uint32_t)kd_view_find(v, names[i]), KD_FIT_KUBE));
    /* On its own node it has its place, in Kubernetes' eyes. */
    uint32_t own = (uint32_t)kd_view_find(v, "own");
    assert_true(kd_fits(v, p, own, KD_FIT_KUBE));
    assert_false(kd_fits(v, p, own, KD_FIT_KOORD));
    assert_true(kd_fits_any(v, p, NULL, 0, KD_FIT_KUBE));
    assert_false(kd_fits_any_other(v, p, NULL, 0, KD_FIT_KUBE));
    kd_view_free(v);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pods_move_to_later_levels),
        cmocka_unit_test(test_drain_is_all_or_nothing),
        cmocka_unit_test(test_fragmentation),
        cmocka_unit_test(test_fragmentation_counts_all_pods),
        cmocka_unit_test(test_binpack_order),
        cmocka_unit_test(test_default_evictor),
        cmocka_unit_test(test_default_evictor_thresholds),
        cmocka_unit_test(test_protected_storage_classes),
        cmocka_unit_test(test_reserved_of_a_node_is_not_free),
        cmocka_unit_test(test_fit),
    };
    return cmocka_run_group_tests_name("descheduler_koord", tests, NULL, NULL);
}
