/* controller.h - answers ScheduleExplanations: who asks about a pod finds in the status why it has
 * no node, what would have to change, and who would have to go (api-crds 10).
 *
 * Lives beside a scheduler on the scheduler's loop thread and reads its caches; scheduler, kube and
 * loop stay the caller's and must outlive it. It takes a tenth of the thread's time at most. Where
 * the kind is not installed it waits until it is.
 */
#ifndef KOORD_SCHEDULER_OBSERVE_EXPLAIN_CONTROLLER_H
#define KOORD_SCHEDULER_OBSERVE_EXPLAIN_CONTROLLER_H
#include "base/base.h"

struct explainer;
struct kube;
struct loop;
struct scheduler;

struct explainer *explainer_new(struct loop *l, struct kube *k, struct scheduler *s);
/* NULL is fine; always returns NULL. */
struct explainer *explainer_free(struct explainer *x);
DEFINE_CLEANUP(explainer_free, struct explainer *)

struct explainer_stats {
    size_t questions; /* objects that are there */
    uint64_t computed, written, expired;
};
struct explainer_stats explainer_stats(const struct explainer *x);
#endif
