/* reservation.h - a reservation as plugins see it: room on a node that is kept for pods to come.
 * Part of the contract (plugin.h).
 *
 * The plugin Reservation owns them; everything here is borrowed, for the call or the attempt.
 * Loop thread.
 */
#ifndef KOORD_SCHEDULER_FRAMEWORK_RESERVATION_H
#define KOORD_SCHEDULER_FRAMEWORK_RESERVATION_H
#include "scheduler/framework/plugin.h"

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

/* ---- taking part in reservations ------------------------------------------------------------- */

struct ks_restored { /* a row where the attempt's pod may use reserved room */
    uint32_t row;
    const struct ks_reservation *const *matched; /* it may use these: their pods are away */
    uint32_t nmatched;
    const struct ks_reservation *const *unmatched; /* others on the node */
    uint32_t nunmatched;
};

/* For a plugin that gives away more than amounts (CPUs, devices, quota). A member that is NULL
 * takes no part. c->state is the plugin's own, NULL before its pre_filter; in c->rows the pods of
 * matched reservations are away. */
struct ks_reservation_hooks {
    /* In transform() of Reservation, for each row that it has restored: the plugin may change what
     * it knows of the row in its turn, through the overlay. */
    void (*restore)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                    struct ks_overlay *o, const struct ks_restored *r);
    /* The same for the pod of a reservation that may take the room of running pods: these are away
     * from the row. */
    void (*restore_pre_allocation)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   struct ks_overlay *o, uint32_t row,
                                   const struct pod *const *pods, uint32_t n);
    /* May the pod use this reservation of the row? Anything but a success rejects it, with texts.
     * In filters; then for the one that is about to be nominated. */
    enum ks_code (*filter_reservation)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       const struct ks_reservation *r, uint32_t row,
                                       struct ks_texts *why);
    enum ks_code (*filter_nominated)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     const struct ks_reservation *r, uint32_t row,
                                     struct ks_texts *why);
    /* The pod is that of a reservation, which may take over the other: may it, on this row? */
    enum ks_code (*filter_pre_allocated)(void *self, const struct ks_cycle *c,
                                         const struct ks_pod *p, const struct pod *other,
                                         uint32_t row, struct ks_texts *why);
    /* How good it is among those of the row: within [0, KS_SCORE_MAX]. */
    int64_t (*score_reservation)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 const struct ks_reservation *r, uint32_t row);
    /* Instead of pre_bind, when it is a reservation that gets the node: what the plugin writes goes
     * to the Reservation. */
    enum ks_code (*pre_bind_reservation)(void *self, struct ks_bind *b, struct ks_texts *why);
};

/* The reservation that the pod takes on this row; NULL: none. From the choice of the node on
 * (resize, reserve), and in scores for candidates. */
const struct ks_reservation *ks_nominated(const struct ks_cycle *c, uint32_t row);

/* Number i of the reservations of a row that the pod may use; NULL behind the last. */
const struct ks_reservation *ks_usable(const struct ks_cycle *c, uint32_t row, uint32_t i);

/* Number i of the running pods whose room the attempt's reservation takes over on the row, from the
 * choice of the node on; NULL behind the last. */
const struct pod *ks_pre_allocated(const struct ks_cycle *c, uint32_t row, uint32_t i);

/* ---- for the plugin that has them ------------------------------------------------------------ */

/* All plugins of the profile are asked; the first that says no is the answer. */
bool ks_reservation_hooked(const struct ks_cycle *c); /* is there anybody to ask? */
void ks_reservation_restore(const struct ks_cycle *c, const struct ks_pod *p, struct ks_overlay *o,
                            const struct ks_restored *r);
void ks_reservation_restore_pods(const struct ks_cycle *c, const struct ks_pod *p,
                                 struct ks_overlay *o, uint32_t row, const struct pod *const *pods,
                                 uint32_t n);
enum ks_code ks_reservation_filter(const struct ks_cycle *c, const struct ks_pod *p,
                                   const struct ks_reservation *r, uint32_t row,
                                   struct ks_texts *why);
enum ks_code ks_reservation_filter_nominated(const struct ks_cycle *c, const struct ks_pod *p,
                                             const struct ks_reservation *r, uint32_t row);
enum ks_code ks_reservation_filter_pre_allocated(const struct ks_cycle *c, const struct ks_pod *p,
                                                 const struct pod *other, uint32_t row);
/* The sum over plugins. */
int64_t ks_reservation_score(const struct ks_cycle *c, const struct ks_pod *p,
                             const struct ks_reservation *r, uint32_t row);
#endif
