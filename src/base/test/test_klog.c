/* test_klog.c - lines that klog's readers understand. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"

static nsec_t fixed_clock(void *arg)
{
    return *(const nsec_t *)arg;
}

static void keep_line(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

static nsec_t now = 1794766800 * NSEC_PER_SEC + 123456789; /* 2026-11-15T18:20:00 UTC */
static struct strbuf lines;

static int set_up(void **state)
{
    (void)state;
    klog_set_clock(fixed_clock, &now);
    klog_set_sink(keep_line, &lines);
    klog_set_level(2);
    strbuf_reset(&lines);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    klog_set_clock(NULL, NULL);
    klog_set_sink(NULL, NULL);
    klog_set_level(0);
    strbuf_fini(&lines);
    return 0;
}

/* The line without its header, which must be there. */
static const char *body(void)
{
    const char *at = strstr(strbuf_str(&lines), "] ");
    assert_non_null(at);
    return at + 2;
}

static void test_line_has_klogs_shape(void **state)
{
    char want[200];

    (void)state;
    KLOG_I(2, "Bound pod", KV_S("pod", "default/web-0"), KV_I("score", 87));
    (void)snprintf(want, sizeof want,
                   "I1115 18:20:00.123456 %7d test_klog.c:%d] "
                   "\"Bound pod\" pod=\"default/web-0\" score=87\n",
                   (int)getpid(), __LINE__ - 4);
    assert_string_equal(strbuf_str(&lines), want);
}

static void test_severity_and_error_come_first(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    kerr_set(&err, -EINVAL, "write cpuset.cpus: \"bad\"");
    KLOG_E(&err, "Failed to apply cpuset", KV_S("pod", "be/spark-1"));
    assert_int_equal(lines.data[0], 'E');
    assert_string_equal(body(), "\"Failed to apply cpuset\" "
                                "err=\"write cpuset.cpus: \\\"bad\\\"\" pod=\"be/spark-1\"\n");
    strbuf_reset(&lines);
    KLOG_E(NULL, "No cause");
    assert_string_equal(body(), "\"No cause\"\n");
    strbuf_reset(&lines);
    KLOG_W("Careful");
    assert_int_equal(lines.data[0], 'W');
}

static void test_each_kind_of_value(void **state)
{
    (void)state;
    KLOG_I(0, "Values", KV_S("null", NULL), KV_I("i", INT64_MIN), KV_F("f", 0.25),
           KV_B("yes", true), KV_B("no", false), KV_D("d", 90 * NSEC_PER_SEC),
           KV_S("q", "a\tb\x01\xff"));
    assert_string_equal(body(), "\"Values\" null=\"\" i=-9223372036854775808 f=0.25 yes=true "
                                "no=false d=\"1m30s\" q=\"a\\tb\\x01\\xff\"\n");
}

static void test_value_with_newlines_is_indented(void **state)
{
    (void)state;
    KLOG_I(0, "Text", KV_S("out", "one\n >\ntwo"), KV_S("ended", "x\n"), KV_I("n", 1));
    assert_string_equal(body(), "\"Text\" out=<\n\tone\n\t >\n\ttwo\n > ended=<\n\tx\n > n=1\n");
}

static int64_t evaluated(int *calls)
{
    return ++*calls;
}

static void test_arguments_are_not_evaluated_when_off(void **state)
{
    int calls = 0;

    (void)state;
    KLOG_I(4, "Quiet", KV_I("n", evaluated(&calls)));
    assert_int_equal(calls, 0);
    assert_int_equal(lines.len, 0);
    klog_set_level(4);
    KLOG_I(4, "Loud", KV_I("n", evaluated(&calls)));
    assert_int_equal(calls, 1);
    assert_string_equal(body(), "\"Loud\" n=1\n");
}

static void test_errno_survives_a_line(void **state)
{
    (void)state;
    errno = ENOTDIR;
    KLOG_I(0, "Line");
    assert_int_equal(errno, ENOTDIR);
}

static void test_default_sink_is_stderr_in_one_write(void **state)
{
    int pipe_fd[2], saved = dup(STDERR_FILENO);
    char got[1000];

    (void)state;
    /* A packet pipe keeps the borders between writes. */
    assert_int_equal(pipe2(pipe_fd, O_CLOEXEC | O_DIRECT), 0);
    klog_set_sink(NULL, NULL);
    fflush(stderr);
    dup2(pipe_fd[1], STDERR_FILENO);
    KLOG_I(0, "First", KV_S("k", "a\nb"));
    KLOG_I(0, "Second");
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pipe_fd[1]);
    ssize_t n = read(pipe_fd[0], got, sizeof got - 1);
    close(pipe_fd[0]);
    assert_that(n, >, 0);
    got[n] = '\0';
    assert_true(str_ends(got, "\"First\" k=<\n\ta\n\tb\n >\n"));
    assert_lacks(got, "Second");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_line_has_klogs_shape, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_severity_and_error_come_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_kind_of_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_value_with_newlines_is_indented, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arguments_are_not_evaluated_when_off, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_errno_survives_a_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_default_sink_is_stderr_in_one_write, set_up,
                                        tear_down),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
