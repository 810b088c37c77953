/* explanation.c - tables of ScheduleExplanation (api-crds 10). */
#include "api/koord/explanation.h"

#define BOOL(member, json, text)   F(member, json, KF_BOOL, OMIT, DOC(text))
#define STR_(member, json, text)   F(member, json, KF_STR, OMIT, DOC(text))

#define F(member, json, type, ...) KF(struct explained_pod, member, json, type, __VA_ARGS__)
static const struct kfield explained_pod_fields[] = {
    STR_(ns, "namespace", "pod namespace"),
    STR_(name, "name", "pod name"),
    STR_(uid, "uid", "pod UID"),
    STR_(node_name, "nodeName", "the node it would get"),
};
#undef F
static const struct kschema explained_pod_schema =
    KSCHEMA("PodSchedulingResult", struct explained_pod, explained_pod_fields);

#define F(member, json, type, ...) KF(struct node_failed_detail, member, json, type, __VA_ARGS__)
static const struct kfield failed_detail_fields[] = {
    STR_(failed_plugin, "failedPlugin", "the plugin that said no"),
    STR_(reason, "reason", "why it said no"),
    BOOL(preempt_might_help, "preemptMightHelp", "whether evicting pods may change that"),
    F_STRLIST(struct node_failed_detail, failed_nodes, "failedNodes", "the nodes it is about"),
};
#undef F
static const struct kschema failed_detail_schema =
    KSCHEMA("NodeFailedDetail", struct node_failed_detail, failed_detail_fields);

#define F(member, json, type, ...) \
    KF(struct node_level_explanation, member, json, type, __VA_ARGS__)
static const struct kfield node_level_fields[] = {
    BOOL(schedulable, "schedulable", "whether all pods found a node"),
    STR_(failed_message, "failedMessage", "what failed"),
    KF_LIST_OF(struct node_level_explanation, feasible_result, "feasibleSchedulingResult", KF_OBJ,
               OMIT, .sub = &explained_pod_schema, DOC("pods that found a node")),
    KF_LIST_OF(struct node_level_explanation, node_failed_details, "nodeFailedDetails", KF_OBJ,
               OMIT, .sub = &failed_detail_schema, DOC("nodes that were refused, by reason")),
};
#undef F
static const struct kschema node_level_schema =
    KSCHEMA("NodeLevelExplanation", struct node_level_explanation, node_level_fields);

#define F(member, json, type, ...) KF(struct possible_victim, member, json, type, __VA_ARGS__)
static const struct kfield victim_fields[] = {
    STR_(ns, "namespace", "pod namespace"),
    STR_(name, "name", "pod name"),
    STR_(uid, "uid", "pod UID"),
    BOOL(is_nominated_pod, "isNominatedPod", "the pod is itself waiting for room"),
};
#undef F
static const struct kschema victim_schema =
    KSCHEMA("PossibleVictim", struct possible_victim, victim_fields);

static const struct kfield victims_fields[] = {
    KF(struct node_possible_victims, node_name, "nodeName", KF_STR, OMIT, DOC("the node")),
    KF_LIST_OF(struct node_possible_victims, possible_victims, "possibleVictims", KF_OBJ, OMIT,
               .sub = &victim_schema, DOC("pods that could be evicted there")),
};
static const struct kschema victims_schema =
    KSCHEMA("NodePossibleVictim", struct node_possible_victims, victims_fields);

#define F(member, json, type, ...) KF(struct detailed_explanation, member, json, type, __VA_ARGS__)
static const struct kfield detailed_fields[] = {
    STR_(topology_domain, "topologyDomain", "the nodes this is about"),
    BOOL(schedulable, "schedulable", "whether all pods found a node"),
    BOOL(schedulable_after_preemption, "schedulableAfterPreemption",
         "whether they would after evictions"),
    STR_(failed_message, "failedMessage", "what failed"),
    F(schedule_explanation, "scheduleExplanation", KF_OBJ, OMIT_PTR, .sub = &node_level_schema,
      DOC("the attempt as things are")),
    F(preempt_explanation, "preemptExplanation", KF_OBJ, OMIT_PTR, .sub = &node_level_schema,
      DOC("the attempt after evictions")),
    KF_LIST_OF(struct detailed_explanation, node_possible_victims, "nodePossibleVictims", KF_OBJ,
               OMIT, .sub = &victims_schema, DOC("pods that could be evicted, by node")),
};
#undef F
static const struct kschema detailed_schema =
    KSCHEMA("DetailedExplanation", struct detailed_explanation, detailed_fields);

/* ---- the kind -------------------------------------------------------------------------------- */

#define F(member, json, type, ...) \
    KF(struct schedule_explanation_spec, member, json, type, __VA_ARGS__)
static const struct kfield spec_fields[] = {
    STR_(question_object_key, "questionObjectKey", "namespace/name of a pod or job, or a gang"),
    F(question_object_template, "questionObjectTemplate", KF_RAW, OMIT,
      DOC("a pod template; not used so far")),
    F(ttl_ns, "ttl", KF_OPT_DUR, OMIT,
      META(.def = "\"24h\"", .description = "how long to keep it; 0 is for ever")),
};
#undef F
static const struct kschema spec_schema =
    KSCHEMA("ScheduleExplanationSpec", struct schedule_explanation_spec, spec_fields);

#define F(member, json, type, ...) \
    KF(struct schedule_explanation_status, member, json, type, __VA_ARGS__)
static const struct kfield status_fields[] = {
    BOOL(schedulable, "schedulable", "whether all pods found a node"),
    BOOL(schedulable_after_preemption, "schedulableAfterPreemption",
         "whether they would after evictions"),
    STR_(failed_message, "failedMessage", "what failed"),
    F(last_update_time, "lastUpdateTime", KF_TIME, OMIT, DOC("time of this answer")),
    KF_LIST_OF(struct schedule_explanation_status, details, "detailedExplanation", KF_OBJ, OMIT,
               .sub = &detailed_schema, DOC("the answer by domain")),
};
#undef F
const struct kschema schedule_explanation_status_schema =
    KSCHEMA("ScheduleExplanationStatus", struct schedule_explanation_status, status_fields);

static const struct kfield explanation_fields[] = {
    F_METADATA(struct schedule_explanation),
    KF(struct schedule_explanation, spec, "spec", KF_OBJ, OMIT, .sub = &spec_schema,
       DOC("the question")),
    KF(struct schedule_explanation, status, "status", KF_OBJ, OMIT,
       .sub = &schedule_explanation_status_schema, DOC("the answer")),
};
const struct kschema schedule_explanation_schema =
    KSCHEMA("ScheduleExplanation", struct schedule_explanation, explanation_fields);

const struct kind kind_schedule_explanation = {
    .group = "scheduling.koordinator.sh",
    .version = "v1alpha1",
    .kind = "ScheduleExplanation",
    .plural = "scheduleexplanations",
    .short_names = "sched-exp",
    .namespaced = true,
    .has_status = true,
    .schema = &schedule_explanation_schema,
};
const struct kind_crd crd_schedule_explanation = {
    .versions = { { &kind_schedule_explanation, true } },
    .generator = CONTROLLER_GEN,
    .description = "ScheduleExplanation tells why pods do or do not get a node.",
};
