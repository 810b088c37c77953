/* test_overlays.c - rows that a plugin changes for an attempt: what is evaluated anew, what nests
 * on it, and that nothing stays (scheduler-core 10, BeforePreFilter).
 */
#include "base/test/asserts.h"
#include "scheduler/test/plugin_fixture.h"

#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/registry.h"

/* ---- two plugins ----------------------------------------------------------------------------- */

enum { LOANS = 24 };
static struct lender { /* changes rows as it is told */
    struct loan {
        const char *node;
        const char *pod;    /* is gone; NULL: not about a pod */
        struct kobj *guest; /* is there; NULL: likewise */
        uint32_t column;    /* otherwise: so much more is in use */
        int64_t delta;
    } loans[LOANS];
    int n;
    int64_t mcpu; /* what the pod asks for; 0: what it says itself */
} lender;

static void change_row(const struct ks_cycle *c, struct ks_overlay *o, const struct loan *l)
{
    uint32_t row = ks_row_of(c->nodes, l->node);
    const struct ks_podlist *on = &c->nodes->pods[row];

    if (l->guest) {
        ks_overlay_add_pod(o, row, l->guest);
    } else if (!l->pod) {
        ks_overlay_add(o, row, l->column, l->delta);
    } else {
        for (uint32_t i = 0; i < on->n; i++) {
            if (!streq(on->items[i]->obj.meta.name, l->pod))
                continue;
            ks_overlay_remove_pod(o, row, on->items[i]);
            break;
        }
    }
}

static enum ks_code lender_transform(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     struct ks_overlay *o, void **ret_state, struct ks_texts *why)
{
    (void)ret_state, (void)self, (void)p, (void)why;
    for (int i = 0; i < lender.n; i++)
        change_row(c, o, &lender.loans[i]);
    if (lender.mcpu)
        ks_overlay_pod(o)->requests.fixed[KS_MCPU] = lender.mcpu;
    return lender.n || lender.mcpu ? KS_SUCCESS : KS_SKIP;
}

static enum ks_code lender_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                      void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)ret_state, (void)only, (void)why;
    return KS_SKIP;
}

static uint32_t filtered, scored; /* rows */

static void count_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)self, (void)c, (void)p, (void)skip;
    filtered += s.end - s.begin;
    memset(why + s.begin, 0, s.end - s.begin);
}

static void count_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, int64_t *restrict out)
{
    (void)self, (void)c, (void)p;
    scored += s.end - s.begin;
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = 0;
}

static const struct ks_reason reasons[] = { { KS_SUCCESS, "" } };
static const struct ks_plugin lender_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Lender",
    .reuse = KS_REUSE_LOCAL,
    .pre_filter = lender_pre_filter,
    .transform = lender_transform,
};
static const struct ks_plugin counter_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Counter",
    .reasons = reasons,
    .reuse = KS_REUSE_LOCAL,
    .filter = count_filter,
    .score = count_score,
};

static void start(struct plugin_fixture *f, void **state)
{
    struct ks_registered table[PROFILE_PLUGINS_MAX + 1] = { { &lender_plugin, 0, true },
                                                            { &counter_plugin, 1, true } };
    uint32_t n = 2;

    lender = (struct lender){ 0 };
    for (const struct ks_registered *r = ks_registry; r->plugin; r++)
        table[n++] = *r;
    fixture_init_with(f, state, table, NULL);
}

static void lend(const char *node, const char *pod)
{
    lender.loans[lender.n++] = (struct loan){ .node = node, .pod = pod };
}

static void lend_mcpu(const char *node, int64_t less)
{
    lender.loans[lender.n++] = (struct loan){ .node = node, .column = KS_MCPU, .delta = -less };
}

/* ---- a cluster ------------------------------------------------------------------------------- */

static void put_node(struct plugin_fixture *f, const char *name, const char *zone, int cpu)
{
    fixture_node(f, arena_printf(f->base->arena,
                                 "{'metadata':{'name':'%s','labels':{'zone':'%s',"
                                 "'kubernetes.io/hostname':'%s'}},'status':{'allocatable':{'cpu':"
                                 "'%d','memory':'64Gi','pods':'30'}}}",
                                 name, zone, name, cpu));
}

static const char *pod_text(struct plugin_fixture *f, const char *name, const char *node, int cpu,
                            int priority, const char *app, const char *more)
{
    return arena_printf(f->base->arena,
                        "{'metadata':{'name':'%s','namespace':'ns','uid':'%s','labels':{'app':"
                        "'%s'}},'spec':{'nodeName':'%s','priority':%d,'containers':[{'name':'c',"
                        "'resources':{'requests':{'cpu':'%d'}}%s]}}",
                        name, name, app, node, priority, cpu, *more ? more : "}");
}

static void put_pod(struct plugin_fixture *f, const char *name, const char *node, int cpu,
                    int priority)
{
    fixture_pod(f, pod_text(f, name, node, cpu, priority, "x", ""));
}

static void try_pod(struct plugin_fixture *f, int cpu)
{
    fixture_try(f, pod_text(f, "in", "", cpu, 9, "x", ""));
}

/* ---- reuse ----------------------------------------------------------------------------------- */

static void attempt(struct plugin_fixture *f, uint32_t expect)
{
    struct attempt a;

    filtered = scored = 0;
    fixture_attempt(f, &a, false);
    assert_int_equal(filtered, expect);
    assert_int_equal(scored, expect);
    attempt_end(&a);
}

static void test_only_changed_rows_are_evaluated_anew(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    for (int i = 0; i < 20; i++)
        put_node(&f, arena_printf(f.base->arena, "n%d", i), "z", 4);
    put_pod(&f, "r", "n7", 2, 1);
    f.obj = fixture_object(f.base, &kind_pod, pod_text(&f, "in", "", 1, 9, "x", ""));
    attempt(&f, 20);
    attempt(&f, 0);
    lend("n7", "r");
    lend_mcpu("n7", 100);
    lend_mcpu("n3", 100);
    attempt(&f, 2);
    attempt(&f, 2); /* as they are now in this attempt, and not as in the last */
    lender.n = 0;
    attempt(&f, 2); /* as they are */
    attempt(&f, 0);
    put_pod(&f, "q", "n3", 1, 1);
    lend_mcpu("n3", 100); /* changed in both ways: once is enough */
    attempt(&f, 1);
    assert_int_equal(shapes_stats(f.shapes).misses, 1);
}

static void test_a_changed_pod_reuses_nothing(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    put_node(&f, "a", "z", 4);
    put_node(&f, "b", "z", 8);
    f.obj = fixture_object(f.base, &kind_pod, pod_text(&f, "in", "", 1, 9, "x", ""));
    attempt(&f, 2);
    lender.mcpu = 6000;
    try_pod(&f, 1);
    assert_false(fixture_fits(&f, "a"));
    assert_true(fixture_fits(&f, "b"));
    lender.mcpu = 0;
    attempt(&f, 0); /* it was not about the pod as it is */
    try_pod(&f, 1);
    assert_true(fixture_fits(&f, "a"));
}

/* ---- what nests on it ------------------------------------------------------------------------ */

static void test_room_is_given_back_to_its_owner(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    put_node(&f, "a", "z", 4);
    put_node(&f, "b", "z", 4);
    put_pod(&f, "r1", "a", 4, 100);
    put_pod(&f, "r2", "b", 3, 100);
    try_pod(&f, 4);
    assert_int_equal(f.a.feasible, 0);
    lend("a", "r1");
    lend_mcpu("b", 2000);
    try_pod(&f, 4);
    assert_true(fixture_fits(&f, "a"));
    assert_string_equal(fixture_why(&f, "b"), "Insufficient cpu");
    lend_mcpu("b", 1000);
    try_pod(&f, 4);
    assert_true(fixture_fits(&f, "b"));
    /* Who is nominated there comes first. */
    fixture_nominate(&f, "{'metadata':{'name':'q','namespace':'ns','uid':'q'},'spec':{'priority':9,"
                         "'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]},"
                         "'status':{'nominatedNodeName':'a'}}");
    try_pod(&f, 4);
    assert_string_equal(fixture_why(&f, "a"), "Insufficient cpu");
    assert_true(fixture_fits(&f, "b"));
    lender.n = 0;
    try_pod(&f, 1);
    assert_false(fixture_fits(&f, "a"));
    assert_true(fixture_fits(&f, "b"));
}

static void test_victims_are_found_on_changed_rows(void **state)
{
    const struct preemption_rules rules = { 0 };
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct ks_texts why;
    struct preemption p;

    start(&f, state);
    why = (struct ks_texts){ .arena = f.base->arena };
    put_node(&f, "a", "z", 4);
    put_pod(&f, "r", "a", 2, 5); /* room that is reserved for the pod */
    put_pod(&f, "v", "a", 2, 1);
    try_pod(&f, 4);
    assert_int_equal(preemption_plan(&rules, &f.a, &p, &why), KS_SUCCESS);
    assert_int_equal(p.nodes[0].n, 2);
    lend("a", "r");
    try_pod(&f, 4);
    assert_int_equal(preemption_plan(&rules, &f.a, &p, &why), KS_SUCCESS);
    assert_int_equal(p.nodes[0].n, 1); /* what is given back anyway need not go */
    assert_string_equal(p.nodes[0].victims[0]->obj.meta.name, "v");
    attempt_end(&f.a);
    assert_int_equal(nodecache_nodes(f.cache)->pods[0].n, 2);
}

static void test_ports_come_and_go_with_pods(void **state)
{
    static const char port[] = ",'ports':[{'containerPort':80,'hostPort':8080}]}";
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    put_node(&f, "a", "z", 4);
    put_node(&f, "b", "z", 4);
    fixture_pod(&f, pod_text(&f, "r", "a", 1, 1, "x", port));
    CLEANUP(kobj_unref)
    struct kobj *guest = fixture_object(f.base, &kind_pod, pod_text(&f, "g", "", 1, 1, "x", port));
    const char *in = pod_text(&f, "in", "", 1, 9, "x", port);
    fixture_try(&f, in);
    assert_false(fixture_fits(&f, "a"));
    assert_true(fixture_fits(&f, "b"));
    lend("a", "r");
    lender.loans[lender.n++] = (struct loan){ .node = "b", .guest = guest };
    fixture_try(&f, in);
    assert_true(fixture_fits(&f, "a"));
    assert_false(fixture_fits(&f, "b"));
}

/* ---- attempts within an attempt -------------------------------------------------------------- */

#define APART(app)                                     \
    "},{'name':'d'}],'affinity':{'podAntiAffinity':{'" \
    "requiredDuringSchedulingIgnoredDuringExecution'"  \
    ":[{'topologyKey':'zone','labelSelector':{'matchLabels':{'app':'" app "'}}}]}},'x':[{}"

static void within(struct plugin_fixture *f, struct attempt *b, struct kobj *pod)
{
    attempt_init(b,
                 &(struct attempt_input){ .profile = f->profile,
                                          .cache = f->cache,
                                          .nominator = f->nominator,
                                          .objects = f->objects,
                                          .pod = pod,
                                          .within = &f->a },
                 f->arena);
    attempt_filter(b);
}

/* The members of a job, one after the other: each sees those that were placed before. */
static void test_several_pods_are_placed_in_an_overlay(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct attempt b, c;

    start(&f, state);
    put_node(&f, "a", "z1", 4);
    put_node(&f, "b", "z1", 4);
    put_node(&f, "c", "z2", 4);
    CLEANUP(kobj_unref)
    struct kobj *second =
        fixture_object(f.base, &kind_pod, pod_text(&f, "second", "", 1, 9, "job", APART("job")));
    CLEANUP(kobj_unref)
    struct kobj *third =
        fixture_object(f.base, &kind_pod, pod_text(&f, "third", "", 4, 9, "job", ""));
    fixture_try(&f, pod_text(&f, "first", "", 1, 9, "job", ""));
    uint32_t rows[] = { fixture_row(&f, "a"), fixture_row(&f, "b"), fixture_row(&f, "c") };
    uint32_t mark = ks_overlay_mark(f.a.overlay);

    within(&f, &b, second);
    assert_int_equal(b.feasible, 3);
    ks_overlay_add_pod(f.a.overlay, rows[0], f.obj);
    assert_false(attempt_fits(&b, rows[0], NULL)); /* the state of an older attempt follows */
    assert_false(attempt_fits(&b, rows[1], NULL)); /* also about other rows */
    assert_true(attempt_fits(&b, rows[2], NULL));
    within(&f, &c, third); /* a new one sees it at once */
    assert_int_equal(c.feasible, 2);
    ks_overlay_add_pod(f.a.overlay, rows[2], second);
    assert_false(attempt_fits(&c, rows[0], NULL));
    assert_true(attempt_fits(&c, rows[1], NULL));
    assert_false(attempt_fits(&c, rows[2], NULL));
    attempt_end(&c); /* and all that was changed since it began */
    assert_int_equal(ks_overlay_mark(f.a.overlay), mark + 1);
    ks_overlay_rollback(f.a.overlay, mark);
    assert_true(attempt_fits(&b, rows[0], NULL));
    attempt_end(&b);
    assert_int_equal(ks_overlay_mark(f.a.overlay), mark);
}

static void test_nominations_of_the_same_job_are_ignored(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    put_node(&f, "a", "z1", 4);
    fixture_nominate(&f, "{'metadata':{'name':'q','namespace':'ns','uid':'q'},'spec':{'priority':9,"
                         "'containers':[{'name':'c','resources':{'requests':{'cpu':'4'}}}]},"
                         "'status':{'nominatedNodeName':'a'}}");
    try_pod(&f, 2);
    assert_int_equal(f.a.feasible, 0);
    struct attempt b;
    struct kuid job[] = { kuid_parse("p", 1), kuid_parse("q", 1) };
    attempt_init(&b,
                 &(struct attempt_input){ .profile = f.profile,
                                          .cache = f.cache,
                                          .nominator = f.nominator,
                                          .pod = f.obj,
                                          .within = &f.a,
                                          .ignored = job,
                                          .nignored = 2 },
                 f.arena);
    attempt_filter(&b);
    assert_int_equal(b.feasible, 1);
    attempt_end(&b);
}

/* ---- any changes ----------------------------------------------------------------------------- */

static uint64_t seed;
static uint32_t below(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static const char *any_spec(void)
{
    static const char *const specs[] = {
        "",
        ",'ports':[{'containerPort':80,'hostPort':8080}]}",
        APART("x"),
        APART("y"),
        "}],'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'zone','whenUnsatisfiable':"
        "'DoNotSchedule','labelSelector':{'matchLabels':{'app':'x'}}}],'x':[{}",
        "},{'name':'d'}],'affinity':{'podAffinity':{'preferredDuringSchedulingIgnoredDuring"
        "Execution':[{'weight':5,'podAffinityTerm':{'topologyKey':'zone','labelSelector':"
        "{'matchLabels':{'app':'y'}}}}]}},'x':[{}",
    };
    return specs[below(ARRAY_LEN(specs))];
}

static void any_loans(struct plugin_fixture *f, struct kobj **guests, uint32_t nguests)
{
    const struct ks_nodes *v = nodecache_nodes(f->cache);

    lender.n = 0;
    for (uint32_t i = below(6); i > 0; i--) {
        uint32_t row = below(v->n), at = v->pods[row].n;
        struct loan l = { .node = nodecache_row_name(f->cache, row), .column = KS_MCPU };
        switch (below(3)) {
        case 0: l.guest = guests[below(nguests)]; break;
        case 1: l.delta = (int64_t)below(4000) - 2000; break;
        case 2: /* a name that is gone by then does no harm */
            if (at)
                l.pod = v->pods[row].items[below(at)]->obj.meta.name;
            break;
        }
        lender.loans[lender.n++] = l;
    }
}

/* Reused or made anew, with whatever overlay: fixture_try() compares. */
static void test_what_is_reused_is_what_would_be_found(void **state)
{
    enum { GUESTS = 6, SHAPES = 4 };
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct kobj *guests[GUESTS];
    const char *shapes[SHAPES];
    struct kerr err = { 0 };
    char name[8];

    seed = 7;
    start(&f, state);
    for (int i = 0; i < 12; i++)
        put_node(&f, arena_printf(f.base->arena, "n%d", i),
                 arena_printf(f.base->arena, "z%d", i % 3), 8);
    for (int i = 0; i < GUESTS; i++)
        guests[i] = fixture_object(f.base, &kind_pod,
                                   pod_text(&f, arena_printf(f.base->arena, "g%d", i), "", 1, 1,
                                            i % 2 ? "x" : "y", any_spec()));
    for (int i = 0; i < SHAPES; i++)
        shapes[i] = pod_text(&f, "in", "", 1 + i, 9, "x", any_spec());
    for (int i = 0; i < 1500; i++) {
        if (below(3) == 0) {
            (void)snprintf(name, sizeof name, "p%u", below(40));
            attempt_end(&f.a);
            if (!nodecache_remove_pod(f.cache, kuid_parse(name, strlen(name))))
                fixture_pod(&f, pod_text(&f, name, arena_printf(f.base->arena, "n%u", below(12)), 1,
                                         1, below(2) ? "x" : "y", any_spec()));
        }
        attempt_end(&f.a);
        any_loans(&f, guests, below(3) ? GUESTS : 1);
        fixture_try(&f, shapes[below(SHAPES)]);
        attempt_end(&f.a);
        assert_int_equal(nodecache_verify(f.cache, &err), 0);
    }
    assert_that(shapes_stats(f.shapes).hits, >, 1400);
    for (int i = 0; i < GUESTS; i++)
        kobj_unref(guests[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_only_changed_rows_are_evaluated_anew),
        FIXTURE_TEST(test_a_changed_pod_reuses_nothing),
        FIXTURE_TEST(test_room_is_given_back_to_its_owner),
        FIXTURE_TEST(test_victims_are_found_on_changed_rows),
        FIXTURE_TEST(test_ports_come_and_go_with_pods),
        FIXTURE_TEST(test_several_pods_are_placed_in_an_overlay),
        FIXTURE_TEST(test_nominations_of_the_same_job_are_ignored),
        FIXTURE_TEST(test_what_is_reused_is_what_would_be_found),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
