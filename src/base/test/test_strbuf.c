/* test_strbuf.c - text that grows, and text in quotes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"

static void test_appends_in_order_and_stays_terminated(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    assert_string_equal(strbuf_str(&b), "");
    strbuf_append(&b, "ab");
    strbuf_appendc(&b, 'c');
    strbuf_appendn(&b, "defg", 2);
    strbuf_appendf(&b, "-%d-%s", 7, "x");
    strbuf_append_i64(&b, INT64_MIN);
    strbuf_append_i64(&b, 0);
    assert_string_equal(b.data, "abcde-7-x-92233720368547758080");
    assert_int_equal(b.len, strlen(b.data));
}

static void test_formatted_text_of_any_length_fits(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    for (int width = 1; width < 300; width++) { /* crosses each border of the capacity */
        size_t before = b.len;
        strbuf_appendf(&b, "%*d", width, 1);
        assert_int_equal(b.len, before + (size_t)width);
        assert_int_equal(b.data[b.len - 1], '1');
        assert_int_equal(b.data[b.len], '\0');
    }
    strbuf_reset(&b);
    strbuf_appendf(&b, "%s", "");
    assert_string_equal(strbuf_str(&b), "");
}

static void test_reserve_gives_room_at_the_end(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    strbuf_append(&b, "abc");
    char *room = strbuf_reserve(&b, 1000);
    assert_ptr_equal(room, b.data + 3);
    memset(room, 'x', 1000);
    b.len += 1000;
    b.data[b.len] = '\0';
    assert_int_equal(strlen(b.data), 1003);
}

static void test_consume_and_truncate_cut_both_ends(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    strbuf_consume(&b, 0);
    strbuf_append(&b, "GET / rest");
    strbuf_consume(&b, 6);
    assert_string_equal(b.data, "rest");
    strbuf_truncate(&b, 2);
    assert_string_equal(b.data, "re");
    strbuf_consume(&b, 2);
    assert_string_equal(strbuf_str(&b), "");
    assert_int_equal(b.len, 0);
}

static void test_take_moves_the_text(void **state)
{
    struct strbuf b = STRBUF_INIT;

    (void)state;
    CLEANUP(mem_free) char *none = strbuf_take(&b);
    strbuf_append(&b, "mine");
    CLEANUP(mem_free) char *text = strbuf_take(&b);
    assert_string_equal(none, "");
    assert_string_equal(text, "mine");
    assert_null(b.data);
    strbuf_append(&b, "again");
    assert_string_equal(b.data, "again");
    strbuf_fini(&b);
}

static const struct {
    const char *in;
    size_t n;
    const char *out;
} quoted[] = {
    { "", 0, "\"\"" },
    { "plain", 5, "\"plain\"" },
    { "a\"b\\c", 5, "\"a\\\"b\\\\c\"" },
    { "\a\b\t\n\v\f\r", 7, "\"\\a\\b\\t\\n\\v\\f\\r\"" },
    { "\0\x1f\x7f", 3, "\"\\x00\\x1f\\x7f\"" },
    { "h\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80", 12,
      "\"h\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80\"" },
    { "\xFF\xC0\x80", 3, "\"\\xff\\xc0\\x80\"" },          /* not UTF-8 */
    { "\xED\xA0\x80", 3, "\"\\xed\\xa0\\x80\"" },          /* a surrogate */
    { "\xF4\x90\x80\x80", 4, "\"\\xf4\\x90\\x80\\x80\"" }, /* beyond U+10FFFF */
    { "\xE4\xB8", 2, "\"\\xe4\\xb8\"" },                   /* cut short */
    { "\xEF\xBF\xBD", 3, "\"\xEF\xBF\xBD\"" },             /* U+FFFD itself is fine */
    { "\xC2\x85\xC2\xA0", 4, "\"\\u0085\\u00a0\"" },
    { "\xE2\x80\xAE\xEF\xBB\xBF", 6, "\"\\u202e\\ufeff\"" }, /* what hides or turns text around */
    { "\xF4\x8F\xBF\xBD", 4, "\"\\U0010fffd\"" },
};

static void test_quoting_follows_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(quoted); i++) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        char buf[64];
        strbuf_append_quoted(&b, quoted[i].in, quoted[i].n);
        assert_string_equal(b.data, quoted[i].out);
        assert_string_equal(text_quote(buf, sizeof buf, quoted[i].in, quoted[i].n), quoted[i].out);
    }
}

static void test_quoting_into_a_buffer_cuts_with_dots(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "abcdef", "\"abcdef\"" },  /* exactly fits 9 bytes */
        { "abcdefg", "\"abc...\"" }, /* one too many */
        { "abcd\n", "\"abcd\\n\"" }, /* the escape is the very end */
        { "abc\nxy", "\"abc...\"" }, /* an escape is whole or not there */
        { "ab\nxyz", "\"ab...\"" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char buf[9 + 1] = "#########";
        buf[9] = '#';
        assert_string_equal(text_quote(buf, 9, cases[i].in, strlen(cases[i].in)), cases[i].out);
        assert_int_equal(buf[9], '#');
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appends_in_order_and_stays_terminated),
        cmocka_unit_test(test_formatted_text_of_any_length_fits),
        cmocka_unit_test(test_reserve_gives_room_at_the_end),
        cmocka_unit_test(test_consume_and_truncate_cut_both_ends),
        cmocka_unit_test(test_take_moves_the_text),
        cmocka_unit_test(test_quoting_follows_go),
        cmocka_unit_test(test_quoting_into_a_buffer_cuts_with_dots),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
