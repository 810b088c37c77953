/* observe.h - how long the work of ElasticQuota takes, as histograms (sched-quota 16). */
#ifndef KOORD_SCHEDULER_ELASTICQUOTA_OBSERVE_H
#define KOORD_SCHEDULER_ELASTICQUOTA_OBSERVE_H
#include "base/base.h"

struct histogram;
struct loop;
struct metrics;

enum quota_op { /* names are upstream's */
                QUOTA_OP_REFRESH,
                QUOTA_OP_UPDATE,
                QUOTA_OP_DELETE,
                QUOTA_OP_POD_ADD,
                QUOTA_OP_POD_UPDATE,
                QUOTA_OP_POD_DELETE,
                QUOTA_OP_RESERVE,
                QUOTA_OP_UNRESERVE,
                QUOTA_OPS
};
struct quota_observer {
    struct loop *loop; /* NULL: nothing is measured */
    struct histogram *ops[QUOTA_OPS], *status;
};
void quota_observer_init(struct quota_observer *o, struct loop *l, struct metrics *m);
nsec_t quota_observe_begin(const struct quota_observer *o);
void quota_observe_end(const struct quota_observer *o, enum quota_op op, nsec_t from);
/* The status of a quota was written. */
void quota_observe_status(const struct quota_observer *o, nsec_t from);
#endif
