/* test_qty.c - quantities as Kubernetes 1.35 reads, prints and adds them. The golden vectors say
 * the same with many more cases; these stand for the rules. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/qty.h"
#include "base/test/asserts.h"

static struct qty q(const char *text)
{
    struct qty r;
    struct kerr err = { 0 };
    if (qty_parse(text, strlen(text), &r, &err) < 0)
        fail_msg("%s", err.text);
    return r;
}

static void assert_prints(struct qty v, const char *want)
{
    char buf[QTY_TEXT_MAX];
    size_t n = qty_print(v, buf);
    assert_string_equal(buf, want);
    assert_int_equal(n, strlen(want));
}

static void test_canonical_text(void **state)
{
    static const char *const cases[][2] = {
        /* the largest suffix that leaves no fraction */
        { "0", "0" },
        { "1", "1" },
        { "-1", "-1" },
        { "1000m", "1" },
        { "1500m", "1500m" },
        { "0.5", "500m" },
        { "1000k", "1M" },
        { "123456789", "123456789" },
        { "1000000n", "1m" },
        { "100000000000000000000", "100E" },
        /* exponents in multiples of three */
        { "1e3", "1e3" },
        { "1E3", "1e3" },
        { "5e2", "500" },
        { "1e10", "10e9" },
        { "1E-2", "10e-3" },
        { "12e6", "12e6" },
        { "283.7910e2", "28379100e-3" },
        /* binary, unless small or with a fraction */
        { "1Ki", "1Ki" },
        { "1024Ki", "1Mi" },
        { "1000Ki", "1000Ki" },
        { "1.5Gi", "1536Mi" },
        { "0.5Ki", "512" },
        { "1.2345Ki", "1264128m" },
        { "0.3Ki", "307200m" },
        { "-1Gi", "-1Gi" },
        { "340.8728Gi", "366009382023987200u" },
        /* finer than nano goes up */
        { "0.5n", "1n" },
        { "-0.1n", "-1n" },
        { "0.9999999999", "1" },
        { "5e-10", "1e-9" },
        { "1e-500", "1e-9" },
        { "3.141592653589793", "3141592654n" },
        { "0.1234567891234Ki", "126419752063n" },
        /* binary suffixes stop at 2^63-1 */
        { "8Ei", "9223372036854775807" },
        { "7Ei", "7Ei" },
        { "-9Ei", "-9223372036854775807" },
        { "99999999999999999999999999999Ki", "9223372036854775807" },
        { "7.9999999999999999999999Ei", "9223372036854775807" },
        /* zeros of all kinds, and no number at all */
        { "-0", "0" },
        { "00", "0" },
        { "0Gi", "0" },
        { "0.0", "0" },
        { "0e500", "0" },
        { "Gi", "0" },
        { ".", "0" },
        { "+", "0" },
        { "-m", "0" },
        { "e3", "0" },
        { "0Pi", "0" },
        /* beyond E there is no suffix (upstream drops the exponent here) */
        { "1000E", "1e21" },
        { "1e155", "100e153" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_prints(q(cases[i][0]), cases[i][1]);
}

static void test_normalize_keeps_text_that_needs_no_other_change(void **state)
{
    static const char *const cases[][2] = {
        { "+1", "+1" },
        { "0001", "0001" },
        { "010m", "010m" },
        { "1.", "1." },
        { "1.m", "1.m" },
        { "1.500", "1.500" },
        { "15.355u", "15.355u" },
        { "1E3", "1E3" },
        { "1e+3", "1e+3" },
        { "+24166Gi", "+24166Gi" },
        { "+35Ti", "+35Ti" },
        { "1e0", "1e0" },
        { "1.Ki", "1.Ki" },
        { "0", "0" },
        /* rewritten all the same */
        { "00", "0" },
        { "1.50", "1500m" },
        { "10.0", "10" },
        { "+1000", "1k" },
        { "5e2", "500" },
        { "+1000Ki", "1000Ki" }, /* upstream looks at the last three bits only */
        { "+1Ei", "1Ei" },       /* and keeps no text of what it computes the long way */
        { "+1234567890123456789", "1234567890123456789" },
        { "0.500", "500m" },
        { "+341Ti", "341Ti" },
    };

    (void)state;
    CLEANUP(arena_free) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = NULL;
        assert_int_equal(qty_normalize(cases[i][0], strlen(cases[i][0]), a, &got, NULL), 0);
        assert_string_equal(got, cases[i][1]);
    }
}

static void test_bad_text_is_refused_and_named(void **state)
{
    static const char *const cases[] = {
        "",     " ",    "a",   "1a",   "1 ",    " 1",    "1.5.5", "--1", "1K",   "1Kib",
        "1KI",  "1ki",  "1mi", "1e",   "1e+",   "1ei",   "1EE",   "1_0", "1,5",  "1e5.5",
        "1Ki3", "0x10", "NaN", "100%", "1Gi\n", "1e+-3", "Pi",    "Ei",  "e-10", "1e9999999999",
    };

    (void)state;
    CLEANUP(arena_free) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct qty r = { .lo = 42 };
        struct kerr err = { 0 };
        const char *text = NULL;
        if (qty_parse(cases[i], strlen(cases[i]), &r, &err) != -EINVAL)
            fail_msg("'%s' was taken", cases[i]);
        assert_starts(err.text, "quantity \"");
        assert_int_equal(r.lo, 42);
        assert_int_equal(qty_normalize(cases[i], strlen(cases[i]), a, &text, &err), -EINVAL);
        assert_null(text);
    }
    struct qty r;
    assert_int_equal(qty_parse("1\0", 2, &r, NULL), -EINVAL);
}

static void test_values_beyond_the_scales_are_refused(void **state)
{
    static const char *const cases[] = { "1e156", "-1e200", "1e2147483647", "100e155" };
    struct qty r;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kerr err = { 0 };
        assert_int_equal(qty_parse(cases[i], strlen(cases[i]), &r, &err), -ERANGE);
        assert_contains(err.text, cases[i]);
    }
}

static void test_values_round_away_from_zero(void **state)
{
    (void)state;
    assert_int_equal(qty_value(q("1001m")), 2);
    assert_int_equal(qty_value(q("-100m")), -1);
    assert_int_equal(qty_value(q("1n")), 1);
    assert_int_equal(qty_milli(q("1u")), 1);
    assert_int_equal(qty_milli(q("1Gi")), INT64_C(1073741824000));
    assert_int_equal(qty_scaled(q("33G"), 9), 33);
    assert_int_equal(qty_scaled(q("51m"), 3), 1);
    assert_int_equal(qty_scaled(q("-543.4522m"), 3), -1);
    assert_int_equal(qty_scaled(q("19982"), -9), INT64_C(19982000000000));
    assert_int_equal(qty_scaled(q("1e100"), 100), 1);
    assert_int_equal(qty_scaled(q("1n"), 60), 1);
    assert_int_equal(qty_scaled(q("0"), 60), 0);
}

static void test_values_saturate_and_say_so(void **state)
{
    (void)state;
    assert_int_equal(qty_value(q("10E")), INT64_MAX);
    assert_int_equal(qty_value(q("-1e100")), INT64_MIN);
    assert_int_equal(qty_milli(q("1E")), INT64_MAX);
    assert_false(qty_fits_i64(q("10E"), 0));
    assert_false(qty_fits_i64(q("1E"), -3));
    assert_true(qty_fits_i64(q("9223372036854775807"), 0));
    assert_false(qty_fits_i64(q("9223372036854775808"), 0));
    assert_true(qty_fits_i64(q("-9223372036854775808"), 0));
    assert_true(qty_fits_i64(q("9223372036854775.807"), -3));
}

static void test_sign_and_comparison_are_exact(void **state)
{
    /* ascending */
    static const char *const order[] = { "-1e150",
                                         "-9223372036854775809",
                                         "-1Gi",
                                         "-1",
                                         "-1n",
                                         "0",
                                         "1n",
                                         "999999999n",
                                         "1",
                                         "1k",
                                         "1Ki",
                                         "1G",
                                         "1Gi",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "1e100",
                                         "1e101",
                                         "1e150" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        for (size_t j = 0; j < ARRAY_LEN(order); j++)
            assert_int_equal(qty_cmp(q(order[i]), q(order[j])), (i > j) - (i < j));
    assert_int_equal(qty_cmp(q("1"), q("1000m")), 0);
    assert_int_equal(qty_cmp(q("0.1"), q("100m")), 0);
    assert_int_equal(qty_cmp(q("0"), q("0Gi")), 0);
    assert_int_equal(qty_sign(q("-1n")), -1);
    assert_int_equal(qty_sign(q("0e3")), 0);
    assert_int_equal(qty_sign(q("1e100")), 1);
}

static void test_sums_keep_the_format_of_the_first(void **state)
{
    (void)state;
    assert_prints(qty_add(q("1Ki"), q("1024")), "2Ki");
    assert_prints(qty_add(q("1024"), q("1Ki")), "2048");
    assert_prints(qty_add(q("1Gi"), q("1G")), "2073741824");
    assert_prints(qty_add(q("0"), q("1Gi")), "1Gi"); /* zero has no say */
    assert_prints(qty_sub(q("0"), q("1Gi")), "-1Gi");
    assert_prints(qty_sub(q("1Ki"), q("1024")), "0");
    assert_prints(qty_add(q("7Ti"), q("27980m")), "7696581394459980m");
    assert_prints(qty_sub(q("118.8069m"), q("766.3509Mi")), "-803577161199593100n");
    assert_prints(qty_add(q("0.0001Ki"), q("2047.8976")), "2048"); /* below one: not binary */
    assert_prints(qty_neg(q("+34Ti")), "-34Ti");
    assert_prints(qty_neg(q("0")), "0");
    struct qty zero = qty_sub(q("1"), q("1"));
    assert_memory_equal(&zero, &(struct qty){ 0 }, sizeof zero);
}

static void test_sums_beyond_96_bits_round_up(void **state)
{
    struct qty big = q("1e150");

    (void)state;
    struct qty sum = qty_add(big, q("1n"));
    assert_that(qty_cmp(sum, big), >, 0);
    assert_that(qty_cmp(sum, q("1.000000000000000000000000001e150")), <=, 0);
    assert_that(qty_cmp(qty_sub(q("1n"), big), qty_neg(q("1.0000000001e150"))), >, 0);
    /* and stop at the end of all scales */
    struct qty top = big;
    for (int i = 0; i < 10; i++)
        top = qty_mul(top, 1000000, NULL);
    assert_int_equal(qty_cmp(qty_add(top, top), top), 0);
    assert_int_equal(qty_cmp(qty_neg(qty_neg(top)), top), 0);
    assert_that(qty_cmp(top, big), >, 0);
}

static void test_products(void **state)
{
    bool fits = false;

    (void)state;
    assert_prints(qty_mul(q("61Mi"), 4, &fits), "244Mi");
    assert_true(fits);
    assert_prints(qty_mul(q("-25884e2"), -3, &fits), "7765200");
    assert_prints(qty_mul(q("79212k"), 0, &fits), "0");
    assert_true(fits);
    assert_prints(qty_mul(q("96384T"), 13, &fits), "1252992T");
    assert_true(fits); /* 96384 * 13 does, whatever the suffix */
    assert_prints(qty_mul(q("15404Ti"), 5, &fits), "77020Ti");
    assert_false(fits); /* counted in nano from the start, as upstream does for long numbers */
    assert_prints(qty_mul(q("1000000000000000000"), 1, &fits), "1E");
    assert_false(fits);
    assert_prints(qty_mul(q("9223372036854775807"), INT64_MIN, &fits),
                  "-85070591730234615856620279830G");
    assert_false(fits);
    assert_prints(qty_mul(q("3m"), 2, NULL), "6m");
}

static void test_from_numbers(void **state)
{
    (void)state;
    assert_prints(qty_from_i64(25000, QTY_DECIMAL_SI), "25k");
    assert_prints(qty_from_i64(INT64_C(3) << 30, QTY_BINARY_SI), "3Gi");
    assert_prints(qty_from_i64(1000, QTY_BINARY_SI), "1k"); /* below 1024 */
    assert_prints(qty_from_milli(3000, QTY_DECIMAL_SI), "3");
    assert_prints(qty_from_milli(-1550, QTY_DECIMAL_SI), "-1550m");
    assert_prints(qty_from_i64(INT64_MIN, QTY_DECIMAL_SI), "-9223372036854775808");
    assert_prints((struct qty){ 0 }, "0");
}

static void test_doubles_are_the_nearest(void **state)
{
    (void)state;
    assert_that(qty_f64(q("100m")), ==, 0.1);
    assert_that(qty_f64(q("-1.5Gi")), ==, -1610612736.0);
    assert_that(qty_f64(q("9007199254740993")), ==, 9007199254740992.0);
    assert_that(qty_f64(q("1e150")), ==, 1e150);
    assert_that(qty_f64(q("12345678901234567890.123456789")), ==, 12345678901234567890.0);
    assert_that(qty_f64(q("0")), ==, 0);
}

/* The short way and the long way through the parser agree: a plus sign forces the long one. */
static void test_short_forms_agree_with_the_full_parser(void **state)
{
    static const char *const suffixes[] = { "",  "n", "u",  "m",  "k",  "M",  "G",  "T",
                                            "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
    static const char *const numbers[] = { "0",
                                           "1",
                                           "007",
                                           "100",
                                           "1000",
                                           "1024",
                                           "65536",
                                           "123456789",
                                           "99999999999999",
                                           "999999999999999" };

    (void)state;
    CLEANUP(arena_free) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        for (size_t j = 0; j < ARRAY_LEN(numbers); j++) {
            struct qty fast = q(arena_printf(a, "%s%s", numbers[j], suffixes[i]));
            struct qty slow = q(arena_printf(a, "+%s%s", numbers[j], suffixes[i]));
            assert_memory_equal(&fast, &slow, sizeof fast);
        }
}

static void test_spaces_of_json_are_trimmed(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "1", "1" },           { " 1Gi", "1Gi" }, { "100m  ", "100m" },
        { "  1 2  ", "1 2" },   { "   ", "" },     { "", "" },
        { "\t1", "\t1" },       { "1\n", "1\n" },  { "\u00a01\u2003\u3000", "1" },
        { "\u00e9", "\u00e9" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str t = qty_trim(cases[i].in, strlen(cases[i].in));
        assert_int_equal(t.n, strlen(cases[i].out));
        assert_memory_equal(t.p, cases[i].out, t.n);
    }
    struct qty q;
    assert_int_equal(qty_parse(" 1", 2, &q, NULL), -EINVAL); /* elsewhere they count */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical_text),
        cmocka_unit_test(test_normalize_keeps_text_that_needs_no_other_change),
        cmocka_unit_test(test_bad_text_is_refused_and_named),
        cmocka_unit_test(test_values_beyond_the_scales_are_refused),
        cmocka_unit_test(test_values_round_away_from_zero),
        cmocka_unit_test(test_values_saturate_and_say_so),
        cmocka_unit_test(test_sign_and_comparison_are_exact),
        cmocka_unit_test(test_sums_keep_the_format_of_the_first),
        cmocka_unit_test(test_sums_beyond_96_bits_round_up),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_from_numbers),
        cmocka_unit_test(test_doubles_are_the_nearest),
        cmocka_unit_test(test_short_forms_agree_with_the_full_parser),
        cmocka_unit_test(test_spaces_of_json_are_trimmed),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
