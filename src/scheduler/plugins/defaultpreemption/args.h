/* args.h - DefaultPreemptionArgs (scheduler-core 4.3). */
#ifndef KOORD_SCHEDULER_DEFAULTPREEMPTION_ARGS_H
#define KOORD_SCHEDULER_DEFAULTPREEMPTION_ARGS_H
#include "scheduler/framework/plugin.h"

struct preemption_args { /* how many candidates are enough; not both are 0 */
    struct opt_i32 percentage, absolute;
};
extern const struct ks_args preemption_args;
#endif
