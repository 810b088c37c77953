/* preempt.c - room for a pod at the cost of less important pods of its own quota (sched-quota 11).
 */
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/plugins/elasticquota/elasticquota.h"

static bool may_evict(void *arg, const struct attempt *a, const struct pod *victim, uint32_t row)
{
    const struct quota_preemption *p = arg;
    struct quota *q = p->attempt->quota;

    (void)row;
    if (pod_priority(victim) >= pod_priority(a->pod.pod) ||
        !pod_quota_preemptible(&victim->obj.meta.labels))
        return false;
    if (p->plugin->spare_default && streq(quota_name(q), QUOTA_DEFAULT_NAME))
        return false;
    return forest_charged(p->plugin->quotas->forest, victim->obj.meta.uid) == q;
}

/* The filters agree, and the quota has room. */
static bool fits(void *arg, struct attempt *a, uint32_t row)
{
    const struct quota_preemption *p = arg;
    struct admit_request request;

    return attempt_fits(a, row, NULL) &&
           elastic_quota_judge(p->plugin, p->attempt, &request).code == ADMIT_OK;
}

static void explain(void *arg, struct attempt *a, uint32_t row, struct ks_texts *why)
{
    const struct quota_preemption *p = arg;
    struct attempt_verdict verdict;
    struct admit_request request;

    if (!attempt_fits(a, row, &verdict)) {
        attempt_fits_texts(a, row, &verdict, why);
        return;
    }
    struct admit_verdict v = elastic_quota_judge(p->plugin, p->attempt, &request);
    ks_texts_add(why,
                 admit_text(p->plugin->quotas->forest, &v, &p->plugin->rules, &request, a->arena));
}

struct preemption_rules elastic_quota_rules(struct quota_preemption *p)
{
    return (struct preemption_rules){ .arg = p,
                                      .may_evict = may_evict,
                                      .fits = fits,
                                      .explain = explain,
                                      .budgets = p->plugin->budgets };
}

/* When the quota has no room, no victims of others give it any: nobody else need look. */
static enum ks_code plan(void *self, struct attempt *a, struct preemption *ret,
                         struct ks_texts *why)
{
    struct quota_preemption p = { self, a->cycle.state };
    struct preemption_rules rules;
    struct admit_request request;

    if (!p.attempt)
        return KS_UNSCHEDULABLE;
    rules = elastic_quota_rules(&p);
    enum ks_code code = preemption_plan(&rules, a, ret, why);
    if (code == KS_SUCCESS || elastic_quota_judge(self, p.attempt, &request).code == ADMIT_OK)
        return code;
    return KS_UNRESOLVABLE;
}

const struct ks_post_filter elastic_quota_post_filter = { .plan = plan };
