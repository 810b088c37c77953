/* test_koordlet_tasks.c - threads of containers and sandboxes (koordlet-metrics 5.4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "koordlet/kernel/test/host_fixture.h"
#include "koordlet/report/test/report_fixture.h"
#include "koordlet/states/tasks.h"

#define POD_DIR "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu.slice"
#define POD(phase)                                                              \
    "[{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{},'status':{" \
    "'qosClass':'BestEffort','phase':'" phase "','containerStatuses':["         \
    "{'name':'a','containerID':'containerd://a'},{'name':'b','containerID':'containerd://b'}]}}]"

struct task_fixture {
    struct fixture f;
    struct host *h;
    void *fixture;
    struct podset *pods;
    struct strbuf seen;
};

static void task_fixture_open(struct task_fixture *t, enum cgroup_version v, const char *pods)
{
    *t = (struct task_fixture){ 0 };
    fixture_setup(&t->fixture);
    fixture_init(&t->f);
    fixture_cgroup(&t->f, v);
    t->h = fixture_host(&t->f);
    t->h->driver = CGROUP_SYSTEMD;
    t->pods = pods_of(t->fixture, pods);
    assert_int_equal(t->h->version, v);
}

static void task_fixture_close(struct task_fixture *t)
{
    strbuf_fini(&t->seen);
    podset_unref(t->pods);
    fixture_fini(&t->f);
    fixture_teardown(&t->fixture);
}

static void see(void *arg, const char *id, const struct task_ids *ids)
{
    struct task_fixture *t = arg;

    strbuf_appendf(&t->seen, "%s:", id);
    vec_foreach(ids, i)
        strbuf_appendf(&t->seen, " %d", (int)ids->items[i]);
    strbuf_append(&t->seen, "\n");
}

static void assert_seen(struct task_fixture *t, const char *want)
{
    strbuf_reset(&t->seen);
    npod_tasks_each(t->h, t->pods->pods[0], see, t);
    assert_string_equal(strbuf_str(&t->seen), want);
}

/* The file of a container, and its directory in the hierarchy where sandboxes are looked for. */
static void put(const struct task_fixture *t, const char *text, const char *container)
{
    bool v1 = t->h->version == CGROUP_V1;

    fixture_dir(&t->f, "cgroup/%s" POD_DIR "/cri-containerd-%s.scope", v1 ? "cpuset/" : "",
                container);
    fixture_put(&t->f, text, "cgroup/%s" POD_DIR "/cri-containerd-%s.scope/%s", v1 ? "cpu/" : "",
                container, v1 ? "tasks" : "cgroup.threads");
}

static void test_containers_and_sandbox(void **state)
{
    (void)state;
    for (enum cgroup_version v = CGROUP_V1; v <= CGROUP_V2; v++) {
        struct task_fixture t;

        task_fixture_open(&t, v, POD("Running"));
        assert_seen(&t, "");
        put(&t, "10\n11\n4194304\n", "a");
        put(&t, "1\n", "pause");
        assert_seen(&t, "containerd://a: 10 11 4194304\ncontainerd://pause: 1\n");
        put(&t, "", "b"); /* a process that is just ending */
        assert_seen(&t, "containerd://a: 10 11 4194304\ncontainerd://b:\ncontainerd://pause: 1\n");
        put(&t, "10\n", "a");  /* of now, not of then */
        put(&t, "5\n", "new"); /* two may be the sandbox: neither is called one */
        assert_seen(&t, "containerd://a: 10\ncontainerd://b:\n");
        task_fixture_close(&t);
    }
}

static void test_a_pod_that_is_over_has_none(void **state)
{
    struct task_fixture t;

    (void)state;
    task_fixture_open(&t, CGROUP_V2, POD("Succeeded"));
    put(&t, "10\n", "a");
    assert_seen(&t, "");
    task_fixture_close(&t);
}

static void test_one_container(void **state)
{
    static const char *const bad[] = { "10\nx\n", "-1\n", "2147483648\n", "1.5\n" };
    struct task_ids ids = { 0 };
    struct kerr err;
    struct task_fixture t;

    (void)state;
    task_fixture_open(&t, CGROUP_V2, POD("Running"));
    const struct npod *p = t.pods->pods[0];
    assert_int_equal(npod_task_ids(t.h, p, "containerd://a", &ids, &err), -ENOENT);
    put(&t, "7\n8\n", "a");
    assert_int_equal(npod_task_ids(t.h, p, "containerd://a", &ids, &err), 0);
    assert_int_equal(npod_task_ids(t.h, p, "containerd://a", &ids, &err), 0);
    assert_int_equal(ids.n, 4);
    assert_int_equal(ids.items[3], 8);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        put(&t, bad[i], "a");
        assert_int_equal(npod_task_ids(t.h, p, "containerd://a", &ids, &err), -EINVAL);
        assert_int_equal(ids.n, 4);
    }
    assert_int_equal(npod_task_ids(t.h, p, "containerd://../x", &ids, &err), -EINVAL);
    vec_fini(&ids);
    task_fixture_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_containers_and_sandbox),
        cmocka_unit_test(test_a_pod_that_is_over_has_none),
        cmocka_unit_test(test_one_container),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
