/* elasticquota.c - ElasticQuota: quota groups that lend each other what they do not use
 * (sched-quota 10, 11, 14). The numbers are kept by the service (quotas.h) over src/quota.
 */
#include "scheduler/plugins/elasticquota/elasticquota.h"

#include "api/koord/quota.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/plugins/registry.h"

/* ---- is there room? -------------------------------------------------------------------------- */

struct admit_verdict elastic_quota_judge(const struct elastic_quota *e,
                                         const struct quota_attempt *t, struct admit_request *ret)
{
    struct quota_forest *f = e->quotas->forest;
    struct admit_verdict v;

    *ret = (struct admit_request){ .keys = t->keys,
                                   .amount = t->amount,
                                   .list = &t->list,
                                   .preemptible = t->preemptible,
                                   .used_shift = t->shift };
    admit_own(f, t->quota, &e->rules, ret, &v);
    if (v.code == ADMIT_OK)
        admit_above(f, t->quota, &e->rules, ret, &v);
    return v;
}

static enum ks_code quota_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    struct elastic_quota *e = self;
    struct quota *q = quotas_of_pod(e->quotas, p->pod);
    struct admit_request request;

    (void)only;
    if (!q)
        return KS_SKIP;
    struct quota_attempt *t = arena_new0(c->arena, struct quota_attempt);
    t->quota = q;
    t->list = forest_request_list(e->quotas->forest, p->pod, c->arena);
    t->keys = forest_request(e->quotas->forest, &t->list, t->amount);
    t->preemptible = pod_quota_preemptible(&p->pod->obj.meta.labels);
    *ret_state = t;
    nsec_t from = quota_observe_begin(&e->quotas->observer);
    struct admit_verdict v = elastic_quota_judge(e, t, &request);
    quota_observe_end(&e->quotas->observer, QUOTA_OP_REFRESH, from);
    /* Hook plugins come between the quota itself and those above. */
    const char *hook = v.code == ADMIT_OK || v.code == ADMIT_NO_ROOM_ABOVE
                           ? quota_hooks_check(&e->quotas->hooks, q, p->pod, c->arena)
                           : NULL;
    if (hook)
        ks_texts_add(why, hook);
    if (hook)
        return KS_UNSCHEDULABLE;
    if (v.code == ADMIT_OK)
        return KS_SUCCESS;
    ks_texts_add(why, admit_text(e->quotas->forest, &v, &e->rules, &request, c->arena));
    return KS_UNSCHEDULABLE;
}

/* ---- what if a pod were there, or not? ------------------------------------------------------- */

/* Only pods that are charged to the same quota count. */
static void shift(struct elastic_quota *e, const struct ks_cycle *c, const struct pod *other,
                  int sign)
{
    struct quota_attempt *t = c->state;
    struct quota_forest *f = e->quotas->forest;
    struct quota_pod known;

    if (!t || forest_charged(f, other->obj.meta.uid) != t->quota ||
        !forest_pod(f, other->obj.meta.uid, &known))
        return;
    columns_foreach(i, known.keys & quota_keys(t->quota))
        t->shift[i] += sign * known.amount[i];
}

static void quota_add_pod(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          const struct pod *other, uint32_t row)
{
    (void)p, (void)row;
    shift(self, c, other, 1);
}

static void quota_remove_pod(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                             const struct pod *other, uint32_t row)
{
    (void)p, (void)row;
    shift(self, c, other, -1);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static uint64_t quota_waits_for(void *self, const struct pod *p)
{
    const struct elastic_quota *e = self;

    return quotas_wait(e->quotas, p);
}

/* Another quota, or a smaller request: its own changes. */
static bool is_its_own(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return e->now && kuid_equal(e->now->meta.uid, p->obj.meta.uid);
}

static const struct ks_hint quota_hints[] = {
    { KS_RES_UNSCHEDULABLE_POD, KS_POD_LABEL | KS_POD_SCALE_DOWN, is_its_own, NULL },
};

/* ---- the plugin ------------------------------------------------------------------------------ */

static int quota_create(const struct ks_env *env, const void *args, void **ret_self,
                        struct kerr *err)
{
    const struct quota_args *a = args;
    struct elastic_quota *e = xnew0(struct elastic_quota);

    (void)err;
    e->quotas = quotas_of(env);
    e->rules = (struct admit_rules){ .runtime = a->runtime.v, .check_parent = a->check_parent.v };
    e->spare_default = a->spare_default.v;
    e->budgets = budgets_new(env->objects);
    quotas_set_args(e->quotas, a);
    *ret_self = e;
    return 0;
}

static void quota_destroy(void *self)
{
    struct elastic_quota *e = self;

    budgets_free(e->budgets);
    free(e);
}

static const struct kind *const quota_kinds[] = { &kind_elasticquota, &kind_pdb, NULL };
static const struct ks_service *const quota_services[] = { &quotas_service, NULL };

const struct ks_plugin ks_plugin_elastic_quota = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "ElasticQuota",
    .reuse = KS_REUSE_GLOBAL, /* what others use of the quota counts */
    .kinds = quota_kinds,
    .points = KS_AT(PRE_FILTER) | KS_AT(POST_FILTER) | KS_AT(RESERVE),
    .args = &quota_args,
    .create = quota_create,
    .destroy = quota_destroy,
    .services = quota_services,
    .hints = quota_hints,
    .nhints = ARRAY_LEN(quota_hints),
    .waits_for = quota_waits_for,
    .pre_filter = quota_pre_filter,
    .add_pod = quota_add_pod,
    .remove_pod = quota_remove_pod,
    .post_filter = &elastic_quota_post_filter,
    .seeks_victims = true,
};
