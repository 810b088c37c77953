/* test_numascreen.c - what columns say of rows is what a look at them says, on random clusters and
 * for random pods. */
#include "scheduler/plugins/nodenumaresource/test/numa_cluster.h"

enum { CLUSTERS = 20, NODES = 24, PODS = 40 };

static uint64_t seed;

static unsigned below(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(seed >> 33) % n;
}

static bool chance(unsigned percent)
{
    return below(100) < percent;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct build { /* of a machine */
    unsigned sockets, cores, threads;
};

static void write_zones(struct strbuf *b, struct build m)
{
    bool cpu = chance(90), memory = chance(90);
    unsigned n = chance(5) ? 0 : m.sockets;

    for (unsigned s = 0; s < n; s++) {
        strbuf_appendf(b, "%s{'name':'node-%u','type':'Node','resources':[", s ? "," : "", s);
        if (cpu)
            strbuf_appendf(b, "{'name':'cpu','allocatable':'%u'}", m.cores * m.threads);
        if (memory)
            strbuf_appendf(b, "%s{'name':'memory','allocatable':'8Gi'}", cpu ? "," : "");
        strbuf_append(b, "]}");
    }
}

static void random_topology(struct plugin_fixture *f, const char *name, struct build m)
{
    static const char *const policies[] = { "", "'SingleNUMANodePodLevel'", "'Restricted'",
                                            "'BestEffort'" };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    unsigned per_socket = m.cores * m.threads;

    strbuf_appendf(&b,
                   "{'metadata':{'name':'%s','annotations':{'node.koordinator.sh/cpu-topology':'%s",
                   name, chance(5) ? "{" : "{\\\"detail\\\":[");
    for (unsigned i = 0; i < m.sockets * per_socket; i++)
        strbuf_appendf(&b, "%s{\\\"id\\\":%u,\\\"core\\\":%u,\\\"socket\\\":%u,\\\"node\\\":%u}",
                       i ? "," : "", i, i / m.threads, i / per_socket, i / per_socket);
    strbuf_append(&b, "]}'");
    if (chance(20))
        strbuf_append(&b,
                      ",'node.koordinator.sh/reservation':'{\\\"reservedCPUs\\\":\\\"0-2\\\"}'");
    if (chance(10))
        strbuf_append(&b,
                      ",'kubelet.koordinator.sh/cpu-manager-policy':'{\\\"policy\\\":\\\"static\\\""
                      ",\\\"options\\\":{\\\"full-pcpus-only\\\":\\\"true\\\"}}'");
    strbuf_append(&b, "}},'zones':[");
    write_zones(&b, m);
    strbuf_appendf(&b, "],'topologyPolicies':[%s]}", policies[below(ARRAY_LEN(policies))]);
    attempt_end(&f->a);
    fixture_put(f, &kind_noderesourcetopology, strbuf_str(&b));
}

static void random_node(struct plugin_fixture *f, const char *name, struct build m)
{
    static const char *const labels[] = { "", "", "",
                                          "'node.koordinator.sh/numa-topology-policy':'Restricted'",
                                          "'node.koordinator.sh/cpu-bind-policy':'SpreadByPCPUs'" };
    static const char *const ratios[] = { "", "", "", "", "1.5", "no" };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *ratio = ratios[below(ARRAY_LEN(ratios))];

    strbuf_appendf(&b, "{'metadata':{'name':'%s','labels':{%s},'annotations':{", name,
                   labels[below(ARRAY_LEN(labels))]);
    if (*ratio)
        strbuf_appendf(&b, "'node.koordinator.sh/resource-amplification-ratio':'{\\\"cpu\\\":%s}'",
                       ratio);
    strbuf_appendf(&b, "}},'status':{'allocatable':{'cpu':'%u','memory':'64Gi','pods':'110'}}}",
                   m.sockets * m.cores * m.threads);
    fixture_node(f, strbuf_str(&b));
}

/* Some of its CPUs one by one, so that cores are broken; and a part of its first NUMA node. */
static void random_holders(struct plugin_fixture *f, const char *name, struct build m)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    unsigned taken = below(100), n = m.sockets * m.cores * m.threads;

    for (unsigned i = 0; i < n; i++)
        if (chance(taken))
            strbuf_appendf(&b, "%s%u", b.len ? "," : "", i);
    const char *holds =
        arena_printf(f->base->arena,
                     ",'annotations':{'scheduling.koordinator.sh/resource-status':'{\\\"cpuset\\\":"
                     "\\\"%s\\\",\\\"numaNodeResources\\\":[{\\\"node\\\":0,\\\"resources\\\":{"
                     "\\\"cpu\\\":\\\"%u\\\",\\\"memory\\\":\\\"%uGi\\\"}}]}'}",
                     strbuf_str(&b), below(m.cores * m.threads), below(8));
    fixture_pod(f, pod(f, arena_printf(f->base->arena, "on-%s", name), 1, "LSR", holds, name));
}

static void random_cluster(struct plugin_fixture *f)
{
    for (int i = 0; i < NODES; i++) {
        const char *name = arena_printf(f->base->arena, "n%d", i);
        struct build m = { 1 + below(3), 1 + below(6), 1 + below(4) };
        random_node(f, name, m);
        if (chance(90))
            random_topology(f, name, m);
        if (chance(80))
            random_holders(f, name, m);
    }
}

/* ---- pods ------------------------------------------------------------------------------------ */

static const char *random_pod(struct plugin_fixture *f)
{
    static const char *const specs[] = { "", "\\\"requiredCPUBindPolicy\\\":\\\"FullPCPUs\\\"",
                                         "\\\"requiredCPUBindPolicy\\\":\\\"SpreadByPCPUs\\\"",
                                         "\\\"preferredCPUBindPolicy\\\":\\\"SpreadByPCPUs\\\"" };
    static const char *const policies[] = {
        "",
        "",
        "\\\"numaTopologyPolicy\\\":\\\"SingleNUMANode\\\"",
        "\\\"numaTopologyPolicy\\\":\\\"Restricted\\\"",
        "\\\"numaTopologyPolicy\\\":\\\"BestEffort\\\"",
    };
    bool shared = chance(40);

    return arena_printf(
        f->base->arena,
        "{'metadata':{'name':'p','namespace':'default','uid':'uid-p','labels':{"
        "'koordinator.sh/qosClass':'%s'},'annotations':{'scheduling.koordinator.sh/resource-spec':"
        "'{%s}','scheduling.koordinator.sh/numa-topology-spec':'{%s}'}},'spec':{'priority':9500,"
        "'containers':[{'name':'c','resources':{'requests':{'cpu':'%um','memory':'%uGi'}}}]}}",
        shared ? "LS" : "LSR", specs[below(ARRAY_LEN(specs))], policies[below(ARRAY_LEN(policies))],
        shared ? below(12000) : 1000 * below(12), below(12));
}

/* ---- the comparison -------------------------------------------------------------------------- */

static unsigned decided, refused, wide;

/* Preferred CPUs of a row whose NUMA nodes do not matter: both ways. Elsewhere there may be more
 * that speaks against it. */
static void compare_refusal(const struct numa_try *t, bool refuses)
{
    const struct stock *s = ks_row(t->c->rows, t->row);
    const struct incoming *in = t->c->state;
    enum numa_policy policy;
    struct numa_request r;

    if (!incoming_policy(in, s, &policy) || !incoming_on(t->n, in, s, &r))
        return;
    if (policy != NUMA_POLICY_NONE && s->site->nzones == 0) {
        assert_true(refuses); /* nothing to align with */
        return;
    }
    if (!r.bind || !s->site->machine) {
        assert_false(refuses);
        return;
    }
    struct numa_try with = *t;
    with.r = &r;
    bool fits = numa_try(&with, 0, NULL, NULL) == KS_SUCCESS;
    if (refuses)
        assert_false(fits);
    else if (policy == NUMA_POLICY_NONE && !r.required)
        assert_true(fits);
    refused += refuses;
}

/* Where nobody reads why, fewer sets of NUMA nodes are looked at: the choice is the same. */
static void compare_places(const struct numa_try *t)
{
    const struct stock *s = ks_row(t->c->rows, t->row);
    struct ks_texts why = { .arena = t->c->arena };
    uint64_t quick = 0, whole = 0;
    enum numa_policy policy;

    if (!incoming_policy(t->c->state, s, &policy) || policy == NUMA_POLICY_NONE || !s->site->nzones)
        return;
    assert_int_equal(numa_place(t->n, t->c, t->p, t->row, policy, &quick, NULL) == KS_SUCCESS,
                     numa_place(t->n, t->c, t->p, t->row, policy, &whole, &why) == KS_SUCCESS);
    if (why.n == 0)
        assert_int_equal(quick, whole);
    wide += (whole & (whole - 1)) != 0;
}

static void compare(struct plugin_fixture *f)
{
    int slot = profile_slot(f->profile, NAME);
    struct numa_plugin *n = f->profile->slots[slot].self;
    uint8_t skip[NODES] = { 0 }, why[NODES], refuses[NODES];

    if (f->a.code != KS_SUCCESS && f->a.code != KS_UNSCHEDULABLE)
        return;
    attempt_enter(&f->a, (uint32_t)slot, f->a.state[slot]);
    const struct ks_cycle *c = &f->a.cycle;
    struct ks_span all = { 0, c->nodes->n };
    assert_int_equal(all.end, NODES);
    if (!c->state)
        return;
    numa_filter(n, c, &f->a.pod, all, skip, why);
    numa_would_refuse(n, c, &f->a.pod, all, skip, refuses);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(why[i], numa_judge(n, c, &f->a.pod, i, NULL));
        decided += why[i] != WHY_FITS;
        compare_places(&(struct numa_try){ n, c, &f->a.pod, i, NULL });
        if (why[i] == WHY_FITS)
            compare_refusal(&(struct numa_try){ n, c, &f->a.pod, i, NULL }, refuses[i]);
    }
}

static void test_columns_and_sets_agree(void **state)
{
    seed = 1;
    for (int k = 0; k < CLUSTERS; k++) {
        CLEANUP(fixture_fini) struct plugin_fixture f;
        fixture_init_with(&f, state, table, NULL);
        random_cluster(&f);
        for (int i = 0; i < PODS; i++) {
            fixture_try(&f, random_pod(&f));
            compare(&f);
        }
    }
    assert_that(decided, >, CLUSTERS * PODS);
    assert_that(refused, >, 0);
    assert_that(wide, >, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_columns_and_sets_agree),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
