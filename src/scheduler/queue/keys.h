/* keys.h - pods that wait for a key of a plugin: found without looking at the others.
 *
 * A key is a number that means something to the plugin: the hash of a quota's name, a gang. Loop
 * thread; part of the queue.
 */
#ifndef KOORD_SCHEDULER_QUEUE_KEYS_H
#define KOORD_SCHEDULER_QUEUE_KEYS_H
#include "base/map.h"

struct qpod;
struct waitkey;

struct waiter { /* a pod for a key */
    struct qpod *pod;
    struct waiter *next, **link; /* for the same key */
    struct waitkey *key;
    struct waiter *more; /* of the same pod */
};
struct keys { /* all zero: nobody waits */
    struct map by_id;
};
void keys_fini(struct keys *k); /* nobody waits any more */
/* all: the pod's list. */
void keys_remember(struct keys *k, const char *plugin, uint64_t key, struct qpod *pod,
                   struct waiter **all);
void keys_forget(struct keys *k, struct waiter **all);
/* The first, and then ->next; NULL: nobody waits for it. */
const struct waiter *keys_find(const struct keys *k, const char *plugin, uint64_t key);
#endif
