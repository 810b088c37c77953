/* docs_sets.c - tables of StatefulSet, DaemonSet and the revisions of their templates. */
#include "cluster/docs_int.h"

/* ---- StatefulSet --------------------------------------------------------------------------- */

static const struct kfield sts_rolling_fields[] = {
    KF(struct sts_rolling, partition, "partition", KF_OPT_I32, OMIT),
    KF(struct sts_rolling, max_unavailable, "maxUnavailable", KF_INT_OR_STR, OMIT),
};
static const struct kschema sts_rolling_schema =
    KSCHEMA("RollingUpdateStatefulSetStrategy", struct sts_rolling, sts_rolling_fields);
static const struct kfield sts_strategy_fields[] = {
    KF(struct sts_strategy, type, "type", KF_STR, .flags = KF_INTERN),
    KF(struct sts_strategy, rolling, "rollingUpdate", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
       .sub = &sts_rolling_schema),
};
static const struct kschema sts_strategy_schema =
    KSCHEMA("StatefulSetUpdateStrategy", struct sts_strategy, sts_strategy_fields);
static const struct kfield retention_fields[] = {
    KF(struct sts_retention, when_deleted, "whenDeleted", KF_STR, .flags = KF_INTERN),
    KF(struct sts_retention, when_scaled, "whenScaled", KF_STR, .flags = KF_INTERN),
};
static const struct kschema retention_schema = KSCHEMA(
    "StatefulSetPersistentVolumeClaimRetentionPolicy", struct sts_retention, retention_fields);
static const struct kfield ordinals_fields[] = {
    KF(struct sts_ordinals, start, "start", KF_I32, OMIT),
};
static const struct kschema ordinals_schema =
    KSCHEMA("StatefulSetOrdinals", struct sts_ordinals, ordinals_fields);

#define F(member, json, type, ...) KF(struct sts_spec, member, json, type, __VA_ARGS__)
static const struct kfield statefulset_spec[] = {
    F(replicas, "replicas", KF_OPT_I32, OMIT),
    F(min_ready_seconds, "minReadySeconds", KF_I32, OMIT),
    F(revision_history_limit, "revisionHistoryLimit", KF_OPT_I32, OMIT),
    F(service_name, "serviceName", KF_STR, OMIT),
    F(pod_management_policy, "podManagementPolicy", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(selector, "selector", KF_OBJ, OMIT, .sub = &label_selector_schema),
    F(strategy, "updateStrategy", KF_OBJ, OMIT, .sub = &sts_strategy_schema),
    F(retention, "persistentVolumeClaimRetentionPolicy", KF_OBJ, OMIT, .sub = &retention_schema),
    F(ordinals, "ordinals", KF_OBJ, OMIT, .sub = &ordinals_schema),
    F(template_json, "template", KF_RAW, OMIT),
    F(claims_json, "volumeClaimTemplates", KF_RAW, OMIT),
};
#undef F
#define F(member, json, type, ...) KF(struct sts_status, member, json, type, __VA_ARGS__)
static const struct kfield statefulset_status[] = {
    F(observed_generation, "observedGeneration", KF_I64),
    F(replicas, "replicas", KF_I32),
    F(ready, "readyReplicas", KF_I32),
    F(current, "currentReplicas", KF_I32),
    F(updated, "updatedReplicas", KF_I32),
    F(available, "availableReplicas", KF_I32),
    F(current_revision, "currentRevision", KF_STR, OMIT),
    F(update_revision, "updateRevision", KF_STR, OMIT),
    F(collisions, "collisionCount", KF_OPT_I32, OMIT),
    CONDITIONS(struct sts_status),
};
#undef F
DOC(statefulset, struct sts, "StatefulSet", "statefulsets", "apps");

/* ---- DaemonSet ----------------------------------------------------------------------------- */

static const struct kfield ds_strategy_fields[] = {
    KF(struct ds_strategy, type, "type", KF_STR, .flags = KF_INTERN),
    KF(struct ds_strategy, rolling, "rollingUpdate", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
       .sub = &rolling_schema),
};
static const struct kschema ds_strategy_schema =
    KSCHEMA("DaemonSetUpdateStrategy", struct ds_strategy, ds_strategy_fields);
#define F(member, json, type, ...) KF(struct ds_spec, member, json, type, __VA_ARGS__)
static const struct kfield daemonset_spec[] = {
    F(min_ready_seconds, "minReadySeconds", KF_I32, OMIT),
    F(revision_history_limit, "revisionHistoryLimit", KF_OPT_I32, OMIT),
    F(selector, "selector", KF_OBJ, OMIT, .sub = &label_selector_schema),
    F(strategy, "updateStrategy", KF_OBJ, OMIT, .sub = &ds_strategy_schema),
    F(template_json, "template", KF_RAW, OMIT),
};
#undef F
#define F(member, json, type, ...) KF(struct ds_status, member, json, type, __VA_ARGS__)
static const struct kfield daemonset_status[] = {
    F(observed_generation, "observedGeneration", KF_I64),
    F(current, "currentNumberScheduled", KF_I32),
    F(misscheduled, "numberMisscheduled", KF_I32),
    F(desired, "desiredNumberScheduled", KF_I32),
    F(ready, "numberReady", KF_I32),
    F(updated, "updatedNumberScheduled", KF_I32),
    F(available, "numberAvailable", KF_I32),
    F(unavailable, "numberUnavailable", KF_I32),
    F(collisions, "collisionCount", KF_OPT_I32, OMIT),
    CONDITIONS(struct ds_status),
};
#undef F
DOC(daemonset, struct ds, "DaemonSet", "daemonsets", "apps");

/* ---- ControllerRevision -------------------------------------------------------------------- */

static const struct kfield revision_fields[] = {
    META(struct revision),
    KF(struct revision, data_json, "data", KF_RAW, OMIT),
    KF(struct revision, revision, "revision", KF_I64),
};
static const struct kschema revision_schema =
    KSCHEMA("ControllerRevision", struct revision, revision_fields);
const struct kind doc_revision = { .group = "apps",
                                   .version = "v1",
                                   .kind = "ControllerRevision",
                                   .plural = "controllerrevisions",
                                   .namespaced = true,
                                   .schema = &revision_schema };
