/* smetrics.c - the scheduler's metrics, by upstream's names (scheduler-core 11.6). */
#include <stdio.h>

#include "api/pod.h"
#include "component/metrics.h"
#include "scheduler/engine/internal.h"
#include "scheduler/observe/times.h"

enum { SLI_ATTEMPTS_MAX = 15 };

/* Each twice the one before. */
#define TWICE_7(x) (x), (x)*2, (x)*4, (x)*8, (x)*16, (x)*32, (x)*64
static const double attempt_bounds[] = { TWICE_7(0.001), TWICE_7(0.128), 16.384 };
static const double sli_bounds[] = { TWICE_7(0.01), TWICE_7(1.28), 163.84,  327.68,
                                     655.36,        1310.72,       2621.44, 5242.88 };
static const double node_bounds[] = { TWICE_7(1), TWICE_7(128), TWICE_7(16384),
                                      2097152,    4194304,      8388608 };
static const double victim_bounds[] = { TWICE_7(1) };
static const double tries_bounds[] = { 1, 2, 4, 8, 16 };

static const struct metric_desc attempts_desc = {
    "scheduler_schedule_attempts_total",
    "Number of attempts to schedule pods, by the result.",
    METRIC_COUNTER,
    .labels = { "result", "profile" },
};
static const struct metric_desc attempt_duration_desc = {
    "scheduler_scheduling_attempt_duration_seconds",
    "Scheduling attempt latency in seconds (scheduling algorithm + binding).",
    METRIC_HISTOGRAM,
    .labels = { "result", "profile" },
    .buckets = attempt_bounds,
    .nbuckets = ARRAY_LEN(attempt_bounds),
};
static const struct metric_desc algorithm_desc = {
    "scheduler_scheduling_algorithm_duration_seconds",
    "Scheduling algorithm latency in seconds.",
    METRIC_HISTOGRAM,
    .buckets = attempt_bounds,
    .nbuckets = ARRAY_LEN(attempt_bounds),
};
static const struct metric_desc tries_desc = {
    "scheduler_pod_scheduling_attempts",
    "Number of attempts to successfully schedule a pod.",
    METRIC_HISTOGRAM,
    .buckets = tries_bounds,
    .nbuckets = ARRAY_LEN(tries_bounds),
};
static const struct metric_desc sli_desc = {
    "scheduler_pod_scheduling_sli_duration_seconds",
    "E2e latency for a pod being scheduled, from the time it enters the scheduling queue.",
    METRIC_HISTOGRAM,
    .labels = { "attempts" },
    .buckets = sli_bounds,
    .nbuckets = ARRAY_LEN(sli_bounds),
};
static const struct metric_desc evaluated_desc = {
    "scheduler_pod_scheduling_evaluated_nodes",
    "Number of nodes evaluated for a pod that found one.",
    METRIC_HISTOGRAM,
    .buckets = node_bounds,
    .nbuckets = ARRAY_LEN(node_bounds),
};
static const struct metric_desc feasible_desc = {
    "scheduler_pod_scheduling_feasible_nodes",
    "Number of feasible nodes for a pod that found one.",
    METRIC_HISTOGRAM,
    .buckets = node_bounds,
    .nbuckets = ARRAY_LEN(node_bounds),
};
static const struct metric_desc victims_desc = {
    "scheduler_preemption_victims", "Number of selected preemption victims.", METRIC_HISTOGRAM,
    .buckets = victim_bounds,       .nbuckets = ARRAY_LEN(victim_bounds),
};
static const struct metric_desc preemptions_desc = {
    "scheduler_preemption_attempts_total",
    "Total preemption attempts in the cluster so far.",
    METRIC_COUNTER,
};
static const struct metric_desc permit_desc = {
    "scheduler_permit_wait_duration_seconds",
    "Duration of waiting on permit.",
    METRIC_HISTOGRAM,
    .labels = { "result" },
    .buckets = attempt_bounds,
    .nbuckets = ARRAY_LEN(attempt_bounds),
};
static const struct metric_desc pending_desc = {
    "scheduler_pending_pods",
    "Number of pending pods, by the queue type.",
    METRIC_GAUGE,
    .labels = { "queue" },
};
static const struct metric_desc cache_desc = {
    "scheduler_cache_size",
    "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
    METRIC_GAUGE,
    .labels = { "type" },
};
static const struct metric_desc unschedulable_desc = {
    "scheduler_unschedulable_pods",
    "The number of unschedulable pods broken down by plugin name.",
    METRIC_GAUGE,
    .labels = { "plugin", "profile" },
};

static const struct metric_desc late_desc = {
    "scheduler_scheduling_timeout",
    "Pods found by the monitor whose attempt or binding took too long, each time it looked.",
    METRIC_COUNTER,
    .labels = { "profile" },
};
static const struct metric_desc working_desc = {
    "scheduler_goroutines",
    "Number of things under way, by the work they do.",
    METRIC_GAUGE,
    .labels = { "operation" },
};
static const struct metric_desc evictions_desc = {
    "scheduler_preemption_goroutines_execution_total",
    "Number of times that victims were evicted in the background, by the result.",
    METRIC_COUNTER,
    .labels = { "result" },
};
static const struct metric_desc eviction_duration_desc = {
    "scheduler_preemption_goroutines_duration_seconds",
    "Time until all victims for a pod were evicted.",
    METRIC_HISTOGRAM,
    .labels = { "result" },
    .buckets = sli_bounds,
    .nbuckets = ARRAY_LEN(sli_bounds),
};

struct smetrics {
    struct counter *attempts[RESULTS], *preemptions, *late;
    struct histogram *durations[RESULTS], *algorithm, *tries, *evaluated, *feasible, *victims;
    struct histogram *sli[SLI_ATTEMPTS_MAX];
    struct metric *permit;
};

struct smetrics *smetrics_new(struct metrics *m, const char *profile)
{
    static const char *const results[RESULTS] = { "scheduled", "unschedulable", "error" };

    if (!m)
        return NULL;
    struct smetrics *x = xnew0(struct smetrics);
    struct metric *attempts = metrics_add(m, &attempts_desc);
    struct metric *durations = metrics_add(m, &attempt_duration_desc);
    struct metric *sli = metrics_add(m, &sli_desc);
    for (int i = 0; i < RESULTS; i++) {
        x->attempts[i] = metric_counter(attempts, METRIC_VALUES(results[i], profile));
        x->durations[i] = metric_histogram(durations, METRIC_VALUES(results[i], profile));
    }
    for (int i = 0; i < SLI_ATTEMPTS_MAX; i++) {
        char text[8];
        (void)snprintf(text, sizeof text, i + 1 < SLI_ATTEMPTS_MAX ? "%d" : "%d+", i + 1);
        x->sli[i] = metric_histogram(sli, METRIC_VALUES(text));
    }
    x->algorithm = metric_histogram(metrics_add(m, &algorithm_desc), NULL);
    x->tries = metric_histogram(metrics_add(m, &tries_desc), NULL);
    x->evaluated = metric_histogram(metrics_add(m, &evaluated_desc), NULL);
    x->feasible = metric_histogram(metrics_add(m, &feasible_desc), NULL);
    x->victims = metric_histogram(metrics_add(m, &victims_desc), NULL);
    x->preemptions = metric_counter(metrics_add(m, &preemptions_desc), NULL);
    x->permit = metrics_add(m, &permit_desc);
    x->late = metric_counter(metrics_add(m, &late_desc), METRIC_VALUES(profile));
    return x;
}

struct smetrics *smetrics_free(struct smetrics *m)
{
    free(m); /* the metrics themselves belong to the registry */
    return NULL;
}

void smetrics_attempt(struct smetrics *m, enum smetrics_result r, nsec_t took)
{
    if (!m)
        return;
    counter_inc(m->attempts[r]);
    histogram_observe(m->durations[r], nsec_seconds(took));
}

void smetrics_algorithm(struct smetrics *m, nsec_t took, uint32_t evaluated, uint32_t feasible)
{
    if (!m)
        return;
    histogram_observe(m->algorithm, nsec_seconds(took));
    if (feasible == 0)
        return;
    histogram_observe(m->evaluated, evaluated);
    histogram_observe(m->feasible, feasible);
}

void smetrics_bound(struct smetrics *m, uint32_t attempts, nsec_t since_first)
{
    if (!m)
        return;
    uint32_t at = MIN(MAX(attempts, 1u), (uint32_t)SLI_ATTEMPTS_MAX) - 1;
    histogram_observe(m->tries, attempts);
    histogram_observe(m->sli[at], nsec_seconds(since_first));
}

void smetrics_preempted(struct smetrics *m, uint32_t victims)
{
    if (!m)
        return;
    histogram_observe(m->victims, victims);
}

void smetrics_preemption(struct smetrics *m)
{
    if (m)
        counter_inc(m->preemptions);
}

void smetrics_permit(struct smetrics *m, const char *result, nsec_t waited)
{
    if (m)
        histogram_observe(metric_histogram(m->permit, METRIC_VALUES(result)), nsec_seconds(waited));
}

void smetrics_late(struct smetrics *m)
{
    if (m)
        counter_inc(m->late);
}

void smetrics_evicted(struct scheduler *s, bool failed, nsec_t took)
{
    const char *result = failed ? "error" : "success";

    if (!s->registry)
        return;
    counter_inc(metric_counter(metrics_add(s->registry, &evictions_desc), METRIC_VALUES(result)));
    histogram_observe(
        metric_histogram(metrics_add(s->registry, &eviction_duration_desc), METRIC_VALUES(result)),
        nsec_seconds(took));
}

/* ---- gauges ---------------------------------------------------------------------------------- */

/* How many pods each plugin has rejected: counted when somebody asks. */
static void count_unschedulable(struct scheduler *s, struct metric *f)
{
    struct kobj *pod;

    metric_clear(f);
    for (size_t it = 0; (pod = podqueue_next(s->queue, &it));) {
        struct podqueue_info info;
        const struct active_profile *active = scheduler_profile(s, pod_of(pod));
        if (!active || !podqueue_info(s->queue, pod->meta.uid, &info))
            continue;
        for (uint32_t i = 0; i < active->profile->n; i++)
            if (info.rejectors >> i & 1)
                gauge_add(metric_gauge(f, METRIC_VALUES(active->profile->slots[i].plugin->name,
                                                        active->profile->scheduler_name)),
                          1);
        if (info.rejectors >> PROFILE_EXTENDER & 1)
            gauge_add(metric_gauge(f, METRIC_VALUES("Extender", active->profile->scheduler_name)),
                      1);
    }
}

void smetrics_gauges(struct scheduler *s)
{
    struct scheduler_stats st = scheduler_stats(s);
    struct metric *pending = metrics_add(s->registry, &pending_desc);
    struct metric *cache = metrics_add(s->registry, &cache_desc);

    gauge_set(metric_gauge(pending, METRIC_VALUES("active")), (double)st.ready);
    gauge_set(metric_gauge(pending, METRIC_VALUES("backoff")), (double)st.backoff);
    gauge_set(metric_gauge(pending, METRIC_VALUES("unschedulable")), (double)st.unschedulable);
    gauge_set(metric_gauge(pending, METRIC_VALUES("gated")), (double)st.gated);
    gauge_set(metric_gauge(cache, METRIC_VALUES("nodes")), (double)st.nodes);
    gauge_set(metric_gauge(cache, METRIC_VALUES("pods")), (double)st.pods);
    gauge_set(metric_gauge(cache, METRIC_VALUES("assumed_pods")), (double)st.assumed);
    count_unschedulable(s, metrics_add(s->registry, &unschedulable_desc));
    gauge_set(metric_gauge(metrics_add(s->registry, &working_desc), METRIC_VALUES("binding")),
              (double)s->nbindings);
    qmetrics_settle(s->qmetrics);
    for (unsigned i = 0; i < s->nprofiles; i++)
        times_settle(s->profiles[i]->times);
}
