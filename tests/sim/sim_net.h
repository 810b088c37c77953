/* sim_net.h - the way between programs and the API server of a simulation, where everything may
 * happen: requests that arrive late, twice or never, answers that are lost or say something else,
 * watches that lag behind, repeat themselves, break off or are told that they are too old.
 *
 * Each program has a link of its own. A program that is killed leaves its link; what it had sent
 * still arrives.
 */
#ifndef KOORD_TESTS_SIM_NET_H
#define KOORD_TESTS_SIM_NET_H
#include "client/kube.h"

struct net;
struct net_faults {     /* in 1/1000 of the calls */
    unsigned refuse;    /* never sent */
    unsigned lose;      /* done, and the answer lost */
    unsigned twice;     /* done twice: the second answer counts */
    unsigned conflict;  /* 409 to a patch or an update, though nobody wrote */
    unsigned fail;      /* 500, not done */
    unsigned fail_done; /* 500, but done */
    unsigned too_many;  /* 429 */
    unsigned slow;      /* request and answer take up to slow_max, together */
    nsec_t slow_max;
    unsigned repeat; /* in 1/1000 of the events of watches: twice */
    nsec_t lag;      /* events of watches come so late */
};
enum net_end { NET_BROKEN, NET_ORDERLY, NET_EXPIRED, NET_ENDS };

struct net *net_new(struct loop *l, struct kube *server);
struct net *net_free(struct net *n); /* after all links */

struct kube *net_link(struct net *n);
void link_set(struct kube *link, const struct net_faults *f);
/* All of its watches. */
void link_end_watches(struct kube *link, enum net_end how);
/* fn is called in the turn after the nth write has arrived at the server, before its answer. */
void link_at_write(struct kube *link, unsigned nth, void (*fn)(void *arg), void *arg);
#endif
