/* arbitrate.h - which waiting jobs may begin: an order, and a verdict on each (descheduler 4.6).
 *
 * A function of the jobs, their pods and the checks. A job that passes counts against the limits of
 * those behind it. Loop thread only.
 */
#ifndef KOORD_DESCHEDULER_MIGRATION_ARBITRATE_H
#define KOORD_DESCHEDULER_MIGRATION_ARBITRATE_H
#include "descheduler/migration/checks.h"

enum verdict {
    VERDICT_PASS,
    VERDICT_FORBID, /* for good */
    VERDICT_WAIT
};
struct candidate {
    const struct podmigrationjob *job;
    const struct pod *pod; /* NULL: there is none; such a job passes, and fails later */
    enum verdict verdict;
    struct limit_hit hit; /* of one that waits; no name: its workload is being asked for */
};
/* Sorts the candidates and judges each. tally is the one of the checks. */
void arbitrate(const struct checks *c, struct jobtally *tally, struct candidate *items, size_t n);
#endif
