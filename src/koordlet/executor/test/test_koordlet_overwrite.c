/* test_koordlet_overwrite.c - somebody else writes to an owned file, on real cgroups. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/test/asserts.h"
#include "component/metrics.h"
#include "koordlet/executor/executor.h"
#include "koordlet/kernel/host.h"
#include "koordlet/test/stub_events.h"
#include "loop/loop.h"
#include "sys/file.h"

static char dir[64], path[128];

struct run {
    struct loop *loop;
    nsec_t began, repaired; /* repaired 0: not yet */
    int writes, left;
    pid_t child;
    struct executor *e;
    struct stub_events api;
};

static bool can(void)
{
    return geteuid() == 0 && access("/sys/fs/cgroup/cpu/cpu.shares", W_OK) == 0;
}

/* Another process, as a kubelet would be; it stays until its name was read. */
static void write_elsewhere(struct run *r, const char *value)
{
    int ends[2];
    char done;

    assert_int_equal(pipe(ends), 0);
    r->child = fork();
    if (r->child == 0) {
        file_write_value(AT_FDCWD, path, value, NULL);
        (void)!write(ends[1], "x", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &done, 1), 1);
    close(ends[0]);
    close(ends[1]);
}

static void end_child(struct run *r)
{
    if (r->child > 0) {
        kill(r->child, SIGKILL);
        waitpid(r->child, NULL, 0);
    }
    r->child = 0;
}

static bool holds(const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    assert_int_equal(file_read_all(AT_FDCWD, path, 64, &b, NULL), 0);
    return strncmp(strbuf_str(&b), want, strlen(want)) == 0;
}

static void on_look(struct loop *l, void *arg)
{
    struct run *r = arg;

    if (holds("512")) {
        nsec_t took = loop_mono(l) - r->began;
        if (r->began && took > r->repaired)
            r->repaired = took;
        end_child(r);
        if (r->left-- == 0) {
            loop_stop(l);
            return;
        }
        r->began = loop_mono(l);
        write_elsewhere(r, "77");
        r->writes++;
    } else if (r->began && loop_mono(l) - r->began > 2 * NSEC_PER_SEC) {
        loop_stop(l); /* it is left alone */
        return;
    }
    loop_after(l, 5 * NSEC_PER_MSEC, on_look, r);
}

static void start(struct run *r, struct host *host, struct metrics *m, const char *before)
{
    snprintf(dir, sizeof dir, "koord-overwrite-%d", (int)getpid());
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu/%s", dir);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu/%s/cpu.shares", dir);
    assert_int_equal(file_write_value(AT_FDCWD, path, before, NULL), 0);
    r->loop = loop_new();
    stub_events_init(&r->api, r->loop);
    r->e = executor_new(&(struct executor_env){ .loop = r->loop,
                                                .host = host,
                                                .ops = &executor_ops_host,
                                                .ops_arg = host,
                                                .metrics = m,
                                                .force_update = 3600 * NSEC_PER_SEC,
                                                .kube = &r->api.kube,
                                                .node_name = "n1",
                                                .watch = true });
    struct plan *p = executor_plan(r->e, PLAN_BATCH_RESOURCE, NULL);
    plan_number(p, (struct plan_at){ dir, NULL, NULL }, PLAN_CPU_SHARES, 512);
    executor_submit(r->e, p);
    loop_after(r->loop, 20 * NSEC_PER_MSEC, on_look, r);
    loop_run(r->loop);
}

static void finish(struct run *r)
{
    end_child(r);
    executor_free(r->e);
    loop_free(r->loop);
    stub_events_fini(&r->api);
    path[strlen(path) - strlen("/cpu.shares")] = '\0';
    assert_int_equal(rmdir(path), 0);
}

static struct host *real_host(void)
{
    struct host_roots roots = host_roots_default("hostMode");
    struct host *host = NULL;
    struct kerr err = { 0 };

    assert_int_equal(host_new(&roots, &host, &err), 0);
    return host;
}

static void test_a_write_of_another_is_repaired_and_counted(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct run r = { .left = 3 };

    (void)state;
    if (!can())
        skip();
    CLEANUP(host_free) struct host *host = real_host();
    struct metrics *m = metrics_new();
    start(&r, host, m, "1024");
    assert_int_equal(r.writes, 3);
    assert_in_range(r.repaired, 0, 100 * NSEC_PER_MSEC);
    assert_int_equal(r.api.calls, 0);
    metrics_write(&m, 1, &text);
    assert_non_null(strstr(strbuf_str(&text), "koordlet_kernel_file_overwritten_total{type="
                                              "\"cpu.shares\",writer=\"test_koordlet_o\"} 3"));
    /* Who insists wins for a minute. */
    r.left = 10;
    r.began = 0;
    loop_after(r.loop, 0, on_look, &r);
    loop_run(r.loop);
    assert_int_equal(r.writes, 6); /* five were repaired */
    assert_true(holds("77"));
    assert_int_equal(r.api.calls, 1);
    assert_contains(strbuf_str(&r.api.bodies), "\"reason\":\"KernelFileOverwritten\"");
    assert_contains(strbuf_str(&r.api.bodies), "test_koordlet_o keeps writing to cpu/");
    assert_contains(strbuf_str(&r.api.bodies), "(BatchResource)");
    assert_contains(strbuf_str(&r.api.bodies), "\"kind\":\"Node\"");
    finish(&r);
    metrics_free(m);
}

/* As in a cgroup that the kubelet has made and not yet filled: nothing has to be written, until the
 * kubelet writes. */
static void test_a_file_that_had_the_value_is_repaired_too(void **state)
{
    struct run r = { .left = 2 };

    (void)state;
    if (!can())
        skip();
    CLEANUP(host_free) struct host *host = real_host();
    start(&r, host, NULL, "512");
    assert_int_equal(r.writes, 2);
    assert_in_range(r.repaired, 0, 100 * NSEC_PER_MSEC);
    assert_true(holds("512"));
    finish(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_write_of_another_is_repaired_and_counted),
        cmocka_unit_test(test_a_file_that_had_the_value_is_repaired_too),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
