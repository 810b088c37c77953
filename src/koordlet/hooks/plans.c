/* plans.c - what the hooks want of kernel files, for all pods of the node. */
#include "api/podresources.h"
#include "koordlet/hooks/reconcile.h"
#include "koordlet/kernel/convert.h"

#define KATA "kata"

/* ---- over pods ------------------------------------------------------------------------------- */

/* Pending and running pods count. */
static bool is_active(const struct npod *p)
{
    enum pod_phase phase = (enum pod_phase)npod_pod(p)->status.phase;

    return phase == POD_PENDING || phase == POD_RUNNING;
}

static bool is_kata(const struct npod *p)
{
    const char *class = npod_pod(p)->spec->runtime_class_name;

    return class && streq(class, KATA);
}

static const struct container *spec_of(const containerlist *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].name, name))
            return &l->items[i];
    return NULL;
}

typedef void (*pod_fn)(const struct hook_view *v, const struct npod *p, struct plan *plan);

static void each_pod(const struct hook_view *v, struct plan *plan, pod_fn fn)
{
    const struct podset *pods = v->snapshot->pods;

    for (uint32_t i = 0; pods && i < pods->n; i++)
        if (is_active(pods->pods[i]))
            fn(v, pods->pods[i], plan);
}

typedef void (*container_fn)(const struct hook_view *v, const struct npod *p,
                             const struct container *of, const struct npod_container *status,
                             struct plan *plan);

/* Regular and init containers that have a cgroup. */
static void each_container(const struct hook_view *v, const struct npod *p, struct plan *plan,
                           container_fn fn)
{
    const struct pod_spec *spec = npod_pod(p)->spec;

    if (is_kata(p))
        return;
    for (uint32_t i = 0; i < p->ncontainers; i++) {
        const struct container *of = spec_of(&spec->containers, p->containers[i].name);
        if (of && p->containers[i].cgroup_dir)
            fn(v, p, of, &p->containers[i], plan);
    }
    for (uint32_t i = 0; i < p->ninit_containers; i++) {
        const struct container *of = spec_of(&spec->init_containers, p->init_containers[i].name);
        if (of && p->init_containers[i].cgroup_dir)
            fn(v, p, of, &p->init_containers[i], plan);
    }
}

/* ---- responses ------------------------------------------------------------------------------- */

static void propose(struct plan *plan, struct plan_at at, enum plan_file f, struct opt_i64 value)
{
    if (value.set)
        plan_number(plan, at, f, value.v);
}

/* In the order in which upstream writes; the executor has its own. */
static void propose_response(struct plan *plan, struct plan_at at, const struct hook_resources *r)
{
    propose(plan, at, PLAN_CPU_BVT, r->bvt);
    propose(plan, at, PLAN_CPU_IDLE_CLASS, r->cpu_idle);
    propose(plan, at, PLAN_CPU_SHARES, r->cpu_shares);
    if (r->cpuset && *r->cpuset)
        plan_text(plan, at, PLAN_CPUSET_CPUS, r->cpuset);
    propose(plan, at, PLAN_CPU_QUOTA, r->cfs_quota);
    propose(plan, at, PLAN_MEMORY_LIMIT, r->memory_limit);
    propose(plan, at, PLAN_NET_CLS_CLASSID, r->net_cls_classid);
}

/* A plugin's answer to a pod or container; false: it refused. */
static bool ask(const struct hook_view *v, const struct hook_plugin *plugin, enum hook_stage s,
                const struct npod *p, struct hook_context *c)
{
    struct kerr err = { 0 };
    nsec_t began = v->stopwatch ? v->stopwatch(v->arg) : 0;
    bool failed = plugin->stages[s](v->rules, c, &err) < 0;

    if (v->asked)
        v->asked(v->arg, plugin,
                 c->is_sandbox  ? HOOK_LEVEL_SANDBOX
                 : c->container ? HOOK_LEVEL_CONTAINER
                                : HOOK_LEVEL_POD,
                 &c->response, began, failed);
    if (!failed)
        return true;
    if (v->refused)
        v->refused(v->arg, plugin, p, &err);
    return false;
}

static struct hook_context pod_context(const struct npod *p, struct plan *plan)
{
    struct hook_context c;

    hook_context_pod(p, plan->arena, &c);
    return c;
}

static struct plan_at at_pod(const struct npod *p)
{
    return (struct plan_at){ p->cgroup_dir, p, NULL };
}

static struct plan_at at_container(const struct npod *p, const struct npod_container *c)
{
    return (struct plan_at){ c->cgroup_dir, p, c->name };
}

/* ---- GroupIdentity --------------------------------------------------------------------------- */

static void identity_pod(const struct hook_view *v, const struct npod *p, struct plan *plan)
{
    struct hook_context c = pod_context(p, plan);

    if (!ask(v, &hook_group_identity, HOOK_PRE_RUN_POD_SANDBOX, p, &c))
        return;
    propose_response(plan, at_pod(p), &c.response);
    for (uint32_t i = 0; i < p->ncontainers; i++)
        if (p->containers[i].cgroup_dir)
            propose(plan, at_container(p, &p->containers[i]), PLAN_CPU_BVT, c.response.bvt);
}

static const char *app_dir(const struct hook_view *v, const struct host_application *app,
                           struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf dir = STRBUF_INIT;

    cgroup_host_app_dir(v->driver, app, &dir);
    const char *s = strbuf_str(&dir);
    while (*s == '/')
        s++;
    return arena_strdup(a, s);
}

static void identity_apps(const struct hook_view *v, struct plan *plan)
{
    const struct nodeslo_spec *slo = v->snapshot->slo;

    for (uint32_t i = 0; slo && i < slo->host_applications.n; i++) {
        const struct host_application *app = &slo->host_applications.items[i];
        enum qos_class qos = qos_class_parse(app->qos);
        plan_number(plan, (struct plan_at){ app_dir(v, app, plan->arena), NULL, NULL },
                    PLAN_CPU_BVT, v->rules->bvt.has_pod[qos] ? v->rules->bvt.pod[qos] : 0);
    }
}

void plan_group_identity(const struct hook_view *v, struct plan *plan)
{
    const struct rule_group_identity *r = &v->rules->bvt;

    if (!v->has_bvt || (!r->enable && v->has_identity_ctl && !v->identity_ctl_on))
        return;
    if (r->enable && v->has_identity_ctl) {
        if (v->has_core_ctl)
            plan_number(plan, (struct plan_at){ "sys/kernel/sched_core", NULL, NULL },
                        PLAN_PROC_FILE, 0);
        plan_number(plan, (struct plan_at){ "sys/kernel/sched_group_identity_enabled", NULL, NULL },
                    PLAN_PROC_FILE, 1);
    }
    for (enum kube_qos q = KUBE_QOS_GUARANTEED; q <= KUBE_QOS_BEST_EFFORT; q++)
        plan_number(plan, (struct plan_at){ cgroup_qos_dir(v->driver, q), NULL, NULL },
                    PLAN_CPU_BVT, r->kube_dir[q]);
    each_pod(v, plan, identity_pod);
    identity_apps(v, plan);
}

static void idle_pod(const struct hook_view *v, const struct npod *p, struct plan *plan)
{
    struct hook_context c = pod_context(p, plan);

    if (!ask(v, &hook_group_identity, HOOK_PRE_RUN_POD_SANDBOX, p, &c) || c.response.bvt.v >= 0)
        return;
    plan_number(plan, at_pod(p), PLAN_CPU_IDLE_CLASS, 1);
    PLAN_BECAUSE(plan, { "group identity", c.response.bvt.v, NULL });
}

/* In the pods' directories: on the class it would keep the kubelet from restarting. */
void plan_cpu_idle(const struct hook_view *v, struct plan *plan)
{
    if (!v->has_bvt && v->rules->bvt.enable)
        each_pod(v, plan, idle_pod);
}

/* ---- CPUSetAllocator ------------------------------------------------------------------------- */

static void cpuset_container(const struct hook_view *v, const struct npod *p,
                             const struct container *of, const struct npod_container *status,
                             struct plan *plan)
{
    struct hook_context c;

    hook_context_container(p, of, status, plan->arena, &c);
    if (ask(v, &hook_cpuset_allocator, HOOK_PRE_CREATE_CONTAINER, p, &c))
        propose_response(plan, at_container(p, status), &c.response);
}

static void cpuset_pod(const struct hook_view *v, const struct npod *p, struct plan *plan)
{
    static const struct container sandbox = { .name = "" };
    struct hook_context c = pod_context(p, plan);

    if (ask(v, &hook_cpuset_allocator, HOOK_PRE_RUN_POD_SANDBOX, p, &c))
        propose_response(plan, at_pod(p), &c.response);
    each_container(v, p, plan, cpuset_container);
    const char *dir = v->sandbox && !is_kata(p) ? v->sandbox(v->arg, p, plan->arena) : NULL;
    if (!dir)
        return;
    struct hook_context s;
    hook_context_container(p, &sandbox, NULL, plan->arena, &s);
    s.is_sandbox = true;
    if (ask(v, &hook_cpuset_allocator, HOOK_PRE_CREATE_CONTAINER, p, &s) && s.response.cpuset &&
        *s.response.cpuset)
        plan_text(plan, (struct plan_at){ dir, p, NULL }, PLAN_CPUSET_CPUS, s.response.cpuset);
}

/* Host applications of class LS share the pools. */
static void cpuset_apps(const struct hook_view *v, struct plan *plan)
{
    CLEANUP(strbuf_fini) struct strbuf cpus = STRBUF_INIT;
    const struct nodeslo_spec *slo = v->snapshot->slo;
    const struct cpu_shared_pools *pools = &v->rules->cpuset.shared;

    for (uint32_t i = 0; i < pools->v.n; i++)
        strbuf_appendf(&cpus, "%s%s", cpus.len ? "," : "", str_or(pools->v.items[i].cpuset, ""));
    for (uint32_t i = 0; cpus.len > 0 && slo && i < slo->host_applications.n; i++) {
        const struct host_application *app = &slo->host_applications.items[i];
        if (qos_class_parse(app->qos) == QOS_LS)
            plan_text(plan, (struct plan_at){ app_dir(v, app, plan->arena), NULL, NULL },
                      PLAN_CPUSET_CPUS, strbuf_str(&cpus));
    }
}

void plan_cpuset_allocator(const struct hook_view *v, struct plan *plan)
{
    each_pod(v, plan, cpuset_pod);
    cpuset_apps(v, plan);
}

/* ---- BatchResource --------------------------------------------------------------------------- */

static void batch_container(const struct hook_view *v, const struct npod *p,
                            const struct container *of, const struct npod_container *status,
                            struct plan *plan)
{
    struct hook_context c;

    hook_context_container(p, of, status, plan->arena, &c);
    if (ask(v, &hook_batch_resource, HOOK_PRE_CREATE_CONTAINER, p, &c))
        propose_response(plan, at_container(p, status), &c.response);
}

static void batch_pod(const struct hook_view *v, const struct npod *p, struct plan *plan)
{
    struct hook_context c = pod_context(p, plan);

    if (ask(v, &hook_batch_resource, HOOK_PRE_RUN_POD_SANDBOX, p, &c))
        propose_response(plan, at_pod(p), &c.response);
    each_container(v, p, plan, batch_container);
}

void plan_batch_resource(const struct hook_view *v, struct plan *plan)
{
    each_pod(v, plan, batch_pod);
}

/* ---- CPUNormalization ------------------------------------------------------------------------ */

static void normal_container(const struct hook_view *v, const struct npod *p,
                             const struct container *of, const struct npod_container *status,
                             struct plan *plan)
{
    struct hook_context c;

    hook_context_container(p, of, status, plan->arena, &c);
    if (!ask(v, &hook_cpu_normalization, HOOK_PRE_CREATE_CONTAINER, p, &c) ||
        !c.response.cfs_quota.set)
        return;
    plan_number(plan, at_container(p, status), PLAN_CPU_QUOTA, c.response.cfs_quota.v);
    PLAN_BECAUSE(plan, { "quota of the spec", c.requested.cfs_quota.v, NULL },
                 { "ratio in percent", (int64_t)(v->rules->ratio * 100 + 0.5), NULL });
}

/* On cgroup v1 a container whose quota is above its pod's cannot start: the pod's is lowered only
 * while all containers run, and so have the lowered value. A pod with a container without a limit
 * has no quota. */
static bool may_lower_pod(const struct npod *p)
{
    const struct pod_spec *spec = npod_pod(p)->spec;

    for (uint32_t i = 0; i < spec->containers.n; i++) {
        bool running = false;
        if (qty_milli(reslist_get(&spec->containers.items[i].resources.limits, "cpu")) <= 0)
            return false;
        for (uint32_t k = 0; k < p->ncontainers; k++)
            running |= p->containers[k].running && p->containers[k].cgroup_dir &&
                       streq(p->containers[k].name, spec->containers.items[i].name);
        if (!running)
            return false;
    }
    return true;
}

static void normal_pod(const struct hook_view *v, const struct npod *p, struct plan *plan)
{
    struct hook_context c = pod_context(p, plan);

    each_container(v, p, plan, normal_container);
    if (may_lower_pod(p) && ask(v, &hook_cpu_normalization, HOOK_PRE_RUN_POD_SANDBOX, p, &c))
        propose(plan, at_pod(p), PLAN_CPU_QUOTA, c.response.cfs_quota);
}

void plan_cpu_normalization(const struct hook_view *v, struct plan *plan)
{
    if (v->rules->ratio > 0)
        each_pod(v, plan, normal_pod);
}

/* ---- Resctrl --------------------------------------------------------------------------------- */

static void resctrl_pod(const struct hook_view *v, const struct npod *p, struct plan *plan)
{
    struct hook_context c = pod_context(p, plan);

    if (!ask(v, &hook_resctrl, HOOK_PRE_RUN_POD_SANDBOX, p, &c) || !c.resctrl.closid)
        return;
    struct plan_at at = { c.resctrl.closid, p, NULL };
    plan_number(plan, at, PLAN_RESCTRL_GROUP, 1);
    for (const char *line = c.resctrl.schemata; line && *line;) {
        size_t n = strcspn(line, "\n") + 1;
        const char *name = arena_strndup(plan->arena, line, strcspn(line, ":"));
        plan_item(plan, at, PLAN_RESCTRL_SCHEMATA, name, arena_strndup(plan->arena, line, n));
        line += n;
    }
}

void plan_pod_resctrl(const struct hook_view *v, struct plan *plan)
{
    if (v->rules->resctrl.known)
        each_pod(v, plan, resctrl_pod);
}

/* ---- the kubelet ----------------------------------------------------------------------------- */

static void kubelet_container(const struct hook_view *v, const struct npod *p,
                              const struct container *of, const struct npod_container *status,
                              struct plan *plan)
{
    struct hook_context c;

    (void)v;
    hook_context_container(p, of, status, plan->arena, &c);
    propose_response(plan, at_container(p, status), &c.requested);
}

/* The pod has a limit when each of its containers has one. */
static void kubelet_limits(const struct npod *p, struct plan *plan)
{
    const struct pod_spec *spec = npod_pod(p)->spec;
    struct hook_context c = pod_context(p, plan);

    for (uint32_t i = 0; i < spec->containers.n; i++) {
        const reslist *limits = &spec->containers.items[i].resources.limits;
        if (qty_milli(reslist_get(limits, "cpu")) <= 0)
            c.requested.cfs_quota.v = -1;
        if (qty_value(reslist_get(limits, "memory")) <= 0)
            c.requested.memory_limit.v = -1;
    }
    propose_response(plan, at_pod(p), &c.requested);
}

static void kubelet_pod(const struct hook_view *v, const struct npod *p, struct plan *plan)
{
    kubelet_limits(p, plan);
    each_container(v, p, plan, kubelet_container);
}

void plan_kubelet(const struct hook_view *v, struct plan *plan)
{
    each_pod(v, plan, kubelet_pod);
}

/* ---- CoreSched ------------------------------------------------------------------------------- */

static void core_pod(const struct hook_view *v, const struct npod *p, struct plan *plan)
{
    enum qos_class qos = qos_raw(&p->obj->meta.labels);
    const struct rule_core_sched *r = &v->rules->core;
    struct core_sched_class class = qos == QOS_NONE ? r->kube[p->kube_qos] : r->pod[qos];

    if (class.idle)
        plan_number(plan, at_pod(p), PLAN_CPU_IDLE_CLASS, 1);
}

void plan_core_sched(const struct hook_view *v, struct plan *plan)
{
    if (!v->rules->core.enable)
        return;
    if (v->has_core_ctl && v->has_identity_ctl)
        plan_number(plan, (struct plan_at){ "sys/kernel/sched_group_identity_enabled", NULL, NULL },
                    PLAN_PROC_FILE, 0);
    if (v->has_core_ctl)
        plan_number(plan, (struct plan_at){ "sys/kernel/sched_core", NULL, NULL }, PLAN_PROC_FILE,
                    1);
    each_pod(v, plan, core_pod);
}

/* ---- after a kill ---------------------------------------------------------------------------- */

/* A file without a limit is let alone: the kubelet may not enforce limits at all. */
static void leftover_quota(const struct plan_view *files, struct plan_at at, int64_t wanted,
                           struct plan *plan)
{
    struct kerr err;
    int64_t is;

    if (wanted > 0 && files->number(files->arg, at.dir, PLAN_CPU_QUOTA, &is, &err) == 0 && is > 0 &&
        is != wanted)
        plan_number(plan, at, PLAN_CPU_QUOTA, wanted);
}

/* Taking a pod out of the idle class leaves the kernel's default, and the agent may have been
 * killed before it wrote the shares. */
static void leftover_shares(const struct plan_view *files, struct plan_at at, int64_t wanted,
                            struct plan *plan)
{
    enum { DEFAULT = 1024, DEFAULT_WEIGHT_AS_SHARES = 2597 };
    struct kerr err;
    int64_t is;

    if (files->number(files->arg, at.dir, PLAN_CPU_SHARES, &is, &err) == 0 && is != wanted &&
        (is == DEFAULT || is == DEFAULT_WEIGHT_AS_SHARES))
        plan_number(plan, at, PLAN_CPU_SHARES, wanted);
}

static void leftover_pod(const struct plan_view *files, const struct npod *p, struct plan *plan)
{
    const struct pod_spec *spec = npod_pod(p)->spec;
    struct hook_context c = pod_context(p, plan);

    plan_number(plan, at_pod(p), PLAN_CPU_IDLE_CLASS, 0);
    plan_number(plan, at_pod(p), PLAN_CPU_BURST_US, 0);
    leftover_shares(files, at_pod(p), c.requested.cpu_shares.v, plan);
    leftover_quota(files, at_pod(p), c.requested.cfs_quota.v, plan);
    for (uint32_t i = 0; i < p->ncontainers; i++) {
        const struct npod_container *status = &p->containers[i];
        const struct container *of = spec_of(&spec->containers, status->name);
        if (!of || !status->cgroup_dir)
            continue;
        plan_number(plan, at_container(p, status), PLAN_CPU_BURST_US, 0);
        leftover_quota(files, at_container(p, status),
                       milli_to_quota(qty_milli(reslist_get(&of->resources.limits, "cpu"))), plan);
    }
}

void plan_leftovers(const struct hook_view *v, const struct plan_view *files, struct plan *plan)
{
    const struct podset *pods = v->snapshot->pods;

    for (uint32_t i = 0; pods && i < pods->n; i++)
        if (is_active(pods->pods[i]) && !is_kata(pods->pods[i]))
            leftover_pod(files, pods->pods[i], plan);
}

/* ---- everything put back --------------------------------------------------------------------- */

/* What has the same value in every cgroup of a kernel that nobody tuned. */
static void restore_neutral(struct plan *plan, struct plan_at at)
{
    static const struct {
        enum plan_file file;
        int64_t value;
    } files[] = {
        { PLAN_CPU_BURST_US, 0 },
        { PLAN_CPU_BVT, 0 },
        { PLAN_CPU_IDLE_CLASS, 0 },
        { PLAN_MEMORY_MIN, 0 },
        { PLAN_MEMORY_LOW, 0 },
        { PLAN_MEMORY_HIGH, INT64_MAX },
        { PLAN_MEMORY_WMARK_RATIO, 0 },
        { PLAN_MEMORY_WMARK_SCALE_FACTOR, 50 },
        { PLAN_MEMORY_WMARK_MIN_ADJ, 0 },
        { PLAN_MEMORY_PRIORITY, 0 },
        { PLAN_MEMORY_USE_PRIORITY_OOM, 0 },
        { PLAN_NET_CLS_CLASSID, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        plan_number(plan, at, files[i].file, files[i].value);
}

static void restore_container(const struct hook_view *v, const struct npod *p,
                              const struct container *of, const struct npod_container *status,
                              struct plan *plan)
{
    restore_neutral(plan, at_container(p, status));
    kubelet_container(v, p, of, status, plan);
}

static void restore_pod(const struct hook_view *v, const struct npod *p, struct plan *plan)
{
    restore_neutral(plan, at_pod(p));
    kubelet_limits(p, plan);
    each_container(v, p, plan, restore_container);
}

static void restore_cpusets(const struct hook_view *v, const struct cpuset *cpus, struct plan *plan)
{
    const struct podset *pods = v->snapshot->pods;
    bool is_static = streq(v->rules->cpuset.kubelet_policy ? v->rules->cpuset.kubelet_policy : "",
                           KUBELET_CPU_POLICY_STATIC);

    for (uint32_t i = 0; pods && i < pods->n; i++) {
        const struct npod *p = pods->pods[i];
        bool best_effort = p->kube_qos == KUBE_QOS_BEST_EFFORT;
        if (!is_active(p) || (is_static && !best_effort))
            continue; /* the kubelet's static policy looks after them */
        if (best_effort)
            plan_cpus(plan, at_pod(p), cpus);
        for (uint32_t k = 0; k < p->ncontainers; k++)
            if (p->containers[k].cgroup_dir)
                plan_cpus(plan, at_container(p, &p->containers[k]), cpus);
    }
}

void plan_restore(const struct hook_view *v, const struct cpuset *cpus, struct plan *plan)
{
    static const char *const groups[] = { "LSR", "LS", "BE" };

    for (enum kube_qos q = KUBE_QOS_GUARANTEED; q <= KUBE_QOS_BEST_EFFORT; q++) {
        struct plan_at at = { cgroup_qos_dir(v->driver, q), NULL, NULL };
        restore_neutral(plan, at);
        plan_number(plan, at, PLAN_CPU_QUOTA, -1);
    }
    plan_cpus(plan, (struct plan_at){ cgroup_qos_dir(v->driver, KUBE_QOS_BEST_EFFORT), NULL, NULL },
              cpus);
    each_pod(v, plan, restore_pod);
    restore_cpusets(v, cpus, plan);
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        plan_number(plan, (struct plan_at){ groups[i], NULL, NULL }, PLAN_RESCTRL_GROUP, 0);
}
