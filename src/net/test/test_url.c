/* URLs: parts, escaping, queries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "net/url.h"

static void test_parse(void **state)
{
    static const struct {
        const char *text, *scheme, *user, *host, *path;
        unsigned port;
    } cases[] = {
        { "https://[::1]:6443/prefix?x=1", "https", NULL, "::1", "/prefix?x=1", 6443 },
        { "https://[fe80::1%eth0]", "https", NULL, "fe80::1%eth0", "", 443 },
        { "http://node-1", "http", NULL, "node-1", "", 80 },
        { "HTTP://Node/", "http", NULL, "Node", "/", 80 },
        { "https://h?x=1#frag", "https", NULL, "h", "/?x=1", 443 },
        { "https://h/a#frag", "https", NULL, "h", "/a", 443 },
        { "https://h:", "https", NULL, "h", "", 443 },
        { "http://bob:p%40ss@proxy:3128", "http", "bob:p@ss", "proxy", "", 3128 },
        { "http://a@b@c", "http", "a@b", "c", "", 80 },
        { "10.0.0.1:6443", "https", NULL, "10.0.0.1", "", 6443 },
        { "localhost", "https", NULL, "localhost", "", 443 },
        { "unix:///run/x.sock", "unix", NULL, "/run/x.sock", "", 0 },
        { "unix:/run/x.sock", "unix", NULL, "/run/x.sock", "", 0 },
        { "unix:@abstract", "unix", NULL, "@abstract", "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        struct kerr err = { 0 };
        struct url u;
        if (url_parse(cases[i].text, a, &u, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.text);
        assert_string_equal(u.scheme, cases[i].scheme);
        assert_string_equal(u.host, cases[i].host);
        assert_string_equal(u.path, cases[i].path);
        assert_int_equal(u.port, cases[i].port);
        if (cases[i].user)
            assert_string_equal(u.user, cases[i].user);
        else
            assert_null(u.user);
    }
}

static void test_parse_refuses(void **state)
{
    static const char *const bad[] = {
        "",
        "https://",
        "https:///x",
        "ftp://h",
        "https://h:0",
        "https://h:65536",
        "https://h:1x",
        "https://[::1",
        "https://[::1]x",
        "https://::1",
        "https://h/a b",
        "https://h\r\nx",
        "unix://",
        "https://a%zz@h",
        "https://h<x",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        struct kerr err = { 0 };
        struct url u;
        if (url_parse(bad[i], a, &u, &err) != -EINVAL)
            fail_msg("took \"%s\"", bad[i]);
        assert_contains(err.text, "URL \"");
    }
}

static void test_escape_and_query(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    strbuf_append(&b, "/api/v1/pods");
    url_add_query(&b, "labelSelector", "app in (a,b),x!=y z");
    url_add_query(&b, "continue", "a+b/c=");
    url_add_query(&b, "empty", "");
    assert_string_equal(b.data, "/api/v1/pods?labelSelector=app%20in%20%28a%2Cb%29%2Cx%21%3Dy%20z"
                                "&continue=a%2Bb%2Fc%3D&empty=");
    assert_string_equal(url_query_get(b.data, "labelSelector", a), "app in (a,b),x!=y z");
    assert_string_equal(url_query_get(b.data, "continue", a), "a+b/c=");
    assert_string_equal(url_query_get(b.data, "empty", a), "");
    assert_null(url_query_get(b.data, "label", a));
    assert_null(url_query_get("/x", "a", a));
    assert_string_equal(url_query_get("/x?watch&b=1+2&b=3", "b", a), "1 2");
    assert_string_equal(url_query_get("/x?watch&b=1", "watch", a), "");
    assert_string_equal(url_query_get("/x?b=%zz&b=2", "b", a), "2"); /* a broken value is none */
}

static void test_unescape(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    assert_string_equal(url_unescape("a%2Fb+c%c3%a9", 13, false, a), "a/b+c\xc3\xa9");
    assert_string_equal(url_unescape("a+b", 3, true, a), "a b");
    assert_string_equal(url_unescape("%41", 3, true, a), "A");
    assert_null(url_unescape("%4", 2, true, a));
    assert_null(url_unescape("%", 1, true, a));
    assert_null(url_unescape("%4x", 3, true, a));
    assert_null(url_unescape("a%00b", 5, true, a));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_escape_and_query),
        cmocka_unit_test(test_unescape),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
