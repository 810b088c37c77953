/* recommendation.c - tables of Recommendation (api-crds 12). */
#include "api/koord/recommendation.h"

#define F(member, json, type, ...) KF(struct workload_ref, member, json, type, __VA_ARGS__)
static const struct kfield workload_fields[] = {
    F(api_version, "apiVersion", KF_STR, OMIT_STR, DOC("API version of the workload")),
    F(kind, "kind", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("kind of the workload")),
    F(name, "name", KF_STR, .flags = KF_REQUIRED, DOC("name of the workload")),
};
#undef F
static const struct kschema workload_schema =
    KSCHEMA("CrossVersionObjectReference", struct workload_ref, workload_fields);

#define F(member, json, type, ...) KF(struct recommendation_target, member, json, type, __VA_ARGS__)
static const struct kfield target_fields[] = {
    F(type, "type", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("workload or podSelector")),
    F(workload, "workload", KF_OBJ, OMIT_PTR, .sub = &workload_schema, DOC("a workload")),
    F(pod_selector, "podSelector", KF_OBJ, OMIT_PTR, .sub = &crd_label_selector_schema,
      DOC("pods by label")),
};
#undef F
static const struct kschema target_schema =
    KSCHEMA("RecommendationTarget", struct recommendation_target, target_fields);

struct spec_layout { /* one member, which stands directly in struct recommendation */
    struct recommendation_target target;
};
static const struct kfield spec_fields[] = {
    KF(struct spec_layout, target, "target", KF_OBJ, .flags = KF_REQUIRED, .sub = &target_schema,
       DOC("what the recommendation is for")),
};
static const struct kschema spec_schema =
    KSCHEMA("RecommendationSpec", struct spec_layout, spec_fields);

static const struct kfield container_fields[] = {
    KF(struct recommended_container, name, "containerName", KF_STR, OMIT_STR,
       DOC("name of the container")),
    F_RESLIST(struct recommended_container, resources, "resources", "what it should ask for"),
};
static const struct kschema container_schema_ =
    KSCHEMA("RecommendedContainerStatus", struct recommended_container, container_fields);

static const struct kfield pod_fields[] = {
    KF_LIST_OF(struct recommended_pod, containers, "containerStatuses", KF_OBJ, OMIT,
               .sub = &container_schema_, DOC("by container")),
};
static const struct kschema pod_status_schema =
    KSCHEMA("RecommendedPodStatus", struct recommended_pod, pod_fields);

#define F(member, json, type, ...) KF(struct recommendation_status, member, json, type, __VA_ARGS__)
static const struct kfield status_fields[] = {
    F(pod_status, "podStatus", KF_OBJ, OMIT_PTR, .sub = &pod_status_schema,
      DOC("the recommended resources")),
    F(update_time, "updateTime", KF_TIME, OMIT, DOC("time of the recommendation")),
    KF_LIST_OF(struct recommendation_status, conditions, "conditions", KF_OBJ, OMIT,
               .sub = &meta_condition_schema, DOC("state of the recommendation")),
};
#undef F
static const struct kschema status_schema =
    KSCHEMA("RecommendationStatus", struct recommendation_status, status_fields);

static const struct kfield recommendation_fields[] = {
    F_METADATA(struct recommendation),
    KF(struct recommendation, target, "spec", KF_OBJ, OMIT, .sub = &spec_schema,
       DOC("what the recommendation is for")),
    KF(struct recommendation, status, "status", KF_OBJ, OMIT, .sub = &status_schema,
       DOC("the recommendation")),
};
const struct kschema recommendation_schema =
    KSCHEMA("Recommendation", struct recommendation, recommendation_fields);

const struct kind kind_recommendation = {
    .group = "analysis.koordinator.sh",
    .version = "v1alpha1",
    .kind = "Recommendation",
    .plural = "recommendations",
    .short_names = "recom",
    .namespaced = true,
    .has_status = true,
    .schema = &recommendation_schema,
};
static const struct crd_column columns[] = {
    { "Age", "date", ".metadata.creationTimestamp", NULL },
    { "Type", "string", ".spec.target.type", NULL },
    { "Kind", "string", ".spec.target.workload.kind", NULL },
    { "Name", "string", ".spec.target.workload.name", NULL },
    { "LastUpdateTime", "date", ".status.updateTime", NULL },
    { 0 },
};
const struct kind_crd crd_recommendation = {
    .versions = { { &kind_recommendation, true } },
    .columns = columns,
    .generator = CONTROLLER_GEN,
    .description = "Recommendation says what the containers of a workload should ask for.",
};
