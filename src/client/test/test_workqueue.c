/* test_workqueue.c - deduplication, delays, back-off. */
#include <stdio.h>

#include "client/test/client_fixture.h"
#include "client/workqueue.h"

struct log {
    char keys[256];
    struct work *held; /* a sync that has not finished */
    bool hold, fail;
    nsec_t last;
    struct loop *loop;
    int syncs;
};

static void sync_key(void *arg, const char *key, struct work *w)
{
    struct log *l = arg;
    struct kerr err = { 0 };

    l->syncs++;
    l->last = loop_mono(l->loop);
    if (strlen(l->keys) < 200)
        strcat(strcat(l->keys, key), " ");
    if (l->hold) {
        l->held = w;
        return;
    }
    if (l->fail)
        kerr_set(&err, -EIO, "no luck");
    work_done(w, l->fail ? &err : NULL);
}

static void test_keys_are_synced_once_in_order(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct log log = { .loop = l };
    CLEANUP(workqueue_free)
    struct workqueue *q = workqueue_new(l, &(struct workqueue_opts){ 0 }, sync_key, &log);

    (void)state;
    workqueue_add(q, "a");
    workqueue_add(q, "b");
    workqueue_add(q, "a");
    assert_string_equal(log.keys, ""); /* never from inside the call */
    loop_advance(l, NSEC_PER_MSEC);
    assert_string_equal(log.keys, "a b ");
}

static void test_keys_gather_while_paused(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct log log = { .loop = l };
    CLEANUP(workqueue_free)
    struct workqueue *q = workqueue_new(l, &(struct workqueue_opts){ 0 }, sync_key, &log);

    (void)state;
    workqueue_add(q, "a");
    workqueue_pause(q, true); /* also what was about to begin */
    workqueue_add_after(q, "b", NSEC_PER_SEC);
    loop_advance(l, 2 * NSEC_PER_SEC);
    assert_string_equal(log.keys, "");
    workqueue_pause(q, false);
    loop_advance(l, 1);
    assert_string_equal(log.keys, "a b ");
}

static void test_a_key_added_while_it_runs_runs_again_afterwards(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct log log = { .loop = l, .hold = true };
    CLEANUP(workqueue_free)
    struct workqueue *q =
        workqueue_new(l, &(struct workqueue_opts){ .concurrency = 4 }, sync_key, &log);

    (void)state;
    workqueue_add(q, "a");
    loop_advance(l, 1);
    workqueue_add(q, "a");
    workqueue_add(q, "a");
    loop_advance(l, NSEC_PER_SEC);
    assert_int_equal(log.syncs, 1);
    log.hold = false;
    work_done(log.held, NULL);
    loop_advance(l, NSEC_PER_SEC);
    assert_int_equal(log.syncs, 2);
    assert_int_equal(workqueue_stats(q).running, 0);
}

static void test_failures_back_off_exponentially_and_success_forgets(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct log log = { .loop = l, .fail = true };
    CLEANUP(workqueue_free)
    struct workqueue *q = workqueue_new(l, &(struct workqueue_opts){ 0 }, sync_key, &log);

    (void)state;
    workqueue_add(q, "a");
    loop_advance(l, 0);
    nsec_t before = log.last, expect = 5 * NSEC_PER_MSEC;
    for (int i = 0; i < 8; i++, expect *= 2) {
        loop_advance(l, expect);
        assert_int_equal(log.syncs, i + 2);
        assert_int_equal(log.last - before, expect);
        before = log.last;
    }
    log.fail = false;
    loop_advance(l, expect);
    int syncs = log.syncs;
    log.fail = true;
    workqueue_add(q, "a");
    loop_advance(l, 0);
    loop_advance(l, 5 * NSEC_PER_MSEC);
    assert_int_equal(log.syncs, syncs + 2); /* the first back-off again */
}

static void test_back_off_is_capped(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct log log = { .loop = l, .fail = true };
    CLEANUP(workqueue_free)
    struct workqueue *q =
        workqueue_new(l, &(struct workqueue_opts){ .backoff_max = NSEC_PER_SEC }, sync_key, &log);

    (void)state;
    workqueue_add(q, "a");
    loop_advance(l, 60 * NSEC_PER_SEC);
    int syncs = log.syncs;
    loop_advance(l, 10 * NSEC_PER_SEC);
    assert_int_equal(log.syncs, syncs + 10);
}

static void test_the_earliest_of_two_delays_wins(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct log log = { .loop = l };
    CLEANUP(workqueue_free)
    struct workqueue *q = workqueue_new(l, &(struct workqueue_opts){ 0 }, sync_key, &log);

    (void)state;
    workqueue_add_after(q, "a", 10 * NSEC_PER_SEC);
    workqueue_add_after(q, "a", 2 * NSEC_PER_SEC);
    workqueue_add_after(q, "a", 5 * NSEC_PER_SEC);
    loop_advance(l, 2 * NSEC_PER_SEC);
    assert_int_equal(log.syncs, 1);
    loop_advance(l, 60 * NSEC_PER_SEC);
    assert_int_equal(log.syncs, 1);
}

static void test_many_failing_keys_share_a_rate(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct log log = { .loop = l, .fail = true };
    CLEANUP(workqueue_free)
    struct workqueue *q =
        workqueue_new(l, &(struct workqueue_opts){ .qps = 10, .burst = 10 }, sync_key, &log);

    (void)state;
    for (int i = 0; i < 200; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        workqueue_add(q, key);
    }
    loop_advance(l, 10 * NSEC_PER_SEC);
    /* 200 first tries, then 10 at once and 10 a second. */
    assert_in_range(log.syncs, 200, 200 + 10 + 10 * 10 + 10);
}

static void test_concurrency_is_a_limit(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct log log = { .loop = l, .hold = true };
    CLEANUP(workqueue_free)
    struct workqueue *q =
        workqueue_new(l, &(struct workqueue_opts){ .concurrency = 2 }, sync_key, &log);

    (void)state;
    workqueue_add(q, "a");
    workqueue_add(q, "b");
    workqueue_add(q, "c");
    loop_advance(l, NSEC_PER_SEC);
    assert_int_equal(log.syncs, 2);
    assert_int_equal(workqueue_stats(q).ready, 1);
    work_done(log.held, NULL);
    loop_advance(l, NSEC_PER_SEC);
    assert_int_equal(log.syncs, 3);
}

static void test_work_again_comes_back_after_its_time(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct log log = { .loop = l, .hold = true };
    CLEANUP(workqueue_free)
    struct workqueue *q = workqueue_new(l, &(struct workqueue_opts){ 0 }, sync_key, &log);

    (void)state;
    workqueue_add(q, "a");
    loop_advance(l, 0);
    work_again(log.held, 30 * NSEC_PER_SEC);
    loop_advance(l, 30 * NSEC_PER_SEC - 1);
    assert_int_equal(log.syncs, 1);
    loop_advance(l, 1);
    assert_int_equal(log.syncs, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_synced_once_in_order),
        cmocka_unit_test(test_keys_gather_while_paused),
        cmocka_unit_test(test_a_key_added_while_it_runs_runs_again_afterwards),
        cmocka_unit_test(test_failures_back_off_exponentially_and_success_forgets),
        cmocka_unit_test(test_back_off_is_capped),
        cmocka_unit_test(test_the_earliest_of_two_delays_wins),
        cmocka_unit_test(test_many_failing_keys_share_a_rate),
        cmocka_unit_test(test_concurrency_is_a_limit),
        cmocka_unit_test(test_work_again_comes_back_after_its_time),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
