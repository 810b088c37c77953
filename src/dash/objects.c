/* objects.c - tables of what is decoded, and the reduction of pods and NodeMetrics. */
#include "dash/objects.h"

#include "api/koord/nodemetric.h"
#include "api/node.h"
#include "api/podresources.h"
#include "api/protocol/pod_protocol.h"
#include "api/reduced.h"
#include "base/intern.h"
#include "base/map.h"
#include "dash/amount.h"

#define OMIT        .flags = KF_OMITEMPTY
#define OMIT_INTERN .flags = KF_OMITEMPTY | KF_INTERN

/* ---- metadata -------------------------------------------------------------------------------- */

static const struct kfield meta_fields[] = {
    KF(struct objmeta, name, "name", KF_STR, OMIT),
    KF(struct objmeta, ns, "namespace", KF_STR, OMIT_INTERN),
    KF(struct objmeta, uid, "uid", KF_UID, OMIT),
    KF(struct objmeta, resource_version, "resourceVersion", KF_STR, OMIT),
    KF(struct objmeta, created, "creationTimestamp", KF_TIME, OMIT),
};
static const struct kschema meta_schema = KSCHEMA("ObjectMeta", struct objmeta, meta_fields);
#define HEAD(stype) \
    KF(stype, obj.meta, "metadata", KF_OBJ, .flags = KF_REQUIRED, .sub = &meta_schema)

/* The head of a reduced object: its texts lie behind the struct, from *at on. */
static void put_head(struct kobj *out, const struct kind *k, size_t size, const struct objmeta *m,
                     char **at)
{
    reduced_put_head(out, k, size, m, at);
    out->meta.created = m->created;
    out->meta.deleted = m->deleted;
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* Never decoded: the table is for the release of the interned strings. */
static const struct kfield pod_fields[] = {
    HEAD(struct dash_pod),
    KF(struct dash_pod, node, "nodeName", KF_STR, OMIT_INTERN),
};
static const struct kschema pod_schema_reduced = KSCHEMA("Pod", struct dash_pod, pod_fields);
static const struct kind dash_pod_kind = {
    .version = "v1",
    .group = "",
    .kind = "Pod",
    .plural = "pods",
    .namespaced = true,
    .schema = &pod_schema_reduced,
};

/* Why a pod has no node: what the scheduler wrote, or that nobody has looked at it. */
static void waits_for(const struct pod *p, const char **ret_reason, const char **ret_text)
{
    const struct condition *c = condition_find(&p->status.conditions, "PodScheduled");

    *ret_reason = *ret_text = "";
    if (*p->node_name || pod_is_terminal(p))
        return;
    if (c && c->status == COND_FALSE) {
        *ret_reason = str_or(c->reason, "");
        *ret_text = str_or(c->message, "");
    } else if (p->spec->scheduling_gates.n) {
        *ret_reason = "SchedulingGated";
    } else {
        *ret_reason = "NotYetTried";
    }
}

struct kobj *dash_pod_reduce(struct kobj *obj)
{
    const struct pod *p = pod_of(obj);
    CLEANUP(arena_free) struct arena *a = arena_new();
    const reslist requests = pod_requests(p, NULL, a);
    const char *reason, *text;

    waits_for(p, &reason, &text);
    size_t text_len = strnlen(text, POD_MESSAGE_MAX);
    size_t size =
        sizeof(struct dash_pod) + reduced_head_room(&obj->meta) + strlen(reason) + text_len + 2;
    struct dash_pod *out = xcalloc(1, size);
    char *at = (char *)(out + 1);
    put_head(&out->obj, &dash_pod_kind, size, &obj->meta, &at);
    out->reason = reduced_put_text(&at, reason, strlen(reason));
    out->text = reduced_put_text(&at, text, text_len);
    out->node = istr_ref(p->node_name);
    out->requested = amount_of(&requests, "cpu", "memory");
    out->batch_requested = amount_of(&requests, RES_BATCH_CPU, RES_BATCH_MEMORY);
    out->priority_value = pod_priority(p);
    out->phase = p->status.phase;
    out->qos = (uint8_t)pod_qos_class(p);
    out->priority = (uint8_t)pod_priority_class(p);
    kobj_unref(obj);
    return &out->obj;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const struct kfield node_spec_fields[] = {
    KF(struct node_spec, unschedulable, "unschedulable", KF_BOOL, OMIT),
};
static const struct kschema node_spec_schema =
    KSCHEMA("NodeSpec", struct node_spec, node_spec_fields);
static const struct kfield node_status_fields[] = {
    KF_RESLIST(struct node_status, capacity, "capacity"),
    KF_RESLIST(struct node_status, allocatable, "allocatable"),
    KF_LIST_OF(struct node_status, conditions, "conditions", KF_OBJ, OMIT,
               .sub = &condition_schema),
};
static const struct kschema node_status_schema =
    KSCHEMA("NodeStatus", struct node_status, node_status_fields);
static const struct kfield node_fields[] = {
    HEAD(struct node),
    KF(struct node, spec, "spec", KF_OBJ, OMIT, .sub = &node_spec_schema),
    KF(struct node, status, "status", KF_OBJ, OMIT, .sub = &node_status_schema),
};
static const struct kschema dash_node_schema = KSCHEMA("Node", struct node, node_fields);
const struct kind dash_node_kind = {
    .group = "",
    .version = "v1",
    .kind = "Node",
    .plural = "nodes",
    .schema = &dash_node_schema,
};

/* ---- NodeMetrics ----------------------------------------------------------------------------- */

static const struct kfield use_fields[] = {
    KF_RESLIST(struct resource_map, resources, "resources"),
};
static const struct kschema use_schema = KSCHEMA("ResourceMap", struct resource_map, use_fields);
#define USE(stype, member, json) KF(stype, member, json, KF_OBJ, OMIT, .sub = &use_schema)

static const struct kfield node_use_fields[] = {
    USE(struct node_metric_info, node_usage, "nodeUsage"),
};
static const struct kschema node_use_schema =
    KSCHEMA("NodeMetricInfo", struct node_metric_info, node_use_fields);
static const struct kfield pod_use_fields[] = {
    KF(struct pod_metric_info, name, "name", KF_STR, OMIT),
    KF(struct pod_metric_info, ns, "namespace", KF_STR, OMIT_INTERN),
    KF(struct pod_metric_info, priority, "priority", KF_STR, OMIT_INTERN),
    KF(struct pod_metric_info, qos, "qos", KF_STR, OMIT_INTERN),
    USE(struct pod_metric_info, usage, "podUsage"),
};
static const struct kschema pod_use_schema =
    KSCHEMA("PodMetricInfo", struct pod_metric_info, pod_use_fields);
static const struct kfield metric_status_fields[] = {
    KF(struct nodemetric_status, update_time, "updateTime", KF_TIME, OMIT),
    KF(struct nodemetric_status, node_metric, "nodeMetric", KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR,
       .sub = &node_use_schema),
    KF_LIST_OF(struct nodemetric_status, pods_metric, "podsMetric", KF_OBJ, OMIT,
               .sub = &pod_use_schema),
};
static const struct kschema metric_status_schema =
    KSCHEMA("NodeMetricStatus", struct nodemetric_status, metric_status_fields);
static const struct kfield metric_source_fields[] = {
    HEAD(struct nodemetric),
    KF(struct nodemetric, status, "status", KF_OBJ, OMIT, .sub = &metric_status_schema),
};
static const struct kschema metric_source_schema =
    KSCHEMA("NodeMetric", struct nodemetric, metric_source_fields);
#define METRIC_KIND(s)                                                              \
    {                                                                               \
        .group = "slo.koordinator.sh", .version = "v1alpha1", .kind = "NodeMetric", \
        .plural = "nodemetrics", .schema = &(s)                                     \
    }
const struct kind dash_metric_source = METRIC_KIND(metric_source_schema);

static const struct kfield metric_fields[] = { HEAD(struct dash_metric) };
static const struct kschema metric_schema =
    KSCHEMA("NodeMetric", struct dash_metric, metric_fields);
static const struct kind dash_metric_kind = METRIC_KIND(metric_schema);

static uint64_t metric_key(const char *ns, const char *name)
{
    return hash_bytes(ns, strlen(ns)) * 31 + hash_bytes(name, strlen(name));
}

static enum dash_user dash_user_of(enum priority_class c, enum qos_class q)
{
    switch (c) {
    case PRIO_MID: return DASH_MID;
    case PRIO_BATCH:
    case PRIO_FREE: return DASH_BATCH;
    case PRIO_NONE: return q == QOS_BE ? DASH_BATCH : DASH_PROD;
    case PRIO_PROD: break;
    }
    return DASH_PROD;
}

static struct dash_amount use_of(const struct resource_map *u)
{
    return amount_of(&u->resources, "cpu", "memory");
}

static int by_key(const void *a, const void *b)
{
    const struct dash_pod_metric *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

struct kobj *dash_metric_reduce(struct kobj *obj)
{
    const struct nodemetric *m = nodemetric_of(obj);
    uint32_t n = m->status.pods_metric.n;
    size_t fixed = sizeof(struct dash_metric) + n * sizeof(struct dash_pod_metric);
    size_t size = fixed + reduced_head_room(&obj->meta);
    struct dash_metric *out = xcalloc(1, size);
    char *at = (char *)out + fixed;
    struct dash_amount pods = { 0, 0 };

    put_head(&out->obj, &dash_metric_kind, size, &obj->meta, &at);
    out->npods = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct pod_metric_info *p = &m->status.pods_metric.items[i];
        enum qos_class q = qos_class_parse(p->qos);
        struct dash_amount used = use_of(&p->usage);
        out->pods[i] = (struct dash_pod_metric){ metric_key(p->ns, p->name), used };
        amount_add(&out->by_user[dash_user_of(priority_class_parse(p->priority), q)], used);
        amount_add(&out->by_qos[q], used);
        amount_add(&pods, used);
    }
    if (n)
        qsort(out->pods, n, sizeof *out->pods, by_key);
    if (m->status.node_metric) {
        out->reported = m->status.update_time;
        out->used = use_of(&m->status.node_metric->node_usage);
    }
    out->by_user[DASH_SYSTEM] = amount_beyond(out->used, pods);
    kobj_unref(obj);
    return &out->obj;
}

const struct dash_pod_metric *metric_find(const struct dash_metric *m, const char *ns,
                                          const char *name)
{
    struct dash_pod_metric key = { .key = metric_key(ns, name) };
    return m->npods ? bsearch(&key, m->pods, m->npods, sizeof key, by_key) : NULL;
}
