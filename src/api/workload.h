/* workload.h - what owns pods: Deployment, ReplicaSet, StatefulSet, DaemonSet,
 * ReplicationController, Job; CloneSet and StatefulSet of Kruise.
 *
 * One struct serves all, because readers ask the same of each: which pods, how many of them. The
 * template is not kept; a controller that makes pods works on the document.
 */
#ifndef KOORD_API_WORKLOAD_H
#define KOORD_API_WORKLOAD_H
#include "api/types.h"

struct workload_rolling {  /* updateStrategy.rollingUpdate of a StatefulSet */
    const char *partition; /* JSON: a number, of Kruise also a percentage; NULL: none */
};
struct workload_update {   /* updateStrategy of StatefulSets and CloneSets */
    const char *type;      /* "RollingUpdate", "OnDelete", ... */
    const char *partition; /* CloneSet: as above */
    struct workload_rolling rolling;
};
struct workload_spec {
    struct label_selector selector; /* required by the API; a ReplicationController's is a map */
    struct opt_i32 replicas;        /* Job: parallelism; DaemonSet: never set */
    struct opt_i32 completions;     /* Job only */
    struct workload_update *update; /* NULL: not given, or the kind has none */
    bool paused;                    /* Deployment: paused; Job: suspend */
};
struct workload_status {
    int64_t observed_generation;
    int32_t replicas; /* DaemonSet: desiredNumberScheduled; Job: active */
    int32_t ready;    /* DaemonSet: numberReady */
    int32_t available, updated, succeeded, failed;
};
struct workload {
    struct kobj obj;
    struct workload_spec spec;
    struct workload_status status;
};
extern const struct kind kind_deployment, kind_replicaset, kind_statefulset, kind_daemonset,
    kind_replicationcontroller, kind_job;
/* Of Kruise, where that is installed: not in the table of kinds (kind_find()). */
extern const struct kind kind_cloneset, kind_kruise_statefulset;

static inline const struct workload *workload_of(const struct kobj *o)
{
    return container_of(o, const struct workload, obj);
}
/* How many pods it wants: its replicas (1 when not given), or for a DaemonSet what its status
 * says. */
int32_t workload_replicas(const struct workload *w);
#endif
