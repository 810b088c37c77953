/* collect.h - the collectors: each reads files of the kernel and appends to the metric cache.
 *
 * A collector is a struct of functions over one shared environment. The advisor calls every
 * collector that is enabled when its interval is over; those of one interval run in one turn, so
 * the process wakes once. A collector that fails says so once (and when it is well again), counts
 * it, and never stops the others. In the steady state a tick allocates nothing.
 */
#ifndef KOORD_KOORDLET_COLLECT_H
#define KOORD_KOORDLET_COLLECT_H
#include "koordlet/collect/device.h"
#include "koordlet/facts/cpuinfo.h"
#include "koordlet/kernel/host.h"
#include "koordlet/metriccache/store.h"
#include "koordlet/options.h"
#include "koordlet/states/snapshot.h"

enum { NUMA_NODES_TRACKED = 64, DEVICE_SOURCES_MAX = 8 };

struct caps;
struct collect;
struct nvml;
struct perf_driver;
struct pod_tracks;
struct rdma_driver;
struct storage_info;

/* The GPU driver's library (device/nvml.h). */
typedef int (*nvml_load_fn)(const char *library, struct nvml *ret, struct kerr *err);

/* The newest numbers that other collectors need in the same tick. ms 0: none yet. */
struct latest {
    int64_t ms;
    double cpu, memory;
};
struct numa_latest { /* cpu[i], memory[i] of node i */
    int64_t ms;      /* of memory; 0: none yet */
    int64_t cpu_ms;  /* of cpu; 0: none yet */
    uint32_t n;
    double cpu[NUMA_NODES_TRACKED], memory[NUMA_NODES_TRACKED];
};

struct collect_env { /* handed to every function of a collector; borrowed */
    struct loop *loop;
    struct host *host;
    struct metriccache *mc;
    struct snapshots *snapshots;
    const struct koordlet_options *o;
    struct metrics *internal, *external; /* registries of the two endpoints */
    const char *node_name;
    const struct device_source *const *devices; /* ends with NULL; NULL: none */
    const struct perf_driver *perf;             /* NULL: the kernel's */
    const struct rdma_driver *rdma;             /* NULL: the kernel's */
    nvml_load_fn nvml_load;                     /* NULL: nvml_load() */
    const struct caps *caps;                    /* filled by the first round; NULL: never */

    /* Set by collect_new(), and by collectors for others. */
    struct collect *advisor;
    void *device_selves[DEVICE_SOURCES_MAX]; /* of devices[i]; NULL: not set up */
    struct pod_tracks *pods;      /* open cgroup files of the pods, kept in step with those known */
    int64_t now_ms;               /* wall time of this tick */
    const struct snapshot *known; /* what the agent knows in this tick */
    struct latest node, pods_sum, host_apps;
    struct numa_latest node_numa, pods_numa;
    struct cpu_info *cpu_info;         /* NULL until read */
    struct numa_info *numa_info;       /* NULL until read */
    struct storage_info *storage_info; /* NULL until read */
    bool cold_memory_started;
    nsec_t node_window, pod_window; /* of the collect policy, as the cache was last told */
};

struct collector {
    const char *name;                                /* "NodeResourceCollector" */
    nsec_t (*interval)(const struct collect_env *e); /* 0: not enabled */
    /* Why it cannot run on this machine, for people and --check; NULL: it can. */
    const char *(*unsupported)(const struct collect_env *e);
    int (*setup)(struct collect_env *e, void **ret_self, struct kerr *err); /* NULL: no state */
    void (*destroy)(void *self);
    /* One round. 0: started; -EAGAIN: waits for something (err says what), no failure; -EOPNOTSUPP:
     * the machine has not what it takes, which is said once and counts as started. */
    int (*tick)(void *self, struct collect_env *e, struct kerr *err);
};
extern const struct collector *const collectors[]; /* in running order; ends with NULL */

/* Sets how long the cache keeps each kind, opens nothing yet. e must outlive the advisor. */
struct collect *collect_new(struct collect_env *e);
struct collect *collect_free(struct collect *c);
DEFINE_CLEANUP(collect_free, struct collect *)
void collect_start(struct collect *c);
/* Collectors that are enabled and have not started: "SystemResourceCollector: no NodeSLO yet". NULL
 * behind the last. */
const char *collect_missing(const struct collect *c, size_t i);

/* What a pod and a container take when their rings are full, with what is enabled now. */
struct collect_cost {
    size_t per_pod, per_container;
};
struct collect_cost collect_cost(const struct collect_env *e);
#endif
