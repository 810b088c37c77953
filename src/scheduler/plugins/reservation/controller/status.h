/* status.h - what the status of a Reservation should say (sched-reservation 6, 12).
 *
 * A function of objects and the time alone. Results live in the arena and borrow from the objects.
 */
#ifndef KOORD_SCHEDULER_RESERVATION_STATUS_H
#define KOORD_SCHEDULER_RESERVATION_STATUS_H
#include "api/koord/reservation_life.h"

struct arena;

/* Condition Ready of one that has a node and that nobody can use: our own word. */
#define RESERVATION_REASON_INVALID "Invalid"

struct resv_facts {
    struct kobj *const *pods; /* that name it as theirs */
    size_t npods;
    enum { RESV_NODE_KNOWN, RESV_NODE_NOT_KNOWN, RESV_NODE_GONE } node; /* of those with one */
    nsec_t now;
};
struct resv_plan {
    bool writes;                  /* the status becomes this */
    struct reservation_status to; /* when it does */
    const char *reason, *text;    /* of the event that tells of it; NULL: there is none */
    bool warning;
    bool asks_for_node; /* nothing can be said before it is known whether the node is there */
    nsec_t again;       /* time to the next change by itself; 0: there is none */
};
/* For one that has not ended. */
void resv_plan_status(const struct reservation *r, const struct resv_facts *f, struct arena *a,
                      struct resv_plan *ret);
#endif
