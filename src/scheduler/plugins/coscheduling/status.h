/* status.h - how far a PodGroup has got: its phase and counts from its pods (sched-gang 5). Pure.
 */
#ifndef KOORD_SCHEDULER_COSCHEDULING_STATUS_H
#define KOORD_SCHEDULER_COSCHEDULING_STATUS_H
#include "base/base.h"

struct arena;
struct kobj;
struct podgroup;
struct podgroup_status;

struct podgroup_facts {
    struct kobj *const *pods; /* members that are there */
    size_t n;
    uint32_t waiting;           /* Reservations among the members that have no node yet */
    uint32_t placed;            /* and those that have one */
    uint32_t succeeded, failed; /* members that have ended and are not among the pods any more */
    nsec_t now;
};
/* Does its status still follow its pods? */
bool podgroup_is_watched(const struct podgroup *g);
/* The status after one step; texts are in the arena, or the PodGroup's. */
void podgroup_plan(const struct podgroup *g, const struct podgroup_facts *f, struct arena *a,
                   struct podgroup_status *ret);
bool podgroup_status_equal(const struct podgroup_status *a, const struct podgroup_status *b);
#endif
