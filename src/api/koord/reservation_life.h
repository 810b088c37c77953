/* reservation_life.h - where a Reservation stands: its phases, its end, what is wrong with it
 * (sched-reservation 3, 12). Functions of the object alone, for whoever acts on one or explains it.
 */
#ifndef KOORD_API_KOORD_RESERVATION_LIFE_H
#define KOORD_API_KOORD_RESERVATION_LIFE_H
#include "api/koord/reservation.h"

struct arena;

/* ---- phases ---------------------------------------------------------------------------------- */

static inline bool reservation_has_node(const struct reservation *r)
{
    return !str_empty(r->status.node_name);
}
/* On a node, and open to owners. */
static inline bool reservation_is_available(const struct reservation *r)
{
    return reservation_has_node(r) && r->status.phase == RESERVATION_AVAILABLE;
}
/* The same, or it waits for something there. */
static inline bool reservation_is_active(const struct reservation *r)
{
    return reservation_is_available(r) ||
           (reservation_has_node(r) && r->status.phase == RESERVATION_WAITING);
}
/* Succeeded or Failed: it holds nothing any more. */
static inline bool reservation_has_ended(const struct reservation *r)
{
    return r->status.phase == RESERVATION_SUCCEEDED || r->status.phase == RESERVATION_FAILED;
}
/* Failed, and because its time was over or its node is gone. */
bool reservation_is_expired(const struct reservation *r);
/* Its first owner uses it up. */
static inline bool reservation_is_once(const struct reservation *r)
{
    return !r->spec.allocate_once.set || r->spec.allocate_once.v;
}

/* ---- the end --------------------------------------------------------------------------------- */

struct reservation_end {
    nsec_t when;
    const char *field; /* that says so: "spec.ttl", "spec.expires" */
};
/* When its time is over; false: never. A ttl of 0 means never, whatever `expires` says. Beside
 * `expires` a ttl of 24h counts as not given, since it is what the API server fills in. */
bool reservation_end(const struct reservation *r, struct reservation_end *ret);

/* ---- faults ---------------------------------------------------------------------------------- */

/* May it be given a node? Otherwise the message begins with the field's path. */
int reservation_check(const struct reservation *r, struct arena *a, struct kerr *err);
/* May anybody use it? An owner whose selector cannot be understood spoils it for all, and so does a
 * bad annotation that says what is Restricted. */
int reservation_check_use(const struct reservation *r, struct arena *a, struct kerr *err);
#endif
