/* observe.c - how long each step took, and how it ended (manager 1.2). */
#include "component/metrics.h"
#include "manager/webhook/webhook_int.h"

enum { STEPS_MAX = 8, OPS = 4 };

struct webhook_observer {
    struct metric *duration, *errors, *bindings, *weights;
    /* By webhook, step, operation and outcome: looked up once. */
    struct histogram *children[WEBHOOK_COUNT][STEPS_MAX][OPS][2];
};

/* 0.001 * 2^i */
static const double bounds[] = { 0.001,  0.002,  0.004,  0.008,   0.016,   0.032,  0.064,
                                 0.128,  0.256,  0.512,  1.024,   2.048,   4.096,  8.192,
                                 16.384, 32.768, 65.536, 131.072, 262.144, 524.288 };
static const struct metric_desc duration_desc = {
    "koord_manager_webhook_webhook_duration_milliseconds",
    "How long a step of a webhook took.",
    METRIC_HISTOGRAM,
    .labels = { "webhook_type", "object_type", "operation", "plugin_name", "status" },
    .buckets = bounds,
    .nbuckets = ARRAY_LEN(bounds),
};

/* The status of the former has two words, as upstream's, and does not tell what must be refused
 * from what went wrong. */
static const struct metric_desc errors_desc = {
    "koord_manager_webhook_errors_total",
    "Steps of webhooks that failed with code 500: the request was not at fault.",
    METRIC_COUNTER,
    .labels = { "webhook_type", "object_type", "plugin_name" },
};

static const struct metric_desc bindings_desc = {
    "koord_manager_webhook_binding_admission_decisions_total",
    "Bindings that were looked at, by what was decided.",
    METRIC_COUNTER,
    .labels = { "decision" },
};

static const struct metric_desc weights_desc = {
    "koord_manager_webhook_quota_shared_weight",
    "Weights that were given to new quotas without one: cpu in milli, everything else in units.",
    METRIC_GAUGE,
    .labels = { "elasticquota_name", "resource_name" },
};

struct webhook_observer *webhook_observer_new(struct metrics *m)
{
    struct webhook_observer *o;

    if (!m)
        return NULL;
    o = xnew0(struct webhook_observer);
    o->duration = metrics_add(m, &duration_desc);
    o->errors = metrics_add(m, &errors_desc);
    o->bindings = metrics_add(m, &bindings_desc);
    o->weights = metrics_add(m, &weights_desc);
    return o;
}

struct webhook_observer *webhook_observer_free(struct webhook_observer *o)
{
    free(o);
    return NULL;
}

void webhook_observe_binding(struct webhook_observer *o, int decision)
{
    if (o && binding_decisions[decision])
        counter_inc(metric_counter(o->bindings, METRIC_VALUES(binding_decisions[decision])));
}

void webhook_observe_weight(struct webhook_observer *o, const char *quota, const reslist *weight)
{
    for (uint32_t i = 0; o && i < weight->n; i++) {
        const struct resqty *w = &weight->items[i];
        gauge_set(metric_gauge(o->weights, METRIC_VALUES(quota, w->name)),
                  (double)resource_count(w->name, w->value));
    }
}

void webhook_observe_quota_gone(struct webhook_observer *o, const char *quota)
{
    if (o)
        metric_remove_where(o->weights, "elasticquota_name", quota);
}

void webhook_observe_error(struct webhook_observer *o, enum webhook_id id, const char *name)
{
    const struct webhook_info *i = &webhook_infos[id];

    if (o)
        counter_inc(metric_counter(
            o->errors, METRIC_VALUES(i->mutating ? "mutate" : "validate", i->object_type, name)));
}

static unsigned op_index(enum webhook_op op)
{
    return op == WEBHOOK_CREATE ? 0 : op == WEBHOOK_UPDATE ? 1 : op == WEBHOOK_DELETE ? 2 : 3;
}

void webhook_observe(struct webhook_observer *o, enum webhook_id id, size_t step, const char *name,
                     enum webhook_op op, bool allowed, nsec_t took)
{
    const struct webhook_info *i = &webhook_infos[id];

    if (!o)
        return;
    assert(step < STEPS_MAX);
    struct histogram **h = &o->children[id][step][op_index(op)][allowed];
    if (!*h)
        *h = metric_histogram(o->duration, METRIC_VALUES(i->mutating ? "mutate" : "validate",
                                                         i->object_type, webhook_op_name(op), name,
                                                         allowed ? "allowed" : "rejected"));
    histogram_observe(*h, (double)took / 1e6);
}
