/* test_defaultpreemption.c - who has to go for a pod that fits nowhere (scheduler-core 8.18). */
#include "scheduler/test/plugin_checks.h"

#include "api/policy.h"
#include "scheduler/framework/preemption.h"

static void put_node(struct plugin_fixture *f, const char *name, int cpu, const char *spec)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s'},'spec':{%s},"
                   "'status':{'allocatable':{'cpu':'%d','pods':'110'}}}",
                   name, spec, cpu);
    fixture_node(f, text);
}

/* A pod of namespace ns on a node. more: further members of metadata; start: "10:00". */
static void put_pod(struct plugin_fixture *f, const char *name, const char *node, int cpu,
                    int priority, const char *start, const char *more)
{
    char text[768];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'%s},'spec':{'nodeName':"
                   "'%s','priority':%d,'containers':[{'name':'c','resources':{'requests':{'cpu':"
                   "'%d'}}}]},'status':{'phase':'Running','startTime':'2026-03-01T%s:00Z'}}",
                   name, name, more, node, priority, cpu, start);
    fixture_pod(f, text);
}

static void put_pdb(struct plugin_fixture *f, const char *name, const char *selector,
                    const char *status)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','namespace':'ns'},'spec':{'selector':%s},"
                   "'status':{%s}}",
                   name, selector, status);
    fixture_put(f, &kind_pdb, text);
}

struct planned {      /* a plan for one node and one pod */
    const char *node; /* "": none */
    bool keep;
    uint32_t n, violations;
};

/* "n1: a b" with the most important first, or the message. */
static const char *plan_of(struct plugin_fixture *f, struct attempt *a, struct planned *ret)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct profile_slot *s =
        &f->profile->slots[profile_slot(f->profile, "DefaultPreemption")];
    struct ks_texts why = { .arena = f->arena };
    struct preemption p = { 0 };
    struct kerr err = { 0 };

    assert_int_equal(a->feasible, 0);
    enum ks_code code = s->plugin->post_filter->plan(s->self, a, &p, &why);
    *ret = (struct planned){ .node = "", .keep = p.keep };
    assert_int_equal(nodecache_verify(f->cache, &err), 0);
    if (code != KS_SUCCESS) {
        assert_int_equal(code, KS_UNSCHEDULABLE);
        assert_int_equal(why.n, 1);
        return arena_strdup(f->base->arena, why.items[0]);
    }
    assert_int_equal(why.n, 0);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.nodes->nnominees, 1);
    assert_ptr_equal(p.nodes->nominees[0], a->obj);
    *ret = (struct planned){ arena_strdup(f->base->arena, p.nodes->node), p.keep, p.nodes->n,
                             p.nodes->violations };
    strbuf_appendf(&b, "%s:", ret->node);
    for (uint32_t i = 0; i < ret->n; i++)
        strbuf_appendf(&b, " %s", p.nodes->victims[i]->obj.meta.name);
    return arena_strdup(f->base->arena, strbuf_str(&b));
}

/* Also with what the shapes remember, which must not notice that a plan was made. */
static const char *plan(struct plugin_fixture *f, int cpu, int priority, const char *spec,
                        const char *status, struct planned *ret)
{
    struct planned ignored, again;
    struct attempt a;
    char text[768];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'in','namespace':'ns','uid':'in'},'spec':{'priority':%d,"
                   "'containers':[{'name':'c','resources':{'requests':{'cpu':'%d'}}}]%s},"
                   "'status':{%s}}",
                   priority, cpu, spec, status);
    fixture_try(f, text);
    const char *said = plan_of(f, &f->a, ret ? ret : &ignored);
    fixture_attempt(f, &a, false);
    assert_non_null(a.shape);
    assert_string_equal(plan_of(f, &a, &again), said);
    fixture_try(f, text);
    return said;
}

static void test_equal_priority_is_no_victim(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct planned p;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4, "");
    put_pod(&f, "a", "n1", 4, 10, "10:00", "");
    assert_string_equal(plan(&f, 1, 10, "", "", &p),
                        "preemption: 0/1 nodes are available: 1 No preemption victims found for "
                        "incoming pod.");
    assert_false(p.keep);
    assert_string_equal(p.node, ""); /* the nomination goes */
    assert_string_equal(plan(&f, 1, 11, "", "", &p), "n1: a");
    assert_false(p.keep);
}

static void test_only_those_who_are_in_the_way(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 8, "");
    put_pod(&f, "high", "n1", 2, 5, "10:00", "");
    put_pod(&f, "low", "n1", 2, 1, "10:00", "");
    put_pod(&f, "young", "n1", 2, 3, "12:00", "");
    put_pod(&f, "old", "n1", 2, 3, "11:00", "");
    assert_string_equal(plan(&f, 2, 9, "", "", NULL), "n1: low");
    assert_string_equal(plan(&f, 4, 9, "", "", NULL), "n1: young low");
    assert_string_equal(plan(&f, 5, 9, "", "", NULL), "n1: old young low");
    assert_string_equal(plan(&f, 8, 9, "", "", NULL), "n1: high old young low");
}

static void test_a_budget_protects_the_less_important(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct planned p;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4, "");
    put_pod(&f, "old", "n1", 2, 1, "10:00", ",'labels':{'app':'web'}");
    put_pod(&f, "new", "n1", 2, 1, "11:00", ",'labels':{'app':'web'}");
    assert_string_equal(plan(&f, 2, 9, "", "", NULL), "n1: new");
    put_pdb(&f, "web", "{'matchLabels':{'app':'web'}}", "'disruptionsAllowed':1");
    /* The more important takes the budget; the other would break it and comes back first. */
    assert_string_equal(plan(&f, 2, 9, "", "", &p), "n1: old");
    assert_int_equal(p.violations, 0);
    assert_string_equal(plan(&f, 4, 9, "", "", &p), "n1: old new");
    assert_int_equal(p.violations, 1);
}

static void test_budgets_that_protect_nobody(void **state)
{
    static const char *const pdbs[][2] = {
        { "{}", "'disruptionsAllowed':0" }, /* everybody is nobody */
        { "null", "'disruptionsAllowed':0" },
        { "{'matchExpressions':[{'key':'app','operator':'Likes'}]}", "'disruptionsAllowed':0" },
        { "{'matchLabels':{'app':'db'}}", "'disruptionsAllowed':0" },
        { "{'matchExpressions':[{'key':'x','operator':'DoesNotExist'}]}",
          "'disruptionsAllowed':0,'disruptedPods':{'a':'2026-03-01T10:00:00Z'}" },
    };
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct planned p;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4, "");
    put_pod(&f, "a", "n1", 4, 1, "10:00", ",'labels':{'app':'web'}");
    for (size_t i = 0; i < ARRAY_LEN(pdbs); i++) {
        put_pdb(&f, "x", pdbs[i][0], pdbs[i][1]);
        assert_string_equal(plan(&f, 4, 9, "", "", &p), "n1: a");
        assert_int_equal(p.violations, 0);
    }
    fixture_put(&f, &kind_pdb,
                "{'metadata':{'name':'y','namespace':'other'},'spec':{'selector':"
                "{'matchLabels':{'app':'web'}}},'status':{'disruptionsAllowed':0}}");
    assert_string_equal(plan(&f, 4, 9, "", "", &p), "n1: a");
    assert_int_equal(p.violations, 0);
    put_pdb(&f, "z", "{'matchLabels':{'app':'web'}}", "'disruptionsAllowed':0");
    assert_string_equal(plan(&f, 4, 9, "", "", &p), "n1: a");
    assert_int_equal(p.violations, 1);
    /* Who has no labels is not asked about, whatever the selector says. */
    put_pdb(&f, "x", "{'matchExpressions':[{'key':'x','operator':'DoesNotExist'}]}",
            "'disruptionsAllowed':0");
    put_pod(&f, "a", "n1", 4, 1, "10:00", "");
    assert_string_equal(plan(&f, 4, 9, "", "", &p), "n1: a");
    assert_int_equal(p.violations, 0);
}

/* Filters that count pods see them go and come back. */
static void test_pods_that_are_not_borne(void **state)
{
    static const char apart[] =
        ",'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
        "[{'topologyKey':'zone','labelSelector':{'matchLabels':{'app':'web'}}}]}}";
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    fixture_node(&f, "{'metadata':{'name':'n1','labels':{'zone':'z'}},'status':{'allocatable':"
                     "{'cpu':'8','pods':'9'}}}");
    put_pod(&f, "a", "n1", 1, 2, "10:00", ",'labels':{'app':'web'}");
    put_pod(&f, "b", "n1", 1, 1, "10:00", ",'labels':{'app':'db'}");
    put_pod(&f, "c", "n1", 1, 1, "10:00", ",'labels':{'app':'web'}");
    assert_string_equal(plan(&f, 1, 9, apart, "", NULL), "n1: a c");
    put_pod(&f, "a", "n1", 1, 9, "10:00", ",'labels':{'app':'web'}");
    assert_string_equal(plan(&f, 1, 9, apart, "", NULL),
                        "preemption: 0/1 nodes are available: 1 node(s) didn't match pod "
                        "anti-affinity rules.");
}

/* ---- between nodes --------------------------------------------------------------------------- */

static void test_fewest_broken_budgets(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4, "");
    put_node(&f, "n2", 4, "");
    put_pdb(&f, "web", "{'matchLabels':{'app':'web'}}", "'disruptionsAllowed':0");
    put_pod(&f, "a", "n1", 4, 1, "10:00", ",'labels':{'app':'web'}");
    put_pod(&f, "b", "n2", 4, 8, "10:00", "");
    assert_string_equal(plan(&f, 4, 9, "", "", NULL), "n2: b");
}

static void test_lowest_first_victim_then_sum(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4, "");
    put_node(&f, "n2", 4, "");
    put_node(&f, "n3", 4, "");
    put_pod(&f, "a1", "n1", 4, 6, "10:00", "");
    put_pod(&f, "b1", "n2", 2, 5, "10:00", "");
    put_pod(&f, "b2", "n2", 2, 4, "10:00", "");
    put_pod(&f, "c1", "n3", 2, 5, "10:00", "");
    put_pod(&f, "c2", "n3", 2, 3, "10:00", "");
    /* one pod of 6 is dearer than two up to 5; 5 + 3 is less than 5 + 4 */
    assert_string_equal(plan(&f, 4, 9, "", "", NULL), "n3: c1 c2");
}

static void test_fewest_victims_when_sums_are_equal(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4, "");
    put_node(&f, "n2", 4, "");
    put_pod(&f, "a1", "n1", 2, 0, "10:00", "");
    put_pod(&f, "a2", "n1", 2, INT32_MIN, "10:00", ""); /* counts for nothing in the sum */
    put_pod(&f, "b1", "n2", 4, 0, "10:00", "");
    assert_string_equal(plan(&f, 4, 9, "", "", NULL), "n2: b1");
}

static void test_the_youngest_of_the_first_victims(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4, "");
    put_node(&f, "n2", 4, "");
    put_pod(&f, "a", "n1", 4, 1, "10:00", "");
    put_pod(&f, "b", "n2", 4, 1, "11:00", "");
    assert_string_equal(plan(&f, 4, 9, "", "", NULL), "n2: b");
    put_pod(&f, "b", "n2", 4, 1, "10:00", "");
    assert_string_equal(plan(&f, 4, 9, "", "", NULL), "n1: a"); /* the order of nodes */
}

/* ---- which nodes ----------------------------------------------------------------------------- */

static void test_nodes_where_it_does_not_help(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "small", 2, "");
    put_node(&f, "tainted", 9, "'taints':[{'key':'x','effect':'NoSchedule'}]");
    put_pod(&f, "s", "small", 2, 0, "10:00", "");
    put_pod(&f, "t", "tainted", 9, 0, "10:00", "");
    assert_string_equal(plan(&f, 3, 9, "", "", NULL),
                        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for "
                        "scheduling.");
    put_node(&f, "taken", 4, "");
    put_pod(&f, "k1", "taken", 3, 9, "10:00", "");
    put_pod(&f, "k2", "taken", 1, 0, "10:00", "");
    assert_string_equal(plan(&f, 3, 9, "", "", NULL),
                        "preemption: 0/3 nodes are available: 1 Insufficient cpu, 2 Preemption is "
                        "not helpful for scheduling.");
}

static void test_nominated_room_is_not_given_twice(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4, "");
    put_node(&f, "n2", 4, "");
    put_pod(&f, "a", "n1", 4, 1, "11:00", "");
    put_pod(&f, "b", "n2", 4, 1, "10:00", "");
    assert_string_equal(plan(&f, 3, 9, "", "", NULL), "n1: a");
    fixture_nominate(&f, "{'metadata':{'name':'m','namespace':'ns','uid':'m'},'spec':{'priority':9,"
                         "'containers':[{'name':'c','resources':{'requests':{'cpu':'3'}}}]},"
                         "'status':{'nominatedNodeName':'n1'}}");
    assert_string_equal(plan(&f, 3, 9, "", "", NULL), "n2: b");
    put_pod(&f, "b", "n2", 4, 9, "10:00", "");
    assert_string_equal(plan(&f, 3, 9, "", "", NULL),
                        "preemption: 0/2 nodes are available: 1 Insufficient cpu, 1 No preemption "
                        "victims found for incoming pod.");
    assert_string_equal(plan(&f, 3, 10, "", "", NULL), "n1: a"); /* a nomination to a lesser one */
}

/* n nodes with a victim of priority 2 each, but of priority 1 on the node that comes `at` places
 * after the first one looked at. Is it found? */
static bool is_found(void **state, uint32_t n, uint32_t at, const char *config)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    uint32_t cheap = (uint32_t)((kuid_hash(kuid_parse("in", 2)) + at) % n);
    char name[16];
    struct planned p;

    fixture_init(&f, state, "NodeResourcesFit DefaultPreemption", config);
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        put_node(&f, name, 1, "");
        put_pod(&f, name, name, 1, i == cheap ? 1 : 2, "10:00", "");
    }
    plan(&f, 1, 9, "", "", &p);
    assert_int_equal(p.n, 1);
    (void)snprintf(name, sizeof name, "n%u", cheap);
    return streq(p.node, name);
}

static void test_enough_candidates(void **state)
{
    static const struct {
        uint32_t n, wanted;
    } cases[] = { { 1000, 100 }, { 5000, 500 }, { 50, 50 } };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(is_found(state, cases[i].n, cases[i].wanted - 1, NULL));
        if (cases[i].wanted < cases[i].n)
            assert_false(is_found(state, cases[i].n, cases[i].wanted, NULL));
    }
    const char *few = "{'DefaultPreemption':{'minCandidateNodesPercentage':20,"
                      "'minCandidateNodesAbsolute':0}}";
    assert_true(is_found(state, 50, 9, few));
    assert_false(is_found(state, 50, 10, few));
}

/* Broken budgets are no end of the search. */
static void test_the_search_goes_on_for_kept_budgets(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    uint32_t clean = (uint32_t)((kuid_hash(kuid_parse("in", 2)) + 39) % 40);
    char name[16];
    struct planned p;

    fixture_init(&f, state, NULL,
                 "{'DefaultPreemption':{'minCandidateNodesPercentage':0,"
                 "'minCandidateNodesAbsolute':2}}");
    put_pdb(&f, "web", "{'matchLabels':{'app':'web'}}", "'disruptionsAllowed':0");
    for (uint32_t i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        put_node(&f, name, 1, "");
        put_pod(&f, name, name, 1, 2, "10:00", i == clean ? "" : ",'labels':{'app':'web'}");
    }
    plan(&f, 1, 9, "", "", &p);
    (void)snprintf(name, sizeof name, "n%u", clean);
    assert_string_equal(p.node, name);
    assert_int_equal(p.violations, 0);
}

/* ---- eligible? ------------------------------------------------------------------------------- */

static void test_some_never_preempt(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct planned p;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4, "");
    put_pod(&f, "a", "n1", 4, 1, "10:00", "");
    assert_string_equal(plan(&f, 4, 9, ",'preemptionPolicy':'Never'", "", &p),
                        "preemption: not eligible due to preemptionPolicy=Never.");
    assert_true(p.keep);
    assert_string_equal(plan(&f, 4, 9, ",'preemptionPolicy':'PreemptLowerPriority'", "", NULL),
                        "n1: a");
}

static void put_leaving(struct plugin_fixture *f, const char *reason, int priority)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'a','namespace':'ns','uid':'a','deletionTimestamp':"
                   "'2026-03-01T10:00:00Z'},'spec':{'nodeName':'n1','priority':%d,'containers':"
                   "[{'name':'c','resources':{'requests':{'cpu':'4'}}}]},'status':{'conditions':"
                   "[{'type':'DisruptionTarget','status':'True','reason':'%s'}]}}",
                   priority, reason);
    fixture_pod(f, text);
}

static void test_room_that_is_coming_is_waited_for(void **state)
{
    static const char nominated[] = "'nominatedNodeName':'n1'";
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct planned p;

    fixture_init(&f, state, NULL, NULL);
    put_node(&f, "n1", 4, "");
    put_node(&f, "n2", 4, "");
    put_pod(&f, "b", "n2", 4, 0, "10:00", "");
    put_leaving(&f, "PreemptionByScheduler", 1);
    assert_string_equal(plan(&f, 4, 9, "", nominated, &p),
                        "preemption: not eligible due to a terminating pod on the nominated node.");
    assert_true(p.keep);
    assert_string_equal(plan(&f, 4, 9, "", "", NULL), "n2: b");
    assert_string_equal(plan(&f, 4, 9, "", "'nominatedNodeName':'gone'", NULL), "n2: b");
    put_leaving(&f, "EvictionByEvictionAPI", 1); /* for somebody else */
    assert_string_equal(plan(&f, 4, 9, "", nominated, NULL), "n2: b");
    put_leaving(&f, "PreemptionByScheduler", 9); /* not for us */
    assert_string_equal(plan(&f, 4, 9, "", nominated, NULL), "n2: b");
    put_leaving(&f, "PreemptionByScheduler", 1);
    put_node(&f, "n1", 4, "'unschedulable':true"); /* nothing to wait for any more */
    assert_string_equal(plan(&f, 4, 9, "", nominated, NULL), "n2: b");
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void test_arguments(void **state)
{
#define ERROR(args) plugin_args_error("DefaultPreemption", args)
    (void)state;
    assert_string_equal(ERROR("{}"), "");
    assert_string_equal(ERROR("{'minCandidateNodesPercentage':0}"), "");
    assert_string_equal(ERROR("{'minCandidateNodesAbsolute':0}"), "");
    assert_string_equal(ERROR("{'minCandidateNodesPercentage':101}"),
                        "minCandidateNodesPercentage: Invalid value: 101: not in valid range "
                        "[0, 100]");
    assert_string_equal(ERROR("{'minCandidateNodesAbsolute':-1}"),
                        "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, "
                        "inf)");
    assert_string_equal(ERROR("{'minCandidateNodesAbsolute':'ten'}"),
                        "minCandidateNodesAbsolute: expected a whole number, got a string");
    assert_string_equal(ERROR("{'minCandidateNodesPercentage':0,'minCandidateNodesAbsolute':0}"),
                        "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same "
                        "time as minCandidateNodesAbsolute");
#undef ERROR
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_equal_priority_is_no_victim),
        FIXTURE_TEST(test_only_those_who_are_in_the_way),
        FIXTURE_TEST(test_a_budget_protects_the_less_important),
        FIXTURE_TEST(test_budgets_that_protect_nobody),
        FIXTURE_TEST(test_pods_that_are_not_borne),
        FIXTURE_TEST(test_fewest_broken_budgets),
        FIXTURE_TEST(test_lowest_first_victim_then_sum),
        FIXTURE_TEST(test_fewest_victims_when_sums_are_equal),
        FIXTURE_TEST(test_the_youngest_of_the_first_victims),
        FIXTURE_TEST(test_nodes_where_it_does_not_help),
        FIXTURE_TEST(test_nominated_room_is_not_given_twice),
        FIXTURE_TEST(test_enough_candidates),
        FIXTURE_TEST(test_the_search_goes_on_for_kept_budgets),
        FIXTURE_TEST(test_some_never_preempt),
        FIXTURE_TEST(test_room_that_is_coming_is_waited_for),
        FIXTURE_TEST(test_arguments),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
