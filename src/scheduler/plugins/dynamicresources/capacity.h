/* capacity.h - devices that several claims share, each with a part of their capacity (gate
 * DRAConsumableCapacity). */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_CAPACITY_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_CAPACITY_H
#include "scheduler/plugins/dynamicresources/allocate.h"

/* May several claims have parts of it, with this gate? */
static inline bool device_is_shared(const struct dra_gates *g, const struct slice_device *d)
{
    return g->consumable && d->allow_multiple_allocations.set && d->allow_multiple_allocations.v;
}
/* What a request takes of each of the device's capacities, by its policies: out[capacity.n]. False:
 * the device cannot give what is asked for, whatever is left of it. */
bool capacity_consumed(const struct slice_device *d, const struct device_ask *ask, struct qty *out);
/* Is that much left, beside the parts that claims have and the picks of this search? */
bool capacity_suffices(const struct pool_device *d, const struct qty *consumed,
                       const struct pick *picks, uint32_t npicks);
#endif
