/* test_koordlet_predict_server.c - training on the loop, checkpoints on disk, restarts. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "koordlet/metriccache/store.h"
#include "koordlet/predict/server.h"
#include "koordlet/states/states.h"
#include "loop/loop.h"
#include "sys/file.h"

#define START  (INT64_C(1700000000) * NSEC_PER_SEC)
#define MINUTE (60 * NSEC_PER_SEC)

/* ---- states: the pods this test says there are ----------------------------------------------- */

static struct podset *the_pods;

struct podset *states_pods(const struct states *s)
{
    (void)s;
    return the_pods;
}

/* ---- bed ------------------------------------------------------------------------------------- */

struct bed {
    char dir[64];
    struct predict_options o;
    struct loop *l;
    struct metrics *m;
    struct metriccache *mc;
    struct series *node_cpu, *node_memory, *pod_cpu[2], *pod_memory[2];
    struct predict_server *s;
    struct npod pods[2];
    struct npod *list[2];
    struct podset set;
};

static void set_pods(struct bed *b, uint32_t n)
{
    static const char *const uids[] = { "uid-a", "uid-b" };

    for (uint32_t i = 0; i < 2; i++) {
        b->pods[i] = (struct npod){ .refs = 1, .priority = PRIO_PROD };
        strcpy(b->pods[i].uid, uids[i]);
        b->list[i] = &b->pods[i];
    }
    b->set = (struct podset){ .refs = 1, .n = n, .pods = b->list };
    the_pods = &b->set;
}

static void keep_line(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

static void start_server(struct bed *b)
{
    b->s = predict_server_new(&(struct predict_env){ b->l, b->mc, NULL, b->m, &b->o });
    predict_server_start(b->s);
}

static void bed_init(struct bed *b)
{
    *b = (struct bed){ .l = loop_new_virtual(START, 3), .m = metrics_new() };
    strcpy(b->dir, "/tmp/koordlet-models-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    klog_set_level(-1);
    b->o = (struct predict_options){
        .checkpoint_dir = b->dir,
        .cold_start = 1440 * MINUTE,
        .memory_half_life = 1440 * MINUTE,
        .cpu_half_life = 720 * MINUTE,
        .training = MINUTE,
        .expiration = 30 * MINUTE,
        .checkpoint = 10 * MINUTE,
        .margin_percent = 10,
        .checkpoint_max_per_step = 12,
    };
    b->mc = metriccache_new();
    for (int k = 0; k < M_KINDS; k++)
        metriccache_retain(b->mc, (enum metric_kind)k, NSEC_PER_SEC, 5 * MINUTE);
    b->node_cpu = metriccache_open(b->mc, M_NODE_CPU, NULL);
    b->node_memory = metriccache_open(b->mc, M_NODE_MEMORY, NULL);
    set_pods(b, 2);
    for (int i = 0; i < 2; i++) {
        const char *const labels[] = { b->pods[i].uid };
        b->pod_cpu[i] = metriccache_open(b->mc, M_POD_CPU, labels);
        b->pod_memory[i] = metriccache_open(b->mc, M_POD_MEMORY, labels);
    }
    start_server(b);
}

static void count_stop(void *arg)
{
    ++*(int *)arg;
}

static void stop_server(struct bed *b)
{
    int stopped = 0;

    predict_server_stop(b->s, count_stop, &stopped);
    loop_advance(b->l, NSEC_PER_SEC);
    assert_int_equal(stopped, 1);
    b->s = predict_server_free(b->s);
}

static int remove_entry(int dirfd, const char *name, unsigned char type, void *arg,
                        struct kerr *err)
{
    (void)type, (void)arg, (void)err;
    unlinkat(dirfd, name, 0);
    return 0;
}

static void bed_fini(struct bed *b)
{
    struct kerr err;

    if (b->s)
        stop_server(b);
    series_close(b->node_cpu);
    series_close(b->node_memory);
    for (int i = 0; i < 2; i++) {
        series_close(b->pod_cpu[i]);
        series_close(b->pod_memory[i]);
    }
    metriccache_free(b->mc);
    chmod(b->dir, 0755);
    dir_each(AT_FDCWD, b->dir, remove_entry, NULL, &err);
    rmdir(b->dir);
    metrics_free(b->m);
    loop_free(b->l);
    the_pods = NULL;
}

/* A minute of one sample a second. */
static void run_minute(struct bed *b)
{
    struct kerr err;

    for (int i = 0; i < 60; i++) {
        int64_t ms = loop_wall(b->l) / NSEC_PER_MSEC;
        series_append(b->node_cpu, ms, 4, &err);
        series_append(b->node_memory, ms, 8e9, &err);
        for (int k = 0; k < 2; k++) {
            series_append(b->pod_cpu[k], ms, 1, &err);
            series_append(b->pod_memory[k], ms, 128 << 20, &err);
        }
        loop_advance(b->l, NSEC_PER_SEC);
    }
}

static size_t count_files(const struct bed *b)
{
    DIR *d = opendir(b->dir);
    size_t n = 0;

    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static bool has_file(const struct bed *b, const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", b->dir, name);
    return access(path, F_OK) == 0;
}

static void put_file(const struct bed *b, const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", b->dir, name);
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_trains_pods_classes_node_and_system(void **state)
{
    struct bed b;
    struct prediction p;
    struct kerr err;

    (void)state;
    bed_init(&b);
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
    bed_fini(&b);
}

static void test_checkpoints_survive_a_restart(void **state)
{
    struct bed b;
    CLEANUP(strbuf_fini) struct strbuf lines = STRBUF_INIT;
    struct prediction before, after;
    struct kerr err;

    (void)state;
    bed_init(&b);
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
    assert_non_null(strstr(strbuf_str(&lines), "loaded=8 removed=2"));
    assert_false(has_file(&b, "uid-gone"));
    assert_false(has_file(&b, "uid-a.tmp"));
    assert_false(has_file(&b, ".uid-a.tmp-7-0"));
    assert_false(has_file(&b, "__node__"));
    assert_true(has_file(&b, "uid-b"));
    assert_int_equal(models_predict(predict_server_models(b.s), "uid-b", &after, &err), 0);
    assert_int_equal(before.p95.cpu, after.p95.cpu);
    assert_int_equal(before.p98.memory, after.p98.memory);
    assert_int_equal(models_predict(predict_server_models(b.s), MODEL_NODE, &after, &err), -ENOENT);
    bed_fini(&b);
}

static void test_models_of_pods_that_are_gone_expire_with_their_file(void **state)
{
    struct bed b;

    (void)state;
    bed_init(&b);
    run_minute(&b);
    run_minute(&b);
    assert_true(has_file(&b, "uid-b"));
    set_pods(&b, 1);
    for (int i = 0; i < 33; i++)
        run_minute(&b);
    assert_false(models_have(predict_server_models(b.s), "uid-b"));
    assert_false(has_file(&b, "uid-b"));
    assert_true(has_file(&b, "uid-a"));
    bed_fini(&b);
}

static void test_at_most_so_many_files_in_a_step(void **state)
{
    struct bed b;

    (void)state;
    bed_init(&b);
    b.o.checkpoint_max_per_step = 4;
    run_minute(&b);
    assert_int_equal(count_files(&b), 4);
    run_minute(&b);
    assert_int_equal(count_files(&b), 8);
    run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    bed_fini(&b);
}

/* A directory that cannot be used costs the checkpoints, not the predictions. */
static void test_unusable_directory(void **state)
{
    struct bed b;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)state;
    bed_init(&b);
    stop_server(&b);
    b.o.checkpoint_dir = "/proc/none/here";
    start_server(&b);
    run_minute(&b);
    run_minute(&b);
    assert_int_equal(models_count(predict_server_models(b.s)), 9);
    metrics_write(&b.m, 1, &text);
    assert_null(strstr(strbuf_str(&text), "koordlet_checkpoint_failures_total 0\n"));
    bed_fini(&b);
}

/* What was learned of nothing would be a class that uses nothing. */
static void test_first_training_waits_for_samples(void **state)
{
    struct bed b;
    struct prediction p;
    struct kerr err;

    (void)state;
    bed_init(&b);
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
    bed_fini(&b);
}

/* Files are written once a minute, however seldom the models are trained. */
static void test_steps_do_not_wait_for_training(void **state)
{
    struct bed b;

    (void)state;
    bed_init(&b);
    b.o.checkpoint_max_per_step = 4;
    b.o.training = 30 * MINUTE;
    for (int i = 0; i < 3; i++)
        run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    bed_fini(&b);
}

static void test_directory_that_is_removed_is_made_again(void **state)
{
    struct bed b;
    struct kerr err;

    (void)state;
    bed_init(&b);
    run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    dir_each(AT_FDCWD, b.dir, remove_entry, NULL, &err);
    assert_int_equal(rmdir(b.dir), 0);
    for (int i = 0; i < 12; i++)
        run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    bed_fini(&b);
}

/* The disk hangs at the end: who waited long enough may go. */
static void test_free_while_files_are_written(void **state)
{
    struct bed b;
    int stopped = 0;

    (void)state;
    bed_init(&b);
    run_minute(&b);
    loop_advance(b.l, 9 * MINUTE + 2 * NSEC_PER_SEC); /* the turn in which a step begins to write */
    predict_server_stop(b.s, count_stop, &stopped);
    b.s = predict_server_free(b.s);
    loop_advance(b.l, NSEC_PER_SEC);
    assert_int_equal(stopped, 0);
    bed_fini(&b);
}

static void test_clock_that_jumps_ahead_drops_nothing(void **state)
{
    struct bed b;

    (void)state;
    bed_init(&b);
    run_minute(&b);
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
    bed_fini(&b);
}

/* The clock was years ahead: its samples do not rule for ever. */
static void test_clock_that_was_far_ahead(void **state)
{
    struct bed b;
    struct prediction p;
    struct kerr err;

    (void)state;
    bed_init(&b);
    loop_set_wall(b.l, START + INT64_C(3) * 365 * 86400 * NSEC_PER_SEC);
    for (int i = 0; i < 3; i++)
        run_minute(&b);
    loop_set_wall(b.l, START);
    loop_advance(b.l, 5 * MINUTE); /* without samples: classes use nothing */
    assert_int_equal(
        models_predict(predict_server_models(b.s), model_of_class(PRIO_PROD), &p, &err), 0);
    assert_int_equal(p.p95.cpu, 25);
    bed_fini(&b);
}

static void test_clock_that_is_set_back_holds_up_no_files(void **state)
{
    struct bed b;
    struct kerr err;

    (void)state;
    bed_init(&b);
    run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    dir_each(AT_FDCWD, b.dir, remove_entry, NULL, &err);
    loop_set_wall(b.l, START - 86400 * NSEC_PER_SEC);
    run_minute(&b);
    run_minute(&b);
    assert_int_equal(count_files(&b), 9);
    bed_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trains_pods_classes_node_and_system),
        cmocka_unit_test(test_checkpoints_survive_a_restart),
        cmocka_unit_test(test_models_of_pods_that_are_gone_expire_with_their_file),
        cmocka_unit_test(test_at_most_so_many_files_in_a_step),
        cmocka_unit_test(test_unusable_directory),
        cmocka_unit_test(test_first_training_waits_for_samples),
        cmocka_unit_test(test_steps_do_not_wait_for_training),
        cmocka_unit_test(test_directory_that_is_removed_is_made_again),
        cmocka_unit_test(test_free_while_files_are_written),
        cmocka_unit_test(test_clock_that_jumps_ahead_drops_nothing),
        cmocka_unit_test(test_clock_that_was_far_ahead),
        cmocka_unit_test(test_clock_that_is_set_back_holds_up_no_files),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
