/* args.h - MigrationControllerArgs (descheduler 4.2, api-config 7). */
#ifndef KOORD_DESCHEDULER_MIGRATION_ARGS_H
#define KOORD_DESCHEDULER_MIGRATION_ARGS_H
#include "api/protocol/migration.h"
#include "api/types.h"

struct kd_args;
struct labelsel;

/* Checks that a configuration may switch off, by their names in skipEvictionGates. */
enum eviction_gate {
    GATE_MAX_UNAVAILABLE_PER_WORKLOAD,
    GATE_MAX_MIGRATING_PER_WORKLOAD,
    GATE_MAX_MIGRATING_PER_NODE,
    GATE_MAX_MIGRATING_PER_NAMESPACE,
    GATE_MAX_MIGRATING_GLOBALLY,
    GATE_EXPECTED_REPLICAS,
    GATE_PVC,
    GATE_BARE_PODS,
    GATE_LOCAL_STORAGE,
    GATE_SYSTEM_CRITICAL,
    GATE_PRIORITY_THRESHOLD,
    GATE_LABEL_SELECTOR,
    GATE_NAMESPACES,
    GATE_NODE_FIT,
    EVICTION_GATES
};
enum job_approval { APPROVAL_NONE, APPROVAL_AUTOMATIC, APPROVAL_MANUAL };

struct priority_threshold {
    struct opt_i32 value;
    const char *name; /* accepted, without effect, as in upstream */
};
struct namespaces {
    kstrlist include, exclude; /* one of them at most */
};
struct object_limiter {
    nsec_t duration; /* 0: off */
    struct int_or_str *max_migrating;
    int32_t burst;
};
struct named_limiter { /* an entry of the map */
    const char *key;   /* "workload", "namespace" */
    struct object_limiter limiter;
};
struct arbitration_args {
    struct opt_bool enabled; /* not consulted, as in upstream: jobs are always arbitrated */
    struct opt_i64 interval;
};

struct migration_args {
    bool dry_run, evict_failed_bare_pods, evict_all_bare_pods, evict_local_storage_pods,
        evict_system_critical_pods, ignore_pvc_pods, node_fit;
    struct opt_bool skip_check_expected_replicas;
    int32_t max_concurrent_reconciles, evict_burst;
    struct opt_i32 max_migrating_globally, max_migrating_per_node, max_migrating_per_namespace;
    struct int_or_str *max_migrating_per_workload, *max_unavailable_per_workload;
    struct priority_threshold *priority_threshold;
    struct label_selector *label_selector;
    struct namespaces *namespaces;
    kstrlist skip_eviction_gates, scheduler_names;
    const char *node_selector_text, *default_job_mode, *eviction_policy;
    const char *evict_qps_text; /* JSON: a number or a text */
    struct opt_i64 default_job_ttl;
    KLIST(struct named_limiter) object_limiters;
    struct delete_options *default_delete_options;
    struct arbitration_args arbitration;
    uint8_t approval; /* enum job_approval; ours */

    /* Made of them by the check. */
    double evict_qps;
    uint32_t skipped;                          /* bits 1 << enum eviction_gate */
    uint8_t policy;                            /* enum evict_policy */
    struct labelsel *selector, *node_selector; /* NULL: every pod, every node */
};
extern const struct kschema migration_args_schema;
extern const struct kd_args migration_kd_args;

static inline bool args_skip(const struct migration_args *a, enum eviction_gate g)
{
    return a->skipped & 1u << g;
}
/* NULL: there is none, or it is off. */
const struct object_limiter *args_limiter(const struct migration_args *a, const char *key);
bool args_mode_known(const char *mode);

/* How many of a workload's pods may be moved or unavailable: the value, or its percentage rounded
 * down, 0 counting as 1; without one, what suits the size. Never more than there are (4.3). */
int64_t max_of(int64_t replicas, const struct int_or_str *given);
#endif
