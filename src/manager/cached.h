/* cached.h - what the manager keeps of each kind it reads: less than the objects have.
 *
 * Structs are those of api/, but members that nobody here reads are left out (NULL, 0). Pods become
 * what the calculation of node resources reads of them. For caches_get() and caches_get_some().
 */
#ifndef KOORD_MANAGER_CACHED_H
#define KOORD_MANAGER_CACHED_H
#include "manager/noderesource/nr.h"

struct informer_opts;

/* struct node: metadata, unschedulable, capacity, allocatable, conditions.
 * struct nodemetric: spec, latest use of node, system, pods and host applications, prediction.
 * struct noderesourcetopology: zones, and of the annotations the CPU's model.
 * struct device: labels; type, health and resources of the devices. */
/* struct kobj alone: namespaces with labels; pods with labels and annotations. */
extern const struct kind cached_namespace, cached_pod_meta;
extern const struct kind cached_node, cached_nodemetric, cached_topology, cached_device;

/* Do both report the same? And do both have the same devices? */
bool nodemetric_status_equal(const struct nodemetric *a, const struct nodemetric *b);
bool cached_device_equal(const struct device *a, const struct device *b);

/* A pod, by the key of the pod. */
struct cached_pod {
    struct kobj obj; /* name, namespace, uid and resourceVersion */
    struct nr_pod pod;
    const char *node_name; /* "" while it has none */
};
extern const struct kind cached_pod_kind;
/* For informers of pods: .kind = &kind_pod, .reduce = cached_pod_reduce. */
struct kobj *cached_pod_reduce(struct kobj *pod);

static inline const struct cached_pod *cached_pod_of(const struct kobj *o)
{
    return container_of(o, const struct cached_pod, obj);
}
/* A pod that waits for a node. */
struct pending_pod {
    struct kobj obj; /* metadata with labels */
    struct {
        const char *node_name; /* "" */
    } spec;
    struct {
        const char *phase;
    } status;
};
extern const struct kind cached_pending_pod;

/* An index by node. */
void cached_pod_index_node(const struct kobj *o, void (*emit)(void *to, const char *value),
                           void *to);
#endif
