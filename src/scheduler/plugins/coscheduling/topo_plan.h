/* topo_plan.h - which member of a gang goes to which node of the network topology, decided for all
 * of them with the first (sched-gang 7.4, 7.5).
 *
 * A plan is made within the attempt of the first member: each node is asked how many members it has
 * room for, by trying them there one after the other in an overlay; topo_solve() spreads them; then
 * all of them are placed in an overlay as the plan says. Where that fails (members that differ, or
 * that mind each other across nodes) the node counts for as many as had room, and it is solved
 * again. Members get nodes in the order of their index, so neighbours in rank are neighbours in the
 * network.
 */
#ifndef KOORD_SCHEDULER_COSCHEDULING_TOPO_PLAN_H
#define KOORD_SCHEDULER_COSCHEDULING_TOPO_PLAN_H
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/coscheduling/topo_network.h"
#include "scheduler/plugins/coscheduling/topo_solve.h"

struct attempt;
struct topo_plan;

struct topo_job {
    const struct network_topology_spec *spec;
    struct kobj *const *pods; /* members without a node, by index and name */
    uint32_t n;
    const int64_t *score; /* by row: between domains that are equal otherwise; NULL: none */
};
/* Which one goes before which: by index, those without one last, then by name. For qsort() over
 * pods. */
int topo_compare_pods(const void *a, const void *b);

/* In find_one() of the first member. KS_SUCCESS: *ret is the caller's. The profile's plugins are
 * asked about each member: whoever makes plans must take no part then (topo_network.planning). */
enum ks_code topo_plan_make(struct topo_network *n, struct attempt *a, const struct topo_job *job,
                            struct topo_plan **ret, struct ks_texts *why);
struct topo_survey {         /* in the arena of the attempt */
    const uint32_t *slots;   /* by row: so many of the members, in their order, have room there */
    const char *fit;         /* why rows have no more: "0/3 nodes are available: ..." */
    uint32_t layer;          /* of the rooms: where they must gather, or the topmost */
    struct topo_room *rooms; /* without a tree or rules: none */
    uint32_t nrooms;
};
/* The first part of a plan, for people: how much room there is. spec may be NULL. */
void topo_survey(struct topo_network *n, struct attempt *a, const struct topo_job *job,
                 struct topo_survey *ret);
struct topo_plan *topo_plan_free(struct topo_plan *p); /* NULL is fine; always returns NULL */
/* The node of a member; NULL: it is not in the plan. */
const char *topo_plan_node(const struct topo_plan *p, struct kuid uid);

/* Those that are in the plan, by UID. */
const struct uidmap *topo_plan_members(const struct topo_plan *p);

/* A member of a gang that has others on nodes already: the rows where it may go, so that they stay
 * together (koord#3181). nodes: of the others. KS_SKIP: anywhere. */
enum ks_code topo_stay(const struct topo_tree *t, const struct network_topology_spec *spec,
                       const char *const *nodes, uint32_t n, const struct ks_cycle *c,
                       struct ks_only *only, struct ks_texts *why);

/* ---- topo_score.c ---------------------------------------------------------------------------- */

/* Single pods with a selector (7.6): for pre_score, score; normalize with ks_normalize_reversed. */
enum ks_code topo_pre_score(struct topo_network *n, const struct ks_cycle *c,
                            const struct ks_pod *p, void **ret_state);
void topo_score(const struct ks_cycle *c, struct ks_span s, int64_t *restrict out);
#endif
