/* test_koordlet_predict_clock.c - ages of models: downtime, clocks that jump, pods that are gone.
 */
#include "koordlet/predict/test/predict_fixture.h"

static void test_models_of_pods_that_are_gone_expire_with_their_file(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    run_minute(&b);
    run_minute(&b);
    assert_true(has_file(&b, "uid-b"));
    set_pods(&b, 1);
    for (int i = 0; i < 33; i++)
        run_minute(&b);
    assert_false(models_have(predict_server_models(b.s), "uid-b"));
    assert_false(has_file(&b, "uid-b"));
    assert_true(has_file(&b, "uid-a"));
    fixture_fini(&b);
}

/* The time that we were not there is no age: a pod whose first sample is late keeps its model. */
static void test_downtime_expires_nothing(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    run_minutes(&b, 2);
    stop_server(&b);
    loop_advance(b.l, 120 * MINUTE);
    b.pods_measured = 1;
    start_server(&b);
    run_minutes(&b, 29);
    assert_true(predict_server_trained(b.s));
    assert_true(models_have(predict_server_models(b.s), "uid-b"));
    assert_true(has_file(&b, "uid-b"));
    run_minutes(&b, 3);
    assert_false(models_have(predict_server_models(b.s), "uid-b"));
    assert_false(has_file(&b, "uid-b"));
    assert_true(has_file(&b, "uid-a"));
    fixture_fini(&b);
}

/* A training that saw no sample of a pod did not make it young. */
static void test_jump_and_no_samples_expire_nothing_at_once(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    run_minutes(&b, 40); /* ages count by now */
    loop_set_wall(b.l, loop_wall(b.l) + 86400 * NSEC_PER_SEC);
    loop_advance(b.l, 29 * MINUTE); /* steps and trainings, without samples */
    assert_true(models_have(predict_server_models(b.s), "uid-a"));
    assert_true(models_have(predict_server_models(b.s), "uid-b"));
    set_pods(&b, 1);
    run_minutes(&b, 4); /* one came back in time, one is gone */
    assert_true(models_have(predict_server_models(b.s), "uid-a"));
    assert_false(models_have(predict_server_models(b.s), "uid-b"));
    assert_false(has_file(&b, "uid-b"));
    fixture_fini(&b);
}

static void test_clock_that_is_set_back_keeps_nobody_for_ever(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    run_minutes(&b, 2);
    set_pods(&b, 1);
    loop_set_wall(b.l, START - 86400 * NSEC_PER_SEC);
    metriccache_rewind(b.mc, loop_wall(b.l) / NSEC_PER_MSEC); /* as the collectors do */
    run_minutes(&b, 29);
    assert_true(models_have(predict_server_models(b.s), "uid-b"));
    run_minutes(&b, 3);
    assert_false(models_have(predict_server_models(b.s), "uid-b"));
    assert_true(models_have(predict_server_models(b.s), "uid-a"));
    fixture_fini(&b);
}

static void test_clock_that_jumps_ahead_drops_nothing(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    run_minutes(&b, 40);                 /* ages count by now */
    loop_advance(b.l, NSEC_PER_SEC / 2); /* trained; the step is to come */
    loop_set_wall(b.l, START + 86400 * NSEC_PER_SEC);
    loop_advance(b.l, 2 * NSEC_PER_SEC);
    assert_true(models_have(predict_server_models(b.s), "uid-a"));
    run_minute(&b);
    run_minute(&b);
    assert_true(models_have(predict_server_models(b.s), "uid-a"));
    assert_true(has_file(&b, "uid-a"));
    set_pods(&b, 1); /* and then what is gone goes */
    for (int i = 0; i < 33; i++)
        run_minute(&b);
    assert_false(models_have(predict_server_models(b.s), "uid-b"));
    fixture_fini(&b);
}

/* The clock was years ahead: its samples do not rule for ever. */
static void test_clock_that_was_far_ahead(void **state)
{
    struct fixture b;
    struct prediction p;
    struct kerr err;

    (void)state;
    fixture_init(&b);
    loop_set_wall(b.l, START + INT64_C(3) * 365 * 86400 * NSEC_PER_SEC);
    for (int i = 0; i < 3; i++)
        run_minute(&b);
    loop_set_wall(b.l, START);
    loop_advance(b.l, 5 * MINUTE); /* without samples: classes use nothing */
    assert_int_equal(
        models_predict(predict_server_models(b.s), model_of_class(PRIO_PROD), &p, &err), 0);
    assert_int_equal(p.p95.cpu, 25);
    fixture_fini(&b);
}

static void test_clock_that_is_set_back_holds_up_no_files(void **state)
{
    struct fixture b;
    struct kerr err;

    (void)state;
    fixture_init(&b);
    run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    dir_each(AT_FDCWD, b.dir, remove_entry, NULL, &err);
    loop_set_wall(b.l, START - 86400 * NSEC_PER_SEC);
    run_minute(&b);
    run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    fixture_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_of_pods_that_are_gone_expire_with_their_file),
        cmocka_unit_test(test_downtime_expires_nothing),
        cmocka_unit_test(test_jump_and_no_samples_expire_nothing_at_once),
        cmocka_unit_test(test_clock_that_is_set_back_keeps_nobody_for_ever),
        cmocka_unit_test(test_clock_that_jumps_ahead_drops_nothing),
        cmocka_unit_test(test_clock_that_was_far_ahead),
        cmocka_unit_test(test_clock_that_is_set_back_holds_up_no_files),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
