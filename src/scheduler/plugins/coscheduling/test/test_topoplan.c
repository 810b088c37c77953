/* test_topoplan.c - plans for all members of a gang, members that come later, and the score of
 * single pods (sched-gang 7.4-7.6). */
#include "scheduler/test/plugin_fixture.h"

#include "api/koord/networktopology.h"
#include "api/protocol/keys.h"
#include "scheduler/plugins/coscheduling/topo_plan.h"

enum { MEMBERS = 32 };

struct plan_fixture {
    struct plugin_fixture p;
    struct topo_network *network;
    struct kobj *pods[MEMBERS];
    struct network_topology_spec spec;
    struct topo_job job;
    struct topo_plan *plan;
    enum ks_code code;
    const char *why;
};

#define LAYERS                                                                                    \
    "{'metadata':{'name':'default'},'spec':{'networkTopologySpec':["                              \
    "{'topologyLayer':'SpineLayer','labelKey':['net/spine']},"                                    \
    "{'topologyLayer':'BlockLayer','parentTopologyLayer':'SpineLayer','labelKey':['net/block']}," \
    "{'topologyLayer':'NodeTopologyLayer','parentTopologyLayer':'BlockLayer'}]}}"

static void start(struct plan_fixture *f, void **state)
{
    struct kerr err = { 0 };
    void *self;

    *f = (struct plan_fixture){ 0 };
    fixture_init(&f->p, state, NULL, NULL);
    f->p.env.network_topology = true;
    assert_int_equal(topo_network_service.create(&f->p.env, NULL, &self, &err), 0);
    f->network = self;
    fixture_put(&f->p, &kind_network_topology, LAYERS);
}

static void plan_fixture_end_p(struct plan_fixture *f)
{
    attempt_end(&f->p.a);
    topo_plan_free(f->plan);
    for (uint32_t i = 0; i < f->job.n; i++)
        kobj_unref(f->pods[i]);
    topo_network_service.destroy(f->network);
    fixture_fini_p(&f->p);
}

static void node(struct plan_fixture *f, const char *name, const char *spine, const char *block,
                 unsigned cpu)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':'%s',"
                   "'net/spine':'%s','net/block':'%s'}},'status':{'allocatable':{'cpu':'%u',"
                   "'memory':'64Gi','pods':'20'}}}",
                   name, name, spine, block, cpu);
    fixture_node(&f->p, text);
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->p.base, &kind_node, text);
    topo_network_service.node(f->network, NULL, node_of(o));
}

/* spine s1{b1{node-1,node-8},b2{node-2,node-7}}, s2{b3{node-3,node-6},b4{node-4,node-5}} */
static void eight(struct plan_fixture *f)
{
    node(f, "node-1", "s1", "b1", 16);
    node(f, "node-2", "s1", "b2", 16);
    node(f, "node-3", "s2", "b3", 16);
    node(f, "node-4", "s2", "b4", 16);
    node(f, "node-5", "s2", "b4", 16);
    node(f, "node-6", "s2", "b3", 16);
    node(f, "node-7", "s1", "b2", 16);
    node(f, "node-8", "s1", "b1", 16);
}

static const char *pod_text(struct plan_fixture *f, const char *name, unsigned cpu,
                            const char *node, const char *meta, const char *spec)
{
    return arena_printf(f->p.base->arena,
                        "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'%s},'spec':{%s%s%s"
                        "'containers':[{'name':'c','resources':{'requests':{'cpu':'%u'}}}]%s}}",
                        name, name, meta, *node ? "'nodeName':'" : "", node, *node ? "'," : "", cpu,
                        spec);
}

/* A pod that has a node; the services hear of it. */
static void occupy(struct plan_fixture *f, const char *name, unsigned cpu, const char *node,
                   const char *meta)
{
    const char *text = pod_text(f, name, cpu, node, meta, "");

    fixture_pod(&f->p, text);
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->p.base, &kind_pod, text);
    topo_network_service.pods->placed(f->network, NULL, pod_of(o));
}

static void member_of(struct plan_fixture *f, const char *name, unsigned cpu, const char *meta,
                      const char *spec)
{
    f->pods[f->job.n++] =
        fixture_object(f->p.base, &kind_pod, pod_text(f, name, cpu, "", meta, spec));
}

static void members(struct plan_fixture *f, unsigned n, unsigned cpu)
{
    char name[16];

    for (unsigned i = 1; i <= n; i++) {
        (void)snprintf(name, sizeof name, "p%u", i);
        member_of(f, name, cpu, "", "");
    }
}

static struct network_topology_spec rules_of(struct plan_fixture *f, const char *rules)
{
    char *text = arena_printf(f->p.base->arena, "{\"gatherStrategy\":[%s]}", rules);
    struct network_topology_spec spec;
    struct kerr err = { 0 };

    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    assert_int_equal(network_topology_spec_decode(text, f->p.base->arena, &spec, &err), 0);
    return spec;
}

/* The nodes of the members in their order, "node-1 node-8"; "": there is no plan. */
static const char *plan(struct plan_fixture *f, const char *rules)
{
    struct ks_texts why = { .arena = f->p.base->arena };
    const char *text = "";

    f->spec = rules_of(f, rules);
    f->job.spec = &f->spec;
    f->job.pods = f->pods;
    qsort(f->pods, f->job.n, sizeof f->pods[0], topo_compare_pods);
    attempt_end(&f->p.a);
    kobj_unref(f->p.obj);
    f->p.obj = kobj_ref(f->pods[0]);
    arena_reset(f->p.arena);
    fixture_attempt(&f->p, &f->p.a, false);
    uint32_t mark = ks_overlay_mark(f->p.a.overlay);
    f->plan = topo_plan_free(f->plan);
    f->code = topo_plan_make(f->network, &f->p.a, &f->job, &f->plan, &why);
    assert_int_equal(ks_overlay_mark(f->p.a.overlay), mark);
    assert_false(f->network->planning);
    f->why = why.n ? why.items[0] : "";
    for (uint32_t i = 0; f->plan && i < f->job.n; i++)
        text = arena_printf(f->p.base->arena, "%s%s%s", text, i ? " " : "",
                            topo_plan_node(f->plan, f->pods[i]->meta.uid));
    return text;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void test_the_cases_of_the_spec(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;

    start(&f, state);
    eight(&f);
    members(&f, 4, 16);
    assert_string_equal(plan(&f, "{'layer':'SpineLayer','strategy':'PreferGather'}"),
                        "node-1 node-8 node-2 node-7");
    occupy(&f, "x", 1, "node-1", "");
    occupy(&f, "y", 1, "node-4", "");
    assert_string_equal(plan(&f, "{'layer':'SpineLayer','strategy':'MustGather'}"), "");
    assert_int_equal(f.code, KS_UNSCHEDULABLE);
    assert_string_equal(
        f.why, "no candidate topology nodes can accommodate job, desiredOfferSlot: 4, topology "
               "topologyNode SpineLayer/s1: 3;topology topologyNode SpineLayer/s2: 3, 0/8 nodes "
               "are available: 8 Insufficient cpu.");
    assert_null(f.plan);
}

static void test_two_pods(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;

    start(&f, state);
    eight(&f);
    members(&f, 2, 16);
    assert_string_equal(plan(&f, "{'layer':'BlockLayer','strategy':'MustGather'}"),
                        "node-1 node-8");
    assert_null(topo_plan_node(f.plan, kuid_parse("other", 5)));
}

static void test_two_small_pods_share_a_node(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;

    start(&f, state);
    eight(&f);
    members(&f, 2, 8);
    assert_string_equal(plan(&f, ""), "node-1 node-1");
}

/* pod10 after pod2, and ranks before names. */
static void test_members_keep_the_order_of_their_index(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;

    start(&f, state);
    eight(&f);
    member_of(&f, "p10", 16, ",'annotations':{'" ANNO_GANG_TOPOLOGY_INDEX "':'10'}", "");
    member_of(&f, "p2", 16, ",'annotations':{'" ANNO_GANG_TOPOLOGY_INDEX "':'2'}", "");
    member_of(&f, "a", 16, ",'annotations':{'" ANNO_GANG_TOPOLOGY_INDEX "':'x'}", "");
    member_of(&f, "z", 16, ",'annotations':{'" ANNO_GANG_TOPOLOGY_INDEX "':'0'}", "");
    assert_string_equal(plan(&f, ""), "node-1 node-8 node-2 node-7");
    assert_string_equal(topo_plan_node(f.plan, kuid_parse("z", 1)), "node-1");
    assert_string_equal(topo_plan_node(f.plan, kuid_parse("p2", 2)), "node-8");
    assert_string_equal(topo_plan_node(f.plan, kuid_parse("p10", 3)), "node-2");
    assert_string_equal(topo_plan_node(f.plan, kuid_parse("a", 1)), "node-7");
}

/* A parameter server and its workers: the slots were counted with small pods. */
static void test_members_that_differ(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;

    start(&f, state);
    node(&f, "a", "s1", "b1", 16);
    node(&f, "b", "s1", "b1", 16);
    member_of(&f, "ps-1", 2, "", "");
    member_of(&f, "ps-2", 2, "", "");
    member_of(&f, "worker-1", 12, "", "");
    member_of(&f, "worker-2", 12, "", "");
    assert_string_equal(plan(&f, "{'layer':'BlockLayer','strategy':'MustGather'}"), "a a a b");
}

/* Members that mind each other across nodes. */
static void test_members_that_must_not_share_a_block(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;
    static const char apart[] =
        ",'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
        "'topologyKey':'net/block','labelSelector':{'matchLabels':{'app':'x'}}}]}}";

    start(&f, state);
    eight(&f);
    for (unsigned i = 0; i < 4; i++) {
        const char *const names[] = { "p1", "p2", "p3", "p4" };
        member_of(&f, names[i], 1, ",'labels':{'app':'x'}", apart);
    }
    assert_string_equal(plan(&f, ""), "node-1 node-2 node-3 node-4");
    assert_string_equal(plan(&f, "{'layer':'SpineLayer','strategy':'MustGather'}"), "");
    assert_int_equal(f.code, KS_UNSCHEDULABLE);
}

static void test_rows_that_are_left_out(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;
    static const char there[] =
        ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
        "'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name','operator':'In','values':["
        "'node-3']}]}]}}}";

    start(&f, state);
    eight(&f);
    member_of(&f, "p1", 1, "", there);
    member_of(&f, "p2", 1, "", there);
    assert_string_equal(plan(&f, ""), "node-3 node-3");
}

/* A member that no plugin lets in anywhere. */
static void test_a_member_that_is_refused_as_a_whole(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;

    start(&f, state);
    node(&f, "a", "s1", "b1", 16);
    member_of(&f, "p1", 1, "", "");
    member_of(&f, "p2", 1, "",
              ",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'no'}}]");
    assert_string_equal(plan(&f, ""), "");
    assert_contains(f.why, "persistentvolumeclaim \"no\" not found");
}

/* Nodes that are not in the tree have room, but nobody is planned there. */
static void test_nodes_outside_of_the_tree(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;

    start(&f, state);
    node(&f, "a", "", "b1", 64);
    node(&f, "b", "s1", "b1", 16);
    members(&f, 2, 12);
    assert_string_equal(plan(&f, ""), "");
    assert_contains(f.why,
                    "ClusterTopologyLayer/: 1, 0/2 nodes are available: 1 Insufficient cpu.");
}

static void test_pods_of_the_same_selector_attract(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;
    static const char selector[] = ",'annotations':{'" ANNO_NETWORK_TOPOLOGY_SELECTOR "':'job'}";

    start(&f, state);
    eight(&f);
    occupy(&f, "x", 1, "node-6", selector);
    member_of(&f, "p1", 8, selector, "");
    assert_string_equal(plan(&f, ""), "node-6");
    topo_network_service.pods->gone(f.network, pod_of(f.p.obj)); /* not known: nothing happens */
    CLEANUP(kobj_unref)
    struct kobj *x =
        fixture_object(f.p.base, &kind_pod, pod_text(&f, "x", 1, "node-6", selector, ""));
    topo_network_service.pods->gone(f.network, pod_of(x));
    assert_string_equal(plan(&f, ""), "node-1");
}

/* ---- members that come later ----------------------------------------------------------------- */

static enum ks_code stay(struct plan_fixture *f, const char *rules, const char *const *nodes,
                         uint32_t n, struct ks_only *ret, const char **ret_why)
{
    struct ks_texts why = { .arena = f->p.base->arena };
    struct network_topology_spec spec = rules_of(f, rules);
    struct ks_cycle c = { .nodes = nodecache_nodes(f->p.cache), .arena = f->p.base->arena };

    *ret = (struct ks_only){ 0 };
    enum ks_code code = topo_stay(&f->network->tree, &spec, nodes, n, &c, ret, &why);
    *ret_why = why.n ? why.items[0] : "";
    return code;
}

static void test_later_members_stay_in_the_domain(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;
    static const char *const together[] = { "node-1", "node-8" };
    static const char *const apart[] = { "node-1", "node-2" };
    static const char *const gone[] = { "gone", "node-1" };
    static const char block[] = "{'layer':'BlockLayer','strategy':'MustGather'}";
    struct ks_only only;
    const char *why;

    start(&f, state);
    eight(&f);
    assert_int_equal(stay(&f, block, together, 2, &only, &why), KS_SUCCESS);
    assert_true(only.set);
    assert_int_equal(only.n, 2);
    assert_int_equal(only.rows[0], fixture_row(&f.p, "node-1"));
    assert_int_equal(only.rows[1], fixture_row(&f.p, "node-8"));
    assert_int_equal(stay(&f, block, gone, 2, &only, &why), KS_SUCCESS);
    assert_int_equal(only.n, 2);
    assert_int_equal(stay(&f, block, apart, 2, &only, &why), KS_UNRESOLVABLE);
    assert_string_equal(why, "members of the gang are in several domains of BlockLayer, where they "
                             "must gather: b1 and b2");
    assert_int_equal(stay(&f, block, gone, 1, &only, &why), KS_UNRESOLVABLE);
    assert_string_equal(why, "no member of the gang is on a node of the network topology");
    assert_int_equal(
        stay(&f, "{'layer':'SpineLayer','strategy':'MustGather'}", apart, 2, &only, &why),
        KS_SUCCESS);
    assert_int_equal(only.n, 4);
    assert_int_equal(
        stay(&f, "{'layer':'SpineLayer','strategy':'PreferGather'}", apart, 2, &only, &why),
        KS_SKIP);
    assert_int_equal(
        stay(&f, "{'layer':'NodeTopologyLayer','strategy':'MustGather'}", together, 1, &only, &why),
        KS_SUCCESS);
    assert_int_equal(only.n, 1);
    assert_int_equal(
        stay(&f, "{'layer':'NodeTopologyLayer','strategy':'MustGather'}", together, 2, &only, &why),
        KS_UNRESOLVABLE);
}

/* ---- single pods ----------------------------------------------------------------------------- */

static void test_scores_of_single_pods(void **state)
{
    CLEANUP(plan_fixture_end) struct plan_fixture f;
    static const char selector[] = ",'annotations':{'" ANNO_NETWORK_TOPOLOGY_SELECTOR "':'job'}";
    static const struct {
        const char *node;
        int64_t place;
    } want[] = { { "node-2", 0 }, { "node-1", 1 }, { "node-9", 2 },
                 { "node-3", 3 }, { "node-4", 4 }, { "node-5", 5 } };
    int64_t out[16];

    start(&f, state);
    eight(&f);
    node(&f, "node-9", "s1", "b1", 16);
    occupy(&f, "x", 16, "node-8", selector);
    occupy(&f, "y", 16, "node-7", selector);
    occupy(&f, "z", 16, "node-6", selector);
    fixture_try(&f.p, pod_text(&f, "p", 16, "", selector, ""));
    assert_int_equal(f.p.a.feasible, 6);
    struct ks_cycle c = f.p.a.cycle;
    c.rejected = f.p.a.by;
    assert_int_equal(topo_pre_score(f.network, &c, &f.p.a.pod, &c.state), KS_SUCCESS);
    topo_score(&c, (struct ks_span){ 0, 9 }, out);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_int_equal(out[fixture_row(&f.p, want[i].node)], want[i].place);
    fixture_try(&f.p, pod_text(&f, "p", 16, "", "", ""));
    c = f.p.a.cycle;
    assert_int_equal(topo_pre_score(f.network, &c, &f.p.a.pod, &c.state), KS_SKIP);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_the_cases_of_the_spec),
        FIXTURE_TEST(test_two_pods),
        FIXTURE_TEST(test_two_small_pods_share_a_node),
        FIXTURE_TEST(test_members_keep_the_order_of_their_index),
        FIXTURE_TEST(test_members_that_differ),
        FIXTURE_TEST(test_members_that_must_not_share_a_block),
        FIXTURE_TEST(test_rows_that_are_left_out),
        FIXTURE_TEST(test_a_member_that_is_refused_as_a_whole),
        FIXTURE_TEST(test_nodes_outside_of_the_tree),
        FIXTURE_TEST(test_pods_of_the_same_selector_attract),
        FIXTURE_TEST(test_later_members_stay_in_the_domain),
        FIXTURE_TEST(test_scores_of_single_pods),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
