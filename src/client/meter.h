/* meter.h - what is counted of requests and work queues, as client-go counts it.
 *
 * This room knows no registry. component/client_metrics.h gives it one as a table of functions that
 * find counters; each is asked for once and then kept. A program that counts nothing has no meter.
 */
#ifndef KOORD_CLIENT_METER_H
#define KOORD_CLIENT_METER_H
#include "base/instrument.h"
#include "base/vec.h"
#include "client/kube.h"

struct meter;
struct workqueue;

enum meter_counter { METER_REQUESTS, METER_RETRIES }; /* rest_client_requests_total, ... */
enum meter_histogram {
    METER_DURATION, /* of a call with all its attempts, in seconds */
    METER_LIMITER,  /* how long it waited for the limit on this side */
    METER_REQUEST_SIZE,
    METER_RESPONSE_SIZE,
    METER_HISTOGRAMS
};

struct queue_meter { /* of one work queue; all NULL: nobody counts */
    struct counter *adds, *retries;
    struct histogram *waited, *worked;
};

struct meter_ops {
    struct counter *(*counter)(struct meter *m, enum meter_counter which, const char *code,
                               const char *method, const char *host);
    struct histogram *(*histogram)(struct meter *m, enum meter_histogram which, const char *method,
                                   const char *host);
    /* The queue is looked at when metrics are shown, until it is gone. */
    void (*add_queue)(struct meter *m, const struct workqueue *q, const char *name,
                      struct queue_meter *ret);
    void (*remove_queue)(struct meter *m, const struct workqueue *q);
};
struct meter { /* head of whoever counts */
    const struct meter_ops *ops;
};

static inline double meter_seconds(nsec_t t)
{
    return (double)t / (double)NSEC_PER_SEC;
}

/* ---- of a transport over HTTP ----------------------------------------------------------------- */

enum { METER_VERBS = KUBE_DELETE_COLLECTION + 1 };

struct rest_counter {
    struct counter *counter;
    enum meter_counter which;
    enum kube_verb verb;
    int status;
};
struct rest_meter {
    const struct kube *kube; /* without a meter all of these do nothing */
    char *host;              /* "10.0.0.1:6443" */
    struct histogram *histograms[METER_VERBS][METER_HISTOGRAMS];
    struct rest_counters vec_of(struct rest_counter) counters;
};
void rest_meter_fini(struct rest_meter *m);
/* The method of HTTP that a verb is sent as. */
const char *rest_method(enum kube_verb verb);
/* status 0: no answer came. */
void rest_count(struct rest_meter *m, enum meter_counter which, enum kube_verb verb, int status);
void rest_observe(struct rest_meter *m, enum meter_histogram which, enum kube_verb verb, double v);
#endif
