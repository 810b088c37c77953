/* gpu_int.h - what the files of the GPU source share. */
#ifndef KOORD_KOORDLET_GPU_INT_H
#define KOORD_KOORDLET_GPU_INT_H
#include "base/map.h"
#include "koordlet/collect/collect.h"
#include "koordlet/device/gpu_ask.h"

/* What rounds go by: the newest finished call. */
struct gpu_now {
    int64_t ms; /* the round that took it; 0: none */
    uint32_t n;
    struct gpu_info *infos;
    struct gpu_processes processes;
    uint64_t generation; /* another one when other processes use the GPUs */
};

/* The series of a GPU's use, of the node, a pod or a container. */
struct gpu_series {
    struct series *core, *memory;
};
/* owner: the first label; NULL: the node has none. kinds: of core and of memory. */
void gpu_series_put(struct gpu_series *s, struct metriccache *mc, const enum metric_kind kinds[2],
                    const char *owner, const struct gpu_info *g, int64_t ms, double core,
                    double memory);
void gpu_series_close(struct gpu_series *s);

/* ---- pods ------------------------------------------------------------------------------------ *
 *
 * Which processes on the GPUs belong to which container is looked up in cgroup.procs, and looked up
 * again when other processes came to the GPUs or the kubelet says something new of the pod: not in
 * every round.
 */
struct gpu_pods {
    struct map by_uid; /* struct gpu_pod */
};
int gpu_pods_round(struct gpu_pods *ps, const struct gpu_now *now, const struct device_pod *p,
                   int64_t ms, struct kerr *err);
void gpu_pods_gone(struct gpu_pods *ps, const char *uid);
void gpu_pods_fini(struct gpu_pods *ps);
#endif
