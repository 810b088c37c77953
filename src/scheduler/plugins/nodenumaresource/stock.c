/* stock.c - what a row has left (sched-numa 2). */
#include "scheduler/plugins/nodenumaresource/stock.h"

#include "api/koord/noderesourcetopology.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/node.h"
#include "base/klog.h"
#include "base/num.h"
#include "scheduler/model/objects.h"

/* How many pods may share one CPU: upstream's plugins could change it, none does. */
enum { MAX_REFS = 1 };

/* ---- the site -------------------------------------------------------------------------------- */

static const struct noderesourcetopology *topology_of(const struct grants *g, const char *node)
{
    struct kobj *o = objects_get(g->env.objects, &kind_noderesourcetopology, NULL, node);

    return o ? noderesourcetopology_of(o) : NULL;
}

/* tell: whoever runs the cluster, about what does not parse. */
static void read_site(struct grants *g, const struct node *node, struct stock *s, bool tell)
{
    const char *name = node->obj.meta.name, *bad;

    arena_reset(g->scratch);
    struct site *is =
        site_new(&g->machines, &g->names, node, topology_of(g, name), g->scratch, &bad);
    if (tell && bad &&
        !(s->site && s->site->bad == is->bad)) /* said once, not with each heartbeat */
        KLOG_W("Part of a node's CPU and NUMA description is ignored", KV_S("node", name),
               KV_S("err", bad));
    site_unref(s->site);
    s->site = is;
    machines_sweep(&g->machines);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static struct zone_stock *zone_of(struct stock *s, uint8_t numa_id)
{
    for (uint32_t i = 0; i < s->site->nzones; i++)
        if (s->site->zone[i].id == numa_id)
            return &s->zone[i];
    return NULL;
}

/* The NUMA nodes of a set of CPUs, by dense number. */
static void count_nodes(struct stock *s, const struct cpuset *cpus)
{
    const struct machine *m = s->site->machine;
    uint32_t touched = 0;
    struct zone_stock *zones[NUMA_MAX];

    for (uint16_t n = 0; n < m->nnodes; n++) {
        struct cpuset here = cpuset_intersect(cpus, &m->node_cpus[n]);
        if (!cpuset_is_empty(&here))
            zones[touched++] = zone_of(s, m->node_id[n]);
    }
    for (uint32_t i = 0; i < touched; i++)
        if (zones[i])
            touched == 1 ? zones[i]->single++ : zones[i]->multi++;
}

static void add_grant(struct stock *s, const struct grant *x)
{
    const struct machine *m = s->site->machine;

    if (m && !cpuset_is_empty(&x->cpus)) {
        struct cpuset here = cpuset_intersect(&x->cpus, &m->all);
        holders_add(&s->holders, m, &here, (enum cpu_exclusive_policy)x->exclusive);
        count_nodes(s, &here);
    }
    for (uint32_t i = 0; i < x->nparts; i++) {
        struct zone_stock *z = zone_of(s, x->part[i].numa_id);
        if (!z)
            continue;
        int64_t *held = &z->held[x->part[i].resource];
        *held = i64_add_sat(*held, x->part[i].amount);
        z->counted = true;
    }
}

/* Bound CPUs are real ones: on a node that amplifies they weigh more (sched-numa 2). */
static void amplify_held(struct stock *s, const struct cpuset *taken, uint32_t zone)
{
    const struct site *site = s->site;
    const struct cpuset *of_node =
        site->machine ? machine_node_cpus(site->machine, site->zone[zone].id) : NULL;

    if (!of_node || site->zone_ratio <= 1 || !s->zone[zone].counted)
        return;
    struct cpuset here = cpuset_intersect(taken, of_node);
    int64_t mcpu = 1000 * (int64_t)cpuset_count(&here);
    int64_t *held = &s->zone[zone].held[NUMA_RES_CPU];
    *held = i64_add_sat(*held, amplify(mcpu, site->zone_ratio) - mcpu);
}

static void sum_up(struct stock *s, const struct grant *const *all, uint32_t n)
{
    const struct site *site = s->site;
    struct cpuset taken = { 0 };

    s->free = (struct cpuset){ 0 };
    if (site->machine) {
        taken = holders_taken(&s->holders, site->machine);
        s->free = holders_available(&s->holders, site->machine, &site->reserved);
    }
    for (uint32_t i = 0; !site->machine && i < n; i++) /* they weigh more, whichever they are */
        taken = cpuset_union(&taken, &all[i]->cpus);
    s->ntaken = cpuset_count(&taken);
    for (uint32_t z = 0; z < site->nzones; z++) {
        amplify_held(s, &taken, z);
        for (uint32_t r = 0; r < NUMA_RESOURCES; r++)
            s->zone[z].left[r] = MAX(site->zone[z].capacity[r] - s->zone[z].held[r], 0);
    }
}

/* same: it has summed up this site before. */
static void stock_reset(struct stock *s, bool same)
{
    const struct machine *m = s->site->machine;

    if (same) {
        if (s->zone)
            memset(s->zone, 0, s->site->nzones * sizeof *s->zone);
        if (m)
            holders_clear(&s->holders, m);
        return;
    }
    holders_fini(&s->holders);
    free(s->zone);
    s->zone = s->site->nzones ? xnewn0(s->site->nzones, struct zone_stock) : NULL;
    if (m)
        holders_init(&s->holders, m, MAX_REFS);
}

static void fill_zone_columns(const struct stock *s, int64_t *column)
{
    static const struct {
        uint32_t resource, most, all;
    } of[] = { { NUMA_RES_CPU, STOCK_CPU, STOCK_ALL_CPU },
               { NUMA_RES_MEMORY, STOCK_MEMORY, STOCK_ALL_MEMORY } };

    for (uint32_t k = 0; k < ARRAY_LEN(of); k++) {
        int64_t most = 0, all = 0;
        bool listed = false;
        for (uint32_t z = 0; z < s->site->nzones; z++) {
            int64_t left = s->zone[z].left[of[k].resource];
            listed |= s->site->zone[z].has >> of[k].resource & 1;
            most = MAX(most, left);
            all = i64_add_sat(all, left);
        }
        column[of[k].most] = listed ? most : INT64_MAX;
        column[of[k].all] = listed ? all : INT64_MAX;
    }
}

static void fill_columns(const struct stock *s, int64_t *column)
{
    const struct site *site = s->site;
    const struct machine *m = site->machine;

    if (m) {
        struct cpuset full = machine_usable(m, &s->free, CPU_BIND_FULL_PCPUS);
        column[STOCK_FREE] = cpuset_count(&s->free);
        column[STOCK_FULL] = cpuset_count(&full);
        column[STOCK_CORES] = machine_count_cores(m, &s->free);
        column[STOCK_PER_CORE] = m->per_core;
    }
    fill_zone_columns(s, column);
    column[STOCK_ZONES] = site->nzones;
    column[STOCK_POLICY] = site->policy;
    column[STOCK_BINDS] = site->bind != NODE_CPU_BIND_NONE;
    column[STOCK_SPECIAL] = site->bind != NODE_CPU_BIND_NONE || site->ratio > 1 ||
                            site->flags & SITE_BAD_RATIO || (m && m->per_core & (m->per_core - 1));
}

/* The order in a row means nothing, but who came last on a CPU decides its exclusive policy. */
static int by_seq(const void *pa, const void *pb)
{
    const struct grant *const *a = pa, *const *b = pb;

    return (*a)->seq < (*b)->seq ? -1 : (*a)->seq > (*b)->seq;
}

static int64_t part_amount(const struct grant *x, const struct numa_part *like)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < x->nparts; i++)
        if (x->part[i].numa_id == like->numa_id && x->part[i].resource == like->resource)
            sum += x->part[i].amount;
    return sum;
}

/* What owners have taken of a reservation is held by both, and counts once: at most as much as the
 * reservation has. */
static void count_once(struct stock *s, const struct grant *reserve, const struct grant **all,
                       uint32_t n)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(reserve->uid, uid, sizeof uid);
    for (uint32_t k = 0; k < reserve->nparts; k++) {
        const struct numa_part *part = &reserve->part[k];
        struct zone_stock *z = zone_of(s, part->numa_id);
        int64_t taken = 0;
        for (uint32_t i = 0; i < n; i++)
            if (all[i]->reservation && streq(all[i]->reservation, uid))
                taken += part_amount(all[i], part);
        if (z)
            z->held[part->resource] -= MIN(taken, part->amount);
    }
}

static void count_pods(struct grants *g, const struct ks_podlist *pods, struct stock *s, bool same)
{
    const struct grant **mine;
    uint32_t n = 0;

    stock_reset(s, same);
    arena_reset(g->scratch);
    mine = arena_newn0(g->scratch, pods->n + 1, const struct grant *);
    for (uint32_t i = 0; i < pods->n; i++)
        if ((mine[n] = grants_find(g, pods->items[i]->obj.meta.uid)))
            n++;
    if (n > 1)
        qsort(mine, n, sizeof *mine, by_seq);
    bool owners = false;
    for (uint32_t i = 0; i < n; i++) {
        add_grant(s, mine[i]);
        owners |= mine[i]->reservation != NULL;
    }
    for (uint32_t i = 0; owners && i < n; i++)
        count_once(s, mine[i], mine, n);
    sum_up(s, mine, n);
}

void stock_init_pods(struct stock *s, struct grants *g, struct site *site,
                     const struct ks_podlist *pods)
{
    *s = (struct stock){ .site = site_ref(site) };
    count_pods(g, pods, s, false);
}

void stock_init(struct stock *s, struct grants *g, const struct ks_nodes *nodes, uint32_t row)
{
    *s = (struct stock){ 0 };
    read_site(g, nodes->node[row], s, false);
    count_pods(g, &nodes->pods[row], s, false);
}

void stock_fini(struct stock *s)
{
    holders_fini(&s->holders);
    free(s->zone);
    site_unref(s->site);
}

static void stock_fill(void *self, struct ks_fill *f)
{
    struct grants *g = *(struct grants **)self; /* the plugin's first member */
    struct stock *s = f->data;
    bool same = f->pods_only && s->site;

    if (!same)
        read_site(g, f->nodes->node[f->row], s, true);
    count_pods(g, &f->nodes->pods[f->row], s, same);
    fill_columns(s, f->column);
}

/* A pod came, or left. Most hold nothing that is counted here, also those that are on their way and
 * have not reserved yet. */
static void stock_pod(void *self, struct ks_fill *f, const struct pod *p)
{
    struct grants *g = *(struct grants **)self;

    if (!grants_find(g, p->obj.meta.uid))
        return;
    count_pods(g, &f->nodes->pods[f->row], f->data, true);
    memset(f->column, 0, STOCK_COLUMNS * sizeof *f->column);
    fill_columns(f->data, f->column);
}

static void stock_drop(void *self, void *data)
{
    (void)self;
    stock_fini(data);
}

static void stock_copy(void *self, void *to, const void *from)
{
    const struct stock *a = from;
    struct stock *b = to;

    (void)self;
    *b = *a;
    if (!a->site)
        return;
    b->site = site_ref(a->site);
    b->holders = (struct holders){ 0 };
    b->zone = a->site->nzones ? xnewn0(a->site->nzones, struct zone_stock) : NULL;
    if (b->zone)
        memcpy(b->zone, a->zone, a->site->nzones * sizeof *b->zone);
    if (a->site->machine)
        holders_copy(&b->holders, &a->holders, a->site->machine);
}

const struct ks_row_data stock_rows = {
    .size = sizeof(struct stock),
    .columns = STOCK_COLUMNS,
    .pods = true,
    .fill = stock_fill,
    .add_pod = stock_pod,
    .remove_pod = stock_pod,
    .drop = stock_drop,
    .copy = stock_copy,
};

void stock_status(const struct stock *s, uint8_t status[NUMA_MAX])
{
    memset(status, NUMA_IDLE, NUMA_MAX);
    for (uint32_t z = 0; z < s->site->nzones; z++) {
        const struct zone_stock *x = &s->zone[z];
        status[s->site->zone[z].id] = !x->single && !x->multi ? NUMA_IDLE
                                      : x->multi              ? NUMA_SHARED
                                                              : NUMA_SINGLE;
    }
}
