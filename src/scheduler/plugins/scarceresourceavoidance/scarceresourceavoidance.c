/* scarceresourceavoidance.c - ScarceResourceAvoidance: pods that do not ask for a scarce resource
 * stay off its nodes (sched-loadaware 8).
 */
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/scarceresourceavoidance/args.h"

static bool asks_for(const struct ks_pod *p, const struct ks_nodes *n, uint32_t column)
{
    if (column < KS_FIXED)
        return p->requests.fixed[column] > 0;
    for (uint32_t i = 0; i < p->requests.nmore; i++)
        if (p->requests.more[i].count > 0 && streq(p->requests.more[i].name, n->resource[column]))
            return true;
    return false;
}

static bool is_scarce(const struct scarce_args *a, const char *name)
{
    for (uint32_t i = 0; i < a->resources.n; i++)
        if (streq(a->resources.items[i], name))
            return true;
    return false;
}

/* Of what the pod leaves unused on a node, the part that is not scarce. Both counts of a row stand
 * in one number: those left unused, and in the upper half those of them that are scarce. */
static void scarce_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_span s, int64_t *restrict out)
{
    const struct ks_nodes *n = c->nodes;
    const struct scarce_args *a = self;

    memset(out + s.begin, 0, (s.end - s.begin) * sizeof *out);
    for (uint32_t r = 0; r < n->nres; r++) {
        if (r == KS_PODS || asks_for(p, n, r))
            continue;
        int64_t one = 1 + (is_scarce(a, n->resource[r]) ? INT64_C(1) << 32 : 0);
        for (uint32_t i = s.begin; i < s.end; i++)
            out[i] += n->alloc[r][i] > 0 ? one : 0;
    }
    for (uint32_t i = s.begin; i < s.end; i++) {
        int64_t unused = out[i] & UINT32_MAX, scarce = out[i] >> 32;
        out[i] = scarce ? (unused - scarce) * KS_SCORE_MAX / unused : KS_SCORE_MAX;
    }
}

static int scarce_create(const struct ks_env *env, const void *args, void **ret_self,
                         struct kerr *err)
{
    (void)env, (void)err;
    *ret_self = (void *)args;
    return 0;
}

const struct ks_plugin ks_plugin_scarce_resource_avoidance = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "ScarceResourceAvoidance",
    .reuse = KS_REUSE_LOCAL,
    .points = KS_AT(PRE_SCORE) | KS_AT(SCORE),
    .args = &scarce_args,
    .create = scarce_create,
    .score = scarce_score,
};
