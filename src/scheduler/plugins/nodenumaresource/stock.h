/* stock.h - what a row has left: CPUs and parts of NUMA nodes, by what its pods hold
 * (sched-numa 2), and what a pod would get of it (6).
 *
 * Row data of the plugin: filled from the site of the node and the grants of its pods, so overlays
 * (victims that go, reserved room that is given back) are seen like everything else. Loop thread.
 */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_STOCK_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_STOCK_H
#include "scheduler/framework/numa.h"
#include "scheduler/plugins/nodenumaresource/grants.h"
#include "scheduler/plugins/nodenumaresource/holders.h"

struct zone_stock {
    int64_t held[NUMA_RESOURCES]; /* as it counts: bound CPUs are amplified */
    int64_t left[NUMA_RESOURCES]; /* capacity less that, at least 0 */
    uint16_t single, multi;       /* pods with CPUs here alone, and with CPUs elsewhere too */
    bool counted;                 /* some pod has parts of it recorded */
};
struct stock {
    struct site *site;
    struct holders holders;  /* only with a machine */
    struct cpuset free;      /* CPUs that another pod may have */
    uint32_t ntaken;         /* CPUs that somebody has */
    struct zone_stock *zone; /* [site->nzones] */
};

/* Columns of the row data. What NUMA nodes have left: INT64_MAX where none of them lists the
 * resource, so that nobody lacks it. */
enum {
    STOCK_FREE,       /* CPUs */
    STOCK_FULL,       /* of these, in cores that are free as a whole */
    STOCK_CORES,      /* cores with a free CPU */
    STOCK_PER_CORE,   /* CPUs per core; 0: no machine is known */
    STOCK_CPU,        /* the most free milli-CPUs of one NUMA node */
    STOCK_MEMORY,     /* the most free memory of one NUMA node */
    STOCK_ALL_CPU,    /* the same of all NUMA nodes together */
    STOCK_ALL_MEMORY, /* */
    STOCK_ZONES,      /* NUMA nodes */
    STOCK_POLICY,     /* enum numa_policy of the node */
    STOCK_BINDS,      /* not 0: it binds every pod */
    STOCK_SPECIAL,    /* not 0: columns alone say nothing about the row */
    STOCK_COLUMNS
};
extern const struct ks_row_data stock_rows;
/* The same for one row, for people who ask. */
void stock_init(struct stock *s, struct grants *g, const struct ks_nodes *nodes, uint32_t row);
/* As if these were the pods of a row whose site is known. */
void stock_init_pods(struct stock *s, struct grants *g, struct site *site,
                     const struct ks_podlist *pods);
void stock_fini(struct stock *s);

/* ---- what a pod would get -------------------------------------------------------------------- */

/* mask 0: no hint, nothing of NUMA nodes is recorded. KS_SUCCESS, or why not; texts may be NULL. */
enum ks_code stock_allocate(const struct stock *s, const struct numa_names *names,
                            const struct numa_request *r, uint64_t mask,
                            struct numa_allocation *ret, struct ks_texts *why);
/* Can it be allocated? The same answer, cheaper. */
bool stock_can_allocate(const struct stock *s, const struct numa_request *r, uint64_t mask);
/* What is left in a zone for this pod: CPUs that its required policy cannot use do not count. */
int64_t stock_left(const struct stock *s, const struct numa_request *r, uint32_t zone,
                   uint32_t resource);
/* Of all NUMA ids: enum numa_status. */
void stock_status(const struct stock *s, uint8_t status[NUMA_MAX]);
#endif
