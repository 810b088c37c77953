/* common.c - tables of the pieces that several Koordinator kinds share. */
#include "api/koord/common.h"

/* A table needs a line; this one is never written and never read from JSON. */
const struct kschema empty_object_schema = { .name = "Empty", .size = sizeof(struct empty_object) };

struct int_or_str_value {
    struct int_or_str v;
};
static const struct kfield int_or_str_fields[] = {
    KF(struct int_or_str_value, v, "", KF_INT_OR_STR),
};
const struct kschema int_or_str_schema =
    SCHEMA("IntOrString", struct int_or_str_value, int_or_str_fields, .bare = true);

/* ---- label selector -------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct selreq, member, json, type, __VA_ARGS__)
static const struct kfield selreq_fields[] = {
    F(key, "key", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("label key")),
    F(op, "operator", KF_ENUM, .flags = KF_REQUIRED,
      META(.names = selop_names, .open_enum = true,
           .description = "In, NotIn, Exists or DoesNotExist")),
    KF_LIST_OF(struct selreq, values, "values", KF_STR, OMIT_STR,
               META(.list_type = "atomic", .description = "values of In and NotIn")),
};
#undef F
static const struct kschema crd_selreq_schema =
    KSCHEMA("LabelSelectorRequirement", struct selreq, selreq_fields);

static const struct kfield label_selector_fields[] = {
    KF_LIST_OF(struct label_selector, match_expressions, "matchExpressions", KF_OBJ, OMIT,
               .sub = &crd_selreq_schema,
               META(.list_type = "atomic", .description = "requirements, all of which must hold")),
    F_STRMAP(struct label_selector, match_labels, "matchLabels", "labels that must be equal"),
};
const struct kschema crd_label_selector_schema =
    SCHEMA("LabelSelector", struct label_selector, label_selector_fields, .map_atomic = true);

/* ---- object reference ------------------------------------------------------------------------ */

#define F(member, json, type, ...) KF(struct object_ref, member, json, type, __VA_ARGS__)
static const struct kfield object_ref_fields[] = {
    F(kind, "kind", KF_STR, OMIT_STR, DOC("kind of the object")),
    F(ns, "namespace", KF_STR, OMIT_STR, DOC("namespace of the object")),
    F(name, "name", KF_STR, OMIT, DOC("name of the object")),
    F(uid, "uid", KF_UID, OMIT, DOC("UID of the object")),
    F(api_version, "apiVersion", KF_STR, OMIT_STR, DOC("API version of the object")),
    F(resource_version, "resourceVersion", KF_STR, OMIT, DOC("version the reference was made at")),
    F(field_path, "fieldPath", KF_STR, OMIT_STR, DOC("a part of the object")),
};
#undef F
const struct kschema crd_object_ref_schema =
    SCHEMA("ObjectReference", struct object_ref, object_ref_fields, .map_atomic = true);

/* ---- taint ----------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct taint, member, json, type, __VA_ARGS__)
static const struct kfield taint_fields[] = {
    F(key, "key", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("taint key")),
    F(value, "value", KF_STR, OMIT_STR, DOC("taint value")),
    F(effect, "effect", KF_ENUM, .flags = KF_REQUIRED,
      META(.names = taint_effect_names, .open_enum = true,
           .description = "NoSchedule, PreferNoSchedule or NoExecute")),
    F(time_added, "timeAdded", KF_TIME, OMIT, DOC("when the taint was added")),
};
#undef F
const struct kschema crd_taint_schema = KSCHEMA("Taint", struct taint, taint_fields);

/* ---- condition ------------------------------------------------------------------------------- */

#define REASON_PATTERN "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
#define TYPE_PATTERN                                                        \
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?" \
    "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"

#define F(member, json, type, ...) KF(struct meta_condition, member, json, type, __VA_ARGS__)
static const struct kfield meta_condition_fields[] = {
    F(type, "type", KF_STR, .flags = KF_REQUIRED | KF_INTERN,
      META(.max_len = 316, .pattern = TYPE_PATTERN, .description = "what the condition is about")),
    F(status, "status", KF_ENUM, .flags = KF_REQUIRED,
      META(.names = cond_status_names, .description = "True, False or Unknown")),
    F(observed_generation, "observedGeneration", KF_I64, OMIT,
      META(.min = KF_INT(0), .description = "generation the condition was derived from")),
    F(last_transition_time, "lastTransitionTime", KF_TIME, .flags = KF_REQUIRED,
      DOC("when the status changed last")),
    F(reason, "reason", KF_STR, .flags = KF_REQUIRED | KF_INTERN,
      META(.min_len = 1, .max_len = 1024, .pattern = REASON_PATTERN,
           .description = "one word for programs")),
    F(message, "message", KF_STR, .flags = KF_REQUIRED,
      META(.max_len = 32768, .description = "a sentence for people")),
};
#undef F
const struct kschema meta_condition_schema =
    KSCHEMA("Condition", struct meta_condition, meta_condition_fields);
