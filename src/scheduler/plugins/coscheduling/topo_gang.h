/* topo_gang.h - gangs that gather in the network: the plan of a round, and where members go that
 * come later (sched-gang 7.5).
 *
 * The first member of a round makes the plan, the others go where it says. Without the argument
 * awareNetworkTopology, or without a tree, a gang's network-topology-spec is ignored, with an
 * event. Loop thread.
 */
#ifndef KOORD_SCHEDULER_COSCHEDULING_TOPO_GANG_H
#define KOORD_SCHEDULER_COSCHEDULING_TOPO_GANG_H
#include "scheduler/plugins/coscheduling/coscheduling.h"
#include "scheduler/plugins/coscheduling/topo_plan.h"

/* For pre_filter: narrows a member to its planned node, or to the domain where the others are. */
enum ks_code topo_gang_pre_filter(struct coscheduling *c, const struct ks_cycle *cycle,
                                  const struct ks_pod *p, struct ks_only *only,
                                  struct ks_texts *why);
/* For find_one: the plan is made with the first member. */
enum ks_code topo_gang_find_one(struct coscheduling *c, struct attempt *a, uint32_t *ret_row,
                                struct ks_texts *why);
/* A member that must be where the others are finds no room there: for suggest. */
bool topo_gang_suggest(void *self, struct attempt *a, struct ks_suggestion *ret);
/* Is another tree, or a node that comes into it, worth a try of this pod? For hints. */
bool topo_gang_worth(void *self, const struct ks_event *e, const struct pod *p);
#endif
