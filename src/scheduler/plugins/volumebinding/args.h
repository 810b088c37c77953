/* args.h - VolumeBindingArgs (scheduler-core 4.3). */
#ifndef KOORD_SCHEDULER_VOLUMEBINDING_ARGS_H
#define KOORD_SCHEDULER_VOLUMEBINDING_ARGS_H
#include "scheduler/framework/plugin.h"

struct volumebinding_args {
    struct opt_i64 timeout; /* seconds */
    const char *shape;      /* of a feature gate that is not implemented: refused */
};
extern const struct ks_args volumebinding_args;
#endif
