/* elasticquota.h - what the files of the plugin share. */
#ifndef KOORD_SCHEDULER_ELASTICQUOTA_H
#define KOORD_SCHEDULER_ELASTICQUOTA_H
#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/elasticquota/quotas.h"

struct elastic_quota { /* an instance */
    struct quotas *quotas;
    struct admit_rules rules;
    bool spare_default; /* disableDefaultQuotaPreemption */
    struct budgets *budgets;
};

struct quota_attempt { /* the state of an attempt */
    struct quota *quota;
    uint64_t keys;
    reslist list;
    bool preemptible;
    int64_t amount[QUOTA_COLUMNS_MAX];
    int64_t shift[QUOTA_COLUMNS_MAX]; /* pods added to the quota and removed from it */
};

/* Is there room, with the pods that were added and removed? ret: for admit_text(). */
struct admit_verdict elastic_quota_judge(const struct elastic_quota *e,
                                         const struct quota_attempt *t, struct admit_request *ret);
/* Who may be evicted for a pod of the same quota, and when it fits (sched-quota 11): for rules.arg.
 */
struct quota_preemption {
    struct elastic_quota *plugin;
    struct quota_attempt *attempt;
    bool all_gone;    /* the next question is about the row without all that may go */
    bool filters_say; /* the last refusal was that of the filters, not of the quota */
    uint32_t named;   /* nodes that a text names */
};
struct preemption_rules elastic_quota_rules(struct quota_preemption *p);
extern const struct ks_post_filter elastic_quota_post_filter;
#endif
