/* observe.c - histograms of ElasticQuota (sched-quota 16). */
#include "scheduler/plugins/elasticquota/observe.h"

#include "component/metrics.h"
#include "loop/loop.h"

enum { LATENCY_BUCKETS = 24, STATUS_BUCKETS = 15 };

static const char *const op_names[QUOTA_OPS] = {
    [QUOTA_OP_REFRESH] = "RefreshRuntime", [QUOTA_OP_UPDATE] = "UpdateQuota",
    [QUOTA_OP_DELETE] = "DeleteQuota",     [QUOTA_OP_POD_ADD] = "OnPodAdd",
    [QUOTA_OP_POD_UPDATE] = "OnPodUpdate", [QUOTA_OP_POD_DELETE] = "OnPodDelete",
    [QUOTA_OP_RESERVE] = "ReservePod",     [QUOTA_OP_UNRESERVE] = "UnreservePod",
};

/* 1e-5 * 2^i and 0.001 * 2^i */
static const double latency_bounds[LATENCY_BUCKETS] = {
    1e-5,    2e-5,    4e-5,    8e-5,    1.6e-4,   3.2e-4,   6.4e-4,   1.28e-3,
    2.56e-3, 5.12e-3, 0.01024, 0.02048, 0.04096,  0.08192,  0.16384,  0.32768,
    0.65536, 1.31072, 2.62144, 5.24288, 10.48576, 20.97152, 41.94304, 83.88608,
};
static const double status_bounds[STATUS_BUCKETS] = {
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064,  0.128,
    0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
};
static const struct metric_desc latency_desc = {
    .name = "scheduler_elastic_quota_process_latency",
    .help = "Seconds that the work on quotas took, by operation",
    .type = METRIC_HISTOGRAM,
    .labels = { "operation" },
    .buckets = latency_bounds,
    .nbuckets = LATENCY_BUCKETS,
};
static const struct metric_desc status_desc = {
    .name = "scheduler_update_elastic_quota_status_duration_seconds",
    .help = "Seconds until the API server answered to the status of a quota",
    .type = METRIC_HISTOGRAM,
    .buckets = status_bounds,
    .nbuckets = STATUS_BUCKETS,
};

void quota_observer_init(struct quota_observer *o, struct loop *l, struct metrics *m)
{
    if (!l || !m)
        return;
    o->loop = l;
    struct metric *latency = metrics_add(m, &latency_desc);
    for (size_t i = 0; i < QUOTA_OPS; i++)
        o->ops[i] = metric_histogram(latency, METRIC_VALUES(op_names[i]));
    o->status = metric_histogram(metrics_add(m, &status_desc), NULL);
}

nsec_t quota_observe_begin(const struct quota_observer *o)
{
    return o->loop ? loop_stopwatch(o->loop) : 0;
}

static double seconds_since(const struct quota_observer *o, nsec_t from)
{
    return (double)(loop_stopwatch(o->loop) - from) / NSEC_PER_SEC;
}

void quota_observe_end(const struct quota_observer *o, enum quota_op op, nsec_t from)
{
    if (o->loop)
        histogram_observe(o->ops[op], seconds_since(o, from));
}

void quota_observe_status(const struct quota_observer *o, nsec_t from)
{
    if (o->loop)
        histogram_observe(o->status, seconds_since(o, from));
}
