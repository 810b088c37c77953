/* counters.c - counters that devices of a pool share. */
#include "scheduler/plugins/dynamicresources/counters.h"

struct named { /* of a set */
    const char *set, *counter;
};

static bool add_sets(struct pool *p, const struct slice_spec *s, struct named *names,
                     struct qty *values, struct map *sets)
{
    for (uint32_t i = 0; i < s->shared_counters.n; i++) {
        const struct device_counters *set = &s->shared_counters.items[i];
        if (map_putz(sets, set->name, (void *)set)) {
            p->invalid = arena_printf(p->arena, "counter set \"%s\" is in pool \"%s\" twice",
                                      set->name, p->key);
            return false;
        }
        for (uint32_t k = 0; k < set->counters.n; k++) {
            names[p->ncounters] = (struct named){ set->name, set->counters.items[k].name };
            values[p->ncounters++] = set->counters.items[k].value.value;
        }
    }
    return true;
}

static uint32_t find(const struct pool *p, const struct named *names, const char *set,
                     const char *counter)
{
    uint32_t i = 0;

    while (i < p->ncounters && !(streq(names[i].set, set) && streq(names[i].counter, counter)))
        i++;
    return i;
}

static void read_device(struct pool *p, struct pool_device *d, const struct named *names)
{
    const device_counterslist *all = &d->d->consumes_counters;
    uint32_t n = 0;

    for (uint32_t i = 0; i < all->n; i++)
        n += all->items[i].counters.n;
    struct counter_use *uses = arena_newn0(p->arena, n, struct counter_use);
    d->uses = uses;
    for (uint32_t i = 0; i < all->n; i++)
        for (uint32_t k = 0; k < all->items[i].counters.n; k++) {
            const struct device_counter_entry *e = &all->items[i].counters.items[k];
            uint32_t at = find(p, names, all->items[i].name, e->name);
            if (at == p->ncounters) {
                p->invalid = arena_printf(
                    p->arena, "device \"%s\" of pool \"%s\" needs unknown counter \"%s\" of \"%s\"",
                    d->d->name, p->key, e->name, all->items[i].name);
                return;
            }
            uses[d->nuses++] = (struct counter_use){ at, e->value.value };
        }
}

void counters_read(struct pool *p)
{
    CLEANUP(map_fini) struct map sets = { 0 };
    uint32_t n = 0;

    p->counters = NULL;
    p->ncounters = 0;
    if (!p->in->gates.partitionable)
        return;
    for (uint32_t i = 0; i < p->nslices; i++) {
        const device_counterslist *l = &p->slices[i].slice->spec.shared_counters;
        for (uint32_t k = 0; k < l->n; k++)
            n += l->items[k].counters.n;
    }
    struct named *names = arena_newn0(p->arena, n, struct named);
    struct qty *values = arena_newn0(p->arena, n, struct qty);
    p->counters = values;
    for (uint32_t i = 0; i < p->nslices; i++)
        if (!add_sets(p, &p->slices[i].slice->spec, names, values, &sets))
            return;
    for (uint32_t i = 0; i < p->ndevices && !p->invalid; i++)
        read_device(p, &p->devices[i], names);
}

struct qty *counters_left(const struct pool *p, struct arena *a)
{
    struct qty *left = arena_newn0(a, p->ncounters, struct qty);

    for (uint32_t i = 0; i < p->ncounters; i++)
        left[i] = p->counters[i];
    for (uint32_t i = 0; i < p->ndevices; i++)
        for (uint32_t k = 0; p->devices[i].holding && k < p->devices[i].nuses; k++) {
            const struct counter_use *u = &p->devices[i].uses[k];
            left[u->counter] = qty_sub(left[u->counter], u->value);
        }
    return left;
}

bool counters_take(struct qty *left, const struct pool_device *d)
{
    for (uint32_t k = 0; k < d->nuses; k++)
        if (qty_cmp(left[d->uses[k].counter], d->uses[k].value) < 0)
            return false;
    for (uint32_t k = 0; k < d->nuses; k++)
        left[d->uses[k].counter] = qty_sub(left[d->uses[k].counter], d->uses[k].value);
    return true;
}

void counters_give(struct qty *left, const struct pool_device *d)
{
    for (uint32_t k = 0; k < d->nuses; k++)
        left[d->uses[k].counter] = qty_add(left[d->uses[k].counter], d->uses[k].value);
}
