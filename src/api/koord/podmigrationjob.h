/* podmigrationjob.h - PodMigrationJob: move one pod, with a place secured first. Cluster-scoped. */
#ifndef KOORD_API_KOORD_PODMIGRATIONJOB_H
#define KOORD_API_KOORD_PODMIGRATIONJOB_H
#include "api/koord/common.h"

enum migration_phase {
    MIGRATION_PHASE_NONE, /* absent: as Pending */
    MIGRATION_PENDING,
    MIGRATION_RUNNING,
    MIGRATION_SUCCEEDED,
    MIGRATION_FAILED,
    MIGRATION_ABORTED
};
extern const char *const migration_phase_names[];

#define MIGRATION_MODE_RESERVATION_FIRST "ReservationFirst"
#define MIGRATION_MODE_EVICT_DIRECTLY    "EvictDirectly"

/* Condition types. */
#define MIGRATION_RESERVATION_CREATED   "ReservationCreated"
#define MIGRATION_RESERVATION_SCHEDULED "ReservationScheduled"
#define MIGRATION_PREEMPTION            "Preemption"
#define MIGRATION_EVICTION              "Eviction"
#define MIGRATION_POD_SCHEDULED         "PodScheduled"
#define MIGRATION_POD_BOUND_RESERVATION "PodBoundReservation"
#define MIGRATION_BOUND_POD_READY       "BoundPodReady"
#define MIGRATION_RESERVATION_BOUND     "ReservationBound"

/* Reasons. */
#define MIGRATION_REASON_TIMEOUT               "Timeout"
#define MIGRATION_REASON_FAILED_CREATE         "FailedCreateReservation"
#define MIGRATION_REASON_RESERVATION_EXPIRED   "ReservationExpired"
#define MIGRATION_REASON_UNSCHEDULABLE         "Unschedulable"
#define MIGRATION_REASON_FORBIDDEN             "ForbiddenMigratePod"
#define MIGRATION_REASON_MISSING_POD           "MissingPod"
#define MIGRATION_REASON_MISSING_RESERVATION   "MissingReservation"
#define MIGRATION_REASON_PREEMPTING            "Preempting"
#define MIGRATION_REASON_PREEMPT_COMPLETE      "PreemptComplete"
#define MIGRATION_REASON_EVICTING              "Evicting"
#define MIGRATION_REASON_FAILED_EVICT          "FailedEvict"
#define MIGRATION_REASON_EVICT_COMPLETE        "EvictComplete"
#define MIGRATION_REASON_WAIT_BIND_RESERVATION "WaitForPodBindReservation"
#define MIGRATION_REASON_WAIT_BOUND_POD_READY  "WaitForBoundPodReady"

struct delete_preconditions {
    const char *uid, *resource_version; /* NULL: absent */
};
struct delete_options { /* metav1.DeleteOptions */
    const char *api_version, *kind;
    kstrlist dry_run;
    struct opt_i64 grace_period_seconds;
    struct opt_bool ignore_store_read_error, orphan_dependents;
    struct delete_preconditions *preconditions;
    const char *propagation_policy; /* NULL: absent */
};
extern const struct kschema delete_options_schema;

struct migration_reservation_options {
    struct object_ref *reservation_ref; /* use this one, instead of a new one */
    const char *template;               /* JSON: metadata and spec of the Reservation to make */
    struct empty_object *preemption_options;
};
struct preempted_reservation {
    const char *ns, *name, *node_name, *phase;
    struct object_ref *preempted_pod_ref;
    KLIST(struct object_ref) pods_ref;
};

struct podmigrationjob_spec {
    struct object_ref *pod_ref;
    const char *mode; /* "": the controller's default */
    struct opt_i64 ttl_ns;
    struct migration_reservation_options *reservation_options;
    struct delete_options *delete_options;
    bool paused;
};
struct podmigrationjob_status {
    uint8_t phase; /* enum migration_phase */
    const char *status, *reason, *message, *node_name;
    timed_conditionlist conditions;
    struct object_ref *pod_ref; /* the new pod */
    KLIST(struct object_ref) preempted_pods_ref;
    KLIST(struct preempted_reservation) preempted_pods_reservation;
};
struct podmigrationjob {
    struct kobj obj;
    struct podmigrationjob_spec spec;
    struct podmigrationjob_status status;
};

extern const struct kschema migration_condition_schema, podmigrationjob_spec_schema,
    podmigrationjob_status_schema, podmigrationjob_schema;
extern const struct kind kind_podmigrationjob;
extern const struct kind_crd crd_podmigrationjob;

static inline const struct podmigrationjob *podmigrationjob_of(const struct kobj *o)
{
    return container_of(o, const struct podmigrationjob, obj);
}
#endif
