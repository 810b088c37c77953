/* policy.h - PodDisruptionBudget (policy/v1) and PriorityClass (scheduling.k8s.io/v1). */
#ifndef KOORD_API_POLICY_H
#define KOORD_API_POLICY_H
#include "api/types.h"

struct disrupted_pod {
    const char *name;
    nsec_t since;
};
struct pdb_spec {
    struct label_selector *selector; /* NULL matches nothing */
    /* JSON texts, NULL when absent: 1, "30%". An absent budget is not a budget of 0. */
    const char *min_available, *max_unavailable;
    const char *unhealthy_pod_eviction_policy;
};
struct pdb_status {
    int64_t observed_generation;
    KLIST(struct disrupted_pod) disrupted_pods; /* sorted by name */
    int32_t disruptions_allowed, current_healthy, desired_healthy, expected_pods;
};
struct pdb {
    struct kobj obj;
    struct pdb_spec spec;
    struct pdb_status status;
};
extern const struct kschema pdb_schema;
extern const struct kind kind_pdb;

struct priority_class_obj {
    struct kobj obj;
    int32_t value;
    uint8_t preemption_policy; /* enum preemption_policy of pod.h */
    bool global_default;
};
extern const struct kschema priority_class_schema;
extern const struct kind kind_priority_class;
#endif
