/* cpuinfo.h - the CPUs of the machine and its NUMA nodes, from sysfs (koordlet-metrics 2.5).
 *
 * The same answers as `lscpu -e` and the node directories give, without a subprocess. Refcounted
 * and immutable: readers keep what they took while a newer one is made.
 */
#ifndef KOORD_KOORDLET_FACTS_CPUINFO_H
#define KOORD_KOORDLET_FACTS_CPUINFO_H
#include "base/base.h"
#include "base/cpuset.h"

struct host;

/* Cores and sockets are counted over the machine in the order of their first CPU, as lscpu does. A
 * cache has the kernel's id, or is counted like a core where the kernel gives none. What is not
 * known is 0. A CPU that is offline has no place. */
struct cpu_place {
    int32_t cpu, core, socket, node, l3;
    int32_t l1l2; /* the first level's */
    bool online;
};
struct cpu_info { /* sorted by node, socket, core, cpu */
    uint32_t refs;
    struct cpu_place *cpus;
    uint32_t n;
    uint32_t ncores, nnodes, nsockets, nl3;
    /* Basic facts; what could not be found is "", false. */
    char *model, *vendor, *l3_mask;
    bool hyper_thread, turbo;
};
/* Opens a dozen files a core. */
int cpu_info_read(const struct host *h, struct cpu_info **ret, struct kerr *err);
/* Whether reading again would find the same: four files, not all of them. */
bool cpu_info_current(const struct cpu_info *c, const struct host *h);
struct cpu_info *cpu_info_ref(struct cpu_info *c);
struct cpu_info *cpu_info_unref(struct cpu_info *c);
DEFINE_CLEANUP(cpu_info_unref, struct cpu_info *)
/* The place of a CPU, NULL when there is none of that number. */
const struct cpu_place *cpu_info_find(const struct cpu_info *c, int32_t cpu);
struct cpuset cpu_info_set(const struct cpu_info *c); /* all of them */
/* Whose CPUs the text of /proc/cpuinfo says these are; "unknown". The caller's. */
char *cpu_vendor(struct str cpuinfo);

/* Nodes with nothing but a generic initiator (a device) do not count. */
struct numa_info_node {
    int32_t id;
    uint64_t mem_total_kb;
    uint64_t huge_2m, huge_1g; /* pages; 0 unless asked for */
};
struct numa_info {
    uint32_t refs;
    struct numa_info_node *nodes; /* by id, 0 .. n-1 */
    uint32_t n;
};
int numa_info_read(const struct host *h, bool huge_pages, struct numa_info **ret, struct kerr *err);
struct numa_info *numa_info_ref(struct numa_info *i);
struct numa_info *numa_info_unref(struct numa_info *i);
DEFINE_CLEANUP(numa_info_unref, struct numa_info *)
#endif
