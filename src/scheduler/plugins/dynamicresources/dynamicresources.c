/* dynamicresources.c - devices by ResourceClaim (scheduler-core 8.17), in the smallest true form:
 * a pod that asks for them is rejected, instead of running without them. */
#include "api/pod.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/dynamicresources/args.h"
#include "scheduler/plugins/registry.h"

static enum ks_code dra_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)self, (void)c, (void)ret_state, (void)only;
    if (p->pod->spec->resource_claims.n == 0)
        return KS_SKIP;
    ks_texts_add(why, "pod has resource claims, which this scheduler does not allocate");
    return KS_UNRESOLVABLE;
}

/* Upstream says so whenever no node fits, to every pod; people compare messages. */
static enum ks_code dra_plan(void *self, struct attempt *a, struct preemption *ret,
                             struct ks_texts *why)
{
    (void)self, (void)a, (void)ret;
    ks_texts_add(why, "no new claims to deallocate");
    return KS_UNSCHEDULABLE;
}

static const struct ks_post_filter dra_post_filter = { .plan = dra_plan };

/* No event helps such a pod; none of this kind is ever sent. */
static const struct ks_hint dra_hints[] = {
    { KS_RES_RESOURCE_CLAIM, KS_ADD, NULL },
};

const struct ks_plugin ks_plugin_dynamic_resources = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "DynamicResources",
    .reuse = KS_REUSE_LOCAL,
    .points = KS_AT(PRE_ENQUEUE) | KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(POST_FILTER) |
              KS_AT(SCORE) | KS_AT(RESERVE) | KS_AT(PRE_BIND),
    .args = &dynamicresources_args,
    .hints = dra_hints,
    .nhints = ARRAY_LEN(dra_hints),
    .pre_filter = dra_pre_filter,
    .post_filter = &dra_post_filter,
};
