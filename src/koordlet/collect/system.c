/* system.c - SystemResourceCollector: what neither pods nor host applications use (4.5). */
#include "koordlet/collect/collect_int.h"

#include <stdio.h>

struct system_self {
    struct series *cpu, *memory;
    struct series *numa_cpu[NUMA_NODES_TRACKED], *numa_memory[NUMA_NODES_TRACKED];
};

static nsec_t system_interval(const struct collect_env *e)
{
    return e->o->collect.interval;
}

static int system_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    (void)e, (void)err;
    *ret = xnew0(struct system_self);
    return 0;
}

static void system_destroy(void *self)
{
    struct system_self *s = self;

    series_close(s->cpu);
    series_close(s->memory);
    for (int i = 0; i < NUMA_NODES_TRACKED; i++) {
        series_close(s->numa_cpu[i]);
        series_close(s->numa_memory[i]);
    }
    free(s);
}

static bool is_fresh(const struct collect_env *e, int64_t ms)
{
    return ms != 0 && ms >= e->now_ms - e->o->collect.sys_outdated / NSEC_PER_MSEC;
}

static int check(const struct collect_env *e, const struct latest *l, const char *what,
                 struct kerr *err)
{
    return is_fresh(e, l->ms) ? 0 : kerr_set(err, -EAGAIN, "no fresh usage of %s", what);
}

static void put_numa(struct collect_env *e, struct series **s, enum metric_kind k, uint32_t node,
                     double value)
{
    char id[16];
    const char *label = id;

    snprintf(id, sizeof id, "%u", node);
    collect_put(e, &s[node], k, &label, value);
}

/* Memory of a node less that of its pods; host applications are not known by node. */
static void numa_memory(struct system_self *s, struct collect_env *e)
{
    const struct numa_latest *node = &e->node_numa, *pods = &e->pods_numa;

    if (!is_fresh(e, node->ms) || !is_fresh(e, pods->ms))
        return;
    for (uint32_t i = 0; i < node->n; i++) {
        double used = i < pods->n ? pods->memory[i] : 0;
        put_numa(e, s->numa_memory, M_SYS_NUMA_MEMORY, i, MAX(node->memory[i] - used, 0.0));
    }
}

/* CPU of the system, shared out as the whole CPU usage is over the nodes. */
static void numa_cpu(struct system_self *s, struct collect_env *e, double cpu)
{
    const struct numa_latest *node = &e->node_numa;
    double sum = 0;

    if (!is_fresh(e, node->cpu_ms))
        return;
    for (uint32_t i = 0; i < node->n; i++)
        sum += node->cpu[i];
    for (uint32_t i = 0; i < node->n; i++)
        put_numa(e, s->numa_cpu, M_SYS_NUMA_CPU, i, sum > 0 ? cpu * node->cpu[i] / sum : 0);
}

static int system_tick(void *self, struct collect_env *e, struct kerr *err)
{
    struct system_self *s = self;

    int r = check(e, &e->node, "the node", err);
    if (r == 0)
        r = check(e, &e->pods_sum, "pods", err);
    if (r == 0)
        r = check(e, &e->host_apps, "host applications (is there a NodeSLO?)", err);
    if (r < 0)
        return r;
    double cpu = MAX(e->node.cpu - e->pods_sum.cpu - e->host_apps.cpu, 0.0);
    double memory = MAX(e->node.memory - e->pods_sum.memory - e->host_apps.memory, 0.0);
    collect_put(e, &s->cpu, M_SYS_CPU, NULL, cpu);
    collect_put(e, &s->memory, M_SYS_MEMORY, NULL, memory);
    numa_memory(s, e);
    numa_cpu(s, e, cpu);
    return 0;
}

const struct collector collector_system = {
    .name = "SystemResourceCollector",
    .interval = system_interval,
    .setup = system_setup,
    .destroy = system_destroy,
    .tick = system_tick,
};
