/* budgets.h - would the API server refuse this eviction because of a PodDisruptionBudget?
 *
 * A pod whose budget is used up is not asked for: another one may go instead, in the same round.
 * What was asked for counts until the round ends or the budget is seen to change. The server has
 * the last word.
 */
#ifndef KOORD_DESCHEDULER_BUDGETS_H
#define KOORD_DESCHEDULER_BUDGETS_H
#include "base/map.h"

struct kd_view;
struct kd_why;
struct pod;

struct budgets { /* all zero is empty */
    struct map used;
};
void budgets_fini(struct budgets *b);
/* And take one of the disruptions that are allowed. */
bool eviction_budgets_take(struct budgets *b, const struct kd_view *v, const struct pod *p,
                           struct kd_why *why);
/* Some budget covers the pod. */
bool budgets_cover(const struct kd_view *v, const struct pod *p);
#endif
