/* pod_view.h - what the steps of the pod webhook read of a pod's tree (inside this folder only). */
#ifndef KOORD_MANAGER_WEBHOOK_POD_VIEW_H
#define KOORD_MANAGER_WEBHOOK_POD_VIEW_H
#include "api/protocol/protocol.h"
#include "manager/webhook/webhook_int.h"

struct pod_container {
    struct kj_mval *v;
    const char *name; /* "" */
    bool init;
    struct resources r;
};
struct pod_view {
    struct pod_container *containers; /* init containers first */
    size_t n;
};
/* Of the call's pod, read once and kept in the call: from then on resources are changed only by
 * pod_view_set(). NULL: the request was refused, since something is no quantity. */
struct pod_view *pod_view_get(struct webhook_call *c);
/* Writes changed resources of a container into the tree. */
void pod_view_set(struct webhook_call *c, struct pod_container *k, const struct resources *now);

/* The class with default, by labels, priority and, where they do not tell, requests and limits. */
enum priority_class pod_view_class(const struct webhook_call *c);
#endif
