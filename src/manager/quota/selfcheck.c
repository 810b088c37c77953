/* selfcheck.c - max, min, weight and strict keys of one quota (sched-quota 19). */
#include "manager/quota/selfcheck.h"

#include "api/protocol/quota.h"
#include "base/strbuf.h"

const char *quota_text(struct arena *a, const char *fmt, const char *x, const char *y,
                       const char *z)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *words[] = { x, y, z };
    size_t n = 0;

    for (const char *p = fmt; *p; p++) {
        if (*p == '%' && p[1] == 's' && n < ARRAY_LEN(words)) {
            strbuf_appendf(&b, "%s", words[n++]);
            p++;
        } else {
            strbuf_appendc(&b, *p);
        }
    }
    return arena_strdup(a, strbuf_str(&b));
}

/* ---- lists ----------------------------------------------------------------------------------- */

static reslist merge(const reslist *x, const reslist *y, bool sum, struct arena *a)
{
    reslist out = *x;

    for (uint32_t i = 0; i < y->n; i++) {
        const struct qty *have = reslist_find(&out, y->items[i].name);
        struct qty v = y->items[i].value;
        if (have)
            v = sum ? qty_add(*have, v) : qty_cmp(*have, v) > 0 ? *have : v;
        out = reslist_with(&out, y->items[i].name, v, a);
    }
    return out;
}

reslist quota_list_add(const reslist *x, const reslist *y, struct arena *a)
{
    return merge(x, y, true, a);
}

reslist quota_list_max(const reslist *x, const reslist *y, struct arena *a)
{
    return merge(x, y, false, a);
}

bool quota_list_within(const reslist *x, const reslist *y)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (qty_cmp(x->items[i].value, reslist_get(y, x->items[i].name)) > 0)
            return false;
    return true;
}

/* "[cpu memory]": names with negative amounts; NULL: there are none. */
static const char *negative(const reslist *l, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (uint32_t i = 0; i < l->n; i++)
        if (qty_sign(l->items[i].value) < 0)
            strbuf_appendf(&b, "%s%s", b.len ? " " : "", l->items[i].name);
    return b.len ? arena_printf(a, "[%s]", strbuf_str(&b)) : NULL;
}

/* ---- the checks ------------------------------------------------------------------------------ */

static const char *check_weight(const struct elasticquota *q, struct arena *a)
{
    struct reslist_value v = { 0 };
    struct kerr err = { 0 };

    if (quota_shared_weight_read(&q->obj.meta.annotations, a, &v, &err) < 0)
        return arena_strdup(a, err.text);
    const char *which = negative(&v.v, a);
    return which ? arena_printf(a, "%s quota.Annotation[%s]'s value < 0, in dimension :%s",
                                q->obj.meta.name, ANNO_QUOTA_SHARED_WEIGHT, which)
                 : NULL;
}

static const char *check_min(const struct elasticquota *q, struct arena *a)
{
    const char *name = q->obj.meta.name;

    for (uint32_t i = 0; i < q->spec.min.n; i++) {
        const struct resqty *m = &q->spec.min.items[i];
        const struct qty *max = reslist_find(&q->spec.max, m->name);
        if (!max)
            return arena_printf(
                a, "resourceKey %s of quota %s is included in min, which is not included in max",
                m->name, name);
        if (qty_cmp(m->value, *max) > 0)
            return arena_printf(a, "resourceKey %s of quota %s min %s > max %s", m->name, name,
                                qty_format(m->value, a), qty_format(*max, a));
    }
    return NULL;
}

static const char *check_strict(const struct elasticquota *q, struct arena *a)
{
    const char *name = q->obj.meta.name;
    struct strlist_value keys = { 0 };
    struct kerr err = { 0 };

    int r = quota_max_strict_keys_read(&q->obj.meta.annotations, a, &keys, &err);
    if (r < 0)
        return arena_printf(a, "%s quota.Annotation[%s]'s value is invalid: %s", name,
                            ANNO_QUOTA_MAX_STRICT_KEYS, err.text);
    for (uint32_t i = 0; r == 1 && i < keys.v.n; i++) {
        const struct qty *used = reslist_find(&q->used, keys.v.items[i]);
        const struct qty *max = reslist_find(&q->spec.max, keys.v.items[i]);
        if (used && !max)
            return arena_printf(a,
                                "resourceKey %s of quota %s is included in used, which is not "
                                "included in max but should check max >= used",
                                keys.v.items[i], name);
        if (used && qty_cmp(*max, *used) < 0)
            return arena_printf(a, "resourceKey %s of quota %s max %s < used %s", keys.v.items[i],
                                name, qty_format(*max, a), qty_format(*used, a));
    }
    return NULL;
}

const char *selfcheck(const struct elasticquota *q, struct arena *a)
{
    const char *which = negative(&q->spec.max, a), *why;

    if (which)
        return arena_printf(a, "%s quota.Spec.Max's value < 0, in dimensions :%s", q->obj.meta.name,
                            which);
    which = negative(&q->spec.min, a);
    if (which)
        return arena_printf(a, "%s quota.Spec.Min's value < 0, in dimensions :%s", q->obj.meta.name,
                            which);
    if ((why = check_weight(q, a)) || (why = check_min(q, a)))
        return why;
    return check_strict(q, a);
}
