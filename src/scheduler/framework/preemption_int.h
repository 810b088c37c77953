/* preemption_int.h - what preemption.c and dryrun.c share. */
#ifndef KOORD_SCHEDULER_PREEMPTION_INT_H
#define KOORD_SCHEDULER_PREEMPTION_INT_H
#include "scheduler/framework/preemption.h"

#define PREEMPTION_NO_VICTIMS "No preemption victims found for incoming pod"

bool preemption_may_evict(const struct preemption_rules *r, const struct attempt *a,
                          const struct pod *victim, uint32_t row);
/* When the pod started; now, when it did not say. */
nsec_t preemption_started(const struct pod *p, nsec_t now);
#endif
