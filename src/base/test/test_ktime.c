/* test_ktime.c - times and durations as Go reads and writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ktime.h"
#include "base/test/asserts.h"

static const struct {
    const char *text;
    nsec_t wall;
} times[] = {
    { "1970-01-01T00:00:00Z", 0 },
    { "2026-11-15T18:20:00Z", 1794766800 * NSEC_PER_SEC },
    { "2000-02-29T23:59:59Z", 951868799 * NSEC_PER_SEC },
    { "1969-12-31T23:59:59Z", -1 * NSEC_PER_SEC },
    { "1900-03-01T00:00:00Z", -2203891200 * NSEC_PER_SEC },
    { "2026-11-15T18:20:00+01:00", 1794763200 * NSEC_PER_SEC },
    { "2026-11-15T18:20:00-07:30", 1794793800 * NSEC_PER_SEC },
    { "2026-11-15T18:20:00+24:60", 1794676800 * NSEC_PER_SEC },
    { "2026-11-15T18:20:00.5Z", 1794766800 * NSEC_PER_SEC + 500000000 },
    { "2026-11-15T18:20:00,000000001Z", 1794766800 * NSEC_PER_SEC + 1 },
    { "2026-11-15T18:20:00.0000000019Z", 1794766800 * NSEC_PER_SEC + 1 },
    { "2026-11-15T8:20:00Z", 1794730800 * NSEC_PER_SEC },
    { "2262-04-11T23:47:16.854775807Z", INT64_MAX },
    { "1677-09-21T00:12:43.145224192Z", INT64_MIN },
};

static void test_rfc3339_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct kerr err = { 0 };
        nsec_t got = 0;
        if (ktime_parse(times[i].text, strlen(times[i].text), &got, &err) < 0)
            fail_msg("%s: %s", times[i].text, err.text);
        if (got != times[i].wall)
            fail_msg("%s: %lld", times[i].text, (long long)got);
    }
}

static void test_bad_times_are_refused_and_named(void **state)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        { "", -EINVAL },
        { "2026-11-15", -EINVAL },
        { "2026-11-15T18:20:00", -EINVAL },
        { "2026-11-15 18:20:00Z", -EINVAL },
        { "2026-11-15t18:20:00Z", -EINVAL },
        { "2026-11-15T18:20:00z", -EINVAL },
        { "2026-11-15T18:20:00Z ", -EINVAL },
        { "2026-13-15T18:20:00Z", -EINVAL },
        { "2026-00-15T18:20:00Z", -EINVAL },
        { "2026-11-31T18:20:00Z", -EINVAL },
        { "2026-11-00T18:20:00Z", -EINVAL },
        { "2023-02-29T00:00:00Z", -EINVAL },
        { "1900-02-29T00:00:00Z", -EINVAL },
        { "2026-11-15T24:00:00Z", -EINVAL },
        { "2026-11-15T18:60:00Z", -EINVAL },
        { "2026-11-15T18:20:60Z", -EINVAL },
        { "2026-11-15T18:20:00.Z", -EINVAL },
        { "2026-11-15T18:20:00+0100", -EINVAL },
        { "2026-11-15T18:20:00+25:00", -EINVAL },
        { "2026-11-15T18:20:00+01:61", -EINVAL },
        { "26-11-15T18:20:00Z", -EINVAL },
        { "0001-01-01T00:00:00Z", -ERANGE },
        { "9999-12-31T23:59:59Z", -ERANGE },
        { "2262-04-11T23:47:16.854775808Z", -ERANGE },
        { "1677-09-21T00:12:43.145224191Z", -ERANGE },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kerr err = { 0 };
        nsec_t got = 42;
        int r = ktime_parse(cases[i].text, strlen(cases[i].text), &got, &err);
        if (r != cases[i].code)
            fail_msg("%s: %d", cases[i].text, r);
        assert_contains(err.text, cases[i].text);
        assert_int_equal(got, 42);
    }
}

/* The year 0 has a 29th of February; an offset may lead to the year before it. */
static void test_the_first_days_read_back(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
        int year, month, day;
    } cases[] = {
        { "0000-01-01T00:00:00Z", -62167219200, 0, 1, 1 },
        { "0000-02-29T00:00:00Z", -62162121600, 0, 2, 29 },
        { "0000-03-01T00:00:00Z", -62162035200, 0, 3, 1 },
        { "0001-01-01T00:00:00Z", -62135596800, 1, 1, 1 },
        { "0000-01-01T00:00:00+23:00", -62167302000, -1, 12, 31 },
        { "9999-12-31T23:59:59Z", 253402300799, 9999, 12, 31 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t seconds;
        int nanos;
        assert_int_equal(
            ktime_parse_seconds(cases[i].text, strlen(cases[i].text), &seconds, &nanos), 0);
        assert_true(seconds == cases[i].seconds);
        struct ktime_civil t = ktime_civil_seconds(seconds);
        assert_int_equal(t.year, cases[i].year);
        assert_int_equal(t.month, cases[i].month);
        assert_int_equal(t.day, cases[i].day);
    }
}

static void test_formats_of_meta_v1(void **state)
{
    char buf[KTIME_TEXT_MAX];
    nsec_t t = 1794766800 * NSEC_PER_SEC + 123456780;

    (void)state;
    assert_int_equal(ktime_format(t, buf), strlen("2026-11-15T18:20:00Z"));
    assert_string_equal(buf, "2026-11-15T18:20:00Z");
    ktime_format_micro(t, buf);
    assert_string_equal(buf, "2026-11-15T18:20:00.123456Z");
    ktime_format_nano(t, buf);
    assert_string_equal(buf, "2026-11-15T18:20:00.12345678Z");
    ktime_format_nano(0, buf);
    assert_string_equal(buf, "1970-01-01T00:00:00Z");
    ktime_format_micro(0, buf);
    assert_string_equal(buf, "1970-01-01T00:00:00.000000Z");
    ktime_format_nano(-1, buf);
    assert_string_equal(buf, "1969-12-31T23:59:59.999999999Z");
}

static void test_every_day_reads_back(void **state)
{
    const nsec_t day = 86400 * NSEC_PER_SEC;
    struct ktime_civil last = ktime_civil(INT64_MIN / day * day);

    (void)state;
    for (nsec_t t = (INT64_MIN / day + 1) * day; t < INT64_MAX - day; t += day) {
        struct ktime_civil c = ktime_civil(t);
        char buf[KTIME_TEXT_MAX];
        nsec_t back;
        /* The next day, or the first of the next month, or New Year. */
        assert_true((c.day == last.day + 1 && c.month == last.month && c.year == last.year) ||
                    (c.day == 1 && c.month == last.month + 1 && c.year == last.year) ||
                    (c.day == 1 && c.month == 1 && c.year == last.year + 1));
        last = c;
        size_t n = ktime_format(t, buf);
        assert_int_equal(ktime_parse(buf, n, &back, NULL), 0);
        assert_int_equal(back, t);
    }
}

static const struct {
    const char *in, *out; /* out NULL: the same */
    nsec_t d;
} durations[] = {
    { "0s", NULL, 0 },
    { "0", "0s", 0 },
    { "+0", "0s", 0 },
    { "1ns", NULL, 1 },
    { "1.5us", "1.5\xC2\xB5s", 1500 },
    { "2\xCE\xBCs", "2\xC2\xB5s", 2000 },
    { "1.5ms", NULL, 1500000 },
    { "30s", NULL, 30 * NSEC_PER_SEC },
    { "5m0s", NULL, 300 * NSEC_PER_SEC },
    { "90m", "1h30m0s", 5400 * NSEC_PER_SEC },
    { "1h15m30.918s", NULL, 4530918 * NSEC_PER_MSEC },
    { "-1.5h", "-1h30m0s", -5400 * NSEC_PER_SEC },
    { ".5s", "500ms", 500000000 },
    { "1.s", "1s", NSEC_PER_SEC },
    { "3s2m", "2m3s", 123 * NSEC_PER_SEC },
    { "0.3333333333333333333h", "20m0s", 1200 * NSEC_PER_SEC },
    { "0.28374601h", "17m1.485636s", 1021485636000 }, /* another order of operations is 1 ns off */
    { "2562047h47m16.854775807s", NULL, INT64_MAX },
    { "-9223372036854775808ns", "-2562047h47m16.854775808s", INT64_MIN },
};

static void test_durations_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(durations); i++) {
        struct kerr err = { 0 };
        nsec_t got = 0;
        char buf[KTIME_TEXT_MAX];
        if (kdur_parse(durations[i].in, strlen(durations[i].in), &got, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(got, durations[i].d);
        size_t n = kdur_format(got, buf);
        assert_string_equal(buf, durations[i].out ? durations[i].out : durations[i].in);
        assert_int_equal(n, strlen(buf));
    }
}

static void test_bad_durations_are_refused_and_named(void **state)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        { "", -EINVAL },
        { "3", -EINVAL },
        { "-", -EINVAL },
        { "s", -EINVAL },
        { ".", -EINVAL },
        { ".s", -EINVAL },
        { "1d", -EINVAL },
        { "1 s", -EINVAL },
        { "+-1s", -EINVAL },
        { "1s2", -EINVAL },
        { "1e3s", -EINVAL },
        { "00", -EINVAL },
        { "9223372036854775808ns", -ERANGE },
        { "9223372036854775809ns", -ERANGE },
        { "2562048h", -ERANGE },
        { "99999999999999999999s", -ERANGE },
        { "-9223372036854775808ns9223372036854775808ns", -ERANGE },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kerr err = { 0 };
        nsec_t got = 42;
        int r = kdur_parse(cases[i].text, strlen(cases[i].text), &got, &err);
        if (r != cases[i].code)
            fail_msg("%s: %d", cases[i].text, r);
        assert_contains(err.text, cases[i].text);
        assert_int_equal(got, 42);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rfc3339_is_read),
        cmocka_unit_test(test_bad_times_are_refused_and_named),
        cmocka_unit_test(test_the_first_days_read_back),
        cmocka_unit_test(test_formats_of_meta_v1),
        cmocka_unit_test(test_every_day_reads_back),
        cmocka_unit_test(test_durations_both_ways),
        cmocka_unit_test(test_bad_durations_are_refused_and_named),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
