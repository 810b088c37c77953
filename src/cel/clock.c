/* clock.c - times and durations. */
#include "cel/clock.h"

#include <stdio.h>

#include "base/ktime.h"

int cel_time_parse(struct str s, bool document, struct cel_val *ret)
{
    char text[32];
    int64_t seconds;
    int nanos;

    if (document && s.n == 10) {
        memcpy(text, s.p, 10);
        memcpy(text + 10, "T00:00:00Z", 10);
        s = (struct str){ text, 20 };
    }
    if (ktime_parse_seconds(s.p, s.n, &seconds, &nanos) < 0)
        return -EINVAL;
    if (!document && (seconds < CEL_TIME_MIN || seconds > CEL_TIME_MAX))
        return -EINVAL;
    *ret = (struct cel_val){ .kind = CK_TIMESTAMP, .i = seconds, .n = (uint32_t)nanos };
    const char *sign = s.n > 6 ? s.p + s.n - 6 : "";
    if (*sign == '+' || *sign == '-') {
        int minutes =
            (sign[1] - '0') * 600 + (sign[2] - '0') * 60 + (sign[4] - '0') * 10 + (sign[5] - '0');
        ret->zone = (int16_t)(*sign == '-' ? -minutes : minutes);
    }
    return 0;
}

int cel_duration_parse(struct str s, nsec_t *ret)
{
    return kdur_parse(s.p, s.n, ret, NULL);
}

static void print_fraction(uint32_t nanos, struct strbuf *out)
{
    char digits[10];

    if (!nanos)
        return;
    for (int i = 8; i >= 0; i--, nanos /= 10)
        digits[i] = (char)('0' + nanos % 10);
    size_t n = 9;
    while (digits[n - 1] == '0')
        n--;
    strbuf_appendc(out, '.');
    strbuf_appendn(out, digits, n);
}

void cel_time_print(struct cel_val t, struct strbuf *out)
{
    struct ktime_civil c = ktime_civil_seconds(t.i + t.zone * 60);
    int off = t.zone < 0 ? -t.zone : t.zone;

    strbuf_appendf(out, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute,
                   c.second);
    print_fraction(t.n, out);
    if (t.zone)
        strbuf_appendf(out, "%c%02d:%02d", t.zone < 0 ? '-' : '+', off / 60, off % 60);
    else
        strbuf_appendc(out, 'Z');
}

void cel_duration_print(int64_t ns, struct strbuf *out)
{
    /* Upstream prints the double of the seconds, with as many digits as tell it. */
    double seconds = (double)(ns / 1000000000) + (double)(ns % 1000000000) / 1e9;
    char text[64];

    for (int digits = 0; digits < 32; digits++) {
        (void)snprintf(text, sizeof text, "%.*f", digits, seconds);
        if (strtod(text, NULL) == seconds)
            break;
    }
    strbuf_appendf(out, "%ss", text);
}

struct cel_civil cel_civil(int64_t seconds)
{
    const int64_t cycle =
        INT64_C(146097) * 86400; /* 400 years: offsets may lead before the year 1 */
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
    struct ktime_civil c = ktime_civil_seconds(seconds + cycle);
    bool leap = (c.year % 4 == 0 && c.year % 100 != 0) || c.year % 400 == 0;
    int64_t days = (seconds - (((seconds % 86400) + 86400) % 86400)) / 86400;

    return (struct cel_civil){ .year = c.year - 400,
                               .month = c.month,
                               .day = c.day,
                               .hour = c.hour,
                               .minute = c.minute,
                               .second = c.second,
                               .weekday = (int)(((days + 4) % 7 + 7) % 7),
                               .yearday = before[c.month - 1] + (c.month > 2 && leap) + c.day - 1 };
}

/* A whole number with its sign. */
static int read_number(struct str s, int64_t *ret)
{
    bool negative = s.n && s.p[0] == '-';
    size_t i = negative || (s.n && s.p[0] == '+');
    int64_t n = 0;
    bool large = false;

    if (i == s.n)
        return -EINVAL;
    for (; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return -EINVAL;
        large =
            large || __builtin_mul_overflow(n, (int64_t)10, &n) ||
            __builtin_sub_overflow(n, (int64_t)(s.p[i] - '0'), &n); /* below zero: room for all */
    }
    if (large || (!negative && n == INT64_MIN))
        return -ERANGE;
    *ret = negative ? n : -n;
    return 0;
}

int cel_zone_offset(struct str zone, int64_t *ret, struct str *ret_bad)
{
    const char *colon = zone.n ? memchr(zone.p, ':', zone.n) : NULL;
    int64_t hours = 0, minutes = 0;

    if (!colon)
        return -ENOENT;
    *ret_bad = (struct str){ zone.p, (size_t)(colon - zone.p) };
    int e = read_number(*ret_bad, &hours);
    if (e < 0)
        return e;
    *ret_bad = (struct str){ colon + 1, zone.n - ret_bad->n - 1 };
    e = read_number(*ret_bad, &minutes);
    if (e < 0)
        return e;
    /* As many minutes as wrap in nanoseconds of 64 bits wrap upstream too. */
    uint64_t all = (uint64_t)hours * 60;
    all = zone.p[0] == '-' ? all - (uint64_t)minutes : all + (uint64_t)minutes;
    *ret = (int64_t)(all * UINT64_C(60000000000)) / 1000000000;
    return 0;
}
