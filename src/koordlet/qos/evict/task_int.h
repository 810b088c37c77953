/* task_int.h - what the features that make eviction tasks share. */
#ifndef KOORD_KOORDLET_QOS_EVICT_TASK_INT_H
#define KOORD_KOORDLET_QOS_EVICT_TASK_INT_H
#include "koordlet/qos/evict/task.h"

/* The resource that a pod of this class asks for. */
enum evict_resource evict_resource_of(enum priority_class c, enum evict_usage what);
/* The pod's request of that resource (6.5). */
int64_t evict_request(const struct npod *p, enum evict_usage what, struct arena *a);
/* The sum over containers and sidecars of one extended resource; negative ones count as 0. */
int64_t evict_extended_request(const struct pod *p, const char *name);

/* Candidates of the features for best-effort pods: label BE, and the policy allows it. In order;
 * fills candidates of the task. */
void evict_candidates_be(const struct evict_in *in, struct arena *a, struct evict_task *t);
/* Candidates by priority (6.5). by_request: the last key is the request, else the usage. */
void evict_candidates_priority(const struct evict_in *in, int32_t threshold, bool by_request,
                               struct arena *a, struct evict_task *t);

/* The features, file by file; answers as evict_task_make(). */
int evict_make_be_cpu(const struct evict_in *in, struct arena *a, struct evict_task *t,
                      struct kerr *err);
int evict_make_cpu(const struct evict_in *in, struct arena *a, struct evict_task *t,
                   struct kerr *err);
int evict_make_memory(const struct evict_in *in, struct arena *a, struct evict_task *t,
                      struct kerr *err); /* BEMemoryEvict and MemoryEvict */
int evict_make_allocatable(const struct evict_in *in, struct arena *a, struct evict_task *t,
                           struct kerr *err);

static inline enum evict_usage evict_feature_usage(enum evict_feature f)
{
    return f <= EVICT_FEATURE_CPU ? EVICT_USED_CPU : EVICT_USED_MEMORY;
}
#endif
