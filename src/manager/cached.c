/* cached.c - tables of what is kept, and the reduction of pods. */
#include "manager/cached.h"

#include "api/protocol/cpu.h"
#include "api/reduced.h"
#include "base/arena.h"
#include "base/intern.h"

#define OMIT_INTERN .flags = KF_OMITEMPTY | KF_INTERN

/* ---- metadata -------------------------------------------------------------------------------- */

#define META_FIELDS                                               \
    KF(struct objmeta, name, "name", KF_STR, OMIT),               \
        KF(struct objmeta, ns, "namespace", KF_STR, OMIT_INTERN), \
        KF(struct objmeta, uid, "uid", KF_UID, OMIT),             \
        KF(struct objmeta, resource_version, "resourceVersion", KF_STR, OMIT)
#define META_LABELS KF_STRMAP(struct objmeta, labels, "labels")

static const struct kfield meta_fields[] = { META_FIELDS };
static const struct kschema meta_schema = KSCHEMA("ObjectMeta", struct objmeta, meta_fields);
static const struct kfield labelled_fields[] = { META_FIELDS, META_LABELS };
static const struct kschema labelled_schema =
    KSCHEMA("ObjectMeta", struct objmeta, labelled_fields);
static const struct kfield annotated_fields[] = {
    META_FIELDS,
    META_LABELS,
    KF_STRMAP(struct objmeta, annotations, "annotations"),
};
static const struct kschema annotated_schema =
    KSCHEMA("ObjectMeta", struct objmeta, annotated_fields);

#define HEAD(stype, schema) \
    KF(stype, obj.meta, "metadata", KF_OBJ, .flags = KF_REQUIRED, .sub = &(schema))
#define KIND(g, v, k, p, s)                                                      \
    {                                                                            \
        .group = (g), .version = (v), .kind = (k), .plural = (p), .schema = &(s) \
    }

/* ---- metadata alone -------------------------------------------------------------------------- */

static const struct kfield namespace_fields[] = { KF(
    struct kobj, meta, "metadata", KF_OBJ, .flags = KF_REQUIRED, .sub = &labelled_schema) };
static const struct kschema cached_namespace_schema =
    KSCHEMA("Namespace", struct kobj, namespace_fields);
const struct kind cached_namespace =
    KIND("", "v1", "Namespace", "namespaces", cached_namespace_schema);
static const struct kfield pod_meta_fields[] = { KF(
    struct kobj, meta, "metadata", KF_OBJ, .flags = KF_REQUIRED, .sub = &annotated_schema) };
static const struct kschema cached_pod_meta_schema = KSCHEMA("Pod", struct kobj, pod_meta_fields);
const struct kind cached_pod_meta = {
    .group = "",
    .version = "v1",
    .kind = "Pod",
    .plural = "pods",
    .namespaced = true,
    .schema = &cached_pod_meta_schema,
};

/* ---- nodes ----------------------------------------------------------------------------------- */

static const struct kfield node_status_fields[] = {
    KF_RESLIST(struct node_status, capacity, "capacity"),
    KF_RESLIST(struct node_status, allocatable, "allocatable"),
    KF_LIST_OF(struct node_status, conditions, "conditions", KF_OBJ, OMIT,
               .sub = &condition_schema),
};
static const struct kschema node_status_schema =
    KSCHEMA("NodeStatus", struct node_status, node_status_fields);
static const struct kfield node_spec_fields[] = {
    KF(struct node_spec, unschedulable, "unschedulable", KF_BOOL, OMIT),
};
static const struct kschema node_spec_schema =
    KSCHEMA("NodeSpec", struct node_spec, node_spec_fields);
static const struct kfield node_fields[] = {
    HEAD(struct node, annotated_schema),
    KF(struct node, spec, "spec", KF_OBJ, OMIT, .sub = &node_spec_schema),
    KF(struct node, status, "status", KF_OBJ, OMIT, .sub = &node_status_schema),
};
static const struct kschema cached_node_schema = KSCHEMA("Node", struct node, node_fields);
const struct kind cached_node = KIND("", "v1", "Node", "nodes", cached_node_schema);

/* ---- NodeMetrics ----------------------------------------------------------------------------- */

static const struct kfield use_fields[] = {
    KF_RESLIST(struct resource_map, resources, "resources"),
};
static const struct kschema use_schema = KSCHEMA("ResourceMap", struct resource_map, use_fields);
#define USE(stype, member, json) KF(stype, member, json, KF_OBJ, OMIT, .sub = &use_schema)

static const struct kfield node_use_fields[] = {
    USE(struct node_metric_info, node_usage, "nodeUsage"),
    USE(struct node_metric_info, system_usage, "systemUsage"),
};
static const struct kschema node_use_schema =
    KSCHEMA("NodeMetricInfo", struct node_metric_info, node_use_fields);
static const struct kfield pod_use_fields[] = {
    KF(struct pod_metric_info, name, "name", KF_STR, OMIT),
    KF(struct pod_metric_info, ns, "namespace", KF_STR, OMIT_INTERN),
    KF(struct pod_metric_info, priority, "priority", KF_STR, OMIT_INTERN),
    USE(struct pod_metric_info, usage, "podUsage"),
};
static const struct kschema pod_use_schema =
    KSCHEMA("PodMetricInfo", struct pod_metric_info, pod_use_fields);
static const struct kfield app_use_fields[] = {
    KF(struct host_application_metric, name, "name", KF_STR, OMIT_INTERN),
    KF(struct host_application_metric, priority, "priority", KF_STR, OMIT_INTERN),
    USE(struct host_application_metric, usage, "usage"),
};
static const struct kschema app_use_schema =
    KSCHEMA("HostApplicationMetricInfo", struct host_application_metric, app_use_fields);
static const struct kfield prediction_fields[] = {
    USE(struct metric_prediction, resource, "resource"),
};
static const struct kschema prediction_schema =
    KSCHEMA("PredictedMetric", struct metric_prediction, prediction_fields);

static const struct kfield metric_status_fields[] = {
    KF(struct nodemetric_status, update_time, "updateTime", KF_TIME, OMIT),
    KF(struct nodemetric_status, node_metric, "nodeMetric", KF_OBJ, OMIT_PTR,
       .sub = &node_use_schema),
    KF_LIST_OF(struct nodemetric_status, pods_metric, "podsMetric", KF_OBJ, OMIT,
               .sub = &pod_use_schema),
    KF_LIST_OF(struct nodemetric_status, host_application_metric, "hostApplicationMetric", KF_OBJ,
               OMIT, .sub = &app_use_schema),
    KF(struct nodemetric_status, prod_reclaimable, "prodReclaimableMetric", KF_OBJ, OMIT_PTR,
       .sub = &prediction_schema),
};
static const struct kschema metric_status_schema =
    KSCHEMA("NodeMetricStatus", struct nodemetric_status, metric_status_fields);
static const struct kfield metric_fields[] = {
    HEAD(struct nodemetric, meta_schema),
    KF(struct nodemetric, collect_policy, "spec", KF_OBJ, OMIT, .sub = &nodemetric_spec_schema),
    KF(struct nodemetric, status, "status", KF_OBJ, OMIT, .sub = &metric_status_schema),
};
static const struct kschema cached_metric_schema =
    KSCHEMA("NodeMetric", struct nodemetric, metric_fields);
const struct kind cached_nodemetric =
    KIND("slo.koordinator.sh", "v1alpha1", "NodeMetric", "nodemetrics", cached_metric_schema);

bool nodemetric_status_equal(const struct nodemetric *a, const struct nodemetric *b)
{
    return a->status.update_time == b->status.update_time &&
           kj_struct_equal(&metric_status_schema, &a->status, &b->status);
}

/* ---- topologies ------------------------------------------------------------------------------ */

/* Lists of CPUs and of pods: kilobytes per node. */
static const char *const topology_dropped[] = {
    ANNO_CPU_TOPOLOGY,        ANNO_POD_CPU_ALLOCS,      ANNO_CPU_SHARED_POOLS,
    ANNO_BE_CPU_SHARED_POOLS, ANNO_KUBELET_CPU_MANAGER, NULL,
};
static const struct kmeta topology_annotations = { .drop_keys = topology_dropped };
static const struct kfield topology_meta_fields[] = {
    META_FIELDS,
    KF_MAP_OF(struct objmeta, annotations, "annotations", KF_STR, OMIT_INTERN,
              .meta = &topology_annotations),
};
static const struct kschema topology_meta_schema =
    KSCHEMA("ObjectMeta", struct objmeta, topology_meta_fields);
static const struct kfield topology_fields[] = {
    HEAD(struct noderesourcetopology, topology_meta_schema),
    KF_LIST_OF(struct noderesourcetopology, zones, "zones", KF_OBJ, OMIT, .sub = &nrt_zone_schema),
};
static const struct kschema cached_topology_schema =
    KSCHEMA("NodeResourceTopology", struct noderesourcetopology, topology_fields);
const struct kind cached_topology = KIND("topology.node.k8s.io", "v1alpha1", "NodeResourceTopology",
                                         "noderesourcetopologies", cached_topology_schema);

/* ---- devices --------------------------------------------------------------------------------- */

static const struct kfield device_info_fields[] = {
    KF(struct device_info, type, "type", KF_STR, OMIT_INTERN),
    KF(struct device_info, health, "health", KF_BOOL, OMIT),
    KF_RESLIST(struct device_info, resources, "resources"),
};
static const struct kschema cached_device_info_schema =
    KSCHEMA("DeviceInfo", struct device_info, device_info_fields);
struct device_spec { /* one member, which stands directly in struct device */
    device_infolist devices;
};
static const struct kfield device_spec_fields[] = {
    KF_LIST_OF(struct device_spec, devices, "devices", KF_OBJ, OMIT,
               .sub = &cached_device_info_schema),
};
static const struct kschema device_spec_schema =
    KSCHEMA("DeviceSpec", struct device_spec, device_spec_fields);
static const struct kfield device_fields[] = {
    HEAD(struct device, labelled_schema),
    KF(struct device, devices, "spec", KF_OBJ, OMIT, .sub = &device_spec_schema),
};
static const struct kschema cached_device_schema = KSCHEMA("Device", struct device, device_fields);
const struct kind cached_device =
    KIND("scheduling.koordinator.sh", "v1alpha1", "Device", "devices", cached_device_schema);

bool cached_device_equal(const struct device *a, const struct device *b)
{
    struct device_spec x = { a->devices }, y = { b->devices };
    return kj_struct_equal(&device_spec_schema, &x, &y);
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* Never decoded: the table is for the release of the interned strings. */
static const struct kfield pod_fields[] = {
    HEAD(struct cached_pod, meta_schema),
    KF(struct cached_pod, node_name, "nodeName", KF_STR, OMIT_INTERN),
};
static const struct kschema cached_pod_schema = KSCHEMA("Pod", struct cached_pod, pod_fields);
const struct kind cached_pod_kind = {
    .group = "",
    .version = "v1",
    .kind = "Pod",
    .plural = "pods",
    .namespaced = true,
    .schema = &cached_pod_schema,
};

struct kobj *cached_pod_reduce(struct kobj *obj)
{
    const struct pod *p = pod_of(obj);
    size_t size = sizeof(struct cached_pod) + reduced_head_room(&obj->meta);
    struct cached_pod *out = xcalloc(1, size);
    CLEANUP(arena_free) struct arena *a = arena_new();
    char *at = (char *)(out + 1);

    reduced_put_head(&out->obj, &cached_pod_kind, size, &obj->meta, &at);
    out->node_name = istr_ref(p->node_name);
    nr_pod_of(p, a, &out->pod);
    out->pod.name = out->obj.meta.name;
    out->pod.ns = out->obj.meta.ns;
    kobj_unref(obj);
    return &out->obj;
}

void cached_pod_index_node(const struct kobj *o, void (*emit)(void *to, const char *value),
                           void *to)
{
    const char *node = cached_pod_of(o)->node_name;
    if (*node)
        emit(to, node);
}

/* ---- pods that wait -------------------------------------------------------------------------- */

struct pending_spec { /* as in struct pending_pod */
    const char *node_name;
};
struct pending_status {
    const char *phase;
};
static const struct kfield pending_meta_fields[] = {
    META_FIELDS,
    META_LABELS,
    KF(struct objmeta, deleted, "deletionTimestamp", KF_TIME, OMIT),
};
static const struct kschema pending_meta_schema =
    KSCHEMA("ObjectMeta", struct objmeta, pending_meta_fields);
static const struct kfield pending_spec_fields[] = {
    KF(struct pending_spec, node_name, "nodeName", KF_STR, OMIT_INTERN),
};
static const struct kschema pending_spec_schema =
    KSCHEMA("PodSpec", struct pending_spec, pending_spec_fields);
static const struct kfield pending_status_fields[] = {
    KF(struct pending_status, phase, "phase", KF_STR, OMIT_INTERN),
};
static const struct kschema pending_status_schema =
    KSCHEMA("PodStatus", struct pending_status, pending_status_fields);
static const struct kfield pending_fields[] = {
    HEAD(struct pending_pod, pending_meta_schema),
    KF(struct pending_pod, spec, "spec", KF_OBJ, OMIT, .sub = &pending_spec_schema),
    KF(struct pending_pod, status, "status", KF_OBJ, OMIT, .sub = &pending_status_schema),
};
static const struct kschema pending_schema = KSCHEMA("Pod", struct pending_pod, pending_fields);
const struct kind cached_pending_pod = {
    .group = "",
    .version = "v1",
    .kind = "Pod",
    .plural = "pods",
    .namespaced = true,
    .schema = &pending_schema,
};
