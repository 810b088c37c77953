/* loads.h - what is known of the load of each node: its NodeMetric, and estimates of the pods that
 * the metric does not show yet. Internal to loadawarescheduling/.
 *
 * A service: one for all profiles with equal args. It holds a reference on each NodeMetric and on
 * each pod that has a node. Vectors are numbers by resource, in the order of loads.names: cpu in
 * milli, everything else in units. Loop thread.
 */
#ifndef KOORD_SCHEDULER_LOADAWARESCHEDULING_LOADS_H
#define KOORD_SCHEDULER_LOADAWARESCHEDULING_LOADS_H
#include "base/map.h"
#include "base/vec.h"
#include "scheduler/model/objects.h"
#include "scheduler/model/uidmap.h"
#include "scheduler/plugins/loadawarescheduling/args.h"

struct node;
struct pod_metric_info;

enum { LOADS_RESOURCES_MAX = 32 };
/* A single amount ends here, so that sums over the pods of a node stay within 64 bits. */
#define LOADS_AMOUNT_MAX (INT64_C(1) << 48)

/* ---- a pod on a node ------------------------------------------------------------------------- */

enum {
    LOAD_IS_PROD = 1 << 0,
    LOAD_ESTIMATED = 1 << 1,  /* its estimate is not all zeros */
    LOAD_COUNTED = 1 << 2,    /* the sums of the node contain it as the next flags say */
    LOAD_REPORTED = 1 << 3,   /* the metric has a usage for it, */
    LOAD_PROD_USAGE = 1 << 4, /* and calls it prod, as we do */
    LOAD_NODE_DELTA = 1 << 5, /* not (fully) observed: what the estimate exceeds the usage by */
    LOAD_PROD_DELTA = 1 << 6, /* the same for the sum of prod pods */
};
struct load_pod {
    struct kuid uid; /* first: the key in loads.pods */
    struct kobj *pod;
    struct load_node *node;
    nsec_t timestamp; /* when it got its node */
    nsec_t deadline;  /* the estimate counts until then, whatever was observed; 0: none */
    uint32_t at;      /* in node->pods */
    uint16_t hash;    /* of its name */
    uint8_t flags;    /* LOAD_* */
    int64_t v[];      /* [n] estimate, [n] usage: with the flags, what it contributes to sums */
};

/* ---- a node ---------------------------------------------------------------------------------- */

enum load_sum { /* vectors of a node */
                LOAD_NODE_USAGE,
                LOAD_SUM_PROD_USAGE,
                LOAD_SUM_NODE_DELTA,
                LOAD_SUM_PROD_DELTA,
                LOAD_SUM_ESTIMATED,
                LOAD_SUMS
};
/* Whom thresholds are for: prod pods may have their own, and best-effort pods are kept below the
 * thresholds of koordlet's evictions too. */
enum load_class { LOAD_ANY, LOAD_PROD, LOAD_BE, LOAD_CLASSES };
/* Scores know no difference between any and best-effort. */
enum { LOAD_SCORED = LOAD_BE };
static inline uint32_t load_scored_as(enum load_class class)
{
    return class == LOAD_PROD ? LOAD_PROD : LOAD_ANY;
}

struct load_limits {               /* of a node, as filter and score need it */
    bool expired[LOAD_CLASSES];    /* the pod is refused for that */
    bool aggregated[LOAD_CLASSES]; /* the threshold is one for an aggregated usage */
    /* The estimate of a pod that still fits; INT64_MAX: not limited. */
    int64_t room[LOAD_CLASSES][LOADS_RESOURCES_MAX];
    /* For scores: capacity, and what is left of it. All zeros: the node is not scored. */
    int64_t left[LOAD_SCORED][LOADS_RESOURCES_MAX];
    int64_t capacity[LOADS_RESOURCES_MAX];
    nsec_t valid_until; /* 0: for ever */
};

struct load_figures { /* of a node and a class of pods, for people */
    bool expired;     /* the report is too old, or has no time */
    bool aggregated;  /* used is an aggregated usage */
    /* What was reported, what pods will use that were not observed yet, and of how much. */
    int64_t used[LOADS_RESOURCES_MAX], estimated[LOADS_RESOURCES_MAX],
        capacity[LOADS_RESOURCES_MAX];
    int64_t threshold[LOADS_RESOURCES_MAX]; /* percent; 0: none */
    int64_t evict[LOADS_RESOURCES_MAX];     /* percent at which koordlet evicts; -1: it does not */
};

struct load_thresholds { /* percent; all zeros: none */
    int64_t usage[LOADS_RESOURCES_MAX], prod[LOADS_RESOURCES_MAX], aggregated[LOADS_RESOURCES_MAX];
    const char *type; /* of the aggregated ones */
    nsec_t duration;
};

enum { /* what was wrong with reports of a node, and was logged */
       LOAD_WITHOUT_TIME = 1 << 0,
       LOAD_FROM_THE_FUTURE = 1 << 1,
       LOAD_NEGATIVE = 1 << 2,
};
struct load_own;
struct load_node { /* exists while it has pods or a metric */
    char *name;
    struct kobj *metric; /* NULL: none; then the sums are not maintained */
    nsec_t update_time, interval;
    struct load_own *own; /* what the annotations of the node say; NULL: nothing */
    struct vec_of(struct load_pod *) pods;
    uint8_t bad;                     /* LOAD_WITHOUT_TIME ... */
    bool filled;                     /* rows were filled from it: the next two say with what */
    bool seen_expired[LOAD_CLASSES]; /* what attempts have seen last */
    int64_t v[]; /* [LOAD_SUMS][n], then what was seen of room, [LOAD_CLASSES][n] */
};

/* ---- pods that wait for load to fall --------------------------------------------------------- */

struct load_wish { /* pods of one estimate */
    uint64_t key;
    enum load_class class;
    int64_t *want; /* [n]; NULL: whatever becomes less */
    nsec_t since;  /* by the monotonic clock: somebody began to wait for it then, or again */
};

/* ---- all ------------------------------------------------------------------------------------- */

struct loads {
    struct ks_env env;
    const struct loadaware_args *args;
    const char *names[LOADS_RESOURCES_MAX]; /* sorted */
    uint32_t n;
    int64_t weights[LOADS_RESOURCES_MAX], factors[LOADS_RESOURCES_MAX];
    struct load_thresholds thresholds; /* of the args */
    struct map nodes;                  /* by name: struct load_node */
    struct uidmap pods;                /* struct load_pod */
    struct objects_listener listener, slo_listener;
    struct arena *scratch;
    struct vec_of(struct load_wish) wishes;
    struct timer *expiry; /* the next report expires, and somebody waits; NULL: not */
};
KS_SERVICE(loads, struct loads)

static inline int64_t *load_sum(struct load_node *n, const struct loads *l, enum load_sum s)
{
    return n->v + s * l->n;
}
static inline int64_t *load_seen_room(struct load_node *n, const struct loads *l,
                                      enum load_class class)
{
    return n->v + (LOAD_SUMS + class) * l->n;
}

/* vector.c */
int loads_init_names(struct loads *l, struct kerr *err); /* and the vectors of the args */
bool load_vector_is_empty(const struct loads *l, const int64_t *v);
void load_vector_of(const struct loads *l, const reslist *from, int64_t *out);

/* estimate.c */
/* What the pod will use (sched-loadaware 3.1); out [n]. */
void load_estimate(const struct loads *l, const struct pod *p, struct arena *a, int64_t *out);
/* When a pod that got its node then is judged by what was observed alone; 0: at once (4.2). */
nsec_t load_deadline(const struct loads *l, const struct pod *p, nsec_t timestamp);
enum load_class load_class_of(const struct pod *p);

/* annotations.c */
const struct load_thresholds *load_thresholds_of(const struct loads *l, struct load_node *n,
                                                 const struct node *node);
/* Usage is compared with what the node has, not with what it was amplified to; out [n]. */
void load_capacity_of(const struct loads *l, struct load_node *n, const struct node *node,
                      int64_t *out);
void load_own_free(struct load_own *own);

/* loads.c */
struct load_node *loads_find(const struct loads *l, const char *node); /* NULL: not known */

/* limits.c */
/* When its report expires. */
nsec_t load_expires(const struct loads *l, const struct load_node *n);
void load_limits_of(const struct loads *l, const struct node *node, nsec_t now,
                    struct load_limits *ret);
/* Does the load of the node leave room for it? */
bool load_limits_allow(const struct loads *l, const struct load_limits *m, enum load_class class,
                       const int64_t *want);

/* Rounded, as thresholds are compared with it. */
int64_t load_percent(int64_t used, int64_t capacity);
/* Of a node with a metric; false: it has none. */
bool load_figures_of(const struct loads *l, const struct node *node, enum load_class class,
                     nsec_t now, struct load_figures *ret);

/* eviction.c */
/* At which percentage koordlet begins to evict best-effort pods, by resource; -1: not at all. true:
 * for some resource. */
bool load_eviction_of(const struct loads *l, const char *node, int64_t *ret_percent);
/* The room of LOAD_BE becomes what is left below that. load: of the node as a whole. */
void load_eviction_limit(const struct loads *l, const struct node *node, const int64_t *percent,
                         const int64_t *load, struct load_limits *m);

/* wishes.c */
/* Attempts see this of the node from now on. */
void loads_saw(struct loads *l, const char *node, const struct load_limits *m);
/* The load of the node may have fallen: those who wait for it are woken. */
void loads_notice(struct loads *l, struct load_node *n);
/* The key under which this pod waits. */
uint64_t loads_wait(struct loads *l, const struct pod *p);
void loads_forget_wishes(struct loads *l);

/* view.c */
extern const struct ks_path loads_paths[];
#endif
