/* batch_zone.c - batch resources of each NUMA zone (manager 5.2).
 *
 * What belongs to no zone (the system, reservations, metrics without a pod) is divided evenly; a
 * pod counts in the zones that the scheduler bound it to, or evenly in all of them.
 */
#include "manager/noderesource/plugin.h"

/* What the zone says of cpu and memory; false: neither is there. */
static bool zone_capacity(const struct nrt_zone *z, struct nr_amount *ret)
{
    bool found = false;

    *ret = (struct nr_amount){ 0 };
    for (uint32_t i = 0; i < z->resources.n; i++) {
        const struct nrt_resource *r = &z->resources.items[i];
        bool cpu = streq(r->name, RES_CPU), memory = streq(r->name, RES_MEMORY);
        if (cpu)
            ret->cpu = r->allocatable;
        if (memory)
            ret->memory = r->allocatable;
        found |= cpu || memory;
    }
    return found;
}

/* Does any zone list cpu or memory? */
static bool nr_topology_has_zones(const struct noderesourcetopology *t)
{
    struct nr_amount unused;

    for (uint32_t i = 0; i < t->zones.n; i++)
        if (zone_capacity(&t->zones.items[i], &unused))
            return true;
    return false;
}

/* The zones that a pod is spread over, as bits; and how many they are. */
static uint64_t zones_of(uint64_t numa_nodes, uint32_t nzones, unsigned *ret_count)
{
    uint64_t all = nzones >= 64 ? UINT64_MAX : (UINT64_C(1) << nzones) - 1;
    uint64_t bound = numa_nodes & all;

    *ret_count = bound ? (unsigned)__builtin_popcountll(bound) : nzones;
    return bound ? bound : UINT64_MAX;
}

/* Unlike on the whole node, a pod without a metric counts with its request everywhere. */
static void add_pod(const struct nr_hp_pod *p, unsigned parts, struct nr_hp *hp)
{
    struct nr_amount request = nr_divide(p->request, parts);
    struct nr_amount used = p->measured ? nr_divide(p->used, parts) : request;

    hp->pods++;
    hp->request = nr_add(hp->request, request);
    hp->max = nr_add(hp->max, nr_max(request, used));
    if (!p->measured) {
        hp->unmeasured_pods++;
        hp->unmeasured = nr_add(hp->unmeasured, request);
    }
    if (p->lse)
        used.cpu = request.cpu;
    hp->used = nr_add(hp->used, used);
}

static void sum_zone(const struct nr_hp_set *set, uint32_t zone, uint32_t nzones, struct nr_hp *hp)
{
    for (size_t i = 0; i < set->npods; i++) {
        unsigned parts;
        uint64_t zones = zones_of(set->pods[i].numa_nodes, nzones, &parts);
        if (zone >= 64 || zones >> zone & 1)
            add_pod(&set->pods[i], parts, hp);
    }
    hp->dangling_metrics = (uint32_t)set->ndangling;
    for (size_t i = 0; i < set->ndangling; i++)
        hp->dangling = nr_add(hp->dangling, nr_divide(set->dangling[i], nzones));
    hp->used = nr_add(hp->used, hp->dangling);
    hp->max = nr_add(hp->max, hp->dangling);
}

void nr_batch_zones(const struct nr_input *in, const struct colocation_strategy *s,
                    const struct nr_hp_set *hp, const struct nr_batch_terms *node, struct arena *a,
                    struct nr_result *r)
{
    uint32_t n = in->topology->zones.n;

    if (!nr_topology_has_zones(in->topology))
        return;
    r->zones.items = arena_newn0(a, n, struct nr_zone);
    for (; r->zones.n < n; r->zones.n++) {
        struct nr_zone *z = &r->zones.items[r->zones.n];
        z->name = in->topology->zones.items[r->zones.n].name;
        zone_capacity(&in->topology->zones.items[r->zones.n], &z->terms.capacity);
        z->terms.system = nr_divide(node->system, n);
        z->terms.host_apps = nr_divide(node->host_apps, n);
        z->terms.kubelet_reserved = nr_divide(node->kubelet_reserved, n);
        z->terms.annotation_reserved = nr_divide(node->annotation_reserved, n);
        z->terms.reserved = nr_divide(node->reserved, n);
        sum_zone(hp, r->zones.n, n, &z->terms.hp);
        nr_batch_formula(s, &z->terms);
        z->batch_cpu = qty_from_i64(qty_milli(z->terms.result.cpu), QTY_DECIMAL_SI);
        z->batch_memory = nr_whole(z->terms.result.memory);
    }
}
