/* ds.h - inside the DaemonSet controller.
 *
 *   daemonset.c   news, what one pass does, the status
 *   ds_place.c    what a pass sees: on which nodes pods should be, and which are there
 *   ds_plan.c     which pods are to be made or deleted
 */
#ifndef KOORD_CLUSTER_DS_H
#define KOORD_CLUSTER_DS_H
#include "api/node.h"
#include "cluster/revisions.h"

struct ds_node {
    const char *name;
    bool should_run; /* a pod belongs here */
    bool may_stay;   /* one that runs here is left alone */
    kobjvec pods;    /* oldest first; also those about to be scheduled here */
};
struct dsview {
    const struct ds *ds;
    const char *hash; /* of the pods with today's template */
    struct vec_of(struct ds_node) nodes;
    kobjvec lost; /* pods of nodes that do not exist */
    nsec_t now, wait;
};
void dsview_init(struct dsview *v, const struct ds *ds, struct informer *nodes, const kobjvec *pods,
                 nsec_t now, struct arena *a);
void dsview_fini(struct dsview *v);
bool dsview_is_available(const struct dsview *v, const struct kobj *pod);
bool dsview_is_updated(const struct dsview *v, const struct kobj *pod);
struct ds_status dsview_status(const struct dsview *v);

/* What a DaemonSet's pods bear whatever the template says; key, effect. host_network: one more. */
size_t ds_tolerations(bool host_network, const struct toleration **ret);

typedef struct vec_of(const char *) dsnamevec; /* of nodes; borrowed from the view */
struct dsplan {
    dsnamevec create;
    kobjvec remove;
};
void ds_plan(const struct dsview *v, struct dsplan *out);
/* Replacing pods of an old template: to be called when ds_plan() found nothing to do. */
void ds_plan_update(const struct dsview *v, struct dsplan *out);
void dsplan_fini(struct dsplan *p);
#endif
