/* strfmt.c - texts of schemas' formats. */
#include "cel/strfmt.h"

#include <ctype.h>
#include <strings.h>

#include "base/b64.h"
#include "base/ktime.h"
#include "cel/re.h"

bool strfmt_whole(const char *pattern, struct str s)
{
    CLEANUP(re_free) struct re *re = NULL;
    CLEANUP(mem_free) char *anchored = xasprintf("^(?:%s)$", pattern);

    return re_new(anchored, strlen(anchored), &re, NULL) == 0 && re_match(re, s.p, s.n);
}

bool strfmt_is_byte(struct str s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    return s.n && s.n % 4 == 0 && !memchr(s.p, '\n', s.n) && !memchr(s.p, '\r', s.n) &&
           b64_decode(s.p, s.n, &b) == 0;
}

bool strfmt_is_uuid(struct str s, char version)
{
    size_t digits = 0;

    for (size_t i = 0; i < s.n; i++) {
        bool group = digits >= 8 && digits <= 20 && digits % 4 == 0;
        if (s.p[i] == '-' && group && s.p[i - 1] != '-')
            continue;
        if (!isxdigit((unsigned char)s.p[i]) || (version && digits == 12 && s.p[i] != version) ||
            (version > '3' && digits == 16 && !memchr("89abAB", s.p[i], 6)))
            return false;
        digits++;
    }
    return digits == 32;
}

/* ---- times --------------------------------------------------------------------------------------- */

bool strfmt_is_date(struct str s)
{
    char text[] = "0000-00-00T00:00:00Z";
    int64_t seconds;
    int nanos;

    if (s.n != 10)
        return false;
    memcpy(text, s.p, 10);
    return ktime_parse_seconds(text, sizeof text - 1, &seconds, &nanos) == 0;
}

static size_t find_t(struct str s, size_t from)
{
    while (from < s.n && s.p[from] != 't' && s.p[from] != 'T')
        from++;
    return from;
}

static bool pair(const char *p, const char *most)
{
    return isdigit((unsigned char)p[0]) && isdigit((unsigned char)p[1]) && memcmp(p, most, 2) <= 0;
}

/* "Z", "z", "+99:99" */
static bool is_offset(struct str s)
{
    if (s.n == 1)
        return *s.p == 'z' || *s.p == 'Z';
    return s.n == 6 && (*s.p == '+' || *s.p == '-') && pair(s.p + 1, "99") && s.p[3] == ':' &&
           pair(s.p + 4, "99");
}

bool strfmt_is_date_time(struct str s)
{
    size_t t = find_t(s, 0);

    if (t == s.n || !strfmt_is_date((struct str){ s.p, t }))
        return false;
    struct str time = { s.p + t + 1, find_t(s, t + 1) - t - 1 };
    if (time.n < 9 || !pair(time.p, "23") || time.p[2] != ':' || !pair(time.p + 3, "59") ||
        time.p[5] != ':' || !pair(time.p + 6, "59"))
        return false;
    struct str rest = { time.p + 8, time.n - 8 };
    if (is_offset(rest))
        return true;
    unsigned char first = (unsigned char)*rest.p; /* any sign, of any length, but no line break */
    size_t i = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4, digits = i;
    while (i < rest.n && isdigit((unsigned char)rest.p[i]))
        i++;
    return first != '\n' && i > digits && is_offset((struct str){ rest.p + i, rest.n - i });
}

/* ---- durations ----------------------------------------------------------------------------------- */

/* What units of this name are worth, in all: 0 for one that is not known. */
static uint64_t unit_ns(struct str name)
{
    /* The last word of a line may go on: "minutes" begins with "min". */
    static const struct {
        const char *words[3];
        uint64_t ns;
    } units[] = {
        { { "ns", "nano" }, 1 },
        { { "us", "\u00b5s", "micro" }, 1000 },
        { { "ms", "milli" }, 1000000 },
        { { "s", "sec" }, NSEC_PER_SEC },
        { { "m", "min" }, UINT64_C(60) * NSEC_PER_SEC },
        { { "h", "hr", "hour" }, UINT64_C(3600) * NSEC_PER_SEC },
        { { "d", "day" }, UINT64_C(86400) * NSEC_PER_SEC },
        { { "w", "wk", "week" }, UINT64_C(604800) * NSEC_PER_SEC },
    };
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        for (size_t k = 0; k < 3 && units[i].words[k]; k++) {
            const char *word = units[i].words[k];
            bool last = k == 2 || !units[i].words[k + 1];
            size_t n = strlen(word);
            if (strncasecmp(name.p, word, MIN(n, name.n)) == 0 &&
                (name.n == n || (last && name.n > n)))
                return units[i].ns;
        }
    }
    return 0;
}

/* How long the sign of a unit at p is; 0: there is none. */
static size_t unit_sign(const char *p, const char *end)
{
    if (p < end && isalpha((unsigned char)*p))
        return 1;
    return end - p >= 2 && memcmp(p, "\u00b5", 2) == 0 ? 2 : 0;
}

int strfmt_duration(struct str s, nsec_t *ret)
{
    const char *end = s.p + s.n;
    uint64_t sum = 0; /* wraps, as upstream's does */
    bool any = false;

    if (kdur_parse(s.p, s.n, ret, NULL) == 0)
        return 0;
    for (const char *p = s.p; p < end;) {
        int64_t amount = 0;
        bool large = false;
        if (!isdigit((unsigned char)*p)) {
            p++;
            continue;
        }
        for (; p < end && isdigit((unsigned char)*p); p++)
            large = large || __builtin_mul_overflow(amount, INT64_C(10), &amount) ||
                    __builtin_add_overflow(amount, (int64_t)(*p - '0'), &amount);
        const char *unit = p;
        while (unit < end && strchr("\t\n\f\r ", *unit) && *unit)
            unit++;
        size_t n = 0, sign;
        while ((sign = unit_sign(unit + n, end)) > 0)
            n += sign;
        if (n == 0)
            continue;
        if (large)
            return -EINVAL;
        uint64_t ns = unit_ns((struct str){ unit, n });
        sum += (uint64_t)amount * ns;
        any = any || ns;
        p = unit + n;
    }
    if (!any)
        return -EINVAL;
    *ret = (nsec_t)sum;
    return 0;
}
