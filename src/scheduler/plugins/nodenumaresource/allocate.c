/* allocate.c - what a pod would get of a row (sched-numa 6). */
#include "base/num.h"
#include "scheduler/plugins/nodenumaresource/stock.h"

/* ---- parts of NUMA nodes --------------------------------------------------------------------- */

struct deal { /* one resource is dealt out over the NUMA nodes of a mask */
    const struct stock *s;
    const struct numa_request *r;
    uint32_t zone[ZONES_MAX], n;
    int64_t left[ZONES_MAX];
};

/* CPUs of a zone that a required policy can use. */
static int64_t usable_mcpu(const struct stock *s, const struct numa_request *r, uint32_t zone)
{
    const struct machine *m = s->site->machine;
    const struct cpuset *of_node = m ? machine_node_cpus(m, s->site->zone[zone].id) : NULL;

    if (!of_node)
        return 0;
    struct cpuset free = cpuset_minus(&s->free, &r->barred);
    free = cpuset_intersect(&free, of_node);
    free = machine_usable(m, &free, r->cpus.bind);
    return 1000 * (int64_t)cpuset_count(&free);
}

int64_t stock_left(const struct stock *s, const struct numa_request *r, uint32_t zone,
                   uint32_t resource)
{
    int64_t left = r->left ? r->left[zone][resource] : s->zone[zone].left[resource];

    if (resource != NUMA_RES_CPU || !r->bind || !r->required || left == 0)
        return left;
    return MIN(left, usable_mcpu(s, r, zone));
}

/* What a NUMA node has left, by its id. */
static int64_t left_by_id(const struct deal *d, uint32_t resource, uint32_t numa_id)
{
    const struct site *site = d->s->site;

    if (numa_id < site->nzones && site->zone[numa_id].id == numa_id) /* ids without gaps */
        return stock_left(d->s, d->r, numa_id, resource);
    for (uint32_t z = 0; z < site->nzones; z++)
        if (site->zone[z].id == numa_id)
            return stock_left(d->s, d->r, z, resource);
    return 0;
}

/* Scarce ones first, so that the others can make up for them. As upstream has it: places in the
 * order are compared as if they were NUMA ids, which is what is meant for the nodes 0 to n-1 only,
 * and for more than two of them not even then. Recorded results depend on it. */
static void deal_init(struct deal *d, uint32_t resource, uint64_t mask)
{
    const struct site *site = d->s->site;

    d->n = 0;
    for (uint32_t z = 0; z < site->nzones; z++)
        if (mask >> site->zone[z].id & 1)
            d->zone[d->n++] = z;
    for (uint32_t i = 1; i < d->n; i++)
        for (uint32_t j = i; j > 0 && left_by_id(d, resource, j) < left_by_id(d, resource, j - 1);
             j--) {
            uint32_t z = d->zone[j];
            d->zone[j] = d->zone[j - 1];
            d->zone[j - 1] = z;
        }
    for (uint32_t i = 0; i < d->n; i++)
        d->left[i] = stock_left(d->s, d->r, d->zone[i], resource);
}

/* An equal part of what is left to deal: whole CPUs, or whole cores, for pods that are bound. */
static int64_t part_of(const struct deal *d, uint32_t resource, int64_t rest, uint32_t nodes)
{
    const struct machine *m = d->s->site->machine;
    int64_t cpus = rest / 1000 + (rest % 1000 != 0);

    if (resource != NUMA_RES_CPU || !d->r->bind)
        return rest / nodes;
    if (d->r->required && d->r->cpus.bind == CPU_BIND_FULL_PCPUS && m)
        return cpus / m->per_core / nodes * m->per_core * 1000;
    return cpus / nodes * 1000;
}

/* What could not be dealt out; got: by position. */
static int64_t deal_out(const struct deal *d, uint32_t resource, int64_t amount, int64_t *got)
{
    for (uint32_t i = 0; i < d->n; i++) {
        got[i] = MIN(d->left[i], part_of(d, resource, amount, d->n - i));
        amount -= got[i];
    }
    return amount;
}

static uint32_t tracked(const struct site *site)
{
    uint32_t has = 0;

    for (uint32_t z = 0; z < site->nzones; z++)
        has |= site->zone[z].has;
    return has;
}

static int by_zone(const void *pa, const void *pb)
{
    const struct numa_part *a = pa, *b = pb;

    return a->numa_id != b->numa_id ? a->numa_id - b->numa_id : a->resource - b->resource;
}

/* ret may be NULL: it only matters whether it works. */
static bool allocate_parts(const struct stock *s, const struct numa_names *names,
                           const struct numa_request *r, uint64_t mask, struct numa_allocation *ret,
                           struct ks_texts *why)
{
    const int64_t *amount = r->bind ? r->original : r->amount;
    uint32_t asks = r->asks & tracked(s->site);
    struct deal d = { .s = s, .r = r };
    bool enough = true;

    for (uint32_t res = 0; res < NUMA_RESOURCES; res++) {
        int64_t got[ZONES_MAX];
        if (!(asks >> res & 1))
            continue;
        deal_init(&d, res, mask);
        if (deal_out(&d, res, amount[res], got) != 0) {
            enough = false;
            if (why)
                ks_texts_addf(why, "Insufficient NUMA %s", names->name[res]);
        }
        for (uint32_t i = 0; ret && i < d.n; i++)
            if (got[i] != 0)
                ret->part[ret->nparts++] =
                    (struct numa_part){ s->site->zone[d.zone[i]].id, (uint8_t)res, got[i] };
    }
    if (ret && ret->nparts)
        qsort(ret->part, ret->nparts, sizeof *ret->part, by_zone);
    return enough;
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static uint32_t shares_of(const struct numa_allocation *x, struct cpu_share *shares)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->nparts; i++) {
        if (n == 0 || shares[n - 1].numa_id != x->part[i].numa_id)
            shares[n++] = (struct cpu_share){ .numa_id = x->part[i].numa_id };
        if (x->part[i].resource == NUMA_RES_CPU)
            shares[n - 1].ncpus = (unsigned)MIN(x->part[i].amount / 1000, CPUSET_MAX);
    }
    return n;
}

static const char *allocate_cpus(const struct stock *s, const struct numa_request *r,
                                 struct numa_allocation *x)
{
    struct cpuset reserved = cpuset_union(&s->site->reserved, &r->barred);
    struct cpu_share shares[ZONES_MAX];
    struct cpu_want want = {
        .request = r->cpus,
        .required = r->required,
        .preferred = cpuset_intersect(&r->preferred, &s->free),
    };

    if (r->required)
        want.preferred = machine_usable(s->site->machine, &want.preferred, r->cpus.bind);

    want.nnodes = shares_of(x, shares);
    want.by_node = want.nnodes ? shares : NULL;
    return holders_choose(&s->holders, s->site->machine, &reserved, &want, &x->cpus);
}

enum ks_code stock_allocate(const struct stock *s, const struct numa_names *names,
                            const struct numa_request *r, uint64_t mask,
                            struct numa_allocation *ret, struct ks_texts *why)
{
    ret->cpus = (struct cpuset){ 0 };
    ret->nparts = 0;
    const char *lacks = mask && s->site->nzones == 0   ? "insufficient resources on NUMA Node"
                        : r->bind && !s->site->machine ? "node(s) invalid CPU Topology"
                                                       : NULL;
    if (lacks) {
        if (why)
            ks_texts_add(why, lacks);
        return KS_UNRESOLVABLE;
    }
    if (mask && !allocate_parts(s, names, r, mask, ret, why))
        return KS_UNSCHEDULABLE;
    if (!r->bind)
        return KS_SUCCESS;
    const char *text = allocate_cpus(s, r, ret);
    if (text && why)
        ks_texts_add(why, text);
    return text ? KS_UNSCHEDULABLE : KS_SUCCESS;
}

bool stock_can_allocate(const struct stock *s, const struct numa_request *r, uint64_t mask)
{
    struct numa_allocation x;

    if (!r->bind)
        return !mask || allocate_parts(s, NULL, r, mask, NULL, NULL);
    return stock_allocate(s, NULL, r, mask, &x, NULL) == KS_SUCCESS;
}
