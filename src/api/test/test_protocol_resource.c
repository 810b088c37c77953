/* Resource lists, names by class, the colocation rewrite, device requests (api 4). */
#include "pairs.h"

#include "api/pod.h"
#include "api/protocol/device.h"
#include "api/protocol/hint.h"

static reslist list(struct arena *a, const char *json)
{
    struct kerr err = { 0 };
    reslist l = { 0 };

    if (reslist_decode_text(json, a, &l, &err) < 0)
        fail_msg("%s: %s", json, err.text);
    return l;
}

static void assert_list(const reslist *l, const char *json)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    reslist_encode(l, &b);
    assert_string_equal(strbuf_str(&b), json);
}

static void test_lists_read_and_write(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist l = list(a, "{\"memory\":\"2048Mi\",\"cpu\":1.5,\"a/b\":\"0.1\",\"c\":1}");
    struct kerr err = { 0 };

    (void)state;
    assert_list(&l, "{\"a/b\":\"100m\",\"c\":\"1\",\"cpu\":\"1500m\",\"memory\":\"2Gi\"}");
    assert_int_equal(qty_milli(reslist_get(&l, "cpu")), 1500);
    assert_null(reslist_find(&l, "pods"));
    assert_true(qty_is_zero(reslist_get(&l, "pods")));
    l = list(a, "null");
    assert_int_equal(l.n, 0);
    assert_list(&l, "{}");
    assert_int_equal(reslist_decode_text("[]", a, &l, &err), -EINVAL);
    assert_int_equal(reslist_decode_text("{\"cpu\":\"x\"}", a, &l, &err), -EINVAL);
    assert_int_equal(reslist_decode_text("{\"cpu\":true}", a, &l, &err), -EINVAL);
    assert_int_equal(reslist_decode_text("{", a, &l, &err), -EINVAL);
    assert_int_equal(reslist_decode_text("", a, &l, NULL), -EINVAL);
}

static void test_lists_are_built_in_order(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist l = { 0 }, old;
    struct qty two = qty_from_i64(2, QTY_DECIMAL_SI);

    (void)state;
    l = reslist_with(&l, "m", two, a);
    l = reslist_with(&l, "a", two, a);
    old = l;
    l = reslist_with(&l, "z", two, a);
    l = reslist_with(&l, "m", qty_from_i64(3, QTY_DECIMAL_SI), a);
    assert_list(&l, "{\"a\":\"2\",\"m\":\"3\",\"z\":\"2\"}");
    assert_list(&old, "{\"a\":\"2\",\"m\":\"2\"}"); /* never changed in place */
    l = reslist_without(&l, "m", a);
    l = reslist_without(&l, "nothing", a);
    assert_list(&l, "{\"a\":\"2\",\"z\":\"2\"}");
    reslist same = list(a, "{\"a\":\"2000m\",\"z\":\"2\"}"), more = list(a, "{\"a\":\"2\"}");
    assert_true(reslist_equal(&l, &same));
    assert_false(reslist_equal(&l, &more));
}

static void test_counts(void **state)
{
    (void)state;
    assert_int_equal(resource_count("cpu", qty_from_milli(1500, QTY_DECIMAL_SI)), 1500);
    assert_int_equal(resource_count("memory", qty_from_milli(1500, QTY_DECIMAL_SI)), 2);
    assert_int_equal(resource_count(RES_BATCH_CPU, qty_from_i64(1500, QTY_DECIMAL_SI)), 1500);
    assert_int_equal(qty_milli(resource_from_count("cpu", 1500)), 1500);
    assert_int_equal(resource_from_count("memory", 1024).format, QTY_BINARY_SI);
    assert_int_equal(resource_from_count("ephemeral-storage", 1024).format, QTY_DECIMAL_SI);
}

static void test_names_of_a_class(void **state)
{
    (void)state;
    assert_string_equal(resource_of_class(PRIO_BATCH, "cpu"), "kubernetes.io/batch-cpu");
    assert_string_equal(resource_of_class(PRIO_BATCH, "memory"), "kubernetes.io/batch-memory");
    assert_string_equal(resource_of_class(PRIO_MID, "cpu"), "kubernetes.io/mid-cpu");
    assert_string_equal(resource_of_class(PRIO_MID, "memory"), "kubernetes.io/mid-memory");
    assert_string_equal(resource_of_class(PRIO_PROD, "cpu"), "cpu");
    assert_string_equal(resource_of_class(PRIO_NONE, "memory"), "memory");
    assert_string_equal(resource_of_class(PRIO_FREE, "cpu"), "");
    assert_string_equal(resource_of_class(PRIO_BATCH, "ephemeral-storage"), "");
}

static void test_old_names(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist l = list(a, "{\"koordinator.sh/batch-cpu\":\"1\",\"koordinator.sh/batch-memory\":\"2\","
                        "\"kubernetes.io/fpga\":\"3\",\"kubernetes.io/gpu\":\"4\","
                        "\"kubernetes.io/gpu-core\":\"5\",\"kubernetes.io/gpu-memory\":\"6\","
                        "\"kubernetes.io/gpu-memory-ratio\":\"7\",\"kubernetes.io/rdma\":\"8\"}");

    (void)state;
    reslist_rename_old(&l, a, &l);
    assert_list(&l, "{\"koordinator.sh/fpga\":\"3\",\"koordinator.sh/gpu\":\"4\","
                    "\"koordinator.sh/gpu-core\":\"5\",\"koordinator.sh/gpu-memory\":\"6\","
                    "\"koordinator.sh/gpu-memory-ratio\":\"7\",\"koordinator.sh/rdma\":\"8\","
                    "\"kubernetes.io/batch-cpu\":\"1\",\"kubernetes.io/batch-memory\":\"2\"}");
    l = list(a, "{\"koordinator.sh/rdma\":\"1\",\"kubernetes.io/rdma\":\"2\"}");
    reslist_rename_old(&l, a, &l); /* the new name is there: nothing happens */
    assert_list(&l, "{\"koordinator.sh/rdma\":\"1\",\"kubernetes.io/rdma\":\"2\"}");
    assert_null(resource_current_name("cpu"));
}

static void test_rewrite_of_a_batch_pod(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct resources r = {
        .requests = list(a, "{\"cpu\":\"500m\",\"memory\":\"1Gi\"}"),
        .limits = list(a, "{\"cpu\":\"1\",\"memory\":\"1Gi\"}"),
    };

    (void)state;
    resources_rewrite(&r, PRIO_BATCH, a);
    assert_list(&r.requests,
                "{\"kubernetes.io/batch-cpu\":\"500\",\"kubernetes.io/batch-memory\":\"1Gi\"}");
    assert_list(&r.limits,
                "{\"kubernetes.io/batch-cpu\":\"1k\",\"kubernetes.io/batch-memory\":\"1Gi\"}");

    r = (struct resources){ .limits = list(a, "{\"cpu\":\"1500m\",\"memory\":\"4Gi\"}") };
    resources_rewrite(&r, PRIO_MID, a); /* only limits: requests follow them */
    assert_list(&r.requests,
                "{\"kubernetes.io/mid-cpu\":\"1500\",\"kubernetes.io/mid-memory\":\"4Gi\"}");

    r = (struct resources){ .requests = list(a, "{\"cpu\":\"1\",\"pods\":\"1\"}") };
    resources_rewrite(&r, PRIO_BATCH, a); /* only requests: limits stay unset */
    assert_list(&r.requests, "{\"kubernetes.io/batch-cpu\":\"1k\",\"pods\":\"1\"}");
    assert_int_equal(r.limits.n, 0);

    static const enum priority_class native[] = { PRIO_PROD, PRIO_NONE, PRIO_FREE };
    for (size_t i = 0; i < ARRAY_LEN(native); i++) {
        r = (struct resources){ .requests = list(a, "{\"cpu\":\"1\"}") };
        resources_rewrite(&r, native[i], a);
        assert_list(&r.requests, "{\"cpu\":\"1\"}");
    }
    reslist overhead = list(a, "{\"cpu\":\"1\",\"memory\":\"2Gi\"}");
    overhead = reslist_rewrite(&overhead, PRIO_BATCH, a);
    assert_list(&overhead,
                "{\"kubernetes.io/batch-cpu\":\"1k\",\"kubernetes.io/batch-memory\":\"2Gi\"}");
}

static void test_replace_resources(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    resource_replacements r;
    reslist l = list(a, "{\"cpu\":\"1500m\",\"foo/bar\":\"1\",\"nvidia.com/gpu\":\"2\","
                        "\"x/a\":\"1\",\"x/b\":\"2\"}");

    (void)state;
    resource_replacements_parse("nvidia.com/gpu:koordinator.sh/gpu,foo/bar:,bad,a:b:c,x/a:x/b,"
                                "cpu:kubernetes.io/batch-cpu,absent:y",
                                a, &r);
    assert_int_equal(r.n, 5);
    l = reslist_replace(&l, &r, a);
    assert_list(&l, "{\"koordinator.sh/gpu\":\"2\",\"kubernetes.io/batch-cpu\":\"1500\","
                    "\"x/a\":\"1\",\"x/b\":\"2\"}");
    resource_replacements_parse("", a, &r);
    assert_int_equal(r.n, 0);
    resource_replacements_parse(",:,", a, &r);
    assert_int_equal(r.n, 1);
}

/* ---- devices --------------------------------------------------------------------------------- */

static void check_devices(const char *requests, const char *gpu, int64_t count, bool shared,
                          const char *per_instance)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist l = list(a, requests);
    struct device_requests d;
    struct kerr err = { 0 };

    if (device_requests_parse(&l, a, &d, &err) < 0)
        fail_msg("%s: %s", requests, err.text);
    assert_list(&d.gpu, gpu);
    assert_int_equal(d.gpu_count, count);
    assert_int_equal(d.gpu_shared, shared);
    assert_list(&d.gpu_per_instance, per_instance);
}

static void check_refused(const char *requests, const char *message)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist l = list(a, requests);
    struct device_requests d;
    struct kerr err = { 0 };

    assert_int_equal(device_requests_parse(&l, a, &d, &err), -EINVAL);
    assert_string_equal(err.text, message);
}

#define K(n) "\"koordinator.sh/" n "\""
static void test_legal_device_requests(void **state)
{
    (void)state;
    check_devices("{\"nvidia.com/gpu\":\"2\"}",
                  "{" K("gpu-core") ":\"200\"," K("gpu-memory-ratio") ":\"200\"}", 2, false,
                  "{" K("gpu-core") ":\"100\"," K("gpu-memory-ratio") ":\"100\"}");
    check_devices("{" K("gpu") ":\"50\"}",
                  "{" K("gpu-core") ":\"50\"," K("gpu-memory-ratio") ":\"50\"}", 1, true,
                  "{" K("gpu-core") ":\"50\"," K("gpu-memory-ratio") ":\"50\"}");
    check_devices(
        "{" K("gpu.shared") ":\"2\"," K("gpu-core") ":\"100\"," K("gpu-memory-ratio") ":\"100\"}",
        "{" K("gpu-core") ":\"100\"," K("gpu-memory-ratio") ":\"100\"," K("gpu.shared") ":\"2\"}",
        2, true, "{" K("gpu-core") ":\"50\"," K("gpu-memory-ratio") ":\"50\"}");
    check_devices("{" K("gpu-core") ":\"100\"," K("gpu-memory") ":\"1Ki\"}",
                  "{" K("gpu-core") ":\"100\"," K("gpu-memory") ":\"1Ki\"}", 1, true,
                  "{" K("gpu-core") ":\"100\"," K("gpu-memory") ":\"1Ki\"}");
    check_devices("{\"huawei.com/npu-core\":\"16\"," K("gpu-memory-ratio") ":\"200\"}",
                  "{\"huawei.com/npu-core\":\"16\"," K("gpu-memory-ratio") ":\"200\"}", 2, false,
                  "{\"huawei.com/npu-core\":\"8\"," K("gpu-memory-ratio") ":\"100\"}");
    check_devices("{\"cpu\":\"4\"," K("gpu") ":\"0\"}", "{}", 0, false, "{}");
}

static void test_illegal_device_requests(void **state)
{
    (void)state;
    check_refused("{" K("fpga") ":\"101\"}", "invalid resource unit koordinator.sh/fpga: 101");
    check_refused("{" K("rdma") ":\"150\"}", "invalid resource unit koordinator.sh/rdma: 150");
    check_refused("{" K("gpu") ":\"150\"}", "invalid resource unit koordinator.sh/gpu: 150");
    check_refused("{" K("gpu-core") ":\"50\"}",
                  "invalid resource device requests: [koordinator.sh/gpu-core]");
    check_refused("{" K("gpu.shared") ":\"1\"}",
                  "invalid resource device requests: [koordinator.sh/gpu.shared]");
    check_refused("{\"nvidia.com/gpu\":\"1\"," K("gpu-core") ":\"50\"}",
                  "invalid resource device requests: [koordinator.sh/gpu-core nvidia.com/gpu]");
    check_refused("{" K("gpu-core") ":\"100\"," K("gpu-memory-ratio") ":\"101\"}",
                  "invalid resource device requests: [koordinator.sh/gpu-core "
                  "koordinator.sh/gpu-memory-ratio]");
    check_refused("{" K("gpu.shared") ":\"2\"," K("gpu-memory-ratio") ":\"101\"}",
                  "invalid resource device requests: [koordinator.sh/gpu-memory-ratio "
                  "koordinator.sh/gpu.shared]");
    /* what the webhook makes of a ratio of 150: a quotient above 100 */
    check_refused("{" K("gpu.shared") ":\"1\"," K("gpu-memory-ratio") ":\"150\"}",
                  "invalid resource device requests: [koordinator.sh/gpu-memory-ratio "
                  "koordinator.sh/gpu.shared]");
    check_refused("{" K("gpu.shared") ":\"2\",\"huawei.com/npu-core\":\"1\","
                                      "\"huawei.com/npu-cpu\":\"1\"," K("gpu-memory") ":\"1Gi\"}",
                  "invalid resource device requests: [huawei.com/npu-core huawei.com/npu-cpu "
                  "koordinator.sh/gpu-memory koordinator.sh/gpu.shared]");
}

static void check_filled(const char *requests, const char *filled)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct resources r = { .requests = list(a, requests), .limits = list(a, requests) };
    bool changed = !streq(requests, filled);

    assert_int_equal(device_resources_fill(&r, a), changed);
    assert_list(&r.requests, filled);
    assert_list(&r.limits, filled);
}

static void test_webhook_fills_device_requests(void **state)
{
    (void)state;
    check_filled(
        "{" K("gpu") ":\"200\"}",
        "{" K("gpu-core") ":\"200\"," K("gpu-memory-ratio") ":\"200\"," K("gpu.shared") ":"
                                                                                        "\"2\"}");
    check_filled(
        "{" K("gpu-core") ":\"50\"," K("gpu-memory-ratio") ":\"50\"}",
        "{" K("gpu-core") ":\"50\"," K("gpu-memory-ratio") ":\"50\"," K("gpu.shared") ":\"1\"}");
    check_filled("{" K("gpu-memory-ratio") ":\"150\"}",
                 "{" K("gpu-memory-ratio") ":\"150\"," K("gpu.shared") ":\"1\"}");
    check_filled(
        "{" K("gpu-core") ":\"100\"," K("gpu-memory-ratio") ":\"200\"}",
        "{" K("gpu-core") ":\"100\"," K("gpu-memory-ratio") ":\"200\"," K("gpu.shared") ":\"2\"}");
    check_filled(
        "{" K("gpu-core") ":\"300\"," K("gpu-memory") ":\"1Gi\"}",
        "{" K("gpu-core") ":\"300\"," K("gpu-memory") ":\"1Gi\"," K("gpu.shared") ":"
                                                                                  "\"3\"}");
    check_filled("{\"cpu\":\"1\"}", "{\"cpu\":\"1\"}");
    check_filled("{\"nvidia.com/gpu\":\"1\"}", "{\"nvidia.com/gpu\":\"1\"}");
}

/* ---- extended resource spec ------------------------------------------------------------------ */

static void test_extended_resource_spec(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct container c[2] = {
        { .name = "side", .resources.requests = list(a, "{\"cpu\":\"1\"}") },
        { .name = "main",
          .resources = { .requests = list(a, "{\"kubernetes.io/batch-cpu\":\"500\","
                                             "\"kubernetes.io/batch-memory\":\"1Gi\","
                                             "\"kubernetes.io/mid-cpu\":\"1\"}"),
                         .limits = list(a, "{\"kubernetes.io/batch-cpu\":\"1k\","
                                           "\"kubernetes.io/batch-memory\":\"2Gi\"}") } },
    };
    const char *text =
        "{\"containers\":{\"main\":{\"limits\":{\"kubernetes.io/batch-cpu\":\"1k\","
        "\"kubernetes.io/batch-memory\":\"2Gi\"},\"requests\":{"
        "\"kubernetes.io/batch-cpu\":\"500\",\"kubernetes.io/batch-memory\":\"1Gi\"}}}}";
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(extended_resource_spec_update(c, 2, &NO_PAIRS, a, &b, &err), 1);
    assert_string_equal(strbuf_str(&b), text);

    kstrmap there = pairs(a, ANNO_EXTENDED_RESOURCES, text, NULL);
    strbuf_reset(&b);
    assert_int_equal(extended_resource_spec_update(c, 2, &there, a, &b, &err), 0);
    assert_int_equal(extended_resource_spec_update(c, 1, &NO_PAIRS, a, &b, &err), 0);
    assert_int_equal(extended_resource_spec_update(c, 1, &there, a, &b, &err), 1);
    assert_string_equal(strbuf_str(&b), "{}"); /* stale: taken back */
    there = pairs(a, ANNO_EXTENDED_RESOURCES, "{bad", NULL);
    assert_int_equal(extended_resource_spec_update(c, 2, &there, a, &b, &err), -EINVAL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_read_and_write),
        cmocka_unit_test(test_lists_are_built_in_order),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_names_of_a_class),
        cmocka_unit_test(test_old_names),
        cmocka_unit_test(test_rewrite_of_a_batch_pod),
        cmocka_unit_test(test_replace_resources),
        cmocka_unit_test(test_legal_device_requests),
        cmocka_unit_test(test_illegal_device_requests),
        cmocka_unit_test(test_webhook_fills_device_requests),
        cmocka_unit_test(test_extended_resource_spec),
    };
    RUN_TESTS(tests);
}
