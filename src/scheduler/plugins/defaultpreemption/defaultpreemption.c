/* defaultpreemption.c - DefaultPreemption: room for a pod at the cost of pods with lower priority
 * (scheduler-core 8.18). The plan is found by framework/preemption.h; the engine evicts.
 */
#include "api/pod.h"
#include "api/policy.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/defaultpreemption/args.h"
#include "scheduler/plugins/registry.h"

struct preempt {
    struct ks_env env;
    int64_t percentage, absolute; /* how many candidates are enough */
    struct budgets *budgets;
};

/* ---- life ------------------------------------------------------------------------------------ */

static int preempt_create(const struct ks_env *env, const void *args, void **ret_self,
                          struct kerr *err)
{
    const struct preemption_args *a = args;
    struct preempt *p = xnew0(struct preempt);

    (void)err;
    *p = (struct preempt){ .env = *env, .percentage = a->percentage.v, .absolute = a->absolute.v };
    p->budgets = budgets_new(env->objects);
    *ret_self = p;
    return 0;
}

static void preempt_destroy(void *self)
{
    struct preempt *p = self;
    budgets_free(p->budgets);
    free(p);
}

/* Tried before its victims are on their way out, the pod would only find others. */
static enum ks_code preempt_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    const struct preempt *x = self;

    if (!ks_making_room(&x->env, p->obj.meta.uid))
        return KS_SUCCESS;
    ks_texts_add(why, "waiting for the preemption for this pod to be finished");
    return KS_UNRESOLVABLE;
}

/* ---- making room ----------------------------------------------------------------------------- */

static bool may_evict(void *arg, const struct attempt *a, const struct pod *victim, uint32_t row)
{
    const struct preempt *p = arg;

    (void)row;
    return pod_priority(victim) < pod_priority(a->pod.pod) &&
           !ks_stays(&p->env, victim->obj.meta.uid);
}

static enum ks_code preempt_plan(void *self, struct attempt *a, struct preemption *ret,
                                 struct ks_texts *why)
{
    struct preempt *p = self;
    struct preemption_rules rules = {
        .arg = p,
        .may_evict = may_evict,
        .budgets = p->budgets,
        .percentage = p->percentage,
        .absolute = p->absolute,
    };
    return preemption_plan(&rules, a, ret, why);
}

static const struct ks_post_filter preempt_post_filter = { .plan = preempt_plan };
static const struct kind *const preempt_kinds[] = { &kind_pdb, NULL };

static bool worth_nothing(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self, (void)e, (void)p;
    return false;
}

/* The scheduler lets the pod in when the last victim goes; no event does. */
static const struct ks_hint preempt_hints[] = { { KS_RES_POD, KS_DELETE, worth_nothing } };

const struct ks_plugin ks_plugin_default_preemption = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "DefaultPreemption",
    .gates_silently = true, /* what was said when victims were chosen stays true until they go */
    .seeks_victims = true,
    .kinds = preempt_kinds,
    .args = &preemption_args,
    .create = preempt_create,
    .destroy = preempt_destroy,
    .pre_enqueue = preempt_pre_enqueue,
    .hints = preempt_hints,
    .nhints = ARRAY_LEN(preempt_hints),
    .post_filter = &preempt_post_filter,
};
