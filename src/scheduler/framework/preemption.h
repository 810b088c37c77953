/* preemption.h - room for a pod at the cost of others: plans, and how they are found
 * (scheduler-core 8.18).
 *
 * What all plugins share that evict pods: the search over the nodes, the dry run on one of them,
 * disruption budgets, the choice. The plugin says which pods may be victims. A plan is only made
 * here; the engine carries it out. Everything lives in the attempt's arena.
 */
#ifndef KOORD_SCHEDULER_PREEMPTION_H
#define KOORD_SCHEDULER_PREEMPTION_H
#include "scheduler/framework/attempt.h"

struct budgets;

/* ---- plans ----------------------------------------------------------------------------------- */

struct preemption_node { /* what a plan does on one node */
    const char *node;
    const struct pod *const *victims; /* the most important first */
    uint32_t n, violations;           /* of disruption budgets */
    struct kobj *const *nominees;     /* pods that get the room */
    uint32_t nnominees;
};
struct preemption { /* all nodes of a plan, or none: they are carried out together */
    const struct preemption_node *nodes;
    uint32_t n;
    const char *reason;            /* what the victims are told; NULL: the usual words */
    bool keep;                     /* there is no plan, and nominations stay as they are */
    const struct preemption *next; /* the next best one, when the attempt wants all plans */
};
/* The node that the plan nominates for a pod; NULL: none. */
const char *preemption_node_for(const struct preemption *p, struct kuid uid);
/* Does the pod have a claim on some node, by a plan or by what the server says? */
bool ks_is_nominated(const struct ks_env *env, struct kuid uid);

/* ---- the extension point --------------------------------------------------------------------- */

struct post_filter_outcome {       /* what became of an attempt that found no node */
    enum ks_code code;             /* KS_SUCCESS: the plan is about to be carried out */
    const char *message;           /* as people will read it */
    const char *fit;               /* the same without what plugins said that make room */
    const struct preemption *plan; /* NULL: there is none */
    bool keep;                     /* room is being made already: nominations stay */
};
struct ks_post_filter { /* a member that is NULL takes no part */
    /* KS_SUCCESS with a plan, or KS_UNSCHEDULABLE; both with texts, if there is something to say.
     */
    enum ks_code (*plan)(void *self, struct attempt *a, struct preemption *ret,
                         struct ks_texts *why);
    /* When all have been asked, and extenders too; before the pod goes back to the queue. The
     * attempt is over: pods may be rejected and activated here. */
    void (*after)(void *self, const struct pod *p, const struct post_filter_outcome *o);
};

struct post_filter_result { /* what the plugins said */
    enum ks_code code;      /* of the last that was asked; KS_UNSCHEDULABLE when nobody was */
    struct preemption plan; /* KS_SUCCESS */
    struct ks_texts why;    /* with a plan: what its plugin said */
    bool keep;              /* somebody wants nominations to stay as they are */
    uint32_t searches;      /* plugins that looked for victims */
};
/* Asks them in turn; the first plan counts, and whoever says KS_UNRESOLVABLE has the last word. w
 * is told how long it took, and may be NULL. */
void post_filter_run(struct attempt *a, struct stopwatch *w, struct post_filter_result *ret);
void post_filter_finish(const struct profile *p, const struct pod *pod,
                        const struct post_filter_outcome *o, struct stopwatch *w);

/* ---- how a plan is found --------------------------------------------------------------------- */

struct preemption_rules { /* what differs between plugins; NULL and 0 stand for the usual */
    void *arg;
    /* May this pod of the row be evicted for the attempt's pod? NULL: its priority is lower. */
    bool (*may_evict)(void *arg, const struct attempt *a, const struct pod *victim, uint32_t row);
    /* Which of two is more important: as for qsort. NULL: by priority, then the longer life. */
    int (*compare)(void *arg, const struct attempt *a, const struct pod *x, const struct pod *y);
    /* Does the pod fit the row as it is now? NULL: attempt_fits(). */
    bool (*fits)(void *arg, struct attempt *a, uint32_t row);
    /* Why it does not, asked right after that. NULL: attempt_fits_texts(). */
    void (*explain)(void *arg, struct attempt *a, uint32_t row, struct ks_texts *why);
    /* What is said of a row where nobody may be evicted. NULL: the usual words. */
    const char *(*nobody)(void *arg, const struct attempt *a, uint32_t row);
    /* Does a victim whose budget does not allow it count as a violation? Asked right after `fits`
     * said no with it. NULL: yes. */
    bool (*violates)(void *arg);
    bool in_turn; /* victims stand in the order in which they were tried: violating ones first */
    struct budgets *budgets; /* NULL: none count */
    /* Victims of several rows count together, from the caller's budgets_begin() on: for plans. */
    bool shares_budgets;
    int64_t percentage; /* so many of the rows in question have to do, */
    int64_t absolute;   /* and at least so many. Both 0: all are tried */
};

struct victims { /* on one row */
    uint32_t row;
    const struct pod **pods; /* the most important first */
    uint32_t n, violations;
};
struct dry_run {
    struct attempt *a;
    const struct preemption_rules *rules;
    /* its own */
    const struct pod **pods;
    uint8_t *fate;
    uint32_t n, cap;
    struct attempt_verdict verdict;
};
/* Who would have to go from a row. KS_SUCCESS: those in *ret, which may be nobody; the array is
 * overwritten by the next call. KS_UNRESOLVABLE: nobody there may be evicted. KS_UNSCHEDULABLE: the
 * pod does not fit without them either, and `why` tells the reasons. The row is as before. */
enum ks_code dry_run_row(struct dry_run *d, uint32_t row, struct victims *ret,
                         struct ks_texts *why);
/* The same in two steps, for plans over several rows, each with a dry_run of its own: all that may
 * be evicted go, and it returns how many; when room has been given to whom it is for, they come
 * back one after the other as long as `fits` says yes. Both stay part of the overlay. */
uint32_t dry_run_remove(struct dry_run *d, uint32_t row);
void dry_run_spare(struct dry_run *d, uint32_t row, struct victims *ret);

/* The usual plan: one row, the cheapest, found by dry runs on all rows where the absence of pods
 * may help. For .plan. */
enum ks_code preemption_plan(const struct preemption_rules *r, struct attempt *a,
                             struct preemption *ret, struct ks_texts *why);
/* For a plan of another kind: may the attempt's pod evict others at all? Not when its policy
 * forbids it, nor while victims (`may_evict` says who counts) leave the node that is nominated for
 * it. */
bool preemption_is_eligible(const struct preemption_rules *r, const struct attempt *a,
                            struct ks_texts *why);
#endif
