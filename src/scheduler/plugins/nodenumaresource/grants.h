/* grants.h - which CPUs and which parts of NUMA nodes pods hold (sched-numa 2).
 *
 * A service: one for all profiles and configurations. A grant comes from the annotation of a pod
 * that has a node, or from reserve() until the server confirms the pod. It is kept by the pod's
 * UID, whether or not the node's topology is known yet; the rows (rows.h) sum up what concerns
 * them. So the state is a function of the objects that there are. Loop thread.
 */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_GRANTS_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_GRANTS_H
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/reservation.h"
#include "scheduler/model/uidmap.h"
#include "scheduler/plugins/nodenumaresource/accumulator.h"
#include "scheduler/plugins/nodenumaresource/site.h"

struct numa_part { /* of a NUMA node */
    uint8_t numa_id, resource;
    int64_t amount;
};
struct numa_request {                 /* what a pod asks of one row */
    int64_t amount[NUMA_RESOURCES];   /* cpu amplified when it is bound and the node amplifies */
    int64_t original[NUMA_RESOURCES]; /* the same, not amplified */
    uint32_t asks;                    /* bits: resources that it asks for at all */
    bool bind, required;
    bool kubelet_pins;               /* the kubelet gives CPUs to Guaranteed pods by itself */
    struct cpu_request cpus;         /* need: 0 unless bound */
    struct cpuset preferred, barred; /* free CPUs that it takes first, and that are not for it */
    /* By zone of the site: what is left for it; NULL: all that is left. */
    const int64_t (*left)[NUMA_RESOURCES];
};
struct numa_allocation { /* what it gets */
    struct cpuset cpus;
    uint32_t nparts;
    struct numa_part part[ZONES_MAX * NUMA_RESOURCES]; /* by NUMA id, then resource */
};
struct grant {
    struct kuid uid; /* first: for the map */
    uint64_t seq;    /* a later one has a higher number */
    char *node;
    struct kobj *pod;
    struct cpuset cpus;
    uint8_t exclusive; /* enum cpu_exclusive_policy */
    uint8_t bind;      /* enum cpu_bind_policy that counted; by reserve() only */
    bool required;     /* that policy was */
    bool kubelet_pins; /* numa_request; by reserve() only */
    bool reserved; /* by reserve(): what an annotation says does not count before it is written */
    char *reservation; /* UID of the one that it has taken room of; NULL: none */
    uint32_t nparts;
    struct numa_part part[];
};
struct grants {
    struct ks_env env;
    struct uidmap by_uid;
    struct numa_names names;
    struct machines machines;
    uint64_t seq;
    struct arena *scratch;
};
KS_SERVICE(grants, struct grants)

/* NULL: it holds nothing. */
const struct grant *grants_find(const struct grants *g, struct kuid uid);
/* What an annotation says: 1, 0: nothing, negative: its cpuset does not parse. */
int grants_read(struct grants *g, const struct resource_status *s, struct numa_allocation *ret,
                struct kerr *err);
/* The pod is on its way to the node with this, of which it takes what a reservation keeps there
 * (NULL: of none). */
void grants_reserve(struct grants *g, const struct pod *p, const char *node,
                    const struct ks_reservation *of, const struct numa_request *r,
                    const struct numa_allocation *x);
/* It is not any more. A grant that the pod's annotation confirms stays. */
void grants_release(struct grants *g, struct kuid uid);
#endif
