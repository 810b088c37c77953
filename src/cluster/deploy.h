/* deploy.h - inside the Deployment controller: what one pass sees, and the parts it is made of.
 *
 *   deployment.c       news, claims, which of the parts runs
 *   deploy_sets.c      the new ReplicaSet: find, name, create; revisions; old ones to forget
 *   deploy_rollout.c   who grows and who shrinks: plain arithmetic on a view
 *   deploy_status.c    status and conditions
 */
#ifndef KOORD_CLUSTER_DEPLOY_H
#define KOORD_CLUSTER_DEPLOY_H
#include "cluster/internal.h"

#define ANNO_REVISION         "deployment.kubernetes.io/revision"
#define ANNO_REVISION_HISTORY "deployment.kubernetes.io/revision-history"
#define ANNO_DESIRED          "deployment.kubernetes.io/desired-replicas"
#define ANNO_MAX              "deployment.kubernetes.io/max-replicas"
#define LABEL_HASH            "pod-template-hash"

struct dset { /* one ReplicaSet of the Deployment, with the arithmetic's idea of it */
    const struct rs *rs;
    int64_t replicas, available, actual;                /* spec, status, status */
    int64_t revision, annotated_max, annotated_desired; /* -1: no such annotation */
    int64_t want; /* the plan: replicas when nothing is to change */
};
struct dview {
    struct cluster *c;
    const struct deploy *d;
    const struct kj_val *template; /* parsed */
    struct dset *sets;             /* oldest first */
    size_t n;
    struct dset *fresh; /* the one with the Deployment's template; NULL: not there yet */
    int64_t replicas, surge, unavailable; /* of the Deployment, resolved */
};

/* ---- deploy_rollout.c ---------------------------------------------------------------------- */

void dview_resolve(struct dview *v);            /* replicas, surge, unavailable, from the spec */
int64_t dview_available(const struct dview *v); /* pods available over all sets */
/* How many replicas the new set may have now. */
int64_t rollout_fresh_replicas(const struct dview *v, int64_t fresh_now);
/* Each sets want; true when some set is to change. */
bool rollout_grow(struct dview *v);   /* the new set */
bool rollout_shrink(struct dview *v); /* the old ones: the unhealthy first */
bool rollout_scale(struct dview *v);  /* replicas changed in the middle: all in proportion */
bool rollout_is_scaling(const struct dview *v);

/* ---- deploy_sets.c ------------------------------------------------------------------------- */

void dview_find_fresh(struct dview *v);
/* Creates the new set, with the replicas that it may have now. */
const char *sets_create_fresh(struct batch *b, const struct dview *v); /* its name */
/* Annotations of the new set and the Deployment: revision, and what is copied down. True when
 * something was written. */
bool sets_sync_revision(struct batch *b, const struct dview *v);
/* Writes `want` of each set that is to change. */
void sets_apply(struct batch *b, const struct dview *v);
void sets_cleanup(struct batch *b, const struct dview *v);

/* ---- deploy_status.c ----------------------------------------------------------------------- */

bool dstatus_is_complete(const struct dview *v);
/* created: name of a new set that this very pass makes; NULL: none. */
void dstatus_write(struct batch *b, const struct dview *v, const char *created);
#endif
