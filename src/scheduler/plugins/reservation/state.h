/* state.h - one attempt of a pod that may use reservations: which ones, on which rows, and what
 * they have for it. Made in transform(), lives in the arena of the attempt.
 */
#ifndef KOORD_SCHEDULER_RESERVATION_STATE_H
#define KOORD_SCHEDULER_RESERVATION_STATE_H
#include "scheduler/plugins/reservation/match.h"
#include "scheduler/plugins/reservation/plugin.h"

enum { RESV_REQUESTS_MAX = 31 }; /* so that a set of them is a word; one more is for pods */
#define RESV_PODS (1u << RESV_REQUESTS_MAX)

struct resv_part { /* what a reservation has of one resource that the pod requests */
    int64_t cap, taken, kept;
    int64_t back; /* of taken: owners that are tried away */
    int64_t rest; /* that its pod counted for on the row, and does no more */
    int item;     /* its place in what is allocatable; -1: it is not */
    bool counted; /* owners are counted for it */
};
struct resv_match { /* a reservation that the pod may use */
    struct resv *r;
    struct resv_part *parts; /* [request] */
    uint32_t back;           /* owners that are tried away */
    int64_t rest_pods;
};
struct resv_row {
    uint32_t row;
    struct resv_match *items; /* by name */
    uint32_t n, cap;
    struct resv *nominated; /* when `asked` */
    int64_t score;          /* of it */
    bool asked;
};
struct resv_state {
    struct resv_plugin *x;
    struct match m;
    const struct resv *own; /* the pod is its reserve pod; NULL: it is another pod */
    bool operating;         /* a pod that will be a reservation itself */
    struct ks_request *requests;
    uint32_t nrequests;
    uint32_t ignored; /* set of requests that are not looked at */
    struct resv_row *rows;
    uint32_t nrows, cap;
    struct preallocation *pre; /* NULL: it takes over no pods */
    uint32_t *at;              /* [row]: place in rows + 1; NULL: there are none */
    uint32_t preferred;        /* row of the smallest order; KS_NO_ROW: none */
};

/* restore.c - finds what the pod may use, and frees it for the attempt. KS_SKIP: there is nothing,
 * and *ret NULL. */
enum ks_code state_make(struct resv_plugin *x, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_overlay *o, struct resv_state **ret, struct ks_texts *why);
/* NULL: the pod can use nothing there. */
static inline UNUSED struct resv_row *state_row(const struct resv_state *st, uint32_t row)
{
    return st->at && st->at[row] ? &st->rows[st->at[row] - 1] : NULL;
}
static inline UNUSED const struct resv_match *match_of(const struct resv_row *row,
                                                       const struct resv *r)
{
    for (uint32_t i = 0; r && i < row->n; i++)
        if (row->items[i].r == r)
            return &row->items[i];
    return NULL;
}
/* The row of its node, now. */
uint32_t resv_row_of(struct resv *r, const struct ks_nodes *n);
/* An owner is tried away, or is there again. */
void state_owner_moved(struct resv_state *st, const struct pod *other, uint32_t row, bool away);

/* filter.c - policies. */
struct resv_shortage {               /* why a row does not do */
    uint32_t by_node;                /* set of requests, and RESV_PODS */
    struct ks_texts *by_reservation; /* NULL: nobody reads them */
    uint32_t nby_reservation;
};
/* Which requests the row cannot give, with what the match has left (NULL: nothing). */
uint32_t fits_node(const struct resv_state *st, const struct ks_cycle *c,
                   const struct resv_row *row, const struct resv_match *with);
/* Is the row good for the pod? required: by a reservation. only: the one that counts; NULL: all. */
bool filter_with(const struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                 const struct resv_row *row, const struct resv_match *only, bool required,
                 struct resv_shortage *ret);
void shortage_texts(const struct resv_state *st, const struct resv_shortage *s, bool required,
                    struct ks_texts *out);
/* "Insufficient cpu by node", for a set. */
void by_node_texts(const struct resv_state *st, uint32_t set, struct ks_texts *out);

/* nominate.c - which of them, and how good it is. */
struct resv *nominate(struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                      struct resv_row *row);
#endif
