/* claimcache.h - claims as this scheduler knows them, for all profiles: what the API server shows,
 * what it has answered to a write of ours and not shown yet (assumed), and what is on its way
 * there (in flight).
 *
 * The devices of all three count as taken. A write that nobody waits for any more is followed until
 * its outcome is known: before that its devices are nobody else's. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_CLAIMCACHE_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_CLAIMCACHE_H
#include "scheduler/framework/plugin.h"
#include "scheduler/model/objects.h"
#include "scheduler/model/uidmap.h"
#include "scheduler/plugins/dynamicresources/pools.h"
#include "scheduler/plugins/dynamicresources/specialclaims.h"

struct kube_call;
struct kube_resp;
struct timer;

struct claim_record { /* a claim that was seen, or is in flight */
    struct kuid uid;  /* its own, like the text of it */
    char *uid_text;
    char *key;                           /* "namespace/name" */
    struct kobj *seen, *assumed;         /* NULL: not there; assumed: newer than what was seen */
    const struct claim_allocation *held; /* of the newer one, as the pools know it */
    const struct claim_allocation *in_flight; /* of a booking; NULL: none */
    struct claimcache *cc;
    struct timer *expected;   /* we have made it, and it was not seen yet; NULL: it is not so */
    struct kube_call *asking; /* whether it is still there; NULL: nobody asks */
};

enum { CLAIMS_WAIT_KEY = 1 }; /* pods with claims that wait: for ks_wake() */

struct claimcache {
    struct ks_env env;
    struct pools *pools;
    struct uidmap records;         /* struct claim_record */
    struct uidmap bookings;        /* struct booking, by pod */
    struct booking *leaving;       /* whose pods do not wait any more */
    struct booking *waiting;       /* whose devices must become ready: bindwait.c */
    struct errand *errands;        /* of errand.c */
    struct removal *removals;      /* of extwrite.c */
    struct specialclaims specials; /* as the server shows them */
    struct objects_listener on_claim, on_slice, on_rule;
    struct dra_metrics *metrics; /* NULL: none */
    const struct dynamicresources_args *args;
};
KS_SERVICE(claimcache, struct claimcache)

/* The newest that is known; NULL: there is none. */
const struct resource_claim *claimcache_get(const struct claimcache *cc, const char *ns,
                                            const char *name);
bool claimcache_is_in_flight(const struct claimcache *cc, const struct resource_claim *c);
/* For the same requests, in the same order? */
bool claim_same_devices(const struct claim_allocation *a, const struct claim_allocation *b);
/* What the server has answered to a write. */
void claimcache_assume(struct claimcache *cc, struct kobj *claim);
/* The same of a claim that this scheduler has made: the server may not have shown it yet. When it
 * does not for two minutes the server is asked, and again until it says that the claim is gone. */
void claimcache_expect(struct claimcache *cc, struct kobj *claim);
/* It is gone, whether it was ever shown or not. */
void claimcache_forget(struct claimcache *cc, struct kuid claim);

/* ---- claims of a pod (sched-dra 2) ------------------------------------------------------------ */

/* The claims of the pod, in its order, each once, without those that it does not need. Negative,
 * with a text: one is missing, or is not the pod's. */
int pod_claims(const struct claimcache *cc, const struct pod *p, struct arena *a,
               const struct resource_claim ***ret, uint32_t *ret_n, struct ks_texts *why);

/* ---- what a pod on its way to its node will have ----------------------------------- */

struct booked { /* one of its claims */
    struct kuid uid;
    char *uid_text;
    const char *ns, *name, *key;
    struct claim_allocation *allocation; /* to be written; NULL: it was allocated before */
    struct claim_allocation *had;        /* by it the node was chosen; NULL: it had none */
    const char *special; /* the spec of a claim that is to be made: extwrite.c. NULL: it exists */
    struct kobj *made;   /* that claim, when it is */
    struct kuid flight;  /* by this its devices are in flight; the claim's, until it is made */
    char *flight_text;
};
struct booking {
    struct kuid uid; /* of the pod */
    struct kobj *pod;
    struct claimcache *cc;
    struct arena *arena;
    struct booked *claims;
    uint32_t n;
    struct booking *next; /* in `leaving` */
    bool left;            /* the pod does not wait any more */
    /* while it is written: write.c */
    struct ks_bind *bind; /* NULL: nobody waits */
    uint32_t at;
    int tries;
    const char *doing;   /* "add finalizer to claim" ... */
    bool exact;          /* its last write was in protobuf */
    struct kobj *latest; /* of the claim at work, by the server; NULL: as the cache has it */
    struct kube_call *call;
    struct timer *timer;
    nsec_t wait;
    char *failure; /* of a write whose outcome is being asked for */
    /* until its devices are ready: bindwait.c */
    nsec_t binding_timeout; /* 0: nobody waits for that */
    struct booking *next_waiting;
    bool waits;
    nsec_t wait_until, next_tick;
    const char *mappings; /* of the special claim, for the pod's status; NULL: there is none */
    bool told;            /* the pod's status has them */
};
/* allocations[i]: for claims[i], copied; NULL: it has one. */
struct booking *booking_new(struct claimcache *cc, struct kobj *pod,
                            const struct resource_claim *const *claims,
                            struct claim_allocation *const *allocations, uint32_t n);
struct booking *booking_find(const struct claimcache *cc, struct kuid pod);
/* All is written, or nothing is under way. */
void booking_end(struct booking *b);
/* The pod does not get its node: claims that are reserved for it are not any more. */
void booking_leave(struct booking *b);
/* A claim is written: its devices are not in flight any more. */
void booking_land(struct booking *b, struct booked *c);

/* ---- write.c: it is written to the API server -------------------------------------------------- */

void claimwrite_begin(struct booking *b, struct ks_bind *bind);
void claimwrite_go_on(struct booking *b); /* with the next write, or to the end */
/* No answer is heard any more. */
void claimwrite_stop(struct booking *b);
bool claimwrite_is_under_way(const struct booking *b);
/* The outcome, for the one who waits; the booking may be gone afterwards. */
void claimwrite_finish(struct booking *b, enum ks_code code, const char *why);
enum { CLAIM_TRIES_MAX = 5 };
#define CLAIM_ASK_WAIT_MIN (100 * NSEC_PER_MSEC)
#define CLAIM_ASK_WAIT_MAX (10 * NSEC_PER_SEC)
/* The claim of an answer; NULL: it cannot be read. */
struct kobj *claimwrite_decode(const struct claimcache *cc, const struct kube_resp *r);

/* ---- errand.c: writes for which no pod is held up ----------------------------------------------- */

/* The pod is removed from the claim's users; a claim without users has no devices. */
void claimerrand_release(struct claimcache *cc, const struct resource_claim *c, struct kuid pod);
/* The claim, which nobody uses, gets rid of its allocation; the pod is tried again then. */
void claimerrand_deallocate(struct claimcache *cc, const struct resource_claim *c, struct kuid pod);
/* Is one of the two on its way for this claim? What is known of it will be old in a moment. */
bool claimerrand_is_under_way(const struct claimcache *cc, struct kuid claim);
void claimerrand_end(struct claimcache *cc); /* none is followed any more */
#endif
