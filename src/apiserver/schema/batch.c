/* batch.c - batch/v1. */
#include "apiserver/schema/tables.h"

static const char *const pod_failure_policy_on_exit_codes_operator_values[] = { "In", "NotIn",
                                                                                NULL };
static const struct t_field batch_pod_failure_policy_on_exit_codes_requirement_fields[] = {
    F(1, "containerName", T_STR, T_PTR),
    ENUM(2, "operator", pod_failure_policy_on_exit_codes_operator_values,
         "v1.PodFailurePolicyOnExitCodesOperator", T_REQ | T_EMIT),
    LIST(3, "values", T_I32, T_REQ | T_EMIT | T_SET | T_REPLACE),
    END,
};
static TYPE(batch_pod_failure_policy_on_exit_codes_requirement,
            "io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement");

static const struct t_field batch_pod_failure_policy_on_pod_conditions_pattern_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.PodConditionType")),
    F(2, "status", T_STR, T_EMIT, DEF("\"True\""), GO("v1.ConditionStatus")),
    END,
};
static TYPE(batch_pod_failure_policy_on_pod_conditions_pattern,
            "io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern");

static const char *const pod_failure_policy_action_values[] = { "FailJob", "FailIndex", "Ignore",
                                                                "Count", NULL };
static const struct t_field batch_pod_failure_policy_rule_fields[] = {
    ENUM(1, "action", pod_failure_policy_action_values, "v1.PodFailurePolicyAction",
         T_REQ | T_EMIT),
    OBJ(2, "onExitCodes", batch_pod_failure_policy_on_exit_codes_requirement, T_PTR),
    OBJS(3, "onPodConditions", batch_pod_failure_policy_on_pod_conditions_pattern, T_ATOMIC),
    END,
};
static TYPE(batch_pod_failure_policy_rule, "io.k8s.api.batch.v1.PodFailurePolicyRule");

static const struct t_field batch_pod_failure_policy_fields[] = {
    OBJS(1, "rules", batch_pod_failure_policy_rule, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
static TYPE(batch_pod_failure_policy, "io.k8s.api.batch.v1.PodFailurePolicy");

static const struct t_field batch_success_policy_rule_fields[] = {
    F(1, "succeededIndexes", T_STR, T_PTR),
    F(2, "succeededCount", T_I32, T_PTR),
    END,
};
static TYPE(batch_success_policy_rule, "io.k8s.api.batch.v1.SuccessPolicyRule");

static const struct t_field batch_success_policy_fields[] = {
    OBJS(1, "rules", batch_success_policy_rule, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
static TYPE(batch_success_policy, "io.k8s.api.batch.v1.SuccessPolicy");

static const char *const completion_mode_values[] = { "NonIndexed", "Indexed", NULL };
static const char *const pod_replacement_policy_values[] = { "TerminatingOrFailed", "Failed",
                                                             NULL };
static const struct t_field batch_job_spec_fields[] = {
    F(1, "parallelism", T_I32, T_PTR),
    F(2, "completions", T_I32, T_PTR),
    F(3, "activeDeadlineSeconds", T_I64, T_PTR),
    OBJ(11, "podFailurePolicy", batch_pod_failure_policy, T_PTR),
    OBJ(16, "successPolicy", batch_success_policy, T_PTR),
    F(7, "backoffLimit", T_I32, T_PTR),
    F(12, "backoffLimitPerIndex", T_I32, T_PTR),
    F(13, "maxFailedIndexes", T_I32, T_PTR),
    OBJ(4, "selector", meta_label_selector, T_PTR),
    F(5, "manualSelector", T_BOOL, T_PTR),
    OBJ(6, "template", core_pod_template_spec, T_REQ | T_EMIT),
    F(8, "ttlSecondsAfterFinished", T_I32, T_PTR),
    ENUM(9, "completionMode", completion_mode_values, "v1.CompletionMode", T_PTR),
    F(10, "suspend", T_BOOL, T_PTR),
    ENUM(14, "podReplacementPolicy", pod_replacement_policy_values, "v1.PodReplacementPolicy",
         T_PTR),
    F(15, "managedBy", T_STR, T_PTR),
    END,
};
static TYPE(batch_job_spec, "io.k8s.api.batch.v1.JobSpec");

static const struct t_field batch_job_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.JobConditionType")),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastProbeTime", T_TIME, T_EMIT),
    F(4, "lastTransitionTime", T_TIME, T_EMIT),
    F(5, "reason", T_STR, 0),
    F(6, "message", T_STR, 0),
    END,
};
static TYPE(batch_job_condition, "io.k8s.api.batch.v1.JobCondition");

static const struct t_field batch_uncounted_terminated_pods_fields[] = {
    LIST(1, "succeeded", T_STR, T_SET | T_REPLACE, GO("types.UID")),
    LIST(2, "failed", T_STR, T_SET | T_REPLACE, GO("types.UID")),
    END,
};
static TYPE(batch_uncounted_terminated_pods, "io.k8s.api.batch.v1.UncountedTerminatedPods");

static const struct t_field batch_job_status_fields[] = {
    OBJS(1, "conditions", batch_job_condition, T_KEY | T_ATOMIC, KEYS("type")),
    F(2, "startTime", T_TIME, T_PTR),
    F(3, "completionTime", T_TIME, T_PTR),
    F(4, "active", T_I32, 0),
    F(5, "succeeded", T_I32, 0),
    F(6, "failed", T_I32, 0),
    F(11, "terminating", T_I32, T_PTR),
    F(7, "completedIndexes", T_STR, 0),
    F(10, "failedIndexes", T_STR, T_PTR),
    OBJ(8, "uncountedTerminatedPods", batch_uncounted_terminated_pods, T_PTR),
    F(9, "ready", T_I32, T_PTR),
    END,
};
static TYPE(batch_job_status, "io.k8s.api.batch.v1.JobStatus");

static const struct t_field batch_job_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", batch_job_spec, T_EMIT),
    OBJ(3, "status", batch_job_status, T_EMIT),
    END,
};
TYPE(batch_job, "io.k8s.api.batch.v1.Job");

static const struct t_field batch_job_template_spec_fields[] = {
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", batch_job_spec, T_EMIT),
    END,
};
static TYPE(batch_job_template_spec, "io.k8s.api.batch.v1.JobTemplateSpec");

static const char *const concurrency_policy_values[] = { "Allow", "Forbid", "Replace", NULL };
static const struct t_field batch_cron_job_spec_fields[] = {
    F(1, "schedule", T_STR, T_REQ | T_EMIT),
    F(8, "timeZone", T_STR, T_PTR),
    F(2, "startingDeadlineSeconds", T_I64, T_PTR),
    ENUM(3, "concurrencyPolicy", concurrency_policy_values, "v1.ConcurrencyPolicy", 0,
         DEF("\"Allow\"")),
    F(4, "suspend", T_BOOL, T_PTR, DEF("false")),
    OBJ(5, "jobTemplate", batch_job_template_spec, T_REQ | T_EMIT),
    F(6, "successfulJobsHistoryLimit", T_I32, T_PTR, DEF("3")),
    F(7, "failedJobsHistoryLimit", T_I32, T_PTR, DEF("1")),
    END,
};
static TYPE(batch_cron_job_spec, "io.k8s.api.batch.v1.CronJobSpec");

static const struct t_field batch_cron_job_status_fields[] = {
    OBJS(1, "active", core_object_reference, T_ATOMIC),
    F(4, "lastScheduleTime", T_TIME, T_PTR),
    F(5, "lastSuccessfulTime", T_TIME, T_PTR),
    END,
};
static TYPE(batch_cron_job_status, "io.k8s.api.batch.v1.CronJobStatus");

static const struct t_field batch_cron_job_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", batch_cron_job_spec, T_EMIT),
    OBJ(3, "status", batch_cron_job_status, T_EMIT),
    END,
};
TYPE(batch_cron_job, "io.k8s.api.batch.v1.CronJob");
