/* toleration.c - see toleration.h (scheduler-core 8.5). */
#include "api/toleration.h"

#include "base/num.h"

/* Both sides decimal, without superfluous zeros or signs, as upstream insists. */
static bool canonical_i64(const char *s, int64_t *ret)
{
    const char *digits = s + (*s == '-');
    if (*digits == '0' && (digits[1] != '\0' || digits != s))
        return false;
    return *s != '+' && i64_parse(s, strlen(s), ret) == 0;
}

static bool compare(const struct toleration *t, const struct taint *taint)
{
    int64_t have, bound;
    if (!canonical_i64(taint->value, &have) || !canonical_i64(t->value, &bound))
        return false;
    return t->op == TOL_OP_LT ? have < bound : have > bound;
}

bool toleration_tolerates(const struct toleration *t, const struct taint *taint, unsigned flags)
{
    if (t->effect != TAINT_EFFECT_NONE && t->effect != taint->effect)
        return false;
    if (*t->key && !streq(t->key, taint->key))
        return false;
    switch (t->op) {
    case TOL_OP_NONE:
    case TOL_OP_EQUAL: return streq(t->value, taint->value);
    case TOL_OP_EXISTS: return true;
    default: return (flags & TOL_COMPARE) && compare(t, taint);
    }
}

bool tolerations_tolerate(const tolerationlist *l, const struct taint *taint, unsigned flags)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (toleration_tolerates(&l->items[i], taint, flags))
            return true;
    return false;
}

const struct taint *taints_untolerated(const taintlist *taints, const tolerationlist *l,
                                       unsigned effects, unsigned flags)
{
    for (uint32_t i = 0; i < taints->n; i++) {
        const struct taint *t = &taints->items[i];
        if ((effects & TAINT_BIT(t->effect)) && !tolerations_tolerate(l, t, flags))
            return t;
    }
    return NULL;
}

uint32_t taints_count_prefer(const taintlist *taints, const tolerationlist *l, unsigned flags)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < taints->n; i++)
        n += taints->items[i].effect == TAINT_PREFER_NO_SCHEDULE &&
             !tolerations_tolerate(l, &taints->items[i], flags);
    return n;
}

bool taints_equal(const taintlist *a, const taintlist *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct taint *x = &a->items[i], *y = &b->items[i];
        if (x->effect != y->effect || !streq(x->key, y->key) || !streq(x->value, y->value))
            return false;
    }
    return true;
}
