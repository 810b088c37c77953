/* test_descheduler_rounds.c - the whole descheduler on the virtual loop over the fake API server:
 * rounds, limits, evictions and their refusals, reloads, the memory of moves.
 */
#include <stdio.h>

#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/test/client_fixture.h"
#include "component/metrics.h"
#include "descheduler/config/config.h"
#include "descheduler/descheduler.h"
#include "net/http.h"
#include "json/kj.h"

#define NODES      "/api/v1/nodes"
#define METRICS    "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define BUDGETS    "/apis/policy/v1/namespaces/ns/poddisruptionbudgets"
#define CONFIGMAPS "/api/v1/namespaces/koordinator-system/configmaps"
#define SEC        NSEC_PER_SEC
#define HOUR       (3600 * SEC)

struct whole {
    struct client_fixture client;
    struct config *config, *next;
    struct metrics *metrics;
    struct descheduler *d;
    char evicted[64][64]; /* names of pods, in order */
    unsigned n;
};

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct whole *w = arg;

    (void)agent;
    if (streq(method, "POST") && str_ends(target, "/eviction") && w->n < 64)
        (void)snprintf(w->evicted[w->n++], 64, "%s", kj_str_or(kj_path(body, "metadata.name"), ""));
}

static void put(struct whole *w, const char *collection, const char *name, const char *fmt, ...)
    PRINTF(4, 5);
static void put(struct whole *w, const char *collection, const char *name, const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    fake_put(w->client.fake, collection, name, text);
}

static void put_node(struct whole *w, const char *name)
{
    put(w, NODES, name,
        "{'metadata':{'labels':{'node':'%s'}},'status':{'allocatable':{'cpu':'4','memory':'8Gi',"
        "'pods':'110'},'conditions':[{'type':'Ready','status':'True'}]}}",
        name);
}

/* age: how long ago it was made. */
static void put_pod(struct whole *w, const char *name, const char *node, nsec_t age,
                    const char *phase)
{
    char created[KTIME_TEXT_MAX];

    (void)ktime_format(loop_wall(w->client.loop) - age, created);
    put(w, PODS, name,
        "{'metadata':{'creationTimestamp':'%s','labels':{'app':'w'},'ownerReferences':[{"
        "'apiVersion':'apps/v1','kind':'ReplicaSet','name':'w','uid':'w','controller':true}]},"
        "'spec':{'nodeName':'%s','schedulerName':'koord-scheduler','containers':[{'name':'c',"
        "'image':'i','resources':{'requests':{'cpu':'1'}}}]},'status':{'phase':'%s','conditions':"
        "[{'type':'Ready','status':'True'}]}}",
        created, node, phase);
}

#define HEAD                                                                                   \
    "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\ndeschedulingInterval: " \
    "10s\n"
#define EVICTOR                                                                 \
    "    evict: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}\n" \
    "    filter: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}\n"
#define FAILED                                                             \
    "profiles:\n- name: p\n  plugins:\n    deschedule: {enabled: [{name: " \
    "RemoveFailedPods}]}\n" EVICTOR

static struct config *parse(const char *yaml)
{
    struct config *c = NULL;
    struct kerr err = { 0 };

    if (config_parse(&desched_config_spec, yaml, strlen(yaml), "test", &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static void begin(struct whole *w, const char *yaml)
{
    struct kerr err = { 0 };

    w->config = parse(yaml);
    w->metrics = metrics_new();
    const struct descheduler_opts o = { .config = w->config->value, .metrics = w->metrics };
    w->d = descheduler_new(w->client.loop, w->client.kube, &o, &err);
    if (!w->d)
        fail_msg("%s", err.text);
    descheduler_watch(w->d);
    client_fixture_run(&w->client, SEC);
    descheduler_lead(w->d);
}

static void end(struct whole *w)
{
    w->d = descheduler_free(w->d);
    w->metrics = metrics_free(w->metrics);
    w->config = config_unref(w->config);
    w->next = config_unref(w->next);
}

static void whole_init(struct whole *w)
{
    *w = (struct whole){ .n = 0 };
    client_fixture_init(&w->client, 7);
    fake_on_write(w->client.fake, on_write, w);
    put_node(w, "n1");
    put_node(w, "n2");
    put_node(w, "n3");
}

static void whole_fini(struct whole *w)
{
    end(w);
    client_fixture_fini(&w->client);
}

static bool has_metric(struct whole *w, const char *line)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    metrics_write((struct metrics *const[]){ w->metrics }, 1, &text);
    return strstr(strbuf_str(&text), line) != NULL;
}

/* ---- limits ----------------------------------------------------------------------------------- */

static void test_limit_counts_anew_each_round(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    for (int i = 0; i < 5; i++) {
        CLEANUP(mem_free) char *name = xasprintf("p%d", i);
        put_pod(&w, name, "n1", 2 * HOUR, "Failed");
    }
    begin(&w, HEAD "maxNoOfPodsToEvictTotal: 2\n" FAILED);
    client_fixture_run(&w.client, 5 * SEC);
    assert_int_equal(w.n, 2);
    assert_string_equal(w.evicted[0], "p0");
    assert_string_equal(w.evicted[1], "p1");
    assert_true(has_metric(&w, "descheduler_pods_evicted{"));
    assert_true(has_metric(&w, "strategy=\"RemoveFailedPods\""));
    assert_true(has_metric(&w, "result=\"success\""));
    client_fixture_run(&w.client, 10 * SEC);
    assert_int_equal(w.n, 4);
    client_fixture_run(&w.client, 10 * SEC);
    assert_int_equal(w.n, 5);
    assert_int_equal(fake_count(w.client.fake, "pods"), 0);
    /* Upstream's events never arrive; ours do. */
    client_fixture_run(&w.client, 10 * SEC);
    assert_true(fake_count(w.client.fake, "events") >= 5);
    whole_fini(&w);
}

static void test_limits_of_node_and_namespace(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    put_pod(&w, "a", "n1", 2 * HOUR, "Failed");
    put_pod(&w, "b", "n1", 2 * HOUR, "Failed");
    put_pod(&w, "c", "n2", 2 * HOUR, "Failed");
    put_pod(&w, "d", "n3", 2 * HOUR, "Failed");
    begin(&w, HEAD "maxNoOfPodsToEvictPerNode: 1\nmaxNoOfPodsToEvictPerNamespace: 2\n" FAILED);
    client_fixture_run(&w.client, 5 * SEC);
    assert_int_equal(w.n, 2);
    assert_string_equal(w.evicted[0], "a");
    assert_string_equal(w.evicted[1], "c");
    whole_fini(&w);
}

static void test_dry_run_writes_nothing(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    put_pod(&w, "a", "n1", 2 * HOUR, "Failed");
    begin(&w, HEAD "dryRun: true\n" FAILED);
    client_fixture_run(&w.client, 25 * SEC);
    assert_int_equal(w.n, 0);
    assert_int_equal(descheduler_stats(w.d).evicted, 1);
    assert_int_equal(fake_count(w.client.fake, "events"), 0);
    whole_fini(&w);
}

static void test_one_node_is_no_cluster(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    put_pod(&w, "a", "n1", 2 * HOUR, "Failed");
    begin(&w, HEAD "nodeSelector: {matchLabels: {node: n1}}\n" FAILED);
    client_fixture_run(&w.client, 15 * SEC);
    assert_int_equal(w.n, 0);
    assert_int_equal(descheduler_stats(w.d).failed, descheduler_stats(w.d).rounds);
    whole_fini(&w);
}

static void test_without_interval_there_is_one_round(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    begin(&w, "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n" FAILED);
    client_fixture_run(&w.client, 60 * SEC);
    assert_int_equal(descheduler_stats(w.d).rounds, 1);
    whole_fini(&w);
}

/* ---- refusals --------------------------------------------------------------------------------- */

static void test_a_refused_eviction_is_tried_in_the_next_round(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    put_pod(&w, "a", "n1", 2 * HOUR, "Failed");
    fake_answer_next_to(w.client.fake, "POST", "/eviction", 1, 429);
    begin(&w, HEAD FAILED);
    client_fixture_run(&w.client, 5 * SEC);
    assert_int_equal(fake_count(w.client.fake, "pods"), 1);
    assert_true(has_metric(&w, "result=\"error\""));
    client_fixture_run(&w.client, 10 * SEC);
    assert_int_equal(fake_count(w.client.fake, "pods"), 0);
    whole_fini(&w);
}

static void test_a_used_up_budget_lets_others_go(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    put_pod(&w, "a", "n1", 2 * HOUR, "Running");
    put_pod(&w, "b", "n1", 2 * HOUR, "Running");
    put_pod(&w, "c", "n2", 2 * HOUR, "Running");
    put(&w, BUDGETS, "b",
        "{'spec':{'selector':{'matchLabels':{'app':'w'}},'maxUnavailable':1},'status':{"
        "'disruptionsAllowed':1,'currentHealthy':3,'desiredHealthy':2,'expectedPods':3}}");
    begin(&w, HEAD "profiles:\n- name: p\n  plugins:\n    deschedule: {enabled: [{name: "
                   "PodLifeTime}]}\n" EVICTOR "  pluginConfig: [{name: PodLifeTime, args: "
                   "{maxPodLifeTimeSeconds: 60}}]\n");
    client_fixture_run(&w.client, 5 * SEC);
    assert_int_equal(w.n, 1);
    whole_fini(&w);
}

/* ---- reload ----------------------------------------------------------------------------------- */

static void test_reload(void **state)
{
    struct whole w;
    struct kerr err = { 0 };

    (void)state;
    whole_init(&w);
    put_pod(&w, "a", "n1", 2 * HOUR, "Failed");
    begin(&w, HEAD "dryRun: true\n" FAILED);
    client_fixture_run(&w.client, 5 * SEC);
    assert_int_equal(w.n, 0);
    w.next = parse(HEAD FAILED);
    assert_int_equal(descheduler_reload(w.d, w.next->value, &err), 0);
    client_fixture_run(&w.client, 5 * SEC);
    assert_int_equal(w.n, 1);
    whole_fini(&w);
}

/* ---- CustomPriority --------------------------------------------------------------------------- */

#define DRAIN(dry)                                                                                 \
    "profiles:\n- name: p\n  plugins:\n    balance: {enabled: [{name: CustomPriority}]}\n" EVICTOR \
    "  pluginConfig:\n  - name: CustomPriority\n    args: {mode: DrainNode, autoCordon: true, "    \
    "dryRun: " dry ", evictionOrder: [{name: spot, nodeSelector: {matchLabels: {node: n1}}}, "     \
    "{name: rest, nodeSelector: {matchLabels: {node: n2}}}]}\n"

/* How many pods went of n1, which has two, and whether it is cordoned then. */
static unsigned drained(const char *yaml, bool *cordoned)
{
    struct whole w;

    whole_init(&w);
    put_pod(&w, "a", "n1", HOUR, "Running");
    put_pod(&w, "b", "n1", HOUR, "Running");
    begin(&w, yaml);
    client_fixture_run(&w.client, 5 * SEC);
    *cordoned = strstr(fake_find(w.client.fake, NODES, "n1"), "\"unschedulable\":true") != NULL;
    unsigned n = w.n;
    whole_fini(&w);
    return n;
}

static void test_a_drained_node_is_cordoned(void **state)
{
    bool cordoned;

    (void)state;
    assert_int_equal(drained(HEAD DRAIN("false"), &cordoned), 2);
    assert_true(cordoned);
    /* The second one may not go: the node is used again. */
    assert_int_equal(drained(HEAD "maxNoOfPodsToEvictPerNode: 1\n" DRAIN("false"), &cordoned), 1);
    assert_false(cordoned);
}

/* Upstream cordons it in a dry run too. */
static void test_a_dry_run_does_not_cordon(void **state)
{
    bool cordoned;

    (void)state;
    assert_int_equal(drained(HEAD DRAIN("true"), &cordoned), 0);
    assert_false(cordoned);
    assert_int_equal(drained(HEAD "dryRun: true\n" DRAIN("false"), &cordoned), 0);
    assert_false(cordoned);
}

/* ---- memory of moves -------------------------------------------------------------------------- */

#define LOAD                                                                                    \
    "profiles:\n- name: p\n  plugins:\n    balance: {enabled: [{name: LowNodeLoad}]}\n" EVICTOR \
    "  pluginConfig:\n  - name: LowNodeLoad\n    args: {anomalyCondition: {timeout: 1m, "       \
    "consecutiveAbnormalities: 1, consecutiveNormalities: 1}, nodeMetricExpirationSeconds: "    \
    "100000000, lowThresholds: {cpu: 20}, highThresholds: {cpu: 50}}\n"

static void put_metric(struct whole *w, const char *node, const char *pod)
{
    char now[KTIME_TEXT_MAX];
    CLEANUP(strbuf_fini) struct strbuf entry = STRBUF_INIT;

    (void)ktime_format(loop_wall(w->client.loop), now);
    if (pod)
        strbuf_appendf(
            &entry, "{'namespace':'ns','name':'%s','podUsage':{'resources':{'cpu':'1900m'}}}", pod);
    put(w, METRICS, node,
        "{'status':{'updateTime':'%s','nodeMetric':{'systemUsage':{'resources':{'cpu':'%s'}}},"
        "'podsMetric':[%s]}}",
        now, pod ? "300m" : "0", strbuf_str(&entry));
}

/* A replica that always returns to n1, or that heats each node it lands on, for a day. */
static unsigned moves_in(struct whole *w, bool same_node, unsigned hours, bool restarts)
{
    static const char *const nodes[] = { "n1", "n2", "n3" };
    unsigned at = 0, made = 0;
    char name[16] = "p0";

    put_pod(w, name, "n1", 2 * HOUR, "Running");
    put_metric(w, "n1", name);
    put_metric(w, "n2", NULL);
    put_metric(w, "n3", NULL);
    begin(w, HEAD LOAD);
    for (unsigned i = 0; i < hours * 6; i++) {
        client_fixture_run(&w->client, 600 * SEC);
        if (fake_find(w->client.fake, PODS, name))
            continue;
        put_metric(w, nodes[at], NULL);
        at = same_node ? 0 : (at + 1) % 3;
        (void)snprintf(name, sizeof name, "p%u", ++made);
        put_pod(w, name, nodes[at], 0, "Running");
        put_metric(w, nodes[at], name);
        if (restarts) { /* what it knows is in the ConfigMap by then */
            client_fixture_run(&w->client, 20 * SEC);
            end(w);
            begin(w, HEAD LOAD);
        }
    }
    return w->n;
}

static void test_who_returns_moves_twice_a_day(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    assert_in_range(moves_in(&w, true, 24, false), 1, 2);
    assert_non_null(fake_find(w.client.fake, CONFIGMAPS, "koord-descheduler-moves"));
    whole_fini(&w);
}

static void test_who_heats_every_node_moves_twice_a_day(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    assert_int_equal(moves_in(&w, false, 24, false), 2);
    whole_fini(&w);
}

static void test_a_restart_forgets_nothing(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    assert_int_equal(moves_in(&w, false, 24, true), 2);
    whole_fini(&w);
}

static void test_a_garbled_memory_begins_anew(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    put(&w, CONFIGMAPS, "koord-descheduler-moves", "{'data':{'moves':'{{{'}}");
    assert_int_equal(moves_in(&w, false, 3, false), 2);
    whole_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit_counts_anew_each_round),
        cmocka_unit_test(test_limits_of_node_and_namespace),
        cmocka_unit_test(test_dry_run_writes_nothing),
        cmocka_unit_test(test_one_node_is_no_cluster),
        cmocka_unit_test(test_without_interval_there_is_one_round),
        cmocka_unit_test(test_a_refused_eviction_is_tried_in_the_next_round),
        cmocka_unit_test(test_a_used_up_budget_lets_others_go),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_a_drained_node_is_cordoned),
        cmocka_unit_test(test_a_dry_run_does_not_cordon),
        cmocka_unit_test(test_who_returns_moves_twice_a_day),
        cmocka_unit_test(test_who_heats_every_node_moves_twice_a_day),
        cmocka_unit_test(test_a_restart_forgets_nothing),
        cmocka_unit_test(test_a_garbled_memory_begins_anew),
    };
    return cmocka_run_group_tests_name("descheduler_rounds", tests, NULL, NULL);
}
