/* test_descheduler_load.c - LowNodeLoad: the 'Must hold' list of descheduler 3, reports that cannot
 * be used, and the order of pods (descheduler 2).
 */
#include "api/koord/nodemetric.h"
#include "api/node.h"
#include "api/pod.h"
#include "descheduler/framework/podsort.h"
#include "descheduler/plugins/lownodeload/lownodeload.h"
#include "descheduler/test/fixture.h"

/* ---- a small cluster: 4000m and 3000 of memory for each node ---------------------------------- */

struct load { /* what a case changes */
    const char *args;
    const char *memory;    /* that every pod uses */
    const char *p9_memory; /* NULL: as the others */
    bool all_prod;         /* else only those without a label, by their priority */
    int batch_from;        /* p of this number and later are labelled koord-batch; 0: none */
    int pods_max;          /* 0: 9 on n1, 10 on the others */
    int n1_evictable;      /* 0: 5 */
    int n3_pods;           /* prod pods on n3, which then is not cordoned */
    bool ext, n2_without_ext;
    bool cordon_n2;
};

static void add_metric(struct fixture *f, const char *node, const char *const *pods, int n,
                       const struct load *l)
{
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT;

    for (int i = 0; i < n; i++) {
        const char *memory = streq(pods[i], "p9") && l->p9_memory ? l->p9_memory : l->memory;
        strbuf_appendf(&list,
                       "%s{\"namespace\":\"default\",\"name\":\"%s\",\"podUsage\":{\"resources\":{"
                       "\"cpu\":\"400m\",\"memory\":\"%s\"%s}}}",
                       i ? "," : "", pods[i], str_or(memory, "0"),
                       l->ext ? ",\"ex.io/x\":\"1\"" : "");
    }
    fixture_add(f, &kind_nodemetric,
                "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":"
                "{\"systemUsage\":{\"resources\":{}}},\"podsMetric\":[%s]}}",
                node, NOW_TEXT, strbuf_str(&list));
}

static void add_load_node(struct fixture *f, const char *name, int pods, bool cordoned, bool ext)
{
    fixture_add(f, &kind_node,
                "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"unschedulable\":%s},\"status\":{"
                "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"3000\",\"pods\":\"%d\"%s}}}",
                name, cordoned ? "true" : "false", pods, ext ? ",\"ex.io/x\":\"8\"" : "");
}

/* stays: it is protected; number: what its name ends with. */
static void add_load_pod(struct fixture *f, const char *name, const char *node,
                         const struct load *l, int number, const char *extra)
{
    bool batch = l->batch_from && number >= l->batch_from && number < 6;
    const char *class = batch                               ? "koord-batch"
                        : l->all_prod || l->batch_from != 0 ? "koord-prod"
                                                            : NULL;
    CLEANUP(strbuf_fini) struct strbuf meta = STRBUF_INIT;

    if (class)
        strbuf_appendf(&meta, ",\"labels\":{\"koordinator.sh/priority-class\":\"%s\"}", class);
    add_pod(f, (struct pod_text){ name, node, .cpu = "400m", .memory = str_or(l->memory, "0"),
                                  .meta = strbuf_str(&meta), .spec = extra });
}

static void make_cluster(struct fixture *f, const struct load *l)
{
    int movable = l->n1_evictable ? l->n1_evictable : 5, n = 0, n3 = 0;
    const char *n1[16], *on_n3[16];
    static const char *const first[] = { "p1", "p2", "p3", "p4", "p5", "q1", "q2" };
    static const char *const third[] = { "t1", "t2", "t3", "t4", "t5", "t6" };

    add_load_node(f, "n1", l->pods_max ? l->pods_max : 9, false, l->ext);
    add_load_node(f, "n2", l->pods_max ? l->pods_max : 10, l->cordon_n2,
                  l->ext && !l->n2_without_ext);
    add_load_node(f, "n3", l->pods_max ? l->pods_max : 10, l->n3_pods == 0, l->ext);
    for (int i = 0; i < movable; i++) {
        add_load_pod(f, first[i], "n1", l, i + 1, "");
        n1[n++] = first[i];
    }
    const char *const critical = ",\"priority\":2000000000";
    add_load_pod(f, "p6", "n1", l, 6, critical);
    add_load_pod(f, "p7", "n1", l, 7, ",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]");
    add_load_pod(f, "p8", "n1", l, 8, critical);
    n1[n++] = "p6";
    n1[n++] = "p7";
    n1[n++] = "p8";
    add_load_pod(f, "p9", "n2", l, 9, "");
    for (int i = 0; i < l->n3_pods; i++) {
        add_load_pod(f, third[i], "n3", l, 10 + i, "");
        on_n3[n3++] = third[i];
    }
    add_metric(f, "n1", n1, n, l);
    add_metric(f, "n2", (const char *const[]){ "p9" }, 1, l);
    add_metric(f, "n3", on_n3, n3, l);
}

static unsigned count_words(const char *text)
{
    unsigned n = *text != 0;
    for (; *text; text++)
        n += *text == ' ';
    return n;
}

#define AT_ONCE                                                     \
    "anomalyCondition: {timeout: 1m, consecutiveAbnormalities: 1, " \
    "consecutiveNormalities: 1}"

/* How many go, of a cluster as the specification draws it. */
static unsigned evicted(struct fixture *f, const struct load *l)
{
    CLEANUP(mem_free) char *args = xasprintf("{" AT_ONCE ", %s}", l->args);

    fixture_init(f);
    make_cluster(f, l);
    unsigned n = count_words(run_plugin(f, "balance", "LowNodeLoad", args));
    return n;
}

static void expect(unsigned want, const struct load *l)
{
    struct fixture f;
    unsigned n = evicted(&f, l);

    if (n != want)
        fail_msg("%s: %u instead of %u: %s", l->args, n, want, strbuf_str(&f.gone));
    fixture_fini(&f);
}

static void test_table_of_the_specification(void **state)
{
    (void)state;
    expect(4, &(struct load){ .args = "lowThresholds: {cpu: 30, pods: 30}, highThresholds: {cpu: "
                                      "50, pods: 50}" });
    expect(3, &(struct load){ .args = "lowThresholds: {cpu: 30, pods: 30}, highThresholds: {cpu: "
                                      "50, pods: 50}",
                              .memory = "300",
                              .p9_memory = "2100" });
    expect(2, &(struct load){ .args = "useDeviationThresholds: true, lowThresholds: {cpu: 5, pods: "
                                      "5}, highThresholds: {cpu: 5, pods: 5}" });
    expect(4, &(struct load){ .args = "lowThresholds: {cpu: 0, pods: 0}, highThresholds: {cpu: "
                                      "100, pods: 100}, prodLowThresholds: {cpu: 30, pods: 30}, "
                                      "prodHighThresholds: {cpu: 50, pods: 50}",
                              .all_prod = true });
    expect(2, &(struct load){ .args = "lowThresholds: {cpu: 30, pods: 30}, highThresholds: {cpu: "
                                      "90, pods: 90}, prodLowThresholds: {cpu: 20, pods: 20}, "
                                      "prodHighThresholds: {cpu: 40, pods: 40}",
                              .batch_from = 3 });
    expect(3, &(struct load){ .args = "lowThresholds: {pods: 30, 'ex.io/x': 30}, highThresholds: "
                                      "{pods: 50, 'ex.io/x': 50}",
                              .ext = true });
    expect(0, &(struct load){ .args = "lowThresholds: {pods: 30, 'ex.io/x': 30}, highThresholds: "
                                      "{pods: 50, 'ex.io/x': 50}",
                              .ext = true,
                              .n2_without_ext = true });
    expect(0, &(struct load){ .args = "lowThresholds: {cpu: 30, pods: 30}, highThresholds: {cpu: "
                                      "50, pods: 50}",
                              .cordon_n2 = true });
}

static void test_node_and_prod_together(void **state)
{
    (void)state;
    expect(1, &(struct load){ .args = "lowThresholds: {cpu: 30, pods: 30}, highThresholds: {cpu: "
                                      "70, pods: 80}, prodLowThresholds: {cpu: 20, pods: 20}, "
                                      "prodHighThresholds: {cpu: 40, pods: 40}",
                              .all_prod = true });
    expect(5, &(struct load){ .args = "lowThresholds: {cpu: 30, pods: 50}, highThresholds: {cpu: "
                                      "60, pods: 80}, prodLowThresholds: {cpu: 20, pods: 30}, "
                                      "prodHighThresholds: {cpu: 30, pods: 50}",
                              .all_prod = true,
                              .pods_max = 20,
                              .n1_evictable = 7,
                              .n3_pods = 6 });
    expect(3, &(struct load){ .args = "useDeviationThresholds: true, lowThresholds: {cpu: 0, pods: "
                                      "0}, highThresholds: {cpu: 100, pods: 100}, "
                                      "prodLowThresholds: {cpu: 10, pods: 10}, prodHighThresholds: "
                                      "{cpu: 10, pods: 10}",
                              .all_prod = true,
                              .pods_max = 20,
                              .n3_pods = 2 });
}

/* ---- detectors -------------------------------------------------------------------------------- */

#define HOT "lowThresholds: {cpu: 30, pods: 30}, highThresholds: {cpu: 50, pods: 50}"

static void test_rounds_before_the_first_eviction(void **state)
{
    CLEANUP(mem_free)
    char *yaml =
        config_of("balance", "LowNodeLoad",
                  "{anomalyCondition: {timeout: 1m, consecutiveAbnormalities: 2, "
                  "consecutiveNormalities: 1}, nodeMetricExpirationSeconds: 100000, " HOT "}",
                  "{}");
    struct fixture f;
    struct rounds r;

    (void)state;
    fixture_init(&f);
    make_cluster(&f, &(struct load){ .args = "" });
    rounds_init(&r, &f, yaml);
    assert_string_equal(rounds_run(&r), "");
    f.now += 10 * NSEC_PER_SEC;
    assert_string_equal(rounds_run(&r), "");
    f.now += 10 * NSEC_PER_SEC;
    assert_int_equal(count_words(rounds_run(&r)), 4);
    assert_non_null(strstr(strbuf_str(&f.classes), "n1 high"));
    rounds_fini(&r);
    fixture_fini(&f);
}

static void test_default_needs_six_rounds(void **state)
{
    CLEANUP(mem_free)
    char *yaml =
        config_of("balance", "LowNodeLoad", "{nodeMetricExpirationSeconds: 100000, " HOT "}", "{}");
    struct fixture f;
    struct rounds r;
    unsigned rounds = 1;

    (void)state;
    fixture_init(&f);
    make_cluster(&f, &(struct load){ .args = "" });
    rounds_init(&r, &f, yaml);
    while (!*rounds_run(&r) && rounds < 20) {
        f.now += 10 * NSEC_PER_SEC;
        rounds++;
    }
    assert_int_equal(rounds, 6);
    rounds_fini(&r);
    fixture_fini(&f);
}

/* ---- reports that cannot be used -------------------------------------------------------------- */

static void test_stale_report_moves_nobody(void **state)
{
    CLEANUP(mem_free)
    char *yaml = config_of("balance", "LowNodeLoad", "{" AT_ONCE ", " HOT "}", "{}");
    struct fixture f;
    struct rounds r;

    (void)state;
    fixture_init(&f);
    make_cluster(&f, &(struct load){ .args = "" });
    rounds_init(&r, &f, yaml);
    f.now += 179 * NSEC_PER_SEC;
    assert_int_equal(count_words(rounds_run(&r)), 4);
    f.now += 1 * NSEC_PER_SEC;
    assert_string_equal(rounds_run(&r), "");
    assert_non_null(strstr(strbuf_str(&f.classes), "n1 unknown"));
    rounds_fini(&r);
    fixture_fini(&f);
}

/* 2400m of 4000m, and 50 percent are allowed: one has to go, unless one is going already. */
static const char *with_last_pod(struct fixture *f, const char *meta)
{
    static const char *const names[] = { "p1", "p2", "p3", "p4", "p5", "p6" };
    const struct load l = { .memory = "0" };

    add_load_node(f, "n1", 10, false, false);
    add_load_node(f, "n2", 10, false, false);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        add_pod(f, (struct pod_text){ names[i], "n1", .cpu = "400m", .memory = "0",
                                      .meta = i == ARRAY_LEN(names) - 1 ? meta : "" });
    add_metric(f, "n1", names, ARRAY_LEN(names), &l);
    add_metric(f, "n2", names, 0, &l);
    return run_plugin(f, "balance", "LowNodeLoad",
                      "{lowThresholds: {cpu: 30}, highThresholds: {cpu: 50}, anomalyCondition: "
                      "{consecutiveAbnormalities: 1}}");
}

static void test_who_goes_already_counts_as_gone(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(count_words(with_last_pod(&f, "")), 1);
    fixture_fini(&f);
    fixture_init(&f);
    assert_string_equal(with_last_pod(&f, ",\"deletionTimestamp\":\"" NOW_TEXT "\""), "");
    fixture_fini(&f);
}

static void test_negative_use_leaves_out_that_pod_or_node(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_load_node(&f, "n1", 10, false, false);
    add_load_node(&f, "n2", 10, false, false);
    add_load_node(&f, "n3", 10, false, false);
    add_pod(&f, (struct pod_text){ "good", "n1", .cpu = "2", .memory = "0" });
    add_pod(&f, (struct pod_text){ "bad", "n1", .cpu = "1", .memory = "0" });
    add_pod(&f, (struct pod_text){ "more", "n1", .cpu = "1", .memory = "0" });
#define ENTRY(name, cpu)                                                             \
    "{\"namespace\":\"default\",\"name\":\"" name "\",\"podUsage\":{\"resources\":{" \
    "\"cpu\":\"" cpu "\"}}}"
    fixture_add(&f, &kind_nodemetric,
                "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":"
                "{\"systemUsage\":{\"resources\":{}}},\"podsMetric\":[" ENTRY(
                    "bad", "-5") "," ENTRY("good", "1") "," ENTRY("more", "2") "]}}",
                NOW_TEXT);
    fixture_add(&f, &kind_nodemetric,
                "{\"metadata\":{\"name\":\"n2\"},\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":"
                "{\"systemUsage\":{\"resources\":{\"cpu\":\"-1\"}}},\"podsMetric\":[]}}",
                NOW_TEXT);
    fixture_add(&f, &kind_nodemetric,
                "{\"metadata\":{\"name\":\"n3\"},\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":"
                "{\"systemUsage\":{\"resources\":{}}},\"podsMetric\":[]}}",
                NOW_TEXT);
    const char *gone = run_plugin(&f, "balance", "LowNodeLoad",
                                  "{" AT_ONCE ", lowThresholds: {cpu: 20}, highThresholds: {cpu: "
                                  "50}}");
    assert_string_equal(gone, "good");
    assert_non_null(strstr(strbuf_str(&f.classes), "n2 unknown"));
    fixture_fini(&f);
}

/* A report may name pods that have moved on: they count as use, and nobody is taken from elsewhere.
 */
static void test_reported_pods_of_other_nodes_stay(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_load_node(&f, "n1", 10, false, false);
    add_load_node(&f, "n2", 10, false, false);
    add_pod(&f, (struct pod_text){ "mine", "n1", .cpu = "1", .memory = "0" });
    add_pod(&f, (struct pod_text){ "other", "n2", .cpu = "1", .memory = "0" });
    fixture_add(&f, &kind_nodemetric,
                "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":"
                "{\"systemUsage\":{\"resources\":{}}},\"podsMetric\":[" ENTRY(
                    "mine", "500m") "," ENTRY("other", "3") "," ENTRY("nobody", "0") "]}}",
                NOW_TEXT);
    fixture_add(&f, &kind_nodemetric,
                "{\"metadata\":{\"name\":\"n2\"},\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":"
                "{\"systemUsage\":{\"resources\":{}}},\"podsMetric\":[]}}",
                NOW_TEXT);
    assert_string_equal(run_plugin(&f, "balance", "LowNodeLoad",
                                   "{" AT_ONCE ", lowThresholds: {cpu: 20}, highThresholds: {cpu: "
                                   "50}}"),
                        "mine");
    fixture_fini(&f);
}

/* ---- order of pods ---------------------------------------------------------------------------- */

static void test_usage_score(void **state)
{
    const int64_t gi = INT64_C(1) << 30, weights[] = { 1, 2 };
    const int64_t excess[] = { 4000, 4 * gi };
    const int64_t a[] = { 2000, 5 * gi }, b[] = { 3000, 4 * gi }, c[] = { 4000, 3 * gi },
                  d[] = { 5000, 2 * gi };

    (void)state;
    assert_true(lnl_usage_score(b, excess, weights, 2) > lnl_usage_score(a, excess, weights, 2));
    assert_true(lnl_usage_score(a, excess, weights, 2) > lnl_usage_score(c, excess, weights, 2));
    assert_true(lnl_usage_score(c, excess, weights, 2) > lnl_usage_score(d, excess, weights, 2));
    double score = lnl_usage_score(b, excess, weights, 2);
    assert_true(score > 1.5833 && score < 1.5834);
    /* Only cpu is over-used, by ten cores: whoever uses most of it, whatever memory says. */
    const int64_t only_cpu[] = { 10000, 0 }, weight[] = { 1, 0 };
    double last = 2;
    for (int64_t cores = 4; cores > 0; cores--) {
        const int64_t pod[] = { cores * 1000, (5 - cores) * gi };
        assert_true(lnl_usage_score(pod, only_cpu, weight, 2) < last);
        last = lnl_usage_score(pod, only_cpu, weight, 2);
    }
}

static void test_costs_decide_between_equals(void **state)
{
    struct fixture f;
    struct podrank all[3];

    (void)state;
    fixture_init(&f);
#define COSTS(a, b)                                                               \
    ",\"annotations\":{\"controller.kubernetes.io/pod-deletion-cost\":\"" a "\"," \
    "\"scheduling.koordinator.sh/eviction-cost\":\"" b "\"}"
    add_pod(&f, (struct pod_text){ "later", "n", .meta = COSTS("200", "200") });
    add_pod(&f, (struct pod_text){ "second", "n", .meta = COSTS("200", "100") });
    add_pod(&f, (struct pod_text){ "first", "n", .meta = COSTS("100", "300") });
    for (int i = 0; i < 3; i++)
        all[i] = podrank_of(pod_of(f.objects.items[i]));
    podrank_sort(all, 3);
    assert_string_equal(all[0].pod->obj.meta.name, "first");
    assert_string_equal(all[1].pod->obj.meta.name, "second");
    /* What cannot be read counts as 0, and only for that pod. */
    add_pod(&f, (struct pod_text){ "dear", "n", .meta = COSTS("1", "1") });
    add_pod(&f, (struct pod_text){ "odd", "n", .meta = COSTS("much", "008") });
    add_pod(&f, (struct pod_text){ "cheap", "n", .meta = COSTS("0", "-1") });
    for (int i = 0; i < 3; i++)
        all[i] = podrank_of(pod_of(f.objects.items[3 + i]));
    podrank_sort(all, 3);
    assert_string_equal(all[0].pod->obj.meta.name, "cheap");
    assert_string_equal(all[1].pod->obj.meta.name, "odd");
    /* Among equals, the one moved longest ago. */
    all[0] = all[1] = podrank_of(pod_of(f.objects.items[0]));
    all[0].moved = 20;
    all[1].moved = 10;
    podrank_sort(all, 2);
    assert_int_equal(all[0].moved, 10);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_of_the_specification),
        cmocka_unit_test(test_node_and_prod_together),
        cmocka_unit_test(test_rounds_before_the_first_eviction),
        cmocka_unit_test(test_default_needs_six_rounds),
        cmocka_unit_test(test_stale_report_moves_nobody),
        cmocka_unit_test(test_who_goes_already_counts_as_gone),
        cmocka_unit_test(test_negative_use_leaves_out_that_pod_or_node),
        cmocka_unit_test(test_reported_pods_of_other_nodes_stay),
        cmocka_unit_test(test_usage_score),
        cmocka_unit_test(test_costs_decide_between_equals),
    };
    return cmocka_run_group_tests_name("descheduler_load", tests, NULL, NULL);
}
