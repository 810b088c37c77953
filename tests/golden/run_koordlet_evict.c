/* run_koordlet_evict.c - whom the agent evicts, for CPU and for memory. */
#include "base/intern.h"
#include "koordlet/qos/evict/task.h"
#include "run_koordlet.h"

struct known { /* what the case says of usage */
    const struct kj_val *cores, *bytes;
    const struct kj_val *already;
    struct npod *const *pods;
};

static bool used(void *arg, const struct npod *p, enum evict_usage what, double *ret)
{
    const struct known *k = arg;

    return kj_f64(kj_get(what == EVICT_USED_CPU ? k->cores : k->bytes, p->uid), ret) == 0;
}

static bool pending(void *arg, uint32_t pod)
{
    const struct known *k = arg;

    for (size_t i = 0; i < kj_len(k->already); i++)
        if (streq(kj_str_or(kj_at(k->already, i), ""), npod_pod(k->pods[pod])->obj.meta.name))
            return true;
    return false;
}

static struct opt_f64 optional(const struct kj_val *v)
{
    struct opt_f64 o = { .set = false };

    o.set = kj_f64(v, &o.v) == 0;
    return o;
}

static struct evict_be_cpu be_of(const struct kj_val *v, const char *which, struct arena *a)
{
    return (struct evict_be_cpu){
        .usage = number(kj_get(v, arena_printf(a, "%s-usage", which))),
        .request = number(kj_get(v, arena_printf(a, "%s-request", which))),
        .real_limit = number(kj_get(v, arena_printf(a, "%s-real-limit", which))),
    };
}

static void write_names(struct kjw *w, const char *key, const struct evict_in *in,
                        const uint32_t *which, uint32_t n)
{
    kjw_arr(w, key);
    for (uint32_t i = 0; i < n; i++)
        kjw_str(w, NULL, npod_pod(in->pods[which[i]])->obj.meta.name);
    kjw_end(w);
}

static void write_task(struct kjw *w, const struct evict_in *in, const struct evict_task *t,
                       struct known *k, struct arena *a)
{
    uint32_t *evicted = arena_newn0(a, in->npods + 1, uint32_t), n = 0, pod;
    const struct evict_task *of;
    struct evict_run run;

    evict_run_init(&run, t, 1, in->npods, a);
    while (evict_run_next(&run, pending, k, &pod, &of)) {
        evicted[n++] = pod;
        evict_run_result(&run, true);
    }
    write_names(w, "evicted", in, evicted, n);
    write_names(w, "order", in, t->candidates, t->ncandidates);
    kjw_bool(w, "satisfied", evict_run_satisfied(&run, t));
    kjw_obj(w, "toRelease");
    for (unsigned i = 0; i < EVICT_RESOURCES; i++)
        if (evict_has(&t->to_release, i))
            kjw_i64(w, evict_resource_names[i], t->to_release.v[i]);
    kjw_end(w);
}

static enum evict_feature feature_of(const struct kj_val *in)
{
    const char *name = kj_str_or(kj_get(in, "feature"), "");
    unsigned f = 0;

    while (f < EVICT_FEATURES && !streq(name, evict_feature_names[f]))
        f++;
    return (enum evict_feature)f;
}

int run_evict(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(podset_unref) struct podset *pods = NULL;
    CLEANUP(kobj_unref) struct kobj *node = NULL;
    struct threshold_strategy slo;
    struct evict_task task;
    struct kjw w = kjw_to(got);
    const struct kj_val *be = kj_get(in, "beMilliCPU");
    struct known known = { .cores = kj_get(in, "podUsedCores"),
                           .bytes = kj_get(in, "podUsedBytes"),
                           .already = kj_get(in, "alreadyEvicted") };

    int r = kobj_decode(&kind_node, kj_get(in, "node"), scratch, &node, err);
    if (r == 0)
        r = golden_pods(kj_get(in, "pods"), scratch, &pods, err);
    if (r == 0)
        r = kj_decode(&threshold_strategy_schema, kj_get(in, "strategy"), 0, a, &slo, err);
    if (r < 0)
        return r;
    known.pods = pods->pods;
    struct evict_in input = { .node = node_of(node),
                              .pods = pods->pods,
                              .npods = pods->n,
                              .slo = &slo,
                              .collect_interval = NSEC_PER_SEC,
                              .node_cores = optional(kj_get(in, "nodeUsedCores")),
                              .node_bytes = optional(kj_get(in, "nodeUsedBytes")),
                              .be_known = be != NULL,
                              .be_avg = be_of(be, "avg", a),
                              .be_last = be_of(be, "last", a),
                              .be_samples = kj_i64_or(kj_get(be, "samplesInWindow"), 0),
                              .used = used,
                              .arg = &known };
    r = evict_task_make(feature_of(in), &input, a, &task, err);
    kjw_obj(&w, NULL);
    if (r < 0)
        kjw_str(&w, "error", err->text);
    if (r == 1)
        write_task(&w, &input, &task, &known, a);
    else
        write_names(&w, "evicted", &input, NULL, 0);
    kjw_end(&w);
    return 0;
}

/* The words of an error are upstream's, except for how the context is put before them. */
bool same_evict(const struct kj_val *out, const struct kj_val *got)
{
    const char *want = kj_str(kj_get(out, "error")), *have = kj_str(kj_get(got, "error"));
    const char *tail = want ? strstr(want, "err=") : NULL;

    if (want)
        return have && tail && strlen(have) >= strlen(tail + 4) &&
               streq(have + strlen(have) - strlen(tail + 4), tail + 4);
    return !have && golden_same(out, got) && kj_len(out) == kj_len(got);
}
