/* job_indexes.c - sets of indexes of a Job. */
#include "cluster/job_indexes.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strbuf.h"

void jranges_add(jrangevec *r, int64_t first, int64_t last)
{
    struct job_range x = { first, last };
    vec_push(r, x);
}

void jranges_add_all(jrangevec *r, const jrangevec *more)
{
    vec_foreach(more, i)
        vec_push(r, more->items[i]);
}

void jranges_parse(jrangevec *r, const char *text, int64_t limit)
{
    while (text && *text) {
        size_t n = strcspn(text, ",");
        const char *dash = memchr(text, '-', n);
        size_t m = dash ? (size_t)(dash - text) : n;
        int64_t from, to;
        if (i64_parse(text, m, &from) == 0 &&
            (dash ? i64_parse(dash + 1, n - m - 1, &to) == 0 : (to = from, true))) {
            from = MAX(from, (int64_t)0), to = MIN(to, limit - 1);
            if (from <= to)
                jranges_add(r, from, to);
        }
        text += n + (text[n] == ',');
    }
}

static int by_first(const void *x, const void *y)
{
    const struct job_range *a = x, *b = y;
    return a->first < b->first ? -1 : a->first > b->first;
}

void jranges_settle(jrangevec *r)
{
    size_t kept = 0;

    if (r->n == 0)
        return;
    qsort(r->items, r->n, sizeof *r->items, by_first);
    for (size_t i = 1; i < r->n; i++) {
        struct job_range *last = &r->items[kept];
        if (r->items[i].first - 1 <= last->last)
            last->last = MAX(last->last, r->items[i].last);
        else
            r->items[++kept] = r->items[i];
    }
    r->n = kept + 1;
}

int64_t jranges_count(const jrangevec *r)
{
    int64_t n = 0;
    vec_foreach(r, i)
        n += r->items[i].last - r->items[i].first + 1;
    return n;
}

int64_t jranges_count_common(const jrangevec *a, const jrangevec *b)
{
    int64_t n = 0;

    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        const struct job_range *x = &a->items[i], *y = &b->items[k];
        n += MAX(MIN(x->last, y->last) - MAX(x->first, y->first) + 1, (int64_t)0);
        if (x->last < y->last)
            i++;
        else
            k++;
    }
    return n;
}

const char *jranges_text(const jrangevec *r, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    vec_foreach(r, i) {
        const struct job_range *x = &r->items[i];
        strbuf_appendf(&out, "%s%lld", i ? "," : "", (long long)x->first);
        if (x->last > x->first)
            strbuf_appendf(&out, "%c%lld", x->last == x->first + 1 ? ',' : '-', (long long)x->last);
    }
    return arena_strdup(a, strbuf_str(&out));
}
