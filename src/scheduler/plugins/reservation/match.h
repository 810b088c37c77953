/* match.h - which reservations a pod may use: owners, names, taints, affinity, exact amounts
 * (sched-reservation 3, 7.1).
 */
#ifndef KOORD_SCHEDULER_RESERVATION_MATCH_H
#define KOORD_SCHEDULER_RESERVATION_MATCH_H
#include "api/protocol/reservation.h"
#include "scheduler/plugins/reservation/cache.h"

struct node;

/* Reservations whose owners the pod may be one of, each once, in the arena: match_owner() has the
 * last word. NULL with *ret_n 0: there is none. */
struct resv **match_candidates(struct reservations *c, const struct pod *p, struct arena *a,
                               uint32_t *ret_n);
bool match_owner(const struct resv *r, const struct pod *p);

struct match {         /* what a pod wants of reservations */
    bool ignores;      /* takes of all, owns none */
    bool has_affinity; /* must use one */
    bool omit_node_labels;
    struct reservation_affinity affinity;
    struct exact_match_spec exact;
    const struct nodesel *terms; /* NULL: any */
    reslist requests;
};
/* -EINVAL: an annotation does not decode. */
int match_init(struct match *m, const struct pod *p, struct arena *a, struct kerr *err);

enum match_verdict {
    MATCH_YES,
    MATCH_NOT_OWNER,
    MATCH_OTHER_NAME,
    MATCH_UNSCHEDULABLE,
    MATCH_TAINTED,
    MATCH_AFFINITY,
    MATCH_NOT_EXACT,
    MATCH_VERDICTS
};
/* Of one whose owners match. node: where it is. *ret_taint: with MATCH_TAINTED, the first that is
 * not tolerated. */
enum match_verdict match_owned(const struct match *m, const struct resv *r, const struct node *node,
                               const struct taint **ret_taint);
#endif
