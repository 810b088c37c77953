/* status.h - what the status of a Reservation should say (sched-reservation 6, 12).
 *
 * Functions of objects and the time alone; results live in the arena and borrow from the objects.
 */
#ifndef KOORD_SCHEDULER_RESERVATION_STATUS_H
#define KOORD_SCHEDULER_RESERVATION_STATUS_H
#include "api/koord/reservation_life.h"

struct arena;

/* Condition Ready of one that has a node and that nobody can use: our own word. */
#define RESERVATION_REASON_INVALID "Invalid"

/* Its time is over. */
void resv_status_expire(const struct reservation *r, const char *why, nsec_t now, struct arena *a,
                        struct reservation_status *ret);
/* Who uses it: those of the pods that are on its node and have not ended. False: the status says so
 * already. */
bool resv_status_use(const struct reservation *r, struct kobj *const *pods, size_t n, nsec_t now,
                     struct arena *a, struct reservation_status *ret);
/* What is wrong with it is in the conditions; fault NULL: not any more. False: they say so
 * already. */
bool resv_status_fault(const struct reservation *r, const char *fault, nsec_t now, struct arena *a,
                       struct reservation_status *ret);
#endif
