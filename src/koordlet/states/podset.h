/* podset.h - the pods of this node as the kubelet last told them.
 *
 * A set is immutable and refcounted: who works with one keeps it while the next is made. A pod that
 * did not change is the same struct in both. Loop thread only.
 */
#ifndef KOORD_KOORDLET_PODSET_H
#define KOORD_KOORDLET_PODSET_H
#include "api/pod.h"
#include "api/protocol/pod_protocol.h"
#include "koordlet/kernel/naming.h"

struct npod_container { /* of status.containerStatuses, with a container ID */
    const char *name;
    const char *id; /* "containerd://..." */
    /* Below the pod's directory: its last component. NULL: the ID names no runtime we know. */
    const char *dir;
    const char *cgroup_dir; /* the same with the pod's directory in front; NULL likewise */
    bool running;
};
struct npod { /* a pod on this node */
    uint32_t refs;
    uint64_t stamp;   /* differs when anything the kubelet says of the pod differs */
    struct kobj *obj; /* pod_of(npod->obj): the cached form, without container IDs */
    char uid[64];
    enum kube_qos kube_qos;
    enum qos_class qos;           /* with defaults: label, else by kube_qos */
    enum priority_class priority; /* with defaults */
    const char *cgroup_dir;       /* relative, as in kernel/naming.h */
    struct npod_container *containers;
    uint32_t ncontainers;
    struct npod_container *init_containers; /* of status.initContainerStatuses */
    uint32_t ninit_containers;
    const char **ips; /* of status.podIPs, or the one of status.podIP */
    uint32_t nips;
};
static inline const struct pod *npod_pod(const struct npod *p)
{
    return pod_of(p->obj);
}
struct podset {
    uint32_t refs;
    uint32_t n;
    struct npod **pods; /* sorted by UID */
};
struct podset *podset_ref(struct podset *s);
struct podset *podset_unref(struct podset *s); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(podset_unref, struct podset *)
/* s may be NULL. */
const struct npod *podset_find(const struct podset *s, const char *uid);

/* ---- making one ------------------------------------------------------------------------------ */

struct kj_scratch;
struct kj_val;

/* A pod as the kubelet tells it. A new reference is returned. A UID that cannot be the name of a
 * directory is refused. */
int npod_decode(const struct kj_val *in, uint64_t stamp, const struct cgroup_layout *d,
                struct kj_scratch *scratch, struct npod **ret, struct kerr *err);
struct npod *npod_ref(struct npod *p);
struct npod *npod_unref(struct npod *p); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(npod_unref, struct npod *)
/* Takes over the references of the n pods, and the array itself. Of pods with the same UID the
 * first stays. */
struct podset *podset_new(struct npod **pods, size_t n);
#endif
