/* podreq.h - what a pod takes from a node, as whole numbers ready for the columns.
 *
 * Several sums of one pod, because upstream counts differently in different places
 * (scheduler-core 2.2): what a node accounts for it, what must be free for it, and what it weighs
 * in scores. No state.
 */
#ifndef KOORD_SCHEDULER_MODEL_PODREQ_H
#define KOORD_SCHEDULER_MODEL_PODREQ_H
#include "api/podresources.h"
#include "scheduler/model/rows.h"

/* Is it a resource that scheduling counts beside cpu, memory, ephemeral-storage and pods? */
bool podreq_is_scalar(const char *name);
/* The same, or one of those four. */
bool podreq_counts(const char *name);
/* A value of a list as the columns count it; 0 when absent, negative, or the list is NULL. */
int64_t podreq_count(const reslist *l, const char *name);

struct podreq { /* names are borrowed from the pod, the array lives in the arena */
    int64_t fixed[KS_FIXED];
    int64_t mcpu_nz, memory_nz;
    struct ks_request *more; /* columns are not set */
    uint32_t nmore;
};
/* As the node accounts for it: resizing counts at the maximum. */
void podreq_accounted(const struct pod *p, struct arena *a, struct podreq *ret);
/* Does the status tell what containers hold? Then the first differs from what the spec says. */
bool podreq_is_told(const struct pod *p);
/* As it is placed. */
void podreq_placed(const struct pod *p, struct arena *a, struct podreq *ret);
#endif
