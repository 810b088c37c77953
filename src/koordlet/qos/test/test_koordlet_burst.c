/* test_koordlet_burst.c - bursts beyond CPU limits (koordlet-qos 9: what must hold). */
#include "base/test/asserts.h"
#include "koordlet/qos/burst/burst.h"
#include "koordlet/qos/test/plan_fixture.h"

#define SECOND NSEC_PER_SEC

static struct cpu_burst_config config(const char *policy, int64_t burst, int64_t quota,
                                      int64_t period)
{
    return (struct cpu_burst_config){ policy, { true, burst }, { true, quota }, { true, period } };
}

/* ---- the node -------------------------------------------------------------------------------- */

static void test_node_state(void **state)
{
    static const struct {
        double lsr_used;
        enum burst_node expected;
    } cases[] = { { 7, BURST_NODE_IDLE },
                  { 5, BURST_NODE_OVERLOAD },
                  { 6.25, BURST_NODE_COOLING } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct burst_apart lsr = { QOS_LSR, 8000, cases[i].lsr_used };
        assert_int_equal(burst_node_state(16, (struct opt_f64){ true, 10 }, &lsr, 1, 50),
                         cases[i].expected);
        assert_int_equal(burst_node_state(16, (struct opt_f64){ .set = false }, &lsr, 1, 50),
                         BURST_NODE_UNKNOWN);
    }
    struct burst_apart all = { QOS_LSE, 16000, 0 };
    assert_int_equal(burst_node_state(16, (struct opt_f64){ true, 0 }, &all, 1, 50),
                     BURST_NODE_OVERLOAD);
}

/* ---- one container --------------------------------------------------------------------------- */

static void test_static_burst(void **state)
{
    struct cpu_burst_config c = config("auto", 1000, 300, -1);

    (void)state;
    assert_int_equal(burst_static(&c, 5000), 5000000);
    assert_int_equal(burst_static(&c, 3000), 3000000);
    assert_int_equal(burst_static(&c, 0), 0);
    c.cpu_burst_percent.v = 500;
    assert_int_equal(burst_static(&c, 5000), 2500000);
    c.policy = "cfsQuotaBurstOnly";
    assert_int_equal(burst_static(&c, 5000), 0);
}

static void test_quota(void **state)
{
    static const struct {
        const char *policy;
        int64_t percent, now;
        enum burst_node node;
        bool allowed;
        int64_t expected;
    } cases[] = {
        { "auto", 300, 400000, BURST_NODE_IDLE, true, 480000 },
        { "auto", 300, 400000, BURST_NODE_OVERLOAD, true, 320000 },
        { "auto", 300, 400000, BURST_NODE_COOLING, true, 400000 },
        { "auto", 300, 400000, BURST_NODE_UNKNOWN, true, 400000 },
        { "cpuBurstOnly", 300, 400000, BURST_NODE_IDLE, true, 200000 },
        { "auto", 300, 400000, BURST_NODE_IDLE, false, 320000 },
        { "auto", 90, 400000, BURST_NODE_IDLE, true, 200000 },
        { "auto", 300, 202000, BURST_NODE_OVERLOAD, true, 200000 },
        { "auto", 300, 580000, BURST_NODE_IDLE, true, 600000 },
        { "none", 300, 580000, BURST_NODE_OVERLOAD, true, 200000 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cpu_burst_config c = config(cases[i].policy, 1000, cases[i].percent, -1);
        struct burst_sample s = { { true, 0.5 }, cases[i].allowed };
        assert_int_equal(burst_quota(&c, cases[i].node, 2000, cases[i].now, s), cases[i].expected);
    }
    struct cpu_burst_config c = config("auto", 1000, 300, -1);
    struct burst_sample none = { { .set = false }, true };
    assert_int_equal(burst_quota(&c, BURST_NODE_IDLE, 2000, 400000, none), 400000);
}

static void test_limiter(void **state)
{
    static const struct {
        int64_t period;
        double tokens, used;
        double expected;
    } cases[] = {
        { 100, 5000, 1.5, 4500 }, { 100, 50, 2, -950 },     { 10, 50, 2, -500 },
        { 100, 500, 0.4, 1100 },  { 100, 4500, 0.4, 5000 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cpu_burst_config c = config("auto", 1000, 150, cases[i].period);
        struct burst_limiter l = { true, cases[i].period * 50, cases[i].tokens, 0 };
        bool allowed = burst_limiter_allow(&l, &c, "x", 1000,
                                           (struct opt_f64){ true, cases[i].used }, 10 * SECOND);
        assert_int_equal((int)l.tokens, (int)cases[i].expected);
        assert_int_equal(allowed, cases[i].expected > 0);
    }
    struct burst_limiter none = { .set = false };
    struct cpu_burst_config c = config("auto", 1000, 150, -1);
    assert_true(burst_limiter_allow(&none, &c, "x", 1000, (struct opt_f64){ true, 9 }, 0));
    c = config("auto", 1000, 90, 10);
    assert_false(burst_limiter_allow(&none, &c, "x", 1000, (struct opt_f64){ true, 0 }, 0));
}

/* Upstream counts whole seconds and forgets the rest: at two rounds a second nothing accrues. */
static void test_limiter_counts_parts_of_seconds(void **state)
{
    struct cpu_burst_config c = config("auto", 1000, 150, 100);
    struct burst_limiter l = { true, 5000, 1000, 0 };

    (void)state;
    for (int i = 1; i <= 20; i++)
        burst_limiter_allow(&l, &c, "x", 1000, (struct opt_f64){ true, 1.5 }, i * SECOND / 2);
    assert_int_equal((int)l.tokens, 500);
    /* The first tokens differ between containers and are the same each time. */
    struct burst_limiter x = { .set = false }, y = x, again = x;
    burst_limiter_allow(&x, &c, "x", 1000, (struct opt_f64){ true, 0.8 }, 0);
    burst_limiter_allow(&y, &c, "y", 1000, (struct opt_f64){ true, 0.8 }, 0);
    burst_limiter_allow(&again, &c, "x", 1000, (struct opt_f64){ true, 0.8 }, 9);
    assert_that(x.tokens, >=, 0);
    assert_that(x.tokens, <, 2500);
    assert_that(x.tokens, !=, y.tokens);
    assert_that(x.tokens, ==, again.tokens);
}

/* ---- all containers -------------------------------------------------------------------------- */

struct fixture {
    struct object_fixture *b;
    struct podset *pods;
    struct snapshot known;
    struct view_fixture view;
    struct burst_state state;
    struct burst_in in;
    struct opt_f64 throttled;
    struct plan *plan;
};

static struct opt_f64 used(void *arg, const char *id)
{
    (void)arg, (void)id;
    return (struct opt_f64){ true, 1 };
}

static struct opt_f64 throttled(void *arg, const char *id)
{
    (void)id;
    return ((struct fixture *)arg)->throttled;
}

#define CONTAINER(name, limit) \
    "{'name':'" name "','resources':{'limits':{'cpu':'" limit "'},'requests':{'cpu':'1'}}}"
#define STATUS(name) \
    "{'name':'" name "','containerID':'containerd://" name "1','state':{'running':{}}}"
#define POD(name, label, annotations, containers, statuses)                                        \
    "{'metadata':{'name':'" name "','namespace':'d','uid':'" name "','labels':{'koordinator."      \
    "sh/qosClass':'" label "'},'annotations':{" annotations "}},'spec':{'containers':[" containers \
    "]},'status':{'phase':'Running','containerStatuses':[" statuses "]}}"

static void init(struct fixture *f, struct object_fixture *b, const char *pods, const char *slo)
{
    *f = (struct fixture){ .b = b, .view = { .quota = 200000 }, .throttled = { true, 0.5 } };
    f->pods = pods_of(b, pods);
    f->known = (struct snapshot){ .refs = 1, .pods = f->pods, .slo = slo_of(b, slo) };
    f->in = (struct burst_in){ .known = &f->known,
                               .now = SECOND,
                               .view = view_of(&f->view),
                               .used = used,
                               .throttled = throttled,
                               .arg = f };
    f->plan = plan_new(PLAN_CPU_BURST);
}

static bool turn(struct fixture *f)
{
    bool differs = burst_round(&f->state, &f->in, f->b->arena);

    plan_reset(f->plan, NULL);
    burst_propose(&f->state, &f->known, f->plan);
    f->in.now += SECOND;
    return differs;
}

static void fini(struct fixture *f)
{
    burst_state_fini(&f->state);
    plan_free(f->plan);
    podset_unref(f->pods);
}

#define AUTO "{'cpuBurstStrategy':{'policy':'auto'}}"

static void test_values_of_containers_and_pod(void **state)
{
    struct fixture f;

    init(&f, *state,
         "[" POD("ls", "LS", "", CONTAINER("a", "5") "," CONTAINER("b", "3"),
                 STATUS("a") "," STATUS("b")) "]",
         "{'cpuBurstStrategy':{'policy':'cpuBurstOnly'}}");
    assert_true(turn(&f));
    assert_proposed(f.plan, IN(BURSTABLE_DIR("ls"), "a1"), PLAN_CPU_BURST_US, "5000000");
    assert_proposed(f.plan, IN(BURSTABLE_DIR("ls"), "b1"), PLAN_CPU_BURST_US, "3000000");
    assert_proposed(f.plan, BURSTABLE_DIR("ls"), PLAN_CPU_BURST_US, "8000000");
    assert_proposed(f.plan, BURSTABLE_DIR("ls"), PLAN_CPU_QUOTA, "800000/800000");
    assert_false(turn(&f)); /* nothing new */
    fini(&f);
}

static void test_pod_quota_moves_by_the_same_amount(void **state)
{
    struct fixture f;

    init(&f, *state,
         "[" POD("ls", "LS", "", CONTAINER("a", "2") "," CONTAINER("b", "1"),
                 STATUS("a") "," STATUS("b")) "]",
         AUTO);
    f.view.quota = 0;
    f.in.node = BURST_NODE_IDLE;
    turn(&f); /* from the quota of the limit */
    turn(&f);
    assert_proposed(f.plan, IN(BURSTABLE_DIR("ls"), "a1"), PLAN_CPU_QUOTA, "240000/200000");
    assert_proposed(f.plan, IN(BURSTABLE_DIR("ls"), "b1"), PLAN_CPU_QUOTA, "120000/100000");
    assert_proposed(f.plan, BURSTABLE_DIR("ls"), PLAN_CPU_QUOTA, "360000/300000");
    f.in.node = BURST_NODE_OVERLOAD;
    assert_true(turn(&f));
    assert_proposed(f.plan, IN(BURSTABLE_DIR("ls"), "a1"), PLAN_CPU_QUOTA, "200000/200000");
    fini(&f);
}

static void test_a_restart_goes_on_from_what_is_there(void **state)
{
    struct fixture f;

    init(&f, *state, "[" POD("ls", "LS", "", CONTAINER("a", "2"), STATUS("a")) "]", AUTO);
    f.view.quota = 400000;
    turn(&f);
    assert_proposed(f.plan, IN(BURSTABLE_DIR("ls"), "a1"), PLAN_CPU_QUOTA, "480000/200000");
    fini(&f);
}

/* As with the kubelet's static policy: a quota would only throttle it. */
static void test_a_container_without_a_quota_gets_none(void **state)
{
    struct fixture f;

    init(&f, *state, "[" POD("ls", "LS", "", CONTAINER("a", "2"), STATUS("a")) "]", AUTO);
    f.view.quota = -1;
    turn(&f);
    assert_proposed(f.plan, IN(BURSTABLE_DIR("ls"), "a1"), PLAN_CPU_QUOTA, NULL);
    assert_proposed(f.plan, BURSTABLE_DIR("ls"), PLAN_CPU_QUOTA, NULL);
    fini(&f);
}

static void test_who_bursts(void **state)
{
    struct fixture f;

    init(&f, *state,
         "[" POD("lsr", "LSR", "", CONTAINER("a", "2"), STATUS("a")) "," POD(
             "be", "BE", "", CONTAINER("b", "2"),
             STATUS("b")) "," POD("own", "",
                                  "'koordinator.sh/cpuBurst':'{\\'policy\\':\\'"
                                  "none\\'}'",
                                  CONTAINER("c", "2"),
                                  STATUS("c")) "," POD("bad", "",
                                                       "'koordinator.sh/"
                                                       "cpuBurst':'{'",
                                                       CONTAINER("d", "2"),
                                                       STATUS(
                                                           "d")) "," POD("free", "", "",
                                                                         "{'name':'e','resources':{"
                                                                         "'requests':{'cpu':'1'}}}",
                                                                         STATUS("e")) "]",
         AUTO);
    turn(&f);
    assert_proposed(f.plan, IN(BURSTABLE_DIR("lsr"), "a1"), PLAN_CPU_BURST_US, NULL);
    assert_proposed(f.plan, IN(BURSTABLE_DIR("be"), "b1"), PLAN_CPU_QUOTA, NULL);
    assert_proposed(f.plan, IN(BURSTABLE_DIR("own"), "c1"), PLAN_CPU_BURST_US, "0");
    assert_proposed(f.plan, IN(BURSTABLE_DIR("bad"), "d1"), PLAN_CPU_BURST_US, "2000000");
    assert_proposed(f.plan, IN(BURSTABLE_DIR("free"), "e1"), PLAN_CPU_BURST_US, "0");
    assert_proposed(f.plan, IN(BURSTABLE_DIR("free"), "e1"), PLAN_CPU_QUOTA, NULL);
    assert_proposed(f.plan, BURSTABLE_DIR("free"), PLAN_CPU_QUOTA, NULL);
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_node_state),
        FIXTURE_TEST(test_static_burst),
        FIXTURE_TEST(test_quota),
        FIXTURE_TEST(test_limiter),
        FIXTURE_TEST(test_limiter_counts_parts_of_seconds),
        FIXTURE_TEST(test_values_of_containers_and_pod),
        FIXTURE_TEST(test_pod_quota_moves_by_the_same_amount),
        FIXTURE_TEST(test_a_restart_goes_on_from_what_is_there),
        FIXTURE_TEST(test_a_container_without_a_quota_gets_none),
        FIXTURE_TEST(test_who_bursts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
