/* counters.h - what devices of one pool share (gate DRAPartitionableDevices): a device can be had
 * while every counter that it needs has enough left. */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_COUNTERS_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_COUNTERS_H
#include "scheduler/plugins/dynamicresources/pools.h"

/* Part of pool_refresh(): the pool's counters and what its devices need of them. A pool with a set
 * or counter that is named twice, or is not there, is invalid. */
void counters_read(struct pool *p);
/* What is left beside the devices that somebody has; [ncounters], in the arena. */
struct qty *counters_left(const struct pool *p, struct arena *a);
/* Takes what the device needs; false, and nothing is taken: there is too little. */
bool counters_take(struct qty *left, const struct pool_device *d);
void counters_give(struct qty *left, const struct pool_device *d);
#endif
