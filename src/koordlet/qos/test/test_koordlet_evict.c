/* test_koordlet_evict.c - whom the evictors choose (koordlet-qos 6, 7, 8: what must hold). */
#include "koordlet/qos/evict/task.h"
#include "koordlet/qos/test/qos_fixture.h"

#define G 1e9

/* ---- what a test says ------------------------------------------------------------------------ */

struct sample {
    const char *pod;
    double used;
};
struct fixture {
    struct object_fixture *b;
    struct podset *pods;
    struct kobj *node;
    struct threshold_strategy slo;
    struct evict_in in;
    const struct sample *samples;
    size_t nsamples;
};

static bool used(void *arg, const struct npod *p, enum evict_usage what, double *ret)
{
    struct fixture *f = arg;

    (void)what;
    for (size_t i = 0; i < f->nsamples; i++)
        if (streq(f->samples[i].pod, npod_pod(p)->obj.meta.name)) {
            *ret = f->samples[i].used;
            return true;
        }
    return false;
}

static void init(struct fixture *f, struct object_fixture *b, const char *node, const char *pods,
                 const char *slo)
{
    *f = (struct fixture){ .b = b };
    f->pods = pods_of(b, pods);
    f->node = fixture_object(b, &kind_node, node);
    slo_part(b, &threshold_strategy_schema, slo, &f->slo);
    f->in = (struct evict_in){ .node = node_of(f->node),
                               .pods = f->pods->pods,
                               .npods = f->pods->n,
                               .slo = &f->slo,
                               .collect_interval = NSEC_PER_SEC,
                               .used = used,
                               .arg = f };
}

static void fini(struct fixture *f)
{
    podset_unref(f->pods);
    kobj_unref(f->node);
}

static struct evict_task make(struct fixture *f, enum evict_feature which)
{
    struct kerr err = { 0 };
    struct evict_task t;

    int r = evict_task_make(which, &f->in, f->b->arena, &t, &err);
    if (r < 0)
        fail_msg("%s", err.text);
    assert_int_equal(r, 1);
    return t;
}

/* 0: nothing; negative: refused, with this at the end of the text. */
static void assert_none(struct fixture *f, enum evict_feature which, const char *error)
{
    struct kerr err = { 0 };
    struct evict_task t;
    int r = evict_task_make(which, &f->in, f->b->arena, &t, &err);

    if (!error) {
        assert_int_equal(r, 0);
        return;
    }
    assert_int_equal(r, -EINVAL);
    if (strlen(err.text) < strlen(error) ||
        !streq(err.text + strlen(err.text) - strlen(error), error))
        fail_msg("%s, instead of %s", err.text, error);
}

struct outcome {
    const char *pending, *failing; /* a name; NULL: none */
    struct strbuf evicted;
    struct fixture *f;
};

static bool is_pending(void *arg, uint32_t pod)
{
    const struct outcome *o = arg;

    return o->pending && streq(npod_pod(o->f->pods->pods[pod])->obj.meta.name, o->pending);
}

/* Runs the tasks and compares the names of the victims in order. */
static struct evict_run run(struct fixture *f, const struct evict_task *tasks, uint32_t n,
                            struct outcome *o, const char *expected)
{
    const struct evict_task *t;
    struct evict_run r;
    uint32_t pod;

    o->f = f;
    evict_run_init(&r, tasks, n, f->pods->n, f->b->arena);
    while (evict_run_next(&r, is_pending, o, &pod, &t)) {
        const char *name = npod_pod(f->pods->pods[pod])->obj.meta.name;
        bool ok = !o->failing || !streq(name, o->failing);
        strbuf_appendf(&o->evicted, "%s%s%s", o->evicted.len ? " " : "", name, ok ? "" : "!");
        evict_run_result(&r, ok);
    }
    assert_string_equal(strbuf_str(&o->evicted), expected);
    strbuf_fini(&o->evicted);
    return r;
}
#define RUN(f, tasks, n, expected) run((f), (tasks), (n), &(struct outcome){ 0 }, (expected))

static void assert_order(struct fixture *f, const struct evict_task *t, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;

    for (uint32_t i = 0; i < t->ncandidates; i++)
        strbuf_appendf(&names, "%s%s", i ? " " : "",
                       npod_pod(f->pods->pods[t->candidates[i]])->obj.meta.name);
    assert_string_equal(strbuf_str(&names), expected);
}

#define POD(name, labels, annotations, priority, requests)                                      \
    "{'metadata':{'name':'" name "','namespace':'d','uid':'" name "','labels':{" labels         \
    "},'annotations':{" annotations "}},'spec':{'priority':" priority                           \
    ",'containers':[{'name':'c','resources':{'requests':{" requests "}}}]},'status':{'phase':'" \
    "Running'}}"
#define BE      "'koordinator.sh/qosClass':'BE'"
#define ENABLED "'koordinator.sh/eviction-enabled':'true'"

/* ---- the engine (6) -------------------------------------------------------------------------- */

static void test_two_tasks_count_a_pod_for_all_kinds(void **state)
{
    static const struct sample samples[] = { { "b1", 1536.0 * 1024 * 1024 },
                                             { "b2", 768.0 * 1024 * 1024 },
                                             { "mid", 3.0 * GI } };
    struct fixture f;
    struct evict_task tasks[2];

    init(
        &f, *state, "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'16','memory':'100Gi'}}}",
        "[" POD("b1", BE, "", "5500", "'kubernetes.io/batch-cpu':'1000'") "," POD(
            "b2", BE, "", "5500", "'kubernetes.io/batch-cpu':'500'") "," POD("mid", "", "", "7500",
                                                                             "'kubernetes.io/"
                                                                             "mid-cpu':'2000'") "]",
        "{'memoryEvictThresholdPercent':50,'memoryEvictLowerPercent':48}");
    f.samples = samples, f.nsamples = ARRAY_LEN(samples);
    f.in.node_bytes = (struct opt_f64){ true, 50.0 * GI };
    tasks[0] = make(&f, EVICT_FEATURE_BE_MEMORY);
    assert_int_equal(tasks[0].to_release.v[EVICT_MEMORY_BYTES], 2 * GI);
    static const uint32_t order[] = { 0, 1, 2 }; /* by UID: b1, b2, mid */
    struct evict_amounts gives[3] = { 0 };
    evict_put(&gives[0], EVICT_BATCH_CPU, 1000);
    evict_put(&gives[1], EVICT_BATCH_CPU, 500);
    evict_put(&gives[2], EVICT_MID_CPU, 2000);
    tasks[1] = (struct evict_task){ .feature = EVICT_FEATURE_CPU_ALLOCATABLE,
                                    .kind = EVICT_POD_REQUEST,
                                    .candidates = order,
                                    .ncandidates = 3,
                                    .gives = gives };
    evict_put(&tasks[1].to_release, EVICT_BATCH_CPU, 1200);
    evict_put(&tasks[1].to_release, EVICT_MID_CPU, 1500);
    struct evict_run r = RUN(&f, tasks, 2, "b1 b2 mid");
    assert_int_equal(r.released[EVICT_POD_USED].v[EVICT_MEMORY_BYTES], 2304 * MI + 3 * GI);
    assert_int_equal(r.released[EVICT_POD_REQUEST].v[EVICT_BATCH_CPU], 1500);
    assert_int_equal(r.released[EVICT_POD_REQUEST].v[EVICT_MID_CPU], 2000);
    assert_true(r.evicted);
    fini(&f);
}

static void test_candidates_go_by_eviction_priority_first(void **state)
{
    static const struct sample samples[] = { { "a", 1 }, { "b", 1 }, { "c", 1 }, { "d", 1 } };
    struct fixture f;

    init(&f, *state, "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'100'}}}",
         "[" POD("a", ENABLED, "'koordinator.sh/eviction-priority':'100'", "120", "") "," POD(
             "b", ENABLED, "'koordinator.sh/eviction-priority':'-1'", "120",
             "") "," POD("c", ENABLED, "", "100",
                         "") "," POD("d", ENABLED, "'koordinator.sh/eviction-priority':'invalid'",
                                     "120", "") "]",
         "{'cpuEvictThresholdPercent':80,'evictEnabledPriorityThreshold':200}");
    f.samples = samples, f.nsamples = ARRAY_LEN(samples);
    f.in.node_cores = (struct opt_f64){ true, 90 };
    struct evict_task t = make(&f, EVICT_FEATURE_CPU);
    assert_order(&f, &t, "b c d a");
    fini(&f);
}

static void test_filters_of_the_priority_features(void **state)
{
    static const struct sample samples[] = { { "low", 1 },  { "high", 1 }, { "off", 1 },
                                             { "deny", 1 }, { "bad", 1 },  { "list", 1 } };
    struct fixture f;

    init(&f, *state, "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'100'}}}",
         "[" POD("low", ENABLED, "", "5000", "") "," POD("high", ENABLED, "", "6001", "") "," POD(
             "off", "", "", "5000",
             "") "," POD("deny", ENABLED, "'koordinator.sh/eviction-policy':'[]'", "5000",
                         "") "," POD("bad", ENABLED,
                                     "'koordinator.sh/"
                                     "eviction-policy':'x'",
                                     "5000", "") "," POD("list", ENABLED,
                                                         "'koordinator.sh/"
                                                         "eviction-policy':'[\\'"
                                                         "CPUEvict\\']'",
                                                         "4000", "") "," POD("unseen", ENABLED, "",
                                                                             "5000", "") "]",
         "{'cpuEvictThresholdPercent':80,'evictEnabledPriorityThreshold':6000}");
    f.samples = samples, f.nsamples = ARRAY_LEN(samples);
    f.in.node_cores = (struct opt_f64){ true, 90 };
    struct evict_task t = make(&f, EVICT_FEATURE_CPU);
    assert_order(&f, &t, "list low");
    fini(&f);
}

#define TWO_GIGS                                                           \
    "[" POD("first", BE, "", "5000", "") "," POD("second", BE, "", "5500", \
                                                 "") "," POD("third", BE, "", "5600", "") "]"

static void test_victims_that_are_still_there_count(void **state)
{
    struct sample samples[] = { { "first", 2.0 * GI }, { "second", 2.0 * GI }, { "third", 1 } };
    struct fixture f;

    init(&f, *state, "{'metadata':{'name':'n'},'status':{'capacity':{'memory':'100Gi'}}}", TWO_GIGS,
         "{'memoryEvictThresholdPercent':50,'memoryEvictLowerPercent':48}");
    f.samples = samples, f.nsamples = ARRAY_LEN(samples);
    f.in.node_bytes = (struct opt_f64){ true, 50.0 * GI };
    struct evict_task t = make(&f, EVICT_FEATURE_BE_MEMORY);
    struct evict_run r = run(&f, &t, 1, &(struct outcome){ .pending = "first" }, "");
    assert_false(r.evicted);
    samples[0].used = GI;
    t = make(&f, EVICT_FEATURE_BE_MEMORY);
    r = run(&f, &t, 1, &(struct outcome){ .pending = "first" }, "second");
    assert_int_equal(r.released[EVICT_POD_USED].v[EVICT_MEMORY_BYTES], 3 * GI);
    /* One that could not be evicted releases nothing. */
    r = run(&f, &t, 1, &(struct outcome){ .failing = "first" }, "first! second");
    assert_int_equal(r.released[EVICT_POD_USED].v[EVICT_MEMORY_BYTES], 2 * GI);
    assert_true(evict_run_satisfied(&r, &t));
    fini(&f);
}

/* ---- CPU (7) --------------------------------------------------------------------------------- */

#define CPU_NODE(batch) "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'100'}," batch "}}"
#define BATCH(n)        "'allocatable':{'kubernetes.io/batch-cpu':'" n "'}"
#define SATISFACTION \
    "'cpuEvictBESatisfactionLowerPercent':30,'cpuEvictBESatisfactionUpperPercent':40"
#define ONE_BE "[" POD("p", BE, "", "5000", "'kubernetes.io/batch-cpu':'1000'") "]"

static void set_be(struct fixture *f, struct evict_be_cpu avg, struct evict_be_cpu last)
{
    f->in.be_known = true;
    f->in.be_avg = avg;
    f->in.be_last = last;
    f->in.be_samples = 10;
}
#define BE_CPU(limit, used, req) ((struct evict_be_cpu){ (used), (req), (limit) })

static void test_satisfaction_releases_the_smaller_of_average_and_last(void **state)
{
    struct fixture f;

    init(&f, *state, CPU_NODE(BATCH("1")), ONE_BE, "{" SATISFACTION "}");
    set_be(&f, BE_CPU(10000, 9500, 50000), BE_CPU(14000, 13000, 50000));
    assert_int_equal(make(&f, EVICT_FEATURE_BE_CPU).to_release.v[EVICT_BATCH_CPU], 6000);
    set_be(&f, BE_CPU(13000, 12000, 50000), BE_CPU(11000, 10000, 50000));
    assert_int_equal(make(&f, EVICT_FEATURE_BE_CPU).to_release.v[EVICT_BATCH_CPU], 7000);
    set_be(&f, BE_CPU(10000, 9500, 50000), BE_CPU(10000, 5000, 50000));
    assert_none(&f, EVICT_FEATURE_BE_CPU, NULL);
    set_be(&f, BE_CPU(25000, 24000, 50000), BE_CPU(25000, 24000, 50000));
    assert_none(&f, EVICT_FEATURE_BE_CPU, NULL);
    f.in.be_known = false;
    assert_none(&f, EVICT_FEATURE_BE_CPU, NULL);
    fini(&f);
}

static void test_satisfaction_wants_a_third_of_the_window(void **state)
{
    struct fixture f;

    init(&f, *state, CPU_NODE(BATCH("1")), ONE_BE,
         "{" SATISFACTION ",'cpuEvictTimeWindowSeconds':60}");
    set_be(&f, BE_CPU(10000, 9500, 50000), BE_CPU(10000, 9500, 50000));
    f.in.be_samples = 19;
    assert_none(&f, EVICT_FEATURE_BE_CPU, NULL);
    f.in.be_samples = 20;
    assert_int_equal(make(&f, EVICT_FEATURE_BE_CPU).to_release.v[EVICT_BATCH_CPU], 10000);
    fini(&f);
}

static void test_satisfaction_by_allocatable(void **state)
{
    static const struct {
        const char *node;
        int64_t release;
    } cases[] = {
        { CPU_NODE(BATCH("8000")), 12000 },
        { CPU_NODE(BATCH("0")), 19999 },
        { CPU_NODE("'allocatable':{}"), 0 },
    };
    struct fixture f;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        init(&f, *state, cases[i].node, ONE_BE,
             "{" SATISFACTION ",'cpuEvictPolicy':'evictByAllocatable',"
             "'cpuEvictBEUsageThresholdPercent':50}");
        set_be(&f, BE_CPU(1, 6000, 50000), BE_CPU(1, 4000, 50000));
        if (cases[i].release)
            assert_int_equal(make(&f, EVICT_FEATURE_BE_CPU).to_release.v[EVICT_BATCH_CPU],
                             cases[i].release);
        else
            assert_none(&f, EVICT_FEATURE_BE_CPU, NULL);
        fini(&f);
    }
}

static void test_best_effort_goes_by_priority_then_by_use_of_its_request(void **state)
{
    static const struct sample samples[] = { { "p100a", 3 }, { "p100b", 4 }, { "p10", 4 } };
    struct fixture f;

    init(&f, *state, CPU_NODE(BATCH("1")),
         "[" POD("p100a", BE, "", "100", "'kubernetes.io/batch-cpu':'16k'") "," POD(
             "p100b", BE, "", "100",
             "'kubernetes.io/batch-cpu':'16k'") "," POD("p10", BE, "", "10",
                                                        "'kubernetes.io/"
                                                        "batch-cpu':'16k'") "," POD("ls",
                                                                                    "'ko"
                                                                                    "ord"
                                                                                    "ina"
                                                                                    "tor"
                                                                                    ".sh"
                                                                                    "/qo"
                                                                                    "sCl"
                                                                                    "ass"
                                                                                    "':'"
                                                                                    "LS"
                                                                                    "'",
                                                                                    "", "1",
                                                                                    "") "]",
         "{" SATISFACTION "}");
    f.samples = samples, f.nsamples = ARRAY_LEN(samples);
    set_be(&f, BE_CPU(10000, 9500, 50000), BE_CPU(10000, 9500, 50000));
    struct evict_task t = make(&f, EVICT_FEATURE_BE_CPU);
    assert_order(&f, &t, "p10 p100b p100a");
    fini(&f);
}

static void test_cpu_usage_over_the_threshold(void **state)
{
    struct fixture f;

    init(&f, *state, CPU_NODE(BATCH("1")), ONE_BE,
         "{'cpuEvictThresholdPercent':80,'evictEnabledPriorityThreshold':6000}");
    f.in.node_cores = (struct opt_f64){ true, 81 };
    assert_int_equal(make(&f, EVICT_FEATURE_CPU).to_release.v[EVICT_CPU_MILLI], 3000);
    f.slo.cpu_evict_lower_percent = (struct opt_i64){ true, 79 };
    assert_int_equal(make(&f, EVICT_FEATURE_CPU).to_release.v[EVICT_CPU_MILLI], 2000);
    f.slo.cpu_evict_lower_percent.v = 80;
    assert_none(&f, EVICT_FEATURE_CPU, "lower percent(80) should less than threshold percent(80)");
    f.slo.cpu_evict_lower_percent.set = false;
    f.in.node_cores.v = 79.5;
    assert_none(&f, EVICT_FEATURE_CPU, NULL);
    fini(&f);
}

#define BATCH_POD(name, cpu) \
    POD(name, ENABLED "," BE, "", "5500", "'kubernetes.io/batch-cpu':'" cpu "'")
#define ALLOCATABLE "'cpuAllocatableEvictThresholdPercent':80,'cpuAllocatableEvictLowerPercent':70,"

static void test_more_batch_cpu_asked_for_than_the_node_has(void **state)
{
    static const struct sample samples[] = { { "a", 1 }, { "b", 1 }, { "native", 1 } };
    struct fixture f;

    init(&f, *state, CPU_NODE(BATCH("100k")),
         "[" BATCH_POD("a", "45k") "," BATCH_POD("b", "40k") "," POD("native", ENABLED, "", "3000",
                                                                     "'cpu':'200'") "]",
         "{" ALLOCATABLE "'allocatableEvictPriorityThreshold':7999}");
    f.samples = samples, f.nsamples = ARRAY_LEN(samples);
    struct evict_task t = make(&f, EVICT_FEATURE_CPU_ALLOCATABLE);
    assert_int_equal(t.to_release.v[EVICT_BATCH_CPU], 15000);
    /* Native requests are never released, whatever they are. */
    assert_int_equal(t.to_release.has, 1U << EVICT_BATCH_CPU);
    f.slo.allocatable_evict_priority_threshold.v = 8000;
    assert_none(&f, EVICT_FEATURE_CPU_ALLOCATABLE,
                "priorityThresholdPercent(8000) should less than 7999, koor-prod pods should not "
                "be killed");
    fini(&f);
}

/* ---- memory (8) ------------------------------------------------------------------------------ */

#define MEMORY_NODE "{'metadata':{'name':'n'},'status':{'capacity':{'memory':'120G'}}}"
#define MEMORY_PODS                                                                          \
    "[" POD("p100a", BE, "", "100", "") "," POD("p100b", BE, "", "100", "") "," POD(         \
        "p120", BE, "", "120", "") "," POD("ls", "'koordinator.sh/qosClass':'LS'", "", "10", \
                                           "") "," POD("plain", "", "", "10", "") "]"

static void test_memory_usage_and_who_goes(void **state)
{
    static const struct sample samples[] = { { "p100a", 5 * G },
                                             { "p100b", 20 * G },
                                             { "p120", 10 * G },
                                             { "ls", 30 * G },
                                             { "plain", 30 * G } };
    static const struct {
        const char *slo;
        int64_t release;
        const char *evicted;
    } cases[] = {
        { "{'memoryEvictThresholdPercent':82}", INT64_C(18000000000), "p100b" },
        { "{'memoryEvictThresholdPercent':80}", INT64_C(20400000000), "p100b p100a" },
        { "{'memoryEvictThresholdPercent':80,'memoryEvictLowerPercent':79}", INT64_C(19200000000),
          "p100b" },
        { "{'memoryEvictThresholdPercent':50}", INT64_C(56400000000), "p100b p100a p120" },
        { "{'memoryEvictThresholdPercent':82,'memoryEvictLowerPercent':78}", INT64_C(20400000000),
          "p100b p100a" },
        { "{'memoryEvictThresholdPercent':82,'memoryEvictLowerPercent':74}", INT64_C(25200000000),
          "p100b p100a p120" },
    };
    struct fixture f;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        init(&f, *state, MEMORY_NODE, MEMORY_PODS, cases[i].slo);
        f.samples = samples, f.nsamples = ARRAY_LEN(samples);
        f.in.node_bytes = (struct opt_f64){ true, 115 * G };
        struct evict_task t = make(&f, EVICT_FEATURE_BE_MEMORY);
        assert_int_equal(t.to_release.v[EVICT_MEMORY_BYTES], cases[i].release);
        RUN(&f, &t, 1, cases[i].evicted);
        f.in.node_bytes.v = 58 * G;
        assert_none(&f, EVICT_FEATURE_BE_MEMORY, NULL);
        fini(&f);
    }
}

static void test_memory_settings_that_make_no_sense(void **state)
{
    static const struct {
        const char *slo, *error;
        enum evict_feature feature;
    } cases[] = {
        { "{}", "threshold percent is nil", EVICT_FEATURE_BE_MEMORY },
        { "{'memoryEvictThresholdPercent':-1}",
          "threshold percent(-1) should equal or greater than 0", EVICT_FEATURE_BE_MEMORY },
        { "{'memoryEvictThresholdPercent':80,'memoryEvictLowerPercent':90}",
          "lower percent(90) should less than threshold percent(80)", EVICT_FEATURE_MEMORY },
        { "{'memoryEvictThresholdPercent':80}", "EvictEnabledPriorityThreshold not config",
          EVICT_FEATURE_MEMORY },
    };
    struct fixture f;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        init(&f, *state, MEMORY_NODE, MEMORY_PODS, cases[i].slo);
        f.in.node_bytes = (struct opt_f64){ true, 115 * G };
        assert_none(&f, cases[i].feature, cases[i].error);
        fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_two_tasks_count_a_pod_for_all_kinds),
        FIXTURE_TEST(test_candidates_go_by_eviction_priority_first),
        FIXTURE_TEST(test_filters_of_the_priority_features),
        FIXTURE_TEST(test_victims_that_are_still_there_count),
        FIXTURE_TEST(test_satisfaction_releases_the_smaller_of_average_and_last),
        FIXTURE_TEST(test_satisfaction_wants_a_third_of_the_window),
        FIXTURE_TEST(test_satisfaction_by_allocatable),
        FIXTURE_TEST(test_best_effort_goes_by_priority_then_by_use_of_its_request),
        FIXTURE_TEST(test_cpu_usage_over_the_threshold),
        FIXTURE_TEST(test_more_batch_cpu_asked_for_than_the_node_has),
        FIXTURE_TEST(test_memory_usage_and_who_goes),
        FIXTURE_TEST(test_memory_settings_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
