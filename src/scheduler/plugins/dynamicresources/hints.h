/* hints.h - which events may help a pod that waits for its claims (sched-dra 3.1). */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_HINTS_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_HINTS_H
#include "scheduler/framework/plugin.h"

enum { DRA_HINTS = 7 };
extern const struct ks_hint dra_hints[DRA_HINTS];
#endif
