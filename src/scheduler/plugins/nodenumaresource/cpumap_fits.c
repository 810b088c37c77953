/* cpumap_fits.c - how many more pods with CPUs of their own fit (sched-numa 4, 6). */
#include "api/node.h"
#include "api/protocol/node.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/plugins/nodenumaresource/cpumap.h"
#include "scheduler/plugins/nodenumaresource/stock.h"
#include "json/kj.h"

struct fitting { /* on one node */
    const struct cpumap_want *want;
    struct stock stock;
    int64_t room; /* milli-CPUs that the node has left for requests, as they count there */
    enum cpu_bind_policy required;
    enum numa_policy policy;
};

static struct numa_request request(const struct fitting *f, unsigned ncpus)
{
    struct numa_request r = { .asks = 1u << NUMA_RES_CPU,
                              .bind = true,
                              .required = f->required != CPU_BIND_NONE };

    r.original[NUMA_RES_CPU] = 1000 * (int64_t)ncpus;
    r.amount[NUMA_RES_CPU] = amplify(1000 * (int64_t)ncpus, f->stock.site->zone_ratio);
    r.cpus = (struct cpu_request){
        .need = ncpus,
        .bind = r.required ? f->required : CPU_BIND_FULL_PCPUS,
        .strategy = site_strategy(f->stock.site, NUMA_MOST_ALLOCATED),
    };
    return r;
}

/* On one NUMA node, else on all that the policy leaves. Without a policy they do not matter. */
static bool place(const struct fitting *f, unsigned ncpus, struct numa_allocation *ret)
{
    const struct site *site = f->stock.site;
    struct numa_request r = request(f, ncpus);

    if (amplify(1000 * (int64_t)ncpus, site->ratio) > f->room)
        return false;
    if (r.required && r.cpus.bind == CPU_BIND_FULL_PCPUS && ncpus % site->machine->per_core)
        return false;
    if (f->policy == NUMA_POLICY_NONE)
        return stock_allocate(&f->stock, NULL, &r, 0, ret, NULL) == KS_SUCCESS;
    for (uint32_t z = 0; z < site->nzones; z++)
        if (stock_can_allocate(&f->stock, &r, UINT64_C(1) << site->zone[z].id))
            return stock_allocate(&f->stock, NULL, &r, UINT64_C(1) << site->zone[z].id, ret,
                                  NULL) == KS_SUCCESS;
    return f->policy != NUMA_POLICY_SINGLE_NODE && site->nzones > 0 &&
           stock_allocate(&f->stock, NULL, &r, site_zone_mask(site), ret, NULL) == KS_SUCCESS;
}

/* The next pod finds this taken. */
static void take_it(struct fitting *f, const struct numa_allocation *x)
{
    struct stock *s = &f->stock;

    holders_add(&s->holders, s->site->machine, &x->cpus, CPU_EXCLUSIVE_NONE);
    s->free = cpuset_minus(&s->free, &x->cpus);
    f->room -= amplify(1000 * (int64_t)cpuset_count(&x->cpus), s->site->ratio);
    for (uint32_t i = 0; i < x->nparts; i++)
        for (uint32_t z = 0; z < s->site->nzones; z++)
            if (s->site->zone[z].id == x->part[i].numa_id) {
                int64_t *left = &s->zone[z].left[x->part[i].resource];
                *left = MAX(*left - amplify(x->part[i].amount, s->site->zone_ratio), 0);
            }
}

static unsigned count_fits(struct fitting *f)
{
    struct numa_allocation x;
    unsigned n = 0;

    for (; place(f, f->want->ncpus, &x); n++)
        take_it(f, &x);
    return n;
}

/* From what is free downwards: nearly always the first few do. */
static unsigned find_largest(const struct fitting *f)
{
    struct cpuset usable = machine_usable(f->stock.site->machine, &f->stock.free, f->required);
    int64_t most = MIN((int64_t)cpuset_count(&usable), MAX(f->room, 0) / 1000);
    struct numa_allocation x;

    for (unsigned n = (unsigned)most; n > 0; n--)
        if (place(f, n, &x))
            return n;
    return 0;
}

/* NULL, or why no pod of this kind fits whatever its size. */
static const char *prepare(struct fitting *f, const struct ks_nodes *nodes, uint32_t row)
{
    const struct site *s = f->stock.site;
    enum cpu_bind_policy of_node = site_bind(s);
    int64_t used = nodes->used[KS_MCPU][row], bound = 1000 * (int64_t)f->stock.ntaken;

    if (nodes->node[row]->spec.unschedulable)
        return "unschedulable";
    if (!s->machine)
        return "no CPU topology";
    if (s->flags & SITE_BAD_RATIO)
        return "invalid CPU amplification ratio";
    if (!numa_policy_merge((enum numa_policy)s->policy,
                           f->want->single_numa ? NUMA_POLICY_SINGLE_NODE : NUMA_POLICY_NONE,
                           &f->policy))
        return "another NUMA policy";
    if (of_node != CPU_BIND_NONE && f->want->bind != CPU_BIND_NONE && of_node != f->want->bind)
        return "another bind policy";
    f->required = of_node != CPU_BIND_NONE ? of_node : f->want->bind;
    if (bound > 0 && used >= bound)
        used += amplify(bound, s->ratio) - bound;
    f->room = nodes->alloc[KS_MCPU][row] - used;
    return NULL;
}

struct sums {
    int64_t fits, largest;
};

static void write_row(struct grants *g, const struct cpumap_want *want, uint32_t row,
                      struct sums *sums, struct kjw *w)
{
    struct fitting f = { .want = want };
    unsigned fits = 0, largest = 0;

    stock_init(&f.stock, g, g->env.nodes, row);
    const char *why = prepare(&f, g->env.nodes, row);
    if (!why) {
        largest = find_largest(&f);
        fits = count_fits(&f);
    }
    kjw_obj(w, NULL);
    kjw_str(w, "name", g->env.nodes->node[row]->obj.meta.name);
    kjw_i64(w, "fits", fits);
    kjw_i64(w, "largest", largest);
    if (why)
        kjw_str(w, "why", why);
    kjw_end(w);
    sums->fits += fits;
    sums->largest = MAX(sums->largest, (int64_t)largest);
    stock_fini(&f.stock);
}

struct named_row {
    const char *name;
    uint32_t row;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named_row *)a)->name, ((const struct named_row *)b)->name);
}

void cpumap_fits(struct grants *g, const struct cpumap_want *want, struct strbuf *json)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct ks_nodes *nodes = g->env.nodes;
    struct named_row *rows = arena_newn0(a, nodes->n + 1, struct named_row);
    struct kjw w = kjw_to(json);
    struct sums sums = { 0 };

    for (uint32_t i = 0; i < nodes->n; i++)
        rows[i] = (struct named_row){ nodes->node[i]->obj.meta.name, i };
    qsort(rows, nodes->n, sizeof *rows, by_name);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "nodes");
    for (uint32_t i = 0; i < nodes->n; i++)
        write_row(g, want, rows[i].row, &sums, &w);
    kjw_end(&w);
    kjw_i64(&w, "fits", sums.fits);
    kjw_i64(&w, "largest", sums.largest);
    kjw_end(&w);
}
