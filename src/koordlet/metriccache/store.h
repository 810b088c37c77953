/* store.h - the metric cache: series of samples by kind and labels, and what is known of the node.
 *
 * Upstream keeps a Prometheus TSDB on disk; nothing in an agent asks for more than the longest
 * window of the collect policy, so here each series is a ring in memory, sized by its kind's
 * interval and retention (docs/koordlet.md has the bytes). Producers hold handles: appending is a
 * store into the ring, without a lookup. Loop thread only; times are wall milliseconds.
 */
#ifndef KOORD_KOORDLET_STORE_H
#define KOORD_KOORDLET_STORE_H
#include "koordlet/metriccache/aggregate.h"

enum metric_kind {
    M_NODE_CPU,
    M_NODE_MEMORY,
    M_NODE_MEMORY_PAGE_CACHE,
    M_NODE_MEMORY_HOT,
    M_NODE_MEMORY_COLD,
    M_NODE_GPU_CORE, /* gpu_minor, gpu_device_uuid */
    M_NODE_GPU_MEMORY,
    M_NODE_GPU_MEMORY_TOTAL,
    M_NODE_NUMA_CPU, /* numa_node_id */
    M_NODE_NUMA_MEMORY,
    M_SYS_CPU,
    M_SYS_MEMORY,
    M_SYS_NUMA_CPU, /* numa_node_id */
    M_SYS_NUMA_MEMORY,
    M_NODE_BE, /* be_resource, be_allocation */
    M_POD_CPU, /* pod_uid */
    M_POD_MEMORY,
    M_POD_MEMORY_PAGE_CACHE,
    M_POD_MEMORY_HOT,
    M_POD_MEMORY_COLD,
    M_POD_THROTTLED,
    M_POD_GPU_CORE, /* pod_uid, gpu_minor, gpu_device_uuid */
    M_POD_GPU_MEMORY,
    M_POD_PSI, /* pod_uid, psi_resource, psi_precision, psi_degree */
    M_POD_PSI_CPU_FULL,
    M_CONTAINER_CPU, /* container_id */
    M_CONTAINER_MEMORY,
    M_CONTAINER_MEMORY_PAGE_CACHE,
    M_CONTAINER_MEMORY_HOT,
    M_CONTAINER_MEMORY_COLD,
    M_CONTAINER_THROTTLED,
    M_CONTAINER_GPU_CORE, /* container_id, gpu_minor, gpu_device_uuid */
    M_CONTAINER_GPU_MEMORY,
    M_CONTAINER_CPI, /* pod_uid, container_id, cpi_resource */
    M_CONTAINER_PSI, /* pod_uid, container_id, psi_resource, psi_precision, psi_degree */
    M_CONTAINER_PSI_CPU_FULL,
    M_HOST_APP_CPU, /* host_app_name */
    M_HOST_APP_MEMORY,
    M_HOST_APP_MEMORY_PAGE_CACHE,
    M_HOST_APP_MEMORY_HOT,
    M_HOST_APP_MEMORY_COLD,
    M_RESCTRL_LLC, /* qos, cache_id */
    M_RESCTRL_MB,  /* qos, cache_id, resctrl_mb_type */
    M_KINDS
};
enum { METRIC_LABELS = 5 };
struct metric_kind_info {
    const char *name; /* "node_cpu_usage" */
    const char *labels[METRIC_LABELS + 1];
};
const struct metric_kind_info *metric_kind_info(enum metric_kind k);

struct metriccache;
struct series; /* one kind with all its labels */

struct metriccache *metriccache_new(void);
struct metriccache *metriccache_free(struct metriccache *mc);
DEFINE_CLEANUP(metriccache_free, struct metriccache *)
/* How often samples of a kind come and how far back it will be asked; until told, a second and a
 * minute. Series that exist change their size and keep what fits. */
void metriccache_retain(struct metriccache *mc, enum metric_kind k, nsec_t interval,
                        nsec_t retention);

/* The series with these label values, as many as the kind has, in its order; made when it is new.
 * The handle stays good until its holder lets go. The samples stay for a minute then (or for the
 * retention, when that is shorter): a pod that was missing in one answer has its window back, and
 * of one that is gone nobody asks. */
enum { SERIES_CLOSED_MS = 60 * 1000 };
struct series *metriccache_open(struct metriccache *mc, enum metric_kind k,
                                const char *const *labels);
struct series *series_close(struct series *s); /* NULL is fine; always returns NULL */
/* -ERANGE, -EEXIST as ring_append(); never allocates. */
int series_append(struct series *s, int64_t ms, double value, struct kerr *err);
bool series_last(const struct series *s, struct sample *ret);
/* Drops closed series whose samples are all too old. */
void metriccache_sweep(struct metriccache *mc, int64_t now_ms);
/* The wall clock was set back to this: samples of the future go, or what comes now would be too
 * late for every series. */
void metriccache_rewind(struct metriccache *mc, int64_t now_ms);

/* Pools what lies in [from, to] of every series of the kind whose labels match; a NULL label
 * matches any, labels NULL matches all. Returns how many samples were added. */
size_t metriccache_query(const struct metriccache *mc, enum metric_kind k,
                         const char *const *labels, int64_t from, int64_t to, struct window *w);
/* The usual question: one aggregate. -ENODATA: "metric input is empty". */
int metriccache_ask(struct metriccache *mc, enum metric_kind k, const char *const *labels,
                    int64_t from, int64_t to, enum aggregate what, double *ret, struct kerr *err);
/* Calls fn for each series of a kind, in no order that means anything. */
typedef void (*series_fn)(void *arg, const char *const *labels, const struct series *s);
void metriccache_each(const struct metriccache *mc, enum metric_kind k, series_fn fn, void *arg);

/* What one series of the kind takes when its ring is full, without its labels' text. */
size_t metriccache_series_bytes(const struct metriccache *mc, enum metric_kind k);
struct metriccache_stats {
    size_t series, bytes; /* bytes: of rings, series, tables and labels */
    uint64_t appended, refused;
};
struct metriccache_stats metriccache_stats(const struct metriccache *mc);
#endif
