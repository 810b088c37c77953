/* test_toleration.c - taints and tolerations (scheduler-core 8.5). */
#include "api/test/object_fixture.h"

#include "api/toleration.h"

#define TAINT(k, v, e)                          \
    {                                           \
        .key = (k), .value = (v), .effect = (e) \
    }
#define TOL(k, o, v, e)                                    \
    {                                                      \
        .key = (k), .op = (o), .value = (v), .effect = (e) \
    }
#define LIST_OF(type, array) ((type){ .items = (array), .n = ARRAY_LEN(array) })

static void test_one_toleration(void **state)
{
    const struct taint taint = TAINT("k", "v", TAINT_NO_SCHEDULE);
    static const struct {
        struct toleration t;
        bool want;
    } cases[] = {
        { TOL("k", TOL_OP_NONE, "v", 0), true },
        { TOL("k", TOL_OP_EQUAL, "v", TAINT_NO_SCHEDULE), true },
        { TOL("k", TOL_OP_EQUAL, "w", 0), false },
        { TOL("j", TOL_OP_EQUAL, "v", 0), false },
        { TOL("k", TOL_OP_EXISTS, "", 0), true },
        { TOL("k", TOL_OP_EXISTS, "", TAINT_NO_EXECUTE), false },
        { TOL("", TOL_OP_EXISTS, "", 0), true },
        { TOL("", TOL_OP_EQUAL, "v", 0), true }, /* the API refuses it; the rule does not */
        { TOL("k", TOL_OP_GT, "v", 0), false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(toleration_tolerates(&cases[i].t, &taint, TOL_COMPARE), cases[i].want);
}

static void test_comparison_needs_its_gate(void **state)
{
    const struct taint taint = TAINT("gen", "7", TAINT_NO_SCHEDULE);
    const struct toleration gt = TOL("gen", TOL_OP_GT, "5", 0), lt = TOL("gen", TOL_OP_LT, "5", 0);
    const struct toleration odd = TOL("gen", TOL_OP_GT, "05", 0);

    (void)state;
    assert_true(toleration_tolerates(&gt, &taint, TOL_COMPARE));
    assert_false(toleration_tolerates(&lt, &taint, TOL_COMPARE));
    assert_false(toleration_tolerates(&odd, &taint, TOL_COMPARE));
    assert_false(toleration_tolerates(&gt, &taint, 0));
}

static void test_first_untolerated_taint_of_an_effect(void **state)
{
    struct taint taints[] = { TAINT("soft", "", TAINT_PREFER_NO_SCHEDULE),
                              TAINT("a", "", TAINT_NO_SCHEDULE), TAINT("b", "", TAINT_NO_EXECUTE) };
    struct toleration tols[] = { TOL("a", TOL_OP_EXISTS, "", 0) };
    taintlist tl = LIST_OF(taintlist, taints);
    tolerationlist some = LIST_OF(tolerationlist, tols), none = { 0 };

    (void)state;
    assert_string_equal(taints_untolerated(&tl, &none, TAINT_HARD_EFFECTS, 0)->key, "a");
    assert_string_equal(taints_untolerated(&tl, &some, TAINT_HARD_EFFECTS, 0)->key, "b");
    assert_null(taints_untolerated(&tl, &some, TAINT_BIT(TAINT_NO_SCHEDULE), 0));
}

static void test_score_counts_soft_taints(void **state)
{
    struct taint taints[] = { TAINT("a", "", TAINT_PREFER_NO_SCHEDULE),
                              TAINT("b", "", TAINT_PREFER_NO_SCHEDULE),
                              TAINT("c", "", TAINT_NO_SCHEDULE) };
    struct toleration tols[] = { TOL("a", TOL_OP_EXISTS, "", TAINT_PREFER_NO_SCHEDULE),
                                 TOL("b", TOL_OP_EXISTS, "", TAINT_NO_SCHEDULE) };
    taintlist tl = LIST_OF(taintlist, taints);
    tolerationlist some = LIST_OF(tolerationlist, tols), none = { 0 };

    (void)state;
    assert_int_equal(taints_count_prefer(&tl, &none, 0), 2);
    assert_int_equal(taints_count_prefer(&tl, &some, 0), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_toleration),
        cmocka_unit_test(test_comparison_needs_its_gate),
        cmocka_unit_test(test_first_untolerated_taint_of_an_effect),
        cmocka_unit_test(test_score_counts_soft_taints),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
