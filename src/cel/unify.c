/* unify.c - when one type may stand for another, and what variables of signatures come to mean. */
#include "cel/type.h"

static const struct cel_type *find(const struct cel_subst *s, const struct cel_type *t)
{
    return t->kind == CT_PARAM && t->param >= CEL_PARAM_FIRST ? s->of[t->param - CEL_PARAM_FIRST]
                                                              : NULL;
}

static void bind(struct cel_subst *s, const struct cel_type *param, const struct cel_type *to)
{
    uint32_t i = (uint32_t)param->param - CEL_PARAM_FIRST;

    if (s->n_trail == s->cap_trail) {
        uint32_t cap = s->cap_trail ? s->cap_trail * 2 : 32;
        void *more = arena_zalloc_n(s->a, cap, sizeof *s->trail);
        if (s->n_trail)
            memcpy(more, s->trail, s->n_trail * sizeof *s->trail);
        s->trail = more;
        s->cap_trail = cap;
    }
    s->trail[s->n_trail].param = i;
    s->trail[s->n_trail++].was = s->of[i];
    s->of[i] = to;
}

static void take_back(struct cel_subst *s, uint32_t mark)
{
    while (s->n_trail > mark) {
        s->n_trail--;
        s->of[s->trail[s->n_trail].param] = s->trail[s->n_trail].was;
    }
}

const struct cel_type *cel_subst_fresh(struct cel_subst *s)
{
    struct cel_type *t = arena_new0(s->a, struct cel_type);

    if (s->n == s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 16;
        const struct cel_type **more = arena_newn0(s->a, cap, const struct cel_type *);
        if (s->n)
            memcpy(more, s->of, s->n * sizeof *more);
        s->of = more;
        s->cap = cap;
    }
    t->kind = CT_PARAM;
    t->param = (uint32_t)(CEL_PARAM_FIRST + s->n++);
    t->name = "_";
    t->size_max = CEL_SIZE_UNKNOWN;
    return t;
}

const struct cel_type *cel_subst_instance(struct cel_subst *s, const struct cel_type *t,
                                          const struct cel_type *fresh[4])
{
    struct cel_type *copy;

    if (t->kind == CT_PARAM) {
        if (!fresh[t->param])
            fresh[t->param] = cel_subst_fresh(s);
        return fresh[t->param];
    }
    if (!t->elem)
        return t;
    const struct cel_type *elem = cel_subst_instance(s, t->elem, fresh);
    const struct cel_type *key = t->key ? cel_subst_instance(s, t->key, fresh) : NULL;
    if (elem == t->elem && key == t->key)
        return t;
    copy = arena_new0(s->a, struct cel_type);
    *copy = *t;
    copy->elem = elem;
    copy->key = key;
    return copy;
}

static bool mentions(const struct cel_subst *s, const struct cel_type *t,
                     const struct cel_type *param)
{
    if (t->kind == CT_PARAM) {
        const struct cel_type *sub = find(s, t);
        return t->param == param->param || (sub && mentions(s, sub, param));
    }
    return (t->elem && mentions(s, t->elem, param)) || (t->key && mentions(s, t->key, param));
}

static bool is_dyn(const struct cel_type *t)
{
    return t->kind == CT_DYN || t->kind == CT_ERROR;
}

/* Is a as general as b, or more? */
static bool as_general(const struct cel_type *a, const struct cel_type *b)
{
    if (a->kind == CT_DYN || a->kind == CT_PARAM)
        return true;
    if (b->kind == CT_DYN || b->kind == CT_PARAM)
        return false;
    if (a->kind == CT_WRAPPER && b->kind != CT_WRAPPER)
        return b->kind == CT_NULL || cel_type_eq(a->elem, b);
    if (a->kind != b->kind)
        return false;
    if (a->kind == CT_TYPE)
        return true;
    if (a->elem)
        return as_general(a->elem, b->elem) && (!a->key || as_general(a->key, b->key));
    return cel_type_eq(a, b);
}

const struct cel_type *cel_most_general(const struct cel_type *a, const struct cel_type *b)
{
    return as_general(a, b) ? a : b;
}

static bool assignable(struct cel_subst *s, const struct cel_type *a, const struct cel_type *b);

/* Can `param` stand for t? 1: yes; 0: no, it stands for something else already; -1: not this way.
 */
static int stands_for(struct cel_subst *s, const struct cel_type *t, const struct cel_type *param)
{
    const struct cel_type *sub = find(s, param);

    if (t->kind == CT_PARAM && t->param == param->param)
        return 1;
    if (sub) {
        if (cel_type_eq(t, sub))
            return 1;
        if (!assignable(s, t, sub))
            return 0;
        const struct cel_type *general = cel_most_general(t, sub);
        if (!mentions(s, general, param))
            bind(s, param, general);
        return 1;
    }
    if (mentions(s, t, param))
        return -1;
    bind(s, param, t);
    return 1;
}

static bool takes_null(const struct cel_type *t)
{
    switch ((enum cel_type_kind)t->kind) {
    case CT_OPAQUE:
    case CT_OPTIONAL:
    case CT_OBJECT:
    case CT_DURATION:
    case CT_TIMESTAMP:
    case CT_WRAPPER:
    case CT_NULL: return true;
    default: return false;
    }
}

static bool assignable(struct cel_subst *s, const struct cel_type *a, const struct cel_type *b)
{
    if (b->kind == CT_PARAM) {
        int r = stands_for(s, a, b);
        if (r >= 0)
            return r;
    }
    if (a->kind == CT_PARAM)
        return stands_for(s, b, a) == 1;
    if (is_dyn(a) || is_dyn(b))
        return true;
    if (a->kind == CT_NULL)
        return takes_null(b);
    if (b->kind == CT_NULL)
        return takes_null(a);
    if (a->kind == CT_WRAPPER || b->kind == CT_WRAPPER)
        return cel_type_eq(a->kind == CT_WRAPPER ? a->elem : a,
                           b->kind == CT_WRAPPER ? b->elem : b);
    if (a->kind != b->kind)
        return false;
    if (a->kind == CT_TYPE)
        return true;
    if (a->elem)
        return (!a->key || assignable(s, a->key, b->key)) && assignable(s, a->elem, b->elem);
    return cel_type_eq(a, b);
}

bool cel_assignable(struct cel_subst *s, const struct cel_type *to, const struct cel_type *from)
{
    return cel_assignable_all(s, &to, &from, 1);
}

bool cel_assignable_all(struct cel_subst *s, const struct cel_type *const *to,
                        const struct cel_type *const *from, size_t n)
{
    uint32_t mark = s->n_trail;

    for (size_t i = 0; i < n; i++) {
        if (!assignable(s, from[i], to[i])) {
            take_back(s, mark);
            return false;
        }
    }
    return true;
}

const struct cel_type *cel_subst_apply(struct cel_subst *s, const struct cel_type *t, bool dyn)
{
    const struct cel_type *sub = find(s, t);
    struct cel_type *copy;

    if (sub)
        return cel_subst_apply(s, sub, dyn);
    if (t->kind == CT_PARAM)
        return dyn ? &cel_dyn : t;
    if (!t->elem)
        return t;
    const struct cel_type *elem = cel_subst_apply(s, t->elem, dyn);
    const struct cel_type *key = t->key ? cel_subst_apply(s, t->key, dyn) : NULL;
    if (elem == t->elem && key == t->key)
        return t;
    copy = arena_new0(s->a, struct cel_type);
    *copy = *t;
    copy->elem = elem;
    copy->key = key;
    return copy;
}
