/* args.h - LowNodeLoadArgs (descheduler 3.1). */
#ifndef KOORD_DESCHEDULER_LOWNODELOAD_ARGS_H
#define KOORD_DESCHEDULER_LOWNODELOAD_ARGS_H
#include "descheduler/framework/plugin.h"
#include "descheduler/plugins/common/args.h"

struct lnl_percent {
    const char *resource;
    double percent;
};
typedef KLIST(struct lnl_percent) lnl_percents; /* sorted by resource */
struct lnl_weight {
    const char *resource;
    int64_t weight;
};
typedef KLIST(struct lnl_weight) lnl_weights;
struct lnl_anomaly {
    struct opt_i64 timeout; /* ns */
    int32_t abnormal, normal;
};
struct lnl_pool {
    const char *name;
    struct label_selector *node_selector;
    bool deviation;
    lnl_percents high, low, prod_high, prod_low;
    lnl_weights weights;
    struct lnl_anomaly *anomaly;
    struct labelsel *nodes; /* NULL: all; made of node_selector */
};
struct lnl_args {
    bool paused, dry_run;
    int32_t number_of_nodes;
    struct opt_i64 expiration; /* seconds */
    struct args_namespaces *namespaces;
    args_pod_selectors pods;
    struct opt_bool node_fit;
    struct opt_i64 detector_timeout; /* ns */
    struct lnl_pool top;             /* its members stand in the args themselves */
    KLIST(struct lnl_pool) pools;
    /* Made of these: the pool of the top level, then the others, with what they inherit. */
    const struct lnl_pool **all;
    uint32_t nall;
};
#define LNL_DEFAULT_POOL "__default_node_pool__"
extern const struct kd_args lownodeload_args;

/* NULL: not given. */
const double *lnl_percent(const lnl_percents *l, const char *resource);
int64_t lnl_weight(const lnl_weights *l, const char *resource); /* 0: not given */
#endif
