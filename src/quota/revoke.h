/* revoke.h - which pods have to go when a quota uses more than its runtime (sched-quota 15). */
#ifndef KOORD_QUOTA_REVOKE_H
#define KOORD_QUOTA_REVOKE_H
#include "quota/forest.h"

/* Does it use more than its runtime, of any resource? */
bool revoke_is_overused(struct quota_forest *f, struct quota *q);

struct revoke_rules {
    void *arg;
    /* May this pod be chosen? NULL: any that is preemptible. */
    bool (*may_evict)(void *arg, const struct pod *p);
    /* All resources count at every step. Otherwise, as upstream, only those that the pod requests
     * which was looked at last: over-use of another one may be overlooked. */
    bool exact;
};
/* Pods to be evicted, in that order, in the arena: the most important first; or, when the quota
 * stays over-used without all that may go (*ret_enough false), these, the least important first.
 * rules may be NULL. */
const struct pod **revoke_choose(struct quota_forest *f, struct quota *q,
                                 const struct revoke_rules *rules, struct arena *a, uint32_t *ret_n,
                                 bool *ret_enough);
#endif
