/* gates.c - feature gates. */
#include "component/gates.h"

#include "base/klog.h"
#include "base/strbuf.h"
#include "component/flags.h"
#include "component/metrics.h"

static const char *const all_names[] = { "AllAlpha", "AllBeta" };

/* "ALPHA", "BETA", "" for GA, "DEPRECATED": as the metric and Kubernetes write it. */
static const char *gate_stage_name(enum gate_stage stage)
{
    static const char *const names[] = { "ALPHA", "BETA", "", "DEPRECATED" };
    return names[stage];
}

static void bit_put(uint64_t *bits, size_t i, bool v)
{
    uint64_t mask = UINT64_C(1) << (i % 64);
    bits[i / 64] = v ? bits[i / 64] | mask : bits[i / 64] & ~mask;
}

static bool bit_get(const uint64_t *bits, size_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static void resolve(struct gates *g)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct gate *t = &g->table[i];
        bool on = t->def;
        int8_t all = t->stage <= GATE_BETA ? g->all[t->stage] : -1;
        if (bit_get(g->given, i))
            on = bit_get(g->value, i);
        else if (all >= 0 && !t->locked)
            on = all;
        bit_put(g->on, i, on);
    }
}

void gates_init(struct gates *g, const struct gate *table, size_t n)
{
    assert(n <= GATES_MAX);
    *g = (struct gates){ .table = table, .n = (uint32_t)n, .all = { -1, -1 } };
    resolve(g);
}

static int unknown(const struct gates *g, struct str name, struct kerr *err)
{
    const char *names[GATES_MAX];
    CLEANUP(mem_free) char *word = xstrndup(name.p, MIN(name.n, (size_t)80));

    for (size_t i = 0; i < g->n; i++)
        names[i] = g->table[i].name;
    const char *near = word_nearest(word, names, g->n);
    if (near)
        return kerr_set(err, -EINVAL, "unknown feature gate %s (did you mean %s?)", word, near);
    return kerr_set(err, -EINVAL, "unknown feature gate %s", word);
}

static int set_one(struct gates *g, struct str name, bool v, struct kerr *err)
{
    for (size_t i = 0; i < ARRAY_LEN(all_names); i++) {
        if (str_eqz(name, all_names[i])) {
            g->all[i] = v;
            return 0;
        }
    }
    for (size_t i = 0; i < g->n; i++) {
        const struct gate *t = &g->table[i];
        if (!str_eqz(name, t->name))
            continue;
        if (t->locked && t->def != v)
            return kerr_set(err, -EINVAL, "feature gate %s is locked to %s", t->name,
                            t->def ? "true" : "false");
        bit_put(g->given, i, true);
        bit_put(g->value, i, v);
        return 0;
    }
    return unknown(g, name, err);
}

static struct str trimmed(const char *p, size_t n)
{
    while (n > 0 && *p == ' ')
        p++, n--;
    while (n > 0 && p[n - 1] == ' ')
        n--;
    return (struct str){ p, n };
}

int gates_parse(struct gates *g, const char *text, struct kerr *err)
{
    struct gates next = *g;

    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        struct str piece = trimmed(p, n);
        p += n + (p[n] == ',');
        if (piece.n == 0)
            continue;
        const char *eq = memchr(piece.p, '=', piece.n);
        struct str name = trimmed(piece.p, eq ? (size_t)(eq - piece.p) : piece.n);
        if (!eq)
            return kerr_set(err, -EINVAL, "missing value for feature gate %.*s (write %.*s=true)",
                            (int)MIN(name.n, (size_t)80), name.p, (int)MIN(name.n, (size_t)80),
                            name.p);
        struct str value = trimmed(eq + 1, piece.n - (size_t)(eq - piece.p) - 1);
        bool v;
        if (flag_bool_parse(value.p, value.n, &v) < 0)
            return kerr_set(err, -EINVAL, "feature gate %.*s: '%.*s' is not a boolean",
                            (int)MIN(name.n, (size_t)80), name.p, (int)MIN(value.n, (size_t)40),
                            value.p);
        int r = set_one(&next, name, v, err);
        if (r < 0)
            return r;
    }
    resolve(&next);
    *g = next;
    return 0;
}

int gates_set(void *gates, const char *text, struct kerr *err)
{
    return gates_parse(gates, text, err);
}

void gates_log(const struct gates *g)
{
    for (unsigned i = 0; i < g->n; i++) {
        const struct gate *t = &g->table[i];
        if (!gates_given(g, i) || t->stage < GATE_GA)
            continue;
        KLOG_W("Feature gate will be removed in a future release", KV_S("gate", t->name),
               KV_B("value", gates_on(g, i)),
               KV_S("stage", t->stage == GATE_GA ? "GA" : "DEPRECATED"));
    }
}

static int by_name(const void *a, const void *b)
{
    const struct gate *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

void gates_usage(const void *gates, struct strbuf *out)
{
    const struct gates *g = gates;
    const struct gate *sorted[GATES_MAX];

    for (size_t i = 0; i < g->n; i++)
        sorted[i] = &g->table[i];
    qsort(sorted, g->n, sizeof sorted[0], by_name);
    strbuf_append(out, "AllAlpha=true|false (ALPHA - default=false)\n"
                       "AllBeta=true|false (BETA - default=false)\n");
    for (size_t i = 0; i < g->n; i++) {
        const struct gate *t = sorted[i];
        const char *stage = t->stage == GATE_GA ? "GA" : gate_stage_name(t->stage);
        strbuf_appendf(out, "%s=true|false (%s - default=%s)\n", t->name, stage,
                       t->def ? "true" : "false");
    }
}

void gates_metrics(const struct gates *g, struct metrics *m)
{
    static const struct metric_desc desc = {
        .name = "kubernetes_feature_enabled",
        .help = "[BETA] This metric records the data about the stage and enablement of a k8s "
                "feature.",
        .type = METRIC_GAUGE,
        .labels = { "name", "stage" },
        .max_children = 4 * GATES_MAX, /* of several components of one process */
    };
    struct metric *f = metrics_add(m, &desc);

    for (unsigned i = 0; i < g->n; i++) {
        const struct gate *t = &g->table[i];
        const char *const values[] = { t->name, gate_stage_name(t->stage) };
        gauge_set(metric_gauge(f, values), gates_on(g, i));
    }
}
