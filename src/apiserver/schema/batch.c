/* batch.c - batch/v1. */
#include "apiserver/schema/tables.h"

static const char *const pod_failure_policy_on_exit_codes_operator_values[] = { "In", "NotIn",
                                                                                NULL };
static const struct t_field batch_pod_failure_policy_on_exit_codes_requirement_fields[] = {
    F("containerName", T_STR, T_PTR),
    ENUM("operator", pod_failure_policy_on_exit_codes_operator_values,
         "v1.PodFailurePolicyOnExitCodesOperator", T_REQ | T_EMIT),
    LIST("values", T_I32, T_REQ | T_EMIT | T_SET | T_REPLACE),
    END,
};
static TYPE(batch_pod_failure_policy_on_exit_codes_requirement,
            "io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement");

static const struct t_field batch_pod_failure_policy_on_pod_conditions_pattern_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT, GO("v1.PodConditionType")),
    F("status", T_STR, T_EMIT, DEF("\"True\""), GO("v1.ConditionStatus")),
    END,
};
static TYPE(batch_pod_failure_policy_on_pod_conditions_pattern,
            "io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern");

static const char *const pod_failure_policy_action_values[] = { "FailJob", "FailIndex", "Ignore",
                                                                "Count", NULL };
static const struct t_field batch_pod_failure_policy_rule_fields[] = {
    ENUM("action", pod_failure_policy_action_values, "v1.PodFailurePolicyAction", T_REQ | T_EMIT),
    OBJ("onExitCodes", batch_pod_failure_policy_on_exit_codes_requirement, T_PTR),
    OBJS("onPodConditions", batch_pod_failure_policy_on_pod_conditions_pattern, T_ATOMIC),
    END,
};
static TYPE(batch_pod_failure_policy_rule, "io.k8s.api.batch.v1.PodFailurePolicyRule");

static const struct t_field batch_pod_failure_policy_fields[] = {
    OBJS("rules", batch_pod_failure_policy_rule, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
static TYPE(batch_pod_failure_policy, "io.k8s.api.batch.v1.PodFailurePolicy");

static const struct t_field batch_success_policy_rule_fields[] = {
    F("succeededIndexes", T_STR, T_PTR),
    F("succeededCount", T_I32, T_PTR),
    END,
};
static TYPE(batch_success_policy_rule, "io.k8s.api.batch.v1.SuccessPolicyRule");

static const struct t_field batch_success_policy_fields[] = {
    OBJS("rules", batch_success_policy_rule, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
static TYPE(batch_success_policy, "io.k8s.api.batch.v1.SuccessPolicy");

static const char *const completion_mode_values[] = { "NonIndexed", "Indexed", NULL };
static const char *const pod_replacement_policy_values[] = { "TerminatingOrFailed", "Failed",
                                                             NULL };
static const struct t_field batch_job_spec_fields[] = {
    F("parallelism", T_I32, T_PTR),
    F("completions", T_I32, T_PTR),
    F("activeDeadlineSeconds", T_I64, T_PTR),
    OBJ("podFailurePolicy", batch_pod_failure_policy, T_PTR),
    OBJ("successPolicy", batch_success_policy, T_PTR),
    F("backoffLimit", T_I32, T_PTR),
    F("backoffLimitPerIndex", T_I32, T_PTR),
    F("maxFailedIndexes", T_I32, T_PTR),
    OBJ("selector", meta_label_selector, T_PTR),
    F("manualSelector", T_BOOL, T_PTR),
    OBJ("template", core_pod_template_spec, T_REQ | T_EMIT),
    F("ttlSecondsAfterFinished", T_I32, T_PTR),
    ENUM("completionMode", completion_mode_values, "v1.CompletionMode", T_PTR),
    F("suspend", T_BOOL, T_PTR),
    ENUM("podReplacementPolicy", pod_replacement_policy_values, "v1.PodReplacementPolicy", T_PTR),
    F("managedBy", T_STR, T_PTR),
    END,
};
static TYPE(batch_job_spec, "io.k8s.api.batch.v1.JobSpec");

static const struct t_field batch_job_condition_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT, GO("v1.JobConditionType")),
    F("status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F("lastProbeTime", T_TIME, T_EMIT),
    F("lastTransitionTime", T_TIME, T_EMIT),
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    END,
};
static TYPE(batch_job_condition, "io.k8s.api.batch.v1.JobCondition");

static const struct t_field batch_uncounted_terminated_pods_fields[] = {
    LIST("succeeded", T_STR, T_SET | T_REPLACE, GO("types.UID")),
    LIST("failed", T_STR, T_SET | T_REPLACE, GO("types.UID")),
    END,
};
static TYPE(batch_uncounted_terminated_pods, "io.k8s.api.batch.v1.UncountedTerminatedPods");

static const struct t_field batch_job_status_fields[] = {
    OBJS("conditions", batch_job_condition, T_KEY | T_ATOMIC, KEYS("type")),
    F("startTime", T_TIME, T_PTR),
    F("completionTime", T_TIME, T_PTR),
    F("active", T_I32, 0),
    F("succeeded", T_I32, 0),
    F("failed", T_I32, 0),
    F("terminating", T_I32, T_PTR),
    F("completedIndexes", T_STR, 0),
    F("failedIndexes", T_STR, T_PTR),
    OBJ("uncountedTerminatedPods", batch_uncounted_terminated_pods, T_PTR),
    F("ready", T_I32, T_PTR),
    END,
};
static TYPE(batch_job_status, "io.k8s.api.batch.v1.JobStatus");

static const struct t_field batch_job_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", batch_job_spec, T_EMIT),
    OBJ("status", batch_job_status, T_EMIT),
    END,
};
TYPE(batch_job, "io.k8s.api.batch.v1.Job");

static const struct t_field batch_job_template_spec_fields[] = {
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", batch_job_spec, T_EMIT),
    END,
};
static TYPE(batch_job_template_spec, "io.k8s.api.batch.v1.JobTemplateSpec");

static const char *const concurrency_policy_values[] = { "Allow", "Forbid", "Replace", NULL };
static const struct t_field batch_cron_job_spec_fields[] = {
    F("schedule", T_STR, T_REQ | T_EMIT),
    F("timeZone", T_STR, T_PTR),
    F("startingDeadlineSeconds", T_I64, T_PTR),
    ENUM("concurrencyPolicy", concurrency_policy_values, "v1.ConcurrencyPolicy", 0,
         DEF("\"Allow\"")),
    F("suspend", T_BOOL, T_PTR, DEF("false")),
    OBJ("jobTemplate", batch_job_template_spec, T_REQ | T_EMIT),
    F("successfulJobsHistoryLimit", T_I32, T_PTR, DEF("3")),
    F("failedJobsHistoryLimit", T_I32, T_PTR, DEF("1")),
    END,
};
static TYPE(batch_cron_job_spec, "io.k8s.api.batch.v1.CronJobSpec");

static const struct t_field batch_cron_job_status_fields[] = {
    OBJS("active", core_object_reference, T_ATOMIC),
    F("lastScheduleTime", T_TIME, T_PTR),
    F("lastSuccessfulTime", T_TIME, T_PTR),
    END,
};
static TYPE(batch_cron_job_status, "io.k8s.api.batch.v1.CronJobStatus");

static const struct t_field batch_cron_job_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", batch_cron_job_spec, T_EMIT),
    OBJ("status", batch_cron_job_status, T_EMIT),
    END,
};
TYPE(batch_cron_job, "io.k8s.api.batch.v1.CronJob");
