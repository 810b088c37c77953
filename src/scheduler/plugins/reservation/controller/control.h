/* control.h - Reservations come to their end, and their status tells who uses them
 * (sched-reservation 12).
 *
 * A controller of the plugin: it runs where the scheduler leads (framework/service.h), reads the
 * scheduler's informers of Reservations, pods and nodes, and decides from these objects alone.
 * Scheduling writes a Reservation when it gets a node, or why it gets none; everything after that
 * is written here. Loop thread only.
 */
#ifndef KOORD_SCHEDULER_RESERVATION_CONTROL_H
#define KOORD_SCHEDULER_RESERVATION_CONTROL_H
#include "scheduler/plugins/reservation/args.h"

struct controller_env;
struct controllers;
struct metrics;
struct resv_control;

struct resv_control_opts {
    const struct reservation_args *args; /* borrowed */
    struct metrics *metrics;             /* NULL: none are shown */
    /* The gate CleanExpiredReservationAllocated: pods lose the annotation that names a Reservation
     * when that is deleted. */
    bool clean_allocated;
};
/* For start() and stop() of struct ks_controller. */
struct resv_control *resv_control_new(struct controllers *all, const struct controller_env *env,
                                      const struct resv_control_opts *o);
struct resv_control *resv_control_free(struct resv_control *c); /* NULL is fine; returns NULL */
#endif
