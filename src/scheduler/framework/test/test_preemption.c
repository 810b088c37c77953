/* test_preemption.c - the dry run and the search for victims under rules that differ from the usual
 * (scheduler-core 8.18). The usual ones: plugins/defaultpreemption/test.
 */
#include "base/test/asserts.h"
#include "scheduler/test/plugin_fixture.h"

#include "api/policy.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/framework/preemption.h"

static void put_node(struct plugin_fixture *f, const char *name, int cpu)
{
    fixture_node(f, arena_printf(f->base->arena,
                                 "{'metadata':{'name':'%s'},'status':{'allocatable':{'cpu':'%d',"
                                 "'pods':'110'}}}",
                                 name, cpu));
}

/* A pod whose team owns it. */
static void put_pod(struct plugin_fixture *f, const char *name, const char *node, int cpu,
                    int priority, const char *team)
{
    fixture_pod(f, arena_printf(f->base->arena,
                                "{'metadata':{'name':'%s','namespace':'ns','uid':'%s','labels':"
                                "{'team':'%s'}},'spec':{'nodeName':'%s','priority':%d,"
                                "'containers':[{'name':'c','resources':{'requests':{'cpu':'%d'}}}]"
                                "}}",
                                name, name, team, node, priority, cpu));
}

/* Pods of priority 9 that need so much. */
static void try_pod(struct plugin_fixture *f, int cpu)
{
    fixture_try(f, arena_printf(f->base->arena,
                                "{'metadata':{'name':'in','namespace':'ns','uid':'in'},'spec':{"
                                "'priority':9,'containers':[{'name':'c','resources':{'requests':"
                                "{'cpu':'%d'}}}]}}",
                                cpu));
}

static const char *names(struct plugin_fixture *f, const struct victims *v)
{
    const char *all = "";
    for (uint32_t i = 0; i < v->n; i++)
        all = arena_printf(f->base->arena, "%s%s%s", all, i ? " " : "", v->pods[i]->obj.meta.name);
    return all;
}

/* Who goes from a node under these rules, or why nobody does. */
static const char *dry_run(struct plugin_fixture *f, const struct preemption_rules *r,
                           const char *node, enum ks_code code)
{
    struct dry_run d = { .a = &f->a, .rules = r };
    struct ks_texts why = { .arena = f->base->arena };
    struct kerr err = { 0 };
    struct victims v;

    enum ks_code got = dry_run_row(&d, fixture_row(f, node), &v, &why);
    assert_int_equal(got, code);
    assert_int_equal(nodecache_verify(f->cache, &err), 0);
    return got == KS_SUCCESS ? names(f, &v) : ks_texts_join(&why);
}

/* ---- who may be evicted ---------------------------------------------------------------------- */

static bool of_team(void *arg, const struct attempt *a, const struct pod *victim, uint32_t row)
{
    const char *team = kstrmap_get(&victim->obj.meta.labels, "team");
    (void)a, (void)row;
    return team && streq(team, arg);
}

static void test_the_caller_says_who_may_go(void **state)
{
    const struct preemption_rules usual = { 0 };
    const struct preemption_rules red = { .may_evict = of_team, .arg = (void *)"red" };
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4);
    put_node(&f, "n2", 4);
    put_pod(&f, "low", "n1", 2, 1, "blue");
    put_pod(&f, "high", "n1", 2, 100, "red"); /* priorities are the caller's business too */
    put_pod(&f, "only", "n2", 4, 1, "blue");
    try_pod(&f, 2);
    assert_string_equal(dry_run(&f, &usual, "n1", KS_SUCCESS), "low");
    assert_string_equal(dry_run(&f, &red, "n1", KS_SUCCESS), "high");
    assert_string_equal(dry_run(&f, &red, "n2", KS_UNRESOLVABLE),
                        "No preemption victims found for incoming pod");
    try_pod(&f, 4);
    assert_string_equal(dry_run(&f, &red, "n1", KS_UNSCHEDULABLE), "Insufficient cpu");
}

static int by_name_backwards(void *arg, const struct attempt *a, const struct pod *x,
                             const struct pod *y)
{
    (void)arg, (void)a;
    return strcmp(y->obj.meta.name, x->obj.meta.name);
}

static void test_the_caller_says_who_is_more_important(void **state)
{
    const struct preemption_rules usual = { 0 }, backwards = { .compare = by_name_backwards };
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 6);
    put_pod(&f, "a", "n1", 2, 3, "x");
    put_pod(&f, "b", "n1", 2, 2, "x");
    put_pod(&f, "c", "n1", 2, 1, "x");
    try_pod(&f, 4);
    assert_string_equal(dry_run(&f, &usual, "n1", KS_SUCCESS), "b c");
    assert_string_equal(dry_run(&f, &backwards, "n1", KS_SUCCESS), "b a");
}

/* ---- what fits ------------------------------------------------------------------------------- */

struct quota {
    int64_t max; /* CPUs of all pods on the row, the new one included */
    int asked;
};

static bool within_quota(void *arg, struct attempt *a, uint32_t row)
{
    struct quota *q = arg;
    int64_t used = a->cycle.nodes->used[KS_MCPU][row] + a->pod.requests.fixed[KS_MCPU];
    q->asked++;
    return attempt_fits(a, row, NULL) && used <= q->max * 1000;
}

static void over_quota(void *arg, struct attempt *a, uint32_t row, struct ks_texts *why)
{
    (void)arg, (void)a, (void)row;
    ks_texts_add(why, "over the quota");
}

static void test_the_caller_says_what_fits(void **state)
{
    struct quota q = { .max = 5 };
    const struct preemption_rules rules = { .arg = &q,
                                            .fits = within_quota,
                                            .explain = over_quota };
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 100);
    put_pod(&f, "a", "n1", 2, 3, "x");
    put_pod(&f, "b", "n1", 2, 2, "x");
    try_pod(&f, 1); /* it fits the node; its quota is full when both stay */
    assert_string_equal(dry_run(&f, &rules, "n1", KS_SUCCESS), "");
    q.max = 3;
    assert_string_equal(dry_run(&f, &rules, "n1", KS_SUCCESS), "b");
    q.max = 1;
    assert_string_equal(dry_run(&f, &rules, "n1", KS_SUCCESS), "a b");
    q.max = 0;
    assert_string_equal(dry_run(&f, &rules, "n1", KS_UNSCHEDULABLE), "over the quota");
    assert_that(q.asked, >, 0);
}

/* ---- the search ------------------------------------------------------------------------------ */

static const char *plan(struct plugin_fixture *f, const struct preemption_rules *r)
{
    struct ks_texts why = { .arena = f->base->arena };
    struct preemption p;
    struct victims v;

    enum ks_code code = preemption_plan(r, &f->a, &p, &why);
    if (code != KS_SUCCESS)
        return ks_texts_join(&why);
    assert_int_equal(p.n, 1);
    assert_string_equal(preemption_node_for(&p, f->obj->meta.uid), p.nodes[0].node);
    v = (struct victims){ .pods = (const struct pod **)p.nodes[0].victims, .n = p.nodes[0].n };
    return arena_printf(f->base->arena, "%s: %s", p.nodes[0].node, names(f, &v));
}

/* Without budgets nobody is protected; without a number of candidates all rows are looked at. */
static void test_what_is_not_asked_for_does_not_count(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char name[8];

    fixture_init(&f, state, NULL, NULL);
    CLEANUP(budgets_free) struct budgets *budgets = budgets_new(f.objects);
    const struct preemption_rules with = { .budgets = budgets }, without = { 0 };
    const struct preemption_rules one = { .absolute = 1 };
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "n%02d", i);
        put_node(&f, name, 4);
        put_pod(&f, arena_printf(f.base->arena, "v%02d", i), name, 4, i == 13 ? 1 : 2,
                i == 13 ? "guarded" : "x");
    }
    fixture_put(&f, &kind_pdb,
                "{'metadata':{'name':'x','namespace':'ns'},'spec':{'selector':{'matchLabels':"
                "{'team':'guarded'}}},'status':{'disruptionsAllowed':0}}");
    try_pod(&f, 4);
    assert_string_equal(plan(&f, &without), "n13: v13");
    assert_string_not_equal(plan(&f, &with), "n13: v13");
    assert_string_not_equal(plan(&f, &one), "n13: v13"); /* the first that will do */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_the_caller_says_who_may_go),
        FIXTURE_TEST(test_the_caller_says_who_is_more_important),
        FIXTURE_TEST(test_the_caller_says_what_fits),
        FIXTURE_TEST(test_what_is_not_asked_for_does_not_count),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
