/* test_interpodaffinity.c - affinity and anti-affinity between pods (scheduler-core 8.12). */
#include "base/test/asserts.h"
#include "scheduler/test/plugin_checks.h"

#include "api/core.h"

#define NAME     "InterPodAffinity"
#define HOSTNAME "kubernetes.io/hostname"
#define FAR      "node(s) didn't match pod affinity rules"
#define ANTI     "node(s) didn't match pod anti-affinity rules"
#define EXISTING "node(s) didn't satisfy existing pods anti-affinity rules"

/* One term about pods with app=APP. */
#define TERM(app, key)  "{'labelSelector':{'matchLabels':{'app':'" app "'}},'topologyKey':'" key "'}"
#define REQUIRED(terms) "{'requiredDuringSchedulingIgnoredDuringExecution':[" terms "]}"
#define PREFERRED(weight, term)                                             \
    "{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':" weight \
    ",'podAffinityTerm':" term "}]}"

/* zone NULL: the node has none */
static void put_node(struct plugin_fixture *f, const char *name, const char *zone)
{
    char text[512], label[128] = "";

    if (zone)
        (void)snprintf(label, sizeof label, ",'zone':'%s'", zone);
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'" HOSTNAME "':'%s'%s}},"
                   "'status':{'allocatable':{'pods':'110'}}}",
                   name, name, label);
    fixture_node(f, text);
}

/* affinity: the inside of spec.affinity. node "": none */
static const char *pod_text(const char *ns, const char *name, const char *app, const char *node,
                            const char *affinity)
{
    static char text[4096];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','namespace':'%s','uid':'%s','labels':{'app':'%s'}},"
                   "'spec':{'nodeName':'%s','containers':[{'name':'c'}],'affinity':{%s}}}",
                   name, ns, name, app, node, affinity);
    return text;
}

static void put_pod(struct plugin_fixture *f, const char *name, const char *app, const char *node,
                    const char *affinity)
{
    fixture_pod(f, pod_text("ns", name, app, node, affinity));
}

static void remove_pod(struct plugin_fixture *f, const char *name)
{
    assert_true(nodecache_remove_pod(f->cache, kuid_parse(name, strlen(name))));
}

static void try_pod(struct plugin_fixture *f, const char *app, const char *affinity)
{
    fixture_try(f, pod_text("ns", "p", app, "", affinity));
}

static void put_namespace(struct plugin_fixture *f, const char *name, const char *labels)
{
    char text[256];

    (void)snprintf(text, sizeof text, "{'metadata':{'name':'%s','labels':{%s}}}", name, labels);
    fixture_put(f, &kind_namespace, text);
}

/* Two zones of two nodes, and one node without a zone. */
static void five_nodes(struct plugin_fixture *f)
{
    put_node(f, "a1", "a");
    put_node(f, "a2", "a");
    put_node(f, "b1", "b");
    put_node(f, "b2", "b");
    put_node(f, "x", NULL);
}

/* ---- filter ---------------------------------------------------------------------------------- */

static void test_affinity_by_zone(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    put_pod(&f, "db", "db", "a1", "");
    try_pod(&f, "web", "'podAffinity':" REQUIRED(TERM("db", "zone")));
    assert_int_equal(f.a.feasible, 2);
    assert_true(fixture_fits(&f, "a1") && fixture_fits(&f, "a2"));
    assert_int_equal(fixture_code(&f, "b1"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "b1"), FAR);
    assert_string_equal(fixture_why(&f, "x"), FAR);
    /* equal pods later: what is remembered follows the pods */
    put_pod(&f, "db2", "db", "b2", "");
    try_pod(&f, "web", "'podAffinity':" REQUIRED(TERM("db", "zone")));
    assert_int_equal(f.a.feasible, 4);
    remove_pod(&f, "db");
    try_pod(&f, "web", "'podAffinity':" REQUIRED(TERM("db", "zone")));
    assert_int_equal(f.a.feasible, 2);
    assert_true(fixture_fits(&f, "b1"));
    remove_pod(&f, "db2");
    try_pod(&f, "web", "'podAffinity':" REQUIRED(TERM("db", "zone")));
    assert_int_equal(f.a.feasible, 0);
    assert_int_equal(shapes_stats(f.shapes).misses, 1);
    assert_int_equal(shapes_stats(f.shapes).hits, 3);
}

static void test_first_of_a_group(void **state)
{
    static const char *const group = "'podAffinity':" REQUIRED(TERM("web", "zone"));
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    try_pod(&f, "web", group);
    assert_int_equal(f.a.feasible, 4); /* also the first needs the key */
    assert_string_equal(fixture_why(&f, "x"), FAR);
    try_pod(&f, "other", group); /* not of the group itself */
    assert_int_equal(f.a.feasible, 0);
    put_pod(&f, "w1", "web", "x", ""); /* without the key it does not count */
    try_pod(&f, "web", group);
    assert_int_equal(f.a.feasible, 4);
    put_pod(&f, "w2", "web", "b1", "");
    try_pod(&f, "web", group);
    assert_int_equal(f.a.feasible, 2);
    assert_true(fixture_fits(&f, "b2"));
}

static void test_all_terms_by_one_pod(void **state)
{
    static const char *const both = "'podAffinity':" REQUIRED(
        TERM("db", "zone") ","
                           "{'labelSelector':{'matchExpressions':"
                           "[{'key':'app','operator':'Exists'}]},'topologyKey':'" HOSTNAME "'}");
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    put_pod(&f, "other", "other", "a2", ""); /* matches one of the terms only */
    put_pod(&f, "db", "db", "a1", "");
    try_pod(&f, "web", both);
    assert_int_equal(f.a.feasible, 1);
    assert_true(fixture_fits(&f, "a1"));
    assert_string_equal(fixture_why(&f, "a2"), FAR);
}

static void test_a_key_that_no_node_has(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    put_pod(&f, "web", "web", "a1", "'podAntiAffinity':" REQUIRED(TERM("web", "rack")));
    try_pod(&f, "web", "'podAffinity':" REQUIRED(TERM("web", "rack")));
    assert_int_equal(f.a.feasible, 0);
    assert_string_equal(fixture_why(&f, "a1"), FAR);
    try_pod(&f, "web", "'podAntiAffinity':" REQUIRED(TERM("web", "rack")));
    assert_int_equal(f.a.feasible, 5);
    try_pod(&f, "web", "'podAffinity':" PREFERRED("5", TERM("web", "rack")));
    assert_int_equal(fixture_score(&f, NAME, "a1"), -1);
}

static void test_anti_affinity_by_hostname(void **state)
{
    static const char *const alone = "'podAntiAffinity':" REQUIRED(TERM("web", HOSTNAME));
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    for (int i = 0; i < 5; i++) {
        static const char *const nodes[] = { "a1", "b2", "x", "a2", "b1" };
        char name[8];
        (void)snprintf(name, sizeof name, "w%d", i);
        try_pod(&f, "web", alone);
        assert_int_equal(f.a.feasible, 5 - i);
        assert_true(fixture_fits(&f, nodes[i]));
        put_pod(&f, name, "web", nodes[i], alone);
    }
    try_pod(&f, "web", alone);
    assert_int_equal(f.a.feasible, 0);
    assert_int_equal(fixture_code(&f, "x"), KS_UNSCHEDULABLE);
    /* ours comes before theirs */
    assert_string_equal(fixture_message(&f), "0/5 nodes are available: 5 " ANTI ".");
    try_pod(&f, "web", "");
    assert_string_equal(fixture_message(&f), "0/5 nodes are available: 5 " EXISTING ".");
    try_pod(&f, "other", "");
    assert_int_equal(f.a.feasible, 5);
}

static void test_anti_affinity_of_others_comes_and_goes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    try_pod(&f, "web", "");
    assert_int_equal(f.a.feasible, 5);
    put_pod(&f, "lonely", "lonely", "a1", "'podAntiAffinity':" REQUIRED(TERM("web", "zone")));
    try_pod(&f, "web", "");
    assert_int_equal(f.a.feasible, 3);
    assert_string_equal(fixture_why(&f, "a2"), EXISTING);
    put_pod(&f, "hermit", "lonely", "x", "'podAntiAffinity':" REQUIRED(TERM("web", HOSTNAME)));
    try_pod(&f, "web", "");
    assert_int_equal(f.a.feasible, 2);
    remove_pod(&f, "lonely");
    remove_pod(&f, "hermit");
    try_pod(&f, "web", "");
    assert_int_equal(f.a.feasible, 5);
    assert_int_equal(shapes_stats(f.shapes).misses, 1);
}

static void test_reasons_have_an_order(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    put_pod(&f, "db", "db", "a1", "'podAntiAffinity':" REQUIRED(TERM("web", "zone")));
    put_pod(&f, "noise", "noise", "b1", "'podAntiAffinity':" REQUIRED(TERM("web", "zone")));
    put_pod(&f, "noise2", "noise", "a2", "");
    try_pod(&f, "web",
            "'podAffinity':" REQUIRED(TERM("db", "zone")) ","
                                                          "'podAntiAffinity':" REQUIRED(
                                                              TERM("noise", HOSTNAME)));
    assert_string_equal(fixture_why(&f, "b1"), FAR);
    assert_string_equal(fixture_why(&f, "a2"), ANTI);
    assert_string_equal(fixture_why(&f, "a1"), EXISTING);
}

static void test_terms_that_cannot_be_understood(void **state)
{
    static const char *const bad =
        "'podAntiAffinity':" REQUIRED("{'labelSelector':{'matchExpressions':[{'key':'app',"
                                      "'operator':'In','values':[]}]},'topologyKey':'zone'}");
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    try_pod(&f, "web", bad);
    assert_int_equal(f.a.code, KS_UNRESOLVABLE);
    assert_contains(fixture_message(&f), "parsing pod: podAntiAffinity.required[0]: ");
    put_pod(&f, "w", "web", "a1", bad); /* of others: as if they had none */
    try_pod(&f, "web", "");
    assert_int_equal(f.a.feasible, 5);
    try_pod(&f, "web",
            "'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
            "'topologyKey':'zone'}]}"); /* no selector: nobody */
    assert_int_equal(f.a.feasible, 5);
}

/* ---- namespaces ------------------------------------------------------------------------------ */

#define NS_TERM(rest) \
    "{'labelSelector':{'matchLabels':{'app':'web'}},'topologyKey':'" HOSTNAME "'" rest "}"

static void test_namespaces(void **state)
{
    static const struct {
        const char *terms;
        bool ns, blue, red, bare; /* fits beside the pod of that namespace */
    } cases[] = {
        { NS_TERM(""), false, true, true, true },
        { NS_TERM(",'namespaces':['blue','no-such']"), true, false, true, true },
        { NS_TERM(",'namespaceSelector':{}"), false, false, false, false },
        { NS_TERM(",'namespaceSelector':{'matchLabels':{'team':'x'}}"), true, false, true, true },
        { NS_TERM(",'namespaces':['red'],'namespaceSelector':{'matchLabels':{'team':'x'}}"), true,
          false, false, true },
        /* labels of the namespace decide, not the absence of labels */
        { NS_TERM(",'namespaceSelector':{'matchExpressions':[{'key':'team','operator':"
                  "'DoesNotExist'}]}"),
          true, true, true, false },
        { NS_TERM(",'namespaceSelector':{'matchExpressions':[{'key':'team','operator':'NotIn',"
                  "'values':['x','y']}]}"),
          false, true, true, false },
    };
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    put_namespace(&f, "ns", "'team':'z'");
    put_namespace(&f, "blue", "'team':'x'");
    put_namespace(&f, "red", "'team':'y'");
    put_namespace(&f, "bare", "");
    five_nodes(&f);
    fixture_pod(&f, pod_text("ns", "w0", "web", "a1", ""));
    fixture_pod(&f, pod_text("blue", "w1", "web", "a2", ""));
    fixture_pod(&f, pod_text("red", "w2", "web", "b1", ""));
    fixture_pod(&f, pod_text("bare", "w3", "web", "b2", ""));
    fixture_pod(&f, pod_text("unknown", "w4", "web", "x", ""));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char anti[1024];
        (void)snprintf(anti, sizeof anti, "'podAntiAffinity':" REQUIRED("%s"), cases[i].terms);
        try_pod(&f, "other", anti);
        assert_int_equal(fixture_fits(&f, "a1"), cases[i].ns);
        assert_int_equal(fixture_fits(&f, "a2"), cases[i].blue);
        assert_int_equal(fixture_fits(&f, "b1"), cases[i].red);
        assert_int_equal(fixture_fits(&f, "b2"), cases[i].bare);
        /* everything is everything; otherwise a namespace must be known */
        assert_int_equal(fixture_fits(&f, "x"), i != 2);
    }
}

static void test_namespaces_of_others(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    put_namespace(&f, "ns", "'team':'z'");
    five_nodes(&f);
    fixture_pod(&f, pod_text("blue", "w1", "x", "a1",
                             "'podAntiAffinity':" REQUIRED(
                                 NS_TERM(",'namespaceSelector':{'matchLabels':{'team':'z'}}"))));
    fixture_pod(&f, pod_text("blue", "w2", "x", "b1", "'podAntiAffinity':" REQUIRED(NS_TERM(""))));
    fixture_pod(&f, pod_text("blue", "w3", "x", "b2",
                             "'podAntiAffinity':" REQUIRED(NS_TERM(",'namespaces':['ns']"))));
    try_pod(&f, "web", "");
    assert_int_equal(f.a.feasible, 3);
    assert_true(fixture_fits(&f, "b1"));
    put_namespace(&f, "ns",
                  "'team':'y'"); /* the object cache changed: nothing remembered is worth it */
    try_pod(&f, "web", "");
    assert_int_equal(f.a.feasible, 4);
    assert_true(fixture_fits(&f, "a1"));
}

/* ---- overlays -------------------------------------------------------------------------------- */

static struct kobj *make_pod(struct plugin_fixture *f, const char *name, const char *app,
                             const char *affinity)
{
    return fixture_object(f->base, &kind_pod, pod_text("ns", name, app, "", affinity));
}

static const struct pod *pod_at(const struct plugin_fixture *f, const char *node, uint32_t i)
{
    return nodecache_nodes(f->cache)->pods[fixture_row(f, node)].items[i];
}

static bool overlay_fits(struct plugin_fixture *f, uint32_t row, const char *expect_why)
{
    struct attempt_verdict v;
    bool fits = attempt_fits(&f->a, row, &v);

    if (!fits)
        assert_string_equal(f->profile->slots[v.by - 1].plugin->reasons[v.why].text, expect_why);
    return fits;
}

static void test_as_if(void **state)
{
    static const char *const terms = "'podAffinity':" REQUIRED(
        TERM("db", "zone")) ",'podAntiAffinity':" REQUIRED(TERM("noise", HOSTNAME));
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    put_pod(&f, "db", "db", "a1", "");
    put_pod(&f, "n1", "noise", "a2", "'podAntiAffinity':" REQUIRED(TERM("web", "zone")));
    CLEANUP(kobj_unref) struct kobj *db = make_pod(&f, "db2", "db", "");
    CLEANUP(kobj_unref)
    struct kobj *hermit =
        make_pod(&f, "h", "h",
                 "'podAntiAffinity':" REQUIRED(TERM("web", "rack-less")) ","
                                                                         "'podAffinity':" REQUIRED(
                                                                             TERM("web", "zone")));
    CLEANUP(kobj_unref)
    struct kobj *lonely =
        make_pod(&f, "l", "l", "'podAntiAffinity':" REQUIRED(TERM("web", HOSTNAME)));

    try_pod(&f, "web", terms);
    assert_int_equal(f.a.feasible, 0);
    uint32_t a2 = fixture_row(&f, "a2"), b1 = fixture_row(&f, "b1");
    assert_false(overlay_fits(&f, a2, ANTI));
    const struct pod *noise = pod_at(&f, "a2", 0);
    ks_overlay_remove_pod(f.a.overlay, a2, noise);
    assert_true(overlay_fits(&f, a2, ""));
    ks_overlay_add_pod(f.a.overlay, a2, hermit);
    assert_true(overlay_fits(&f, a2, ""));
    ks_overlay_add_pod(f.a.overlay, a2, lonely); /* a key that no pod had so far */
    assert_false(overlay_fits(&f, a2, EXISTING));
    ks_overlay_restore_pod(f.a.overlay, a2, noise);
    assert_false(overlay_fits(&f, a2, ANTI));
    ks_overlay_rollback(f.a.overlay, 0);
    assert_false(overlay_fits(&f, b1, FAR));
    ks_overlay_add_pod(f.a.overlay, b1, db);
    assert_true(overlay_fits(&f, b1, ""));
    ks_overlay_rollback(f.a.overlay, 0);
    assert_false(overlay_fits(&f, b1, FAR)); /* all is as it was */
    remove_pod(&f, "n1");
    try_pod(&f, "web", terms); /* compared with an attempt from scratch */
    assert_int_equal(f.a.feasible, 2);
}

/* The attempt that is used again is the one that looked at nominated pods. */
static void test_nominated(void **state)
{
    static const char *const alone = "'podAntiAffinity':" REQUIRED(TERM("web", "zone"));
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    try_pod(&f, "web", alone);
    assert_int_equal(f.a.feasible, 5);
    fixture_nominate(&f,
                     "{'metadata':{'name':'n','namespace':'ns','uid':'n','labels':{'app':'web'}},"
                     "'spec':{'priority':9,'containers':[]},'status':{'nominatedNodeName':"
                     "'a1'}}");
    for (int i = 0; i < 2; i++) {
        try_pod(&f, "web", alone);
        assert_int_equal(f.a.feasible, 4); /* as upstream: of its own node only */
        assert_string_equal(fixture_why(&f, "a1"), ANTI);
    }
    nominator_remove(f.nominator, kuid_parse("n", 1));
    try_pod(&f, "web", alone);
    assert_int_equal(f.a.feasible, 5);
    assert_int_equal(shapes_stats(f.shapes).misses, 1);
}

/* ---- score ----------------------------------------------------------------------------------- */

static void test_preferred_affinity(void **state)
{
    static const char *const near = "'podAffinity':" PREFERRED("5", TERM("db", "zone"));
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    try_pod(&f, "web", near);
    assert_int_equal(fixture_score(&f, NAME, "a1"), -1); /* nothing to say */
    put_pod(&f, "d1", "db", "a1", "");
    put_pod(&f, "d2", "db", "a2", "");
    try_pod(&f, "web", near);
    assert_int_equal(fixture_score(&f, NAME, "a1"), 100);
    assert_int_equal(fixture_score(&f, NAME, "a2"), 100);
    assert_int_equal(fixture_score(&f, NAME, "b1"), 0);
    assert_int_equal(fixture_score(&f, NAME, "x"), 0);
    put_pod(&f, "d3", "db", "b2", "");
    try_pod(&f, "web", near);
    assert_int_equal(fixture_score(&f, NAME, "a2"), 100);
    assert_int_equal(fixture_score(&f, NAME, "b1"), 50);
    assert_int_equal(fixture_score(&f, NAME, "x"), 0);
    try_pod(&f, "web", "'podAntiAffinity':" PREFERRED("5", TERM("db", "zone")));
    assert_int_equal(fixture_score(&f, NAME, "a2"), 0);
    assert_int_equal(fixture_score(&f, NAME, "b1"), 50);
    assert_int_equal(fixture_score(&f, NAME, "x"), 100);
    assert_int_equal(shapes_stats(f.shapes).misses, 2);
}

static void test_weights(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    put_node(&f, "n1", NULL);
    put_node(&f, "n2", NULL);
    put_node(&f, "n3", NULL);
    put_pod(&f, "d1", "db", "n1", "");
    put_pod(&f, "c1", "cache", "n2", "");
    try_pod(&f, "web",
            "'podAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':["
            "{'weight':2,'podAffinityTerm':" TERM(
                "db", HOSTNAME) "},"
                                "{'weight':10,'podAffinityTerm':" TERM("cache", HOSTNAME) "}]}");
    assert_int_equal(fixture_score(&f, NAME, "n1"), 20);
    assert_int_equal(fixture_score(&f, NAME, "n2"), 100);
    assert_int_equal(fixture_score(&f, NAME, "n3"), 0);
}

/* 29 of 100 is a little less than 0.29 in binary: upstream divides first. */
static void test_rounding(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    put_node(&f, "n1", NULL);
    put_node(&f, "n2", NULL);
    put_node(&f, "n3", NULL);
    put_pod(&f, "p1", "x", "n1", "'podAffinity':" PREFERRED("29", TERM("web", HOSTNAME)));
    put_pod(&f, "p2", "x", "n2", "'podAffinity':" PREFERRED("100", TERM("web", HOSTNAME)));
    try_pod(&f, "web", "");
    assert_int_equal(fixture_score(&f, NAME, "n1"), 28);
    assert_int_equal(fixture_score(&f, NAME, "n2"), 100);
}

/* What pods there think of ours. */
static void test_symmetric_preferences(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    put_pod(&f, "p1", "x", "a1", "'podAffinity':" PREFERRED("8", TERM("web", "zone")));
    put_pod(&f, "p2", "x", "b1", "'podAntiAffinity':" PREFERRED("2", TERM("web", HOSTNAME)));
    try_pod(&f, "web", "");
    assert_int_equal(fixture_score(&f, NAME, "a2"), 100);
    assert_int_equal(fixture_score(&f, NAME, "b1"), 0);
    assert_int_equal(fixture_score(&f, NAME, "x"), 20);
    try_pod(&f, "other", "");
    assert_int_equal(fixture_score(&f, NAME, "a2"), -1);
    put_pod(&f, "p3", "x", "b2", "'podAffinity':" REQUIRED(TERM("web", "zone")));
    try_pod(&f, "web", ""); /* raw: 8 8 -1 1 0 */
    assert_int_equal(fixture_score(&f, NAME, "b1"), 0);
    assert_int_equal(fixture_score(&f, NAME, "b2"), 22);
    remove_pod(&f, "p1");
    remove_pod(&f, "p2");
    try_pod(&f, "web", "");
    assert_int_equal(fixture_score(&f, NAME, "b1"), 100);
    assert_int_equal(fixture_score(&f, NAME, "a1"), 0);
}

/* Both cancel each other, but somebody had something to say. */
static void test_equal_scores_are_nothing(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    put_pod(&f, "p1", "x", "a1", "'podAffinity':" PREFERRED("8", TERM("web", "zone")));
    put_pod(&f, "p2", "x", "a2", "'podAntiAffinity':" PREFERRED("8", TERM("web", "zone")));
    try_pod(&f, "web", "");
    assert_int_equal(fixture_score(&f, NAME, "a1"), 0);
    assert_int_equal(fixture_score(&f, NAME, "b1"), 0);
}

static void test_only_candidates_set_the_scale(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    five_nodes(&f);
    put_pod(&f, "p1", "x", "a1",
            "'podAntiAffinity':" REQUIRED(TERM("web", HOSTNAME)) ","
                                                                 "'podAffinity':" PREFERRED(
                                                                     "100", TERM("web", HOSTNAME)));
    put_pod(&f, "p2", "x", "b1", "'podAffinity':" PREFERRED("4", TERM("web", HOSTNAME)));
    put_pod(&f, "p3", "x", "b2", "'podAffinity':" PREFERRED("1", TERM("web", HOSTNAME)));
    try_pod(&f, "web", "");
    assert_int_equal(f.a.feasible, 4);
    assert_int_equal(fixture_score(&f, NAME, "b1"), 100);
    assert_int_equal(fixture_score(&f, NAME, "b2"), 25);
    assert_int_equal(fixture_score(&f, NAME, "x"), 0);
}

static void test_args(void **state)
{
    static const char *const hard = "'podAffinity':" REQUIRED(TERM("web", "zone"));
    CLEANUP(fixture_fini) struct plugin_fixture f, g, h;

    fixture_init(&f, state, NAME, "{'InterPodAffinity':{'hardPodAffinityWeight':0}}");
    five_nodes(&f);
    put_pod(&f, "p1", "x", "a1", hard);
    try_pod(&f, "web", "");
    assert_int_equal(fixture_score(&f, NAME, "a1"), -1);

    fixture_init(&g, state, NAME, "{'InterPodAffinity':{'hardPodAffinityWeight':3}}");
    five_nodes(&g);
    put_pod(&g, "p1", "x", "a1", hard);
    put_pod(&g, "p2", "x", "b1", "'podAffinity':" PREFERRED("1", TERM("web", "zone")));
    try_pod(&g, "web", "");
    assert_int_equal(fixture_score(&g, NAME, "a1"), 100);
    assert_int_equal(fixture_score(&g, NAME, "b1"), 33);

    fixture_init(&h, state, NAME,
                 "{'InterPodAffinity':{'ignorePreferredTermsOfExistingPods':true}}");
    five_nodes(&h);
    put_pod(&h, "p1", "x", "a1", hard);
    try_pod(&h, "web", "");
    assert_int_equal(fixture_score(&h, NAME, "a1"), -1);
    try_pod(&h, "web", "'podAffinity':" PREFERRED("1", TERM("none", "zone")));
    assert_int_equal(fixture_score(&h, NAME, "a1"), 100); /* having terms of its own, it listens */
}

static void test_args_are_checked(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'hardPodAffinityWeight':101}",
                   "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]");
}

/* ---- hints ----------------------------------------------------------------------------------- */

struct hinted {
    struct plugin_fixture *f;
    struct kobj *pod;
};

/* NULL: there is none */
static bool worth(struct hinted *h, enum ks_resource resource, uint32_t action,
                  const struct kind *kind, const char *before, const char *now)
{
    CLEANUP(kobj_unref) struct kobj *b = before ? fixture_object(h->f->base, kind, before) : NULL;
    CLEANUP(kobj_unref) struct kobj *n = now ? fixture_object(h->f->base, kind, now) : NULL;
    struct ks_event e = { resource, action, b, n };
    int slot = profile_slot(h->f->profile, NAME);

    return profile_worth(h->f->profile, UINT64_C(1) << slot, &e, pod_of(h->pod));
}

static bool worth_pod(struct hinted *h, uint32_t action, const char *before, const char *now)
{
    return worth(h, KS_RES_ASSIGNED_POD, action, &kind_pod, before, now);
}
static bool worth_node(struct hinted *h, uint32_t action, const char *before, const char *now)
{
    return worth(h, KS_RES_NODE, action, &kind_node, before, now);
}

/* Pods on n1 that differ in their labels. */
#define POD(labels)                                                              \
    "{'metadata':{'name':'o','namespace':'ns','uid':'o','labels':{" labels "}}," \
    "'spec':{'nodeName':'n1','containers':[]}}"
#define NODE(labels) "{'metadata':{'name':'n1','labels':{" labels "}}}"

static void test_hints_of_pods(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    CLEANUP(kobj_unref)
    struct kobj *p =
        make_pod(&f, "p", "web",
                 "'podAffinity':" REQUIRED(TERM("db", "zone")) ",'podAntiAffinity':" REQUIRED(
                     TERM("noise", "zone") "," TERM("loud", "zone")));
    struct hinted h = { &f, p };

    assert_true(worth_pod(&h, KS_ADD, NULL, POD("'app':'db'")));
    assert_false(worth_pod(&h, KS_ADD, NULL, POD("'app':'x'")));
    assert_false(worth_pod(&h, KS_ADD, NULL, POD("'app':'noise'")));
    assert_true(worth_pod(&h, KS_POD_LABEL, POD("'app':'x'"), POD("'app':'db'")));
    assert_false(worth_pod(&h, KS_POD_LABEL, POD("'app':'db','v':'1'"), POD("'app':'db'")));
    assert_true(worth_pod(&h, KS_POD_LABEL, POD("'app':'noise'"), POD("'app':'x'")));
    assert_false(worth_pod(&h, KS_POD_LABEL, POD("'app':'x'"), POD("'app':'noise'")));
    assert_false(worth_pod(&h, KS_POD_LABEL, POD("'app':'noise'"), POD("'app':'loud'")));
    assert_true(worth_pod(&h, KS_DELETE, POD("'app':'loud'"), NULL));
    assert_false(worth_pod(&h, KS_DELETE, POD("'app':'db'"), NULL));
    assert_false(worth_pod(&h, KS_DELETE, POD("'app':'x'"), NULL));
    /* one that was in the way of ours by its own terms */
    const char *text =
        pod_text("ns", "o", "x", "n1", "'podAntiAffinity':" REQUIRED(TERM("web", "zone")));
    assert_true(worth_pod(&h, KS_DELETE, text, NULL));
    /* one whose binding failed: its object never had the node */
    text = pod_text("ns", "o", "noise", "", "");
    assert_true(worth_pod(&h, KS_DELETE, text, NULL));
    assert_false(worth(&h, KS_RES_UNSCHEDULABLE_POD, KS_DELETE, &kind_pod, text, NULL));
    /* pods without a node are not in anybody's way; our own may have changed its mind */
    text = pod_text("ns", "o", "db", "", "");
    assert_false(worth(&h, KS_RES_UNSCHEDULABLE_POD, KS_ADD, &kind_pod, NULL, text));
    text = pod_text("ns", "p", "web", "", "");
    assert_true(worth(&h, KS_RES_UNSCHEDULABLE_POD, KS_POD_LABEL, &kind_pod, text, text));
}

static void test_hint_when_a_group_is_gone(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    CLEANUP(kobj_unref)
    struct kobj *p = make_pod(&f, "p", "web", "'podAffinity':" REQUIRED(TERM("web", "zone")));
    struct hinted h = { &f, p };

    assert_true(worth_pod(&h, KS_DELETE, POD("'app':'web'"), NULL));
    assert_false(worth_pod(&h, KS_DELETE, POD("'app':'db'"), NULL));
    CLEANUP(kobj_unref) struct kobj *plain = make_pod(&f, "p", "web", "");
    h.pod = plain; /* no terms of its own: others' pods do not help by coming */
    assert_false(worth_pod(&h, KS_ADD, NULL, POD("'app':'web'")));
}

static void test_hints_of_nodes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    CLEANUP(kobj_unref)
    struct kobj *near = make_pod(&f, "p", "web", "'podAffinity':" REQUIRED(TERM("db", "zone")));
    CLEANUP(kobj_unref)
    struct kobj *away = make_pod(&f, "p", "web", "'podAntiAffinity':" REQUIRED(TERM("x", "zone")));
    CLEANUP(kobj_unref) struct kobj *plain = make_pod(&f, "p", "web", "");
    struct hinted n = { &f, near }, a = { &f, away }, p = { &f, plain };

    assert_true(worth_node(&n, KS_ADD, NULL, NODE("'zone':'a'")));
    assert_false(worth_node(&n, KS_ADD, NULL, NODE("'rack':'a'")));
    assert_true(worth_node(&n, KS_NODE_LABEL, NODE(""), NODE("'zone':'a'")));
    assert_true(worth_node(&n, KS_NODE_LABEL, NODE("'zone':'b'"), NODE("'zone':'a'")));
    assert_false(worth_node(&n, KS_NODE_LABEL, NODE("'zone':'b'"), NODE("")));
    assert_false(worth_node(&n, KS_NODE_LABEL, NODE("'zone':'b'"), NODE("'zone':'b','rack':'a'")));
    assert_true(worth_node(&a, KS_ADD, NULL, NODE("'rack':'a'")));
    assert_true(worth_node(&a, KS_NODE_LABEL, NODE("'zone':'b'"), NODE("")));
    assert_true(worth_node(&a, KS_NODE_LABEL, NODE("'zone':'b'"), NODE("'zone':'a'")));
    assert_false(worth_node(&a, KS_NODE_LABEL, NODE(""), NODE("'zone':'a'")));
    assert_false(worth_node(&a, KS_NODE_LABEL, NODE("'zone':'b'"), NODE("'zone':'b','rack':'a'")));
    assert_true(worth_node(&p, KS_ADD, NULL, NODE("")));
    assert_true(worth_node(&p, KS_NODE_LABEL, NODE("'zone':'b'"), NODE("'zone':'a'")));
    assert_false(worth_node(&p, KS_NODE_LABEL, NODE(""), NODE("'zone':'a'")));
}

/* ---- at random ------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

/* Pods come, go and move; fixture_try() compares with an attempt from scratch each time. */
static void test_reuse_at_random(void **state)
{
    static const char *const apps[] = { "web", "db", "noise" };
    static const char *const terms[] = {
        "",
        "'podAffinity':" REQUIRED(TERM("db", "zone")),
        "'podAntiAffinity':" REQUIRED(TERM("web", HOSTNAME)),
        "'podAntiAffinity':" REQUIRED(TERM("noise", "zone")),
        "'podAffinity':" PREFERRED("3", TERM("web", "zone")),
        "'podAntiAffinity':" PREFERRED("7", TERM("db", HOSTNAME)),
        "'podAffinity':" REQUIRED(TERM("web", HOSTNAME)),
    };
    CLEANUP(fixture_fini) struct plugin_fixture f;
    bool there[24] = { false };
    uint32_t seed = 4711;

    fixture_init(&f, state, NAME, NULL);
    for (uint32_t i = 0; i < 9; i++) {
        static const char *const zones[] = { "a", "b", "c", NULL };
        char name[8];
        (void)snprintf(name, sizeof name, "n%u", i);
        put_node(&f, name, zones[i % 4]);
    }
    for (int round = 0; round < 1200; round++) {
        uint32_t i = next_random(&seed) % ARRAY_LEN(there);
        char name[8], node[8];
        (void)snprintf(name, sizeof name, "p%u", i);
        (void)snprintf(node, sizeof node, "n%u", next_random(&seed) % 9);
        if (there[i])
            remove_pod(&f, name);
        else
            put_pod(&f, name, apps[next_random(&seed) % 3], node, terms[next_random(&seed) % 7]);
        there[i] = !there[i];
        if (round % 2) /* so that several rows are dirty at a time */
            try_pod(&f, apps[round / 2 % 2], terms[round % 5 == 0 ? 0 : 1 + round / 300]);
    }
    assert_that(shapes_stats(f.shapes).hits, >, 500);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_affinity_by_zone),
        FIXTURE_TEST(test_first_of_a_group),
        FIXTURE_TEST(test_all_terms_by_one_pod),
        FIXTURE_TEST(test_a_key_that_no_node_has),
        FIXTURE_TEST(test_anti_affinity_by_hostname),
        FIXTURE_TEST(test_anti_affinity_of_others_comes_and_goes),
        FIXTURE_TEST(test_reasons_have_an_order),
        FIXTURE_TEST(test_terms_that_cannot_be_understood),
        FIXTURE_TEST(test_namespaces),
        FIXTURE_TEST(test_namespaces_of_others),
        FIXTURE_TEST(test_as_if),
        FIXTURE_TEST(test_nominated),
        FIXTURE_TEST(test_preferred_affinity),
        FIXTURE_TEST(test_weights),
        FIXTURE_TEST(test_rounding),
        FIXTURE_TEST(test_symmetric_preferences),
        FIXTURE_TEST(test_equal_scores_are_nothing),
        FIXTURE_TEST(test_only_candidates_set_the_scale),
        FIXTURE_TEST(test_args),
        FIXTURE_TEST(test_args_are_checked),
        FIXTURE_TEST(test_hints_of_pods),
        FIXTURE_TEST(test_hint_when_a_group_is_gone),
        FIXTURE_TEST(test_hints_of_nodes),
        FIXTURE_TEST(test_reuse_at_random),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
