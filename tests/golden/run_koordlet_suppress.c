/* run_koordlet_suppress.c - what best effort may use, and bursts beyond CPU limits. */
#include "base/intern.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/qos/burst/burst.h"
#include "koordlet/qos/suppress/suppress.h"
#include "run_koordlet.h"

/* ---- cpu-suppress ---------------------------------------------------------------------------- */

/* Some pods of the vectors have no UID; their order counts. */
static int decode_pods(const struct kj_val *in, struct kj_scratch *scratch, struct npod **ret,
                       struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    int r = 0;

    for (size_t i = 0; r == 0 && i < kj_len(in); i++) {
        struct kj_mval *pod = kj_mcopy(d, kj_at(in, i));
        struct kj_mval *meta = kj_mget(pod, "metadata");
        if (!kj_mget(meta, "uid"))
            kj_mset(d, meta, "uid", kj_mstr(d, "uid"));
        CLEANUP(kj_doc_free) struct kj_doc *whole = kj_freeze(pod);
        r = npod_decode(kj_root(whole), i, CGROUP_SYSTEMD, scratch, &ret[i], err);
    }
    return r;
}

static void free_pods(struct npod **pods, size_t n)
{
    for (size_t i = 0; i < n; i++)
        npod_unref(pods[i]);
}

static const struct npod *find_pod(struct npod *const *pods, size_t n, struct str uid)
{
    for (size_t i = 0; i < n; i++)
        if (str_eqz(uid, pods[i]->uid))
            return pods[i];
    return NULL;
}

static int write_budget(const struct kj_val *in, struct npod *const *pods, size_t n,
                        struct kj_scratch *scratch, struct arena *a, struct kjw *w,
                        struct kerr *err)
{
    CLEANUP(kobj_unref) struct kobj *node = NULL;
    const struct kj_val *used = kj_get(in, "podUsedCores"), *apps = kj_get(in, "hostApplications");
    struct suppress_used *pod_used = arena_newn0(a, kj_len(used) + 1, struct suppress_used);
    struct suppress_app *app_used = arena_newn0(a, kj_len(apps) + 1, struct suppress_app);
    struct suppress_usage u = { .node_cores = number(kj_get(in, "nodeUsedCores")),
                                .pods = pod_used,
                                .apps = app_used };
    struct threshold_strategy slo;
    const struct kj_val *v;
    struct str uid;

    int r = kobj_decode(&kind_node, kj_get(in, "node"), scratch, &node, err);
    if (r == 0)
        r = kj_decode(&threshold_strategy_schema, in, 0, a, &slo, err);
    for (struct kj_iter it = kj_iter(used); kj_next(&it, &uid, &v);)
        pod_used[u.npods++] = (struct suppress_used){ find_pod(pods, n, uid), number(v) };
    for (size_t i = 0; r == 0 && i < kj_len(apps); i++) {
        struct host_application *app = arena_new0(a, struct host_application);
        r = kj_decode(&host_application_schema, kj_at(apps, i), 0, a, app, err);
        v = r == 0 ? kj_get(kj_get(in, "hostAppUsedCores"), app->name) : NULL;
        if (v)
            app_used[u.napps++] = (struct suppress_app){ app, number(v) };
    }
    if (r == 0)
        kjw_i64(w, "beCPUMilli", suppress_budget(node_of(node), &slo, &u, a).milli);
    return r;
}

static void write_cpus(const struct kj_val *in, struct npod *const *pods, size_t n, struct arena *a,
                       struct kjw *w)
{
    const struct kj_val *list = kj_get(in, "processors"), *value;
    struct cpu_info cpus = { .cpus = arena_newn0(a, kj_len(list) + 1, struct cpu_place) };
    const char *text = kj_str_or(kj_get(in, "currentBECPUSet"), "");
    kstrmap topology = { arena_newn0(a, 8, struct kstrpair), 0 };
    struct cpuset old = { 0 };
    struct str key;

    for (size_t i = 0; i < kj_len(list); i++)
        cpus.cpus[cpus.n++] = (struct cpu_place){
            .cpu = (int32_t)kj_i64_or(kj_at(kj_at(list, i), 0), 0),
            .core = (int32_t)kj_i64_or(kj_at(kj_at(list, i), 1), 0),
            .socket = (int32_t)kj_i64_or(kj_at(kj_at(list, i), 2), 0),
            .node = (int32_t)kj_i64_or(kj_at(kj_at(list, i), 3), 0),
        };
    for (struct kj_iter it = kj_iter(kj_get(in, "nodeTopologyAnnotations"));
         kj_next(&it, &key, &value);)
        topology.items[topology.n++] =
            (struct kstrpair){ arena_strndup(a, key.p, key.n), kj_str_or(value, "") };
    cpus_parse(text, strlen(text), &old, NULL);
    struct suppress_machine m = { &cpus, &topology, pods, (uint32_t)n };
    struct cpuset got = suppress_cpus(&m, kj_i64_or(kj_get(in, "beCPUMilli"), 0), &old, a);
    kjw_str(w, "beCPUSet", cpuset_format(cpuset_is_empty(&got) ? &old : &got, a));
}

int run_suppress(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    const char *op = kj_str_or(kj_get(in, "op"), "");
    size_t n = kj_len(kj_get(in, "pods"));
    struct npod **pods = arena_newn0(a, n + 1, struct npod *);
    struct kjw w = kjw_to(got);

    kjw_obj(&w, NULL);
    int r = decode_pods(kj_get(in, "pods"), scratch, pods, err);
    if (r == 0 && streq(op, "budget"))
        r = write_budget(in, pods, n, scratch, a, &w, err);
    else if (r == 0 && streq(op, "cpuset"))
        write_cpus(in, pods, n, a, &w);
    else if (r == 0)
        kjw_i64(&w, "cfsQuota",
                suppress_quota(kj_i64_or(kj_get(in, "nodeCores"), 0) * 1000,
                               kj_i64_or(kj_get(in, "beCPUMilli"), 0),
                               kj_i64_or(kj_get(in, "currentCFSQuota"), 0)));
    kjw_end(&w);
    free_pods(pods, n);
    return r;
}

/* ---- cpu-burst ------------------------------------------------------------------------------- */

static const char *const node_states[] = { "idle", "cooling", "overload", "unknown" };

static struct opt_f64 optional(const struct kj_val *v)
{
    struct opt_f64 o = { .set = false };

    o.set = kj_f64(v, &o.v) == 0;
    return o;
}

static void write_node_state(const struct kj_val *in, struct arena *a, struct kjw *w)
{
    const struct kj_val *pods = kj_get(in, "pods");
    struct burst_apart *apart = arena_newn0(a, kj_len(pods) + 1, struct burst_apart);

    for (size_t i = 0; i < kj_len(pods); i++) {
        const struct kj_val *p = kj_at(pods, i);
        apart[i] = (struct burst_apart){
            .qos = qos_class_parse(kj_str_or(kj_get(p, "qosClass"), "")),
            .request_milli = kj_i64_or(kj_get(p, "cpuRequestMilli"), 0),
            .cores = optional(kj_get(p, "cpuUsageCores")).v,
        };
    }
    enum burst_node s = burst_node_state(
        (uint32_t)kj_i64_or(kj_get(in, "processors"), 0), optional(kj_get(in, "nodeUsageCores")),
        apart, kj_len(pods), kj_i64_or(kj_get(in, "sharePoolThresholdPercent"), 0));
    kjw_str(w, "nodeState", node_states[s]);
}

static enum burst_node state_of(const struct kj_val *step)
{
    const char *name = kj_str_or(kj_get(step, "nodeState"), "");
    unsigned i = 0;

    while (i < BURST_NODE_UNKNOWN && !streq(name, node_states[i]))
        i++;
    return (enum burst_node)i;
}

static void write_steps(const struct kj_val *in, const struct cpu_burst_config *c, struct kjw *w)
{
    int64_t limit = kj_i64_or(kj_get(in, "cpuLimitMilli"), 0), base = milli_to_quota(limit);
    int64_t quota = kj_i64_or(kj_get(in, "initialContainerCFSQuota"), 0);
    int64_t pod = kj_i64_or(kj_get(in, "initialPodCFSQuota"), 0);
    int64_t pod_base = pod > 0 ? pod - (quota - base) : pod;
    struct opt_i64 period = c->cfs_quota_burst_period_seconds, percent = c->cfs_quota_burst_percent;
    struct burst_limiter l = { .set = true,
                               .capacity = period.v * (percent.v - 100),
                               .tokens = number(kj_get(in, "initialTokens")) };
    const struct kj_val *steps = kj_get(in, "steps");
    nsec_t now = 0;

    kjw_arr(w, "steps");
    for (size_t i = 0; i < kj_len(steps); i++) {
        const struct kj_val *step = kj_at(steps, i);
        now += kj_i64_or(kj_get(step, "secondsSinceLast"), 0) * NSEC_PER_SEC;
        struct burst_sample s = { .throttled = optional(kj_get(step, "throttledRatio")) };
        s.allowed =
            burst_limiter_allow(&l, c, "id", limit, optional(kj_get(step, "cpuUsageCores")), now);
        quota = burst_quota(c, state_of(step), limit, quota, s);
        kjw_obj(w, NULL);
        kjw_i64(w, "containerCFSBurst", burst_static(c, limit));
        kjw_i64(w, "podCFSBurst", burst_static(c, limit));
        kjw_i64(w, "containerCFSQuota", quota);
        kjw_i64(w, "podCFSQuota", burst_pod_quota(pod_base, quota - base));
        if (l.set)
            kjw_i64(w, "tokens", (int64_t)l.tokens);
        kjw_end(w);
    }
    kjw_end(w);
}

int run_burst(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    const char *own = kj_str(kj_get(in, "podAnnotation"));
    kstrmap annotations = { arena_newn0(a, 1, struct kstrpair), own != NULL };
    struct cpu_burst_config node;
    struct kjw w = kjw_to(got);

    kjw_obj(&w, NULL);
    if (streq(kj_str_or(kj_get(in, "op"), ""), "nodeState")) {
        write_node_state(in, a, &w);
    } else {
        int r = kj_decode(&cpu_burst_config_schema, kj_get(in, "nodeConfig"), 0, a, &node, err);
        if (r < 0)
            return r;
        if (own)
            annotations.items[0] = (struct kstrpair){ ANNO_CPU_BURST, own };
        struct cpu_burst_config c = burst_config(&node, &annotations, a);
        write_steps(in, &c, &w);
    }
    kjw_end(&w);
    return 0;
}
