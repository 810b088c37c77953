/* explain_quota.c - the quota of a pod, for koordctl explain: what it lacks, and which quota above
 * it is the reason.
 */
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "ctl/explain.h"
#include "ctl/quota.h"
#include "quota/admit.h"
#include "json/kj.h"

static int64_t value(struct quota_forest *f, struct quota *q, enum quota_field field,
                     uint64_t column)
{
    uint64_t keys;

    return quota_at(quota_values(f, q, field, &keys), column);
}

static bool has_limit(struct quota *q, uint64_t column)
{
    return quota_keys(q) >> column & 1;
}

/* From the quota upwards, the first one that has all that it may ask for: its max is the reason.
 * NULL: nobody has, so what the tree has is shared among all who ask. */
static struct quota *limiter(struct quota_forest *f, struct quota *q, uint64_t column)
{
    for (; q && !quota_is_root(q); q = quota_above(q)) {
        int64_t max = value(f, q, QUOTA_MAX, column);
        int64_t wanted = value(f, q, QUOTA_CHILD_REQUEST, column);
        if (has_limit(q, column) && wanted > max && value(f, q, QUOTA_RUNTIME, column) >= max)
            return q;
    }
    return NULL;
}

static void write_amount(struct kjw *w, const char *key, const char *resource, int64_t count)
{
    char text[QTY_TEXT_MAX];

    qty_print(resource_from_count(resource, count), text);
    kjw_str(w, key, text);
}

static void write_short(struct quota_forest *f, const struct admit_verdict *v,
                        const struct admit_request *r, uint64_t column, struct kjw *w)
{
    bool guarantee = v->code == ADMIT_NO_GUARANTEE;
    const char *name = forest_columns(f)->name[column];
    int64_t limit = value(f, v->limiter, guarantee ? QUOTA_MIN : QUOTA_RUNTIME, column);
    int64_t used = value(f, v->limiter, guarantee ? QUOTA_NP_USED : QUOTA_USED, column);
    struct quota *because = guarantee ? v->limiter : limiter(f, v->quota, column);

    kjw_obj(w, NULL);
    kjw_str(w, "resource", name);
    write_amount(w, guarantee ? "min" : "runtime", name, limit);
    write_amount(w, guarantee ? "nonPreemptibleUsed" : "used", name, used);
    write_amount(w, "request", name, r->amount[column]);
    write_amount(w, "missing", name, used + r->amount[column] - limit);
    if (because) {
        kjw_str(w, "limitedBy", quota_name(because));
        if (!guarantee)
            write_amount(w, "max", name, value(f, because, QUOTA_MAX, column));
    }
    kjw_end(w);
}

bool explain_quota(struct quota_forest *f, const struct pod *p, struct strbuf *json)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct admit_rules rules = { .runtime = true, .check_parent = true };
    int64_t amounts[QUOTA_COLUMNS_MAX] = { 0 };
    struct quota *q = forest_resolve(f, p);
    reslist list = forest_request_list(f, p, a);
    struct admit_request r = { .amount = amounts,
                               .list = &list,
                               .preemptible = pod_quota_preemptible(&p->obj.meta.labels) };
    struct admit_verdict v = { 0 };
    struct kjw w = kjw_to(json);

    if (!q || quota_is_special(q))
        return false;
    r.keys = forest_request(f, &list, amounts);
    admit_own(f, q, &rules, &r, &v);
    if (v.code == ADMIT_OK)
        admit_above(f, q, &rules, &r, &v);
    kjw_obj(&w, NULL);
    kjw_str(&w, "name", quota_name(q));
    kjw_arr(&w, "above");
    for (struct quota *up = quota_above(q); up && !quota_is_root(up); up = quota_above(up))
        kjw_str(&w, NULL, quota_name(up));
    kjw_end(&w);
    kjw_bool(&w, "room", v.code == ADMIT_OK);
    if (v.code == ADMIT_NO_PARENT)
        kjw_str(&w, "waitsForParent", quota_parent_name(q));
    kjw_arr(&w, "short");
    if (v.code != ADMIT_NO_PARENT)
        columns_foreach(c, v.exceeded)
            write_short(f, &v, &r, c, &w);
    kjw_end(&w);
    kjw_end(&w);
    return true;
}

/* ---- for people ------------------------------------------------------------------------------ */

static const char *text_of(const struct kj_val *v, const char *member)
{
    return kj_str_or(kj_get(v, member), "");
}

static void put_short(const struct kj_val *s, const char *quota, struct strbuf *out)
{
    const char *because = text_of(s, "limitedBy");
    bool guarantee = kj_get(s, "min") != NULL;

    strbuf_appendf(out, "  %s: %s of %s are used%s, the pod requests %s: %s are missing; ",
                   text_of(s, "resource"), text_of(s, guarantee ? "nonPreemptibleUsed" : "used"),
                   text_of(s, guarantee ? "min" : "runtime"),
                   guarantee ? " by pods that are not preemptible (of its min)" : "",
                   text_of(s, "request"), text_of(s, "missing"));
    if (guarantee)
        strbuf_appendf(out, "they may not use more than the min of %s\n", because);
    else if (!*because)
        strbuf_append(out, "the tree has no more, others have their share of it\n");
    else if (streq(because, quota))
        strbuf_appendf(out, "its own max is %s\n", text_of(s, "max"));
    else
        strbuf_appendf(out, "%s above it is at its max of %s\n", because, text_of(s, "max"));
}

void explain_quota_text(const struct kj_val *v, struct strbuf *out)
{
    const struct kj_val *above = kj_get(v, "above"), *all = kj_get(v, "short");
    const char *name = text_of(v, "name"), *parent = text_of(v, "waitsForParent");

    if (!v)
        return;
    strbuf_appendf(out, "\nQuota %s", name);
    for (size_t i = 0; i < kj_len(above); i++)
        strbuf_appendf(out, "%s%s", i ? " below " : " (below ", kj_str_or(kj_at(above, i), ""));
    strbuf_appendf(out, "%s %s\n", kj_len(above) ? ")" : "",
                   kj_bool(kj_get(v, "room"), false) ? "has room for it."
                   : *parent                         ? "waits for its parent, which does not exist:"
                                                     : "has no room for it:");
    if (*parent)
        strbuf_appendf(out, "  there is no quota %s\n", parent);
    for (size_t i = 0; i < kj_len(all); i++)
        put_short(kj_at(all, i), name, out);
}
