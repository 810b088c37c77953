/* view.h - a node's CPUs and NUMA nodes as JSON, for people and tools (sched-numa 11). */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_VIEW_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_VIEW_H
#include "scheduler/framework/service.h"

extern const struct ks_path numa_paths[]; /* of the service grants */
#endif
