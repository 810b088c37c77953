/* test_ctl_up.c - koordctl up's files, what it asks to run, and how other commands find it. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/b64.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "ctl/test/fixture.h"
#include "ctl/up.h"
#include "net/certgen.h"
#include "sys/file.h"
#include "sys/test/tmpdir.h"

/* A system that remembers its plan and starts nothing. */
static struct {
    struct up_plan plan;
    char token[64], data_file[256], shape[64], listen[64]; /* copies */
    int freed, looks;                                      /* ready() was asked so often */
    bool fails, taken;
    struct tmpdir *renew; /* its certificate is made anew once it listens */
    struct strbuf cert;   /* the renewed one */
    int renewed;          /* set_tls() was called so often */
} sys;

static int sys_start(const struct up_plan *p, void **ret, struct kerr *err)
{
    sys.plan = *p;
    (void)snprintf(sys.token, sizeof sys.token, "%s", p->token);
    (void)snprintf(sys.data_file, sizeof sys.data_file, "%s", p->data_file);
    (void)snprintf(sys.shape, sizeof sys.shape, "%s", p->nshapes ? p->shapes[p->nshapes - 1] : "");
    (void)snprintf(sys.listen, sizeof sys.listen, "%s", p->listen);
    *ret = &sys;
    return sys.fails ? kerr_set(err, -EIO, "disk is full") : 0;
}

static bool sys_ready(const void *self)
{
    (void)self;
    return ++sys.looks >= 3;
}

/* cert.pem and key.pem. */
static void put_certificate(struct tmpdir *t, struct strbuf *ret_cert)
{
    static const char *const hosts[] = { "127.0.0.1", NULL };
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;
    struct certgen_opts o = { "up", hosts, 0, 3650 };

    strbuf_reset(ret_cert);
    assert_int_equal(certgen_self_signed(&o, ret_cert, &key, NULL), 0);
    tmpdir_write(t, "cert.pem", strbuf_str(ret_cert));
    tmpdir_write(t, "key.pem", strbuf_str(&key));
}

static int sys_listen(void *self, const struct up_plan *p, uint16_t *ret_port, struct kerr *err)
{
    (void)self;
    assert_that(sys.looks, >=, 3); /* not before it is ready */
    assert_non_null(p->tls);
    assert_true(str_starts(p->root_ca, "-----BEGIN CERTIFICATE-----"));
    *ret_port = 6480;
    if (sys.renew)
        put_certificate(sys.renew, &sys.cert);
    return sys.taken ? kerr_set(err, -EADDRINUSE, "port is taken") : 0;
}

static void sys_set_tls(void *self, struct tls_ctx *tls, const char *root_ca)
{
    (void)self;
    assert_non_null(tls);
    assert_string_equal(root_ca, strbuf_str(&sys.cert));
    sys.renewed++;
    loop_stop(sys.plan.loop);
}

static struct kube *sys_kube(const void *self)
{
    (void)self;
    return NULL;
}

static void sys_stop(void *self, void (*done)(void *arg), void *arg)
{
    (void)self;
    done(arg);
}

static void sys_free(void *self)
{
    sys.freed += self != NULL;
}

static const struct up_system system_ops = { .start = sys_start,
                                             .ready = sys_ready,
                                             .listen = sys_listen,
                                             .set_tls = sys_set_tls,
                                             .kube = sys_kube,
                                             .stop = sys_stop,
                                             .free = sys_free };
static const struct ctl_parts parts = { .up = &system_ops };

static void up_init(struct fixture *x, struct tmpdir *t)
{
    memset(&sys, 0, sizeof sys);
    fixture_init(x);
    loop_free(x->l);
    x->l = loop_new(); /* signals come through a real one */
    x->parts = &parts;
    x->connects = true;
    tmpdir_init(t);
    for (size_t i = 0; i < 5; i++) { /* removed at the end */
        static const char *const files[] = { "server.crt", "server.key", "token", "kubeconfig",
                                             "up.json" };
        (void)tmpdir_at(t, files[i]);
    }
}

static bool is_private(struct tmpdir *t, const char *name)
{
    struct stat st;
    return stat(tmpdir_at(t, name), &st) == 0 && (st.st_mode & 0777) == 0600;
}

/* The loop has nothing to wait for, so it ends at once, as after a signal. */
static void test_up_runs_what_was_asked_for(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;
    struct tmpdir t;

    (void)state;
    up_init(&x, &t);
    assert_int_equal(run(&x, "up", "--dashboard=off", "--data", t.path,
                         "--components=apiserver,nodes", "--shape=3", "--shape=2,cpu=8",
                         "--seed=9"),
                     CTL_OK);
    assert_true(sys.plan.nodes && !sys.plan.controllers && !sys.plan.scheduler);
    assert_int_equal(sys.plan.nshapes, 2);
    assert_string_equal(sys.shape, "2,cpu=8");
    assert_int_equal(sys.plan.seed, 9);
    assert_string_equal(sys.listen, "127.0.0.1:6480");
    assert_non_null(sys.plan.tls);
    assert_int_equal(strlen(sys.token), 48);
    assert_contains(sys.data_file, "/koord.db");
    assert_true(is_private(&t, "token") && is_private(&t, "server.key") &&
                is_private(&t, "kubeconfig"));
    assert_contains(x.out, "API server   https://127.0.0.1:6480\n");
    assert_int_equal(sys.freed, 1);
    assert_int_equal(access(tmpdir_at(&t, "up.json"), F_OK), -1); /* it has stopped */
    CLEANUP(mem_free) char *token = xstrdup(sys.token);
    assert_int_equal(run(&x, "up", "--dashboard=off", "--data", t.path), CTL_OK);
    assert_string_equal(sys.token, token); /* the same ever after */
    assert_true(sys.plan.controllers && sys.plan.nodes && sys.plan.scheduler);
    assert_int_equal(sys.plan.node_count, 50);
    tmpdir_fini(&t);
}

static void test_what_up_refuses(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;
    struct tmpdir t;

    (void)state;
    up_init(&x, &t);
    assert_int_equal(
        run(&x, "up", "--dashboard=off", "--data", t.path, "--components=apiserver,etcd"),
        CTL_USAGE);
    assert_contains(x.err, "unknown component 'etcd'");
    assert_int_equal(run(&x, "up", "now"), CTL_USAGE);
    assert_int_equal(run(&x, "up", "--dashboard=off", "--data", t.path, "--listen=0.0.0.0:6480"),
                     CTL_FAILED);
    assert_contains(x.err, "needs --tls-cert-file");
    assert_int_equal(run(&x, "up", "--dashboard=off", "--data", t.path, "--tls-cert-file=x"),
                     CTL_FAILED);
    assert_contains(x.err, "go together");
    assert_int_equal(run(&x, "up", "--data", t.path, "--pace=0"), CTL_USAGE);
    assert_int_equal(
        run(&x, "up", "--data", t.path, "--components=apiserver,koordlet", "--pace=60"), CTL_USAGE);
    assert_contains(x.err, "without --pace");
    sys.fails = true;
    assert_int_equal(run(&x, "up", "--dashboard=off", "--data", t.path), CTL_FAILED);
    assert_string_equal(x.err, "error: up: disk is full\n");
    assert_int_equal(sys.freed, 1);
    sys.fails = false;
    sys.taken = true;
    assert_int_equal(run(&x, "up", "--dashboard=off", "--data", t.path), CTL_FAILED);
    assert_string_equal(x.err, "error: up: port is taken\n");
    assert_int_equal(sys.freed, 2);
    tmpdir_fini(&t);
}

static void stop_loop(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

/* The next start goes on where a faster clock ended, and says so. */
static void test_a_clock_that_ran_ahead_is_kept(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;
    CLEANUP(loop_free) struct loop *systems = loop_new();
    struct tmpdir t;

    (void)state;
    up_init(&x, &t);
    tmpdir_write(&t, "clock", "7530\n");
    assert_int_equal(run(&x, "up", "--dashboard=off", "--data", t.path), CTL_OK);
    assert_contains(x.out, ", 2 h 5 min ahead after runs with --pace\n");
    assert_that(loop_wall(x.l) - loop_wall(systems), >, 7400 * NSEC_PER_SEC);
    tmpdir_write(&t, "clock", "nonsense\n");
    loop_free(x.l);
    x.l = loop_new();
    loop_after(x.l, 10 * NSEC_PER_SEC, stop_loop, NULL);
    assert_int_equal(run(&x, "up", "--dashboard=off", "--data", t.path, "--pace=60"), CTL_OK);
    assert_contains(x.out, ", 60 times as fast as the system's\n");
    tmpdir_fini(&t);
}

/* ---- one that runs --------------------------------------------------------------------------- */

/* A process that is called koordctl, as far as /proc says. */
static pid_t stand_in(void)
{
    int ready[2], hold[2];
    char c;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0); /* nothing ever comes out of it */
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(hold[0], 0);
        (void)dup2(ready[1], 1);
        execl("/bin/sh", "koordctl", "-c", "echo; read x", (char *)NULL);
        _exit(127);
    }
    assert_that(pid, >, 0);
    close(ready[1]);
    close(hold[0]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

static void test_commands_find_what_up_runs(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;
    struct up_note note = { 0 };
    struct up_dir dir;
    struct kerr err = { 0 };
    struct tmpdir t, data;

    (void)state;
    up_init(&x, &t);
    tmpdir_init(&data);
    x.env = (struct client_env){ .home = t.path, .data_home = data.path };
    assert_int_equal(run(&x, "get", "nodes"), CTL_FAILED);
    assert_contains(x.err, "no cluster is configured");

    CLEANUP(mem_free) char *path = xasprintf("%s/koord", data.path);
    assert_int_equal(up_dir_open(NULL, &x.env, true, &dir, &err), 0);
    assert_string_equal(dir.path, path);
    const char *kubeconfig =
        tmpdir_write(&t, "kubeconfig",
                     "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n"
                     "  cluster: {server: 'unix:///nonexistent/socket'}\n"
                     "users:\n- name: u\n  user: {token: abc}\ncontexts:\n- name: c\n"
                     "  context: {cluster: c, user: u}\n");
    (void)snprintf(note.kubeconfig, sizeof note.kubeconfig, "%s", kubeconfig);
    note.pid = stand_in();
    assert_int_equal(up_note_write(&dir, &note, &err), 0);
    assert_int_equal(run(&x, "get", "nodes", "--request-timeout=1s"), CTL_FAILED);
    assert_lacks(x.err, "no cluster is configured");
    assert_contains(x.err, "/nonexistent/socket"); /* it was found and asked */

    /* Something else that is configured counts more. */
    x.env.kubeconfig = "/nonexistent/config";
    assert_int_equal(run(&x, "get", "nodes"), CTL_FAILED);
    assert_contains(x.err, "KUBECONFIG");
    x.env.kubeconfig = NULL;

    /* What is left of one that has died is nothing. */
    assert_int_equal(kill((pid_t)note.pid, SIGKILL), 0);
    assert_int_equal(waitpid((pid_t)note.pid, NULL, 0), (pid_t)note.pid);
    assert_int_equal(run(&x, "get", "nodes"), CTL_FAILED);
    assert_contains(x.err, "no cluster is configured");
    up_note_remove(&dir);
    up_dir_fini(&dir);
    assert_int_equal(rmdir(path), 0);
    tmpdir_fini(&data);
    tmpdir_fini(&t);
}

static void test_a_renewed_certificate_is_used_at_once(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf before = STRBUF_INIT, config = STRBUF_INIT, ca = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture x;
    struct tmpdir t;

    (void)state;
    up_init(&x, &t);
    put_certificate(&t, &before);
    char *cert = (char *)tmpdir_at(&t, "cert.pem"), *key = (char *)tmpdir_at(&t, "key.pem");
    sys.renew = &t;
    assert_int_equal(run(&x, "up", "--dashboard=off", "--data", t.path, "--tls-cert-file", cert,
                         "--tls-private-key-file", key),
                     CTL_OK);
    assert_int_equal(sys.renewed, 1);
    b64_encode(sys.cert.data, sys.cert.len, &ca); /* clients find the new one in the kubeconfig */
    assert_int_equal(file_read_all(AT_FDCWD, tmpdir_at(&t, "kubeconfig"), 1 << 20, &config, NULL),
                     0);
    assert_contains(strbuf_str(&config), strbuf_str(&ca));
    strbuf_fini(&sys.cert);
    tmpdir_fini(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up_runs_what_was_asked_for),
        cmocka_unit_test(test_what_up_refuses),
        cmocka_unit_test(test_a_clock_that_ran_ahead_is_kept),
        cmocka_unit_test(test_commands_find_what_up_runs),
        cmocka_unit_test(test_a_renewed_certificate_is_used_at_once),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
