/* test_koordlet_topology.c - NodeResourceTopology as a function of what is known (koordlet-metrics
 * 7). */
#include "api/protocol/cpu.h"
#include "base/test/asserts.h"
#include "koordlet/report/takecpus.h"
#include "koordlet/report/test/report_fixture.h"
#include "koordlet/report/topology.h"
#include "koordlet/report/topology_int.h"

/* ---- CPUs to set aside ----------------------------------------------------------------------- */

/* Sockets of some cores; the sibling of CPU i is i + half; every core number is used once. */
struct cpus {
    struct cpu_info info;
    struct cpu_place places[64];
};
static void cpus_init(struct cpus *c, int sockets, int cores, bool alternate)
{
    int half = sockets * cores;
    *c = (struct cpus){ .info = { .refs = 1, .n = (uint32_t)(2 * half) } };
    c->info.cpus = c->places;
    c->info.nnodes = (uint32_t)sockets;
    for (int i = 0; i < 2 * half; i++) {
        int core = i % half, socket = alternate ? core % sockets : core / cores;
        c->places[i] =
            (struct cpu_place){ .cpu = i, .core = core, .socket = socket, .node = socket };
    }
}

static const char *taken(struct object_fixture *b, const struct cpus *c, const char *free_list,
                         int64_t n)
{
    struct cpuset all = cpu_info_set(&c->info), got;
    struct kerr err = { 0 };

    if (free_list)
        assert_int_equal(cpuset_parse(free_list, strlen(free_list), &all, &err), 0);
    if (cpus_take(&c->info, &all, n, &got, &err) < 0)
        return err.text[0] ? "refused" : "";
    return cpuset_format(&got, b->arena);
}

static void test_cpus_are_taken_whole_first(void **state)
{
    struct object_fixture *b = *state;
    struct cpus c;

    cpus_init(&c, 2, 3, true);
    assert_string_equal(taken(b, &c, NULL, 0), "");
    assert_string_equal(taken(b, &c, NULL, 1), "0");
    assert_string_equal(taken(b, &c, NULL, 2), "0,6");
    assert_string_equal(taken(b, &c, NULL, 3), "0,2,6");
    assert_string_equal(taken(b, &c, NULL, 6), "0,2,4,6,8,10"); /* a socket */
    assert_string_equal(taken(b, &c, NULL, 8), "0-2,4,6-8,10");
    assert_string_equal(taken(b, &c, NULL, 12), "0-11");
    assert_string_equal(taken(b, &c, NULL, 13), "refused");
    /* The socket with the fewest free CPUs goes first; a core that is half gone is no whole one. */
    assert_string_equal(taken(b, &c, "0-5,7,9,11", 2), "1,7");
    assert_string_equal(taken(b, &c, "0-5,7,9,11", 1), "0");
    assert_string_equal(taken(b, &c, "0-5,7,9,11", 6), "1,3,5,7,9,11");
}

static const char *reserved(struct object_fixture *b, const char *explicit, const char *kube,
                            const char *sys)
{
    struct kstrpair k = { "cpu", kube }, s = { "cpu", sys };
    struct kubelet_config config = { .reserved_system_cpus = explicit };
    struct cpuset got;
    struct kerr err = { 0 };
    struct cpus c;

    cpus_init(&c, 2, 3, true);
    if (kube)
        config.kube_reserved.items = &k, config.kube_reserved.n = 1;
    if (sys)
        config.system_reserved.items = &s, config.system_reserved.n = 1;
    return kubelet_reserved_cpus(&config, &c.info, &got, &err) < 0 ? "none"
                                                                   : cpuset_format(&got, b->arena);
}

static void test_reserved_cpus_of_the_kubelet(void **state)
{
    struct object_fixture *b = *state;

    assert_string_equal(reserved(b, "", "2", NULL), "0,6");
    assert_string_equal(reserved(b, "", "2500m", NULL), "0,2,6");
    assert_string_equal(reserved(b, "", "-2", NULL), "none");
    assert_string_equal(reserved(b, "", "0", NULL), "none");
    assert_string_equal(reserved(b, "", NULL, NULL), "none");
    assert_string_equal(reserved(b, "", "13", NULL), "none");
    assert_string_equal(reserved(b, "", "one", NULL), "none");
    assert_string_equal(reserved(b, "0-1", "10", NULL), "0-1");
    assert_string_equal(reserved(b, "", "1800m", "200m"), "0,6");
    assert_string_equal(reserved(b, "1-4", NULL, NULL), "1-4");
    assert_string_equal(reserved(b, "1-40", NULL, NULL), "none");
    assert_string_equal(reserved(b, "x", "2", NULL), "none");
}

/* ---- topology: the Must-hold list ------------------------------------------------------------ */

/* CPUs 0-3 on node 0 of socket 0, 4-7 on node 1 of socket 1. */
static void eight_cpus(struct cpus *c)
{
    *c = (struct cpus){ .info = { .refs = 1, .n = 8, .nnodes = 2 } };
    c->info.cpus = c->places;
    for (int i = 0; i < 8; i++)
        c->places[i] = (struct cpu_place){ .cpu = i, .core = i, .socket = i / 4, .node = i / 4 };
}

#define NRT_POD(n, labels, cpus)                                                                \
    "{'metadata':{'name':'pod" n "','namespace':'ns" n "','uid':'xxx-y" n "','labels':{" labels \
    "},'annotations':{'scheduling.koordinator.sh/resource-status':'{\\'cpuset\\':\\'" cpus      \
    "\\'}'}}}"
#define PLAIN_POD "{'metadata':{'name':'pod4','namespace':'ns4','uid':'xxx-y4'}}"

struct scene { /* the eight CPUs, three bound pods, a fourth without anything */
    struct cpus cpus;
    struct numa_info numa;
    struct numa_info_node nodes[2];
    struct podset *pods;
    struct kobj *node;
    struct kstrpair two_cpus;
    struct kubelet_config kubelet;
    struct topology_in in;
};

static struct podset *quoted_pods(struct object_fixture *b, const char *list)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    /* \' within a string is a quote of the JSON inside of it */
    for (const char *p = list; *p; p++) {
        if (p[0] == '\\' && p[1] == '\'')
            strbuf_append(&text, "\\\""), p++;
        else
            strbuf_appendc(&text, *p == '\'' ? '"' : *p);
    }
    return pods_of(b, strbuf_str(&text));
}

static void scene_init(struct scene *s, struct object_fixture *b, const char *node,
                       const char *pods)
{
    *s = (struct scene){ .two_cpus = { "cpu", "2000m" } };
    eight_cpus(&s->cpus);
    s->numa = (struct numa_info){ .refs = 1, .nodes = s->nodes, .n = 2 };
    s->nodes[0] = (struct numa_info_node){ .id = 0, .mem_total_kb = 263432804 };
    s->nodes[1] = (struct numa_info_node){ .id = 1, .mem_total_kb = 1024 };
    s->kubelet = (struct kubelet_config){ .cpu_manager_policy = "static" };
    s->kubelet.kube_reserved.items = &s->two_cpus;
    s->kubelet.kube_reserved.n = 1;
    s->pods = quoted_pods(b, pods);
    s->node = fixture_object(b, &kind_node, node);
    s->in = (struct topology_in){ .cpu = &s->cpus.info,
                                  .numa = &s->numa,
                                  .node = node_of(s->node),
                                  .pods = s->pods,
                                  .kubelet = &s->kubelet };
}
static void scene_fini_p(struct scene *s)
{
    podset_unref(s->pods);
    kobj_unref(s->node);
}

static struct topology compute(struct object_fixture *b, const struct scene *s)
{
    struct kerr err = { 0 };
    struct topology t;
    if (topology_compute(&s->in, b->arena, &t, &err) < 0)
        fail_msg("%s", err.text);
    return t;
}

static void assert_anno(const struct topology *t, const char *key, const char *want)
{
    const char *got = kstrmap_get(&t->annotations, key);
    assert_non_null(got);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    strbuf_append(&text, got);
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse(&text);
    assert_json(kj_root(doc), want);
}

#define PODS_453 \
    "[" NRT_POD("1", "", "4") "," NRT_POD("2", "", "3") "," NRT_POD("3", "", "5") "," PLAIN_POD "]"

static void test_pools_without_bound_pods(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;

    scene_init(&s, b, NODE, PODS_453);
    struct topology t = compute(b, &s);
    assert_anno(&t, ANNO_KUBELET_CPU_MANAGER, "{'policy':'static','reservedCPUs':'0-1'}");
    assert_anno(&t, ANNO_CPU_SHARED_POOLS,
                "[{'socket':0,'node':0,'cpuset':'0-2'},{'socket':1,'node':1,'cpuset':'6-7'}]");
    assert_anno(&t, ANNO_POD_CPU_ALLOCS, "null");
    assert_anno(&t, ANNO_NODE_RESERVATION, "{}");
    assert_anno(&t, ANNO_SYSTEM_QOS_RESOURCE, "{}");
    assert_string_equal(t.policy, "None");
    assert_int_equal(t.labels.n, 0);
    assert_anno(&t, ANNO_CPU_TOPOLOGY,
                "{'detail':[{'id':0,'core':0,'socket':0,'node':0},{'id':1,'core':1,'socket':0,"
                "'node':0},{'id':2,'core':2,'socket':0,'node':0},{'id':3,'core':3,'socket':0,"
                "'node':0},{'id':4,'core':4,'socket':1,'node':1},{'id':5,'core':5,'socket':1,"
                "'node':1},{'id':6,'core':6,'socket':1,'node':1},{'id':7,'core':7,'socket':1,"
                "'node':1}]}");
    assert_int_equal(qty_value(t.zones.items[0].resources.items[3].allocatable), 269755191296);
}

static void test_reservations_leave_the_pools(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;

    scene_init(&s, b, "{'metadata':{'name':'n'}}", PODS_453);
    kobj_unref(s.node);
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *root = kj_mobj(d), *meta = kj_mobj(d), *annotations = kj_mobj(d);
    kj_mset(d, root, "metadata", meta);
    kj_mset(d, meta, "name", kj_mstr(d, "n"));
    kj_mset(d, meta, "annotations", annotations);
    kj_mset(d, annotations, ANNO_NODE_RESERVATION, kj_mstr(d, "{\"reservedCPUs\":\"1-2\"}"));
    kj_mset(d, annotations, ANNO_SYSTEM_QOS_RESOURCE, kj_mstr(d, "{\"cpuset\":\"7\"}"));
    CLEANUP(kj_doc_free) struct kj_doc *doc = kj_freeze(root);
    struct kerr err = { 0 };
    assert_int_equal(kobj_decode(&kind_node, kj_root(doc), b->scratch, &s.node, &err), 0);
    s.in.node = node_of(s.node);
    for (int asked = 1; asked >= 0; asked--) {
        s.in.kubelet = asked ? &s.kubelet : NULL;
        struct topology t = compute(b, &s);
        assert_anno(&t, ANNO_CPU_SHARED_POOLS,
                    "[{'socket':0,'node':0,'cpuset':'0'},{'socket':1,'node':1,'cpuset':'6'}]");
        assert_anno(&t, ANNO_NODE_RESERVATION, "{'reservedCPUs':'1-2'}");
        assert_anno(&t, ANNO_SYSTEM_QOS_RESOURCE, "{'cpuset':'7'}");
        assert_anno(&t, ANNO_KUBELET_CPU_MANAGER,
                    asked ? "{'policy':'static','reservedCPUs':'0-1'}" : "{}");
    }
}

static void test_pods_that_the_kubelet_pinned(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;

    scene_init(&s, b, NODE, PODS_453);
    s.in.cpu_manager_state = STR("{\"policyName\":\"static\",\"entries\":{\"xxx-y4\":{\"demo\":"
                                 "\"1\"}}}");
    struct topology t = compute(b, &s);
    assert_anno(&t, ANNO_CPU_SHARED_POOLS,
                "[{'socket':0,'node':0,'cpuset':'0,2'},{'socket':1,'node':1,'cpuset':'6-7'}]");
    assert_anno(&t, ANNO_POD_CPU_ALLOCS,
                "[{'namespace':'ns4','name':'pod4','uid':'xxx-y4','cpuset':'1',"
                "'managedByKubelet':true}]");
}

static void test_checkpoints_that_cannot_be_read(void **state)
{
    static const char *const bad[] = { "{\"entries\":", "[]", "{\"entries\":[]}",
                                       "{\"entries\":{\"u\":\"0-1\"}}",
                                       "{\"entries\":{\"u\":{\"c\":1}}}" };
    static const char *const none[] = { "null", "{}", "{\"entries\":null}",
                                        "{\"entries\":{\"u\":null,\"v\":{\"c\":null}}}",
                                        "{\"entries\":{\"u\":{\"c\":\"x\"}}}" };
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;
    struct topology t;

    scene_init(&s, b, NODE, PODS_453);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct kerr err = { 0 };
        s.in.cpu_manager_state = str_of(bad[i]);
        if (topology_compute(&s.in, b->arena, &t, &err) == 0)
            fail_msg("%s", bad[i]);
        assert_contains(err.text, "failed to calculate Kubelet allocated cpus, err: "
                                  "failed to cal GuaranteedCpu, err: ");
    }
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        s.in.cpu_manager_state = str_of(none[i]);
        t = compute(b, &s);
        assert_anno(&t, ANNO_POD_CPU_ALLOCS, "null");
    }
}

/* Pods that koord looks after are in the checkpoint too; they are not the kubelet's. */
static void test_checkpoint_without_pods_of_koord(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;

#define QOS(q) "'koordinator.sh/qosClass':'" q "'"
    scene_init(&s, b, NODE,
               "[{'metadata':{'name':'a','namespace':'d','uid':'u1'}},"
               "{'metadata':{'name':'b','namespace':'d','uid':'u2','labels':{" QOS(
                   "LS") "}}},"
                         "{'metadata':{'name':'c','namespace':'d','uid':'u3','labels':{" QOS(
                             "BE") "}}}," NRT_POD("4", QOS("LSR"), "6") "," NRT_POD("5", QOS("LSE"),
                                                                                    "7") "]");
    s.in.cpu_manager_state =
        STR("{\"entries\":{\"u1\":{\"x\":\"1-2\",\"y\":\"2-3\"},\"u2\":{\"x\":\"4\"},\"u3\":{\"x\":"
            "\"4\"},\"xxx-y4\":{\"x\":\"4\"},\"xxx-y5\":{\"x\":\"4\"},\"gone\":{\"x\":\"\"}}}");
    struct topology t = compute(b, &s);
    assert_anno(&t, ANNO_POD_CPU_ALLOCS,
                "[{'namespace':'d','name':'a','uid':'u1','cpuset':'1-3','managedByKubelet':true}]");
}

static void test_best_effort_pools_lose_lse_only(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;

    scene_init(&s, b, NODE,
               "[" NRT_POD("1", QOS("LSR"),
                           "4") "," NRT_POD("2", "", "3") "," NRT_POD("3", QOS("LSE"), "5") "]");
    struct topology t = compute(b, &s);
    assert_anno(&t, ANNO_BE_CPU_SHARED_POOLS,
                "[{'socket':0,'node':0,'cpuset':'0-3'},{'socket':1,'node':1,'cpuset':'4,6-7'}]");
}

static void test_zones_keep_a_share_back(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;
    struct numa_info_node three[3] = { { 0, 8 << 20, 0, 0 },
                                       { 1, 8 << 20, 0, 0 },
                                       { 2, 8 << 20, 0, 0 } };

    scene_init(&s, b,
               "{'metadata':{'name':'n','labels':{'node.koordinator.sh/enable-numa-reservation':"
               "'true'}},'status':{'capacity':{'cpu':'8','memory':'20Gi'},'allocatable':{'cpu':'4',"
               "'memory':'10Gi'}}}",
               "[]");
    s.numa = (struct numa_info){ .refs = 1, .nodes = three, .n = 3 };
    struct kerr err = { 0 };
    struct topology t;
    assert_that(topology_compute(&s.in, b->arena, &t, &err), <, 0);
    assert_contains(err.text, "NUMA node number not matched");
    s.cpus.info.nnodes = 3; /* the third has memory only */
    t = compute(b, &s);
    const struct nrt_resource *cpu = &t.zones.items[0].resources.items[0];
    const struct nrt_resource *memory = &t.zones.items[0].resources.items[3];
    assert_int_equal(qty_milli(cpu->capacity), 4000);
    assert_int_equal(qty_milli(cpu->allocatable), 4000 - 1334);
    assert_int_equal(qty_milli(memory->allocatable), 8 * GI * 1000 - 3579139413334);
    assert_int_equal(qty_value(memory->capacity), 8 * GI);
    assert_int_equal(qty_milli(t.zones.items[2].resources.items[0].allocatable), 0);
    assert_string_equal(kstrmap_get(&t.labels, LABEL_ENABLE_NUMA_RESERVATION), "true");
}

static void test_huge_pages_are_not_memory(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;

    scene_init(&s, b, NODE, "[]");
    s.nodes[0] = (struct numa_info_node){ 0, 4 << 20, 512, 1 };
    struct topology t = compute(b, &s);
    const struct nrt_resource *r = t.zones.items[0].resources.items;
    assert_int_equal(qty_value(r[1].allocatable), GI);
    assert_int_equal(qty_value(r[2].allocatable), GI);
    assert_int_equal(qty_value(r[3].allocatable), 2 * GI);
}

/* ---- topology against what is stored --------------------------------------------------------- */

static struct kobj *stored_of(struct object_fixture *b, const struct topology *t,
                              const struct kobj *node)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    topology_object(t, node_of(node), &text);
    return fixture_object(b, &kind_noderesourcetopology, strbuf_str(&text));
}

static struct kj_doc *patch_of(const struct topology *t, const struct kobj *stored)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    topology_patch(t, noderesourcetopology_of(stored), &text);
    return parse(&text);
}

static void test_new_object_is_owned_and_settled(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;

    scene_init(&s, b, NODE, PODS_453);
    struct topology t = compute(b, &s);
    CLEANUP(kobj_unref) struct kobj *stored = stored_of(b, &t, s.node);
    const struct owner_ref *owner = kobj_controller(stored);
    assert_string_equal(owner->name, "n");
    assert_string_equal(owner->kind, "Node");
    assert_true(owner->block_owner_deletion);
    assert_string_equal(kstrmap_get(&stored->meta.labels, LABEL_APP_MANAGED_BY), "Koordinator");
    assert_false(topology_differs(&t, noderesourcetopology_of(stored)));
    CLEANUP(kj_doc_free) struct kj_doc *patch = patch_of(&t, stored);
    assert_json(kj_root(patch), "{'metadata':{'resourceVersion':''}}");
}

static void test_others_parts_stay(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;

    scene_init(&s, b, NODE, "[]");
    struct topology t = compute(b, &s);
    CLEANUP(kobj_unref)
    struct kobj *stored = fixture_object(
        b, &kind_noderesourcetopology,
        "{'metadata':{'name':'n','resourceVersion':'7','labels':{'mine':'1'},'annotations':{"
        "'theirs':'x'}},'topologyPolicies':['None'],'zones':[{'name':'fake-name','type':'Node'},"
        "{'name':'node-0','type':'Node','parent':'socket','costs':[{'name':'node-1','value':21}],"
        "'attributes':[{'name':'a','value':'b'}],'resources':[{'name':'gpu','capacity':'2',"
        "'allocatable':'2','available':'1'},{'name':'cpu','capacity':'1','allocatable':'1',"
        "'available':'1'}]}]}");
    assert_true(topology_differs(&t, noderesourcetopology_of(stored)));
    CLEANUP(kj_doc_free) struct kj_doc *doc = patch_of(&t, stored);
    const struct kj_val *patch = kj_root(doc), *zone = kj_at(kj_get(patch, "zones"), 0);
    assert_null(kj_path(patch, "metadata.labels"));
    assert_int_equal(kj_len(kj_path(patch, "metadata.annotations")), 8);
    assert_null(kj_get(patch, "topologyPolicies"));
    assert_int_equal(kj_len(kj_get(patch, "zones")), 2);
    assert_json(kj_get(zone, "parent"), "'socket'");
    assert_json(kj_get(zone, "costs"), "[{'name':'node-1','value':21}]");
    assert_json(kj_get(zone, "attributes"), "[{'name':'a','value':'b'}]");
    assert_int_equal(kj_len(kj_get(zone, "resources")), 5);
    assert_json(kj_at(kj_get(zone, "resources"), 0),
                "{'name':'cpu','capacity':'4','allocatable':'4','available':'4'}");
    assert_json(kj_at(kj_get(zone, "resources"), 1),
                "{'name':'gpu','capacity':'2','allocatable':'2','available':'1'}");
}

/* Another writer of koordinator.sh/gpu or of what is available does not make us write. */
static void test_what_is_not_ours_makes_no_difference(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;

    scene_init(&s, b, NODE, "[]");
    struct topology t = compute(b, &s);
    CLEANUP(kobj_unref) struct kobj *stored = stored_of(b, &t, s.node);
    struct noderesourcetopology nrt = *noderesourcetopology_of(stored);
    struct nrt_zone zones[2] = { nrt.zones.items[0], nrt.zones.items[1] };
    struct nrt_resource more[5] = { { .name = "koordinator.sh/gpu" } };
    memcpy(more + 1, zones[0].resources.items, 4 * sizeof *more);
    more[1].available = qty_from_i64(1, QTY_DECIMAL_SI);
    zones[0].resources.items = more;
    zones[0].resources.n = 5;
    nrt.zones.items = zones;
    assert_false(topology_differs(&t, &nrt));
    more[1].allocatable = qty_from_i64(1, QTY_DECIMAL_SI);
    assert_true(topology_differs(&t, &nrt));
}

static void test_a_label_that_went_is_taken_away(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(scene_fini) struct scene s;
    struct kstrpair label = { LABEL_ENABLE_NUMA_RESERVATION, "true" };

    scene_init(&s, b, NODE, "[]");
    struct topology t = compute(b, &s), with = t;
    with.labels.items = &label;
    with.labels.n = 1;
    CLEANUP(kobj_unref) struct kobj *stored = stored_of(b, &with, s.node);
    assert_true(topology_differs(&t, noderesourcetopology_of(stored)));
    CLEANUP(kj_doc_free) struct kj_doc *patch = patch_of(&t, stored);
    assert_json(kj_root(patch), "{'metadata':{'resourceVersion':'','labels':{"
                                "'node.koordinator.sh/enable-numa-reservation':null}}}");
    assert_false(topology_equal(&t, &with));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_cpus_are_taken_whole_first),
        FIXTURE_TEST(test_reserved_cpus_of_the_kubelet),
        FIXTURE_TEST(test_pools_without_bound_pods),
        FIXTURE_TEST(test_reservations_leave_the_pools),
        FIXTURE_TEST(test_pods_that_the_kubelet_pinned),
        FIXTURE_TEST(test_checkpoints_that_cannot_be_read),
        FIXTURE_TEST(test_checkpoint_without_pods_of_koord),
        FIXTURE_TEST(test_best_effort_pools_lose_lse_only),
        FIXTURE_TEST(test_zones_keep_a_share_back),
        FIXTURE_TEST(test_huge_pages_are_not_memory),
        FIXTURE_TEST(test_new_object_is_owned_and_settled),
        FIXTURE_TEST(test_others_parts_stay),
        FIXTURE_TEST(test_what_is_not_ours_makes_no_difference),
        FIXTURE_TEST(test_a_label_that_went_is_taken_away),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
