/* args.h - NodeResourcesFitArgs and NodeResourcesBalancedAllocationArgs (scheduler-core 4.3). */
#ifndef KOORD_SCHEDULER_NODERESOURCES_ARGS_H
#define KOORD_SCHEDULER_NODERESOURCES_ARGS_H
#include "api/types.h"
#include "scheduler/framework/plugin.h"

struct res_weight {
    const char *name;
    int64_t weight;
};
typedef KLIST(struct res_weight) res_weights;

struct fit_point {
    int32_t utilization, score; /* percent; of 10 */
};
struct fit_ratio {
    KLIST(struct fit_point) shape;
};
struct fit_strategy {
    const char *type; /* "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio" */
    res_weights resources;
    struct fit_ratio *ratio; /* with the last, NULL with the others */
};
struct fit_args {
    kstrlist ignored, ignored_groups; /* of extended resources */
    struct fit_strategy strategy;
};
extern const struct ks_args fit_args;

struct balanced_args {
    res_weights resources;
};
extern const struct ks_args balanced_args;
#endif
