/* test_toposolve.c - how a gang is spread over the network: the cases of the spec, bad rules, and
 * small trees against all that is possible (sched-gang 7.3, 7.4). */
#include "topo_fixture.h"

#include "base/strbuf.h"

struct solve_fixture {
    struct topo_fixture topo;
    struct topo_offer offers[64];
    struct network_topology_spec spec;
    struct topo_request request;
    struct topo_solution solution;
};

static void offer(struct solve_fixture *f, const char *node, uint32_t slots)
{
    const struct topo_leaf *l = topo_tree_leaf(&f->topo.tree, node);

    assert_non_null(l);
    f->offers[l->at].slots = slots;
}

static void start(struct solve_fixture *f, void **state)
{
    *f = (struct solve_fixture){ 0 };
    topo_fixture_init(&f->topo, state, TOPOLOGY(THREE_LAYERS));
}

static void solve_fixture_end_p(struct solve_fixture *f)
{
    topo_fixture_fini_p(&f->topo);
}

/* rules: the list of gatherStrategy. The shares, "n2:7 n1:5", or "" when there are none. */
static const char *place(struct solve_fixture *f, uint32_t want, const char *rules)
{
    struct arena *a = f->topo.base->arena;
    const char *text = "";
    struct kerr err = { 0 };
    char *spec = arena_printf(a, "{\"gatherStrategy\":[%s]}", rules);

    for (char *p = spec; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    assert_int_equal(network_topology_spec_decode(spec, a, &f->spec, &err), 0);
    f->request = (struct topo_request){ .spec = &f->spec, .want = want };
    bool ok = topo_solve(&f->topo.tree, &f->request, f->offers, a, &f->solution);
    assert_int_equal(ok, f->solution.n > 0);
    for (uint32_t i = 0; i < f->solution.n; i++)
        text = arena_printf(a, "%s%s%s:%u", text, i ? " " : "",
                            f->solution.shares[i].leaf->node->meta.name, f->solution.shares[i].n);
    return text;
}

static const char *refusal(struct solve_fixture *f, const char *fit)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    topo_refusal(&f->request, &f->solution, fit, &out);
    return arena_strdup(f->topo.base->arena, strbuf_str(&out));
}

/* ---- the cases of the spec ------------------------------------------------------------------- */

static void test_eight_nodes(void **state)
{
    CLEANUP(solve_fixture_end) struct solve_fixture f;
    char name[16];

    start(&f, state);
    topo_fixture_eight(&f.topo);
    for (unsigned i = 1; i <= 8; i++) {
        (void)snprintf(name, sizeof name, "node-%u", i);
        offer(&f, name, 1);
    }
    assert_string_equal(place(&f, 4, "{'layer':'SpineLayer','strategy':'PreferGather'}"),
                        "node-1:1 node-8:1 node-2:1 node-7:1");
    assert_string_equal(place(&f, 2, "{'layer':'BlockLayer','strategy':'MustGather'}"),
                        "node-1:1 node-8:1");
    offer(&f, "node-1", 0);
    offer(&f, "node-4", 0);
    assert_string_equal(place(&f, 4, "{'layer':'SpineLayer','strategy':'MustGather'}"), "");
    assert_string_equal(
        refusal(&f, "0/8 nodes are available: 8 Insufficient cpu."),
        "no candidate topology nodes can accommodate job, desiredOfferSlot: 4, topology "
        "topologyNode SpineLayer/s1: 3;topology topologyNode SpineLayer/s2: 3, 0/8 nodes are "
        "available: 8 Insufficient cpu.");
    for (unsigned i = 1; i <= 8; i++) {
        (void)snprintf(name, sizeof name, "node-%u", i);
        offer(&f, name, 2);
    }
    assert_string_equal(place(&f, 2, ""), "node-1:2");
}

static void four_nodes(struct solve_fixture *f)
{
    topo_fixture_node(&f->topo, "n1", "s", "b1");
    topo_fixture_node(&f->topo, "n2", "s", "b1");
    topo_fixture_node(&f->topo, "n3", "s", "b2");
    topo_fixture_node(&f->topo, "n4", "s", "b2");
    offer(f, "n1", 5);
    offer(f, "n2", 7);
    offer(f, "n3", 6);
    offer(f, "n4", 4);
}

static void test_shares_and_multiples(void **state)
{
    CLEANUP(solve_fixture_end) struct solve_fixture f;

    start(&f, state);
    four_nodes(&f);
    assert_string_equal(place(&f, 15, ""), "n2:7 n1:5 n3:3");
    assert_string_equal(place(&f, 16, "{'layer':'NodeTopologyLayer','podCountMultiple':4}"),
                        "n1:4 n2:4 n3:4 n4:4");
    assert_string_equal(place(&f, 16, "{'layer':'BlockLayer','podCountMultiple':8}"),
                        "n2:7 n1:1 n3:6 n4:2");
    assert_string_equal(place(&f, 16,
                              "{'layer':'NodeTopologyLayer','podCountMultiple':2},"
                              "{'layer':'BlockLayer','podCountMultiple':8}"),
                        "n2:6 n1:2 n3:6 n4:2");
    assert_string_equal(place(&f, 20, "{'layer':'NodeTopologyLayer','podCountMultiple':4}"), "");
    assert_string_equal(refusal(&f, "FIT"),
                        "no candidate topology nodes can accommodate job, desiredOfferSlot: 20, "
                        "topology topologyNode ClusterTopologyLayer/: 16, FIT; podCountMultiple "
                        "constraints: NodeTopologyLayer=4");
    /* So many slots, but not in multiples. */
    assert_string_equal(place(&f, 15, "{'layer':'BlockLayer','podCountMultiple':8}"), "");
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void test_rules_that_say_nothing(void **state)
{
    CLEANUP(solve_fixture_end) struct solve_fixture f;

    start(&f, state);
    four_nodes(&f);
    assert_string_equal(place(&f, 3, "{}"), "n1:3");
    assert_string_equal(place(&f, 3, "{'layer':'BlockLayer','podCountMultiple':1}"), "n1:3");
    assert_string_equal(place(&f, 3, "{'layer':'BlockLayer','podCountMultiple':-4}"), "n1:3");
    assert_string_equal(place(&f, 3, "{'layer':'Unknown','strategy':'PreferGather'}"), "n1:3");
    assert_string_equal(place(&f, 3, "{'layer':'ClusterTopologyLayer','strategy':'MustGather'}"),
                        "n1:3");
    assert_string_equal(place(&f, 3, "{'strategy':'MustGather'}"), "n1:3");
}

static void test_must_gather_where_there_is_nothing(void **state)
{
    CLEANUP(solve_fixture_end) struct solve_fixture f;

    start(&f, state);
    four_nodes(&f);
    assert_string_equal(place(&f, 3, "{'layer':'Unknown','strategy':'MustGather'}"), "");
    assert_string_equal(refusal(&f, "FIT"),
                        "no candidate topology nodes can accommodate job, desiredOfferSlot: 3, , "
                        "FIT");
    /* An unknown layer counts as the topmost: the lower one is what must be. */
    assert_string_equal(place(&f, 3,
                              "{'layer':'Unknown','strategy':'MustGather'},"
                              "{'layer':'BlockLayer','strategy':'MustGather'}"),
                        "n1:3");
    assert_string_equal(place(&f, 11,
                              "{'layer':'SpineLayer','strategy':'MustGather'},"
                              "{'layer':'BlockLayer','strategy':'MustGather'}"),
                        "n2:7 n1:4");
    assert_string_equal(place(&f, 13, "{'layer':'BlockLayer','strategy':'MustGather'}"), "");
}

static void test_the_last_multiple_of_a_layer_counts(void **state)
{
    CLEANUP(solve_fixture_end) struct solve_fixture f;

    start(&f, state);
    four_nodes(&f);
    assert_string_equal(place(&f, 21,
                              "{'layer':'NodeTopologyLayer','podCountMultiple':4},"
                              "{'layer':'NodeTopologyLayer','podCountMultiple':7},"
                              "{'layer':'Nowhere','podCountMultiple':2}"),
                        "");
    assert_string_equal(refusal(&f, "FIT"),
                        "no candidate topology nodes can accommodate job, desiredOfferSlot: 21, "
                        "topology topologyNode ClusterTopologyLayer/: 7, FIT; podCountMultiple "
                        "constraints: NodeTopologyLayer=7, Nowhere=2");
}

static void test_long_messages_are_cut(void **state)
{
    CLEANUP(solve_fixture_end) struct solve_fixture f;
    char name[16];

    start(&f, state);
    (void)place(&f, 9, "{'layer':'BlockLayer','strategy':'MustGather'}"); /* no nodes yet */
    for (unsigned i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof name, "n%03u", i);
        topo_fixture_node(&f.topo, name, "s", name);
    }
    struct topo_offer *none = arena_newn0(f.topo.base->arena, 300, struct topo_offer);
    assert_false(topo_solve(&f.topo.tree, &f.request, none, f.topo.base->arena, &f.solution));
    const char *text = refusal(&f, "FIT");
    assert_contains(text, "BlockLayer/n199: 0;and 100 more, FIT");
}

static void test_a_higher_score_wins_a_tie(void **state)
{
    CLEANUP(solve_fixture_end) struct solve_fixture f;

    start(&f, state);
    topo_fixture_eight(&f.topo);
    for (uint32_t i = 0; i < 8; i++)
        f.offers[i].slots = 1;
    f.offers[topo_tree_leaf(&f.topo.tree, "node-5")->at].score = 3;
    assert_string_equal(place(&f, 1, ""), "node-5:1");
    assert_string_equal(place(&f, 2, ""), "node-5:1 node-4:1");
}

/* ---- small trees, and all that is possible --------------------------------------------------- */

static uint64_t seed;
static uint32_t below(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

enum { LEAVES = 7 };

struct small {              /* a tree, its offers, and the rules, as plain numbers */
    unsigned n, want, must; /* must: a layer, 0: the cluster */
    unsigned spine[LEAVES], block[LEAVES], slots[LEAVES];
    unsigned multiple[4]; /* by layer */
};

/* The domain of a node on a layer, as a number. */
static unsigned domain_of(const struct small *s, unsigned leaf, unsigned layer)
{
    const unsigned of[] = { 0, s->spine[leaf], s->spine[leaf] * 10 + s->block[leaf], 1000 + leaf };

    return of[layer];
}

static unsigned sum_of(const struct small *s, const unsigned *got, unsigned layer, unsigned domain)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < s->n; i++)
        sum += domain_of(s, i, layer) == domain ? got[i] : 0;
    return sum;
}

/* All pods have a place, within one domain where they must be, in multiples from this layer on. */
static bool is_allowed(const struct small *s, const unsigned *got, unsigned from)
{
    unsigned total = sum_of(s, got, 0, 0);

    if (total != s->want)
        return false;
    for (unsigned i = 0; i < s->n; i++) {
        if (got[i] > s->slots[i] ||
            (got[i] && sum_of(s, got, s->must, domain_of(s, i, s->must)) != total))
            return false;
        for (unsigned l = from; l < 4; l++)
            if (sum_of(s, got, l, domain_of(s, i, l)) % s->multiple[l] != 0)
                return false;
    }
    return true;
}

static bool is_possible(const struct small *s, unsigned *got, unsigned at)
{
    if (at == s->n)
        return is_allowed(s, got, 0);
    for (got[at] = 0; got[at] <= MIN(s->slots[at], s->want); got[at]++)
        if (is_possible(s, got, at + 1))
            return true;
    got[at] = 0;
    return false;
}

/* How deep is the smallest domain that has all of them, and how much room has it? */
static unsigned depth_of(const struct small *s, const unsigned *got, unsigned *ret_slots)
{
    for (unsigned l = 3; l > 0; l--)
        for (unsigned i = 0; i < s->n; i++)
            if (sum_of(s, got, l, domain_of(s, i, l)) == s->want) {
                *ret_slots = sum_of(s, s->slots, l, domain_of(s, i, l));
                return l;
            }
    *ret_slots = sum_of(s, s->slots, 0, 0);
    return 0;
}

/* Without multiples: no domain farther down has room for all, nor a smaller one as far down. */
static void check_best(const struct small *s, const unsigned *got)
{
    unsigned slots, depth = depth_of(s, got, &slots);

    for (unsigned l = MAX(depth, s->must); l < 4; l++)
        for (unsigned i = 0; i < s->n; i++) {
            unsigned room = sum_of(s, s->slots, l, domain_of(s, i, l));
            if (room < s->want)
                continue;
            assert_int_equal(l, depth);
            assert_that(room, >=, slots);
        }
}

static void make_small(struct small *s)
{
    *s = (struct small){ .n = 1 + below(LEAVES), .must = below(4) };
    for (unsigned i = 0; i < s->n; i++) {
        s->spine[i] = 1 + below(2);
        s->block[i] = below(3);
        s->slots[i] = below(4);
    }
    s->want = 1 + below(9);
    for (unsigned i = 0; i < s->n; i++)
        s->slots[i] = MIN(s->slots[i], s->want); /* nobody counts further */
    for (unsigned l = 0; l < 4; l++)
        s->multiple[l] = 1;
    if (below(2)) { /* each a multiple of those below, as people use them */
        s->multiple[3] = 1 + below(2);
        s->multiple[2] = s->multiple[3] * (1 + below(2));
        s->multiple[1] = s->multiple[2] * (1 + below(2));
    }
}

static void build_small(struct solve_fixture *f, const struct small *s)
{
    char name[16], spine[16], block[16];

    for (unsigned i = 0; i < LEAVES; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        topo_tree_remove_node(&f->topo.tree, name);
    }
    for (unsigned i = 0; i < s->n; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        (void)snprintf(spine, sizeof spine, "s%u", s->spine[i]);
        (void)snprintf(block, sizeof block, "s%u-b%u", s->spine[i], s->block[i]);
        topo_fixture_node(&f->topo, name, spine, block);
    }
    memset(f->offers, 0, sizeof f->offers);
    for (unsigned i = 0; i < s->n; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        offer(f, name, s->slots[i]);
    }
}

static const char *rules_of(const struct small *s, struct arena *a)
{
    static const char *const layers[] = { "ClusterTopologyLayer", "SpineLayer", "BlockLayer",
                                          "NodeTopologyLayer" };
    const char *text = "{}";

    for (unsigned l = 1; l < 4; l++)
        text =
            arena_printf(a, "%s,{'layer':'%s','strategy':'%s','podCountMultiple':%u}", text,
                         layers[l], l == s->must ? "MustGather" : "PreferGather", s->multiple[l]);
    return text;
}

static void test_small_trees(void **state)
{
    CLEANUP(solve_fixture_end) struct solve_fixture f;
    unsigned found = 0, refused = 0;

    start(&f, state);
    for (unsigned run = 0; run < 4000; run++) {
        struct small s;
        unsigned got[LEAVES] = { 0 };
        seed = run + 1;
        make_small(&s);
        build_small(&f, &s);
        bool placed = *place(&f, s.want, rules_of(&s, f.topo.base->arena));
        for (uint32_t i = 0; i < f.solution.n; i++)
            got[f.solution.shares[i].leaf->node->meta.name[1] - '0'] = f.solution.shares[i].n;
        if (placed) {
            unsigned room, depth = depth_of(&s, got, &room);
            if (!is_allowed(&s, got, depth)) /* what is around that domain does not count */
                fail_msg("seed %u: a placement that is not allowed", run + 1);
            if (s.multiple[1] == 1)
                check_best(&s, got);
            found++;
        } else {
            unsigned other[LEAVES] = { 0 };
            if (is_possible(&s, other, 0))
                fail_msg("seed %u: there is a placement", run + 1);
            refused++;
        }
        arena_reset(f.topo.base->arena);
    }
    assert_that(found, >, 1000);
    assert_that(refused, >, 500);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_eight_nodes),
        FIXTURE_TEST(test_shares_and_multiples),
        FIXTURE_TEST(test_rules_that_say_nothing),
        FIXTURE_TEST(test_must_gather_where_there_is_nothing),
        FIXTURE_TEST(test_the_last_multiple_of_a_layer_counts),
        FIXTURE_TEST(test_long_messages_are_cut),
        FIXTURE_TEST(test_a_higher_score_wins_a_tie),
        FIXTURE_TEST(test_small_trees),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
