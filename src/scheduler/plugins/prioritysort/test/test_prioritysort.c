/* test_prioritysort.c - higher priority first, then who waits longest (scheduler-core 8.1). */
#include "scheduler/test/plugin_texts.h"

static bool goes_first(struct plugin_fixture *f, const char *a, nsec_t a_since, const char *b,
                       nsec_t b_since)
{
    CLEANUP(kobj_unref) struct kobj *x = fixture_object(f->base, &kind_pod, pod_text("a", a));
    CLEANUP(kobj_unref) struct kobj *y = fixture_object(f->base, &kind_pod, pod_text("b", b));

    return profile_before(f->profile, pod_of(x), a_since, pod_of(y), b_since);
}

static void test_priority_then_patience(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "PrioritySort", NULL);
    assert_true(goes_first(&f, "'priority':20", 9, "'priority':10", 3));
    assert_false(goes_first(&f, "'priority':10", 3, "'priority':20", 9));
    assert_true(goes_first(&f, "'priority':10", 3, "'priority':10", 5));
    assert_false(goes_first(&f, "'priority':10", 5, "'priority':10", 3));
    assert_true(goes_first(&f, "", 5, "'priority':-1", 3)); /* no priority is 0 */
    assert_false(goes_first(&f, "", 3, "", 3));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_priority_then_patience),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
