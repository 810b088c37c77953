/* test_filewatch.c - files that are replaced: noticed by inotify, or by looking from time to time.
 */
#include "base/test/asserts.h"
#include "loop/filewatch.h"

#include "base/klog.h"
#include "loop/loop.h"
#include "sys/test/tmpdir.h"

struct watching {
    struct filewatch *w;
    struct loop *stop; /* at the first call */
    int calls;
    bool close;
};

static void count(void *arg)
{
    struct watching *x = arg;

    x->calls++;
    if (x->stop)
        loop_stop(x->stop);
    if (x->close)
        x->w = filewatch_free(x->w);
}

static void drop(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static void test_files_in_a_missing_directory_are_polled(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    static const char *const paths[] = { "/nonexistent/a", "/nonexistent/b" };
    struct watching x = { 0 };

    (void)state;
    klog_set_sink(drop, NULL);
    CLEANUP(filewatch_free) struct filewatch *w = filewatch_new(l, paths, 2, count, &x);
    klog_set_sink(NULL, NULL);
    assert_false(filewatch_is_notified(w));
    assert_int_equal(x.calls, 0);
}

static void test_changes_that_come_together_are_told_once(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct watching x = { 0 };
    struct tmpdir t;

    (void)state;
    tmpdir_init(&t);
    const char *paths[] = { tmpdir_write(&t, "a", "1"), tmpdir_at(&t, "b") };
    x.w = filewatch_new(l, paths, 2, count, &x);
    loop_advance(l, 10 * FILEWATCH_POLL);
    assert_int_equal(x.calls, 0);
    tmpdir_write(&t, "a", "22");
    tmpdir_write(&t, "b", "1"); /* one that was not there */
    loop_advance(l, FILEWATCH_POLL);
    assert_int_equal(x.calls, 1);
    (void)remove(paths[1]); /* one that goes */
    loop_advance(l, FILEWATCH_POLL);
    assert_int_equal(x.calls, 2);
    x.close = true; /* from inside its callback */
    tmpdir_write(&t, "a", "333");
    loop_advance(l, 10 * FILEWATCH_POLL);
    assert_int_equal(x.calls, 3);
    assert_null(x.w);
    tmpdir_fini(&t);
}

static void write_later(struct loop *l, void *arg)
{
    (void)l;
    tmpdir_write(arg, "a", "22");
}

static void test_a_replaced_file_is_noticed_at_once(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct watching x = { .stop = l };
    struct tmpdir t;

    (void)state;
    tmpdir_init(&t);
    const char *path = tmpdir_write(&t, "a", "1");
    x.w = filewatch_new(l, &path, 1, count, &x);
    assert_true(filewatch_is_notified(x.w));
    nsec_t before = loop_mono(l);
    loop_after(l, NSEC_PER_MSEC, write_later, &t);
    loop_run(l);
    assert_int_equal(x.calls, 1);
    assert_that(loop_mono(l) - before, <, FILEWATCH_POLL);
    filewatch_free(x.w);
    tmpdir_fini(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_in_a_missing_directory_are_polled),
        cmocka_unit_test(test_changes_that_come_together_are_told_once),
        cmocka_unit_test(test_a_replaced_file_is_noticed_at_once),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
