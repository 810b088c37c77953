/* test_lines.c - newline framing of watch streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "client/lines.h"
#include "json/kj.h"

struct got {
    struct strbuf text;
    int n, stop_at;
};

static bool collect(void *arg, char *line, size_t n)
{
    struct got *g = arg;
    assert_int_equal(strlen(line), n);
    strbuf_appendc(&g->text, '[');
    strbuf_appendn(&g->text, line, n);
    strbuf_appendc(&g->text, ']');
    /* A parser that works in place scribbles over the line and its padding. */
    memset(line, 'X', n + KJ_PADDING);
    return ++g->n != g->stop_at;
}

static void feed_in_pieces(const char *text, size_t piece, const char *want)
{
    struct got g = { .text = STRBUF_INIT };
    struct lines l;
    size_t n = strlen(text);

    lines_init(&l, 1000);
    for (size_t at = 0; at < n; at += piece)
        assert_int_equal(lines_feed(&l, text + at, MIN(piece, n - at), collect, &g, NULL), 0);
    assert_string_equal(strbuf_str(&g.text), want);
    lines_fini(&l);
    strbuf_fini(&g.text);
}

static void test_lines_are_the_same_however_they_are_cut(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < 40; piece++)
        feed_in_pieces("one\ntwo\r\n\n\r\nthree\nx\ny\nz\nunfinished", piece,
                       "[one][two][three][x][y][z]");
}

static void test_unfinished_line_is_pending(void **state)
{
    struct got g = { .text = STRBUF_INIT };
    struct lines l;

    (void)state;
    lines_init(&l, 1000);
    assert_int_equal(lines_feed(&l, "a\nbc", 4, collect, &g, NULL), 0);
    assert_int_equal(lines_pending(&l), 2);
    assert_int_equal(lines_feed(&l, "d\n", 2, collect, &g, NULL), 0);
    assert_int_equal(lines_pending(&l), 0);
    assert_string_equal(strbuf_str(&g.text), "[a][bcd]");
    lines_fini(&l);
    strbuf_fini(&g.text);
}

static void test_a_line_above_the_limit_is_refused(void **state)
{
    struct got g = { .text = STRBUF_INIT };
    struct kerr err = { 0 };
    struct lines l;

    (void)state;
    lines_init(&l, 4);
    assert_int_equal(lines_feed(&l, "1234\n", 5, collect, &g, &err), 0);
    assert_int_equal(lines_feed(&l, "12345", 5, collect, &g, &err), -EMSGSIZE);
    assert_contains(err.text, "4 bytes");
    lines_fini(&l);
    lines_init(&l, 4);
    assert_int_equal(lines_feed(&l, "12345\n", 6, collect, &g, &err), -EMSGSIZE);
    lines_fini(&l);
    strbuf_fini(&g.text);
}

static void test_reader_can_stop(void **state)
{
    struct got g = { .text = STRBUF_INIT, .stop_at = 2 };
    struct lines l;

    (void)state;
    lines_init(&l, 100);
    assert_int_equal(lines_feed(&l, "a\nb\nc\n", 6, collect, &g, NULL), -ECANCELED);
    assert_string_equal(strbuf_str(&g.text), "[a][b]");
    lines_fini(&l);
    strbuf_fini(&g.text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_the_same_however_they_are_cut),
        cmocka_unit_test(test_unfinished_line_is_pending),
        cmocka_unit_test(test_a_line_above_the_limit_is_refused),
        cmocka_unit_test(test_reader_can_stop),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
