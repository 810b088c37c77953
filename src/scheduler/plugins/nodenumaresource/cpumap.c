/* cpumap.c - who has which CPUs of a node (sched-numa 2). */
#include "scheduler/plugins/nodenumaresource/cpumap.h"

#include "api/koord/noderesourcetopology.h"
#include "api/pod.h"
#include "api/protocol/node.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/nodenumaresource/stock.h"
#include "json/kj.h"

struct holder {
    const char *kind, *name; /* name NULL: there is one of the kind */
    struct cpuset cpus;      /* of the machine, and nobody else's */
};
struct cpumap {
    struct grants *g;
    struct stock stock;
    struct arena *arena;
    struct holder *holders;
    uint32_t n;
};

static void add_holder(struct cpumap *m, const char *kind, const char *name, struct cpuset cpus)
{
    cpus = cpuset_intersect(&cpus, &m->stock.site->machine->all);
    for (uint32_t i = 0; i < m->n; i++)
        cpus = cpuset_minus(&cpus, &m->holders[i].cpus);
    if (!cpuset_is_empty(&cpus))
        m->holders[m->n++] = (struct holder){ kind, name, cpus };
}

/* ---- the kubelet ----------------------------------------------------------------------------- */

static struct cpuset with_list(struct cpuset set, const char *list)
{
    struct cpuset more;
    struct kerr err;

    if (str_empty(list) || cpuset_parse(list, strlen(list), &more, &err) < 0)
        return set;
    return cpuset_union(&set, &more);
}

/* Of the CPUs that are set aside, those that the kubelet keeps or has given to its pods. The site
 * has them all in one set: who wants them is not needed to schedule. */
static struct cpuset kubelet_cpus(const struct cpumap *m, const char *node)
{
    struct kobj *o = objects_get(m->g->env.objects, &kind_noderesourcetopology, NULL, node);
    struct kubelet_cpu_manager k;
    struct pod_cpu_allocs allocs;
    struct cpuset set = { 0 };
    struct kerr err;

    if (o && kubelet_cpu_manager_read(&o->meta.annotations, m->arena, &k, &err) > 0)
        set = with_list(set, k.reserved_cpus);
    if (o && pod_cpu_allocs_read(&o->meta.annotations, m->arena, &allocs, &err) > 0)
        for (uint32_t i = 0; i < allocs.v.n; i++)
            if (allocs.v.items[i].managed_by_kubelet && !str_empty(allocs.v.items[i].uid))
                set = with_list(set, allocs.v.items[i].cpuset);
    return cpuset_intersect(&set, &m->stock.site->reserved);
}

/* ---- everybody ------------------------------------------------------------------------------- */

static int by_name(const void *pa, const void *pb)
{
    const struct grant *const *a = pa, *const *b = pb;
    int ns = strcmp(str_or((*a)->pod->meta.ns, ""), str_or((*b)->pod->meta.ns, ""));

    return ns ? ns : strcmp((*a)->pod->meta.name, (*b)->pod->meta.name);
}

static void add_grants(struct cpumap *m, const struct grant *const *all, uint32_t n,
                       bool reservations)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct kobj *pod = all[i]->pod;
        char key[KOBJ_KEY_MAX];
        if (is_reserve_pod(&pod->meta.annotations) != reservations)
            continue;
        kobj_key(pod, key, sizeof key);
        add_holder(m, reservations ? "reservation" : "pod",
                   arena_strdup(m->arena, reservations ? pod->meta.name : key), all[i]->cpus);
    }
}

static void find_holders(struct cpumap *m, const struct ks_podlist *pods, const char *node)
{
    const struct grant **mine = arena_newn0(m->arena, pods->n + 1, const struct grant *);
    uint32_t n = 0;

    for (uint32_t i = 0; i < pods->n; i++)
        if ((mine[n] = grants_find(m->g, pods->items[i]->obj.meta.uid)))
            n++;
    if (n)
        qsort(mine, n, sizeof *mine, by_name);
    m->holders = arena_newn0(m->arena, n + 2, struct holder);
    add_grants(m, mine, n, false);
    add_grants(m, mine, n, true);
    add_holder(m, "kubelet", NULL, kubelet_cpus(m, node));
    add_holder(m, "system", NULL, m->stock.site->reserved);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_holders(const struct cpumap *m, struct kjw *w)
{
    kjw_arr(w, "holders");
    for (uint32_t i = 0; i < m->n; i++) {
        kjw_obj(w, NULL);
        kjw_str(w, "kind", m->holders[i].kind);
        if (m->holders[i].name)
            kjw_str(w, "name", m->holders[i].name);
        kjw_str(w, "cpus", cpuset_format(&m->holders[i].cpus, m->arena));
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_cpu(const struct cpumap *m, unsigned cpu, struct kjw *w)
{
    const struct machine *machine = m->stock.site->machine;
    const struct cpu_place *p = &machine->place[cpu];

    kjw_obj(w, NULL);
    kjw_i64(w, "id", cpu);
    kjw_i64(w, "core", p->core);
    kjw_i64(w, "numaNode", machine->node_id[p->node]);
    kjw_i64(w, "socket", p->socket);
    for (uint32_t i = 0; i < m->n; i++)
        if (cpuset_has(&m->holders[i].cpus, cpu))
            kjw_i64(w, "holder", i);
    kjw_end(w);
}

/* Core by core, and these by socket. */
static void write_cpus(const struct cpumap *m, struct kjw *w)
{
    const struct machine *machine = m->stock.site->machine;

    kjw_arr(w, "cpus");
    for (uint16_t i = 0; i < machine->ncpus; i++)
        write_cpu(m, machine->core_cpus[i], w);
    kjw_end(w);
}

static void write_node(const struct cpumap *m, const char *node, struct kjw *w)
{
    const struct machine *machine = m->stock.site->machine;
    struct cpuset full = machine_usable(machine, &m->stock.free, CPU_BIND_FULL_PCPUS);

    kjw_obj(w, NULL);
    kjw_str(w, "node", node);
    kjw_i64(w, "sockets", machine->nsockets);
    kjw_i64(w, "numaNodes", machine->nnodes);
    kjw_i64(w, "cores", machine->ncores);
    kjw_str(w, "free", cpuset_format(&m->stock.free, m->arena));
    kjw_i64(w, "freeCPUs", cpuset_count(&m->stock.free));
    kjw_i64(w, "freeCores", machine_count_cores(machine, &full));
    write_holders(m, w);
    write_cpus(m, w);
    kjw_end(w);
}

int cpumap_node(struct grants *g, const char *node, struct strbuf *json, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    uint32_t row = ks_row_of(g->env.nodes, node);
    struct cpumap m = { .g = g, .arena = a };
    struct kjw w = kjw_to(json);

    if (row == KS_NO_ROW)
        return kerr_set(err, -ENOENT, "there is no node %.128s", node);
    stock_init(&m.stock, g, g->env.nodes, row);
    bool known = m.stock.site->machine;
    if (known) {
        find_holders(&m, &g->env.nodes->pods[row], node);
        write_node(&m, node, &w);
    }
    stock_fini(&m.stock);
    return known ? 0
                 : kerr_set(err, -EINVAL,
                            "node %.128s has no NodeResourceTopology with a CPU topology: is "
                            "koordlet running there?",
                            node);
}
