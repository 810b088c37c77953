/* topology_zones.c - a zone a NUMA node: CPUs, memory, huge pages. */
#include <stdio.h>

#include "api/protocol/protocol.h"
#include "base/num.h"
#include "koordlet/report/topology_int.h"

enum { MIB = 1 << 20, GIB = 1 << 30 };

struct withheld { /* of each zone, by the node's reservation; milli */
    int64_t cpu, memory;
};

/* What the kubelet does not hand out, spread evenly, rounded up. */
static int64_t share_of(const struct node *n, const char *resource, uint32_t zones)
{
    struct qty kept = qty_sub(reslist_get(&n->status.capacity, resource),
                              reslist_get(&n->status.allocatable, resource));
    int64_t milli = qty_milli(kept);

    if (milli <= 0)
        return 0;
    return milli / zones + (milli % zones != 0);
}

static struct qty less(struct qty q, int64_t milli)
{
    struct qty rest = qty_sub(q, qty_from_milli(milli, (enum qty_format)q.format));
    return qty_sign(rest) < 0 ? qty_from_i64(0, (enum qty_format)q.format) : rest;
}

static struct nrt_resource resource(const char *name, struct qty capacity, int64_t withheld_milli)
{
    struct qty rest = withheld_milli > 0 ? less(capacity, withheld_milli) : capacity;
    return (struct nrt_resource){ name, capacity, rest, rest };
}

static int64_t cpus_on(const struct cpu_info *c, int32_t node)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < c->n; i++)
        n += c->cpus[i].node == node;
    return n;
}

static int64_t bytes_of(uint64_t count, int64_t unit)
{
    return i64_mul_sat(count > INT64_MAX ? INT64_MAX : (int64_t)count, unit);
}

static void fill_zone(const struct topology_in *in, uint32_t i, const struct withheld *w,
                      struct arena *a, struct nrt_zone *z)
{
    const struct numa_info_node *m = &in->numa->nodes[i];
    int64_t huge_2m = bytes_of(m->huge_2m, 2 * MIB), huge_1g = bytes_of(m->huge_1g, GIB);
    int64_t plain = i64_sub_sat(bytes_of(m->mem_total_kb, 1024), i64_add_sat(huge_2m, huge_1g));
    struct nrt_resource *r = arena_newn0(a, 4, struct nrt_resource);

    r[0] = resource(RES_CPU, qty_from_i64(cpus_on(in->cpu, m->id), QTY_DECIMAL_SI), w->cpu);
    r[1] = resource("hugepages-1Gi", qty_from_i64(huge_1g, QTY_BINARY_SI), 0);
    r[2] = resource("hugepages-2Mi", qty_from_i64(huge_2m, QTY_BINARY_SI), 0);
    r[3] = resource(RES_MEMORY, qty_from_i64(MAX(plain, 0), QTY_BINARY_SI), w->memory);
    z->name = arena_printf(a, NRT_ZONE_NAME_PREFIX "%d", m->id);
    z->type = NRT_ZONE_TYPE_NODE;
    z->parent = "";
    z->resources.items = r;
    z->resources.n = 4;
}

static int by_name(const void *a, const void *b)
{
    const struct nrt_zone *x = a, *y = b;
    return strcmp(x->name, y->name);
}

int topology_zones(const struct topology_in *in, struct arena *a, struct topology *t,
                   struct kerr *err)
{
    uint32_t n = in->numa->n;
    struct withheld w = { 0 };

    if (n != in->cpu->nnodes)
        return kerr_set(err, -EINVAL,
                        "failed to calculate topology ZoneList, err: NUMA node number not matched");
    if (n && label_is_true(&in->node->obj.meta.labels, LABEL_ENABLE_NUMA_RESERVATION))
        w = (struct withheld){ share_of(in->node, RES_CPU, n), share_of(in->node, RES_MEMORY, n) };
    t->zones.items = arena_newn0(a, n, struct nrt_zone);
    t->zones.n = n;
    for (uint32_t i = 0; i < n; i++)
        fill_zone(in, i, &w, a, &t->zones.items[i]);
    if (n)
        qsort(t->zones.items, n, sizeof *t->zones.items, by_name);
    return 0;
}
