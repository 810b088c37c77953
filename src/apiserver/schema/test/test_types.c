/* test_types.c - field tables: strict validation, canonical form, defaults, merging, OpenAPI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "apiserver/kinds/kinds.h"
#include "apiserver/schema/types.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"

static struct kj_doc *parse(const char *json)
{
    struct kj_doc *doc = NULL;
    assert_int_equal(kj_parse(json, strlen(json), KJ_RAW_NUMBERS, &doc, NULL), 0);
    return doc;
}

static void collect(void *arg, const char *text)
{
    struct strbuf *b = arg;
    strbuf_appendf(b, "%s%s", b->len ? ", " : "", text);
}

static void expect_problems(const char *kind, const char *json, const char *want)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse(json);
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT;
    const struct t_type *t = types_find("", "v1", kind);

    assert_int_equal(types_check(t, kj_root(doc), collect, &got, NULL), 0);
    assert_string_equal(strbuf_str(&got), want);
}

static void expect_error(const char *group, const char *kind, const char *json, const char *want)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse(json);
    struct kerr err = { 0 };
    const struct t_type *t = types_find(group, "v1", kind);

    assert_int_equal(types_check(t, kj_root(doc), NULL, NULL, &err), -EINVAL);
    assert_int_equal(err.reason, KR_BAD_REQUEST);
    assert_string_equal(err.text, want);
}

static void test_unknown_and_duplicate_fields_are_named_by_path(void **state)
{
    (void)state;
    expect_problems("Pod",
                    "{\"metadata\":{\"name\":\"a\",\"name\":\"b\",\"foo\":1},\"x\":{\"y\":1}}",
                    "duplicate field \"metadata.name\", unknown field \"metadata.foo\", unknown "
                    "field \"x\"");
    expect_problems("Pod",
                    "{\"spec\":{\"containers\":[{\"zz\":1,\"env\":[{\"q\":1}],\"resources\":"
                    "{\"limits\":{\"cpu\":1,\"cpu\":2}}}],\"bar\":1}}",
                    "unknown field \"spec.containers[0].zz\", unknown field "
                    "\"spec.containers[0].env[0].q\", duplicate field "
                    "\"spec.containers[0].resources.limits.cpu\", unknown field \"spec.bar\"");
    /* Names are told apart by case, and one text is told once. */
    expect_problems("Pod", "{\"Spec\":{},\"Spec\":{}}", "unknown field \"Spec\"");
    expect_problems("Pod", "{\"metadata\":{\"labels\":{\"a\":\"b\",\"a\":\"c\"}}}",
                    "duplicate field \"metadata.labels.a\"");
}

static void test_many_problems_are_cut(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT, got = STRBUF_INIT;
    (void)state;
    strbuf_append(&json, "{\"spec\":{");
    for (int i = 0; i < 1000; i++)
        strbuf_appendf(&json, "%s\"f%d\":1", i ? "," : "", i);
    strbuf_append(&json, "}}");
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse(strbuf_str(&json));
    assert_int_equal(types_check(types_find("", "v1", "Pod"), kj_root(doc), collect, &got, NULL),
                     0);
    assert_contains(strbuf_str(&got), "\"spec.f99\"");
    assert_lacks(strbuf_str(&got), "\"spec.f100\"");
}

static void test_patched_objects_are_restored_in_other_words(void **state)
{
    static const char *const cases[][2] = {
        { "{\"metadata\":{\"labels\":\"x\"}}", "cannot restore map from string" },
        { "{\"metadata\":{\"labels\":{\"a\":5}}}", "cannot convert int64 to string" },
        { "{\"metadata\":{\"finalizers\":{}}}", "cannot restore slice from map" },
        { "{\"spec\":{\"containers\":7}}", "cannot restore slice from int64" },
        { "{\"spec\":[]}", "cannot restore struct from: slice" },
        { "{\"spec\":{\"hostNetwork\":\"x\"}}", "unrecognized type: bool" },
        { "{\"spec\":{\"nodeName\":{}}}", "unrecognized type: string" },
        { "{\"spec\":{\"terminationGracePeriodSeconds\":true}}", "unrecognized type: int64" },
        { "{\"spec\":{\"terminationGracePeriodSeconds\":1.5}}", "cannot convert float64 to int64" },
        { "{\"spec\":{\"restartPolicy\":5}}", "cannot convert int64 to v1.RestartPolicy" },
        { "{\"metadata\":{\"creationTimestamp\":5}}",
          "json: cannot unmarshal number into Go value of type string" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = parse(cases[i][0]);
        struct kerr err = { 0 };
        assert_int_equal(
            types_check_restored(types_find("", "v1", "Pod"), kj_root(doc), NULL, NULL, &err),
            -EINVAL);
        assert_string_equal(err.text, cases[i][1]);
    }
}

static void test_type_errors_read_as_go_words_them(void **state)
{
    static const char *const cases[][2] = {
        { "{\"metadata\":{\"name\":5}}",
          "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type "
          "string" },
        { "{\"spec\":{\"terminationGracePeriodSeconds\":\"x\"}}",
          "json: cannot unmarshal string into Go struct field "
          "PodSpec.spec.terminationGracePeriodSeconds of type int64" },
        { "{\"metadata\":{\"labels\":{\"a\":5}}}",
          "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type "
          "string" },
        { "{\"metadata\":{\"labels\":[\"a\"]}}",
          "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type "
          "map[string]string" },
        { "{\"spec\":{\"containers\":{}}}",
          "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type "
          "[]v1.Container" },
        { "{\"spec\":{\"containers\":[\"x\"]}}",
          "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type "
          "v1.Container" },
        { "{\"spec\":{\"containers\":[{\"ports\":[{\"containerPort\":80.5}]}]}}",
          "json: cannot unmarshal number 80.5 into Go struct field "
          "ContainerPort.spec.containers.ports.containerPort of type int32" },
        { "{\"spec\":{\"containers\":[{\"ports\":[{\"containerPort\":8099999999}]}]}}",
          "json: cannot unmarshal number 8099999999 into Go struct field "
          "ContainerPort.spec.containers.ports.containerPort of type int32" },
        { "{\"spec\":{\"restartPolicy\":5}}",
          "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type "
          "v1.RestartPolicy" },
        { "{\"spec\":\"x\"}",
          "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec" },
        { "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":\"x\"}}]}}",
          "json: cannot unmarshal string into Go struct field "
          "ResourceRequirements.spec.containers.resources.requests of type v1.ResourceList" },
        { "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"zzz\"}}}]}}",
          "quantities must match the regular expression "
          "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'" },
        { "{\"metadata\":{\"creationTimestamp\":\"yesterday\"}}",
          "parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" "
          "as \"2006\"" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_error("", "Pod", cases[i][0], cases[i][1]);
    expect_error("", "Secret", "{\"data\":{\"x\":\"!!\"}}", "illegal base64 data at input byte 0");
    expect_error("", "Secret", "{\"data\":{\"x\":5}}",
                 "json: cannot unmarshal number into Go struct field Secret.data of type []uint8");
    expect_error("coordination.k8s.io", "Lease",
                 "{\"spec\":{\"renewTime\":\"2026-01-01T00:00:00.5Z\"}}",
                 "parsing time \"2026-01-01T00:00:00.5Z\" as "
                 "\"2006-01-02T15:04:05.000000Z07:00\": cannot parse \".5Z\" as \".000000\"");
}

static void test_null_is_absent_everywhere(void **state)
{
    (void)state;
    expect_problems("Pod", "{\"metadata\":null,\"spec\":{\"containers\":null,\"nodeName\":null}}",
                    "");
}

static void expect_pruned(const char *group, const char *kind, const char *json, const char *want)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse(json);
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT;
    struct kj_mval *v = kj_mcopy(d, kj_root(doc));
    const struct t_type *t = types_find(group, "v1", kind);

    types_prune(t, d, v);
    kj_mwrite(v, KJ_SORTED, &got);
    assert_string_equal(strbuf_str(&got), want);
    types_prune(t, d, v); /* a second time changes nothing */
    strbuf_reset(&got);
    kj_mwrite(v, KJ_SORTED, &got);
    assert_string_equal(strbuf_str(&got), want);
}

static void test_pruning_is_a_round_trip_through_go(void **state)
{
    (void)state;
    expect_pruned("", "ConfigMap",
                  "{\"x\":1,\"metadata\":{\"name\":\"a\",\"labels\":{},\"namespace\":\"\"},"
                  "\"data\":{\"k\":null},\"immutable\":false,\"binaryData\":{}}",
                  "{\"data\":{\"k\":\"\"},\"immutable\":false,\"metadata\":{\"name\":\"a\"}}");
    expect_pruned("scheduling.k8s.io", "PriorityClass", "{\"globalDefault\":false}",
                  "{\"metadata\":{},\"value\":0}");
    expect_pruned("policy", "PodDisruptionBudget", "{\"status\":{}}",
                  "{\"metadata\":{},\"spec\":{},\"status\":{\"currentHealthy\":0,"
                  "\"desiredHealthy\":0,\"disruptionsAllowed\":0,\"expectedPods\":0}}");
    expect_pruned("", "Node",
                  "{\"metadata\":{},\"spec\":{},\"status\":{\"capacity\":{\"cpu\":1.5,\"memory\":"
                  "\"1024Ki\",\"x.io/y\":\"0.1m\"},\"nodeInfo\":null}}",
                  "{\"metadata\":{},\"spec\":{},\"status\":{\"capacity\":{\"cpu\":\"1500m\","
                  "\"memory\":\"1Mi\",\"x.io/y\":\"1m\"},\"daemonEndpoints\":{\"kubeletEndpoint\":"
                  "{\"Port\":0}},\"nodeInfo\":{\"architecture\":\"\",\"bootID\":\"\","
                  "\"containerRuntimeVersion\":\"\",\"kernelVersion\":\"\",\"kubeProxyVersion\":"
                  "\"\",\"kubeletVersion\":\"\",\"machineID\":\"\",\"operatingSystem\":\"\","
                  "\"osImage\":\"\",\"systemUUID\":\"\"}}}");
    expect_pruned("coordination.k8s.io", "Lease",
                  "{\"spec\":{\"renewTime\":\"2026-01-01T01:00:00.000000+01:00\"}}",
                  "{\"metadata\":{},\"spec\":{\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}}");
}

static void test_defaults_of_the_tables(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *doc =
        parse("{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"ports\":[{\"containerPort\":"
              "80}],\"livenessProbe\":{\"httpGet\":{\"port\":80}}}]}},\"strategy\":{}}}");
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT;
    struct kj_mval *v = kj_mcopy(d, kj_root(doc));

    (void)state;
    types_default(types_find("apps", "v1", "Deployment"), d, v);
    kj_mwrite(v, KJ_SORTED, &got);
    assert_string_equal(
        strbuf_str(&got),
        "{\"spec\":{\"progressDeadlineSeconds\":600,\"replicas\":1,\"revisionHistoryLimit\":10,"
        "\"strategy\":{\"type\":\"RollingUpdate\"},\"template\":{\"spec\":{\"containers\":"
        "[{\"livenessProbe\":{\"failureThreshold\":3,\"httpGet\":{\"path\":\"/\",\"port\":80,"
        "\"scheme\":\"HTTP\"},\"periodSeconds\":10,\"successThreshold\":1,\"timeoutSeconds\":1},"
        "\"ports\":[{\"containerPort\":80,\"protocol\":\"TCP\"}],\"terminationMessagePath\":"
        "\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\"}],\"dnsPolicy\":"
        "\"ClusterFirst\",\"restartPolicy\":\"Always\",\"schedulerName\":\"default-scheduler\","
        "\"securityContext\":{},\"terminationGracePeriodSeconds\":30}}}}");
}

static void test_strategic_patch_merges_by_the_tables(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *doc =
        parse("{\"metadata\":{\"finalizers\":[\"a\"]},\"spec\":{\"containers\":[{\"name\":\"a\","
              "\"image\":\"x\",\"args\":[\"1\",\"2\"]},{\"name\":\"b\"}],\"tolerations\":[{\"key\":"
              "\"k\"}]}}");
    CLEANUP(kj_doc_free)
    struct kj_doc *patch =
        parse("{\"metadata\":{\"finalizers\":[\"b\"]},\"spec\":{\"containers\":[{\"name\":\"a\","
              "\"args\":[\"3\"],\"ports\":[{\"containerPort\":1}]}],\"tolerations\":[{\"key\":"
              "\"l\"}]}}");
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT;
    const struct kmerge *m = types_merge(types_find("", "v1", "Pod"));
    struct kj_mval *v = NULL;

    (void)state;
    assert_ptr_equal(m, types_merge(types_find("", "v1", "Pod")));
    assert_int_equal(kj_patch_strategic(d, kj_root(doc), kj_root(patch), m, &v, NULL), 0);
    kj_mwrite(v, KJ_SORTED, &got);
    assert_string_equal(strbuf_str(&got),
                        "{\"metadata\":{\"finalizers\":[\"b\",\"a\"]},\"spec\":{\"containers\":"
                        "[{\"args\":[\"3\"],\"image\":\"x\",\"name\":\"a\",\"ports\":"
                        "[{\"containerPort\":1}]},{\"name\":\"b\"}],\"tolerations\":[{\"key\":"
                        "\"l\"}]}}");
}

static void test_openapi_describes_what_is_reachable(void **state)
{
    const struct t_root roots[] = { { types_find("", "v1", "Pod"), "", "v1", "Pod" },
                                    { types_find("policy", "v1", "PodDisruptionBudget"), "policy",
                                      "v1", "PodDisruptionBudget" } };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);

    (void)state;
    kjw_obj(&w, NULL);
    types_openapi(OPENAPI_V3, roots, 2, &w);
    kjw_end(&w);
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse(strbuf_str(&b));
    const struct kj_val *pod = kj_get(kj_root(doc), "io.k8s.api.core.v1.Pod");
    const struct kj_val *spec = kj_get(kj_root(doc), "io.k8s.api.core.v1.PodSpec");
    const struct kj_val *list = kj_path(spec, "properties.containers");
    assert_string_equal(
        kj_str(kj_get(kj_at(kj_get(pod, "x-kubernetes-group-version-kind"), 0), "kind")), "Pod");
    assert_string_equal(kj_str(kj_at(kj_get(spec, "required"), 0)), "containers");
    assert_string_equal(kj_str(kj_get(list, "x-kubernetes-patch-merge-key")), "name");
    assert_string_equal(kj_str(kj_path(list, "items.$ref")),
                        "#/components/schemas/io.k8s.api.core.v1.Container");
    assert_non_null(kj_get(kj_root(doc), "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"));
    assert_null(kj_get(kj_root(doc), "io.k8s.api.apps.v1.Deployment"));
}

static void test_kinds_that_are_not_built_in(void **state)
{
    (void)state;
    assert_null(types_find("", "v1", "Foo"));
    assert_null(types_find("apps", "v1beta1", "Deployment"));
    assert_null(types_find("apps", "v1", "Pod"));
}

/* Of a whole object: protobuf has them in the envelope. */
static bool is_type_meta(const struct t_type *t, const struct t_field *f)
{
    return t->fields + 2 > f && streq(t->fields[0].name, "kind") &&
           streq(t->fields[1].name, "apiVersion");
}

static void check_numbers(const struct t_type *t, int depth)
{
    assert_in_range(depth, 0, 20);
    for (const struct t_field *f = t->fields; f->name; f++) {
        if (!f->num && !is_type_meta(t, f))
            fail_msg("%s.%s has no protobuf number", t->name, f->name);
        for (const struct t_field *g = t->fields; f->num && g < f; g++)
            if (f->num == g->num)
                fail_msg("%s.%s and .%s have one protobuf number", t->name, g->name, f->name);
        if (f->kind == T_OBJ)
            check_numbers(f->type, depth + 1);
    }
}

static void check_texts(const struct t_type *t, int depth)
{
    assert_in_range(depth, 0, 20);
    for (const struct t_field *f = t->fields; f->name; f++) {
        if (!types_describe_field(t->name, f->name))
            fail_msg("%s.%s has no description", t->name, f->name);
        if (f->kind == T_OBJ)
            check_texts(f->type, depth + 1);
    }
}

static void test_every_kind_and_field_is_described(void **state)
{
    const struct resource *list;
    size_t n;

    (void)state;
    list = builtin_resources(&n);
    for (size_t i = 0; i < n; i++) {
        if (!list[i].type)
            continue;
        if (!types_describe(list[i].type->name))
            fail_msg("%s has no description", list[i].kind);
        check_texts(list[i].type, 0);
    }
    assert_string_equal(types_describe_field("io.k8s.api.core.v1.Event", "type"),
                        "Normal or Warning.");
    assert_string_equal(types_describe_field("io.k8s.api.core.v1.Other", "type"),
                        "Which type it is.");
    assert_null(types_describe("io.ex.Unheard"));
}

static void test_every_field_has_a_protobuf_number_of_its_own(void **state)
{
    static const char *const kinds[][2] = {
        { "", "Pod" },
        { "", "Node" },
        { "", "Service" },
        { "", "Event" },
        { "", "PersistentVolume" },
        { "", "PersistentVolumeClaim" },
        { "", "DeleteOptions" },
        { "apps", "StatefulSet" },
        { "batch", "CronJob" },
        { "authorization.k8s.io", "SelfSubjectAccessReview" },
        { "policy", "PodDisruptionBudget" },
        { "resource.k8s.io", "ResourceClaim" },
        { "resource.k8s.io", "ResourceSlice" },
        { "admissionregistration.k8s.io", "ValidatingWebhookConfiguration" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        check_numbers(types_find(kinds[i][0], "v1", kinds[i][1]), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_and_duplicate_fields_are_named_by_path),
        cmocka_unit_test(test_many_problems_are_cut),
        cmocka_unit_test(test_patched_objects_are_restored_in_other_words),
        cmocka_unit_test(test_type_errors_read_as_go_words_them),
        cmocka_unit_test(test_null_is_absent_everywhere),
        cmocka_unit_test(test_pruning_is_a_round_trip_through_go),
        cmocka_unit_test(test_defaults_of_the_tables),
        cmocka_unit_test(test_strategic_patch_merges_by_the_tables),
        cmocka_unit_test(test_openapi_describes_what_is_reachable),
        cmocka_unit_test(test_every_kind_and_field_is_described),
        cmocka_unit_test(test_every_field_has_a_protobuf_number_of_its_own),
        cmocka_unit_test(test_kinds_that_are_not_built_in),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
