/* test_koordlet_predict_files.c - checkpoints on a disk that hangs. */
#include <setjmp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/klog.h"
#include "component/metrics.h"
#include "koordlet/predict/files.h"
#include "loop/loop.h"
#include "sys/file.h"

#define MINUTE (60 * NSEC_PER_SEC)

/* ---- a disk: what it is given waits until it is let go --------------------------------------- */

static struct {
    work_fn work;
    post_fn done;
    void *arg;
    int batches;
} disk;

static bool disk_take(void *unused, work_fn work, post_fn done, void *arg)
{
    (void)unused;
    assert_null(disk.work);
    disk.work = work;
    disk.done = done;
    disk.arg = arg;
    disk.batches++;
    return true;
}

static void disk_go_on(struct loop *l)
{
    work_fn work = disk.work;

    assert_non_null(work);
    disk.work = NULL;
    work(disk.arg);
    disk.done(l, disk.arg);
}

/* ---- fixture --------------------------------------------------------------------------------- */

struct fixture {
    char dir[64];
    struct loop *l;
    struct metrics *m;
    struct checkpoint_files *f;
    struct strbuf lines, text;
};

static void keep_line(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

static int setup(void **state)
{
    struct fixture *b = xnew0(struct fixture);

    disk.work = NULL;
    disk.batches = 0;
    strcpy(b->dir, "/tmp/koordlet-files-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    b->l = loop_new_virtual(0, 3);
    loop_set_worker(b->l, disk_take, NULL);
    b->m = metrics_new();
    b->f = checkpoint_files_new(b->l, b->dir, b->m);
    klog_set_sink(keep_line, &b->lines);
    *state = b;
    return 0;
}

static int remove_entry(int dirfd, const char *name, unsigned char type, void *arg,
                        struct kerr *err)
{
    (void)type, (void)arg, (void)err;
    unlinkat(dirfd, name, 0);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *b = *state;

    klog_set_sink(NULL, NULL);
    checkpoint_files_free(b->f);
    if (disk.work)
        disk_go_on(b->l);
    dir_each(AT_FDCWD, b->dir, remove_entry, NULL, NULL);
    rmdir(b->dir);
    metrics_free(b->m);
    loop_free(b->l);
    strbuf_fini(&b->lines);
    strbuf_fini(&b->text);
    free(b);
    return 0;
}

static void save(struct fixture *b, const char *uid, const char *text)
{
    checkpoint_files_save(b->f, uid, text, strlen(text));
}

/* The file's text; "-": there is none. */
static const char *content(struct fixture *b, const char *uid)
{
    CLEANUP(fd_close) int dirfd = open(b->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    strbuf_reset(&b->text);
    return file_read_all(dirfd, uid, 1024, &b->text, NULL) < 0 ? "-" : strbuf_str(&b->text);
}

static int count_lines(struct fixture *b, const char *what)
{
    int n = 0;

    for (const char *p = strbuf_str(&b->lines); (p = strstr(p, what)); p++)
        n++;
    return n;
}

static bool has_failures(struct fixture *b, int n)
{
    char line[64];

    snprintf(line, sizeof line, "koordlet_checkpoint_failures_total %d\n", n);
    strbuf_reset(&b->text);
    metrics_write(&b->m, 1, &b->text);
    return strstr(strbuf_str(&b->text), line) != NULL;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_newest_of_a_uid_is_written(void **state)
{
    struct fixture *b = *state;

    save(b, "a", "1");
    checkpoint_files_flush(b->f);
    save(b, "a", "2");
    save(b, "b", "2");
    save(b, "c", "2");
    checkpoint_files_remove(b->f, "d");
    checkpoint_files_flush(b->f);
    save(b, "a", "three");
    checkpoint_files_remove(b->f, "b");
    save(b, "d", "3");
    checkpoint_files_flush(b->f);
    assert_int_equal(disk.batches, 1);
    disk_go_on(b->l);
    assert_string_equal(content(b, "a"), "1");
    disk_go_on(b->l);
    assert_string_equal(content(b, "a"), "three");
    assert_string_equal(content(b, "b"), "-");
    assert_string_equal(content(b, "c"), "2");
    assert_string_equal(content(b, "d"), "3");
    assert_int_equal(disk.batches, 2);
    assert_null(disk.work);
}

/* Hours of checkpoints behind a disk that hangs. */
static void test_one_job_of_a_uid_waits(void **state)
{
    struct fixture *b = *state;

    save(b, "a", "0");
    checkpoint_files_flush(b->f);
    for (int i = 0; i < 1000; i++) {
        save(b, "a", "1");
        save(b, "b", "1");
        checkpoint_files_remove(b->f, "b");
        checkpoint_files_flush(b->f);
    }
    disk_go_on(b->l);
    loop_advance(b->l, MINUTE);
    checkpoint_files_flush(b->f);
    assert_int_equal(count_lines(b, "files=2\n"), 1);
    assert_true(has_failures(b, 2));
}

static void test_disk_that_hangs_is_reported(void **state)
{
    struct fixture *b = *state;

    loop_advance(b->l, MINUTE);
    save(b, "a", "1");
    save(b, "b", "1");
    checkpoint_files_flush(b->f);
    loop_advance(b->l, MINUTE - 1);
    checkpoint_files_flush(b->f);
    assert_int_equal(count_lines(b, "Predictions"), 0);
    assert_true(has_failures(b, 0));
    loop_advance(b->l, 1);
    checkpoint_files_flush(b->f); /* though nothing waits */
    checkpoint_files_flush(b->f);
    assert_int_equal(count_lines(b, "Predictions will not survive a restart"), 1);
    assert_int_equal(count_lines(b, "not written after 60 s"), 1);
    assert_true(has_failures(b, 4));
    loop_advance(b->l, 59 * MINUTE);
    checkpoint_files_flush(b->f);
    assert_int_equal(count_lines(b, "not written after 3600 s"), 1);
    disk_go_on(b->l);
    assert_int_equal(count_lines(b, "Predictions are written again"), 1);
    save(b, "a", "2"); /* the next one's minute begins anew, and all is said */
    checkpoint_files_flush(b->f);
    checkpoint_files_flush(b->f);
    disk_go_on(b->l);
    assert_int_equal(count_lines(b, "Predictions"), 3);
    assert_true(has_failures(b, 6));
}

/* Removing is no proof that writing works. */
static void test_removals_end_no_complaint(void **state)
{
    struct fixture *b = *state;

    save(b, "a", "1");
    checkpoint_files_flush(b->f);
    assert_int_equal(rmdir(b->dir), 0);
    assert_int_equal(symlink("/proc/none", b->dir), 0);
    disk_go_on(b->l);
    assert_int_equal(count_lines(b, "will not survive"), 1);
    assert_int_equal(unlink(b->dir), 0);
    checkpoint_files_remove(b->f, "a");
    checkpoint_files_flush(b->f);
    disk_go_on(b->l);
    assert_int_equal(count_lines(b, "again"), 0);
    save(b, "a", "1");
    checkpoint_files_flush(b->f);
    disk_go_on(b->l);
    assert_int_equal(count_lines(b, "again"), 1);
    assert_string_equal(content(b, "a"), "1");
}

#define IN_FIXTURE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_FIXTURE(test_newest_of_a_uid_is_written),
        IN_FIXTURE(test_one_job_of_a_uid_waits),
        IN_FIXTURE(test_disk_that_hangs_is_reported),
        IN_FIXTURE(test_removals_end_no_complaint),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
