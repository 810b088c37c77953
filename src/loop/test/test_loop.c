/* test_loop.c - the virtual loop: order, time, cancelling, work, random numbers. */
#include "base/test/asserts.h"
#include "loop/loop.h"

#include <setjmp.h> /* cmocka.h wants these first */
#include <stdio.h>

#include <cmocka.h>

static void count(struct loop *l, void *arg)
{
    (void)l;
    ++*(int *)arg;
}

/* A record of what ran, in order, with the time it saw. */
struct trace {
    struct loop *l;
    char text[256];
};
struct mark {
    struct trace *trace;
    const char *name;
};

static void note(struct loop *l, void *arg)
{
    struct mark *m = arg;
    size_t n = strlen(m->trace->text);
    (void)snprintf(m->trace->text + n, sizeof m->trace->text - n, "%s@%lld ", m->name,
                   (long long)(loop_mono(l) / NSEC_PER_MSEC));
}

static void test_timer_waits_for_virtual_time(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 42);
    int fired = 0;

    (void)state;
    loop_after(l, 10 * NSEC_PER_SEC, count, &fired);
    loop_advance(l, 10 * NSEC_PER_SEC - 1);
    assert_int_equal(fired, 0);
    loop_advance(l, 1);
    assert_int_equal(fired, 1);
    loop_advance(l, 100 * NSEC_PER_SEC);
    assert_int_equal(fired, 1);
}

static void test_timers_run_by_due_time_then_by_age(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct trace tr = { .l = l };
    struct mark a = { &tr, "a" }, b = { &tr, "b" }, c = { &tr, "c" }, d = { &tr, "d" };

    (void)state;
    loop_after(l, 20 * NSEC_PER_MSEC, note, &a);
    loop_after(l, 10 * NSEC_PER_MSEC, note, &b);
    loop_after(l, 20 * NSEC_PER_MSEC, note, &c);
    loop_after(l, -5, note, &d);
    loop_advance(l, NSEC_PER_SEC);
    assert_string_equal(tr.text, "d@0 b@10 a@20 c@20 ");
    assert_int_equal(loop_mono(l), NSEC_PER_SEC);
}

static void chain(struct loop *l, void *arg)
{
    int *left = arg;
    if (--*left > 0)
        loop_after(l, NSEC_PER_SEC, chain, left);
}

static void test_advance_runs_timers_made_on_the_way(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    int left = 5;

    (void)state;
    loop_after(l, NSEC_PER_SEC, chain, &left);
    loop_advance(l, 3 * NSEC_PER_SEC);
    assert_int_equal(left, 2);
    loop_run(l);
    assert_int_equal(left, 0);
    assert_int_equal(loop_mono(l), 5 * NSEC_PER_SEC);
}

static void test_cancelled_timer_does_not_fire(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    int fired = 0;
    struct timer *t = loop_after(l, 5, count, &fired);

    (void)state;
    t = timer_cancel(t);
    assert_null(t);
    assert_null(timer_cancel(NULL));
    loop_advance(l, 10);
    assert_int_equal(fired, 0);
}

struct pair {
    struct timer *self, *other;
    int calls;
};

static void cancel_both(struct loop *l, void *arg)
{
    struct pair *p = arg;
    (void)l;
    p->calls++;
    p->self = timer_cancel(p->self);
    p->other = timer_cancel(p->other);
}

static void test_callback_may_cancel_itself_and_a_timer_of_the_same_moment(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct pair p = { 0 };
    int fired = 0;

    (void)state;
    p.self = loop_after(l, 5, cancel_both, &p);
    p.other = loop_after(l, 5, count, &fired);
    loop_advance(l, 5);
    assert_int_equal(p.calls, 1);
    assert_int_equal(fired, 0);
}

static void test_posts_keep_their_order_and_wait_for_the_next_turn(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct trace tr = { .l = l };
    struct mark a = { &tr, "a" }, b = { &tr, "b" };

    (void)state;
    loop_post(l, note, &a);
    loop_post(l, note, &b);
    assert_string_equal(tr.text, "");
    loop_turn(l);
    assert_string_equal(tr.text, "a@0 b@0 ");
}

static void repost(struct loop *l, void *arg)
{
    int *left = arg;
    if (--*left > 0)
        loop_post(l, repost, left);
}

static void test_turn_leaves_new_posts_for_later_and_advance_settles(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    int left = 4;

    (void)state;
    loop_post(l, repost, &left);
    loop_turn(l);
    assert_int_equal(left, 3);
    loop_turn(l);
    assert_int_equal(left, 2);
    loop_advance(l, 0);
    assert_int_equal(left, 0);
    assert_int_equal(loop_mono(l), 0);
}

static void rearm(struct loop *l, void *arg)
{
    int *left = arg;
    if (--*left > 0)
        loop_after(l, 0, rearm, left);
}

static void test_timer_without_delay_waits_for_a_later_turn(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    int left = 3;

    (void)state;
    loop_after(l, 0, rearm, &left);
    loop_turn(l);
    assert_int_equal(left, 2);
    loop_turn(l);
    assert_int_equal(left, 1);
}

struct job {
    int worked, done;
    nsec_t at;
};

static void job_work(void *arg)
{
    struct job *j = arg;
    assert_int_equal(j->done, 0);
    j->worked++;
}

static void job_done(struct loop *l, void *arg)
{
    struct job *j = arg;
    assert_int_equal(j->worked, 1);
    j->done++;
    j->at = loop_mono(l);
}

static void test_work_runs_at_a_fixed_virtual_time(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct job j = { 0 };

    (void)state;
    loop_work(l, job_work, job_done, &j);
    assert_int_equal(j.worked, 0);
    loop_advance(l, LOOP_VIRTUAL_WORK_NS - 1);
    assert_int_equal(j.worked, 0);
    loop_advance(l, NSEC_PER_SEC);
    assert_int_equal(j.done, 1);
    assert_int_equal(j.at, LOOP_VIRTUAL_WORK_NS);
}

static void stop(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

static void test_run_ends_at_stop_and_when_nothing_is_left(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    int fired = 0;

    (void)state;
    loop_run(l);
    assert_int_equal(loop_mono(l), 0);
    loop_after(l, NSEC_PER_SEC, stop, NULL);
    loop_after(l, 7 * 86400 * NSEC_PER_SEC, count, &fired);
    loop_run(l);
    assert_int_equal(loop_mono(l), NSEC_PER_SEC);
    assert_int_equal(fired, 0);
    loop_run(l); /* the stop was used up */
    assert_int_equal(fired, 1);
    assert_int_equal(loop_mono(l), 7 * 86400 * NSEC_PER_SEC);
    loop_post(l, count, &fired);
    loop_stop(l);
    loop_run(l);
    assert_int_equal(fired, 1);
    loop_run(l);
    assert_int_equal(fired, 2);
}

static void test_wall_clock_jumps_without_moving_timers(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(1000 * NSEC_PER_SEC, 1);
    int fired = 0;

    (void)state;
    loop_after(l, 10 * NSEC_PER_SEC, count, &fired);
    loop_advance(l, 5 * NSEC_PER_SEC);
    assert_int_equal(loop_wall(l), 1005 * NSEC_PER_SEC);
    loop_set_wall(l, 500 * NSEC_PER_SEC);
    assert_int_equal(loop_wall(l), 500 * NSEC_PER_SEC);
    assert_int_equal(loop_wall_hook(l), 500 * NSEC_PER_SEC);
    assert_int_equal(loop_mono(l), 5 * NSEC_PER_SEC);
    loop_advance(l, 5 * NSEC_PER_SEC);
    assert_int_equal(fired, 1);
    assert_int_equal(loop_wall(l), 505 * NSEC_PER_SEC);
}

static void test_a_delay_beyond_all_time_never_comes(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    int fired = 0;

    (void)state;
    loop_advance(l, NSEC_PER_SEC);
    loop_after(l, NSEC_MAX, count, &fired);
    loop_advance(l, 365 * 86400 * NSEC_PER_SEC);
    assert_int_equal(fired, 0);
}

static void test_freeing_drops_what_has_not_run(void **state)
{
    struct loop *l = loop_new_virtual(0, 1);
    struct job j = { 0 };
    int fired = 0;

    (void)state;
    loop_after(l, 1, count, &fired);
    loop_post(l, count, &fired);
    loop_work(l, job_work, job_done, &j);
    assert_null(loop_free(l));
    assert_int_equal(fired + j.worked + j.done, 0);
    assert_null(loop_free(NULL));
}

static void test_real_facilities_are_refused(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct kerr err = { 0 };

    (void)state;
    assert_true(loop_is_virtual(l));
    assert_null(loop_uv(l));
    assert_int_equal(loop_on_signal(l, 15, NULL, NULL, &err), -ENOTSUP);
    assert_that(err.text[0], !=, '\0');
}

/* The first numbers for seed 42, from a separate computation of the published algorithms. */
static void test_random_numbers_follow_from_the_seed(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 42);
    CLEANUP(loop_free) struct loop *again = loop_new_virtual(99, 42);
    CLEANUP(loop_free) struct loop *other = loop_new_virtual(0, 43);
    bool differs = false;

    (void)state;
    assert_int_equal(loop_rand(l), UINT64_C(1546998764402558742));
    assert_int_equal(loop_rand(l), UINT64_C(6990951692964543102));
    loop_rand(again), loop_rand(again);
    for (int i = 0; i < 1000; i++) {
        uint64_t x = loop_rand(l);
        assert_int_equal(x, loop_rand(again));
        differs |= x != loop_rand(other);
    }
    assert_true(differs);
}

static void test_random_below_is_in_range_and_even(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 7);
    int seen[10] = { 0 };

    (void)state;
    for (int i = 0; i < 100000; i++)
        seen[loop_rand_below(l, 10)]++;
    for (int i = 0; i < 10; i++)
        assert_in_range(seen[i], 9500, 10500);
    assert_int_equal(loop_rand_below(l, 1), 0);
    /* Just over half the range: nearly every other draw is unfair and thrown away. */
    const uint64_t n = (UINT64_C(1) << 63) + 1;
    for (int i = 0; i < 1000; i++)
        assert_that(loop_rand_below(l, n), <, n);
}

static void test_jitter_stretches_within_the_factor(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 7);
    nsec_t low = NSEC_MAX, high = 0;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        nsec_t d = loop_jitter(l, NSEC_PER_SEC, 0.5);
        low = MIN(low, d);
        high = MAX(high, d);
    }
    assert_in_range(low, NSEC_PER_SEC, NSEC_PER_SEC + NSEC_PER_MSEC);
    assert_in_range(high, NSEC_PER_SEC * 3 / 2 - NSEC_PER_MSEC, NSEC_PER_SEC * 3 / 2 - 1);
    nsec_t d = loop_jitter(l, NSEC_PER_SEC, 0); /* no factor counts as 1, as wait.Jitter has it */
    assert_in_range(d, NSEC_PER_SEC, 2 * NSEC_PER_SEC - 1);
    assert_that(loop_jitter(l, NSEC_MAX, 1.0), ==, NSEC_MAX);
}

/* Looks at the stopwatch take time by the stopwatch, and by no other clock. */
static void test_looks_at_the_stopwatch_can_take_time(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);

    (void)state;
    assert_int_equal(loop_stopwatch(l), 0);
    assert_int_equal(loop_stopwatch(l), 0);
    loop_set_stopwatch(l, 5);
    assert_int_equal(loop_stopwatch(l), 5);
    loop_advance(l, 100);
    assert_int_equal(loop_stopwatch(l), 110);
    assert_int_equal(loop_mono(l), 100);
    loop_set_stopwatch(l, 0);
    assert_int_equal(loop_stopwatch(l), 110);
    assert_int_equal(loop_stopwatch(l), 110);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timer_waits_for_virtual_time),
        cmocka_unit_test(test_timers_run_by_due_time_then_by_age),
        cmocka_unit_test(test_advance_runs_timers_made_on_the_way),
        cmocka_unit_test(test_cancelled_timer_does_not_fire),
        cmocka_unit_test(test_callback_may_cancel_itself_and_a_timer_of_the_same_moment),
        cmocka_unit_test(test_posts_keep_their_order_and_wait_for_the_next_turn),
        cmocka_unit_test(test_turn_leaves_new_posts_for_later_and_advance_settles),
        cmocka_unit_test(test_timer_without_delay_waits_for_a_later_turn),
        cmocka_unit_test(test_work_runs_at_a_fixed_virtual_time),
        cmocka_unit_test(test_run_ends_at_stop_and_when_nothing_is_left),
        cmocka_unit_test(test_wall_clock_jumps_without_moving_timers),
        cmocka_unit_test(test_a_delay_beyond_all_time_never_comes),
        cmocka_unit_test(test_freeing_drops_what_has_not_run),
        cmocka_unit_test(test_real_facilities_are_refused),
        cmocka_unit_test(test_random_numbers_follow_from_the_seed),
        cmocka_unit_test(test_random_below_is_in_range_and_even),
        cmocka_unit_test(test_jitter_stretches_within_the_factor),
        cmocka_unit_test(test_looks_at_the_stopwatch_can_take_time),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
