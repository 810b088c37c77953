/* test_loadestimate.c - what a pod is expected to use (sched-loadaware 3, 4.2). */
#include "scheduler/plugins/registry.h"

#include "load_fixture.h"

static void expect(struct plugin_fixture *f, const char *pod, int64_t mcpu, int64_t memory)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->base, &kind_pod, pod);
    int64_t v[LOADS_RESOURCES_MAX];

    load_estimate(load_service(f), pod_of(o), f->base->arena, v);
    assert_int_equal(v[0], mcpu);
    assert_int_equal(v[1], memory);
}

#define BOTH_4 "{'requests':{'cpu':'4','memory':'8Gi'},'limits':{'cpu':'4','memory':'8Gi'}}"
#define REQ_4  "{'requests':{'cpu':'4','memory':'8Gi'}}"
#define PROD   ",'labels':{'koordinator.sh/priority-class':'koord-prod'}"
#define BATCH  ",'labels':{'koordinator.sh/priority-class':'koord-batch'}"
#define MID    ",'labels':{'koordinator.sh/priority-class':'koord-mid'}"

static void test_defaults(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    expect(&f, load_pod(&f, "p", "", "{}", ""), 250, 209715200);
    expect(&f, load_pod(&f, "p", "", BOTH_4, ""), 3400, 6012954214);
    expect(&f,
           load_pod(&f, "p", "",
                    "{'requests':{'cpu':'4','memory':'8Gi'},'limits':{'cpu':'8','memory':'8Gi'}}",
                    ""),
           6800, 6012954214);
    expect(&f,
           load_pod(&f, "p", "",
                    "{'requests':{'kubernetes.io/batch-cpu':'4000','kubernetes.io/batch-memory':"
                    "'8Gi'}}",
                    BATCH),
           3400, 6012954214);
    expect(&f, load_pod(&f, "p", "", "{}", MID), 0, 0);
}

static void test_limits_cap(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{'allowCustomizeEstimation':true}");
#define FACTORS(text) \
    ",'annotations':{'scheduling.koordinator.sh/load-estimated-scaling-factors':'" text "'}"
    expect(&f, load_pod(&f, "p", "", BOTH_4, FACTORS("{\\\"cpu\\\":110}")), 4000, 6012954214);
    expect(&f, load_pod(&f, "p", "", BOTH_4, FACTORS("{\\\"memory\\\":110}")), 3400, 8589934592);
    expect(&f, load_pod(&f, "p", "", BOTH_4, FACTORS("nonsense")), 3400, 6012954214);
    expect(&f, load_pod(&f, "p", "", BOTH_4, FACTORS("{\\\"cpu\\\":-10}")), 0, 6012954214);
}

static void test_factors(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(
        &f, state,
        "{'estimatedScalingFactors':{'cpu':80,'memory':80},'allowCustomizeEstimation':true}");
    expect(&f, load_pod(&f, "p", "", REQ_4, PROD), 3200, 6871947674);
    expect(&f, load_pod(&f, "p", "", REQ_4, FACTORS("{\\\"cpu\\\":100}")), 4000, 6871947674);
}

static void test_factors_of_pods_are_off(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state, "{}");
    expect(&f, load_pod(&f, "p", "", BOTH_4, FACTORS("{\\\"cpu\\\":10}")), 3400, 6012954214);
}

/* ---- how long an estimate counts ------------------------------------------------------------- */

static nsec_t deadline(struct plugin_fixture *f, const char *annotations, const char *initialized,
                       nsec_t ago)
{
    const char *text = arena_printf(
        f->base->arena,
        "{'metadata':{'name':'p','uid':'p','annotations':{%s}},'spec':{'containers':[]},'status':{"
        "'conditions':[{'type':'Initialized','status':'%s','lastTransitionTime':"
        "'1970-01-01T00:59:30Z'}]}}",
        annotations, initialized);
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->base, &kind_pod, text);

    return load_deadline(load_service(f), pod_of(o), NOW - ago * NSEC_PER_SEC);
}

static void test_deadlines(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture scheduled, both, none;

    load_start(&scheduled, state, "{'estimatedSecondsAfterPodScheduled':180}");
    assert_int_equal(deadline(&scheduled, "", "False", 60), NOW + 120 * NSEC_PER_SEC);
    load_start(&both, state,
               "{'estimatedSecondsAfterPodScheduled':180,'estimatedSecondsAfterInitialized':10}");
    assert_int_equal(deadline(&both, "", "True", 60), NOW - 20 * NSEC_PER_SEC);
    load_start(&none, state, "{'estimatedSecondsAfterInitialized':180}");
    assert_int_equal(deadline(&none, "", "False", 60), 0);
}

static void test_pods_have_their_own_deadlines(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    load_start(&f, state,
               "{'estimatedSecondsAfterPodScheduled':180,'allowCustomizeEstimation':true}");
#define SCHEDULED(text) \
    "'scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled':'" text "'"
    assert_int_equal(deadline(&f, SCHEDULED("30"), "False", 60), NOW - 30 * NSEC_PER_SEC);
    assert_int_equal(deadline(&f, SCHEDULED("0"), "False", 60), 0);
    assert_int_equal(deadline(&f, SCHEDULED("soon"), "False", 60), NOW + 120 * NSEC_PER_SEC);
    assert_that(deadline(&f, SCHEDULED("9223372036854775807"), "False", 60), >, NOW); /* no wrap */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_defaults),  FIXTURE_TEST(test_limits_cap),
        FIXTURE_TEST(test_factors),   FIXTURE_TEST(test_factors_of_pods_are_off),
        FIXTURE_TEST(test_deadlines), FIXTURE_TEST(test_pods_have_their_own_deadlines),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
