/* test_schedulinggates.c - pods wait for their gates to go (scheduler-core 8.2). */
#include "scheduler/test/plugin_texts.h"

static void test_gates(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct ks_texts why;

    fixture_init(&f, state, "SchedulingGates", NULL);
    CLEANUP(kobj_unref)
    struct kobj *free_pod = fixture_object(f.base, &kind_pod, pod_text("p", "")),
                *gated = fixture_object(f.base, &kind_pod,
                                        pod_text("p", "'schedulingGates':[{'name':'g1'},"
                                                      "{'name':'g2'}]"));
    why = (struct ks_texts){ .arena = f.arena };
    assert_int_equal(profile_pre_enqueue(f.profile, pod_of(free_pod), &why), -1);
    assert_int_equal(why.n, 0);
    assert_int_equal(profile_pre_enqueue(f.profile, pod_of(gated), &why),
                     profile_slot(f.profile, "SchedulingGates"));
    assert_int_equal(why.n, 1);
    assert_string_equal(why.items[0], "waiting for scheduling gates: [g1 g2]");
    const char *me = pod_text("p", ""), *other = pod_text("q", "");
#define WORTH(action, pod) \
    plugin_worth(&f, "SchedulingGates", KS_RES_UNSCHEDULABLE_POD, action, pod, pod, me)
    assert_true(WORTH(KS_POD_GATES_GONE, me));
    assert_false(WORTH(KS_POD_GATES_GONE, other));
    assert_false(WORTH(KS_POD_LABEL, me));
#undef WORTH
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_gates),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
