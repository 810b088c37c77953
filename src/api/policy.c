/* policy.c - tables of PodDisruptionBudget and PriorityClass. */
#include "api/policy.h"

#include "api/meta_fields.h"
#include "api/pod_fields.h"

#define OMIT                       KF_OMITEMPTY
#define INTERN_OMIT                (KF_INTERN | KF_OMITEMPTY)

#define F(member, json, type, ...) KF(struct pdb_spec, member, json, type, __VA_ARGS__)
static const struct kfield pdb_spec_fields[] = {
    F(min_available, "minAvailable", KF_RAW, .flags = OMIT),
    F(selector, "selector", KF_OBJ, .flags = KF_PTR | OMIT, .sub = &label_selector_schema),
    F(max_unavailable, "maxUnavailable", KF_RAW, .flags = OMIT),
    F(unhealthy_pod_eviction_policy, "unhealthyPodEvictionPolicy", KF_STR, .flags = INTERN_OMIT),
};
#undef F
static const struct kschema pdb_spec_schema =
    KSCHEMA("PodDisruptionBudgetSpec", struct pdb_spec, pdb_spec_fields);

#define F(member, json, type, ...) KF(struct pdb_status, member, json, type, __VA_ARGS__)
static const struct kfield pdb_status_fields[] = {
    F(observed_generation, "observedGeneration", KF_I64, .flags = OMIT),
    KF_MAP_OF(struct pdb_status, disrupted_pods, "disruptedPods", KF_TIME, .flags = OMIT),
    F(disruptions_allowed, "disruptionsAllowed", KF_I32),
    F(current_healthy, "currentHealthy", KF_I32),
    F(desired_healthy, "desiredHealthy", KF_I32),
    F(expected_pods, "expectedPods", KF_I32),
};
#undef F
static const struct kschema pdb_status_schema =
    KSCHEMA("PodDisruptionBudgetStatus", struct pdb_status, pdb_status_fields);

static const struct kfield pdb_fields[] = {
    KF_OBJMETA(struct pdb),
    KF(struct pdb, spec, "spec", KF_OBJ, .flags = OMIT, .sub = &pdb_spec_schema),
    KF(struct pdb, status, "status", KF_OBJ, .flags = OMIT, .sub = &pdb_status_schema),
};
const struct kschema pdb_schema = KSCHEMA("PodDisruptionBudget", struct pdb, pdb_fields);
const struct kind kind_pdb = {
    .group = "policy",
    .version = "v1",
    .kind = "PodDisruptionBudget",
    .plural = "poddisruptionbudgets",
    .short_names = "pdb",
    .namespaced = true,
    .has_status = true,
    .schema = &pdb_schema,
};

#define F(member, json, type, ...) KF(struct priority_class_obj, member, json, type, __VA_ARGS__)
static const struct kfield priority_class_fields[] = {
    KF_OBJMETA(struct priority_class_obj),
    F(value, "value", KF_I32),
    F(global_default, "globalDefault", KF_BOOL, .flags = OMIT),
    F(preemption_policy, "preemptionPolicy", KF_ENUM, .flags = OMIT,
      .meta = &preemption_policy_meta),
};
#undef F
const struct kschema priority_class_schema =
    KSCHEMA("PriorityClass", struct priority_class_obj, priority_class_fields);
const struct kind kind_priority_class = {
    .group = "scheduling.k8s.io",
    .version = "v1",
    .kind = "PriorityClass",
    .plural = "priorityclasses",
    .short_names = "pc",
    .schema = &priority_class_schema,
};
