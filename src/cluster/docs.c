/* docs.c - tables of the kinds of this room.
 *
 * Counters of a status are written even when they are 0: a change to 0 is sent as such.
 */
#include "cluster/docs_int.h"

#define F(member, json, type, ...) KF(struct timed_condition, member, json, type, __VA_ARGS__)
static const struct kmeta status_meta = { .names = cond_status_names };
static const struct kfield condition_fields[] = {
    F(type, "type", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(status, "status", KF_ENUM, .flags = KF_REQUIRED, .meta = &status_meta),
    F(reason, "reason", KF_STR, .flags = KF_INTERN),
    F(message, "message", KF_STR),
    F(last_update_time, "lastUpdateTime", KF_TIME, OMIT),
    F(last_transition_time, "lastTransitionTime", KF_TIME, OMIT),
    F(last_probe_time, "lastProbeTime", KF_TIME, OMIT),
};
#undef F
const struct kschema workload_condition_schema =
    KSCHEMA("Condition", struct timed_condition, condition_fields);
/* ---- Deployment ---------------------------------------------------------------------------- */

static const struct kfield rolling_fields[] = {
    KF(struct rolling, max_surge, "maxSurge", KF_INT_OR_STR, OMIT),
    KF(struct rolling, max_unavailable, "maxUnavailable", KF_INT_OR_STR, OMIT),
};
const struct kschema rolling_schema =
    KSCHEMA("RollingUpdateDeployment", struct rolling, rolling_fields);
static const struct kfield strategy_fields[] = {
    KF(struct strategy, type, "type", KF_STR, .flags = KF_INTERN),
    KF(struct strategy, rolling, "rollingUpdate", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
       .sub = &rolling_schema),
};
static const struct kschema strategy_schema =
    KSCHEMA("DeploymentStrategy", struct strategy, strategy_fields);

#define F(member, json, type, ...) KF(struct deploy_spec, member, json, type, __VA_ARGS__)
static const struct kfield deployment_spec[] = {
    F(replicas, "replicas", KF_OPT_I32, OMIT),
    F(min_ready_seconds, "minReadySeconds", KF_I32, OMIT),
    F(revision_history_limit, "revisionHistoryLimit", KF_OPT_I32, OMIT),
    F(progress_deadline_seconds, "progressDeadlineSeconds", KF_OPT_I32, OMIT),
    F(paused, "paused", KF_BOOL, OMIT),
    F(selector, "selector", KF_OBJ, OMIT, .sub = &label_selector_schema),
    F(strategy, "strategy", KF_OBJ, OMIT, .sub = &strategy_schema),
    F(template_json, "template", KF_RAW, OMIT),
};
#undef F
#define F(member, json, type, ...) KF(struct deploy_status, member, json, type, __VA_ARGS__)
static const struct kfield deployment_status[] = {
    F(observed_generation, "observedGeneration", KF_I64),
    F(replicas, "replicas", KF_I32),
    F(updated, "updatedReplicas", KF_I32),
    F(ready, "readyReplicas", KF_I32),
    F(available, "availableReplicas", KF_I32),
    F(unavailable, "unavailableReplicas", KF_I32),
    F(terminating, "terminatingReplicas", KF_OPT_I32, OMIT),
    F(collisions, "collisionCount", KF_OPT_I32, OMIT),
    CONDITIONS(struct deploy_status),
};
#undef F
DOC(deployment, struct deploy, "Deployment", "deployments", "apps");

/* ---- ReplicaSet ---------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct rs_spec, member, json, type, __VA_ARGS__)
static const struct kfield replicaset_spec[] = {
    F(replicas, "replicas", KF_OPT_I32, OMIT),
    F(min_ready_seconds, "minReadySeconds", KF_I32, OMIT),
    F(selector, "selector", KF_OBJ, OMIT, .sub = &label_selector_schema),
    F(template_json, "template", KF_RAW, OMIT),
};
#undef F
#define F(member, json, type, ...) KF(struct rs_status, member, json, type, __VA_ARGS__)
static const struct kfield replicaset_status[] = {
    F(observed_generation, "observedGeneration", KF_I64),
    F(replicas, "replicas", KF_I32),
    F(fully_labeled, "fullyLabeledReplicas", KF_I32),
    F(ready, "readyReplicas", KF_I32),
    F(available, "availableReplicas", KF_I32),
    F(terminating, "terminatingReplicas", KF_OPT_I32, OMIT),
    CONDITIONS(struct rs_status),
};
#undef F
DOC(replicaset, struct rs, "ReplicaSet", "replicasets", "apps");

/* A ReplicationController is the same with a selector that is a map. */
#define F(member, json, type, ...) KF(struct rs_spec, member, json, type, __VA_ARGS__)
static const struct kfield rc_spec[] = {
    F(replicas, "replicas", KF_OPT_I32, OMIT),
    F(min_ready_seconds, "minReadySeconds", KF_I32, OMIT),
    KF_MAP_OF(struct rs_spec, selector.match_labels, "selector", KF_STR, .flags = KF_INTERN),
    F(template_json, "template", KF_RAW, OMIT),
};
#undef F
#define F(member, json, type, ...) KF(struct rs_status, member, json, type, __VA_ARGS__)
static const struct kfield rc_status[] = {
    F(observed_generation, "observedGeneration", KF_I64),
    F(replicas, "replicas", KF_I32),
    F(fully_labeled, "fullyLabeledReplicas", KF_I32),
    F(ready, "readyReplicas", KF_I32),
    F(available, "availableReplicas", KF_I32),
    CONDITIONS(struct rs_status),
};
#undef F
DOC(rc, struct rs, "ReplicationController", "replicationcontrollers", "");

/* ---- Job ----------------------------------------------------------------------------------- */

static const struct kfield uncounted_fields[] = {
    KF_LIST_OF(struct job_uncounted, succeeded, "succeeded", KF_STR, OMIT),
    KF_LIST_OF(struct job_uncounted, failed, "failed", KF_STR, OMIT),
};
static const struct kschema uncounted_schema =
    KSCHEMA("UncountedTerminatedPods", struct job_uncounted, uncounted_fields);
#define F(member, json, type, ...) KF(struct job_exit_codes, member, json, type, __VA_ARGS__)
static const struct kfield exit_codes_fields[] = {
    F(container, "containerName", KF_OPT_STR, OMIT),
    F(op, "operator", KF_STR, .flags = KF_INTERN),
    KF_LIST_OF(struct job_exit_codes, values, "values", KF_I32, OMIT),
};
#undef F
static const struct kschema exit_codes_schema =
    KSCHEMA("PodFailurePolicyOnExitCodesRequirement", struct job_exit_codes, exit_codes_fields);
static const struct kfield failure_rule_fields[] = {
    KF(struct job_failure_rule, action, "action", KF_STR, .flags = KF_INTERN),
    KF(struct job_failure_rule, exit_codes, "onExitCodes", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
       .sub = &exit_codes_schema),
    KF_LIST_OF(struct job_failure_rule, conditions, "onPodConditions", KF_OBJ, OMIT,
               .sub = &condition_schema),
};
static const struct kschema failure_rule_schema =
    KSCHEMA("PodFailurePolicyRule", struct job_failure_rule, failure_rule_fields);
static const struct kfield failure_policy_fields[] = {
    KF_LIST_OF(struct job_failure_policy, rules, "rules", KF_OBJ, OMIT,
               .sub = &failure_rule_schema),
};
static const struct kschema failure_policy_schema =
    KSCHEMA("PodFailurePolicy", struct job_failure_policy, failure_policy_fields);
static const struct kfield success_rule_fields[] = {
    KF(struct job_success_rule, indexes, "succeededIndexes", KF_OPT_STR, OMIT),
    KF(struct job_success_rule, count, "succeededCount", KF_OPT_I32, OMIT),
};
static const struct kschema success_rule_schema =
    KSCHEMA("SuccessPolicyRule", struct job_success_rule, success_rule_fields);
static const struct kfield success_policy_fields[] = {
    KF_LIST_OF(struct job_success_policy, rules, "rules", KF_OBJ, OMIT,
               .sub = &success_rule_schema),
};
static const struct kschema success_policy_schema =
    KSCHEMA("SuccessPolicy", struct job_success_policy, success_policy_fields);
#define F(member, json, type, ...) KF(struct job_spec, member, json, type, __VA_ARGS__)
static const struct kfield job_spec[] = {
    F(parallelism, "parallelism", KF_OPT_I32, OMIT),
    F(completions, "completions", KF_OPT_I32, OMIT),
    F(backoff_limit, "backoffLimit", KF_OPT_I32, OMIT),
    F(ttl_seconds, "ttlSecondsAfterFinished", KF_OPT_I32, OMIT),
    F(active_deadline_seconds, "activeDeadlineSeconds", KF_OPT_I64, OMIT),
    F(backoff_limit_per_index, "backoffLimitPerIndex", KF_OPT_I32, OMIT),
    F(max_failed_indexes, "maxFailedIndexes", KF_OPT_I32, OMIT),
    F(failure_policy, "podFailurePolicy", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
      .sub = &failure_policy_schema),
    F(success_policy, "successPolicy", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
      .sub = &success_policy_schema),
    F(managed_by, "managedBy", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(suspend, "suspend", KF_BOOL, OMIT),
    F(manual_selector, "manualSelector", KF_OPT_BOOL, OMIT),
    F(completion_mode, "completionMode", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(replacement, "podReplacementPolicy", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(selector, "selector", KF_OBJ, OMIT, .sub = &label_selector_schema),
    F(template_json, "template", KF_RAW, OMIT),
};
#undef F
#define F(member, json, type, ...) KF(struct job_status, member, json, type, __VA_ARGS__)
static const struct kfield job_status[] = {
    F(active, "active", KF_I32),
    F(succeeded, "succeeded", KF_I32),
    F(failed, "failed", KF_I32),
    F(ready, "ready", KF_OPT_I32, OMIT),
    F(terminating, "terminating", KF_OPT_I32, OMIT),
    F(start_time, "startTime", KF_TIME, OMIT),
    F(completion_time, "completionTime", KF_TIME, OMIT),
    F(completed_indexes, "completedIndexes", KF_STR, OMIT),
    F(failed_indexes, "failedIndexes", KF_OPT_STR),
    F(uncounted, "uncountedTerminatedPods", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
      .sub = &uncounted_schema),
    CONDITIONS(struct job_status),
};
#undef F
DOC(job, struct job, "Job", "jobs", "batch");

/* ---- PodDisruptionBudget, Namespace -------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct pdb_doc_spec, member, json, type, __VA_ARGS__)
static const struct kfield pdb_spec[] = {
    F(selector, "selector", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR, .sub = &label_selector_schema),
    F(min_raw, "minAvailable", KF_RAW, OMIT),
    F(max_raw, "maxUnavailable", KF_RAW, OMIT),
};
#undef F
#define F(member, json, type, ...) KF(struct pdb_doc_status, member, json, type, __VA_ARGS__)
static const struct kfield pdb_status[] = {
    F(observed_generation, "observedGeneration", KF_I64),
    F(disruptions_allowed, "disruptionsAllowed", KF_I32),
    F(current_healthy, "currentHealthy", KF_I32),
    F(desired_healthy, "desiredHealthy", KF_I32),
    F(expected_pods, "expectedPods", KF_I32),
    KF_MAP_OF(struct pdb_doc_status, disrupted, "disruptedPods", KF_TIME, OMIT),
    CONDITIONS(struct pdb_doc_status),
};
#undef F
DOC(pdb, struct pdb_doc, "PodDisruptionBudget", "poddisruptionbudgets", "policy");

#define F(member, json, type, ...) KF(struct ns_doc_status, member, json, type, __VA_ARGS__)
static const struct kfield namespace_spec[] = {
    KF_LIST_OF(struct ns_doc_spec, finalizers, "finalizers", KF_STR, .flags = KF_OMITEMPTY),
};
static const struct kfield namespace_status[] = {
    F(phase, "phase", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    CONDITIONS(struct ns_doc_status),
};
#undef F
static const struct kschema namespace_spec_schema =
    KSCHEMA("NamespaceSpec", struct ns_doc_spec, namespace_spec);
const struct kschema namespace_status_schema =
    KSCHEMA("NamespaceStatus", struct ns_doc_status, namespace_status);
static const struct kfield namespace_fields[] = {
    META(struct ns_doc),
    KF(struct ns_doc, spec, "spec", KF_OBJ, OMIT, .sub = &namespace_spec_schema),
    KF(struct ns_doc, status, "status", KF_OBJ, OMIT, .sub = &namespace_status_schema),
};
static const struct kschema namespace_doc_schema =
    KSCHEMA("Namespace", struct ns_doc, namespace_fields);
const struct kind doc_namespace = { .group = "",
                                    .version = "v1",
                                    .kind = "Namespace",
                                    .plural = "namespaces",
                                    .has_status = true,
                                    .schema = &namespace_doc_schema };
