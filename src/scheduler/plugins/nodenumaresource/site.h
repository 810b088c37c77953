/* site.h - what a node has to hand out: its machine, CPUs set aside, NUMA nodes and their
 * resources, policies (sched-numa 1.3, 1.4).
 *
 * Derived from the Node and its NodeResourceTopology, and immutable: a change makes a new one.
 * Equal machines are kept once, in the table that the plugin's service has. Loop thread.
 */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_SITE_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_SITE_H
#include "scheduler/plugins/nodenumaresource/topology.h"

struct node;
struct noderesourcetopology;

/* Names of resources that NUMA nodes have, as small numbers: the same everywhere. */
enum { NUMA_RESOURCES = 16 };
enum { NUMA_RES_CPU, NUMA_RES_MEMORY }; /* always these two first */
struct numa_names {
    char *name[NUMA_RESOURCES];
    uint32_t n;
};
void numa_names_init(struct numa_names *t);
void numa_names_fini(struct numa_names *t);
/* -1: it is not there, or (add) there is no room. */
int numa_names_find(const struct numa_names *t, const char *name);
int numa_names_add(struct numa_names *t, const char *name);

/* Each kind of machine once; references belong to the sites. Nodes of one kind have the same text,
 * so that it is read once too. */
struct machine_kind {
    struct machine *machine;
    char *text; /* of the annotation that it was made from */
    size_t len;
};
struct machines {
    struct machine_kind *items;
    size_t n, cap;
};
/* Frees what no site uses any more. */
void machines_sweep(struct machines *t);
void machines_fini(struct machines *t);

/* Amounts in a NUMA node, by number of the resource: cpu in milli, the rest in units. */
enum { ZONES_MAX = 16 };
struct zone {
    uint8_t id;
    uint32_t has;                     /* bits: resources that are listed */
    int64_t capacity[NUMA_RESOURCES]; /* amplified, without what is set aside; may be negative */
};
enum site_flags {
    SITE_HAS_TOPOLOGY = 1 << 0, /* there is a NodeResourceTopology */
    SITE_BAD_RATIO = 1 << 1,    /* the Node's amplification ratio does not parse */
    SITE_LEAST = 1 << 2,        /* its label says how NUMA nodes are filled: evenly, */
    SITE_MOST = 1 << 3,         /* or one after the other; neither: as the args say */
};
struct site {
    uint32_t refs;
    uint32_t flags;
    struct machine *machine; /* NULL: none, or not a valid one */
    struct cpuset reserved;
    uint8_t bind;   /* enum node_cpu_bind_policy */
    uint8_t policy; /* enum numa_policy */
    bool kubelet_static;
    double ratio;      /* of the Node's cpu; 1 when there is none */
    double zone_ratio; /* the same for what is in zones: the topology's when it has one */
    uint64_t bad;      /* hash of what does not parse; 0: all does */
    uint32_t nzones;
    struct zone zone[]; /* by id */
};
/* nrt may be NULL. What does not parse is left out, and *bad says what: in the arena; NULL: all was
 * good. */
struct site *site_new(struct machines *machines, struct numa_names *names, const struct node *node,
                      const struct noderesourcetopology *nrt, struct arena *a, const char **bad);
struct site *site_ref(struct site *s);
struct site *site_unref(struct site *s);
static inline enum numa_strategy site_strategy(const struct site *s, enum numa_strategy otherwise)
{
    return s->flags & SITE_MOST    ? NUMA_MOST_ALLOCATED
           : s->flags & SITE_LEAST ? NUMA_LEAST_ALLOCATED
                                   : otherwise;
}
/* The bind policy that the node requires of every pod; CPU_BIND_NONE: none. */
static inline enum cpu_bind_policy site_bind(const struct site *s)
{
    return s->bind == NODE_CPU_BIND_FULL_PCPUS_ONLY ? CPU_BIND_FULL_PCPUS
           : s->bind == NODE_CPU_BIND_SPREAD        ? CPU_BIND_SPREAD_BY_PCPUS
                                                    : CPU_BIND_NONE;
}
uint64_t site_zone_mask(const struct site *s);
#endif
