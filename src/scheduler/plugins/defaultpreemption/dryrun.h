/* dryrun.h - who would have to go from one node so that a pod fits there. Internal to
 * DefaultPreemption.
 */
#ifndef KOORD_SCHEDULER_DRYRUN_H
#define KOORD_SCHEDULER_DRYRUN_H
#include "scheduler/framework/attempt.h"

struct budgets;

struct victims {
    uint32_t row;
    const struct pod **pods; /* the most important first; at least one */
    uint32_t n, violations;
};
struct dryrun { /* members below are its own */
    struct attempt *a;
    struct budgets *budgets;
    const struct pod **pods;
    uint8_t *fate;
    uint32_t cap;
};
/* False: nothing that can be done on the row helps, and `why` says so. The array in *ret is
 * overwritten by the next call. */
bool dryrun_row(struct dryrun *d, uint32_t row, struct victims *ret, struct ks_texts *why);
/* When the pod started; now, when it did not say. */
nsec_t dryrun_started(const struct pod *p, nsec_t now);
#endif
