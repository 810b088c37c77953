/* args.h - NodeAffinityArgs (scheduler-core 4.3). */
#ifndef KOORD_SCHEDULER_NODEAFFINITY_ARGS_H
#define KOORD_SCHEDULER_NODEAFFINITY_ARGS_H
#include "scheduler/framework/plugin.h"

struct node_affinity;

struct nodeaffinity_args {
    struct node_affinity *added; /* for every pod of the profile; NULL: nothing */
};
extern const struct ks_args nodeaffinity_args;
#endif
