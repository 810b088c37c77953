/* workloads.h - whose a pod is: how many pods its workload should have, how many are down, and
 * whether it is in the middle of a change (descheduler 4.3).
 *
 * Deployment, ReplicaSet, StatefulSet, ReplicationController and Job of Kubernetes, CloneSet and
 * StatefulSet of Kruise, and whatever else has a `scale` subresource. Objects come from a source:
 * the caches of the program, or a test's own. What was found is kept until workloads_changed().
 * Loop thread only.
 */
#ifndef KOORD_DESCHEDULER_MIGRATION_WORKLOADS_H
#define KOORD_DESCHEDULER_MIGRATION_WORKLOADS_H
#include "api/pod.h"
#include "controllers/caches.h"

struct workloads;

enum workload_known {
    WORKLOAD_NONE,    /* there is no such object: no replicas, no pods */
    WORKLOAD_FOUND,   /* what follows is true */
    WORKLOAD_AWAITED, /* the server was asked; once more later */
    WORKLOAD_REFUSED  /* nobody can tell: the kind is not served, or we may not read it */
};
struct workload_state {
    enum workload_known known;
    int32_t replicas;        /* that it should have */
    int32_t down;            /* of its pods: ended, or not ready */
    int32_t missing;         /* of its replicas, by its status: not ready; 0 when it does not say */
    const char *changing;    /* "is rolling out", "is scaling down"; NULL: neither */
    const char *kind, *name; /* of the one that decides about the replicas; for messages */
};

struct workload_source {
    void *arg;
    /* An object of a kind of api/workload.h; only NONE, FOUND, AWAITED and REFUSED are answers. */
    enum workload_known (*get)(void *arg, const struct kind *k, const char *ns, const char *name,
                               const struct kobj **ret);
    /* Appends the pods or ReplicaSets that name this owner. */
    void (*owned)(void *arg, const struct kind *k, struct kuid owner, kobjvec *out);
    /* spec.replicas of the scale subresource of any other owner. */
    enum workload_known (*scale)(void *arg, const char *ns, const struct owner_ref *owner,
                                 int32_t *ret_replicas);
};

struct workloads *workloads_new(const struct workload_source *s); /* copied */
struct workloads *workloads_free(struct workloads *w);            /* NULL is fine; returns NULL */
DEFINE_CLEANUP(workloads_free, struct workloads *)
/* Something that was read has changed. */
void workloads_changed(struct workloads *w);
/* Of a pod that has a controller. Borrowed until workloads_changed(). */
const struct workload_state *workloads_find(struct workloads *w, const char *ns,
                                            const struct owner_ref *controller);

/* It has not ended, and is ready. One that is on its way out counts until it is not ready any more,
 * as in upstream; the workload's own status does not count it. */
bool pod_is_up(const struct pod *p);
#endif
