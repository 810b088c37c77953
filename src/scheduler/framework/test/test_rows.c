/* test_rows.c - row data of plugins in attempts: it is current whenever a plugin is asked, also on
 * rows of an overlay, and rows whose data runs out are looked at again.
 */
#include "base/test/asserts.h"
#include "scheduler/test/plugin_fixture.h"

#include "api/koord/nodemetric.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/registry.h"

#define SEC     NSEC_PER_SEC
#define EXPIRES (100 * SEC)

enum { USAGE, PODS, GUARD_COLUMNS };
static struct guard { /* pods of the row, and the load of its node as long as that is news */
    const struct objects *objects;
    const struct ks_nodes *nodes;
    uint32_t fills, counted, filtered, scored;
    bool skips;         /* pre_filter does not ask for row data */
    int64_t adds;       /* that transform adds to the usage of n0 */
    const char *gone;   /* a pod that transform takes away from there */
    int64_t at_reserve; /* pods of the row, as reserve saw them */
} guard;

struct guarded {
    int64_t usage, pods;
};

static void guard_fill(void *self, struct ks_fill *f)
{
    const struct kobj *o =
        objects_get(guard.objects, &kind_nodemetric, NULL, f->nodes->node[f->row]->obj.meta.name);
    const struct nodemetric *m = o ? nodemetric_of(o) : NULL;
    struct guarded *d = f->data;

    (void)self;
    guard.fills++;
    f->valid_until = m ? m->status.update_time + EXPIRES : 0;
    if (f->now < f->valid_until) {
        d->usage = m->status.node_metric
                       ? requests_count(&m->status.node_metric->node_usage.resources, "cpu")
                       : 0;
    } else {
        d->usage = 0;
    }
    d->pods = f->nodes->pods[f->row].n;
    f->column[USAGE] = d->usage;
    f->column[PODS] = d->pods;
}

static void guard_add(void *self, struct ks_fill *f, const struct pod *p)
{
    struct guarded *d = f->data;

    (void)self, (void)p;
    guard.counted++;
    f->column[PODS] = ++d->pods;
}

static void guard_remove(void *self, struct ks_fill *f, const struct pod *p)
{
    struct guarded *d = f->data;

    (void)self, (void)p;
    guard.counted++;
    f->column[PODS] = --d->pods;
}

static const struct ks_row_data guard_row = {
    .size = sizeof(struct guarded),
    .columns = GUARD_COLUMNS,
    .pods = true,
    .fill = guard_fill,
    .add_pod = guard_add,
    .remove_pod = guard_remove,
};
static const struct ks_row_data guard_row_filled = {
    .size = sizeof(struct guarded), .columns = GUARD_COLUMNS, .pods = true, .fill = guard_fill
};
static const struct ks_row_data guard_row_on_demand = {
    .size = sizeof(struct guarded),
    .columns = GUARD_COLUMNS,
    .pods = true,
    .on_demand = true,
    .fill = guard_fill,
};

static int guard_create(const struct ks_env *env, const void *args, void **ret_self,
                        struct kerr *err)
{
    (void)args, (void)err;
    guard.objects = env->objects;
    guard.nodes = env->nodes;
    *ret_self = &guard;
    return 0;
}

static enum ks_code guard_transform(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    struct ks_overlay *o, void **ret_state, struct ks_texts *why)
{
    uint32_t row = ks_row_of(c->nodes, "n0");

    (void)ret_state, (void)self, (void)p, (void)why;
    for (uint32_t i = 0; guard.gone && i < c->nodes->pods[row].n; i++)
        if (streq(c->nodes->pods[row].items[i]->obj.meta.name, guard.gone)) {
            ks_overlay_remove_pod(o, row, c->nodes->pods[row].items[i]);
            break;
        }
    if (guard.adds)
        ks_overlay_add_own(o, c, row, USAGE, guard.adds);
    return guard.adds || guard.gone ? KS_SUCCESS : KS_SKIP;
}

static enum ks_code guard_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)self, (void)p, (void)ret_state, (void)only, (void)why;
    if (guard.skips)
        return KS_SKIP;
    ks_rows_refresh(c); /* also for data that is always current */
    return KS_SUCCESS;
}

/* Two pods a node, and less than two CPUs in use. */
static void guard_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)self, (void)p, (void)skip;
    guard.filtered += s.end - s.begin;
    for (uint32_t i = s.begin; i < s.end; i++) {
        const struct guarded *d = ks_row(c->rows, i);
        assert_int_equal(d->pods, c->nodes->pods[i].n);
        why[i] = c->rows->column[PODS][i] >= 2 || c->rows->column[USAGE][i] >= 2000;
    }
}

static void guard_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, int64_t *restrict out)
{
    (void)self, (void)p;
    guard.scored += s.end - s.begin;
    for (uint32_t i = s.begin; i < s.end && !guard.skips; i++)
        assert_int_equal(c->rows->column[PODS][i], c->nodes->pods[i].n);
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = guard.skips ? 0 : c->rows->column[USAGE][i] / 100;
}

static enum ks_code guard_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    (void)self, (void)p, (void)why;
    guard.at_reserve = c->rows->column[PODS][row];
    return KS_SUCCESS;
}

static void guard_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
}

static const struct ks_reason reasons[] = { { KS_SUCCESS, "" }, { KS_UNSCHEDULABLE, "full" } };
static const struct kind *const guard_kinds[] = { &kind_nodemetric, NULL };
#define GUARD(row_data, reused)                                                               \
    {                                                                                         \
        .abi = KS_PLUGIN_ABI, .size = sizeof(struct ks_plugin), .name = "Guard",              \
        .reasons = reasons, .reuse = reused, .kinds = guard_kinds, .row = row_data,           \
        .create = guard_create, .transform = guard_transform, .pre_filter = guard_pre_filter, \
        .filter = guard_filter, .score = guard_score, .normalize = ks_normalize_reversed,     \
        .reserve = guard_reserve, .unreserve = guard_unreserve,                               \
    }
static const struct ks_plugin guard_plugin = GUARD(&guard_row, KS_REUSE_LOCAL);
static const struct ks_plugin guard_filled = GUARD(&guard_row_filled, KS_REUSE_LOCAL);
static const struct ks_plugin guard_on_demand = GUARD(&guard_row_on_demand, KS_REUSE_GLOBAL);

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &guard_plugin, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};
static const struct ks_registered table_filled[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &guard_filled, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};
static const struct ks_registered table_on_demand[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &guard_on_demand, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static void put_node(struct plugin_fixture *f, const char *name)
{
    fixture_node(f, arena_printf(f->base->arena, "{'metadata':{'name':'%s'}}", name));
}

static void start(struct plugin_fixture *f, void **state, const struct ks_registered *plugins)
{
    guard = (struct guard){ 0 };
    fixture_init_with(f, state, plugins, NULL);
    f->now = 1000 * SEC;
    for (int i = 0; i < 4; i++)
        put_node(f, arena_printf(f->base->arena, "n%d", i));
}

static void put_pod(struct plugin_fixture *f, const char *name, const char *node)
{
    fixture_pod(f, arena_printf(f->base->arena,
                                "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'},'spec':{"
                                "'nodeName':'%s'}}",
                                name, name, node));
}

/* At this second since 1970. */
static void put_metric(struct plugin_fixture *f, const char *node, int second, int mcpu)
{
    fixture_put(f, &kind_nodemetric,
                arena_printf(f->base->arena,
                             "{'metadata':{'name':'%s'},'status':{'updateTime':"
                             "'1970-01-01T00:%02d:%02dZ','nodeMetric':{'nodeUsage':{'resources':{"
                             "'cpu':'%dm'}}}}}",
                             node, second / 60, second % 60, mcpu));
}

#define POD "{'metadata':{'name':'in','namespace':'ns','uid':'in'},'spec':{'priority':9}}"

/* How many rows are looked at for the pod. */
static uint32_t rows(struct plugin_fixture *f)
{
    struct attempt a;

    attempt_end(&f->a);
    kobj_unref(f->obj);
    f->obj = fixture_object(f->base, &kind_pod, POD);
    arena_reset(f->arena);
    guard.filtered = guard.scored = 0;
    fixture_attempt(f, &a, false);
    attempt_end(&a);
    return guard.filtered;
}

static void test_only_changed_rows_are_looked_at(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, table);
    assert_int_equal(rows(&f), 4);
    assert_int_equal(guard.fills, 4);
    put_metric(&f, "n1", 1000, 500);
    put_metric(&f, "n2", 1000, 2500);
    assert_int_equal(rows(&f), 2);
    assert_int_equal(guard.scored, 2);
    assert_int_equal(guard.fills, 6);
    assert_int_equal(rows(&f), 0);
    assert_int_equal(guard.fills, 6);
    fixture_try(&f, POD);
    assert_string_equal(fixture_why(&f, "n2"), "full");
    assert_int_equal(fixture_score(&f, "Guard", "n0"), 100);
    assert_int_equal(fixture_score(&f, "Guard", "n1"), 0);
}

static void test_a_row_that_runs_out_is_looked_at_again(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, table);
    put_metric(&f, "n2", 990, 2500);
    assert_int_equal(rows(&f), 4);
    f.now = 1089 * SEC;
    assert_int_equal(rows(&f), 0);
    fixture_try(&f, POD);
    assert_false(fixture_fits(&f, "n2"));
    f.now = 1090 * SEC;
    assert_int_equal(rows(&f), 1);
    assert_int_equal(rows(&f), 0);
    fixture_try(&f, POD);
    assert_true(fixture_fits(&f, "n2"));
}

/* What had run out when it came is good again, if there was no time to come in any row. */
static void test_the_clock_is_set_back(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, table);
    put_metric(&f, "n2", 990, 2500);
    f.now = 2000 * SEC;
    assert_int_equal(rows(&f), 4);
    fixture_try(&f, POD);
    assert_true(fixture_fits(&f, "n2"));
    f.now = 1000 * SEC;
    assert_int_equal(rows(&f), 4);
    assert_int_equal(rows(&f), 0);
    fixture_try(&f, POD);
    assert_false(fixture_fits(&f, "n2"));
}

static void test_rows_of_an_overlay(void **state)
{
    const struct preemption_rules rules = { 0 };
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct ks_texts why;
    struct preemption p;

    start(&f, state, table);
    why = (struct ks_texts){ .arena = f.base->arena };
    for (int i = 1; i < 4; i++) /* no room elsewhere, and eviction does not help */
        put_metric(&f, arena_printf(f.base->arena, "n%d", i), 1000, 5000);
    put_pod(&f, "p", "n0");
    put_pod(&f, "q", "n0");
    fixture_try(&f, POD);
    assert_false(fixture_fits(&f, "n0"));
    guard.counted = 0;
    assert_int_equal(preemption_plan(&rules, &f.a, &p, &why), KS_SUCCESS);
    assert_int_equal(p.nodes[0].n, 1); /* one of two has to go */
    assert_that(guard.counted, >, 0);
    fixture_try(&f, POD);
    guard.gone = "q";
    fixture_try(&f, POD);
    assert_true(fixture_fits(&f, "n0"));
    guard.adds = 2000; /* and now it is too busy */
    fixture_try(&f, POD);
    assert_false(fixture_fits(&f, "n0"));
    guard.gone = NULL;
    guard.adds = 0;
    assert_int_equal(rows(&f), 1);
    fixture_try(&f, POD);
    assert_false(fixture_fits(&f, "n0"));
    attempt_end(&f.a);
}

/* Tried and taken back on a row that the overlay has changed: filled once more before the score. */
static void test_a_nominated_pod_on_a_row_of_an_overlay(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, table_filled);
    put_pod(&f, "p", "n0");
    put_pod(&f, "q", "n0");
    guard.gone = "q";
    fixture_nominate(&f, "{'metadata':{'name':'x','namespace':'ns','uid':'x'},'spec':{'priority':"
                         "9},'status':{'nominatedNodeName':'n0'}}");
    fixture_try(&f, POD);
    assert_false(fixture_fits(&f, "n0"));
    f.nominated_once = true;
    fixture_try(&f, POD);
    assert_false(fixture_fits(&f, "n0"));
}

static void test_reserve_sees_the_pod(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct ks_texts why;
    enum ks_code code;

    start(&f, state, table);
    why = (struct ks_texts){ .arena = f.base->arena };
    fixture_try(&f, POD);
    assert_int_equal(nodecache_assume(f.cache, f.obj, "n3", NULL, NULL), 0);
    assert_int_equal(attempt_reserve(&f.a, fixture_row(&f, "n3"), &code, &why), -1);
    assert_int_equal(guard.at_reserve, 1);
    attempt_end(&f.a);
    assert_int_equal(rows(&f), 1);
    uint32_t fills = guard.fills;
    ks_touch_row(guard.nodes, "n2"); /* as a service does that gave something away there */
    assert_int_equal(rows(&f), 1);
    assert_int_equal(guard.fills, fills + 1);
}

static void test_on_demand(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state, table_on_demand);
    guard.skips = true;
    rows(&f);
    assert_int_equal(guard.fills, 0);
    guard.skips = false;
    rows(&f);
    assert_int_equal(guard.fills, 4);
    put_pod(&f, "p", "n0");
    put_pod(&f, "q", "n0");
    fixture_try(&f, POD);
    assert_false(fixture_fits(&f, "n0"));
}

static void expect_refused(struct plugin_fixture *f, struct ks_row_data d, const char *text)
{
    struct ks_plugin pl = guard_plugin;
    const struct ks_registered bad[] = { { &ks_plugin_priority_sort, 0, true },
                                         { &pl, 1, true },
                                         { &ks_plugin_default_binder, 0, true },
                                         { NULL, 0, false } };
    struct kerr err = { 0 };

    pl.row = &d;
    struct profile_config c = profile_config_default(bad, "s", f->base->arena);
    assert_null(profile_new(&c, bad, &f->env, &err));
    assert_string_equal(err.text, text);
}

static void test_bad_declarations(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct ks_row_data d = guard_row;

    start(&f, state, table);
    d.columns = KS_ROW_COLUMNS + 1;
    expect_refused(&f, d, "plugin Guard: row data needs fill(), and at most 20 columns");
    d = guard_row;
    d.remove_pod = NULL;
    expect_refused(&f, d, "plugin Guard: row data cannot undo what it counts");
    d = guard_row;
    d.pods = false;
    expect_refused(&f, d, "plugin Guard: row data cannot undo what it counts");
    expect_refused(&f, guard_row_on_demand, "plugin Guard: nobody asks for its row data each time");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_only_changed_rows_are_looked_at),
        FIXTURE_TEST(test_a_row_that_runs_out_is_looked_at_again),
        FIXTURE_TEST(test_the_clock_is_set_back),
        FIXTURE_TEST(test_rows_of_an_overlay),
        FIXTURE_TEST(test_a_nominated_pod_on_a_row_of_an_overlay),
        FIXTURE_TEST(test_reserve_sees_the_pod),
        FIXTURE_TEST(test_on_demand),
        FIXTURE_TEST(test_bad_declarations),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
