/* lownodeload.h - what the files of the plugin share, and its golden runner asks. */
#ifndef KOORD_DESCHEDULER_LOWNODELOAD_H
#define KOORD_DESCHEDULER_LOWNODELOAD_H
#include "descheduler/plugins/lownodeload/detector.h"
#include "descheduler/plugins/lownodeload/pool.h"

struct lnl_nodes { /* room for all nodes of the pool */
    struct lnl_node **items;
    size_t n;
};

/* What became of a pool: for people, and for tests. */
struct lnl_outcome {
    const struct lnl_round *pool;
    const struct lnl_nodes *abnormal, *prod_abnormal; /* NULL: it did not come to that */
};
struct lnl {
    const struct lnl_args *args;
    struct detectors detectors, prod_detectors;
    void (*outcome)(void *arg, const struct lnl_outcome *o); /* NULL: nobody */
    void *outcome_arg;
};

/* ---- evict.c: pods of sources that targets can take (3.6) -------------------------------------- */

struct lnl_pass {
    struct lnl_round *pool;
    struct lnl *plugin;
    struct kd_round *round;
    bool prod;
    struct lnl_nodes *sources, *targets;
    int64_t *budget; /* for each resource: what the targets can take together */
    int64_t *room;   /* a tree over the targets: the most room below; made when first asked */
    size_t leaves;
};
/* One source node after the other. */
void pass_source(struct lnl_pass *p, struct lnl_node *source);

/* How well a pod covers the excess of a node's over-used resources: 2 is best (descheduler 2). The
 * excess and use in milli cpu and units. A resource whose use is not known (negative) takes no
 * part. */
double lnl_usage_score(const int64_t *usage, const int64_t *excess, const int64_t *weights,
                       uint32_t n);
#endif
