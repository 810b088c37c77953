/* test_koordlet_listsplit.c - items cut out of a list, however the bytes arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "koordlet/states/listsplit.h"
#include "loop/loop.h"
#include "json/kj.h"

/* Items joined by "|". */
static int join(void *arg, char *text, size_t n, struct kerr *err)
{
    struct strbuf *out = arg;

    if (n == 2 && out->len > 1000)
        return kerr_set(err, -E2BIG, "enough");
    strbuf_appendn(out, text, n);
    strbuf_appendc(out, '|');
    memset(text, 'x', n + 4); /* it may be written to, and a little behind */
    return 0;
}

static int cut_all(const char *text, size_t step, struct strbuf *out, struct kerr *err)
{
    struct listsplit c = { 0 };
    size_t n = strlen(text);
    int r = 0;

    strbuf_reset(out);
    for (size_t i = 0; i < n && r == 0; i += step)
        r = listsplit_feed(&c, text + i, MIN(step, n - i), join, out, err);
    if (r == 0)
        r = listsplit_end(&c, err);
    listsplit_fini(&c);
    return r;
}

static void test_items_come_out_whole(void **state)
{
    static const struct {
        const char *text, *items;
    } cases[] = {
        { "{\"items\":[{\"a\":1},{\"b\":[{}]}]}", "{\"a\":1}|{\"b\":[{}]}|" },
        { " {\n\"kind\" : \"PodList\" , \"items\" : [ {} , {} ] , \"x\":[[]] }\n", "{}|{}|" },
        { "{\"metadata\":{\"items\":[1,2]},\"items\":[{\"items\":[3]}]}", "{\"items\":[3]}|" },
        { "{\"items\":[{\"s\":\"}]\\\"{[\\\\\"}]}", "{\"s\":\"}]\\\"{[\\\\\"}|" },
        { "{\"items\":[]}", "" },
        { "{\"items\":null,\"n\":-1.5e3,\"t\":true}", "" },
        { "{\"name\":\"items\",\"other\":[{\"a\":1}]}", "" },
        { "{}", "" },
    };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t step = 1; step < 40; step++) {
            if (cut_all(cases[i].text, step, &out, &err) != 0)
                fail_msg("case %zu: %s", i, err.text);
            assert_string_equal(strbuf_str(&out), cases[i].items);
        }
}

static void test_what_is_no_list_is_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "null",
        "\"items\"",
        "[]",
        "{",
        "{\"items\":[",
        "{\"items\":[{}",
        "{\"items\":[{}]",
        "{\"items\":[\"x\"]}",
        "{\"items\":[null]}",
        "{\"items\":[[]]}",
        "{\"items\":{\"a\":1}}",
        "{\"items\":[{}}",
        "{\"items\":[{}]]",
        "{\"items\":[{}]}x",
        "{\"items\":[{}]}{}",
        "{\"items\":[{}],\"items\":[{}]}",
        "{{}}",
        "{[]}",
        "{\"a\":\"unfinished",
    };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t step = 1; step < 30; step += 7) {
            struct kerr err = { 0 };
            if (cut_all(cases[i], step, &out, &err) != -EINVAL)
                fail_msg("case %zu is taken for a list", i);
            assert_int_not_equal(strlen(err.text), 0);
        }
}

static void test_refusals_of_the_taker_end_the_cutting(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err = { 0 };
    char long_text[1200];

    (void)state;
    memset(long_text, ' ', sizeof long_text);
    memcpy(long_text, "{\"items\":[{", 11);
    memcpy(long_text + 1100, "},{}]}", 7);
    assert_int_equal(cut_all(long_text, 64, &out, &err), -E2BIG);
}

/* Is it, for a real parser, an object whose items are objects? Then how many. */
static bool is_list(const char *text, size_t *ret_n)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (kj_parse(text, strlen(text), 0, &doc, &err) < 0 || kj_type(kj_root(doc)) != KJ_OBJ)
        return false;
    const struct kj_val *items = kj_get(kj_root(doc), "items");
    *ret_n = kj_type(items) == KJ_ARR ? kj_len(items) : 0;
    for (size_t i = 0; i < *ret_n; i++)
        if (kj_type(kj_at(items, i)) != KJ_OBJ)
            return false;
    return kj_type(items) == KJ_ARR || kj_type(items) == KJ_ABSENT;
}

static size_t count_bars(const struct strbuf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < out->len; i++)
        n += out->data[i] == '|';
    return n;
}

static void test_spoilt_lists(void **state)
{
    static const char base[] = "{\"kind\":\"PodList\",\"meta\":{\"a\":[1,{}]},\"items\":[{\"a\":{"
                               "\"b\":\"}\\\"]\"}},{\"c\":[1,2,\"x\"]},{}],\"end\":null}";
    static const char letters[] = "{}[]\",:\\ a1";
    CLEANUP(loop_free) struct loop *dice = loop_new_virtual(0, 99);
    CLEANUP(strbuf_fini) struct strbuf whole = STRBUF_INIT, pieces = STRBUF_INIT;
    unsigned lists = 0;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct kerr err = { 0 };
        char text[sizeof base];
        size_t n, changes = loop_rand_below(dice, 3);

        memcpy(text, base, sizeof base);
        for (size_t i = 0; i < changes; i++)
            text[loop_rand_below(dice, sizeof base - 1)] =
                letters[loop_rand_below(dice, sizeof letters - 1)];
        int r = cut_all(text, sizeof text, &whole, &err);
        assert_int_equal(cut_all(text, 1 + loop_rand_below(dice, 9), &pieces, &err), r);
        assert_string_equal(strbuf_str(&pieces), strbuf_str(&whole));
        if (!is_list(text, &n))
            continue;
        lists++;
        if (r < 0 || count_bars(&whole) != n)
            fail_msg("%zu items, %d: %s", n, r, text);
    }
    assert_that(lists, >, 1000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items_come_out_whole),
        cmocka_unit_test(test_what_is_no_list_is_refused),
        cmocka_unit_test(test_refusals_of_the_taker_end_the_cutting),
        cmocka_unit_test(test_spoilt_lists),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
