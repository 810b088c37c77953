/* balanced.c - NodeResourcesBalancedAllocation: the resources of a node should fill up alike
 * (scheduler-core 8.9). Same operations in the same order as upstream, in doubles.
 */
#include "api/node.h"
#include "base/arena.h"
#include "base/num.h"
#include "scheduler/model/requests.h"
#include "scheduler/plugins/noderesources/noderesources.h"
#include "scheduler/plugins/registry.h"

#include <math.h>

struct balanced {
    const struct balanced_args *args;
};

static int balanced_create(const struct ks_env *env, const void *args, void **ret_self,
                           struct kerr *err)
{
    struct balanced *b = xnew0(struct balanced);

    (void)env, (void)err;
    b->args = args;
    *ret_self = b;
    return 0;
}

/* ---- score ----------------------------------------------------------------------------------- */

static double fraction(int64_t used, int64_t alloc)
{
    double f = (double)used / (double)(alloc + (alloc == 0));
    return f > 1 ? 1 : f;
}

/* Cpu and memory alone. */
static void score_simple(const struct res_terms *t, const struct ks_nodes *n, struct ks_span s,
                         int64_t *restrict out)
{
    const int64_t *cpu = n->alloc[KS_MCPU], *mem = n->alloc[KS_MEMORY];
    int64_t want_cpu = t->items[t->cpu].want, want_mem = t->items[t->memory].want;

    for (uint32_t i = s.begin; i < s.end; i++) {
        double f = fraction(n->used[KS_MCPU][i] + want_cpu, cpu[i]);
        double g = fraction(n->used[KS_MEMORY][i] + want_mem, mem[i]);
        double std = (f > g ? f - g : g - f) / 2;
        std = cpu[i] == 0 || mem[i] == 0 ? 0 : std; /* one fraction alone is balanced */
        out[i] = i64_from_f64((1 - std) * KS_SCORE_MAX);
    }
}

/* Of a resource on a node; negative when the node lacks it. */
static double fraction_at(const struct res_term *t, const struct ks_nodes *n, uint32_t row)
{
    int64_t alloc = n->alloc[t->column][row];
    return alloc == 0 ? -1 : fraction(n->used[t->column][row] + t->want, alloc);
}

static int64_t score_row(const struct res_terms *t, const struct ks_nodes *n, uint32_t row)
{
    double total = 0, squares = 0, std = 0, last[2] = { 0, 0 };
    uint32_t k = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        double f = fraction_at(&t->items[i], n, row);
        if (f < 0)
            continue;
        last[k++ % 2] = f;
        total += f;
    }
    if (k == 2)
        std = fabs((last[0] - last[1]) / 2);
    for (uint32_t i = 0; k > 2 && i < t->n; i++) {
        double f = fraction_at(&t->items[i], n, row), off = f - total / k;
        squares += f < 0 ? 0 : off * off;
    }
    if (k > 2)
        std = sqrt(squares / k);
    return i64_from_f64((1 - std) * KS_SCORE_MAX);
}

/* What its containers hold counts too, as on the node: unlike in the filter. */
static struct ks_pod as_accounted(const struct ks_pod *p, struct arena *a)
{
    struct ks_pod q = { .pod = p->pod };

    requests_accounted(p->pod, a, &q.requests);
    return q;
}

static enum ks_code balanced_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       void **ret_state, struct ks_texts *why)
{
    const struct balanced *b = self;
    struct res_terms *t = arena_new0(c->arena, struct res_terms);
    struct ks_pod pod = requests_in_status(p->pod) ? as_accounted(p, c->arena) : *p;

    (void)why;
    *t = res_terms_of(&b->args->resources, RES_COUNT_PLAIN, c->nodes, &pod, c->arena);
    *ret_state = t;
    return t->asks ? KS_SUCCESS : KS_SKIP;
}

static void balanced_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           struct ks_span s, int64_t *restrict out)
{
    const struct res_terms *t = c->state;

    (void)self, (void)p;
    if (t->simple) {
        score_simple(t, c->nodes, s, out);
        return;
    }
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = score_row(t, c->nodes, i);
}

const struct ks_plugin ks_plugin_balanced = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeResourcesBalancedAllocation",
    .reuse = KS_REUSE_LOCAL,
    .args = &balanced_args,
    .create = balanced_create,
    .destroy = free,
    .pre_score = balanced_pre_score,
    .score = balanced_score,
};
