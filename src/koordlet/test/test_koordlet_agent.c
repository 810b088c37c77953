/* test_koordlet_agent.c - the parts of koordlet together: what is served, what is missing, and an
 * end at any time (koordlet-metrics 1.2, 1.3, 1.5, 11). */
#include "base/test/asserts.h"
#include "client/test/client_fixture.h"

#include "client/kubeconfig.h"
#include "component/flags.h"
#include "component/metrics.h"
#include "koordlet/agent.h"
#include "koordlet/kernel/test/host_fixture.h"
#include "koordlet/test/http_get.h"

#define NODES "/api/v1/nodes"

struct agent_fixture {
    struct client_fixture client;
    struct fixture f;
    struct flags *flags;
    struct koordlet_options o;
    struct kube_config config;
    struct metrics *internal;
    struct serve *serve;
    struct agent *agent;
    struct http_get k;
    char dir[3][96]; /* audit, checkpoints, XPUs */
};

static void agent_fixture_init(struct agent_fixture *b, const char *gates)
{
    struct kerr err = { 0 };

    *b = (struct agent_fixture){ .internal = metrics_new(), .flags = flags_new() };
    client_fixture_init(&b->client, 5);
    fixture_init(&b->f);
    fixture_cgroup(&b->f, CGROUP_V2);
    fixture_put(&b->f, "cpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0\n", "proc/stat");
    fixture_put(&b->f, "MemTotal: 1048576 kB\nMemFree: 262144 kB\nMemAvailable: 524288 kB\n",
                "proc/meminfo");
    koordlet_options_add(b->flags, &b->o);
    assert_int_equal(gates_parse(&b->o.gates, gates, &err), 0);
    b->o.roots = fixture_host(&b->f)->roots;
    for (size_t i = 0; i < ARRAY_LEN(b->dir); i++)
        (void)snprintf(b->dir[i], sizeof b->dir[i], "%s/own-%zu", b->f.dir, i);
    b->o.audit.dir = b->dir[0];
    b->o.predict.checkpoint_dir = b->dir[1];
    b->o.xpu_dir = b->dir[2];
    b->o.node_name = "n1";
    const struct agent_env env = { b->client.loop, b->client.kube, &b->config, b->internal, &b->o };
    if (agent_new(&env, &b->agent, &err) < 0)
        fail_msg("%s", err.text);
    b->serve = serve_new(b->client.loop, &(struct serve_opts){ .program = "koordlet" });
    agent_serve(b->agent, b->serve);
    http_get_init_serve(&b->k, b->client.loop, b->serve);
}

static void count_stop(void *arg)
{
    ++*(int *)arg;
}

static void agent_fixture_fini(struct agent_fixture *b, bool stop)
{
    int stopped = 0;

    http_get_fini(&b->k);
    serve_free(b->serve);
    if (stop) {
        agent_stop(b->agent, count_stop, &stopped);
        client_fixture_run(&b->client, NSEC_PER_SEC);
        assert_int_equal(stopped, 1);
    }
    agent_free(b->agent);
    client_fixture_run(&b->client, 60 * NSEC_PER_SEC); /* nobody calls back */
    client_fixture_fini(&b->client);
    fixture_fini(&b->f);
    metrics_free(b->internal);
    flags_free(b->flags);
}

static const char *get(struct agent_fixture *b, const char *target, int status)
{
    const char *body = http_get_path(&b->k, target);

    assert_true(b->k.ended);
    if (b->k.status != status)
        fail_msg("%s: %d %s", target, b->k.status, body);
    return body;
}

/* The names of the families, each with a newline. */
static void families(struct agent_fixture *b, const char *target, struct strbuf *out)
{
    static const char type[] = "# TYPE ";

    for (const char *p = get(b, target, 200); (p = strstr(p, type)); p++) {
        const char *name = p + strlen(type);
        strbuf_appendn(out, name, strcspn(name, " "));
        strbuf_appendc(out, '\n');
    }
}

static void test_metrics_are_internal_then_external(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf both = STRBUF_INIT, parts = STRBUF_INIT;
    struct agent_fixture b;

    (void)state;
    agent_fixture_init(&b, "");
    agent_start(b.agent);
    /* A node without an address: there is no kubelet to ask. */
    fake_put(b.client.fake, NODES, "n1",
             "{\"status\":{\"allocatable\":{\"kubernetes.io/batch-cpu\":\"1500\"}}}");
    client_fixture_run(&b.client, 20 * NSEC_PER_SEC);
    families(&b, "/internal-metrics", &parts);
    size_t internal = parts.len;
    families(&b, "/external-metrics", &parts);
    families(&b, "/metrics", &both);
    assert_string_equal(strbuf_str(&both), strbuf_str(&parts));
    assert_contains(strbuf_str(&parts), "koordlet_node_used_memory_bytes\n");
    assert_contains(strbuf_str(&parts) + internal, "koordlet_node_resource_allocatable\n");
    assert_contains(get(&b, "/missing", 503), "the Node has no address of type InternalIP");
    agent_fixture_fini(&b, true);
}

static void test_nothing_of_the_node_before_it_is_known(void **state)
{
    static const char *const later[] = {
        "koordlet_node_used_",        "koordlet_node_resource_", "koordlet_kubelet_request_",
        "koordlet_collect_node_",     "koordlet_report_total",   "koordlet_cpuset_",
        "koordlet_node_predicted_",   "koordlet_host_app",       "koordlet_container_",
        "koordlet_node_priority_res",
    };
    struct agent_fixture b;

    (void)state;
    agent_fixture_init(&b, "");
    agent_start(b.agent);
    client_fixture_run(&b.client, 90 * NSEC_PER_SEC);
    const char *text = get(&b, "/metrics", 200);
    assert_contains(text, "koordlet_start_time{node=\"n1\"} 1.7632e+09\n");
    for (size_t i = 0; i < ARRAY_LEN(later); i++)
        if (strstr(text, later[i]))
            fail_msg("%s in\n%s", later[i], text);
    assert_contains(get(&b, "/plan", 200), "\"files\":[");
    text = get(&b, "/missing", 503);
    assert_contains(text, "no Node object yet\n");
    assert_contains(text, "no NodeSLO yet (koord-manager makes it)\n");
    assert_contains(text, "SystemResourceCollector");
    agent_fixture_fini(&b, true);
}

static void test_events_are_served_with_both_gates(void **state)
{
    struct agent_fixture b;

    (void)state;
    agent_fixture_init(&b, "AuditEvents=true");
    get(&b, "/events", 404);
    agent_fixture_fini(&b, false);
    agent_fixture_init(&b, "AuditEventsHTTPHandler=true");
    get(&b, "/events", 404);
    agent_fixture_fini(&b, false);
    agent_fixture_init(&b, "AuditEvents=true,AuditEventsHTTPHandler=true");
    assert_string_equal(get(&b, "/events", 200), "");
    agent_fixture_fini(&b, false);
}

/* Everything on; the end comes before, at and some time after the start. */
static void test_it_ends_at_any_time(void **state)
{
    static const nsec_t ages[] = { 0, NSEC_PER_MSEC, NSEC_PER_SEC, 70 * NSEC_PER_SEC };
    struct agent_fixture b;

    (void)state;
    agent_fixture_init(&b, "AllAlpha=true,AllBeta=true");
    agent_fixture_fini(&b, false);
    for (size_t i = 0; i < ARRAY_LEN(ages); i++) {
        agent_fixture_init(&b, "AllAlpha=true,AllBeta=true,PodResourcesProxy=false");
        agent_start(b.agent);
        fake_put(b.client.fake, NODES, "n1", "{}");
        client_fixture_run(&b.client, ages[i]);
        agent_fixture_fini(&b, i % 2 == 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_are_internal_then_external),
        cmocka_unit_test(test_nothing_of_the_node_before_it_is_known),
        cmocka_unit_test(test_events_are_served_with_both_gates),
        cmocka_unit_test(test_it_ends_at_any_time),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
