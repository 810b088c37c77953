/* control.h - the status of PodGroups, written where the scheduler leads (sched-gang 5).
 *
 * The scheduler's watch leaves out pods that have ended: such a pod just goes. So the server is
 * asked what became of members that left, and when the scheduler begins to lead, which members had
 * ended before. Loop thread.
 */
#ifndef KOORD_SCHEDULER_COSCHEDULING_CONTROL_H
#define KOORD_SCHEDULER_COSCHEDULING_CONTROL_H
#include "scheduler/framework/service.h"

struct gang;
struct gang_control;
struct gang_member;

extern const struct ks_controller gangs_controller;
/* Its counts may have changed. c NULL: nobody leads here. */
void gang_control_touch(struct gang_control *c, const struct gang *g);
/* A member with a node went: it has ended, or was deleted. */
void gang_control_left(struct gang_control *c, const struct gang_member *m);
#endif
