/* ktime.c - RFC 3339 times and Go durations, without libc's time zone machinery. */
#include "base/ktime.h"

#include <stdio.h>

#include "base/strbuf.h"

__extension__ typedef __int128 wide;

/* Days are counted from a March 400 years before that of the year 0, of which a January may be:
 * what is counted is never below zero. */
enum { SEC_PER_DAY = 86400, CYCLE_YEARS = 400, EPOCH_DAY = 719468 + 146097 };

/* Days since 1970 of a date in year 0 or later. A year begins in March here, which puts the leap
 * day at its end. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
    int64_t m = month > 2 ? month - 3 : month + 9;
    int64_t y = year + CYCLE_YEARS - (month <= 2);
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - EPOCH_DAY;
}

struct ktime_civil ktime_civil(nsec_t wall)
{
    int64_t sec = wall / NSEC_PER_SEC, nanos = wall % NSEC_PER_SEC;
    if (nanos < 0)
        nanos += NSEC_PER_SEC, sec--;
    struct ktime_civil t = ktime_civil_seconds(sec);
    t.nanos = (int)nanos;
    return t;
}

struct ktime_civil ktime_civil_seconds(int64_t sec)
{
    int64_t days = sec / SEC_PER_DAY, of_day = sec % SEC_PER_DAY;
    if (of_day < 0)
        of_day += SEC_PER_DAY, days--;

    days += EPOCH_DAY;
    int64_t y = (10000 * days + 14780) / 3652425;
    int64_t rest = days - (365 * y + y / 4 - y / 100 + y / 400);
    if (rest < 0) { /* the estimate is one year high on a few days */
        y--;
        rest = days - (365 * y + y / 4 - y / 100 + y / 400);
    }
    int64_t m = (5 * rest + 2) / 153; /* 0 is March */
    return (struct ktime_civil){
        .year = (int)(y - CYCLE_YEARS + (m >= 10)),
        .month = (int)(m < 10 ? m + 3 : m - 9),
        .day = (int)(rest - (153 * m + 2) / 5 + 1),
        .hour = (int)(of_day / 3600),
        .minute = (int)(of_day / 60 % 60),
        .second = (int)(of_day % 60),
    };
}

static int days_in_month(int year, int month)
{
    static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

struct cursor {
    const char *p, *end;
};

static struct cursor cursor_at(const char *s, size_t n)
{
    const char *p = n ? s : ""; /* no text may well be NULL */
    return (struct cursor){ p, p + n };
}

static bool digit_at(const struct cursor *c, ptrdiff_t i)
{
    return c->end - c->p > i && c->p[i] >= '0' && c->p[i] <= '9';
}

static bool take_char(struct cursor *c, char want)
{
    if (c->p == c->end || *c->p != want)
        return false;
    c->p++;
    return true;
}

/* Exactly n digits. */
static bool take_digits(struct cursor *c, int n, int *ret)
{
    int v = 0;
    for (int i = 0; i < n; i++) {
        if (!digit_at(c, i))
            return false;
        v = v * 10 + (c->p[i] - '0');
    }
    c->p += n;
    *ret = v;
    return true;
}

/* ".5" or ",5": Go takes both and drops digits beyond the ninth. */
static void take_fraction(struct cursor *c, int *ret_nanos)
{
    int scale = (int)NSEC_PER_SEC;

    if (c->p == c->end || (*c->p != '.' && *c->p != ',') || !digit_at(c, 1))
        return;
    for (c->p++; digit_at(c, 0); c->p++) {
        scale /= 10;
        *ret_nanos += (*c->p - '0') * scale;
    }
}

/* "Z" or "+hh:mm". Up to 24 hours and 60 minutes, as Go puts it: some people write those. */
static bool take_zone(struct cursor *c, int *ret_seconds)
{
    int hours = 0, minutes = 0;

    *ret_seconds = 0;
    if (take_char(c, 'Z'))
        return true;
    bool west = c->p < c->end && *c->p == '-';
    if (!take_char(c, west ? '-' : '+') || !take_digits(c, 2, &hours) || !take_char(c, ':') ||
        !take_digits(c, 2, &minutes) || hours > 24 || minutes > 60)
        return false;
    *ret_seconds = (hours * 3600 + minutes * 60) * (west ? -1 : 1);
    return true;
}

static bool take_time(struct cursor *c, struct ktime_civil *t, int *ret_offset)
{
    if (!take_digits(c, 4, &t->year) || !take_char(c, '-') || !take_digits(c, 2, &t->month) ||
        !take_char(c, '-') || !take_digits(c, 2, &t->day) || !take_char(c, 'T'))
        return false;
    /* An hour of one digit passes in Go, and so it does here. */
    if (!take_digits(c, digit_at(c, 1) ? 2 : 1, &t->hour) || !take_char(c, ':') ||
        !take_digits(c, 2, &t->minute) || !take_char(c, ':') || !take_digits(c, 2, &t->second))
        return false;
    take_fraction(c, &t->nanos);
    if (!take_zone(c, ret_offset) || c->p != c->end)
        return false;
    return t->month >= 1 && t->month <= 12 && t->day >= 1 &&
           t->day <= days_in_month(t->year, t->month) && t->hour < 24 && t->minute < 60 &&
           t->second < 60;
}

/* Two digits as a number; above 99 when they are not digits. */
static inline int two_digits(const char *s)
{
    unsigned a = (unsigned)(s[0] - '0'), b = (unsigned)(s[1] - '0');
    return a <= 9 && b <= 9 ? (int)(a * 10 + b) : 1000;
}

/* "2026-11-15T18:20:00Z": what nearly every time of an API server looks like. */
static bool plain_utc(const char *s, nsec_t *ret)
{
    int century = two_digits(s), year = two_digits(s + 2), month = two_digits(s + 5);
    int day = two_digits(s + 8), hour = two_digits(s + 11), minute = two_digits(s + 14);
    int second = two_digits(s + 17);

    if (s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] != 'Z')
        return false;
    /* Days 29 to 31 depend on the month, far centuries overflow: the full parser knows. */
    if (century < 17 || century > 21 || year > 99 || month < 1 || month > 12 || day < 1 ||
        day > 28 || hour > 23 || minute > 59 || second > 59)
        return false;
    *ret = (days_from_civil(century * 100 + year, month, day) * SEC_PER_DAY + hour * 3600 +
            minute * 60 + second) *
           NSEC_PER_SEC;
    return true;
}

static int64_t seconds_of(const struct ktime_civil *t, int offset)
{
    return days_from_civil(t->year, t->month, t->day) * SEC_PER_DAY + t->hour * 3600 +
           t->minute * 60 + t->second - offset;
}

int ktime_parse_seconds(const char *s, size_t n, int64_t *ret_seconds, int *ret_nanos)
{
    struct cursor c = cursor_at(s, n);
    struct ktime_civil t = { 0 };
    int offset;

    if (!take_time(&c, &t, &offset))
        return -EINVAL;
    *ret_seconds = seconds_of(&t, offset);
    *ret_nanos = t.nanos;
    return 0;
}

int ktime_parse(const char *s, size_t n, nsec_t *ret, struct kerr *err)
{
    if (n == 20 && plain_utc(s, ret))
        return 0;
    struct cursor c = cursor_at(s, n);
    struct ktime_civil t = { 0 };
    int offset;
    char shown[64];

    if (!take_time(&c, &t, &offset))
        return kerr_set(err, -EINVAL, "time %s is not RFC 3339 (like 2026-11-15T18:20:00Z)",
                        text_quote(shown, sizeof shown, s, n));
    int64_t sec = seconds_of(&t, offset);
    wide total = (wide)sec * NSEC_PER_SEC + t.nanos;
    if (total < INT64_MIN || total > INT64_MAX)
        return kerr_set(err, -ERANGE, "time %s is outside of the years 1677 to 2262",
                        text_quote(shown, sizeof shown, s, n));
    *ret = (nsec_t)total;
    return 0;
}

static char *put_number(char *at, int v, int width)
{
    for (int i = width; i-- > 0; v /= 10)
        at[i] = (char)('0' + v % 10);
    return at + width;
}

/* fraction: a full stop and `digits` digits of v, or nothing when digits is 0. */
static size_t put_time(nsec_t wall, int digits, bool trim, char *buf)
{
    struct ktime_civil t = ktime_civil(wall);
    char *at = put_number(buf, t.year, 4);

    *at++ = '-';
    at = put_number(at, t.month, 2);
    *at++ = '-';
    at = put_number(at, t.day, 2);
    *at++ = 'T';
    at = put_number(at, t.hour, 2);
    *at++ = ':';
    at = put_number(at, t.minute, 2);
    *at++ = ':';
    at = put_number(at, t.second, 2);
    if (digits > 0) {
        *at++ = '.';
        at = put_number(at, digits == 6 ? t.nanos / 1000 : t.nanos, digits);
        while (trim && at[-1] == '0')
            at--;
        if (at[-1] == '.')
            at--;
    }
    *at++ = 'Z';
    *at = '\0';
    return (size_t)(at - buf);
}

size_t ktime_format(nsec_t wall, char buf[KTIME_TEXT_MAX])
{
    return put_time(wall, 0, false, buf);
}

size_t ktime_format_micro(nsec_t wall, char buf[KTIME_TEXT_MAX])
{
    return put_time(wall, 6, false, buf);
}

size_t ktime_format_nano(nsec_t wall, char buf[KTIME_TEXT_MAX])
{
    return put_time(wall, 9, true, buf);
}

/* ---- durations ------------------------------------------------------------------------------- */

#define DUR_LIMIT (UINT64_C(1) << 63) /* the magnitude of the smallest duration */

static const struct {
    struct str name;
    nsec_t ns;
} units[] = {
    { STR("ns"), 1 },
    { STR("us"), NSEC_PER_USEC },
    { STR("\xC2\xB5s"), NSEC_PER_USEC }, /* U+00B5 micro sign */
    { STR("\xCE\xBCs"), NSEC_PER_USEC }, /* U+03BC Greek mu */
    { STR("ms"), NSEC_PER_MSEC },
    { STR("s"), NSEC_PER_SEC },
    { STR("m"), 60 * NSEC_PER_SEC },
    { STR("h"), 3600 * NSEC_PER_SEC },
};

/* The unit at the cursor: everything up to the next digit or point. 0 when it is none. */
static nsec_t take_unit(struct cursor *c)
{
    const char *from = c->p;

    while (c->p < c->end && *c->p != '.' && !digit_at(c, 0))
        c->p++;
    struct str name = { from, (size_t)(c->p - from) };
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_eq(units[i].name, name))
            return units[i].ns;
    return 0;
}

/* The whole part. -ERANGE beyond 2^63. */
static int take_whole(struct cursor *c, uint64_t *v)
{
    for (; digit_at(c, 0); c->p++) {
        if (*v > DUR_LIMIT / 10)
            return -ERANGE;
        *v = *v * 10 + (uint64_t)(*c->p - '0');
        if (*v > DUR_LIMIT)
            return -ERANGE;
    }
    return 0;
}

/* The digits after the point and the power of ten below them; those that no longer fit are cut. */
static uint64_t take_part(struct cursor *c, double *ret_scale)
{
    uint64_t v = 0;
    bool full = false;

    *ret_scale = 1;
    for (; digit_at(c, 0); c->p++) {
        uint64_t next = v * 10 + (uint64_t)(*c->p - '0');
        full |= v > (DUR_LIMIT - 1) / 10 || next > DUR_LIMIT;
        if (full)
            continue;
        v = next;
        *ret_scale *= 10;
    }
    return v;
}

/* "1.5h": one number with its unit, added to *sum. */
static int take_term(struct cursor *c, uint64_t *sum)
{
    uint64_t v = 0, part = 0;
    double scale = 1;
    const char *from = c->p;

    if (take_whole(c, &v) < 0)
        return -ERANGE;
    bool digits = c->p > from;
    if (take_char(c, '.')) {
        from = c->p;
        part = take_part(c, &scale);
        digits |= c->p > from;
    }
    if (!digits)
        return -EINVAL;
    nsec_t unit = take_unit(c);
    if (unit == 0)
        return -EINVAL;
    if (v > DUR_LIMIT / (uint64_t)unit)
        return -ERANGE;
    v *= (uint64_t)unit;
    /* In floating point, in this order, as Go does: the last nanosecond depends on it. */
    if (part > 0)
        v += (uint64_t)((double)part * ((double)unit / scale));
    if (v > DUR_LIMIT)
        return -ERANGE;
    return __builtin_add_overflow(*sum, v, sum) || *sum > DUR_LIMIT ? -ERANGE : 0;
}

int kdur_parse(const char *s, size_t n, nsec_t *ret, struct kerr *err)
{
    struct cursor c = cursor_at(s, n);
    char shown[64];
    uint64_t sum = 0;
    int r = 0;

    bool neg = take_char(&c, '-');
    if (!neg)
        (void)take_char(&c, '+');
    if (c.p == c.end)
        r = -EINVAL;
    else if (c.end - c.p == 1 && *c.p == '0') /* the one number that needs no unit */
        c.p++;
    while (r == 0 && c.p < c.end)
        r = take_term(&c, &sum);
    if (r == 0 && !neg && sum == DUR_LIMIT)
        r = -ERANGE;
    if (r < 0)
        return kerr_set(err, r, r == -ERANGE ? "duration %s is too long" : "invalid duration %s",
                        text_quote(shown, sizeof shown, s, n));
    *ret = (nsec_t)(neg ? 0 - sum : sum);
    return 0;
}

/* v with its point moved `digits` to the left and no zeros after it, from the end of buf down. */
static char *put_scaled(char *at, uint64_t v, int digits)
{
    bool any = false;

    for (int i = 0; i < digits; i++, v /= 10) {
        any |= v % 10 != 0;
        if (any)
            *--at = (char)('0' + v % 10);
    }
    if (any)
        *--at = '.';
    do
        *--at = (char)('0' + v % 10);
    while (v /= 10);
    return at;
}

size_t kdur_format(nsec_t d, char buf[KTIME_TEXT_MAX])
{
    char text[KTIME_TEXT_MAX], *end = text + sizeof text, *at = end;
    uint64_t v = d < 0 ? 0 - (uint64_t)d : (uint64_t)d;

    *--at = 's';
    if (v == 0) {
        *--at = '0';
    } else if (v < NSEC_PER_USEC) {
        *--at = 'n';
        at = put_scaled(at, v, 0);
    } else if (v < NSEC_PER_MSEC) {
        *--at = '\xB5'; /* micro sign, U+00B5 */
        *--at = '\xC2';
        at = put_scaled(at, v, 3);
    } else if (v < NSEC_PER_SEC) {
        *--at = 'm';
        at = put_scaled(at, v, 6);
    } else {
        uint64_t minutes = v / (60 * NSEC_PER_SEC);
        at = put_scaled(at, v % (60 * NSEC_PER_SEC), 9);
        if (minutes > 0) {
            *--at = 'm';
            at = put_scaled(at, minutes % 60, 0);
        }
        if (minutes >= 60) {
            *--at = 'h';
            at = put_scaled(at, minutes / 60, 0);
        }
    }
    if (d < 0)
        *--at = '-';
    size_t n = (size_t)(end - at);
    memcpy(buf, at, n);
    buf[n] = '\0';
    return n;
}
