/* test_manager_webhook.c - webhooks of nodes and of the ConfigMap, the table, the metrics. */
#include "api/protocol/keys.h"
#include "base/test/asserts.h"
#include "fixture_webhook.h"

/* ---- the table ------------------------------------------------------------------------------- */

static void test_paths_are_found_and_gates_decide(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "NodeMutatingWebhook");
    for (int i = 0; i < WEBHOOK_COUNT; i++)
        assert_int_equal(webhook_find(webhook_infos[i].path, strlen(webhook_infos[i].path)), i);
    assert_int_equal(webhook_find("/mutate-po", 10), -1);
    assert_true(webhook_active(x.w, WEBHOOK_MUTATE_NODE_STATUS));
    assert_false(webhook_active(x.w, WEBHOOK_VALIDATE_NODE)); /* its gate is off by default */
    assert_true(webhook_active(x.w, WEBHOOK_MUTATE_QUOTA));   /* its gate is on */
    assert_int_equal(webhook_op_parse("CONNECT"), WEBHOOK_CONNECT);
    assert_int_equal(webhook_op_parse("create"), 0);
}

static void test_a_webhook_that_is_off_allows(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "");
    webhook_fixture_send(&x, WEBHOOK_VALIDATE_CONFIGMAP, WEBHOOK_CREATE,
                         "{metadata: {namespace: koordinator-system, name: slo-controller-config},"
                         " data: {colocation-config: '{'}}",
                         NULL);
    assert_true(x.answer.allowed);
}

/* ---- node status (8.2) ----------------------------------------------------------------------- */

#define STATUS(annotations, cpu)                                                                   \
    "{metadata: {name: n1, annotations: {" annotations "}}, status: {allocatable: {cpu: " cpu "}}" \
    "}"
#define RATIO(text) "node.koordinator.sh/resource-amplification-ratio: '" text "'"
#define RAW(text)   "node.koordinator.sh/raw-allocatable: '" text "'"

static void send_status(struct webhook_fixture *x, const char *node, const char *old)
{
    webhook_fixture_send(x, WEBHOOK_MUTATE_NODE_STATUS, WEBHOOK_UPDATE, node, old);
}

static void test_status_is_amplified(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "NodeMutatingWebhook");
    send_status(&x, STATUS(RATIO("{\"cpu\":1.5}"), "'1'"), STATUS("", "'1'"));
    assert_string_equal(webhook_fixture_text(&x, "status.allocatable.cpu"), "1500m");
    assert_string_equal(webhook_fixture_meta(&x, "annotations", ANNO_RAW_ALLOCATABLE),
                        "{\"cpu\":\"1\"}");
    /* A kubelet that looked again: 4 became 5. */
    send_status(&x, STATUS(RATIO("{\"cpu\":2}") "," RAW("{\"cpu\":\"4\"}"), "'5'"),
                STATUS(RATIO("{\"cpu\":2}") "," RAW("{\"cpu\":\"4\"}"), "'4'"));
    assert_string_equal(webhook_fixture_text(&x, "status.allocatable.cpu"), "10");
    assert_string_equal(webhook_fixture_meta(&x, "annotations", ANNO_RAW_ALLOCATABLE),
                        "{\"cpu\":\"5\"}");
    /* Allocatable as stored: the annotation tells what the node has. */
    send_status(&x, STATUS(RATIO("{\"cpu\":2}") "," RAW("{\"cpu\":\"1\"}"), "'1'"),
                STATUS(RATIO("{\"cpu\":2}") "," RAW("{\"cpu\":\"1\"}"), "'1'"));
    assert_string_equal(webhook_fixture_text(&x, "status.allocatable.cpu"), "2");
}

static void test_small_ratios_and_none(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "NodeMutatingWebhook");
    send_status(&x, STATUS(RATIO("{\"cpu\":0.5}"), "'1'"), STATUS("", "'1'"));
    assert_string_equal(webhook_fixture_text(&x, "status.allocatable.cpu"), "1");
    assert_string_equal(webhook_fixture_meta(&x, "annotations", ANNO_RAW_ALLOCATABLE),
                        "{\"cpu\":\"1\"}");
    send_status(&x, STATUS(RAW("{\"cpu\":\"1\"}"), "'2'"), STATUS("", "'2'"));
    assert_null(webhook_fixture_meta(&x, "annotations", ANNO_RAW_ALLOCATABLE));
    assert_string_equal(webhook_fixture_text(&x, "status.allocatable.cpu"), "2");
    webhook_fixture_send(&x, WEBHOOK_MUTATE_NODE_STATUS, WEBHOOK_CREATE,
                         STATUS(RATIO("{\"cpu\":2}"), "'1'"), NULL);
    assert_false(x.answer.changed);
}

static void test_an_unreadable_ratio_refuses_the_status(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "NodeMutatingWebhook");
    send_status(&x, STATUS(RATIO("x"), "'1'"), STATUS("", "'1'"));
    assert_false(x.answer.allowed);
    assert_int_equal(x.answer.code, 500);
    send_status(&x, "{metadata: {name: n1}, status: {allocatable: {cpu: many}}}", NULL);
    assert_int_equal(x.answer.code, 400);
}

/* ---- the ConfigMap and node labels (8.3, 8.4) ------------------------------------------------ */

#define CONFIG(key, text)                                                                  \
    "{metadata: {namespace: koordinator-system, name: slo-controller-config}, data: {" key \
    ": '" text "'}}"
#define TWO_ENTRIES                                                          \
    "{\"enable\":true,\"nodeConfigs\":["                                     \
    "{\"name\":\"a\",\"nodeSelector\":{\"matchLabels\":{\"xxx\":\"xxx\"}}}," \
    "{\"name\":\"b\",\"nodeSelector\":{\"matchLabels\":{\"yyy\":\"yyy\"}}}]}"

static void send_config(struct webhook_fixture *x, const char *map, const char *old)
{
    webhook_fixture_send(x, WEBHOOK_VALIDATE_CONFIGMAP, old ? WEBHOOK_UPDATE : WEBHOOK_CREATE, map,
                         old);
}

static void test_a_bad_configuration_is_refused(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "ConfigMapValidatingWebhook");
    send_config(&x, CONFIG("colocation-config", "{\"resourceDiffThreshold\":1.5}"), NULL);
    assert_false(x.answer.allowed);
    assert_int_equal(x.answer.code, 400);
    assert_contains(x.answer.message, "ConfigParamInvalid");
    send_config(&x, CONFIG("colocation-config", "null"), NULL);
    assert_contains(x.answer.message, "colocation-config");
    /* It was bad before: other keys may be edited. */
    send_config(&x, CONFIG("colocation-config", "{\"resourceDiffThreshold\":1.5}"),
                CONFIG("colocation-config", "{\"resourceDiffThreshold\":1.5}"));
    assert_true(x.answer.allowed);
    send_config(&x, "{metadata: {namespace: default, name: other}, data: {colocation-config: x}}",
                NULL);
    assert_true(x.answer.allowed);
    webhook_fixture_send(&x, WEBHOOK_VALIDATE_CONFIGMAP, WEBHOOK_DELETE, NULL,
                         CONFIG("colocation-config", "{"));
    assert_true(x.answer.allowed);
}

static void test_a_node_under_two_entries(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;
    struct kstrpair pair = { "colocation-config", TWO_ENTRIES };

    (void)state;
    webhook_fixture_init(&x, "ConfigMapValidatingWebhook,NodeValidatingWebhook");
    send_config(&x, CONFIG("colocation-config", TWO_ENTRIES), NULL);
    assert_true(x.answer.allowed);
    x.slo_config = (kstrmap){ &pair, 1 };
    x.has_slo_config = true;
    static const char both[] = "{metadata: {name: n1, labels: {xxx: xxx, yyy: yyy}}}";
    webhook_fixture_send(&x, WEBHOOK_VALIDATE_NODE, WEBHOOK_UPDATE, both,
                         "{metadata: {name: n1, labels: {xxx: xxx}}}");
    assert_false(x.answer.allowed);
    assert_contains(x.answer.message, "ExistNodeConfict");
    webhook_fixture_send(&x, WEBHOOK_VALIDATE_NODE, WEBHOOK_UPDATE, both, both);
    assert_true(x.answer.allowed);
    webhook_fixture_send(&x, WEBHOOK_VALIDATE_NODE, WEBHOOK_CREATE, both, NULL);
    assert_true(x.answer.allowed);
    webhook_fixture_node(&x, "{\"metadata\":{\"name\":\"n1\",\"labels\":{\"xxx\":\"xxx\","
                             "\"yyy\":\"yyy\"}}}");
    send_config(&x, CONFIG("colocation-config", TWO_ENTRIES), NULL);
    assert_contains(x.answer.message, "\"exampleNodes\":[\"n1\"]");
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void test_steps_are_counted(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)state;
    webhook_fixture_init(&x, "ConfigMapValidatingWebhook");
    send_config(&x, CONFIG("colocation-config", "{"), NULL);
    metrics_write((struct metrics *const[]){ x.metrics }, 1, &text);
    assert_contains(strbuf_str(&text),
                    "koord_manager_webhook_webhook_duration_milliseconds_count{"
                    "object_type=\"configmap\",operation=\"CREATE\",plugin_name="
                    "\"SLOControllerConfig\",status=\"rejected\",webhook_type=\"validate\"} 1");
    assert_lacks(strbuf_str(&text), "koord_manager_webhook_errors_total{"); /* the sender's fault */
}

static void test_what_went_wrong_is_told_from_what_is_refused(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)state;
    webhook_fixture_init(&x, "NodeMutatingWebhook");
    send_status(&x, STATUS(RATIO("x"), "'1'"), STATUS("", "'1'"));
    assert_int_equal(x.answer.code, 500);
    send_status(&x, "{metadata: {name: n1}, status: {allocatable: {cpu: many}}}", NULL);
    assert_int_equal(x.answer.code, 400);
    metrics_write((struct metrics *const[]){ x.metrics }, 1, &text);
    assert_contains(strbuf_str(&text),
                    "koord_manager_webhook_errors_total{object_type=\"node\",plugin_name="
                    "\"ResourceAmplification\",webhook_type=\"mutate\"} 1");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_are_found_and_gates_decide),
        cmocka_unit_test(test_a_webhook_that_is_off_allows),
        cmocka_unit_test(test_status_is_amplified),
        cmocka_unit_test(test_small_ratios_and_none),
        cmocka_unit_test(test_an_unreadable_ratio_refuses_the_status),
        cmocka_unit_test(test_a_bad_configuration_is_refused),
        cmocka_unit_test(test_a_node_under_two_entries),
        cmocka_unit_test(test_steps_are_counted),
        cmocka_unit_test(test_what_went_wrong_is_told_from_what_is_refused),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
