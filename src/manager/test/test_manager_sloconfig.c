/* test_manager_sloconfig.c - the live configuration, and what follows for one node (manager 2, 3).
 */
#include "base/test/asserts.h"
#include "fixture.h"
#include "manager/nodemetric/policy.h"
#include "manager/sloconfig/validate.h"

#define PLAIN_NODE "{\"metadata\":{\"name\":\"n\"}}"

static int64_t cpu_percent(struct fixture *f, const char *node)
{
    fixture_node(f, node);
    return fixture_strategy(f)->cpu_reclaim_threshold_percent.v;
}

/* ---- taking over ----------------------------------------------------------------------------- */

static void test_nothing_is_available_before_the_first_good_config(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    assert_false(sloconfig_available(f.config));
    struct slo_sync s = fixture_config(&f, SLO_COLOCATION, "{bad");
    assert_that(s.bad[SLO_COLOCATION].code, <, 0);
    assert_int_equal(s.changed & 1 << SLO_COLOCATION, 0);
    assert_false(sloconfig_available(f.config));
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":true}");
    assert_true(sloconfig_available(f.config));
}

static void test_an_absent_configmap_is_the_default_and_an_error(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    struct slo_sync s;

    (void)state;
    fixture_init(&f);
    sloconfig_sync(f.config, NULL, &s);
    assert_true(sloconfig_available(f.config));
    assert_true(sloconfig_in_error(f.config, SLO_COLOCATION));
    assert_int_equal(cpu_percent(&f, PLAIN_NODE), 60);
    fixture_config(&f, SLO_COLOCATION, "");
    assert_false(sloconfig_in_error(f.config, SLO_COLOCATION));
}

static void test_a_bad_key_keeps_its_last_good_value(void **state)
{
    static const char *const bad[] = { "{",
                                       "[]",
                                       "\"x\"",
                                       "null",
                                       "{\"enable\":\"yes\"}",
                                       "{\"cpuReclaimThresholdPercent\":-1}",
                                       "{\"degradeTimeMinutes\":0}",
                                       "{\"midCPUThresholdPercent\":101}",
                                       "{\"resourceDiffThreshold\":0}",
                                       "{\"metricMemoryCollectPolicy\":\"\"}" };
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":true,\"cpuReclaimThresholdPercent\":71}");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct slo_sync s = fixture_config(&f, SLO_COLOCATION, bad[i]);
        assert_that(s.bad[SLO_COLOCATION].code, <, 0);
        assert_string_not_equal(s.bad[SLO_COLOCATION].text, "");
        assert_true(sloconfig_in_error(f.config, SLO_COLOCATION));
        assert_int_equal(s.changed, 0);
        assert_int_equal(cpu_percent(&f, PLAIN_NODE), 71);
    }
}

static void test_only_a_difference_counts_as_change(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(fixture_config(&f, SLO_COLOCATION, "{\"enable\":true}").changed,
                     1 << SLO_COLOCATION);
    assert_int_equal(fixture_config(&f, SLO_COLOCATION, "{ \"enable\" : true }").changed, 0);
    assert_int_equal(fixture_config(&f, SLO_COLOCATION,
                                    "{\"enable\":true,\"nodeConfigs\":[{\"nodeSelector\":{}}]}")
                         .changed,
                     1 << SLO_COLOCATION);
}

/* ---- one node -------------------------------------------------------------------------------- */

#define NODE(labels, annotations) \
    "{\"metadata\":{\"name\":\"n\",\"labels\":{" labels "},\"annotations\":{" annotations "}}}"
#define RATIO(text) "\"" LABEL_CPU_RECLAIM_RATIO "\":\"" text "\""

static void test_label_beats_annotation_beats_config(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, "{\"cpuReclaimThresholdPercent\":65}");
    assert_int_equal(cpu_percent(&f, NODE(RATIO("0.7"), "")), 70);
    assert_int_equal(cpu_percent(&f, NODE(RATIO("-0.7"), "")), 65);
    assert_int_equal(cpu_percent(&f, NODE(RATIO("abc"), "")), 65);
    assert_int_equal(cpu_percent(&f, NODE(RATIO("0.29"), "")), 28);
#define STRATEGY "\"" ANNO_COLOCATION_STRATEGY "\":\"{\\\"cpuReclaimThresholdPercent\\\":70}\""
    assert_int_equal(cpu_percent(&f, NODE("", STRATEGY)), 70);
    assert_int_equal(cpu_percent(&f, NODE(RATIO("0.8"), STRATEGY)), 80);
    assert_int_equal(cpu_percent(&f, NODE("", "\"" ANNO_COLOCATION_STRATEGY "\":\"{bad\"")), 65);
}

#define TWO_ENTRIES                                                                         \
    "{\"enable\":true,\"nodeConfigs\":["                                                    \
    "{\"nodeSelector\":{\"matchLabels\":{\"a\":\"1\"}},\"cpuReclaimThresholdPercent\":50}," \
    "{\"nodeSelector\":{\"matchLabels\":{\"b\":\"1\"}},\"cpuReclaimThresholdPercent\":90}]}"

static void test_the_first_matching_entry_decides(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, TWO_ENTRIES);
    assert_int_equal(cpu_percent(&f, NODE("\"a\":\"1\",\"b\":\"1\"", "")), 50);
    assert_int_equal(cpu_percent(&f, NODE("\"b\":\"1\"", "")), 90);
    assert_int_equal(cpu_percent(&f, NODE("", "")), 60);
}

static void test_an_invalid_entry_counts_as_the_cluster_strategy(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION,
                   "{\"cpuReclaimThresholdPercent\":65,\"nodeConfigs\":[{\"nodeSelector\":{},"
                   "\"cpuReclaimThresholdPercent\":50,\"degradeTimeMinutes\":0}]}");
    assert_int_equal(cpu_percent(&f, PLAIN_NODE), 65);
    const struct slo_section *s = sloconfig_get(f.config, SLO_COLOCATION);
    assert_contains(s->nodes.items[0].problem, "degradeTimeMinutes");
}

/* ---- NodeMetric ------------------------------------------------------------------------------ */

static void assert_policy(struct fixture *f, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct metric_collect_policy p;
    struct kerr why;

    fixture_node(f, PLAIN_NODE);
    nodemetric_policy(sloconfig_get(f->config, SLO_COLOCATION), &f->in.node->obj.meta.labels,
                      &f->in.node->obj.meta.annotations, f->arena, &p, &why);
    kj_encode(&metric_collect_policy_schema, &p, &out);
    assert_string_equal(strbuf_str(&out), expected);
}

#define POLICY(window, interval)                                                   \
    "{\"aggregateDurationSeconds\":" window ",\"reportIntervalSeconds\":" interval \
    ",\"nodeAggregatePolicy\":{\"durations\":[\"5m0s\",\"10m0s\",\"30m0s\"]},"     \
    "\"nodeMemoryCollectPolicy\":\"usageWithoutPageCache\"}"

static void test_reports_go_on_where_colocation_is_off(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":false,\"metricReportIntervalSeconds\":20}");
    assert_policy(&f, POLICY("300", "60"));
    fixture_config(&f, SLO_COLOCATION, "{\"enable\":true,\"metricReportIntervalSeconds\":20}");
    assert_policy(&f, POLICY("300", "20"));
    /* New nodes get the last good configuration. */
    fixture_config(&f, SLO_COLOCATION, "{bad");
    assert_policy(&f, POLICY("300", "20"));
}

/* ---- node labels (manager 8.3) --------------------------------------------------------------- */

static void test_a_node_may_not_come_under_two_entries(void **state)
{
    struct kstrpair pair = { "colocation-config", TWO_ENTRIES },
                    both[] = { { "a", "1" }, { "b", "1" } };
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap data = { &pair, 1 }, labels = { both, 2 }, one = { both, 1 };

    (void)state;
    assert_null(sloconfig_validate_node(&data, &(struct slo_node){ "n", &one }, a));
    assert_string_equal(sloconfig_validate_node(&data, &(struct slo_node){ "n", &labels }, a),
                        "___{\"reason\":\"ExistNodeConfict\",\"message\":{\"config\":"
                        "\"colocation-config\",\"strategies\":[\"\",\"\"],\"exampleNodes\":"
                        "[\"n\"]}}___");
}

static void test_names_are_required_and_unique_on_request(void **state)
{
    struct kstrpair pair = { "colocation-config", TWO_ENTRIES };
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap data = { &pair, 1 };
    struct slo_change c = { .ns = "ns", .name = "cm", .data = &data, .names_required = true };

    (void)state;
    assert_string_equal(sloconfig_validate(&c, a),
                        "___{\"reason\":\"ConfigParamInvalid\",\"message\":"
                        "\"nodeConfig Name need! configType:colocation-config\"}___");
    pair.value = "{\"nodeConfigs\":[{\"name\":\"x\",\"nodeSelector\":{\"matchLabels\":{\"a\":\"1\"}"
                 "}},{\"name\":\"x\",\"nodeSelector\":{\"matchLabels\":{\"a\":\"2\"}}}]}";
    assert_string_equal(sloconfig_validate(&c, a),
                        "___{\"reason\":\"ConfigParamInvalid\",\"message\":\"nodeConfig Name "
                        "confilict, configType:colocation-config,nodeConfig Name:x! \"}___");
    c.names_required = false;
    assert_null(sloconfig_validate(&c, a));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_available_before_the_first_good_config),
        cmocka_unit_test(test_an_absent_configmap_is_the_default_and_an_error),
        cmocka_unit_test(test_a_bad_key_keeps_its_last_good_value),
        cmocka_unit_test(test_only_a_difference_counts_as_change),
        cmocka_unit_test(test_label_beats_annotation_beats_config),
        cmocka_unit_test(test_the_first_matching_entry_decides),
        cmocka_unit_test(test_an_invalid_entry_counts_as_the_cluster_strategy),
        cmocka_unit_test(test_reports_go_on_where_colocation_is_off),
        cmocka_unit_test(test_a_node_may_not_come_under_two_entries),
        cmocka_unit_test(test_names_are_required_and_unique_on_request),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
