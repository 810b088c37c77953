/* runtime.c - runtimes, level by level from the top (sched-quota 5, 6).
 *
 * Each level remembers which columns have to be shared out again. A reader of one quota brings the
 * levels above it up to date, and finds its siblings done as well.
 */
#include "quota/forest_int.h"

/* What the children of a quota share. */
static uint64_t level_keys(const struct quota *p)
{
    return p->sort == QUOTA_ROOT ? p->tree->keys : p->max_keys;
}

static int64_t level_total(const struct quota *p, uint64_t column, bool *ret_known)
{
    uint64_t known = p->sort == QUOTA_ROOT ? p->tree->total_keys : p->runtime_keys;

    *ret_known = known >> column & 1;
    if (p->sort == QUOTA_ROOT)
        return p->tree->total[column];
    return *ret_known ? quota_cell(p, column)[QUOTA_RUNTIME] : 0;
}

static void scale_mins(const struct quota_forest *f, const struct quota *p, uint64_t column)
{
    bool known;
    int64_t total = level_total(p, column, &known);
    __int128 sum = 0;

    for (uint32_t i = 0; i < p->nchildren; i++)
        sum += quota_cell(p->children[i], column)[QUOTA_MIN];
    bool scale = f->options.scale_min && known && total < sum;
    for (uint32_t i = 0; i < p->nchildren; i++) {
        int64_t *v = quota_cell(p->children[i], column);
        v[QUOTA_SCALED_MIN] = scale ? share_scale(v[QUOTA_MIN], total, sum) : v[QUOTA_MIN];
    }
}

static void split(struct quota_forest *f, const struct quota *p, uint64_t column,
                  const struct share_watcher *watcher)
{
    bool known;
    int64_t total = level_total(p, column, &known);

    vec_clear(&f->members);
    vec_reserve(&f->members, p->nchildren);
    for (uint32_t i = 0; i < p->nchildren; i++) {
        const struct quota *q = p->children[i];
        const int64_t *v = quota_cell(q, column);
        f->members.items[i] = (struct share_member){
            .request = quota_limited(q, column),
            .floor = MAX(v[QUOTA_SCALED_MIN], f->options.guarantee ? v[QUOTA_GUARANTEED] : 0),
            .weight = v[QUOTA_WEIGHT],
            .lends = q->lends,
        };
    }
    share_split(f->members.items, p->nchildren, total, &f->scratch, watcher);
}

static void set_runtime(struct quota *q, uint64_t column, int64_t runtime)
{
    int64_t *v = quota_cell(q, column);

    if (v[QUOTA_RUNTIME] == runtime)
        return;
    v[QUOTA_RUNTIME] = runtime;
    q->dirty |= UINT64_C(1) << column;
    q->version++;
}

/* The children share other resources than before. */
static void level_rekey(const struct quota_forest *f, struct quota *p, uint64_t keys)
{
    for (uint32_t i = 0; i < p->nchildren; i++) {
        struct quota *q = p->children[i];
        if (q->runtime_keys == keys)
            continue;
        columns_foreach(c, all_columns(f) & ~keys)
            set_runtime(q, c, 0);
        q->runtime_keys = keys;
        q->dirty = UINT64_MAX;
    }
}

static void level_settle(struct quota_forest *f, struct quota *p)
{
    if (!p->dirty)
        return;
    uint64_t keys = level_keys(p), dirty = p->dirty & all_columns(f);
    if (p->dirty == UINT64_MAX || keys != p->level_keys)
        level_rekey(f, p, keys);
    p->level_keys = keys;
    p->dirty = 0;
    columns_foreach(c, dirty) {
        scale_mins(f, p, c);
        if (!(keys >> c & 1))
            continue;
        split(f, p, c, NULL);
        for (uint32_t i = 0; i < p->nchildren; i++)
            set_runtime(p->children[i], c, f->members.items[i].runtime);
    }
}

/* All levels above the quota, from the top. */
static void path_settle(struct quota_forest *f, struct quota *q)
{
    mapping_settle(f);
    if (q->sort != QUOTA_PLAIN && q->sort != QUOTA_ROOT)
        return;
    totals_settle(f, q->tree);
    vec_clear(&f->path);
    for (struct quota *p = q->parent; p; p = p->parent)
        vec_push(&f->path, p);
    for (size_t i = f->path.n; i-- > 0;)
        level_settle(f, f->path.items[i]);
}

/* Amounts that are not 0, for sums of which some come from below. */
static uint64_t nonzero(const struct quota_forest *f, const struct quota *q, enum quota_field field)
{
    uint64_t keys = 0;

    for (uint32_t c = 0; c < f->columns.n; c++)
        keys |= (uint64_t)(quota_cell(q, c)[field] != 0) << c;
    return keys;
}

static uint64_t field_keys(const struct quota_forest *f, const struct quota *q,
                           enum quota_field field)
{
    uint64_t min = q->sort == QUOTA_PLAIN && !q->lends ? q->min_keys : 0;

    switch (field) {
    case QUOTA_MAX: return q->max_keys;
    case QUOTA_MIN:
    case QUOTA_SCALED_MIN: return q->min_keys;
    case QUOTA_WEIGHT: return q->weight_keys;
    case QUOTA_SELF_REQUEST: return q->seen[SEEN_REQUEST];
    case QUOTA_CHILD_REQUEST: return q->seen[SEEN_REQUEST] | nonzero(f, q, field);
    case QUOTA_REQUEST: return q->seen[SEEN_REQUEST] | min | nonzero(f, q, field);
    case QUOTA_SELF_NP_REQUEST:
    case QUOTA_NP_REQUEST: return q->seen[SEEN_NP_REQUEST];
    case QUOTA_SELF_USED:
    case QUOTA_USED: return q->seen[SEEN_USED];
    case QUOTA_SELF_NP_USED:
    case QUOTA_NP_USED: return q->seen[SEEN_NP_USED];
    case QUOTA_ALLOCATED:
        return f->options.guarantee ? q->seen[SEEN_USED] | nonzero(f, q, field) : 0;
    case QUOTA_GUARANTEED:
        return f->options.guarantee ? q->seen[SEEN_USED] | q->min_keys | nonzero(f, q, field) : 0;
    case QUOTA_RUNTIME: return q->runtime_keys;
    case QUOTA_FIELDS: break;
    }
    return 0;
}

const int64_t *quota_values(struct quota_forest *f, struct quota *q, enum quota_field field,
                            uint64_t *ret_keys)
{
    if (field == QUOTA_RUNTIME || field == QUOTA_SCALED_MIN)
        path_settle(f, q);
    else
        mapping_settle(f);
    *ret_keys = field_keys(f, q, field) & all_columns(f);
    return q->v + field;
}

uint64_t quota_stamp(struct quota_forest *f, struct quota *q)
{
    path_settle(f, q);
    return q->version + q->uses; /* both only grow */
}

reslist quota_list(struct quota_forest *f, struct quota *q, enum quota_field field, struct arena *a)
{
    uint64_t keys;
    const int64_t *v = quota_values(f, q, field, &keys);

    return quota_columns_list(&f->columns, keys, v, QUOTA_FIELDS, a);
}

int64_t quota_total(struct quota_forest *f, struct quota *parent, uint64_t column, bool *ret_known)
{
    path_settle(f, parent);
    return level_total(parent, column, ret_known);
}

void quota_explain(struct quota_forest *f, struct quota *parent, uint64_t column,
                   const struct share_watcher *w)
{
    path_settle(f, parent);
    level_settle(f, parent);
    split(f, parent, column, w);
}
