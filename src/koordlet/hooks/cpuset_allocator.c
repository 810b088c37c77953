/* cpuset_allocator.c - CPUSetAllocator: the CPUs that the scheduler gave, or the shared pools
 * (koordlet-qos 15.2). */
#include "api/qos.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/hooks/rules.h"
#include "koordlet/kernel/naming.h"

static void append(struct strbuf *out, const char *cpus)
{
    if (out->len > 0 && *cpus)
        strbuf_appendc(out, ',');
    strbuf_append(out, cpus);
}

static bool has_cpu(const struct numa_node_resource *n)
{
    return qty_milli(reslist_get(&n->resources, "cpu")) != 0 ||
           qty_value(reslist_get(&n->resources, RES_BATCH_CPU)) > 0;
}

/* node -1: all of them. */
static void append_pools(struct strbuf *out, const struct cpu_shared_pools *pools, int32_t node)
{
    for (uint32_t i = 0; i < pools->v.n; i++)
        if (node < 0 || pools->v.items[i].node == node)
            append(out, str_or(pools->v.items[i].cpuset, ""));
}

static const char *taken(struct strbuf *b, struct arena *a)
{
    return arena_strdup(a, strbuf_str(b));
}

/* The pools of the NUMA nodes that the pod was given; NULL: it was given none. */
static const char *numa_cpus(const struct rule_cpuset *r, const struct resource_status *s,
                             enum qos_class qos, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    bool any = false;

    for (uint32_t i = 0; i < s->numa_node_resources.n; i++)
        any |= has_cpu(&s->numa_node_resources.items[i]);
    if (!any || (qos == QOS_BE && !r->be_cpu_manager))
        return NULL;
    for (uint32_t i = 0; i < s->numa_node_resources.n; i++)
        append_pools(&out, qos == QOS_BE ? &r->best_effort : &r->shared,
                     s->numa_node_resources.items[i].node);
    return taken(&out, a);
}

/* NULL: leave it. */
static const char *choose(const struct hook_rules *rules, const struct resource_status *s,
                          const struct hook_context *c)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct rule_cpuset *r = &rules->cpuset;
    enum qos_class qos = qos_raw(c->labels);

    if (s->cpuset && *s->cpuset)
        return s->cpuset;
    if (!r->known)
        return NULL;
    const char *numa = numa_cpus(r, s, qos, c->arena);
    if (numa)
        return numa;
    if (qos == QOS_SYSTEM && *r->system_cpuset)
        return r->system_cpuset;
    append_pools(&out, &r->shared, -1);
    if (qos == QOS_LS)
        return taken(&out, c->arena);
    if (cgroup_qos_of_path(c->cgroup_parent) == KUBE_QOS_BEST_EFFORT)
        return ""; /* takes out what the kubelet's static policy put in */
    if (streq(r->kubelet_policy, KUBELET_CPU_POLICY_STATIC))
        return NULL;
    return taken(&out, c->arena);
}

static int unset_quota(const struct hook_rules *r, const struct resource_status *s,
                       struct hook_context *c)
{
    if (s->cpuset && *s->cpuset && !r->cpuset.keep_quota)
        c->response.cfs_quota = (struct opt_i64){ true, -1 };
    return 0;
}

static int run_pod(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    struct resource_status s;

    if (resource_status_read(c->annotations, c->arena, &s, err) < 0)
        return err->code;
    return unset_quota(r, &s, c);
}

static int run_container(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    struct resource_status s;

    if (resource_status_read(c->annotations, c->arena, &s, err) < 0)
        return err->code;
    c->response.cpuset = choose(r, &s, c);
    return unset_quota(r, &s, c);
}

const struct hook_plugin hook_cpuset_allocator = {
    .name = "CPUSetAllocator",
    .gate = GATE_CPU_SET_ALLOCATOR,
    .stages = { [HOOK_PRE_RUN_POD_SANDBOX] = run_pod,
                [HOOK_PRE_CREATE_CONTAINER] = run_container,
                [HOOK_PRE_UPDATE_CONTAINER] = run_container },
};
