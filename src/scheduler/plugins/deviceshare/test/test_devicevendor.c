/* test_devicevendor.c - DeviceShare on a whole scheduler, with feature gates on: what device
 * plugins of vendors read, locks of nodes, templates of a vendor, resized reservations
 * (sched-device 5, 6.2, 9). */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/protocol/keys.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/framework/gates.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

#define DEVICES      "/apis/scheduling.koordinator.sh/v1alpha1/devices"
#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define CONFIGMAPS   "/api/v1/namespaces/koordinator-system/configmaps"

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_device_share, 1, true },
    { &ks_plugin_reservation, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

struct lab {
    struct engine_fixture b;
    struct gates gates;
};

/* ' for ". */
static char *json(const char *fmt, ...) PRINTF(1, 2);
static char *json(const char *fmt, ...)
{
    struct strbuf b = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&b, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < b.len; i++)
        b.data[i] = b.data[i] == '\'' ? '"' : b.data[i];
    return strbuf_take(&b);
}

static void put(struct lab *l, const char *path, const char *name, char *body)
{
    fake_put(l->b.client.fake, path, name, body);
    free(body);
    client_fixture_run(&l->b.client, 3 * SEC);
}

static void put_node(struct lab *l, const char *vendor, const char *model, const char *annotations)
{
    put(l, NODES, "n",
        json("{'metadata':{'labels':{'node.koordinator.sh/gpu-vendor':'%s',"
             "'node.koordinator.sh/gpu-model':'%s'},'annotations':{%s}},'status':{'allocatable':{"
             "'cpu':'8','memory':'8Gi','pods':'100'}}}",
             vendor, model, annotations));
}

static void start(struct lab *l, const char *vendor, const char *model, const char *resources)
{
    struct kerr err = { 0 };

    gates_init(&l->gates, ks_gates, ks_ngates);
    assert_int_equal(gates_set(&l->gates, "DevicePluginAdaption=true,ResizePod=true", &err), 0);
    engine_start_opts(&l->b, 1, (struct scheduler_opts){ .plugins = plugins, .gates = &l->gates });
    put_node(l, vendor, model, "");
    put(l, DEVICES, "n",
        json("{'metadata':{'labels':{'node.koordinator.sh/gpu-vendor':'%s',"
             "'node.koordinator.sh/gpu-model':'%s'}},'spec':{'devices':[{'type':'gpu','minor':0,"
             "'id':'GPU-0','health':true,'resources':{%s}},{'type':'gpu','minor':1,'id':'GPU-1',"
             "'health':true,'resources':{%s}}]}}",
             vendor, model, resources, resources));
}

static void stop_p(struct lab *l)
{
    engine_stop_p(&l->b);
}

static void put_pod(struct lab *l, const char *name, const char *requests, const char *labels)
{
    put(l, PODS, name,
        json("{'metadata':{'labels':{%s}},'spec':{'schedulerName':'koord-scheduler','containers':"
             "[{'name':'c','resources':{'requests':{%s}}}]}}",
             labels, requests));
}

static const char *pod(const struct lab *l, const char *name)
{
    return fake_find(l->b.client.fake, PODS, name);
}

#define CARD                                                                                   \
    "'koordinator.sh/gpu-core':'100','koordinator.sh/gpu-memory-ratio':'100','koordinator.sh/" \
    "gpu-memory':'8Gi'"
#define NPU                                                                           \
    "'huawei.com/npu-core':'8','huawei.com/npu-cpu':'7','huawei.com/npu-dvpp':'100'," \
    "'koordinator.sh/gpu-memory':'24Gi','koordinator.sh/gpu-memory-ratio':'100'"

/* ---- vendors --------------------------------------------------------------------------------- */

static void test_nvidia_and_hami(void **state)
{
    CLEANUP(stop) struct lab l;

    (void)state;
    start(&l, "nvidia", "A100", CARD);
    put_pod(&l, "p", "'koordinator.sh/gpu':'200'",
            "'koordinator.sh/gpu-isolation-provider':'HAMi-core'");
    assert_contains(pod(&l, "p"), "\"scheduling.koordinator.sh/gpu-minors\":\"0,1\"");
    assert_contains(pod(&l, "p"), "\"scheduling.koordinator.sh/bind-timestamp\":\"");
    assert_contains(pod(&l, "p"), "\"hami.io/vgpu-node\":\"n\"");
    assert_null(strstr(pod(&l, "p"), "huawei"));
}

static void test_huawei_whole_and_double_cards(void **state)
{
    CLEANUP(stop) struct lab l;

    (void)state;
    start(&l, "huawei", "Ascend-310P3-300I-DUO", NPU);
    put_pod(&l, "p", "'huawei.com/npu-core':'16','koordinator.sh/gpu-memory-ratio':'200'", "");
    assert_contains(pod(&l, "p"), "\"huawei.com/Ascend310P\":\"Ascend310P-0,Ascend310P-1\"");
    assert_contains(pod(&l, "p"), "\"predicate-time\":\"");
}

#define TEMPLATES                                                                             \
    "huawei-Ascend-310P3:\\n  vir02:\\n    huawei.com/npu-core: 2\\n    huawei.com/npu-cpu: " \
    "2\\n    koordinator.sh/gpu-memory: 6Gi\\n"
#define SHARE                                                                             \
    "'koordinator.sh/gpu.shared':'1','huawei.com/npu-core':'2','huawei.com/npu-cpu':'2'," \
    "'koordinator.sh/gpu-memory':'6Gi'"

/* A pod waits for its template, and does not lose it to a ConfigMap that nobody can read. */
static void test_templates_of_a_configmap(void **state)
{
    CLEANUP(stop) struct lab l;

    (void)state;
    start(&l, "huawei", "Ascend-310P3", NPU);
    put_pod(&l, "early", SHARE, "");
    assert_contains(engine_condition(&l.b, "early", "message"),
                    "no matched GPU shared resource template");
    put(&l, CONFIGMAPS, "gpu-shared-resource-templates",
        json("{'data':{'data.yaml':'" TEMPLATES "'}}"));
    assert_contains(pod(&l, "early"), "\"huawei.com/npu-core\":\"0-vir02\"");
    put(&l, CONFIGMAPS, "gpu-shared-resource-templates", json("{'data':{'data.yaml':'{['}}"));
    put_pod(&l, "next", SHARE, "");
    assert_contains(pod(&l, "next"), "-vir02\"");
    assert_true(fake_delete(l.b.client.fake, CONFIGMAPS, "gpu-shared-resource-templates"));
    client_fixture_run(&l.b.client, 3 * SEC);
    put_pod(&l, "late", SHARE, "");
    assert_string_equal(engine_node_of(&l.b, "late"), "");
    engine_verify(&l.b);
}

static void test_metax_locks_the_node(void **state)
{
    CLEANUP(stop) struct lab l;

    (void)state;
    start(&l, "metax", "C500", CARD);
    put_pod(&l, "p", "'koordinator.sh/gpu-core':'5','koordinator.sh/gpu-memory':'1Gi'", "");
    assert_contains(pod(&l, "p"), "[[{\\\"uuid\\\":\\\"GPU-0\\\",\\\"compute\\\":5,\\\"vRam\\\":"
                                  "1024}]]");
    assert_contains(fake_find(l.b.client.fake, NODES, "n"), "\"hami.io/mutex.lock\":\"");
    assert_contains(fake_find(l.b.client.fake, NODES, "n"), ",ns,p\"");
}

#define CAMBRICON_SHARE "'koordinator.sh/gpu-core':'5','koordinator.sh/gpu-memory':'1Gi'"

static void test_cambricon_waits_for_the_lock(void **state)
{
    CLEANUP(stop) struct lab l;

    (void)state;
    start(&l, "cambricon", "MLU370", CARD);
    put_pod(&l, "p", CAMBRICON_SHARE, "");
    assert_contains(pod(&l, "p"), "\"CAMBRICON_DSMLU_PROFILE\":\"0_5_4\"");
    assert_contains(pod(&l, "p"), "\"CAMBRICON_DSMLU_ASSIGHED\":\"false\"");
    put_pod(&l, "q", CAMBRICON_SHARE, "");
    assert_string_equal(engine_node_of(&l.b, "q"), "");
    put_node(&l, "cambricon", "MLU370", ""); /* the device plugin takes the lock away */
    client_fixture_run(&l.b.client, 60 * SEC);
    assert_string_equal(engine_node_of(&l.b, "q"), "n");
    assert_contains(fake_find(l.b.client.fake, NODES, "n"), ",ns,q\"");
    client_fixture_run(&l.b.client, 400 * SEC); /* q's lock has expired */
    put_pod(&l, "r", CAMBRICON_SHARE, "");
    client_fixture_run(&l.b.client, 60 * SEC);
    assert_string_equal(engine_node_of(&l.b, "r"), "n");
}

static void test_locks_that_cannot_be_read(void **state)
{
    CLEANUP(stop) struct lab l;

    (void)state;
    start(&l, "cambricon", "MLU370", CARD);
    put_node(&l, "cambricon", "MLU370", "'cambricon.com/dsmlu.lock':'yesterday'");
    put_pod(&l, "p", CAMBRICON_SHARE, "");
    assert_string_equal(engine_node_of(&l.b, "p"), "");
    put_node(&l, "cambricon", "MLU370",
             "'cambricon.com/dsmlu.lock':'2020-01-01T00:00:00Z,default,gone'");
    client_fixture_run(&l.b.client, 60 * SEC);
    assert_string_equal(engine_node_of(&l.b, "p"), "n");
}

static void test_what_a_vendor_cannot_share(void **state)
{
    CLEANUP(stop) struct lab l;

    (void)state;
    start(&l, "cambricon", "MLU370", CARD);
    put_pod(&l, "p", "'koordinator.sh/gpu':'200'", "");
    assert_string_equal(engine_node_of(&l.b, "p"), "");
    assert_null(strstr(fake_find(l.b.client.fake, NODES, "n"), "dsmlu.lock"));
    put_pod(&l, "q", "'koordinator.sh/gpu-memory':'1Gi'", "");
    assert_string_equal(engine_node_of(&l.b, "q"), ""); /* no compute */
    engine_verify(&l.b);
}

/* ---- resizing -------------------------------------------------------------------------------- */

/* A reservation has what its cards come down to. */
static void test_reservations_are_resized(void **state)
{
    CLEANUP(stop) struct lab l;

    (void)state;
    start(&l, "nvidia", "A100", CARD);
    put(&l, RESERVATIONS, "r",
        json("{'spec':{'ttl':'0s','owners':[{'labelSelector':{'matchLabels':{'app':'a'}}}],"
             "'template':{'spec':{'schedulerName':'koord-scheduler','containers':[{'name':'c',"
             "'resources':{'requests':{'koordinator.sh/gpu':'50'}}}]}}}}"));
    const char *r = fake_find(l.b.client.fake, RESERVATIONS, "r");
    assert_contains(r, "reservation-resize-allocatable\":\"{\\\"resources\\\":{\\\"koordinator.sh/"
                       "gpu-core\\\":\\\"50\\\",\\\"koordinator.sh/gpu-memory\\\":\\\"4Gi\\\","
                       "\\\"koordinator.sh/gpu-memory-ratio\\\":\\\"50\\\"}}");
    assert_null(strstr(r, "bind-timestamp"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvidia_and_hami),
        cmocka_unit_test(test_huawei_whole_and_double_cards),
        cmocka_unit_test(test_templates_of_a_configmap),
        cmocka_unit_test(test_metax_locks_the_node),
        cmocka_unit_test(test_cambricon_waits_for_the_lock),
        cmocka_unit_test(test_locks_that_cannot_be_read),
        cmocka_unit_test(test_what_a_vendor_cannot_share),
        cmocka_unit_test(test_reservations_are_resized),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
