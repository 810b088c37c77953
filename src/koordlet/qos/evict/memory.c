/* memory.c - eviction by the node's memory usage: BEMemoryEvict and MemoryEvict (koordlet-qos 8).
 */
#include "base/num.h"
#include "koordlet/qos/evict/task_int.h"

/* Upstream counts what MemoryEvict would release a thousand times too high, so one victim usually
 * ends a round, and the next round comes after the cool-down. Users rely on how gently that evicts.
 */
enum { MEMORY_EVICT_FACTOR = 1000 };

int evict_make_memory(const struct evict_in *in, struct arena *a, struct evict_task *t,
                      struct kerr *err)
{
    bool by_priority = t->feature == EVICT_FEATURE_MEMORY;
    int64_t capacity = qty_value(reslist_get(&in->node->status.capacity, RES_MEMORY)), lower = 0;
    int r = threshold_memory_eviction(in->slo, by_priority, &lower, err);

    if (r < 0 || capacity <= 0 || !in->node_bytes.set)
        return r;
    int64_t percent = i64_muldiv(i64_from_f64(in->node_bytes.v), 100, capacity);
    if (percent < in->slo->memory_evict_threshold_percent.v)
        return 0;
    struct evict_amounts *gives = arena_newn0(a, in->npods + 1, struct evict_amounts);
    for (uint32_t i = 0; i < in->npods; i++) {
        double bytes;
        if (in->used(in->arg, in->pods[i], EVICT_USED_MEMORY, &bytes))
            evict_put(&gives[i], EVICT_MEMORY_BYTES,
                      i64_from_f64(by_priority ? bytes * MEMORY_EVICT_FACTOR : bytes));
    }
    t->kind = EVICT_POD_USED;
    t->gives = gives;
    evict_put(&t->to_release, EVICT_MEMORY_BYTES, i64_muldiv(capacity, percent - lower, 100));
    if (by_priority)
        evict_candidates_priority(in, in->slo->evict_enabled_priority_threshold.v, false, a, t);
    else
        evict_candidates_be(in, a, t);
    return 1;
}
