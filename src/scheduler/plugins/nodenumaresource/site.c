/* site.c - what a node has to hand out (sched-numa 1.3, 1.4). */
#include "scheduler/plugins/nodenumaresource/site.h"

#include "api/koord/noderesourcetopology.h"
#include "api/node.h"
#include "api/protocol/keys.h"
#include "api/protocol/node.h"
#include "base/map.h"
#include "base/num.h"
#include "scheduler/model/rows.h"

/* ---- names ----------------------------------------------------------------------------------- */

void numa_names_init(struct numa_names *t)
{
    *t = (struct numa_names){ 0 };
    numa_names_add(t, RES_CPU);
    numa_names_add(t, RES_MEMORY);
}

void numa_names_fini(struct numa_names *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        free(t->name[i]);
    t->n = 0;
}

int numa_names_find(const struct numa_names *t, const char *name)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (streq(t->name[i], name))
            return (int)i;
    return -1;
}

int numa_names_add(struct numa_names *t, const char *name)
{
    int i = numa_names_find(t, name);

    if (i >= 0 || t->n == NUMA_RESOURCES)
        return i;
    t->name[t->n] = xstrdup(name);
    return (int)t->n++;
}

/* ---- machines -------------------------------------------------------------------------------- */

/* One that was made from this text, with a reference for the caller; NULL: none was. */
static struct machine *machines_find(const struct machines *t, const char *text, size_t len)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i].len == len && memcmp(t->items[i].text, text, len) == 0)
            return machine_ref(t->items[i].machine);
    return NULL;
}

/* Takes the reference; the one that is returned belongs to the caller. */
static struct machine *machines_add(struct machines *t, struct machine *m, const char *text,
                                    size_t len)
{
    struct machine *same = NULL;

    for (size_t i = 0; i < t->n && !same; i++)
        if (machine_equal(t->items[i].machine, m))
            same = t->items[i].machine;
    if (same) { /* in other words */
        machine_unref(m);
        return machine_ref(same);
    }
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 8;
        t->items = xreallocarray(t->items, t->cap, sizeof *t->items);
    }
    t->items[t->n++] = (struct machine_kind){ machine_ref(m), xmemdup(text, len), len };
    return m;
}

static void machine_kind_fini(struct machine_kind *k)
{
    machine_unref(k->machine);
    free(k->text);
}

void machines_sweep(struct machines *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        if (t->items[i].machine->refs == 1)
            machine_kind_fini(&t->items[i]);
        else
            t->items[n++] = t->items[i];
    t->n = n;
}

void machines_fini(struct machines *t)
{
    for (size_t i = 0; i < t->n; i++)
        machine_kind_fini(&t->items[i]);
    free(t->items);
    *t = (struct machines){ 0 };
}

/* ---- one site -------------------------------------------------------------------------------- */

struct making {
    struct site *s;
    struct arena *arena;
    const kstrmap *annotations; /* of the topology */
    const char *bad;            /* the first that is */
};

static void note_bad(struct making *m, const char *what, const struct kerr *err)
{
    if (!m->bad)
        m->bad = arena_printf(m->arena, "%s: %s", what, err->text);
}

static void reserve_list(struct making *m, const char *what, const char *list)
{
    struct kerr err = { 0 };
    struct cpuset cpus;

    if (str_empty(list))
        return;
    if (cpuset_parse(list, strlen(list), &cpus, &err) < 0)
        note_bad(m, what, &err);
    else
        m->s->reserved = cpuset_union(&m->s->reserved, &cpus);
}

static void read_machine(struct making *m, struct machines *machines)
{
    const char *text = str_or(kstrmap_get(m->annotations, ANNO_CPU_TOPOLOGY), "");
    size_t len = strlen(text);
    struct kerr err = { 0 };
    struct cpu_topology t;
    struct machine *machine;

    if ((m->s->machine = machines_find(machines, text, len)))
        return;
    int r = cpu_topology_read(m->annotations, m->arena, &t, &err);
    if (r > 0)
        r = machine_new(t.detail.items, t.detail.n, &machine, &err) < 0 ? -1 : 1;
    if (r < 0)
        note_bad(m, ANNO_CPU_TOPOLOGY, &err);
    if (r > 0)
        m->s->machine = machines_add(machines, machine, text, len);
}

/* Returns the kubelet's policy, all zero when it does not parse. */
static struct kubelet_cpu_manager read_kubelet(struct making *m)
{
    struct kubelet_cpu_manager k = { 0 };
    struct kerr err = { 0 };

    if (kubelet_cpu_manager_read(m->annotations, m->arena, &k, &err) < 0) {
        note_bad(m, kubelet_cpu_manager_codec.key, &err);
        return (struct kubelet_cpu_manager){ 0 };
    }
    reserve_list(m, kubelet_cpu_manager_codec.key, k.reserved_cpus);
    m->s->kubelet_static = k.policy && streq(k.policy, KUBELET_CPU_POLICY_STATIC);
    return k;
}

/* CPUs that the kubelet has given to pods by itself. */
static void read_pod_allocs(struct making *m)
{
    struct pod_cpu_allocs allocs;
    struct kerr err = { 0 };

    int r = pod_cpu_allocs_read(m->annotations, m->arena, &allocs, &err);
    if (r < 0)
        note_bad(m, pod_cpu_allocs_codec.key, &err);
    for (uint32_t i = 0; r > 0 && i < allocs.v.n; i++)
        if (allocs.v.items[i].managed_by_kubelet && !str_empty(allocs.v.items[i].uid))
            reserve_list(m, pod_cpu_allocs_codec.key, allocs.v.items[i].cpuset);
}

static void read_reserved(struct making *m)
{
    struct system_qos_resource sys;
    struct node_reservation res;
    struct kerr err = { 0 };

    int r = node_reservation_read(m->annotations, m->arena, &res, &err);
    if (r < 0)
        note_bad(m, node_reservation_codec.key, &err);
    if (r > 0)
        reserve_list(m, node_reservation_codec.key, res.reserved_cpus);
    r = system_qos_resource_read(m->annotations, m->arena, &sys, &err);
    if (r < 0)
        note_bad(m, system_qos_resource_codec.key, &err);
    if (r > 0 && system_qos_is_exclusive(&sys))
        reserve_list(m, system_qos_resource_codec.key, sys.cpuset);
}

/* So that amounts stay numbers; nobody promises a thousand CPUs for each that there is. */
enum { RATIO_MAX = 1000 };

/* 1, 0: there are none, negative: they cannot be used. */
static int read_ratios(const kstrmap *annotations, struct arena *a,
                       struct amplification_ratios *ret, struct kerr *err)
{
    int r = amplification_ratios_read(annotations, a, ret, err);

    for (uint32_t i = 0; r > 0 && i < ret->v.n; i++)
        if (ret->v.items[i].ratio > RATIO_MAX)
            r = kerr_set(err, -ERANGE, "%.64s: ratios end at %d", ret->v.items[i].resource,
                         RATIO_MAX);
    return r;
}

/* Ratios of the topology: what stands in its zones is amplified already. */
static bool read_zone_ratio(struct making *m)
{
    struct amplification_ratios ratios;
    struct kerr err = { 0 };

    int r = read_ratios(m->annotations, m->arena, &ratios, &err);
    if (r < 0)
        note_bad(m, amplification_ratios_codec.key, &err);
    if (r > 0)
        m->s->zone_ratio = MAX(amplification_of(&ratios, RES_CPU), 1.0);
    return r > 0;
}

/* ---- zones ----------------------------------------------------------------------------------- */

static bool has_zone(const struct site *s, int numa_id)
{
    for (uint32_t i = 0; i < s->nzones; i++)
        if (s->zone[i].id == numa_id)
            return true;
    return false;
}

static struct zone *zone_add(struct site *s, uint8_t id)
{
    uint32_t at = s->nzones++;

    while (at > 0 && s->zone[at - 1].id > id) {
        s->zone[at] = s->zone[at - 1];
        at--;
    }
    s->zone[at] = (struct zone){ .id = id };
    return &s->zone[at];
}

static void read_zone(struct making *m, struct numa_names *names, const struct nrt_zone *from,
                      const struct amplification_ratios *node_ratios)
{
    struct site *s = m->s;
    int id = nrt_zone_numa(from);

    if (id < 0 || id >= NUMA_MAX || has_zone(s, id) || s->nzones == ZONES_MAX)
        return;
    struct zone *z = zone_add(s, (uint8_t)id);
    for (uint32_t i = 0; i < from->resources.n; i++) {
        const struct nrt_resource *r = &from->resources.items[i];
        int at = numa_names_add(names, r->name);
        if (at < 0)
            continue;
        z->has |= 1u << at;
        z->capacity[at] = resource_count(r->name, r->allocatable);
        const struct cpuset *of_node = s->machine ? machine_node_cpus(s->machine, id) : NULL;
        if (at == NUMA_RES_CPU && z->capacity[at] && of_node) {
            struct cpuset aside = cpuset_intersect(&s->reserved, of_node);
            z->capacity[at] = i64_sub_sat(z->capacity[at], 1000 * (int64_t)cpuset_count(&aside));
        }
        if (node_ratios && z->capacity[at])
            z->capacity[at] = amplify(z->capacity[at], amplification_of(node_ratios, r->name));
        z->capacity[at] = MIN(MAX(z->capacity[at], -KS_ALLOC_MAX), KS_ALLOC_MAX);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void read_labels(struct site *s, const struct node *node)
{
    const kstrmap *labels = &node->obj.meta.labels;
    const char *strategy = kstrmap_get(labels, LABEL_NODE_NUMA_STRATEGY);

    if (!str_empty(strategy))
        s->flags |= node_numa_strategy(labels, NUMA_LEAST_ALLOCATED) == NUMA_MOST_ALLOCATED
                        ? SITE_MOST
                        : SITE_LEAST;
}

struct site *site_new(struct machines *machines, struct numa_names *names, const struct node *node,
                      const struct noderesourcetopology *nrt, struct arena *a, const char **bad)
{
    uint32_t nzones = nrt ? MIN(nrt->zones.n, (uint32_t)ZONES_MAX) : 0;
    struct site *s = xcalloc(1, sizeof *s + nzones * sizeof *s->zone);
    struct making m = { .s = s, .arena = a };
    struct amplification_ratios ratios;
    struct kubelet_cpu_manager kubelet = { 0 };
    struct kerr err = { 0 };

    s->refs = 1;
    int r = read_ratios(&node->obj.meta.annotations, a, &ratios, &err);
    if (r < 0) {
        s->flags |= SITE_BAD_RATIO;
        note_bad(&m, amplification_ratios_codec.key, &err);
    }
    s->ratio = s->zone_ratio = r > 0 ? MAX(amplification_of(&ratios, RES_CPU), 1.0) : 1.0;
    if (nrt) {
        m.annotations = &nrt->obj.meta.annotations;
        s->flags |= SITE_HAS_TOPOLOGY;
        read_machine(&m, machines);
        kubelet = read_kubelet(&m);
        read_pod_allocs(&m);
        read_reserved(&m);
        bool amplified = read_zone_ratio(&m);
        for (uint32_t i = 0; i < nrt->zones.n; i++)
            read_zone(&m, names, &nrt->zones.items[i], r > 0 && !amplified ? &ratios : NULL);
    }
    s->bind =
        (uint8_t)node_cpu_bind_policy(&node->obj.meta.labels, kubelet.policy ? &kubelet : NULL);
    s->policy = (uint8_t)node_numa_policy(&node->obj.meta.labels,
                                          nrt ? numa_policy_of_topology(&nrt->topology_policies)
                                              : NUMA_POLICY_NONE);
    read_labels(s, node);
    s->bad = m.bad ? hash_bytes(m.bad, strlen(m.bad)) | 1 : 0;
    *bad = m.bad;
    return s;
}

struct site *site_ref(struct site *s)
{
    s->refs++;
    return s;
}

struct site *site_unref(struct site *s)
{
    if (!s || --s->refs > 0)
        return NULL;
    machine_unref(s->machine);
    free(s);
    return NULL;
}

uint64_t site_zone_mask(const struct site *s)
{
    uint64_t mask = 0;

    for (uint32_t i = 0; i < s->nzones; i++)
        mask |= UINT64_C(1) << s->zone[i].id;
    return mask;
}
