/* allocate.h - devices for the claims of a pod on one node (sched-dra 4): all claims or none.
 *
 *     plan_make(): claims -> what each request asks for, once for all nodes
 *     search_node(): the first choice of devices on a node that satisfies everything, depth first
 *     allocation_of(): that choice as it is written into a claim's status
 *
 * Pure, and the same for the same objects: pools are tried by driver and name (upstream: in no
 * order), slices by name. Everything lives in the caller's arena; a plan points into claims and
 * classes, which must outlive it. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_ALLOCATE_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_ALLOCATE_H
#include "scheduler/plugins/dynamicresources/pools.h"

struct qty;

/* ---- what is asked for ----------------------------------------------------------------------- */

struct ask { /* a request, or one of its alternatives */
    const struct device_ask *in;
    const struct device_class *class;
    const struct selection *selection;
    const char *request; /* "request", or "request/subrequest" */
    uint32_t number;     /* of the plan's */
    uint32_t count;      /* of devices; all: how many there are is the node's matter */
    bool all, admin;
    uint64_t rules; /* bits: constraints of the claim that apply */
};
struct want { /* a request */
    const struct device_request *in;
    struct ask *asks; /* the first that can be had; one, unless the request has alternatives */
    uint32_t n;
};
struct rule { /* a constraint */
    const char *attribute;
    uint32_t number; /* of the attribute */
    uint64_t serial;
    bool distinct;
};
struct claim_plan {
    const struct resource_claim *claim;
    const char *key; /* "namespace/name" */
    struct want *wants;
    struct rule *rules;
    uint32_t nwants, nrules;
};
struct plan {
    struct pools *in;
    struct claim_plan *claims;
    uint32_t n, nasks;
    bool alternatives; /* some request has them */
    bool has_all;      /* some ask is for all devices */
    struct arena *arena;
};
/* Negative, with upstream's text in *ret_why (in the arena): a claim that nobody can satisfy.
 * -ETIMEDOUT, without one: the patience was over before all selectors had been compiled. Classes
 * are looked up in objects. */
int plan_make(struct pools *in, const struct objects *objects,
              const struct resource_claim *const *claims, uint32_t n,
              const struct patience *patience, struct arena *a, struct plan **ret,
              const char **ret_why);

/* ---- what can be had ------------------------------------------------------------------------- */

struct pick { /* a device for a slot of a request */
    struct pool *pool;
    uint32_t device; /* of the pool */
    uint32_t claim, want;
    const struct ask *ask;
    uint32_t place;             /* in the view: word * 64 + bit */
    const struct qty *consumed; /* of a shared device: [its capacity entries]; NULL: all of it */
};
enum found {
    FOUND,
    FOUND_NONE,    /* no choice exists */
    FOUND_INVALID, /* none, and some pool of the node could not be used */
    FOUND_TIMEOUT,
    FOUND_ERROR /* `why` tells */
};
struct outcome {
    enum found found;
    const char *why;
    struct pick *picks; /* in the order of claims and requests */
    uint32_t n;
    uint64_t steps; /* that it took */
};
/* The node's devices must be refreshed. When the patience is over the outcome is FOUND_TIMEOUT. */
void search_node(const struct plan *p, struct node_devices *n, const struct patience *patience,
                 struct arena *a, struct outcome *ret);
/* What follows from counts alone, without a search. For claims that search_is_needed() is not true
 * of, enough devices are a choice. */
enum counts {
    COUNTS_ENOUGH,
    COUNTS_TOO_FEW, /* there is no choice */
    COUNTS_UNSURE   /* bad pools, selectors that fail or take too long, parts of devices: the
                       search knows */
};
enum counts counts_say(const struct plan *p, const struct node_devices *n,
                       const struct patience *patience);
/* The selectors of all requests, on all devices of the node; false: the patience was over. */
bool plan_evaluate(const struct plan *p, const struct node_devices *n,
                   const struct patience *patience);
bool search_is_needed(const struct plan *p);
/* Has it a taint that the request does not tolerate? */
bool device_is_tainted(const struct pool_device *d, const struct device_ask *ask);
/* The sum over requests with alternatives: the earlier the better. */
int64_t outcome_score(const struct plan *p, const struct outcome *o);

/* ---- the result ------------------------------------------------------------------------------ */

struct id_source { /* for shares of devices; upstream draws UUIDs */
    void (*next)(void *arg, char out[37]);
    void *arg;
};
/* For claim number i. Negative with a text: a selector of a slice that cannot be copied. */
int allocation_of(const struct plan *p, const struct outcome *o, uint32_t i,
                  const struct node *node, const struct id_source *ids, struct arena *a,
                  struct claim_allocation **ret, const char **ret_why);
#endif
