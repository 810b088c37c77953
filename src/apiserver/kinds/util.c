/* util.c - small things on documents that all kinds need. */
#include "apiserver/kinds/internal.h"
#include "apiserver/schema/types.h"
#include "base/vec.h"

struct kj_mval *m_obj(struct kj_mdoc *d, struct kj_mval *parent, const char *key)
{
    struct kj_mval *v = kj_mget(parent, key);

    if (kj_mtype(v) != KJ_OBJ) {
        kj_mset(d, parent, key, kj_mobj(d));
        v = kj_mget(parent, key);
    }
    return v;
}

bool m_has(const struct kj_mval *obj, const char *key)
{
    enum kj_type t = kj_mtype(kj_mget(obj, key));
    return t != KJ_ABSENT && t != KJ_NULL;
}

const char *m_str(const struct kj_mval *obj, const char *key)
{
    return str_or(kj_mstr_get(kj_mget(obj, key)), "");
}

bool m_true(const struct kj_mval *obj, const char *key)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_mval *v = kj_mget(obj, key);

    if (kj_mtype(v) != KJ_BOOL)
        return false;
    kj_mwrite(v, 0, &b);
    return streq(strbuf_str(&b), "true");
}

int64_t m_i64(const struct kj_mval *obj, const char *key, int64_t otherwise)
{
    int64_t i;
    return kj_mi64_get(kj_mget(obj, key), &i) == 0 ? i : otherwise;
}

void m_default_str(struct kj_mdoc *d, struct kj_mval *obj, const char *key, const char *value)
{
    if (!*m_str(obj, key))
        kj_mset(d, obj, key, kj_mstr(d, value));
}

void m_default_i64(struct kj_mdoc *d, struct kj_mval *obj, const char *key, int64_t value)
{
    if (!m_has(obj, key))
        kj_mset(d, obj, key, kj_mi64(d, value));
}

void m_default_bool(struct kj_mdoc *d, struct kj_mval *obj, const char *key, bool value)
{
    if (!m_has(obj, key))
        kj_mset(d, obj, key, kj_mbool(d, value));
}

void m_keep_old(struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *old, const char *key)
{
    const struct kj_val *v = kj_get(old, key);

    if (v)
        kj_mset(d, obj, key, kj_mcopy(d, v));
    else
        kj_mdel(obj, key, strlen(key));
}

struct kj_mval *m_path(const struct kj_mval *v, const char *dotted)
{
    struct kj_mval *cur = (struct kj_mval *)(uintptr_t)v;

    while (cur && *dotted) {
        size_t n = strcspn(dotted, ".");
        cur = kj_mgetn(cur, dotted, n);
        dotted += n + (dotted[n] == '.');
    }
    return cur;
}

/* A status as the tables have it for an object that has none yet. */
static struct kj_mval *new_status(struct kj_mdoc *d, const char *group, const char *kind)
{
    const struct t_type *t = types_find(group, NULL, kind);
    struct kj_mval *status = kj_mobj(d);

    for (const struct t_field *f = t ? t->fields : NULL; f && f->name; f++) {
        if (!streq(f->name, "status"))
            continue;
        types_prune(f->type, d, status);
        types_default(f->type, d, status);
        break;
    }
    return status;
}

void prepare_status(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                    const struct kj_val *old, const char *group, const char *kind)
{
    switch (verb) {
    case RES_CREATE: kj_mset(d, obj, "status", new_status(d, group, kind)); break;
    case RES_UPDATE: m_keep_old(d, obj, old, "status"); break;
    case RES_STATUS: m_keep_old(d, obj, old, "spec"); break;
    default: break; /* of pods only, which see to it themselves */
    }
}

const char *v_str(const struct kj_val *obj, const char *key)
{
    const struct kj_val *v = kj_get(obj, key);
    const char *s = kj_str(v);

    if (!s)
        return "";
    return strlen(s) == kj_len(v) ? s : "\1";
}

const char *v_name(struct arena *a, const struct kj_val *obj, const char *key)
{
    const struct kj_val *v = kj_get(obj, key);
    size_t n = kj_str(v) ? kj_len(v) : 0;

    if (!n || !memchr(kj_str(v), '\0', n))
        return n ? kj_str(v) : "";
    char *s = arena_strndup(a, kj_str(v), n);
    for (size_t i = 0; i < n; i++)
        s[i] = kj_str(v)[i] ? kj_str(v)[i] : '\1';
    return s;
}

bool v_has(const struct kj_val *obj, const char *key)
{
    enum kj_type t = kj_type(kj_get(obj, key));
    return t != KJ_ABSENT && t != KJ_NULL;
}

const char *v_text(const struct kj_val *obj, const char *path, struct arena *a)
{
    const struct kj_val *v = kj_path(obj, path);
    char number[64];

    switch (kj_type(v)) {
    case KJ_STR: return kj_str(v);
    case KJ_BOOL: return kj_bool(v, false) ? "true" : "false";
    case KJ_NUM: kj_num_text(v, number, sizeof number); return arena_strdup(a, number);
    default: return "";
    }
}

bool v_qty(const struct kj_val *list, const char *name, struct qty *ret)
{
    const char *s = kj_str(kj_get(list, name));
    return s && qty_parse(s, strlen(s), ret, NULL) == 0;
}

const char *v_ios(const struct kj_val *v, struct arena *a)
{
    char number[64];

    if (kj_type(v) == KJ_STR)
        return kj_str(v);
    if (kj_type(v) != KJ_NUM)
        return "";
    kj_num_text(v, number, sizeof number);
    return arena_strdup(a, number);
}

/* ---- selectors ------------------------------------------------------------------------------- */

struct pair {
    struct str key;
    const struct kj_val *value;
};

static int by_key(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int r = memcmp(x->key.p, y->key.p, MIN(x->key.n, y->key.n));
    return r ? r : (x->key.n > y->key.n) - (x->key.n < y->key.n);
}

void v_labels_text(const struct kj_val *map, struct strbuf *out)
{
    struct vec_of(struct pair) pairs = { 0 };
    struct kj_iter it = kj_iter(map);
    struct pair p;

    while (kj_next(&it, &p.key, &p.value))
        vec_push(&pairs, p);
    if (pairs.n)
        qsort(pairs.items, pairs.n, sizeof pairs.items[0], by_key);
    vec_foreach(&pairs, i)
        strbuf_appendf(out, "%s%.*s=%s", i ? "," : "", (int)pairs.items[i].key.n,
                       pairs.items[i].key.p, kj_str_or(pairs.items[i].value, ""));
    vec_fini(&pairs);
}

void v_selector_text(const struct kj_val *selector, struct strbuf *out)
{
    const struct kj_val *labels = kj_get(selector, "matchLabels"), *e;
    struct kj_iter it = kj_iter(kj_get(selector, "matchExpressions"));
    size_t start = out->len;

    v_labels_text(labels, out);
    while (kj_next(&it, NULL, &e)) {
        const char *key = v_str(e, "key"), *op = v_str(e, "operator");
        if (out->len > start)
            strbuf_appendc(out, ',');
        if (streq(op, "Exists")) {
            strbuf_append(out, key);
        } else if (streq(op, "DoesNotExist")) {
            strbuf_appendf(out, "!%s", key);
        } else {
            struct kj_iter vals = kj_iter(kj_get(e, "values"));
            const struct kj_val *v;
            const char *comma = "";
            strbuf_appendf(out, "%s %s (", key, streq(op, "In") ? "in" : "notin");
            for (; kj_next(&vals, NULL, &v); comma = ",")
                strbuf_appendf(out, "%s%s", comma, kj_str_or(v, ""));
            strbuf_appendc(out, ')');
        }
    }
    if (out->len == start)
        strbuf_append(out, "<none>");
}

static bool expression_matches(const struct kj_val *e, const struct kj_val *labels)
{
    const char *op = v_str(e, "operator"), *have = kj_str(kj_get(labels, v_str(e, "key")));
    struct kj_iter it = kj_iter(kj_get(e, "values"));
    const struct kj_val *v;
    bool listed = false;

    if (streq(op, "Exists"))
        return have;
    if (streq(op, "DoesNotExist"))
        return !have;
    while (have && kj_next(&it, NULL, &v))
        listed |= streq(kj_str_or(v, ""), have);
    if (streq(op, "In"))
        return listed;
    return streq(op, "NotIn") && !listed;
}

bool v_selector_matches(const struct kj_val *selector, const struct kj_val *labels)
{
    const struct kj_val *v;
    struct str key;

    if (kj_type(selector) != KJ_OBJ)
        return false;
    struct kj_iter it = kj_iter(kj_get(selector, "matchLabels"));
    while (kj_next(&it, &key, &v)) {
        const char *have = kj_str(kj_getn(labels, key.p, key.n));
        if (!have || !streq(have, kj_str_or(v, "")))
            return false;
    }
    it = kj_iter(kj_get(selector, "matchExpressions"));
    while (kj_next(&it, NULL, &v))
        if (!expression_matches(v, labels))
            return false;
    return true;
}
