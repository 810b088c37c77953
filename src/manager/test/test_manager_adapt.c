/* test_manager_adapt.c - extensions.koord: damped falls, and nodes in trouble. */
#include "base/test/asserts.h"
#include "fixture.h"
#include "manager/noderesource/adapt.h"
#include "manager/noderesource/explain.h"

#define SECONDS(n) ((n)*NSEC_PER_SEC)
#define NODE(batch, conditions)                                                            \
    "{\"metadata\":{\"name\":\"n\"},\"status\":{\"capacity\":{\"cpu\":\"100\",\"memory\":" \
    "\"100Gi\"},\"allocatable\":{\"cpu\":\"100\",\"memory\":\"100Gi\"" batch               \
    "},\"conditions\":[" conditions "]}}"
#define BATCH(cpu, memory) \
    ",\"kubernetes.io/batch-cpu\":\"" cpu "\",\"kubernetes.io/batch-memory\":\"" memory "\""
#define DAMPED                                                                              \
    "{\"enable\":true,\"cpuReclaimThresholdPercent\":60,\"memoryReclaimThresholdPercent\":" \
    "60,\"extensions\":{\"koord\":{\"damping\":{\"enable\":true}}}}"
#define UNDAMPED \
    "{\"enable\":true,\"cpuReclaimThresholdPercent\":60,\"memoryReclaimThresholdPercent\":60}"

/* Use of the system and of the whole node, reported half a minute ago. */
static void report(struct fixture *f, int system_cpu, int node_cpu, const char *pods)
{
    fixture_metric(f, arena_printf(f->arena,
                                   "{\"metadata\":{\"name\":\"n\"},\"status\":{\"updateTime\":"
                                   "\"2026-01-01T11:59:30Z\",\"nodeMetric\":{\"nodeUsage\":"
                                   "{\"resources\":{\"cpu\":\"%d\",\"memory\":\"10Gi\"}},"
                                   "\"systemUsage\":{\"resources\":{\"cpu\":\"%d\",\"memory\":"
                                   "\"10Gi\"}}},\"podsMetric\":[%s]}}",
                                   node_cpu, system_cpu, pods));
}

static void pod(struct fixture *f, const char *name, const char *cpu, const char *scheduled)
{
    fixture_pod(f, arena_printf(f->arena,
                                "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"},\"spec\":"
                                "{\"nodeName\":\"n\",\"priority\":9500,\"containers\":[{\"name\":"
                                "\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]},\"status\":"
                                "{\"phase\":\"Running\",\"conditions\":[{\"type\":\"PodScheduled\","
                                "\"status\":\"True\",\"lastTransitionTime\":\"%s\"}]}}",
                                name, cpu, scheduled));
}

static struct nr_result run(struct fixture *f)
{
    struct nr_result r;

    nr_calculate(&f->in, f->arena, &r);
    return r;
}

static int64_t batch_cpu(const struct nr_result *r)
{
    return qty_value(r->items[NR_BATCH_CPU].value);
}

/* ---- damping --------------------------------------------------------------------------------- */

#define NEW "2026-01-01T11:59:10Z"
#define OLD "2026-01-01T11:50:00Z"

static void test_a_new_pod_does_not_empty_a_busy_node(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, DAMPED);
    fixture_node(&f, NODE(BATCH("15k", "50Gi"), ""));
    report(&f, 45, 45, "");
    pod(&f, "new", "10", NEW);
    struct nr_result r = run(&f);
    assert_int_equal(batch_cpu(&r), 15000);
    assert_true(r.damping.cpu_held);
    assert_false(r.damping.memory_held);
    assert_int_equal(qty_milli(r.damping.undamped.cpu), 5000);
    /* Its first metric: half a core. */
    report(&f, 45, 45,
           "{\"name\":\"new\",\"namespace\":\"ns\",\"priority\":\"koord-prod\",\"podUsage\":"
           "{\"resources\":{\"cpu\":\"500m\"}}}");
    r = run(&f);
    assert_int_equal(batch_cpu(&r), 14500);
    assert_false(r.damping.cpu_held);
}

static void test_without_damping_the_numbers_are_upstreams(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, UNDAMPED);
    fixture_node(&f, NODE(BATCH("15k", "50Gi"), ""));
    report(&f, 45, 45, "");
    pod(&f, "new", "10", NEW);
    struct nr_result r = run(&f);
    assert_int_equal(batch_cpu(&r), 5000);
}

static void test_after_a_second_report_the_request_counts(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, DAMPED);
    fixture_node(&f, NODE(BATCH("15k", "50Gi"), ""));
    report(&f, 45, 45, "");
    pod(&f, "slow", "10", OLD);
    struct nr_result r = run(&f);
    assert_int_equal(batch_cpu(&r), 5000);
}

static void test_what_use_explains_takes_effect_at_once(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, DAMPED);
    fixture_node(&f, NODE(BATCH("30k", "50Gi"), ""));
    report(&f, 45, 45, ""); /* 60 - 45 is left by what is measured */
    pod(&f, "new", "10", NEW);
    struct nr_result r = run(&f);
    assert_int_equal(batch_cpu(&r), 15000);
    assert_true(r.damping.cpu_held);
}

static void test_small_falls_are_not_held(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, DAMPED);
    fixture_node(&f, NODE(BATCH("50k", "50Gi"), ""));
    report(&f, 10, 10, "");
    pod(&f, "new", "10", NEW);
    struct nr_result r = run(&f);
    assert_int_equal(batch_cpu(&r), 40000); /* a fall of exactly 20% */
    assert_false(r.damping.cpu_held);
}

static void test_a_node_without_batch_has_nothing_to_lose(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, DAMPED);
    fixture_node(&f, NODE("", ""));
    report(&f, 45, 45, "");
    pod(&f, "new", "10", NEW);
    struct nr_result r = run(&f);
    assert_int_equal(batch_cpu(&r), 5000);
}

static void test_a_bad_extension_is_refused(void **state)
{
    static const char *const bad[] = { "{\"damping\":{\"enabled\":true}}",
                                       "{\"damping\":{\"fallPercent\":0}}",
                                       "{\"adaptive\":{\"maxPercent\":101}}", "[]" };
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct slo_sync s = fixture_config(
            &f, SLO_COLOCATION,
            arena_printf(f.arena, "{\"enable\":true,\"extensions\":{\"koord\":%s}}", bad[i]));
        assert_contains(s.bad[SLO_COLOCATION].text, "extensions.koord");
    }
    /* Those of others are theirs. */
    assert_int_equal(
        fixture_config(&f, SLO_COLOCATION, "{\"extensions\":{\"other\":[1]}}").bad[0].code, 0);
}

/* ---- nodes in trouble ------------------------------------------------------------------------ */

static const struct adaptive_options options = { .enable = true,
                                                 .step_percent = { true, 10 },
                                                 .max_percent = { true, 25 },
                                                 .recover_percent = { true, 2 },
                                                 .recover_seconds = { true, 300 } };

/* One step; the sentence lives in the arena. */
static const char *step(struct fixture *f, unsigned evictions, struct nr_adapt *s)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;

    if (!nr_adapt_step(&f->in, &colocation_strategy_default, &options, &evictions, s, &why))
        return NULL;
    assert_int_equal(evictions, 0);
    return arena_strdup(f->arena, strbuf_str(&why));
}

/* The same report, later. */
static void later(struct fixture *f, struct nr_adapt *s, nsec_t by)
{
    f->in.now += by;
    s->report -= 1; /* as if it were another one */
}

static void test_a_hot_node_loses_at_once_and_regains_slowly(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    struct nr_adapt s = { 0 };

    (void)state;
    fixture_init(&f);
    fixture_node(&f, NODE("", ""));
    report(&f, 10, 75, "");
    assert_string_equal(step(&f, 0, &s),
                        "reclaim thresholds are 10 (cpu) and 0 (memory) points below the "
                        "configured ones: cpu use of 75% is above 60%");
    assert_null(step(&f, 0, &s)); /* the same report again */
    later(&f, &s, SECONDS(60));
    assert_non_null(step(&f, 0, &s));
    later(&f, &s, SECONDS(60));
    assert_non_null(step(&f, 0, &s));
    assert_int_equal(s.cut.cpu, 25); /* not beyond the maximum */
    report(&f, 10, 40, "");
    later(&f, &s, SECONDS(60));
    assert_null(step(&f, 0, &s));
    later(&f, &s, SECONDS(240));
    assert_string_equal(step(&f, 0, &s),
                        "reclaim thresholds are 23 (cpu) and 0 (memory) points below the "
                        "configured ones: the node recovers");
    for (int i = 0; i < 12; i++) {
        later(&f, &s, SECONDS(300));
        step(&f, 0, &s);
    }
    assert_int_equal(s.cut.cpu, 0);
}

static void test_each_sign_of_trouble_has_its_words(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    struct nr_adapt s = { 0 };

    (void)state;
    fixture_init(&f);
    report(&f, 10, 10, "");
    fixture_node(&f, NODE("", "{\"type\":\"MemoryPressure\",\"status\":\"True\"}"));
    assert_contains(step(&f, 0, &s), "10 (memory) points below the configured ones: the "
                                     "node has MemoryPressure");
    assert_int_equal(s.cut.cpu, 0);
    fixture_node(&f, NODE("", ""));
    later(&f, &s, SECONDS(60));
    assert_contains(step(&f, 3, &s), "koordlet evicted 3 pods");
    s.report = f.in.metric->status.update_time - SECONDS(200);
    assert_contains(step(&f, 0, &s), "the node did not report for 3m20s");
}

static void test_pressure_counts_without_a_report(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    struct nr_adapt s = { 0 };

    (void)state;
    fixture_init(&f);
    fixture_node(&f, NODE("", ""));
    report(&f, 10, 10, "");
    assert_null(step(&f, 0, &s));
    fixture_node(&f, NODE("", "{\"type\":\"DiskPressure\",\"status\":\"True\"}"));
    assert_non_null(step(&f, 0, &s));
    assert_null(step(&f, 0, &s)); /* told once, until the next report */
    assert_int_equal(s.cut.cpu, 10);
}

static void test_the_cut_lowers_the_reclaim_percentages(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION,
                   "{\"enable\":true,\"cpuReclaimThresholdPercent\":60,\"extensions\":{\"koord\":"
                   "{\"adaptive\":{\"enable\":true}}}}");
    fixture_node(&f, NODE("", ""));
    report(&f, 10, 10, "");
    f.in.cut = (struct nr_cut){ 20, 0 };
    struct nr_result r = run(&f);
    assert_int_equal(batch_cpu(&r), 30000);
    assert_int_equal(r.cut.cpu, 20);
    assert_int_equal(r.configured->cpu_reclaim_threshold_percent.v, 60);
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":true,\"cpuReclaimThresholdPercent\":60}");
    r = run(&f); /* switched off: the cut does not count */
    assert_int_equal(batch_cpu(&r), 50000);
}

static void test_the_cut_is_kept_among_the_extensions_of_others(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct nr_cut cut = { 10, 5 };
    const char *text = nr_cut_store("{\"Object\":{\"x\":[1]}}", cut, a);

    (void)state;
    assert_string_equal(text, "{\"Object\":{\"x\":[1],\"koord\":{\"cpuCutPercent\":10,"
                              "\"memoryCutPercent\":5}}}");
    assert_int_equal(nr_cut_load(text).cpu, 10);
    assert_int_equal(nr_cut_load(text).memory, 5);
    assert_string_equal(nr_cut_store(text, (struct nr_cut){ 0, 0 }, a), "{\"Object\":{\"x\":[1]}}");
    assert_int_equal(nr_cut_load("{\"Object\":{\"koord\":{\"cpuCutPercent\":1000}}}").cpu, 0);
    assert_int_equal(nr_cut_load("nonsense").cpu, 0);
    assert_int_equal(nr_cut_load(NULL).memory, 0);
}

/* ---- explained ------------------------------------------------------------------------------- */

static int64_t term(const struct kj_val *resource, const char *name)
{
    const struct kj_val *terms = kj_get(resource, "terms");

    for (size_t i = 0; i < kj_len(terms); i++)
        if (streq(kj_str_or(kj_get(kj_at(terms, i), "name"), ""), name))
            return kj_i64_or(kj_get(kj_at(terms, i), "value"), 0);
    fail_msg("there is no term %s", name);
    return 0;
}

static struct kj_doc *explained(struct fixture *f, const struct slo_sync *sync)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    nr_explain(&f->in, sync, f->arena, &out);
    if (kj_parse(strbuf_str(&out), out.len, 0, &doc, &err) < 0)
        fail_msg("%s: %s", strbuf_str(&out), err.text);
    return doc;
}

/* The terms add up to what the controller would write, and what holds it back is told. */
static void test_each_term_is_explained_in_numbers(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)state;
    fixture_init(&f);
    struct slo_sync sync = fixture_config(&f, SLO_COLOCATION, DAMPED);
    fixture_node(&f, NODE(BATCH("15k", "50Gi"), ""));
    report(&f, 45, 45, "");
    pod(&f, "new", "10", NEW);
    doc = explained(&f, &sync);
    const struct kj_val *root = kj_root(doc), *cpu = kj_path(root, "batch.cpu");
    assert_int_equal(term(cpu, "capacity") + term(cpu, "safety margin") +
                         term(cpu, "system or reserved") + term(cpu, "high-priority use"),
                     kj_i64_or(kj_get(cpu, "formula"), -1));
    assert_int_equal(kj_i64_or(kj_path(cpu, "damping.undamped"), -1), 5000);
    assert_int_equal(kj_i64_or(kj_path(cpu, "damping.requestsOfNewPods"), -1), 10000);
    assert_int_equal(kj_i64_or(kj_get(cpu, "result"), -1), 15000);
    assert_true(kj_bool(kj_path(root, "colocation.enabled"), false));
    assert_string_equal(kj_str_or(kj_path(root, "report.age"), ""), "30s");
    assert_true(kj_bool(kj_path(root, "write.differs"), false)); /* mid-cpu is missing */
    assert_true(kj_bool(kj_path(root, "write.now"), false));
}

static void test_a_problem_is_explained(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, UNDAMPED);
    struct slo_sync sync = fixture_config(&f, SLO_COLOCATION, "{bad");
    fixture_node(&f, NODE(BATCH("15k", "50Gi"), ""));
    doc = explained(&f, &sync);
    const struct kj_val *root = kj_root(doc);
    assert_string_equal(kj_str_or(kj_path(root, "batch.why"), ""), "the node has no NodeMetric");
    assert_contains(kj_str_or(kj_at(kj_path(root, "colocation.problems"), 0), ""),
                    "colocation-config is refused: ");
    assert_string_equal(kj_str_or(kj_path(root, "plugins.GPUDeviceResource"), ""),
                        "the node has no Device");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_pod_does_not_empty_a_busy_node),
        cmocka_unit_test(test_without_damping_the_numbers_are_upstreams),
        cmocka_unit_test(test_after_a_second_report_the_request_counts),
        cmocka_unit_test(test_what_use_explains_takes_effect_at_once),
        cmocka_unit_test(test_small_falls_are_not_held),
        cmocka_unit_test(test_a_node_without_batch_has_nothing_to_lose),
        cmocka_unit_test(test_a_bad_extension_is_refused),
        cmocka_unit_test(test_a_hot_node_loses_at_once_and_regains_slowly),
        cmocka_unit_test(test_each_sign_of_trouble_has_its_words),
        cmocka_unit_test(test_pressure_counts_without_a_report),
        cmocka_unit_test(test_the_cut_lowers_the_reclaim_percentages),
        cmocka_unit_test(test_the_cut_is_kept_among_the_extensions_of_others),
        cmocka_unit_test(test_each_term_is_explained_in_numbers),
        cmocka_unit_test(test_a_problem_is_explained),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
