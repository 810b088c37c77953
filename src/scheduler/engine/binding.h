/* binding.h - a pod on its way to its node, as a state machine (scheduler-core 5.7, 6).
 *
 * bind.c has the states, their transitions and the ends; permit.c, prebind.c, bindwrite.c and
 * bindsend.c what is done in them. The pod is assumed on its node all the while, and the next
 * attempts go on.
 *
 *     START --> HELD --> LINE --> PRE_BIND --> WRITE --> SEND --> ASK
 *        \________________/            \________________/  ^______/|
 *                                              RESTORE <----------+
 *
 * From every state a binding may be over. Until SEND it can be given up at any moment; afterwards
 * an answer that is not a success does not say that nothing happened: it may have been lost on the
 * way, or refused because an earlier try had arrived. So before the room is given to others the
 * server is asked what is true, until it answers; the informer may be faster. Loop thread.
 */
#ifndef KOORD_SCHEDULER_ENGINE_BINDING_H
#define KOORD_SCHEDULER_ENGINE_BINDING_H
#include "scheduler/engine/internal.h"
#include "scheduler/observe/times.h"

struct kj_val;

enum bind_state {
    BIND_START,    /* in the turn of its attempt: plugins are asked for their permits */
    BIND_HELD,     /* waits for permits */
    BIND_LINE,     /* has them, and waits for room among the bindings under way */
    BIND_DOOMED,   /* rejected while another is being undone: its turn comes after that */
    BIND_PRE_BIND, /* plugins prepare the node */
    BIND_WRITE,    /* what plugins want on the object, and the binding cannot carry, is written */
    BIND_SEND,     /* the binding is with the server, or with an extender */
    BIND_ASK,      /* its answer is no success: the server is asked what is true */
    BIND_RESTORE,  /* it came to nothing: what was written is taken back */
    BIND_OVER,     /* plugins that are told of it have nothing to do any more */
    BIND_STATES
};
struct written { /* what a plugin wants on the object */
    struct written *next;
    bool label;
    bool patched;      /* it may be on the object, by a patch of ours */
    const char *value; /* behind the key; NULL: the key goes */
    char key[];
};
struct binding {
    struct kuid uid; /* first: uidmap */
    struct ks_bind pub;
    struct scheduler *s;
    struct active_profile *active; /* NULL: its profile is gone, and it is only verified */
    struct subject subject;
    struct batch *batch;            /* that it is part of; NULL: none */
    char object_uid[KUID_TEXT_MAX]; /* of what it stands for */
    struct binding *next, **link;
    enum bind_state state;
    struct waitlist *in; /* the line, or the doomed; NULL: neither */
    struct binding *ahead, *behind;
    char *node;
    bool bound;     /* the server has it */
    bool was_bound; /* the server had accepted it; we only wonder why nobody confirms */
    /* START, HELD */
    uint64_t waits; /* slots whose permit is missing */
    struct permit { /* [slot], when there is somebody to wait for: when it runs out */
        nsec_t due, wait;
    } * permit;
    /* DOOMED */
    uint64_t rejectors; /* slots that did it, */
    char *verdict;      /* and why */
    enum ks_nomination nomination;
    bool quiet;
    /* PRE_BIND */
    uint32_t at;     /* the plugin at work */
    uint64_t flight; /* slots that have something to do */
    bool asked;      /* that plugin will call ks_bind_done() */
    /* WRITE, RESTORE */
    struct written *written;
    bool wrote; /* some of it may be on the object */
    bool lost;  /* RESTORE: another has bound it */
    int tries;
    /* SEND, ASK */
    struct extenders *extenders; /* whose binder is asked; NULL: the server is asked by us */
    struct extender *binder;     /* NULL again when its failure was ignored */
    struct extender_call *asked_binder;
    nsec_t wait;     /* before the next question */
    struct kerr err; /* of the binding */
    char *version;   /* pub.version */
    int conflicts;   /* so many times it was sent again */
    /* RESTORE */
    struct failure failure; /* why; reported when all is as it was */
    char *message;          /* of the failure */
    /* in any state */
    struct kube_call *call;
    struct timer *timer;
    nsec_t since;        /* when it began */
    uint64_t turn_begun; /* in which turn that was */
    char *nominated;     /* the node that was nominated for the pod until then; NULL: none */
    bool said;           /* HELD: its condition says what it waits for */
    nsec_t began;        /* what goes on: pre-bind, or the binding; by the stopwatch */
    nsec_t turn;         /* of the pre-bind plugin at work, likewise */
    bool each;           /* plugins are measured one by one */
};

/* bind.c */
/* To the next state, where its work begins. The binding may be over when this returns. */
void binding_enter(struct binding *b, enum bind_state to);
/* What went on until now is over; what comes next begins. */
void binding_count_time(struct binding *b, enum lap what, enum ks_code code);

/* The ends. The server has it on its node; the pod is not there any more; it is there and has no
 * node. */
void binding_succeeded(struct binding *b);
void binding_vanished(struct binding *b);
/* The pod has another node; what was written is taken back before. */
void binding_lost(struct binding *b);
void binding_give_up(struct binding *b, const struct failure *f);
/* The last, as an error with this text; what was written is taken back before. */
void binding_failed(struct binding *b, const char *text);
/* The last, because a plugin said no to the one node that there was, or went wrong. */
void binding_refused(struct binding *b, const char *point, uint32_t slot, enum ks_code code,
                     const struct ks_texts *why);
/* The same for one reason that is no plugin's own. */
void binding_rejected(struct binding *b, uint64_t rejectors, const struct ks_rejection *r);

/* permit.c - plugins may hold the pod; then it waits for room. */
bool permit_ask(struct binding *b, struct arena *a); /* false: the binding is over */
void permit_hold(struct binding *b);                 /* HELD */
void permit_line_up(struct binding *b);              /* LINE */
void permit_refuse(struct binding *b, uint64_t rejectors, const struct ks_rejection *r);
void waitlist_join(struct waitlist *l, struct binding *b);
void waitlist_leave(struct binding *b); /* wherever it waits, if it does */

/* prebind.c - plugins prepare the node for the pod. */
/* Who has something to do, and whether that may wait for others than the API server. False: the
 * binding is over. */
bool prebind_flight(struct binding *b, bool *ret_waits);
void prebind_start(struct binding *b);  /* PRE_BIND */
void prebind_cancel(struct binding *b); /* the plugin at work will not be heard any more */
void prebind_done(struct ks_bind *pub, enum ks_code code, const char *why); /* ks_bind_done() */

/* bindwrite.c - what plugins want on the object. */
void bindwrite_want(struct ks_bind *pub, bool label, const char *key, const char *value);
void bindwrite_annotations(const struct ks_bind *pub, struct kjw *w); /* that the binding carries */
bool bindwrite_is_needed(const struct binding *b); /* beside what the binding carries */
void bindwrite_start(struct binding *b);           /* WRITE */
void bindwrite_restore(struct binding *b);         /* RESTORE */
void bindwrite_fini(struct binding *b);

/* bindsend.c - the binding itself, and what became of it. */
void bindsend_choose(struct binding *b); /* who binds: the server, or an extender */
void bindsend_start(struct binding *b);  /* SEND */
/* The informer has seen what became of the pod: the binding is over, or what was written is being
 * taken back. */
bool bindsend_is_settled(struct binding *b);
void bindsend_ask(struct binding *b); /* ASK */
/* An answer of the server shows the object: its version is noted. */
void bindsend_saw(struct binding *b, const struct kj_val *object);
void bindsend_fini(struct binding *b);
#endif
