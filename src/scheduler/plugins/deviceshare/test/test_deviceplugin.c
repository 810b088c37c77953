/* test_deviceplugin.c - DeviceShare on small clusters: NUMA hints, designated cards, victims,
 * scores, columns (sched-device 4, 5, 7). Random ones: test_devicerandom.c. */
#include "scheduler/plugins/deviceshare/test/device_cluster.h"

#include "api/koord/noderesourcetopology.h"
#include "scheduler/plugins/deviceshare/cardmap.h"
#include "scheduler/plugins/deviceshare/rest.h"

#define NAME "DeviceShare"

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_device_share, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static struct device_plugin *plugin_of(const struct plugin_fixture *f)
{
    return f->profile->slots[profile_slot(f->profile, NAME)].self;
}

static void node(struct plugin_fixture *f, const char *labels)
{
    fixture_node(f, arena_printf(f->base->arena,
                                 "{'metadata':{'name':'n1','labels':{%s}},'status':{'allocatable':"
                                 "{'cpu':'64','memory':'64Gi','pods':'110'}}}",
                                 labels));
}

static void device(struct plugin_fixture *f, const struct device_text *d)
{
    attempt_end(&f->a);
    fixture_put(f, &kind_device, device_text(f->base, d));
}

static void begin(struct plugin_fixture *f, void **state, const struct device_text *d)
{
    fixture_init_with(f, state, table, NULL);
    node(f, "");
    device(f, d);
}

static void holder(struct plugin_fixture *f, const char *name, const char *allocated)
{
    fixture_pod(f, wanting(f->base, &(struct pod_text){ .name = name,
                                                        .annotations = annotation(
                                                            f->base, "device-allocated", allocated),
                                                        .on = "n1" }));
}

/* What the pod of the last attempt reserves on the node, in words; or why not. */
static const char *reserve(struct plugin_fixture *f)
{
    struct ks_texts why = { .arena = f->arena };
    struct kerr err = { 0 };
    enum ks_code code;

    assert_int_equal(nodecache_assume(f->cache, f->obj, "n1", NULL, &err), 0);
    if (attempt_reserve(&f->a, fixture_row(f, "n1"), &code, &why) >= 0) {
        nodecache_forget(f->cache, f->obj->meta.uid);
        return ks_texts_join(&why);
    }
    const struct holding *h = holdings_find(plugin_of(f)->holdings, f->obj->meta.uid);
    return h ? in_words(f->base->arena, h->items, h->n) : "nothing";
}

#define GPUS(n) "'nvidia.com/gpu':'" #n "'"
#define FULL(minor)                                                                         \
    "{'minor':" #minor ",'resources':{'koordinator.sh/gpu-core':'100','koordinator.sh/gpu-" \
    "memory-ratio':'100','koordinator.sh/gpu-memory':'8Gi'}}"

/* ---- NUMA hints ------------------------------------------------------------------------------ */

/* "01!500 10!0 11+500": masks with the lowest NUMA node last, ! preferred, scores. */
static const char *hints_of(struct plugin_fixture *f, const char *kind)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    int slot = profile_slot(f->profile, NAME);
    struct numa_lists lists = { .arena = f->arena, .complete = true };
    struct ks_texts why = { .arena = f->arena };

    attempt_enter(&f->a, (uint32_t)slot, f->a.state[slot]);
    if (device_numa.hints(plugin_of(f), &f->a.cycle, &f->a.pod, fixture_row(f, "n1"), &lists,
                          &why) != KS_SUCCESS)
        return ks_texts_join(&why);
    for (uint32_t i = 0; i < lists.n; i++)
        for (uint32_t k = 0; streq(lists.items[i].resource, kind) && k < lists.items[i].n; k++) {
            const struct numa_hint *h = &lists.items[i].hints[k];
            strbuf_appendf(&b, "%s%d%d%s%d", b.len ? " " : "", (int)(h->mask >> 1 & 1),
                           (int)(h->mask & 1), h->preferred ? "!" : "+", (int)h->score);
        }
    return arena_strdup(f->base->arena, strbuf_str(&b));
}

static void test_hints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    begin(&f, state, &(struct device_text){ NODE_T });
    fixture_try(&f, wanting(f.base, &(struct pod_text){
                                        .requests = GPUS(1) ",'koordinator.sh/rdma':'2'" }));
    assert_string_equal(hints_of(&f, "gpu"), "01!500 10!0 11+500");
    assert_string_equal(hints_of(&f, "rdma"), "01!500 10!0 11+500");
    assert_string_equal(hints_of(&f, "fpga"), "");
    fixture_try(&f, wanting(f.base, &(struct pod_text){
                                        .requests = "'koordinator.sh/rdma':'4'",
                                        .annotations = annotation(
                                            f.base, "device-allocate-hint",
                                            "{'rdma':{'allocateStrategy':'RequestsAsCount'}}") }));
    assert_string_equal(hints_of(&f, "rdma"), "11!500");
    holder(&f, "h", "{'gpu':[" FULL(0) "]}");
    fixture_try(&f, wanting(f.base, &(struct pod_text){ .requests = GPUS(4) }));
    assert_string_equal(hints_of(&f, "gpu"), "10!500 11+500");
    fixture_try(&f, wanting(f.base, &(struct pod_text){ .requests = GPUS(17) }));
    assert_string_equal(hints_of(&f, "gpu"), "Insufficient NUMA Scoped Devices");
}

static void test_no_hints_without_places(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    begin(&f, state, &(struct device_text){ .gpus = 2 });
    fixture_try(&f, wanting(f.base, &(struct pod_text){ .requests = GPUS(1) }));
    assert_string_equal(hints_of(&f, "gpu"), "");
}

/* ---- designated cards ------------------------------------------------------------------------ */

static const char *designated(struct plugin_fixture *f, const char *requests, const char *allocated,
                              bool hinted)
{
    return wanting(
        f->base, &(struct pod_text){
                     .requests = requests,
                     .annotations = arena_printf(
                         f->base->arena, "%s%s", annotation(f->base, "device-allocated", allocated),
                         hinted ? ",'internal.scheduling.koordinator.sh/scheduling-hint':"
                                  "'{\\\"extensions\\\":{\\\"DeviceShare\\\":{}}}'"
                                : "") });
}

static void test_designated_cards(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *second = "{'gpu':[" FULL(1) "]}", *first = "{'gpu':[" FULL(0) "]}";

    begin(&f, state, &(struct device_text){ .gpus = 2 });
    fixture_try(&f, designated(&f, GPUS(1), second, true));
    assert_string_equal(reserve(&f), "gpu 1");
    profile_unreserve(f.profile, pod_of(f.obj), "n1", NULL);
    nodecache_forget(f.cache, f.obj->meta.uid);
    fixture_try(&f, designated(&f, GPUS(1), second, false)); /* nobody named the plugin */
    assert_string_equal(reserve(&f), "gpu 0");
    profile_unreserve(f.profile, pod_of(f.obj), "n1", NULL);
    nodecache_forget(f.cache, f.obj->meta.uid);
    holder(&f, "h",
           "{'gpu':[{'minor':0,'resources':{'koordinator.sh/gpu-core':'75','koordinator.sh/"
           "gpu-memory-ratio':'75'}}]}");
    fixture_try(&f, designated(&f, GPUS(1), first, true));
    assert_string_equal(fixture_why(&f, "n1"), "Insufficient gpu devices"); /* 1 is free */
}

/* ---- victims --------------------------------------------------------------------------------- */

static void test_victims_free_their_cards(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    begin(&f, state, &(struct device_text){ .gpus = 1 });
    holder(&f, "low", "{'gpu':[" FULL(0) "]}");
    fixture_try(&f, wanting(f.base, &(struct pod_text){ .requests = GPUS(1) }));
    assert_false(fixture_fits(&f, "n1"));
    assert_int_equal(fixture_code(&f, "n1"), KS_UNSCHEDULABLE);
    uint32_t row = fixture_row(&f, "n1"), mark = ks_overlay_mark(f.a.overlay);
    ks_overlay_remove_pod(f.a.overlay, row, nodecache_nodes(f.cache)->pods[row].items[0]);
    assert_true(attempt_fits(&f.a, row, NULL));
    ks_overlay_rollback(f.a.overlay, mark);
    assert_false(attempt_fits(&f.a, row, NULL));
}

/* ---- models that cannot share ---------------------------------------------------------------- */

static void test_models_that_cannot_share(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table,
                      "{'DeviceShare':{'gpuShareUnsupportedModels':[{'vendor':'v','model':'m'}]}}");
    node(&f, "'node.koordinator.sh/gpu-vendor':'v','node.koordinator.sh/gpu-model':'m'");
    device(&f, &(struct device_text){ .gpus = 1 });
    fixture_try(&f, wanting(f.base, &(struct pod_text){ .requests = "'koordinator.sh/gpu':'50'" }));
    assert_string_equal(fixture_why(&f, "n1"),
                        "model \"m\" of vendor \"v\" does not support GPU Share");
    assert_int_equal(fixture_code(&f, "n1"), KS_UNRESOLVABLE);
    fixture_try(&f, wanting(f.base, &(struct pod_text){ .requests = GPUS(1) }));
    assert_true(fixture_fits(&f, "n1"));
}

static void test_annotations_that_nobody_understands(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const struct {
        const char *key, *value, *why;
    } rows[] = {
        { "device-allocate-hint", "{'gpu':", "invalid DeviceAllocateHint annotation, err: " },
        { "device-joint-allocate", "[", "invalid DeviceJointAllocate annotation, err: " },
        { "gpu-partition-spec", "{'ringBusBandwidth':'x'}",
          "invalid GPUPartitionSpec annotation, err: " },
        { "device-allocate-hint",
          "{'rdma':{'vfSelector':{'matchExpressions':[{'key':'k','operator':'In'}]}}}",
          "invalid VFSelector of DeviceHint, deviceType: rdma, err: " },
    };

    begin(&f, state, &(struct device_text){ .gpus = 1 });
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fixture_try(
            &f, wanting(f.base, &(struct pod_text){ .requests = GPUS(1),
                                                    .annotations = annotation(f.base, rows[i].key,
                                                                              rows[i].value) }));
        assert_int_equal(f.a.code, KS_UNRESOLVABLE);
        assert_int_equal(strncmp(f.a.text, rows[i].why, strlen(rows[i].why)), 0);
    }
}

/* As upstream: what a hint says in other words is as if it were not said. */
static void test_words_that_are_not_known(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *hints = "{'gpu':{'requiredTopologyScope':'Rack','exclusivePolicy':'Mine'},"
                        "'toaster':{'allocateStrategy':'Sometimes'}}";

    begin(&f, state, &(struct device_text){ .gpus = 2 });
    fixture_try(&f,
                wanting(f.base, &(struct pod_text){ .requests = GPUS(2),
                                                    .annotations = annotation(
                                                        f.base, "device-allocate-hint", hints) }));
    assert_string_equal(reserve(&f), "gpu 0,1");
}

/* A partition with a card that is not there is named, and the others serve. */
static void test_partitions_with_unknown_minors(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const struct device_text text = {
        .gpus = 4,
        .annotations = annotation(*state, "gpu-partitions",
                                  "{'2':[{'minors':[0,9],'allocationScore':1},"
                                  "{'minors':[2,3],'allocationScore':1}]}"),
    };
    const char *bad = NULL;

    begin(&f, state, &text);
    CLEANUP(kobj_unref)
    struct kobj *o = fixture_object(f.base, &kind_device, device_text(f.base, &text));
    CLEANUP(inventory_unref)
    struct inventory *inv = inventory_new(device_of(o), NULL, false, f.base->arena, &bad);
    assert_string_equal(bad,
                        "scheduling.koordinator.sh/gpu-partitions: there is no GPU with minor 9");
    assert_non_null(inv);
    fixture_try(&f, wanting(f.base, &(struct pod_text){ .requests = GPUS(2) }));
    assert_string_equal(reserve(&f), "gpu 2,3");
}

/* ---- with CPUs ------------------------------------------------------------------------------- */

static const struct ks_registered with_numa[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_numa_resource, 1, true },
    { &ks_plugin_device_share, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* Two NUMA nodes of 16 CPUs; so many of the first one's are taken. */
static void topology(struct plugin_fixture *f, int taken)
{
    attempt_end(&f->a);
    fixture_put(f, &kind_noderesourcetopology,
                arena_printf(f->base->arena,
                             "{'metadata':{'name':'n1'},'topologyPolicies':["
                             "'SingleNUMANodePodLevel'],'zones':[{'name':'node-0','type':'Node',"
                             "'resources':[{'name':'cpu','allocatable':'%d'}]},{'name':'node-1',"
                             "'type':'Node','resources':[{'name':'cpu','allocatable':'16'}]}]}",
                             16 - taken));
}

/* CPUs and devices come from one NUMA node, whoever of the two plugins decides where. */
static void test_devices_follow_the_cpus(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct pod_text pod = { .requests = "'cpu':'8'," GPUS(2) };

    fixture_init_with(&f, state, with_numa, NULL);
    node(&f, "");
    device(&f, &(struct device_text){ NODE_T });
    topology(&f, 0);
    fixture_try(&f, wanting(f.base, &pod));
    assert_string_equal(reserve(&f), "gpu 0,1");
    profile_unreserve(f.profile, pod_of(f.obj), "n1", NULL);
    nodecache_forget(f.cache, f.obj->meta.uid);
    topology(&f, 12); /* four CPUs are left there */
    fixture_try(&f, wanting(f.base, &pod));
    assert_string_equal(reserve(&f), "gpu 4,5");
    profile_unreserve(f.profile, pod_of(f.obj), "n1", NULL);
    nodecache_forget(f.cache, f.obj->meta.uid);
    holder(&f, "h", "{'gpu':[" FULL(4) "," FULL(5) "," FULL(6) "," FULL(7) "]}");
    fixture_try(&f, wanting(f.base, &pod));
    assert_false(fixture_fits(&f, "n1")); /* cards there, CPUs here */
}

/* Unless somebody switched it off. */
static void test_devices_that_need_not_follow(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, with_numa,
                      "{'DeviceShare':{'disableDeviceNUMATopologyAlignment':true}}");
    node(&f, "");
    device(&f, &(struct device_text){ NODE_T });
    topology(&f, 12);
    fixture_try(&f, wanting(f.base, &(struct pod_text){ .requests = "'cpu':'8'," GPUS(2) }));
    assert_string_equal(reserve(&f), "gpu 0,1");
}

/* ---- REST ------------------------------------------------------------------------------------ */

static const char *rest(struct plugin_fixture *f, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);
    struct kerr err = { 0 };
    const struct ks_get g = { .params = &name, .arena = f->arena };
    const struct ks_path *path = &device_paths[name ? 1 : 0];

    if (path->get(plugin_of(f)->holdings, &g, &w, &err) < 0)
        return arena_strdup(f->arena, err.text);
    return arena_strdup(f->arena, strbuf_str(&b));
}

static void test_summaries(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    begin(&f, state, &(struct device_text){ .gpus = 2, .fpgas = 1 });
    holder(&f, "h",
           "{'gpu':[{'minor':0,'resources':{'koordinator.sh/gpu-core':'49'}},{'minor':1,"
           "'resources':{'koordinator.sh/gpu-core':'49'}}],'fpga':[{'minor':0,'resources':{"
           "'koordinator.sh/fpga':'51'}}]}");
    fixture_node(&f, "{'metadata':{'name':'bare'},'status':{'allocatable':{'cpu':'1'}}}");
    const char *one = rest(&f, "n1");
    assert_non_null(strstr(one, "\"deviceTotal\":{\"koordinator.sh/fpga\":\"100\",\"koordinator.sh"
                                "/gpu-core\":\"200\","));
    assert_non_null(strstr(one, "\"deviceFree\":{\"koordinator.sh/fpga\":\"49\",\"koordinator.sh/"
                                "gpu-core\":\"102\","));
    assert_non_null(strstr(one, "\"deviceUsed\":{\"koordinator.sh/fpga\":\"51\",\"koordinator.sh/"
                                "gpu-core\":\"98\"}"));
    assert_non_null(strstr(one, "\"allocateSet\":{\"gpu\":{\"default/h\":{\"0\":{\"koordinator.sh"
                                "/gpu-core\":\"49\"},"));
    assert_non_null(strstr(rest(&f, NULL), "{\"n1\":{\"deviceTotal\""));
    assert_null(strstr(rest(&f, NULL), "bare"));
    assert_string_equal(rest(&f, "bare"), "cannot find node bare");
    assert_string_equal(rest(&f, "nowhere"), "cannot find node nowhere");
}

/* ---- who has what ---------------------------------------------------------------------------- */

static const char *cards(struct plugin_fixture *f, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };
    int r = cardmap_write(plugin_of(f)->holdings, name, &b, &err);

    return arena_strdup(f->arena, r < 0 ? err.text : strbuf_str(&b));
}

static void test_cards_and_what_is_fragmented(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    begin(&f, state, &(struct device_text){ .gpus = 3 });
    fixture_node(&f, "{'metadata':{'name':'bare'},'status':{'allocatable':{'cpu':'1'}}}");
    holder(&f, "h",
           "{'gpu':[{'minor':0,'resources':{'koordinator.sh/gpu-core':'30','koordinator.sh/"
           "gpu-memory-ratio':'40'}}]}");
    const char *all = cards(&f, NULL);
    assert_non_null(strstr(all, "\"holders\":[{\"name\":\"default/h\",\"core\":30,\"memory\":"));
    assert_non_null(strstr(all, "\"free\":260"));
    assert_non_null(strstr(all, "{\"percent\":50,\"cards\":1,\"fits\":5,\"usable\":250}"));
    assert_non_null(strstr(all, "{\"percent\":100,\"cards\":2,\"fits\":1,\"usable\":200}"));
    assert_non_null(strstr(all, "{\"percent\":100,\"cards\":4,\"fits\":0,\"usable\":0}"));
    assert_string_equal(all, cards(&f, "n1"));
    assert_string_equal(cards(&f, "bare"), "node bare has no GPUs");
    assert_string_equal(cards(&f, "nowhere"), "there is no node nowhere");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_hints),
        FIXTURE_TEST(test_no_hints_without_places),
        FIXTURE_TEST(test_designated_cards),
        FIXTURE_TEST(test_victims_free_their_cards),
        FIXTURE_TEST(test_models_that_cannot_share),
        FIXTURE_TEST(test_annotations_that_nobody_understands),
        FIXTURE_TEST(test_words_that_are_not_known),
        FIXTURE_TEST(test_partitions_with_unknown_minors),
        FIXTURE_TEST(test_devices_follow_the_cpus),
        FIXTURE_TEST(test_devices_that_need_not_follow),
        FIXTURE_TEST(test_summaries),
        FIXTURE_TEST(test_cards_and_what_is_fragmented),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
