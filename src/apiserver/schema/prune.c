/* prune.c - what a round trip through Go's structs does to a document, and the simple defaults. */
#include "apiserver/schema/tables.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "base/qty.h"
#include "base/vec.h"

static bool is_absent(const struct kj_mval *v)
{
    return kj_mtype(v) == KJ_ABSENT || kj_mtype(v) == KJ_NULL;
}

static bool mval_is_true(struct kj_mval *v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    kj_mwrite(v, 0, &b);
    return streq(strbuf_str(&b), "true");
}

/* Go's zero value: what omitempty leaves out. */
static bool is_zero(const struct t_field *f, struct kj_mval *v)
{
    int64_t i;

    switch (kj_mtype(v)) {
    case KJ_STR: return f->kind != T_QTY && f->kind != T_DUR && kj_mlen(v) == 0;
    case KJ_NUM: return f->kind != T_IOS && kj_mi64_get(v, &i) == 0 && i == 0;
    case KJ_BOOL: return !mval_is_true(v);
    case KJ_ARR:
    case KJ_OBJ: return kj_mlen(v) == 0;
    default: return true;
    }
}

static struct kj_mval *zero_value(const struct t_field *f, struct kj_mdoc *d)
{
    if (f->shape != T_ONE || (f->flags & T_PTR))
        return kj_mnull(d);
    switch ((enum t_kind)f->kind) {
    case T_STR: return kj_mstr(d, "");
    case T_BOOL: return kj_mbool(d, false);
    case T_I32:
    case T_I64:
    case T_NUM:
    case T_IOS: return kj_mi64(d, 0);
    case T_QTY: return kj_mstr(d, "0");
    case T_DUR: return kj_mstr(d, "0s");
    case T_OBJ: {
        struct kj_mval *o = kj_mobj(d);
        types_prune(f->type, d, o);
        return o;
    }
    default: return kj_mnull(d);
    }
}

/* The server keeps three decimals of a resource list's quantities, rounded up. */
static struct qty round_to_milli(struct qty q)
{
    if (!qty_fits_i64(q, -3))
        return q;
    struct qty rounded = qty_from_milli(qty_milli(q), (enum qty_format)q.format);
    return qty_cmp(rounded, q) == 0 ? q : rounded;
}

/* The canonical form of a scalar; v itself when it has that form already. */
static struct kj_mval *canonical(const struct t_field *f, struct kj_mdoc *d, struct kj_mval *v)
{
    const char *s = kj_mstr_get(v);
    char text[KTIME_TEXT_MAX];
    nsec_t t;

    if ((f->kind == T_TIME || f->kind == T_MICRO) && s) {
        if (ktime_parse(s, strlen(s), &t, NULL) < 0)
            return v;
        if (f->kind == T_TIME)
            ktime_format(t, text);
        else
            ktime_format_micro(t, text);
        return streq(text, s) ? v : kj_mstr(d, text);
    }
    if (f->kind == T_DUR && s) {
        if (kdur_parse(s, strlen(s), &t, NULL) < 0)
            return v;
        kdur_format(t, text);
        return streq(text, s) ? v : kj_mstr(d, text);
    }
    if (f->kind != T_QTY)
        return v;

    CLEANUP(strbuf_fini) struct strbuf number = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *a = arena_new_sized(256);
    const char *norm;
    struct qty q;
    if (!s) {
        kj_mwrite(v, 0, &number);
        s = strbuf_str(&number);
    }
    struct str trimmed = qty_trim(s, strlen(s));
    if (qty_parse(trimmed.p, trimmed.n, &q, NULL) < 0)
        return v;
    bool listed = f->shape == T_MAP;
    struct qty rounded = listed ? round_to_milli(q) : q;
    if (qty_cmp(rounded, q) != 0)
        return kj_mstr(d, qty_format(rounded, a));
    if (qty_normalize(trimmed.p, trimmed.n, a, &norm, NULL) < 0)
        return v;
    return number.len == 0 && streq(norm, s) ? v : kj_mstr(d, norm);
}

static void prune_list(const struct t_field *f, struct kj_mdoc *d, struct kj_mval *list)
{
    struct t_field item = *f;
    item.shape = T_ONE;
    item.flags = 0;
    for (size_t i = 0; i < kj_mlen(list); i++) {
        struct kj_mval *v = kj_mat(list, i);
        if (kj_mtype(v) == KJ_NULL)
            kj_mreplace_at(list, i, zero_value(&item, d));
        else if (f->kind == T_OBJ)
            types_prune(f->type, d, v);
    }
    if (f->kind != T_QTY && f->kind != T_TIME && f->kind != T_MICRO && f->kind != T_DUR)
        return;
    for (size_t i = 0; i < kj_mlen(list); i++) {
        struct kj_mval *v = kj_mat(list, i), *c = canonical(&item, d, v);
        if (c != v)
            kj_mreplace_at(list, i, c);
    }
}

static void prune_map(const struct t_field *f, struct kj_mdoc *d, struct kj_mval *map)
{
    struct vec_of(struct str) changed = { 0 };
    struct kj_miter it = kj_miter(map);
    struct kj_mval *v;
    struct str key;
    struct t_field item = *f;

    item.shape = T_ONE;
    item.flags = 0;
    while (kj_mnext(&it, &key, &v)) {
        if (kj_mtype(v) == KJ_NULL || f->kind == T_QTY)
            vec_push(&changed, key);
        else if (f->kind == T_OBJ)
            types_prune(f->type, d, v);
    }
    vec_foreach(&changed, i) {
        key = changed.items[i];
        v = kj_mgetn(map, key.p, key.n);
        struct kj_mval *c = kj_mtype(v) == KJ_NULL ? zero_value(&item, d) : canonical(f, d, v);
        if (c != v)
            kj_msetn(d, map, key.p, key.n, c);
    }
    vec_fini(&changed);
}

/* NULL: it has none of the forms, or says nothing. */
static struct kj_mval *prune_either(const struct t_type *t, struct kj_mdoc *d, struct kj_mval *v)
{
    const struct t_field *f = types_form(t, kj_mtype(v));

    if (!f || (f->shape == T_LIST && kj_mlen(v) == 0))
        return NULL;
    if (f->shape == T_LIST)
        prune_list(f, d, v);
    else if (f->kind == T_OBJ)
        types_prune(f->type, d, v);
    return v;
}

/* Leaves *v as it is, changed inside, or replaced. NULL: it goes. */
static struct kj_mval *prune_field(const struct t_field *f, struct kj_mdoc *d, struct kj_mval *v)
{
    if (f->kind == T_ANY)
        return v;
    if (f->shape == T_LIST)
        prune_list(f, d, v);
    else if (f->shape == T_MAP)
        prune_map(f, d, v);
    else if (f->kind == T_OBJ && f->type->either)
        return prune_either(f->type, d, v);
    else if (f->kind == T_OBJ)
        types_prune(f->type, d, v);
    else
        return canonical(f, d, v);
    return v;
}

/* A member that goes (value NULL) or gets another value. */
struct change {
    struct str key;
    struct kj_mval *value;
};
struct changes vec_of(struct change);

static void prune_member(const struct t_type *t, struct kj_mdoc *d, struct str key,
                         struct kj_mval *v, struct changes *out)
{
    const struct t_field *f = types_field(t, key.p, key.n);
    bool null = kj_mtype(v) == KJ_NULL;
    struct kj_mval *now = NULL;

    if (f && null && (f->flags & T_EMIT))
        now = zero_value(f, d);
    else if (f && !null)
        now = prune_field(f, d, v);
    if (now && !(f->flags & (T_EMIT | T_PTR | T_EMPTY)) && is_zero(f, now))
        now = NULL;
    if (now != v)
        vec_push(out, ((struct change){ key, now }));
}

/* Walks the members, not the tables: objects have few of the many fields they could have. */
void types_prune(const struct t_type *t, struct kj_mdoc *d, struct kj_mval *v)
{
    struct kj_miter it = kj_miter(v);
    struct changes changes = { 0 };
    struct kj_mval *member;
    struct str key;

    if (kj_mtype(v) != KJ_OBJ || t->either)
        return;
    while (kj_mnext(&it, &key, &member))
        prune_member(t, d, key, member, &changes);
    vec_foreach(&changes, i) {
        struct change c = changes.items[i];
        if (c.value)
            kj_msetn(d, v, c.key.p, c.key.n, c.value);
        else
            kj_mdel(v, c.key.p, c.key.n);
    }
    vec_fini(&changes);
    for (const struct t_field *f = t->fields; f->name; f++)
        if ((f->flags & T_EMIT) && !kj_mget(v, f->name))
            kj_mset(d, v, f->name, zero_value(f, d));
}

/* ---- defaults ----------------------------------------------------------------------------------
 */

static struct kj_mval *default_value(const char *json, struct kj_mdoc *d)
{
    size_t n = strlen(json);

    if (json[0] == '{') /* only ever {} */
        return kj_mobj(d);
    if (json[0] == '"') /* no escapes in our tables */
        return kj_mstrn(d, json + 1, n - 2);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    int r = kj_parse(json, n, 0, &doc, &err);
    assert(r == 0);
    (void)r;
    return kj_mcopy(d, kj_root(doc));
}

static void default_inside(const struct t_field *f, struct kj_mdoc *d, struct kj_mval *v)
{
    struct kj_miter it;
    struct kj_mval *item;

    if (f->shape == T_ONE) {
        types_default(f->type, d, v);
        return;
    }
    it = kj_miter(v);
    while (kj_mnext(&it, NULL, &item))
        types_default(f->type, d, item);
}

void types_default(const struct t_type *t, struct kj_mdoc *d, struct kj_mval *v)
{
    struct kj_mval *member;
    struct str key;

    if (kj_mtype(v) != KJ_OBJ || t->either)
        return;
    for (const struct t_field *f = t->fields; f->name; f++) {
        if (!f->def)
            continue;
        member = kj_mget(v, f->name);
        if (is_absent(member) || (!(f->flags & T_PTR) && is_zero(f, member)))
            kj_mset(d, v, f->name, default_value(f->def, d));
    }
    for (struct kj_miter it = kj_miter(v); kj_mnext(&it, &key, &member);) {
        if (kj_mtype(member) != KJ_OBJ && kj_mtype(member) != KJ_ARR)
            continue;
        const struct t_field *f = types_field(t, key.p, key.n);
        if (f && f->kind == T_OBJ)
            default_inside(f, d, member);
    }
}
