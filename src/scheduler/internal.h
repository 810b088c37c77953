/* internal.h - what the files of the scheduler share. Loop thread only. */
#ifndef KOORD_SCHEDULER_INTERNAL_H
#define KOORD_SCHEDULER_INTERNAL_H
#include "api/kobj.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/cache/nominator.h"
#include "scheduler/cache/world.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/shapes.h"
#include "scheduler/queue/podqueue.h"
#include "scheduler/scheduler.h"

struct binding;
struct informer;
struct recorder;
struct reports;

enum { SCHEDULER_NAMES_MAX = 8 };
struct scheduler {
    struct loop *loop;
    struct kube *kube;
    char *names[SCHEDULER_NAMES_MAX];
    struct recorder *recorders[SCHEDULER_NAMES_MAX]; /* events name the scheduler of the pod */
    unsigned nnames, max_binding;
    nsec_t confirm_after;
    struct profile *profile;
    struct ks_env env;
    struct nodecache *cache;
    struct nominator *nominator;
    struct world *world;
    struct shapes *shapes;
    struct podqueue *queue;
    struct informer *pods, *nodes;
    struct reports *reports;
    struct arena *arena;        /* of the attempt */
    struct timer *pump, *sweep; /* next attempts; look for bindings nobody confirmed */
    struct binding *bindings;   /* under way */
    unsigned nbindings;
    bool verify_reuse;
    bool synced; /* attempts begin when both caches are complete */
    uint64_t attempts, scheduled, failed, errors;
};

/* "namespace/name" for log lines: KV_S("pod", LOG_KEY(pod)). */
static inline const char *log_key(const struct kobj *o, char *buf, size_t size)
{
    kobj_key(o, buf, size);
    return buf;
}
#define LOG_KEY(o) log_key((o), (char[KOBJ_KEY_MAX]){ 0 }, KOBJ_KEY_MAX)

/* scheduler.c */
void scheduler_wake(struct scheduler *s);        /* there may be something to do in the next turn */
void scheduler_watch_bound(struct scheduler *s); /* an accepted binding waits for confirmation */
/* Which of our names, -1 when the pod is not ours. */
int scheduler_name_of(const struct scheduler *s, const struct pod *p);

/* watch.c - news from the informers. */
void watch_init(struct scheduler *s);
void watch_pod_gone(struct scheduler *s, const struct kobj *pod); /* tells who waits for room */

/* cycle.c - one attempt for a pod that was popped. */
void cycle_run(struct scheduler *s, struct kobj *pod);

/* bind.c - from the choice of a node to the answer of the server. */
void binding_start(struct scheduler *s, struct kobj *pod, const char *node);
void binding_verify(struct scheduler *s, struct kobj *pod, const char *node);
void binding_free_all(struct scheduler *s);

/* report.c - what people see: events, and the condition PodScheduled. */
struct reports *reports_new(struct scheduler *s);
struct reports *reports_free(struct reports *r);
/* The attempt for a pod in flight has failed: back to the queue, with an event and a condition. */
struct failure {
    bool error;         /* something went wrong; otherwise the pod just does not fit */
    uint64_t rejectors; /* slots that turned it down; none: it backs off */
    const char *message;
};
void report_failure(struct scheduler *s, struct kobj *pod, const struct failure *f);
void report_scheduled(struct scheduler *s, const struct kobj *pod, const char *node);
/* A binding begins, or the pod is gone: what was still to be written is out of date. */
void report_drop(struct scheduler *s, struct kuid uid);
#endif
