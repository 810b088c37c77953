/* test_koordlet_guard.c - the interference guard: what it reads, and what it decides. */
#include "base/test/asserts.h"
#include "koordlet/qos/test/qos_fixture.h"
/* clang-format off */
#include "koordlet/kernel/test/host_fixture.h"
/* clang-format on */
#include "koordlet/qos/guard/guard.h"

#define SECOND NSEC_PER_SEC

/* ---- the decision ---------------------------------------------------------------------------- */

static void test_halves_at_once_and_gives_back_by_steps(void **state)
{
    struct guard_in in = { .waited = 0.06, .capacity = 8000, .quota_us = -1, .used = 4000 };

    (void)state;
    int64_t cap = guard_next(0, &in);
    assert_int_equal(cap, 2000); /* half of what it uses */
    cap = guard_next(cap, &in);
    assert_int_equal(cap, 1000);
    in.waited = 0.05; /* not above */
    cap = guard_next(cap, &in);
    assert_int_equal(cap, 1400); /* a twentieth of the node more */
    for (int i = 0; i < 16; i++)
        cap = guard_next(cap, &in);
    assert_int_equal(cap, 7800);
    assert_int_equal(guard_next(cap, &in), 0); /* the whole node: no cap */
    assert_int_equal(guard_next(0, &in), 0);
}

static void test_starts_from_the_quota_in_force_and_leaves_something(void **state)
{
    struct guard_in in = { .waited = 0.5, .capacity = 8000, .quota_us = 100000, .used = 4000 };

    (void)state;
    assert_int_equal(guard_next(0, &in), 500);
    in.used = 0;
    assert_int_equal(guard_next(0, &in), 500);
    in.quota_us = -1;
    assert_int_equal(guard_next(0, &in), 4000);
    assert_int_equal(guard_next(21, &in), 20);
    assert_int_equal(guard_next(20, &in), 20);
}

/* ---- measuring ------------------------------------------------------------------------------- */

#define POD(name, label)                                                                           \
    "{'metadata':{'name':'" name "','namespace':'d','uid':'" name "','labels':{'koordinator."      \
    "sh/qosClass':'" label "'}},'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':" \
    "'1'}}}]},'status':{'phase':'Running','containerStatuses':[{'name':'c','containerID':'"        \
    "containerd://" name "1','state':{'running':{}}}]}}"
#define DIR(name)                                                                      \
    "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" name ".slice/cri" \
    "-containerd-" name "1.scope"

static void put_v1(struct fixture *f, const char *name, int thread, uint64_t waited_ms,
                   uint64_t throttled_ms)
{
    char text[128];

    snprintf(text, sizeof text, "%d\n", thread);
    fixture_put(f, text,
                "cgroup/cpu/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s"
                ".slice/cri-containerd-%s1.scope/tasks",
                name, name);
    snprintf(text, sizeof text, "nr_periods 10\nnr_throttled 1\nthrottled_time %llu\n",
             (unsigned long long)throttled_ms * 1000000);
    fixture_put(f, text,
                "cgroup/cpu/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s"
                ".slice/cri-containerd-%s1.scope/cpu.stat",
                name, name);
    snprintf(text, sizeof text, "5000000 %llu 7\n", (unsigned long long)waited_ms * 1000000);
    fixture_put(f, text, "proc/%d/schedstat", thread);
}

static void test_run_queue_delay_less_own_throttling(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(podset_unref)
    struct podset *pods = pods_of(b, "[" POD("a", "LS") "," POD("b", "LS") "," POD("be", "BE") "]");
    struct fixture f;

    fixture_init(&f);
    fixture_cgroup(&f, CGROUP_V1);
    put_v1(&f, "a", 11, 100, 0), put_v1(&f, "b", 12, 100, 0), put_v1(&f, "be", 13, 100, 0);
    struct host *h = fixture_host(&f);
    h->driver = CGROUP_SYSTEMD;
    CLEANUP(delays_free) struct delays *d = delays_new(h);
    assert_that(delays_round(d, pods, SECOND).waited, ==, 0); /* nothing to compare with yet */
    /* b waits 200 ms of the second, 150 of them behind its own limit; best effort does not count.
     */
    put_v1(&f, "a", 11, 160, 0), put_v1(&f, "b", 12, 300, 150), put_v1(&f, "be", 13, 900, 0);
    struct delays_worst w = delays_round(d, pods, 2 * SECOND);
    assert_string_equal(npod_pod(w.pod)->obj.meta.name, "a");
    assert_that(w.waited, >, 0.0599);
    assert_that(w.waited, <, 0.0601);
    /* A thread that is new, and one that is gone. */
    put_v1(&f, "a", 14, 9000, 0), put_v1(&f, "b", 12, 310, 150);
    w = delays_round(d, pods, 3 * SECOND);
    assert_string_equal(npod_pod(w.pod)->obj.meta.name, "b");
    assert_that(w.waited, >, 0.0099);
    assert_that(w.waited, <, 0.0101);
    fixture_fini(&f);
}

static void put_v2(struct fixture *f, const char *name, uint64_t some_ms, uint64_t full_ms)
{
    char text[256];

    snprintf(text, sizeof text,
             "some avg10=0.00 avg60=0.00 avg300=0.00 total=%llu\n"
             "full avg10=0.00 avg60=0.00 avg300=0.00 total=%llu\n",
             (unsigned long long)some_ms * 1000, (unsigned long long)full_ms * 1000);
    fixture_put(f, text,
                "cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s"
                ".slice/cpu.pressure",
                name);
}

static void put_stall(struct fixture *f, const char *name, const char *what, uint64_t ms)
{
    char text[128];

    snprintf(text, sizeof text, "some avg10=0.00 avg60=0.00 avg300=0.00 total=%llu\n",
             (unsigned long long)ms * 1000);
    fixture_put(f, text,
                "cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s"
                ".slice/%s.pressure",
                name, what);
}

static void test_pressure_on_cgroup_v2(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(podset_unref) struct podset *pods = pods_of(b, "[" POD("a", "LS") "]");
    struct fixture f;

    fixture_init(&f);
    fixture_cgroup(&f, CGROUP_V2);
    put_v2(&f, "a", 100, 50);
    struct host *h = fixture_host(&f);
    h->driver = CGROUP_SYSTEMD;
    CLEANUP(delays_free) struct delays *d = delays_new(h);
    delays_round(d, pods, SECOND);
    put_v2(&f, "a", 300, 150); /* 200 ms more, 100 of them its own */
    struct delays_worst w = delays_round(d, pods, 2 * SECOND);
    assert_that(w.waited, >, 0.0999);
    assert_that(w.waited, <, 0.1001);
    /* Memory and I/O stall services too. */
    put_stall(&f, "a", "memory", 50);
    put_stall(&f, "a", "io", 0);
    delays_round(d, pods, 3 * SECOND);
    put_stall(&f, "a", "memory", 80);
    put_stall(&f, "a", "io", 70);
    w = delays_round(d, pods, 4 * SECOND);
    assert_that(w.waited, >, 0.0699);
    assert_that(w.waited, <, 0.0701);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_halves_at_once_and_gives_back_by_steps),
        FIXTURE_TEST(test_starts_from_the_quota_in_force_and_leaves_something),
        FIXTURE_TEST(test_run_queue_delay_less_own_throttling),
        FIXTURE_TEST(test_pressure_on_cgroup_v2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
