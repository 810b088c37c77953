/* revoke.c - the least important pods go, as few as possible (sched-quota 15). */
#include "quota/revoke.h"

bool revoke_is_overused(struct quota_forest *f, struct quota *q)
{
    uint64_t keys, limited;
    const int64_t *runtime = quota_values(f, q, QUOTA_RUNTIME, &limited);
    const int64_t *used = quota_values(f, q, QUOTA_USED, &keys);

    columns_foreach(c, limited & keys) {
        if (quota_at(used, c) > quota_at(runtime, c))
            return true;
    }
    return false;
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Lower priority first, then the later start; then names, so that equal runs agree. */
static int by_importance(const void *x, const void *y)
{
    const struct pod *a = ((const struct quota_pod *)x)->pod,
                     *b = ((const struct quota_pod *)y)->pod;

    if (pod_priority(a) != pod_priority(b))
        return pod_priority(a) < pod_priority(b) ? -1 : 1;
    nsec_t a_start = a->status.start_time ? a->status.start_time : NSEC_MAX;
    nsec_t b_start = b->status.start_time ? b->status.start_time : NSEC_MAX;
    if (a_start != b_start)
        return a_start > b_start ? -1 : 1;
    int ns = strcmp(a->obj.meta.ns, b->obj.meta.ns);
    return ns ? -ns : -strcmp(a->obj.meta.name, b->obj.meta.name);
}

static uint32_t assigned_pods(struct quota_forest *f, struct quota *q, struct arena *a,
                              struct quota_pod **ret)
{
    struct quota_pod p;
    uint32_t n = 0;

    for (uint32_t at = 0; quota_next_pod(f, q, &at, &p);)
        n += p.assigned;
    *ret = arena_newn0(a, n, struct quota_pod);
    n = 0;
    for (uint32_t at = 0; quota_next_pod(f, q, &at, &p);)
        if (p.assigned)
            (*ret)[n++] = p;
    if (n > 1)
        qsort(*ret, n, sizeof **ret, by_importance);
    return n;
}

/* ---- the choice ------------------------------------------------------------------------------ */

struct balance { /* of a quota */
    bool exact;
    uint64_t limited;
    const int64_t *runtime;
    uint64_t keys; /* of `used` */
    int64_t used[QUOTA_COLUMNS_MAX];
};

static bool balance_holds(const struct balance *b)
{
    columns_foreach(c, b->limited & b->keys) {
        if (b->used[c] > quota_at(b->runtime, c))
            return false;
    }
    return true;
}

static void balance_add(struct balance *b, const struct quota_pod *p, int sign)
{
    columns_foreach(c, p->keys)
        b->used[c] = (b->keys >> c & 1 ? b->used[c] : 0) + sign * p->amount[c];
    b->keys = b->exact ? b->keys | p->keys : p->keys;
}

/* A pod that is on its way out has given back what it uses. */
static void balance_leave(struct balance *b, const struct quota_pod *p)
{
    columns_foreach(c, p->pod->obj.meta.deleted ? p->keys & b->keys : 0)
        b->used[c] -= p->amount[c];
}

static struct balance balance_of(struct quota_forest *f, struct quota *q, bool exact)
{
    struct balance b = { .exact = exact };
    const int64_t *used = quota_values(f, q, QUOTA_USED, &b.keys);

    columns_foreach(c, b.keys)
        b.used[c] = quota_at(used, c);
    b.runtime = quota_values(f, q, QUOTA_RUNTIME, &b.limited);
    b.limited &= quota_keys(q);
    return b;
}

static bool may_evict(const struct revoke_rules *r, const struct quota_pod *p)
{
    return p->preemptible && (!r || !r->may_evict || r->may_evict(r->arg, p->pod));
}

const struct pod **revoke_choose(struct quota_forest *f, struct quota *q,
                                 const struct revoke_rules *rules, struct arena *a, uint32_t *ret_n,
                                 bool *ret_enough)
{
    struct balance b = balance_of(f, q, rules && rules->exact);
    struct quota_pod *pods;
    uint32_t n = assigned_pods(f, q, a, &pods), taken = 0, chosen = 0;
    const struct pod **out = arena_newn0(a, n, const struct pod *);

    for (uint32_t i = 0; i < n; i++)
        balance_leave(&b, &pods[i]);
    for (uint32_t i = 0; i < n && !balance_holds(&b); i++) {
        if (pods[i].pod->obj.meta.deleted || !may_evict(rules, &pods[i]))
            continue;
        balance_add(&b, &pods[i], -1);
        pods[taken++] = pods[i];
    }
    *ret_enough = balance_holds(&b);
    for (uint32_t i = 0; i < taken && !*ret_enough; i++)
        out[chosen++] = pods[i].pod;
    for (uint32_t i = taken; *ret_enough && i-- > 0;) { /* the most important stay if they can */
        balance_add(&b, &pods[i], 1);
        if (balance_holds(&b))
            continue;
        balance_add(&b, &pods[i], -1);
        out[chosen++] = pods[i].pod;
    }
    *ret_n = chosen;
    return out;
}
