/* reservation.h - Reservations as pods and Reservations speak of them (api 5.5). */
#ifndef KOORD_API_PROTOCOL_RESERVATION_H
#define KOORD_API_PROTOCOL_RESERVATION_H
#include "api/koord/reservation.h"
#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"

struct reservation_allocated { /* the Reservation a pod took its resources from */
    const char *name, *uid;
};
DECLARE_ANNOTATION(reservation_allocated, struct reservation_allocated)

struct reservation_required {
    KLIST(struct node_selector_term) terms; /* ORed; over the labels of Reservations */
};
struct reservation_affinity {
    const char *name; /* not "": this one, and the rest is ignored */
    struct reservation_required *required;
    kstrmap selector; /* all must match the Reservation's labels */
    tolerationlist tolerations;
};
/* "" is there, and means: some Reservation must be used. */
DECLARE_ANNOTATION(reservation_affinity, struct reservation_affinity)

struct reservation_restricted_options {
    kstrlist resources; /* what is Restricted; empty: all that is reserved */
};
DECLARE_ANNOTATION(reservation_restricted_options, struct reservation_restricted_options)

struct exact_match_spec {
    kstrlist resource_names;
};
DECLARE_ANNOTATION(exact_match_spec, struct exact_match_spec)
/* Do the pod's requests equal what is reserved, for the names listed? No names: yes. A name that is
 * missing on both sides is equal; unlike upstream, the names after it are still looked at. */
bool exact_match(const struct exact_match_spec *spec, const reslist *pod, const reslist *reserved);

struct reservation_resize {
    reslist resources; /* desired allocatable */
};
DECLARE_ANNOTATION(reservation_resize, struct reservation_resize)

struct reservation_owners_value {
    reservation_ownerlist v;
};
DECLARE_ANNOTATION(reservation_owners, struct reservation_owners_value)
DECLARE_ANNOTATION(reservation_current_owner, struct object_ref)

/* ---- labels ---------------------------------------------------------------------------------- */

static inline bool reservation_is_ignored(const kstrmap *labels)
{
    return label_is_true(labels, LABEL_RESERVATION_IGNORED);
}
static inline bool is_reserve_pod(const kstrmap *annotations)
{
    return label_is_true(annotations, ANNO_RESERVE_POD);
}
/* Lowest non-zero order wins; 0: absent or bad, so capacity decides. */
int64_t reservation_order(const kstrmap *labels);
enum operating_mode { OPERATING_RUNNABLE, OPERATING_RESERVATION };
enum operating_mode pod_operating_mode(const kstrmap *labels);
/* The policy label as enum preemption_policy of pod.h; absent: none, unknown words: Never. */
enum preemption_policy pod_preemption_policy(const kstrmap *labels);
/* Higher first; absent or bad: 0. The key is configurable. */
int64_t pre_allocatable_priority(const kstrmap *annotations, const char *key);
#endif
