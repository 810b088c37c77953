/* reservation.c - tables of Reservation (api-crds 4). */
#include "api/koord/reservation.h"

const char *const reservation_phase_names[] = { "",          "Pending", "Available", "Waiting",
                                                "Succeeded", "Failed",  NULL };
const char *const allocate_policy_names[] = { "", "Aligned", "Restricted", NULL };
static const char *const pre_allocation_modes[] = { "", "Default", "Cluster", NULL };

/* ---- owners ---------------------------------------------------------------------------------- */

#define F(member, json, type, ...) \
    KF(struct reservation_controller, member, json, type, __VA_ARGS__)
static const struct kfield controller_fields[] = {
    F(api_version, "apiVersion", KF_STR, .flags = KF_REQUIRED | KF_INTERN,
      DOC("API version of the controller")),
    F(kind, "kind", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("kind of the controller")),
    F(name, "name", KF_STR, .flags = KF_REQUIRED, DOC("name of the controller")),
    F(uid, "uid", KF_UID, .flags = KF_REQUIRED, DOC("UID of the controller")),
    F(controller, "controller", KF_OPT_BOOL, OMIT, DOC("whether it manages the pods")),
    F(block_owner_deletion, "blockOwnerDeletion", KF_OPT_BOOL, OMIT,
      DOC("as in an owner reference")),
    F(ns, "namespace", KF_STR, OMIT_STR, DOC("namespace of the controller")),
};
#undef F
static const struct kschema controller_schema =
    SCHEMA("ReservationControllerReference", struct reservation_controller, controller_fields,
           .map_atomic = true);

#define F(member, json, type, ...) KF(struct reservation_owner, member, json, type, __VA_ARGS__)
static const struct kfield owner_fields[] = {
    F(object, "object", KF_OBJ, OMIT_PTR, .sub = &crd_object_ref_schema, DOC("a given pod")),
    F(controller, "controller", KF_OBJ, OMIT_PTR, .sub = &controller_schema,
      DOC("the pods of a controller")),
    F(label_selector, "labelSelector", KF_OBJ, OMIT_PTR, .sub = &crd_label_selector_schema,
      DOC("pods by label")),
};
#undef F
const struct kschema reservation_owner_schema =
    SCHEMA("ReservationOwner", struct reservation_owner, owner_fields, .min_properties = 1,
           .description = "who may use the reservation; what is set must all match");

/* ---- spec ------------------------------------------------------------------------------------ */

#define F(member, json, type, ...) KF(struct pre_allocation_policy, member, json, type, __VA_ARGS__)
static const struct kfield pre_allocation_fields[] = {
    F(mode, "mode", KF_ENUM, OMIT,
      META(.names = pre_allocation_modes, .def = "\"Default\"",
           .description = "pods to take room from: by owner (Default), or by label (Cluster)")),
    F(enable_multiple, "enableMultiple", KF_BOOL, OMIT,
      META(.def = "false", .description = "whether several pods may give room")),
};
#undef F
static const struct kschema pre_allocation_schema =
    KSCHEMA("PreAllocationPolicy", struct pre_allocation_policy, pre_allocation_fields);

#define F(member, json, type, ...) KF(struct reservation_spec, member, json, type, __VA_ARGS__)
static const struct kfield spec_fields[] = {
    F(template, "template", KF_RAW, .flags = KF_REQUIRED,
      DOC("a pod template: what to reserve; spec.nodeName picks the node")),
    KF_LIST_OF(struct reservation_spec, owners, "owners", KF_OBJ, .flags = KF_REQUIRED,
               .sub = &reservation_owner_schema,
               META(.min_items = 1, .description = "who may use the reservation; any entry")),
    F(ttl_ns, "ttl", KF_OPT_DUR, OMIT,
      META(.def = "\"24h\"", .description = "life from creation on; 0s is for ever")),
    F(expires, "expires", KF_TIME, OMIT, DOC("end of life; goes before ttl")),
    F(pre_allocation, "preAllocation", KF_BOOL, OMIT,
      DOC("reserve on a node without room, and wait for it")),
    F(pre_allocation_policy, "preAllocationPolicy", KF_OBJ, OMIT_PTR, .sub = &pre_allocation_schema,
      DOC("how to pick pods whose room will be taken")),
    F(allocate_once, "allocateOnce", KF_OPT_BOOL, OMIT,
      META(.def = "true", .description = "only the first owner may use it")),
    F(allocate_policy, "allocatePolicy", KF_ENUM, OMIT,
      META(.names = allocate_policy_names, .description =
                                               "Aligned: reserved first, the rest from the node; "
                                               "Restricted: reserved resources from here only")),
    F(unschedulable, "unschedulable", KF_BOOL, OMIT, DOC("take no new owners")),
    KF_LIST_OF(struct reservation_spec, taints, "taints", KF_OBJ, OMIT, .sub = &crd_taint_schema,
               DOC("taints that owners must tolerate")),
};
#undef F
static const struct kschema spec_schema =
    KSCHEMA("ReservationSpec", struct reservation_spec, spec_fields);

/* ---- status ---------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct timed_condition, member, json, type, __VA_ARGS__)
static const struct kfield condition_fields[] = {
    F(type, "type", KF_STR, OMIT_STR, DOC("Scheduled or Ready")),
    F(status, "status", KF_ENUM, OMIT,
      META(.names = cond_status_names, .open_enum = true, .description = "True, False or Unknown")),
    F(reason, "reason", KF_STR, OMIT_STR, DOC("one word for programs")),
    F(message, "message", KF_STR, OMIT, DOC("a sentence for people")),
    F(last_probe_time, "lastProbeTime", KF_TIME, OMIT, DOC("when it was checked last")),
    F(last_transition_time, "lastTransitionTime", KF_TIME, OMIT, DOC("when it changed last")),
};
#undef F
const struct kschema reservation_condition_schema =
    KSCHEMA("ReservationCondition", struct timed_condition, condition_fields);

#define F(member, json, type, ...) KF(struct reservation_status, member, json, type, __VA_ARGS__)
static const struct kfield status_fields[] = {
    F(phase, "phase", KF_ENUM, OMIT,
      META(.names = reservation_phase_names, .open_enum = true, .def = "\"Pending\"",
           .description = "Pending, Available, Waiting, Succeeded or Failed")),
    KF_LIST_OF(struct reservation_status, conditions, "conditions", KF_OBJ, OMIT,
               .sub = &reservation_condition_schema, DOC("Scheduled and Ready, with reasons")),
    KF_LIST_OF(struct reservation_status, current_owners, "currentOwners", KF_OBJ, OMIT,
               .sub = &crd_object_ref_schema, DOC("pods that use it")),
    F(node_name, "nodeName", KF_STR, OMIT_STR, DOC("the node it is on")),
    F_RESLIST(struct reservation_status, allocatable, "allocatable", "what is reserved"),
    F_RESLIST(struct reservation_status, allocated, "allocated", "what its owners use"),
};
#undef F
const struct kschema reservation_status_schema =
    KSCHEMA("ReservationStatus", struct reservation_status, status_fields);

/* ---- the kind -------------------------------------------------------------------------------- */

static const struct kfield reservation_fields[] = {
    F_METADATA(struct reservation),
    KF(struct reservation, spec, "spec", KF_OBJ, OMIT, .sub = &spec_schema,
       DOC("what to reserve, and for whom")),
    KF(struct reservation, status, "status", KF_OBJ, OMIT, .sub = &reservation_status_schema,
       DOC("where it is, and who uses it")),
};
const struct kschema reservation_schema =
    KSCHEMA("Reservation", struct reservation, reservation_fields);

const struct kind kind_reservation = {
    .group = "scheduling.koordinator.sh",
    .version = "v1alpha1",
    .kind = "Reservation",
    .plural = "reservations",
    .has_status = true,
    .schema = &reservation_schema,
};
static const struct crd_column columns[] = {
    { "Phase", "string", ".status.phase", "The phase of reservation" },
    { "Age", "date", ".metadata.creationTimestamp", NULL },
    { "Node", "string", ".status.nodeName", NULL },
    { "TTL", "string", ".spec.ttl", NULL },
    { "Expires", "string", ".spec.expires", NULL },
    { 0 },
};
const struct kind_crd crd_reservation = {
    .versions = { { &kind_reservation, true } },
    .columns = columns,
    .generator = CONTROLLER_GEN,
    .description = "Reservation sets resources of a node aside for pods to come.",
};

int reservation_template(const struct reservation *r, struct arena *a, struct pod_template *ret,
                         struct kerr *err)
{
    const char *text = r->spec.template;
    struct kerr unread = { 0 };

    err = err ? err : &unread;
    if (!text)
        return kerr_set(err, -ENOENT, "spec.template: Required value");
    int code = kj_decode_text(&pod_template_schema, text, strlen(text), 0, a, ret, err);
    return code < 0 ? kerr_wrap(err, "spec.template") : 0;
}
