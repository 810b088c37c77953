/* podmigrationjob.c - tables of PodMigrationJob (api-crds 5). */
#include "api/koord/podmigrationjob.h"

const char *const migration_phase_names[] = { "",       "Pending", "Running", "Succeeded",
                                              "Failed", "Aborted", NULL };

#define REF(member, json, text) \
    F(member, json, KF_OBJ, OMIT_PTR, .sub = &crd_object_ref_schema, DOC(text))

#define F(member, json, type, ...) KF(struct delete_preconditions, member, json, type, __VA_ARGS__)
static const struct kfield preconditions_fields[] = {
    F(resource_version, "resourceVersion", KF_OPT_STR, OMIT, DOC("delete only this version")),
    F(uid, "uid", KF_OPT_STR, OMIT, DOC("delete only the object with this UID")),
};
#undef F
static const struct kschema preconditions_schema =
    KSCHEMA("Preconditions", struct delete_preconditions, preconditions_fields);

#define F(member, json, type, ...) KF(struct delete_options, member, json, type, __VA_ARGS__)
static const struct kfield delete_options_fields[] = {
    F(kind, "kind", KF_STR, OMIT_STR, DOC("DeleteOptions")),
    F(api_version, "apiVersion", KF_STR, OMIT_STR, DOC("v1")),
    F(grace_period_seconds, "gracePeriodSeconds", KF_OPT_I64, OMIT,
      DOC("time the pod gets to end; 0 is at once")),
    F(preconditions, "preconditions", KF_OBJ, OMIT_PTR, .sub = &preconditions_schema,
      DOC("what must hold for the deletion")),
    F(orphan_dependents, "orphanDependents", KF_OPT_BOOL, OMIT, DOC("deprecated")),
    F(propagation_policy, "propagationPolicy", KF_OPT_STR, OMIT_STR,
      DOC("Orphan, Background or Foreground")),
    KF_LIST_OF(struct delete_options, dry_run, "dryRun", KF_STR, OMIT_STR,
               META(.list_type = "atomic", .description = "All: change nothing")),
    F(ignore_store_read_error, "ignoreStoreReadErrorWithClusterBreakingPotential", KF_OPT_BOOL,
      OMIT, DOC("delete even when the stored object cannot be read")),
};
#undef F
const struct kschema delete_options_schema =
    KSCHEMA("DeleteOptions", struct delete_options, delete_options_fields);

#define F(member, json, type, ...) \
    KF(struct migration_reservation_options, member, json, type, __VA_ARGS__)
static const struct kfield options_fields[] = {
    REF(reservation_ref, "reservationRef", "the Reservation to use; filled in when one is made"),
    F(template, "template", KF_RAW, OMIT, DOC("metadata and spec of the Reservation to make")),
    F(preemption_options, "preemptionOptions", KF_OBJ, OMIT_PTR, .sub = &empty_object_schema,
      DOC("nothing yet")),
};
#undef F
static const struct kschema options_schema =
    KSCHEMA("PodMigrateReservationOptions", struct migration_reservation_options, options_fields);

#define F(member, json, type, ...) KF(struct podmigrationjob_spec, member, json, type, __VA_ARGS__)
static const struct kfield spec_fields[] = {
    F(pod_ref, "podRef", KF_OBJ, .flags = KF_PTR | KF_REQUIRED, .sub = &crd_object_ref_schema,
      DOC("the pod to move")),
    F(mode, "mode", KF_STR, OMIT_STR, DOC("ReservationFirst or EvictDirectly")),
    F(paused, "paused", KF_BOOL, OMIT, DOC("leave the job alone")),
    F(ttl_ns, "ttl", KF_OPT_DUR, OMIT, DOC("time the job may take")),
    F(reservation_options, "reservationOptions", KF_OBJ, OMIT_PTR, .sub = &options_schema,
      DOC("how to secure a place for the pod")),
    F(delete_options, "deleteOptions", KF_OBJ, OMIT_PTR, .sub = &delete_options_schema,
      DOC("how to delete the pod")),
};
#undef F
const struct kschema podmigrationjob_spec_schema =
    KSCHEMA("PodMigrationJobSpec", struct podmigrationjob_spec, spec_fields);

/* ---- status ---------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct timed_condition, member, json, type, __VA_ARGS__)
static const struct kfield condition_fields[] = {
    F(type, "type", KF_STR, .flags = KF_REQUIRED | KF_INTERN, DOC("the step")),
    F(status, "status", KF_ENUM, .flags = KF_REQUIRED,
      META(.names = cond_status_names, .open_enum = true, .description = "True, False or Unknown")),
    F(last_probe_time, "lastProbeTime", KF_TIME, OMIT,
      META(.nullable = true, .description = "when it was checked last")),
    F(last_transition_time, "lastTransitionTime", KF_TIME, OMIT,
      META(.nullable = true, .description = "when it changed last")),
    F(reason, "reason", KF_STR, OMIT_STR, DOC("one word for programs")),
    F(message, "message", KF_STR, OMIT, DOC("a sentence for people")),
};
#undef F
const struct kschema migration_condition_schema =
    KSCHEMA("PodMigrationJobCondition", struct timed_condition, condition_fields);

#define F(member, json, type, ...) KF(struct preempted_reservation, member, json, type, __VA_ARGS__)
static const struct kfield preempted_fields[] = {
    F(ns, "namespace", KF_STR, OMIT_STR, DOC("namespace of the Reservation's pods")),
    F(name, "name", KF_STR, OMIT, DOC("name of the Reservation")),
    F(node_name, "nodeName", KF_STR, OMIT_STR, DOC("its node")),
    F(phase, "phase", KF_STR, OMIT_STR, DOC("its phase")),
    REF(preempted_pod_ref, "preemptedPodRef", "the pod that gave way"),
    KF_LIST_OF(struct preempted_reservation, pods_ref, "podsRef", KF_OBJ, OMIT,
               .sub = &crd_object_ref_schema, DOC("pods that use the Reservation")),
};
#undef F
static const struct kschema preempted_schema =
    KSCHEMA("PodMigrationJobPreemptedReservation", struct preempted_reservation, preempted_fields);

#define F(member, json, type, ...) \
    KF(struct podmigrationjob_status, member, json, type, __VA_ARGS__)
static const struct kfield status_fields[] = {
    F(phase, "phase", KF_ENUM, OMIT,
      META(.names = migration_phase_names, .open_enum = true,
           .description = "Pending, Running, Succeeded, Failed or Aborted")),
    F(status, "status", KF_STR, OMIT_STR, DOC("the last step")),
    F(reason, "reason", KF_STR, OMIT_STR, DOC("one word for programs")),
    F(message, "message", KF_STR, OMIT, DOC("a sentence for people")),
    KF_LIST_OF(struct podmigrationjob_status, conditions, "conditions", KF_OBJ, OMIT,
               .sub = &migration_condition_schema, DOC("the steps so far")),
    F(node_name, "nodeName", KF_STR, OMIT_STR, DOC("node of the moved pod")),
    REF(pod_ref, "podRef", "the new pod"),
    KF_LIST_OF(struct podmigrationjob_status, preempted_pods_ref, "preemptedPodsRef", KF_OBJ, OMIT,
               .sub = &crd_object_ref_schema, DOC("pods that gave way")),
    KF_LIST_OF(struct podmigrationjob_status, preempted_pods_reservation,
               "preemptedPodsReservation", KF_OBJ, OMIT, .sub = &preempted_schema,
               DOC("Reservations of the pods that gave way")),
};
#undef F
const struct kschema podmigrationjob_status_schema =
    KSCHEMA("PodMigrationJobStatus", struct podmigrationjob_status, status_fields);

/* ---- the kind -------------------------------------------------------------------------------- */

static const struct kfield podmigrationjob_fields[] = {
    F_METADATA(struct podmigrationjob),
    KF(struct podmigrationjob, spec, "spec", KF_OBJ, OMIT, .sub = &podmigrationjob_spec_schema,
       DOC("the pod to move, and how")),
    KF(struct podmigrationjob, status, "status", KF_OBJ, OMIT,
       .sub = &podmigrationjob_status_schema, DOC("how far it got")),
};
const struct kschema podmigrationjob_schema =
    KSCHEMA("PodMigrationJob", struct podmigrationjob, podmigrationjob_fields);

const struct kind kind_podmigrationjob = {
    .group = "scheduling.koordinator.sh",
    .version = "v1alpha1",
    .kind = "PodMigrationJob",
    .plural = "podmigrationjobs",
    .short_names = "pmj",
    .has_status = true,
    .schema = &podmigrationjob_schema,
};
static const struct crd_column columns[] = {
    { "Phase", "string", ".status.phase", "The phase of PodMigrationJob" },
    { "Status", "string", ".status.status", "The status of PodMigrationJob" },
    { "Age", "date", ".metadata.creationTimestamp", NULL },
    { "Node", "string", ".status.nodeName", NULL },
    { "Reservation", "string", ".spec.reservationOptions.reservationRef.name", NULL },
    { "PodNamespace", "string", ".spec.podRef.namespace", NULL },
    { "Pod", "string", ".spec.podRef.name", NULL },
    { "NewPod", "string", ".status.podRef.name", NULL },
    { "TTL", "string", ".spec.ttl", NULL },
    { 0 },
};
const struct kind_crd crd_podmigrationjob = {
    .versions = { { &kind_podmigrationjob, true } },
    .columns = columns,
    .generator = CONTROLLER_GEN,
    .description = "PodMigrationJob moves one pod to another node.",
};
