/* args.h - ScarceResourceAvoidanceArgs (api-config 4.2). */
#ifndef KOORD_SCHEDULER_SCARCERESOURCEAVOIDANCE_ARGS_H
#define KOORD_SCHEDULER_SCARCERESOURCEAVOIDANCE_ARGS_H
#include "api/types.h"
#include "scheduler/framework/plugin.h"

struct scarce_args {
    kstrlist resources;
};
extern const struct ks_args scarce_args;
#endif
