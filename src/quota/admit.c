/* admit.c - admission of one pod, and what it is told (sched-quota 10). */
#include "quota/admit.h"

#include "base/strbuf.h"

const int64_t *admit_limit(struct quota_forest *f, struct quota *q, const struct admit_rules *r,
                           uint64_t *ret_keys)
{
    /* Nobody shares with the system and default quotas: their max is what they may use. */
    bool runtime = r->runtime && !quota_is_special(q);
    const int64_t *v = quota_values(f, q, runtime ? QUOTA_RUNTIME : QUOTA_MAX, ret_keys);

    if (runtime)
        *ret_keys &= quota_keys(q);
    return v;
}

static int64_t shift_of(const struct admit_request *p, uint64_t column)
{
    return p->used_shift ? p->used_shift[column] : 0;
}

static int64_t in_use(const struct admit_request *p, const int64_t *used, uint64_t column)
{
    return MAX(quota_at(used, column) + shift_of(p, column), 0);
}

/* What the pod requests of the resources that count for its quota. */
static int64_t wanted(const struct admit_request *p, const struct quota *q, uint64_t column)
{
    return (p->keys & quota_keys(q)) >> column & 1 ? p->amount[column] : 0;
}

void admit_own(struct quota_forest *f, struct quota *q, const struct admit_rules *r,
               const struct admit_request *p, struct admit_verdict *ret)
{
    uint64_t limit_keys, used_keys, np_keys, min_keys;
    const int64_t *limit = admit_limit(f, q, r, &limit_keys);
    const int64_t *used = quota_values(f, q, QUOTA_USED, &used_keys);
    const int64_t *np_used = quota_values(f, q, QUOTA_NP_USED, &np_keys);
    const int64_t *min = quota_values(f, q, QUOTA_MIN, &min_keys);
    uint64_t asked = p->keys & quota_keys(q);

    *ret = (struct admit_verdict){ .quota = q, .limiter = q };
    if (quota_waits_for_parent(q)) {
        ret->code = ADMIT_NO_PARENT;
        return;
    }
    columns_foreach(c, limit_keys & (used_keys | asked)) {
        if (in_use(p, used, c) + wanted(p, q, c) > quota_at(limit, c))
            ret->exceeded |= UINT64_C(1) << c;
    }
    if (ret->exceeded) {
        ret->code = ADMIT_NO_ROOM;
        return;
    }
    if (p->preemptible)
        return;
    columns_foreach(c, min_keys & (np_keys | asked)) {
        if (quota_at(np_used, c) + wanted(p, q, c) > quota_at(min, c))
            ret->exceeded |= UINT64_C(1) << c;
    }
    if (ret->exceeded)
        ret->code = ADMIT_NO_GUARANTEE;
}

void admit_above(struct quota_forest *f, struct quota *q, const struct admit_rules *r,
                 const struct admit_request *p, struct admit_verdict *ret)
{
    uint64_t asked = p->keys & quota_keys(q), keys;

    *ret = (struct admit_verdict){ .quota = q };
    if (!r->check_parent)
        return;
    for (struct quota *n = quota_above(q); n && !quota_is_root(n); n = quota_above(n)) {
        const int64_t *limit = admit_limit(f, n, r, &keys);
        uint64_t limit_keys = keys;
        const int64_t *used = quota_values(f, n, QUOTA_USED, &keys);
        columns_foreach(c, limit_keys & asked) {
            if (in_use(p, used, c) + p->amount[c] > quota_at(limit, c))
                ret->exceeded |= UINT64_C(1) << c;
        }
        if (ret->exceeded) {
            ret->code = ADMIT_NO_ROOM_ABOVE;
            ret->limiter = n;
            return;
        }
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *used_text(struct quota_forest *f, struct quota *q, const struct admit_request *p,
                             struct arena *a)
{
    int64_t shown[QUOTA_COLUMNS_MAX] = { 0 };
    uint64_t keys;
    const int64_t *used = quota_values(f, q, QUOTA_USED, &keys);

    columns_foreach(c, keys)
        shown[c] = in_use(p, used, c);
    return quota_columns_text(forest_columns(f), keys, shown, 1, a);
}

/* What the pod requests of the resources that count, as it was written. */
static const char *request_text(struct quota_forest *f, const struct quota *q,
                                const struct admit_request *p, struct arena *a)
{
    const struct quota_columns *cols = forest_columns(f);
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    uint64_t keys = p->keys & quota_keys(q);

    if (!p->list)
        return quota_columns_text(cols, keys, p->amount, 1, a);
    for (uint32_t i = 0; i < p->list->n; i++) { /* they are sorted */
        const struct resqty *r = &p->list->items[i];
        int c = quota_columns_find(cols, r->name);
        if (c >= 0 && keys >> c & 1)
            strbuf_appendf(&b, "%s%s:%s", b.len ? "," : "", r->name, qty_format(r->value, a));
    }
    return b.len ? arena_strdup(a, strbuf_str(&b)) : "<empty>";
}

/* "[team child]": from the quota whose limit it is down to that of the pod. */
static const char *path_text(const struct admit_verdict *v, struct arena *a)
{
    const char *text = quota_name(v->quota);

    for (struct quota *q = v->quota; q != v->limiter;) {
        q = quota_above(q);
        text = arena_printf(a, "%s %s", quota_name(q), text);
    }
    return arena_printf(a, "[%s]", text);
}

const char *admit_text(struct quota_forest *f, const struct admit_verdict *v,
                       const struct admit_rules *r, const struct admit_request *p, struct arena *a)
{
    const struct quota_columns *cols = forest_columns(f);
    const char *asked = request_text(f, v->quota, p, a);
    const char *exceeded = quota_columns_names(cols, v->exceeded, a);
    uint64_t keys;
    const int64_t *values;

    switch (v->code) {
    case ADMIT_NO_ROOM:
        values = admit_limit(f, v->quota, r, &keys);
        return arena_printf(a,
                            "Insufficient quotas, quotaName: %s, runtime: %s, used: %s, pod's "
                            "request: %s, exceedDimensions: %s",
                            quota_name(v->quota),
                            quota_columns_text(cols, keys, values, QUOTA_FIELDS, a),
                            used_text(f, v->quota, p, a), asked, exceeded);
    case ADMIT_NO_GUARANTEE: {
        uint64_t np_keys;
        const int64_t *np = quota_values(f, v->quota, QUOTA_NP_USED, &np_keys);
        values = quota_values(f, v->quota, QUOTA_MIN, &keys);
        return arena_printf(
            a,
            "Insufficient non-preemptible quotas, quotaName: %s, min: %s, "
            "nonPreemptibleUsed: %s, pod's request: %s, exceedDimensions: %s",
            quota_name(v->quota), quota_columns_text(cols, keys, values, QUOTA_FIELDS, a),
            quota_columns_text(cols, np_keys, np, QUOTA_FIELDS, a), asked, exceeded);
    }
    case ADMIT_NO_ROOM_ABOVE:
        values = admit_limit(f, v->limiter, r, &keys);
        return arena_printf(a,
                            "Insufficient quotas, quotaNameTopo: %s, runtime: %s, used: %s, pod's "
                            "request: %s, exceedDimensions: %s",
                            path_text(v, a),
                            quota_columns_text(cols, keys, values, QUOTA_FIELDS, a),
                            used_text(f, v->limiter, p, a), asked, exceeded);
    case ADMIT_NO_PARENT: {
        const struct quota *top = v->quota;
        while (quota_above(top))
            top = quota_above(top);
        return arena_printf(a, "Quota %s waits for its parent quota %s, which does not exist",
                            quota_name(top), quota_parent_name(top));
    }
    case ADMIT_OK: break;
    }
    return "";
}
