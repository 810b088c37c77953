/* holders.h - who holds which CPUs of a machine, and which CPUs the next pod gets (sched-numa
 * 2, 6.2).
 *
 * Counts per CPU, so that a CPU may be shared, and so that what leaves exactly undoes what came.
 * The owner embeds the struct; Loop thread.
 */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_HOLDERS_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_HOLDERS_H
#include "scheduler/plugins/nodenumaresource/accumulator.h"

struct holders {
    uint16_t *refs;     /* [machine->limit] */
    uint8_t *exclusive; /* [machine->limit]: enum cpu_exclusive_policy of who came last */
    unsigned max_refs;
};
void holders_init(struct holders *h, const struct machine *m, unsigned max_refs);
void holders_fini(struct holders *h);
void holders_clear(struct holders *h, const struct machine *m); /* nobody has any */
void holders_copy(struct holders *to, const struct holders *from, const struct machine *m);
/* CPUs that the machine lacks are passed over: the pod keeps them in its annotation. */
void holders_add(struct holders *h, const struct machine *m, const struct cpuset *cpus,
                 enum cpu_exclusive_policy exclusive);
/* One reference of each CPU less. */
void holders_remove(struct holders *h, const struct machine *m, const struct cpuset *cpus);
/* Those that somebody has. */
struct cpuset holders_taken(const struct holders *h, const struct machine *m);
/* Those that another pod may have: not taken as often as allowed, and not reserved. */
struct cpuset holders_available(const struct holders *h, const struct machine *m,
                                const struct cpuset *reserved);

struct cpu_share { /* of a NUMA node, by NUMA ids ascending */
    uint8_t numa_id;
    unsigned ncpus;
};
struct cpu_want {
    struct cpu_request request;
    bool required;                   /* the bind policy must hold, it is not only preferred */
    struct cpuset preferred;         /* these first */
    const struct cpu_share *by_node; /* how many from each NUMA node; NULL: it does not matter */
    uint32_t nnodes;
};
/* The CPUs for a pod. NULL, or why there are none. */
const char *holders_choose(const struct holders *h, const struct machine *m,
                           const struct cpuset *reserved, const struct cpu_want *want,
                           struct cpuset *ret);
#endif
