/* hpa.h - inside the HorizontalPodAutoscaler controller.
 *
 *   docs_hpa.c   the kind
 *   hpa.c        one look at an autoscaler: scale, metrics, decision, status
 *   hpa_view.c   what its metrics say: pods, their samples, texts of what is wrong
 *   hpa_calc.c   from samples to a number of replicas
 *   hpa_rules.c  what of that is allowed now: limits, stabilization, policies
 */
#ifndef KOORD_CLUSTER_HPA_H
#define KOORD_CLUSTER_HPA_H
#include "base/qty.h"
#include "cluster/internal.h"

/* ---- the kind ------------------------------------------------------------------------------------ */

struct hpa_target {
    const char *type;
    const struct qty *average_value;
    struct opt_i32 average_utilization;
};
struct hpa_resource { /* of pods, or of one container of them */
    const char *name, *container;
    struct hpa_target target;
};
struct hpa_identifier {
    const char *name;
    struct label_selector *selector;
};
struct hpa_object_ref {
    const char *kind, *name, *api_version;
};
struct hpa_other { /* Pods, Object, External: metrics that nobody serves here */
    struct hpa_identifier metric;
    struct hpa_object_ref described;
};
struct hpa_metric {
    const char *type;
    struct hpa_resource *resource, *container;
    struct hpa_other *pods, *object, *external;
};
struct hpa_policy {
    const char *type; /* "Pods", "Percent" */
    int32_t value, period_seconds;
};
typedef KLIST(struct hpa_policy) hpa_policylist;
struct hpa_direction {
    struct opt_i32 window_seconds; /* of stabilization */
    const char *select_policy;     /* "Max", "Min", "Disabled"; NULL: Max */
    hpa_policylist policies;
    const struct qty *tolerance;
};
struct hpa_behavior {
    struct hpa_direction *up, *down;
};
struct hpa_spec {
    struct hpa_object_ref target;
    struct opt_i32 min_replicas;
    int32_t max_replicas;
    KLIST(struct hpa_metric) metrics;
    struct hpa_behavior *behavior;
};

struct hpa_value {
    struct opt_i32 average_utilization;
    const char *average_value;
};
struct hpa_resource_status {
    const char *name, *container;
    struct hpa_value current;
};
struct hpa_metric_status {
    const char *type; /* "": nothing could be told */
    struct hpa_resource_status *resource, *container;
};
typedef KLIST(struct hpa_metric_status) hpa_metric_statuslist;
struct hpa_status {
    int32_t current_replicas, desired_replicas;
    nsec_t last_scale_time;
    hpa_metric_statuslist current_metrics;
    timed_conditionlist conditions;
};
struct hpa {
    struct kobj obj;
    struct hpa_spec spec;
    struct hpa_status status;
};
extern const struct kind doc_hpa;
extern const struct kschema hpa_spec_schema, hpa_status_schema;
static inline const struct hpa *hpa_of(const struct kobj *o)
{
    return container_of(o, const struct hpa, obj);
}

/* ---- from samples to replicas: hpa_calc.c ---------------------------------------------------------- */

struct hpa_sample { /* a pod that the target's selector selects */
    const struct pod *pod;
    bool known;        /* there is a metric of it */
    nsec_t at, window; /* wall: measured in the window that ends then */
    int64_t value;     /* in thousandths */
    int64_t request;   /* the same */
};
typedef struct vec_of(struct hpa_sample) hpa_samplevec;
struct hpa_goal {
    bool is_utilization, is_cpu;
    int64_t target;   /* percent of the request, or thousandths a pod */
    double down, up;  /* tolerances */
    int32_t replicas; /* as the target's spec has it now */
    nsec_t now;       /* wall */
};
struct hpa_proposal {
    int32_t replicas, utilization;
    int64_t average; /* in thousandths */
};
/* NULL, or why nothing can be proposed. */
const char *hpa_calc(const hpa_samplevec *samples, const struct hpa_goal *g,
                     struct hpa_proposal *ret);

/* ---- what is allowed: hpa_rules.c ------------------------------------------------------------------- */

struct hpa_moment {
    int32_t n; /* a recommendation, or a change */
    nsec_t at; /* by the loop's clock */
};
typedef struct vec_of(struct hpa_moment) hpa_momentvec;
struct hpa_memory { /* of one autoscaler; a restart forgets it */
    hpa_momentvec recommended, added, removed;
    char *key;
    char *selector; /* of its pods, as last seen; NULL: none yet */
};
void hpa_memory_fini(struct hpa_memory *m);

struct hpa_limits {
    int32_t current, desired, min, max;
    const struct hpa_behavior *behavior; /* NULL: the usual rules */
    nsec_t now;                          /* by the loop's clock */
};
struct hpa_verdict {
    int32_t replicas;
    const char *stable_reason, *stable_message;   /* of AbleToScale */
    bool is_limited;                              /* ScalingLimited */
    const char *limited_reason, *limited_message; /* of it */
};
/* Before the first look: what is there counts as recommended. */
void hpa_remember_first(struct hpa_memory *m, int32_t current, nsec_t now);
/* Notes the recommendation, too. */
struct hpa_verdict hpa_judge(struct hpa_memory *m, const struct hpa_limits *l);
/* The target was scaled. */
void hpa_remember_change(struct hpa_memory *m, const struct hpa_limits *l, int32_t to);

/* ---- what metrics say: hpa_view.c -------------------------------------------------------------------- */

struct hpa_look { /* in the arena */
    const struct hpa *hpa;
    struct cluster *c;
    int32_t replicas;           /* of the target's spec */
    kobjvec pods;               /* selected ones; on the heap */
    const struct kj_val *items; /* PodMetrics; NULL: none, and the problem says why */
    const char *problem;        /* of asking for PodMetrics; NULL: none */
    struct arena *a;
};
struct hpa_opinion { /* of one metric */
    int32_t replicas;
    const char *name;           /* how it is called when it scales */
    const char *reason, *cause; /* NULL: fine. FailedGetResourceMetric, and the text of the event */
    const char *failure;        /* "failed to get cpu resource metric value: ..." */
    struct hpa_metric_status status;
};
struct hpa_opinion hpa_ask(const struct hpa_look *l, const struct hpa_metric *m);
#endif
