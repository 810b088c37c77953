/* extended.h - extended resources of a pod that DeviceClasses back (sched-dra 6.5).
 *
 * On a node where no device plugin offers such a resource the pod gets devices of the class, by a
 * special claim that the scheduler makes before it binds the pod. What that claim asks for depends
 * on the node: resources that its device plugins offer are not in it. Everything of an attempt
 * lives in the arena. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_EXTENDED_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_EXTENDED_H
#include "api/dra.h"

struct arena;
struct booking;
struct booked;
struct claimcache;
struct kjw;
struct ks_nodes;
struct ks_pod;
struct pod;

struct backed { /* a resource that the pod asks for */
    const char *name;
    const struct device_class *class;
    uint32_t column; /* of the nodes; or KS_NO_COLUMN */
};
struct extended {
    struct backed *items; /* by name */
    uint32_t n;
    const struct resource_claim *old; /* the special claim of an earlier attempt; NULL: none */
    const char *problem;              /* why the pod cannot have them; NULL: nothing */
};
enum {
    EXTENDED_MAX = 5,              /* resources: each combination of them is a claim of its own */
    EXTENDED_CONTAINERS_MAX = 200, /* of the pod: each that ends may share with each that lasts */
};
/* NULL: the pod asks for none. */
struct extended *extended_of(const struct claimcache *cc, const struct ks_pod *p,
                             const struct ks_nodes *nodes, struct arena *a);
/* Bits: resources that no device plugin of the row offers. */
uint32_t extended_mask(const struct extended *x, const struct ks_nodes *nodes, uint32_t row);

struct special_claim {
    struct resource_claim claim; /* as it will be made, but for its name and UID */
    struct mapping {
        const char *container, *resource, *request;
    } * mappings; /* for the pod's status */
    uint32_t n;
};
/* For the resources of the mask. uid: what it is known by until the server has made it. */
struct special_claim *special_claim_of(const struct extended *x, uint32_t mask, const struct pod *p,
                                       struct kuid uid, struct arena *a);

/* ---- extwrite.c: the special claim of a booking ------------------------------------------------- */

/* Its last claim is this one; everything is copied. */
void extwrite_prepare(struct booking *b, const struct special_claim *s);
/* The claim is made; then claimwrite_go_on(). */
void extwrite_create(struct booking *b);
/* All claims are written: the pod's status tells of it. Then the booking goes on to its end. */
void extwrite_tell_pod(struct booking *b);
/* The special claim is deleted, finalizer or not. */
void extwrite_delete(struct claimcache *cc, const char *ns, const char *name, struct kuid claim,
                     struct kuid pod);
void extwrite_end(struct claimcache *cc); /* deletions are not followed any more */
#endif
