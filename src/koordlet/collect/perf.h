/* perf.h - counters of the CPU for a cgroup, behind a table so that a test can stand in. */
#ifndef KOORD_KOORDLET_PERF_H
#define KOORD_KOORDLET_PERF_H
#include "base/base.h"

enum perf_event { PERF_CYCLES, PERF_INSTRUCTIONS, PERF_EVENTS };
struct perf_value { /* as the kernel gives it */
    uint64_t count, enabled, running;
};
struct perf_driver {
    /* A descriptor that counts from now on, on one CPU, for the cgroup of the directory. leader -1,
     * or the descriptor of an event that this one shall share its time on the CPU with.
     * -EOPNOTSUPP: the machine has no such counter. */
    int (*open)(int cgroup_fd, int cpu, enum perf_event event, int leader, struct kerr *err);
    int (*read)(int fd, struct perf_value *ret, struct kerr *err);
};
extern const struct perf_driver perf_kernel;

/* What the count would be had the event been on the CPU all the time. */
double perf_scaled(const struct perf_value *v);
#endif
