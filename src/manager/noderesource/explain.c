/* explain.c - a calculation in JSON. */
#include "manager/noderesource/explain.h"

#include <inttypes.h>

#include "base/ktime.h"
#include "manager/noderesource/plugin.h"
#include "json/kj.h"

/* One of cpu and memory of an amount: milli-cores or bytes. */
static int64_t part(struct nr_amount a, bool cpu)
{
    return cpu ? qty_milli(a.cpu) : qty_value(a.memory);
}

/* ---- terms ----------------------------------------------------------------------------------- */

static void term(struct kjw *w, const char *name, int64_t value, const char *fmt, ...) PRINTF(4, 5);
static void term(struct kjw *w, const char *name, int64_t value, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf note = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&note, fmt, ap);
    va_end(ap);
    kjw_obj(w, NULL);
    kjw_str(w, "name", name);
    kjw_i64(w, "value", value);
    if (note.len)
        kjw_str(w, "note", strbuf_str(&note));
    kjw_end(w);
}

static void batch_terms(struct kjw *w, const struct nr_batch_terms *t,
                        const struct colocation_strategy *s, bool cpu)
{
    enum nr_policy policy = (enum nr_policy)(cpu ? t->cpu_policy : t->memory_policy);
    int64_t percent = cpu ? nr_percent(s->cpu_reclaim_threshold_percent, 60)
                          : nr_percent(s->memory_reclaim_threshold_percent, 65);

    kjw_arr(w, "terms");
    term(w, "capacity", part(t->capacity, cpu), "%s", "");
    term(w, "safety margin", -part(t->margin, cpu), "100%% - reclaim threshold %" PRId64 "%%",
         percent);
    if (policy == NR_BY_REQUEST)
        term(w, "reserved", -part(t->reserved, cpu), "kubelet %" PRId64 ", annotation %" PRId64,
             part(t->kubelet_reserved, cpu), part(t->annotation_reserved, cpu));
    else
        term(w, "system or reserved", -part(t->system_or_reserved, cpu),
             "the larger of system use %" PRId64 " (host applications %" PRId64
             ") and reserved %" PRId64,
             part(t->system, cpu), part(t->host_apps, cpu), part(t->reserved, cpu));
    if (policy == NR_BY_REQUEST)
        term(w, "high-priority requests", -part(t->hp.request, cpu), "%u pods", t->hp.pods);
    else if (policy == NR_BY_MAX_USAGE_REQUEST)
        term(w, "high-priority use or requests", -part(t->hp.max, cpu),
             "%u pods, the larger of both for each that is measured", t->hp.pods);
    else
        term(w, "high-priority use", -part(t->hp.used, cpu),
             "%u pods, of these without metric %u by their requests %" PRId64
             "; metrics without a running pod %u: %" PRId64,
             t->hp.pods, t->hp.unmeasured_pods, part(t->hp.unmeasured, cpu), t->hp.dangling_metrics,
             part(t->hp.dangling, cpu));
    kjw_end(w);
}

static void batch_resource(struct kjw *w, const struct nr_result *r, const struct nr_plan *p,
                           bool cpu)
{
    CLEANUP(strbuf_fini) struct strbuf message = STRBUF_INIT;
    const struct nr_batch_terms *t = &r->batch;
    struct opt_i64 limit = cpu ? t->cpu_limit_percent : t->memory_limit_percent;
    struct qty other = cpu ? p->third_party.cpu : p->third_party.memory;
    bool held = cpu ? r->damping.cpu_held : r->damping.memory_held;

    kjw_obj(w, cpu ? "cpu" : "memory");
    kjw_str(w, "policy", nr_policy_name((enum nr_policy)(cpu ? t->cpu_policy : t->memory_policy)));
    batch_terms(w, t, r->strategy, cpu);
    kjw_i64(w, "formula", part(t->formula, cpu));
    if (limit.set)
        kjw_i64(w, "limitPercent", limit.v);
    if (held) {
        kjw_obj(w, "damping");
        kjw_i64(w, "undamped", part(r->damping.undamped, cpu));
        kjw_i64(w, "current", part(r->damping.current, cpu));
        kjw_i64(w, "requestsOfNewPods", part(t->hp.fresh, cpu));
        kjw_end(w);
    }
    kjw_i64(w, "result", part(t->result, cpu));
    if (!qty_is_zero(other))
        kjw_i64(w, "thirdParty", qty_value(other));
    nr_batch_message(t, cpu ? RES_CPU : RES_MEMORY, &message);
    kjw_str(w, "message", strbuf_str(&message));
    kjw_end(w);
}

static void mid_terms(struct kjw *w, const struct nr_mid_terms *t, bool cpu)
{
    int64_t threshold = cpu ? t->cpu_threshold_percent : t->memory_threshold_percent;

    kjw_arr(w, "terms");
    term(w, "capacity", part(t->capacity, cpu), "%s", "");
    if (t->is_static) {
        term(w, "static share",
             part(nr_scale(t->capacity, percent_ratio(t->static_cpu_percent),
                           percent_ratio(t->static_memory_percent)),
                  cpu),
             "%" PRId64 "%% of the capacity",
             cpu ? t->static_cpu_percent : t->static_memory_percent);
    } else {
        term(w, "reclaimable of prod", part(t->reclaimable, cpu), "as koordlet predicts");
        term(w, "unused", part(t->unused, cpu), "%s",
             t->usage_known ? "capacity - use of the node" : "the use of the node is not reported");
        term(w, "unallocated", part(t->unallocated, cpu),
             "capacity - reserved %" PRId64 " - requests of prod %" PRId64 "; %" PRId64
             "%% of it count",
             part(t->reserved, cpu), part(t->prod_allocated, cpu), t->unallocated_percent);
    }
    term(w, "threshold",
         part(nr_scale(t->capacity, percent_ratio(t->cpu_threshold_percent),
                       percent_ratio(t->memory_threshold_percent)),
              cpu),
         "at most %" PRId64 "%% of the capacity", threshold);
    kjw_end(w);
}

static void mid_resource(struct kjw *w, const struct nr_mid_terms *t, bool cpu)
{
    CLEANUP(strbuf_fini) struct strbuf message = STRBUF_INIT;

    kjw_obj(w, cpu ? "cpu" : "memory");
    kjw_str(w, "policy", t->is_static ? "static" : "prediction");
    mid_terms(w, t, cpu);
    kjw_i64(w, "result", part(t->result, cpu));
    nr_mid_message(t, cpu ? RES_CPU : RES_MEMORY, &message);
    kjw_str(w, "message", strbuf_str(&message));
    kjw_end(w);
}

/* false: the plugin gave nothing, and that is written. */
static bool open_plugin(struct kjw *w, const char *key, const struct nr_outcome *o)
{
    kjw_obj(w, key);
    if (!o->reset && o->err.code == 0)
        return true;
    kjw_str(w, "reset", o->reset ? o->reset : "it failed");
    kjw_str(w, "why", o->reset ? o->reset_why : o->err.text);
    return false;
}

static void write_formulas(struct kjw *w, const struct nr_result *r, const struct nr_plan *p)
{
    if (open_plugin(w, "batch", &r->outcome[NR_BATCH])) {
        batch_resource(w, r, p, true);
        batch_resource(w, r, p, false);
    }
    kjw_end(w);
    if (open_plugin(w, "mid", &r->outcome[NR_MID])) {
        mid_resource(w, &r->mid, true);
        mid_resource(w, &r->mid, false);
    }
    kjw_end(w);
    kjw_arr(w, "zones");
    for (uint32_t i = 0; i < r->zones.n; i++) {
        kjw_obj(w, NULL);
        kjw_str(w, "name", r->zones.items[i].name);
        kjw_i64(w, "cpu", qty_value(r->zones.items[i].batch_cpu));
        kjw_i64(w, "memory", qty_value(r->zones.items[i].batch_memory));
        kjw_end(w);
    }
    kjw_end(w);
}

/* ---- where the strategy comes from ----------------------------------------------------------- */

static void write_problems(struct kjw *w, const struct nr_result *r, const struct slo_sync *sync)
{
    kjw_arr(w, "problems");
    for (enum slo_key k = 0; k < SLO_KEYS; k++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        if (sync->bad[k].code == 0)
            continue;
        strbuf_appendf(&text, "%s is refused: %s", slo_keys[k].key, sync->bad[k].text);
        kjw_str(w, NULL, strbuf_str(&text));
    }
    if (r->sources.entry && r->sources.entry->problem)
        kjw_str(w, NULL, r->sources.entry->problem);
    if (r->sources.annotation_problem)
        kjw_str(w, NULL, r->sources.annotation_problem);
    if (r->extension_problem)
        kjw_str(w, NULL, r->extension_problem);
    kjw_end(w);
}

static void write_colocation(struct kjw *w, const struct nr_input *in, const struct nr_result *r,
                             const struct slo_sync *sync)
{
    const struct {
        const char *key;
        bool counts;
    } labels[] = { { LABEL_CPU_RECLAIM_RATIO, r->sources.cpu_label },
                   { LABEL_MEMORY_RECLAIM_RATIO, r->sources.memory_label },
                   { LABEL_MID_STATIC_CPU_RATIO, r->sources.mid_cpu_label },
                   { LABEL_MID_STATIC_MEMORY_RATIO, r->sources.mid_memory_label } };
    CLEANUP(strbuf_fini) struct strbuf strategy = STRBUF_INIT;

    kjw_obj(w, "colocation");
    kjw_bool(w, "enabled", !r->disabled);
    kjw_bool(w, "available", sloconfig_available(in->config));
    if (r->sources.entry)
        kjw_str(w, "entry", r->sources.entry->name);
    kjw_bool(w, "annotation", r->sources.annotation);
    kjw_arr(w, "labels");
    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        if (labels[i].counts)
            kjw_str(w, NULL, labels[i].key);
    kjw_end(w);
    write_problems(w, r, sync);
    kj_encode(&colocation_strategy_schema, r->strategy, &strategy);
    kjw_raw(w, "strategy", strategy.data, strategy.len);
    kjw_end(w);
}

static void write_report(struct kjw *w, const struct nr_input *in)
{
    char text[KTIME_TEXT_MAX];
    nsec_t at = in->metric ? in->metric->status.update_time : 0;

    if (at == 0)
        return;
    kjw_obj(w, "report");
    size_t n = ktime_format(at, text);
    kjw_strn(w, "time", text, n);
    n = kdur_format((in->now - at) / NSEC_PER_SEC * NSEC_PER_SEC, text);
    kjw_strn(w, "age", text, n);
    kjw_i64(w, "pods", in->metric->status.pods_metric.n);
    kjw_end(w);
}

/* ---- what would be written ------------------------------------------------------------------- */

static void write_quantity(struct kjw *w, const char *key, const struct qty *q)
{
    char text[QTY_TEXT_MAX];

    if (!q)
        return;
    size_t n = qty_print(*q, text);
    kjw_strn(w, key, text, n);
}

static void write_resources(struct kjw *w, const struct nr_input *in, const struct nr_result *r,
                            const struct nr_plan *p)
{
    struct opt_f64 threshold = r->strategy->resource_diff_threshold;

    kjw_arr(w, "resources");
    for (enum nr_resource i = 0; i < NR_RESOURCES; i++) {
        const struct nr_want *want = &p->resources[i];
        const struct qty *have = reslist_find(&in->node->status.allocatable, nr_resource_names[i]);
        const struct qty *next = want->act == NR_SET ? &want->value : NULL;
        if (want->act == NR_LEAVE || (!have && !next))
            continue;
        kjw_obj(w, NULL);
        kjw_str(w, "name", nr_resource_names[i]);
        write_quantity(w, "now", have);
        write_quantity(w, "calculated", next);
        if (have && next && qty_value(*have) != 0)
            kjw_f64(w, "changePercent",
                    (double)(qty_value(*next) - qty_value(*have)) * 100 / (double)qty_value(*have));
        kjw_bool(w, "due", nr_differs(have, next, threshold.set ? threshold.v : 0.1));
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_plugins(struct kjw *w, const struct nr_result *r, const struct nr_plan *p)
{
    kjw_obj(w, "plugins");
    for (size_t i = 0; i < NR_PLUGINS; i++) {
        const struct kerr *err = r->outcome[i].err.code < 0 ? &r->outcome[i].err : &p->bad[i];
        if (err->code < 0)
            kjw_str(w, nr_plugins[i]->name, err->text);
        else if (r->outcome[i].reset && i != NR_BATCH && i != NR_MID)
            kjw_str(w, nr_plugins[i]->name, r->outcome[i].reset_why);
    }
    kjw_end(w);
}

/* Seen from outside: when the controller wrote last is not known here. */
static void write_due(struct kjw *w, const struct nr_input *in, const struct nr_result *r,
                      const struct nr_plan *p)
{
    struct nr_due_result due = nr_due(in, r, p, in->now);
    CLEANUP(strbuf_fini) struct strbuf patch = STRBUF_INIT;
    int64_t patience = nr_percent(r->strategy->update_time_threshold_seconds, 300);
    double threshold =
        r->strategy->resource_diff_threshold.set ? r->strategy->resource_diff_threshold.v : 0.1;

    nr_patch_status(in->node, p, &patch);
    kjw_obj(w, "write");
    kjw_bool(w, "differs", patch.len > 0);
    kjw_bool(w, "now", due.status == NR_DUE_DIFF || due.meta);
    if (due.status == NR_DUE_DIFF)
        kjw_str(w, "resource", nr_resource_names[due.resource]);
    kjw_f64(w, "thresholdPercent", threshold * 100);
    kjw_i64(w, "atLatestSeconds", patience);
    if (patch.len)
        kjw_raw(w, "patch", patch.data, patch.len);
    kjw_end(w);
}

void nr_explain(const struct nr_input *in, const struct slo_sync *sync, struct arena *a,
                struct strbuf *out)
{
    struct nr_result r;
    struct nr_plan p;
    struct kjw w = kjw_to(out);

    nr_calculate(in, a, &r);
    nr_prepare(in, &r, a, &p);
    kjw_obj(&w, NULL);
    kjw_str(&w, "node", in->node->obj.meta.name);
    write_colocation(&w, in, &r, sync);
    write_report(&w, in);
    if (r.cut.cpu || r.cut.memory) {
        kjw_obj(&w, "adaptive");
        kjw_i64(&w, "cpuCutPercent", r.cut.cpu);
        kjw_i64(&w, "memoryCutPercent", r.cut.memory);
        kjw_end(&w);
    }
    write_formulas(&w, &r, &p);
    write_plugins(&w, &r, &p);
    write_resources(&w, in, &r, &p);
    write_due(&w, in, &r, &p);
    kjw_end(&w);
}
