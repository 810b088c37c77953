/* rounds.h - plugins that act on more than kernel files, a round each: cookies of core scheduling,
 * classes of the network link, Terway's files. For reconcile.c.
 */
#ifndef KOORD_KOORDLET_HOOKS_ROUNDS_H
#define KOORD_KOORDLET_HOOKS_ROUNDS_H
#include "koordlet/hooks/reconcile.h"

struct metrics;

struct core_round;
struct core_round *core_round_new(struct host *h, struct metrics *m, const char *node_name);
struct core_round *core_round_free(struct core_round *c);
/* Puts the processes of all pods into their groups. */
void core_round_run(struct core_round *c, const struct hook_view *v, nsec_t now);
/* Takes all cookies from the processes of pods. */
void core_round_restore(struct core_round *c, const struct hook_view *v);

struct net_round;
struct net_round *net_round_new(struct host *h, const char *terway_dir);
struct net_round *net_round_free(struct net_round *n);
/* The link's classes; p: net_cls.classid of pods. act: not a dry run. */
void net_round_tc(struct net_round *n, const struct hook_view *v, bool act, nsec_t now,
                  struct plan *p);
/* Takes away what tc and Terway have of ours. */
void net_round_restore(struct net_round *n, bool tc, bool terway);
void net_round_terway(struct net_round *n, const struct hook_view *v, bool act, nsec_t now);
#endif
