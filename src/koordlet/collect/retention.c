/* retention.c - how long the cache keeps what, and what that costs.
 *
 * Nobody asks a series for more than these: the node's and the system's for the longest window of
 * the collect policy, those of pods, NUMA nodes and GPUs for its average, all of these for the
 * training of predictions, the containers' for the strategies (two intervals, ten seconds),
 * pressure and counters for the newest.
 */
#include "koordlet/collect/collect_int.h"

#include "base/klog.h"

#define SEC            NSEC_PER_SEC
#define CONTAINER_LONG (30 * SEC)
#define PERF_ROUNDS    2
/* However long the windows are that a policy asks for. Upstream forgets after 12 hours; of pods
 * there are hundreds. */
#define NODE_LONGEST (12 * 3600 * SEC)
#define POD_LONGEST  (3600 * SEC)

enum keep { KEEP_NODE, KEEP_AVERAGE, KEEP_CONTAINER, KEEP_BE, KEEP_PSI, KEEP_CPI, KEEP_RESCTRL };

static enum keep keep_of(enum metric_kind k)
{
    switch (k) {
    case M_NODE_BE: return KEEP_BE;
    case M_NODE_MEMORY_COLD:
    case M_NODE_GPU_CORE:
    case M_NODE_GPU_MEMORY:
    case M_NODE_GPU_MEMORY_TOTAL:
    case M_NODE_NUMA_CPU:
    case M_NODE_NUMA_MEMORY:
    case M_SYS_NUMA_CPU:
    case M_SYS_NUMA_MEMORY:
    case M_POD_CPU:
    case M_POD_MEMORY:
    case M_POD_MEMORY_PAGE_CACHE:
    case M_POD_MEMORY_HOT:
    case M_POD_GPU_CORE:
    case M_POD_GPU_MEMORY:
    case M_HOST_APP_CPU:
    case M_HOST_APP_MEMORY:
    case M_HOST_APP_MEMORY_PAGE_CACHE:
    case M_HOST_APP_MEMORY_HOT: return KEEP_AVERAGE;
    case M_POD_MEMORY_COLD:
    case M_POD_THROTTLED:
    case M_HOST_APP_MEMORY_COLD:
    case M_CONTAINER_CPU:
    case M_CONTAINER_MEMORY:
    case M_CONTAINER_MEMORY_PAGE_CACHE:
    case M_CONTAINER_MEMORY_HOT:
    case M_CONTAINER_MEMORY_COLD:
    case M_CONTAINER_THROTTLED:
    case M_CONTAINER_GPU_CORE:
    case M_CONTAINER_GPU_MEMORY: return KEEP_CONTAINER;
    case M_POD_PSI:
    case M_POD_PSI_CPU_FULL:
    case M_CONTAINER_PSI:
    case M_CONTAINER_PSI_CPU_FULL: return KEEP_PSI;
    case M_CONTAINER_CPI: return KEEP_CPI;
    case M_RESCTRL_LLC:
    case M_RESCTRL_MB: return KEEP_RESCTRL;
    default: return KEEP_NODE;
    }
}

static bool is_cold_page(enum metric_kind k)
{
    return k == M_NODE_MEMORY_HOT || k == M_NODE_MEMORY_COLD || k == M_POD_MEMORY_HOT ||
           k == M_POD_MEMORY_COLD || k == M_CONTAINER_MEMORY_HOT || k == M_CONTAINER_MEMORY_COLD ||
           k == M_HOST_APP_MEMORY_HOT || k == M_HOST_APP_MEMORY_COLD;
}

/* The window of eviction by satisfaction is the NodeSLO's; a minute when it says nothing. */
static nsec_t be_window(const struct collect_env *e)
{
    const struct nodeslo_spec *slo = snapshots_get(e->snapshots)->slo;
    int64_t window = 60;

    if (slo && slo->threshold && slo->threshold->cpu_evict_time_window_seconds.set)
        window = slo->threshold->cpu_evict_time_window_seconds.v;
    return MIN(MAX(window, INT64_C(60)), INT64_C(3600)) * SEC;
}

/* before: what was asked last; said once for each value. */
static nsec_t at_most(nsec_t longest, nsec_t asked, nsec_t *before, const char *whose)
{
    if (asked > longest && asked != *before)
        KLOG_W("The collect policy asks for a longer window than samples are kept",
               KV_S("of", whose), KV_D("asked", asked), KV_D("kept", longest));
    *before = asked;
    return MIN(asked, longest);
}

void collect_retain(struct collect_env *e)
{
    const struct collect_policy *p = &snapshots_get(e->snapshots)->policy;
    const struct collect_options *o = &e->o->collect;
    nsec_t node = p->aggregate;

    for (uint32_t i = 0; i < p->ndurations; i++)
        node = MAX(node, p->durations[i]);
    node = MAX(at_most(NODE_LONGEST, node, &e->node_window, "the node"), e->o->predict.training);
    nsec_t average =
        MAX(at_most(POD_LONGEST, p->aggregate, &e->pod_window, "pods"), e->o->predict.training);
    for (int i = 0; i < M_KINDS; i++) {
        enum metric_kind k = (enum metric_kind)i;
        nsec_t interval = is_cold_page(k) ? o->cold_page : o->interval, keep = 0;
        switch (keep_of(k)) {
        case KEEP_NODE: keep = node; break;
        case KEEP_BE: keep = be_window(e); break;
        case KEEP_AVERAGE: keep = average; break;
        case KEEP_CONTAINER: keep = MAX(CONTAINER_LONG, 4 * interval); break;
        case KEEP_PSI: interval = o->psi, keep = PERF_ROUNDS * interval; break;
        case KEEP_CPI: interval = o->cpi, keep = PERF_ROUNDS * interval; break;
        case KEEP_RESCTRL: interval = o->resctrl, keep = average; break;
        }
        metriccache_retain(e->mc, k, MAX(interval, NSEC_PER_MSEC), MAX(keep, (nsec_t)0));
    }
}

/* ---- cost ------------------------------------------------------------------------------------ */

struct kind_cost { /* how many series of a kind a pod or container has, and with which collector */
    enum metric_kind kind;
    uint8_t count;
    const struct collector *by;
};

static size_t cost_of(const struct collect_env *e, const struct kind_cost *costs, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        if (costs[i].by->interval(e) > 0)
            sum += costs[i].count * metriccache_series_bytes(e->mc, costs[i].kind);
    return sum;
}

struct collect_cost collect_cost(const struct collect_env *e)
{
    static const struct kind_cost pod[] = {
        { M_POD_CPU, 1, &collector_pod },
        { M_POD_MEMORY, 1, &collector_pod },
        { M_POD_THROTTLED, 1, &collector_throttled },
        { M_POD_MEMORY_PAGE_CACHE, 1, &collector_page_cache },
        { M_POD_MEMORY_HOT, 1, &collector_cold_page },
        { M_POD_MEMORY_COLD, 1, &collector_cold_page },
        { M_POD_PSI, 6, &collector_psi },
        { M_POD_PSI_CPU_FULL, 1, &collector_psi },
    };
    static const struct kind_cost container[] = {
        { M_CONTAINER_CPU, 1, &collector_pod },
        { M_CONTAINER_MEMORY, 1, &collector_pod },
        { M_CONTAINER_THROTTLED, 1, &collector_throttled },
        { M_CONTAINER_MEMORY_PAGE_CACHE, 1, &collector_page_cache },
        { M_CONTAINER_MEMORY_HOT, 1, &collector_cold_page },
        { M_CONTAINER_MEMORY_COLD, 1, &collector_cold_page },
        { M_CONTAINER_PSI, 6, &collector_psi },
        { M_CONTAINER_PSI_CPU_FULL, 1, &collector_psi },
        { M_CONTAINER_CPI, 2, &collector_cpi },
    };
    size_t psi = collector_psi.interval(e) > 0 ? sizeof(struct track_psi) : 0;
    size_t cpi = collector_cpi.interval(e) > 0 ? sizeof(struct track_cpi) : 0;

    return (struct collect_cost){
        sizeof(struct pod_track) + psi + cost_of(e, pod, ARRAY_LEN(pod)),
        sizeof(struct container_track) + psi + cpi + cost_of(e, container, ARRAY_LEN(container)),
    };
}
