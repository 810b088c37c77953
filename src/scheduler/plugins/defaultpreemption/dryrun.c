/* dryrun.c - who would have to go from one node (scheduler-core 8.18, step 5).
 *
 * All pods of lower priority go; then one after the other comes back, those first whose eviction
 * would break a budget, and stays if the pod still fits.
 */
#include "scheduler/plugins/defaultpreemption/dryrun.h"

#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/defaultpreemption/budgets.h"

enum { FATE_SPARED, FATE_VIOLATING = 1, FATE_VICTIM = 2 };

nsec_t dryrun_started(const struct pod *p, nsec_t now)
{
    return p->status.start_time ? p->status.start_time : now;
}

/* Higher priority, then the longer life; then names, so that equal runs give equal answers. */
static int by_importance(const void *left, const void *right, void *now)
{
    const struct pod *a = *(const struct pod *const *)left, *b = *(const struct pod *const *)right;

    if (pod_priority(a) != pod_priority(b))
        return pod_priority(a) > pod_priority(b) ? -1 : 1;
    nsec_t a_start = dryrun_started(a, *(nsec_t *)now), b_start = dryrun_started(b, *(nsec_t *)now);
    if (a_start != b_start)
        return a_start < b_start ? -1 : 1;
    int ns = strcmp(a->obj.meta.ns, b->obj.meta.ns);
    return ns ? ns : strcmp(a->obj.meta.name, b->obj.meta.name);
}

static void reserve(struct dryrun *d, uint32_t n)
{
    if (n <= d->cap)
        return;
    d->cap = n * 2;
    d->pods = arena_newn0(d->a->arena, d->cap, const struct pod *);
    d->fate = arena_newn0(d->a->arena, d->cap, uint8_t);
}

/* The pods of lower priority, the most important first. */
static uint32_t collect(struct dryrun *d, uint32_t row)
{
    const struct ks_podlist *on = &d->a->cycle.nodes->pods[row];
    int32_t priority = pod_priority(d->a->pod.pod);
    uint32_t n = 0;

    reserve(d, on->n);
    for (uint32_t i = 0; i < on->n; i++)
        if (pod_priority(on->items[i]) < priority)
            d->pods[n++] = on->items[i];
    if (n > 1)
        qsort_r(d->pods, n, sizeof *d->pods, by_importance, &d->a->cycle.now);
    return n;
}

/* Those of this fate come back, if the pod still fits. */
static void spare(struct dryrun *d, uint32_t n, uint8_t fate)
{
    for (uint32_t i = 0; i < n; i++) {
        if (d->fate[i] != fate)
            continue;
        attempt_overlay_restore(d->a, d->pods[i]);
        if (attempt_overlay_fits(d->a, NULL, NULL))
            continue;
        attempt_overlay_remove(d->a, d->pods[i]);
        d->fate[i] |= FATE_VICTIM;
    }
}

static void choose(struct dryrun *d, uint32_t n, struct victims *ret)
{
    budgets_begin(d->budgets);
    for (uint32_t i = 0; i < n; i++)
        d->fate[i] = budgets_take(d->budgets, d->pods[i]) ? FATE_VIOLATING : FATE_SPARED;
    spare(d, n, FATE_VIOLATING);
    spare(d, n, FATE_SPARED);
    for (uint32_t i = 0; i < n; i++) {
        if (!(d->fate[i] & FATE_VICTIM))
            continue;
        ret->violations += d->fate[i] & FATE_VIOLATING;
        d->pods[ret->n++] = d->pods[i];
    }
}

bool dryrun_row(struct dryrun *d, uint32_t row, struct victims *ret, struct ks_texts *why)
{
    uint32_t n = collect(d, row);

    if (n == 0) {
        ks_texts_add(why, "No preemption victims found for incoming pod");
        return false;
    }
    *ret = (struct victims){ .row = row, .pods = d->pods };
    attempt_overlay_begin(d->a, row);
    for (uint32_t i = n; i-- > 0;) /* backwards: who comes back first is found first */
        attempt_overlay_remove(d->a, d->pods[i]);
    if (attempt_overlay_fits(d->a, NULL, NULL)) {
        choose(d, n, ret);
        if (ret->n == 0) /* it fits as things are: somebody else rejected the pod as a whole */
            ks_texts_add(why, "No preemption victims found for incoming pod");
    } else {
        attempt_overlay_texts(d->a, why);
    }
    attempt_overlay_end(d->a);
    return ret->n > 0;
}
