/* cpumap.h - a node's CPUs and who has them, and how many more pods fit, as JSON: what koordctl
 * cpus shows.
 *
 * Asked of a cluster of objects (whatif.h) or of a running scheduler: it only reads, and what it
 * tries out it tries on a copy. Loop thread.
 */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_CPUMAP_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_CPUMAP_H
#include "scheduler/plugins/nodenumaresource/grants.h"

struct strbuf;

/* {"node":..,"sockets":1,"numaNodes":1,"cores":4,"free":"4-7","freeCPUs":4,"freeCores":2,
 *  "holders":[{"kind":"pod","name":"ns/a","cpus":"0-1"}],
 *  "cpus":[{"id":0,"core":0,"numaNode":0,"socket":0,"holder":0}]}
 * kind: pod, reservation, kubelet, system; holder: number in holders, absent: free. A CPU that a
 * pod has of a reservation is the pod's. -ENOENT: no such node, -EINVAL: it has no CPU topology. */
int cpumap_node(struct grants *g, const char *node, struct strbuf *json, struct kerr *err);

struct cpumap_want { /* a bound pod */
    unsigned ncpus;
    enum cpu_bind_policy bind; /* required; CPU_BIND_NONE: whole cores are preferred */
    bool single_numa;
};
/* {"nodes":[{"name":..,"fits":3,"largest":28}],"fits":3,"largest":28}: how many such pods CPUs and
 * NUMA nodes have room for, and how many CPUs the largest pod of this kind may have. A node with
 * none has "why". Nodes by name. */
void cpumap_fits(struct grants *g, const struct cpumap_want *want, struct strbuf *json);
#endif
