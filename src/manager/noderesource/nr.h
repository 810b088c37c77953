/* nr.h - what overcommitted resources a node should have, and why: the calculation of the
 * noderesource controller.
 *
 * Pure: (objects, configuration, now) -> result. The result names every term of the formulas, so
 * that the controller, `koordctl explain node` and the tests look at the same numbers. Plugins are
 * entries of a constant table; they calculate items, and prepare from the items what the node
 * object should say. Nothing here keeps state or does I/O; memory comes from the caller's arena and
 * results borrow from the input (manager 4 and 5).
 */
#ifndef KOORD_MANAGER_NR_H
#define KOORD_MANAGER_NR_H
#include "api/koord/device.h"
#include "api/koord/nodemetric.h"
#include "api/koord/noderesourcetopology.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/protocol.h"
#include "manager/noderesource/amount.h"
#include "manager/sloconfig/colocation.h"
#include "manager/sloconfig/extension.h"

/* ---- input ----------------------------------------------------------------------------------- */

/* What the calculation reads of a pod. */
struct nr_pod {
    const char *ns, *name;
    struct nr_amount request;
    uint64_t numa_nodes; /* bits: where the scheduler put it, of the first 64; 0: not bound */
    nsec_t since;        /* wall: it got its node */
    uint8_t class;       /* enum priority_class, with default */
    uint8_t qos;         /* enum qos_class, with default */
    bool active;         /* Running or Pending */
};
/* Names are borrowed; the arena is for the way. */
void nr_pod_of(const struct pod *p, struct arena *a, struct nr_pod *ret);

/* Points of percent that a node in trouble gives less (adapt.h). */
struct nr_cut {
    int64_t cpu, memory;
};

struct nr_input {
    nsec_t now;
    const struct node *node;
    const struct nodemetric *metric;             /* NULL: there is none */
    const struct noderesourcetopology *topology; /* the same */
    const struct device *device;                 /* the same */
    const struct nr_pod *const *pods;            /* on the node */
    size_t npods;
    const struct sloconfig *config;
    unsigned plugins;     /* bits of enum nr_plugin_id */
    bool sync_gpu_shared; /* feature gate EnableSyncGPUSharedResource */
    struct nr_cut cut;    /* counts when the strategy has extensions.koord.adaptive on */
};

/* ---- result ---------------------------------------------------------------------------------- */

enum nr_plugin_id { /* the order in which they run */
                    NR_NORMALIZATION,
                    NR_AMPLIFICATION,
                    NR_MID,
                    NR_BATCH,
                    NR_GPU,
                    NR_RDMA,
                    NR_PLUGINS
};
enum { NR_ALL_PLUGINS = (1 << NR_PLUGINS) - 1 };

enum nr_resource {
    NR_BATCH_CPU,
    NR_BATCH_MEMORY,
    NR_MID_CPU,
    NR_MID_MEMORY,
    NR_RES_GPU,
    NR_RES_GPU_CORE,
    NR_RES_GPU_MEMORY,
    NR_RES_GPU_MEMORY_RATIO,
    NR_RES_GPU_SHARED,
    NR_RES_NPU_CORE,
    NR_RES_NPU_CPU,
    NR_RES_NPU_DVPP,
    NR_RES_RDMA,
    NR_RESOURCES
};
extern const char *const nr_resource_names[NR_RESOURCES];

enum nr_state { NR_UNSET, NR_VALUE, NR_RESET };
struct nr_item {
    uint8_t state; /* enum nr_state */
    struct qty value;
};

/* High-priority pods: everything that batch pods must leave alone. */
struct nr_hp {
    struct nr_amount request, used, max; /* max: of request and use, pod by pod */
    struct nr_amount unmeasured;         /* part of used: requests of pods without a metric */
    struct nr_amount fresh;    /* part of unmeasured: of pods that no second report could tell of */
    struct nr_amount dangling; /* part of used and max: metrics without a running pod */
    uint32_t pods, unmeasured_pods, dangling_metrics;
};

enum nr_policy { NR_BY_USAGE, NR_BY_MAX_USAGE_REQUEST, NR_BY_REQUEST };
const char *nr_policy_name(enum nr_policy p);

/* Terms of the batch formula, of the node or of one NUMA zone (manager 5.1, 5.2). */
struct nr_batch_terms {
    struct nr_amount capacity, margin;
    struct nr_amount system;    /* use outside of pods, host applications included */
    struct nr_amount host_apps; /* part of system: those that batch pods must leave alone */
    struct nr_amount kubelet_reserved, annotation_reserved;
    struct nr_amount reserved;           /* the larger of the two */
    struct nr_amount system_or_reserved; /* the larger of system and reserved */
    struct nr_hp hp;
    uint8_t cpu_policy, memory_policy;                      /* enum nr_policy */
    struct opt_i64 cpu_limit_percent, memory_limit_percent; /* of the capacity; not set: no limit */
    struct nr_amount formula; /* capacity - margin - ..., at least 0 */
    struct nr_amount result;  /* the formula's, or the limit */
};
/* Falls that measured use does not explain (extensions.koord.damping). */
struct nr_damping {
    bool on, cpu_held, memory_held; /* held: the result is not the formula's */
    struct nr_amount current;       /* what the node has now */
    struct nr_amount undamped;      /* the result without damping */
};
struct nr_zone {
    const char *name;
    struct nr_batch_terms terms;
    struct qty batch_cpu, batch_memory;
};

/* Terms of the mid formula (manager 5.3). */
struct nr_mid_terms {
    bool is_static;
    struct nr_amount capacity, reclaimable, unused, reserved, prod_allocated, unallocated;
    int64_t unallocated_percent;
    int64_t cpu_threshold_percent, memory_threshold_percent; /* of the capacity, at most */
    int64_t static_cpu_percent, static_memory_percent;
    bool usage_known; /* the metric tells the use of the node; else nothing is unused */
    struct nr_amount result;
};

/* Why a plugin gave up what it usually gives. */
struct nr_outcome {
    struct kerr err;       /* code < 0: it failed, and none of its items count */
    const char *reset;     /* it takes its resources away: the message; NULL: it does not */
    const char *reset_why; /* for people: "the NodeMetric is 20m0s old" */
};

struct nr_result {
    bool disabled; /* colocation is off for the node: everything is reset */
    const struct colocation_strategy *strategy;
    const struct colocation_strategy *configured; /* the same without the cut */
    struct colocation_sources sources;
    struct nr_item items[NR_RESOURCES];
    struct nr_outcome outcome[NR_PLUGINS];
    struct koord_extension extension;
    const char *extension_problem; /* it cannot be read; NULL: fine or absent */
    struct nr_cut cut;             /* taken off the reclaim percentages of strategy already */
    struct nr_batch_terms batch;   /* counts unless outcome[NR_BATCH] says otherwise */
    struct nr_damping damping;
    struct nr_mid_terms mid;
    KLIST(struct nr_zone) zones;
    const char *normalization; /* of the node's CPUs, "1.20"; NULL: not produced */
    const char *amplification; /* {"cpu":1.50}; NULL: not produced */
    const char *labels[3];     /* of the GPUs: NR_LABEL_*; NULL: not known */
};
enum { NR_LABEL_GPU_VENDOR, NR_LABEL_GPU_MODEL, NR_LABEL_GPU_DRIVER, NR_LABELS };
extern const char *const nr_label_keys[NR_LABELS];

/* Runs the plugins. Never fails: what a plugin has to complain about is in its outcome. */
void nr_calculate(const struct nr_input *in, struct arena *a, struct nr_result *ret);

/* The formula with its numbers, as upstream logs it: cpu in milli-cores, memory in 10^9 bytes. */
void nr_batch_message(const struct nr_batch_terms *t, const char *resource, struct strbuf *out);
void nr_mid_message(const struct nr_mid_terms *t, const char *resource, struct strbuf *out);

/* ---- what the node should say (manager 4.3, 4.4) --------------------------------------------- */

enum nr_annotation { NR_ANNO_NORMALIZATION, NR_ANNO_AMPLIFICATION, NR_ANNO_ORIGIN, NR_ANNOTATIONS };
extern const char *const nr_annotation_keys[NR_ANNOTATIONS];

enum nr_act { NR_LEAVE, NR_SET, NR_REMOVE };
struct nr_want {
    uint8_t act; /* enum nr_act */
    union {
        struct qty value;
        const char *text;
    };
};
struct nr_plan {
    struct nr_want resources[NR_RESOURCES]; /* of allocatable and capacity alike */
    struct nr_want annotations[NR_ANNOTATIONS];
    const char *labels[NR_LABELS]; /* NULL: leave */
    struct nr_amount third_party;  /* batch resources that somebody else gives away */
    struct nr_item origin[2];      /* batch-cpu, batch-memory before that */
    struct kerr bad[NR_PLUGINS];   /* a preparation that failed: the rest is done */
};
void nr_prepare(const struct nr_input *in, const struct nr_result *r, struct arena *a,
                struct nr_plan *ret);

/* Differences that are too small to be written; how far the node is from the plan. */
enum nr_due {
    NR_NOT_DUE,
    NR_DUE_FIRST, /* nothing was written since the controller started */
    NR_DUE_TIME,  /* the last write is longer ago than updateTimeThresholdSeconds */
    NR_DUE_DIFF   /* a resource differs by more than resourceDiffThreshold */
};
struct nr_due_result {
    enum nr_due status;
    bool meta;                 /* annotations or labels are to be written */
    enum nr_resource resource; /* NR_DUE_DIFF: the one that differs */
};
/* last_sync: wall time of the last write of the status; 0: none yet. */
struct nr_due_result nr_due(const struct nr_input *in, const struct nr_result *r,
                            const struct nr_plan *p, nsec_t last_sync);
/* The part about annotations and labels. */
bool nr_meta_due(const struct nr_input *in, const struct nr_plan *p);
/* Is the new value apart from the old by more than the threshold? NULL: absent. */
bool nr_differs(const struct qty *old, const struct qty *new, double threshold);

/* The merge patch that makes the node say what the plan wants; "" when it does so already. Status
 * patches also carry annotations and labels, which the API server keeps for nodes. */
void nr_patch_status(const struct node *n, const struct nr_plan *p, struct strbuf *out);
void nr_patch_meta(const struct node *n, const struct nr_plan *p, struct strbuf *out);
#endif
