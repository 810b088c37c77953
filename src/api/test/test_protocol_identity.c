/* QoS and priority classes, and the pod webhook's checks on them (api 2, 3). */
#include "pairs.h"

#include "api/podresources.h"
#include "api/protocol/pod_protocol.h"
#include "json/kj.h"

static struct pod *pod_from(struct arena *a, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    struct pod *p = NULL;

    assert_int_equal(kj_parse(json, strlen(json), 0, &doc, &err), 0);
    if (pod_decode(kj_root(doc), a, &p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

#define POD(labels, spec, status)                                            \
    "{\"metadata\":{\"name\":\"p\",\"labels\":{" labels "}},\"spec\":{" spec \
    "},\"status\":{" status "}}"
#define QOS(q)   "\"koordinator.sh/qosClass\":\"" q "\""
#define CLASS(c) "\"koordinator.sh/priority-class\":\"" c "\""
#define GUARANTEED                                                                                 \
    "\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}" \
    ","                                                                                            \
    "\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]"
#define BATCH_ONLY                                                  \
    "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{" \
    "\"kubernetes.io/batch-cpu\":\"1k\",\"kubernetes.io/batch-memory\":\"1Gi\"}}}]"

static void test_qos_by_label_then_by_kubernetes(void **state)
{
    static const struct {
        const char *pod;
        enum qos_class raw, with_default;
    } cases[] = {
        { POD(QOS("LSR"), "", ""), QOS_LSR, QOS_LSR },
        { POD(QOS("LSE"), "", ""), QOS_LSE, QOS_LSE },
        { POD(QOS("SYSTEM"), "", ""), QOS_SYSTEM, QOS_SYSTEM },
        { POD(QOS("ls"), GUARANTEED, ""), QOS_NONE, QOS_LSR },
        { POD("", GUARANTEED, ""), QOS_NONE, QOS_LSR },
        { POD("", GUARANTEED, "\"qosClass\":\"Burstable\""), QOS_NONE, QOS_LS },
        { POD("", "", "\"qosClass\":\"BestEffort\""), QOS_NONE, QOS_BE },
        { POD("", "", ""), QOS_NONE, QOS_BE },
        { POD("", BATCH_ONLY, ""), QOS_NONE, QOS_BE }, /* cpu and memory alone count */
    };
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pod *p = pod_from(a, cases[i].pod);
        assert_int_equal(pod_qos_class_raw(p), cases[i].raw);
        assert_int_equal(pod_qos_class(p), cases[i].with_default);
    }
    assert_int_equal(pod_qos_class_raw(NULL), QOS_NONE);
    assert_int_equal(pod_qos_class(NULL), QOS_NONE);
}

static void test_names_read_back(void **state)
{
    (void)state;
    for (unsigned q = 0; q < QOS_COUNT; q++)
        assert_int_equal(qos_class_parse(qos_class_name((enum qos_class)q)), q);
    for (unsigned c = 0; c < PRIO_COUNT; c++)
        assert_int_equal(priority_class_parse(priority_class_name((enum priority_class)c)), c);
    assert_int_equal(qos_class_parse(NULL), QOS_NONE);
    assert_int_equal(qos_class_parse("be"), QOS_NONE);
}

static void test_priority_bands(void **state)
{
    static const struct {
        int32_t value;
        enum priority_class c;
    } cases[] = {
        { 9500, PRIO_PROD },       { 9000, PRIO_PROD },  { 9999, PRIO_PROD }, { 10000, PRIO_NONE },
        { 8999, PRIO_NONE },       { 8500, PRIO_NONE },  { 7000, PRIO_MID },  { 7999, PRIO_MID },
        { 8000, PRIO_NONE },       { 6999, PRIO_NONE },  { 6500, PRIO_NONE }, { 6000, PRIO_NONE },
        { 5999, PRIO_BATCH },      { 5000, PRIO_BATCH }, { 4500, PRIO_NONE }, { 3999, PRIO_FREE },
        { 3000, PRIO_FREE },       { 2999, PRIO_NONE },  { 0, PRIO_NONE },    { -1, PRIO_NONE },
        { 2000000000, PRIO_NONE },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(priority_class_of_value(cases[i].value), cases[i].c);
    assert_int_equal(priority_band(PRIO_PROD)->default_value, 9500);
    assert_int_equal(priority_band(PRIO_MID)->default_value, 7500);
    assert_int_equal(priority_band(PRIO_BATCH)->default_value, 5500);
    assert_int_equal(priority_band(PRIO_FREE)->default_value, 3500);
    assert_null(priority_band(PRIO_NONE));
}

static void test_priority_resolution(void **state)
{
    static const struct {
        const char *pod;
        enum priority_class raw, with_default;
        int32_t value;
    } cases[] = {
        { POD("", "\"priority\":9500", ""), PRIO_PROD, PRIO_PROD, 9500 },
        { POD("", "\"priority\":5999", ""), PRIO_BATCH, PRIO_BATCH, 5999 },
        { POD(QOS("LS"), "\"priority\":6000", ""), PRIO_NONE, PRIO_PROD, 6000 },
        { POD(CLASS("koord-batch"), "\"priority\":9999", ""), PRIO_BATCH, PRIO_BATCH, 9999 },
        { POD(CLASS("foo") "," QOS("LS"), "\"priority\":9999", ""), PRIO_NONE, PRIO_PROD, 9999 },
        { POD(QOS("BE"), "", ""), PRIO_NONE, PRIO_BATCH, 5500 },
        { POD(QOS("LS"), "\"priority\":0", ""), PRIO_NONE, PRIO_PROD, 9500 },
        { POD("", "\"priority\":10", ""), PRIO_NONE, PRIO_BATCH, 10 },
        { POD(CLASS("koord-free"), "", ""), PRIO_FREE, PRIO_FREE, 3500 },
        { POD(QOS("SYSTEM"), "", ""), PRIO_NONE, PRIO_PROD, 9500 },
        { POD(QOS("LSE"), "", ""), PRIO_NONE, PRIO_PROD, 9500 },
        { POD("", "", ""), PRIO_NONE, PRIO_BATCH, 5500 }, /* BestEffort is BE */
    };
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pod *p = pod_from(a, cases[i].pod);
        assert_int_equal(pod_priority_class_raw(p), cases[i].raw);
        assert_int_equal(pod_priority_class(p), cases[i].with_default);
        assert_int_equal(pod_priority_value(p), cases[i].value);
    }
    assert_int_equal(pod_priority_class_raw(NULL), PRIO_NONE);
    assert_int_equal(pod_priority_class(NULL), PRIO_NONE);
    assert_int_equal(pod_priority_value(NULL), 0);
    assert_int_equal(priority_class_with_default(&(struct pod_identity){ 0 }), PRIO_NONE);
}

static void test_sub_priority_takes_go_literals(void **state)
{
    static const struct {
        const char *text;
        int r;
        int32_t v;
    } cases[] = {
        { "", 0, 0 },
        { "9999", 0, 9999 },
        { "-5", 0, -5 },
        { "+5", 0, 5 },
        { "0x1f", 0, 31 },
        { "0X1F", 0, 31 },
        { "017", 0, 15 },
        { "0o17", 0, 15 },
        { "0b101", 0, 5 },
        { "1_000", 0, 1000 },
        { "0x_1f", 0, 31 },
        { "0_7", 0, 7 },
        { "0", 0, 0 },
        { "-0", 0, 0 },
        { "2147483647", 0, INT32_MAX },
        { "-2147483648", 0, INT32_MIN },
        { "2147483648", -ERANGE, 0 },
        { "99999999999999999999", -ERANGE, 0 },
        { "08", -EINVAL, 0 },
        { "x", -EINVAL, 0 },
        { "1_", -EINVAL, 0 },
        { "_1", -EINVAL, 0 },
        { "1__0", -EINVAL, 0 },
        { "0x", -EINVAL, 0 },
        { " 1", -EINVAL, 0 },
        { "1.0", -EINVAL, 0 },
        { "-", -EINVAL, 0 },
    };
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        kstrmap labels = pairs(a, LABEL_PRIORITY, cases[i].text, NULL);
        struct kerr err = { 0 };
        int32_t v = 0;

        if (sub_priority(&labels, &v, &err) != cases[i].r || v != cases[i].v)
            fail_msg("\"%s\": %d %s", cases[i].text, v, err.text);
        assert_int_equal(err.text[0] != '\0', cases[i].r < 0);
    }
    kstrmap labels = pairs(a, LABEL_PRIORITY, "0x10", NULL);
    assert_int_equal(sub_priority_decimal(&labels, 7), 7);
    labels = pairs(a, LABEL_PRIORITY, "10", NULL);
    assert_int_equal(sub_priority_decimal(&labels, 7), 10);
    assert_int_equal(sub_priority_decimal(&NO_PAIRS, 7), 7);
}

static void test_combination_of_qos_and_priority(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    /* rows: QoS; columns: none, prod, mid, batch, free */
    static const bool legal[QOS_COUNT][PRIO_COUNT] = {
        [QOS_NONE] = { 1, 1, 1, 1, 1 }, [QOS_LSE] = { 1, 1, 1, 1, 1 },
        [QOS_LSR] = { 0, 1, 0, 0, 0 },  [QOS_LS] = { 1, 1, 1, 1, 1 },
        [QOS_BE] = { 0, 0, 1, 1, 1 },   [QOS_SYSTEM] = { 1, 1, 1, 1, 1 },
    };
    for (unsigned q = 0; q < QOS_COUNT; q++)
        for (unsigned c = 0; c < PRIO_COUNT; c++)
            assert_int_equal(qos_priority_legal((enum qos_class)q, (enum priority_class)c),
                             legal[q][c]);
    assert_int_equal(identity_check_combination(QOS_BE, PRIO_MID, &err), 0);
    assert_int_equal(identity_check_combination(QOS_BE, PRIO_PROD, &err), -EINVAL);
    assert_string_equal(err.text, "Pod: Forbidden: koordinator.sh/qosClass=BE and "
                                  "priorityClass=koord-prod cannot be used in combination");
    assert_int_equal(identity_check_combination(QOS_LSR, PRIO_NONE, &err), -EINVAL);
    assert_string_equal(err.text, "Pod: Forbidden: koordinator.sh/qosClass=LSR and "
                                  "priorityClass= cannot be used in combination");
}

static reslist one(struct arena *a, const char *name, const char *quantity)
{
    reslist none = { 0 };
    struct qty q;

    assert_int_equal(qty_parse(quantity, strlen(quantity), &q, NULL), 0);
    return reslist_with(&none, name, q, a);
}

static void test_colocation_resources_need_be(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist batch = one(a, RES_BATCH_CPU, "500"), zero = one(a, RES_BATCH_MEMORY, "0");
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(identity_check_colocation(QOS_BE, &batch, &err), 0);
    assert_int_equal(identity_check_colocation(QOS_NONE, &zero, &err), 0);
    assert_int_equal(identity_check_colocation(QOS_LS, &batch, &err), -EINVAL);
    assert_string_equal(err.text,
                        "labels.koordinator.sh/qosClass: Required value: must specify koordinator "
                        "QoS BE with koordinator colocation resources");
}

static void test_bound_pods_need_whole_cpus(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist none = { 0 }, two = one(a, RES_CPU, "2"), half = one(a, RES_CPU, "1500m");
    reslist exact = one(a, RES_CPU, "2000m");
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(identity_check_whole_cpus(QOS_LS, &half, &err), 0);
    assert_int_equal(identity_check_whole_cpus(QOS_LSR, &two, &err), 0);
    assert_int_equal(identity_check_whole_cpus(QOS_LSE, &exact, &err), 0);
    assert_int_equal(identity_check_whole_cpus(QOS_LSE, &none, &err), -EINVAL);
    assert_string_equal(err.text, "pod.spec.containers[*].resources.requests: Required value: "
                                  "LSR Pod must declare the requested CPUs");
    assert_int_equal(identity_check_whole_cpus(QOS_LSR, &half, &err), -EINVAL);
    assert_string_equal(err.text,
                        "pod.spec.containers[*].resources.requests: Invalid value: \"1500m\": "
                        "the requested CPUs of LSR Pod must be integer");
}

static void test_identity_does_not_change(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap ls = pairs(a, LABEL_QOS_CLASS, "LS", LABEL_PRIORITY, "8888", NULL);
    kstrmap be = pairs(a, LABEL_QOS_CLASS, "BE", NULL);
    struct pod_identity old_id = { .labels = &be, .priority = { true, 5000 } };
    struct pod_identity new_id = { .labels = &ls, .priority = { true, 9000 } };
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(identity_check_immutable(IDENTITY_QOS, &old_id, &old_id, &err), 0);
    assert_int_equal(identity_check_immutable(IDENTITY_QOS, &old_id, &new_id, &err), -EINVAL);
    assert_string_equal(err.text, "labels.koordinator.sh/qosClass: Invalid value: \"LS\": "
                                  "field is immutable");
    assert_int_equal(identity_check_immutable(IDENTITY_PRIORITY, &old_id, &new_id, &err), -EINVAL);
    assert_string_equal(err.text,
                        "spec.priority: Invalid value: \"koord-prod\": field is immutable");
    assert_int_equal(identity_check_immutable(IDENTITY_SUB_PRIORITY, &old_id, &new_id, &err),
                     -EINVAL);
    assert_string_equal(err.text, "labels.koordinator.sh/priority: Invalid value: \"8888\": "
                                  "field is immutable");
    old_id.priority.v = 5999; /* another value of the same class */
    struct pod_identity same = { .labels = &be, .priority = { true, 5000 } };
    assert_int_equal(identity_check_immutable(IDENTITY_PRIORITY, &old_id, &same, &err), 0);
}

static void test_reserve_pod_is_not_for_users(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kstrmap m = pairs(a, ANNO_RESERVE_POD, "false", NULL);
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(identity_check_user_annotations(&NO_PAIRS, &err), 0);
    assert_int_equal(identity_check_user_annotations(&m, &err), -EINVAL);
    assert_string_equal(err.text, "annotations.scheduling.koordinator.sh/reserve-pod: Forbidden: "
                                  "cannot set in annotations");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qos_by_label_then_by_kubernetes),
        cmocka_unit_test(test_names_read_back),
        cmocka_unit_test(test_priority_bands),
        cmocka_unit_test(test_priority_resolution),
        cmocka_unit_test(test_sub_priority_takes_go_literals),
        cmocka_unit_test(test_combination_of_qos_and_priority),
        cmocka_unit_test(test_colocation_resources_need_be),
        cmocka_unit_test(test_bound_pods_need_whole_cpus),
        cmocka_unit_test(test_identity_does_not_change),
        cmocka_unit_test(test_reserve_pod_is_not_for_users),
    };
    RUN_TESTS(tests);
}
