/* args.h - NodeResourcesFitPlusArgs (api-config 4.2). */
#ifndef KOORD_SCHEDULER_NODERESOURCESFITPLUS_ARGS_H
#define KOORD_SCHEDULER_NODERESOURCESFITPLUS_ARGS_H
#include "scheduler/framework/plugin.h"

struct fitplus_resource {
    const char *type;
    int64_t weight;
};
struct fitplus_args {
    KLIST(struct {
        const char *name;
        struct fitplus_resource value;
    })
    resources;
};
extern const struct ks_args fitplus_args;
#endif
