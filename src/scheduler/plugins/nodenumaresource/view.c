/* view.c - a node's CPUs and NUMA nodes as JSON (sched-numa 11). */
#include "scheduler/plugins/nodenumaresource/view.h"

#include "api/koord/noderesourcetopology.h"
#include "api/pod.h"
#include "api/protocol/node.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/nodenumaresource/stock.h"
#include "json/kj.h"

struct view {
    struct grants *g;
    struct stock stock;
    const char *node;
    uint32_t row;
    struct arena *arena;
    struct kjw *w;
};

static void write_cpus(struct view *v, const char *key, const struct cpuset *cpus)
{
    kjw_str(v->w, key, cpuset_format(cpus, v->arena));
}

static const char *exclusive_name(uint8_t policy)
{
    return policy == CPU_EXCLUSIVE_PCPU_LEVEL   ? "PCPULevel"
           : policy == CPU_EXCLUSIVE_NUMA_LEVEL ? "NUMANodeLevel"
                                                : "";
}

static void write_cpu(struct view *v, unsigned cpu)
{
    const struct machine *m = v->stock.site->machine;
    const struct cpu_place *p = &m->place[cpu];

    kjw_obj(v->w, arena_printf(v->arena, "%u", cpu));
    kjw_i64(v->w, "cpuID", cpu);
    kjw_i64(v->w, "coreID", p->core);
    kjw_i64(v->w, "nodeID", m->node_id[p->node]);
    kjw_i64(v->w, "socketID", p->socket);
    kjw_i64(v->w, "refCount", v->stock.holders.refs[cpu]);
    kjw_str(v->w, "exclusivePolicy", exclusive_name(v->stock.holders.exclusive[cpu]));
    kjw_end(v->w);
}

static void write_details(struct view *v, const char *key, const struct cpuset *cpus)
{
    kjw_obj(v->w, key);
    cpuset_foreach(cpus, cpu)
        write_cpu(v, (unsigned)cpu);
    kjw_end(v->w);
}

static void write_topology(struct view *v)
{
    const struct machine *m = v->stock.site->machine;

    kjw_obj(v->w, "cpuTopology");
    kjw_i64(v->w, "numCPUs", m->ncpus);
    kjw_i64(v->w, "numCores", m->ncores);
    kjw_i64(v->w, "numNodes", m->nnodes);
    kjw_i64(v->w, "numSockets", m->nsockets);
    write_details(v, "cpuDetails", &m->all);
    kjw_end(v->w);
}

/* of: amounts by resource, or NULL where a zone has none of them. */
static void write_amounts(struct view *v, uint8_t numa_id, uint32_t has, const int64_t *of)
{
    struct resqty q[NUMA_RESOURCES];
    reslist list = { .items = q };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (uint32_t r = 0; r < v->g->names.n; r++) {
        const char *name = v->g->names.name[r];
        if (has >> r & 1)
            q[list.n++] = (struct resqty){ name, resource_from_count(name, of[r]) };
    }
    kjw_obj(v->w, NULL);
    kjw_i64(v->w, "node", numa_id);
    reslist_encode(&list, &b);
    kjw_raw(v->w, "resources", strbuf_str(&b), b.len);
    kjw_end(v->w);
}

static uint32_t bits_of(const int64_t *amounts)
{
    uint32_t bits = 0;

    for (uint32_t r = 0; r < NUMA_RESOURCES; r++)
        bits |= (uint32_t)(amounts[r] != 0) << r;
    return bits;
}

static void write_capacities(struct view *v)
{
    const struct site *site = v->stock.site;

    kjw_arr(v->w, "numaNodeResources");
    for (uint32_t z = 0; z < site->nzones; z++)
        write_amounts(v, site->zone[z].id, site->zone[z].has, site->zone[z].capacity);
    kjw_end(v->w);
}

static void write_remaining(struct view *v)
{
    const struct site *site = v->stock.site;

    kjw_arr(v->w, "remainingNUMANodeResources");
    for (uint32_t z = 0; z < site->nzones; z++)
        write_amounts(v, site->zone[z].id, site->zone[z].has, v->stock.zone[z].left);
    kjw_end(v->w);
    kjw_arr(v->w, "allocatedNUMANodeResources");
    for (uint32_t z = 0; z < site->nzones; z++)
        if (v->stock.zone[z].counted)
            write_amounts(v, site->zone[z].id, bits_of(v->stock.zone[z].held),
                          v->stock.zone[z].held);
    kjw_end(v->w);
}

static void write_policy(struct view *v)
{
    struct kobj *o = objects_get(v->g->env.objects, &kind_noderesourcetopology, NULL, v->node);
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kubelet_cpu_manager k;
    struct kerr err;

    if (!o || kubelet_cpu_manager_read(&o->meta.annotations, v->arena, &k, &err) <= 0)
        return;
    kubelet_cpu_manager_encode(&k, &b);
    kjw_raw(v->w, "policy", strbuf_str(&b), b.len);
}

static void write_options(struct view *v)
{
    const struct site *site = v->stock.site;

    write_topology(v);
    write_cpus(v, "reservedCPUs", &site->reserved);
    kjw_i64(v->w, "maxRefCount", v->stock.holders.max_refs);
    write_policy(v);
    kjw_str(v->w, "numaTopologyPolicy", numa_policy_name((enum numa_policy)site->policy));
    write_capacities(v);
    kjw_obj(v->w, "amplificationRatios");
    if (site->zone_ratio > 1)
        kjw_raw(v->w, RES_CPU, arena_printf(v->arena, "%.2f", site->zone_ratio),
                strlen(arena_printf(v->arena, "%.2f", site->zone_ratio)));
    kjw_end(v->w);
}

static void write_available(struct view *v)
{
    const struct machine *m = v->stock.site->machine;
    struct cpuset taken = holders_taken(&v->stock.holders, m);

    write_cpus(v, "availableCPUs", &v->stock.free);
    write_details(v, "allocatedCPUs", &taken);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static int by_uid(const void *pa, const void *pb)
{
    const struct grant *const *a = pa, *const *b = pb;
    char ta[KUID_TEXT_MAX], tb[KUID_TEXT_MAX];

    kuid_format((*a)->uid, ta, sizeof ta);
    kuid_format((*b)->uid, tb, sizeof tb);
    return strcmp(ta, tb);
}

static void write_parts(struct view *v, const struct grant *x)
{
    kjw_arr(v->w, "numaNodeResources");
    for (uint32_t i = 0; i < x->nparts;) {
        int64_t amounts[NUMA_RESOURCES] = { 0 };
        uint8_t id = x->part[i].numa_id;
        for (; i < x->nparts && x->part[i].numa_id == id; i++)
            amounts[x->part[i].resource] += x->part[i].amount;
        write_amounts(v, id, bits_of(amounts), amounts);
    }
    kjw_end(v->w);
}

static void write_pods(struct view *v)
{
    const struct ks_podlist *pods = &v->g->env.nodes->pods[v->row];
    const struct grant **mine = arena_newn0(v->arena, pods->n, const struct grant *);
    uint32_t n = 0;

    for (uint32_t i = 0; i < pods->n; i++)
        if ((mine[n] = grants_find(v->g, pods->items[i]->obj.meta.uid)))
            n++;
    if (n)
        qsort(mine, n, sizeof *mine, by_uid);
    kjw_arr(v->w, "allocatedPods");
    for (uint32_t i = 0; i < n; i++) {
        char uid[KUID_TEXT_MAX];
        kuid_format(mine[i]->uid, uid, sizeof uid);
        kjw_obj(v->w, NULL);
        kjw_str(v->w, "uid", uid);
        kjw_str(v->w, "namespace", mine[i]->pod->meta.ns);
        kjw_str(v->w, "name", mine[i]->pod->meta.name);
        write_cpus(v, "cpuset", &mine[i]->cpus);
        kjw_str(v->w, "cpuExclusivePolicy", exclusive_name(mine[i]->exclusive));
        write_parts(v, mine[i]);
        kjw_end(v->w);
    }
    kjw_end(v->w);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static int view_open(struct view *v, void *service, const struct ks_get *get, struct kjw *w,
                     struct kerr *err)
{
    struct grants *g = service;

    *v = (struct view){ .g = g, .node = get->params[0], .arena = get->arena, .w = w };
    v->row = ks_row_of(g->env.nodes, v->node);
    if (v->row == KS_NO_ROW)
        return kerr_set(err, -ENOENT, "nodeinfo not found for node name \"%.128s\"", v->node);
    stock_init(&v->stock, g, g->env.nodes, v->row);
    const char *wrong = v->stock.site->flags & SITE_BAD_RATIO
                            ? "failed to amplify NUMANode Resources, err: the amplification ratio "
                              "of the node does not parse"
                        : !v->stock.site->machine
                            ? "invalid topology, please check the NodeResourceTopology object"
                            : NULL;
    if (!wrong)
        return 0;
    stock_fini(&v->stock);
    return kerr_set(err, -EINVAL, "%s", wrong);
}

static int get_node(void *service, const struct ks_get *get, struct kjw *w, struct kerr *err)
{
    struct view v;

    int r = view_open(&v, service, get, w, err);
    if (r < 0)
        return r;
    kjw_obj(w, NULL);
    kjw_str(w, "name", v.node);
    write_options(&v);
    write_remaining(&v);
    write_available(&v);
    write_pods(&v);
    kjw_end(w);
    stock_fini(&v.stock);
    return 0;
}

static int get_options(void *service, const struct ks_get *get, struct kjw *w, struct kerr *err)
{
    struct view v;

    int r = view_open(&v, service, get, w, err);
    if (r < 0)
        return r;
    kjw_obj(w, NULL);
    write_options(&v);
    kjw_end(w);
    stock_fini(&v.stock);
    return 0;
}

static int get_available(void *service, const struct ks_get *get, struct kjw *w, struct kerr *err)
{
    struct view v;

    int r = view_open(&v, service, get, w, err);
    if (r < 0)
        return r;
    kjw_obj(w, NULL);
    write_available(&v);
    kjw_end(w);
    stock_fini(&v.stock);
    return 0;
}

const struct ks_path numa_paths[] = {
    { "nodes/:nodeName", get_node },
    { "cpuTopologyOptions/:nodeName", get_options },
    { "availableCPUs/:nodeName", get_available },
    { NULL, NULL },
};
