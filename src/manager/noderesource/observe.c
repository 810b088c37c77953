/* observe.c - metrics of the noderesource controller. */
#include "manager/noderesource/observe.h"

#include "client/informer.h"
#include "component/metrics.h"
#include "manager/noderesource/plugin.h"

static const struct metric_desc reconcile_desc = {
    "slo_controller_node_resource_reconcile_count",
    "Nodes looked at, and writes that failed, by outcome.", METRIC_COUNTER,
    .labels = { "status", "reason" }
};
static const struct metric_desc plugin_desc = { "slo_controller_node_resource_run_plugin_status",
                                                "Runs of the plugins, by stage.", METRIC_COUNTER,
                                                .labels = { "plugin", "status", "reason" } };
static const struct metric_desc allocatable_desc = {
    "slo_controller_node_extended_resource_allocatable_internal",
    "Allocatable batch and mid resources of the nodes.", METRIC_GAUGE,
    .labels = { "node", "resource", "unit" }
};

enum stage { STAGE_CALCULATE, STAGE_RESET, STAGE_PREPARE, STAGES };
static const char *const stages[STAGES] = { "ResourceCalculate", "ResourceReset", "NodePrepare" };

struct nr_observer {
    struct metric *reconcile, *allocatable;
    struct counter *succeeded;
    struct counter *plugins[NR_PLUGINS][STAGES][2]; /* failed, succeeded */
    struct informer *nodes;
};

/* Told when they are asked for: four per node need not be kept. */
static void put_nodes(void *arg, metric_put_fn put, void *out)
{
    static const struct {
        enum nr_resource name;
        const char *unit;
        double scale; /* upstream shows cores of batch-cpu, and mid-cpu as it is */
    } shown[] = { { NR_BATCH_CPU, "integer", 0.001 },
                  { NR_BATCH_MEMORY, "byte", 1 },
                  { NR_MID_CPU, "integer", 1 },
                  { NR_MID_MEMORY, "byte", 1 } };
    const struct nr_observer *o = arg;
    size_t it = 0;
    struct kobj *obj;

    while ((obj = informer_next(o->nodes, &it)))
        for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
            const char *name = nr_resource_names[shown[i].name];
            const struct qty *q = reslist_find(&node_of(obj)->status.allocatable, name);
            if (q)
                put(out, METRIC_VALUES(obj->meta.name, name, shown[i].unit),
                    (double)qty_value(*q) * shown[i].scale);
        }
}

struct nr_observer *nr_observer_new(struct metrics *m, struct informer *nodes)
{
    static const char *const status[] = { "failed", "succeeded" };
    struct nr_observer *o = xnew0(struct nr_observer);
    struct metric *runs = metrics_add(m, &plugin_desc);

    o->nodes = nodes;
    o->reconcile = metrics_add(m, &reconcile_desc);
    o->succeeded = metric_counter(o->reconcile, METRIC_VALUES("succeeded", ""));
    o->allocatable = metrics_add(m, &allocatable_desc);
    metric_set_rows(o->allocatable, put_nodes, o);
    for (size_t p = 0; p < NR_PLUGINS; p++)
        for (size_t s = 0; s < STAGES; s++)
            for (size_t ok = 0; ok < 2; ok++)
                o->plugins[p][s][ok] =
                    metric_counter(runs, METRIC_VALUES(nr_plugins[p]->name, status[ok], stages[s]));
    return o;
}

struct nr_observer *nr_observer_free(struct nr_observer *o)
{
    if (!o)
        return NULL;
    metric_set_rows(o->allocatable, NULL, NULL);
    free(o);
    return NULL;
}

void nr_observe_result(struct nr_observer *o, const struct nr_input *in, const struct nr_result *r,
                       const struct nr_plan *p)
{
    counter_inc(o->succeeded);
    for (size_t i = 0; i < NR_PLUGINS; i++) {
        if (!(in->plugins >> i & 1))
            continue;
        enum stage s = r->outcome[i].reset ? STAGE_RESET : STAGE_CALCULATE;
        counter_inc(o->plugins[i][s][r->outcome[i].err.code == 0]);
        counter_inc(o->plugins[i][STAGE_PREPARE][p->bad[i].code == 0]);
    }
}

void nr_observe_failure(struct nr_observer *o, const char *reason)
{
    counter_inc(metric_counter(o->reconcile, METRIC_VALUES("failed", reason)));
}
