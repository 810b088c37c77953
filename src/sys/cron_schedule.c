/* cron_schedule.c - schedules: read once, then asked for their next time. */
#include "sys/cron_schedule.h"

#include <strings.h>

#include "base/ktime.h"
#include "base/num.h"
#include "sys/tzone.h"

enum { DAY = 86400, FIELDS = 5, YEARS_AHEAD = 5 };
/* In the year 9993: what comes after has four digits too. */
#define TIME_MAX INT64_C(253202544000)

/* ---- reading ------------------------------------------------------------------------------- */

struct field {
    int min, max;
    const char *const *names; /* NULL: none; from min on */
};
static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun", "jul",
                                      "aug", "sep", "oct", "nov", "dec", NULL };
static const char *const weekdays[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL };
static const struct field fields[FIELDS] = {
    { 0, 59, NULL }, { 0, 23, NULL }, { 1, 31, NULL }, { 1, 12, months }, { 0, 6, weekdays },
};

/* Cuts the text before the first c; false when there is none: then all of it is the head. */
static bool cut(struct str *rest, char c, struct str *head)
{
    const char *at = rest->n ? memchr(rest->p, c, rest->n) : NULL;

    *head = *rest;
    if (!at) {
        *rest = (struct str){ rest->p + rest->n, 0 };
        return false;
    }
    head->n = (size_t)(at - rest->p);
    *rest = (struct str){ at + 1, rest->n - head->n - 1 };
    return true;
}

static int value(struct str s, const char *const *names, int base, int64_t *ret, struct kerr *err)
{
    for (int i = 0; names && names[i]; i++)
        if (s.n == 3 && strncasecmp(s.p, names[i], 3) == 0) {
            *ret = base + i;
            return 0;
        }
    if (i64_parse(s.p, s.n, ret) < 0)
        return kerr_set(err, -EINVAL, "failed to parse int from %.*s", (int)MIN(s.n, (size_t)64),
                        s.p);
    if (*ret < 0)
        return kerr_set(err, -EINVAL, "negative number (%lld) not allowed", (long long)*ret);
    return 0;
}

/* One entry of a list: "*", "5", "1-5", "1-5/2". Adds its bits. */
static int range_parse(struct str text, const struct field *f, uint64_t *bits, bool *any,
                       struct kerr *err)
{
    struct str rest = text, range, low, high, step_text;
    int64_t from = f->min, to = f->max, step = 1;
    int shown = (int)MIN(text.n, (size_t)64);

    bool stepped = cut(&rest, '/', &range);
    if (cut(&rest, '/', &step_text))
        return kerr_set(err, -EINVAL, "too many slashes: %.*s", shown, text.p);
    bool ranged = cut(&range, '-', &low);
    bool more = cut(&range, '-', &high);
    bool star = str_eqz(low, "*") || str_eqz(low, "?"); /* whatever stands behind a hyphen */
    if (!star && more)
        return kerr_set(err, -EINVAL, "too many hyphens: %.*s", shown, text.p);
    if (!star && value(low, f->names, f->min, &from, err) < 0)
        return err->code;
    if (!star && ranged && value(high, f->names, f->min, &to, err) < 0)
        return err->code;
    if (!star && !ranged && !stepped)
        to = from;
    if (stepped && value(step_text, NULL, 0, &step, err) < 0)
        return err->code;
    if (from < f->min)
        return kerr_set(err, -EINVAL, "beginning of range (%lld) below minimum (%d): %.*s",
                        (long long)from, f->min, shown, text.p);
    if (to > f->max)
        return kerr_set(err, -EINVAL, "end of range (%lld) above maximum (%d): %.*s", (long long)to,
                        f->max, shown, text.p);
    if (from > to)
        return kerr_set(err, -EINVAL, "beginning of range (%lld) beyond end of range (%lld): %.*s",
                        (long long)from, (long long)to, shown, text.p);
    if (step == 0)
        return kerr_set(err, -EINVAL, "step of range should be a positive number: %.*s", shown,
                        text.p);
    for (int64_t i = from; i <= to; i += MIN(step, (int64_t)64))
        *bits |= UINT64_C(1) << i;
    *any = *any || (star && step == 1);
    return 0;
}

static int field_parse(struct str text, const struct field *f, uint64_t *bits, bool *any,
                       struct kerr *err)
{
    struct str entry;
    int r = 0;

    for (bool more = true; more && r == 0;) {
        more = cut(&text, ',', &entry);
        if (entry.n) /* empty ones say nothing */
            r = range_parse(entry, f, bits, any, err);
    }
    return r;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int fields_parse(const char *text, struct cron_schedule *s, struct kerr *err)
{
    uint64_t *bits[FIELDS] = { &s->minute, &s->hour, &s->dom, &s->month, &s->dow };
    bool ignored = false, *any[FIELDS] = { &ignored, &ignored, &s->any_dom, &ignored, &s->any_dow };
    struct str words[FIELDS];
    size_t n = 0;

    for (const char *p = text; *p; n++) {
        while (is_blank(*p))
            p++;
        const char *from = p;
        while (*p && !is_blank(*p))
            p++;
        if (p == from)
            break;
        if (n < FIELDS)
            words[n] = (struct str){ from, (size_t)(p - from) };
    }
    if (n != FIELDS)
        return kerr_set(err, -EINVAL, "expected exactly %d fields, found %zu: [%.64s]", FIELDS, n,
                        text);
    for (size_t i = 0; i < FIELDS; i++)
        if (field_parse(words[i], &fields[i], bits[i], any[i], err) < 0)
            return err->code;
    return 0;
}

static int word_parse(const char *text, struct cron_schedule *s, struct kerr *err)
{
    static const char *const words[][2] = {
        { "@yearly", "0 0 1 1 *" }, { "@annually", "0 0 1 1 *" }, { "@monthly", "0 0 1 * *" },
        { "@weekly", "0 0 * * 0" }, { "@daily", "0 0 * * *" },    { "@midnight", "0 0 * * *" },
        { "@hourly", "0 * * * *" },
    };
    nsec_t every;

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (streq(text, words[i][0]))
            return fields_parse(words[i][1], s, err);
    if (!str_starts(text, "@every "))
        return kerr_set(err, -EINVAL, "unrecognized descriptor: %.64s", text);
    const char *d = text + strlen("@every ");
    if (kdur_parse(d, strlen(d), &every, err) < 0)
        return kerr_wrap(err, "failed to parse duration %.64s", text);
    s->every = MAX(every / NSEC_PER_SEC, (int64_t)1);
    return 0;
}

int cron_parse(const char *text, struct cron_schedule *ret, struct kerr *err)
{
    struct cron_schedule s = { 0 };
    int r;

    if (!*text)
        return kerr_set(err, -EINVAL, "empty spec string");
    if (str_starts(text, "TZ=") || str_starts(text, "CRON_TZ="))
        return kerr_set(err, -EINVAL, "a time zone is set by timeZone, not in the schedule");
    r = *text == '@' ? word_parse(text, &s, err) : fields_parse(text, &s, err);
    if (r == 0)
        *ret = s;
    return r;
}

/* ---- asking -------------------------------------------------------------------------------- */

static bool has(uint64_t bits, int i)
{
    return bits >> i & 1;
}

static bool day_matches(const struct cron_schedule *s, int64_t day, int of_month)
{
    bool dom = has(s->dom, of_month), dow = has(s->dow, (int)(((day + 4) % 7 + 7) % 7));
    return s->any_dom || s->any_dow ? dom && dow : dom || dow;
}

/* Local times are seconds too, as if the place were at UTC. The time itself when it matches, else
 * the first one that could, as far as the first field that does not match can tell. */
static int64_t local_next(const struct cron_schedule *s, int64_t local, struct ktime_civil c)
{
    int64_t day = tzone_days(c.year, c.month, c.day);
    int64_t minute = local - c.second;

    if (!has(s->month, c.month))
        return tzone_days(c.year, c.month + 1, 1) * DAY;
    if (!day_matches(s, day, c.day))
        return (day + 1) * DAY;
    if (!has(s->hour, c.hour))
        return minute + (60 - c.minute) * INT64_C(60);
    return has(s->minute, c.minute) && c.second == 0 ? local : minute + 60;
}

bool cron_next(const struct cron_schedule *s, const struct tzone *z, int64_t after, int64_t *ret)
{
    int last_year = 0;

    if (after < 0 || after > TIME_MAX || (s->every && s->every > TIME_MAX - after))
        return false;
    if (s->every) {
        *ret = after + s->every;
        return true;
    }
    for (int64_t t = after + 1;;) {
        int64_t until, local = t + tzone_offset(z, t, &until);
        struct ktime_civil c = ktime_civil_seconds(local);
        if (!last_year)
            last_year = c.year + YEARS_AHEAD;
        if (c.year > last_year)
            return false;
        int64_t next = local_next(s, local, c);
        if (next == local) {
            *ret = t;
            return true;
        }
        t = MIN(t + (next - local), until); /* clocks change there: look again */
    }
}

bool cron_latest(const struct cron_schedule *s, const struct tzone *z, int64_t after, int64_t now,
                 int64_t *ret)
{
    int64_t low = after, high = now, t;

    if (!cron_next(s, z, after, &t) || t > now)
        return false;
    if (s->every) {
        *ret = now - (now - after) % s->every;
        return true;
    }
    /* From low on there is a time until now, from high on there is none. */
    while (high - low > 1) {
        int64_t mid = low + (high - low) / 2;
        if (cron_next(s, z, mid, &t) && t <= now)
            low = mid;
        else
            high = mid;
    }
    *ret = high;
    return true;
}

unsigned cron_count(const struct cron_schedule *s, const struct tzone *z, int64_t after,
                    int64_t now, unsigned max)
{
    unsigned n = 0;

    for (int64_t t = after; n < max && cron_next(s, z, t, &t) && t <= now;)
        n++;
    return n;
}
