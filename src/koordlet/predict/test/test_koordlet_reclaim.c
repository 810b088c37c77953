/* test_koordlet_reclaim.c - prod reclaimable and peak (koordlet-metrics 9.4).
 *
 * Predictions are the spec's round numbers, from a stub.
 */
#include "api/test/object_fixture.h"

#include "koordlet/predict/reclaim.h"

#define MINUTE (60 * NSEC_PER_SEC)
#define HOUR   (60 * MINUTE)
#define MI     (INT64_C(1) << 20)
#define GI     (INT64_C(1) << 30)

/* 2026-01-01T12:00:00Z */
static const nsec_t now = INT64_C(1767268800) * NSEC_PER_SEC;

struct told {
    const char *uid;
    int64_t cpu, memory;
};
static const struct told *told; /* ends with a NULL uid */

static int predict(const void *arg, const char *uid, struct prediction *ret, struct kerr *err)
{
    (void)arg;
    for (const struct told *t = told; t->uid; t++)
        if (streq(t->uid, uid)) {
            *ret = (struct prediction){ .p95.cpu = t->cpu, .p98.memory = t->memory };
            return 0;
        }
    return kerr_set(err, -ENOENT, "UID %s not found in predict server", uid);
}

static const struct predictor stub_predictor = { predict, NULL };
static const struct reclaim_options options = { .cold_start = HOUR, .safety_margin_percent = 10 };

#define POD(uid, created, cpu, memory, more)                                                   \
    "{'metadata':{'name':'" uid "','namespace':'d','uid':'" uid "'" created more               \
    "},'spec':{'priority':9500,'containers':[{'name':'c','resources':{'requests':{'cpu':'" cpu \
    "','memory':'" memory "'}}}]},'status':{'phase':'Running'}}"
#define YOUNG   ",'creationTimestamp':'2026-01-01T11:59:00Z'"
#define OLD     ",'creationTimestamp':'2026-01-01T10:00:00Z'"
#define LEAVING ",'deletionTimestamp':'2026-01-01T11:59:30Z'"

static int result(const struct reclaim *r, const struct node *n, struct amounts *ret,
                  struct kerr *err)
{
    struct reclaim_views v;
    int code = reclaim_result_views(r, n, &v, err);
    if (code == 0)
        *ret = v.answer;
    return code;
}

static int peak_of(const struct reclaim *r, struct amounts *ret, struct kerr *err)
{
    struct reclaim_views v;
    int code = reclaim_peak_views(r, &v, err);
    if (code == 0)
        *ret = v.answer;
    return code;
}

static int add(struct object_fixture *b, struct reclaim *r, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *pod = fixture_object(b, &kind_pod, text);
    struct kerr err = { 0 };
    return reclaim_add(r, pod_of(pod), &err);
}

static struct amounts ask(struct object_fixture *b, const struct reclaim *r, const char *node)
{
    CLEANUP(kobj_unref) struct kobj *n = fixture_object(b, &kind_node, node);
    struct amounts a = { -1, -1 };
    struct kerr err = { 0 };
    if (result(r, node_of(n), &a, &err) < 0)
        fail_msg("%s", err.text);
    return a;
}

static void assert_amounts(struct amounts got, int64_t cpu, int64_t memory)
{
    assert_int_equal(got.cpu, cpu);
    assert_int_equal(got.memory, memory);
}

static const char small[] =
    "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'1','memory':'1Gi'}}}";
static const char large[] =
    "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'3','memory':'3Gi'}}}";
static const char huge[] =
    "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'99','memory':'99Gi'}}}";
/* The annotation of a node whose resources are amplified. */
static const char raw[] =
    "{'metadata':{'name':'n','annotations':{'node.koordinator.sh/raw-allocatable':"
    "'{\\u0022cpu\\u0022:\\u00221\\u0022,\\u0022memory\\u0022:\\u00221Gi\\u0022}'}},"
    "'status':{'allocatable':{'cpu':'3','memory':'3Gi'}}}";

static const char raw_nothing[] =
    "{'metadata':{'name':'n','annotations':{'node.koordinator.sh/raw-allocatable':'{}'}},"
    "'status':{'allocatable':{'cpu':'3','memory':'3Gi'}}}";
static const char raw_bad[] =
    "{'metadata':{'name':'n','annotations':{'node.koordinator.sh/raw-allocatable':'['}},"
    "'status':{'allocatable':{'cpu':'3','memory':'3Gi'}}}";

static void test_result_is_the_careful_one(void **state)
{
    struct told by_pod[] = { { "pod2", 500, GI },
                             { MODEL_SYSTEM, 300, 512 * MI },
                             { "__node-koord-prod__", 1000, GI },
                             { "__node-__", 0, 0 },
                             { NULL, 0, 0 } };
    CLEANUP(reclaim_fini) struct reclaim r;
    struct object_fixture *b = *state;

    told = by_pod;
    reclaim_init(&r, stub_predictor, &options, now);
    assert_int_equal(add(b, &r, POD("pod1", YOUNG, "1", "1Gi", "")), 0);
    assert_int_equal(add(b, &r, POD("pod2", OLD, "2", "2Gi", "")), 0);
    assert_int_equal(add(b, &r, POD("pod3", OLD, "5", "5Gi", LEAVING)), 0);
    /* By pod 1450m and 2Gi - 1.1Gi, by class 1570m and 3Gi - 1.65Gi. */
    assert_amounts(ask(b, &r, large), 1450, 2 * GI - 1181116006);
    assert_amounts(ask(b, &r, small), 0, 0);
    assert_amounts(ask(b, &r, raw), 0, 0);
    assert_amounts(ask(b, &r, raw_nothing), 0, 0);
    assert_amounts(ask(b, &r, raw_bad), 1450, 2 * GI - 1181116006);
    by_pod[1].cpu = 600; /* by class 3000 - 1.1 * 1600 = 1240m */
    by_pod[1].memory = 1024 * MI;
    assert_amounts(ask(b, &r, large), 1240, 3 * GI - 2362232012);
    assert_amounts(ask(b, &r, huge), 1240, 3 * GI - 2362232012); /* of 3000m that were asked for */
    by_pod[1].cpu = by_pod[2].cpu = 0; /* by pod 450m is all that is left of a core */
    by_pod[1].memory = by_pod[2].memory = 0;
    assert_amounts(ask(b, &r, small), 450, 0);
}

static void test_peak_counts_what_is_not_known_as_requested(void **state)
{
    static const struct told by_pod[] = { { "normal", 500, 768 * MI },
                                          { MODEL_SYSTEM, 10, MI },
                                          { "__node-koord-prod__", 10, MI },
                                          { "__node-__", 10, MI },
                                          { NULL, 0, 0 } };
    static const struct told by_class[] = { { MODEL_SYSTEM, 3000, 4 * GI },
                                            { "__node-koord-prod__", 10, MI },
                                            { "__node-__", 10, MI },
                                            { NULL, 0, 0 } };
    CLEANUP(reclaim_fini) struct reclaim r;
    struct amounts peak = { 0 };
    struct object_fixture *b = *state;
    struct kerr err = { 0 };

    told = by_pod;
    reclaim_init(&r, stub_predictor, &options, now);
    assert_int_equal(add(b, &r, POD("normal", OLD, "1", "1Gi", "")), 0);
    assert_int_equal(add(b, &r, POD("cold", YOUNG, "1", "1Gi", "")), 0);
    assert_int_equal(add(b, &r, POD("failed", OLD, "500m", "512Mi", "")), -ENOENT);
    assert_int_equal(peak_of(&r, &peak, &err), 0);
    assert_amounts(peak, 2050, 885837004 + 3 * GI / 2); /* trunc(1.1 * 768Mi) */
    told = by_class;
    assert_int_equal(peak_of(&r, &peak, &err), 0);
    assert_amounts(peak, 3322, 4726770892); /* trunc(1.1 * (4Gi + 2Mi)) */
}

static void test_young_pods_count_even_on_their_way_out(void **state)
{
    static const struct told zero[] = { { "static", 0, 0 },
                                        { MODEL_SYSTEM, 0, 0 },
                                        { "__node-koord-prod__", 0, 0 },
                                        { "__node-__", 0, 0 },
                                        { NULL, 0, 0 } };
    CLEANUP(reclaim_fini) struct reclaim r;
    struct amounts peak = { 0 };
    struct object_fixture *b = *state;

    told = zero;
    reclaim_init(&r, stub_predictor, &options, now);
    assert_int_equal(add(b, &r, POD("young", YOUNG, "1", "1Gi", LEAVING)), 0);
    assert_int_equal(add(b, &r, POD("static", "", "7", "7Gi", "")), 0);
    assert_int_equal(add(b, &r, POD("static", "", "7", "7Gi", "")), -EEXIST);
    assert_int_equal(peak_of(&r, &peak, NULL), 0);
    assert_amounts(peak, 1000, GI);
}

static void test_other_classes_are_ignored(void **state)
{
    static const struct told zero[] = { { MODEL_SYSTEM, 0, 0 },
                                        { "__node-koord-prod__", 0, 0 },
                                        { "__node-__", 0, 0 },
                                        { NULL, 0, 0 } };
    CLEANUP(reclaim_fini) struct reclaim r;
    struct amounts peak = { -1, -1 };
    struct object_fixture *b = *state;

    told = zero;
    reclaim_init(&r, stub_predictor, &options, now);
    assert_int_equal(add(b, &r,
                         POD("mid", YOUNG, "1", "1Gi",
                             ",'labels':{'koordinator.sh/priority-class':'koord-mid'}")),
                     0);
    assert_int_equal(peak_of(&r, &peak, NULL), 0);
    assert_amounts(peak, 0, 0);
    assert_amounts(ask(b, &r, large), 0, 0);
}

static void test_errors(void **state)
{
    static const struct told nothing[] = { { NULL, 0, 0 } };
    CLEANUP(reclaim_fini) struct reclaim r;
    struct object_fixture *b = *state;
    CLEANUP(kobj_unref) struct kobj *node = fixture_object(b, &kind_node, large);
    CLEANUP(kobj_unref)
    struct kobj *empty = fixture_object(b, &kind_node, "{'metadata':{'name':'n'}}");
    struct amounts a;
    struct kerr err = { 0 };

    told = nothing;
    reclaim_init(&r, stub_predictor, &options, now);
    assert_int_equal(result(&r, NULL, &a, &err), -EINVAL);
    assert_int_equal(result(&r, node_of(empty), &a, &err), -EINVAL);
    assert_string_equal(err.text, "node n has no allocatable");
    assert_int_equal(result(&r, node_of(node), &a, &err), -ENOENT);
    assert_int_equal(peak_of(&r, &a, &err), -ENOENT);
    assert_string_equal(err.text, "UID __node-sys__ not found in predict server");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_result_is_the_careful_one),
        FIXTURE_TEST(test_peak_counts_what_is_not_known_as_requested),
        FIXTURE_TEST(test_young_pods_count_even_on_their_way_out),
        FIXTURE_TEST(test_other_classes_are_ignored),
        FIXTURE_TEST(test_errors),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
