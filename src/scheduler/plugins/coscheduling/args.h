/* args.h - CoschedulingArgs (api-config 4.2). */
#ifndef KOORD_SCHEDULER_COSCHEDULING_ARGS_H
#define KOORD_SCHEDULER_COSCHEDULING_ARGS_H
#include "scheduler/framework/plugin.h"

struct coscheduling_args {
    struct opt_i64 timeout; /* nanoseconds */
    struct opt_i64 workers;
    bool skip_cycle;
    struct opt_bool preemption, topology;
    const char *match_policy;
};
extern const struct ks_args coscheduling_args;
#endif
