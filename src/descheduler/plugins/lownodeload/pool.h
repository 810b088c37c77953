/* pool.h - one pool of nodes in one round: use, thresholds, classes (descheduler 3.2 to 3.4).
 *
 * Amounts are whole numbers: cpu in nanocores, everything else in thousandths of its unit, so that
 * sums and comparisons are exact. Everything lies in the round's arena.
 */
#ifndef KOORD_DESCHEDULER_LOWNODELOAD_POOL_H
#define KOORD_DESCHEDULER_LOWNODELOAD_POOL_H
#include "descheduler/plugins/lownodeload/args.h"

struct nodemetric;
struct pod_metric_info;

enum lnl_class {
    LNL_NONE,
    LNL_LOW,
    LNL_HIGH,
    LNL_PROD_LOW,
    LNL_PROD_HIGH,
    LNL_BOTH_LOW,
    LNL_CLASSES
};
extern const char *const lnl_class_names[LNL_CLASSES];

/* A resource of the pool, with what the args say about it. */
struct lnl_resource {
    const char *name;
    const char *met; /* the same name as it was met last: names in reports are interned */
    bool is_cpu, is_pods;
    double low, high, prod_low, prod_high; /* percent; with deviations: from the average */
    int64_t weight;
};
struct lnl_level { /* one amount for each resource, in their order */
    int64_t *usage, *low, *high;
};
struct lnl_node {
    uint32_t node; /* in the view */
    const char *name;
    bool usable, schedulable;
    enum lnl_class class;
    struct lnl_level all, prod;
    int64_t *allocatable; /* raw */
    int64_t score;        /* for the order of sources */
    const struct nodemetric *metric;
};
struct lnl_round { /* of one pool */
    const struct lnl_args *args;
    const struct lnl_pool *pool;
    const struct kd_view *view;
    struct arena *arena;
    nsec_t now;
    struct lnl_resource *resources; /* sorted by name */
    uint32_t nresources;
    int64_t pods_resource; /* index of `pods`; -1: not one of them */
    /* Some prod threshold is given. Without one no node can be above it that is not above its other
     * threshold too, so what prod pods use need not be known. */
    bool has_prod;
    struct lnl_node *nodes;
    uint32_t nnodes;
};

void pool_init(struct lnl_round *r, const uint32_t *nodes, uint32_t n);
/* Reads what node i uses. In any order; each once. */
void pool_measure(struct lnl_round *r, uint32_t i);
/* When all are measured. */
void pool_classify(struct lnl_round *r);

/* Some resource is above / every one is at most at the threshold. */
bool pool_is_over(const struct lnl_round *r, const int64_t *usage, const int64_t *threshold);

/* What the NodeMetric says of a pod, in the amounts of the pool; NULL: nothing that can be used. */
struct lnl_pod_usage {
    int64_t *amounts; /* 0 where it says nothing */
    bool *known;
};
const struct lnl_pod_usage *pool_pod_usage(const struct lnl_round *r, const struct lnl_node *n,
                                           const struct pod *p);
/* Takes from the use of a source what is on its way out, or has gone since the report. */
typedef bool (*pool_leaving_fn)(void *arg, const struct pod_metric_info *e,
                                const struct pod *p, /* NULL: the node has no such pod */
                                nsec_t reported);
void pool_discount(const struct lnl_round *r, struct lnl_node *n, pool_leaving_fn leaving,
                   void *arg);
/* The amount in milli for cpu, else in units, rounded up: how upstream counts in scores. */
int64_t pool_count(const struct lnl_resource *x, int64_t amount);
/* The same in thousandths. */
int64_t pool_milli(const struct lnl_resource *x, int64_t amount);
int64_t pool_score(const struct lnl_round *r, const struct lnl_node *n, const int64_t *usage);
#endif
