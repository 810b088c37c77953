/* metrics.c - how long rounds take, and how many groups wait (sched-gang 2, 4.1). */
#include <stdio.h>

#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/coscheduling/observe.h"

static const double cycle_buckets[] = { 0.1,  0.5, 1,  2,  3,  5,  7.5, 10,
                                        12.5, 15,  20, 25, 30, 45, 60,  120 };
static const struct metric_desc cycle_desc = {
    .name = "scheduler_gang_schedule_cycle_duration_seconds",
    .help = "Time from the first member of a gang group that is tried to the end of its round",
    .type = METRIC_HISTOGRAM,
    .labels = { "reason", "job_size" },
    .buckets = cycle_buckets,
    .nbuckets = ARRAY_LEN(cycle_buckets),
};
static const struct metric_desc waiting_desc = {
    .name = "scheduler_waiting_gang_group_number",
    .help = "Gang groups with members that wait for the others",
    .type = METRIC_GAUGE,
};

static const double preemption_buckets[] = { 0.001,  0.002,  0.004,   0.008,   0.016,
                                             0.032,  0.064,  0.128,   0.256,   0.512,
                                             1.024,  2.048,  4.096,   8.192,   16.384,
                                             32.768, 65.536, 131.072, 262.144, 524.288 };
static const struct metric_desc preemption_desc = {
    .name = "scheduler_job_preemption_duration_seconds",
    .help = "Time to find out whom to evict for a gang",
    .type = METRIC_HISTOGRAM,
    .labels = { "jobName", "result" },
    .buckets = preemption_buckets,
    .nbuckets = ARRAY_LEN(preemption_buckets),
};

struct gang_metrics {
    const struct gangs *gangs;
    struct metrics *all;
    struct metric *cycle, *preemption;
    struct gauge *waiting;
};

static void on_scrape(void *arg)
{
    const struct gang_metrics *m = arg;

    gauge_set(m->waiting, m->gangs->waiting_groups);
}

struct gang_metrics *gang_metrics_new(struct gangs *s, struct metrics *all)
{
    if (!all)
        return NULL;
    struct gang_metrics *m = xnew0(struct gang_metrics);
    m->gangs = s;
    m->all = all;
    m->cycle = metrics_add(all, &cycle_desc);
    m->preemption = metrics_add(all, &preemption_desc);
    m->waiting = metric_gauge(metrics_add(all, &waiting_desc), NULL);
    metrics_on_scrape(all, on_scrape, m);
    return m;
}

struct gang_metrics *gang_metrics_free(struct gang_metrics *m)
{
    if (m)
        metrics_off_scrape(m->all, on_scrape, m);
    free(m);
    return NULL;
}

/* "0", "1-100", ... "901-1000", "1000+" */
static const char *size_of(uint32_t n, char *buf, size_t size)
{
    if (n == 0)
        return "0";
    if (n > 1000)
        return "1000+";
    uint32_t from = (n - 1) / 100 * 100;
    (void)snprintf(buf, size, "%u-%u", from + 1, from + 100);
    return buf;
}

void gang_metrics_round(void *arg, const struct gang_round *r, const char *reason)
{
    const struct gangs *s = arg;
    char size[24];

    if (!s->metrics)
        return;
    double seconds = (double)(loop_mono(s->env.loop) - r->began) / (double)NSEC_PER_SEC;
    histogram_observe(metric_histogram(s->metrics->cycle,
                                       METRIC_VALUES(reason, size_of(r->tried, size, sizeof size))),
                      seconds);
}

nsec_t gang_metrics_now(const struct gangs *s)
{
    return s->metrics ? loop_stopwatch(s->env.loop) : 0;
}

void gang_metrics_preemption(const struct gangs *s, const struct gang_member *m, bool worked,
                             nsec_t began)
{
    if (!s->metrics)
        return;
    double seconds = (double)(loop_stopwatch(s->env.loop) - began) / (double)NSEC_PER_SEC;
    histogram_observe(
        metric_histogram(s->metrics->preemption, METRIC_VALUES(m ? m->gang->group->id : "",
                                                               worked ? "success" : "failure")),
        seconds);
}
