/* toleration.h - which taints a pod bears. No state; safe on any thread. */
#ifndef KOORD_API_TOLERATION_H
#define KOORD_API_TOLERATION_H
#include "api/types.h"

/* The operators Lt and Gt count only with the gate TaintTolerationComparisonOperators. */
enum { TOL_COMPARE = 1 << 0 };
bool toleration_tolerates(const struct toleration *t, const struct taint *taint, unsigned flags);
/* Some toleration of the list does. */
bool tolerations_tolerate(const tolerationlist *l, const struct taint *taint, unsigned flags);

/* Sets of effects: TAINT_BIT(TAINT_NO_SCHEDULE) | ... */
#define TAINT_BIT(effect)  (1u << (effect))
#define TAINT_HARD_EFFECTS (TAINT_BIT(TAINT_NO_SCHEDULE) | TAINT_BIT(TAINT_NO_EXECUTE))
/* The first taint with one of the effects that is not tolerated; NULL when there is none. */
const struct taint *taints_untolerated(const taintlist *taints, const tolerationlist *l,
                                       unsigned effects, unsigned flags);
/* The same taints in the same order, whenever they were added. */
bool taints_equal(const taintlist *a, const taintlist *b);
/* How many PreferNoSchedule taints are not tolerated (the score of TaintToleration). */
uint32_t taints_count_prefer(const taintlist *taints, const tolerationlist *l, unsigned flags);
#endif
