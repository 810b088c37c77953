/* budgets.h - disruption budgets: which pods may be evicted without breaking one
 * (scheduler-core 8.18, step 5).
 *
 * Made from the PodDisruptionBudgets of the object cache, and made again only when one of them
 * changed: a plugin that has budgets names kind_pdb among its kinds. Objects are borrowed. Loop
 * thread.
 */
#ifndef KOORD_SCHEDULER_BUDGETS_H
#define KOORD_SCHEDULER_BUDGETS_H
#include "base/base.h"

struct budgets;
struct pod;
struct objects;

struct budgets *budgets_new(const struct objects *w); /* NULL: no budgets */
struct budgets *budgets_free(struct budgets *b);
DEFINE_CLEANUP(budgets_free, struct budgets *)
/* Before the first question of an attempt. */
void budgets_refresh(struct budgets *b);
/* All budgets are full again: the pods of the next node, or of the next plan, are asked about. */
void budgets_begin(struct budgets *b);
/* The pod goes. true: some budget does not allow it. */
bool budgets_take(struct budgets *b, const struct pod *p);
/* One that was taken since the beginning stays after all. */
void budgets_give(struct budgets *b, const struct pod *p);
#endif
