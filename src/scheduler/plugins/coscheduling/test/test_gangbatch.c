/* test_gangbatch.c - a gang with a plan is placed in one piece (sched-gang 8, scheduler-core 10.3).
 */
#include "gang_engine.h"

#include "component/gates.h"
#include "component/metrics.h"
#include "scheduler/framework/gates.h"

#define TOPOLOGIES "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
#define LAYERS                                                                             \
    "{\"spec\":{\"networkTopologySpec\":[{\"topologyLayer\":\"BlockLayer\",\"labelKey\":[" \
    "\"net/block\"]},{\"topologyLayer\":\"NodeTopologyLayer\",\"parentTopologyLayer\":"    \
    "\"BlockLayer\"}]}}"
#define MUST_BLOCK                                                                             \
    "\"" ANNO_GANG_TOPOLOGY_SPEC "\":\"{\\\"gatherStrategy\\\":[{\\\"layer\\\":\\\"BlockLayer" \
    "\\\",\\\"strategy\\\":\\\"MustGather\\\"}]}\""

/* ---- a plugin that says no to pods of certain names -------------------------------------------- */

static struct {
    const char *no_reserve, *no_permit, *holds, *no_pre_bind; /* NULL: nobody */
    int reserved;                                             /* and not undone */
} picky;

static bool is(const char *name, const struct pod *p)
{
    return name && streq(name, p->obj.meta.name);
}

static enum ks_code picky_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    (void)self, (void)c, (void)row;
    if (is(picky.no_reserve, p->pod)) {
        ks_texts_add(why, "not here");
        return KS_UNSCHEDULABLE;
    }
    picky.reserved++;
    return KS_SUCCESS;
}

static void picky_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)node;
    picky.reserved -= !is(picky.no_reserve, p);
}

static enum ks_code picky_permit(void *self, const struct pod *p, const char *node,
                                 nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)node;
    *ret_timeout = 600 * SEC;
    if (is(picky.no_permit, p))
        ks_texts_add(why, "not now");
    return is(picky.no_permit, p) ? KS_UNSCHEDULABLE : is(picky.holds, p) ? KS_WAIT : KS_SUCCESS;
}

static enum ks_code picky_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self, (void)why;
    return is(picky.no_pre_bind, pod_of(b->pod)) ? KS_ERROR : KS_SUCCESS;
}

static const struct ks_hint picky_hints[] = { { KS_RES_NODE, KS_ADD, NULL, NULL } };
static const struct ks_plugin picky_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Picky",
    .hints = picky_hints,
    .nhints = ARRAY_LEN(picky_hints),
    .reserve = picky_reserve,
    .unreserve = picky_unreserve,
    .permit = picky_permit,
    .pre_bind = picky_pre_bind,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_scheduling_gates, 0, true },
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_coscheduling, 0, true },
    { &picky_plugin, 0, true },
    { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* ---- the stage ------------------------------------------------------------------------------- */

struct stage {
    struct engine_fixture b;
    struct gates gates;
    struct metrics *m;
    struct strbuf text;
};

static void node(struct engine_fixture *b, const char *name, const char *block)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"net/block\":\"%s\"}},\"status\":{\"allocatable\":{"
                   "\"cpu\":\"16\",\"memory\":\"64Gi\",\"pods\":\"100\"}}}",
                   block);
    fake_put(b->client.fake, NODES, name, body);
}

/* Two blocks of two nodes with 16 CPUs each. */
static void start(struct stage *g, bool on)
{
    struct kerr err = { 0 };

    memset(&picky, 0, sizeof picky);
    *g = (struct stage){ .m = metrics_new(), .text = STRBUF_INIT };
    gates_init(&g->gates, ks_gates, ks_ngates);
    assert_int_equal(
        gates_parse(&g->gates, on ? "EnableInlineBatchSchedule=true" : "ResizePod=false", &err), 0);
    gang_opts = (struct scheduler_opts){ .plugins = plugins, .gates = &g->gates, .metrics = g->m };
    gang_start(&g->b, "{\"awareNetworkTopology\":true,\"enablePreemption\":true}");
    gang_opts = (struct scheduler_opts){ 0 };
    fake_put(g->b.client.fake, TOPOLOGIES, "default", LAYERS);
    node(&g->b, "node-1", "b1");
    node(&g->b, "node-2", "b1");
    node(&g->b, "node-3", "b2");
    node(&g->b, "node-4", "b2");
    client_fixture_run(&g->b.client, SEC);
}

static void stop(struct stage *g)
{
    engine_stop_p(&g->b);
    metrics_free(g->m);
    strbuf_fini(&g->text);
}

static void gang(struct stage *g, int min, int n, int cpu)
{
    char name[16];

    gang_podgroup(&g->b, "g", min, MUST_BLOCK);
    client_fixture_run(&g->b.client, SEC);
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "g%d", i);
        gang_pod(&g->b, name, "g", cpu);
    }
    client_fixture_run(&g->b.client, SEC);
}

static bool counted(struct stage *g, const char *line)
{
    strbuf_reset(&g->text);
    metrics_write(&g->m, 1, &g->text);
    return strstr(strbuf_str(&g->text), line);
}

/* Does the condition of some member say it? */
static bool said(const struct stage *g, int n, const char *text)
{
    char name[16];

    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "g%d", i);
        if (strstr(engine_condition(&g->b, name, "message"), text))
            return true;
    }
    return false;
}

/* ---- it works out ---------------------------------------------------------------------------- */

static void test_all_in_one_piece(void **state)
{
    struct stage g;

    (void)state;
    start(&g, true);
    gang(&g, 4, 4, 8);
    assert_int_equal(gang_bound(&g.b, "g", 4), 4);
    assert_true(counted(&g, "scheduler_inline_batch_schedule_duration_seconds_count{result="
                            "\"success\"} 1"));
    assert_true(counted(&g, "scheduler_batch_algorithm_by_node_duration_seconds_count 2"));
    assert_true(counted(&g, "scheduler_batch_algorithm_by_pod_duration_seconds_count 4"));
    assert_true(counted(&g, "scheduler_gang_schedule_cycle_duration_seconds_count{job_size=\"1-100"
                            "\",reason=\"gang is already succeed\"} 1"));
    assert_int_equal(picky.reserved, 4);
    engine_verify(&g.b);
    stop(&g);
}

/* The gate is off: the same outcome, member by member. */
static void test_without_the_gate(void **state)
{
    struct stage g;

    (void)state;
    start(&g, false);
    gang(&g, 4, 4, 8);
    assert_int_equal(gang_bound(&g.b, "g", 4), 4);
    assert_false(counted(&g, "inline_batch"));
    stop(&g);
}

/* More members than the minimum, and no room for all: as many as are needed are a job. */
static void test_as_many_as_are_needed(void **state)
{
    struct stage g;

    (void)state;
    start(&g, true);
    gang(&g, 4, 6, 8);
    assert_int_equal(gang_bound(&g.b, "g", 6), 4);
    engine_verify(&g.b);
    stop(&g);
}

/* ---- it does not ----------------------------------------------------------------------------- */

/* One cannot be reserved: nobody keeps anything, and the message names it and who was placed before
 * it on its node. */
static void test_one_fails(void **state)
{
    struct stage g;

    (void)state;
    start(&g, true);
    picky.no_reserve = "g1";
    gang(&g, 4, 4, 8); /* g0 and g1 on one node, or g1 with another */
    assert_int_equal(gang_bound(&g.b, "g", 4), 0);
    assert_true(said(&g, 4, "job failed due to job batch schedule failed, assumed "));
    assert_true(said(&g, 4, "first failed pod ns/g1@node-1 failed due to reserve pod ns/g1/"));
    assert_true(said(&g, 4, "not here"));
    assert_true(said(&g, 4, ", assumed pods on node node-1: ns/g0"));
    assert_false(said(&g, 4, "first failed pod ns/g0"));
    assert_true(counted(&g, "scheduler_batch_assumed_pods_cleanup_total{reason="
                            "\"batch_schedule_failure\"}"));
    assert_int_equal(scheduler_stats(g.b.s).assumed, 0);
    assert_int_equal(scheduler_stats(g.b.s).victims, 0);
    assert_int_equal(picky.reserved, 0);
    picky.no_reserve = NULL;
    node(&g.b, "node-5", "b1"); /* what it waits for */
    client_fixture_run(&g.b.client, 12 * SEC);
    assert_int_equal(gang_bound(&g.b, "g", 4), 4);
    engine_verify(&g.b);
    stop(&g);
}

/* A permit that is refused, or one that does not come: all are rolled back. */
static void test_permits(void **state)
{
    static const char *const texts[] = { "permit failed for pod ns/g1@",
                                         "inline batch permit did not complete: " };
    struct stage g;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start(&g, true);
        *(i == 0 ? &picky.no_permit : &picky.holds) = "g1";
        gang(&g, 4, 4, 8);
        assert_int_equal(gang_bound(&g.b, "g", 4), 0);
        assert_int_equal(scheduler_stats(g.b.s).waiting, 0);
        assert_int_equal(scheduler_stats(g.b.s).assumed, 0);
        assert_true(said(&g, 4, texts[i]));
        assert_true(counted(&g, "reason=\"batch_permit_failure\"}"));
        picky.no_permit = picky.holds = NULL;
        node(&g.b, "node-5", "b1");
        client_fixture_run(&g.b.client, 30 * SEC);
        assert_int_equal(gang_bound(&g.b, "g", 4), 4);
        engine_verify(&g.b);
        stop(&g);
    }
}

/* Once all have their permits one that cannot be bound concerns itself alone. */
static void test_a_binding_fails(void **state)
{
    struct stage g;

    (void)state;
    start(&g, true);
    picky.no_pre_bind = "g2";
    gang(&g, 4, 4, 8);
    assert_int_equal(gang_bound(&g.b, "g", 4), 3);
    assert_false(gang_runs(&g.b, "g2"));
    assert_true(
        counted(&g, "scheduler_batch_bind_failures_total{phase=\"prebind\",reason=\"error\"} 1"));
    assert_true(counted(&g, "scheduler_batch_partial_bind_jobs_total 1"));
    assert_true(counted(&g, "scheduler_batch_partial_bind_pods_total{status=\"success\"} 3"));
    picky.no_pre_bind = NULL;
    client_fixture_run(&g.b.client, 12 * SEC);
    assert_true(gang_runs(&g.b, "g2"));
    engine_verify(&g.b);
    stop(&g);
}

/* A new configuration between the failure of a job and its next try. */
static void test_reload(void **state)
{
    struct stage g;

    (void)state;
    start(&g, true);
    picky.holds = "g3";
    gang(&g, 4, 4, 8);
    assert_int_equal(gang_bound(&g.b, "g", 4), 0);
    picky.holds = NULL;
    gang_opts = (struct scheduler_opts){ .plugins = plugins, .gates = &g.gates, .metrics = g.m };
    gang_engine_config(&g.b, "{\"awareNetworkTopology\":true,\"defaultTimeout\":\"20s\"}", true);
    gang_opts = (struct scheduler_opts){ 0 };
    client_fixture_run(&g.b.client, 30 * SEC);
    assert_int_equal(gang_bound(&g.b, "g", 4), 4);
    engine_verify(&g.b);
    stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_in_one_piece),
        cmocka_unit_test(test_without_the_gate),
        cmocka_unit_test(test_as_many_as_are_needed),
        cmocka_unit_test(test_one_fails),
        cmocka_unit_test(test_permits),
        cmocka_unit_test(test_a_binding_fails),
        cmocka_unit_test(test_reload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
