/* extender.h - programs outside that have a say: which nodes will do, how good they are, who has to
 * go, and the binding itself; asked over HTTP (scheduler-core 4.4).
 *
 * A set is made from the configuration and counted: whoever has a question under way keeps the set
 * that he asked. Answers come in later turns; any question can be cancelled and is then not
 * answered. Nothing here knows the scheduler. Loop thread only.
 */
#ifndef KOORD_SCHEDULER_EXTENDER_H
#define KOORD_SCHEDULER_EXTENDER_H
#include "net/http.h"

struct attempt_advice;
struct extender;
struct extender_call;
struct extenders;
struct kobj;
struct loop;
struct pod;
struct preemption;
struct sched_extender;

enum extender_verb {
    EXTENDER_FILTER,
    EXTENDER_PRIORITIZE,
    EXTENDER_PREEMPT,
    EXTENDER_BIND,
    EXTENDER_VERBS
};

struct extenders_opts {
    const struct sched_extender *items; /* copied; those that may not be ignored come first */
    size_t n;
    http_dial_fn dial; /* for tests; NULL: sockets */
    void *dial_arg;
};
/* Reads the files of certificates, and again when they are renewed. *ret is NULL when there are no
 * extenders. */
int extenders_new(struct loop *l, const struct extenders_opts *o, struct extenders **ret,
                  struct kerr *err);
struct extenders *extenders_ref(struct extenders *s);   /* NULL is fine */
struct extenders *extenders_unref(struct extenders *s); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(extenders_unref, struct extenders *)
/* The first that serves the verb and is interested in the pod; NULL: none. set may be NULL. */
struct extender *extenders_first(const struct extenders *s, enum extender_verb verb,
                                 const struct pod *p);

/* ---- candidates ------------------------------------------------------------------------------ */

struct round_node {
    const char *name; /* copied */
    struct kobj *node;
};
/* What was said about every node; NULL with err when an extender that may not be ignored failed. */
typedef void (*round_fn)(void *arg, const struct attempt_advice *said, const struct kerr *err);
/* Filters one after the other, then scores. NULL when nobody is to be asked. The advice lives as
 * long as the round, which ends with round_free() only. */
struct round *round_start(struct extenders *s, struct kobj *pod, const struct round_node *nodes,
                          uint32_t n, round_fn fn, void *arg);
struct round *round_free(struct round *r); /* NULL is fine; always returns NULL */

/* ---- making room ----------------------------------------------------------------------------- */

/* The best plan that is left, NULL: none; or err. */
typedef void (*extender_preemption_fn)(void *arg, const struct preemption *left,
                                       const struct kerr *err);
/* plans: the best first, linked by next; copied. NULL when nobody is to be asked. */
struct extender_preemption *extender_preemption_start(struct extenders *s, struct kobj *pod,
                                                      const struct preemption *plans,
                                                      extender_preemption_fn fn, void *arg);
struct extender_preemption *extender_preemption_free(
    struct extender_preemption *c); /* NULL is fine; always returns NULL */

/* ---- binding --------------------------------------------------------------------------------- */

typedef void (*extender_bound_fn)(void *arg, const struct kerr *err);
/* The extender must live until the answer. */
struct extender_call *extender_bind(struct extender *e, const struct kobj *pod, const char *node,
                                    extender_bound_fn fn, void *arg);
/* No answer follows. NULL is fine; always returns NULL. */
struct extender_call *extender_cancel(struct extender_call *c);
bool extender_is_ignorable(const struct extender *e);
#endif
