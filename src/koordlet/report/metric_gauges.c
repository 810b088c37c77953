/* metric_gauges.c - gauges of NodeMetric. */
#include "koordlet/report/metric_gauges.h"

#include <stdio.h>

#include "component/metrics.h"

#define UNIT_CORE "core"
#define UNIT_BYTE "byte"
#define GAUGE(var, metric, text, ...)                                               \
    static const struct metric_desc var = { "koordlet_" metric, text, METRIC_GAUGE, \
                                            .labels = { __VA_ARGS__ } }

GAUGE(node_desc, "node_metric_node_usage", "Use of the node, as reported in NodeMetric.", "node",
      "resource", "unit");
GAUGE(system_desc, "node_metric_system_usage", "Use outside of pods, as reported in NodeMetric.",
      "node", "resource", "unit");
GAUGE(numa_node_desc, "node_metric_numa_node_usage",
      "Use of a NUMA node, as reported in NodeMetric.", "node", "numa_node_id", "resource", "unit");
GAUGE(numa_system_desc, "node_metric_numa_system_usage",
      "Use of a NUMA node outside of pods, as reported in NodeMetric.", "node", "numa_node_id",
      "resource", "unit");
GAUGE(reclaimable_desc, "node_priority_resource_reclaimable",
      "What pods of a priority class are predicted not to need.", "node", "priority", "resource",
      "unit");
GAUGE(status_desc, "node_resource_priority_reclaimable_status",
      "Whether the prediction for a priority class failed: 0 or 1.", "node", "priority");
GAUGE(predicted_desc, "node_predicted_resource_reclaimable", "What can be reclaimed, by predictor.",
      "node", "predictor", "resource", "unit");
GAUGE(peak_desc, "node_predicted_resource_peak", "The peak of production pods, by predictor.",
      "node", "predictor", "resource", "unit");

void metric_gauges_init(struct metric_gauges *m, struct metrics *internal, struct metrics *external,
                        bool usages)
{
    *m = (struct metric_gauges){ 0 };
    if (usages) {
        m->node = metrics_add(internal, &node_desc);
        m->system = metrics_add(internal, &system_desc);
        m->numa_node = metrics_add(internal, &numa_node_desc);
        m->numa_system = metrics_add(internal, &numa_system_desc);
    }
    m->predicted_reclaimable = metrics_add(internal, &predicted_desc);
    m->predicted_peak = metrics_add(internal, &peak_desc);
    m->reclaimable = metrics_add(external, &reclaimable_desc);
    m->reclaimable_status = metrics_add(external, &status_desc);
}

/* ---- usages ---------------------------------------------------------------------------------- */

static void set_usage(struct metric *f, const char *node, const char *numa,
                      const struct resource_map *u)
{
    static const struct {
        const char *resource, *unit;
        double per_unit;
    } shown[] = { { "cpu", UNIT_CORE, 1000 }, { "memory", UNIT_BYTE, 1 } };

    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        const struct qty *q = reslist_find(&u->resources, shown[i].resource);
        if (!q)
            continue;
        const char *const one[] = { node, shown[i].resource, shown[i].unit };
        const char *const of_numa[] = { node, numa, shown[i].resource, shown[i].unit };
        gauge_set(metric_gauge(f, numa ? of_numa : one),
                  (double)resource_count(shown[i].resource, *q) / shown[i].per_unit);
    }
}

static void set_usages(struct metric_gauges *m, const char *node,
                       const struct node_metric_info *info)
{
    metric_clear(m->node);
    metric_clear(m->system);
    metric_clear(m->numa_node);
    metric_clear(m->numa_system);
    set_usage(m->node, node, NULL, &info->node_usage);
    set_usage(m->system, node, NULL, &info->system_usage);
    for (uint32_t i = 0; i < info->numa_usages.n; i++) {
        const struct numa_usage *u = &info->numa_usages.items[i];
        char id[16];
        (void)snprintf(id, sizeof id, "%d", u->numa_node_id);
        set_usage(m->numa_node, node, id, &u->node_usage);
        set_usage(m->numa_system, node, id, &u->system_usage);
    }
}

/* ---- predictions ----------------------------------------------------------------------------- */

static void set_amounts(struct metric *f, const char *node, const char *who, struct amounts a)
{
    gauge_set(metric_gauge(f, METRIC_VALUES(node, who, "cpu", UNIT_CORE)), (double)a.cpu / 1000);
    gauge_set(metric_gauge(f, METRIC_VALUES(node, who, "memory", UNIT_BYTE)), (double)a.memory);
}

static void set_views(struct metric *f, const char *node, bool known, const struct reclaim_views *v)
{
    metric_clear(f);
    if (!known)
        return;
    set_amounts(f, node, "podReclaimablePredictor", v->by_pod);
    set_amounts(f, node, "priorityReclaimablePredictor", v->by_class);
    set_amounts(f, node, "minPredictor", v->answer);
}

static void set_predictions(struct metric_gauges *m, const char *node,
                            const struct nodemetric_predicted *p)
{
    const char *prod = priority_class_name(PRIO_PROD);

    set_views(m->predicted_reclaimable, node, p->has_reclaimable, &p->reclaimable);
    set_views(m->predicted_peak, node, p->has_peak, &p->peak);
    gauge_set(metric_gauge(m->reclaimable_status, METRIC_VALUES(node, prod)),
              p->has_reclaimable ? 0 : 1);
    set_amounts(m->reclaimable, node, prod,
                p->has_reclaimable ? p->reclaimable.answer : (struct amounts){ 0 });
}

void metric_gauges_set(struct metric_gauges *m, const char *node, const struct nodemetric_status *s,
                       const struct nodemetric_predicted *p)
{
    if (m->node && s->node_metric)
        set_usages(m, node, s->node_metric);
    if (p)
        set_predictions(m, node, p);
}
