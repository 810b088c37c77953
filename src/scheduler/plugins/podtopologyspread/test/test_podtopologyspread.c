/* test_podtopologyspread.c - matching pods spread over zones and nodes (scheduler-core 8.11). */
#include "base/test/asserts.h"
#include "scheduler/test/plugin_checks.h"

#include "api/core.h"
#include "api/workload.h"

#define PLUGIN  "PodTopologySpread"
#define SKEWED  "node(s) didn't match pod topology spread constraints"
#define UNLABEL SKEWED " (missing required label)"
#define HOST    "kubernetes.io/hostname"
#define ZONE    "topology.kubernetes.io/zone"
#define APP     ",'labelSelector':{'matchLabels':{'app':'a'}}"
#define RULE(action, skew, key, more) \
    "{'maxSkew':" #skew ",'topologyKey':'" key "','whenUnsatisfiable':'" action "'" more "}"
#define HARD(skew, key, more) RULE("DoNotSchedule", skew, key, more)
#define SOFT(skew, key, more) RULE("ScheduleAnyway", skew, key, more)

/* zone: NULL for none. more: further members of the spec. */
static void put_node(struct plugin_fixture *f, const char *name, const char *zone, const char *more)
{
    char text[512], label[128] = "";

    if (zone)
        (void)snprintf(label, sizeof label, ",'" ZONE "':'%s'", zone);
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'" HOST "':'%s'%s}},'spec':{%s},"
                   "'status':{'allocatable':{'pods':'99'}}}",
                   name, name, label, more);
    fixture_node(f, text);
}

static const char *pod_text(struct plugin_fixture *f, const char *name, const char *meta,
                            const char *spec)
{
    return arena_printf(f->base->arena,
                        "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'%s},"
                        "'spec':{'containers':[{'name':'c'}]%s}}",
                        name, name, meta, spec);
}

/* n pods of the app on the node. */
static void put_pods(struct plugin_fixture *f, const char *node, int n)
{
    char name[64], spec[64];

    (void)snprintf(spec, sizeof spec, ",'nodeName':'%s'", node);
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s-%d", node, i);
        fixture_pod(f, pod_text(f, name, ",'labels':{'app':'a'}", spec));
    }
}

/* The pod in question: of the app, with these constraints. */
static const char *pod_with(struct plugin_fixture *f, const char *rules, const char *more)
{
    return pod_text(
        f, "p", ",'labels':{'app':'a'}",
        arena_printf(f->base->arena, ",'topologySpreadConstraints':[%s]%s", rules, more));
}

static void try_with(struct plugin_fixture *f, const char *rules)
{
    fixture_try(f, pod_with(f, rules, ""));
}

static int64_t score(const struct plugin_fixture *f, const char *node)
{
    return fixture_score(f, PLUGIN, node);
}

/* ---- hard ------------------------------------------------------------------------------------ */

static void test_the_fullest_zone_is_closed(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "b", "1", "");
    put_node(&f, "x", "2", "");
    put_node(&f, "y", NULL, "");
    put_pods(&f, "a", 1);
    put_pods(&f, "b", 1);
    put_pods(&f, "x", 1);
    put_pods(&f, "y", 5); /* counts nowhere */
    try_with(&f, HARD(1, ZONE, APP));
    assert_int_equal(fixture_code(&f, "a"), KS_UNSCHEDULABLE);
    assert_string_equal(fixture_why(&f, "b"), SKEWED);
    assert_true(fixture_fits(&f, "x"));
    assert_int_equal(fixture_code(&f, "y"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "y"), UNLABEL);
    try_with(&f, HARD(2, ZONE, APP));
    assert_int_equal(f.a.feasible, 3);
    put_pods(&f, "b", 5);
    try_with(&f, HARD(2, ZONE, APP));
    assert_false(fixture_fits(&f, "a"));
}

static void test_a_pod_that_does_not_match_itself_adds_nothing(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *rule = ",'topologySpreadConstraints':[" HARD(1, ZONE, APP) "]";

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "x", "2", "");
    put_pods(&f, "a", 1);
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'b'}", rule));
    assert_true(fixture_fits(&f, "a"));
    put_pods(&f, "a", 2);
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'b'}", rule));
    assert_false(fixture_fits(&f, "a"));
}

static void test_the_first_rule_that_fails_gives_the_reason(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "x", "2", "");
    put_node(&f, "y", NULL, "");
    put_pods(&f, "a", 2);
    try_with(&f, HARD(1, HOST, APP) "," HARD(9, ZONE, APP));
    assert_string_equal(fixture_why(&f, "a"), SKEWED);
    assert_string_equal(fixture_why(&f, "y"), UNLABEL);
    assert_true(fixture_fits(&f, "x"));
    /* y is in no domain for lack of the other key, but an unknown value counts 0 */
    try_with(&f, HARD(1, HOST, APP) "," HARD(9, "rack", APP));
    assert_string_equal(fixture_why(&f, "a"), UNLABEL);
}

static void test_too_few_domains_count_as_an_empty_one(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "x", "2", "");
    put_pods(&f, "a", 2);
    put_pods(&f, "x", 2);
    try_with(&f, HARD(2, ZONE, APP ",'minDomains':2"));
    assert_int_equal(f.a.feasible, 2);
    try_with(&f, HARD(2, ZONE, APP ",'minDomains':3"));
    assert_int_equal(f.a.feasible, 0);
    assert_string_equal(fixture_message(&f), "0/2 nodes are available: 2 " SKEWED ".");
}

static void test_only_living_pods_of_the_namespace_count(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "x", "2", "");
    fixture_pod(&f, pod_text(&f, "q",
                             ",'labels':{'app':'a'},'deletionTimestamp':'2026-01-01T00:00:00Z'",
                             ",'nodeName':'a'"));
    fixture_pod(&f, "{'metadata':{'name':'o','namespace':'other','uid':'o','labels':{'app':'a'}},"
                    "'spec':{'nodeName':'a','containers':[{'name':'c'}]}}");
    fixture_pod(&f, pod_text(&f, "r", "", ",'nodeName':'a'"));
    try_with(&f, HARD(1, ZONE, APP));
    assert_true(fixture_fits(&f, "a"));
    put_pods(&f, "a", 1);
    try_with(&f, HARD(1, ZONE, APP));
    assert_false(fixture_fits(&f, "a"));
    /* An empty selector counts nobody, none at all matches nobody. */
    try_with(&f, HARD(1, ZONE, ",'labelSelector':{}"));
    assert_true(fixture_fits(&f, "a"));
    try_with(&f, HARD(1, ZONE, ""));
    assert_true(fixture_fits(&f, "a"));
}

static void test_match_label_keys_tell_revisions_apart(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *rule = ",'topologySpreadConstraints':[" HARD(
        1, ZONE, APP ",'matchLabelKeys':['rev','absent']") "]";

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "x", "2", "");
    fixture_pod(&f, pod_text(&f, "q", ",'labels':{'app':'a','rev':'1'}", ",'nodeName':'a'"));
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'a','rev':'1'}", rule));
    assert_false(fixture_fits(&f, "a"));
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'a','rev':'2'}", rule));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'a'}", rule));
    assert_false(fixture_fits(&f, "a"));
}

static void test_policies_say_which_nodes_make_domains(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *only_a = ",'nodeSelector':{'" ZONE "':'1'}";

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "x", "2", "");
    put_node(&f, "t", "3", "'taints':[{'key':'k','effect':'NoSchedule'}]");
    put_pods(&f, "a", 1);
    put_pods(&f, "x", 1);
    /* Zone 3 is empty: by default its taint does not matter. */
    try_with(&f, HARD(1, ZONE, APP));
    assert_false(fixture_fits(&f, "a"));
    try_with(&f, HARD(1, ZONE, APP ",'nodeTaintsPolicy':'Honor'"));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, pod_with(&f, HARD(1, ZONE, APP ",'nodeTaintsPolicy':'Honor'"),
                             ",'tolerations':[{'operator':'Exists'}]"));
    assert_false(fixture_fits(&f, "a"));
    /* But the pod's own wish does: zone 1 is all there is. */
    fixture_try(&f, pod_with(&f, HARD(1, ZONE, APP), only_a));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, pod_with(&f, HARD(1, ZONE, APP ",'nodeAffinityPolicy':'Ignore'"), only_a));
    assert_false(fixture_fits(&f, "a"));
    fixture_try(&f, pod_with(&f, HARD(1, ZONE, APP),
                             ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuring"
                             "Execution':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'" ZONE
                             "','operator':'In','values':['1']}]}]}}}"));
    assert_true(fixture_fits(&f, "a"));
}

/* ---- soft ------------------------------------------------------------------------------------ */

static void four_nodes(struct plugin_fixture *f, void **state, const int *pods)
{
    static const char *const names[] = { "a", "b", "c", "d" };

    fixture_init(f, state, PLUGIN, NULL);
    for (int i = 0; i < 4; i++) {
        put_node(f, names[i], "1", "");
        put_pods(f, names[i], pods[i]);
    }
}

static void assert_scores(struct plugin_fixture *f, const char *rules, const int64_t *want)
{
    static const char *const names[] = { "a", "b", "c", "d" };

    try_with(f, rules);
    for (int i = 0; i < 4; i++)
        assert_int_equal(score(f, names[i]), want[i]);
}

static void test_scores_by_node(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f, g;

    four_nodes(&f, state, (int[]){ 2, 1, 0, 3 });
    assert_scores(&f, SOFT(1, HOST, APP), (int64_t[]){ 20, 60, 100, 0 });
    assert_scores(&f, SOFT(2, HOST, APP), (int64_t[]){ 33, 66, 100, 16 });
    four_nodes(&g, state, (int[]){ 4, 3, 2, 1 });
    assert_scores(&g, SOFT(3, HOST, APP), (int64_t[]){ 44, 66, 77, 100 });
    /* Skews beyond all reason: still the same order, and no overflow. */
    try_with(&g, SOFT(2147483647, HOST, APP) "," SOFT(2147483647, ZONE, APP));
    assert_int_equal(score(&g, "d"), 100);
    assert_int_equal(score(&g, "a"), 99);
}

static void test_nobody_to_count_is_best_everywhere(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    four_nodes(&f, state, (int[]){ 4, 3, 2, 1 });
    assert_scores(&f, SOFT(1, HOST, ""), (int64_t[]){ 100, 100, 100, 100 });
    assert_scores(&f, SOFT(3, ZONE, ",'labelSelector':{}"), (int64_t[]){ 100, 100, 100, 100 });
    /* Hard rules alone give no scores, and the defaults are not for this pod. */
    try_with(&f, HARD(5, HOST, APP));
    assert_int_equal(f.a.feasible, 4);
    assert_int_equal(score(&f, "a"), -1);
}

static void test_scores_by_zone_count_other_nodes_too(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN " NodeUnschedulable", NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "b", "1", "");
    put_node(&f, "x", "2", "");
    put_node(&f, "y", "2", "'unschedulable':true");
    put_pods(&f, "a", 4);
    put_pods(&f, "b", 2);
    put_pods(&f, "x", 1);
    put_pods(&f, "y", 3);
    try_with(&f, SOFT(1, ZONE, APP));
    assert_int_equal(f.a.feasible, 3);
    assert_int_equal(score(&f, "a"), 75);
    assert_int_equal(score(&f, "b"), 75);
    assert_int_equal(score(&f, "x"), 100);
}

static void test_a_node_without_the_label_scores_nothing(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "b", NULL, "");
    put_node(&f, "x", "2", "");
    put_pods(&f, "a", 4);
    put_pods(&f, "b", 7);
    put_pods(&f, "x", 1);
    try_with(&f, SOFT(1, ZONE, APP));
    assert_int_equal(score(&f, "a"), 16);
    assert_int_equal(score(&f, "b"), 0);
    assert_int_equal(score(&f, "x"), 100);
}

/* ---- defaults -------------------------------------------------------------------------------- */

#define OWNED_BY(api, kind)                                                          \
    ",'labels':{'app':'a'},'ownerReferences':[{'apiVersion':'" api "','kind':'" kind \
    "','name':'w','uid':'w','controller':true}]"

static void test_built_in_defaults_follow_services(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "", "");
    put_node(&f, "b", NULL, "");
    put_pods(&f, "a", 2);
    put_pods(&f, "b", 3);
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'a'}", ""));
    assert_int_equal(score(&f, "a"), -1); /* nobody knows which pods belong together */
    fixture_put(&f, &kind_service,
                "{'metadata':{'name':'s','namespace':'ns'},'spec':{'selector':{'app':'b'}}}");
    fixture_put(&f, &kind_service,
                "{'metadata':{'name':'s','namespace':'other'},'spec':{'selector':{'app':'a'}}}");
    fixture_put(&f, &kind_service, "{'metadata':{'name':'t','namespace':'ns'},'spec':{}}");
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'a'}", ""));
    assert_int_equal(score(&f, "a"), -1);
    fixture_put(&f, &kind_service,
                "{'metadata':{'name':'u','namespace':'ns'},'spec':{'selector':{'app':'a'}}}");
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'a'}", ""));
    /* No key is asked for, and no zone is the zone "": 2 ln 4 + 2 + 5 ln 3 + 4 against
     * 3 ln 4 + 2. */
    assert_int_equal(score(&f, "a"), 42);
    assert_int_equal(score(&f, "b"), 100);
}

static void test_missing_labels_make_one_domain(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN " NodeUnschedulable", NULL);
    put_node(&f, "a", "", "'unschedulable':true");
    put_node(&f, "b", NULL, "");
    put_node(&f, "c", "1", "");
    put_pods(&f, "c", 5);
    fixture_put(&f, &kind_service,
                "{'metadata':{'name':'s','namespace':'ns'},'spec':{'selector':{'app':'a'}}}");
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'a'}", ""));
    /* Two zones: 5 ln 4 + 2 + 5 ln 4 + 4 against 2. */
    assert_int_equal(score(&f, "b"), 100);
    assert_int_equal(score(&f, "c"), 10);
}

static void test_built_in_defaults_follow_controllers(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "b", "1", "");
    put_pods(&f, "a", 2);
    fixture_put(&f, &kind_replicaset,
                "{'metadata':{'name':'w','namespace':'ns'},'spec':{'selector':{'matchExpressions':"
                "[{'key':'app','operator':'Exists'}]}}}");
    fixture_put(&f, &kind_statefulset,
                "{'metadata':{'name':'w','namespace':'ns'},'spec':{'selector':{'matchLabels':"
                "{'app':'a'}}}}");
    fixture_try(&f, pod_text(&f, "p", OWNED_BY("v1", "ReplicationController"), ""));
    assert_int_equal(score(&f, "a"), -1);
    fixture_put(&f, &kind_replicationcontroller,
                "{'metadata':{'name':'w','namespace':'ns'},'spec':{'selector':{'app':'a'}}}");
    fixture_try(&f, pod_text(&f, "p", OWNED_BY("v1", "ReplicationController"), ""));
    assert_int_equal(score(&f, "a"), 72);
    assert_int_equal(score(&f, "b"), 100);
    fixture_try(&f, pod_text(&f, "p", OWNED_BY("apps/v1", "ReplicaSet"), ""));
    assert_int_equal(score(&f, "a"), 72);
    fixture_try(&f, pod_text(&f, "p", OWNED_BY("apps/v1", "StatefulSet"), ""));
    assert_int_equal(score(&f, "a"), 72);
    fixture_try(&f, pod_text(&f, "p", OWNED_BY("apps/v2", "StatefulSet"), ""));
    assert_int_equal(score(&f, "a"), -1);
    /* Service and controller together: pods of the service that the controller did not make. */
    fixture_put(&f, &kind_service,
                "{'metadata':{'name':'s','namespace':'ns'},'spec':{'selector':{'v':'1'}}}");
    fixture_try(&f,
                pod_text(&f, "p",
                         ",'labels':{'app':'a','v':'1'},'ownerReferences':[{'apiVersion':"
                         "'apps/v1','kind':'ReplicaSet','name':'w','uid':'w','controller':true}]",
                         ""));
    assert_int_equal(score(&f, "a"), 100);
}

static void test_a_list_of_defaults(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN,
                 "{'PodTopologySpread':{'defaultingType':'List','defaultConstraints':["
                 "{'maxSkew':1,'topologyKey':'" ZONE "','whenUnsatisfiable':'DoNotSchedule'}]}}");
    put_node(&f, "a", "1", "");
    put_node(&f, "x", "2", "");
    put_pods(&f, "a", 1);
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'a'}", ""));
    assert_int_equal(f.a.feasible, 2);
    fixture_put(&f, &kind_service,
                "{'metadata':{'name':'s','namespace':'ns'},'spec':{'selector':{'app':'a'}}}");
    fixture_try(&f, pod_text(&f, "p", ",'labels':{'app':'a'}", ""));
    assert_string_equal(fixture_why(&f, "a"), SKEWED);
    assert_int_equal(score(&f, "x"), -1);
    try_with(&f, HARD(2, ZONE, APP)); /* its own word counts */
    assert_int_equal(f.a.feasible, 2);
}

static void assert_refused(const char *args, const char *text)
{
    plugin_refuses(PLUGIN, args, text);
}

static void test_wrong_arguments_are_refused(void **state)
{
    (void)state;
    assert_refused(
        "{'defaultingType':'Lost'}",
        "defaultingType: Unsupported value: \"Lost\": supported values: \"System\", \"List\"");
    assert_refused("{'colour':'red'}", "colour: unknown field");
    assert_refused("{'defaultConstraints':[" SOFT(1, "k", "") "]}",
                   "defaultingType: Invalid value: \"System\": when .defaultConstraints are not "
                   "empty");
#define LIST(rules) "{'defaultingType':'List','defaultConstraints':[" rules "]}"
    assert_refused(LIST(SOFT(0, "k", "")),
                   "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)");
    assert_refused(LIST(SOFT(1, "k", "") "," SOFT(2, "k", "")),
                   "defaultConstraints[1]: Duplicate value: \"{k, ScheduleAnyway}\"");
    assert_refused(LIST(SOFT(1, "k", APP)),
                   "defaultConstraints[0].labelSelector: Forbidden: constraint must not define a "
                   "selector, as they deduced for each pod");
    assert_refused(LIST("{'maxSkew':1,'topologyKey':'k'}"),
                   "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty");
    assert_refused(LIST(HARD(1, "k", ",'minDomains':0")),
                   "defaultConstraints[0].minDomains: must be greater than zero");
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void test_a_selector_that_cannot_be_understood(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

#define WRONG ",'labelSelector':{'matchExpressions':[{'key':'app','operator':'In'}]}"
    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    f.obj = fixture_object(f.base, &kind_pod, pod_with(&f, HARD(1, ZONE, WRONG), ""));
    fixture_attempt(&f, &f.a, false);
    assert_int_equal(f.a.code, KS_ERROR);
    assert_contains(f.a.text, "topologySpreadConstraints[0].labelSelector");
    /* A soft one is in the way of scores only. */
    kobj_unref(f.obj);
    f.obj = fixture_object(f.base, &kind_pod, pod_with(&f, SOFT(1, ZONE, WRONG), ""));
    fixture_attempt(&f, &f.a, false);
    assert_int_equal(f.a.feasible, 1);
    assert_int_equal(f.a.code, KS_ERROR);
}

/* ---- reuse and overlays ---------------------------------------------------------------------- */

/* fixture_try() compares each attempt with one that starts from nothing. */
static void test_counts_follow_the_pods(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    static const char *const rules[] = {
        HARD(2, ZONE, APP),
        HARD(1, HOST, APP),
        HARD(2, HOST, APP) "," SOFT(1, ZONE, APP),
        SOFT(1, HOST, APP) "," HARD(3, ZONE, APP ",'minDomains':3,'nodeTaintsPolicy':'Honor'"),
    };
    uint32_t rand = 1, refused = 0;
    char name[16], node[16];

    fixture_init(&f, state, PLUGIN, NULL);
    for (int i = 0; i < 9; i++) {
        (void)snprintf(node, sizeof node, "n%d", i);
        put_node(&f, node, i == 8 ? NULL : (const char *[]){ "1", "2", "3" }[i % 3],
                 i == 4 ? "'taints':[{'key':'k','effect':'NoExecute'}]" : "");
    }
    for (int step = 0; step < 400; step++) {
        rand = rand * 1103515245 + 12345;
        uint32_t dice = rand >> 16;
        (void)snprintf(name, sizeof name, "q%u", dice % 24);
        (void)snprintf(node, sizeof node, "n%u", dice / 24 % 9);
        CLEANUP(kobj_unref)
        struct kobj *o = fixture_object(
            f.base, &kind_pod,
            pod_text(&f, name, dice % 5 ? ",'labels':{'app':'a'}" : ",'labels':{'app':'a','x':'y'}",
                     arena_printf(f.base->arena, ",'nodeName':'%s'", node)));
        if (!nodecache_remove_pod(f.cache, o->meta.uid))
            nodecache_put_pod(f.cache, o);
        try_with(&f, rules[dice / 7 % ARRAY_LEN(rules)]);
        refused += f.a.n - f.a.feasible;
    }
    assert_that(shapes_stats(f.shapes).hits, >, 300);
    assert_in_range(refused, 400, 3200); /* some of both */
}

/* Would it fit on the node with so many pods more there, or less? */
static bool fits_overlay(struct plugin_fixture *f, const char *node, int more)
{
    uint32_t row = fixture_row(f, node);
    const struct ks_podlist *there = &f->a.cycle.nodes->pods[row];
    struct kobj *o = NULL;

    for (; more > 0; more--) {
        o = fixture_object(f->base, &kind_pod,
                           pod_text(f, arena_printf(f->base->arena, "as-if-%d", more),
                                    ",'labels':{'app':'a'}", ""));
        ks_overlay_add_pod(f->a.overlay, row, o);
        kobj_unref(o);
    }
    for (; more < 0; more++)
        ks_overlay_remove_pod(f->a.overlay, row, there->items[0]);
    bool fits = attempt_fits(&f->a, row, NULL);
    ks_overlay_rollback(f->a.overlay, 0);
    return fits;
}

static void test_overlay_pods_were_there_or_gone(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *rules = HARD(1, ZONE, APP) "," HARD(3, HOST, APP);

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "b", "2", "");
    put_node(&f, "c", "2", "");
    put_pods(&f, "a", 2);
    put_pods(&f, "b", 1);
    f.obj = fixture_object(f.base, &kind_pod, pod_with(&f, rules, ""));
    fixture_attempt(&f, &f.a, false); /* the state is the shape's, and used again */
    for (int i = 0; i < 2; i++) {
        assert_false(fits_overlay(&f, "a", 0));
        assert_true(fits_overlay(&f, "a", -1));
        assert_true(fits_overlay(&f, "a", -2)); /* now zone 1 has the fewest */
        assert_true(fits_overlay(&f, "b", 0));
        assert_true(fits_overlay(&f, "b", 1));
        assert_false(fits_overlay(&f, "b", 2));
        assert_true(fits_overlay(&f, "c", 0));
        assert_false(fits_overlay(&f, "c", 2));
    }
    try_with(&f, rules); /* all is as it was: compared with a fresh state */
    assert_false(fixture_fits(&f, "a"));
    assert_true(fixture_fits(&f, "b"));
}

static void test_nominated_pods_count(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN, NULL);
    put_node(&f, "a", "1", "");
    put_node(&f, "b", "2", "");
    fixture_nominate(&f,
                     "{'metadata':{'name':'n','namespace':'ns','uid':'n','labels':{'app':'a'}},"
                     "'spec':{'containers':[{'name':'c'}]},'status':{'nominatedNodeName':'a'}}");
    for (int i = 0; i < 2; i++) {
        try_with(&f, HARD(1, ZONE, APP));
        assert_false(fixture_fits(&f, "a"));
        assert_true(fixture_fits(&f, "b"));
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool worth(struct plugin_fixture *f, const struct kobj *pod, enum ks_resource r,
                  uint32_t action, const struct kobj *before, const struct kobj *now)
{
    struct ks_event e = { r, action, before, now };
    uint64_t me = UINT64_C(1) << profile_slot(f->profile, PLUGIN);

    return profile_worth(f->profile, me, &e, pod_of(pod));
}

static void test_pods_that_change_the_counts_wake(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    enum ks_resource at = KS_RES_ASSIGNED_POD;

    fixture_init(&f, state, PLUGIN, NULL);
#define POD(...) fixture_object(f.base, &kind_pod, __VA_ARGS__)
    CLEANUP(kobj_unref)
    struct kobj *p = POD(pod_with(&f, HARD(1, ZONE, APP ",'nodeTaintsPolicy':'Honor'"), ""));
    CLEANUP(kobj_unref)
    struct kobj *soft = POD(pod_with(&f, SOFT(1, ZONE, APP), ""));
    CLEANUP(kobj_unref)
    struct kobj *q = POD(pod_text(&f, "q", ",'labels':{'app':'a'}", ",'nodeName':'a'"));
    CLEANUP(kobj_unref)
    struct kobj *r = POD(pod_text(&f, "q", ",'labels':{'app':'b'}", ",'nodeName':'a'"));
    CLEANUP(kobj_unref) struct kobj *pending = POD(pod_text(&f, "q", ",'labels':{'app':'a'}", ""));
    CLEANUP(kobj_unref)
    struct kobj *other =
        POD("{'metadata':{'name':'o','namespace':'other','uid':'o','labels':{'app':'a'}},"
            "'spec':{'nodeName':'a','containers':[{'name':'c'}]}}");
#undef POD
    assert_true(worth(&f, p, at, KS_ADD, NULL, q));
    assert_true(worth(&f, p, at, KS_DELETE, q, NULL));
    assert_false(worth(&f, p, at, KS_ADD, NULL, r));
    assert_false(worth(&f, p, at, KS_DELETE, other, NULL));
    assert_false(worth(&f, soft, at, KS_DELETE, q, NULL));
    assert_true(worth(&f, p, at, KS_POD_LABEL, q, r));
    assert_false(worth(&f, p, at, KS_POD_LABEL, q, q));
    assert_false(worth(&f, p, KS_RES_UNSCHEDULABLE_POD, KS_DELETE, pending, NULL));
    assert_true(worth(&f, p, at, KS_DELETE, pending, NULL)); /* was assumed */
    assert_true(worth(&f, p, KS_RES_UNSCHEDULABLE_POD, KS_POD_TOLERATION, p, p));
    assert_false(worth(&f, soft, KS_RES_UNSCHEDULABLE_POD, KS_POD_TOLERATION, p, p));
    assert_false(worth(&f, p, at, KS_POD_TOLERATION, q, q));
    assert_false(worth(&f, p, at, KS_POD_SCALE_DOWN, q, r));
}

static void test_nodes_that_change_the_domains_wake(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, PLUGIN, NULL);
    CLEANUP(kobj_unref)
    struct kobj *p = fixture_object(f.base, &kind_pod, pod_with(&f, HARD(1, "k", APP), ""));
#define NODE(labels) \
    fixture_object(f.base, &kind_node, "{'metadata':{'name':'a','labels':{" labels "}}}")
    CLEANUP(kobj_unref) struct kobj *bare = NODE("'x':'y'");
    CLEANUP(kobj_unref) struct kobj *one = NODE("'k':'1'");
    CLEANUP(kobj_unref) struct kobj *two = NODE("'k':'2'");
    CLEANUP(kobj_unref) struct kobj *more = NODE("'k':'2','x':'y'");
#undef NODE
    assert_true(worth(&f, p, KS_RES_NODE, KS_ADD, NULL, one));
    assert_false(worth(&f, p, KS_RES_NODE, KS_ADD, NULL, bare));
    assert_true(worth(&f, p, KS_RES_NODE, KS_DELETE, one, NULL));
    assert_false(worth(&f, p, KS_RES_NODE, KS_DELETE, bare, NULL));
    assert_true(worth(&f, p, KS_RES_NODE, KS_NODE_LABEL, bare, one));
    assert_true(worth(&f, p, KS_RES_NODE, KS_NODE_LABEL, one, bare));
    assert_true(worth(&f, p, KS_RES_NODE, KS_NODE_LABEL, one, two));
    assert_false(worth(&f, p, KS_RES_NODE, KS_NODE_LABEL, two, more));
    assert_true(worth(&f, p, KS_RES_NODE, KS_NODE_TAINT, one, one));
    assert_false(worth(&f, p, KS_RES_NODE, KS_NODE_TAINT, bare, bare));
    assert_false(worth(&f, p, KS_RES_NODE, KS_NODE_CONDITION, one, two));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_the_fullest_zone_is_closed),
        FIXTURE_TEST(test_a_pod_that_does_not_match_itself_adds_nothing),
        FIXTURE_TEST(test_the_first_rule_that_fails_gives_the_reason),
        FIXTURE_TEST(test_too_few_domains_count_as_an_empty_one),
        FIXTURE_TEST(test_only_living_pods_of_the_namespace_count),
        FIXTURE_TEST(test_match_label_keys_tell_revisions_apart),
        FIXTURE_TEST(test_policies_say_which_nodes_make_domains),
        FIXTURE_TEST(test_scores_by_node),
        FIXTURE_TEST(test_nobody_to_count_is_best_everywhere),
        FIXTURE_TEST(test_scores_by_zone_count_other_nodes_too),
        FIXTURE_TEST(test_a_node_without_the_label_scores_nothing),
        FIXTURE_TEST(test_built_in_defaults_follow_services),
        FIXTURE_TEST(test_missing_labels_make_one_domain),
        FIXTURE_TEST(test_built_in_defaults_follow_controllers),
        FIXTURE_TEST(test_a_list_of_defaults),
        cmocka_unit_test(test_wrong_arguments_are_refused),
        FIXTURE_TEST(test_a_selector_that_cannot_be_understood),
        FIXTURE_TEST(test_counts_follow_the_pods),
        FIXTURE_TEST(test_overlay_pods_were_there_or_gone),
        FIXTURE_TEST(test_nominated_pods_count),
        FIXTURE_TEST(test_pods_that_change_the_counts_wake),
        FIXTURE_TEST(test_nodes_that_change_the_domains_wake),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
