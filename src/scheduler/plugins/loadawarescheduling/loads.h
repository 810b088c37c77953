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
    uint32_t hash;    /* of namespace and name */
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
/* Whom thresholds are for: prod pods may have their own. */
enum load_class { LOAD_ANY, LOAD_PROD, LOAD_CLASSES };

struct load_limits {               /* of a node, as filter and score need it */
    bool expired[LOAD_CLASSES];    /* the pod is refused for that */
    bool aggregated[LOAD_CLASSES]; /* the threshold is one for an aggregated usage */
    /* The estimate of a pod that still fits; INT64_MAX: not limited. */
    int64_t room[LOAD_CLASSES][LOADS_RESOURCES_MAX];
    /* For scores: capacity, and what is left of it. All zeros: the node is not scored. */
    int64_t left[LOAD_CLASSES][LOADS_RESOURCES_MAX];
    int64_t capacity[LOADS_RESOURCES_MAX];
    nsec_t valid_until; /* 0: for ever */
};

struct load_node { /* exists while it has pods or a metric */
    char *name;
    struct kobj *metric; /* NULL: none; then the sums are not maintained */
    nsec_t update_time, interval;
    struct vec_of(struct load_pod *) pods;
    bool filled;                     /* rows were filled from it: the next two say with what */
    bool seen_expired[LOAD_CLASSES]; /* what attempts have seen last */
    int64_t v[]; /* [LOAD_SUMS][n], then what was seen of room, [LOAD_CLASSES][n] */
};

/* ---- pods that wait for load to fall --------------------------------------------------------- */

struct load_wish { /* pods of one estimate */
    uint64_t key;
    enum load_class class;
    int64_t *want; /* [n]; NULL: whatever becomes less */
};

/* ---- all ------------------------------------------------------------------------------------- */

struct loads {
    struct ks_env env;
    const struct loadaware_args *args;
    const char *names[LOADS_RESOURCES_MAX]; /* sorted */
    uint32_t n;
    int64_t weights[LOADS_RESOURCES_MAX], factors[LOADS_RESOURCES_MAX];
    int64_t thresholds[LOADS_RESOURCES_MAX], prod_thresholds[LOADS_RESOURCES_MAX];
    int64_t aggregated[LOADS_RESOURCES_MAX]; /* thresholds; all zeros: not active */
    struct map nodes;                        /* by name: struct load_node */
    struct uidmap pods;                      /* struct load_pod */
    struct objects_listener listener;
    struct arena *scratch;
    struct vec_of(struct load_wish) wishes;
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

/* loads.c */
struct load_node *loads_find(const struct loads *l, const char *node); /* NULL: not known */

/* limits.c */
void load_limits_of(const struct loads *l, const struct node *node, nsec_t now,
                    struct load_limits *ret);
/* Does the load of the node leave room for it? */
bool load_limits_allow(const struct loads *l, const struct load_limits *m, enum load_class class,
                       const int64_t *want);

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
