/* leader.h - leader election on a Lease, with client-go's rules and defaults.
 *
 * A lease is judged by the local monotonic clock from the moment a change of it was seen, so
 * clocks of different machines need not agree. A leader that was frozen (SIGSTOP, a stalled
 * machine) finds out before it acts: leader_is() compares with the clock at every call.
 */
#ifndef KOORD_CLIENT_LEADER_H
#define KOORD_CLIENT_LEADER_H
#include "base/base.h"

struct kube;
struct leader;

struct leader_opts {
    const char *ns, *name, *identity;
    nsec_t lease_duration; /* 0: 15 s */
    nsec_t renew_deadline; /* 0: 10 s */
    nsec_t retry_period;   /* 0: 2 s */
};
struct leader_handler {            /* any member may be NULL */
    void (*on_started)(void *arg); /* we lead from now on */
    void (*on_stopped)(void *arg); /* we lead no longer: stop acting at once */
    void (*on_new_leader)(void *arg, const char *identity);
};
/* Durations that contradict each other (deadline >= duration, retry * 1.2 >= deadline): -EINVAL. */
int leader_new(struct kube *k, const struct leader_opts *o, const struct leader_handler *h,
               void *arg, struct leader **ret, struct kerr *err);
/* Without giving the lease back: a crash. Use leader_release() before for an orderly end. */
struct leader *leader_free(struct leader *ld);
DEFINE_CLEANUP(leader_free, struct leader *)
void leader_start(struct leader *ld);
/* True only while the lease is certainly ours. */
bool leader_is(const struct leader *ld);
const char *leader_holder(const struct leader *ld); /* "" when not known */
/* Stops, and gives the lease back if it is ours, so that the next one need not wait for it to run
 * out; done is called once, in a later turn. on_stopped comes before it. */
void leader_release(struct leader *ld, void (*done)(void *arg), void *arg);
/* Leader since, or last time the lease was renewed (mono); for health checks. */
nsec_t leader_renewed(const struct leader *ld);
#endif
