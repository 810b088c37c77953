/* topology.c - the CPUs of a machine (sched-numa 1.4). */
#include "scheduler/plugins/nodenumaresource/topology.h"

#include "base/map.h"

static int entry_check(const struct cpu_topology_entry *e, struct cpuset *seen, struct kerr *err)
{
    if (e->id < 0 || e->id >= CPUSET_MAX)
        return kerr_set(err, -EINVAL, "cpu id %d: CPU ids are 0 to %d", e->id, CPUSET_MAX - 1);
    if (cpuset_has(seen, (unsigned)e->id))
        return kerr_set(err, -EINVAL, "cpu id %d stands there twice", e->id);
    if (e->core < 0 || e->socket < 0)
        return kerr_set(err, -EINVAL, "cpu %d: negative core or socket", e->id);
    if (e->node < 0 || e->node >= NUMA_MAX)
        return kerr_set(err, -EINVAL, "cpu %d: NUMA ids are 0 to %d, not %d", e->id, NUMA_MAX - 1,
                        e->node);
    cpuset_add(seen, (unsigned)e->id);
    return 0;
}

/* Cores in the order in which everything is handed out: upstream's core id is socket<<16|core. */
static int by_core(const void *pa, const void *pb)
{
    const struct cpu_topology_entry *a = pa, *b = pb;

    if (a->socket != b->socket)
        return a->socket < b->socket ? -1 : 1;
    if (a->core != b->core)
        return a->core < b->core ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static bool same_core(const struct cpu_topology_entry *a, const struct cpu_topology_entry *b)
{
    return a->socket == b->socket && a->core == b->core && a->node == b->node;
}

static void number_nodes(struct machine *m, const struct cpu_topology_entry *e, uint16_t n)
{
    bool there[NUMA_MAX] = { false };

    for (uint16_t i = 0; i < n; i++)
        there[e[i].node] = true;
    memset(m->node_of_id, NUMA_MAX, sizeof m->node_of_id);
    m->node_id = xnewn0(NUMA_MAX, uint8_t);
    for (unsigned id = 0; id < NUMA_MAX; id++)
        if (there[id]) {
            m->node_of_id[id] = (uint8_t)m->nnodes;
            m->node_id[m->nnodes++] = (uint8_t)id;
        }
    m->node_socket = xnewn0(m->nnodes, uint16_t);
    m->node_cpus = xnewn0(m->nnodes, struct cpuset);
    memset(m->node_socket, 0xff, m->nnodes * sizeof *m->node_socket);
}

/* e is sorted by core. */
static void number_cores(struct machine *m, const struct cpu_topology_entry *e, uint16_t n)
{
    m->core = xnewn0(n, struct cpu_core);
    m->core_cpus = xnewn0(n, uint16_t);
    for (uint16_t i = 0; i < n; i++) {
        uint16_t node = m->node_of_id[e[i].node];
        if (i == 0 || e[i].socket != e[i - 1].socket)
            m->nsockets++;
        uint16_t socket = (uint16_t)(m->nsockets - 1);
        if (i == 0 || !same_core(&e[i], &e[i - 1]))
            m->core[m->ncores++] = (struct cpu_core){ .node = node, .socket = socket, .cpus = i };
        struct cpu_core *core = &m->core[m->ncores - 1];
        core->ncpus++;
        m->core_cpus[i] = (uint16_t)e[i].id;
        m->place[e[i].id] =
            (struct cpu_place){ .core = (uint16_t)(m->ncores - 1), .node = node, .socket = socket };
        cpuset_add(&m->all, (unsigned)e[i].id);
        cpuset_add(&m->node_cpus[node], (unsigned)e[i].id);
        if (m->node_socket[node] == NO_PLACE)
            m->node_socket[node] = socket;
    }
}

/* Pairs of socket and NUMA node: what upstream divides by. */
static uint16_t count_pairs(const struct machine *m)
{
    uint16_t pairs = 0;

    for (uint16_t node = 0; node < m->nnodes; node++) {
        struct cpuset sockets = { 0 };
        for (uint16_t c = 0; c < m->ncores; c++)
            if (m->core[c].node == node)
                cpuset_add(&sockets, m->core[c].socket);
        pairs = (uint16_t)(pairs + cpuset_count(&sockets));
    }
    return pairs;
}

static uint64_t hash_of(const struct cpu_topology_entry *e, size_t n)
{
    return hash_bytes(e, n * sizeof *e);
}

int machine_new(const struct cpu_topology_entry *cpus, size_t n, struct machine **ret,
                struct kerr *err)
{
    CLEANUP(machine_unref) struct machine *m = NULL;
    struct cpuset seen = { 0 };

    if (n == 0)
        return kerr_set(err, -EINVAL, "no CPU");
    for (size_t i = 0; i < n; i++)
        if (entry_check(&cpus[i], &seen, err) < 0) /* which also ends after CPUSET_MAX entries */
            return err ? err->code : -EINVAL;
    CLEANUP(mem_free) struct cpu_topology_entry *e = xnewn0(n, struct cpu_topology_entry);
    memcpy(e, cpus, n * sizeof *e);
    qsort(e, n, sizeof *e, by_core);

    m = xnew0(struct machine);
    m->refs = 1;
    m->hash = hash_of(e, n);
    m->ncpus = (uint16_t)n;
    for (size_t i = 0; i < n; i++)
        m->limit = e[i].id >= m->limit ? (uint16_t)(e[i].id + 1) : m->limit;
    m->place = xnewn0(m->limit, struct cpu_place);
    memset(m->place, 0xff, m->limit * sizeof *m->place);
    number_nodes(m, e, m->ncpus);
    number_cores(m, e, m->ncpus);
    m->per_core = (uint16_t)(m->ncpus / m->ncores);
    m->per_node = (uint16_t)(m->ncpus / count_pairs(m));
    m->per_socket = (uint16_t)(m->ncpus / m->nsockets);
    *ret = take(m);
    return 0;
}

struct machine *machine_ref(struct machine *m)
{
    m->refs++;
    return m;
}

struct machine *machine_unref(struct machine *m)
{
    if (!m || --m->refs > 0)
        return NULL;
    free(m->place);
    free(m->core);
    free(m->core_cpus);
    free(m->node_id);
    free(m->node_socket);
    free(m->node_cpus);
    free(m);
    return NULL;
}

bool machine_equal(const struct machine *a, const struct machine *b)
{
    if (a == b)
        return true;
    if (a->hash != b->hash || a->ncpus != b->ncpus || a->ncores != b->ncores ||
        a->limit != b->limit || a->nnodes != b->nnodes || a->nsockets != b->nsockets)
        return false;
    return memcmp(a->place, b->place, a->limit * sizeof *a->place) == 0 &&
           memcmp(a->node_id, b->node_id, a->nnodes) == 0;
}

const struct cpuset *machine_node_cpus(const struct machine *m, int numa_id)
{
    if (numa_id < 0 || numa_id >= NUMA_MAX || m->node_of_id[numa_id] == NUMA_MAX)
        return NULL;
    return &m->node_cpus[m->node_of_id[numa_id]];
}

/* Of a core: how many of its CPUs are in the set. */
static unsigned core_has(const struct machine *m, const struct cpu_core *core,
                         const struct cpuset *cpus)
{
    unsigned n = 0;

    for (uint16_t i = 0; i < core->ncpus; i++)
        n += cpuset_has(cpus, m->core_cpus[core->cpus + i]);
    return n;
}

unsigned machine_count_cores(const struct machine *m, const struct cpuset *cpus)
{
    unsigned n = 0;

    for (uint16_t c = 0; c < m->ncores; c++)
        n += core_has(m, &m->core[c], cpus) > 0;
    return n;
}

struct cpuset machine_usable(const struct machine *m, const struct cpuset *cpus,
                             enum cpu_bind_policy required)
{
    struct cpuset ret = { 0 };

    if (required != CPU_BIND_FULL_PCPUS && required != CPU_BIND_SPREAD_BY_PCPUS)
        return *cpus;
    for (uint16_t c = 0; c < m->ncores; c++) {
        const struct cpu_core *core = &m->core[c];
        bool full = required == CPU_BIND_FULL_PCPUS;
        if (full && core_has(m, core, cpus) != m->per_core)
            continue;
        for (uint16_t i = 0; i < core->ncpus; i++) {
            uint16_t cpu = m->core_cpus[core->cpus + i];
            if (!cpuset_has(cpus, cpu))
                continue;
            cpuset_add(&ret, cpu);
            if (!full)
                break;
        }
    }
    return ret;
}
