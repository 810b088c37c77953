/* args.h - NodeNUMAResourceArgs (api-config 4.2). */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_ARGS_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_ARGS_H
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/scoringstrategy/scoringstrategy.h"

struct numa_args {
    const char *bind_policy;
    struct scoring_strategy *node, *zone;
};
extern const struct ks_args numa_args;
#endif
