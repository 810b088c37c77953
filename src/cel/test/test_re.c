/* test_re.c - regular expressions: what they find, what they refuse and how, and that time stays
 * linear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cel/re.h"

static const struct {
    const char *pattern, *text, *found; /* NULL: no match */
} finds[] = {
    { "", "abc", "" },
    { "b", "abc", "b" },
    { "a|ab", "ab", "a" }, /* the first alternative that matches */
    { "(?:a|ab)(?:c|bcd)", "abcd", "abcd" },
    { "a*?b", "aaab", "aaab" }, /* leftmost wins over shortest */
    { "a+?", "aaa", "a" },
    { "(?U)a+", "aaa", "a" },
    { "a{2,3}", "aaaa", "aaa" },
    { "a{2,3}?", "aaaa", "aa" },
    { "a{0}b", "ab", "b" },
    { "a{,2}", "xa{,2}", "a{,2}" }, /* no repeat without a lower bound */
    { "a{2", "a{2", "a{2" },
    { "x*", "aaa", "" },
    { "(|a)*", "aa", "" },
    { "(|a)+", "aa", "" },
    { "(a|)+", "aa", "aa" },
    { "^abc$", "abc", "abc" },
    { "^b", "a\nb", NULL },
    { "(?m)^b$", "a\nb\nc", "b" },
    { "a$", "a\n", NULL }, /* the end of the text only */
    { "a.c", "a\nc", NULL },
    { "(?s)a.c", "a\nc", "a\nc" },
    { "(?i)STRASSE", "Strasse", "Strasse" },
    { "(?i)k", "\xe2\x84\xaa", "\xe2\x84\xaa" }, /* the sign for kelvin */
    { "(?i)[a-c]+", "xABCx", "ABC" },
    { "(?i:a)b", "AB", NULL },
    { "a(?i)b", "aB", "aB" },
    { "(a(?i)b)c", "aBC", NULL }, /* flags end with their group */
    { "[^a]", "a\n", "\n" },
    { "[]a]+", "]a", "]a" },
    { "[a-]+", "-a", "-a" },
    { "[\\d-z]+", "1-z", "1-z" },
    { "[[:alpha:]]+", "12ab3", "ab" },
    { "[[:^digit:]]+", "12ab3", "ab" },
    { "[[:word:]]+", "-a_1-", "a_1" },
    { "\\D+", "12ab3", "ab" },
    { "\\s", "a\vb", NULL }, /* the vertical tab is no \s */
    { "\\pL+", "1\xc3\xa9\xce\xb1z2", "\xc3\xa9\xce\xb1z" },
    { "\\p{Greek}", "a\xce\xb1", "\xce\xb1" },
    { "\\p{^Greek}", "\xce\xb1z", "z" },
    { "\\P{Lu}", "Aa", "a" },
    { "\\p{uppercase letter}", "aB", "B" },
    { "[\\p{Lu}\\d]+", "aB1c", "B1" },
    { "^.$", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" }, /* one character of four bytes */
    { "^.{2}$", "\xc3\xa9\xc3\xa9", "\xc3\xa9\xc3\xa9" },
    { "^.$", "\xff", "\xff" },
    { "\\x{1F600}", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
    { "\\x41\\101\\n", "AA\n", "AA\n" },
    { "\\Qa.b\\E+", "xa.bb", "a.bb" },
    { "\\Qa.b", "a.b", "a.b" },
    { "\\bfoo\\b", "a foo b", "foo" },
    { "\\bfoo\\b", "afoo", NULL },
    { "\\Boo\\b", "foo", "oo" },
    { "(?P<y>\\d+)-(?<m>\\d+)", "at 2020-01-02", "2020-01" },
    { "(?P<x>hi)|(?P<x>bye)", "goodbye", "bye" },
    { "(?P<x>a(?<x>b))", "cab", "ab" },
    { "^*a", "a", "a" },
    { "ab.d", "xxabcxabzd", "abzd" },
    { "^(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)(?:\\.[a-z]+)*$", "web-0.example.com",
      "web-0.example.com" },
};

static bool find(const struct re *re, const char *s, size_t n, size_t from, struct re_span *ret)
{
    uint64_t steps = UINT64_MAX;

    return re_find_within(re, s, n, from, &steps, ret);
}

static void test_finds_what_go_finds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(finds); i++) {
        CLEANUP(re_free) struct re *re = NULL;
        struct kerr err = { 0 };
        struct re_span span;
        const char *s = finds[i].text;
        if (re_new(finds[i].pattern, strlen(finds[i].pattern), &re, &err) < 0)
            fail_msg("%s: %s", finds[i].pattern, err.text);
        bool found = find(re, s, strlen(s), 0, &span);
        if (found != (finds[i].found != NULL))
            fail_msg("%s in %s: found %d", finds[i].pattern, s, found);
        assert_int_equal(re_match(re, s, strlen(s)), found);
        if (found &&
            !str_eqz((struct str){ s + span.begin, span.end - span.begin }, finds[i].found))
            fail_msg("%s in %s: found '%.*s'", finds[i].pattern, s, (int)(span.end - span.begin),
                     s + span.begin);
    }
}

static const struct {
    const char *pattern, *why;
} refusals[] = {
    { "[a", "missing closing ]: `[a`" },
    { "(", "missing closing ): `(`" },
    { "a)", "unexpected ): `a)`" },
    { "*", "missing argument to repetition operator: `*`" },
    { "a|*", "missing argument to repetition operator: `*`" },
    { "(+)", "missing argument to repetition operator: `+`" },
    { "a**", "invalid nested repetition operator: `**`" },
    { "a{2}{3}", "invalid nested repetition operator: `{2}{3}`" },
    { "a{1001}", "invalid repeat count: `{1001}`" },
    { "a{3,2}", "invalid repeat count: `{3,2}`" },
    { "(a{100}){11}", "invalid repeat count: `{11}`" },
    { "[z-a]", "invalid character class range: `z-a`" },
    { "[[:foo:]]", "invalid character class range: `[:foo:]`" },
    { "\\p{Klingon}", "invalid character class range: `\\p{Klingon}`" },
    { "\\1", "invalid escape sequence: `\\1`" },
    { "\\q", "invalid escape sequence: `\\q`" },
    { "\\C", "invalid escape sequence: `\\C`" },
    { "a\\", "trailing backslash at end of expression: ``" },
    { "(?=a)", "invalid or unsupported Perl syntax: `(?=`" },
    { "(?x)a", "invalid or unsupported Perl syntax: `(?x`" },
    { "(?P<1-a>b)", "invalid named capture: `(?P<1-a>`" },
    { "(?<n", "invalid named capture: `(?<n`" },
    { "\xff", "invalid UTF-8: `\xff`" },
};

static void test_refuses_in_the_words_of_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        CLEANUP(re_free) struct re *re = NULL;
        struct kerr err = { 0 };
        if (re_new(refusals[i].pattern, strlen(refusals[i].pattern), &re, &err) == 0)
            fail_msg("%s was accepted", refusals[i].pattern);
        assert_true(str_starts(err.text, "error parsing regexp: "));
        assert_string_equal(err.text + strlen("error parsing regexp: "), refusals[i].why);
    }
}

static void test_a_search_goes_on_from_where_it_is_told(void **state)
{
    CLEANUP(re_free) struct re *re = NULL;
    struct re_span span;

    (void)state;
    assert_int_equal(re_new("\\b[a-z]\\d", 9, &re, NULL), 0);
    assert_true(find(re, "a1 b2", 5, 1, &span));
    assert_int_equal(span.begin, 3);
    assert_false(find(re, "a1b2", 4, 2, &span)); /* b stands within a word */
}

/* Patterns on which backtracking would take longer than the universe has. */
static void test_time_is_linear_in_the_text(void **state)
{
    static const char *const patterns[] = {
        "(a+)+$", "(a|a)+$", "(a|aa)+$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*(.*)*b$"
    };
    CLEANUP(mem_free) char *text = xmalloc(20001);

    (void)state;
    memset(text, 'a', 20000);
    text[19999] = '!';
    text[20000] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        CLEANUP(re_free) struct re *re = NULL;
        assert_int_equal(re_new(patterns[i], strlen(patterns[i]), &re, NULL), 0);
        assert_false(re_match(re, text, 20000));
    }
}

static void test_large_patterns_are_bounded(void **state)
{
    CLEANUP(re_free) struct re *re = NULL;
    CLEANUP(re_free) struct re *deep = NULL;
    CLEANUP(mem_free) char *text = xmalloc(20000);
    struct kerr err = { 0 };
    struct re_span span;

    (void)state;
    assert_int_equal(re_new("^[a-z]{1000}$", 13, &re, &err),
                     0); /* more states than the stack has */
    memset(text, 'q', 1001);
    assert_true(re_match(re, text, 1000));
    assert_true(find(re, text, 1000, 0, &span));
    assert_false(re_match(re, text, 1001));
    memset(text, '(', 10000);
    memset(text + 10000, ')', 10000);
    assert_true(re_new(text, 20000, &deep, &err) < 0);
    assert_non_null(strstr(err.text, "expression nests too deeply"));
    memset(text, 'a', 19990);
    memcpy(text, "(?:", 3);
    memcpy(text + 19000, "){1000}", 7);
    assert_true(re_new(text, 19007, &deep, &err) < 0);
    assert_non_null(strstr(err.text, "expression too large"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_what_go_finds),
        cmocka_unit_test(test_refuses_in_the_words_of_go),
        cmocka_unit_test(test_a_search_goes_on_from_where_it_is_told),
        cmocka_unit_test(test_time_is_linear_in_the_text),
        cmocka_unit_test(test_large_patterns_are_bounded),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
