/* objects.h - what the dash keeps of pods, nodes and NodeMetrics: less than the objects have.
 *
 * 150,000 pods of 5,000 nodes stay in memory for as long as somebody looks, so the informers reduce
 * what they decode. Objects are immutable but for the members that say where the dash keeps them.
 */
#ifndef KOORD_DASH_OBJECTS_H
#define KOORD_DASH_OBJECTS_H
#include "api/kobj.h"
#include "dash/dash.h"

enum { POD_MESSAGE_MAX = 600 }; /* of why a pod waits; longer texts are cut */

struct dash_pod {
    struct kobj obj;           /* name, namespace, uid, resourceVersion, created, deleted */
    const char *node;          /* interned; "" */
    const char *reason, *text; /* why it has no node; "" when it has one */
    struct dash_amount requested, batch_requested;
    int32_t priority_value;
    uint32_t slot;         /* in the list of its row, or of those that wait */
    uint8_t phase;         /* enum pod_phase */
    uint8_t qos, priority; /* enum qos_class, enum priority_class; with defaults */
};

struct dash_pod_metric {
    uint64_t key; /* hash of namespace and name */
    struct dash_amount used;
};
struct dash_metric {
    struct kobj obj;
    nsec_t reported;
    struct dash_amount used, by_user[DASH_USERS], by_qos[QOS_COUNT];
    uint32_t npods;
    struct dash_pod_metric pods[]; /* sorted by key */
};

/* For informers: .kind = &kind_pod, .reduce = dash_pod_reduce; the others likewise. */
extern const struct kind dash_metric_source; /* what is decoded of a NodeMetric */
extern const struct kind dash_node_kind;     /* struct node with little in it */
struct kobj *dash_pod_reduce(struct kobj *pod);
struct kobj *dash_metric_reduce(struct kobj *metric);

/* NULL: the node's report does not have this pod. */
const struct dash_pod_metric *metric_find(const struct dash_metric *m, const char *ns,
                                          const char *name);

static inline struct dash_pod *dash_pod_of(struct kobj *o)
{
    return container_of(o, struct dash_pod, obj);
}
static inline const struct dash_metric *dash_metric_of(const struct kobj *o)
{
    return container_of(o, const struct dash_metric, obj);
}
#endif
