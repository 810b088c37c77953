/* args.h - ReservationArgs (api-config 4.2). */
#ifndef KOORD_SCHEDULER_RESERVATION_ARGS_H
#define KOORD_SCHEDULER_RESERVATION_ARGS_H
#include "api/types.h"
#include "scheduler/framework/plugin.h"

struct pre_allocation {
    bool cluster, prefer_others;
    const char *label_key, *priority_key;
};
struct selector_index {
    bool enabled;
    kstrlist prefixes, keys;
};
struct reservation_args {
    struct opt_bool preemption;
    struct opt_i32 percentage, absolute, workers;
    int64_t gc_duration, gc_interval, resync; /* seconds */
    bool no_gc;
    struct pre_allocation *pre; /* NULL: not given */
    kstrlist ignored, ignored_groups;
    struct selector_index *index; /* NULL: not given */
};
extern const struct ks_args reservation_args;
#endif
