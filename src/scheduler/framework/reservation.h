/* reservation.h - a reservation as plugins see it: room on a node that is kept for pods to come.
 * Part of the contract (plugin.h).
 *
 * The plugin Reservation owns them; everything here is borrowed, for the call or the attempt.
 * Loop thread.
 */
#ifndef KOORD_SCHEDULER_FRAMEWORK_RESERVATION_H
#define KOORD_SCHEDULER_FRAMEWORK_RESERVATION_H
#include "scheduler/model/requests.h"

struct kobj;

struct ks_amounts { /* of resources, by name; cpu in milli, the rest in units */
    struct ks_request *items;
    uint32_t n;
};
/* NULL when it is absent. */
static inline UNUSED const struct ks_request *ks_amounts_find(const struct ks_amounts *a,
                                                              const char *name)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (a->items[i].name == name || streq(a->items[i].name, name))
            return &a->items[i];
    return NULL;
}
static inline UNUSED int64_t ks_amounts_get(const struct ks_amounts *a, const char *name)
{
    const struct ks_request *r = ks_amounts_find(a, name);
    return r ? r->count : 0;
}

struct ks_owner { /* a pod that has taken room of a reservation, or is about to */
    struct kuid uid;
    const char *ns, *name;
    struct ks_amounts requests; /* all that it requests */
};

struct ks_reservation {
    struct kuid uid; /* of the Reservation, and of the pod that holds its room */
    const char *name;
    const char *node; /* NULL: it has none */
    struct kobj
        *object;      /* the Reservation; a pod in operating mode Reservation stands for itself */
    struct kobj *pod; /* that holds the room; NULL: nothing does */
    uint8_t policy;   /* enum allocate_policy (api/koord/reservation.h) */
    bool allocate_once;
    const char *const *names; /* the resources that owners are counted for, in order */
    uint32_t nnames;
    struct ks_amounts allocatable; /* what is reserved */
    struct ks_amounts allocated;   /* what owners have taken, of `names` alone */
    struct ks_amounts kept;        /* of allocatable, from owners too */
    struct ks_owner *const *owners;
    uint32_t nowners;
};
#endif
