/* test_crash.c - a dying program says one line and dies of its signal.
 *
 * The program runs itself again ("--die how") and looks at what that one wrote.
 */
#include "base/test/asserts.h"
#include "sys/crash.h"
#include "sys/spawn.h"

#include <setjmp.h> /* cmocka.h wants these first */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static __attribute__((noinline)) void die(const char *how)
{
    if (streq(how, "segv")) {
        volatile int *volatile nowhere = (int *)16;
        *nowhere = 1;
    } else if (streq(how, "abort")) {
        abort();
    } else if (streq(how, "pipe")) {
        raise(SIGPIPE);
    } else if (streq(how, "sent")) {
        raise(SIGBUS);
    }
}

struct outcome {
    struct spawn_exit exit;
    struct strbuf err;
};

static void outcome_fini_p(struct outcome *o)
{
    strbuf_fini(&o->err);
}

static struct outcome run_and_die(const char *how)
{
    const char *argv[] = { NULL, "--die", how, NULL };
    /* A sanitizer's own handlers would stay; told to do without, it leaves the faults to us. */
    const char *envp[] = { "ASAN_OPTIONS=handle_segv=0:handle_sigbus=0", NULL };
    const struct spawn_limits limits = { 0, 1 << 16, 60 * NSEC_PER_SEC };
    char self[4096];
    struct outcome o = { 0 };
    struct kerr err = { 0 };

    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_that(n, >, 0);
    self[n] = '\0';
    argv[0] = self;
    int r = spawn_run(&(struct spawn_opts){ .argv = argv, .envp = envp, .err = SPAWN_PIPE },
                      &limits, (struct str){ 0 }, NULL, &o.err, &o.exit, &err);
    if (r < 0)
        fail_msg("%s", err.text);
    return o;
}

static void test_abort_leaves_a_line_and_its_signal(void **state)
{
    CLEANUP(outcome_fini) struct outcome o = run_and_die("abort");
    const char *text = strbuf_str(&o.err);

    (void)state;
    assert_true(o.exit.signalled);
    assert_int_equal(o.exit.code, SIGABRT);
    assert_starts(text, "fatal: test_crash[");
    assert_contains(text, "]: SIGABRT, backtrace: ");
    assert_contains(text, " +0x"); /* a frame of the program itself */
    assert_ptr_equal(strchr(text, '\n'), text + o.err.len - 1);
}

static void test_fault_names_the_address(void **state)
{
    CLEANUP(outcome_fini) struct outcome o = run_and_die("segv");

    (void)state;
    assert_true(o.exit.signalled);
    assert_int_equal(o.exit.code, SIGSEGV);
    assert_contains(strbuf_str(&o.err), "]: SIGSEGV at 0x10, backtrace: ");
}

static void test_signal_from_outside_has_no_address(void **state)
{
    CLEANUP(outcome_fini) struct outcome o = run_and_die("sent");

    (void)state;
    assert_true(o.exit.signalled);
    assert_int_equal(o.exit.code, SIGBUS);
    assert_contains(strbuf_str(&o.err), "]: SIGBUS, backtrace: ");
}

static void test_broken_pipe_does_not_kill(void **state)
{
    CLEANUP(outcome_fini) struct outcome o = run_and_die("pipe");

    (void)state;
    assert_false(o.exit.signalled);
    assert_int_equal(o.exit.code, 0);
    assert_string_equal(strbuf_str(&o.err), "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_abort_leaves_a_line_and_its_signal),
        cmocka_unit_test(test_fault_names_the_address),
        cmocka_unit_test(test_signal_from_outside_has_no_address),
        cmocka_unit_test(test_broken_pipe_does_not_kill),
    };

    if (argc == 3 && streq(argv[1], "--die")) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
        crash_init("test_crash");
        die(argv[2]);
        return 0;
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
