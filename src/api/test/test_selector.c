/* test_selector.c - label, node and field selectors. The golden vectors have many more texts; these
 * stand for the rules. */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"
#include "pairs.h"

#include "api/selector/selector.h"

static struct labelsel *parsed(struct arena *a, const char *text)
{
    struct labelsel *s = NULL;
    struct kerr err = { 0 };
    if (labelsel_parse(text, strlen(text), a, &s, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return s;
}

static void assert_canonical(struct arena *a, const char *text, const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    labelsel_format(parsed(a, text), &out);
    assert_string_equal(strbuf_str(&out), want);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void test_canonical_text(void **state)
{
    struct object_fixture *b = *state;
    static const char *const cases[][2] = {
        { "", "" },
        { "  ", "" },
        { "b=2,a=1", "a=1,b=2" },
        { "a == 1", "a==1" },
        { "a!=1", "a!=1" },
        { "!a", "!a" },
        { "! a", "!a" },
        { "a in (c, b ,a)", "a in (a,b,c)" },
        { "a in (b,b)", "a in (b)" },
        { "a notin ()", "a notin ()" },
        { "a in (,x)", "a in (,x)" },
        { "a=", "a=" },
        { "a=,b", "a=,b" },
        { "n>4,n<10", "n>4,n<10" },
        { "in in (in)", "in in (in)" },
        { "notin", "notin" },
        { "example.com/a=b", "example.com/a=b" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_canonical(b->arena, cases[i][0], cases[i][1]);
}

static void test_bad_text_is_refused_with_a_reason(void **state)
{
    struct object_fixture *b = *state;
    static const char *const cases[][2] = {
        { ",", "found ',', expected: !, identifier, or 'end of string'" },
        { "a,", "found '', expected: identifier after ','" },
        { "a b", "unable to parse requirement: found 'b', expected: in, notin" },
        { "a=b c", "found 'c', expected: ',' or 'end of string'" },
        { "a in", "unable to parse requirement: found '' expected: '('" },
        { "a in (b", "unable to parse requirement: found '', expected: ',' or ')'" },
        { "a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'" },
        { "!a=b", "found '=', expected: ',' or 'end of string'" },
        { "!", "unable to parse requirement: found '', expected: identifier" },
        { "a>b", "the value must be an integer" },
        { "-a", "<nil>: Invalid value: \"-a\": name part must" },
        { "a=b/c", "values[0][a]: Invalid value: \"b/c\": a valid label must" },
        { "/a", "prefix part must be non-empty" },
        { "a/b/c", "a valid label key must consist of" },
        { "a=)", "found ')', expected: identifier" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct labelsel *s = NULL;
        struct kerr err = { 0 };
        assert_int_equal(labelsel_parse(cases[i][0], strlen(cases[i][0]), b->arena, &s, &err),
                         -EINVAL);
        assert_null(s);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], err.text);
        assert_int_equal(err.reason, KR_BAD_REQUEST);
    }
}

static void test_nul_bytes_are_refused(void **state)
{
    struct object_fixture *b = *state;
    struct labelsel *s = NULL;
    struct fieldsel *f = NULL;

    assert_int_equal(labelsel_parse("a\0b", 3, b->arena, &s, NULL), -EINVAL);
    assert_int_equal(fieldsel_parse("a=\0", 3, b->arena, &f, NULL), -EINVAL);
}

/* ---- matching -------------------------------------------------------------------------------- */

static void test_operators(void **state)
{
    struct object_fixture *b = *state;
    kstrmap web = pairs(b->arena, "app", "web", "n", "5", "empty", "", NULL), none = NO_PAIRS;
    static const struct {
        const char *text;
        bool web, none;
    } cases[] = {
        { "", true, true },
        { "app=web", true, false },
        { "app!=web", false, true },
        { "app!=db", true, true },
        { "app", true, false },
        { "!app", false, true },
        { "app in (db,web)", true, false },
        { "app notin (db,web)", false, true },
        { "n>4", true, false },
        { "n>5", false, false },
        { "n<6", true, false },
        { "app>4", false, false },
        { "empty=", true, false },
        { "empty in ()", true, false },
        { "app=web,n=5", true, false },
        { "app=web,n=6", false, false },
        { "app=web,!n", false, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct labelsel *s = parsed(b->arena, cases[i].text);
        if (labelsel_matches(s, &web) != cases[i].web ||
            labelsel_matches(s, &none) != cases[i].none)
            fail_msg("%s", cases[i].text);
    }
}

static void test_null_matches_nothing_and_empty_everything(void **state)
{
    struct object_fixture *b = *state;
    const struct label_selector empty = { 0 };
    kstrmap web = pairs(b->arena, "app", "web", NULL), none = NO_PAIRS;
    struct labelsel *nothing = NULL, *everything = NULL;

    assert_int_equal(labelsel_from(NULL, b->arena, &nothing, NULL), 0);
    assert_int_equal(labelsel_from(&empty, b->arena, &everything, NULL), 0);
    assert_false(labelsel_matches(nothing, &web));
    assert_false(labelsel_matches(nothing, &none));
    assert_true(labelsel_matches(everything, &web));
    assert_true(labelsel_matches(everything, &none));
    assert_false(labelsel_is_everything(nothing));
    assert_true(labelsel_is_everything(everything));
}

static struct label_selector *selector_from(struct object_fixture *b, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(json);
    struct label_selector *ls = arena_new0(b->arena, struct label_selector);
    struct kerr err = { 0 };
    assert_int_equal(kj_decode(&label_selector_schema, kj_root(doc), 0, b->arena, ls, &err), 0);
    return ls;
}

static void test_label_selector_objects(void **state)
{
    struct object_fixture *b = *state;
    struct label_selector *ls = selector_from(
        b, "{'matchLabels':{'b':'2'},'matchExpressions':[{'key':'a','operator':'In','values':"
           "['y','x']},{'key':'c','operator':'DoesNotExist'}]}");
    kstrmap yes = pairs(b->arena, "a", "x", "b", "2", NULL);
    kstrmap no = pairs(b->arena, "a", "x", "b", "2", "c", "", NULL);
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct labelsel *s = NULL;

    assert_int_equal(labelsel_from(ls, b->arena, &s, NULL), 0);
    labelsel_format(s, &out);
    assert_string_equal(strbuf_str(&out), "a in (x,y),b=2,!c");
    assert_true(labelsel_matches(s, &yes));
    assert_false(labelsel_matches(s, &no));
}

static void test_bad_label_selector_objects(void **state)
{
    struct object_fixture *b = *state;
    static const char *const cases[] = {
        "{'matchExpressions':[{'key':'a','operator':'In'}]}",
        "{'matchExpressions':[{'key':'a','operator':'Exists','values':['x']}]}",
        "{'matchExpressions':[{'key':'a','operator':'Gt','values':['1']}]}",
        "{'matchExpressions':[{'key':'a','operator':'Likes','values':['1']}]}",
        "{'matchExpressions':[{'key':'','operator':'Exists'}]}",
        "{'matchLabels':{'a':'b c'}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct labelsel *s = NULL;
        struct kerr err = { 0 };
        assert_int_equal(labelsel_from(selector_from(b, cases[i]), b->arena, &s, &err), -EINVAL);
        assert_true(err.text[0]);
    }
}

static void test_maps_and_additions(void **state)
{
    struct object_fixture *b = *state;
    kstrmap want = pairs(b->arena, "b", "2", NULL);
    kstrmap yes = pairs(b->arena, "a", "1", "b", "2", NULL), half = pairs(b->arena, "b", "2", NULL);
    struct labelsel *s = labelsel_from_map(&want, b->arena);
    struct labelsel *both = labelsel_and(s, "a", "1", b->arena);
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    assert_true(labelsel_matches(s, &half));
    assert_false(labelsel_matches(both, &half));
    assert_true(labelsel_matches(both, &yes));
    labelsel_format(both, &out);
    assert_string_equal(strbuf_str(&out), "a=1,b=2");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static struct nodesel *node_selector(struct object_fixture *b, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(json);
    struct node_selector *ns = arena_new0(b->arena, struct node_selector);
    struct kerr err = { 0 };
    assert_int_equal(kj_decode(&node_selector_schema, kj_root(doc), 0, b->arena, ns, &err), 0);
    return nodesel_from(ns, b->arena);
}

static void test_node_terms_are_ored(void **state)
{
    struct object_fixture *b = *state;
    kstrmap ssd = pairs(b->arena, "disk", "ssd", "gen", "7", NULL), none = NO_PAIRS;
    struct nodesel *s = node_selector(
        b, "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'disk','operator':'In','values':"
           "['ssd']},{'key':'gen','operator':'Gt','values':['5']}]},{'matchFields':[{'key':"
           "'metadata.name','operator':'In','values':['n1']}]}]}");

    assert_int_equal(nodesel_match(s, &ssd, "n9"), 1);
    assert_int_equal(nodesel_match(s, &none, "n1"), 1);
    assert_int_equal(nodesel_match(s, &none, "n9"), 0);
    assert_int_equal(nodesel_check(s, NULL), 0);
}

static void test_a_bad_term_spoils_only_itself(void **state)
{
    struct object_fixture *b = *state;
    kstrmap z = pairs(b->arena, "zone", "z", NULL), none = NO_PAIRS;
    struct nodesel *s =
        node_selector(b, "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'a','operator':'In'}]},"
                         "{'matchExpressions':[{'key':'zone','operator':'Exists'}]}]}");
    struct kerr err = { 0 };

    assert_int_equal(nodesel_match(s, &z, "n"), 1);
    assert_int_equal(nodesel_match(s, &none, "n"), -EINVAL);
    assert_int_equal(nodesel_check(s, &err), -EINVAL);
    assert_starts(err.text, "nodeSelectorTerms[0].matchExpressions[0].values: ");
}

static void test_no_usable_term_matches_no_node(void **state)
{
    struct object_fixture *b = *state;
    kstrmap none = NO_PAIRS;
    const struct node_selector_term empty = { 0 };

    assert_int_equal(nodesel_match(node_selector(b, "{}"), &none, "n"), 0);
    assert_int_equal(nodesel_match(node_selector(b, "{'nodeSelectorTerms':[{}]}"), &none, "n"), 0);
    assert_int_equal(nodesel_match(nodesel_from(NULL, b->arena), &none, "n"), 0);
    assert_int_equal(nodesel_match(nodesel_from_term(&empty, b->arena), &none, "n"), 0);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static const char *field_of(const void *obj, const char *field)
{
    return kstrmap_get(obj, field);
}

static void test_field_selectors(void **state)
{
    struct object_fixture *b = *state;
    kstrmap pod = pairs(b->arena, "status.phase", "Running", "spec.nodeName", "n1", NULL);
    static const struct {
        const char *text, *canonical;
        bool matches;
    } cases[] = {
        { "", "", true },
        { "spec.nodeName=n1", "spec.nodeName=n1", true },
        { "spec.nodeName==n1", "spec.nodeName=n1", true },
        { "spec.nodeName!=n1", "spec.nodeName!=n1", false },
        { "status.phase!=Failed,spec.nodeName=n1", "spec.nodeName=n1,status.phase!=Failed", true },
        { "metadata.name=", "metadata.name=", true },
        { "x!=a\\,b\\=c\\\\", "x!=a\\,b\\=c\\\\", true },
        { ",spec.nodeName=n2,", "spec.nodeName=n2", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
        struct fieldsel *s = NULL;
        struct kerr err = { 0 };
        if (fieldsel_parse(cases[i].text, strlen(cases[i].text), b->arena, &s, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.text);
        fieldsel_format(s, &out);
        assert_string_equal(strbuf_str(&out), cases[i].canonical);
        assert_int_equal(fieldsel_matches(s, field_of, &pod), cases[i].matches);
    }
}

static void test_bad_field_selectors(void **state)
{
    struct object_fixture *b = *state;
    static const char *const cases[] = { "a", "a=b=c", "a=\\x", "a=\\", "a=1,b" };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fieldsel *s = NULL;
        struct kerr err = { 0 };
        assert_int_equal(fieldsel_parse(cases[i], strlen(cases[i]), b->arena, &s, &err), -EINVAL);
        assert_true(err.text[0]);
    }
}

static void test_field_selector_tells_what_it_needs(void **state)
{
    struct object_fixture *b = *state;
    const char *text = "spec.nodeName=n1,status.phase!=Failed";
    struct fieldsel *s = NULL;

    assert_int_equal(fieldsel_parse(text, strlen(text), b->arena, &s, NULL), 0);
    assert_string_equal(fieldsel_field(s, 0), "spec.nodeName");
    assert_string_equal(fieldsel_field(s, 1), "status.phase");
    assert_null(fieldsel_field(s, 2));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_canonical_text),
        FIXTURE_TEST(test_bad_text_is_refused_with_a_reason),
        FIXTURE_TEST(test_nul_bytes_are_refused),
        FIXTURE_TEST(test_operators),
        FIXTURE_TEST(test_null_matches_nothing_and_empty_everything),
        FIXTURE_TEST(test_label_selector_objects),
        FIXTURE_TEST(test_bad_label_selector_objects),
        FIXTURE_TEST(test_maps_and_additions),
        FIXTURE_TEST(test_node_terms_are_ored),
        FIXTURE_TEST(test_a_bad_term_spoils_only_itself),
        FIXTURE_TEST(test_no_usable_term_matches_no_node),
        FIXTURE_TEST(test_field_selectors),
        FIXTURE_TEST(test_bad_field_selectors),
        FIXTURE_TEST(test_field_selector_tells_what_it_needs),
    };
    RUN_TESTS(tests);
}
