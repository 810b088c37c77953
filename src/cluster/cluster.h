/* cluster.h - the small controllers and the hollow kubelets that make one machine a cluster.
 *
 * All of them talk only through the struct kube given at birth: the embedded server in process, a
 * real kube-apiserver, or a fake. Everything runs on its loop; nothing is kept that a restart could
 * not read again from the API server.
 *
 * Annotations of pods that hollow kubelets read (README.md has the details):
 *   sim.koordinator.sh/load       what the pod uses: constant:500m,1Gi | wave:... | spikes:...
 *   sim.koordinator.sh/run        how long its containers run: "30s"; default: for ever, or 5 s
 *                                 when restartPolicy is not Always
 *   sim.koordinator.sh/work       CPU-seconds after which they end, instead of a time
 *   sim.koordinator.sh/exit-code  what they end with; default 0
 *   sim.koordinator.sh/restarts   the containers restart until this count is reached
 */
#ifndef KOORD_CLUSTER_CLUSTER_H
#define KOORD_CLUSTER_CLUSTER_H
#include "base/base.h"

struct cluster;
struct kube;
struct loop;
struct metrics;

/* ---- hollow nodes -------------------------------------------------------------------------- */

struct hollow_pair {
    const char *key, *value, *effect; /* effect: of taints */
};
struct hollow_driver { /* a DRA driver and what it offers on each node */
    const char *name;
    unsigned count;                             /* devices */
    const struct hollow_pair *attrs, *capacity; /* of each device */
    size_t nattrs, ncapacity;
};
struct hollow_shape {
    const char *prefix;       /* names are prefix0, prefix1, ...; NULL: "hollow-" */
    unsigned count;           /* how many nodes */
    const char *name;         /* of the only node, when a real koordlet serves it: a machine without
                               * a kubelet, whose NodeMetric is not ours to write; NULL: hollow */
    int64_t mcpu;             /* 0: 16 cores */
    int64_t memory_bytes;     /* 0: 64 GiB */
    int64_t storage_bytes;    /* 0: 200 GiB */
    unsigned max_pods;        /* 0: 110 */
    unsigned zones;           /* nodes spread over zone-a, zone-b, ...; 0: 1 */
    unsigned gpus;            /* nvidia.com/gpu, and a Device object */
    int64_t gpu_memory_bytes; /* of each; 0: 80 GiB */
    const char *gpu_model;    /* NULL: hollow-gpu */
    /* NVLink between neighbours: cards are handed out in groups of 2, 4, 8, ... that a table names.
     * Honor: only so, Prefer: where possible; NULL: no table. */
    const char *gpu_partitions;
    unsigned rdma;           /* NICs of the Device object */
    unsigned rdma_vfs;       /* virtual functions of each */
    unsigned pcie;           /* root complexes that share GPUs and NICs; 0: one for two GPUs */
    unsigned numa;           /* > 0: a NodeResourceTopology with so many NUMA nodes */
    unsigned sockets;        /* 0: one for each NUMA node */
    unsigned threads;        /* of a core; 0: 2 */
    const char *numa_policy; /* the kubelet's topology policy there; NULL: None */
    const char *cpu_manager; /* policy of the kubelet's CPU manager; NULL: none */
    const struct hollow_pair *labels, *taints;
    size_t nlabels, ntaints;
    const struct hollow_driver *drivers; /* their ResourceSlices are published */
    size_t ndrivers;
};
struct hollow_opts {
    const struct hollow_shape *shapes; /* copied */
    size_t nshapes;
    uint64_t seed;           /* of the noise in delays and loads */
    bool no_metrics;         /* publish no NodeMetric */
    nsec_t start_delay;      /* of a container, about; 0: 1 s */
    nsec_t metrics_interval; /* 0: what the NodeMetric asks for, else 60 s */
    nsec_t lease_interval;   /* of the nodes' leases; 0: 10 s */
};

/* "50,cpu=16,memory=64Gi,zones=3,gpus=8,gpu-model=H800,gpu-partitions=Honor,rdma=4,rdma-vfs=8,
 * pcie=4,numa=2,sockets=1,threads=2,numa-policy=Restricted,cpu-manager=static,pods=110,prefix=big-,
 * dra=gpu.example.com:8,dra-attr:model=a100,dra-capacity:memory=80Gi,label:k=v,taint:k=v:NoSchedule"
 * dra-attr and dra-capacity are of the driver named last.
 * Texts live until hollow_shape_fini(). */
struct hollow_shape_text {
    struct hollow_shape shape;
    struct arena *arena;
};
int hollow_shape_parse(const char *text, struct hollow_shape_text *ret, struct kerr *err);
void hollow_shape_fini(struct hollow_shape_text *s);

/* ---- the cluster --------------------------------------------------------------------------- */

struct cluster_opts {
    bool deployment, replicaset, replicationcontroller, statefulset, daemonset, endpoints, job,
        cronjob, gc, namespaces, nodes, pdb, resourceclaims, accounts, autoscaler, volumes,
        servicecidrs;
    bool provisioner;          /* with volumes: class "hollow", and volumes for its claims */
    bool usage;                /* cluster_node_use() and cluster_pod_use() are asked */
    nsec_t node_grace;         /* without a heartbeat a node's Ready is Unknown; 0: 40 s */
    nsec_t discovery_interval; /* of looks at which kinds there are, besides CRDs; 0: 30 s */
    const char *root_ca;       /* PEM: what clients verify the server with, published in every
                                * namespace beside its account (accounts); NULL: it is not */
    size_t ended_pods_max;     /* more pods that have ended are garbage; 0: 12500 */
    struct metrics *metrics; /* where controllers count; NULL: they do not; outlives the cluster */
    struct hollow_opts hollow;
};

/* Starts at once. The options are copied; NULL with err for options that make no sense. */
struct cluster *cluster_new(struct loop *l, struct kube *k, const struct cluster_opts *o,
                            struct kerr *err);
struct cluster *cluster_free(struct cluster *c); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(cluster_free, struct cluster *)
/* Another certificate is published from now on. */
void cluster_set_root_ca(struct cluster *c, const char *pem);
/* All caches are filled and all hollow nodes registered. */
bool cluster_ready(const struct cluster *c);

struct cluster_stats {
    uint64_t syncs, retries, writes, failures;
    uint64_t pods_created, pods_deleted, collected, evicted;
    size_t hollow_nodes, hollow_pods, in_flight;
};
struct cluster_stats cluster_stats(const struct cluster *c);

/* What a node or a pod uses, by its last reading or report; false: nothing is known (yet). */
struct cluster_use {
    nsec_t at, window; /* wall: measured in the window that ends then */
    int64_t mcpu, bytes;
};
bool cluster_node_use(const struct cluster *c, const char *name, struct cluster_use *ret);
struct cluster_pod {
    const char *ns, *name, *uid;
    const char *node; /* "": none yet */
};
bool cluster_pod_use(const struct cluster *c, const struct cluster_pod *pod,
                     struct cluster_use *ret);

/* What the pods of hollow nodes got since the start, by the model of contention (README.md), in
 * core-milliseconds. */
struct cluster_usage {
    int64_t capacity, used, best_effort; /* used: with best effort and the system */
    int64_t work_done;                   /* of pods that have ended with their work done */
    int64_t work_lost;                   /* of pods that were stopped before, or restarted */
    uint64_t slow_minutes; /* in which a service got less than it wanted, summed over services */
};
struct cluster_usage cluster_usage(const struct cluster *c);
/* Hollow node number i at its last reading; false behind the last. */
struct cluster_node_usage {
    const char *name; /* lives as long as the cluster */
    int64_t mcpu, used_mcpu, best_effort_mcpu;
    unsigned services_short; /* got less than they wanted */
};
bool cluster_node_usage(const struct cluster *c, size_t i, struct cluster_node_usage *ret);
#endif
