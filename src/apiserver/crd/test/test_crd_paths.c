/* Patterns, JSON paths and formats on their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "apiserver/crd/internal.h"
#include "apiserver/crd/jsonpath.h"
#include "apiserver/crd/test/formats.h"
#include "base/test/asserts.h"

static const struct {
    const char *pattern, *yes, *no;
} patterns[] = {
    { "^[a-z]+$", "abc", "aBc" },
    { "b", "abc", "ac" },
    { "^\\d{2,3}$", "123", "1" },
    { "^\\w+@\\w+$", "a_1@b", "a b" },
    { "^[\\w.-]+$", "a.b-c", "a b" },
    { "^[^\\s]+$", "ab", "a b" },
    { "^(?:a|b)*?c$", "abc", "abd" },
    { "(?i)^abc$", "aBC", "abd" },
    { "^a\\.b$", "a.b", "axb" },
    { "^[]a]$", "]", "b" },
    { "^[a\\]]$", "]", "\\" },
    { "^[\\^a]$", "^", "b" },
    { "^[a^-]+$", "^-", "b" },
    { "^[-]$", "-", "a" },
    { "^[\\[.]+$", "[.", "a" },
    { "^[+--]$", ",", "." },
    { "^[[:alpha:]]+$", "ab", "a1" },
    { "^a{,2}$", "a{,2}", "aa" },
    { "^.$", "x", "\n" },
    { "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+("
      "\\.["
      "0-9]*)?)|(\\.[0-9]+))))?$",
      "1.5Gi", "1.5Gib" },
    { "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"
      ")?(([A-Za-z0-9][-A-Za-z0-9"
      "_.]*)?[A-Za-z0-9])$",
      "ex.io/Name_1", "-x" },
    { "\\Aab\\z", "ab", "abc" },
    { "^\\x41\\t$", "A\t", "a" },
    { "^\\p{L}+$", "\xc3\xa9z", "1" },
    { "(?m)^a", "b\na", "b" },
    { "^[\xc3\xa4]$", "\xc3\xa4", "\xc3" },
    { "^.{2}$", "\xc3\xa4\xc3\xa4", "\xc3\xa4" }, /* characters, not bytes */
    { "^(abcd){250}$|x", "x", "abcd" },
};

static void test_patterns_mean_what_they_mean_in_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        CLEANUP(regex_free) struct regex *r = NULL;
        struct kerr err = { 0 };
        assert_int_equal(regex_new(patterns[i].pattern, &r, &err), 0);
        assert_int_equal(regex_check(patterns[i].pattern, &err), 0);
        if (!regex_match(r, patterns[i].yes, strlen(patterns[i].yes)))
            fail_msg("%s does not match %s", patterns[i].pattern, patterns[i].yes);
        if (regex_match(r, patterns[i].no, strlen(patterns[i].no)))
            fail_msg("%s matches %s", patterns[i].pattern, patterns[i].no);
    }
}

static void test_patterns_that_cannot_be_said_are_refused(void **state)
{
    static const char *const bad[] = {
        "[",   "(",  ")",     "a**",           "*a",  "(?=a)",    "a{1001}",
        "\\1", "\\", "[z-a]", "((a{99}){99})", "\\8", "\\p{Foo}", "(?P=a)"
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct kerr err = { 0 };
        if (regex_check(bad[i], &err) == 0)
            fail_msg("%s was accepted", bad[i]);
        assert_that(err.text[0], !=, '\0');
    }
}

static void test_json_paths_lead_to_the_first_value(void **state)
{
    static const char text[] = "{\"a\":{\"b\":[{\"c\":1},{\"c\":2}],\"x.y\":\"dot\"},\"n\":5,"
                               "\"conditions\":[{\"type\":\"A\","
                               "\"status\":\"no\"},{\"type\":\"Ready\",\"status\":\"yes\",\"n\":3}]"
                               ",\"empty\":[],\"z\":null}";
    static const struct {
        const char *path, *value;
    } cases[] = {
        { ".a.b[0].c", "1" },
        { ".a.b[-1].c", "2" },
        { ".a.b[*].c", "1" },
        { ".a['x.y']", "\"dot\"" },
        { ".a['x\\.y']", "\"dot\"" },
        { ".a.x\\.y", "\"dot\"" },
        { ".n", "5" },
        { ".conditions[?(@.type==\"Ready\")].status", "\"yes\"" },
        { ".conditions[?(@.type=='Ready')].status", "\"yes\"" },
        { ".conditions[?(@.type != \"A\")].status", "\"yes\"" },
        { ".conditions[?(@.n==3)].type", "\"Ready\"" },
        { ".conditions[?(@.type==\"X\")].status", NULL },
        { ".empty[0]", NULL },
        { ".a.b[7].c", NULL },
        { ".n.b", NULL },
        { ".nope", NULL },
        { ".z", "null" },
    };
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(kj_parse(text, sizeof text - 1, 0, &doc, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        assert_true(jsonpath_is_valid(cases[i].path));
        const struct kj_val *v = jsonpath_first(cases[i].path, kj_root(doc));
        if (!cases[i].value) {
            assert_null(v);
            continue;
        }
        assert_non_null(v);
        kj_write(v, 0, &b);
        assert_string_equal(b.data, cases[i].value);
    }
    static const char *const bad[] = { "",      "a",   ".a[",      ".a['x",       "..a",  ".a.",
                                       ".a[x]", ".a]", ".a[?(b)]", ".a[?(@.b==]", "{.a}", ".a[1" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (jsonpath_is_valid(bad[i]))
            fail_msg("%s was accepted", bad[i]);
}

static void test_formats(void **state)
{
    size_t bad = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(strfmt_cases); i++) {
        const char *format = strfmt_cases[i].format, *text = strfmt_cases[i].text;
        if (format_matches(format, text, strlen(text)) != strfmt_cases[i].ok) {
            print_error("%s \"%s\": should be %d\n", format, text, strfmt_cases[i].ok);
            bad++;
        }
        assert_true(format_is_known(format));
    }
    assert_int_equal(bad, 0);
    assert_true(format_matches("no-such-format", "anything", 8));
    assert_false(format_is_known("no-such-format"));
    assert_false(format_is_known("a-format-with-a-long-name"));
    assert_false(format_matches("date-time", "2020-02-03", 10)); /* hyphens do not count */
    assert_false(format_matches("k8sshort-name", "A", 1));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns_mean_what_they_mean_in_go),
        cmocka_unit_test(test_patterns_that_cannot_be_said_are_refused),
        cmocka_unit_test(test_json_paths_lead_to_the_first_value),
        cmocka_unit_test(test_formats),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
