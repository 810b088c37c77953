/* args.h - DynamicResourcesArgs (scheduler-core 4.3). */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_ARGS_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_ARGS_H
#include "scheduler/framework/plugin.h"

struct dynamicresources_args {
    struct opt_i64 filter_timeout, binding_timeout; /* nanoseconds */
    kstrlist card_attributes; /* by which a device is the card of a Device; ours */
};
extern const struct ks_args dynamicresources_args;
#endif
