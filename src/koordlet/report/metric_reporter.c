/* metric_reporter.c - NodeMetric, once in every interval. */
#include "base/klog.h"
#include "koordlet/collect/collect.h"
#include "koordlet/report/metric_gauges.h"
#include "koordlet/report/reporter.h"
#include "loop/loop.h"
#include "json/kj.h"

enum { JITTER_PART = 10 }; /* up to a tenth of the interval sooner */

struct metric_reporter {
    struct reporter r;
    struct metric_gauges gauges;
    nsec_t last; /* monotonic: when the current rest began */
};

/* Nodes that started together do not stay together; nobody waits longer than the interval. */
static nsec_t jittered(struct metric_reporter *mr)
{
    nsec_t interval = snapshots_get(mr->r.env->snapshots)->policy.report_interval;
    return interval -
           (nsec_t)loop_rand_below(mr->r.env->loop, (uint64_t)(interval / JITTER_PART) + 1);
}

static void build(struct metric_reporter *mr, struct arena *a, struct nodemetric_status *ret)
{
    const struct report_env *e = mr->r.env;
    CLEANUP(reclaim_fini) struct reclaim reclaim = { 0 };
    struct nodemetric_predicted predicted;
    struct nodemetric_gpu *gpus = NULL;
    const struct snapshot *known = snapshots_get(e->snapshots);
    struct nodemetric_in in = {
        .now = loop_wall(e->loop),
        .mc = e->mc,
        .policy = &known->policy,
        .cold_memory_started = e->collect->cold_memory_started,
        .pods = known->pods,
        .slo = known->slo,
        .numa_nodes = e->collect->numa_info ? e->collect->numa_info->n : 0,
        .node = known->node,
    };

    if (e->devices.gpus)
        in.ngpus = e->devices.gpus(e->devices.arg, a, &gpus);
    in.gpus = gpus;
    if (e->models) {
        reclaim_init(&reclaim, models_predictor(e->models), &e->reclaim, in.now);
        in.predictor = &reclaim;
    }
    nodemetric_build(&in, a, ret, &predicted);
    if (in.node)
        metric_gauges_set(&mr->gauges, e->node_name, ret, e->models ? &predicted : NULL);
}

/* The whole status at once: what is no longer measured must not stay behind. */
static void write_patch(const struct nodemetric_status *s, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_arr(&w, NULL);
    kjw_obj(&w, NULL);
    kjw_str(&w, "op", "add");
    kjw_str(&w, "path", "/status");
    nodemetric_write(s, &w, "value");
    kjw_end(&w);
    kjw_end(&w);
}

static void run(void *arg)
{
    struct metric_reporter *mr = arg;
    struct reporter *r = &mr->r;
    CLEANUP(arena_free) struct arena *a = NULL;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct nodemetric_status status;

    mr->last = loop_mono(r->env->loop);
    r->rest = jittered(mr);
    if (!snapshots_get(r->env->snapshots)->nodemetric) {
        reporter_miss(r, "no NodeMetric of this node yet (koord-manager makes it)");
        reporter_rest(r);
        return;
    }
    a = arena_new();
    build(mr, a, &status);
    write_patch(&status, &body);
    reporter_send(r,
                  (struct kube_req){ .verb = KUBE_PATCH,
                                     .kind = &kind_nodemetric,
                                     .subresource = "status",
                                     .patch = KUBE_PATCH_JSON },
                  &body);
}

static bool done(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct metric_reporter *mr = arg;

    (void)resp;
    if (err && err->reason == KR_NOT_FOUND) { /* deleted a moment ago: it will come again */
        reporter_miss(&mr->r, "NodeMetric %s is not there any more", mr->r.env->node_name);
        return true;
    }
    return !err;
}

/* The rest that is under way becomes as long as the new policy says. */
static void on_policy(void *arg)
{
    struct metric_reporter *mr = arg;
    nsec_t now = loop_mono(mr->r.env->loop);

    mr->r.rest = jittered(mr);
    /* A request under way rests that long when it is done; one that failed is soon tried again. */
    if (!mr->r.timer || mr->r.complaint.bad)
        return;
    reporter_after(&mr->r, mr->last + mr->r.rest - now);
}

struct metric_reporter *metric_reporter_new(const struct report_env *env)
{
    static const struct reporter_ops ops = { "NodeMetric", run, done };
    struct metric_reporter *mr = xnew0(struct metric_reporter);

    reporter_init(&mr->r, env, &ops, mr);
    metric_gauges_init(&mr->gauges, env->internal, env->external,
                       gates_on(&env->o->gates, GATE_NODE_METRIC_PROM));
    snapshots_on(env->snapshots, STATES_POLICY, "NodeMetric reporter", on_policy, mr);
    return mr;
}

struct metric_reporter *metric_reporter_free(struct metric_reporter *mr)
{
    if (mr)
        reporter_fini(&mr->r);
    free(mr);
    return NULL;
}

void metric_reporter_start(struct metric_reporter *mr)
{
    mr->last = loop_mono(mr->r.env->loop);
    reporter_after(&mr->r, jittered(mr));
}

const char *metric_reporter_missing(const struct metric_reporter *mr)
{
    return mr->r.missing[0] ? mr->r.missing : NULL;
}
