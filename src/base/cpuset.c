/* cpuset.c - the kernel's CPU lists. */
#include "base/cpuset.h"

#include "base/strbuf.h"

enum { WORDS = CPUSET_MAX / 64 };

struct cursor {
    const char *p, *end;
};

static struct cursor cursor_at(const char *s, size_t n)
{
    const char *p = n ? s : ""; /* no text may well be NULL */
    return (struct cursor){ p, p + n };
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* One CPU number at the cursor: 0, -EINVAL when there is none, -ERANGE when it is too large. */
static int cpu_parse(struct cursor *c, unsigned *ret)
{
    const char *from = c->p;
    unsigned v = 0;

    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++)
        v = MIN(v * 10 + (unsigned)(*c->p - '0'), (unsigned)CPUSET_MAX);
    if (c->p == from)
        return -EINVAL;
    if (v >= CPUSET_MAX)
        return -ERANGE;
    *ret = v;
    return 0;
}

/* "a" or "a-b" at the cursor; there is nothing from 3 to 1. */
static int range_parse(struct cursor *c, struct cpuset *set)
{
    unsigned lo = 0, hi = 0;
    int r = cpu_parse(c, &lo);

    if (r < 0)
        return r;
    hi = lo;
    if (c->p < c->end && *c->p == '-') {
        c->p++;
        r = cpu_parse(c, &hi);
        if (r < 0)
            return r;
    }
    for (unsigned cpu = lo; cpu <= hi; cpu++)
        cpuset_add(set, cpu);
    return 0;
}

int cpuset_parse(const char *s, size_t n, struct cpuset *ret, struct kerr *err)
{
    struct cursor c = cursor_at(s, n);
    struct cpuset set = { 0 };
    char shown[96];
    int r = 0;

    while (c.p < c.end && is_blank(*c.p))
        c.p++;
    while (c.p < c.end && is_blank(c.end[-1]))
        c.end--;
    while (c.p < c.end) {
        r = range_parse(&c, &set);
        if (r < 0 || c.p == c.end)
            break;
        r = -EINVAL; /* unless a comma and another range follow */
        if (*c.p++ != ',')
            break;
    }
    if (r == -ERANGE)
        return kerr_set(err, r, "cpu list %s: CPU numbers end at %d",
                        text_quote(shown, sizeof shown, s, n), CPUSET_MAX - 1);
    if (r < 0)
        return kerr_set(err, r, "cpu list %s: want numbers and ranges like 0-3,8",
                        text_quote(shown, sizeof shown, s, n));
    *ret = set;
    return 0;
}

/* The last CPU of the run of members that starts at cpu. */
static int run_end(const struct cpuset *c, int cpu)
{
    while (cpuset_has(c, (unsigned)cpu + 1))
        cpu++;
    return cpu;
}

const char *cpuset_format(const struct cpuset *c, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (int lo = cpuset_next(c, 0); lo >= 0;) {
        int hi = run_end(c, lo);
        if (b.len > 0)
            strbuf_appendc(&b, ',');
        strbuf_append_i64(&b, lo);
        if (hi > lo) {
            strbuf_appendc(&b, '-');
            strbuf_append_i64(&b, hi);
        }
        lo = cpuset_next(c, hi + 1);
    }
    return arena_strndup(a, strbuf_str(&b), b.len);
}

unsigned cpuset_count(const struct cpuset *c)
{
    unsigned n = 0;
    for (size_t i = 0; i < WORDS; i++)
        n += (unsigned)__builtin_popcountll(c->w[i]);
    return n;
}

bool cpuset_is_empty(const struct cpuset *c)
{
    uint64_t any = 0;
    for (size_t i = 0; i < WORDS; i++)
        any |= c->w[i];
    return any == 0;
}

int cpuset_next(const struct cpuset *c, int from)
{
    if (from < 0)
        from = 0;
    if (from >= CPUSET_MAX)
        return -1;
    size_t i = (size_t)from / 64;
    uint64_t bits = c->w[i] & (~UINT64_C(0) << (from % 64));
    while (bits == 0) {
        if (++i == WORDS)
            return -1;
        bits = c->w[i];
    }
    return (int)(i * 64) + __builtin_ctzll(bits);
}

struct cpuset cpuset_union(const struct cpuset *a, const struct cpuset *b)
{
    struct cpuset r;
    for (size_t i = 0; i < WORDS; i++)
        r.w[i] = a->w[i] | b->w[i];
    return r;
}

struct cpuset cpuset_intersect(const struct cpuset *a, const struct cpuset *b)
{
    struct cpuset r;
    for (size_t i = 0; i < WORDS; i++)
        r.w[i] = a->w[i] & b->w[i];
    return r;
}

struct cpuset cpuset_minus(const struct cpuset *a, const struct cpuset *b)
{
    struct cpuset r;
    for (size_t i = 0; i < WORDS; i++)
        r.w[i] = a->w[i] & ~b->w[i];
    return r;
}

bool cpuset_equal(const struct cpuset *a, const struct cpuset *b)
{
    return memcmp(a->w, b->w, sizeof a->w) == 0;
}

bool cpuset_subset(const struct cpuset *inner, const struct cpuset *outer)
{
    uint64_t outside = 0;
    for (size_t i = 0; i < WORDS; i++)
        outside |= inner->w[i] & ~outer->w[i];
    return outside == 0;
}
