/* nodemetric_text.c - a status as JSON. Not by the table, which leaves out empty objects: here {}
 * says that there were no samples. */
#include "base/ktime.h"
#include "koordlet/report/nodemetric.h"
#include "koordlet/report/object.h"
#include "json/kj.h"

static void write_resources(struct kjw *w, const reslist *l)
{
    char text[QTY_TEXT_MAX];

    if (l->n == 0)
        return;
    kjw_obj(w, "resources");
    for (uint32_t i = 0; i < l->n; i++)
        kjw_strn(w, l->items[i].name, text, qty_print(l->items[i].value, text));
    kjw_end(w);
}

static void write_map(struct kjw *w, const char *key, const struct resource_map *m)
{
    kjw_obj(w, key);
    write_resources(w, &m->resources);
    if (m->devices.n > 0)
        object_write_devices(w, &m->devices);
    kjw_end(w);
}

static void write_aggregated(struct kjw *w, const char *key, const aggregated_usagelist *l)
{
    char text[KTIME_TEXT_MAX];

    if (l->n == 0)
        return;
    kjw_arr(w, key);
    for (uint32_t i = 0; i < l->n; i++) {
        const struct aggregated_usage *u = &l->items[i];
        kjw_obj(w, NULL);
        kjw_obj(w, "usage");
        for (uint32_t k = 0; k < u->usage.n; k++)
            write_map(w, u->usage.items[k].type, &u->usage.items[k].usage);
        kjw_end(w);
        kjw_strn(w, "duration", text, kdur_format(u->duration_ns, text));
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_node(struct kjw *w, const struct node_metric_info *m)
{
    kjw_obj(w, "nodeMetric");
    write_map(w, "nodeUsage", &m->node_usage);
    write_aggregated(w, "aggregatedNodeUsages", &m->aggregated_node_usages);
    write_map(w, "systemUsage", &m->system_usage);
    write_aggregated(w, "aggregatedSystemUsages", &m->aggregated_system_usages);
    if (m->numa_usages.n) {
        kjw_arr(w, "numaUsages");
        for (uint32_t i = 0; i < m->numa_usages.n; i++) {
            const struct numa_usage *u = &m->numa_usages.items[i];
            kjw_obj(w, NULL);
            kjw_i64(w, "numaNodeID", u->numa_node_id);
            write_map(w, "nodeUsage", &u->node_usage);
            write_map(w, "systemUsage", &u->system_usage);
            kjw_end(w);
        }
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_class(struct kjw *w, const char *priority, const char *qos)
{
    if (!str_empty(priority))
        kjw_str(w, "priority", priority);
    if (!str_empty(qos))
        kjw_str(w, "qos", qos);
}

static void write_pods(struct kjw *w, const struct nodemetric_status *s)
{
    if (s->pods_metric.n == 0)
        return;
    kjw_arr(w, "podsMetric");
    for (uint32_t i = 0; i < s->pods_metric.n; i++) {
        const struct pod_metric_info *p = &s->pods_metric.items[i];
        kjw_obj(w, NULL);
        kjw_str(w, "name", p->name);
        kjw_str(w, "namespace", p->ns);
        write_map(w, "podUsage", &p->usage);
        write_class(w, p->priority, p->qos);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_host_apps(struct kjw *w, const struct nodemetric_status *s)
{
    if (s->host_application_metric.n == 0)
        return;
    kjw_arr(w, "hostApplicationMetric");
    for (uint32_t i = 0; i < s->host_application_metric.n; i++) {
        const struct host_application_metric *m = &s->host_application_metric.items[i];
        kjw_obj(w, NULL);
        kjw_str(w, "name", m->name);
        write_map(w, "usage", &m->usage);
        write_class(w, m->priority, m->qos);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_prediction(struct kjw *w, const char *key, const struct metric_prediction *p)
{
    if (!p)
        return;
    kjw_obj(w, key);
    write_map(w, "resource", &p->resource);
    kjw_end(w);
}

void nodemetric_write(const struct nodemetric_status *s, struct kjw *w, const char *key)
{
    char text[KTIME_TEXT_MAX];

    kjw_obj(w, key);
    kjw_strn(w, "updateTime", text, ktime_format(s->update_time, text));
    if (s->node_metric)
        write_node(w, s->node_metric);
    write_pods(w, s);
    write_host_apps(w, s);
    write_prediction(w, "prodReclaimableMetric", s->prod_reclaimable);
    write_prediction(w, "prodPeakMetric", s->prod_peak);
    kjw_end(w);
}
