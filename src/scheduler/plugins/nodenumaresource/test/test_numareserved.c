/* test_numareserved.c - CPUs and parts of NUMA nodes that reservations hold: who gets them
 * (sched-numa 9, 10). */
#include "scheduler/plugins/nodenumaresource/test/numa_cluster.h"

#include "api/koord/reservation.h"
#include "scheduler/observe/explain/whatif.h"
#include "scheduler/plugins/reservation/cache.h"

#define STATUS   "scheduling.koordinator.sh/resource-status"
#define SPEC     "scheduling.koordinator.sh/resource-spec"
#define REQUIRED "'" SPEC "':'{\\\"requiredCPUBindPolicy\\\":\\\"FullPCPUs\\\"}'"
#define AFFINITY "'scheduling.koordinator.sh/reservation-affinity':'{}'"
#define PARTS(node, cpu)                                              \
    "\\\"numaNodeResources\\\":[{\\\"node\\\":" node ",\\\"resources" \
    "\\\":{\\\"cpu\\\":\\\"" cpu "\\\"}}]"
#define CPUS(list) "\\\"cpuset\\\":\\\"" list "\\\""

/* ---- one reservation, as the plugin is told of it -------------------------------------------- */

struct told {
    struct plugin_fixture f;
    struct ks_reservation r;
    struct ks_owner owners[2], *list[2];
    const struct ks_reservation *matched[1];
    struct numa_request request;
    struct numa_try t;
};

static void holder(struct told *x, const char *name, const char *status)
{
    if (!status)
        return;
    const char *more =
        arena_printf(x->f.base->arena, ",'annotations':{'" STATUS "':'{%s}'}", status);
    fixture_pod(&x->f, pod(&x->f, name, 1, "LSR", more, "n1"));
}

struct reserved {
    enum allocate_policy policy;
    const char *holds, *first, *second; /* what it holds, and its owners do; NULL: nothing */
};

/* 2 sockets of 4 cores of 2 threads; the pod is about to use the reservation there. */
static void tell(struct told *x, void **state, const struct reserved *r, const char *incoming)
{
    fixture_init_with(&x->f, state, table, NULL);
    node(&x->f, "n1", 16, "");
    topology(&x->f, "n1", 2, 4, "", "");
    holder(x, "r", r->holds);
    holder(x, "o1", r->first);
    holder(x, "o2", r->second);
    fixture_try(&x->f, incoming);
    uint32_t row = fixture_row(&x->f, "n1");
    int slot = profile_slot(x->f.profile, NAME);
    x->r = (struct ks_reservation){ .uid = kuid_parse("uid-r", 5),
                                    .name = "r",
                                    .node = "n1",
                                    .policy = (uint8_t)r->policy,
                                    .owners = x->list };
    for (int i = 0; i < 2; i++) {
        const char *uid = i ? "uid-o2" : "uid-o1";
        x->owners[i] = (struct ks_owner){ .uid = kuid_parse(uid, strlen(uid)) };
        x->list[i] = &x->owners[i];
        x->r.nowners += (i ? r->second : r->first) != NULL;
    }
    x->matched[0] = &x->r;
    const struct ks_podlist *pods = &nodecache_nodes(x->f.cache)->pods[row];
    for (uint32_t i = 0; i < pods->n; i++)
        if (streq(pods->items[i]->obj.meta.name, "r")) {
            ks_overlay_remove_pod(x->f.a.overlay, row, pods->items[i]);
            break;
        }
    (void)attempt_fits(&x->f.a, row, NULL);
    attempt_enter(&x->f.a, (uint32_t)slot, x->f.a.state[slot]);
    x->t = (struct numa_try){ x->f.profile->slots[slot].self, &x->f.a.cycle, &x->f.a.pod, row,
                              &x->request };
    assert_true(incoming_on(x->t.n, x->t.c->state, ks_row(x->t.c->rows, row), &x->request));
    numa_reservations.restore(x->t.n, x->t.c, x->t.p, x->f.a.overlay,
                              &(struct ks_restored){ row, x->matched, 1, NULL, 0 });
}

/* The CPUs that it gets, or why it gets none. nominated: of the reservation that was chosen. */
static const char *outcome(const struct told *x, uint64_t mask, bool nominated)
{
    struct arena *a = x->f.base->arena;
    struct ks_texts why = { .arena = a };
    struct numa_allocation got;
    enum ks_code code =
        nominated ? numa_try_of(&x->t, &x->r, mask, &got, &why) : numa_try(&x->t, mask, &got, &why);

    if (code != KS_SUCCESS)
        return ks_texts_join(&why);
    return cpuset_is_empty(&got.cpus) ? "shared" : cpuset_format(&got.cpus, a);
}

/* ---- what must hold -------------------------------------------------------------------------- */

static const char *of_pod(struct told *x, const char *qos, int cpus, const char *labels,
                          const char *annotations)
{
    struct object_fixture *base = x->f.base;

    return arena_printf(base->arena,
                        "{'metadata':{'name':'p','namespace':'default','uid':'uid-p','labels':{"
                        "'koordinator.sh/qosClass':'%s'%s},'annotations':{%s}},'spec':{'priority':"
                        "9500,'containers':[{'name':'c','resources':{'requests':{'cpu':'%d'}}}]}}",
                        qos, labels, annotations, cpus);
}

static void test_what_must_hold(void **state)
{
    static const struct {
        struct reserved r;
        const char *qos;
        int cpus;
        const char *labels, *annotations;
        uint64_t mask;
        bool nominated;
        const char *outcome;
    } cases[] = {
        { { ALLOCATE_DEFAULT, CPUS("4-10"), NULL, NULL }, "LSR", 4, "", "", 0, false, "4-7" },
        { { ALLOCATE_RESTRICTED, CPUS("4-10"), NULL, NULL }, "LSR", 4, "", "", 0, false, "4-7" },
        { { ALLOCATE_DEFAULT, CPUS("4-10"), NULL, NULL },
          "LSR",
          4,
          ",'scheduling.koordinator.sh/reservation-ignored':'true'",
          "",
          0,
          false,
          "4-7" },
        { { ALLOCATE_RESTRICTED, CPUS("4-5"), NULL, NULL },
          "LSR",
          4,
          "",
          AFFINITY,
          0,
          false,
          "Reservation(s) not enough cpus available to satisfy request" },
        /* Nothing was required: beside the reservation. */
        { { ALLOCATE_RESTRICTED, CPUS("4-5"), NULL, NULL }, "LSR", 4, "", "", 0, false, "8-11" },
        { { ALLOCATE_RESTRICTED, PARTS("0", "2"), NULL, NULL },
          "LS",
          4,
          "",
          AFFINITY,
          1,
          false,
          "Reservation(s) Insufficient NUMA cpu" },
        /* Owners have 6-7: what is left. */
        { { ALLOCATE_RESTRICTED, CPUS("6-9"), CPUS("6-7"), NULL },
          "LSR",
          2,
          "",
          AFFINITY,
          0,
          false,
          "8-9" },
        { { ALLOCATE_RESTRICTED, CPUS("6-9"), CPUS("6-7"), CPUS("8-9") },
          "LSR",
          2,
          "",
          AFFINITY,
          0,
          false,
          "Reservation(s) not enough cpus available to satisfy request" },
        /* It never gets what an owner has, and goes to others only when it may. */
        { { ALLOCATE_ALIGNED, CPUS("6-9"), CPUS("6-7"), NULL },
          "LSR",
          4,
          "",
          AFFINITY,
          0,
          true,
          "0-1,8-9" },
        { { ALLOCATE_RESTRICTED, PARTS("1", "4"), NULL, NULL },
          "LS",
          4,
          "",
          "",
          1,
          true,
          "pod has a nominated reservation but cannot be allocated within its NUMA scope" },
        { { ALLOCATE_RESTRICTED, PARTS("1", "4"), NULL, NULL },
          "LS",
          4,
          "",
          "",
          2,
          true,
          "shared" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct told x = { .f.base = *state };
        tell(&x, state, &cases[i].r,
             of_pod(&x, cases[i].qos, cases[i].cpus, cases[i].labels, cases[i].annotations));
        const char *got = outcome(&x, cases[i].mask, cases[i].nominated);
        if (!streq(got, cases[i].outcome))
            fail_msg("case %zu: %s", i, got);
        fixture_fini_p(&x.f);
    }
}

/* A part of the NUMA node counts once, though the reservation and its owner both hold it: 7 of 8
 * are reserved, 4 of these in use, so 1 is left for others. */
static void test_nobody_counts_twice(void **state)
{
    static const char *const owner =
        ",'annotations':{'scheduling.koordinator.sh/reservation-allocated':"
        "'{\\\"name\\\":\\\"r\\\",\\\"uid\\\":\\\"uid-r\\\"}','" STATUS
        "':'{" PARTS("0", "4") "}'}";
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 8, "'node.koordinator.sh/numa-topology-policy':'Restricted'");
    topology(&f, "n1", 1, 4, "", "");
    fixture_pod(
        &f, pod(&f, "r", 7, "LS", ",'annotations':{'" STATUS "':'{" PARTS("0", "7") "}'}", "n1"));
    fixture_pod(&f, pod(&f, "o1", 4, "LS", owner, "n1"));
    fixture_try(&f, pod(&f, "a", 1, "LS", "", NULL));
    assert_true(fixture_fits(&f, "n1"));
    fixture_try(&f, pod(&f, "b", 2, "LS", "", NULL));
    assert_string_equal(fixture_why(&f, "n1"), "Unsatisfied NUMA cpu, Unsatisfied NUMA memory");
}

/* An Aligned owner may have more than its reservation, which frees no more for it than it has. */
static void test_a_large_owner_frees_nothing_of_others(void **state)
{
    static const char *const owner =
        ",'annotations':{'scheduling.koordinator.sh/reservation-allocated':"
        "'{\\\"name\\\":\\\"r\\\",\\\"uid\\\":\\\"uid-r\\\"}','" STATUS
        "':'{" PARTS("0", "6") "}'}";
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, table, NULL);
    node(&f, "n1", 8, "'node.koordinator.sh/numa-topology-policy':'Restricted'");
    topology(&f, "n1", 1, 4, "", "");
    fixture_pod(
        &f, pod(&f, "r", 4, "LS", ",'annotations':{'" STATUS "':'{" PARTS("0", "4") "}'}", "n1"));
    fixture_pod(&f, pod(&f, "o1", 6, "LS", owner, "n1"));
    fixture_try(&f, pod(&f, "a", 2, "LS", "", NULL));
    assert_true(fixture_fits(&f, "n1"));
    fixture_try(&f, pod(&f, "b", 3, "LS", "", NULL));
    assert_false(fixture_fits(&f, "n1"));
}

/* An owner that is tried away gives its CPUs back to the reservation, and takes them again. */
static void test_victims_among_owners(void **state)
{
    struct told x = { .f.base = *state };
    const struct reserved r = { ALLOCATE_RESTRICTED, CPUS("4-7"), CPUS("4-7"), NULL };

    tell(&x, state, &r, of_pod(&x, "LSR", 4, "", AFFINITY));
    uint32_t mark = ks_overlay_mark(x.f.a.overlay);
    assert_string_equal(outcome(&x, 0, false),
                        "Reservation(s) not enough cpus available to satisfy request");
    ks_overlay_remove_pod(x.f.a.overlay, x.t.row,
                          nodecache_nodes(x.f.cache)->pods[x.t.row].items[0]);
    (void)attempt_fits(&x.f.a, x.t.row, NULL);
    assert_string_equal(outcome(&x, 0, false), "4-7");
    ks_overlay_rollback(x.f.a.overlay, mark);
    (void)attempt_fits(&x.f.a, x.t.row, NULL);
    assert_string_equal(outcome(&x, 0, false),
                        "Reservation(s) not enough cpus available to satisfy request");
    fixture_fini_p(&x.f);
}

/* ---- with the plugin that has them ----------------------------------------------------------- */

static const struct ks_registered with_reservations[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { &ks_plugin_node_numa_resource, 1, true },
    { &ks_plugin_reservation, 1, true },
    { NULL, 0, false },
};

struct cluster {
    struct object_fixture *base;
    struct whatif *w;
};

static void add(struct cluster *c, const struct kind *k, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(c->base, k, text);
    struct kerr err = { 0 };

    assert_int_equal(whatif_add(c->w, o, &err), 0);
}

/* A node of 2 sockets, 4 cores each. */
static void cluster_init(struct cluster *c, void **state, const char *annotations, int cpu)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };

    *c = (struct cluster){ .base = *state };
    struct profile_config config =
        profile_config_default(with_reservations, "koord-scheduler", c->base->arena);
    c->w = whatif_new(&config, with_reservations, &err);
    assert_string_equal(err.text, "");
    add(c, &kind_node,
        arena_printf(c->base->arena,
                     "{'metadata':{'name':'n1','annotations':{%s}},'status':{'allocatable':{'cpu':"
                     "'%d','memory':'64Gi','pods':'110'}}}",
                     annotations, cpu));
    topology_text(&b, "n1", 2, 4, "", "");
    add(c, &kind_noderesourcetopology, strbuf_str(&b));
}

/* For pods with app=r. holds: on the node; NULL: it has none yet. */
static void reserve(struct cluster *c, int cpu, const char *spec, const char *holds)
{
    const char *annotations = "", *status = "";

    if (holds) {
        annotations = arena_printf(c->base->arena, "'" STATUS "':'{%s}'", holds);
        status = arena_printf(c->base->arena,
                              ",'status':{'phase':'Available','nodeName':'n1','allocatable':{'cpu':"
                              "'%d'}}",
                              cpu);
    }
    add(c, &kind_reservation,
        arena_printf(c->base->arena,
                     "{'metadata':{'name':'r','uid':'uid-r','annotations':{%s}},'spec':{'ttl':'0s',"
                     "'allocateOnce':false,'owners':[{'labelSelector':{'matchLabels':{'app':'r'}}}]"
                     ",'template':{'metadata':{'labels':{'koordinator.sh/qosClass':'LSR'},"
                     "'annotations':{" REQUIRED "}},'spec':{"
                     "'priority':9500,'containers':[{'name':'c','resources':{'requests':{'cpu':"
                     "'%d'}}}]}}%s}%s}",
                     annotations, cpu, spec, status));
}

static const char *owned_pod(struct cluster *c, const char *name, int cpu, const char *app,
                             const char *annotations, const char *on)
{
    return arena_printf(
        c->base->arena,
        "{'metadata':{'name':'%s','namespace':'default','uid':'uid-%s','labels':{"
        "'koordinator.sh/qosClass':'LSR','app':'%s'},'annotations':{%s}},'spec':{'priority':9500%s,"
        "'containers':[{'name':'c','resources':{'requests':{'cpu':'%d'}}}]}}",
        name, name, app, annotations, on, cpu);
}
#define ON_NODE ",'nodeName':'n1'"
#define OWNS                                                                                      \
    "'scheduling.koordinator.sh/reservation-allocated':'{\\\"name\\\":\\\"r\\\",\\\"uid\\\":\\\"" \
    "uid-r\\\"}',"

static const char *place_object(struct cluster *c, struct kobj *o)
{
    struct whatif_placement p;
    struct whatif_result r;
    struct kerr err = { 0 };

    assert_int_equal(whatif_explain(c->w, o, 0, &r, &err), 0);
    if (r.nodes[0].code != KS_SUCCESS)
        return r.nodes[0].nreasons ? r.nodes[0].reasons[0] : "";
    assert_int_equal(whatif_place(c->w, "n1", &p, &err), 0);
    if (p.code != KS_SUCCESS)
        return p.nreasons ? p.reasons[0] : "";
    for (uint32_t i = 0; i < p.nnotes; i++)
        if (streq(p.notes[i].key, STATUS))
            return p.notes[i].value;
    return "none";
}

static const char *place(struct cluster *c, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(c->base, &kind_pod, text);

    return place_object(c, o);
}

/* The one that has no node yet. */
static const char *place_reservation(struct cluster *c)
{
    struct reservations *all = whatif_service(c->w, &reservations_service);
    struct kerr err = { 0 };
    CLEANUP(kobj_unref)
    struct kobj *o = resv_make_pod(all, reservations_find(all, kuid_parse("uid-r", 5)), &err);

    assert_non_null(o);
    return place_object(c, o);
}

/* koord#2158: reserved CPUs weigh more on an amplified node, but not for those who own them. */
static void test_owners_on_an_amplified_node(void **state)
{
    struct cluster c;

    cluster_init(&c, state, "'node.koordinator.sh/resource-amplification-ratio':'{\\\"cpu\\\":2}'",
                 32);
    reserve(&c, 12, "", CPUS("0-11"));
    assert_string_equal(place(&c, owned_pod(&c, "p", 12, "r", "", "")), "{\"cpuset\":\"0-11\"}");
    add(&c, &kind_pod,
        owned_pod(&c, "o", 4, "r", OWNS "'" STATUS "':'{" CPUS("0-3") "}'", ON_NODE));
    assert_string_equal(place(&c, owned_pod(&c, "q", 8, "r", "", "")), "{\"cpuset\":\"4-11\"}");
    assert_string_equal(place(&c, owned_pod(&c, "x", 5, "x", REQUIRED, "")),
                        "Insufficient amplified cpu");
    whatif_free(c.w);
}

/* koord#2883: who owns nothing has what is not reserved, and that only. */
static void test_a_pod_that_owns_nothing(void **state)
{
    struct cluster c;

    cluster_init(&c, state, "", 16);
    reserve(&c, 12, "", CPUS("0-11"));
    assert_string_equal(place(&c, owned_pod(&c, "x", 4, "x", "", "")), "{\"cpuset\":\"12-15\"}");
    assert_string_equal(place(&c, owned_pod(&c, "y", 4, "x", REQUIRED, "")),
                        "{\"cpuset\":\"12-15\"}");
    add(&c, &kind_pod,
        owned_pod(&c, "o", 4, "r", OWNS "'" STATUS "':'{" CPUS("0-3") "}'", ON_NODE));
    assert_string_equal(place(&c, owned_pod(&c, "z", 4, "x", "", "")), "{\"cpuset\":\"12-15\"}");
    whatif_free(c.w);
}

/* ---- pre-allocation -------------------------------------------------------------------------- */

#define TAKES_OVER ",'preAllocation':true,'allocatePolicy':'Restricted'"

/* The reservation gets all CPUs of the pod that it takes over, and none of another. */
static void test_all_cpus_of_the_pod_that_is_taken_over(void **state)
{
    struct cluster c;

    cluster_init(&c, state, "", 16);
    add(&c, &kind_pod, owned_pod(&c, "a", 4, "r", "'" STATUS "':'{" CPUS("0-3") "}'", ON_NODE));
    add(&c, &kind_pod, owned_pod(&c, "b", 2, "x", "'" STATUS "':'{" CPUS("4-5") "}'", ON_NODE));
    reserve(&c, 8, TAKES_OVER, NULL);
    assert_string_equal(place_reservation(&c), "{\"cpuset\":\"0-3,8-11\"}");
    whatif_free(c.w);
}

static void test_none_of_the_pods_that_stay(void **state)
{
    struct cluster c;

    cluster_init(&c, state, "", 16);
    add(&c, &kind_pod, owned_pod(&c, "a", 4, "r", "'" STATUS "':'{" CPUS("0-3") "}'", ON_NODE));
    add(&c, &kind_pod, owned_pod(&c, "b", 8, "r", "'" STATUS "':'{" CPUS("4-11") "}'", ON_NODE));
    /* It takes over the larger one, and the smaller keeps what it has. */
    reserve(&c, 12, TAKES_OVER, NULL);
    assert_string_equal(place_reservation(&c), "{\"cpuset\":\"4-15\"}");
    whatif_free(c.w);
}

/* Two of them, when one is not enough: all CPUs of both. */
static void test_several_pods_that_are_taken_over(void **state)
{
    struct cluster c;

    cluster_init(&c, state, "", 16);
    add(&c, &kind_pod, owned_pod(&c, "a", 4, "r", "'" STATUS "':'{" CPUS("0-3") "}'", ON_NODE));
    add(&c, &kind_pod, owned_pod(&c, "b", 8, "r", "'" STATUS "':'{" CPUS("4-11") "}'", ON_NODE));
    reserve(&c, 14, TAKES_OVER ",'preAllocationPolicy':{'enableMultiple':true}", NULL);
    assert_string_equal(place_reservation(&c), "{\"cpuset\":\"0-13\"}");
    whatif_free(c.w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_what_must_hold),
        FIXTURE_TEST(test_nobody_counts_twice),
        FIXTURE_TEST(test_a_large_owner_frees_nothing_of_others),
        FIXTURE_TEST(test_victims_among_owners),
        FIXTURE_TEST(test_owners_on_an_amplified_node),
        FIXTURE_TEST(test_a_pod_that_owns_nothing),
        FIXTURE_TEST(test_all_cpus_of_the_pod_that_is_taken_over),
        FIXTURE_TEST(test_none_of_the_pods_that_stay),
        FIXTURE_TEST(test_several_pods_that_are_taken_over),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
