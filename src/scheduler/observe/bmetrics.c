/* bmetrics.c - metrics of jobs that are placed in one piece, by upstream's names (sched-gang 8). */
#include "component/metrics.h"
#include "scheduler/engine/internal.h"

/* Each twice the one before, from a millisecond on. */
static const double bounds[] = { 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128,
                                 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384 };
static const struct metric_desc job_desc = {
    "scheduler_inline_batch_schedule_duration_seconds",
    "Time until all pods of a job had their places, or had none, by the result.",
    METRIC_HISTOGRAM,
    .labels = { "result" },
    .buckets = bounds,
    .nbuckets = ARRAY_LEN(bounds),
};
static const struct metric_desc node_desc = {
    "scheduler_batch_algorithm_by_node_duration_seconds",
    "Time until all pods of a job had their places on a node.",
    METRIC_HISTOGRAM,
    .buckets = bounds,
    .nbuckets = ARRAY_LEN(bounds),
};
static const struct metric_desc pod_desc = {
    "scheduler_batch_algorithm_by_pod_duration_seconds",
    "Time until a pod of a job had its place.",
    METRIC_HISTOGRAM,
    .buckets = bounds,
    .nbuckets = ARRAY_LEN(bounds),
};
static const struct metric_desc cleanup_desc = {
    "scheduler_batch_assumed_pods_cleanup_total",
    "Number of pods that gave their places back because their job failed, by the reason.",
    METRIC_COUNTER,
    .labels = { "reason" },
};
static const struct metric_desc failures_desc = {
    "scheduler_batch_bind_failures_total",
    "Number of pods of jobs that had their places and could not be bound.",
    METRIC_COUNTER,
    .labels = { "reason", "phase" },
};
static const struct metric_desc partial_jobs_desc = {
    "scheduler_batch_partial_bind_jobs_total",
    "Number of jobs of which some pods are bound and some are not.",
    METRIC_COUNTER,
};
static const struct metric_desc partial_pods_desc = {
    "scheduler_batch_partial_bind_pods_total",
    "Number of pods of such jobs, by what became of them.",
    METRIC_COUNTER,
    .labels = { "status" },
};

static void observe(struct scheduler *s, const struct metric_desc *d, nsec_t took)
{
    if (s->registry)
        histogram_observe(metric_histogram(metrics_add(s->registry, d), NULL), nsec_seconds(took));
}

void bmetrics_job(struct scheduler *s, bool failed, nsec_t took)
{
    if (s->registry)
        histogram_observe(metric_histogram(metrics_add(s->registry, &job_desc),
                                           METRIC_VALUES(failed ? "failure" : "success")),
                          nsec_seconds(took));
}

void bmetrics_pod(struct scheduler *s, nsec_t took)
{
    observe(s, &pod_desc, took);
}

void bmetrics_node(struct scheduler *s, nsec_t took)
{
    observe(s, &node_desc, took);
}

void bmetrics_cleanup(struct scheduler *s, const char *reason, uint32_t n)
{
    if (s->registry && n)
        counter_add(metric_counter(metrics_add(s->registry, &cleanup_desc), METRIC_VALUES(reason)),
                    n);
}

void bmetrics_bind_failure(struct scheduler *s, const char *reason, const char *phase)
{
    if (s->registry)
        counter_inc(
            metric_counter(metrics_add(s->registry, &failures_desc), METRIC_VALUES(reason, phase)));
}

void bmetrics_partial(struct scheduler *s, uint32_t bound, uint32_t failed)
{
    if (!s->registry)
        return;
    counter_inc(metric_counter(metrics_add(s->registry, &partial_jobs_desc), NULL));
    struct metric *pods = metrics_add(s->registry, &partial_pods_desc);
    counter_add(metric_counter(pods, METRIC_VALUES("success")), bound);
    counter_add(metric_counter(pods, METRIC_VALUES("failed")), failed);
}
