/* accumulator.c - which CPUs a pod gets (sched-numa 5).
 *
 * Candidates are lists of CPUs, one for each NUMA node or socket, in the order in which the
 * allocation strategy likes them; a list that holds the whole request ends the search. The orders
 * are upstream's to the letter, since users compare the results.
 */
#include "scheduler/plugins/nodenumaresource/accumulator.h"

struct acc { /* one request under way */
    const struct machine *m;
    const struct cpu_holders *h;
    const struct cpu_request *want;
    unsigned need;
    struct cpuset free, out;
    struct cpuset xcores, xnodes; /* held exclusively by pods that want that, as this one does */
};

static void exclude(struct acc *t, unsigned cpu)
{
    if (t->want->exclusive == CPU_EXCLUSIVE_PCPU_LEVEL)
        cpuset_add(&t->xcores, t->m->place[cpu].core);
    else if (t->want->exclusive == CPU_EXCLUSIVE_NUMA_LEVEL)
        cpuset_add(&t->xnodes, t->m->place[cpu].node);
}

static void acc_init(struct acc *t, const struct cpuset *available)
{
    t->free = cpuset_intersect(available, &t->m->all);
    t->need = t->want->need;
    if (t->want->exclusive == CPU_EXCLUSIVE_NONE)
        return;
    cpuset_foreach(&t->m->all, cpu)
        if (t->h->refs[cpu] > 0 && t->h->exclusive[cpu] == t->want->exclusive)
            exclude(t, (unsigned)cpu);
}

static void acc_take(struct acc *t, unsigned cpu)
{
    assert(t->need > 0 && cpuset_has(&t->free, cpu));
    cpuset_del(&t->free, cpu);
    cpuset_add(&t->out, cpu);
    t->need--;
    exclude(t, cpu);
}

/* Sharing a CPU matters only where that is allowed. */
static unsigned refs_of(const struct acc *t, unsigned cpu)
{
    return t->h->max_refs > 1 ? t->h->refs[cpu] : 0;
}

/* More is better when nodes shall be filled up, less when they shall stay level. */
static int strategy_key(const struct acc *t, unsigned n)
{
    return t->want->strategy == NUMA_MOST_ALLOCATED ? (int)n : -(int)n;
}

/* ---- what is left to choose from ------------------------------------------------------------- */

struct rest { /* free CPUs, less those that an exclusive pod keeps off */
    struct cpuset cpus;
    uint16_t in_node[NUMA_MAX], on_socket[CPUSET_MAX], in_core[CPUSET_MAX];
};

static void rest_of(const struct acc *t, bool spare_cores, bool spare_nodes, struct rest *r)
{
    const struct machine *m = t->m;

    r->cpus = t->free;
    memset(r->in_node, 0, m->nnodes * sizeof *r->in_node);
    memset(r->on_socket, 0, m->nsockets * sizeof *r->on_socket);
    memset(r->in_core, 0, m->ncores * sizeof *r->in_core);
    cpuset_foreach(&t->free, cpu) {
        const struct cpu_place *p = &m->place[cpu];
        if ((spare_cores && cpuset_has(&t->xcores, p->core)) ||
            (spare_nodes && cpuset_has(&t->xnodes, p->node))) {
            cpuset_del(&r->cpus, (unsigned)cpu);
            continue;
        }
        r->in_node[p->node]++;
        r->on_socket[p->socket]++;
        r->in_core[p->core]++;
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct list {
    uint16_t begin, n; /* in the CPUs of the lists */
    int key, key2;
};
struct lists { /* one for each NUMA node, or for each socket; empty ones too */
    uint16_t cpus[CPUSET_MAX];
    struct list list[CPUSET_MAX];
    uint16_t n;
};

/* Stable and by insertion: there are few. */
static void lists_sort(struct lists *l)
{
    for (uint16_t i = 1; i < l->n; i++) {
        struct list x = l->list[i];
        uint16_t j = i;
        for (; j > 0 && (x.key != l->list[j - 1].key ? x.key < l->list[j - 1].key
                                                     : x.key2 < l->list[j - 1].key2);
             j--)
            l->list[j] = l->list[j - 1];
        l->list[j] = x;
    }
}

static uint16_t group_of_core(const struct machine *m, uint16_t core, bool by_socket)
{
    return by_socket ? m->core[core].socket : m->core[core].node;
}

/* How many pods share the core. */
static unsigned core_refs(const struct acc *t, const struct rest *r, uint16_t core)
{
    const struct cpu_core *c = &t->m->core[core];
    unsigned sum = 0;

    for (uint16_t i = 0; t->h->max_refs > 1 && i < c->ncpus; i++) {
        uint16_t cpu = t->m->core_cpus[c->cpus + i];
        sum += cpuset_has(&r->cpus, cpu) ? t->h->refs[cpu] : 0;
    }
    return sum;
}

/* Where the lists begin, from their lengths; returns how many groups there are. */
static void lists_lay_out(struct lists *l, uint16_t ngroups)
{
    uint16_t at = 0;

    l->n = ngroups;
    for (uint16_t g = 0; g < ngroups; g++) {
        l->list[g].begin = at;
        at = (uint16_t)(at + l->list[g].n);
        l->list[g].n = 0;
    }
}

static void lists_append(struct lists *l, uint16_t group, uint16_t cpu)
{
    struct list *x = &l->list[group];

    l->cpus[x->begin + x->n++] = cpu;
}

static void append_core(const struct acc *t, struct lists *l, uint16_t group, uint16_t core)
{
    const struct cpu_core *c = &t->m->core[core];

    for (uint16_t i = 0; i < c->ncpus; i++)
        lists_append(l, group, t->m->core_cpus[c->cpus + i]);
}

/* The CPUs of cores that are left as a whole: those that few share first, then by core. */
static void lists_of_cores(const struct acc *t, const struct rest *r, bool by_socket,
                           struct lists *l)
{
    const struct machine *m = t->m;
    uint16_t ngroups = by_socket ? m->nsockets : m->nnodes;
    unsigned most = 0;

    memset(l->list, 0, ngroups * sizeof *l->list);
    for (uint16_t c = 0; c < m->ncores; c++)
        if (r->in_core[c] == m->per_core && m->core[c].ncpus == m->per_core) {
            struct list *x = &l->list[group_of_core(m, c, by_socket)];
            x->n = (uint16_t)(x->n + m->per_core);
            most = MAX(most, core_refs(t, r, c));
        }
    lists_lay_out(l, ngroups);
    for (unsigned refs = 0; refs <= most; refs++)
        for (uint16_t c = 0; c < m->ncores; c++)
            if (r->in_core[c] == m->per_core && m->core[c].ncpus == m->per_core &&
                core_refs(t, r, c) == refs)
                append_core(t, l, group_of_core(m, c, by_socket), c);
}

/* Single CPUs: those that few share first, then by number; thin: one of each core. */
static void lists_of_cpus(const struct acc *t, const struct rest *r, bool by_socket, bool thin,
                          struct lists *l)
{
    const struct machine *m = t->m;
    uint16_t ngroups = by_socket ? m->nsockets : m->nnodes;
    struct cpuset cores = { 0 };
    unsigned most = 0;

    memset(l->list, 0, ngroups * sizeof *l->list);
    cpuset_foreach(&r->cpus, cpu) {
        const struct cpu_place *p = &m->place[cpu];
        l->list[by_socket ? p->socket : p->node].n++;
        most = MAX(most, refs_of(t, (unsigned)cpu));
    }
    lists_lay_out(l, ngroups);
    for (unsigned refs = 0; refs <= most; refs++)
        cpuset_foreach(&r->cpus, cpu) {
            const struct cpu_place *p = &m->place[cpu];
            if (refs_of(t, (unsigned)cpu) != refs || (thin && cpuset_has(&cores, p->core)))
                continue;
            cpuset_add(&cores, p->core);
            lists_append(l, by_socket ? p->socket : p->node, (uint16_t)cpu);
        }
}

/* By the length of a list, or by what a NUMA node has left at all; then by what its socket has. */
static void lists_order(const struct acc *t, const struct rest *r, bool by_socket, bool by_length,
                        struct lists *l)
{
    for (uint16_t g = 0; g < l->n; g++) {
        struct list *x = &l->list[g];
        unsigned rest = by_socket ? r->on_socket[g] : r->in_node[g];
        x->key = strategy_key(t, by_length ? x->n : rest);
        x->key2 = by_socket ? 0 : strategy_key(t, r->on_socket[t->m->node_socket[g]]);
    }
    lists_sort(l);
}

/* One CPU of each core in turn, in the order of the list, until all are there. */
static void spread(const struct machine *m, uint16_t *cpus, uint16_t n)
{
    uint16_t rest[CPUSET_MAX], sorted[CPUSET_MAX];
    uint16_t nrest = n, nsorted = 0;

    if (n <= m->per_core)
        return;
    memcpy(rest, cpus, n * sizeof *rest);
    while (nrest > 0) {
        struct cpuset seen = { 0 };
        uint16_t later = 0;
        for (uint16_t i = 0; i < nrest; i++) {
            uint16_t core = m->place[rest[i]].core;
            if (cpuset_has(&seen, core))
                rest[later++] = rest[i];
            else
                sorted[nsorted++] = rest[i];
            cpuset_add(&seen, core);
        }
        nrest = later;
    }
    memcpy(cpus, sorted, n * sizeof *sorted);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The first list that holds all of it. */
static bool take_first_fit(struct acc *t, struct lists *l, bool spread_out)
{
    for (uint16_t i = 0; i < l->n; i++) {
        const struct list *x = &l->list[i];
        if (x->n < t->need)
            continue;
        if (spread_out)
            spread(t->m, l->cpus + x->begin, x->n);
        for (uint16_t k = 0; t->need > 0; k++)
            acc_take(t, l->cpus[x->begin + k]);
        return true;
    }
    return false;
}

static bool take_cores_of_node(struct acc *t, struct rest *r, struct lists *l)
{
    for (int flt = 1; flt >= 0; flt--) {
        rest_of(t, false, flt, r);
        lists_of_cores(t, r, false, l);
        lists_order(t, r, false, true, l);
        if (take_first_fit(t, l, false))
            return true;
    }
    return false;
}

/* Lists by their length alone; equal ones stay as they are. */
static void sort_by_length(struct lists *l, bool longest_first)
{
    for (uint16_t i = 0; i < l->n; i++) {
        l->list[i].key = longest_first ? -(int)l->list[i].n : l->list[i].n;
        l->list[i].key2 = 0;
    }
    lists_sort(l);
}

/* Whole sockets, the largest first, then cores of the smallest that are left. */
static bool take_cores_of_sockets(struct acc *t, struct lists *l)
{
    uint16_t aside = 0;

    sort_by_length(l, true);
    for (uint16_t i = 0; i < l->n; i++) {
        struct list x = l->list[i];
        if (t->need < x.n) {
            l->list[aside++] = x;
            continue;
        }
        for (uint16_t k = 0; k < x.n; k++)
            acc_take(t, l->cpus[x.begin + k]);
        if (t->need == 0)
            return true;
    }
    l->n = aside;
    sort_by_length(l, false);
    for (uint16_t i = 0; i < l->n; i++)
        for (uint16_t k = 0; k < l->list[i].n && t->need >= t->m->per_core; k += t->m->per_core)
            for (uint16_t j = 0; j < t->m->per_core; j++)
                acc_take(t, l->cpus[l->list[i].begin + k + j]);
    return t->need == 0;
}

static bool take_whole_cores(struct acc *t, struct rest *r, struct lists *l)
{
    if (t->need <= t->m->per_node && take_cores_of_node(t, r, l))
        return true;
    rest_of(t, false, false, r);
    lists_of_cores(t, r, true, l);
    lists_order(t, r, true, true, l);
    if (t->need <= t->m->per_socket && take_first_fit(t, l, false))
        return true;
    return take_cores_of_sockets(t, l);
}

static bool take_single_cpus(struct acc *t, struct rest *r, struct lists *l)
{
    for (int by_socket = 0; by_socket < 2; by_socket++) {
        if (t->need > (by_socket ? t->m->per_socket : t->m->per_node))
            continue;
        for (int flt = 1; flt >= 0; flt--) {
            rest_of(t, flt, flt && !by_socket, r);
            lists_of_cpus(t, r, by_socket, flt, l);
            lists_order(t, r, by_socket, by_socket, l);
            if (take_first_fit(t, l, true))
                return true;
        }
    }
    return false;
}

/* ---- whatever is left ------------------------------------------------------------------------ */

struct core_key {
    int key[5];
    uint16_t core;
};

static int by_key(const void *pa, const void *pb)
{
    const struct core_key *a = pa, *b = pb;

    for (size_t i = 0; i < ARRAY_LEN(a->key); i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return a->core < b->core ? -1 : a->core > b->core;
}

/* Near what is taken already, and partly used cores first. Cores are numbered by socket. */
static uint16_t sort_cores(const struct acc *t, const struct rest *r, struct core_key *keys)
{
    const struct machine *m = t->m;
    uint16_t taken[CPUSET_MAX] = { 0 };
    uint16_t n = 0;

    cpuset_foreach(&t->out, cpu)
        taken[m->place[cpu].socket]++;
    for (uint16_t c = 0; c < m->ncores; c++) {
        const struct cpu_core *core = &m->core[c];
        if (r->in_core[c] == 0)
            continue;
        keys[n++] = (struct core_key){
            .key = { -taken[core->socket], strategy_key(t, r->on_socket[core->socket]),
                     strategy_key(t, r->in_node[core->node]), r->in_core[c],
                     core->socket << 16 | (int)MIN(core_refs(t, r, c), 0xffffu) },
            .core = c,
        };
    }
    qsort(keys, n, sizeof *keys, by_key);
    return n;
}

static uint16_t append_free(const struct acc *t, const struct rest *r, uint16_t core,
                            uint16_t *cpus, uint16_t n)
{
    const struct cpu_core *c = &t->m->core[core];
    uint16_t first = n;

    for (uint16_t i = 0; i < c->ncpus; i++) {
        uint16_t cpu = t->m->core_cpus[c->cpus + i];
        if (!cpuset_has(&r->cpus, cpu))
            continue;
        uint16_t at = n++;
        for (; at > first && refs_of(t, cpus[at - 1]) > refs_of(t, cpu); at--)
            cpus[at] = cpus[at - 1];
        cpus[at] = cpu;
    }
    return n;
}

static bool take_any(struct acc *t, struct rest *r, struct lists *l)
{
    struct core_key keys[CPUSET_MAX];

    for (int flt = 1; flt >= 0; flt--) {
        uint16_t n = 0;
        rest_of(t, flt, flt, r);
        uint16_t ncores = sort_cores(t, r, keys);
        for (uint16_t i = 0; i < ncores; i++)
            n = append_free(t, r, keys[i].core, l->cpus, n);
        spread(t->m, l->cpus, n);
        for (uint16_t i = 0; i < n && t->need > 0; i++)
            acc_take(t, l->cpus[i]);
        if (t->need == 0)
            return true;
    }
    return false;
}

static const char *accumulator_take(const struct machine *m, const struct cpu_holders *h,
                                    const struct cpuset *available, const struct cpu_request *want,
                                    struct cpuset *ret)
{
    struct acc t = { .m = m, .h = h, .want = want };
    struct rest r;
    struct lists l;

    acc_init(&t, available);
    if (t.need > cpuset_count(&t.free))
        return CPUS_NOT_ENOUGH;
    bool done = t.need == 0;
    if (!done && (want->bind == CPU_BIND_FULL_PCPUS || m->per_core == 1))
        done = take_whole_cores(&t, &r, &l);
    if (!done && want->bind != CPU_BIND_FULL_PCPUS)
        done = take_single_cpus(&t, &r, &l);
    if (!done && !take_any(&t, &r, &l))
        return CPUS_FAILED;
    *ret = t.out;
    return NULL;
}

const char *accumulator_take_preferred(const struct machine *m, const struct cpu_holders *h,
                                       const struct cpuset *available,
                                       const struct cpuset *preferred,
                                       const struct cpu_request *want, struct cpuset *ret)
{
    struct cpuset first = cpuset_intersect(available, preferred), rest, taken;
    struct cpu_request part = *want;

    if (cpuset_is_empty(&first))
        return accumulator_take(m, h, available, want, ret);
    part.need = MIN(want->need, cpuset_count(&first));
    const char *why = accumulator_take(m, h, &first, &part, &taken);
    if (why)
        return why;
    rest = cpuset_minus(available, &first);
    part.need = want->need - part.need;
    *ret = taken;
    if (part.need > 0) {
        why = accumulator_take(m, h, &rest, &part, &taken);
        if (!why)
            *ret = cpuset_union(ret, &taken);
    }
    return why;
}
