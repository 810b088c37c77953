/* test_deviceplugin.c - DeviceShare on small clusters: NUMA hints, designated cards, victims,
 * scores, columns (sched-device 4, 5, 7), and random nodes where filter and reserve must agree. */
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

/* ---- random nodes and pods ------------------------------------------------------------------- */

struct dice {
    uint64_t s;
};
static uint32_t roll(struct dice *d, uint32_t n) /* [0, n) */
{
    d->s = d->s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(d->s >> 33) % n;
}

struct chance { /* one node and one pod */
    struct device_text device;
    struct pod_text pod;
    bool ruled; /* rules beyond amounts: a search does not find all that there is */
    int used[16];
    int count, percent;
};

static void draw_pod(struct object_fixture *f, struct dice *d, struct chance *c)
{
    const char *hint = "", *joint = "";
    uint32_t kind = roll(d, 4);

    c->count = 1 + (int)roll(d, 4);
    c->percent = kind == 0 ? 100 : 10 * (1 + (int)roll(d, 9));
    if (kind == 0)
        c->pod.requests = arena_printf(f->arena, "'nvidia.com/gpu':'%d'", c->count);
    else if (kind == 1)
        c->pod.requests =
            arena_printf(f->arena,
                         "'koordinator.sh/gpu.shared':'%d','koordinator.sh/gpu-core':'%d',"
                         "'koordinator.sh/gpu-memory-ratio':'%d'",
                         c->count, c->count * c->percent, c->count * c->percent);
    else {
        c->count = 1;
        c->pod.requests = arena_printf(f->arena, "'koordinator.sh/gpu':'%d'", c->percent);
    }
    if (c->device.per_pcie && roll(d, 4) == 0) {
        static const char *const scopes[] = { "Node", "NUMANode", "PCIe" };
        hint = arena_printf(f->arena, "'gpu':{'requiredTopologyScope':'%s'}", scopes[roll(d, 3)]);
        c->ruled = true;
    }
    if (c->device.rdmas && roll(d, 2)) {
        c->pod.requests = arena_printf(f->arena, "%s,'koordinator.sh/rdma':'%d'", c->pod.requests,
                                       1 + (int)roll(d, 100));
        joint = roll(d, 2) ? "{'deviceTypes':['gpu','rdma'],'requiredScope':'SamePCIe'}"
                           : "{'deviceTypes':['gpu','rdma']}";
        c->ruled = true;
    }
    c->pod.annotations = arena_printf(
        f->arena, "%s%s%s",
        *hint ? annotation(f, "device-allocate-hint", arena_printf(f->arena, "{%s}", hint)) : "",
        *hint && *joint ? "," : "", *joint ? annotation(f, "device-joint-allocate", joint) : "");
}

static struct chance draw(struct object_fixture *f, struct dice *d)
{
    struct chance c = { .device = { .gpus = 1 + (int)roll(d, 8) } };

    if (roll(d, 3)) {
        c.device.per_pcie = 1 + (int)roll(d, 3);
        c.device.pcies_per_numa = 1 + (int)roll(d, 2);
    }
    if (roll(d, 2))
        c.device.rdmas = (c.device.gpus + 1) / 2;
    if (roll(d, 8) == 0) {
        c.device.has_unhealthy = true;
        c.device.unhealthy = (int)roll(d, (uint32_t)c.device.gpus);
    }
    if (roll(d, 6) == 0) {
        c.device.labels = "'node.koordinator.sh/gpu-model':'H100'";
        c.ruled = true;
    }
    for (int i = 0; i < c.device.gpus; i++)
        c.used[i] = roll(d, 2) ? 0 : 10 * (int)roll(d, 11);
    draw_pod(f, d, &c);
    return c;
}

/* Cards that have enough, one by one: nothing cleverer is needed without rules. */
static bool brute_force(const struct chance *c)
{
    int found = 0;

    for (int i = 0; i < c->device.gpus; i++)
        found += !(c->device.has_unhealthy && c->device.unhealthy == i) &&
                 100 - c->used[i] >= c->percent;
    return found >= c->count;
}

static void check_one(void **state, struct dice *d)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct chance c = draw(*state, d);

    begin(&f, state, &c.device);
    for (int i = 0; i < c.device.gpus; i++)
        if (c.used[i])
            holder(&f, arena_printf(f.base->arena, "h%d", i),
                   arena_printf(f.base->arena,
                                "{'gpu':[{'minor':%d,'resources':{'koordinator.sh/gpu-core':'%d',"
                                "'koordinator.sh/gpu-memory-ratio':'%d'}}]}",
                                i, c.used[i], c.used[i]));
    fixture_try(&f, wanting(f.base, &c.pod));
    bool fits = fixture_fits(&f, "n1");
    if (!c.ruled && fits != brute_force(&c))
        fail_msg("%s on %s: the filter says %d", wanting(f.base, &c.pod),
                 device_text(f.base, &c.device), fits);
    if (!fits)
        return;
    const char *got = reserve(&f);
    if (strncmp(got, "gpu ", 4) != 0)
        fail_msg("%s on %s passes the filter, and then: %s", wanting(f.base, &c.pod),
                 device_text(f.base, &c.device), got);
    struct devrow row; /* and nothing is above its total */
    const struct ks_nodes *n = nodecache_nodes(f.cache);
    devrow_init(&row, plugin_of(&f)->holdings, n->node[0], &n->pods[0]);
    for (uint32_t i = 0; i < inventory_cards(row.inv); i++)
        if (row.inv->card[i].total.has)
            assert_true(amounts_fit(&row.used[i], &row.inv->card[i].total));
    devrow_fini(&row);
}

/* What the filter accepts reserve() allocates; and without rules nothing is denied that a search
 * would find. KOORD_DEVICE_ROUNDS: how many. */
static void test_filter_and_reserve_agree(void **state)
{
    const char *text = getenv("KOORD_DEVICE_ROUNDS");
    int rounds = text ? atoi(text) : 1000;
    struct dice d = { 1 };

    for (int i = 0; i < rounds; i++) {
        check_one(state, &d);
        arena_reset(((struct object_fixture *)*state)->arena);
    }
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
        FIXTURE_TEST(test_devices_follow_the_cpus),
        FIXTURE_TEST(test_devices_that_need_not_follow),
        FIXTURE_TEST(test_summaries),
        FIXTURE_TEST(test_cards_and_what_is_fragmented),
        FIXTURE_TEST(test_filter_and_reserve_agree),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
