/* sums.c - requests, use and guarantees on their way up the tree (sched-quota 4). */
#include "quota/forest_int.h"

struct quota_delta { /* only columns in `keys` mean something */
    uint64_t keys;
    uint64_t seen[SEENS];
    struct {
        int64_t request, np_request, used, np_used, guaranteed;
    } at[QUOTA_COLUMNS_MAX];
};

static const enum quota_field seen_field[SEENS] = { QUOTA_CHILD_REQUEST, QUOTA_NP_REQUEST,
                                                    QUOTA_USED, QUOTA_NP_USED };
static const enum quota_field self_field[SEENS] = { QUOTA_SELF_REQUEST, QUOTA_SELF_NP_REQUEST,
                                                    QUOTA_SELF_USED, QUOTA_SELF_NP_USED };

/* What follows from the sums of one column. */
static void derive(const struct quota_forest *f, const struct quota *q, uint64_t column)
{
    int64_t *v = quota_cell(q, column);
    bool keeps_min = q->sort == QUOTA_PLAIN && !q->lends;

    v[QUOTA_REQUEST] = v[QUOTA_CHILD_REQUEST];
    if (keeps_min)
        v[QUOTA_REQUEST] = MAX(v[QUOTA_REQUEST], v[QUOTA_MIN]);
    if (f->options.guarantee)
        v[QUOTA_GUARANTEED] = MAX(v[QUOTA_ALLOCATED], v[QUOTA_MIN]);
}

/* ---- sums that do not fit -------------------------------------------------------------------- */

static int64_t clamp(__int128 sum)
{
    return sum > QUOTA_AMOUNT_MAX ? QUOTA_AMOUNT_MAX : (int64_t)sum;
}

static void recount_child(const struct quota *child, uint64_t column, __int128 *sum)
{
    sum[SEEN_REQUEST] += quota_limited(child, column);
    for (int k = SEEN_NP_REQUEST; k < SEENS; k++)
        sum[k] += quota_cell(child, column)[seen_field[k]];
}

/* Sums that were cut cannot be counted down again: they are made anew. Only absurd amounts come
 * here. */
static void recount(struct quota_forest *f, struct quota *q, uint64_t column)
{
    __int128 sum[SEENS] = { 0 }, self[SEENS];
    int64_t *v = quota_cell(q, column);

    for (uint32_t id = q->pods; id; id = podtable_at(&f->pods, id)->next) {
        const struct podrec *r = podtable_at(&f->pods, id);
        int64_t amount = q->max_keys >> column & 1 ? r->amount[column] : 0;
        sum[SEEN_REQUEST] += amount;
        sum[SEEN_NP_REQUEST] += r->preemptible ? 0 : amount;
        sum[SEEN_USED] += r->assigned ? amount : 0;
        sum[SEEN_NP_USED] += r->assigned && !r->preemptible ? amount : 0;
    }
    memcpy(self, sum, sizeof self);
    for (uint32_t i = 0; i < q->nchildren; i++)
        recount_child(q->children[i], column, sum);
    if (q == f->tree->root) {
        recount_child(f->def, column, sum);
        recount_child(f->system, column, sum);
    }
    q->overflowed &= ~(UINT64_C(1) << column);
    for (int k = 0; k < SEENS; k++) {
        v[seen_field[k]] = clamp(sum[k]);
        v[self_field[k]] = clamp(self[k]);
        q->overflowed |= (uint64_t)(sum[k] > QUOTA_AMOUNT_MAX) << column;
    }
}

/* ---- up the tree ----------------------------------------------------------------------------- */

/* One column of one quota; d becomes what its parent hears. true: the siblings' shares change. */
static bool add_column(struct quota_forest *f, struct quota *q, struct quota_delta *d, uint64_t c)
{
    int64_t *v = quota_cell(q, c);
    int64_t limited = quota_limited(q, c), guaranteed = v[QUOTA_GUARANTEED];
    int64_t before[SEENS],
        change[SEENS] = { d->at[c].request, d->at[c].np_request, d->at[c].used, d->at[c].np_used };
    bool overflow = q->overflowed >> c & 1;

    for (int k = 0; k < SEENS; k++) {
        before[k] = v[seen_field[k]];
        overflow |= __builtin_add_overflow(before[k], change[k], &v[seen_field[k]]) ||
                    v[seen_field[k]] > QUOTA_AMOUNT_MAX;
    }
    if (UNLIKELY(overflow))
        recount(f, q, c);
    if (f->options.guarantee)
        v[QUOTA_ALLOCATED] += d->at[c].guaranteed;
    derive(f, q, c);
    d->at[c].request = quota_limited(q, c) - limited;
    d->at[c].np_request = v[QUOTA_NP_REQUEST] - before[SEEN_NP_REQUEST];
    d->at[c].used = v[QUOTA_USED] - before[SEEN_USED];
    d->at[c].np_used = v[QUOTA_NP_USED] - before[SEEN_NP_USED];
    d->at[c].guaranteed = f->options.guarantee ? v[QUOTA_GUARANTEED] - guaranteed : 0;
    return d->at[c].request || d->at[c].guaranteed;
}

/* A change of what is charged to a quota, or comes from one of its children. */
static void sums_add(struct quota_forest *f, struct quota *q, struct quota_delta *d)
{
    for (; q && q->sort != QUOTA_OUTSIDE; q = q->parent) {
        q->uses++;
        for (int k = 0; k < SEENS; k++)
            q->seen[k] |= d->seen[k];
        columns_foreach(c, d->keys) {
            bool used = d->at[c].used != 0;
            bool shares = add_column(f, q, d, c);
            if (q->sort == QUOTA_SPECIAL && used)
                q->tree->total_dirty = true; /* what they use is not for the others */
            else if (q->sort == QUOTA_PLAIN && q->parent && shares)
                q->parent->dirty |= UINT64_C(1) << c;
        }
    }
}

void sums_join(struct quota_forest *f, struct quota *q, int sign)
{
    struct quota_delta d = { .keys = all_columns(f) };

    columns_foreach(c, d.keys) {
        const int64_t *v = quota_cell(q, c);
        d.at[c].request = sign * quota_limited(q, c);
        d.at[c].np_request = sign * v[QUOTA_NP_REQUEST];
        d.at[c].used = sign * v[QUOTA_USED];
        d.at[c].np_used = sign * v[QUOTA_NP_USED];
        d.at[c].guaranteed = f->options.guarantee ? sign * v[QUOTA_GUARANTEED] : 0;
    }
    memcpy(d.seen, q->seen, sizeof d.seen);
    q->parent->dirty = UINT64_MAX;
    sums_add(f, q->parent, &d);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void self_add(struct quota *q, const struct podrec *r, bool request, bool used, int sign,
                     struct quota_delta *d)
{
    int64_t any = 0;

    d->keys = r->keys & q->max_keys;
    columns_foreach(c, d->keys)
        any |= r->amount[c];
    if (!any)
        d->keys = 0; /* upstream does not show a request for nothing either */
    d->seen[SEEN_REQUEST] = request ? d->keys : 0;
    d->seen[SEEN_NP_REQUEST] = request && !r->preemptible ? d->keys : 0;
    d->seen[SEEN_USED] = used ? d->keys : 0;
    d->seen[SEEN_NP_USED] = used && !r->preemptible ? d->keys : 0;
    columns_foreach(c, d->keys) {
        int64_t amount = sign * r->amount[c], *v = quota_cell(q, c);
        int64_t requested = request ? amount : 0, in_use = used ? amount : 0;
        d->at[c].request = requested;
        d->at[c].np_request = r->preemptible ? 0 : requested;
        d->at[c].used = d->at[c].guaranteed = in_use;
        d->at[c].np_used = r->preemptible ? 0 : in_use;
        v[QUOTA_SELF_REQUEST] = clamp((__int128)v[QUOTA_SELF_REQUEST] + requested);
        v[QUOTA_SELF_NP_REQUEST] = clamp((__int128)v[QUOTA_SELF_NP_REQUEST] + d->at[c].np_request);
        v[QUOTA_SELF_USED] = clamp((__int128)v[QUOTA_SELF_USED] + in_use);
        v[QUOTA_SELF_NP_USED] = clamp((__int128)v[QUOTA_SELF_NP_USED] + d->at[c].np_used);
    }
}

void sums_charge(struct quota_forest *f, struct quota *q, const struct podrec *r, int sign)
{
    struct quota_delta d;

    if (q->sort == QUOTA_OUTSIDE)
        return;
    self_add(q, r, true, r->assigned, sign, &d);
    sums_add(f, q, &d);
}

void sums_assign(struct quota_forest *f, struct quota *q, const struct podrec *r, int sign)
{
    struct quota_delta d;

    if (q->sort == QUOTA_OUTSIDE)
        return;
    self_add(q, r, false, true, sign, &d);
    sums_add(f, q, &d);
}

void sums_restart(struct quota_forest *f, struct quota *q)
{
    static const enum quota_field sums[] = {
        QUOTA_SELF_REQUEST,  QUOTA_SELF_NP_REQUEST, QUOTA_SELF_USED, QUOTA_SELF_NP_USED,
        QUOTA_CHILD_REQUEST, QUOTA_NP_REQUEST,      QUOTA_USED,      QUOTA_NP_USED,
        QUOTA_ALLOCATED,     QUOTA_GUARANTEED,
    };
    struct quota *parent = q->parent;

    for (uint32_t c = 0; c < f->columns.n; c++)
        for (size_t k = 0; k < ARRAY_LEN(sums); k++)
            quota_cell(q, c)[sums[k]] = 0;
    memset(q->seen, 0, sizeof q->seen);
    q->overflowed = 0;
    q->parent = NULL; /* nobody hears of it yet */
    for (uint32_t c = 0; c < f->columns.n; c++)
        derive(f, q, c);
    for (uint32_t id = q->pods; id; id = podtable_at(&f->pods, id)->next)
        sums_charge(f, q, podtable_at(&f->pods, id), 1);
    for (uint32_t i = 0; i < q->nchildren; i++)
        sums_join(f, q->children[i], 1);
    q->parent = parent;
}
