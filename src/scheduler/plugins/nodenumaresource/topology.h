/* topology.h - the CPUs of a machine: which core, NUMA node and socket each belongs to.
 *
 * Made from the annotation of a NodeResourceTopology and immutable. Cores, NUMA nodes and sockets
 * are numbered densely in the order of their ids, so that sets of them are bits and tables are
 * arrays. Loop thread; reference-counted, since equal machines share one (site.h).
 */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_TOPOLOGY_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_TOPOLOGY_H
#include "api/protocol/cpu.h"
#include "base/base.h"
#include "base/cpuset.h"

enum { NUMA_MAX = 64 };         /* NUMA ids end here: a mask is 64 bits */
enum { NO_PLACE = UINT16_MAX }; /* a number below which no CPU stands */

struct cpu_place { /* of one logical CPU: dense numbers */
    uint16_t core, node, socket;
};
struct cpu_core {
    uint16_t node, socket;
    uint16_t ncpus;
    uint16_t cpus; /* where they begin in core_cpus, ascending */
};
struct machine {
    uint32_t refs;
    uint64_t hash;
    uint16_t limit; /* CPU numbers end here */
    uint16_t ncpus, ncores, nnodes, nsockets;
    uint16_t per_core, per_node, per_socket; /* as upstream divides: rounded down */
    struct cpuset all;
    struct cpu_place *place;      /* [limit]; core is NO_PLACE where there is no such CPU */
    struct cpu_core *core;        /* [ncores], by (socket id, core id, NUMA id) */
    uint16_t *core_cpus;          /* [ncpus] */
    uint8_t *node_id;             /* [nnodes], ascending: NUMA ids */
    uint16_t *node_socket;        /* [nnodes]: the socket of its first CPU */
    struct cpuset *node_cpus;     /* [nnodes] */
    uint8_t node_of_id[NUMA_MAX]; /* NUMA id -> dense number; NUMA_MAX: there is none */
};

/* A CPU that is there twice, a negative id, a CPU >= CPUSET_MAX or a NUMA id >= NUMA_MAX is
 * refused: -EINVAL. So is a machine without a CPU. With one reference for the caller. */
int machine_new(const struct cpu_topology_entry *cpus, size_t n, struct machine **ret,
                struct kerr *err);
struct machine *machine_ref(struct machine *m);
struct machine *machine_unref(struct machine *m);
DEFINE_CLEANUP(machine_unref, struct machine *)
bool machine_equal(const struct machine *a, const struct machine *b);

/* The CPUs of a NUMA node, by its id; NULL: there is no such node. */
const struct cpuset *machine_node_cpus(const struct machine *m, int numa_id);
/* How many cores have at least one CPU in the set. */
unsigned machine_count_cores(const struct machine *m, const struct cpuset *cpus);
/* What a required policy can use of a set: FullPCPUs: CPUs of cores that are in it as a whole,
 * SpreadByPCPUs: the lowest CPU of each core; other policies: all of it. */
struct cpuset machine_usable(const struct machine *m, const struct cpuset *cpus,
                             enum cpu_bind_policy required);
#endif
