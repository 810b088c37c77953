/* test_cron.c - schedules: what they mean, in places whose clocks change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/ktime.h"
#include "base/strbuf.h"
#include "sys/cron_schedule.h"
#include "sys/tzone.h"

static int64_t at(const char *text)
{
    int64_t t;
    int nanos;
    assert_int_equal(ktime_parse_seconds(text, strlen(text), &t, &nanos), 0);
    return t;
}

/* ---- zones --------------------------------------------------------------------------------- */

static void put(struct strbuf *out, int64_t v, size_t width)
{
    for (size_t i = width; i-- > 0;)
        strbuf_appendc(out, (char)(v >> 8 * i));
}

static void put_head(struct strbuf *out, int64_t changes, int64_t types)
{
    const int64_t counts[] = { 0, 0, 0, changes, types, 4 };
    static const char reserved[15];

    strbuf_append(out, "TZif2");
    strbuf_appendn(out, reserved, sizeof reserved);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        put(out, counts[i], 4);
}

static void put_type(struct strbuf *out, int64_t offset)
{
    put(out, offset, 4);
    put(out, 0, 2);
}

/* A file with a rule only, or with one change before it. */
static void zone_file(struct strbuf *out, int64_t change, int64_t before, int64_t then,
                      const char *rule)
{
    put_head(out, 0, 1);
    put_type(out, before);
    strbuf_appendn(out, "XXX", 4);
    put_head(out, change ? 1 : 0, 2);
    if (change) {
        put(out, change, 8);
        put(out, 1, 1);
    }
    put_type(out, before);
    put_type(out, then);
    strbuf_appendn(out, "XXX", 4);
    strbuf_appendf(out, "\n%s\n", rule);
}

static struct tzone *zone(const char *rule)
{
    CLEANUP(strbuf_fini) struct strbuf file = STRBUF_INIT;
    struct kerr err = { 0 };

    zone_file(&file, 0, 0, 0, rule);
    struct tzone *z = tzone_parse(file.data, file.len, &err);
    if (!z)
        fail_msg("%s: %s", rule, err.text);
    return z;
}
#define BERLIN   "CET-1CEST,M3.5.0,M10.5.0/3"
#define NEW_YORK "EST5EDT,M3.2.0,M11.1.0"
#define LORDHOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"
#define SANTIAGO "<-04>4<-03>,M9.1.6/24,M4.1.6/24" /* midnight is skipped there */

static void check_offset(const char *rule, const char *time, int64_t want, const char *until)
{
    CLEANUP(tzone_free) struct tzone *z = zone(rule);
    int64_t end;

    assert_int_equal(tzone_offset(z, at(time), &end), want);
    assert_int_equal(end, until ? at(until) : INT64_MAX);
}

static void test_zones(void **state)
{
    (void)state;
    check_offset("UTC0", "2026-01-01T00:00:00Z", 0, NULL);
    check_offset("<+0545>-5:45", "2026-01-01T00:00:00Z", 20700, NULL);
    check_offset(BERLIN, "2026-01-01T00:00:00Z", 3600, "2026-03-29T01:00:00Z");
    check_offset(BERLIN, "2026-03-29T01:00:00Z", 7200, "2026-10-25T01:00:00Z");
    check_offset(BERLIN, "2026-12-31T23:59:59Z", 3600, "2027-03-28T01:00:00Z");
    check_offset(NEW_YORK, "2026-07-01T00:00:00Z", -14400, "2026-11-01T06:00:00Z");
    check_offset(LORDHOWE, "2026-01-01T00:00:00Z", 39600, "2026-04-04T15:00:00Z");
    check_offset(SANTIAGO, "2026-07-01T00:00:00Z", -14400, "2026-09-06T04:00:00Z");
    check_offset("AAA3BBB,J60/0,J300", "2028-02-01T00:00:00Z", -10800, "2028-03-01T03:00:00Z");
    check_offset("AAA3BBB,59/0,300", "2028-02-01T00:00:00Z", -10800, "2028-02-29T03:00:00Z");
    /* The table serves until its last change; then the rule does. */
    CLEANUP(strbuf_fini) struct strbuf file = STRBUF_INIT;
    int64_t end;
    zone_file(&file, at("2026-06-01T00:00:00Z"), 1800, 5400, "");
    CLEANUP(tzone_free) struct tzone *z = tzone_parse(file.data, file.len, NULL);
    assert_non_null(z);
    assert_int_equal(tzone_offset(z, at("2026-05-31T23:59:59Z"), &end), 1800);
    assert_int_equal(end, at("2026-06-01T00:00:00Z"));
    assert_int_equal(tzone_offset(z, at("2026-06-01T00:00:00Z"), &end), 5400);
    assert_int_equal(end, INT64_MAX);
    char text[TZONE_TEXT_MAX];
    tzone_format(z, at("2026-06-01T00:00:00Z"), text);
    assert_string_equal(text, "2026-06-01T01:30:00+01:30");
    tzone_format(NULL, at("2026-06-01T00:00:00Z"), text);
    assert_string_equal(text, "2026-06-01T00:00:00Z");
}

static void test_bad_zones(void **state)
{
    static const char *const rules[] = { "CE-1",
                                         "CET",
                                         "CET-1CEST",
                                         "CET-1CEST,M3.5.0",
                                         "CET-1CEST,M3.6.0,M10.5.0",
                                         "CET-1CEST,M3.5.0,M10.5.0x",
                                         "<CET-1",
                                         "CET-1CEST,M3.5.0,J366" };
    static const char *const names[] = { "Local",
                                         "../etc/passwd",
                                         "/etc/localtime",
                                         "Europe/../UTC",
                                         "Nowhere/Town",
                                         "Europe",
                                         "Europe//Berlin",
                                         "Europe/Berlin/",
                                         ".",
                                         "a b" };
    CLEANUP(strbuf_fini) struct strbuf file = STRBUF_INIT;
    struct kerr err = { 0 };
    struct tzone *z = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        file.len = 0;
        zone_file(&file, 0, 0, 0, rules[i]);
        if (tzone_parse(file.data, file.len, &err))
            fail_msg("%s is taken", rules[i]);
    }
    file.len = 0;
    zone_file(&file, 1, 0, 3600, BERLIN);
    for (size_t n = 0; n < file.len; n++)
        if (tzone_parse(file.data, n, &err))
            fail_msg("%zu bytes are taken", n);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(tzone_open(names[i], &z, &err), -ENOENT);
        assert_non_null(strstr(err.text, "unknown time zone"));
    }
    static const char *const utc[] = { "", "UTC", "Etc/UTC" };
    for (size_t i = 0; i < ARRAY_LEN(utc); i++) {
        int64_t end;
        assert_int_equal(tzone_open(utc[i], &z, &err), 0);
        assert_int_equal(tzone_offset(z, 0, &end), 0);
        z = tzone_free(z);
    }
}

/* The system's own, where there is one. */
static void test_system_zone(void **state)
{
    struct kerr err = { 0 };
    struct tzone *z = NULL;
    int64_t end;

    (void)state;
    if (tzone_open("Europe/Berlin", &z, &err) < 0)
        skip();
    assert_int_equal(tzone_offset(z, at("1985-07-01T00:00:00Z"), &end), 7200);
    assert_int_equal(tzone_offset(z, at("2026-07-01T00:00:00Z"), &end), 7200);
    assert_int_equal(end, at("2026-10-25T01:00:00Z"));
    assert_int_equal(tzone_offset(z, at("2060-07-01T00:00:00Z"), &end), 7200);
    for (int i = 0; i < 2; i++) { /* read, then kept */
        assert_int_equal(tzone_offset_of(STR("Europe/Berlin"), 0, &end), 0);
        assert_int_equal(end, 3600);
    }
    assert_int_equal(tzone_offset_of(STR("Nowhere/Town"), 0, &end), -ENOENT);
    tzone_free(z);
}

/* ---- schedules ----------------------------------------------------------------------------- */

/* The next times, one after another; NULL ends them, "never": there is none. */
static void check_times(const char *schedule, const char *rule, const char *from, ...)
{
    CLEANUP(tzone_free) struct tzone *z = rule ? zone(rule) : NULL;
    struct cron_schedule s;
    struct kerr err = { 0 };
    int64_t t = at(from);
    const char *want;
    va_list list;

    if (cron_parse(schedule, &s, &err) < 0)
        fail_msg("%s: %s", schedule, err.text);
    va_start(list, from);
    while ((want = va_arg(list, const char *))) {
        char got[TZONE_TEXT_MAX] = "never";
        if (cron_next(&s, z, t, &t))
            tzone_format(z, t, got);
        if (!streq(got, want))
            fail_msg("%s after %s: %s instead of %s", schedule, from, got, want);
    }
    va_end(list);
}

static void test_fields(void **state)
{
    (void)state;
    check_times("* * * * *", NULL, "2026-11-15T10:00:00Z", "2026-11-15T10:01:00Z",
                "2026-11-15T10:02:00Z", NULL);
    check_times("* * * * *", NULL, "2026-11-15T10:00:59Z", "2026-11-15T10:01:00Z", NULL);
    check_times("*/20 * * * *", NULL, "2026-11-15T10:30:30Z", "2026-11-15T10:40:00Z",
                "2026-11-15T11:00:00Z", NULL);
    check_times("5/25 8 * * *", NULL, "2026-11-15T10:00:00Z", "2026-11-16T08:05:00Z",
                "2026-11-16T08:30:00Z", "2026-11-16T08:55:00Z", "2026-11-17T08:05:00Z", NULL);
    check_times("0 9-17/4 * * mon-fri", NULL, "2026-11-13T14:00:00Z", "2026-11-13T17:00:00Z",
                "2026-11-16T09:00:00Z", NULL);
    check_times("0,30 0 1 JAN,Jul ?", NULL, "2026-11-15T10:00:00Z", "2027-01-01T00:00:00Z",
                "2027-01-01T00:30:00Z", "2027-07-01T00:00:00Z", NULL);
    check_times("59 23 31 12 *", NULL, "2026-11-15T10:00:00Z", "2026-12-31T23:59:00Z",
                "2027-12-31T23:59:00Z", NULL);
    check_times("  0\t0 1  * *  ", NULL, "2026-11-15T10:00:00Z", "2026-12-01T00:00:00Z", NULL);
    check_times(",5,, 1 * * *", NULL, "2026-11-15T10:00:00Z", "2026-11-16T01:05:00Z", NULL);
    check_times("*-foo 10 * * *", NULL, "2026-11-15T10:00:00Z", "2026-11-15T10:01:00Z", NULL);
}

static void test_days(void **state)
{
    (void)state;
    /* Both restricted: either. November 13 is a Friday, and so is the 20th. */
    check_times("0 0 15 * fri", NULL, "2026-11-12T10:00:00Z", "2026-11-13T00:00:00Z",
                "2026-11-15T00:00:00Z", "2026-11-20T00:00:00Z", NULL);
    check_times("0 0 ? * 0", NULL, "2026-11-12T10:00:00Z", "2026-11-15T00:00:00Z",
                "2026-11-22T00:00:00Z", NULL);
    check_times("0 0 13 * *", NULL, "2026-11-12T10:00:00Z", "2026-11-13T00:00:00Z",
                "2026-12-13T00:00:00Z", NULL);
    /* A star with a step restricts; one with the step 1 does not. */
    check_times("0 0 */10 * sat", NULL, "2026-11-12T10:00:00Z", "2026-11-14T00:00:00Z",
                "2026-11-21T00:00:00Z", "2026-11-28T00:00:00Z", "2026-12-01T00:00:00Z", NULL);
    check_times("0 0 */1 * sat", NULL, "2026-11-12T10:00:00Z", "2026-11-14T00:00:00Z",
                "2026-11-21T00:00:00Z", NULL);
    check_times("0 0 31 * *", NULL, "2026-11-12T10:00:00Z", "2026-12-31T00:00:00Z",
                "2027-01-31T00:00:00Z", "2027-03-31T00:00:00Z", NULL);
}

static void test_years(void **state)
{
    (void)state;
    check_times("0 0 29 2 *", NULL, "2026-11-12T10:00:00Z", "2028-02-29T00:00:00Z",
                "2032-02-29T00:00:00Z", NULL);
    check_times("0 0 29 2 *", NULL, "2096-02-29T00:00:00Z", "never", NULL);
    check_times("0 0 30 2 *", NULL, "2026-11-12T10:00:00Z", "never", NULL);
    check_times("59 23 31 2 *", NULL, "2026-11-12T10:00:00Z", "never", NULL);
    check_times("0 0 31 4,6,9,11 *", NULL, "2026-11-12T10:00:00Z", "never", NULL);
    check_times(", * * * *", NULL, "2026-11-12T10:00:00Z", "never", NULL);
    check_times("* , * * *", BERLIN, "2026-11-12T10:00:00Z", "never", NULL);
    /* Either day: Mondays of February remain. */
    check_times("0 0 30 2 1", NULL, "2026-11-12T10:00:00Z", "2027-02-01T00:00:00Z", NULL);
    check_times("0 0 1 1 *", NULL, "9999-06-01T00:00:00Z", "never", NULL);
}

static void test_words(void **state)
{
    (void)state;
    check_times("@hourly", NULL, "2026-11-12T10:00:00Z", "2026-11-12T11:00:00Z", NULL);
    check_times("@daily", NULL, "2026-11-12T10:00:00Z", "2026-11-13T00:00:00Z", NULL);
    check_times("@midnight", BERLIN, "2026-11-12T10:00:00Z", "2026-11-13T00:00:00+01:00", NULL);
    check_times("@weekly", NULL, "2026-11-12T10:00:00Z", "2026-11-15T00:00:00Z", NULL);
    check_times("@monthly", NULL, "2026-11-12T10:00:00Z", "2026-12-01T00:00:00Z", NULL);
    check_times("@yearly", NULL, "2026-11-12T10:00:00Z", "2027-01-01T00:00:00Z", NULL);
    check_times("@annually", NULL, "2026-11-12T10:00:00Z", "2027-01-01T00:00:00Z", NULL);
    check_times("@every 90m", NULL, "2026-11-12T10:00:07Z", "2026-11-12T11:30:07Z",
                "2026-11-12T13:00:07Z", NULL);
    check_times("@every 1ms", NULL, "2026-11-12T10:00:07Z", "2026-11-12T10:00:08Z", NULL);
    check_times("@every 1m1.9s", NULL, "2026-11-12T10:00:00Z", "2026-11-12T10:01:01Z", NULL);
}

static void test_clocks_change(void **state)
{
    (void)state;
    /* 2:30 does not come on March 29, and comes twice on October 25. */
    check_times("30 2 * * *", BERLIN, "2026-03-28T12:00:00Z", "2026-03-30T02:30:00+02:00", NULL);
    check_times("30 2 * * *", BERLIN, "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00",
                "2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00", NULL);
    check_times("0 * * * *", BERLIN, "2026-03-29T00:00:00Z", "2026-03-29T03:00:00+02:00", NULL);
    check_times("0 12 * * *", BERLIN, "2026-03-28T12:00:00Z", "2026-03-29T12:00:00+02:00", NULL);
    check_times("30 1 * * *", NEW_YORK, "2026-10-31T12:00:00Z", "2026-11-01T01:30:00-04:00",
                "2026-11-01T01:30:00-05:00", NULL);
    /* Half an hour: 2:15 is not on October 4, 1:45 is there twice on April 5. */
    check_times("15 2 * * *", LORDHOWE, "2026-10-03T00:00:00Z", "2026-10-05T02:15:00+11:00", NULL);
    check_times("45 1 * * *", LORDHOWE, "2026-04-04T00:00:00Z", "2026-04-05T01:45:00+11:00",
                "2026-04-05T01:45:00+10:30", NULL);
    /* Where midnight is skipped the day begins at one. */
    check_times("0 0 * * *", SANTIAGO, "2026-09-05T12:00:00Z", "2026-09-07T00:00:00-03:00", NULL);
    check_times("0 1 6 9 *", SANTIAGO, "2026-09-05T12:00:00Z", "2026-09-06T01:00:00-03:00", NULL);
    check_times("0 0 1 * *", "<+14>-14", "2026-11-12T12:00:00Z", "2026-12-01T00:00:00+14:00", NULL);
}

static void test_refused(void **state)
{
    static const char *const bad[][2] = {
        { "", "empty" },
        { "* * * *", "expected exactly 5 fields, found 4" },
        { "* * * * * *", "expected exactly 5 fields, found 6" },
        { "   ", "found 0" },
        { "60 * * * *", "above maximum (59)" },
        { "* 24 * * *", "above maximum (23)" },
        { "* * 0 * *", "below minimum (1)" },
        { "* * 32 * *", "above maximum (31)" },
        { "* * * 13 *", "above maximum (12)" },
        { "* * * 0 *", "below minimum (1)" },
        { "* * * * 7", "above maximum (6)" },
        { "5-1 * * * *", "beyond end" },
        { "1-2-3 * * * *", "too many hyphens" },
        { "*/2/3 * * * *", "too many slashes" },
        { "*/0 * * * *", "positive number" },
        { "*/x * * * *", "failed to parse int from x" },
        { "* * * jax *", "failed to parse int from jax" },
        { "* * * january *", "failed to parse int from january" },
        { "mon * * * *", "failed to parse int from mon" },
        { "-5 * * * *", "failed to parse int" },
        { "5- * * * *", "failed to parse int" },
        { "99999999999999999999 * * * *", "failed to parse int" },
        { "bad", "found 1" },
        { "@never", "unrecognized descriptor" },
        { "@daily ", "unrecognized descriptor" },
        { "@every", "unrecognized descriptor" },
        { "@every tomorrow", "failed to parse duration" },
        { "TZ=UTC * * * * *", "timeZone" },
        { "CRON_TZ=UTC * * * * *", "timeZone" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct cron_schedule s;
        struct kerr err = { 0 };
        if (cron_parse(bad[i][0], &s, &err) >= 0)
            fail_msg("'%s' is taken", bad[i][0]);
        if (!strstr(err.text, bad[i][1]))
            fail_msg("'%s': %s", bad[i][0], err.text);
    }
}

static void check_latest(const char *schedule, const char *after, const char *now, const char *want,
                         unsigned count)
{
    struct cron_schedule s;
    int64_t t;

    assert_int_equal(cron_parse(schedule, &s, NULL), 0);
    bool found = cron_latest(&s, NULL, at(after), at(now), &t);
    assert_int_equal(found, want != NULL);
    if (want && t != at(want))
        fail_msg("%s: %lld instead of %s", schedule, (long long)t, want);
    assert_int_equal(cron_count(&s, NULL, at(after), at(now), 101), count);
}

static void test_latest(void **state)
{
    (void)state;
    check_latest("0 * * * *", "2026-11-12T10:00:00Z", "2026-11-12T10:59:59Z", NULL, 0);
    check_latest("0 * * * *", "2026-11-12T10:00:00Z", "2026-11-12T11:00:00Z",
                 "2026-11-12T11:00:00Z", 1);
    check_latest("0 * * * *", "2026-11-12T10:00:00Z", "2026-11-12T14:30:00Z",
                 "2026-11-12T14:00:00Z", 4);
    check_latest("* * 1 1 *", "1990-11-12T10:00:00Z", "2026-11-12T14:30:00Z",
                 "2026-01-01T23:59:00Z", 101);
    check_latest("30 6-16/4 * * 1-5", "2026-11-12T10:00:00Z", "2026-11-15T14:30:00Z",
                 "2026-11-13T14:30:00Z", 5);
    check_latest("@every 7m", "2026-11-12T10:00:00Z", "2026-11-12T10:06:59Z", NULL, 0);
    check_latest("@every 7m", "2026-11-12T10:00:00Z", "2026-11-12T10:30:00Z",
                 "2026-11-12T10:28:00Z", 4);
    check_latest("* * * * *", "2026-11-12T10:00:00Z", "2026-11-12T09:00:00Z", NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zones),       cmocka_unit_test(test_bad_zones),
        cmocka_unit_test(test_system_zone), cmocka_unit_test(test_fields),
        cmocka_unit_test(test_days),        cmocka_unit_test(test_years),
        cmocka_unit_test(test_words),       cmocka_unit_test(test_clocks_change),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_latest),
    };
    return cmocka_run_group_tests_name("cron", tests, NULL, NULL);
}
