/* args.h - InterPodAffinityArgs (scheduler-core 4.3). */
#ifndef KOORD_SCHEDULER_INTERPODAFFINITY_ARGS_H
#define KOORD_SCHEDULER_INTERPODAFFINITY_ARGS_H
#include "scheduler/framework/plugin.h"

struct affinity_args {
    struct opt_i32 hard_weight; /* of required terms, in scores */
    bool ignore_preferred;      /* of pods there, for pods without preferred terms */
};
extern const struct ks_args affinity_args;
#endif
