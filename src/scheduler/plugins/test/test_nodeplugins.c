/* test_nodeplugins.c - the plugins that need little more than a look at the pod or the node:
 * PrioritySort, SchedulingGates, NodeUnschedulable, NodeName, TaintToleration (scheduler-core
 * 8.1-8.5). */
#include "scheduler/test/plugin_checks.h"

#define CORDON "node.kubernetes.io/unschedulable"

static const char *pod_text(const char *uid, const char *spec)
{
    static char text[3][1024];
    static int next;
    char *at = text[next++ % 3];

    (void)snprintf(at, sizeof text[0],
                   "{'metadata':{'name':'p','namespace':'ns','uid':'%s'},'spec':{%s}}", uid, spec);
    return at;
}

static const char *node_text(const char *name, const char *spec)
{
    static char text[3][512];
    static int next;
    char *at = text[next++ % 3];

    (void)snprintf(at, sizeof text[0], "{'metadata':{'name':'%s'},'spec':{%s}}", name, spec);
    return at;
}

/* ---- queue ----------------------------------------------------------------------------------- */

static bool goes_first(struct plugin_fixture *f, const char *a, nsec_t a_since, const char *b,
                       nsec_t b_since)
{
    CLEANUP(kobj_unref) struct kobj *x = fixture_object(f->base, &kind_pod, pod_text("a", a));
    CLEANUP(kobj_unref) struct kobj *y = fixture_object(f->base, &kind_pod, pod_text("b", b));

    return profile_before(f->profile, pod_of(x), a_since, pod_of(y), b_since);
}

static void test_priority_then_patience(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "PrioritySort", NULL);
    assert_true(goes_first(&f, "'priority':20", 9, "'priority':10", 3));
    assert_false(goes_first(&f, "'priority':10", 3, "'priority':20", 9));
    assert_true(goes_first(&f, "'priority':10", 3, "'priority':10", 5));
    assert_false(goes_first(&f, "'priority':10", 5, "'priority':10", 3));
    assert_true(goes_first(&f, "", 5, "'priority':-1", 3)); /* no priority is 0 */
    assert_false(goes_first(&f, "", 3, "", 3));
}

static void test_gates(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct ks_texts why;

    fixture_init(&f, state, "SchedulingGates", NULL);
    CLEANUP(kobj_unref)
    struct kobj *free_pod = fixture_object(f.base, &kind_pod, pod_text("p", "")),
                *gated = fixture_object(f.base, &kind_pod,
                                        pod_text("p", "'schedulingGates':[{'name':'g1'},"
                                                      "{'name':'g2'}]"));
    why = (struct ks_texts){ .arena = f.arena };
    assert_int_equal(profile_pre_enqueue(f.profile, pod_of(free_pod), &why), -1);
    assert_int_equal(why.n, 0);
    assert_int_equal(profile_pre_enqueue(f.profile, pod_of(gated), &why),
                     profile_slot(f.profile, "SchedulingGates"));
    assert_int_equal(why.n, 1);
    assert_string_equal(why.items[0], "waiting for scheduling gates: [g1 g2]");
    const char *me = pod_text("p", ""), *other = pod_text("q", "");
#define WORTH(action, pod) \
    plugin_worth(&f, "SchedulingGates", KS_RES_UNSCHEDULABLE_POD, action, pod, pod, me)
    assert_true(WORTH(KS_POD_GATES_GONE, me));
    assert_false(WORTH(KS_POD_GATES_GONE, other));
    assert_false(WORTH(KS_POD_LABEL, me));
#undef WORTH
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void test_node_name(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "NodeName", NULL);
    fixture_node(&f, node_text("a", ""));
    fixture_node(&f, node_text("b", ""));
    fixture_try(&f, pod_text("p", ""));
    assert_int_equal(f.a.feasible, 2);
    fixture_try(&f, pod_text("p", "'nodeName':'b'"));
    assert_true(fixture_fits(&f, "b"));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "a"), "node(s) didn't match the requested node name");
    const char *n = node_text("c", "");
    assert_true(plugin_worth(&f, "NodeName", KS_RES_NODE, KS_ADD, NULL, n, pod_text("p", "")));
    assert_false(plugin_worth(&f, "NodeName", KS_RES_NODE, KS_NODE_LABEL, n, n, pod_text("p", "")));
}

static void test_cordoned_nodes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "NodeUnschedulable", NULL);
    fixture_node(&f, node_text("a", "'unschedulable':true"));
    fixture_node(&f, node_text("b", ""));
    fixture_try(&f, pod_text("p", ""));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "a"), "node(s) were unschedulable");
    assert_true(fixture_fits(&f, "b"));
#define TOLERATES(t) pod_text("p", "'tolerations':[{" t "}]")
    fixture_try(&f, TOLERATES("'key':'" CORDON "','operator':'Exists','effect':'NoSchedule'"));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, TOLERATES("'operator':'Exists'"));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, TOLERATES("'key':'" CORDON "','operator':'Exists','effect':'NoExecute'"));
    assert_false(fixture_fits(&f, "a"));
    fixture_try(&f, TOLERATES("'key':'" CORDON "','value':'x'"));
    assert_false(fixture_fits(&f, "a"));
    fixture_node(&f, node_text("a", "")); /* uncordoned */
    fixture_try(&f, pod_text("p", ""));
    assert_true(fixture_fits(&f, "a"));
}

static void test_hints_of_cordoned_nodes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *closed = "'unschedulable':true", *open = "";

    fixture_init(&f, state, "NodeUnschedulable", NULL);
#define NODE(action, before, now)                                                           \
    plugin_worth(&f, "NodeUnschedulable", KS_RES_NODE, action, before, node_text("a", now), \
                 pod_text("p", ""))
    assert_true(NODE(KS_ADD, NULL, open));
    assert_false(NODE(KS_ADD, NULL, closed));
    assert_true(NODE(KS_NODE_TAINT, node_text("a", closed), open));
    assert_false(NODE(KS_NODE_TAINT, node_text("a", open), open));
    assert_false(NODE(KS_NODE_TAINT, node_text("a", open), closed));
#undef NODE
#define POD(uid, t)                                                                    \
    plugin_worth(&f, "NodeUnschedulable", KS_RES_UNSCHEDULABLE_POD, KS_POD_TOLERATION, \
                 pod_text(uid, ""), pod_text(uid, "'tolerations':[{" t "}]"), pod_text("p", ""))
    assert_true(POD("p", "'operator':'Exists'"));
    assert_false(POD("p", "'key':'other','operator':'Exists'"));
    assert_false(POD("q", "'operator':'Exists'"));
#undef POD
}

static void test_taints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "TaintToleration", NULL);
    fixture_node(&f, node_text("a", "'taints':[{'key':'k','value':'v','effect':'NoSchedule'},"
                                    "{'key':'e','effect':'NoExecute'}]"));
    fixture_node(&f, node_text("b", "'taints':[{'key':'s','effect':'PreferNoSchedule'}]"));
    fixture_try(&f, pod_text("p", ""));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "a"), "node(s) had untolerated taint(s)");
    assert_true(fixture_fits(&f, "b")); /* soft ones keep nobody away */
#define BOTH(first) pod_text("p", "'tolerations':[{'key':'e','operator':'Exists'},{" first "}]")
    fixture_try(&f, BOTH("'key':'k','value':'v'"));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, BOTH("'key':'k','operator':'Equal','value':'v','effect':'NoSchedule'"));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, TOLERATES("'key':'k','operator':'Exists'"));
    assert_false(fixture_fits(&f, "a"));
    fixture_try(&f, BOTH("'key':'k','value':'w'"));
    assert_false(fixture_fits(&f, "a"));
    fixture_try(&f, BOTH("'key':'k','operator':'Exists','effect':'NoExecute'"));
    assert_false(fixture_fits(&f, "a"));
    fixture_try(&f, BOTH("'key':'k','operator':'Gt','value':'1'")); /* not in use */
    assert_false(fixture_fits(&f, "a"));
    fixture_node(&f, node_text("a", ""));
    fixture_try(&f, pod_text("p", ""));
    assert_true(fixture_fits(&f, "a"));
}

static void test_soft_taints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "TaintToleration", NULL);
    fixture_node(&f, node_text("a", "'taints':[{'key':'a','effect':'PreferNoSchedule'},"
                                    "{'key':'b','effect':'PreferNoSchedule'}]"));
    fixture_node(&f, node_text("b", "'taints':[{'key':'b','effect':'PreferNoSchedule'}]"));
    fixture_node(&f, node_text("c", ""));
    fixture_try(&f, pod_text("p", ""));
    assert_int_equal(fixture_score(&f, "TaintToleration", "a"), 0);
    assert_int_equal(fixture_score(&f, "TaintToleration", "b"), 50);
    assert_int_equal(fixture_score(&f, "TaintToleration", "c"), 100);
    /* A toleration of hard effects does not count here. */
    fixture_try(&f, pod_text("p", "'tolerations':[{'key':'a','operator':'Exists'},"
                                  "{'key':'b','operator':'Exists','effect':'NoSchedule'}]"));
    assert_int_equal(fixture_score(&f, "TaintToleration", "a"), 0);
    assert_int_equal(fixture_score(&f, "TaintToleration", "b"), 0);
    assert_int_equal(fixture_score(&f, "TaintToleration", "c"), 100);
}

static void test_hints_of_taints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *hard = "'taints':[{'key':'k','effect':'NoSchedule'}]", *none = "";

    fixture_init(&f, state, "TaintToleration", NULL);
#define NODE(action, before, now)                                                         \
    plugin_worth(&f, "TaintToleration", KS_RES_NODE, action, before, node_text("a", now), \
                 pod_text("p", ""))
    assert_true(NODE(KS_ADD, NULL, none));
    assert_false(NODE(KS_ADD, NULL, hard));
    assert_true(NODE(KS_NODE_TAINT, node_text("a", hard), none));
    assert_false(NODE(KS_NODE_TAINT, node_text("a", none), none));
    assert_false(NODE(KS_NODE_TAINT, node_text("a", none), hard));
#undef NODE
#define POD(uid)                                                                            \
    plugin_worth(&f, "TaintToleration", KS_RES_UNSCHEDULABLE_POD, KS_POD_TOLERATION,        \
                 pod_text(uid, ""), pod_text(uid, "'tolerations':[{'operator':'Exists'}]"), \
                 pod_text("p", ""))
    assert_true(POD("p"));
    assert_false(POD("q"));
#undef POD
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_priority_then_patience),
        FIXTURE_TEST(test_gates),
        FIXTURE_TEST(test_node_name),
        FIXTURE_TEST(test_cordoned_nodes),
        FIXTURE_TEST(test_hints_of_cordoned_nodes),
        FIXTURE_TEST(test_taints),
        FIXTURE_TEST(test_soft_taints),
        FIXTURE_TEST(test_hints_of_taints),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
