/* podgroup.c - tables of PodGroup (api-crds 8). */
#include "api/koord/podgroup.h"

const char *const podgroup_phase_names[] = { "",          "Pending", "PreScheduling", "Scheduling",
                                             "Scheduled", "Running", "Unknown",       "Finished",
                                             "Failed",    NULL };

#define F(member, json, type, ...) KF(struct podgroup_spec, member, json, type, __VA_ARGS__)
static const struct kfield spec_fields[] = {
    F(min_member, "minMember", KF_I32, OMIT, DOC("pods needed to start")),
    F_RESLIST(struct podgroup_spec, min_resources, "minResources",
              "resources needed to start; for information only"),
    F(schedule_timeout_seconds, "scheduleTimeoutSeconds", KF_OPT_I32, OMIT,
      DOC("how long members wait for each other; absent or 0: the scheduler's default")),
};
#undef F
static const struct kschema spec_schema =
    KSCHEMA("PodGroupSpec", struct podgroup_spec, spec_fields);

#define F(member, json, type, ...) KF(struct podgroup_status, member, json, type, __VA_ARGS__)
static const struct kfield status_fields[] = {
    F(phase, "phase", KF_ENUM, OMIT,
      META(.names = podgroup_phase_names, .open_enum = true,
           .description = "Pending, PreScheduling, Scheduling, Scheduled, Running, Unknown, "
                          "Finished or Failed")),
    F(occupied_by, "occupiedBy", KF_STR, OMIT, DOC("owners of the pods, namespace/name")),
    F(scheduled, "scheduled", KF_I32, OMIT, DOC("pods that have a node")),
    F(running, "running", KF_I32, OMIT, DOC("pods that run")),
    F(succeeded, "succeeded", KF_I32, OMIT, DOC("pods that succeeded")),
    F(failed, "failed", KF_I32, OMIT, DOC("pods that failed")),
    F(schedule_start_time, "scheduleStartTime", KF_TIME, OMIT, DOC("when scheduling began")),
};
#undef F
const struct kschema podgroup_status_schema =
    KSCHEMA("PodGroupStatus", struct podgroup_status, status_fields);

static const struct kfield podgroup_fields[] = {
    F_METADATA(struct podgroup),
    KF(struct podgroup, spec, "spec", KF_OBJ, OMIT, .sub = &spec_schema, DOC("what is needed")),
    KF(struct podgroup, status, "status", KF_OBJ, OMIT, .sub = &podgroup_status_schema,
       DOC("how far the group got")),
};
const struct kschema podgroup_schema = KSCHEMA("PodGroup", struct podgroup, podgroup_fields);

const struct kind kind_podgroup = {
    .group = "scheduling.sigs.k8s.io",
    .version = "v1alpha1",
    .kind = "PodGroup",
    .plural = "podgroups",
    .namespaced = true,
    .schema = &podgroup_schema,
};
const struct kind_crd crd_podgroup = {
    .versions = { { &kind_podgroup, true } },
    .approved = APPROVED_SCHEDULER_PLUGINS,
    .generator = CONTROLLER_GEN,
    .description = "PodGroup holds pods that are scheduled together or not at all.",
};
