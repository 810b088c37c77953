/* capacity.c - parts of devices. */
#include "scheduler/plugins/dynamicresources/capacity.h"

/* The smallest min + n * step that is not less; the value itself without a step. */
static struct qty round_up(struct qty value, const struct capacity_range *r)
{
    struct qty at = *r->min;

    if (!r->step || qty_sign(*r->step) <= 0)
        return value;
    struct qty over = qty_sub(value, *r->min);
    /* Quantities of devices are whole numbers (bytes, cores) or milli: both fit here. */
    int64_t step = qty_milli(*r->step), n = qty_milli(over);
    if (step <= 0)
        return value;
    return qty_add(at, qty_mul(*r->step, n / step + (n % step != 0), NULL));
}

static bool by_range(const struct capacity_range *r, struct qty *value)
{
    if (r->min && qty_cmp(*value, *r->min) < 0)
        *value = *r->min;
    else if (r->min)
        *value = round_up(*value, r);
    return !r->max || qty_cmp(*value, *r->max) <= 0;
}

/* The smallest valid value that is not less. */
static bool by_values(const struct capacity_policy *p, struct qty *value)
{
    const struct qty *best = NULL;

    for (uint32_t i = 0; i < p->valid_values.n; i++) {
        const struct qty *v = &p->valid_values.items[i];
        if (qty_cmp(*v, *value) >= 0 && (!best || qty_cmp(*v, *best) < 0))
            best = v;
    }
    if (best)
        *value = *best;
    return best != NULL;
}

static bool consume(const struct device_capacity *c, const struct qty *asked, struct qty *out)
{
    const struct capacity_policy *p = c->policy;

    if (!p) {
        *out = asked ? *asked : c->value;
        return qty_cmp(*out, c->value) <= 0;
    }
    *out = asked ? *asked : p->default_value ? *p->default_value : c->value;
    if (!asked)
        return true;
    if (p->valid_range)
        return by_range(p->valid_range, out);
    return p->valid_values.n == 0 || by_values(p, out);
}

bool capacity_consumed(const struct slice_device *d, const struct device_ask *ask, struct qty *out)
{
    const reslist *asked = &ask->capacity.requests;
    uint32_t known = 0;

    for (uint32_t i = 0; i < d->capacity.n; i++) {
        const struct device_capacity_entry *c = &d->capacity.items[i];
        const struct qty *q = reslist_find(asked, c->name);
        known += q != NULL;
        if (!consume(&c->value, q, &out[i]))
            return false;
    }
    return known == asked->n;
}

static struct qty left_of(const struct pool_device *d, uint32_t i)
{
    const struct device_capacity_entry *c = &d->d->capacity.items[i];
    struct qty left = c->value.value;

    for (size_t k = 0; d->holding && k < d->holding->parts.n; k++)
        left = qty_sub(left, reslist_get(&d->holding->parts.items[k]->consumed_capacity, c->name));
    return left;
}

bool capacity_suffices(const struct pool_device *d, const struct qty *consumed,
                       const struct pick *picks, uint32_t npicks)
{
    for (uint32_t i = 0; i < d->d->capacity.n; i++) {
        struct qty left = left_of(d, i);
        for (uint32_t k = 0; k < npicks; k++)
            if (picks[k].consumed && &picks[k].pool->devices[picks[k].device] == d)
                left = qty_sub(left, picks[k].consumed[i]);
        if (qty_cmp(left, consumed[i]) < 0)
            return false;
    }
    return true;
}
