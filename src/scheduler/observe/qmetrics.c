/* qmetrics.c - metrics of the queue: who comes and why, hints, news of the cluster. */
#include <stdio.h>

#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"
#include "scheduler/observe/times.h"

enum { NEWS_WATCHED = 10, RESOURCES = KS_RES_OTHER + 1, LABEL_MAX = 160 };

static const struct metric_desc incoming_desc = {
    "scheduler_queue_incoming_pods_total",
    "Number of pods that came to a queue, by the event that brought them.",
    METRIC_COUNTER,
    .labels = { "queue", "event" },
};
static const struct metric_desc in_flight_desc = {
    "scheduler_inflight_events",
    "Number of pods that were popped and whose attempt or binding goes on.",
    METRIC_GAUGE,
    .labels = { "event" },
};
static const struct metric_desc hints_desc = {
    "scheduler_queueing_hint_execution_duration_seconds",
    "Time for a queueing hint of a plugin.",
    METRIC_HISTOGRAM,
    .labels = { "plugin", "event", "hint" },
    .buckets = times_plugin_bounds,
    .nbuckets = TIMES_PLUGIN_BOUNDS,
};
#define TWICE_4(x) (x), (x)*2, (x)*4, (x)*8
static const double news_bounds[] = { TWICE_4(0.0001), TWICE_4(0.0016), TWICE_4(0.0256) };
static const struct metric_desc news_desc = {
    "scheduler_event_handling_duration_seconds",
    "Time for handling one event of the cluster.",
    METRIC_HISTOGRAM,
    .labels = { "event" },
    .buckets = news_bounds,
    .nbuckets = ARRAY_LEN(news_bounds),
};

/* ---- names of events ------------------------------------------------------------------------- */

static const char *const resource_names[KS_RES_OTHER] = {
    [KS_RES_POD] = "Pod",
    [KS_RES_ASSIGNED_POD] = "AssignedPod",
    [KS_RES_UNSCHEDULABLE_POD] = "UnschedulablePod",
    [KS_RES_NODE] = "Node",
    [KS_RES_PV] = "PersistentVolume",
    [KS_RES_PVC] = "PersistentVolumeClaim",
    [KS_RES_STORAGE_CLASS] = "storage.k8s.io/StorageClass",
    [KS_RES_CSI_NODE] = "storage.k8s.io/CSINode",
    [KS_RES_CSI_DRIVER] = "storage.k8s.io/CSIDriver",
    [KS_RES_CSI_CAPACITY] = "storage.k8s.io/CSIStorageCapacity",
    [KS_RES_VOLUME_ATTACHMENT] = "storage.k8s.io/VolumeAttachment",
    [KS_RES_RESOURCE_CLAIM] = "resource.k8s.io/ResourceClaim",
    [KS_RES_RESOURCE_SLICE] = "resource.k8s.io/ResourceSlice",
    [KS_RES_DEVICE_CLASS] = "resource.k8s.io/DeviceClass",
};
static const struct {
    uint32_t action;
    const char *name;
} actions[] = {
    { KS_ADD, "Add" },
    { KS_DELETE, "Delete" },
    { KS_UPDATE, "Update" },
    { KS_NODE_ALLOCATABLE, "UpdateNodeAllocatable" },
    { KS_NODE_LABEL, "UpdateNodeLabel" },
    { KS_NODE_TAINT, "UpdateNodeTaint" },
    { KS_NODE_CONDITION, "UpdateNodeCondition" },
    { KS_NODE_ANNOTATION, "UpdateNodeAnnotation" },
    { KS_NODE_FEATURE, "UpdateNodeDeclaredFeature" },
    { KS_POD_LABEL, "UpdatePodLabel" },
    { KS_POD_SCALE_DOWN, "UpdatePodScaleDown" },
    { KS_POD_TOLERATION, "UpdatePodToleration" },
    { KS_POD_GATES_GONE, "UpdatePodSchedulingGatesEliminated" },
    { KS_POD_CLAIM, "UpdatePodGeneratedResourceClaim" },
};

/* "NodeAdd", as upstream calls it; "nodemetrics.v1alpha1.slo.koordinator.shUpdate" for kinds that
 * it has no name for. */
static const char *event_name(enum ks_resource r, uint32_t action, const struct kind *k,
                              char buf[LABEL_MAX])
{
    size_t i = 0;

    while (i + 1 < ARRAY_LEN(actions) && actions[i].action != action)
        i++;
    if (r == KS_RES_OTHER)
        (void)snprintf(buf, LABEL_MAX, "%s.%s%s%s%s", k->plural, k->version, *k->group ? "." : "",
                       k->group, actions[i].name);
    else
        (void)snprintf(buf, LABEL_MAX, "%s%s", resource_names[r], actions[i].name);
    return buf;
}
#define EVENT_NAME(r, action, kind) event_name((r), (action), (kind), (char[LABEL_MAX]){ 0 })

/* ---- hints ----------------------------------------------------------------------------------- */

struct qmetrics {
    struct scheduler *s;
    struct hint_stopwatch hints;
    nsec_t hint_began;
    struct metric *hint_times, *news, *incoming, *in_flight;
    uint64_t seen[RESOURCES][3];
};

static void on_hint_began(struct hint_stopwatch *w)
{
    struct qmetrics *q = container_of(w, struct qmetrics, hints);
    q->hint_began = loop_stopwatch(q->s->loop);
}

static void on_hint_ended(struct hint_stopwatch *w, const struct profile *p, uint32_t slot,
                          const struct ks_event *e, bool worth)
{
    struct qmetrics *q = container_of(w, struct qmetrics, hints);
    nsec_t took = loop_stopwatch(q->s->loop) - q->hint_began;

    histogram_observe(
        metric_histogram(q->hint_times, METRIC_VALUES(p->slots[slot].plugin->name,
                                                      EVENT_NAME(e->resource, e->action, e->kind),
                                                      worth ? "Queue" : "QueueSkip")),
        nsec_seconds(took));
}

struct hint_stopwatch *qmetrics_hints(struct qmetrics *q)
{
    return q ? &q->hints : NULL;
}

/* ---- news ------------------------------------------------------------------------------------ */

nsec_t qmetrics_began(struct qmetrics *q, enum ks_resource r, uint32_t action)
{
    int kind = action == KS_ADD ? 0 : action == KS_DELETE ? 1 : 2;

    return q && q->seen[r][kind]++ % NEWS_WATCHED == 0 ? loop_stopwatch(q->s->loop) : 0;
}

void qmetrics_handled(struct qmetrics *q, nsec_t began, enum ks_resource r, uint32_t action,
                      const struct kind *k)
{
    if (began)
        histogram_observe(metric_histogram(q->news, METRIC_VALUES(EVENT_NAME(r, action, k))),
                          nsec_seconds(loop_stopwatch(q->s->loop) - began));
}

/* ---- who comes and why ----------------------------------------------------------------------- */

static const struct {
    enum podqueue_place place;
    const char *queue;
} places[] = {
    { PODQUEUE_READY, "active" },          { PODQUEUE_BACKOFF, "backoff" },
    { PODQUEUE_BACKOFF_ERROR, "backoff" }, { PODQUEUE_UNSCHEDULABLE, "unschedulable" },
    { PODQUEUE_GATED, "unschedulable" },
};

/* Two of our places may be one queue of upstream's. */
static uint64_t sum(const struct qmetrics *q, const char *queue, enum podqueue_cause cause,
                    const struct ks_event *e)
{
    uint64_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (streq(places[i].queue, queue))
            n += podqueue_incoming(q->s->queue, places[i].place, cause, e);
    return n;
}

static void show(struct qmetrics *q, const char *queue, enum podqueue_cause cause,
                 const struct ks_event *e, const char *name)
{
    uint64_t n = sum(q, queue, cause, e);
    if (n)
        metric_counter(q->incoming, METRIC_VALUES(queue, name))->v = (double)n;
}

/* One of each action. */
static void show_events(struct qmetrics *q, const char *queue, enum ks_resource r,
                        const struct kind *k)
{
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        const struct ks_event e = { r, actions[i].action, NULL, NULL, k };
        show(q, queue, PODQUEUE_BY_EVENT, &e, EVENT_NAME(r, e.action, k));
    }
}

static void show_queue(struct qmetrics *q, const char *queue)
{
    const struct kind *k;

    show(q, queue, PODQUEUE_BY_FAILURE, NULL, "ScheduleAttemptFailure");
    show(q, queue, PODQUEUE_BY_BACKOFF_END, NULL, "BackoffComplete");
    show(q, queue, PODQUEUE_BY_POP, NULL, "PopFromBackoffQ");
    show(q, queue, PODQUEUE_BY_FORCE, NULL, "ForceActivate");
    show(q, queue, PODQUEUE_BY_TIMEOUT, NULL, "UnschedulableTimeout");
    show(q, queue, PODQUEUE_BY_KEY, NULL, "PluginWake");
    for (int r = 0; r < KS_RES_OTHER; r++)
        show_events(q, queue, (enum ks_resource)r, NULL);
    for (unsigned i = 0; (k = podqueue_kind(q->s->queue, i)); i++)
        show_events(q, queue, KS_RES_OTHER, k);
}

void qmetrics_settle(struct qmetrics *q)
{
    if (!q)
        return;
    show_queue(q, "active");
    show_queue(q, "backoff");
    show_queue(q, "unschedulable");
    gauge_set(metric_gauge(q->in_flight, METRIC_VALUES("PodPopped")),
              (double)podqueue_count(q->s->queue, PODQUEUE_IN_FLIGHT));
}

/* ---- life ------------------------------------------------------------------------------------ */

struct qmetrics *qmetrics_new(struct scheduler *s)
{
    if (!s->registry)
        return NULL;
    struct qmetrics *q = xnew0(struct qmetrics);
    q->s = s;
    q->hints = (struct hint_stopwatch){ on_hint_began, on_hint_ended };
    q->hint_times = metrics_add(s->registry, &hints_desc);
    q->news = metrics_add(s->registry, &news_desc);
    q->incoming = metrics_add(s->registry, &incoming_desc);
    q->in_flight = metrics_add(s->registry, &in_flight_desc);
    return q;
}

struct qmetrics *qmetrics_free(struct qmetrics *q)
{
    free(q);
    return NULL;
}
