/* test_attempt.c - what the engine makes of answers that plugins may give: lists of nodes, verdicts
 * that are none, wishes, scores out of range (scheduler-core 5.1 to 5.4, 10).
 */
#include "base/test/asserts.h"
#include "scheduler/test/plugin_fixture.h"

#include "scheduler/plugins/registry.h"

/* Two plugins that answer as they are told. */
static struct voice {
    enum ks_code pre_filter;
    const char *names; /* of nodes to which it narrows the attempt, with blanks between; NULL: no */
    const char *after; /* the same, after all pre_filters */
    const char *prefers;
    enum ks_code finds; /* KS_SKIP: nothing */
    const char *one;    /* with a success: this node; NULL: none */
    const char *fills;  /* a node that is taken to have no room left */
    uint8_t why;        /* of every row; 1: unschedulable, 2: pending */
    bool company;       /* only where pods are */
    int64_t score;
    int transformed, asked;
} first, second;

static uint32_t *rows_of(const struct ks_cycle *c, const char *names, uint32_t *ret_n)
{
    uint32_t *rows = arena_newn0(c->arena, 8, uint32_t), row;
    char name[8];

    *ret_n = 0;
    for (int used = 0; sscanf(names, "%7s%n", name, &used) == 1; names += used)
        if ((row = ks_row_of(c->nodes, name)) != KS_NO_ROW)
            rows[(*ret_n)++] = row;
    return rows;
}

static enum ks_code voice_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    struct voice *v = self;

    (void)p, (void)ret_state;
    v->asked++;
    if (v->names) {
        only->rows = rows_of(c, v->names, &only->n);
        only->set = true;
    }
    if (v->pre_filter != KS_SUCCESS) {
        ks_texts_add(why, v == &first ? "one" : "two");
        ks_texts_add(why, "more");
    }
    return v->pre_filter;
}

static enum ks_code voice_transform(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    struct ks_overlay *o, void **ret_state, struct ks_texts *why)
{
    struct voice *v = self;

    (void)ret_state, (void)p, (void)why;
    v->transformed++;
    if (!v->fills)
        return KS_SKIP;
    ks_overlay_add(o, ks_row_of(c->nodes, v->fills), KS_MCPU, 2000);
    return KS_SUCCESS;
}

static enum ks_code voice_after(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                struct ks_only *only, struct ks_texts *why)
{
    const struct voice *v = self;

    (void)p, (void)why;
    if (!v->after)
        return KS_SKIP;
    only->rows = rows_of(c, v->after, &only->n);
    only->set = true;
    return KS_SUCCESS;
}

static uint32_t voice_prefer(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                             const uint32_t **ret_rows)
{
    const struct voice *v = self;
    uint32_t n = 0;

    (void)p;
    if (v->prefers)
        *ret_rows = rows_of(c, v->prefers, &n);
    return n;
}

static enum ks_code voice_find_one(void *self, struct attempt *a, uint32_t *ret_row,
                                   struct ks_texts *why)
{
    const struct voice *v = self;

    if (v->finds != KS_SKIP)
        ks_texts_add(why, "no place for all");
    if (v->finds == KS_SUCCESS && v->one)
        *ret_row = ks_row_of(a->cycle.nodes, v->one);
    return v->finds;
}

static void voice_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct voice *v = self;

    (void)p, (void)skip;
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = v->company && c->nodes->pods[i].n == 0 ? 1 : v->why;
}

static void voice_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, int64_t *restrict out)
{
    (void)c, (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = ((const struct voice *)self)->score;
}

static int create_first(const struct ks_env *env, const void *args, void **ret_self,
                        struct kerr *err)
{
    (void)env, (void)args, (void)err;
    *ret_self = &first;
    return 0;
}

static int create_second(const struct ks_env *env, const void *args, void **ret_self,
                         struct kerr *err)
{
    (void)env, (void)args, (void)err;
    *ret_self = &second;
    return 0;
}

static const struct ks_reason reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNSCHEDULABLE, "busy" },
    { KS_PENDING, "not ready" },
};
#define VOICE(title, how, from)                                                                  \
    {                                                                                            \
        .abi = KS_PLUGIN_ABI, .size = sizeof(struct ks_plugin), .name = (title), .reuse = (how), \
        .reasons = reasons, .create = (from), .pre_filter = voice_pre_filter,                    \
        .filter = voice_filter, .score = voice_score, .transform = voice_transform,              \
        .after_pre_filter = voice_after, .find_one = voice_find_one, .prefer = voice_prefer,     \
    }
static const struct ks_plugin alto = VOICE("Alto", KS_REUSE_LOCAL, create_first);
static const struct ks_plugin bass = VOICE("Bass", KS_REUSE_GLOBAL, create_second);
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &bass, 1, true }, /* asked first, and named last */
    { &alto, 1, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

#define POD                                                                                  \
    "{'metadata':{'name':'p','namespace':'ns','uid':'p'},'spec':{'containers':[{'name':'c'," \
    "'resources':{'requests':{'cpu':'1'}}}]}}"

/* Nodes a, b and c with 2 CPUs each. */
static void start(struct plugin_fixture *f, void **state)
{
    static const char *const nodes[] = { "a", "b", "c" };

    first = second = (struct voice){ .pre_filter = KS_SUCCESS, .finds = KS_SKIP };
    fixture_init_with(f, state, plugins, NULL);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        fixture_node(f, arena_printf(f->base->arena,
                                     "{'metadata':{'name':'%s'},'status':{'allocatable':{'cpu':'2',"
                                     "'memory':'1Gi','pods':'9'}}}",
                                     nodes[i]));
}

static uint64_t slot(const struct plugin_fixture *f, const char *plugin)
{
    return UINT64_C(1) << profile_slot(f->profile, plugin);
}

/* ---- pre_filter ------------------------------------------------------------------------------ */

static void test_who_narrows_is_a_rejector(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    first.names = "gone";
    fixture_try(&f, POD);
    assert_string_equal(fixture_message(&f),
                        "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [Alto].");
    assert_int_equal(f.a.code, KS_SUCCESS);
    assert_that(f.a.rejectors, ==, slot(&f, "Alto"));
    first.names = "a";
    second.why = 1;
    fixture_try(&f, POD);
    assert_string_equal(fixture_message(&f), "0/3 nodes are available: 1 busy, 2 node(s) didn't "
                                             "satisfy plugin(s) [Alto].");
    assert_that(f.a.rejectors, ==, (slot(&f, "Alto") | slot(&f, "Bass")));
}

static void test_lists_that_have_nothing_in_common(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    second.names = "a b";
    first.names = "b c";
    fixture_try(&f, POD);
    assert_int_equal(f.a.feasible, 1);
    assert_true(fixture_fits(&f, "b"));
    first.names = "c";
    fixture_try(&f, POD);
    assert_string_equal(fixture_message(&f),
                        "0/3 nodes are available: node(s) didn't satisfy plugin(s) [Alto Bass] "
                        "simultaneously.");
    assert_int_equal(f.a.code, KS_UNRESOLVABLE);
    assert_that(f.a.rejectors, ==, (slot(&f, "Alto") | slot(&f, "Bass")));
    first.names = NULL;
    first.after = "c"; /* the same when it is said later */
    fixture_try(&f, POD);
    assert_int_equal(f.a.code, KS_UNRESOLVABLE);
    assert_that(f.a.rejectors, ==, (slot(&f, "Alto") | slot(&f, "Bass")));
}

static void test_the_worst_verdict_wins(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    second.pre_filter = KS_UNSCHEDULABLE;
    fixture_try(&f, POD);
    assert_string_equal(fixture_message(&f), "0/3 nodes are available: two, more.");
    assert_int_equal(f.a.code, KS_UNSCHEDULABLE);
    assert_that(f.a.rejectors, ==, slot(&f, "Bass"));
    first.pre_filter = KS_UNSCHEDULABLE; /* the last of them */
    fixture_try(&f, POD);
    assert_string_equal(fixture_message(&f), "0/3 nodes are available: one, more.");
    assert_that(f.a.rejectors, ==, slot(&f, "Alto"));
    second.pre_filter = KS_UNRESOLVABLE; /* nobody after it is asked */
    first.asked = 0;
    fixture_try(&f, POD);
    assert_string_equal(fixture_message(&f), "0/3 nodes are available: two, more.");
    assert_int_equal(first.asked, 0);
    second.pre_filter = KS_PENDING; /* no verdict here */
    fixture_try(&f, POD);
    assert_int_equal(f.a.code, KS_ERROR);
    assert_string_equal(f.a.text, "running PreFilter plugin \"Bass\": two, more");
    assert_that(f.a.rejectors, ==, 0);
}

static void test_who_waits_for_another_is_told_apart(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    second.why = 2;
    fixture_try(&f, POD);
    assert_string_equal(fixture_message(&f), "0/3 nodes are available: 3 not ready.");
    assert_that(f.a.rejectors, ==, slot(&f, "Bass"));
    assert_that(f.a.pending, ==, slot(&f, "Bass"));
    second.why = 1;
    fixture_try(&f, POD);
    assert_that(f.a.pending, ==, 0);
}

/* ---- nominated pods ----------------------------------------------------------------------- */

static void test_a_nominated_node_that_does_not_fit_counts_too(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    second.company = true;
    fixture_nominate(&f, "{'metadata':{'name':'q','namespace':'ns','uid':'q'},"
                         "'status':{'nominatedNodeName':'b'}}");
    fixture_try(&f, POD); /* it must fit whether or not they come */
    assert_int_equal(f.a.feasible, 0);
    f.nominated_once = true;
    fixture_try(&f, POD);
    assert_int_equal(f.a.feasible, 1);
    assert_true(fixture_fits(&f, "b"));
    second.company = false;
    fixture_nominate(&f,
                     "{'metadata':{'name':'q','namespace':'ns','uid':'q'},'spec':{'containers':["
                     "{'name':'c','resources':{'requests':{'cpu':'2'}}}]},"
                     "'status':{'nominatedNodeName':'b'}}");
    fixture_try(&f, POD);
    assert_int_equal(f.a.feasible, 2);
    assert_false(fixture_fits(&f, "b"));
}

/* ---- koord's ------------------------------------------------------------------------------- */

static void test_a_preferred_node_must_do(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    second.prefers = "gone b c";
    fixture_try(&f, POD);
    assert_int_equal(f.a.feasible, 1);
    assert_true(fixture_fits(&f, "b"));
    fixture_nominate(&f,
                     "{'metadata':{'name':'q','namespace':'ns','uid':'q'},'spec':{'containers':["
                     "{'name':'c','resources':{'requests':{'cpu':'2'}}}]},"
                     "'status':{'nominatedNodeName':'b'}}");
    fixture_try(&f, POD); /* b is nominated for somebody */
    assert_int_equal(f.a.feasible, 1);
    assert_true(fixture_fits(&f, "c"));
    second.prefers = "b";
    fixture_try(&f, POD); /* none of them: as if nobody had a wish */
    assert_int_equal(f.a.feasible, 2);
    fixture_nominate(&f, "{'metadata':{'name':'p','namespace':'ns','uid':'p'},"
                         "'status':{'nominatedNodeName':'a'}}");
    f.nominated_first = true; /* room was made for it there */
    second.prefers = "c";
    fixture_try(&f, POD);
    assert_int_equal(f.a.feasible, 1);
    assert_true(fixture_fits(&f, "a"));
    f.nominated_first = false;
    shapes_clear(f.shapes);
    first.names = "a";
    second.prefers = "c"; /* which was left out */
    fixture_try(&f, POD);
    assert_true(fixture_fits(&f, "a"));
}

static void test_a_plugin_finds_the_one_node(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    second.finds = KS_SUCCESS;
    second.one = "b";
    first.finds = KS_ERROR; /* who is asked second is not asked */
    second.prefers = "c";   /* nor is what it would like */
    fixture_try(&f, POD);
    assert_int_equal(f.a.feasible, 1);
    assert_true(fixture_fits(&f, "b"));
    assert_that(f.a.narrowed, ==, slot(&f, "Bass"));
    first.why = 1; /* the filters have a say */
    fixture_try(&f, POD);
    assert_string_equal(fixture_message(&f), "0/3 nodes are available: 1 busy, 2 node(s) didn't "
                                             "satisfy plugin(s) [Bass].");
    first.why = 0;
    first.names = "a";
    fixture_try(&f, POD);
    assert_int_equal(f.a.code, KS_UNRESOLVABLE);
    assert_string_equal(fixture_message(&f),
                        "0/3 nodes are available: node(s) didn't satisfy plugin(s) [Alto Bass] "
                        "simultaneously.");
}

/* Room that was made for the pod elsewhere does not count against it. */
static void test_the_one_node_comes_before_a_nominated_one(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    f.nominated_first = true;
    fixture_nominate(&f, "{'metadata':{'name':'p','namespace':'ns','uid':'p'},"
                         "'status':{'nominatedNodeName':'a'}}");
    second.finds = KS_SUCCESS;
    second.one = "b";
    fixture_try(&f, POD);
    assert_true(fixture_fits(&f, "b"));
    second.one = "a";
    fixture_try(&f, POD);
    assert_true(f.a.nominated_fits && fixture_fits(&f, "a"));
    second.finds = KS_SKIP;
    second.prefers = "c";
    fixture_try(&f, POD);
    assert_true(fixture_fits(&f, "a"));
}

static void test_a_plugin_finds_no_node(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    second.finds = KS_SUCCESS;
    fixture_try(&f, POD);
    assert_int_equal(f.a.code, KS_ERROR);
    assert_string_equal(f.a.text, "FindOneNodePlugin \"Bass\" succeeded but produced no node for "
                                  "pod ns/p");
    second.finds = KS_UNSCHEDULABLE;
    fixture_try(&f, POD);
    assert_int_equal(f.a.code, KS_UNSCHEDULABLE);
    assert_that(f.a.rejectors, ==, slot(&f, "Bass"));
    assert_string_equal(fixture_message(&f), "0/3 nodes are available: no place for all.");
    second.finds = KS_SKIP; /* the usual way, and what is known of equal pods is right */
    fixture_try(&f, POD);
    assert_int_equal(f.a.feasible, 3);
}

static void test_rows_may_be_changed(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    first.fills = "b";
    second.names = "a b";
    fixture_try(&f, POD);
    assert_int_equal(f.a.feasible, 1);
    assert_true(fixture_fits(&f, "a"));
    assert_string_equal(fixture_why(&f, "b"), "Insufficient cpu");
    first.fills = NULL; /* the cluster itself is as it was */
    second.names = NULL;
    fixture_try(&f, POD);
    assert_int_equal(f.a.feasible, 3);
}

static void test_who_is_not_enabled_is_not_heard(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct object_fixture *base = *state;

    start(&f, state);
    first.after = "a";
    fixture_try(&f, POD);
    assert_that(first.transformed, >, 0);
    assert_int_equal(f.a.feasible, 1);
    shapes_clear(f.shapes);
    profile_free(f.profile);
    struct profile_config c = profile_config_default(plugins, "s", base->arena);
    struct profile_set *set = &c.points[KS_POINT_PRE_FILTER];
    assert_string_equal(set->items[1].plugin, "Alto");
    set->n = 1; /* filter and score are left to it */
    f.profile = profile_new(&c, plugins, &f.env, NULL);
    first.transformed = second.transformed = 0;
    fixture_try(&f, POD);
    assert_int_equal(first.transformed, 0);
    assert_that(second.transformed, >, 0);
    assert_int_equal(f.a.feasible, 3);
}

/* ---- scores ---------------------------------------------------------------------------------- */

static void test_scores_out_of_range(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    first.score = 100;
    fixture_try(&f, POD);
    assert_int_equal(f.a.code, KS_SUCCESS);
    assert_int_equal(fixture_score(&f, "Alto", "a"), 100);
    shapes_clear(f.shapes);
    first.score = 101;
    fixture_try(&f, POD);
    assert_int_equal(f.a.code, KS_ERROR);
    assert_string_equal(f.a.text, "plugin \"Alto\" returns an invalid score 101, it should in the "
                                  "range of [0, 100] after normalizing");
    first.score = 0;
    fixture_try(&f, POD); /* nothing of it was kept */
    assert_int_equal(f.a.code, KS_SUCCESS);
    second.score = -1;
    fixture_try(&f, POD);
    assert_string_equal(f.a.text, "plugin \"Bass\" returns an invalid score -1, it should in the "
                                  "range of [0, 100] after normalizing");
}

/* ---- events ---------------------------------------------------------------------------------- */

static enum ks_code open_permit(void *self, const struct pod *p, const char *node,
                                nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)p, (void)node, (void)ret_timeout, (void)why;
    return KS_SUCCESS;
}

static void silent_post_bind(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
}

static void test_who_names_no_events_hears_all(void **state)
{
    static const struct ks_plugin permits = { .abi = KS_PLUGIN_ABI,
                                              .size = sizeof(struct ks_plugin),
                                              .name = "Permits",
                                              .permit = open_permit };
    static const struct ks_plugin watches = { .abi = KS_PLUGIN_ABI,
                                              .size = sizeof(struct ks_plugin),
                                              .name = "Watches",
                                              .post_bind = silent_post_bind };
    const struct ks_registered table[] = { { &ks_plugin_priority_sort, 0, true },
                                           { &permits, 0, true },
                                           { &watches, 0, true },
                                           { &ks_plugin_default_binder, 0, true },
                                           { NULL, 0, false } };
    const struct ks_event e = { KS_RES_PVC, KS_DELETE, NULL, NULL };
    struct object_fixture *base = *state;
    struct profile_config c = profile_config_default(table, "s", base->arena);
    CLEANUP(profile_free)
    struct profile *p = profile_new(&c, table, &(struct ks_env){ 0 }, NULL);

    uint64_t heard = profile_listeners(p, &e);
    assert_true(heard >> profile_slot(p, "Permits") & 1);
    assert_false(heard >> profile_slot(p, "Watches") & 1); /* it turns nobody down */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_who_narrows_is_a_rejector),
        FIXTURE_TEST(test_lists_that_have_nothing_in_common),
        FIXTURE_TEST(test_the_worst_verdict_wins),
        FIXTURE_TEST(test_who_waits_for_another_is_told_apart),
        FIXTURE_TEST(test_a_nominated_node_that_does_not_fit_counts_too),
        FIXTURE_TEST(test_a_preferred_node_must_do),
        FIXTURE_TEST(test_a_plugin_finds_the_one_node),
        FIXTURE_TEST(test_the_one_node_comes_before_a_nominated_one),
        FIXTURE_TEST(test_a_plugin_finds_no_node),
        FIXTURE_TEST(test_rows_may_be_changed),
        FIXTURE_TEST(test_who_is_not_enabled_is_not_heard),
        FIXTURE_TEST(test_scores_out_of_range),
        FIXTURE_TEST(test_who_names_no_events_hears_all),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
