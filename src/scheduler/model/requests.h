/* requests.h - what a pod requests, as whole numbers ready for the columns.
 *
 * One struct for the pod that looks for a node and for the pods that have one. It has several
 * sums, because upstream counts differently in different places (scheduler-core 2.2): what a node
 * accounts for a pod, what must be free for it, and what it weighs in scores.
 */
#ifndef KOORD_SCHEDULER_MODEL_REQUESTS_H
#define KOORD_SCHEDULER_MODEL_REQUESTS_H
#include "api/podresources.h"
#include "scheduler/model/rows.h"

/* Is it a resource that scheduling counts beside cpu, memory, ephemeral-storage and pods? */
bool requests_is_scalar(const char *name);
/* The same, or one of those four. */
bool requests_is_counted(const char *name);
/* A value of a list as the columns count it; 0 when absent, negative, or the list is NULL. */
int64_t requests_count(const reslist *l, const char *name);

struct ks_request { /* of a resource that is not one of the fixed */
    const char *name;
    int64_t count;
    uint32_t column; /* or KS_NO_COLUMN */
};
struct requests {
    int64_t fixed[KS_FIXED];    /* fixed[KS_PODS] is 1 */
    int64_t mcpu_nz, memory_nz; /* as scores count: something for containers that ask for nothing */
    struct ks_request *more;    /* names are borrowed from the pod */
    uint32_t nmore;
};
/* As the node accounts for the pod: resizing counts at the maximum. `more` lives in the arena, its
 * columns are not set. */
void requests_accounted(const struct pod *p, struct arena *a, struct requests *ret);
/* As the pod is placed. */
void requests_placed(const struct pod *p, struct arena *a, struct requests *ret);
/* Does the status report what containers hold? Then the first differs from the second. */
bool requests_in_status(const struct pod *p);

/* The columns of `more`; again when the rows have learned new resources. */
void requests_resolve(struct requests *r, const struct ks_nodes *nodes);
/* So much that sums with it must be bounded. */
bool requests_are_huge(const struct requests *r);
/* A copy that owns its `more`, and its end. */
struct requests requests_copy(const struct requests *r);
void requests_fini(struct requests *r);
#endif
