/* test_descheduler_config.c - DeschedulerConfiguration: defaults, merged plugin sets, and what is
 * refused, with its path (descheduler 1.2).
 */
#include "api/node.h"
#include "api/pod.h"
#include "descheduler/test/fixture.h"

#define HEAD          "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n"
#define PROFILE(text) HEAD "profiles:\n- name: p\n" text

static void test_defaults(void **state)
{
    CLEANUP(config_unref) struct config *c = fixture_config(HEAD);
    const struct desched_config *v = c->value;

    (void)state;
    assert_int_equal(v->profiles.n, 1);
    assert_string_equal(v->made[0].name, "koord-descheduler");
    assert_int_equal(v->made[0].points[KD_DESCHEDULE].n, 0);
    assert_int_equal(v->made[0].points[KD_BALANCE].n, 0);
    assert_string_equal(v->made[0].points[KD_EVICT].items[0]->name, "MigrationController");
    assert_string_equal(v->made[0].points[KD_FILTER].items[0]->name, "MigrationController");
    assert_true(v->election.elect.v);
    assert_string_equal(v->election.name, "koord-descheduler");
    assert_string_equal(v->election.ns, "koordinator-system");
    assert_string_equal(v->healthz_address, "0.0.0.0:10251");
    assert_int_equal(v->interval, 0);
    assert_false(v->limits.total.set);
    assert_true(v->client.qps == 50 && v->client.burst == 100);
}

static void test_addresses(void **state)
{
    static const char *const pairs[][2] = { { "':99'", "0.0.0.0:99" },
                                            { "10.0.0.1", "10.0.0.1:10251" },
                                            { "'10.0.0.1:7'", "10.0.0.1:7" },
                                            { "'::1'", "[::1]:10251" },
                                            { "'[::1]:7'", "[::1]:7" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        CLEANUP(mem_free) char *yaml = xasprintf(HEAD "metricsBindAddress: %s\n", pairs[i][0]);
        CLEANUP(config_unref) struct config *c = fixture_config(yaml);
        const struct desched_config *v = c->value;
        assert_string_equal(v->metrics_address, pairs[i][1]);
    }
}

static void names_of(const struct kd_enabled *e, struct strbuf *out)
{
    for (uint32_t i = 0; i < e->n; i++)
        strbuf_appendf(out, "%s%s", i ? " " : "", e->items[i]->name);
}

static void expect_filter(const char *filter, const char *want)
{
    CLEANUP(mem_free) char *yaml = xasprintf(PROFILE("  plugins:\n    filter: %s\n"), filter);
    CLEANUP(config_unref) struct config *c = fixture_config(yaml);
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;
    const struct desched_config *v = c->value;

    names_of(&v->made[0].points[KD_FILTER], &names);
    assert_string_equal(strbuf_str(&names), want);
}

static void test_merged_sets(void **state)
{
    (void)state;
    expect_filter("{}", "MigrationController");
    expect_filter("{enabled: [{name: DefaultEvictor}]}", "MigrationController DefaultEvictor");
    expect_filter("{enabled: [{name: DefaultEvictor}, {name: MigrationController}]}",
                  "MigrationController DefaultEvictor");
    expect_filter("{disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}, {name: "
                  "MigrationController}]}",
                  "DefaultEvictor MigrationController");
    expect_filter("{disabled: [{name: MigrationController}]}", "");
    expect_filter("{disabled: [{name: '*'}]}", "");
}

static void test_written_reads_the_same(void **state)
{
    CLEANUP(config_unref)
    struct config *c = fixture_config(
        HEAD "deschedulingInterval: 7m\nmaxNoOfPodsToEvictTotal: 3\nnodeSelector: {matchLabels: "
             "{a: b}}\nprofiles:\n- name: p\n  plugins:\n    balance: {enabled: [{name: "
             "LowNodeLoad}, {name: CustomPriority}]}\n  pluginConfig:\n  - name: LowNodeLoad\n    "
             "args: {lowThresholds: {cpu: 45.5}, highThresholds: {cpu: 75}, nodePools: [{name: x, "
             "nodeSelector: {matchLabels: {p: q}}, highThresholds: {cpu: 60}}]}\n  - name: "
             "CustomPriority\n    args: {evictionOrder: [{name: a, nodeSelector: {}}, {name: b, "
             "nodeSelector: {matchLabels: {k: v}}}]}\n");
    CLEANUP(strbuf_fini) struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;

    (void)state;
    desched_config_write(c->value, &once);
    CLEANUP(config_unref) struct config *again = fixture_config(strbuf_str(&once));
    desched_config_write(again->value, &twice);
    assert_string_equal(strbuf_str(&once), strbuf_str(&twice));
    /* A detector must outlive the time between two rounds. */
    assert_non_null(strstr(strbuf_str(&once), "\"detectorCacheTimeout\":\"7m0s\""));
    /* What a pool does not say is the top level's. */
    assert_non_null(strstr(strbuf_str(&once), "\"lowThresholds\":{\"cpu\":45.5}"));
}

/* ---- refused ---------------------------------------------------------------------------------- */

static void refuse(const char *yaml, const char *want)
{
    struct config *c = NULL;
    struct kerr err = { 0 };

    if (config_parse(&desched_config_spec, yaml, strlen(yaml), "f", &c, &err) == 0)
        fail_msg("accepted: %s", yaml);
    if (!strstr(err.text, want))
        fail_msg("%s: \"%s\" does not contain \"%s\"", yaml, err.text, want);
}

static void refuse_args(const char *plugin, const char *args, const char *want)
{
    CLEANUP(mem_free)
    char *yaml = xasprintf(PROFILE("  pluginConfig:\n  - name: %s\n    args: %s\n"), plugin, args);

    refuse(yaml, want);
    refuse(yaml, "profiles[0].pluginConfig[0].args");
}

static void test_refused(void **state)
{
    (void)state;
    refuse(HEAD "unknown: 1\n", "unknown");
    refuse(HEAD "deschedulingInterval: -1s\n", "deschedulingInterval");
    refuse(HEAD "maxNoOfPodsToEvictPerNode: -1\n", "maxNoOfPodsToEvictPerNode");
    refuse(HEAD "healthzBindAddress: 'x:y'\n", "healthzBindAddress");
    refuse(HEAD "nodeSelector: {matchExpressions: [{key: a, operator: Is}]}\n", "nodeSelector");
    refuse(HEAD "profiles: [{name: a}, {name: a}]\n", "profiles[1].name: Duplicate value");
    refuse(HEAD "profiles: [{}]\n", "profiles[0].name: Required value");
    refuse("apiVersion: descheduler/v1alpha1\nkind: DeschedulerConfiguration\n", "apiVersion");
    refuse(PROFILE("  plugins: {balance: {enabled: [{name: Nope}]}}\n"),
           "profiles[0].plugins.balance: BalancePlugin \"Nope\" does not exist");
    refuse(PROFILE("  plugins: {balance: {enabled: [{name: DefaultEvictor}]}}\n"),
           "plugin \"DefaultEvictor\" does not extend BalancePlugin plugin");
    refuse(PROFILE("  plugins: {balance: {enabled: [{name: LowNodeLoad}, {name: LowNodeLoad}]}}\n"),
           "already registered");
    refuse(PROFILE("  plugins: {evict: {disabled: [{name: '*'}]}}\n"),
           "no evict plugin is enabled");
    refuse(PROFILE("  plugins: {evict: {enabled: [{name: DefaultEvictor}]}}\n"),
           "only one evict plugin can be enabled");
    refuse(PROFILE("  pluginConfig: [{name: LowNodeLoad}, {name: LowNodeLoad}]\n"),
           "pluginConfig[1]: Duplicate value");
    refuse(PROFILE("  pluginConfig: [{name: Nope}]\n"), "does not exist");
}

static void test_refused_args(void **state)
{
    (void)state;
    refuse_args("LowNodeLoad", "{unknown: 1}", "unknown");
    refuse_args("LowNodeLoad", "{kind: OtherArgs}", "LowNodeLoadArgs");
    refuse_args("LowNodeLoad", "{lowThresholds: {cpu: -1}}", "lowThresholds[cpu]");
    refuse_args("LowNodeLoad", "{highThresholds: {cpu: 101}}", "highThresholds[cpu]");
    refuse_args("LowNodeLoad", "{lowThresholds: {cpu: 60}, highThresholds: {cpu: 50}}",
                "lowThresholds[cpu]");
    refuse_args("LowNodeLoad",
                "{nodePools: [{prodHighThresholds: {cpu: 60}, highThresholds: {cpu: "
                "50}}]}",
                "nodePools[0].prodHighThresholds[cpu]");
    refuse_args("LowNodeLoad", "{evictableNamespaces: {include: [a], exclude: [b]}}",
                "evictableNamespaces");
    refuse_args("LowNodeLoad",
                "{podSelectors: [{selector: {matchExpressions: [{key: a, operator: "
                "In}]}}]}",
                "podSelectors[0].selector");
    refuse_args("LowNodeLoad", "{numberOfNodes: -1}", "numberOfNodes");
    refuse_args("CustomPriority", "{evictionOrder: [{name: a, nodeSelector: {}}]}",
                "evictionOrder");
    refuse_args("CustomPriority", "{evictionOrder: [{name: a, nodeSelector: {}}, {name: b}]}",
                "evictionOrder[1].nodeSelector: Required value");
    refuse_args("FragmentationAware", "{resources: [cpu, cpu]}", "resources[1]");
    refuse_args("FragmentationAware", "{imbalanceThreshold: -0.1}", "imbalanceThreshold");
    refuse_args("ScaleDownBinPack", "{strategy: EvictDirectly}", "maxPodsToEvict");
    refuse_args("ScaleDownBinPack", "{resourceWeights: {cpu: 0}}", "resourceWeights[cpu]");
    refuse_args("DefaultEvictor", "{priorityThreshold: {value: 1, name: x}}", "priorityThreshold");
    refuse_args("DefaultEvictor", "{podProtections: {extraEnabled: [Nope]}}",
                "podProtections.extraEnabled[0]");
    refuse_args("DefaultEvictor",
                "{ignorePvcPods: true, podProtections: {defaultDisabled: [DaemonSetPods]}}",
                "podProtections");
    refuse_args("DefaultEvictor",
                "{podProtections: {extraEnabled: [PodsWithPVC], config: {PodsWithPVC: "
                "{protectedStorageClasses: [{name: ''}]}}}}",
                "protectedStorageClasses[0].name");
    refuse_args("LowNodeUtilization", "{}", "thresholds");
    refuse_args("LowNodeUtilization", "{thresholds: {cpu: 20}, targetThresholds: {memory: 20}}",
                "targetThresholds[cpu]");
    refuse_args("LowNodeUtilization",
                "{thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, metricsUtilization: {source: "
                "KubernetesMetrics}}",
                "metricsUtilization");
    refuse_args("PodLifeTime", "{}", "maxPodLifeTimeSeconds");
    refuse_args("PodLifeTime", "{states: [Running, Sleeping]}", "states[1]");
    refuse_args("PodLifeTime", "{conditions: [{}]}", "conditions[0]");
    refuse_args("RemovePodsHavingTooManyRestarts", "{}", "podRestartThreshold");
    refuse_args("RemovePodsViolatingNodeAffinity", "{}", "nodeAffinityType");
}

/* Upstream crashes; here it is a minute. */
static void test_missing_anomaly_timeout(void **state)
{
    CLEANUP(config_unref)
    struct config *c =
        fixture_config(PROFILE("  plugins: {balance: {enabled: [{name: LowNodeLoad}]}}\n"
                               "  pluginConfig:\n  - name: LowNodeLoad\n    args: "
                               "{anomalyCondition: {consecutiveAbnormalities: 2}}\n"));
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)state;
    desched_config_write(c->value, &text);
    assert_non_null(strstr(strbuf_str(&text), "\"timeout\":\"1m0s\",\"consecutiveAbnormalities\":2,"
                                              "\"consecutiveNormalities\":3"));
}

static void test_default_configuration_evicts_nothing(void **state)
{
    struct fixture f;
    struct rounds r;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "n1" });
    add_node(&f, (struct node_text){ "n2" });
    add_pod(&f, (struct pod_text){ "p", "n1", .phase = "Failed" });
    rounds_init(&r, &f,
                PROFILE("  plugins: {evict: {disabled: [{name: '*'}], enabled: [{name: "
                        "DefaultEvictor}]}, filter: {disabled: [{name: '*'}]}}\n"));
    assert_string_equal(rounds_run(&r), "");
    rounds_fini(&r);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_merged_sets),
        cmocka_unit_test(test_written_reads_the_same),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_args),
        cmocka_unit_test(test_missing_anomaly_timeout),
        cmocka_unit_test(test_default_configuration_evicts_nothing),
    };
    return cmocka_run_group_tests_name("descheduler_config", tests, NULL, NULL);
}
