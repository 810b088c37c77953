/* witness.h - what the hooks did, for people: durations by level and file, events of pods.
 *
 * A pod whose annotation is refused is told of once, and again when the reason changes; so is the
 * resctrl group that a pod gets. For reconcile.c. Loop thread only.
 */
#ifndef KOORD_KOORDLET_HOOKS_WITNESS_H
#define KOORD_KOORDLET_HOOKS_WITNESS_H
#include "koordlet/hooks/reconcile.h"

struct witness;
struct witness *witness_new(const struct reconcile_env *env); /* borrowed */
struct witness *witness_free(struct witness *w);

void witness_asked(struct witness *w, const struct hook_plugin *plugin, enum hook_level level,
                   const struct hook_resources *answer, nsec_t began, bool failed);
/* A plugin refused the pod. */
void witness_refused(struct witness *w, const struct hook_plugin *plugin, const struct npod *p,
                     const struct kerr *err);
/* The pod is to have this resctrl group. */
void witness_resctrl(struct witness *w, const struct npod *p, const char *group);
/* Annotations of features that are on and that nobody can read: who uses them goes on as if they
 * were not there. */
void witness_annotations(struct witness *w, const struct podset *pods);
/* A round over all pods ends: what was not said again is over. */
void witness_round(struct witness *w);
#endif
