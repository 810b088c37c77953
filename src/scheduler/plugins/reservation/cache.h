/* cache.h - all reservations: where they are, who owns them, what is left. A service, shared by all
 * profiles (sched-reservation 4, 5).
 *
 * It follows the Reservations of the object cache, and pods: their annotation says which one they
 * have taken room of. Between the choice of a node and the confirmation by the server a pod is
 * assumed into its reservation. Holds one reference on each Reservation. Loop thread.
 *
 *     struct resv *r = reservations_find(cache, uid);   or reservations_next(cache, &it)
 *     r->view.owners, r->view.allocated                 who has what of it now
 *     r = reservations_of_pod(cache, pod_uid)           which one a pod has taken room of
 */
#ifndef KOORD_SCHEDULER_RESERVATION_CACHE_H
#define KOORD_SCHEDULER_RESERVATION_CACHE_H
#include "api/koord/reservation.h"
#include "base/map.h"
#include "base/vec.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/reservation.h"
#include "scheduler/model/objects.h"
#include "scheduler/model/uidmap.h"
#include "scheduler/plugins/reservation/args.h"

struct labelsel;
struct resv_node;
struct reservations;
KS_SERVICE(reservations, struct reservations)

struct owner_matcher { /* one entry of spec.owners: what is set must all match */
    const struct object_ref *object;
    const struct reservation_controller *controller;
    const struct label_selector *selector;
    const struct labelsel *labels; /* of it; NULL: any */
};
struct owner_bucket;

/* A pod in its reservation. */
struct resv_owner {
    struct kuid uid; /* first: uidmap */
    char *uid_text;
    struct resv *of; /* NULL: the one that it wants is not known, or is on another node */
    char *wants;     /* UID, as its annotation says; NULL: it is assumed */
    char *node;
    int64_t mcpu_nz, memory_nz; /* as scores count it */
    struct ks_owner view;
};

struct resv {
    struct ks_reservation view; /* first: its UID is the key of uidmap */
    char *uid_text;
    struct arena *mem;       /* of what follows from the object */
    const char *invalid;     /* why it can have no node (reservation_check); NULL: it may */
    const char *unmatchable; /* why no pod can own it; NULL: pods may */
    bool available;          /* has a node, and owners may take from it */
    bool active;             /* the same, or Waiting */
    bool ended;              /* Succeeded or Failed */
    bool terminating;        /* it is being deleted */
    bool unschedulable;      /* takes no new owners that do not tolerate it */
    bool is_pod;             /* a pod in operating mode Reservation */
    bool matchable;          /* it can be found by pods (4: IsMatchable) */
    int64_t order;           /* 0: not ordered */
    const reslist *reserved; /* as in allocatable, exact */
    const taintlist *taints;
    struct owner_matcher *matchers;
    uint32_t nmatchers;
    struct vec_of(struct ks_owner *) owners;
    uint64_t names_hash;  /* of view.names, when owners were counted last */
    struct resv_node *on; /* NULL: on no node */
    struct vec_of(struct owner_bucket *) buckets;
    uint64_t seen; /* by the search that looked at it last */
    uint32_t row;  /* of its node, as of `layout` */
    uint64_t layout;
};

struct resv_node { /* reservations of a node, in the order of their names */
    char *name;
    struct vec_of(struct resv *) items;
};

struct reservations {
    struct ks_env env;
    const struct reservation_args *args;
    struct intern *strings, *own_strings;
    struct kj_scratch *scratch;
    struct uidmap by_uid; /* struct resv */
    struct uidmap owners; /* struct resv_owner */
    struct map nodes;     /* struct resv_node */
    struct map buckets;   /* struct owner_bucket: who may match, by what owners have */
    struct vec_of(struct resv *) everybody; /* matchable ones that no bucket can hold */
    struct vec_of(struct resv *) matchable; /* all of these */
    uint32_t norphans;                      /* owners whose reservation is not known */
    uint64_t search;
    struct objects_listener listener;
};

/* ---- looking --------------------------------------------------------------------------------- */

struct resv *reservations_find(const struct reservations *c, struct kuid uid); /* NULL: none */
struct resv *reservations_of_pod(const struct reservations *c, struct kuid pod);
/* Iterate: size_t it = 0; while ((r = reservations_next(c, &it))) ... In no particular order. */
struct resv *reservations_next(const struct reservations *c, size_t *it);
/* Those of a node; NULL: none. */
struct resv_node *reservations_on(const struct reservations *c, const char *node);
/* Is it the reserve pod of a Reservation? Whatever its annotations say. */
bool reservations_is_reserve_pod(const struct reservations *c, const struct pod *p);

/* ---- owners ---------------------------------------------------------------------------------- */

/* The pod takes room of r from now on. -EBUSY: r is for one pod, and has it; -ESHUTDOWN: r goes. */
int reservations_assume(struct reservations *c, struct resv *r, const struct ks_pod *p,
                        struct kerr *err);
/* A running pod, by a reservation that is about to get the node of it; all of them back again. */
void reservations_take_over(struct reservations *c, struct resv *r, const struct pod *p,
                            const struct requests *requests);
void reservations_give_back(struct reservations *c, struct resv *r);
/* That came to nothing. Fine for a pod that was not assumed. */
void reservations_forget(struct reservations *c, struct kuid pod);
extern const struct ks_pod_handler reservations_pods;
extern const struct ks_path reservations_paths[];

/* ---- inside ----------------------------------------------------------------------------------- */

/* What follows from a new state of its object. */
void resv_derive(struct resv *r);
/* What owners have taken. */
void resv_recount(struct resv *r);
/* Can it be found by pods? */
void resv_refresh(struct reservations *c, struct resv *r);
/* Owners that wanted it come to it; it goes, and they are without. */
void resv_adopt(struct reservations *c, struct resv *r);
void resv_leave_owners(struct reservations *c, struct resv *r);
void reservations_free_owners(struct reservations *c);
/* A new state of a Reservation, or of a pod in operating mode Reservation; its end. */
struct resv *resv_news(struct reservations *c, struct kobj *object, bool is_pod);
void resv_gone(struct reservations *c, struct kuid uid);
/* index.c: it can be found by pods, or no more. */
void resv_index(struct reservations *c, struct resv *r);
void resv_unindex(struct reservations *c, struct resv *r);
void reservations_free_index(struct reservations *c);
/* The reserve pod (2), with a reference; NULL: it needs none, or r->invalid says why not. */
struct kobj *resv_make_pod(const struct reservations *c, const struct resv *r, struct kerr *err);

/* How much is left for owners of one resource: never below 0. */
int64_t resv_available(const struct resv *r, const char *name);
#endif
