/* args.h - SchedulingHintArgs (api-config 4.2). */
#ifndef KOORD_SCHEDULER_SCHEDULINGHINT_ARGS_H
#define KOORD_SCHEDULER_SCHEDULINGHINT_ARGS_H
#include "scheduler/framework/plugin.h"

struct hint_args {
    struct opt_i64 max_nodes;
};
extern const struct ks_args hint_args;
#endif
