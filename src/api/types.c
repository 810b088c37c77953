/* types.c - tables of the shared pieces. */
#include "api/types.h"

#define INTERN_OMIT (KF_INTERN | KF_OMITEMPTY)

/* ---- resource lists -------------------------------------------------------------------------- */

static const struct kfield resources_fields[] = {
    KF_RESLIST(struct resources, requests, "requests"),
    KF_RESLIST(struct resources, limits, "limits"),
};
const struct kschema resources_schema =
    KSCHEMA("ResourceRequirements", struct resources, resources_fields);

/* ---- selectors ------------------------------------------------------------------------------- */

const char *const selop_names[] = { "", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", NULL };
static const struct kmeta selop_meta = { .names = selop_names };

#define F(member, json, type, ...) KF(struct selreq, member, json, type, __VA_ARGS__)
static const struct kfield selreq_fields[] = {
    F(key, "key", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(op, "operator", KF_ENUM, .flags = KF_REQUIRED, .meta = &selop_meta),
    KF_STRLIST(struct selreq, values, "values"),
};
#undef F
const struct kschema selreq_schema =
    KSCHEMA("LabelSelectorRequirement", struct selreq, selreq_fields);

#define REQS(stype, member, json) \
    KF_LIST_OF(stype, member, json, KF_OBJ, .flags = KF_OMITEMPTY, .sub = &selreq_schema)
static const struct kfield label_selector_fields[] = {
    KF_STRMAP(struct label_selector, match_labels, "matchLabels"),
    REQS(struct label_selector, match_expressions, "matchExpressions"),
};
const struct kschema label_selector_schema =
    KSCHEMA("LabelSelector", struct label_selector, label_selector_fields);

static const struct kfield node_selector_term_fields[] = {
    REQS(struct node_selector_term, match_expressions, "matchExpressions"),
    REQS(struct node_selector_term, match_fields, "matchFields"),
};
const struct kschema node_selector_term_schema =
    KSCHEMA("NodeSelectorTerm", struct node_selector_term, node_selector_term_fields);

static const struct kfield node_selector_fields[] = {
    KF_LIST_OF(struct node_selector, terms, "nodeSelectorTerms", KF_OBJ, .flags = KF_REQUIRED,
               .sub = &node_selector_term_schema),
};
const struct kschema node_selector_schema =
    KSCHEMA("NodeSelector", struct node_selector, node_selector_fields);

/* ---- taints and tolerations ------------------------------------------------------------------ */

const char *const taint_effect_names[] = { "", "NoSchedule", "PreferNoSchedule", "NoExecute",
                                           NULL };
static const struct kmeta taint_effect_meta = { .names = taint_effect_names };
static const char *const tol_op_names[] = { "", "Equal", "Exists", "Lt", "Gt", NULL };
static const struct kmeta tol_op_meta = { .names = tol_op_names };

#define F(member, json, type, ...) KF(struct taint, member, json, type, __VA_ARGS__)
static const struct kfield taint_fields[] = {
    F(key, "key", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(value, "value", KF_STR, .flags = INTERN_OMIT),
    F(effect, "effect", KF_ENUM, .flags = KF_REQUIRED, .meta = &taint_effect_meta),
    F(time_added, "timeAdded", KF_TIME, .flags = KF_OMITEMPTY),
};
#undef F
const struct kschema taint_schema = KSCHEMA("Taint", struct taint, taint_fields);

#define F(member, json, type, ...) KF(struct toleration, member, json, type, __VA_ARGS__)
static const struct kfield toleration_fields[] = {
    F(key, "key", KF_STR, .flags = INTERN_OMIT),
    F(op, "operator", KF_ENUM, .flags = KF_OMITEMPTY, .meta = &tol_op_meta),
    F(value, "value", KF_STR, .flags = INTERN_OMIT),
    F(effect, "effect", KF_ENUM, .flags = KF_OMITEMPTY, .meta = &taint_effect_meta),
    F(toleration_seconds, "tolerationSeconds", KF_OPT_I64, .flags = KF_OMITEMPTY),
};
#undef F
const struct kschema toleration_schema =
    KSCHEMA("Toleration", struct toleration, toleration_fields);

/* ---- affinity -------------------------------------------------------------------------------- */

#define REQUIRED_TERMS  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED_TERMS "preferredDuringSchedulingIgnoredDuringExecution"

static const struct kfield preferred_node_term_fields[] = {
    KF(struct preferred_node_term, weight, "weight", KF_I32, .flags = KF_REQUIRED),
    KF(struct preferred_node_term, preference, "preference", KF_OBJ, .flags = KF_REQUIRED,
       .sub = &node_selector_term_schema),
};
static const struct kschema preferred_node_term_schema =
    KSCHEMA("PreferredSchedulingTerm", struct preferred_node_term, preferred_node_term_fields);

static const struct kfield node_affinity_fields[] = {
    KF(struct node_affinity, required, REQUIRED_TERMS, KF_OBJ, .flags = KF_PTR | KF_OMITEMPTY,
       .sub = &node_selector_schema),
    KF_LIST_OF(struct node_affinity, preferred, PREFERRED_TERMS, KF_OBJ, .flags = KF_OMITEMPTY,
               .sub = &preferred_node_term_schema),
};
const struct kschema node_affinity_schema =
    KSCHEMA("NodeAffinity", struct node_affinity, node_affinity_fields);

#define F(member, json, type, ...) KF(struct pod_affinity_term, member, json, type, __VA_ARGS__)
static const struct kfield pod_affinity_term_fields[] = {
    F(topology_key, "topologyKey", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(label_selector, "labelSelector", KF_OBJ, .flags = KF_PTR | KF_OMITEMPTY,
      .sub = &label_selector_schema),
    F(namespace_selector, "namespaceSelector", KF_OBJ, .flags = KF_PTR | KF_OMITEMPTY,
      .sub = &label_selector_schema),
    KF_STRLIST(struct pod_affinity_term, namespaces, "namespaces"),
    KF_STRLIST(struct pod_affinity_term, match_label_keys, "matchLabelKeys"),
    KF_STRLIST(struct pod_affinity_term, mismatch_label_keys, "mismatchLabelKeys"),
};
#undef F
const struct kschema pod_affinity_term_schema =
    KSCHEMA("PodAffinityTerm", struct pod_affinity_term, pod_affinity_term_fields);

static const struct kfield weighted_pod_affinity_term_fields[] = {
    KF(struct weighted_pod_affinity_term, weight, "weight", KF_I32, .flags = KF_REQUIRED),
    KF(struct weighted_pod_affinity_term, term, "podAffinityTerm", KF_OBJ, .flags = KF_REQUIRED,
       .sub = &pod_affinity_term_schema),
};
static const struct kschema weighted_pod_affinity_term_schema =
    KSCHEMA("WeightedPodAffinityTerm", struct weighted_pod_affinity_term,
            weighted_pod_affinity_term_fields);

static const struct kfield pod_affinity_fields[] = {
    KF_LIST_OF(struct pod_affinity, required, REQUIRED_TERMS, KF_OBJ, .flags = KF_OMITEMPTY,
               .sub = &pod_affinity_term_schema),
    KF_LIST_OF(struct pod_affinity, preferred, PREFERRED_TERMS, KF_OBJ, .flags = KF_OMITEMPTY,
               .sub = &weighted_pod_affinity_term_schema),
};
static const struct kschema pod_affinity_schema =
    KSCHEMA("PodAffinity", struct pod_affinity, pod_affinity_fields);

static const struct kfield affinity_fields[] = {
    KF(struct affinity, node, "nodeAffinity", KF_OBJ, .flags = KF_PTR | KF_OMITEMPTY,
       .sub = &node_affinity_schema),
    KF(struct affinity, pod, "podAffinity", KF_OBJ, .flags = KF_PTR | KF_OMITEMPTY,
       .sub = &pod_affinity_schema),
    KF(struct affinity, pod_anti, "podAntiAffinity", KF_OBJ, .flags = KF_PTR | KF_OMITEMPTY,
       .sub = &pod_affinity_schema),
};
const struct kschema affinity_schema = KSCHEMA("Affinity", struct affinity, affinity_fields);

/* ---- references and conditions --------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct object_ref, member, json, type, __VA_ARGS__)
static const struct kfield object_ref_fields[] = {
    F(kind, "kind", KF_STR, .flags = INTERN_OMIT),
    F(ns, "namespace", KF_STR, .flags = INTERN_OMIT),
    F(name, "name", KF_STR, .flags = KF_OMITEMPTY),
    F(uid, "uid", KF_UID, .flags = KF_OMITEMPTY),
    F(api_version, "apiVersion", KF_STR, .flags = INTERN_OMIT),
    F(resource_version, "resourceVersion", KF_STR, .flags = KF_OMITEMPTY),
    F(field_path, "fieldPath", KF_STR, .flags = INTERN_OMIT),
};
#undef F
const struct kschema object_ref_schema =
    KSCHEMA("ObjectReference", struct object_ref, object_ref_fields);

const char *const cond_status_names[] = { "", "True", "False", "Unknown", NULL };
static const struct kmeta cond_status_meta = { .names = cond_status_names };

#define F(member, json, type, ...) KF(struct condition, member, json, type, __VA_ARGS__)
static const struct kfield condition_fields[] = {
    F(type, "type", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(status, "status", KF_ENUM, .flags = KF_REQUIRED, .meta = &cond_status_meta),
    F(last_transition_time, "lastTransitionTime", KF_TIME, .flags = KF_OMITEMPTY),
    F(reason, "reason", KF_STR, .flags = INTERN_OMIT),
    F(message, "message", KF_STR, .flags = INTERN_OMIT),
};
#undef F
const struct kschema condition_schema = KSCHEMA("Condition", struct condition, condition_fields);

const struct condition *condition_find(const conditionlist *l, const char *type)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].type, type))
            return &l->items[i];
    return NULL;
}

bool condition_is_true(const conditionlist *l, const char *type)
{
    const struct condition *c = condition_find(l, type);
    return c && c->status == COND_TRUE;
}
