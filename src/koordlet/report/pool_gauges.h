/* pool_gauges.h - the shared CPU pools of the local topology as gauges (koordlet-metrics 11). */
#ifndef KOORD_KOORDLET_POOL_GAUGES_H
#define KOORD_KOORDLET_POOL_GAUGES_H
#include "koordlet/report/topology.h"

struct metric;
struct metrics;

struct pool_gauges { /* [0]: LS, [1]: BE */
    struct metric *cores[2];
    struct metric *cpus[2]; /* NULL: gate PerCPUMetric is off */
};
void pool_gauges_init(struct pool_gauges *g, struct metrics *m, bool per_cpu);
void pool_gauges_set(struct pool_gauges *g, const char *node, const struct topology *t);
#endif
