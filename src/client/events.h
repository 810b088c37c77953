/* events.h - Events for people: written in the background, aggregated, never in anybody's way.
 *
 * Repeats of the same event count up one object; more than ten different messages of one reason
 * about one object within ten minutes are folded into one; an object that still makes noise is cut
 * off by a token bucket (25, then one in five minutes). The queue and the calls in flight are
 * bounded: what does not fit is dropped and counted. Loop thread only.
 */
#ifndef KOORD_CLIENT_EVENTS_H
#define KOORD_CLIENT_EVENTS_H
#include "base/base.h"

struct kobj;
struct kube;
struct recorder;

struct recorder_opts {
    const char *component; /* "koord-scheduler" */
    const char *instance;  /* reporting instance, usually "component-hostname" */
    const char *host;      /* node name for agents; NULL otherwise */
    size_t queue_max;      /* 0: 1000 events waiting */
    unsigned in_flight;    /* 0: 4 */
    /* While the program has more important things to ask of the server, only so many a second are
     * sent, and the others wait in the queue. NULL: never. */
    bool (*busy)(void *arg);
    void *busy_arg;
    double busy_qps;
    /* true: the newer form (eventTime, series, action), as kube-scheduler writes them;
     * false: firstTimestamp, lastTimestamp and count. Both are core/v1 objects. */
    bool series;
};
struct recorder *recorder_new(struct kube *k, const struct recorder_opts *o);
/* What is still queued is dropped. */
struct recorder *recorder_free(struct recorder *r);
DEFINE_CLEANUP(recorder_free, struct recorder *)

struct event_about { /* what the event is about; copied */
    const char *api_version, *kind, *ns, *name, *uid, *resource_version, *field_path;
};
/* warning: type Warning, else Normal. action: what was tried ("Scheduling"); may be NULL. */
void recorder_event(struct recorder *r, const struct event_about *about, bool warning,
                    const char *reason, const char *action, const char *fmt, ...) PRINTF(6, 7);
/* The same about a typed object. */
void recorder_event_on(struct recorder *r, const struct kobj *obj, bool warning, const char *reason,
                       const char *action, const char *fmt, ...) PRINTF(6, 7);

struct recorder_stats {
    uint64_t asked, written, patched, folded, suppressed, dropped, failed;
    size_t queued;
};
struct recorder_stats recorder_stats(const struct recorder *r);
#endif
