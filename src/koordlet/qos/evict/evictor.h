/* evictor.h - evicts one pod: through the Eviction API, or by stopping its containers.
 *
 * It remembers its victims (koordlet-qos 6.3): for two minutes an evicted pod counts as gone though
 * it is still there. A pod whose containers were stopped and which the kubelet started again within
 * ten minutes is evicted through the API; so is one that has nothing to stop, or whose runtime
 * cannot be asked. Loop thread only; callbacks come in later turns. Metrics, events and audit are
 * written here.
 */
#ifndef KOORD_KOORDLET_QOS_EVICT_EVICTOR_H
#define KOORD_KOORDLET_QOS_EVICT_EVICTOR_H
#include "koordlet/qos/evict/stop.h"

struct audit;
struct evictor;
struct kube;
struct metrics;
struct recorder;

struct evictor_env { /* borrowed */
    struct loop *loop;
    struct kube *kube;
    struct recorder *recorder; /* NULL: no events */
    struct audit *audit;       /* NULL: auditing is off */
    struct metrics *metrics;
    const char *node_name;
    bool only_by_api;
    bool dry_run; /* nobody is evicted: who would be is told to the log and the audit */
    struct stopper_env stop;
};
struct evictor *evictor_new(const struct evictor_env *env);
struct evictor *evictor_free(struct evictor *e); /* what is under way ends without a callback */
DEFINE_CLEANUP(evictor_free, struct evictor *)

enum evict_outcome {
    EVICT_DONE,
    EVICT_REFUSED, /* the server said no, or no way worked: another pod may be tried */
    EVICT_LOST,    /* no answer: it may have happened, so nobody else is to be evicted instead */
};
typedef void (*evicted_fn)(void *arg, enum evict_outcome outcome);
/* why: "trigger by koordlet feature BECPUEvict". The pod is kept until the callback. */
void evictor_evict(struct evictor *e, struct npod *p, const char *why, evicted_fn fn, void *arg);
/* false: it was refused a short time ago, and asking again so soon would be in vain. */
bool evictor_may_try(const struct evictor *e, const struct npod *p);
/* It was evicted a short time ago: what it used counts as released. */
bool evictor_pending(const struct evictor *e, const struct npod *p);
#endif
