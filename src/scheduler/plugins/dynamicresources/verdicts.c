/* verdicts.c - what searches have found out about nodes. */
#include "scheduler/plugins/dynamicresources/verdicts.h"

#include "base/strbuf.h"

enum { VERDICT_COLUMNS = 16 };

/* What the verdict follows from beside the node: the claims, and what their classes select. */
static void write_key(struct strbuf *key, const struct plan *p)
{
    for (uint32_t c = 0; c < p->n; c++) {
        const struct claim_plan *cp = &p->claims[c];
        kj_encode(&claim_spec_schema, &cp->claim->spec, key);
        for (uint32_t i = 0; i < cp->nwants; i++)
            for (uint32_t k = 0; k < cp->wants[i].n; k++)
                strbuf_appendf(key, " %ju", (uintmax_t)cp->wants[i].asks[k].selection->serial);
        strbuf_appendc(key, '\n');
    }
}

static void empty(struct verdict_column *c, const struct pools *in)
{
    if (c->n)
        memset(c->seen, 0, c->n * sizeof *c->seen);
    c->wide_version = in->wide_version;
    c->wide_taken = in->wide_taken;
}

static void grow(struct verdict_column *c, uint32_t n)
{
    if (n <= c->n)
        return;
    n = MAX(n, c->n * 2);
    c->seen = xrealloc(c->seen, n * sizeof *c->seen);
    c->verdict = xrealloc(c->verdict, n * sizeof *c->verdict);
    c->score = xrealloc(c->score, n * sizeof *c->score);
    memset(c->seen + c->n, 0, (n - c->n) * sizeof *c->seen);
    c->n = n;
}

/* The one of this key, or the one that was used longest ago, emptied. */
static struct verdict_column *find(struct pools *in, const struct strbuf *key)
{
    struct verdict_column *oldest = &in->columns[0];

    for (uint32_t i = 0; i < VERDICT_COLUMNS; i++) {
        struct verdict_column *c = &in->columns[i];
        if (c->key && streq(c->key, strbuf_str(key)))
            return c;
        if (c->used < oldest->used)
            oldest = c;
    }
    free(oldest->key);
    oldest->key = xstrdup(strbuf_str(key));
    oldest->serial = ++in->column_clock;
    empty(oldest, in);
    return oldest;
}

struct verdict_column *verdicts_of(struct pools *in, const struct plan *p)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    if (!in->columns)
        in->columns = xnewn0(VERDICT_COLUMNS, struct verdict_column);
    write_key(&key, p);
    struct verdict_column *c = find(in, &key);
    if (c->wide_version != in->wide_version || c->wide_taken != in->wide_taken)
        empty(c, in);
    grow(c, (uint32_t)in->versions.n);
    c->used = ++in->column_clock;
    return c;
}

void verdicts_free(struct verdict_column *all)
{
    for (uint32_t i = 0; all && i < VERDICT_COLUMNS; i++) {
        free(all[i].key);
        free(all[i].seen);
        free(all[i].verdict);
        free(all[i].score);
    }
    free(all);
}
