/* args.h - PodTopologySpreadArgs (scheduler-core 4.3). */
#ifndef KOORD_SCHEDULER_PODTOPOLOGYSPREAD_ARGS_H
#define KOORD_SCHEDULER_PODTOPOLOGYSPREAD_ARGS_H
#include "api/pod.h"
#include "scheduler/framework/plugin.h"

struct spread_args {
    const char *defaulting; /* "System" or "List" */
    /* With "List": for pods that have no constraint of their own. */
    KLIST(struct topology_spread) constraints;
};
extern const struct ks_args spread_args;
#endif
