/* args.h - CoschedulingArgs (api-config 4.2). */
#ifndef KOORD_SCHEDULER_COSCHEDULING_ARGS_H
#define KOORD_SCHEDULER_COSCHEDULING_ARGS_H
#include "api/protocol/gang.h"
#include "scheduler/framework/plugin.h"

struct coscheduling_args {
    struct opt_i64 timeout; /* nanoseconds */
    struct opt_i64 workers;
    bool skip_cycle;
    struct opt_bool preemption, topology;
    const char *match_policy;
    struct opt_i64 hold_after, hold_for, hold_percentage; /* nanoseconds; ours */
};
extern const struct ks_args coscheduling_args;
/* What a gang that was refused for long may keep; after 0: nothing. */
struct gang_hold_args {
    nsec_t after, duration;
    int64_t percentage;
};
struct gang_hold_args coscheduling_hold(const struct coscheduling_args *a);
/* What counts for a gang that does not say. */
struct gang_defaults coscheduling_defaults(const struct coscheduling_args *a);
#endif
