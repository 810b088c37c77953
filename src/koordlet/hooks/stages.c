/* stages.c - the plugins of a stage, one after the other (koordlet-qos 14.1). */
#include "base/klog.h"
#include "component/metrics.h"
#include "koordlet/hooks/hooks.h"

/* Ascending order of bytes. */
const struct hook_plugin *const hook_plugins[] = {
    &hook_batch_resource, &hook_cpu_normalization, &hook_cpuset_allocator, &hook_group_identity,
    &hook_resctrl,        &hook_gpu_env,           &hook_rdma_device,      NULL,
};

const char *hook_stage_name(enum hook_stage s)
{
    static const char *const names[HOOK_STAGES] = {
        [HOOK_PRE_RUN_POD_SANDBOX] = "PreRunPodSandbox",
        [HOOK_PRE_CREATE_CONTAINER] = "PreCreateContainer",
        [HOOK_PRE_START_CONTAINER] = "PreStartContainer",
        [HOOK_POST_START_CONTAINER] = "PostStartContainer",
        [HOOK_POST_STOP_CONTAINER] = "PostStopContainer",
        [HOOK_POST_STOP_POD_SANDBOX] = "PostStopPodSandbox",
        [HOOK_PRE_UPDATE_CONTAINER] = "PreUpdateContainerResources",
        [HOOK_PRE_REMOVE_POD_SANDBOX] = "PreRemoveRunPodSandbox",
    };
    return names[s];
}

static const double buckets[] = { 0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84 };
static const struct metric_desc invoked_desc = {
    "koordlet_runtime_hook_invoked_duration_milliseconds",
    "Time that a runtime hook took, in milliseconds.",
    METRIC_HISTOGRAM,
    .labels = { "node", "hook", "stage", "status" },
    .buckets = buckets,
    .nbuckets = ARRAY_LEN(buckets),
};

static nsec_t now(const struct hook_runner *h)
{
    return h->stopwatch ? h->stopwatch(h->stopwatch_arg) : 0;
}

static void count(const struct hook_runner *h, const struct hook_plugin *p, enum hook_stage s,
                  nsec_t took, bool failed)
{
    if (!h->metrics)
        return;
    struct metric *m = metrics_add(h->metrics, &invoked_desc);
    histogram_observe(
        metric_histogram(m, METRIC_VALUES(str_or(h->node_name, ""), p->name, hook_stage_name(s),
                                          failed ? "failed" : "succeeded")),
        (double)took / (double)NSEC_PER_MSEC);
}

bool hooks_any(const struct hook_runner *h, enum hook_stage s)
{
    for (size_t i = 0; hook_plugins[i]; i++)
        if (h->on[hook_plugins[i]->gate] && hook_plugins[i]->stages[s])
            return true;
    return false;
}

int hooks_run(const struct hook_runner *h, enum hook_stage s, const struct hook_rules *r,
              struct hook_context *c, struct kerr *err)
{
    for (size_t i = 0; hook_plugins[i]; i++) {
        const struct hook_plugin *p = hook_plugins[i];
        struct kerr one = { 0 };
        if (!h->on[p->gate] || !p->stages[s])
            continue;
        nsec_t began = now(h);
        int code = p->stages[s](r, c, &one);
        count(h, p, s, now(h) - began, code < 0);
        if (code >= 0)
            continue;
        KLOG_W("A runtime hook failed", KV_S("err", one.text), KV_S("hook", p->name),
               KV_S("stage", hook_stage_name(s)), KV_S("pod", c->name), KV_S("namespace", c->ns),
               KV_S("container", str_or(c->container, "")));
        if (h->policy == HOOK_FAIL) {
            *err = one;
            return kerr_wrap(err, "hook %s", p->name);
        }
    }
    return 0;
}
