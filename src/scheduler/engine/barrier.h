/* barrier.h - a new leader waits until it has seen what the one before has written (scheduler-core
 * 9.4).
 *
 * It writes to a pod that is there for this, and waits until its own watch shows that write: then
 * it shows every binding made before, too. Loop thread only.
 */
#ifndef KOORD_SCHEDULER_ENGINE_BARRIER_H
#define KOORD_SCHEDULER_ENGINE_BARRIER_H
#include "base/base.h"

struct barrier;
struct scheduler;

struct barrier_opts {
    const char *ns, *name; /* of the pod */
    const char *lease;     /* its name is part of the annotation's */
    nsec_t timeout;        /* for all of it */
};
/* Called once, in a later turn. err: the wait was given up, for this reason. */
typedef void (*barrier_fn)(void *arg, const struct kerr *err);
/* After scheduler_watch(); the scheduler must outlive it. */
struct barrier *barrier_new(struct scheduler *s, const struct barrier_opts *o, barrier_fn fn,
                            void *arg);
/* Not from inside fn. NULL is fine; always returns NULL. */
struct barrier *barrier_free(struct barrier *b);
DEFINE_CLEANUP(barrier_free, struct barrier *)

/* Is a resource version at least as new as another one? */
bool barrier_reached(const char *have, const char *want);
#endif
