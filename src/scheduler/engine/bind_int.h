/* bind_int.h - a pod on its way to its node: what bind.c, permit.c and prebind.c share. */
#ifndef KOORD_SCHEDULER_ENGINE_BIND_INT_H
#define KOORD_SCHEDULER_ENGINE_BIND_INT_H
#include "scheduler/engine/internal.h"
#include "scheduler/observe/times.h"

enum stage {
    STAGE_PERMIT,
    STAGE_LINE, /* has its permits and waits for room */
    STAGE_PRE_BIND,
    STAGE_PATCH,
    STAGE_BIND,
    STAGE_OVER /* being undone: who is told of it by plugins has nothing to do any more */
};
struct written { /* what a plugin wants on the pod */
    struct written *next;
    bool label;
    char *key, *value;
};
struct binding {
    struct kuid uid; /* first: uidmap */
    struct ks_bind pub;
    struct scheduler *s;
    struct splan *plan; /* NULL: only verified */
    struct binding *next, **link;
    struct waitlist *in; /* the line, or the doomed; NULL: neither */
    struct binding *ahead, *behind;
    uint64_t rejectors; /* doomed: slots that did it, */
    char *verdict;      /* and why */
    char *node;
    enum stage stage;
    uint64_t waits; /* slots whose permit is missing */
    bool held;      /* until they have come */
    struct permit { /* [slot], when there is somebody to wait for: when it runs out */
        nsec_t due, wait;
    } * permit;
    nsec_t since;    /* of the wait for permits */
    nsec_t began;    /* what goes on: pre-bind, or the binding; by the stopwatch */
    nsec_t turn;     /* of the pre-bind plugin at work, likewise */
    bool each;       /* plugins are measured one by one */
    uint32_t at;     /* the pre-bind plugin at work */
    uint64_t flight; /* slots that have something to do in pre-bind */
    bool asked;      /* that plugin will call ks_bind_done() */
    struct written *written;
    int tries; /* to write it */
    struct kube_call *call;
    struct extenders *extenders; /* whose binder was asked; NULL: the server is asked by us */
    struct extender *binder;     /* NULL again when its failure was ignored */
    struct extender_call *asked_binder;
    struct timer *timer;
    nsec_t wait;     /* before the next question */
    bool was_bound;  /* the server had accepted it; we only wonder why nobody confirms */
    struct kerr err; /* of the binding */
};

/* bind.c */
/* What went on until now is over; what comes next begins. */
void binding_count_time(struct binding *b, enum lap what, enum ks_code code);
/* The three ends before a binding is sent. The pod is not there any more, or has another node; it
 * is there and has none; a plugin said no to the one node that there was, or went wrong. */
void binding_vanished(struct binding *b);
void binding_give_up(struct binding *b, const struct failure *f);
void binding_refused(struct binding *b, const char *point, uint32_t slot, enum ks_code code,
                     const struct ks_texts *why);
/* The same for one reason that is no plugin's own. */
void binding_rejected(struct binding *b, uint64_t rejectors, const char *why);
/* The same when that which is being undone now is. Until then it can be neither let go nor rejected
 * once more. */
void binding_doom(struct binding *b, uint64_t rejectors, const char *why);
void binding_send(struct binding *b); /* all is done: now the binding itself */

/* permit.c - plugins may hold the pod. False: the binding is over. */
bool permit_ask(struct binding *b, struct arena *a);
void permit_hold(struct binding *b);    /* until those that were missed have come */
void permit_release(struct binding *b); /* it does not wait any more, whatever the reason */
void permit_refuse(struct binding *b, uint64_t rejectors, const char *why);
void permit_line_up(struct binding *b); /* nobody holds it: it goes on when there is room */
void waitlist_join(struct waitlist *l, struct binding *b);
void waitlist_leave(struct binding *b); /* wherever it waits, if it does */

/* prebind.c - plugins prepare the node for the pod; what they want is written on it. */
/* Who has something to do, and whether that may take time. False: the binding is over. */
bool prebind_flight(struct binding *b, bool *ret_takes_time);
void prebind_start(struct binding *b);
void prebind_cancel(struct binding *b); /* the plugin at work will not be heard any more */
void prebind_fini(struct binding *b);
#endif
