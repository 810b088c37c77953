/* system.h - settings of the whole machine: watermarks of free memory, switches of the scheduler.
 *
 * Pure: from a snapshot to proposals (koordlet-qos 13). A value out of its range is left out.
 */
#ifndef KOORD_KOORDLET_QOS_SYSTEM_SYSTEM_H
#define KOORD_KOORDLET_QOS_SYSTEM_SYSTEM_H
#include "koordlet/executor/plan.h"

/* node and NodeSLO are there. */
void system_propose(const struct snapshot *known, struct plan *p);
#endif
