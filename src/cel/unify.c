/* unify.c - when one type may stand for another, and what variables of signatures come to mean. */
#include "cel/type.h"

/* false: enough of that. */
static bool looks(struct cel_subst *s)
{
    s->too_large |= ++s->steps > CEL_TYPE_STEPS_MAX;
    return !s->too_large;
}

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
    if (t->kind == CT_PARAM) {
        if (!fresh[t->param])
            fresh[t->param] = cel_subst_fresh(s);
        return fresh[t->param];
    }
    if (!t->elem || !looks(s))
        return t;
    const struct cel_type *elem = cel_subst_instance(s, t->elem, fresh);
    return cel_type_with(s->a, t, t->key ? cel_subst_instance(s, t->key, fresh) : NULL, elem);
}

static bool mentions(struct cel_subst *s, const struct cel_type *t, const struct cel_type *param)
{
    if (!looks(s))
        return false;
    if (t->kind == CT_PARAM) {
        const struct cel_type *sub = find(s, t);
        return t->param == param->param || (sub && mentions(s, sub, param));
    }
    return (t->elem && mentions(s, t->elem, param)) || (t->key && mentions(s, t->key, param));
}

/* dyn, and what is not decided yet: every type is one of these. */
static bool is_open(const struct cel_type *t)
{
    return t->kind == CT_DYN || t->kind == CT_PARAM;
}

static const struct cel_type *unwrapped(const struct cel_type *t)
{
    return t->kind == CT_WRAPPER ? t->elem : t;
}

/* Is every b an a? */
static bool covers(struct cel_subst *s, const struct cel_type *a, const struct cel_type *b)
{
    if (a == b || !looks(s))
        return true;
    if (is_open(a) || is_open(b))
        return is_open(a);
    if (a->kind == CT_WRAPPER && b->kind == CT_NULL)
        return true;
    a = unwrapped(a);
    b = unwrapped(b);
    if (a->kind != b->kind || a->kind == CT_TYPE)
        return a->kind == b->kind;
    if (!a->elem)
        return cel_type_eq(a, b);
    return covers(s, a->elem, b->elem) && (!a->key || covers(s, a->key, b->key));
}

const struct cel_type *cel_most_general(struct cel_subst *s, const struct cel_type *a,
                                        const struct cel_type *b)
{
    return covers(s, a, b) ? a : b;
}

/* A type as it is known now: the last variable on the way to it, and what that stands for. */
struct known {
    const struct cel_type *var;  /* NULL: it is no variable */
    const struct cel_type *type; /* NULL: a variable that is free */
};

static struct known look(const struct cel_subst *s, const struct cel_type *t)
{
    struct known k = { NULL, t };

    while (k.type && k.type->kind == CT_PARAM) {
        k.var = k.type;
        k.type = find(s, k.var);
    }
    return k;
}

static bool unite(struct cel_subst *s, const struct cel_type *a, const struct cel_type *b);

/* The kinds beside which a null may stand. */
static bool is_nullable(const struct cel_type *t)
{
    static const bool nullable[] = {
        [CT_OPAQUE] = true,   [CT_OPTIONAL] = true,  [CT_OBJECT] = true, [CT_WRAPPER] = true,
        [CT_DURATION] = true, [CT_TIMESTAMP] = true, [CT_NULL] = true,
    };
    return t->kind < ARRAY_LEN(nullable) && nullable[t->kind];
}

/* Two types that are known; the variables inside them may be bound. */
static bool agree(struct cel_subst *s, const struct cel_type *a, const struct cel_type *b)
{
    if (a->kind == CT_DYN || b->kind == CT_DYN || a->kind == CT_ERROR || b->kind == CT_ERROR)
        return true;
    if (a->kind == CT_NULL || b->kind == CT_NULL)
        return is_nullable(a) && is_nullable(b);
    a = unwrapped(a);
    b = unwrapped(b);
    if (a->kind != b->kind || a->kind == CT_TYPE)
        return a->kind == b->kind;
    if (!a->elem)
        return cel_type_eq(a, b);
    return (!a->key || unite(s, a->key, b->key)) && unite(s, a->elem, b->elem);
}

/* A variable that was decided for one type, and meets a wider one, stands for that from now on. */
static void widen(struct cel_subst *s, struct known k, const struct cel_type *general)
{
    if (k.var && k.type != general && !mentions(s, general, k.var))
        bind(s, k.var, general);
}

/* The same without looking at what variables stand for: then neither becomes wider. */
static bool is_exact(struct cel_subst *s, const struct cel_type *a, const struct cel_type *b)
{
    if (a == b || !looks(s))
        return true;
    a = unwrapped(a);
    b = unwrapped(b);
    if (a->kind != b->kind)
        return false;
    if (!a->elem)
        return cel_type_eq(a, b);
    return is_exact(s, a->elem, b->elem) && (!a->key || is_exact(s, a->key, b->key));
}

static bool unite(struct cel_subst *s, const struct cel_type *a, const struct cel_type *b)
{
    struct known x = look(s, a), y = look(s, b);

    if (!looks(s) || (x.type && y.type && is_exact(s, x.type, y.type)))
        return true;
    if (!x.type && !y.type) {
        if (x.var->param != y.var->param)
            bind(s, y.var, x.var);
        return true;
    }
    if (!x.type || !y.type) {
        struct known free = x.type ? y : x;
        struct known other = x.type ? x : y;
        if (mentions(s, other.type, free.var)) /* a list of itself */
            return false;
        /* To the variable where there is one: both widen together. */
        bind(s, free.var, other.var ? other.var : other.type);
        return true;
    }
    if (!agree(s, x.type, y.type))
        return false;
    const struct cel_type *general = cel_most_general(s, x.type, y.type);
    if (x.var && covers(s, y.type, x.type)) /* dyn and any are each as wide as the other */
        general = y.type;
    widen(s, x, general);
    widen(s, y, general);
    return true;
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
        if (!unite(s, from[i], to[i])) {
            take_back(s, mark);
            return false;
        }
    }
    return true;
}

/* left: how many more types it may have. What is copied counts more: it is bounded as memory too.
 */
enum { COPIED = 16 };
static const struct cel_type *apply(struct cel_subst *s, const struct cel_type *t, bool dyn,
                                    uint32_t *left)
{
    const struct cel_type *sub = find(s, t);

    if (sub)
        return apply(s, sub, dyn, left);
    if (t->kind == CT_PARAM)
        return dyn ? &cel_dyn : t;
    if (!t->elem)
        return t;
    if (*left == 0 || !looks(s)) {
        s->too_large = true;
        return &cel_error;
    }
    --*left;
    const struct cel_type *elem = apply(s, t->elem, dyn, left);
    const struct cel_type *with =
        cel_type_with(s->a, t, t->key ? apply(s, t->key, dyn, left) : NULL, elem);
    s->steps += with != t ? COPIED : 0;
    return with;
}

const struct cel_type *cel_subst_apply(struct cel_subst *s, const struct cel_type *t, bool dyn)
{
    uint32_t left = 2 * CEL_TYPE_MAX;
    return apply(s, t, dyn, &left);
}
