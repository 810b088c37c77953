/* capacity.c - parts of devices. */
#include "scheduler/plugins/dynamicresources/capacity.h"

/* Steps are counted in whole units, as upstream counts them: fractions of the request, of min and
 * of step are rounded up first. Where upstream's int64 would overflow the device cannot give it. */
struct steps {
    int64_t min, step;
};

/* False: the range has no steps. */
static bool read_steps(const struct capacity_range *r, struct steps *ret)
{
    if (!r->min || !r->step || qty_sign(*r->step) <= 0)
        return false;
    *ret = (struct steps){ qty_value(*r->min), qty_value(*r->step) };
    return true;
}

/* The smallest min + n * step that is not less; the value itself without a step. */
static bool round_up(const struct capacity_range *r, struct qty *value)
{
    struct steps s;

    if (!read_steps(r, &s))
        return true;
    if (!qty_fits_i64(*value, 0))
        return false;
    __int128 over = (__int128)qty_value(*value) - s.min;
    __int128 whole = s.min + (over + s.step - 1) / s.step * s.step;
    if (whole > INT64_MAX)
        return false;
    *value = qty_from_i64((int64_t)whole, QTY_BINARY_SI);
    return true;
}

static bool by_range(const struct capacity_range *r, struct qty *value)
{
    if (!r->min || qty_cmp(*value, *r->min) >= 0)
        return round_up(r, value);
    *value = *r->min;
    return true;
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

static bool is_in_range(const struct capacity_range *r, struct qty value)
{
    struct steps s;

    if (r->max && qty_cmp(value, *r->max) > 0)
        return false;
    return !read_steps(r, &s) || ((__int128)qty_value(value) - s.min) % s.step == 0;
}

static bool is_valid(const struct capacity_policy *p, struct qty value)
{
    if (p->default_value && qty_cmp(value, *p->default_value) == 0)
        return true;
    if (p->valid_range)
        return is_in_range(p->valid_range, value);
    for (uint32_t i = 0; i < p->valid_values.n; i++)
        if (qty_cmp(value, p->valid_values.items[i]) == 0)
            return true;
    return p->valid_values.n == 0;
}

static bool consume(const struct device_capacity *c, const struct qty *asked, struct qty *out)
{
    const struct capacity_policy *p = c->policy;

    if (!p) {
        *out = asked ? *asked : c->value;
        return qty_cmp(*out, c->value) <= 0;
    }
    *out = asked ? *asked : p->default_value ? *p->default_value : c->value;
    if (asked && p->valid_range && !by_range(p->valid_range, out))
        return false;
    if (asked && !p->valid_range && p->valid_values.n && !by_values(p, out))
        return false;
    return is_valid(p, *out);
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
