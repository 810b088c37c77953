/* strategies.c - tables of the strategies, and the default of colocation (manager 2.1, api-config
 * 1.4). */
#include "manager/sloconfig/strategies.h"

/* ---- host applications ----------------------------------------------------------------------- */

static const struct kfield host_app_fields[] = {
    KF_LIST_OF(struct host_app_strategy, applications, "applications", KF_OBJ, OMIT,
               .sub = &host_application_schema),
};
const struct kschema host_app_strategy_schema =
    KSCHEMA("HostApplicationCfg", struct host_app_strategy, host_app_fields);

/* ---- CPU normalization ----------------------------------------------------------------------- */

#define F(member, json) KF(struct cpu_model_ratios, member, json, KF_OPT_F64, OMIT)
static const struct kfield model_fields[] = {
    F(base, "baseRatio"),
    F(hyper_thread, "hyperThreadEnabledRatio"),
    F(turbo, "turboEnabledRatio"),
    F(hyper_thread_turbo, "hyperThreadTurboEnabledRatio"),
};
#undef F
static const struct kschema model_schema =
    KSCHEMA("ModelRatioCfg", struct cpu_model_ratios, model_fields);

#define F(member, json, type) KF(struct normalization_strategy, member, json, type, OMIT)
static const struct kfield normalization_fields[] = {
    F(enable, "enable", KF_OPT_BOOL),
    F(default_ratio, "defaultRatio", KF_OPT_F64),
    KF_MAP_OF(struct normalization_strategy, ratio_model, "ratioModel", KF_OBJ, OMIT,
              .sub = &model_schema),
};
#undef F
const struct kschema normalization_strategy_schema =
    KSCHEMA("CPUNormalizationStrategy", struct normalization_strategy, normalization_fields);

/* ---- amplification --------------------------------------------------------------------------- */

static const struct kfield amplification_fields[] = {
    KF(struct amplification_strategy, enable, "enable", KF_OPT_BOOL, OMIT),
    KF_MAP_OF(struct amplification_strategy, ratios.v, "resourceAmplificationRatio", KF_F64, OMIT),
};
const struct kschema amplification_strategy_schema =
    KSCHEMA("ResourceAmplificationStrategy", struct amplification_strategy, amplification_fields);

/* ---- colocation ------------------------------------------------------------------------------ */

#define MINUTES(n) ((n)*60 * NSEC_PER_SEC)
#define SET(value)                \
    {                             \
        .set = true, .v = (value) \
    }
static const nsec_t default_durations[] = { MINUTES(5), MINUTES(10), MINUTES(30) };
static const struct metric_aggregate_policy default_aggregate = {
    .durations_ns = { (nsec_t *)default_durations, ARRAY_LEN(default_durations) },
};
const struct colocation_strategy colocation_strategy_default = {
    .enable = SET(false),
    .metric_aggregate_duration_seconds = SET(300),
    .metric_report_interval_seconds = SET(60),
    .metric_aggregate_policy = (struct metric_aggregate_policy *)&default_aggregate,
    .metric_memory_collect_policy = "usageWithoutPageCache",
    .cpu_reclaim_threshold_percent = SET(60),
    .cpu_calculate_policy = "usage",
    .memory_reclaim_threshold_percent = SET(65),
    .memory_calculate_policy = "usage",
    .degrade_time_minutes = SET(15),
    .update_time_threshold_seconds = SET(300),
    .resource_diff_threshold = SET(0.1),
    .mid_reclaim_mode = "",
    .mid_cpu_threshold_percent = SET(100),
    .mid_memory_threshold_percent = SET(100),
    .mid_unallocated_percent = SET(0),
    .mid_static_cpu_reserved_percent = SET(0),
    .mid_static_memory_reserved_percent = SET(0),
};
