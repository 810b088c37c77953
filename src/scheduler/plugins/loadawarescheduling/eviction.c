/* eviction.c - best-effort pods stay away from nodes on which koordlet would evict them again.
 *
 * koordlet evicts by the thresholds of the node's NodeSLO, the filter rejects by those of its args.
 * When these are the higher ones, a pod circles: placed, evicted, and placed on the same node. So a
 * best-effort pod has to fit below both. Eviction is about the capacity of the node and its latest
 * usage, whatever the filter compares, and says nothing where the report has expired.
 */
#include "api/koord/nodeslo.h"
#include "api/node.h"
#include "api/protocol/keys.h"
#include "base/num.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"

/* The strategy that is in force; NULL: nothing is evicted. */
static const struct threshold_strategy *strategy_of(const struct loads *l, const char *node)
{
    const struct kobj *o = l->args->filter_evicting.v && l->env.objects
                               ? objects_get(l->env.objects, &kind_nodeslo, NULL, node)
                               : NULL;
    const struct threshold_strategy *s = o ? nodeslo_of(o)->spec.threshold : NULL;

    return s && s->enable.v ? s : NULL;
}

bool load_eviction_of(const struct loads *l, const char *node, int64_t *percent)
{
    const struct threshold_strategy *s = strategy_of(l, node);
    int64_t lower;
    bool any = false;

    for (uint32_t r = 0; r < l->n; r++) {
        percent[r] = -1;
        if (s && streq(l->names[r], RES_MEMORY) &&
            threshold_memory_eviction(s, false, &lower, NULL) == 0)
            percent[r] = s->memory_evict_threshold_percent.v;
        else if (s && streq(l->names[r], RES_CPU) && threshold_cpu_eviction(s, &lower, NULL) == 0)
            percent[r] = s->cpu_evict_threshold_percent.v;
        any |= percent[r] >= 0;
    }
    return any;
}

/* koordlet cuts percentages down and evicts from the threshold on: the highest load below it. */
static int64_t highest_load(int64_t percent, int64_t capacity)
{
    return percent == 0 ? -1 : (int64_t)(((__int128)percent * capacity - 1) / 100);
}

void load_eviction_limit(const struct loads *l, const struct node *node, const int64_t *percent,
                         const int64_t *load, struct load_limits *m)
{
    int64_t capacity[LOADS_RESOURCES_MAX];

    load_vector_of(l, node->status.capacity.n ? &node->status.capacity : &node->status.allocatable,
                   capacity);
    for (uint32_t r = 0; r < l->n; r++)
        if (percent[r] >= 0 && percent[r] <= 100 && capacity[r] > 0)
            m->room[LOAD_BE][r] =
                MIN(m->room[LOAD_BE][r], highest_load(percent[r], capacity[r]) - load[r]);
}
