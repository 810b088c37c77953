/* test_session.c - who is let in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "dash/session.h"

#define NONE ((struct str){ NULL, 0 })

static struct session session_8080(void)
{
    struct session s;

    assert_int_equal(session_init(&s, NULL), 0);
    s.port = 8080;
    return s;
}

static void test_hosts(void **state)
{
    const struct session s = session_8080();

    (void)state;
    assert_true(session_host_ok(&s, STR("127.0.0.1:8080")));
    assert_true(session_host_ok(&s, STR("localhost:8080")));
    assert_true(session_host_ok(&s, STR("[::1]:8080")));
    assert_false(session_host_ok(&s, STR("127.0.0.1:8081")));
    assert_false(session_host_ok(&s, STR("127.0.0.1")));
    assert_false(session_host_ok(&s, STR("evil.example:8080"))); /* a name that points to us */
    assert_false(session_host_ok(&s, STR("localhost:8080.evil.example")));
    assert_false(session_host_ok(&s, NONE));
}

static void test_origins(void **state)
{
    const struct session s = session_8080();

    (void)state;
    assert_true(session_origin_ok(&s, NONE));
    assert_true(session_origin_ok(&s, STR("http://localhost:8080")));
    assert_false(session_origin_ok(&s, STR("https://localhost:8080")));
    assert_false(session_origin_ok(&s, STR("http://localhost:3000")));
    assert_false(session_origin_ok(&s, STR("null")));
    assert_false(session_origin_ok(&s, STR("")));
    assert_false(session_origin_ok(&s, STR("http://")));
}

static void test_key_works_once(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf cookies = STRBUF_INIT;
    struct session s = session_8080();
    char wrong[SESSION_SECRET + 1];

    (void)state;
    memcpy(wrong, s.key, sizeof wrong);
    wrong[SESSION_SECRET - 1] ^= 1;
    assert_false(session_redeem(&s, wrong, NONE));
    assert_false(session_redeem(&s, "", NONE));
    assert_false(session_redeem(&s, s.cookie, NONE));
    assert_true(session_redeem(&s, s.key, NONE));
    assert_false(session_redeem(&s, s.key, NONE));
    /* Who was let in may open the same URL again. */
    strbuf_appendf(&cookies, "a=b; koord-dash-8080=%s", s.cookie);
    assert_true(session_redeem(&s, s.key, str_of(strbuf_str(&cookies))));
    assert_false(session_redeem(&s, wrong, str_of(strbuf_str(&cookies))));
}

static void test_cookies(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct session s = session_8080();

    (void)state;
    strbuf_appendf(&b, "koord-dash-8080=%s", s.cookie);
    assert_true(session_cookie_ok(&s, str_of(strbuf_str(&b))));
    strbuf_append(&b, "; other=1");
    assert_true(session_cookie_ok(&s, str_of(strbuf_str(&b))));
    strbuf_reset(&b);
    strbuf_appendf(&b, "koord-dash-8081=%s", s.cookie); /* of another dashboard */
    assert_false(session_cookie_ok(&s, str_of(strbuf_str(&b))));
    strbuf_reset(&b);
    strbuf_appendf(&b, "koord-dash-8080=%s0", s.cookie);
    assert_false(session_cookie_ok(&s, str_of(strbuf_str(&b))));
    assert_false(session_cookie_ok(&s, STR("koord-dash-8080=")));
    assert_false(session_cookie_ok(&s, STR(";;; ;")));
    assert_false(session_cookie_ok(&s, NONE));
}

static void test_secrets_are_new(void **state)
{
    const struct session a = session_8080(), b = session_8080();

    (void)state;
    assert_string_not_equal(a.key, b.key);
    assert_string_not_equal(a.key, a.cookie);
    assert_int_equal(strlen(a.key), SESSION_SECRET);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),           cmocka_unit_test(test_origins),
        cmocka_unit_test(test_key_works_once),  cmocka_unit_test(test_cookies),
        cmocka_unit_test(test_secrets_are_new),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
