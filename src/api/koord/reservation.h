/* reservation.h - Reservation: room set aside for pods to come. Cluster-scoped.
 *
 * The template is kept as text, because the CRD lets anything through there:
 * reservation_template() decodes it, and one that does not decode concerns only its Reservation.
 */
#ifndef KOORD_API_KOORD_RESERVATION_H
#define KOORD_API_KOORD_RESERVATION_H
#include "api/koord/common.h"
#include "api/pod.h"

enum reservation_phase {
    RESERVATION_PHASE_NONE, /* absent: as Pending */
    RESERVATION_PENDING,
    RESERVATION_AVAILABLE,
    RESERVATION_WAITING,
    RESERVATION_SUCCEEDED,
    RESERVATION_FAILED
};
enum allocate_policy { ALLOCATE_DEFAULT, ALLOCATE_ALIGNED, ALLOCATE_RESTRICTED };
enum pre_allocation_mode { PRE_ALLOCATION_NONE, PRE_ALLOCATION_DEFAULT, PRE_ALLOCATION_CLUSTER };
extern const char *const reservation_phase_names[], *const allocate_policy_names[];

/* Condition types and reasons. */
#define RESERVATION_CONDITION_SCHEDULED  "Scheduled"
#define RESERVATION_CONDITION_READY      "Ready"
#define RESERVATION_REASON_SCHEDULED     "Scheduled"
#define RESERVATION_REASON_UNSCHEDULABLE "Unschedulable"
#define RESERVATION_REASON_AVAILABLE     "Available"
#define RESERVATION_REASON_SUCCEEDED     "Succeeded"
#define RESERVATION_REASON_EXPIRED       "Expired"

struct reservation_controller { /* an owner reference with a namespace */
    const char *api_version, *kind, *name, *ns;
    struct kuid uid;
    struct opt_bool controller, block_owner_deletion;
};
struct reservation_owner { /* what is set must all match; NULL: not set */
    struct object_ref *object;
    struct reservation_controller *controller;
    struct label_selector *label_selector;
};
typedef KLIST(struct reservation_owner) reservation_ownerlist; /* ORed */

struct pre_allocation_policy {
    uint8_t mode; /* enum pre_allocation_mode */
    bool enable_multiple;
};

struct reservation_spec {
    const char *template; /* JSON of a PodTemplateSpec; NULL: absent */
    reservation_ownerlist owners;
    struct opt_i64 ttl_ns; /* 0: never expires */
    nsec_t expires;        /* 0: absent; goes before ttl */
    taintlist taints;
    struct pre_allocation_policy *pre_allocation_policy;
    struct opt_bool allocate_once; /* absent: true */
    uint8_t allocate_policy;       /* enum allocate_policy */
    bool pre_allocation, unschedulable;
};
struct reservation_status {
    timed_conditionlist conditions;
    KLIST(struct object_ref) current_owners;
    const char *node_name;
    reslist allocatable, allocated;
    uint8_t phase; /* enum reservation_phase */
};
struct reservation {
    struct kobj obj;
    struct reservation_spec spec;
    struct reservation_status status;
};

extern const struct kschema reservation_owner_schema, reservation_condition_schema,
    reservation_status_schema, reservation_schema;
extern const struct kind kind_reservation;
extern const struct kind_crd crd_reservation;

static inline const struct reservation *reservation_of(const struct kobj *o)
{
    return container_of(o, const struct reservation, obj);
}
/* -ENOENT when there is no template, -EINVAL when it is not one. err may be NULL. */
int reservation_template(const struct reservation *r, struct arena *a, struct pod_template *ret,
                         struct kerr *err);
#endif
