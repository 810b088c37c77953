/* test_koordlet_predict_server.c - training on the loop, checkpoints on disk, restarts. */
#include "base/test/asserts.h"
#include "koordlet/predict/test/predict_fixture.h"

static void test_trains_pods_classes_node_and_system(void **state)
{
    struct fixture b;
    struct prediction p;
    struct kerr err;

    (void)state;
    fixture_init(&b);
    run_minute(&b);
    run_minute(&b);
    assert_true(predict_server_trained(b.s));
    assert_int_equal(models_count(predict_server_models(b.s)), 9);
    assert_int_equal(models_predict(predict_server_models(b.s), "uid-a", &p, &err), 0);
    assert_int_equal(p.p95.cpu, 1035);
    assert_int_equal(p.p98.memory, 135477939);
    /* Both pods are prod: two cores; the node's other two are the system's. */
    assert_int_equal(
        models_predict(predict_server_models(b.s), model_of_class(PRIO_PROD), &p, &err), 0);
    assert_in_range(p.p95.cpu, 2000, 2150);
    assert_int_equal(models_predict(predict_server_models(b.s), MODEL_SYSTEM, &p, &err), 0);
    assert_in_range(p.p95.cpu, 2000, 2150);
    fixture_fini(&b);
}

static void test_checkpoints_survive_a_restart(void **state)
{
    struct fixture b;
    CLEANUP(strbuf_fini) struct strbuf lines = STRBUF_INIT;
    struct prediction before, after;
    struct kerr err;

    (void)state;
    fixture_init(&b);
    for (int i = 0; i < 3; i++)
        run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    assert_int_equal(models_predict(predict_server_models(b.s), "uid-b", &before, &err), 0);
    stop_server(&b);
    put_file(&b, "uid-gone", "{}");
    put_file(&b, "uid-a.tmp", "{\"UID\":");
    put_file(&b, ".uid-a.tmp-7-0", "{\"UID\":");
    put_file(&b, "__node__", "garbage");
    klog_set_level(0);
    klog_set_sink(keep_line, &lines);
    start_server(&b);
    klog_set_sink(NULL, NULL);
    klog_set_level(-1);
    assert_contains(strbuf_str(&lines), "loaded=8 removed=2");
    assert_false(has_file(&b, "uid-gone"));
    assert_false(has_file(&b, "uid-a.tmp"));
    assert_false(has_file(&b, ".uid-a.tmp-7-0"));
    assert_false(has_file(&b, "__node__"));
    assert_true(has_file(&b, "uid-b"));
    assert_int_equal(models_predict(predict_server_models(b.s), "uid-b", &after, &err), 0);
    assert_int_equal(before.p95.cpu, after.p95.cpu);
    assert_int_equal(before.p98.memory, after.p98.memory);
    assert_int_equal(models_predict(predict_server_models(b.s), MODEL_NODE, &after, &err), -ENOENT);
    fixture_fini(&b);
}

static void test_at_most_so_many_files_in_a_step(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    b.o.checkpoint_max_per_step = 4;
    run_minute(&b);
    assert_int_equal(count_files(&b), 4);
    run_minute(&b);
    assert_int_equal(count_files(&b), 8);
    run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    fixture_fini(&b);
}

/* A directory that cannot be used costs the checkpoints, not the predictions. */
static void test_unusable_directory(void **state)
{
    struct fixture b;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)state;
    fixture_init(&b);
    stop_server(&b);
    b.o.checkpoint_dir = "/proc/none/here";
    start_server(&b);
    run_minute(&b);
    run_minute(&b);
    assert_int_equal(models_count(predict_server_models(b.s)), 9);
    metrics_write(&b.m, 1, &text);
    assert_lacks(strbuf_str(&text), "koordlet_checkpoint_failures_total 0\n");
    fixture_fini(&b);
}

/* What was learned of nothing would be a class that uses nothing. */
static void test_first_training_waits_for_samples(void **state)
{
    struct fixture b;
    struct prediction p;
    struct kerr err;

    (void)state;
    fixture_init(&b);
    loop_advance(b.l, 30 * NSEC_PER_SEC);
    assert_false(predict_server_trained(b.s));
    assert_int_equal(models_count(predict_server_models(b.s)), 0);
    run_minute(&b);
    assert_int_equal(
        models_predict(predict_server_models(b.s), model_of_class(PRIO_PROD), &p, &err), 0);
    assert_in_range(p.p60.cpu, 2000, 2150);
    /* Later a round without samples counts, as that of a node without pods. */
    loop_advance(b.l, 10 * MINUTE);
    assert_int_equal(
        models_predict(predict_server_models(b.s), model_of_class(PRIO_PROD), &p, &err), 0);
    assert_int_equal(p.p60.cpu, 25);
    fixture_fini(&b);
}

/* The node's samples come a round before those of pods. */
static void test_first_training_waits_for_pods(void **state)
{
    struct fixture b;
    struct prediction p;
    struct kerr err;

    (void)state;
    fixture_init(&b);
    b.pods_measured = 0;
    run_seconds(&b, 30);
    assert_false(predict_server_trained(b.s));
    b.pods_measured = 1; /* the other ended, say */
    run_seconds(&b, 5);
    assert_true(predict_server_trained(b.s));
    assert_int_equal(models_predict(predict_server_models(b.s), MODEL_SYSTEM, &p, &err), 0);
    assert_in_range(p.max.cpu, 3000, 3150);
    fixture_fini(&b);
}

static void test_first_training_waits_for_the_node(void **state)
{
    struct fixture b;
    struct prediction p;
    struct kerr err;

    (void)state;
    fixture_init(&b);
    b.node_measured = false;
    run_seconds(&b, 30);
    assert_false(predict_server_trained(b.s));
    b.node_measured = true;
    run_seconds(&b, 5);
    assert_int_equal(models_predict(predict_server_models(b.s), MODEL_SYSTEM, &p, &err), 0);
    assert_in_range(p.p60.cpu, 2000, 2150);
    fixture_fini(&b);
}

static void test_first_training_without_pods(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    set_pods(&b, 0);
    b.pods_measured = 0;
    run_seconds(&b, 5);
    assert_true(predict_server_trained(b.s));
    fixture_fini(&b);
}

/* All pods ended, say: none of them will ever be measured. */
static void test_first_training_waits_one_interval_at_most(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    b.pods_measured = 0;
    run_seconds(&b, 59);
    assert_false(predict_server_trained(b.s));
    run_seconds(&b, 2);
    assert_true(predict_server_trained(b.s));
    assert_false(models_have(predict_server_models(b.s), "uid-a"));
    fixture_fini(&b);
}

/* Nothing at all is no training, however long it takes. */
static void test_first_training_needs_a_sample(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    loop_advance(b.l, 5 * MINUTE);
    assert_false(predict_server_trained(b.s));
    assert_int_equal(models_count(predict_server_models(b.s)), 0);
    fixture_fini(&b);
}

/* Files are written once a minute, however seldom the models are trained. */
static void test_steps_do_not_wait_for_training(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    b.o.checkpoint_max_per_step = 4;
    b.o.training = 30 * MINUTE;
    for (int i = 0; i < 3; i++)
        run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    fixture_fini(&b);
}

static void test_directory_that_is_removed_is_made_again(void **state)
{
    struct fixture b;
    struct kerr err;

    (void)state;
    fixture_init(&b);
    run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    dir_each(AT_FDCWD, b.dir, remove_entry, NULL, &err);
    assert_int_equal(rmdir(b.dir), 0);
    for (int i = 0; i < 12; i++)
        run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    fixture_fini(&b);
}

/* The disk hangs at the end: who waited long enough may go. */
static void test_free_while_files_are_written(void **state)
{
    struct fixture b;
    int stopped = 0;

    (void)state;
    fixture_init(&b);
    run_minute(&b);
    loop_advance(b.l, 9 * MINUTE + 2 * NSEC_PER_SEC); /* the turn in which a step begins to write */
    predict_server_stop(b.s, count_stop, &stopped);
    b.s = predict_server_free(b.s);
    loop_advance(b.l, NSEC_PER_SEC);
    assert_int_equal(stopped, 0);
    fixture_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trains_pods_classes_node_and_system),
        cmocka_unit_test(test_checkpoints_survive_a_restart),
        cmocka_unit_test(test_at_most_so_many_files_in_a_step),
        cmocka_unit_test(test_unusable_directory),
        cmocka_unit_test(test_first_training_waits_for_samples),
        cmocka_unit_test(test_first_training_waits_for_pods),
        cmocka_unit_test(test_first_training_waits_for_the_node),
        cmocka_unit_test(test_first_training_without_pods),
        cmocka_unit_test(test_first_training_waits_one_interval_at_most),
        cmocka_unit_test(test_first_training_needs_a_sample),
        cmocka_unit_test(test_steps_do_not_wait_for_training),
        cmocka_unit_test(test_directory_that_is_removed_is_made_again),
        cmocka_unit_test(test_free_while_files_are_written),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
