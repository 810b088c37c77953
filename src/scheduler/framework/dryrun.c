/* dryrun.c - who would have to go from one node (scheduler-core 8.18, step 5).
 *
 * All pods that may be evicted go; then one after the other comes back, those first whose eviction
 * would break a budget, and stays if the pod still fits.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/framework/attempt_int.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/framework/preemption_int.h"

enum { FATE_SPARED, FATE_VIOLATING = 1, FATE_VICTIM = 2, FATE_COUNTS = 4 };

nsec_t preemption_started(const struct pod *p, nsec_t now)
{
    return p->status.start_time ? p->status.start_time : now;
}

bool preemption_may_evict(const struct preemption_rules *r, const struct attempt *a,
                          const struct pod *victim, uint32_t row)
{
    return r->may_evict ? r->may_evict(r->arg, a, victim, row)
                        : pod_priority(victim) < pod_priority(a->pod.pod);
}

/* Higher priority, then the longer life; then names, so that equal runs give equal answers. */
static int by_importance(const void *left, const void *right, void *arg)
{
    const struct pod *a = *(const struct pod *const *)left, *b = *(const struct pod *const *)right;
    const struct dry_run *d = arg;
    nsec_t now = d->a->cycle.now;

    if (d->rules->compare)
        return d->rules->compare(d->rules->arg, d->a, a, b);
    if (pod_priority(a) != pod_priority(b))
        return pod_priority(a) > pod_priority(b) ? -1 : 1;
    nsec_t a_start = preemption_started(a, now), b_start = preemption_started(b, now);
    if (a_start != b_start)
        return a_start < b_start ? -1 : 1;
    int ns = strcmp(a->obj.meta.ns, b->obj.meta.ns);
    return ns ? ns : strcmp(a->obj.meta.name, b->obj.meta.name);
}

static void reserve(struct dry_run *d, uint32_t n)
{
    if (n <= d->cap)
        return;
    d->cap = n * 2;
    d->pods = arena_newn0(d->a->arena, d->cap, const struct pod *);
    d->fate = arena_newn0(d->a->arena, d->cap, uint8_t);
}

/* Those that may go, the most important first. */
static uint32_t collect(struct dry_run *d, uint32_t row)
{
    const struct ks_podlist *on = &d->a->cycle.nodes->pods[row];
    uint32_t n = 0;

    reserve(d, on->n);
    for (uint32_t i = 0; i < on->n; i++)
        if (preemption_may_evict(d->rules, d->a, on->items[i], row))
            d->pods[n++] = on->items[i];
    if (n > 1)
        qsort_r(d->pods, n, sizeof *d->pods, by_importance, d);
    return n;
}

static bool fits(struct dry_run *d, uint32_t row)
{
    return d->rules->fits ? d->rules->fits(d->rules->arg, d->a, row)
                          : attempt_fits(d->a, row, &d->verdict);
}

static void explain(const struct dry_run *d, uint32_t row, struct ks_texts *why)
{
    if (d->rules->explain)
        d->rules->explain(d->rules->arg, d->a, row, why);
    else
        attempt_fits_texts(d->a, row, &d->verdict, why);
}

/* Those of this fate come back, if the pod still fits. */
static void spare(struct dry_run *d, uint32_t row, uint32_t n, uint8_t fate)
{
    for (uint32_t i = 0; i < n; i++) {
        if (d->fate[i] != fate)
            continue;
        uint32_t mark = ks_overlay_mark(d->a->overlay);
        ks_overlay_restore_pod(d->a->overlay, row, d->pods[i]);
        if (fits(d, row))
            continue;
        bool counts =
            fate == FATE_VIOLATING && (!d->rules->violates || d->rules->violates(d->rules->arg));
        ks_overlay_rollback(d->a->overlay, mark);
        d->fate[i] |= counts ? FATE_VICTIM | FATE_COUNTS : FATE_VICTIM;
    }
}

/* For the rows that come: only those that go have used what the budgets allow, and of those that
 * were looked at first too many may have seemed to break one. */
static void settle_budgets(struct dry_run *d, uint32_t n)
{
    struct budgets *budgets = d->rules->budgets;

    for (uint32_t i = 0; i < n; i++)
        budgets_give(budgets, d->pods[i]);
    for (uint32_t i = 0; i < n; i++)
        if (d->fate[i] & FATE_VICTIM)
            d->fate[i] = (uint8_t)(budgets_take(budgets, d->pods[i]) ? d->fate[i] | FATE_COUNTS
                                                                     : d->fate[i] & ~FATE_COUNTS);
}

/* Victims that break budgets come before the others. */
static void order_by_turn(struct dry_run *d, uint32_t n)
{
    const struct pod **pods = arena_newn0(d->a->arena, n, const struct pod *);
    uint8_t *fate = arena_newn0(d->a->arena, n, uint8_t);
    uint32_t at = 0;

    for (int pass = FATE_VIOLATING; pass >= FATE_SPARED; pass--) {
        for (uint32_t i = 0; i < n; i++) {
            if ((d->fate[i] & FATE_VIOLATING) != pass)
                continue;
            pods[at] = d->pods[i];
            fate[at++] = d->fate[i];
        }
    }
    memcpy(d->pods, pods, n * sizeof *pods);
    memcpy(d->fate, fate, n);
}

uint32_t dry_run_remove(struct dry_run *d, uint32_t row)
{
    d->n = collect(d, row);
    for (uint32_t i = d->n; i-- > 0;)
        ks_overlay_remove_pod(d->a->overlay, row, d->pods[i]);
    return d->n;
}

void dry_run_spare(struct dry_run *d, uint32_t row, struct victims *ret)
{
    struct budgets *budgets = d->rules->budgets;
    uint32_t n = d->n;

    *ret = (struct victims){ .row = row, .pods = d->pods };

    if (budgets && !d->rules->shares_budgets)
        budgets_begin(budgets);
    for (uint32_t i = 0; i < n; i++)
        d->fate[i] = budgets && budgets_take(budgets, d->pods[i]) ? FATE_VIOLATING : FATE_SPARED;
    spare(d, row, n, FATE_VIOLATING);
    spare(d, row, n, FATE_SPARED);
    if (budgets && d->rules->shares_budgets)
        settle_budgets(d, n);
    if (d->rules->in_turn)
        order_by_turn(d, n);
    for (uint32_t i = 0; i < n; i++) {
        if (!(d->fate[i] & FATE_VICTIM))
            continue;
        ret->violations += (d->fate[i] & FATE_COUNTS) != 0;
        d->pods[ret->n++] = d->pods[i];
    }
}

enum ks_code dry_run_row(struct dry_run *d, uint32_t row, struct victims *ret, struct ks_texts *why)
{
    uint32_t mark = ks_overlay_mark(d->a->overlay);
    enum ks_code code = KS_SUCCESS;

    if (dry_run_remove(d, row) == 0) {
        ks_texts_add(why, d->rules->nobody ? d->rules->nobody(d->rules->arg, d->a, row)
                                           : PREEMPTION_NO_VICTIMS);
        return KS_UNRESOLVABLE;
    }
    if (fits(d, row)) {
        dry_run_spare(d, row, ret);
    } else {
        code = KS_UNSCHEDULABLE;
        explain(d, row, why);
    }
    ks_overlay_rollback(d->a->overlay, mark);
    return code;
}
