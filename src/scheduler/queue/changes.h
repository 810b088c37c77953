/* changes.h - what changed between two states of an object, as cluster events (scheduler-core 3.5).
 * No state.
 */
#ifndef KOORD_SCHEDULER_CHANGES_H
#define KOORD_SCHEDULER_CHANGES_H
#include "scheduler/framework/plugin.h"

/* Bits KS_POD_*; KS_UPDATE when nothing of what we look for changed. */
uint32_t pod_changes(const struct pod *before, const struct pod *now);
/* Bits KS_NODE_*; 0 when nothing of what we look for changed. */
uint32_t node_changes(const struct node *before, const struct node *now);
#endif
