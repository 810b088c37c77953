/* clock.c - times and durations. */
#include "cel/clock.h"

#include "base/ktime.h"

int cel_time_parse(struct str s, bool date, struct cel_val *ret)
{
    char text[32];
    int64_t seconds;
    int nanos;

    if (date && s.n == 10) {
        memcpy(text, s.p, 10);
        memcpy(text + 10, "T00:00:00Z", 10);
        s = (struct str){ text, 20 };
    }
    if (ktime_parse_seconds(s.p, s.n, &seconds, &nanos) < 0 || seconds < CEL_TIME_MIN ||
        seconds > CEL_TIME_MAX)
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
    uint64_t abs = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    strbuf_appendf(out, "%s%llu", ns < 0 ? "-" : "", (unsigned long long)(abs / 1000000000));
    print_fraction((uint32_t)(abs % 1000000000), out);
    strbuf_appendc(out, 's');
}

struct cel_civil cel_civil(int64_t seconds)
{
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
    struct ktime_civil c = ktime_civil_seconds(seconds);
    bool leap = (c.year % 4 == 0 && c.year % 100 != 0) || c.year % 400 == 0;
    int64_t days = (seconds - (((seconds % 86400) + 86400) % 86400)) / 86400;

    return (struct cel_civil){ .year = c.year,
                               .month = c.month,
                               .day = c.day,
                               .hour = c.hour,
                               .minute = c.minute,
                               .second = c.second,
                               .weekday = (int)(((days + 4) % 7 + 7) % 7),
                               .yearday = before[c.month - 1] + (c.month > 2 && leap) + c.day - 1 };
}

int cel_zone_offset(struct str zone, int64_t *ret)
{
    const char *colon = memchr(zone.p, ':', zone.n);
    int part[2] = { 0, 0 };
    size_t i = 0;

    *ret = 0;
    if (zone.n == 0 || str_eqz(zone, "UTC"))
        return 0;
    if (!colon)
        return -ENOENT;
    bool west = zone.p[0] == '-';
    i += west || zone.p[0] == '+';
    for (int k = 0; k < 2; k++, i++) {
        size_t digits = 0;
        for (; i < zone.n && zone.p[i] >= '0' && zone.p[i] <= '9' && digits < 2; i++, digits++)
            part[k] = part[k] * 10 + (zone.p[i] - '0');
        if (digits == 0 || (k == 0 ? i >= zone.n || zone.p[i] != ':' : i != zone.n))
            return -EINVAL;
    }
    *ret = (part[0] * 3600 + part[1] * 60) * (west ? -1 : 1);
    return 0;
}
