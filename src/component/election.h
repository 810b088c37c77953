/* election.h - a program of which one replica acts: its flags, its lease, and what follows from it.
 *
 * It stands for election when it is ready (its caches are complete, say), so that who wins can act
 * at once; it ends the program when the lease is lost, since another replica acts by then; and in
 * an orderly end it gives the lease back, so that the next one need not wait for it to run out.
 * Without
 * --leader-elect it acts at once. Loop thread only.
 */
#ifndef KOORD_COMPONENT_ELECTION_H
#define KOORD_COMPONENT_ELECTION_H
#include "base/base.h"

struct election;
struct flags;
struct kube;
struct loop;
struct run;

struct election_options {
    bool enabled;
    nsec_t lease_duration, renew_deadline, retry_period;
    const char *lock, *name, *ns;
};
/* name: the default of the lease's name. */
void election_options_add(struct flags *f, struct election_options *o, const char *name);

struct election_handler {
    bool (*ready)(void *arg); /* it may stand for election; NULL: at once */
    void (*lead)(void *arg);  /* it acts from now on; once */
    const char *lost;         /* what the log says when the lease is lost */
};
/* The options are copied; durations that contradict each other: -EINVAL. */
int election_new(struct run *r, struct kube *k, const struct election_options *o,
                 const struct election_handler *h, void *arg, struct election **ret,
                 struct kerr *err);
/* Without giving the lease back. NULL is fine; always returns NULL. */
struct election *election_free(struct election *e);
DEFINE_CLEANUP(election_free, struct election *)
void election_start(struct election *e);
/* Gives the lease back, for which it takes 5 s at most, and then ends the program's loop. */
void election_stop(struct election *e);

bool election_leads(const struct election *e);     /* at this moment, for certain */
bool election_has_lease(const struct election *e); /* there are other replicas */
/* A check for serve_add_check(): a leader that can no longer renew its lease should be restarted.
 */
int election_check(void *election, struct kerr *err);

/* "host_uuid", as client-go's programs call themselves; the caller frees it. */
char *election_identity(struct loop *l);
#endif
