/* holders.c - who holds which CPUs, and which ones the next pod gets (sched-numa 2, 6.2). */
#include "scheduler/plugins/nodenumaresource/holders.h"

void holders_init(struct holders *h, const struct machine *m, unsigned max_refs)
{
    *h = (struct holders){
        .refs = xnewn0(m->limit, uint16_t),
        .exclusive = xnewn0(m->limit, uint8_t),
        .max_refs = max_refs,
    };
}

void holders_fini(struct holders *h)
{
    free(h->refs);
    free(h->exclusive);
    *h = (struct holders){ 0 };
}

void holders_clear(struct holders *h, const struct machine *m)
{
    memset(h->refs, 0, m->limit * sizeof *h->refs);
    memset(h->exclusive, 0, m->limit * sizeof *h->exclusive);
}

void holders_copy(struct holders *to, const struct holders *from, const struct machine *m)
{
    holders_init(to, m, from->max_refs);
    memcpy(to->refs, from->refs, m->limit * sizeof *to->refs);
    memcpy(to->exclusive, from->exclusive, m->limit * sizeof *to->exclusive);
}

void holders_add(struct holders *h, const struct machine *m, const struct cpuset *cpus,
                 enum cpu_exclusive_policy exclusive)
{
    struct cpuset here = cpuset_intersect(cpus, &m->all);

    cpuset_foreach(&here, cpu) {
        h->refs[cpu]++;
        h->exclusive[cpu] = (uint8_t)exclusive;
    }
}

void holders_remove(struct holders *h, const struct machine *m, const struct cpuset *cpus)
{
    struct cpuset here = cpuset_intersect(cpus, &m->all);

    cpuset_foreach(&here, cpu) {
        if (h->refs[cpu] > 0 && --h->refs[cpu] == 0)
            h->exclusive[cpu] = CPU_EXCLUSIVE_NONE;
    }
}

static struct cpu_holders holders_view(const struct holders *h)
{
    return (struct cpu_holders){ h->refs, h->exclusive, h->max_refs };
}

struct cpuset holders_taken(const struct holders *h, const struct machine *m)
{
    struct cpuset taken = { 0 };

    for (uint16_t cpu = 0; cpu < m->limit; cpu++)
        taken.w[cpu / 64] |= (uint64_t)(h->refs[cpu] > 0) << (cpu % 64);
    return taken;
}

struct cpuset holders_available(const struct holders *h, const struct machine *m,
                                const struct cpuset *reserved)
{
    struct cpuset free = { 0 };

    for (uint16_t cpu = 0; cpu < m->limit; cpu++)
        free.w[cpu / 64] |= (uint64_t)(h->refs[cpu] < h->max_refs) << (cpu % 64);
    free = cpuset_intersect(&free, &m->all);
    return cpuset_minus(&free, reserved);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static const char *choose_by_node(const struct machine *m, const struct cpu_holders *h,
                                  const struct cpuset *available, const struct cpu_want *want,
                                  struct cpuset *ret)
{
    struct cpuset all = { 0 };

    for (uint32_t i = 0; i < want->nnodes; i++) {
        const struct cpuset *of_node = machine_node_cpus(m, want->by_node[i].numa_id);
        struct cpuset here, taken = { 0 };
        struct cpu_request part = want->request;
        if (!of_node)
            continue;
        here = cpuset_intersect(available, of_node);
        part.need = MIN(cpuset_count(&here), want->by_node[i].ncpus);
        const char *why = accumulator_take_preferred(m, h, &here, &want->preferred, &part, &taken);
        if (why)
            return why;
        all = cpuset_union(&all, &taken);
    }
    if (cpuset_count(&all) != want->request.need)
        return CPUS_NOT_ENOUGH;
    *ret = all;
    return NULL;
}

static bool policy_holds(const struct machine *m, const struct cpu_want *want,
                         const struct cpuset *cpus)
{
    unsigned ncores = machine_count_cores(m, cpus), n = cpuset_count(cpus);

    if (!want->required)
        return true;
    if (want->request.bind == CPU_BIND_FULL_PCPUS)
        return ncores * m->per_core == n;
    return want->request.bind != CPU_BIND_SPREAD_BY_PCPUS || ncores == n;
}

const char *holders_choose(const struct holders *h, const struct machine *m,
                           const struct cpuset *reserved, const struct cpu_want *want,
                           struct cpuset *ret)
{
    struct cpu_holders view = holders_view(h);
    struct cpuset available = holders_available(h, m, reserved), chosen = { 0 };
    const char *why;

    if (want->required)
        available = machine_usable(m, &available, want->request.bind);
    if (cpuset_count(&available) < want->request.need)
        return CPUS_NOT_ENOUGH;
    if (want->by_node)
        why = choose_by_node(m, &view, &available, want, &chosen);
    else
        why = accumulator_take_preferred(m, &view, &available, &want->preferred, &want->request,
                                         &chosen);
    if (why)
        return why;
    if (!policy_holds(m, want, &chosen))
        return want->request.bind == CPU_BIND_FULL_PCPUS
                   ? "insufficient CPUs to satisfy required cpu bind policy FullPCPUs"
                   : "insufficient CPUs to satisfy required cpu bind policy SpreadByPCPUs";
    *ret = chosen;
    return NULL;
}
