/* test_koordlet_plan.c - proposals: what they hold, and that a round allocates nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "koordlet/executor/plan.h"

static const struct plan_at be = { "kubepods/besteffort", NULL, NULL };

static void test_proposals_hold_value_rule_and_terms(void **state)
{
    CLEANUP(plan_free) struct plan *p = plan_new(PLAN_CPU_SUPPRESS);
    struct cpuset cpus = { 0 };

    (void)state;
    cpuset_add(&cpus, 0);
    cpuset_add(&cpus, 1);
    cpuset_add(&cpus, 4);
    plan_number(p, be, PLAN_CPU_QUOTA, 120000);
    PLAN_BECAUSE(p, { "node threshold", 11200, NULL }, { "policy", 0, "cfsQuota" });
    plan_cpus(p, be, &cpus);
    plan_scale(p, be, PLAN_CPU_QUOTA, 240000, 200000);
    plan_item(p, be, PLAN_BLKIO_READ_IOPS, "253:16", "253:16 2048");
    plan_tasks(p, (struct plan_at){ "BE", NULL, NULL }, (const pid_t[]){ 7, 9 }, 2);

    assert_int_equal(p->proposals.n, 5);
    const struct proposal *pr = p->proposals.items;
    assert_int_equal(pr[0].number, 120000);
    assert_int_equal(pr[0].rule, PLAN_SET);
    assert_int_equal(pr[0].owner, PLAN_CPU_SUPPRESS);
    assert_int_equal(pr[0].nterms, 2);
    assert_string_equal(pr[0].terms[1].text, "cfsQuota");
    assert_string_equal(pr[1].text, "0-1,4");
    assert_int_equal(pr[2].rule, PLAN_SCALE);
    assert_int_equal(pr[2].base, 200000);
    assert_string_equal(pr[3].item, "253:16");
    assert_int_equal(pr[4].rule, PLAN_ONCE);
    assert_int_equal(pr[4].ids[1], 9);
    assert_string_equal(plan_owner_name((enum plan_owner)pr[0].owner), "CPUSuppress");
    for (int f = 0; f < PLAN_FILES; f++)
        assert_non_null(plan_file_type((enum plan_file)f));
    for (int o = 0; o < PLAN_OWNERS; o++)
        assert_non_null(plan_owner_name((enum plan_owner)o));
}

static void fill(struct plan *p)
{
    plan_reset(p, NULL);
    for (int i = 0; i < 500; i++) {
        char text[32];
        snprintf(text, sizeof text, "%d", i);
        plan_text(p, be, PLAN_CPUSET_CPUS, text);
        PLAN_BECAUSE(p, { "round", i, NULL });
    }
}

static void test_a_round_allocates_nothing_after_the_first(void **state)
{
    CLEANUP(plan_free) struct plan *p = plan_new(PLAN_CPU_BURST);

    (void)state;
    /* The arena keeps its largest chunk: it settles once that holds a whole round. */
    for (int i = 0; i < 3; i++)
        fill(p);
    uint64_t before = alloc_count();
    for (int i = 0; i < 100; i++)
        fill(p);
    assert_int_equal(alloc_count(), before);
    assert_int_equal(p->proposals.n, 500);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proposals_hold_value_rule_and_terms),
        cmocka_unit_test(test_a_round_allocates_nothing_after_the_first),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
