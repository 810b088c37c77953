/* test_koordlet_cookies.c - core scheduling (koordlet-qos 15.7), Terway's files (15.9). */
#include "koordlet/qos/test/qos_fixture.h"

#include "koordlet/hooks/core_sched.h"
#include "koordlet/hooks/terway.h"

/* ---- a kernel with cookies ------------------------------------------------------------------- */

enum { PROCESSES = 2000, UNREADABLE = -1 };
struct fake_kernel {
    int64_t cookie[PROCESSES]; /* by pid */
    int64_t next;
    unsigned created, shared;
};

static int fake_get(void *arg, pid_t pid, uint64_t *ret)
{
    const struct fake_kernel *k = arg;

    if (k->cookie[pid] == UNREADABLE)
        return -ESRCH;
    *ret = (uint64_t)k->cookie[pid];
    return 0;
}

static int fake_create(void *arg, pid_t pid)
{
    struct fake_kernel *k = arg;

    if (k->cookie[pid] == UNREADABLE)
        return -ESRCH;
    k->created++;
    k->cookie[pid] = k->next++;
    return 0;
}

static void fake_share(void *arg, pid_t from, const pid_t *to, size_t n, bool *ok)
{
    struct fake_kernel *k = arg;

    for (size_t i = 0; i < n; i++) {
        ok[i] = k->cookie[to[i]] != UNREADABLE;
        if (ok[i])
            k->cookie[to[i]] = from ? k->cookie[from] : 0;
        k->shared++;
    }
}

static const struct core_sched_ops fake_ops = { fake_get, fake_create, fake_share };

static void expect_members(const struct core_sched *c, const char *group, uint64_t cookie,
                           const pid_t *want, size_t n)
{
    const pid_t *got = NULL;
    uint64_t is = 0;

    assert_int_equal(core_sched_members(c, group, &got, &is), n);
    if (n > 0)
        assert_memory_equal(got, want, n * sizeof *want);
    if (n > 0)
        assert_int_equal(is, cookie);
}

#define PIDS(...)   \
    (const pid_t[]) \
    {               \
        __VA_ARGS__ \
    }
#define COUNT(...) (sizeof(PIDS(__VA_ARGS__)) / sizeof(pid_t))

static void test_assign_takes_the_cookie_from_a_sibling(void **state)
{
    struct fake_kernel k = { .next = 200000 };
    CLEANUP(core_sched_free) struct core_sched *c = core_sched_new(&fake_ops, &k);

    (void)state;
    k.cookie[1000] = k.cookie[1010] = 100000;
    k.cookie[1002] = UNREADABLE;
    core_sched_learn(c, "u0", "c0", "g", PIDS(1000), 1, 0);
    assert_int_equal(core_sched_put(c, "u1", "c1", "g", PIDS(1001, 1002, 1003, 1010), 4, 0),
                     100000);
    expect_members(c, "g", 100000, PIDS(1000, 1001, 1003, 1010), 4);
    assert_int_equal(k.cookie[1003], 100000);
    assert_int_equal(k.created, 0);
    /* All known: nothing is asked of the kernel again. */
    unsigned shared = k.shared;
    assert_int_equal(core_sched_put(c, "u1", "c1", "g", PIDS(1001, 1003), 2, 0), 100000);
    assert_int_equal(k.shared, shared);
}

static void test_without_a_sibling_a_new_cookie_is_made(void **state)
{
    struct fake_kernel k = { .next = 200000 };
    CLEANUP(core_sched_free) struct core_sched *c = core_sched_new(&fake_ops, &k);

    (void)state;
    k.cookie[1000] = 100000;
    core_sched_learn(c, "u0", "c0", "g", PIDS(1000), 1, 0);
    k.cookie[1000] = UNREADABLE; /* it ended */
    assert_int_equal(core_sched_put(c, "u1", "c1", "g", PIDS(1001), 1, 0), 200000);
    expect_members(c, "g", 200000, PIDS(1001), 1);
    /* Nobody of the container can be read: nothing happens. */
    k.cookie[1002] = UNREADABLE;
    assert_int_equal(core_sched_put(c, "u2", "c2", "g", PIDS(1002), 1, 0), 0);
    expect_members(c, "g", 200000, PIDS(1001), 1);
}

static void test_add(void **state)
{
    struct fake_kernel k = { .next = 300000 };
    CLEANUP(core_sched_free) struct core_sched *c = core_sched_new(&fake_ops, &k);

    (void)state;
    k.cookie[1002] = UNREADABLE;
    assert_int_equal(core_sched_put(c, "u", "c", "g", PIDS(1000, 1001, 1002), 3, 0), 300000);
    expect_members(c, "g", 300000, PIDS(1000, 1001), 2);
    k.cookie[1010] = UNREADABLE;
    assert_int_equal(core_sched_put(c, "u", "d", "other", PIDS(1010, 1011), 2, 0), 0);
    expect_members(c, "other", 0, NULL, 0);
    /* No processes, no group. */
    assert_int_equal(core_sched_put(c, "u", "e", "third", NULL, 0, 0), 0);
}

static void test_switched_off_the_cookie_is_taken_back(void **state)
{
    struct fake_kernel k = { .next = 300000 };
    CLEANUP(core_sched_free) struct core_sched *c = core_sched_new(&fake_ops, &k);

    (void)state;
    core_sched_put(c, "u", "c", "g", PIDS(1000, 1001), 2, 0);
    core_sched_put(c, "u", "c", NULL, PIDS(1000, 1001), 2, 0);
    assert_int_equal(k.cookie[1000], 0);
    assert_int_equal(k.cookie[1001], 0);
    expect_members(c, "g", 0, NULL, 0);
    /* One that never was in a group is left alone. */
    k.cookie[1005] = 77;
    core_sched_put(c, "u", "d", NULL, PIDS(1005), 1, 0);
    assert_int_equal(k.cookie[1005], 77);
    /* What nobody refreshes for five minutes is forgotten. */
    core_sched_put(c, "u", "c", "g", PIDS(1000), 1, 0);
    core_sched_sweep(c, 299 * NSEC_PER_SEC);
    expect_members(c, "g", 300001, PIDS(1000), 1);
    core_sched_sweep(c, 301 * NSEC_PER_SEC);
    expect_members(c, "g", 0, NULL, 0);
}

#define POD(labels)                                                                       \
    "[{'metadata':{'name':'p','namespace':'d','uid':'xxx','labels':{" labels "}},'spec':" \
    "{'containers':[]},'status':{'phase':'Running','qosClass':'Burstable'}}]"
/* What an agent left that is not there any more. */
static void test_cookies_are_taken_from_whoever_has_one(void **state)
{
    struct fake_kernel k = { .next = 200000 };
    CLEANUP(core_sched_free) struct core_sched *c = core_sched_new(&fake_ops, &k);

    (void)state;
    k.cookie[1000] = 5;
    k.cookie[1001] = UNREADABLE;
    k.cookie[1003] = 6;
    assert_int_equal(core_sched_clear(c, PIDS(1000, 1001, 1002, 1003), 4), 2);
    assert_int_equal(k.cookie[1000] + k.cookie[1003], 0);
    assert_int_equal(k.shared, 2);
    assert_int_equal(core_sched_clear(c, PIDS(1000, 1002), 2), 0);
}

#define RULES(be, ls)                                                                           \
    "{'resourceQOSStrategy':{'policies':{'cpuPolicy':'coreSched'},'beClass':{'cpuQOS':" be "}," \
    "'lsClass':{'cpuQOS':" ls "}}}"

static void expect_group(struct object_fixture *b, const char *slo, const char *pod,
                         const char *want)
{
    CLEANUP(podset_unref) struct podset *pods = pods_of(b, pod);
    struct kerr err = { 0 };
    CLEANUP(hook_rules_free)
    struct hook_rules *r =
        hook_rules_new(&(struct hook_rules_in){ .slo = slo_of(b, slo), .sys_fd = -1 }, &err);
    const char *got = NULL;

    assert_int_equal(core_sched_group(&r->core, pods->pods[0], b->arena, &got), want != NULL);
    if (want)
        assert_string_equal(got, want);
}

static void test_groups_of_pods(void **state)
{
    static const char on[] = RULES("{'enable':true}", "{'enable':true,'coreExpeller':true}");

    expect_group(*state, on,
                 POD("'koordinator.sh/qosClass':'LS','koordinator.sh/core-sched-group-id':"
                     "'group-xxx'"),
                 "group-xxx-expeller");
    expect_group(*state, on,
                 POD("'koordinator.sh/qosClass':'LS','koordinator.sh/core-sched-policy':"
                     "'exclusive'"),
                 "xxx-expeller");
    expect_group(*state, on, POD("'koordinator.sh/qosClass':'BE'"), "");
    expect_group(*state, on,
                 POD("'koordinator.sh/qosClass':'LS','koordinator.sh/core-sched-policy':'none'"),
                 NULL);
    expect_group(*state, on, POD("'koordinator.sh/qosClass':'SYSTEM'"), NULL);
    expect_group(*state, "{}", POD("'koordinator.sh/qosClass':'LS'"), NULL);
}

/* ---- Terway ---------------------------------------------------------------------------------- */

static void expect_node(struct object_fixture *b, const char *slo, const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT;
    struct kerr err = { 0 };

    assert_int_equal(terway_node_text(slo_of(b, slo), &got, &err), 0);
    if (!strstr(strbuf_str(&got), want))
        fail_msg("%s is not in %s", want, strbuf_str(&got));
}

static void test_terway_node_file(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT;
    struct kerr err = { 0 };

    expect_node(*state, "{}",
                "hw_tx_bps_max 0\nhw_rx_bps_max 0\noffline_l1_tx_bps_min 0\n"
                "offline_l1_tx_bps_max 0\noffline_l1_rx_bps_min 0\noffline_l1_rx_bps_max 0\n"
                "offline_l2_tx_bps_min 0\noffline_l2_tx_bps_max 0\noffline_l2_rx_bps_min 0\n"
                "offline_l2_rx_bps_max 0\n");
    expect_node(*state,
                "{'systemStrategy':{'totalNetworkBandwidth':'100'},'resourceQOSStrategy':"
                "{'lsClass':{'networkQOS':{'enable':true,'ingressRequest':50}}}}",
                "offline_l1_rx_bps_min 50\n");
    expect_node(*state,
                "{'systemStrategy':{'totalNetworkBandwidth':'100M'},'resourceQOSStrategy':"
                "{'beClass':{'networkQOS':{'enable':true,'egressLimit':'10M'}}}}",
                "offline_l2_tx_bps_max 1250000\n");
    assert_true(terway_node_text(
                    slo_of(*state, "{'systemStrategy':{'totalNetworkBandwidth':'1M'},"
                                   "'resourceQOSStrategy':{'beClass':{'networkQOS':{'enable':true,"
                                   "'egressLimit':'10M'}}}}"),
                    &got, &err) < 0);
}

static void test_terway_pod_file(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(podset_unref)
    struct podset *pods =
        pods_of(b, "[{'metadata':{'name':'p','namespace':'d','uid':'u1','labels':{"
                   "'koordinator.sh/qosClass':'BE'},'annotations':{'koordinator.sh/networkQOS':"
                   "'{\\\"ingressLimit\\\":\\\"1k\\\",\\\"egressLimit\\\":\\\"2k\\\"}'}},'spec':"
                   "{'containers':[]},'status':{'phase':'Running','qosClass':'Burstable'}},"
                   "{'metadata':{'name':'bad','namespace':'d','uid':'u2','annotations':{"
                   "'koordinator.sh/networkQOS':'no'}},'spec':{'containers':[]},'status':"
                   "{'phase':'Running','qosClass':'Burstable'}}]");
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT;
    struct kerr err = { 0 };

    terway_pod_text(pods, b->arena, &got, &err);
    assert_non_null(strstr(strbuf_str(&got), "\"prio\":2"));
    assert_non_null(strstr(strbuf_str(&got),
                           "\"qosConfig\":{\"ingressBandwidth\":125,\"egressBandwidth\":250}"));
    assert_non_null(strstr(strbuf_str(&got), "\"cgroupDir\":\"/sys/fs/cgroup/net_cls/kubepods"));
    assert_null(strstr(strbuf_str(&got), "u2"));
    assert_non_null(strstr(err.text, "pod d/bad"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_assign_takes_the_cookie_from_a_sibling),
        FIXTURE_TEST(test_without_a_sibling_a_new_cookie_is_made),
        FIXTURE_TEST(test_add),
        FIXTURE_TEST(test_switched_off_the_cookie_is_taken_back),
        FIXTURE_TEST(test_cookies_are_taken_from_whoever_has_one),
        FIXTURE_TEST(test_groups_of_pods),
        FIXTURE_TEST(test_terway_node_file),
        FIXTURE_TEST(test_terway_pod_file),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
