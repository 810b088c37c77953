/* test_nodeaffinity.c - nodeSelector and node affinity, of pods and configured (scheduler-core
 * 8.6). */
#include "base/test/asserts.h"
#include "scheduler/test/plugin_checks.h"

#define NAME     "NodeAffinity"
#define NO_MATCH "node(s) didn't match Pod's node affinity/selector"
#define ENFORCED "node(s) didn't match scheduler-enforced node affinity"
#define LEFT_OUT "node(s) didn't satisfy plugin(s) [NodeAffinity]"

#define REQUIRED(terms) \
    "'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[" terms "]}"
#define PREFERRED(terms) "'preferredDuringSchedulingIgnoredDuringExecution':[" terms "]"
#define WISH(weight, t)  "{'weight':" weight ",'preference':" t "}"
#define EXPR(key, op, v) "{'key':'" key "','operator':'" op "','values':[" v "]}"
#define LABELS(exprs)    "{'matchExpressions':[" exprs "]}"
#define FIELDS(exprs)    "{'matchFields':[" exprs "]}"
#define ON(names)        FIELDS(EXPR("metadata.name", "In", names))
#define AFFINITY(inside) "'affinity':{'nodeAffinity':{" inside "}}"

static const char *node_text(const char *name, const char *labels)
{
    static char text[2][512];
    static int next;
    char *at = text[next++ % 2];

    (void)snprintf(at, sizeof text[0], "{'metadata':{'name':'%s','labels':{%s}}}", name, labels);
    return at;
}

/* Nodes n1 (zone a, disk ssd, cores 8), n2 (zone b, cores 4), n3 without labels. */
static void init(struct plugin_fixture *f, void **state, const char *config)
{
    fixture_init(f, state, NAME, config);
    fixture_node(f, node_text("n1", "'zone':'a','disk':'ssd','cores':'8'"));
    fixture_node(f, node_text("n2", "'zone':'b','cores':'4'"));
    fixture_node(f, node_text("n3", ""));
}

static const char *pod_text(const char *spec)
{
    static char text[2048];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'p','namespace':'ns','uid':'p'},'spec':{%s}}", spec);
    return text;
}

static void assert_fits(struct plugin_fixture *f, const char *spec, bool n1, bool n2, bool n3)
{
    fixture_try(f, pod_text(spec));
    assert_int_equal(fixture_fits(f, "n1"), n1);
    assert_int_equal(fixture_fits(f, "n2"), n2);
    assert_int_equal(fixture_fits(f, "n3"), n3);
}

static void test_required(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    init(&f, state, NULL);
    assert_fits(&f, "", true, true, true);
    assert_fits(&f, "'nodeSelector':{'zone':'b'}", false, true, false);
    assert_string_equal(fixture_why(&f, "n1"), NO_MATCH);
    assert_int_equal(fixture_code(&f, "n1"), KS_UNRESOLVABLE);
#define TERMS(t) AFFINITY(REQUIRED(t))
    assert_fits(&f, TERMS(LABELS(EXPR("zone", "In", "'a','c'"))), true, false, false);
    assert_fits(&f, TERMS(LABELS(EXPR("zone", "NotIn", "'a'"))), false, true, true);
    assert_fits(&f, TERMS(LABELS(EXPR("zone", "Exists", ""))), true, true, false);
    assert_fits(&f, TERMS(LABELS(EXPR("disk", "DoesNotExist", ""))), false, true, true);
    assert_fits(&f, TERMS(LABELS(EXPR("cores", "Gt", "'4'"))), true, false, false);
    assert_fits(&f, TERMS(LABELS(EXPR("cores", "Lt", "'5'"))), false, true, false);
    /* AND inside a term, OR between terms. */
    assert_fits(&f,
                TERMS(LABELS(EXPR("zone", "In", "'b'") "," EXPR("disk", "Exists", "")) "," LABELS(
                    EXPR("disk", "In", "'ssd'"))),
                true, false, false);
    /* Both the selector and the affinity must match. */
    assert_fits(&f, "'nodeSelector':{'zone':'b'}," TERMS(LABELS(EXPR("disk", "Exists", ""))), false,
                false, false);
}

static void test_terms_that_say_nothing_match_nothing(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    init(&f, state, NULL);
    assert_fits(&f, TERMS("{}"), false, false, false);
    assert_fits(&f, TERMS(""), false, false, false);
    assert_fits(&f, TERMS("{}," LABELS(EXPR("zone", "In", "'a'"))), true, false, false);
    /* A term that cannot be understood does not spoil the others. */
    assert_fits(&f, TERMS(LABELS(EXPR("zone", "In", "")) "," LABELS(EXPR("zone", "In", "'b'"))),
                false, true, false);
    assert_fits(&f, TERMS(FIELDS(EXPR("metadata.name", "NotIn", "'n1'"))), false, true, true);
}

static void test_named_nodes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    init(&f, state, NULL);
    assert_fits(&f, TERMS(ON("'n1'") "," ON("'n2'")), true, true, false);
    assert_int_equal(f.a.only.n, 2);
    assert_string_equal(fixture_why(&f, "n3"), LEFT_OUT);
    assert_null(attempt_plugin(&f.a, fixture_row(&f, "n3")));
    assert_int_equal(fixture_code(&f, "n3"), KS_UNRESOLVABLE);
    /* Each node once, and only those that exist. */
    assert_fits(&f, TERMS(ON("'n2'") "," ON("'n2'") "," ON("'ghost'")), false, true, false);
    assert_int_equal(f.a.only.n, 1);
    /* A term without a name is about all nodes. */
    assert_fits(&f, TERMS(ON("'n1'") "," LABELS(EXPR("zone", "In", "'b'"))), true, true, false);
    assert_false(f.a.only.set);
    assert_string_equal(fixture_why(&f, "n3"), NO_MATCH);
    /* The rest of the term counts as well. */
    assert_fits(
        &f,
        TERMS("{'matchFields':[" EXPR("metadata.name", "In", "'n2'") "],"
                                                                     "'matchExpressions':[" EXPR(
                                                                         "zone", "In", "'a'") "]}"),
        false, false, false);
    assert_string_equal(fixture_message(&f),
                        "0/3 nodes are available: 1 " NO_MATCH ", 2 " LEFT_OUT ".");
}

static void test_names_that_contradict_each_other(void **state)
{
    static const char both[] =
        EXPR("metadata.name", "In", "'n1'") "," EXPR("metadata.name", "In", "'n2'");
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char spec[1024];

    init(&f, state, NULL);
    (void)snprintf(spec, sizeof spec, TERMS(FIELDS("%s")), both);
    fixture_try(&f, pod_text(spec));
    assert_int_equal(f.a.code, KS_UNRESOLVABLE);
    assert_string_equal(fixture_message(&f),
                        "0/3 nodes are available: pod affinity terms conflict.");
    assert_int_equal(f.a.rejectors, UINT64_C(1) << profile_slot(f.profile, NAME));
    (void)snprintf(spec, sizeof spec, TERMS(FIELDS("%s") "," ON("'n3'")), both);
    assert_fits(&f, spec, false, false, true);
}

static void test_preferred(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    init(&f, state, NULL);
    fixture_try(&f, pod_text(""));
    assert_int_equal(fixture_score(&f, NAME, "n1"), -1); /* nothing is preferred */
    fixture_try(
        &f, pod_text(AFFINITY(PREFERRED(WISH("2", LABELS(EXPR("zone", "In", "'a'"))) "," WISH(
                "3", LABELS(EXPR("cores", "Exists",
                                 ""))) "," WISH("0", LABELS(EXPR("zone", "In",
                                                                 "'b'"))) "," WISH("9", "{}")))));
    assert_int_equal(fixture_score(&f, NAME, "n1"), 100);
    assert_int_equal(fixture_score(&f, NAME, "n2"), 60);
    assert_int_equal(fixture_score(&f, NAME, "n3"), 0);
    /* Only candidates set the measure. */
    fixture_try(&f, pod_text("'nodeSelector':{'zone':'b'}," AFFINITY(
                        PREFERRED(WISH("2", LABELS(EXPR("zone", "In", "'a'"))) "," WISH(
                            "3", LABELS(EXPR("cores", "Exists", "")))))));
    assert_int_equal(fixture_score(&f, NAME, "n2"), 100);
}

static void test_labels_change_the_verdict(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *spec = TERMS(LABELS(EXPR("zone", "In", "'a'")));

    init(&f, state, NULL);
    assert_fits(&f, spec, true, false, false);
    fixture_node(&f, node_text("n3", "'zone':'a'"));
    fixture_node(&f, node_text("n1", "'zone':'b'"));
    assert_fits(&f, spec, false, false, true);
}

static void test_a_preferred_term_that_cannot_be_understood(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    init(&f, state, NULL);
    fixture_try(&f, pod_text(AFFINITY(PREFERRED(WISH("1", LABELS(EXPR("zone", "In", "")))))));
    assert_int_equal(f.a.code, KS_ERROR);
    assert_contains(f.a.text, "running PreScore plugin \"NodeAffinity\": "
                              "preferredDuringSchedulingIgnoredDuringExecution[0]: ");
    /* Without weight it is not looked at. */
    fixture_try(&f, pod_text(AFFINITY(PREFERRED(WISH("0", LABELS(EXPR("zone", "In", "")))))));
    assert_int_equal(f.a.code, KS_SUCCESS);
}

static void test_added_affinity(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    init(&f, state,
         "{'NodeAffinity':{'addedAffinity':{" REQUIRED(
             LABELS(EXPR("cores", "Exists",
                         ""))) "," PREFERRED(WISH("10", LABELS(EXPR("zone", "In", "'b'")))) "}}}");
    assert_fits(&f, "", true, true, false);
    assert_string_equal(fixture_why(&f, "n3"), ENFORCED);
    assert_int_equal(fixture_score(&f, NAME, "n1"), 0);
    assert_int_equal(fixture_score(&f, NAME, "n2"), 100);
    assert_fits(&f, "'nodeSelector':{'zone':'a'}", true, false, false);
    assert_string_equal(fixture_why(&f, "n2"), NO_MATCH);
    assert_string_equal(fixture_why(&f, "n3"), ENFORCED);
    fixture_try(&f, pod_text(AFFINITY(PREFERRED(WISH("5", LABELS(EXPR("zone", "In", "'a'")))))));
    assert_int_equal(fixture_score(&f, NAME, "n1"), 50);
    assert_int_equal(fixture_score(&f, NAME, "n2"), 100);
}

/* A wish that weighs nothing is a wish: there are scores, all zero. */
static void test_added_affinity_without_weight(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    init(&f, state,
         "{'NodeAffinity':{'addedAffinity':{" PREFERRED(
             WISH("0", LABELS(EXPR("zone", "In", "'b'")))) "}}}");
    assert_fits(&f, "", true, true, true);
    assert_int_equal(fixture_score(&f, NAME, "n1"), 0);
    assert_int_equal(fixture_score(&f, NAME, "n2"), 0);
}

static void test_args_are_checked(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'added':{}}", "added: unknown field");
    plugin_refuses(NAME, "{'addedAffinity':{" REQUIRED(LABELS(EXPR("zone", "Gt", "'x'"))) "}}",
                   "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: "
                   "nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: \"x\": for "
                   "'Gt', 'Lt' operators, the "
                   "value must be an integer");
    plugin_refuses(
        NAME, "{'addedAffinity':{" PREFERRED(WISH("101", LABELS(EXPR("z", "Exists", "")))) "}}",
        "addedAffinity: preferredDuringSchedulingIgnoredDuringExecution[0].weight: not in valid "
        "range [0, 100]");
}

static void test_hints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *wants = "{'metadata':{'name':'p','namespace':'ns','uid':'p'},"
                        "'spec':{'nodeSelector':{'zone':'a'}}}";

    init(&f, state,
         "{'NodeAffinity':{'addedAffinity':{" REQUIRED(LABELS(EXPR("ok", "Exists", ""))) "}}}");
#define WORTH(action, before, now) plugin_worth(&f, NAME, KS_RES_NODE, action, before, now, wants)
#define GOOD                       node_text("n", "'ok':'','zone':'a'")
    assert_true(WORTH(KS_ADD, NULL, GOOD));
    assert_false(WORTH(KS_ADD, NULL, node_text("n", "'zone':'a'")));
    assert_false(WORTH(KS_ADD, NULL, node_text("n", "'ok':'','zone':'b'")));
    assert_true(WORTH(KS_NODE_LABEL, node_text("n", "'ok':'','zone':'b'"), GOOD));
    assert_true(WORTH(KS_NODE_LABEL, node_text("n", "'zone':'a'"), GOOD));
    assert_false(WORTH(KS_NODE_LABEL, node_text("n", "'ok':'1','zone':'a'"), GOOD));
    assert_false(WORTH(KS_NODE_LABEL, GOOD, node_text("n", "'ok':''")));
    assert_false(WORTH(KS_NODE_ALLOCATABLE, GOOD, GOOD));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_required),
        FIXTURE_TEST(test_terms_that_say_nothing_match_nothing),
        FIXTURE_TEST(test_named_nodes),
        FIXTURE_TEST(test_names_that_contradict_each_other),
        FIXTURE_TEST(test_preferred),
        FIXTURE_TEST(test_labels_change_the_verdict),
        FIXTURE_TEST(test_a_preferred_term_that_cannot_be_understood),
        FIXTURE_TEST(test_added_affinity),
        FIXTURE_TEST(test_added_affinity_without_weight),
        cmocka_unit_test(test_args_are_checked),
        FIXTURE_TEST(test_hints),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
