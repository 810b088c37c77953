/* refusals.h - which nodes turned a pod down, and why: grouped and sorted as nodeFailedDetails
 * (scheduler-core 11.2). Internal to the room.
 */
#ifndef KOORD_SCHEDULER_OBSERVE_EXPLAIN_REFUSALS_H
#define KOORD_SCHEDULER_OBSERVE_EXPLAIN_REFUSALS_H
#include "base/base.h"

struct attempt;
struct kjw;

/* The member nodeFailedDetails of an attempt that is over; left out when no node did. */
void refusals_write(struct attempt *a, struct kjw *w);
#endif
