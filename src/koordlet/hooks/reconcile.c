/* reconcile.c - when plans of the hooks are made. */
#include "koordlet/hooks/reconcile.h"

#include "base/klog.h"
#include "koordlet/facts/cpuinfo.h"
#include "koordlet/facts/resctrl.h"
#include "koordlet/hooks/rounds.h"
#include "koordlet/hooks/tasks.h"
#include "koordlet/hooks/witness.h"
#include "koordlet/kernel/scan.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/states/complaint.h"
#include "loop/loop.h"

struct reconciler {
    struct reconcile_env env;
    struct hook_rules *rules;
    bool rules_old; /* what they were made from changed */
    char *ratio;    /* the annotation of the Node, as it was last seen; NULL: none */
    struct timer *soon, *regular;
    unsigned looks; /* regular ones */
    struct complaint bad_rules;
    struct witness *witness;
    struct oom_scores *oom;
    struct core_round *core;
    struct net_round *net;
};

/* ---- rules ----------------------------------------------------------------------------------- */

static bool gate(const struct reconciler *r, enum koordlet_gate g)
{
    return gates_on(&r->env.o->gates, g);
}

/* What is mounted; *ids has room for RESCTRL_CACHES_MAX. false: nothing is. */
static bool resctrl_now(const struct reconciler *r, int32_t *ids, struct rule_resctrl *ret)
{
    const struct host *h = r->env.host;
    CLEANUP(mem_free) struct schemata *root = xnew0(struct schemata);
    struct str text;
    struct kerr err;

    if (resctrl_root_read(h, root, &err) < 0 ||
        sysfs_text(h, h->sys_fs_fd, &text, "resctrl/info/L3/cbm_mask") < 0 ||
        resctrl_cbm_parse(text.p, text.n, &ret->cbm, &err) < 0)
        return false;
    for (uint32_t i = 0; i < root->nl3; i++)
        ids[i] = root->l3[i].cache;
    ret->caches = ids;
    ret->ncaches = root->nl3;
    ret->known = true;
    return true;
}

static void make_rules(struct reconciler *r)
{
    const struct snapshot *s = snapshots_get(r->env.snapshots);
    const struct koordlet_options *o = r->env.o;
    CLEANUP(mem_free) int32_t *ids = xnewn0(RESCTRL_CACHES_MAX, int32_t);
    CLEANUP(mem_free) char *vendor = NULL;
    struct rule_resctrl resctrl = { 0 };
    struct str text;
    struct kerr err = { 0 };

    if (gate(r, GATE_RESCTRL) && resctrl_now(r, ids, &resctrl) &&
        sysfs_text(r->env.host, r->env.host->proc_fd, &text, "cpuinfo") == 0)
        resctrl.vendor = vendor = cpu_vendor(text);
    const struct hook_rules_in in = {
        .slo = s->slo,
        .node_annotations = s->node ? &s->node->obj.meta.annotations : NULL,
        .topology_annotations = r->env.topology ? r->env.topology(r->env.topology_arg) : NULL,
        .be_cpu_manager = gate(r, GATE_BE_CPU_MANAGER),
        .keep_quota = o->hooks.keep_quota,
        .hami_monitor = gate(r, GATE_HAMI_CORE_VGPU_MONITOR),
        .hami_library = o->hooks.hami_library,
        .sys_fd = r->env.host->sys_fd,
        .resctrl = &resctrl,
    };
    hook_rules_free(r->rules);
    r->rules = hook_rules_new(&in, &err);
    r->rules_old = false;
    if (err.code < 0 && complaint_due(&r->bad_rules, loop_mono(r->env.loop)))
        KLOG_W("A rule of the runtime hooks is bad and does not count", KV_S("err", err.text));
    else if (err.code == 0)
        complaint_over(&r->bad_rules);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static const char *sandbox_dir(void *arg, const struct npod *p, struct arena *a)
{
    struct reconciler *r = arg;
    CLEANUP(strbuf_fini) struct strbuf id = STRBUF_INIT, dir = STRBUF_INIT;
    uint32_t n = p->ncontainers + p->ninit_containers;
    const char **known = arena_newn0(a, n + 1, const char *);
    struct kerr err;

    for (uint32_t i = 0; i < n; i++)
        known[i] =
            i < p->ncontainers ? p->containers[i].id : p->init_containers[i - p->ncontainers].id;
    strbuf_appendf(&dir, "%s/", p->cgroup_dir);
    if (cgroup_sandbox_id(r->env.host, p->cgroup_dir, known, n, &id, &err) < 0 || id.len == 0 ||
        cgroup_container_name(r->env.host->driver, strbuf_str(&id), &dir, &err) < 0)
        return NULL;
    return arena_strdup(a, strbuf_str(&dir));
}

static void on_refused(void *arg, const struct hook_plugin *plugin, const struct npod *p,
                       const struct kerr *err)
{
    struct reconciler *r = arg;

    witness_refused(r->witness, plugin, p, err);
}

static void on_asked(void *arg, const struct hook_plugin *plugin, enum hook_level level,
                     const struct hook_resources *answer, nsec_t began, bool failed)
{
    struct reconciler *r = arg;

    witness_asked(r->witness, plugin, level, answer, began, failed);
}

static nsec_t stopwatch(void *arg)
{
    return loop_stopwatch(((struct reconciler *)arg)->env.loop);
}

static bool has_file(const struct reconciler *r, const char *type)
{
    const struct host *h = r->env.host;
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;
    struct kerr err;
    const struct cgroup_resource *res = cgroup_resource_find(h->version, type, &err);

    if (!res)
        return false;
    cgroup_resource_path(res, h->version, ".", cgroup_kubepods(h->driver), &path);
    return sysfs_exists(h->cgroup_fd, "%s", strbuf_str(&path));
}

static struct hook_view view_now(struct reconciler *r)
{
    const struct host *h = r->env.host;
    int64_t on = 0;
    bool has_ctl = sysfs_i64(h, h->proc_fd, &on, "sys/kernel/sched_group_identity_enabled") == 0;

    return (struct hook_view){
        .rules = r->rules,
        .snapshot = snapshots_get(r->env.snapshots),
        .driver = h->driver,
        .has_bvt = has_file(r, "cpu.bvt_warp_ns"),
        .has_identity_ctl = has_ctl,
        .identity_ctl_on = on != 0,
        .has_core_ctl = sysfs_exists(h->proc_fd, "sys/kernel/sched_core"),
        .sandbox = sandbox_dir,
        .refused = on_refused,
        .asked = on_asked,
        .stopwatch = stopwatch,
        .arg = r,
    };
}

static void submit(struct reconciler *r, const struct hook_view *v, enum plan_owner o,
                   void (*fill)(const struct hook_view *v, struct plan *p), bool on)
{
    struct plan *p = executor_plan(r->env.executor, o, v->snapshot);

    if (on)
        fill(v, p);
    executor_submit(r->env.executor, p);
}

static void resctrl_with_tasks(struct reconciler *r, const struct hook_view *v)
{
    struct plan *p = executor_plan(r->env.executor, PLAN_POD_RESCTRL, v->snapshot);

    if (gate(r, GATE_RESCTRL)) {
        plan_pod_resctrl(v, p);
        vec_foreach(&p->proposals, i)
            if (p->proposals.items[i].file == PLAN_RESCTRL_GROUP)
                witness_resctrl(r->witness, p->proposals.items[i].at.pod,
                                p->proposals.items[i].at.dir);
        plan_resctrl_tasks(r->env.host, p);
        plan_resctrl_stale(r->env.host, v->snapshot->pods, loop_wall(r->env.loop), p);
    }
    executor_submit(r->env.executor, p);
}

static void look_at_threads(struct reconciler *r, const struct hook_view *v)
{
    resctrl_with_tasks(r, v);
    if (gate(r, GATE_OOM_SCORE_ADJ)) {
        struct plan *p = executor_plan(r->env.executor, PLAN_OOM_SCORE_ADJ, v->snapshot);
        plan_oom_scores(r->oom, v->snapshot, loop_mono(r->env.loop), p);
        executor_submit(r->env.executor, p);
    }
}

static void look_at_network(struct reconciler *r, const struct hook_view *v)
{
    bool act = !r->env.o->executor.dry_run;
    nsec_t now = loop_mono(r->env.loop);

    if (gate(r, GATE_TC_NETWORK_QOS)) {
        struct plan *p = executor_plan(r->env.executor, PLAN_TC_NETWORK_QOS, v->snapshot);
        net_round_tc(r->net, v, act, now, p);
        executor_submit(r->env.executor, p);
    }
    if (gate(r, GATE_TERWAY_QOS))
        net_round_terway(r->net, v, act, now);
}

static void look_at_all(struct reconciler *r, const struct hook_view *v)
{
    look_at_threads(r, v);
    look_at_network(r, v);
    if (gate(r, GATE_CORE_SCHED) && !r->env.o->executor.dry_run)
        core_round_run(r->core, v, loop_mono(r->env.loop));
}

static void on_soon(struct loop *l, void *arg)
{
    struct reconciler *r = arg;

    (void)l;
    r->soon = NULL;
    if (!r->env.host->driver_known || !snapshots_get(r->env.snapshots)->pods)
        return;
    if (r->rules_old || !r->rules)
        make_rules(r);
    struct hook_view v = view_now(r);
    submit(r, &v, PLAN_KUBELET, plan_kubelet, true);
    submit(r, &v, PLAN_GROUP_IDENTITY, plan_group_identity, gate(r, GATE_GROUP_IDENTITY));
    submit(r, &v, PLAN_CPU_IDLE, plan_cpu_idle, gate(r, GATE_GROUP_IDENTITY));
    submit(r, &v, PLAN_CPUSET_ALLOCATOR, plan_cpuset_allocator, gate(r, GATE_CPU_SET_ALLOCATOR));
    submit(r, &v, PLAN_BATCH_RESOURCE, plan_batch_resource, gate(r, GATE_BATCH_RESOURCE));
    submit(r, &v, PLAN_CPU_NORMALIZATION, plan_cpu_normalization, gate(r, GATE_CPU_NORMALIZATION));
    submit(r, &v, PLAN_CORE_SCHED, plan_core_sched, gate(r, GATE_CORE_SCHED));
    look_at_all(r, &v);
    witness_annotations(r->witness, v.snapshot->pods);
    witness_round(r->witness);
}

/* ---- when ------------------------------------------------------------------------------------ */

static void on_pods(void *arg)
{
    struct reconciler *r = arg;

    if (!r->soon)
        r->soon = loop_after(r->env.loop, 0, on_soon, r);
}

static void on_rules(void *arg)
{
    struct reconciler *r = arg;

    r->rules_old = true;
    on_pods(r);
}

/* The kubelet updates the Node again and again; one annotation of it matters here. */
static void on_node(void *arg)
{
    struct reconciler *r = arg;
    const struct node *n = snapshots_get(r->env.snapshots)->node;
    const char *now =
        n ? kstrmap_get(&n->obj.meta.annotations, ANNO_CPU_NORMALIZATION_RATIO) : NULL;

    if (r->rules && streq(str_or(now, ""), str_or(r->ratio, "")))
        return;
    free(r->ratio);
    r->ratio = now ? xstrdup(now) : NULL;
    on_rules(r);
}

void reconciler_wake(struct reconciler *r)
{
    on_rules(r);
}

const struct hook_rules *reconciler_rules(struct reconciler *r)
{
    if (r->rules_old || !r->rules)
        make_rules(r);
    return r->rules;
}

/* At the first regular look the strategies had their say, and what they want is not touched; at the
 * second all of it is done. */
static void put_leftovers_back(struct reconciler *r, const struct hook_view *v)
{
    struct plan_view files = executor_view(r->env.executor);

    if (r->looks >= 2)
        return;
    struct plan *p = executor_plan(r->env.executor, PLAN_LEFTOVERS, v->snapshot);
    if (r->looks++ == 0)
        plan_leftovers(v, &files, p);
    executor_submit(r->env.executor, p);
}

static void on_regular(struct loop *l, void *arg)
{
    struct reconciler *r = arg;

    r->regular = loop_after(l, r->env.o->hooks.reconcile_interval, on_regular, r);
    if (!r->rules) {
        on_pods(r); /* the cgroup driver may be known by now */
        return;
    }
    struct hook_view v = view_now(r);
    put_leftovers_back(r, &v);
    look_at_all(r, &v);
}

struct reconciler *reconciler_new(const struct reconcile_env *env)
{
    struct reconciler *r = xnew0(struct reconciler);

    r->env = *env;
    r->witness = witness_new(&r->env);
    r->oom = oom_scores_new(env->host, env->metrics, env->node_name);
    r->core = core_round_new(env->host, env->metrics, env->node_name);
    r->net = net_round_new(env->host, str_or(env->terway_dir, TERWAY_DIR));
    return r;
}

struct reconciler *reconciler_free(struct reconciler *r)
{
    if (!r)
        return NULL;
    timer_cancel(r->soon);
    timer_cancel(r->regular);
    oom_scores_free(r->oom);
    core_round_free(r->core);
    net_round_free(r->net);
    witness_free(r->witness);
    hook_rules_free(r->rules);
    free(r->ratio);
    free(r);
    return NULL;
}

void reconciler_start(struct reconciler *r)
{
    struct snapshots *s = r->env.snapshots;

    snapshots_on(s, STATES_PODS, "runtime hooks", on_pods, r);
    snapshots_on(s, STATES_NODESLO, "runtime hooks", on_rules, r);
    snapshots_on(s, STATES_NODE, "runtime hooks", on_node, r);
    snapshots_on(s, STATES_TOPOLOGY, "runtime hooks", on_rules, r);
    r->regular = loop_after(r->env.loop, r->env.o->hooks.reconcile_interval, on_regular, r);
}

void reconciler_restore(struct reconciler *r)
{
    struct cpu_info *info = NULL;
    struct kerr err;

    make_rules(r);
    struct hook_view v = view_now(r);
    struct plan *p = executor_plan(r->env.executor, PLAN_RESTORE, v.snapshot);
    struct cpuset cpus = { 0 };
    if (cpu_info_read(r->env.host, &info, &err) == 0)
        cpus = cpu_info_set(info);
    cpu_info_unref(info);
    plan_restore(&v, &cpus, p);
    plan_resctrl_stale(r->env.host, NULL, loop_wall(r->env.loop), p);
    plan_restore_disks(r->env.host, v.snapshot->pods, p);
    if (gate(r, GATE_OOM_SCORE_ADJ))
        plan_oom_restore(r->oom, v.snapshot, p);
    executor_submit(r->env.executor, p);
    executor_apply(r->env.executor);
    if (r->env.o->executor.dry_run)
        return;
    if (gate(r, GATE_CORE_SCHED))
        core_round_restore(r->core, &v);
    net_round_restore(r->net, gate(r, GATE_TC_NETWORK_QOS), gate(r, GATE_TERWAY_QOS));
}
