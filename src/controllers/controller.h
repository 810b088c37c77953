/* controller.h - controllers: each brings the objects of one kind to the state they should be in.
 *
 * A controller has a queue of keys ("namespace/name") and a sync, which looks at one object and
 * makes the writes that are missing. News of objects adds keys; a sync that fails is repeated with
 * back-off. There is never more than one sync of a key at a time, and a sync ends with the answer
 * to its last write, so an object has one writer, and what is written last is the latest.
 *
 *     static void sync(void *self, struct batch *b, const char *key, struct kobj *node) { ... }
 *
 *     cs = controllers_new(&(struct controller_env){ loop, kube, caches, events });
 *     c = controller_new(cs, &(struct controller_opts){
 *             .name = "nodemetric", .of = nodes, .sync = sync, .self = m });
 *     controller_watch(c, nodes, NULL, NULL);        a node's own key
 *     controller_watch(c, metrics, &on_metric, m);   whatever these callbacks add
 *     caches_start(caches);
 *     controllers_start(cs);                         we lead: now they act
 *
 * Loop thread only.
 */
#ifndef KOORD_CONTROLLERS_CONTROLLER_H
#define KOORD_CONTROLLERS_CONTROLLER_H
#include "client/informer.h"
#include "client/workqueue.h"
#include "controllers/batch.h"
#include "controllers/caches.h"

struct controller;
struct controllers;
struct label_selector;

/* ---- the controllers of a program ------------------------------------------------------------ */

struct controller_env { /* what they share; borrowed */
    struct loop *loop;
    struct kube *kube;
    struct caches *caches;
    struct recorder *events; /* may be NULL when nobody writes events */
};
struct controllers *controllers_new(const struct controller_env *env); /* copied */
/* After its controllers. NULL is fine; always returns NULL. */
struct controllers *controllers_free(struct controllers *cs);
DEFINE_CLEANUP(controllers_free, struct controllers *)

/* From now on they act: the lease is ours, or there is none. They hear of every object that the
 * caches hold. Twice is as once. */
void controllers_start(struct controllers *cs);
/* From now on they do not: syncs under way end, their calls are cancelled without an answer, and
 * all queues are empty. They can be started again. Not from inside a sync or a batch's callback. */
void controllers_stop(struct controllers *cs);

struct controllers_stats {
    uint64_t syncs, retries, writes, failures; /* failures: of calls */
    size_t in_flight;
};
struct controllers_stats controllers_stats(const struct controllers *cs);

/* ---- one controller -------------------------------------------------------------------------- */

struct controller_opts {
    const char *name; /* for logs */
    /* The objects whose keys are synced; NULL: keys that are no objects'. A sync waits until the
     * object shows what this controller wrote to it last (at most half a minute). */
    struct informer *of;
    /* obj: of that key, as the cache has it; NULL when there is none. It lives as long as the
     * batch. The sync ends when every call of the batch is answered. */
    void (*sync)(void *self, struct batch *b, const char *key, struct kobj *obj);
    void (*start)(void *self); /* it acts from now on: to add keys that no news would; or NULL */
    void (*stop)(void *self);  /* not any more: to forget what it expected; or NULL */
    void *self;
    struct workqueue_opts queue; /* how many at a time, back-off; the name is ours */
    /* Syncs begin before the caches that it watches are complete: it looks for itself. */
    bool eager;
};
struct controller *controller_new(struct controllers *cs, const struct controller_opts *o);
struct controller *controller_free(struct controller *c); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(controller_free, struct controller *)

/* While the controller acts, h hears of the objects of this cache; NULL: news of an object adds its
 * key. Syncs wait until the cache is complete. */
void controller_watch(struct controller *c, struct informer *inf, const struct informer_handler *h,
                      void *arg);
/* Syncs read this cache as well, so they wait for it too. */
void controller_read(struct controller *c, struct informer *inf);

/* Keys to sync. Ignored while the controller does not act. */
void controller_add(struct controller *c, const char *key);
void controller_add_after(struct controller *c, const char *key, nsec_t delay);
void controller_add_object(struct controller *c, const struct kobj *o);
/* All objects under a value of an index. */
void controller_add_by(struct controller *c, struct informer *inf, index_fn index,
                       const char *value);
/* The objects of this namespace whose selector matches these labels: those that the labelled
 * object may concern. selector_of may return NULL: such an object matches nothing. */
typedef const struct label_selector *(*selector_of_fn)(const struct kobj *o);
void controller_add_selecting(struct controller *c, struct informer *inf,
                              selector_of_fn selector_of, const char *ns, const kstrmap *labels);
#endif
