/* workload.c - one table each for the kinds that own pods. */
#include "api/workload.h"

#include "api/meta_fields.h"

#define OMIT                     KF_OMITEMPTY

#define SPEC(member, json, type) KF(struct workload_spec, member, json, type, .flags = OMIT)
#define SELECTOR                                                          \
    KF(struct workload_spec, selector, "selector", KF_OBJ, .flags = OMIT, \
       .sub = &label_selector_schema)
#define STATUS(member, json) KF(struct workload_status, member, json, KF_I32, .flags = OMIT)
#define GENERATION \
    KF(struct workload_status, observed_generation, "observedGeneration", KF_I64, .flags = OMIT)

static const struct kfield rolling_fields[] = {
    KF(struct workload_rolling, partition, "partition", KF_RAW, .flags = OMIT),
};
static const struct kschema rolling_schema =
    KSCHEMA("RollingUpdate", struct workload_rolling, rolling_fields);
static const struct kfield update_fields[] = {
    KF(struct workload_update, type, "type", KF_STR, .flags = OMIT | KF_INTERN),
    KF(struct workload_update, partition, "partition", KF_RAW, .flags = OMIT),
    KF(struct workload_update, rolling, "rollingUpdate", KF_OBJ, .flags = OMIT,
       .sub = &rolling_schema),
};
static const struct kschema update_schema =
    KSCHEMA("UpdateStrategy", struct workload_update, update_fields);

static const struct kfield deployment_spec[] = {
    SPEC(replicas, "replicas", KF_OPT_I32),
    SELECTOR,
    SPEC(paused, "paused", KF_BOOL),
};
static const struct kfield replicaset_spec[] = {
    SPEC(replicas, "replicas", KF_OPT_I32),
    SELECTOR,
};
static const struct kfield statefulset_spec[] = {
    SPEC(replicas, "replicas", KF_OPT_I32),
    SELECTOR,
    KF(struct workload_spec, update, "updateStrategy", KF_OBJ, .flags = OMIT | KF_PTR,
       .sub = &update_schema),
};
static const struct kfield daemonset_spec[] = { SELECTOR };
static const struct kfield rc_spec[] = {
    SPEC(replicas, "replicas", KF_OPT_I32),
    KF_STRMAP(struct workload_spec, selector.match_labels, "selector"),
};
static const struct kfield job_spec[] = {
    SPEC(replicas, "parallelism", KF_OPT_I32),
    SPEC(completions, "completions", KF_OPT_I32),
    SELECTOR,
    SPEC(paused, "suspend", KF_BOOL),
};

static const struct kfield deployment_status[] = {
    GENERATION,
    STATUS(replicas, "replicas"),
    STATUS(updated, "updatedReplicas"),
    STATUS(ready, "readyReplicas"),
    STATUS(available, "availableReplicas"),
};
static const struct kfield daemonset_status[] = {
    STATUS(replicas, "desiredNumberScheduled"), STATUS(ready, "numberReady"),         GENERATION,
    STATUS(updated, "updatedNumberScheduled"),  STATUS(available, "numberAvailable"),
};
static const struct kfield job_status[] = {
    STATUS(replicas, "active"),
    STATUS(succeeded, "succeeded"),
    STATUS(failed, "failed"),
    STATUS(ready, "ready"),
};

/* The schemas and the kind, from the tables of spec and status. */
#define WORKLOAD(noun, Name, plural_, short_, group_, version_, spec_table, status_table)      \
    static const struct kschema noun##_spec_schema =                                           \
        KSCHEMA(Name "Spec", struct workload_spec, spec_table);                                \
    static const struct kschema noun##_status_schema =                                         \
        KSCHEMA(Name "Status", struct workload_status, status_table);                          \
    static const struct kfield noun##_fields[] = {                                             \
        KF_OBJMETA(struct workload),                                                           \
        KF(struct workload, spec, "spec", KF_OBJ, .flags = OMIT, .sub = &noun##_spec_schema),  \
        KF(struct workload, status, "status", KF_OBJ, .flags = OMIT,                           \
           .sub = &noun##_status_schema),                                                      \
    };                                                                                         \
    static const struct kschema noun##_schema = KSCHEMA(Name, struct workload, noun##_fields); \
    const struct kind kind_##noun = {                                                          \
        .group = (group_),                                                                     \
        .version = (version_),                                                                 \
        .kind = (Name),                                                                        \
        .plural = (plural_),                                                                   \
        .short_names = (short_),                                                               \
        .namespaced = true,                                                                    \
        .has_status = true,                                                                    \
        .schema = &noun##_schema,                                                              \
    }

WORKLOAD(deployment, "Deployment", "deployments", "deploy", "apps", "v1", deployment_spec,
         deployment_status);
WORKLOAD(replicaset, "ReplicaSet", "replicasets", "rs", "apps", "v1", replicaset_spec,
         deployment_status);
WORKLOAD(statefulset, "StatefulSet", "statefulsets", "sts", "apps", "v1", statefulset_spec,
         deployment_status);
WORKLOAD(daemonset, "DaemonSet", "daemonsets", "ds", "apps", "v1", daemonset_spec,
         daemonset_status);
WORKLOAD(replicationcontroller, "ReplicationController", "replicationcontrollers", "rc", "", "v1",
         rc_spec, deployment_status);
WORKLOAD(job, "Job", "jobs", NULL, "batch", "v1", job_spec, job_status);
WORKLOAD(cloneset, "CloneSet", "clonesets", NULL, "apps.kruise.io", "v1alpha1", statefulset_spec,
         deployment_status);
WORKLOAD(kruise_statefulset, "StatefulSet", "statefulsets", NULL, "apps.kruise.io", "v1beta1",
         statefulset_spec, deployment_status);

int32_t workload_replicas(const struct workload *w)
{
    if (w->obj.kind == &kind_daemonset)
        return w->status.replicas;
    return w->spec.replicas.set ? w->spec.replicas.v : 1;
}
