/* pod_gauges.c - container_resource_requests and container_resource_limits (koordlet-metrics 5.4).
 *
 * Only for pods that came, changed or went: a pod that is the same struct in both sets is left
 * alone.
 */
#include "api/protocol/keys.h"
#include "component/metrics.h"
#include "koordlet/states/states_int.h"

enum { SERIES_MAX = 16000 };
#define LABELS                                                                              \
    {                                                                                       \
        "node", "resource", "unit", "pod_uid", "pod_name", "pod_namespace", "container_id", \
            "container_name"                                                                \
    }
static const struct metric_desc requests_desc = {
    .name = "koordlet_container_resource_requests",
    .help = "Requests of containers for batch and mid resources.",
    .type = METRIC_GAUGE,
    .labels = LABELS,
    .max_children = SERIES_MAX,
};
static const struct metric_desc limits_desc = {
    .name = "koordlet_container_resource_limits",
    .help = "Limits of containers for batch and mid resources.",
    .type = METRIC_GAUGE,
    .labels = LABELS,
    .max_children = SERIES_MAX,
};
static const char *const names[] = { RES_BATCH_CPU, RES_BATCH_MEMORY, RES_MID_CPU, RES_MID_MEMORY };

void pod_gauges_init(struct states *s)
{
    if (!s->env.external)
        return;
    s->pods.requests = metrics_add(s->env.external, &requests_desc);
    s->pods.limits = metrics_add(s->env.external, &limits_desc);
}

static const struct npod_container *container_of_name(const struct npod *p, const char *name)
{
    for (uint32_t i = 0; i < p->ncontainers; i++)
        if (streq(p->containers[i].name, name))
            return &p->containers[i];
    return NULL;
}

static bool list_counts(const reslist *l)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (reslist_has(l, names[i]))
            return true;
    return false;
}

static bool pod_counts(const struct npod *p)
{
    const containerlist *list = &npod_pod(p)->spec->containers;

    for (uint32_t i = 0; i < list->n; i++)
        if (list_counts(&list->items[i].resources.requests) ||
            list_counts(&list->items[i].resources.limits))
            return true;
    return false;
}

static void list_show(struct states *s, struct metric *f, const char *unit, const struct npod *p,
                      const struct npod_container *c, const reslist *l)
{
    const struct objmeta *meta = &p->obj->meta;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct qty *q = reslist_find(l, names[i]);
        if (q)
            gauge_set(metric_gauge(f, METRIC_VALUES(s->o.node_name, names[i], unit, p->uid,
                                                    meta->name, meta->ns, c->id, c->name)),
                      (double)qty_value(*q));
    }
}

static void pod_show(struct states *s, const struct npod *p)
{
    const containerlist *list = &npod_pod(p)->spec->containers;

    for (uint32_t i = 0; i < list->n; i++) {
        const struct npod_container *c = container_of_name(p, list->items[i].name);
        if (!c)
            continue;
        /* The units are upstream's, for all four resources. */
        list_show(s, s->pods.requests, "integer", p, c, &list->items[i].resources.requests);
        list_show(s, s->pods.limits, "byte", p, c, &list->items[i].resources.limits);
    }
}

static void pod_hide(struct states *s, const struct npod *p)
{
    metric_remove_where(s->pods.requests, "pod_uid", p->uid);
    metric_remove_where(s->pods.limits, "pod_uid", p->uid);
}

void pod_gauges_update(struct states *s, const struct podset *old, const struct podset *now)
{
    if (!s->pods.requests)
        return;
    for (uint32_t i = 0; old && i < old->n; i++)
        if (podset_find(now, old->pods[i]->uid) != old->pods[i] && pod_counts(old->pods[i]))
            pod_hide(s, old->pods[i]);
    for (uint32_t i = 0; i < now->n; i++)
        if (podset_find(old, now->pods[i]->uid) != now->pods[i] && pod_counts(now->pods[i]))
            pod_show(s, now->pods[i]);
}
