/* client_metrics.c - the registry's side of client/meter.h. */
#include "component/client_metrics.h"

#include "base/vec.h"
#include "client/meter.h"
#include "client/workqueue.h"
#include "component/metrics.h"

enum queue_gauge { DEPTH, UNFINISHED, LONGEST, QUEUE_GAUGES };

struct watched_queue {
    const struct workqueue *queue;
    struct gauge *gauges[QUEUE_GAUGES];
};

struct client_metrics {
    struct meter meter;
    struct metrics *metrics;
    struct watched_queues vec_of(struct watched_queue) queues;
};

/* ---- what there is ---------------------------------------------------------------------------- */

static const double duration_buckets[] = { 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60 };
static const double size_buckets[] = { 64,    256,    512,     1024,    4096,    16384,
                                       65536, 262144, 1048576, 4194304, 16777216 };
/* Powers of ten as Go multiplies them out; the rounding shows in the label le. */
static const double queue_buckets[] = {
    1e-8, 1e-7, 1e-6, 9.999999999999999e-06, 9.999999999999999e-05, 0.001, 0.01, 0.1, 1, 10
};

#define BUCKETS(b) .buckets = (b), .nbuckets = ARRAY_LEN(b)

static const struct metric_desc rest_counters[] = {
    [METER_REQUESTS] = { "rest_client_requests_total",
                         "Number of HTTP requests, partitioned by status code, method, and host.",
                         METRIC_COUNTER,
                         { "code", "method", "host" } },
    [METER_RETRIES] = { "rest_client_request_retries_total",
                        "Number of request retries, partitioned by status code, verb, and host.",
                        METRIC_COUNTER,
                        { "code", "verb", "host" } },
};
static const struct metric_desc rest_histograms[] = {
    [METER_DURATION] = { "rest_client_request_duration_seconds",
                         "Request latency in seconds. Broken down by verb, and host.",
                         METRIC_HISTOGRAM,
                         { "verb", "host" },
                         BUCKETS(duration_buckets) },
    [METER_LIMITER] = { "rest_client_rate_limiter_duration_seconds",
                        "Client side rate limiter latency in seconds. Broken down by verb, and "
                        "host.",
                        METRIC_HISTOGRAM,
                        { "verb", "host" },
                        BUCKETS(duration_buckets) },
    [METER_REQUEST_SIZE] = { "rest_client_request_size_bytes",
                             "Request size in bytes. Broken down by verb and host.",
                             METRIC_HISTOGRAM,
                             { "verb", "host" },
                             BUCKETS(size_buckets) },
    [METER_RESPONSE_SIZE] = { "rest_client_response_size_bytes",
                              "Response size in bytes. Broken down by verb and host.",
                              METRIC_HISTOGRAM,
                              { "verb", "host" },
                              BUCKETS(size_buckets) },
};
static const struct metric_desc queue_adds = {
    "workqueue_adds_total", "Total number of adds handled by workqueue", METRIC_COUNTER, { "name" }
};
static const struct metric_desc queue_retries = { "workqueue_retries_total",
                                                  "Total number of retries handled by workqueue",
                                                  METRIC_COUNTER,
                                                  { "name" } };
static const struct metric_desc queue_waited = {
    "workqueue_queue_duration_seconds",
    "How long in seconds an item stays in workqueue before being requested.",
    METRIC_HISTOGRAM,
    { "name" },
    BUCKETS(queue_buckets)
};
static const struct metric_desc queue_worked = {
    "workqueue_work_duration_seconds",
    "How long in seconds processing an item from workqueue takes.",
    METRIC_HISTOGRAM,
    { "name" },
    BUCKETS(queue_buckets)
};
static const struct metric_desc queue_gauges[] = {
    [DEPTH] = { "workqueue_depth", "Current depth of workqueue", METRIC_GAUGE, { "name" } },
    [UNFINISHED] = { "workqueue_unfinished_work_seconds",
                     "How many seconds of work has done that is in progress and hasn't been "
                     "observed by work_duration. Large values indicate stuck threads. One can "
                     "deduce the number of stuck threads by observing the rate at which this "
                     "increases.",
                     METRIC_GAUGE,
                     { "name" } },
    [LONGEST] = { "workqueue_longest_running_processor_seconds",
                  "How many seconds has the longest running processor for workqueue been running.",
                  METRIC_GAUGE,
                  { "name" } },
};

/* ---- what clients and queues ask for ---------------------------------------------------------- */

static struct client_metrics *self_of(struct meter *m)
{
    return container_of(m, struct client_metrics, meter);
}

static struct counter *find_counter(struct meter *m, enum meter_counter which, const char *code,
                                    const char *method, const char *host)
{
    return metric_counter(metrics_add(self_of(m)->metrics, &rest_counters[which]),
                          METRIC_VALUES(code, method, host));
}

static struct histogram *find_histogram(struct meter *m, enum meter_histogram which,
                                        const char *method, const char *host)
{
    return metric_histogram(metrics_add(self_of(m)->metrics, &rest_histograms[which]),
                            METRIC_VALUES(method, host));
}

static void add_queue(struct meter *m, const struct workqueue *q, const char *name,
                      struct queue_meter *ret)
{
    struct client_metrics *c = self_of(m);
    const char *const *values = METRIC_VALUES(name);
    struct watched_queue w = { .queue = q };

    for (size_t i = 0; i < QUEUE_GAUGES; i++)
        w.gauges[i] = metric_gauge(metrics_add(c->metrics, &queue_gauges[i]), values);
    vec_push(&c->queues, w);
    ret->adds = metric_counter(metrics_add(c->metrics, &queue_adds), values);
    ret->retries = metric_counter(metrics_add(c->metrics, &queue_retries), values);
    ret->waited = metric_histogram(metrics_add(c->metrics, &queue_waited), values);
    ret->worked = metric_histogram(metrics_add(c->metrics, &queue_worked), values);
}

static void show(struct watched_queue *w, const struct workqueue_stats *s)
{
    gauge_set(w->gauges[DEPTH], (double)s->depth);
    gauge_set(w->gauges[UNFINISHED], meter_seconds(s->unfinished));
    gauge_set(w->gauges[LONGEST], meter_seconds(s->longest));
}

/* What it counted stays: a queue of that name may come again with the lease. */
static void remove_queue(struct meter *m, const struct workqueue *q)
{
    struct client_metrics *c = self_of(m);

    vec_foreach(&c->queues, i) {
        if (c->queues.items[i].queue != q)
            continue;
        show(&c->queues.items[i], &(struct workqueue_stats){ 0 });
        vec_remove(&c->queues, i);
        return;
    }
}

static void on_scrape(void *arg)
{
    struct client_metrics *c = arg;

    vec_foreach(&c->queues, i) {
        struct workqueue_stats s = workqueue_stats(c->queues.items[i].queue);
        show(&c->queues.items[i], &s);
    }
}

/* ---- life ------------------------------------------------------------------------------------- */

struct client_metrics *client_metrics_new(struct metrics *m)
{
    static const struct meter_ops ops = { .counter = find_counter,
                                          .histogram = find_histogram,
                                          .add_queue = add_queue,
                                          .remove_queue = remove_queue };
    struct client_metrics *c = xnew0(struct client_metrics);

    c->meter.ops = &ops;
    c->metrics = m;
    metrics_on_scrape(m, on_scrape, c);
    return c;
}

struct client_metrics *client_metrics_free(struct client_metrics *c)
{
    if (!c)
        return NULL;
    metrics_off_scrape(c->metrics, on_scrape, c);
    vec_fini(&c->queues);
    free(c);
    return NULL;
}

struct meter *client_metrics_meter(struct client_metrics *c)
{
    return c ? &c->meter : NULL;
}
