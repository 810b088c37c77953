/* podqueue.h - pods waiting for a scheduling attempt (scheduler-core 3).
 *
 * A pod is in one place: ready (by priority, then time), backing off, rejected (waits for an
 * event that may help, or five minutes), gated (kept out by a plugin), or in flight (popped; comes
 * back with podqueue_fail() or ends with podqueue_remove()). It stays known while in flight, so no
 * pod is ever forgotten between two places. Loop thread only; holds one reference on each pod. All
 * time comes from the loop, so a virtual one makes back-off testable.
 */
#ifndef KOORD_SCHEDULER_PODQUEUE_H
#define KOORD_SCHEDULER_PODQUEUE_H
#include "api/kobj.h"

struct hint_stopwatch;
struct ks_event;
struct ks_plugin;
struct ks_texts;
struct loop;
struct pod;
struct podqueue;
struct profile;

struct podqueue_opts {
    nsec_t backoff_initial, backoff_max; /* 0: 1 s and 10 s */
    nsec_t unschedulable_max;            /* 0: 5 min */
    /* The profile that a pod names, never NULL for a pod that is put. All order the queue alike. */
    const struct profile *(*profile_of)(void *arg, const struct pod *p);
    /* Asks who keeps a pod out; NULL: profile_pre_enqueue(). */
    int (*pre_enqueue)(void *arg, const struct profile *p, const struct pod *pod,
                       struct ks_texts *why);
    /* Something can be popped now that could not before. Not from inside podqueue_pop(). */
    void (*on_ready)(void *arg);
    /* A plugin keeps the pod out of the queue, for a reason that people should read. */
    void (*on_gated)(void *arg, struct kobj *pod, const struct ks_plugin *by, const char *why);
    void *arg;
    struct hint_stopwatch *hints; /* told of every tenth hint that is asked; NULL: nobody is */
};
struct podqueue *podqueue_new(struct loop *l, const struct podqueue_opts *o);
struct podqueue *podqueue_free(struct podqueue *q); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(podqueue_free, struct podqueue *)

/* A pod without a node: new, or changed. Takes its own reference. */
void podqueue_put(struct podqueue *q, struct kobj *pod);
/* Gone, or it has a node now. False when it was not there. */
bool podqueue_remove(struct podqueue *q, struct kuid uid);
/* The next pod, in flight from now on; borrowed until it changes or leaves. NULL: none is ready. */
struct kobj *podqueue_pop(struct podqueue *q);
/* The same for this pod, out of its turn, because the plugin of this name wants it. NULL: it does
 * not wait here, or another plugin keeps it out of the queue. */
struct kobj *podqueue_pop_this(struct podqueue *q, struct kuid uid, const char *plugin);
/* The attempt failed. rejectors: the slots of the plugins that rejected the pod, which decide
 * about the events that bring it back; 0: an error, it just backs off. pending: of these, those
 * that wait for another component; an event that they wait for brings it back at once. */
void podqueue_fail(struct podqueue *q, struct kuid uid, uint64_t rejectors, uint64_t pending);
/* The pod in flight waits, for permits or extenders. If it is rejected, what happened meanwhile
 * counts: it backs off instead of waiting for events that are over. */
void podqueue_hold(struct podqueue *q, struct kuid uid);
/* It waits no more, and what happens from now on does not count; what it heard does. */
void podqueue_release(struct podqueue *q, struct kuid uid);
/* Pods that the event may help get another chance; not the pod `except`, when it is not NULL. */
void podqueue_event(struct podqueue *q, const struct ks_event *e, const struct kobj *except);
/* Pods that the plugin of this name rejected, and that wait for this key of its (waits_for), get
 * another chance. Costs nothing for the others. */
void podqueue_wake(struct podqueue *q, const char *plugin, uint64_t key);
/* The pod, wherever it waits, goes to the front part of the queue: no back-off any more. */
void podqueue_activate(struct podqueue *q, struct kuid uid);
/* The pod is worth another attempt when its back-off is over. */
void podqueue_retry(struct podqueue *q, struct kuid uid);
/* Why a plugin may let the pod in now: gated pods are looked at again. */
void podqueue_recheck(struct podqueue *q, struct kuid uid);
/* Profiles are about to be replaced: whoever waits for events is asked again afterwards. */
void podqueue_new_profiles(struct podqueue *q);
/* Is there anybody whom an event could help? */
bool podqueue_listens(const struct podqueue *q);

enum podqueue_place { /* where a pod is */
                      PODQUEUE_NOWHERE,
                      PODQUEUE_READY,
                      PODQUEUE_BACKOFF,
                      PODQUEUE_BACKOFF_ERROR,
                      PODQUEUE_UNSCHEDULABLE,
                      PODQUEUE_GATED,
                      PODQUEUE_IN_FLIGHT,
                      PODQUEUE_PLACES
};
struct podqueue_info { /* about one pod, for metrics and for people */
    enum podqueue_place place;
    uint32_t attempts;
    nsec_t first, since; /* monotonic: no longer kept out by a gate, and last put or failed */
    nsec_t popped;       /* the last time */
    nsec_t expiry;       /* of its back-off; 0: none */
    uint64_t rejectors;  /* slots of its profile */
};
bool podqueue_info(const struct podqueue *q, struct kuid uid, struct podqueue_info *ret);
/* Iterate: size_t it = 0; while ((pod = podqueue_next(q, &it))) ... Do not change the queue. */
struct kobj *podqueue_next(const struct podqueue *q, size_t *it);
/* ret_pod may be NULL; it is borrowed. */
enum podqueue_place podqueue_find(const struct podqueue *q, struct kuid uid, struct kobj **ret_pod);
size_t podqueue_count(const struct podqueue *q, enum podqueue_place place);
size_t podqueue_size(const struct podqueue *q); /* in all places */
/* Why a pod came to a place. */
enum podqueue_cause {
    PODQUEUE_BY_FAILURE,
    PODQUEUE_BY_BACKOFF_END,
    PODQUEUE_BY_POP, /* nobody was ready: the first of those that back off */
    PODQUEUE_BY_FORCE,
    PODQUEUE_BY_TIMEOUT,
    PODQUEUE_BY_KEY,
    PODQUEUE_BY_EVENT
};
/* The kinds of KS_RES_OTHER whose events brought pods back so far; NULL after the last. */
const struct kind *podqueue_kind(const struct podqueue *q, unsigned i);
/* How many came so far. e: its resource, action and kind count, with PODQUEUE_BY_EVENT. */
uint64_t podqueue_incoming(const struct podqueue *q, enum podqueue_place place,
                           enum podqueue_cause cause, const struct ks_event *e);
/* failures (1 and more) -> how long to wait. */
nsec_t podqueue_backoff(nsec_t initial, nsec_t max, uint32_t failures);
#endif
