/* tzone.c - TZif files: a table of changes, then a rule for all years behind it. */
#include "sys/tzone.h"

#include <pthread.h>
#include <stdio.h>

#include "base/ktime.h"
#include "base/strbuf.h"
#include "sys/file.h"

enum { DAY = 86400, FILE_MAX = 1 << 18, CHANGES_MAX = 1 << 14 };

struct tzday { /* a day of the year on which clocks change */
    enum { TZDAY_WEEKDAY, TZDAY_JULIAN, TZDAY_PLAIN } how;
    int month, week, day; /* JULIAN: 1..365 without Feb 29; PLAIN: 0..365 */
    int64_t time;         /* seconds after local midnight; may be negative */
};
struct tzrule {
    bool known, has_dst;
    int64_t std, dst; /* ahead of UTC */
    struct tzday start, end;
};
struct tzone {
    size_t n;
    int64_t *at;     /* when it changes, ascending */
    int32_t *offset; /* from then on */
    int32_t before;  /* the first change */
    struct tzrule rule;
};

/* ---- the calendar -------------------------------------------------------------------------- */

int64_t tzone_days(int64_t year, int month, int day)
{
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };

    if (month > 12) {
        year += (month - 1) / 12;
        month = (month - 1) % 12 + 1;
    }
    int64_t y = month > 2 ? year : year - 1; /* of the last leap day that may count */
    int64_t leaps = y / 4 - y / 100 + y / 400;
    return (year - 1970) * 365 + leaps - 477 + before[month - 1] + day - 1;
}

static bool is_leap(int64_t y)
{
    return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
}

/* The day's number in a year, as days since 1970. */
static int64_t day_in(const struct tzday *d, int64_t year)
{
    if (d->how == TZDAY_PLAIN)
        return tzone_days(year, 1, 1) + d->day;
    if (d->how == TZDAY_JULIAN)
        return tzone_days(year, 1, 1) + d->day - 1 + (is_leap(year) && d->day > 59);
    int64_t first = tzone_days(year, d->month, 1), next = tzone_days(year, d->month + 1, 1);
    int64_t weekday = ((first + 4) % 7 + 7) % 7;
    int64_t day = first + (d->day - weekday + 7) % 7 + (d->week - 1) * INT64_C(7);
    return day >= next ? day - 7 : day; /* week 5: the last */
}

/* ---- the rule behind the table: a POSIX TZ text ---------------------------------------------- */

struct reader {
    const char *p, *end;
    bool bad;
};

static bool accept(struct reader *r, char c)
{
    if (r->p >= r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

static int number(struct reader *r, int low, int high)
{
    int n = 0, digits = 0;

    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9' && digits < 4; r->p++, digits++)
        n = n * 10 + (*r->p - '0');
    if (digits == 0 || n < low || n > high)
        r->bad = true;
    return r->bad ? low : n;
}

/* [+-]h[:m[:s]] */
static int64_t clock_time(struct reader *r)
{
    bool negative = accept(r, '-');
    if (!negative)
        (void)accept(r, '+');
    int64_t t = number(r, 0, 167) * INT64_C(3600);
    if (accept(r, ':')) {
        t += number(r, 0, 59) * INT64_C(60);
        if (accept(r, ':'))
            t += number(r, 0, 59);
    }
    return negative ? -t : t;
}

static void skip_name(struct reader *r)
{
    const char *from = r->p;

    if (accept(r, '<')) {
        while (r->p < r->end && *r->p != '>')
            r->p++;
        r->bad = r->bad || !accept(r, '>');
        return;
    }
    while (r->p < r->end && ((*r->p >= 'A' && *r->p <= 'Z') || (*r->p >= 'a' && *r->p <= 'z')))
        r->p++;
    r->bad = r->bad || r->p - from < 3;
}

static struct tzday change_day(struct reader *r)
{
    struct tzday d = { .time = INT64_C(2) * 3600 };

    r->bad = r->bad || !accept(r, ',');
    if (accept(r, 'M')) {
        d.month = number(r, 1, 12);
        r->bad = r->bad || !accept(r, '.');
        d.week = number(r, 1, 5);
        r->bad = r->bad || !accept(r, '.');
        d.day = number(r, 0, 6);
    } else if (accept(r, 'J')) {
        d.how = TZDAY_JULIAN;
        d.day = number(r, 1, 365);
    } else {
        d.how = TZDAY_PLAIN;
        d.day = number(r, 0, 365);
    }
    if (accept(r, '/'))
        d.time = clock_time(r);
    return d;
}

/* "CET-1CEST,M3.5.0,M10.5.0/3": offsets there count to the west. Empty: no rule. */
static bool rule_parse(const char *s, size_t n, struct tzrule *ret)
{
    struct reader r = { s, s + n, false };

    *ret = (struct tzrule){ 0 };
    if (n == 0)
        return true;
    skip_name(&r);
    ret->std = ret->dst = -clock_time(&r);
    ret->known = true;
    if (r.p < r.end && !r.bad) {
        ret->has_dst = true;
        skip_name(&r);
        ret->dst = r.p < r.end && *r.p != ',' ? -clock_time(&r) : ret->std + 3600;
        ret->start = change_day(&r);
        ret->end = change_day(&r);
    }
    return !r.bad && r.p == r.end;
}

struct tzchange {
    int64_t at, offset;
};

static int64_t rule_offset(const struct tzrule *r, int64_t t, int64_t *ret_until)
{
    struct tzchange all[6];
    size_t n = 0;

    *ret_until = INT64_MAX;
    if (!r->has_dst)
        return r->std;
    /* The year's changes and those around it, in the order of time. */
    int64_t year = ktime_civil_seconds(t).year;
    for (int64_t y = year - 1; y <= year + 1; y++) {
        struct tzchange two[] = { { day_in(&r->start, y) * DAY + r->start.time - r->std, r->dst },
                                  { day_in(&r->end, y) * DAY + r->end.time - r->dst, r->std } };
        for (size_t i = 0; i < 2; i++) {
            size_t k = n++;
            for (; k > 0 && all[k - 1].at > two[i].at; k--)
                all[k] = all[k - 1];
            all[k] = two[i];
        }
    }
    size_t i = 0;
    while (i < n && all[i].at <= t)
        i++;
    if (i < n)
        *ret_until = all[i].at;
    return i > 0 ? all[i - 1].offset : r->std;
}

/* ---- the file ------------------------------------------------------------------------------ */

static int64_t big_endian(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return n == 4 ? (int64_t)(int32_t)v : (int64_t)v;
}

struct head { /* the six counters of a block */
    int64_t isut, isstd, leap, time, type, chars;
};
enum { HEAD = 44 };

static bool head_read(const unsigned char *p, size_t n, struct head *h)
{
    if (n < HEAD || memcmp(p, "TZif", 4) != 0)
        return false;
    int64_t *to[] = { &h->isut, &h->isstd, &h->leap, &h->time, &h->type, &h->chars };
    for (size_t i = 0; i < ARRAY_LEN(to); i++) {
        *to[i] = big_endian(p + 20 + 4 * i, 4);
        if (*to[i] < 0 || *to[i] > CHANGES_MAX)
            return false;
    }
    return h->type > 0;
}

static size_t block_size(const struct head *h, size_t width)
{
    return (size_t)(h->time * (int64_t)(width + 1) + h->type * 6 + h->chars +
                    h->leap * (int64_t)(width + 4) + h->isstd + h->isut);
}

static bool block_read(const unsigned char *p, const struct head *h, struct tzone *z)
{
    const unsigned char *kinds = p + 8 * h->time, *types = kinds + h->time;

    z->n = (size_t)h->time;
    z->at = xcalloc(z->n + 1, sizeof *z->at);
    z->offset = xcalloc(z->n + 1, sizeof *z->offset);
    z->before = (int32_t)big_endian(types, 4);
    for (size_t i = 0; i < z->n; i++) {
        if (kinds[i] >= h->type)
            return false;
        z->at[i] = big_endian(p + 8 * i, 8);
        z->offset[i] = (int32_t)big_endian(types + 6 * kinds[i], 4);
        if ((i > 0 && z->at[i] <= z->at[i - 1]) || abs(z->offset[i]) > 2 * DAY)
            return false;
    }
    return abs(z->before) <= 2 * DAY;
}

struct tzone *tzone_parse(const void *data, size_t n, struct kerr *err)
{
    CLEANUP(tzone_free) struct tzone *z = xnew0(struct tzone);
    const unsigned char *p = data, *end = p + n;
    struct head h;

    /* The first block has 32 bits for times; all that it says is said again by the second. */
    bool good = head_read(p, n, &h) && p[4] >= '2' && block_size(&h, 4) <= n - HEAD;
    if (good) {
        p += HEAD + block_size(&h, 4);
        good = head_read(p, (size_t)(end - p), &h) &&
               block_size(&h, 8) <= (size_t)(end - p) - HEAD && block_read(p + HEAD, &h, z);
    }
    if (good) {
        p += HEAD + block_size(&h, 8);
        const unsigned char *rule = p + 1;
        const unsigned char *stop =
            p < end && *p == '\n' && rule < end ? memchr(rule, '\n', (size_t)(end - rule)) : NULL;
        good = stop && rule_parse((const char *)rule, (size_t)(stop - rule), &z->rule);
    }
    if (!good) {
        (void)kerr_set(err, -EINVAL, "not a time zone file");
        return NULL;
    }
    return take(z);
}

struct tzone *tzone_free(struct tzone *z)
{
    if (z) {
        free(z->at);
        free(z->offset);
        free(z);
    }
    return NULL;
}

/* As an IANA name may look; so nothing outside the directory is read. */
static bool is_zone_name(const char *name)
{
    bool letter_next = true;

    for (const char *p = name; *p; p++) {
        bool letter = (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z');
        if (letter_next && !letter)
            return false;
        letter_next = *p == '/';
        if (!letter && !(*p >= '0' && *p <= '9') && !strchr("/_+-", *p))
            return false;
    }
    return !letter_next && strlen(name) < 64;
}

int tzone_open(const char *name, struct tzone **ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT, data = STRBUF_INIT;

    if (!*name || streq(name, "UTC") || streq(name, "Etc/UTC")) {
        *ret = xnew0(struct tzone);
        return 0;
    }
    strbuf_appendf(&path, "/usr/share/zoneinfo/%s", name);
    if (!is_zone_name(name) || file_read_all(AT_FDCWD, path.data, FILE_MAX, &data, err) < 0)
        return kerr_set(err, -ENOENT, "unknown time zone %s", name);
    struct tzone *z = tzone_parse(data.data, data.len, err);
    if (!z)
        return kerr_wrap(err, "unknown time zone %s", name);
    *ret = z;
    return 0;
}

/* ---- asking -------------------------------------------------------------------------------- */

int64_t tzone_offset(const struct tzone *z, int64_t t, int64_t *ret_until)
{
    size_t low = 0, high = z ? z->n : 0; /* how many changes lie at t or before */

    *ret_until = INT64_MAX;
    if (!z)
        return 0;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (z->at[mid] <= t)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == z->n && z->rule.known)
        return rule_offset(&z->rule, t, ret_until);
    if (low < z->n)
        *ret_until = z->at[low];
    return low > 0 ? z->offset[low - 1] : z->before;
}

/* There are about 600 names, each at most three times. */
enum { KEPT_MAX = 2048 };
struct kept {
    struct kept *next;
    const struct tzone *zone;
    char name[];
};

static const struct tzone *kept_get(struct str name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct kept *all;
    static unsigned count;
    char text[64];
    struct tzone *z = NULL;

    if (name.n >= sizeof text || memchr(name.p, 0, name.n))
        return NULL;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    (void)pthread_mutex_lock(&lock);
    struct kept *k = all;
    while (k && !streq(k->name, text))
        k = k->next;
    if (!k && count < KEPT_MAX && tzone_open(text, &z, NULL) == 0) {
        k = xmalloc(sizeof *k + name.n + 1);
        *k = (struct kept){ .next = all, .zone = z };
        memcpy(k->name, text, name.n + 1);
        all = k;
        count++;
    }
    (void)pthread_mutex_unlock(&lock);
    return k ? k->zone : NULL;
}

int tzone_offset_of(struct str name, int64_t t, int64_t *ret)
{
    int64_t until;
    const struct tzone *z = kept_get(name);

    if (!z)
        return -ENOENT;
    *ret = tzone_offset(z, t, &until);
    return 0;
}

void tzone_format(const struct tzone *z, int64_t t, char buf[TZONE_TEXT_MAX])
{
    int64_t until, offset = tzone_offset(z, t, &until), minutes = labs(offset) / 60;
    struct ktime_civil c = ktime_civil_seconds(t + offset);
    int n = snprintf(buf, TZONE_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day,
                     c.hour, c.minute, c.second);

    if (offset == 0)
        (void)snprintf(buf + n, (size_t)(TZONE_TEXT_MAX - n), "Z");
    else
        (void)snprintf(buf + n, (size_t)(TZONE_TEXT_MAX - n), "%c%02d:%02d", offset < 0 ? '-' : '+',
                       (int)(minutes / 60 % 100), (int)(minutes % 60));
}
