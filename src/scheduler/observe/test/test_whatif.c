/* test_whatif.c - what would become of a pod, told node by node. */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include "api/node.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/workload.h"
#include "base/strbuf.h"
#include "scheduler/observe/explain/whatif.h"

struct ask { /* a question in the making */
    struct object_fixture *base;
    struct whatif *w;
    struct strbuf text;
};

static void ask_init(struct ask *q, void **state)
{
    struct kerr err = { 0 };

    *q = (struct ask){ .base = *state };
    struct profile_config c = profile_config_default(ks_registry, "s", q->base->arena);
    q->w = whatif_new(&c, ks_registry, &err);
    assert_string_equal(err.text, "");
}

static void ask_fini_p(struct ask *q)
{
    whatif_free(q->w);
    strbuf_fini(&q->text);
}

static void ask_put(struct ask *q, const struct kind *k, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(q->base, k, text);
    struct kerr err = { 0 };
    assert_int_equal(whatif_add(q->w, o, &err), 0);
}

static struct whatif_result ask_explain(struct ask *q, const char *pod)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(q->base, &kind_pod, pod);
    struct whatif_result r = { 0 };
    struct kerr err = { 0 };
    assert_int_equal(whatif_explain(q->w, o, 0, &r, &err), 0);
    return r;
}

static const char *ask_text(struct ask *q, const struct whatif_result *r, unsigned flags)
{
    strbuf_reset(&q->text);
    whatif_write(r, flags, &q->text);
    return strbuf_str(&q->text);
}

static const char *ask_preempt(struct ask *q)
{
    struct whatif_preemption p;
    struct kerr err = { 0 };
    assert_int_equal(whatif_preempt(q->w, &p, &err), 0);
    strbuf_reset(&q->text);
    whatif_write_preemption(&p, &q->text);
    return strbuf_str(&q->text);
}

#define POD(name, spec, status)                                                                 \
    "{'metadata':{'name':'" name "','namespace':'ns','uid':'" name "'},'spec':{'containers':[{" \
    "'name':'c','resources':{'requests':{'cpu':'1500m','memory':'1Gi'}}}]" spec                 \
    "},'status':{" status "}}"
#define NODE(name, spec, alloc)                                           \
    "{'metadata':{'name':'" name "','labels':{'zone':'a'}},'spec':{" spec \
    "},'status':{'allocatable':{'pods':'9'," alloc "}}}"
#define BIG "'cpu':'8','memory':'8Gi'"

static void test_scores_and_the_best(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    ask_put(&q, &kind_node, NODE("c", "", BIG));
    ask_put(&q, &kind_node, NODE("b", "", "'cpu':'2','memory':'2Gi'"));
    ask_put(&q, &kind_node, NODE("a", "", BIG));
    struct whatif_result r = ask_explain(&q, POD("p", "", ""));
    assert_int_equal(r.nnodes, 3);
    assert_string_equal(r.nodes[0].name, "a");
    assert_int_equal(r.nbest, 2);
    assert_string_equal(r.best[0], "a");
    assert_string_equal(r.best[1], "c");
    assert_null(r.message);
    int64_t sum = 0;
    for (uint32_t i = 0; i < r.nodes[0].nscores; i++) {
        if (i)
            assert_that(strcmp(r.nodes[0].scores[i - 1].plugin, r.nodes[0].scores[i].plugin), <, 0);
        sum += r.nodes[0].scores[i].score * r.nodes[0].scores[i].weight;
    }
    assert_int_equal(r.nodes[0].total, sum);
    assert_that(r.nodes[0].total, >, r.nodes[1].total);
}

static const struct whatif_change *change(const struct whatif_node *n, const char *plugin,
                                          const char *detail)
{
    for (uint32_t i = 0; i < n->nchanges; i++) {
        const struct whatif_change *c = &n->changes[i];
        const char *has = c->resource ? c->resource : c->taint ? c->taint : "";
        if (streq(c->plugin, plugin) && streq(has, detail))
            return c;
    }
    fail_msg("%s: nothing about %s %s", n->name, plugin, detail);
    return NULL;
}

static void test_everything_that_would_have_to_change(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    ask_put(&q, &kind_node,
            NODE("n",
                 "'unschedulable':true,'taints':[{'key':'a','value':'b','effect':'NoExecute'},"
                 "{'key':'ok','effect':'NoSchedule'},{'key':'c','effect':'NoSchedule'},"
                 "{'key':'d','effect':'PreferNoSchedule'}]",
                 "'cpu':'2','memory':'8Gi'"));
    ask_put(&q, &kind_pod, POD("old", ",'nodeName':'n'", ""));
    struct whatif_result r =
        ask_explain(&q, POD("p",
                            ",'nodeSelector':{'zone':'b'},'tolerations':[{'key':'ok','operator':"
                            "'Exists'}],'overhead':{'example.com/x':'3'}",
                            ""));
    const struct whatif_node *n = &r.nodes[0];
    /* The verdict is the first plugin's; all that stands in the way is told beside it. */
    assert_string_equal(n->plugin, "NodeUnschedulable");
    assert_int_equal(n->nchanges, 6);
    assert_int_equal(change(n, "NodeUnschedulable", "")->code, KS_UNRESOLVABLE);
    assert_string_equal(change(n, "NodeAffinity", "")->reason,
                        "node(s) didn't match Pod's node affinity/selector");
    change(n, "TaintToleration", "a=b:NoExecute");
    change(n, "TaintToleration", "c:NoSchedule");
    assert_int_equal(change(n, "NodeResourcesFit", "cpu")->missing, 1000);
    assert_int_equal(change(n, "NodeResourcesFit", "example.com/x")->missing, 3);
    assert_contains(ask_text(&q, &r, WHATIF_CHANGES),
                    "{\"plugin\":\"NodeResourcesFit\",\"code\":"
                    "\"UnschedulableAndUnresolvable\",\"reason\":\"Insufficient cpu\","
                    "\"resource\":\"cpu\",\"missing\":1000}");
    assert_lacks(ask_text(&q, &r, 0), "missing");
}

static void test_too_many_pods(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    ask_put(&q, &kind_node,
            "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'9','memory':'9Gi',"
            "'pods':'1'}}}");
    ask_put(&q, &kind_pod, POD("old", ",'nodeName':'n'", ""));
    struct whatif_result r = ask_explain(&q, POD("p", "", ""));
    assert_int_equal(change(&r.nodes[0], "NodeResourcesFit", "pods")->missing, 1);
    assert_int_equal(r.nodes[0].changes[0].code, KS_UNSCHEDULABLE);
}

static void test_room_nominated_for_another(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    ask_put(&q, &kind_node, NODE("n", "", "'cpu':'2','memory':'8Gi'"));
    ask_put(&q, &kind_pod, POD("nominated", "", "'nominatedNodeName':'n'"));
    ask_put(&q, &kind_pod, POD("waiting", "", ""));
    struct whatif_result r = ask_explain(&q, POD("p", "", ""));
    assert_string_equal(r.message, "0/1 nodes are available: 1 Insufficient cpu.");
    assert_int_equal(r.nodes[0].nchanges, 1);
    assert_int_equal(change(&r.nodes[0], "NodeResourcesFit", "cpu")->missing, 1000);
    r = ask_explain(&q, POD("nominated", "", "'nominatedNodeName':'n'")); /* its own room */
    assert_int_equal(r.nbest, 1);
}

static void test_nodes_that_were_left_out(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    ask_put(&q, &kind_node, NODE("a", "", BIG));
    ask_put(&q, &kind_node, NODE("b", "", BIG));
    struct whatif_result r = ask_explain(
        &q, POD("p",
                ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
                "{'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name','operator':'In',"
                "'values':['b']}]}]}}}",
                ""));
    assert_null(r.nodes[0].plugin);
    assert_int_equal(r.nodes[0].code, KS_UNRESOLVABLE);
    assert_string_equal(r.nodes[0].reasons[0], "node(s) didn't satisfy plugin(s) [NodeAffinity]");
    assert_int_equal(r.nodes[0].nchanges, 1);
    assert_int_equal(r.nbest, 1);
    assert_string_equal(r.best[0], "b");
}

static void test_gates_hold_the_pod_back(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    ask_put(&q, &kind_node, NODE("a", "", BIG));
    struct whatif_result r = ask_explain(&q, POD("p", ",'schedulingGates':[{'name':'g'}]", ""));
    assert_string_equal(r.held_by, "SchedulingGates");
    assert_int_equal(r.nbest, 1); /* where it would go all the same */
    assert_contains(ask_text(&q, &r, 0), "\"held\":{\"plugin\":\"SchedulingGates\",\"reasons\":"
                                         "[\"waiting for scheduling gates: [g]\"]}");
}

static void test_a_placed_pod_does_not_stand_in_its_own_way(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    ask_put(&q, &kind_node, NODE("n", "", "'cpu':'2','memory':'8Gi'"));
    ask_put(&q, &kind_pod, POD("p", ",'nodeName':'n'", "'phase':'Running'"));
    ask_put(&q, &kind_pod, POD("done", ",'nodeName':'n'", "'phase':'Succeeded'"));
    struct whatif_result r = ask_explain(&q, POD("p", "", ""));
    assert_int_equal(r.nbest, 1);
}

static void test_who_would_be_evicted(void **state)
{
    CLEANUP(ask_fini) struct ask q;
    struct whatif_preemption p;
    struct kerr err = { 0 };

    ask_init(&q, state);
    ask_put(&q, &kind_node, NODE("n", "", "'cpu':'3','memory':'8Gi'"));
    ask_explain(&q, POD("p", "", ""));
    assert_int_equal(whatif_preempt(q.w, &p, &err), -EINVAL); /* it fits */
    ask_put(&q, &kind_pod, POD("b", ",'nodeName':'n'", ""));
    ask_put(&q, &kind_pod,
            "{'metadata':{'name':'a','namespace':'ns','uid':'a','deletionTimestamp':"
            "'2026-03-01T10:00:00Z'},'spec':{'nodeName':'n','containers':[{'name':'c','resources':"
            "{'requests':{'cpu':'1500m'}}}]}}");
    ask_put(&q, &kind_pdb, "{'metadata':{'name':'x','namespace':'ns'}}");
    ask_put(&q, &kind_job, "{'metadata':{'name':'x','namespace':'ns'}}"); /* nobody asked for it */
    ask_explain(&q, "{'metadata':{'name':'p','namespace':'ns'},'spec':{'priority':5,'containers':"
                    "[{'name':'c','resources':{'requests':{'cpu':'3'}}}]}}");
    assert_string_equal(ask_preempt(&q), "{\"code\":\"Success\",\"nominatedNode\":\"n\","
                                         "\"victims\":[\"ns/b\"]}"); /* a leaves by itself */
    ask_explain(&q, POD("q", "", ""));
    assert_string_equal(ask_preempt(&q),
                        "{\"code\":\"Unschedulable\",\"nominatedNode\":\"\",\"message\":"
                        "\"no new claims to deallocate, preemption: 0/1 nodes are available: 1 No "
                        "preemption victims found for incoming pod.\"}");
}

static void test_no_nodes(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    struct whatif_result r = ask_explain(&q, POD("p", "", ""));
    assert_string_equal(ask_text(&q, &r, 0),
                        "{\"nodes\":{},\"message\":\"no nodes available to schedule pods\"}");
    assert_string_equal(ask_preempt(&q),
                        "{\"code\":\"Unschedulable\",\"nominatedNode\":\"\",\"message\":\"\"}");
}

static void test_a_pod_needs_a_uid(void **state)
{
    CLEANUP(ask_fini) struct ask q;
    CLEANUP(kobj_unref)
    struct kobj *o =
        fixture_object(*state, &kind_pod, "{'metadata':{'name':'p','namespace':'ns'},'spec':{}}");
    struct kerr err = { 0 };

    ask_init(&q, state);
    assert_int_equal(whatif_add(q.w, o, &err), -EINVAL);
    assert_string_equal(err.text, "pod ns/p has no uid");
}

static void test_the_score_table(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    ask_put(&q, &kind_node, NODE("small", "", "'cpu':'2','memory':'4Gi'"));
    ask_put(&q, &kind_node, NODE("tiny", "", "'cpu':'1','memory':'4Gi'"));
    ask_put(&q, &kind_node, NODE("large", "", "'cpu':'15','memory':'10Gi'"));
    ask_explain(&q, POD("p", "", ""));
    strbuf_reset(&q.text);
    whatif_write_scores(q.w, 1, &q.text);
    assert_string_equal(strbuf_str(&q.text),
                        "| # | Pod | Node | Score | TaintToleration | NodeResourcesFit | "
                        "NodeResourcesBalancedAllocation | ImageLocality |\n"
                        "| --- | --- | --- | ---:| ---:| ---:| ---:| ---:|\n"
                        "| 0 | ns/p | large | 490 | 300 | 90 | 100 | 0 |\n");
}

static void test_the_kinds_it_reads(void **state)
{
    CLEANUP(ask_fini) struct ask q;
    unsigned n = 0, budgets = 0;

    ask_init(&q, state);
    for (; whatif_kind(q.w, n); n++) {
        budgets += whatif_kind(q.w, n) == &kind_pdb;
        for (unsigned i = 0; i < n; i++)
            assert_ptr_not_equal(whatif_kind(q.w, i), whatif_kind(q.w, n));
    }
    assert_int_equal(budgets, 1);
    assert_null(whatif_kind(q.w, n + 1));
}

/* ---- services of plugins hear of the pods -----------------------------------------------------
 */

static int placed_pods;

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    (void)service, (void)before, (void)now;
    placed_pods++;
}

static void on_gone(void *service, const struct pod *last)
{
    (void)service, (void)last;
    placed_pods--;
}

static const struct ks_pod_handler counter_pods = { .placed = on_placed, .gone = on_gone };
static const struct ks_service counter_service = { .name = "Counter", .pods = &counter_pods };
static const struct ks_service *const counter_services[] = { &counter_service, NULL };

static enum ks_code counter_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)ret_state, (void)only;
    if (placed_pods < 2)
        return KS_SKIP;
    ks_texts_add(why, "the house is full");
    return KS_UNSCHEDULABLE;
}

static const struct ks_plugin counter_plugin = { .abi = KS_PLUGIN_ABI,
                                                 .size = sizeof(struct ks_plugin),
                                                 .name = "Counter",
                                                 .services = counter_services,
                                                 .pre_filter = counter_pre_filter };

static void test_services_hear_of_the_pods(void **state)
{
    CLEANUP(ask_fini) struct ask q = { .base = *state };
    const struct ks_registered table[] = {
        { ks_registered_find("PrioritySort")->plugin, 0, true },
        { &counter_plugin, 0, true },
        { ks_registered_find("DefaultBinder")->plugin, 0, true },
        { NULL, 0, false },
    };
    struct profile_config c = profile_config_default(table, "s", q.base->arena);
    struct kerr err = { 0 };

    placed_pods = 0;
    q.w = whatif_new(&c, table, &err);
    assert_string_equal(err.text, "");
    ask_put(&q, &kind_pod, POD("x", ",'nodeName':'a'", ""));
    ask_put(&q, &kind_node, NODE("a", "", BIG));
    assert_int_equal(ask_explain(&q, POD("p", "", "")).nbest, 1);
    assert_int_equal(placed_pods, 1);
    ask_put(&q, &kind_pod, POD("y", ",'nodeName':'a'", ""));
    assert_string_equal(ask_explain(&q, POD("p", "", "")).message,
                        "0/1 nodes are available: the house is full.");
    /* A pod does not stand in its own way. */
    assert_int_equal(ask_explain(&q, POD("y", ",'nodeName':'a'", "")).nbest, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_scores_and_the_best),
        FIXTURE_TEST(test_everything_that_would_have_to_change),
        FIXTURE_TEST(test_too_many_pods),
        FIXTURE_TEST(test_room_nominated_for_another),
        FIXTURE_TEST(test_nodes_that_were_left_out),
        FIXTURE_TEST(test_gates_hold_the_pod_back),
        FIXTURE_TEST(test_a_placed_pod_does_not_stand_in_its_own_way),
        FIXTURE_TEST(test_who_would_be_evicted),
        FIXTURE_TEST(test_no_nodes),
        FIXTURE_TEST(test_a_pod_needs_a_uid),
        FIXTURE_TEST(test_the_score_table),
        FIXTURE_TEST(test_the_kinds_it_reads),
        FIXTURE_TEST(test_services_hear_of_the_pods),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
