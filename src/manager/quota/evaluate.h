/* evaluate.h - quota evaluate: what a pod asks for is charged to its quota before the pod is
 * created (sched-quota 20).
 *
 * The charge is the annotation child-request, which the scheduler later replaces by what there
 * really is. Charges of one quota that wait are judged together, in their order, and written at
 * once; the write names the version it was judged on, and when somebody else wrote meanwhile all of
 * them are judged again on what the server has. Nobody is refused on the word of a cache.
 *
 * Loop thread. Answers come in a later turn, exactly once unless cancelled.
 */
#ifndef KOORD_MANAGER_QUOTA_EVALUATE_H
#define KOORD_MANAGER_QUOTA_EVALUATE_H
#include "api/reslist.h"

struct evaluator;
struct informer;
struct kube;
struct loop;

struct evaluator_opts {
    struct loop *loop;
    struct kube *kube;
    struct informer *quotas; /* of ElasticQuotas */
    int max_retries;         /* --quota-update-max-retries */
    nsec_t retry_jitter;     /* --quota-update-retry-jitter */
    nsec_t max_total_jitter; /* --quota-update-max-total-jitter */
};
struct evaluator *evaluator_new(const struct evaluator_opts *o); /* copied */
/* Who still waits is answered with 500. NULL is fine; always returns NULL. */
struct evaluator *evaluator_free(struct evaluator *e);
DEFINE_CLEANUP(evaluator_free, struct evaluator *)

struct quota_charge {
    const char *ns, *name; /* of the quota */
    reslist request;       /* of the pod; what max does not name does not count */
    bool dry_run;          /* judged, and not charged */
};
/* code 0: charged; else the code and the text to refuse with. */
typedef void (*charged_fn)(void *arg, int code, const char *why);
struct charging;
/* Everything is copied. */
struct charging *evaluator_charge(struct evaluator *e, const struct quota_charge *c, charged_fn fn,
                                  void *arg);
/* No answer follows; what was charged stays until the scheduler writes what there is. */
void charging_cancel(struct charging *c);

/* How often a write of n charges is repeated at once after a conflict; beyond that after a pause,
 * until the time is over. */
unsigned evaluate_retries(size_t n, int max);
#endif
