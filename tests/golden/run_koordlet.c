/* run_koordlet.c - the agent's arithmetic: aggregates, histograms, predictions. */
#include <math.h>

#include "api/kobj.h"
#include "api/protocol/pod_protocol.h"
#include "base/intern.h"
#include "base/ktime.h"
#include "base/vec.h"
#include "koordlet/metriccache/aggregate.h"
#include "koordlet/predict/histogram.h"
#include "koordlet/predict/reclaim.h"
#include "run_koordlet.h"
#include "runners.h"

/* ---- aggregate ------------------------------------------------------------------------------- */

static int run_aggregate(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err)
{
    static const char *const names[] = { "avg", "p50", "p90", "p95", "p99", "last", "count" };
    CLEANUP(window_fini) struct window window = { 0 };
    const struct kj_val *points = kj_get(in, "points");
    struct sample *s = arena_newn0(a, kj_len(points) + 1, struct sample);
    struct kjw w = kjw_to(got);

    for (size_t i = 0; i < kj_len(points); i++)
        s[i] = (struct sample){ kj_i64_or(kj_at(kj_at(points, i), 0), 0),
                                number(kj_at(kj_at(points, i), 1)) };
    window_add(&window, s, kj_len(points));
    kjw_obj(&w, NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        double value;
        if (window_aggregate(&window, (enum aggregate)i, &value, err) == 0)
            kjw_f64(&w, names[i], value);
    }
    if (err->code < 0)
        kjw_str(&w, "error", err->text);
    kjw_end(&w);
    return 0;
}

static bool same_aggregate(const struct kj_val *out, const struct kj_val *got)
{
    return !kj_get(out, "error") == !kj_get(got, "error") && near(out, got, 1e-9, 0);
}

/* ---- histogram ------------------------------------------------------------------------------- */

static void write_percentiles(struct kjw *w, const char *key, const struct histogram *h)
{
    static const char *const names[] = { "0.1", "0.5", "0.6", "0.9", "0.95", "0.98", "0.99", "1" };

    kjw_obj(w, key);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        kjw_f64(w, names[i], histogram_percentile(h, strtod(names[i], NULL)));
    kjw_end(w);
}

static int restore(const struct histogram_options *o, const struct strbuf *text,
                   struct histogram **ret, struct kerr *err)
{
    CLEANUP(histogram_free) struct histogram *h = histogram_new(o, err);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    int r = kj_parse(strbuf_str(text), text->len, 0, &doc, err);
    if (r == 0)
        r = histogram_decode(h, kj_root(doc), err);
    if (r < 0)
        return r;
    *ret = take(h);
    return 0;
}

static int write_histogram(const struct histogram *h, const struct histogram_options *o,
                           struct strbuf *got, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(histogram_free) struct histogram *restored = NULL;
    struct kjw w = kjw_to(got), checkpoint = kjw_to(&text);

    histogram_encode(h, &checkpoint, NULL);
    int r = restore(o, &text, &restored, err);
    if (r < 0)
        return r;
    kjw_obj(&w, NULL);
    kjw_i64(&w, "numBuckets", histogram_buckets(h));
    kjw_bool(&w, "empty", histogram_is_empty(h));
    write_percentiles(&w, "percentiles", h);
    kjw_raw(&w, "checkpoint", strbuf_str(&text), text.len);
    write_percentiles(&w, "percentilesAfterRestore", restored);
    kjw_end(&w);
    return 0;
}

static int run_histogram(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err)
{
    struct histogram_options o = {
        .max = number(kj_get(in, "maxValue")),
        .first = number(kj_get(in, "firstBucketSize")),
        .ratio = number(kj_get(in, "ratio")),
        .epsilon = number(kj_get(in, "epsilon")),
        .half_life = kj_i64_or(kj_get(in, "halfLifeSeconds"), 0) * NSEC_PER_SEC,
    };
    CLEANUP(histogram_free) struct histogram *h = histogram_new(&o, err);
    const struct kj_val *op;

    (void)a;
    if (!h)
        return write_error(got, err);
    for (struct kj_iter it = kj_iter(kj_get(in, "ops")); kj_next(&it, &(struct str){ 0 }, &op);)
        (streq(kj_str_or(kj_at(op, 0), ""), "add") ? histogram_add : histogram_subtract)(
            h, number(kj_at(op, 2)), number(kj_at(op, 3)),
            kj_i64_or(kj_at(op, 1), 0) * NSEC_PER_SEC);
    return write_histogram(h, &o, got, err);
}

static bool same_weights(const struct kj_val *out, const struct kj_val *got)
{
    return kj_len(out) == kj_len(got) && (!out || near(out, got, 0, 1));
}

/* A total that a checkpoint leaves out is 0. */
static bool same_total(const struct kj_val *out, const struct kj_val *got)
{
    double a = out ? number(out) : 0, b = got ? number(got) : 0;
    return fabs(a - b) <= 1e-9 * fabs(a);
}

static bool same_checkpoint(const struct kj_val *out, const struct kj_val *got)
{
    return kj_equal(kj_get(out, "referenceTimestamp"), kj_get(got, "referenceTimestamp")) &&
           same_weights(kj_get(out, "bucketWeights"), kj_get(got, "bucketWeights")) &&
           same_total(kj_get(out, "totalWeight"), kj_get(got, "totalWeight"));
}

static bool same_histogram(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *checkpoint = kj_get(out, "checkpoint");
    const struct kj_val *after = kj_get(out, "percentilesAfterRestore");

    if (kj_get(out, "error"))
        return kj_equal(kj_get(out, "error"), kj_get(got, "error"));
    return kj_equal(kj_get(out, "numBuckets"), kj_get(got, "numBuckets")) &&
           kj_equal(kj_get(out, "empty"), kj_get(got, "empty")) &&
           near(kj_get(out, "percentiles"), kj_get(got, "percentiles"), 1e-9, 0) &&
           (!checkpoint || same_checkpoint(checkpoint, kj_get(got, "checkpoint"))) &&
           (!after || near(after, kj_get(got, "percentilesAfterRestore"), 1e-9, 0));
}

/* ---- peak prediction ------------------------------------------------------------------------- */

struct scene {
    struct kobj *node;
    struct vec_of(struct kobj *) pods;
    struct models *models;
    nsec_t now;
};

static void scene_fini(struct scene *s)
{
    kobj_unref(s->node);
    vec_foreach(&s->pods, i)
        kobj_unref(s->pods.items[i]);
    vec_fini(&s->pods);
    models_free(s->models);
}

static struct usage usage_of(const struct kj_val *v)
{
    return (struct usage){ kj_type(v) == KJ_OBJ, number(kj_get(v, "cpu")),
                           number(kj_get(v, "memory")) };
}

static int train_round(struct scene *s, const struct kj_val *round, struct arena *a,
                       struct kerr *err)
{
    struct pod_usage *pods = arena_newn0(a, s->pods.n, struct pod_usage);
    const char *when = kj_str_or(kj_get(round, "time"), "");
    char uid[MODEL_UID_MAX];

    int r = ktime_parse(when, strlen(when), &s->now, err);
    if (r < 0)
        return r;
    vec_foreach(&s->pods, i) {
        kuid_format(s->pods.items[i]->meta.uid, uid, sizeof uid);
        pods[i] =
            (struct pod_usage){ arena_strdup(a, uid), pod_priority_class(pod_of(s->pods.items[i])),
                                usage_of(kj_get(kj_get(round, "pods"), uid)) };
    }
    models_train(s->models, s->now, pods, s->pods.n, usage_of(kj_get(round, "node")));
    return 0;
}

static int set_scene(struct scene *s, const struct kj_val *in, struct kj_scratch *scratch,
                     struct arena *a, struct kerr *err)
{
    const struct kj_val *pods = kj_get(in, "pods"), *rounds = kj_get(in, "rounds");
    struct models_options o = models_options_default();

    o.cpu_half_life = kj_i64_or(kj_get(in, "cpuHalfLifeSeconds"), 0) * NSEC_PER_SEC;
    o.memory_half_life = kj_i64_or(kj_get(in, "memoryHalfLifeSeconds"), 0) * NSEC_PER_SEC;
    s->models = models_new(&o);
    int r = kobj_decode(&kind_node, kj_get(in, "node"), scratch, &s->node, err);
    for (size_t i = 0; r == 0 && i < kj_len(pods); i++) {
        struct kobj *pod = NULL;
        r = kobj_decode(&kind_pod, kj_at(pods, i), scratch, &pod, err);
        if (r == 0)
            vec_push(&s->pods, pod);
    }
    for (size_t i = 0; r == 0 && i < kj_len(rounds); i++)
        r = train_round(s, kj_at(rounds, i), a, err);
    return r;
}

static void write_amounts(struct kjw *w, const char *key, struct amounts a)
{
    kjw_obj(w, key);
    kjw_i64(w, "cpu", a.cpu);
    kjw_i64(w, "memory", a.memory);
    kjw_end(w);
}

static void write_prediction(struct kjw *w, const struct models *m, const char *uid)
{
    struct prediction p;

    if (models_predict(m, uid, &p, NULL) < 0)
        return;
    kjw_obj(w, uid);
    write_amounts(w, "p60", p.p60);
    write_amounts(w, "p90", p.p90);
    write_amounts(w, "p95", p.p95);
    write_amounts(w, "p98", p.p98);
    write_amounts(w, "max", p.max);
    kjw_end(w);
}

static void write_predictions(struct kjw *w, const struct scene *s)
{
    char uid[MODEL_UID_MAX];

    kjw_obj(w, "predictions");
    write_prediction(w, s->models, MODEL_NODE);
    write_prediction(w, s->models, MODEL_SYSTEM);
    for (int c = 0; c < PRIO_COUNT; c++)
        write_prediction(w, s->models, model_of_class((enum priority_class)c));
    vec_foreach(&s->pods, i) {
        kuid_format(s->pods.items[i]->meta.uid, uid, sizeof uid);
        write_prediction(w, s->models, uid);
    }
    kjw_end(w);
}

static void write_reclaim(struct kjw *w, const struct scene *s, const struct reclaim_options *o)
{
    CLEANUP(reclaim_fini) struct reclaim r;
    struct reclaim_views views;
    struct kerr err = { 0 };

    reclaim_init(&r, models_predictor(s->models), o, s->now);
    kjw_arr(w, "unpredictedPods");
    vec_foreach(&s->pods, i)
        if (reclaim_add(&r, pod_of(s->pods.items[i]), &err) < 0)
            kjw_str(w, NULL, s->pods.items[i]->meta.name);
    kjw_end(w);
    if (reclaim_result_views(&r, node_of(s->node), &views, &err) == 0)
        write_amounts(w, "prodReclaimable", views.answer);
    if (reclaim_peak_views(&r, &views, &err) == 0)
        write_amounts(w, "prodPeak", views.answer);
}

static int run_peak(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    struct reclaim_options o = {
        .cold_start = kj_i64_or(kj_get(in, "coldStartSeconds"), 0) * NSEC_PER_SEC,
        .safety_margin_percent = kj_i64_or(kj_get(in, "safetyMarginPercent"), 0),
    };
    struct scene s = { 0 };
    struct kjw w = kjw_to(got);

    int r = set_scene(&s, in, scratch, a, err);
    if (r == 0) {
        kjw_obj(&w, NULL);
        write_predictions(&w, &s);
        write_reclaim(&w, &s, &o);
        kjw_end(&w);
    }
    scene_fini(&s);
    return r;
}

/* CPU within 2 milli, memory within a millionth: amounts of memory are far above the 2. */
static bool same_peak(const struct kj_val *out, const struct kj_val *got)
{
    return kj_len(kj_get(out, "predictions")) == kj_len(kj_get(got, "predictions")) &&
           kj_len(kj_get(out, "unpredictedPods")) == kj_len(kj_get(got, "unpredictedPods")) &&
           near(out, got, 1e-6, 2);
}

int golden_pods(const struct kj_val *in, struct kj_scratch *scratch, struct podset **ret,
                struct kerr *err)
{
    size_t n = kj_len(in);
    struct npod **pods = xnewn0(n + 1, struct npod *);
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = npod_decode(kj_at(in, i), i, CGROUP_SYSTEMD, scratch, &pods[i], err);
    if (r == 0) {
        *ret = podset_new(pods, n);
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        npod_unref(pods[i]);
    free(pods);
    return r;
}

const struct golden_runner golden_koordlet[] = {
    { "aggregate", run_aggregate, same_aggregate },
    { "blkio", run_blkio, NULL },
    { "cgroup-convert", run_cgroup, same_cgroup },
    { "cpu-burst", run_burst, NULL },
    { "cpu-suppress", run_suppress, NULL },
    { "evict-cpu", run_evict, same_evict },
    { "evict-memory", run_evict, same_evict },
    { "histogram", run_histogram, same_histogram },
    { "memory-qos", run_memory, same_memory },
    { "nodemetric", run_nodemetric, same_nodemetric },
    { "peak-prediction", run_peak, same_peak },
    { "resctrl", run_resctrl, NULL },
    { "runtimehooks", run_hooks, NULL },
    { "topology", run_topology, same_topology },
    { NULL, NULL, NULL },
};
