/* accumulator.h - which CPUs a pod gets: close together, by its bind and exclusive policies
 * (sched-numa 5).
 *
 * Pure: the result is a function of the machine, of what others hold and of the request.
 */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_ACCUMULATOR_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_ACCUMULATOR_H
#include "scheduler/plugins/nodenumaresource/topology.h"

struct cpu_holders {      /* what pods hold of a machine; [machine->limit] each */
    const uint16_t *refs; /* how many pods a CPU has */
    const uint8_t
        *exclusive;    /* enum cpu_exclusive_policy of the last of them; where refs is 0: none */
    unsigned max_refs; /* so many may share one CPU */
};
struct cpu_request {
    unsigned need;
    enum cpu_bind_policy bind;
    enum cpu_exclusive_policy exclusive;
    enum numa_strategy strategy;
};

#define CPUS_NOT_ENOUGH "not enough cpus available to satisfy request"
#define CPUS_FAILED     "failed to allocate cpus"

/* The CPUs, all of them in `available`, exactly as many as needed, preferred ones first. NULL, or
 * why there are none. */
const char *accumulator_take_preferred(const struct machine *m, const struct cpu_holders *h,
                                       const struct cpuset *available,
                                       const struct cpuset *preferred,
                                       const struct cpu_request *want, struct cpuset *ret);
#endif
