/* attempt.h - one pod against all nodes: filters, scores, the choice, and why (scheduler-core 5).
 *
 * Pure over cache, nominator and objects: nothing is assumed or written, so the same code
 * schedules, explains to people, and tries out preemption. What it changes of rows to try something
 * is taken back at its end. Everything lives in the arena, which dies with the attempt; only the
 * shapes (shapes.h) live on. Loop thread, in one piece.
 */
#ifndef KOORD_SCHEDULER_ATTEMPT_H
#define KOORD_SCHEDULER_ATTEMPT_H
#include "scheduler/framework/profile.h"

struct attempt_opinion;
struct stopwatch;
struct nodecache;
struct nominator;
struct shape;
struct shapes;
struct strbuf;
struct uidmap;

/* A row that no plugin rejected, but a pre_filter left out. */
enum { ATTEMPT_LEFT_OUT = 255 };

/* Where the pods of a job go, all of them together. */
struct attempt_plan {
    struct attempt_place {
        struct kobj *pod;
        const char *node; /* NULL: nowhere */
    } * items;
    uint32_t n;
    int64_t min;                  /* fewer are of no use */
    const struct uidmap *members; /* what is nominated for them is theirs; may be NULL */
};

struct attempt {
    /* given */
    const struct profile *profile;
    struct nodecache *cache;
    const struct nominator *nominator; /* NULL: nobody is nominated */
    struct shapes *shapes;             /* NULL: nothing is reused */
    uint64_t objects_generation;
    struct kobj *obj;
    const struct attempt_advice *advice; /* NULL: no extender has a say */
    bool all_plans;                      /* for making room: not the best one alone */
    struct stopwatch *stopwatch;         /* NULL: nobody wants to know how long it takes */
    /* made */
    struct arena *arena;
    struct ks_cycle cycle;
    struct ks_pod pod;
    struct shape *shape, *domains; /* what is kept of LOCAL plugins, and of DOMAIN ones */
    bool fresh, fresh_scores;      /* nothing was kept with the shape, or no scores were */
    bool fresh_domains;
    struct ks_dirty dirty, domains_dirty; /* otherwise: the rows that changed since */
    uint32_t n, feasible;
    uint8_t *by;                 /* slot + 1 of the first that rejected the row; 0: none did */
    uint8_t *why;                /* that plugin's reason */
    uint8_t *with_nominated;     /* rows judged with nominated pods there; NULL: none was */
    void **state, **score_state; /* per slot */
    void **carried;              /* per slot: what transform() returned; NULL: nothing was */
    uint64_t asked;              /* slots whose pre_filter was */
    uint64_t skip_filter;        /* slots that take no part */
    uint64_t skip_score;         /* the same; when there was a choice */
    uint64_t rejectors;          /* slots; when there is no candidate */
    uint64_t pending;            /* of these: they wait for another component */
    enum ks_code code;           /* not success: a pre_filter rejected the pod, or an error */
    const char *text;            /* then why */
    struct ks_only only;
    const char *left_out;    /* why rows were left out */
    uint64_t narrowed;       /* slots that did it */
    const char *score_error; /* a pre_score failed: matters when there is a choice */
    int64_t *total;          /* weighted scores of candidates */
    int64_t **score;         /* [slot][row] before weights; made when cycle.complete */
    uint64_t scored;         /* slots that gave scores */
    const struct attempt_opinion **opinion; /* by row, when there is advice */
    bool nominated_first, nominated_once;
    bool nominated_fits;             /* then: it fits there, and is tried nowhere else */
    bool found_one;                  /* a plugin named the one row */
    const struct attempt_plan *plan; /* find_one() has one for the pod's whole job; NULL: none */
    const char *node;                /* given: the one in question; NULL: all are */
    struct attempt_trial *trial;
    /* changes of rows, for the whole attempt and within it */
    struct ks_overlay {
        struct nodecache *cache;
        struct attempt *told; /* attempts whose states follow changes */
        struct attempt *of;   /* whose transform() is asked right now */
    } own, *overlay;          /* own, or that of the attempt around this one */
    uint32_t before, after;   /* marks: of transform() */
    uint64_t rows;            /* slots whose row data is read in this attempt */
    struct attempt *told_next;
    bool follows, pod_replaced, counted;
    uint8_t counting[PROFILE_PLUGINS_MAX]; /* slots whose state counts pods, when they were */
    uint32_t ncounting;
    const struct kuid *ignored; /* pods whose nominations do not count */
    uint32_t nignored;
    const struct uidmap *ignored_set; /* further ones; NULL: none. find_one() may set it */
};

/* What extenders said, who are asked before the attempt: about nodes by their names, because rows
 * may have moved since. Candidates that they were not asked about are none. */
struct attempt_opinion {
    const char *node;
    enum ks_code code; /* not success: they turned the node down */
    const char *why;   /* then; "": they did not say */
    int64_t score;     /* to be added to the total, weights included */
};
struct attempt_advice {
    const struct attempt_opinion *items;
    uint32_t n;
};
struct attempt_input {
    const struct profile *profile;
    struct nodecache *cache;
    const struct nominator *nominator;
    struct shapes *shapes;
    const struct objects *objects;
    struct kobj *pod;
    nsec_t now;           /* wall clock */
    bool complete;        /* all scores are wanted; nothing is reused */
    bool nominated_first; /* the node that is nominated for the pod is the only one, if it fits
                             there */
    bool nominated_once;  /* where pods are nominated, rows are not looked at without those pods */
    const struct attempt_advice *advice;
    bool all_plans;
    struct stopwatch *stopwatch;
    const char *node; /* a plan has chosen it: others do not count; NULL: all are in question */
    /* The attempt is made while another one is, on rows as that one sees them now: for the pods of
     * a job. Nothing is reused. */
    struct attempt *within;
    const struct kuid *ignored; /* pods whose nominations do not count, as of the same job */
    uint32_t nignored;
    const struct uidmap *ignored_set; /* further ones, when there are many; NULL: none */
};
/* The attempt must not move in memory until attempt_end(). */
void attempt_init(struct attempt *a, const struct attempt_input *in, struct arena *arena);
/* Only the first part of attempt_filter(): the plugins have prepared themselves, a->code says
 * whether one rejects the pod, and no row was looked at. For attempts within an attempt that are
 * about few rows: attempt_may_have() and attempt_fits(). */
void attempt_prepare(struct attempt *a);
/* No pre_filter has left the row out. */
bool attempt_may_have(const struct attempt *a, uint32_t row);
/* Afterwards a->feasible candidates are left, or a->code, a->rejectors and the message say why
 * there is none. */
void attempt_filter(struct attempt *a);
/* All that was changed of rows since it began is taken back: no more questions, but what was found
 * stays to be read. Nothing may happen to the cache before, but that the pod is assumed. Attempts
 * within an attempt end first, the latest of them before the others. Twice is fine. */
void attempt_end(struct attempt *a);
/* -1 when a plugin failed: a->code and a->text say so. */
int attempt_score(struct attempt *a);
/* Do two attempts come to the same verdicts and the same order of candidates? -EBADMSG: no. For
 * tests, which let every attempt that reused something be made again without. */
int attempt_compare(const struct attempt *a, const struct attempt *b, struct kerr *err);
/* A random one among the best candidates. */
uint32_t attempt_pick(const struct attempt *a, struct loop *l);
/* Fills a->rejectors and a->pending from the verdicts on all rows: whom the pod waits for. The
 * attempt does so by itself where no row does. */
void attempt_note_rejectors(struct attempt *a);
/* A candidate that was picked is none any more. */
void attempt_refuse(struct attempt *a, uint32_t row);
/* The plugin in this slot has refused a row, which is no candidate any more: nor are those that it
 * would refuse too. Returns how many. */
uint32_t attempt_refuse_alike(struct attempt *a, uint32_t slot);
/* Plugins may change what the pod asks for on this row; *ret_changed: one did, and a->pod says
 * what. The slot that failed, with all reservations undone, or -1. */
int attempt_resize(struct attempt *a, uint32_t row, bool *ret_changed, struct ks_texts *why);
/* The reservation that the pod takes on the row: the slot that refused, or -1. */
int attempt_nominate(struct attempt *a, uint32_t row, enum ks_code *ret_code, struct ks_texts *why);
/* The reservations of all plugins, or none: the slot that refused, or -1. */
int attempt_reserve(struct attempt *a, uint32_t row, enum ks_code *ret_code, struct ks_texts *why);

/* A plugin is called next: its state, and its row data as the rows are now. */
static inline void attempt_enter(struct attempt *a, uint32_t slot, void *state)
{
    struct rowset *rows = a->profile->slots[slot].rows;

    a->cycle.state = state;
    a->cycle.rows = rows ? rowset_rows(rows) : NULL;
    if (a->rows >> slot & 1)
        rowset_sync(rows, a->cycle.now);
}
/* Is the row data of all plugins that read some what it would be if it were made now? -EBADMSG: no.
 * For tests. */
int attempt_verify_rows(struct attempt *a, struct kerr *err);

/* ---- words ----------------------------------------------------------------------------------- */

enum ks_code attempt_code(const struct attempt *a, uint32_t row);
/* The plugin that rejected the row; NULL when none did, or it was left out. */
const char *attempt_plugin(const struct attempt *a, uint32_t row);
void attempt_texts(struct attempt *a, uint32_t row, struct ks_texts *out);
/* What plugins show of a row: members by the names of the plugins that have something to show. */
void attempt_show(struct attempt *a, uint32_t row, struct kjw *w);
/* "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable." */
void attempt_message(struct attempt *a, struct strbuf *out);
/* The same sentence from any texts: counts and sorts. */
struct tally;
struct tally *tally_new(struct arena *a);
void tally_add(struct tally *t, const char *text, uint32_t count);
void tally_format(const struct tally *t, uint32_t total, struct strbuf *out);
/* The one node that was chosen does not do. */
void tally_one_node(const struct ks_texts *why, struct strbuf *out);

/* ---- overlays and dry runs ------------------------------------------------------------------- */

/* A dry run: rows are changed with ks_overlay_*() on a->overlay, then comes this question. Whoever
 * changes rows takes it back. */
struct attempt_verdict {
    uint8_t by, why; /* as in the attempt; by 0: it fits */
    bool nominated;  /* said with the nominated pods of the row there */
    bool second;     /* without them, after it was looked at with them */
};
/* Would the pod fit the row as it is now, nominated pods considered? ret may be NULL. */
bool attempt_fits(struct attempt *a, uint32_t row, struct attempt_verdict *ret);
/* Why attempt_fits() has just said no. */
void attempt_fits_texts(struct attempt *a, uint32_t row, const struct attempt_verdict *v,
                        struct ks_texts *out);
#endif
