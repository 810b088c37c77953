/* preempt.c - room for a pod at the cost of less important pods of its own quota (sched-quota 11).
 */
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/plugins/elasticquota/elasticquota.h"

/* Is the pod one that makes way for others of its quota? */
static bool gives_way(const struct quota_preemption *p, const struct pod *preemptor,
                      const struct pod *victim)
{
    struct quota *q = p->attempt->quota;

    if (pod_priority(victim) >= pod_priority(preemptor) ||
        !pod_quota_preemptible(&victim->obj.meta.labels))
        return false;
    if (p->plugin->spare_default && streq(quota_name(q), QUOTA_DEFAULT_NAME))
        return false;
    return forest_charged(p->plugin->quotas->forest, victim->obj.meta.uid) == q;
}

static bool may_evict(void *arg, const struct attempt *a, const struct pod *victim, uint32_t row)
{
    struct quota_preemption *p = arg;

    (void)row;
    p->all_gone = true;
    return gives_way(p, a->pod.pod, victim);
}

/* Only what the pod requests counts here: it makes no room for what others use of the rest. */
static bool has_room(const struct quota_preemption *p)
{
    struct quota_forest *f = p->plugin->quotas->forest;
    const struct quota_attempt *t = p->attempt;
    uint64_t limited, keys;
    const int64_t *limit = admit_limit(f, t->quota, &p->plugin->rules, &limited);
    const int64_t *used = quota_values(f, t->quota, QUOTA_USED, &keys);

    columns_foreach(c, limited & t->keys & quota_keys(t->quota)) {
        if (MAX(quota_at(used, c) + t->shift[c], 0) + t->amount[c] > quota_at(limit, c))
            return false;
    }
    return true;
}

/* Without all that may go only the filters are asked: when the quota has no room then, pods of
 * other nodes may give it. */
static bool fits(void *arg, struct attempt *a, uint32_t row)
{
    struct quota_preemption *p = arg;
    bool all_gone = p->all_gone;

    p->all_gone = false;
    p->filters_say = !attempt_fits(a, row, NULL);
    return !p->filters_say && (all_gone || has_room(p));
}

static void explain(void *arg, struct attempt *a, uint32_t row, struct ks_texts *why)
{
    struct attempt_verdict verdict;

    (void)arg;
    if (!attempt_fits(a, row, &verdict))
        attempt_fits_texts(a, row, &verdict, why);
}

static bool violates(void *arg)
{
    return ((const struct quota_preemption *)arg)->filters_say;
}

/* Upstream's text, which names the node; but not a thousand of them in one message. */
enum { NODES_NAMED = 16 };
static const char *nobody(void *arg, const struct attempt *a, uint32_t row)
{
    struct quota_preemption *p = arg;

    if (p->named == NODES_NAMED)
        return "No victims found on other nodes";
    p->named++;
    return arena_printf(a->arena, "No victims found on node %s for preemptor pod %s",
                        a->cycle.nodes->node[row]->obj.meta.name, a->obj->meta.name);
}

struct preemption_rules elastic_quota_rules(struct quota_preemption *p)
{
    return (struct preemption_rules){ .arg = p,
                                      .may_evict = may_evict,
                                      .fits = fits,
                                      .explain = explain,
                                      .nobody = nobody,
                                      .violates = violates,
                                      .in_turn = true,
                                      .budgets = p->plugin->budgets };
}

/* Would the pod have room if all pods of its quota that may go were gone, wherever they are? */
static bool is_in_vain(struct quota_preemption *p, const struct attempt *a)
{
    struct quota_forest *f = p->plugin->quotas->forest;
    struct quota_attempt *t = p->attempt;
    int64_t before[QUOTA_COLUMNS_MAX];
    struct admit_request request;
    struct quota_pod other;

    memcpy(before, t->shift, sizeof before);
    for (uint32_t at = 0; quota_next_pod(f, t->quota, &at, &other);) {
        if (!other.assigned || !gives_way(p, a->pod.pod, other.pod))
            continue;
        columns_foreach(c, other.keys & quota_keys(t->quota))
            t->shift[c] -= other.amount[c];
    }
    bool vain = elastic_quota_judge(p->plugin, t, &request).code != ADMIT_OK;
    memcpy(t->shift, before, sizeof before);
    return vain;
}

static bool is_victim(const struct preemption *plan, struct kuid uid)
{
    for (uint32_t i = 0; i < plan->n; i++)
        for (uint32_t k = 0; k < plan->nodes[i].n; k++)
            if (kuid_equal(plan->nodes[i].victims[k]->obj.meta.uid, uid))
                return true;
    return false;
}

/* Victims are chosen by what the pod asks for. A quota that is above its limit in something else,
 * or below a parent that is full, lets it in only if they make room there too. */
static bool lets_in_after(struct quota_preemption *p, const struct preemption *plan)
{
    struct quota_forest *f = p->plugin->quotas->forest;
    struct quota_attempt *t = p->attempt;
    int64_t before[QUOTA_COLUMNS_MAX];
    struct admit_request request;
    struct quota_pod other;

    memcpy(before, t->shift, sizeof before);
    for (uint32_t at = 0; quota_next_pod(f, t->quota, &at, &other);) {
        if (!other.assigned || !is_victim(plan, other.pod->obj.meta.uid))
            continue;
        columns_foreach(c, other.keys & quota_keys(t->quota))
            t->shift[c] -= other.amount[c];
    }
    bool ok = elastic_quota_judge(p->plugin, t, &request).code == ADMIT_OK;
    memcpy(t->shift, before, sizeof before);
    return ok;
}

/* When the quota has no room, no victims of others give it any: nobody else need look. */
static enum ks_code plan(void *self, struct attempt *a, struct preemption *ret,
                         struct ks_texts *why)
{
    struct quota_preemption p = { .plugin = self, .attempt = a->cycle.state };
    struct preemption_rules rules;
    struct admit_request request;

    if (!p.attempt)
        return KS_UNSCHEDULABLE;
    if (is_in_vain(&p, a)) {
        ks_texts_add(why,
                     "preemption: less important pods of the quota cannot give it enough room.");
        return KS_UNRESOLVABLE;
    }
    rules = elastic_quota_rules(&p);
    enum ks_code code = preemption_plan(&rules, a, ret, why);
    if (code == KS_SUCCESS && !lets_in_after(&p, ret)) {
        *ret = (struct preemption){ 0 };
        ks_texts_add(why, "preemption: the quota would not let the pod in afterwards.");
        return KS_UNRESOLVABLE;
    }
    if (code == KS_SUCCESS || elastic_quota_judge(self, p.attempt, &request).code == ADMIT_OK)
        return code;
    return KS_UNRESOLVABLE;
}

const struct ks_post_filter elastic_quota_post_filter = { .plan = plan };
