/* screen.c - what the columns of rows say of a pod: most rows are decided without a look at any set
 * of CPUs (sched-numa 4).
 *
 * It says exactly what numa_judge() would, or that somebody must look.
 */
#include "scheduler/plugins/nodenumaresource/numaresource.h"

enum { LOOK = UINT8_MAX };

struct screen { /* what the pod asks for, as far as columns know it; 0: it does not matter */
    int64_t mcpu, memory;
    int64_t bound;  /* 1: to CPUs of its own */
    int64_t policy; /* enum numa_policy */
    int64_t need;   /* CPUs that must fulfil a required policy, of this column: */
    uint32_t column;
    int64_t whole; /* the same, when they must be whole cores */
};

static struct screen screen_of(const struct incoming *in)
{
    struct screen q = {
        .mcpu = in->amount[NUMA_RES_CPU],
        .memory = in->amount[NUMA_RES_MEMORY],
        .bound = in->bind,
        .policy = in->policy,
        .column = in->required == CPU_BIND_FULL_PCPUS ? STOCK_FULL : STOCK_CORES,
    };

    if (in->bind && in->required != CPU_BIND_NONE)
        q.need = q.mcpu / 1000;
    if (in->required == CPU_BIND_FULL_PCPUS)
        q.whole = q.need;
    return q;
}

/* From what counts least to what counts most. Cores of special rows may have any number of CPUs, of
 * the others a power of two. */
KOORD_CLONES static void screen_rows(const struct screen *ask, int64_t *const *column,
                                     struct ks_span s, uint8_t *restrict why)
{
    const struct screen q = *ask;
    const int64_t *enough = column[q.column], *per_core = column[STOCK_PER_CORE];
    const int64_t *cpu = column[STOCK_CPU], *all_cpu = column[STOCK_ALL_CPU];
    const int64_t *memory = column[STOCK_MEMORY], *all_memory = column[STOCK_ALL_MEMORY];
    const int64_t *zones = column[STOCK_ZONES], *policy = column[STOCK_POLICY];
    const int64_t *special = column[STOCK_SPECIAL];

    for (uint32_t i = s.begin; i < s.end; i++) {
        int64_t of_node = policy[i], cores = per_core[i];
        int64_t most_cpu = cpu[i], sum_cpu = all_cpu[i];
        int64_t most_memory = memory[i], sum_memory = all_memory[i];
        int64_t merged = of_node ? of_node : q.policy;
        int64_t single = merged == NUMA_POLICY_SINGLE_NODE;
        int64_t strict = single | (merged == NUMA_POLICY_RESTRICTED);
        int64_t lacks_one = (q.mcpu > most_cpu) | (q.memory > most_memory);
        int64_t lacks_all = (q.mcpu > sum_cpu) | (q.memory > sum_memory);
        int64_t v = strict ? LOOK : WHY_FITS;
        v = (strict & (lacks_all | (single & lacks_one))) ? WHY_NUMA : v;
        v = (strict & (zones[i] == 0)) ? WHY_NO_NUMA : v;
        v = ((merged == 0) & (q.need > enough[i])) ? WHY_CPUS : v;
        v = (q.whole & (cores - 1)) ? WHY_SMT : v;
        v = (q.bound & (cores == 0)) ? WHY_TOPOLOGY : v;
        v = special[i] ? LOOK : v;
        v = ((q.policy != 0) & (of_node != 0) & (of_node != q.policy)) ? WHY_POLICY : v;
        why[i] = (uint8_t)v;
    }
}

void numa_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                 const uint8_t *skip, uint8_t *restrict why)
{
    const struct incoming *in = c->state;

    if (!in) {
        memset(why + s.begin, WHY_FITS, s.end - s.begin);
        return;
    }
    if (in->designated) {
        memset(why + s.begin, LOOK, s.end - s.begin);
    } else {
        struct screen q = screen_of(in);
        screen_rows(&q, c->rows->column, s, why);
        if (q.need) /* what reservations keep is free in columns, but not for everybody */
            numa_mark_restored(self, c, s, WHY_FITS, LOOK, why);
    }
    for (uint32_t i = s.begin; i < s.end; i++)
        if (why[i] == LOOK)
            why[i] = skip[i] ? WHY_FITS : numa_judge(self, c, p, i, NULL);
}

/* Preferred CPUs, and best effort on NUMA nodes, are not checked by the filter, as upstream. */
void numa_would_refuse(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct incoming *in = c->state;
    int64_t *const *column = c->rows->column;
    const int64_t *free = column[STOCK_FREE], *binds = column[STOCK_BINDS];
    const int64_t *zones = column[STOCK_ZONES], *policy = column[STOCK_POLICY];

    (void)self, (void)p, (void)skip;
    if (!in) {
        memset(why + s.begin, 0, s.end - s.begin);
        return;
    }
    int64_t bind = in->bind, need = in->amount[NUMA_RES_CPU] / 1000, own = in->policy;
    int64_t asks = in->designated == NULL; /* otherwise NUMA nodes are not asked for hints */
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = (uint8_t)(((bind | binds[i]) & (need > free[i])) |
                           (asks & ((policy[i] | own) != 0) & (zones[i] == 0)));
}
