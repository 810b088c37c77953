/* reclaim.h - what prod pods will not use of what they asked for, and what they will use at most.
 *
 * Two ways of counting, pod by pod and by priority class; the careful one of the two is the answer.
 * One of these serves one report: init, add every pod, ask, fini. Pods and models are borrowed.
 */
#ifndef KOORD_KOORDLET_RECLAIM_H
#define KOORD_KOORDLET_RECLAIM_H
#include "api/node.h"
#include "api/pod.h"
#include "base/map.h"
#include "koordlet/predict/models.h"

struct reclaim_options {
    nsec_t cold_start;             /* younger pods count as what they asked for */
    int64_t safety_margin_percent; /* on top of each prediction */
};
struct reclaim_options reclaim_options_default(void);

struct reclaim {
    struct predictor predictor;
    struct reclaim_options o;
    nsec_t now;
    struct arena *arena;
    struct map seen;                                   /* UIDs of pods */
    struct amounts unpredicted, unreclaimable, spared; /* pod by pod */
    struct amounts requested;                          /* by priority class */
};
void reclaim_init(struct reclaim *r, struct predictor p, const struct reclaim_options *o,
                  nsec_t now);
void reclaim_fini(struct reclaim *r);

/* Pods other than prod (and of no class) are ignored. -ENOENT: nothing is known of this pod;
 * it counts as what it asked for, pod by pod, and not at all by class. -EEXIST: seen before. */
int reclaim_add(struct reclaim *r, const struct pod *p, struct kerr *err);
/* Both ways of counting, for gauges, and the one that is the answer. */
struct reclaim_views {
    struct amounts by_pod, by_class, answer;
};
/* -EINVAL: no node or no allocatable; -ENOENT: a class or the system has no model yet. */
int reclaim_result_views(const struct reclaim *r, const struct node *n, struct reclaim_views *ret,
                         struct kerr *err);
int reclaim_peak_views(const struct reclaim *r, struct reclaim_views *ret, struct kerr *err);
static inline UNUSED void reclaim_fini_p(struct reclaim *r)
{
    reclaim_fini(r);
}
#endif
