/* takecpus.h - which CPUs to set aside when only their number is given: the choice of the kubelet's
 * static policy, so that both mean the same CPUs. */
#ifndef KOORD_KOORDLET_TAKECPUS_H
#define KOORD_KOORDLET_TAKECPUS_H
#include "koordlet/facts/cpuinfo.h"

/* Whole sockets, then whole NUMA nodes, then whole cores, then single CPUs; at each step what has
 * the fewest free CPUs first, then by number. -ENOSPC: fewer than n are free. n >= 0. */
int cpus_take(const struct cpu_info *c, const struct cpuset *available, int64_t n,
              struct cpuset *ret, struct kerr *err);
#endif
