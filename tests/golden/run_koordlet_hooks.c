/* run_koordlet_hooks.c - what the runtime hooks give a pod and its containers. */
#include "api/koord/noderesourcetopology.h"
#include "base/intern.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/hooks/rules.h"
#include "koordlet/states/nodeslo.h"
#include "run_koordlet.h"

static void write_opt(struct kjw *w, const char *key, struct opt_i64 v)
{
    if (v.set)
        kjw_i64(w, key, v.v);
}

static void write_response(struct kjw *w, const char *key, const struct hook_context *c,
                           struct arena *a)
{
    const struct hook_resources *r = &c->response;

    kjw_obj(w, key);
    write_opt(w, "cpuShares", r->cpu_shares);
    write_opt(w, "cfsQuota", r->cfs_quota);
    write_opt(w, "memoryLimit", r->memory_limit);
    write_opt(w, "bvt", r->bvt);
    if (r->cpuset)
        kjw_str(w, "cpuset", r->cpuset);
    if (c->envs.n > 0) {
        kjw_obj(w, "envs");
        vec_foreach(&c->envs, i)
            kjw_str(w, c->envs.items[i].name, c->envs.items[i].value);
        kjw_end(w);
    }
    if (c->mounts.n > 0) {
        kjw_arr(w, "mounts");
        vec_foreach(&c->mounts, i)
            kjw_str(w, NULL,
                    arena_printf(a, "%s:%s", c->mounts.items[i].source,
                                 c->mounts.items[i].destination));
        kjw_end(w);
    }
    kjw_end(w);
}

static const struct npod_container *status_of(const struct npod *p, const char *name)
{
    for (uint32_t i = 0; i < p->ncontainers; i++)
        if (streq(p->containers[i].name, name))
            return &p->containers[i];
    return NULL;
}

static void write_answers(struct kjw *w, const struct hook_runner *run, const struct npod *p,
                          const struct hook_rules *rules, struct arena *a)
{
    const struct pod_spec *spec = npod_pod(p)->spec;
    struct kerr err = { 0 };

    kjw_obj(w, NULL);
    CLEANUP(hook_context_fini) struct hook_context pod = { 0 };
    hook_context_pod(p, a, &pod);
    hooks_run(run, HOOK_PRE_RUN_POD_SANDBOX, rules, &pod, &err);
    write_response(w, "pod", &pod, a);
    kjw_obj(w, "containers");
    for (uint32_t i = 0; i < spec->containers.n; i++) {
        const struct container *of = &spec->containers.items[i];
        CLEANUP(hook_context_fini) struct hook_context c = { 0 };
        hook_context_container(p, of, status_of(p, of->name), a, &c);
        hooks_run(run, HOOK_PRE_CREATE_CONTAINER, rules, &c, &err);
        write_response(w, of->name, &c, a);
    }
    kjw_end(w);
    kjw_end(w);
}

int run_hooks(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(kobj_unref) struct kobj *node = NULL, *nrt = NULL;
    CLEANUP(npod_unref) struct npod *pod = NULL;
    struct nodeslo_spec slo;
    struct kerr why[NODESLO_SECTIONS] = { 0 }, bad = { 0 };
    struct hook_runner run = { .policy = HOOK_IGNORE };
    struct kjw w = kjw_to(got);

    if (kobj_decode(&kind_node, kj_get(in, "node"), scratch, &node, err) < 0 ||
        kobj_decode(&kind_noderesourcetopology, kj_get(in, "nodeResourceTopology"), scratch, &nrt,
                    err) < 0 ||
        npod_decode(kj_get(in, "pod"), 1, CGROUP_SYSTEMD, scratch, &pod, err) < 0)
        return err->code;
    nodeslo_merge(kj_get(in, "nodeSLO"), NULL, a, &slo, why);
    static const enum koordlet_gate gates[] = { GATE_GROUP_IDENTITY, GATE_BATCH_RESOURCE,
                                                GATE_CPU_SET_ALLOCATOR, GATE_CPU_NORMALIZATION,
                                                GATE_GPU_ENV_INJECT };
    for (size_t i = 0; i < ARRAY_LEN(gates); i++)
        run.on[gates[i]] = true;
    CLEANUP(hook_rules_free)
    struct hook_rules *rules = hook_rules_new(
        &(struct hook_rules_in){
            .slo = &slo,
            .node_annotations = &node->meta.annotations,
            .topology_annotations = &nrt->meta.annotations,
            .hami_library = "/usr/local/vgpu/libvgpu.so",
            .sys_fd = -1,
        },
        &bad);
    write_answers(&w, &run, pod, rules, a);
    return 0;
}
