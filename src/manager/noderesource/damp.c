/* damp.c - falls of batch resources that measured use does not explain.
 *
 * A pod without a metric counts with its whole request, so a new pod of ten cores that will use
 * half a core empties a busy node until the next report. With damping, the requests of pods that no
 * second report could tell of do not count where that makes a difference of more than fallPercent;
 * what measured use explains takes effect at once. No state is kept: who looks at the same objects
 * gets the same answer.
 */
#include "api/protocol/node.h"
#include "manager/noderesource/plugin.h"

/* What the node has now, before third parties and in CPUs of its own; false: not both. */
static bool current_of(const struct node *n, struct arena *a, struct nr_amount *ret)
{
    struct origin_allocatable o = { 0 };
    double ratio;

    if (origin_allocatable_read(&n->obj.meta.annotations, a, &o, NULL) < 0)
        o = (struct origin_allocatable){ 0 };
    const reslist *have = &n->status.allocatable;
    const reslist *from = reslist_has(&o.resources, RES_BATCH_CPU) ? &o.resources : have;
    const struct qty *cpu = reslist_find(from, RES_BATCH_CPU);
    const struct qty *memory = reslist_find(from, RES_BATCH_MEMORY);

    /* After a reset the origin is 0: nothing falls then. */
    if (!cpu || !memory || !reslist_has(have, RES_BATCH_CPU))
        return false;
    *ret = (struct nr_amount){ qty_from_milli(qty_value(*cpu), QTY_DECIMAL_SI), *memory };
    if (cpu_normalization_ratio(&n->obj.meta.annotations, &ratio, NULL) > 0 && ratio > 1)
        ret->cpu = qty_scale_milli(ret->cpu, 1 / ratio);
    return true;
}

/* now: the result; explained: without the pods that nobody could measure. */
static bool hold(int64_t fall_percent, struct qty current, struct qty explained, struct qty *now)
{
    struct qty floor = qty_scale_value(qty_from_i64(qty_milli(current), QTY_DECIMAL_SI),
                                       percent_ratio(100 - fall_percent));
    struct qty held = qty_min(explained, current);

    if (qty_milli(*now) >= qty_value(floor) || qty_cmp(held, *now) <= 0)
        return false;
    held.format = now->format;
    *now = held;
    return true;
}

void nr_batch_damp(const struct nr_input *in, struct arena *a, struct nr_result *r)
{
    struct nr_batch_terms explained = r->batch;
    struct nr_damping *d = &r->damping;
    int64_t fall = r->extension.damping.fall_percent.v;

    d->on = true;
    d->undamped = r->batch.result;
    if (!current_of(in->node, a, &d->current))
        return;
    explained.hp.used = nr_sub(explained.hp.used, explained.hp.fresh);
    nr_batch_formula(r->strategy, &explained);
    d->cpu_held = hold(fall, d->current.cpu, explained.result.cpu, &r->batch.result.cpu);
    d->memory_held =
        hold(fall, d->current.memory, explained.result.memory, &r->batch.result.memory);
}
