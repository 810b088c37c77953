/* podqueue.h - pods waiting for a scheduling attempt (scheduler-core 3).
 *
 * A pod is in one place: ready (by priority, then time), backing off, turned down (waits for an
 * event that may help, or five minutes), gated (kept out by a plugin), or in flight (popped; comes
 * back with podqueue_fail() or ends with podqueue_remove()). It stays known while in flight, so no
 * pod is ever forgotten between two places. Loop thread only; holds one reference on each pod. All
 * time comes from the loop, so a virtual one makes back-off testable.
 */
#ifndef KOORD_SCHEDULER_PODQUEUE_H
#define KOORD_SCHEDULER_PODQUEUE_H
#include "api/kobj.h"

struct ks_event;
struct loop;
struct podqueue;
struct profile;

struct podqueue_opts {
    nsec_t backoff_initial, backoff_max; /* 0: 1 s and 10 s */
    nsec_t unschedulable_max;            /* 0: 5 min */
    /* Something can be popped now that could not before. Not from inside podqueue_pop(). */
    void (*on_ready)(void *arg);
    void *arg;
};
struct podqueue *podqueue_new(struct loop *l, const struct profile *p,
                              const struct podqueue_opts *o);
struct podqueue *podqueue_free(struct podqueue *q); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(podqueue_free, struct podqueue *)

/* A pod without a node: new, or changed. Takes its own reference. */
void podqueue_put(struct podqueue *q, struct kobj *pod);
/* Gone, or it has a node now. False when it was not there. */
bool podqueue_remove(struct podqueue *q, struct kuid uid);
/* The next pod, in flight from now on; borrowed until it changes or leaves. NULL: none is ready. */
struct kobj *podqueue_pop(struct podqueue *q);
/* The attempt failed. rejectors: the slots of the plugins that turned the pod down, which decide
 * about the events that bring it back; 0: an error, it just backs off. */
void podqueue_fail(struct podqueue *q, struct kuid uid, uint64_t rejectors);
/* Pods that the event may help get another chance. */
void podqueue_event(struct podqueue *q, const struct ks_event *e);

enum podqueue_place { /* where a pod is */
                      PODQUEUE_NOWHERE,
                      PODQUEUE_READY,
                      PODQUEUE_BACKOFF,
                      PODQUEUE_BACKOFF_ERROR,
                      PODQUEUE_TURNED_DOWN,
                      PODQUEUE_GATED,
                      PODQUEUE_IN_FLIGHT,
                      PODQUEUE_PLACES
};
/* ret_pod may be NULL; it is borrowed. */
enum podqueue_place podqueue_find(const struct podqueue *q, struct kuid uid, struct kobj **ret_pod);
size_t podqueue_count(const struct podqueue *q, enum podqueue_place place);
/* failures (1 and more) -> how long to wait. */
nsec_t podqueue_backoff(nsec_t initial, nsec_t max, uint32_t failures);
#endif
