/* test_run.c - what every main does: tried on this program itself, started again. */
#include "component/run.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "client/kube.h"
#include "client/kubeconfig.h"
#include "component/election.h"
#include "loop/loop.h"
#include "sys/file.h"
#include "sys/spawn.h"
#include "sys/test/tmpdir.h"

/* ---- the program under test ------------------------------------------------------------------ */

struct options {
    const char *config;
    nsec_t grace;
    bool fail, contradict;
    struct client_options client;
    struct election_options election;
};

static void add_flags(struct flags *f, void *options)
{
#define O(member) .off = offsetof(struct options, member)
    static const struct flag table[] = {
        { "config", FLAG_STR, O(config), .help = "configuration `file`" },
        { "grace", FLAG_DUR, O(grace), .def = "10ms", .help = "time to stop" },
        { "fail", FLAG_BOOL, O(fail), .help = "do not start" },
        { "contradict", FLAG_BOOL, O(contradict), .flags = FLAG_HIDDEN },
    };
#undef O
    struct options *o = options;
    flags_add(f, "Flags", table, ARRAY_LEN(table), o);
    client_options_add(f, &o->client);
    election_options_add(f, &o->election, "koord-test");
}

static int check(struct run *r, struct kerr *err)
{
    struct options *o = r->options;
    return o->contradict ? kerr_set(err, -EINVAL, "--contradict contradicts itself") : 0;
}

static void stopped(struct loop *l, void *arg)
{
    (void)l;
    run_exit(arg, 0);
}

static int start(struct run *r, struct kerr *err)
{
    struct options *o = r->options;
    if (o->fail)
        return kerr_set(err, -ENOENT, "open %s: it does not exist", o->config);
    CLEANUP(mem_free) char *identity = election_identity(r->loop);
    KLOG_I(4, "Detail", KV_S("identity", identity), KV_B("clockOfLoop", klog_has_clock()));
    if (write(STDOUT_FILENO, "up\n", 3) != 3)
        return kerr_set(err, -EIO, "write");
    r->self = r;
    loop_after(r->loop, 3600 * NSEC_PER_SEC, stopped, r); /* something to wait for */
    return 0;
}

static void stop(struct run *r)
{
    loop_after(r->loop, ((struct options *)r->options)->grace, stopped, r);
}

static void fini(struct run *r)
{
    (void)r;
    KLOG_I(4, "Letting go", KV_B("clockOfLoop", klog_has_clock()));
}

static const struct program program = {
    .name = "koord-test",
    .brief = "is tested",
    .about = "A program for tests.\n",
    .add_flags = add_flags,
    .check = check,
    .start = start,
    .stop = stop,
    .fini = fini,
};

/* ---- running it ------------------------------------------------------------------------------ */

struct result {
    int code; /* exit status, or -signal */
    struct strbuf out, err;
};

static void result_fini(struct result *r)
{
    strbuf_fini(&r->out);
    strbuf_fini(&r->err);
}

static struct spawn_opts opts_of(const char *const *argv)
{
    return (struct spawn_opts){ .argv = argv, .out = SPAWN_PIPE, .err = SPAWN_PIPE };
}

static struct result run_args(const char *const *argv)
{
    struct spawn_limits limits = { 1 << 20, 1 << 20, 60 * NSEC_PER_SEC };
    struct spawn_opts o = opts_of(argv);
    struct result r = { 0 };
    struct spawn_exit e;
    struct kerr err = { 0 };

    assert_int_equal(spawn_run(&o, &limits, (struct str){ 0 }, &r.out, &r.err, &e, &err), 0);
    r.code = e.signalled ? -e.code : e.code;
    return r;
}
#define run(...) run_args((const char *const[]){ "/proc/self/exe", "child", __VA_ARGS__, NULL })

/* Reads on until its log has this. */
static void read_until(int fd, struct strbuf *log, const char *text)
{
    char buf[4096];

    while (!strstr(strbuf_str(log), text)) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        assert_int_equal(poll(&p, 1, 60000), 1);
        ssize_t n = read(fd, buf, sizeof buf);
        assert_that(n, >, 0);
        strbuf_appendn(log, buf, (size_t)n);
    }
}

/* Starts, waits until it is up, sends the signals and waits for the end. */
static struct result run_signals(const char *grace, int first, int second)
{
    const char *const argv[] = { "/proc/self/exe", "child", "-v=4", grace, NULL };
    struct spawn_opts o = opts_of(argv);
    struct spawned child = SPAWNED_INIT;
    struct spawn_exit e;
    struct kerr err = { 0 };
    struct result r = { 0 };
    char buf[4096];

    assert_int_equal(spawn_start(&o, &child, &err), 0);
    struct pollfd p = { .fd = child.out, .events = POLLIN };
    assert_int_equal(poll(&p, 1, 60000), 1);
    spawn_kill(&child, first);
    if (second) {
        read_until(child.err, &r.err, "\"Stopping\""); /* it has seen the first one */
        spawn_kill(&child, second);
    }
    assert_int_equal(spawn_reap(&child, true, &e, &err), 1);
    r.code = e.signalled ? -e.code : e.code;
    for (ssize_t n; (n = read(child.err, buf, sizeof buf)) > 0;)
        strbuf_appendn(&r.err, buf, (size_t)n);
    spawned_fini(&child);
    return r;
}

static void test_help_and_version_go_to_stdout(void **state)
{
    struct result r = run("--help");

    (void)state;
    assert_int_equal(r.code, 0);
    assert_starts(strbuf_str(&r.out), "A program for tests.\n\nUsage:\n  koord-test "
                                      "[flags]\n\nLog flags:\n");
    assert_contains(strbuf_str(&r.out), "--leader-elect-lease-duration duration");
    assert_contains(strbuf_str(&r.out), "(default \"koord-test\")");
    assert_lacks(strbuf_str(&r.out), "contradict");
    assert_int_equal(r.err.len, 0);
    result_fini(&r);
    r = run("--version");
    assert_int_equal(r.code, 0);
    assert_string_equal(strbuf_str(&r.out), "koord-test v" KOORD_VERSION "\n");
    result_fini(&r);
}

static void test_the_manual_page(void **state)
{
    struct result r = run("--man");

    (void)state;
    assert_int_equal(r.code, 0);
    assert_starts(strbuf_str(&r.out), ".TH KOORD\\-TEST 8 \"\" \"koord " KOORD_VERSION "\"");
    assert_contains(strbuf_str(&r.out), ".SH NAME\nkoord\\-test \\- is tested\n.SH SYNOPSIS\n");
    assert_contains(strbuf_str(&r.out), ".SS Flags\n.TP\n\\fB\\-\\-config\\fR \\fIfile\\fR\n"
                                        "configuration file\n.TP\n");
    assert_contains(strbuf_str(&r.out), "\\fB\\-\\-grace\\fR \\fIduration\\fR\ntime to stop "
                                        "(default 10ms)\n");
    assert_lacks(strbuf_str(&r.out), "contradict");
    assert_int_equal(r.err.len, 0);
    result_fini(&r);
}

static void test_usage_errors_are_one_line_and_exit_2(void **state)
{
    struct result r = run("--confg=x");

    (void)state;
    assert_int_equal(r.code, 2);
    assert_string_equal(strbuf_str(&r.err), "koord-test: unknown flag --confg (did you mean "
                                            "--config?); see koord-test --help\n");
    result_fini(&r);
    r = run("serve");
    assert_int_equal(r.code, 2);
    assert_string_equal(strbuf_str(&r.err),
                        "koord-test: unknown argument 'serve'; see koord-test --help\n");
    result_fini(&r);
    r = run("--contradict");
    assert_int_equal(r.code, 2);
    assert_contains(strbuf_str(&r.err), "--contradict contradicts itself");
    result_fini(&r);
}

static void test_a_failed_start_exits_1(void **state)
{
    struct result r = run("--fail", "--config=/x", "--log-dir=/tmp");

    (void)state;
    assert_int_equal(r.code, 1);
    assert_contains(strbuf_str(&r.err), "\nkoord-test: open /x: it does not exist\n");
    assert_contains(strbuf_str(&r.err), "flag --log-dir is deprecated");
    result_fini(&r);
}

/* The kubelet shows it as the last state of the container. */
static void test_the_termination_log_has_the_last_words(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct tmpdir t;

    (void)state;
    tmpdir_init(&t);
    const char *path = tmpdir_at(&t, "termination-log");
    setenv("KOORD_TERMINATION_LOG", path, 1);
    struct result r = run("--fail", "--config=/x");
    assert_int_equal(access(path, F_OK), -1); /* nobody asked for it */
    result_fini(&r);
    tmpdir_write(&t, "termination-log", "what an earlier container said, which was much longer");
    r = run("--fail", "--config=/x");
    assert_int_equal(r.code, 1);
    assert_int_equal(file_read_all(AT_FDCWD, path, 4096, &text, NULL), 0);
    assert_string_equal(strbuf_str(&text), "koord-test: open /x: it does not exist\n");
    result_fini(&r);
    strbuf_reset(&text);
    r = run("--contradict");
    assert_int_equal(file_read_all(AT_FDCWD, path, 4096, &text, NULL), 0);
    assert_string_equal(strbuf_str(&text), "koord-test: --contradict contradicts itself\n");
    result_fini(&r);
    unsetenv("KOORD_TERMINATION_LOG");
    tmpdir_fini(&t);
}

static void test_sigterm_stops_in_order(void **state)
{
    struct result r = run_signals("--grace=10ms", SIGTERM, 0);

    (void)state;
    assert_int_equal(r.code, 0);
    assert_contains(strbuf_str(&r.err), "\"Stopping\" signal=\"Terminated\"");
    assert_contains(strbuf_str(&r.err), "\"Ended\" code=0");
    assert_contains(strbuf_str(&r.err), "\"Detail\" identity=");
    result_fini(&r);
}

/* A thread that fini() starts may log when the loop is gone. */
static void test_the_log_has_its_own_clock_at_the_end(void **state)
{
    struct result r = run_signals("--grace=10ms", SIGTERM, 0);

    (void)state;
    assert_contains(strbuf_str(&r.err), " clockOfLoop=true");
    assert_contains(strbuf_str(&r.err), "\"Letting go\" clockOfLoop=false");
    result_fini(&r);
}

static void test_a_second_signal_does_not_wait(void **state)
{
    struct result r = run_signals("--grace=1h", SIGINT, SIGTERM);

    (void)state;
    assert_int_equal(r.code, 1);
    assert_contains(strbuf_str(&r.err), "Second signal");
    result_fini(&r);
}

/* ---- options --------------------------------------------------------------------------------- */

static void test_election_defaults_are_upstreams(void **state)
{
    CLEANUP(flags_free) struct flags *f = flags_new();
    struct election_options o;

    (void)state;
    election_options_add(f, &o, "koord-scheduler");
    assert_true(o.enabled);
    assert_int_equal(o.lease_duration, 15 * NSEC_PER_SEC);
    assert_int_equal(o.renew_deadline, 10 * NSEC_PER_SEC);
    assert_int_equal(o.retry_period, 2 * NSEC_PER_SEC);
    assert_string_equal(o.lock, "leases");
    assert_string_equal(o.name, "koord-scheduler");
    assert_string_equal(o.ns, "koordinator-system");
}

static void test_identities_differ(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 3);
    CLEANUP(mem_free) char *a = election_identity(l), *b = election_identity(l);

    (void)state;
    assert_string_not_equal(a, b);
    const char *uuid = strrchr(a, '_') + 1;
    assert_int_equal(strlen(uuid), 36);
    assert_int_equal(uuid[14], '4');
}

static void test_a_client_is_built_from_flags(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    CLEANUP(flags_free) struct flags *f = flags_new();
    char *argv[] = { "--master=http://127.0.0.1:1", "--kube-api-qps=20", "--kube-api-burst=30" };
    struct client_options o;
    struct kube_config c = { 0 };
    struct kube *k = NULL;
    struct kerr err = { 0 };

    (void)state;
    client_options_add(f, &o);
    assert_int_equal(flags_parse(f, 3, argv, 0, &err), FLAGS_OK);
    assert_int_equal(client_options_config(&o, &(struct client_env){ 0 }, NULL, &c, &err), 0);
    assert_string_equal(c.server, "http://127.0.0.1:1");
    assert_that(c.qps, ==, 20);
    assert_that(c.burst, ==, 30);
    kube_config_fini(&c);
    assert_int_equal(
        client_options_kube(&o, &(struct client_env){ 0 }, l, NULL, "koord-test", &k, &err), 0);
    kube_free(k);
    o.master = "";
    o.kubeconfig = "/nonexistent/config";
    assert_int_equal(
        client_options_kube(&o, &(struct client_env){ 0 }, l, NULL, "koord-test", &k, &err),
        -ENOENT);
    assert_contains(err.text, "/nonexistent/config");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help_and_version_go_to_stdout),
        cmocka_unit_test(test_the_manual_page),
        cmocka_unit_test(test_usage_errors_are_one_line_and_exit_2),
        cmocka_unit_test(test_a_failed_start_exits_1),
        cmocka_unit_test(test_the_termination_log_has_the_last_words),
        cmocka_unit_test(test_sigterm_stops_in_order),
        cmocka_unit_test(test_the_log_has_its_own_clock_at_the_end),
        cmocka_unit_test(test_a_second_signal_does_not_wait),
        cmocka_unit_test(test_election_defaults_are_upstreams),
        cmocka_unit_test(test_identities_differ),
        cmocka_unit_test(test_a_client_is_built_from_flags),
    };

    if (argc > 1 && streq(argv[1], "child")) {
        struct options o = { 0 };
        return run_main(&program, &o, argc - 1, argv + 1);
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
