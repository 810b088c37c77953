/* takecpus.c - n CPUs by topology. */
#include "koordlet/report/takecpus.h"

#include "base/vec.h"

enum level { SOCKET, NUMA_NODE, CORE };

struct group {           /* of CPUs that share a socket, a NUMA node or a core */
    struct cpuset cpus;  /* the free ones */
    uint32_t nfree, all; /* all: free or not */
    int32_t id;
};
struct groups vec_of(struct group);

struct taking {
    const struct cpu_info *c;
    struct cpuset free, taken;
    int64_t needed;
};

static int32_t id_of(const struct cpu_place *p, enum level l)
{
    return l == SOCKET ? p->socket : l == NUMA_NODE ? p->node : p->core;
}

static struct group *find_group(struct groups *g, size_t begin, int32_t id)
{
    for (size_t i = begin; i < g->n; i++)
        if (g->items[i].id == id)
            return &g->items[i];
    return NULL;
}

static int by_free(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->nfree != y->nfree)
        return x->nfree < y->nfree ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Appends the groups of one level that have a free CPU within the set, in order. */
static void add_groups(const struct taking *t, enum level l, const struct cpuset *within,
                       struct groups *out)
{
    size_t begin = out->n;

    for (uint32_t i = 0; i < t->c->n; i++) {
        const struct cpu_place *p = &t->c->cpus[i];
        if (!cpuset_has(within, (unsigned)p->cpu))
            continue;
        struct group *g = find_group(out, begin, id_of(p, l));
        if (!g) {
            vec_push(out, ((struct group){ .id = id_of(p, l) }));
            g = &vec_last(out);
        }
        cpuset_add(&g->cpus, (unsigned)p->cpu);
        g->nfree++;
    }
    for (uint32_t i = 0; i < t->c->n; i++) {
        struct group *g = find_group(out, begin, id_of(&t->c->cpus[i], l));
        if (g)
            g->all++;
    }
    if (out->n > begin)
        qsort(out->items + begin, out->n - begin, sizeof *out->items, by_free);
}

/* Sockets in order; NUMA nodes in order within their socket; cores within their NUMA node. */
static void order_groups(const struct taking *t, enum level l, struct groups *out)
{
    struct groups outer = { 0 };

    if (l == SOCKET) {
        add_groups(t, SOCKET, &t->free, out);
        return;
    }
    order_groups(t, (enum level)(l - 1), &outer);
    vec_foreach(&outer, i)
        add_groups(t, l, &outer.items[i].cpus, out);
    vec_fini(&outer);
}

static void take_set(struct taking *t, const struct cpuset *s, uint32_t n)
{
    t->taken = cpuset_union(&t->taken, s);
    t->free = cpuset_minus(&t->free, s);
    t->needed -= n;
}

static void take_whole(struct taking *t, enum level l)
{
    struct groups g = { 0 };

    order_groups(t, l, &g);
    vec_foreach(&g, i)
        if (g.items[i].nfree == g.items[i].all && g.items[i].nfree <= t->needed)
            take_set(t, &g.items[i].cpus, g.items[i].nfree);
    vec_fini(&g);
}

static void take_single(struct taking *t)
{
    struct groups g = { 0 };

    order_groups(t, CORE, &g);
    vec_foreach(&g, i)
        cpuset_foreach(&g.items[i].cpus, cpu) {
            struct cpuset one = { 0 };
            if (t->needed == 0)
                break;
            cpuset_add(&one, (unsigned)cpu);
            take_set(t, &one, 1);
        }
    vec_fini(&g);
}

int cpus_take(const struct cpu_info *c, const struct cpuset *available, int64_t n,
              struct cpuset *ret, struct kerr *err)
{
    struct taking t = { .c = c, .free = *available, .needed = n };

    if (n > cpuset_count(available))
        return kerr_set(err, -ENOSPC, "not enough cpus available to satisfy request");
    for (int l = SOCKET; l <= CORE && t.needed > 0; l++)
        take_whole(&t, (enum level)l);
    if (t.needed > 0)
        take_single(&t);
    *ret = t.taken;
    return 0;
}
