/* test_num.c - numbers at their limits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/num.h"
#include "base/test/asserts.h"

static void test_saturating_arithmetic(void **state)
{
    (void)state;
    assert_int_equal(i64_add_sat(1, 2), 3);
    assert_int_equal(i64_add_sat(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(i64_add_sat(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(i64_sub_sat(INT64_MIN, 1), INT64_MIN);
    assert_int_equal(i64_sub_sat(0, INT64_MIN), INT64_MAX);
    assert_int_equal(i64_mul_sat(INT64_MAX, 2), INT64_MAX);
    assert_int_equal(i64_mul_sat(INT64_MAX, -2), INT64_MIN);
    assert_int_equal(i64_mul_sat(INT64_MIN, -1), INT64_MAX);
    assert_int_equal(i64_mul_sat(-3, 4), -12);
}

static void test_muldiv_keeps_the_high_bits(void **state)
{
    (void)state;
    assert_int_equal(i64_muldiv(INT64_MAX, 60, 100), 5534023222112865484);
    assert_int_equal(i64_muldiv(-7, 1, 2), -3); /* towards zero, like the plain operators */
    assert_int_equal(i64_muldiv(INT64_MAX, 3, 2), INT64_MAX);
    assert_int_equal(i64_muldiv(INT64_MIN, 1, -1), INT64_MAX);
}

static void test_double_to_integer_is_defined_everywhere(void **state)
{
    (void)state;
    assert_int_equal(i64_from_f64(1.9), 1);
    assert_int_equal(i64_from_f64(-1.9), -1);
    assert_int_equal(i64_from_f64(1e300), INT64_MAX);
    assert_int_equal(i64_from_f64(9223372036854775808.0), INT64_MAX);
    assert_int_equal(i64_from_f64(-9223372036854775808.0), INT64_MIN);
    assert_int_equal(i64_from_f64(-INFINITY), INT64_MIN);
    assert_int_equal(i64_from_f64(NAN), 0);
}

static void test_integers_are_read_whole_or_not_at_all(void **state)
{
    static const struct {
        const char *text;
        int r;
        int64_t v;
    } cases[] = {
        { "0", 0, 0 },
        { "-0", 0, 0 },
        { "+17", 0, 17 },
        { "00000000000000000000042", 0, 42 },
        { "9223372036854775807", 0, INT64_MAX },
        { "-9223372036854775808", 0, INT64_MIN },
        { "9223372036854775808", -ERANGE, 0 },
        { "-9223372036854775809", -ERANGE, 0 },
        { "99999999999999999999999", -ERANGE, 0 },
        { "99999999999999999999999x", -EINVAL, 0 },
        { "", -EINVAL, 0 },
        { "-", -EINVAL, 0 },
        { "--1", -EINVAL, 0 },
        { " 1", -EINVAL, 0 },
        { "1 ", -EINVAL, 0 },
        { "1.0", -EINVAL, 0 },
        { "0x10", -EINVAL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = 99;
        int r = i64_parse(cases[i].text, strlen(cases[i].text), &v);
        if (r != cases[i].r)
            fail_msg("'%s': %d", cases[i].text, r);
        assert_int_equal(v, r < 0 ? 99 : cases[i].v);
    }
    int64_t v;
    assert_int_equal(i64_parse("123456", 3, &v), 0);
    assert_int_equal(v, 123);
}

static void test_unsigned_integers_take_no_sign(void **state)
{
    uint64_t v = 0;

    (void)state;
    assert_int_equal(u64_parse("18446744073709551615", 20, &v), 0);
    assert_that(v, ==, UINT64_MAX);
    assert_int_equal(u64_parse("18446744073709551616", 20, &v), -ERANGE);
    assert_int_equal(u64_parse("-1", 2, &v), -EINVAL);
    assert_int_equal(u64_parse("+1", 2, &v), -EINVAL);
    assert_int_equal(u64_parse("", 0, &v), -EINVAL);
}

static void test_doubles_read_and_print_like_go(void **state)
{
    static const struct {
        const char *in, *out; /* out NULL: the same */
    } cases[] = {
        { "0", NULL },
        { "-0", NULL },
        { "1", NULL },
        { "-1.5", NULL },
        { "0.1", NULL },
        { "100", NULL },
        { "1e3", "1000" },
        { "1.", "1" },
        { ".5", "0.5" },
        { "+2.50", "2.5" },
        { "0.000001", NULL },
        { "0.00000099", "9.9e-7" },
        { "1e-7", NULL },
        { "1E-10", "1e-10" },
        { "123456789012345680000", NULL },
        { "999999999999999999999", "1e+21" },
        { "1e20", "100000000000000000000" },
        { "1e21", "1e+21" },
        { "1.7976931348623157e308", "1.7976931348623157e+308" },
        { "5e-324", NULL },
        { "2.2250738585072014e-308", NULL },
        { "9007199254740993", "9007199254740992" },
        { "0.3", NULL },
        { "0.30000000000000004", NULL },
        { "3.141592653589793238462643", "3.141592653589793" },
        { "7.120236347223045e-307", NULL }, /* 2^-1017: the nearest 16 digits read back wrong */
        { "1e-400", "0" },
        { "123456789.125", NULL },
        { "4.35", NULL },
        { "1e23", "1e+23" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char buf[32];
        double d = -7;
        assert_int_equal(f64_parse(cases[i].in, strlen(cases[i].in), &d), 0);
        size_t n = f64_format(d, buf, sizeof buf);
        assert_string_equal(buf, cases[i].out ? cases[i].out : cases[i].in);
        assert_int_equal(n, strlen(buf));
    }
}

static void test_doubles_not_finite_print_by_name(void **state)
{
    char buf[32];

    (void)state;
    assert_int_equal(f64_format(NAN, buf, sizeof buf), 3);
    assert_string_equal(buf, "NaN");
    f64_format(INFINITY, buf, sizeof buf);
    assert_string_equal(buf, "+Inf");
    f64_format(-INFINITY, buf, sizeof buf);
    assert_string_equal(buf, "-Inf");
}

static void test_bad_doubles_are_refused(void **state)
{
    static const struct {
        const char *text;
        int r;
    } cases[] = {
        { "", -EINVAL },
        { ".", -EINVAL },
        { "-", -EINVAL },
        { "e5", -EINVAL },
        { "1e", -EINVAL },
        { "1e+", -EINVAL },
        { "1e5.0", -EINVAL },
        { "1.2.3", -EINVAL },
        { " 1", -EINVAL },
        { "1 ", -EINVAL },
        { "inf", -EINVAL },
        { "NaN", -EINVAL },
        { "0x1p3", -EINVAL },
        { "1_000", -EINVAL },
        { "1e400", -ERANGE },
        { "-1e309", -ERANGE },
        { "1e99999999999999999999", -ERANGE },
    };
    char longer[1000];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double d = 42;
        int r = f64_parse(cases[i].text, strlen(cases[i].text), &d);
        if (r != cases[i].r)
            fail_msg("'%s': %d", cases[i].text, r);
        assert_that(d, ==, 42);
    }
    memset(longer, '1', sizeof longer);
    double d;
    assert_int_equal(f64_parse(longer, sizeof longer, &d), -ERANGE);
    assert_int_equal(f64_parse(longer, 300, &d), 0);
}

/* Doubles of all sizes read back bit for bit. */
static void test_random_doubles_round_trip(void **state)
{
    uint64_t x = 88172645463325252;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        double d, back;
        char buf[32];
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        memcpy(&d, &x, sizeof d);
        if (!isfinite(d))
            continue;
        size_t n = f64_format(d, buf, sizeof buf);
        assert_int_equal(f64_parse(buf, n, &back), 0);
        assert_memory_equal(&back, &d, sizeof d);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saturating_arithmetic),
        cmocka_unit_test(test_muldiv_keeps_the_high_bits),
        cmocka_unit_test(test_double_to_integer_is_defined_everywhere),
        cmocka_unit_test(test_integers_are_read_whole_or_not_at_all),
        cmocka_unit_test(test_unsigned_integers_take_no_sign),
        cmocka_unit_test(test_doubles_read_and_print_like_go),
        cmocka_unit_test(test_doubles_not_finite_print_by_name),
        cmocka_unit_test(test_bad_doubles_are_refused),
        cmocka_unit_test(test_random_doubles_round_trip),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
