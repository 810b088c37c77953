/* test_conditions.c - conditions keep the time of their last change; numbers and shares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "controllers/conditions.h"
#include "controllers/percent.h"
#include "json/kj.h"

#define T0 (INT64_C(1763200000) * NSEC_PER_SEC)

static struct timed_condition ready(uint8_t status, const char *reason)
{
    return (struct timed_condition){ .type = "Ready", .status = status, .reason = reason };
}

static void test_transition_time_moves_with_the_status(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct timed_condition yes = ready(COND_TRUE, "Up"), better = ready(COND_TRUE, "Better"),
                           no = ready(COND_FALSE, "Down");
    timed_conditionlist l = { 0 };

    (void)state;
    assert_false(conditions_is_true(&l, "Ready"));
    assert_true(conditions_set(&l, &yes, T0, a));
    assert_true(conditions_is_true(&l, "Ready"));
    const timed_conditionlist before = l;
    assert_false(conditions_set(&l, &yes, T0 + 5, a)); /* the same: nothing changes */
    assert_ptr_equal(l.items, before.items);
    assert_true(conditions_set(&l, &better, T0 + 10, a));
    assert_int_equal(conditions_find(&l, "Ready")->last_transition_time, T0);
    assert_string_equal(conditions_find(&l, "Ready")->reason, "Better");
    assert_string_equal(before.items[0].reason, "Up"); /* the old list stays as it was */
    assert_true(conditions_set(&l, &no, T0 + 20, a));
    assert_int_equal(conditions_find(&l, "Ready")->last_transition_time, T0 + 20);
    assert_string_equal(conditions_find(&l, "Ready")->message, "");
}

static void test_others_stay_and_one_can_be_renewed(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct timed_condition c = ready(COND_TRUE, "Up");
    timed_conditionlist l = { 0 };

    (void)state;
    conditions_set(&l, &(struct timed_condition){ .type = "A", .status = COND_TRUE }, T0, a);
    conditions_set(&l, &c, T0, a);
    conditions_set(&l, &(struct timed_condition){ .type = "B", .status = COND_TRUE }, T0, a);
    c.last_update_time = T0 + 7;
    conditions_renew(&l, &c, T0 + 7, a);
    assert_int_equal(l.n, 3);
    assert_string_equal(l.items[1].type, "Ready");
    assert_int_equal(l.items[1].last_update_time, T0 + 7);
    assert_int_equal(l.items[1].last_transition_time, T0);
    conditions_remove(&l, "Ready", a);
    conditions_remove(&l, "nothing", a);
    assert_int_equal(l.n, 2);
    assert_null(conditions_find(&l, "Ready"));
    assert_string_equal(l.items[1].type, "B");
}

static void test_one_condition_of_a_patch(void **state)
{
    struct condition old = { .type = "Ready", .status = COND_TRUE, .last_transition_time = T0 };
    const conditionlist had = { &old, 1 };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kjw w = kjw_to(&out);

    (void)state;
    kjw_arr(&w, NULL);
    condition_begin(&w, &(struct condition){ .type = "Ready", .status = COND_TRUE }, &had,
                    T0 + NSEC_PER_SEC);
    kjw_end(&w);
    condition_begin(
        &w,
        &(struct condition){ .type = "Ready", .status = COND_FALSE, .reason = "R", .message = "m" },
        &had, T0 + NSEC_PER_SEC);
    kjw_null(&w, "lastProbeTime");
    kjw_end(&w);
    kjw_end(&w);
    assert_string_equal(out.data,
                        "[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":"
                        "\"2025-11-15T09:46:40Z\"},{\"type\":\"Ready\",\"status\":\"False\","
                        "\"reason\":\"R\",\"message\":\"m\",\"lastTransitionTime\":"
                        "\"2025-11-15T09:46:41Z\",\"lastProbeTime\":null}]");
}

static void test_numbers_and_shares(void **state)
{
    static const struct {
        const char *s;
        int32_t i;
        int64_t n, up, down;
    } cases[] = {
        { NULL, 3, 10, 3, 3 },  { "25%", 0, 10, 3, 2 },
        { "0%", 0, 10, 0, 0 },  { "150%", 0, 6, 9, 9 },
        { "-5%", 0, 10, 0, 0 }, { "x%", 0, 10, 0, 0 },
        { "%", 0, 10, 0, 0 },   { "25", 0, 10, 0, 0 },
        { "", 7, 10, 0, 0 },    { "99999999999%", 0, INT64_MAX, INT64_MAX / 100, INT64_MAX / 100 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct int_or_str v = { cases[i].s, cases[i].i };
        assert_int_equal(int_or_percent(&v, cases[i].n, true), cases[i].up);
        assert_int_equal(int_or_percent(&v, cases[i].n, false), cases[i].down);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transition_time_moves_with_the_status),
        cmocka_unit_test(test_others_stay_and_one_can_be_renewed),
        cmocka_unit_test(test_one_condition_of_a_patch),
        cmocka_unit_test(test_numbers_and_shares),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
