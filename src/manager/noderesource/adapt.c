/* adapt.c - the cut of nodes in trouble. */
#include "manager/noderesource/adapt.h"

#include <inttypes.h>

#include "base/ktime.h"
#include "manager/noderesource/plugin.h"
#include "json/kj.h"

/* A report that comes later than so many intervals leaves a gap. */
#define GAP_INTERVALS 2.5

/* ---- signs of trouble ------------------------------------------------------------------------ */

struct trouble { /* what is wrong, and for which resource */
    bool cpu, memory;
    struct strbuf text;
};

static void add(struct trouble *t, bool cpu, bool memory, const char *fmt, ...) PRINTF(4, 5);
static void add(struct trouble *t, bool cpu, bool memory, const char *fmt, ...)
{
    va_list ap;

    strbuf_append(&t->text, t->text.len ? ", " : "");
    va_start(ap, fmt);
    strbuf_vappendf(&t->text, fmt, ap);
    va_end(ap);
    t->cpu |= cpu;
    t->memory |= memory;
}

static const struct {
    const char *condition;
    bool cpu, memory;
} pressures[] = { { "MemoryPressure", false, true },
                  { "DiskPressure", true, true },
                  { "PIDPressure", true, true } };

bool nr_node_pressure(const struct node *n)
{
    for (size_t i = 0; i < ARRAY_LEN(pressures); i++)
        if (condition_is_true(&n->status.conditions, pressures[i].condition))
            return true;
    return false;
}

static void look_for_pressure(const struct node *n, struct trouble *t)
{
    for (size_t i = 0; i < ARRAY_LEN(pressures); i++)
        if (condition_is_true(&n->status.conditions, pressures[i].condition))
            add(t, pressures[i].cpu, pressures[i].memory, "the node has %s",
                pressures[i].condition);
}

static int64_t percent_of(int64_t part, int64_t whole)
{
    return whole > 0 ? i64_muldiv(part, 100, whole) : 0;
}

/* Use of the whole node beyond what batch pods may fill it to. */
static void look_for_heat(const struct nr_input *in, const struct colocation_strategy *s,
                          struct trouble *t)
{
    struct nr_amount used = nr_amount_of(&in->metric->status.node_metric->node_usage.resources);
    struct nr_amount all = nr_amount_of(&in->node->status.capacity);
    int64_t cpu = percent_of(qty_milli(used.cpu), qty_milli(all.cpu));
    int64_t memory = percent_of(qty_value(used.memory), qty_value(all.memory));
    int64_t cpu_bar = nr_percent(s->cpu_reclaim_threshold_percent, 60);
    int64_t memory_bar = nr_percent(s->memory_reclaim_threshold_percent, 65);

    if (cpu > cpu_bar)
        add(t, true, false, "cpu use of %" PRId64 "%% is above %" PRId64 "%%", cpu, cpu_bar);
    if (memory > memory_bar)
        add(t, false, true, "memory use of %" PRId64 "%% is above %" PRId64 "%%", memory,
            memory_bar);
}

static void look_for_gap(const struct nr_input *in, const struct colocation_strategy *s,
                         const struct nr_adapt *had, struct trouble *t)
{
    nsec_t interval = i64_mul_sat(nr_percent(s->metric_report_interval_seconds, 60), NSEC_PER_SEC);
    nsec_t since = in->metric->status.update_time - had->report;
    char text[KTIME_TEXT_MAX];

    if (had->report == 0 || (double)since <= GAP_INTERVALS * (double)interval)
        return;
    kdur_format(since, text);
    add(t, true, true, "the node did not report for %s", text);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool step_one(const struct adaptive_options *o, bool trouble, nsec_t now, int64_t *cut,
                     nsec_t *since)
{
    int64_t was = *cut;

    if (trouble)
        *cut = MIN(was + o->step_percent.v, o->max_percent.v);
    else if (now - *since >= o->recover_seconds.v * NSEC_PER_SEC)
        *cut = MAX(was - o->recover_percent.v, (int64_t)0);
    if (trouble || *cut != was)
        *since = now;
    return *cut != was;
}

static void tell(const struct nr_adapt *was, const struct nr_adapt *s, const struct trouble *t,
                 struct strbuf *why)
{
    bool less = s->cut.cpu > was->cut.cpu || s->cut.memory > was->cut.memory;

    strbuf_appendf(why,
                   "reclaim thresholds are %" PRId64 " (cpu) and %" PRId64
                   " (memory) points below the configured ones",
                   s->cut.cpu, s->cut.memory);
    if (less)
        strbuf_appendf(why, ": %s", strbuf_str(&t->text));
    else
        strbuf_append(why, ": the node recovers");
}

bool nr_adapt_step(const struct nr_input *in, const struct colocation_strategy *strategy,
                   const struct adaptive_options *o, unsigned *evictions, struct nr_adapt *s,
                   struct strbuf *why)
{
    bool reported =
        in->metric && in->metric->status.node_metric && in->metric->status.update_time > s->report;
    bool pressure = nr_node_pressure(in->node), news = pressure && !s->pressure;
    struct trouble t = { .text = STRBUF_INIT };
    struct nr_adapt was = *s;

    s->pressure = pressure;
    if (!o->enable || (!reported && !news))
        return false;
    look_for_pressure(in->node, &t);
    if (reported) {
        look_for_heat(in, strategy, &t);
        look_for_gap(in, strategy, s, &t);
        s->report = in->metric->status.update_time;
    }
    if (*evictions > 0)
        add(&t, true, true, "koordlet evicted %u pods", *evictions);
    *evictions = 0;
    bool changed = step_one(o, t.cpu, in->now, &s->cut.cpu, &s->cpu_since);
    changed |= step_one(o, t.memory, in->now, &s->cut.memory, &s->memory_since);
    if (changed)
        tell(&was, s, &t, why);
    strbuf_fini(&t.text);
    return changed;
}

/* ---- in the NodeSLO -------------------------------------------------------------------------- */

#define KEY "koord"

const char *nr_cut_store(const char *extensions, struct nr_cut cut, struct arena *a)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *text = str_or(extensions, "{\"Object\":{}}");
    struct kj_mval *root = kj_mraw(d, text, strlen(text));
    bool none = cut.cpu == 0 && cut.memory == 0;

    if (kj_mtype(root) != KJ_OBJ || (none && !kj_mget(kj_mget(root, "Object"), KEY)))
        return extensions;
    if (kj_mtype(kj_mget(root, "Object")) != KJ_OBJ)
        kj_mset(d, root, "Object", kj_mobj(d));
    struct kj_mval *object = kj_mget(root, "Object");
    kj_mdel(object, KEY, sizeof KEY - 1);
    if (!none) {
        struct kj_mval *v = kj_mobj(d);
        kj_mset(d, v, "cpuCutPercent", kj_mi64(d, cut.cpu));
        kj_mset(d, v, "memoryCutPercent", kj_mi64(d, cut.memory));
        kj_mset(d, object, KEY, v);
    }
    kj_mwrite(root, 0, &out);
    return arena_strndup(a, out.data, out.len);
}

static int64_t percent(const struct kj_val *v)
{
    int64_t n = kj_i64_or(v, 0);
    return n < 0 || n > 100 ? 0 : n;
}

struct nr_cut nr_cut_load(const char *extensions)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!extensions || kj_parse(extensions, strlen(extensions), 0, &doc, NULL) < 0)
        return (struct nr_cut){ 0, 0 };
    const struct kj_val *v = kj_get(kj_get(kj_root(doc), "Object"), KEY);
    return (struct nr_cut){ percent(kj_get(v, "cpuCutPercent")),
                            percent(kj_get(v, "memoryCutPercent")) };
}
