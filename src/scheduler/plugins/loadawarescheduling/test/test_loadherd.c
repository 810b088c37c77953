/* test_loadherd.c - a burst of pods between two reports does not run to the nodes that looked cool
 * (volcano#5313): 200 nodes of skewed load, 2,000 pods, placed by requests alone and by load.
 */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "base/arena.h"
#include "base/ktime.h"
#include "loop/loop.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

#define METRICS "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
enum { NODES_N = 200, PODS_N = 2000, NODE_MCPU = 32000, POD_MCPU = 1000, BURSTS = 20 };
enum { THRESHOLD = 65 }; /* the default */

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_load_aware_scheduling, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* What nobody has requested: one node in ten is hot, three are warm. */
static int base_mcpu(int node)
{
    int percent = node % 10 == 0 ? 50 : node % 10 < 4 ? 30 : 10;

    return NODE_MCPU / 100 * percent + node * 7;
}

/* Pods use half of their requests, or almost all of it. */
static int true_mcpu(int pod)
{
    return POD_MCPU * (50 + pod * 37 % 41) / 100;
}

static void leave_out(struct profile_config *c, const char *plugin, unsigned points,
                      struct arena *a)
{
    for (unsigned p = 0; p < KS_POINTS; p++) {
        struct profile_entry *kept = arena_newn0(a, c->points[p].n, struct profile_entry);
        uint32_t n = 0;
        for (uint32_t i = 0; i < c->points[p].n; i++)
            if (!(points >> p & 1) || !streq(c->points[p].items[i].plugin, plugin))
                kept[n++] = c->points[p].items[i];
        c->points[p] = (struct profile_set){ kept, n };
    }
}

static void add_nodes(struct engine_fixture *b)
{
    char name[16], body[256], now[KTIME_TEXT_MAX];

    ktime_format(loop_wall(b->client.loop), now);
    for (int i = 0; i < NODES_N; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        engine_node(b, name, NODE_MCPU, 262144, 110, "");
        (void)snprintf(body, sizeof body,
                       "{\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":{\"nodeUsage\":{"
                       "\"resources\":{\"cpu\":\"%dm\",\"memory\":\"16Gi\"}}}}}",
                       now, base_mcpu(i));
        fake_put(b->client.fake, METRICS, name, body);
    }
    client_fixture_run(&b->client, SEC);
}

/* Within a minute, and nothing is reported meanwhile. */
static void add_pods(struct engine_fixture *b)
{
    char name[16];

    for (int i = 0; i < PODS_N; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        engine_pod(b, name, POD_MCPU, 1024, "");
        if (i % (PODS_N / BURSTS) == 0)
            client_fixture_run(&b->client, 2 * SEC);
    }
    client_fixture_run(&b->client, 10 * SEC);
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

struct spread {
    double p50, p95, highest; /* percent of the node's CPU */
};

static struct spread spread_of(struct engine_fixture *b)
{
    int use[NODES_N];
    char name[16];

    for (int i = 0; i < NODES_N; i++)
        use[i] = base_mcpu(i);
    for (int i = 0; i < PODS_N; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        const char *node = engine_node_of(b, name);
        assert_string_not_equal(node, "");
        use[atoi(node + 1)] += true_mcpu(i);
    }
    qsort(use, NODES_N, sizeof *use, by_number);
    return (struct spread){ use[NODES_N / 2] * 100.0 / NODE_MCPU,
                            use[NODES_N * 95 / 100] * 100.0 / NODE_MCPU,
                            use[NODES_N - 1] * 100.0 / NODE_MCPU };
}

/* The profile without what is named. */
static struct spread run(const char *without, unsigned points, const char *name)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(engine_stop) struct engine_fixture b;
    struct profile_config c = profile_config_default(table, "koord-scheduler", a);

    leave_out(&c, without, points, a);
    engine_start_opts(&b, 1,
                      (struct scheduler_opts){ .profiles = &c, .nprofiles = 1, .plugins = table });
    add_nodes(&b);
    add_pods(&b);
    struct spread s = spread_of(&b);
    print_message("%s: true use of nodes p50 %.1f%%, p95 %.1f%%, highest %.1f%%\n", name, s.p50,
                  s.p95, s.highest);
    engine_verify(&b);
    return s;
}

static void test_a_burst_does_not_run_to_cool_nodes(void **state)
{
    (void)state;
    struct spread requests = run("LoadAwareScheduling", ~0u, "by requests");
    struct spread load = run("NodeResourcesFit", KS_AT(SCORE), "by load");
    struct spread both = run("", 0, "by both, equal weights");

    assert_that(2 * (load.p95 - load.p50), <=, requests.p95 - requests.p50);
    assert_that(load.highest, <=, (double)THRESHOLD);
    assert_that(both.highest, <=, (double)THRESHOLD);
    assert_that(both.p95 - both.p50, <, requests.p95 - requests.p50);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_burst_does_not_run_to_cool_nodes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
