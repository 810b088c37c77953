/* balanced.c - NodeResourcesBalancedAllocation: cpu and memory should fill up alike
 * (scheduler-core 8.9). Same operations in the same order as upstream, in doubles.
 */
#include "api/node.h"
#include "base/num.h"
#include "scheduler/plugins/registry.h"

static enum ks_code balanced_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       void **ret_state, struct ks_texts *why)
{
    (void)self, (void)c, (void)ret_state, (void)why;
    return p->request[KS_MCPU] == 0 && p->request[KS_MEMORY] == 0 ? KS_SKIP : KS_SUCCESS;
}

static double fraction(int64_t used, int64_t alloc)
{
    double f = (double)used / (double)(alloc + (alloc == 0));
    return f > 1 ? 1 : f;
}

static void balanced_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           struct ks_span s, int64_t *restrict out)
{
    const struct ks_nodes *n = c->nodes;
    const int64_t *cpu = n->alloc[KS_MCPU], *mem = n->alloc[KS_MEMORY];

    (void)self;
    for (uint32_t i = s.begin; i < s.end; i++) {
        double f = fraction(n->used[KS_MCPU][i] + p->request[KS_MCPU], cpu[i]);
        double g = fraction(n->used[KS_MEMORY][i] + p->request[KS_MEMORY], mem[i]);
        double std = (f > g ? f - g : g - f) / 2;
        std = cpu[i] == 0 || mem[i] == 0 ? 0 : std; /* one fraction alone is balanced */
        out[i] = i64_from_f64((1 - std) * KS_SCORE_MAX);
    }
}

const struct ks_plugin ks_plugin_balanced = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeResourcesBalancedAllocation",
    .reuse = KS_REUSE_LOCAL,
    .pre_score = balanced_pre_score,
    .score = balanced_score,
};
