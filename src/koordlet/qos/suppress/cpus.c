/* cpus.c - which CPUs best effort gets (koordlet-qos 5.3, 5.5). */
#include <math.h>

#include "api/protocol/cpu.h"
#include "koordlet/qos/suppress/suppress.h"

enum { CPUS_MIN = 2 };

/* ---- whose a CPU is -------------------------------------------------------------------------- */

static bool parse_cpus(const char *text, struct cpuset *ret)
{
    return !str_empty(text) && cpuset_parse(text, strlen(text), ret, NULL) == 0;
}

/* CPUs that no pod gets: reserved, or the system's alone. */
static struct cpuset withheld(const kstrmap *topology, struct arena *a)
{
    struct cpuset all = { 0 }, some;
    struct node_reservation reserved;
    struct system_qos_resource system;

    if (node_reservation_read(topology, a, &reserved, NULL) > 0 &&
        parse_cpus(reserved.reserved_cpus, &some))
        all = some;
    if (system_qos_resource_read(topology, a, &system, NULL) > 0 &&
        system_qos_is_exclusive(&system) && parse_cpus(system.cpuset, &some))
        all = cpuset_union(&all, &some);
    return all;
}

/* owners[cpu]: the label of the pod that the scheduler gave the CPU; of several the last. */
static void find_owners(const struct suppress_machine *m, struct arena *a,
                        enum qos_class owners[static CPUSET_MAX])
{
    for (uint32_t i = 0; i < m->npods; i++) {
        const struct pod *p = npod_pod(m->pods[i]);
        struct resource_status status;
        struct cpuset cpus;
        if (resource_status_read(&p->obj.meta.annotations, a, &status, NULL) <= 0 ||
            !parse_cpus(status.cpuset, &cpus))
            continue;
        cpuset_foreach(&cpus, cpu)
            owners[cpu] = pod_qos_class_raw(p);
    }
}

struct cpuset suppress_share(const struct suppress_machine *m, struct arena *a)
{
    enum qos_class *owners = arena_newn0(a, CPUSET_MAX, enum qos_class);
    struct cpuset none = withheld(m->topology, a), all = { 0 };

    find_owners(m, a, owners);
    for (uint32_t i = 0; i < m->cpus->n; i++) {
        int32_t cpu = m->cpus->cpus[i].cpu;
        if (!cpuset_has(&none, (unsigned)cpu) && owners[cpu] != QOS_LSE)
            cpuset_add(&all, (unsigned)cpu);
    }
    return all;
}

/* ---- picking --------------------------------------------------------------------------------- */

struct bucket { /* CPUs of one NUMA node of one socket */
    const struct cpu_place *cpus;
    uint32_t n;
    bool *used;
};

static int by_place(const void *a, const void *b)
{
    const struct cpu_place *x = a, *y = b;

    if (x->socket != y->socket)
        return x->socket < y->socket ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int by_size(const void *a, const void *b)
{
    const struct bucket *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return (x->cpus[0].cpu > y->cpus[0].cpu) - (x->cpus[0].cpu < y->cpus[0].cpu);
}

static uint32_t make_buckets(const struct cpu_place *from, uint32_t n, struct arena *a,
                             struct bucket *ret)
{
    struct cpu_place *sorted = arena_newn0(a, n, struct cpu_place);
    bool *used = arena_newn0(a, n, bool);
    uint32_t count = 0;

    memcpy(sorted, from, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_place);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || sorted[i].socket != sorted[i - 1].socket ||
            sorted[i].node != sorted[i - 1].node)
            ret[count++] = (struct bucket){ &sorted[i], 0, &used[i] };
        ret[count - 1].n++;
    }
    qsort(ret, count, sizeof *ret, by_size);
    return count;
}

static bool take_pair(struct bucket *b, int32_t *ret)
{
    for (uint32_t j = 0; j + 1 < b->n; j++)
        if (!b->used[j] && b->cpus[j].core == b->cpus[j + 1].core) {
            b->used[j] = b->used[j + 1] = true;
            ret[0] = b->cpus[j].cpu;
            ret[1] = b->cpus[j + 1].cpu;
            return true;
        }
    return false;
}

static bool take_single(struct bucket *b, int32_t *ret)
{
    for (uint32_t j = 0; j < b->n; j++)
        if (!b->used[j]) {
            b->used[j] = true;
            *ret = b->cpus[j].cpu;
            return true;
        }
    return false;
}

bool suppress_pick(const struct cpu_place *from, uint32_t n, uint32_t k, struct arena *a,
                   int32_t *ret)
{
    uint32_t got = 0, i = 0;

    if (k > n || k == 0)
        return false;
    struct bucket *buckets = arena_newn0(a, n, struct bucket);
    uint32_t nb = make_buckets(from, n, a, buckets);
    for (uint32_t fruitless = 0; k - got > 1; i = (i + 1) % nb) {
        if (i == 0 && fruitless >= nb)
            break;
        bool took = take_pair(&buckets[i], ret + got);
        got += took ? 2 : 0;
        fruitless = took ? 0 : fruitless + 1;
    }
    for (; got < k; i = (i + 1) % nb) /* k <= n: there is one somewhere */
        got += take_single(&buckets[i], ret + got);
    return true;
}

/* ---- the policy cpuset ----------------------------------------------------------------------- */

struct cpuset suppress_cpus(const struct suppress_machine *m, int64_t milli,
                            const struct cpuset *old, struct arena *a)
{
    enum qos_class *owners = arena_newn0(a, CPUSET_MAX, enum qos_class);
    struct cpu_place *lsr = arena_newn0(a, m->cpus->n + 1, struct cpu_place);
    struct cpu_place *others = arena_newn0(a, m->cpus->n + 1, struct cpu_place);
    int32_t *picked = arena_newn0(a, m->cpus->n + 1, int32_t);
    struct cpuset none = withheld(m->topology, a), result = { 0 };
    int64_t nr = 0, nl = 0, has = cpuset_count(old);

    find_owners(m, a, owners);
    for (uint32_t i = 0; i < m->cpus->n; i++) {
        const struct cpu_place *c = &m->cpus->cpus[i];
        if (cpuset_has(&none, (unsigned)c->cpu) || owners[c->cpu] == QOS_LSE)
            continue;
        if (owners[c->cpu] == QOS_LSR)
            lsr[nr++] = *c;
        else
            others[nl++] = *c;
    }
    int64_t n = MAX((int64_t)ceil((double)milli / 1000), (int64_t)CPUS_MIN);
    int64_t step = (int64_t)ceil((double)m->cpus->n * 0.1);
    n = MIN(n, has + step);
    if (nr + nl == 0)
        return result;
    int64_t from_lsr = n * nr / (nr + nl);
    if (suppress_pick(lsr, (uint32_t)nr, (uint32_t)from_lsr, a, picked))
        for (int64_t i = 0; i < from_lsr; i++)
            cpuset_add(&result, (unsigned)picked[i]);
    if (suppress_pick(others, (uint32_t)nl, (uint32_t)(n - from_lsr), a, picked))
        for (int64_t i = 0; i < n - from_lsr; i++)
            cpuset_add(&result, (unsigned)picked[i]);
    return result;
}
