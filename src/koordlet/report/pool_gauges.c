/* pool_gauges.c - how many CPUs, and which, LS and BE pods share. */
#include "koordlet/report/pool_gauges.h"

#include <stdio.h>

#include "api/protocol/cpu.h"
#include "component/metrics.h"

static const struct metric_desc cores_desc[] = {
    { "koordlet_cpuset_share_pool_cpu_cores", "CPUs that LS pods share.", METRIC_GAUGE,
      .labels = { "node" } },
    { "koordlet_cpuset_be_share_pool_cpu_cores", "CPUs that BE pods share.", METRIC_GAUGE,
      .labels = { "node" } },
};
static const struct metric_desc cpus_desc[] = {
    { "koordlet_cpuset_share_pool_info", "1 for each CPU that LS pods share.", METRIC_GAUGE,
      .labels = { "node", "cpu" }, .max_children = CPUSET_MAX },
    { "koordlet_cpuset_be_share_pool_info", "1 for each CPU that BE pods share.", METRIC_GAUGE,
      .labels = { "node", "cpu" }, .max_children = CPUSET_MAX },
};

void pool_gauges_init(struct pool_gauges *g, struct metrics *m, bool per_cpu)
{
    *g = (struct pool_gauges){ 0 };
    for (size_t i = 0; i < ARRAY_LEN(g->cores); i++) {
        g->cores[i] = metrics_add(m, &cores_desc[i]);
        if (per_cpu)
            g->cpus[i] = metrics_add(m, &cpus_desc[i]);
    }
}

static struct cpuset cpus_of(const struct cpu_shared_pools *pools)
{
    struct cpuset all = { 0 }, one;

    for (uint32_t i = 0; i < pools->v.n; i++) {
        const char *text = pools->v.items[i].cpuset;
        if (cpuset_parse(text, strlen(text), &one, NULL) == 0)
            all = cpuset_union(&all, &one);
    }
    return all;
}

static void show(struct metric *cores, struct metric *cpus, const char *node,
                 const struct cpuset *set)
{
    char id[12];

    gauge_set(metric_gauge(cores, METRIC_VALUES(node)), cpuset_count(set));
    if (!cpus)
        return;
    metric_clear(cpus);
    cpuset_foreach(set, cpu) {
        (void)snprintf(id, sizeof id, "%u", (unsigned)cpu);
        gauge_set(metric_gauge(cpus, METRIC_VALUES(node, id)), 1);
    }
}

void pool_gauges_set(struct pool_gauges *g, const char *node, const struct topology *t)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct cpu_shared_pools pools[2] = { 0 };

    (void)cpu_shared_pools_read(&t->annotations, a, &pools[0], NULL);
    (void)be_cpu_shared_pools_read(&t->annotations, a, &pools[1], NULL);
    for (size_t i = 0; i < ARRAY_LEN(pools); i++) {
        struct cpuset set = cpus_of(&pools[i]);
        show(g->cores[i], g->cpus[i], node, &set);
    }
}
