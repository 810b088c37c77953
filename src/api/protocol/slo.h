/* slo.h - what one pod asks of koordlet: burst, QoS, OOM score, eviction (api 5.10). */
#ifndef KOORD_API_PROTOCOL_SLO_H
#define KOORD_API_PROTOCOL_SLO_H
#include "api/koord/nodeslo.h"
#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"

/* Set fields go before the node's. */
DECLARE_ANNOTATION(pod_cpu_burst, struct cpu_burst_config)
/* groupIdentity outside -1..2: "bad group identity value: N". */
DECLARE_ANNOTATION(pod_cpu_qos, struct cpu_qos)

enum memory_qos_policy { MEMORY_QOS_DEFAULT, MEMORY_QOS_NONE, MEMORY_QOS_AUTO };
struct pod_memory_qos {
    uint8_t policy; /* enum memory_qos_policy */
    struct memory_qos qos;
};
DECLARE_ANNOTATION(pod_memory_qos, struct pod_memory_qos)

struct pod_blkio_qos {
    KLIST(struct blkio_block) blocks; /* empty: limits are taken away */
};
DECLARE_ANNOTATION(pod_blkio_qos, struct pod_blkio_qos)

struct pod_network_qos { /* bits a second; NULL: absent */
    const struct qty *ingress_limit, *egress_limit;
};
DECLARE_ANNOTATION(pod_network_qos, struct pod_network_qos)
/* Bytes a second, rounded down; 0 when absent. */
int64_t network_limit_bytes(const struct qty *bits);

/* ---- OOM score ------------------------------------------------------------------------------- */

enum { OOM_SCORE_ADJ_MIN = -1000, OOM_SCORE_ADJ_MAX = 1000 };
DECLARE_ANNOTATION(oom_score_adj_spec, struct i64map_value)
/* The score of a container: of the spec, else of the pod's default. 1 and *ret; 0: none given;
 * negative: bad text or out of range, and nothing is to be written. */
int oom_score_adj(const kstrmap *annotations, const char *container, struct arena *a, int64_t *ret,
                  struct kerr *err);

/* ---- eviction by koordlet -------------------------------------------------------------------- */

#define EVICT_BE_CPU             "BECPUEvict"
#define EVICT_CPU                "CPUEvict"
#define EVICT_CPU_ALLOCATABLE    "CPUAllocatableEvict"
#define EVICT_BE_MEMORY          "BEMemoryEvict"
#define EVICT_MEMORY             "MemoryEvict"
#define EVICT_MEMORY_ALLOCATABLE "MemoryAllocatableEvict"

static inline bool eviction_enabled(const kstrmap *labels)
{
    return label_is_true(labels, LABEL_EVICTION_ENABLED);
}
DECLARE_ANNOTATION(eviction_policy, struct strlist_value)
/* May this feature evict the pod? Absent: yes; bad or empty: no feature may. */
bool eviction_policy_allows(const kstrmap *annotations, const char *feature, struct arena *a);
/* Lower goes first; absent or bad: 0. */
int32_t eviction_priority(const kstrmap *annotations);

/* ---- core scheduling, resctrl ---------------------------------------------------------------- */

enum core_sched_policy { CORE_SCHED_BY_GROUP, CORE_SCHED_NONE, CORE_SCHED_EXCLUSIVE };
enum core_sched_policy core_sched_policy(const kstrmap *labels);

struct resctrl_range {
    struct opt_i64 percent;
    KLIST(int64_t) range; /* from, to */
};
struct resctrl_cache {
    int64_t cache_id;
    struct opt_i64 percent;
    KLIST(int64_t) range;
};
struct resctrl_resource {
    struct resctrl_range schemata;
    KLIST(struct resctrl_cache) per_cache;
};
struct pod_resctrl {
    struct resctrl_resource *llc, *mb;
};
DECLARE_ANNOTATION(pod_resctrl, struct pod_resctrl)
#endif
