/* test_whatgang.c - what would become of a gang: who is there, how many fit, where there is room.
 */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include "api/koord/networktopology.h"
#include "api/koord/podgroup.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "base/strbuf.h"
#include "scheduler/observe/explain/whatif.h"
#include "scheduler/plugins/coscheduling/args.h"
#include "scheduler/plugins/registry.h"

static const struct ks_registered table[] = {
    { &ks_plugin_scheduling_gates, 0, true },
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_coscheduling, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

struct ask {
    struct object_fixture *base;
    struct whatif *w;
    struct strbuf text;
    struct kj_doc *doc;
};

static void ask_init_with(struct ask *q, void **state, bool network)
{
    struct coscheduling_args args = { .timeout = { true, 600 * NSEC_PER_SEC },
                                      .workers = { true, 1 },
                                      .topology = { true, network },
                                      .match_policy = "once-satisfied" };
    struct profile_args given = { "Coscheduling", &args };
    struct kerr err = { 0 };

    *q = (struct ask){ .base = *state };
    struct profile_config c = profile_config_default(table, "s", q->base->arena);
    c.args = &given;
    c.nargs = 1;
    q->w = whatif_new(&c, table, &err);
    assert_string_equal(err.text, "");
}

static void ask_init(struct ask *q, void **state)
{
    ask_init_with(q, state, false);
}

static void ask_fini_p(struct ask *q)
{
    whatif_free(q->w);
    kj_doc_free(q->doc);
    strbuf_fini(&q->text);
}

static void put(struct ask *q, const struct kind *k, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(q->base, k, text);
    struct kerr err = { 0 };

    assert_int_equal(whatif_add(q->w, o, &err), 0);
}

static void node(struct ask *q, const char *name, const char *spine, int cpu)
{
    put(q, &kind_node,
        arena_printf(q->base->arena,
                     "{'metadata':{'name':'%s','labels':{'spine':'%s'}},'status':{'allocatable':{"
                     "'cpu':'%d','memory':'8Gi','pods':'20'}}}",
                     name, spine, cpu));
}

static void pod(struct ask *q, const char *name, const char *gang, int cpu, const char *spec)
{
    put(q, &kind_pod,
        arena_printf(
            q->base->arena,
            "{'metadata':{'name':'%s','namespace':'ns','uid':'%s','labels':{'%s':'%s'}},"
            "'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'%d'}}}]%s}}",
            name, name, LABEL_POD_GROUP, gang, cpu, spec));
}

static void podgroup(struct ask *q, const char *name, int min, const char *annotations)
{
    put(q, &kind_podgroup,
        arena_printf(q->base->arena,
                     "{'metadata':{'name':'%s','namespace':'ns','uid':'%s','annotations':{%s}},"
                     "'spec':{'minMember':%d}}",
                     name, name, annotations, min));
}

static const struct kj_val *explain(struct ask *q, const char *id)
{
    struct kerr err = { 0 };

    strbuf_reset(&q->text);
    kj_doc_free(q->doc);
    q->doc = NULL;
    if (whatif_explain_gang(q->w, id, 0, &q->text, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(kj_parse(strbuf_str(&q->text), q->text.len, 0, &q->doc, &err), 0);
    return kj_root(q->doc);
}

static int64_t number(const struct kj_val *v, const char *member)
{
    return kj_i64_or(kj_get(v, member), -1);
}

static void test_room_for_some(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    node(&q, "a", "s1", 4);
    node(&q, "b", "s1", 4);
    node(&q, "c", "s2", 16);
    put(&q, &kind_pod,
        "{'metadata':{'name':'x','namespace':'ns','uid':'x'},'spec':{'nodeName':'c','containers':["
        "{'name':'c','resources':{'requests':{'cpu':'14'}}}]}}");
    podgroup(&q, "g", 8, "");
    for (char name[] = "p0"; name[1] < '8'; name[1]++)
        pod(&q, name, "g", 2, "");
    pod(&q, "gated", "g", 2, ",'schedulingGates':[{'name':'wait'}]");
    const struct kj_val *v = explain(&q, "ns/g");
    const struct kj_val *gang = kj_at(kj_get(v, "gangs"), 0);
    assert_int_equal(number(gang, "minMember"), 8);
    assert_int_equal(number(gang, "members"), 9);
    assert_string_equal(kj_str(kj_at(kj_get(gang, "gated"), 0)), "ns/gated");
    assert_int_equal(number(v, "wanted"), 8);
    assert_int_equal(number(v, "fitting"), 5); /* 2 + 2 + 1 */
    assert_string_equal(kj_str(kj_get(v, "first")), "ns/p5");
    assert_string_equal(kj_str(kj_get(v, "message")),
                        "0/3 nodes are available: 3 Insufficient cpu.");
    const struct kj_val *kinds = kj_get(v, "nodes");
    assert_int_equal(kj_len(kinds), 2);
    assert_string_equal(kj_str(kj_get(kj_at(kinds, 0), "kind")), "cpu=16 memory=8Gi");
    assert_int_equal(number(kj_at(kinds, 0), "slots"), 1);
    assert_int_equal(number(kj_at(kinds, 0), "oneMore"), 3); /* all that is missing */
    assert_int_equal(number(kj_at(kinds, 1), "nodes"), 2);
    assert_int_equal(number(kj_at(kinds, 1), "slots"), 4);
    assert_int_equal(number(kj_at(kinds, 1), "oneMore"), 2);
    assert_null(kj_get(v, "network"));
}

static void test_room_for_all(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    node(&q, "a", "s1", 4);
    podgroup(&q, "g", 2, "");
    pod(&q, "p0", "g", 2, "");
    pod(&q, "p1", "g", 2, "");
    const struct kj_val *v = explain(&q, "ns/g");
    assert_int_equal(number(v, "fitting"), 2);
    assert_null(kj_get(v, "message"));
    v = explain(&q, "ns/g"); /* the question has changed nothing */
    assert_int_equal(number(v, "fitting"), 2);
}

static void network_of(struct ask *q)
{
    put(q, &kind_network_topology,
        "{'metadata':{'name':'default'},'spec':{'networkTopologySpec':[{'topologyLayer':"
        "'SpineLayer','labelKey':['spine']},{'topologyLayer':'NodeTopologyLayer',"
        "'parentTopologyLayer':'SpineLayer'}]}}");
    node(q, "a", "s1", 4);
    node(q, "b", "s1", 2);
    node(q, "c", "s2", 4);
    podgroup(q, "g", 4,
             "'" ANNO_GANG_TOPOLOGY_SPEC
             "':'{\\\"gatherStrategy\\\":[{\\\"layer\\\":\\\"SpineLayer\\\",\\\"strategy\\\":"
             "\\\"MustGather\\\"}]}'");
    for (char name[] = "p0"; name[1] < '4'; name[1]++)
        pod(q, name, "g", 2, "");
}

static void test_rules_that_do_not_count(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init(&q, state);
    network_of(&q);
    const struct kj_val *v = explain(&q, "ns/g");
    assert_null(kj_get(v, "network"));
    assert_string_equal(kj_str(kj_get(v, "networkIgnored")), "awareNetworkTopology is off");
    assert_int_equal(number(v, "fitting"), 4);
}

static void test_room_by_network_domain(void **state)
{
    CLEANUP(ask_fini) struct ask q;

    ask_init_with(&q, state, true);
    network_of(&q);
    const struct kj_val *v = explain(&q, "ns/g"), *network = kj_get(v, "network");
    assert_string_equal(kj_str(kj_get(network, "layer")), "SpineLayer");
    const struct kj_val *domains = kj_get(network, "domains");
    assert_int_equal(kj_len(domains), 2);
    assert_string_equal(kj_str(kj_get(kj_at(domains, 0), "name")), "s1");
    assert_int_equal(number(kj_at(domains, 0), "slots"), 3);
    assert_int_equal(number(kj_at(domains, 1), "slots"), 2);
    assert_int_equal(number(v, "fitting"), 3);
    assert_contains(kj_str(kj_get(v, "message")), "no candidate topology nodes");
    node(&q, "d", "s2", 4);
    v = explain(&q, "ns/g");
    assert_int_equal(number(v, "fitting"), 4);
    assert_null(kj_get(v, "message"));
}

static void test_gangs_that_are_not_there(void **state)
{
    CLEANUP(ask_fini) struct ask q;
    struct kerr err = { 0 };

    ask_init(&q, state);
    assert_int_equal(whatif_explain_gang(q.w, "ns/no", 0, &q.text, &err), -ENOENT);
    assert_contains(err.text, "no gang ns/no");
    podgroup(&q, "a", 1, "'" ANNO_GANG_GROUPS "':'[\\\"ns/a\\\",\\\"ns/b\\\"]'");
    pod(&q, "p0", "a", 1, "");
    const struct kj_val *gangs = kj_get(explain(&q, "ns/a"), "gangs");
    assert_int_equal(kj_len(gangs), 2);
    assert_string_equal(kj_str(kj_get(kj_at(gangs, 1), "name")), "ns/b");
    assert_null(kj_get(kj_at(gangs, 1), "from")); /* the group waits for it */
    pod(&q, "p1", "unknown", 1, "");              /* no PodGroup: nobody says how many */
    const struct kj_val *gang = kj_at(kj_get(explain(&q, "ns/unknown"), "gangs"), 0);
    assert_false(kj_bool(kj_get(gang, "ready"), true));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_room_for_some),
        FIXTURE_TEST(test_room_for_all),
        FIXTURE_TEST(test_rules_that_do_not_count),
        FIXTURE_TEST(test_room_by_network_domain),
        FIXTURE_TEST(test_gangs_that_are_not_there),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
