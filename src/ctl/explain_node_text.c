/* explain_node_text.c - what koordctl explain node prints for people: the calculation's JSON. */
#include <inttypes.h>

#include "base/strbuf.h"
#include "ctl/explain.h"
#include "json/kj.h"

static const char *text_of(const struct kj_val *v, const char *member)
{
    return kj_str_or(kj_get(v, member), "");
}

static int64_t number_of(const struct kj_val *v, const char *member)
{
    return kj_i64_or(kj_get(v, member), 0);
}

/* ---- where the strategy comes from ----------------------------------------------------------- */

static void put_colocation(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *c = kj_get(root, "colocation"), *labels = kj_get(c, "labels");
    const struct kj_val *problems = kj_get(c, "problems");

    strbuf_appendf(out, "Node %s: colocation is %s (cluster strategy", text_of(root, "node"),
                   kj_bool(kj_get(c, "enabled"), false) ? "on" : "off");
    if (kj_get(c, "entry"))
        strbuf_appendf(out, ", node entry \"%s\"", text_of(c, "entry"));
    if (kj_bool(kj_get(c, "annotation"), false))
        strbuf_append(out, ", the node's annotation");
    for (size_t i = 0; i < kj_len(labels); i++)
        strbuf_appendf(out, ", label %s", kj_str_or(kj_at(labels, i), ""));
    strbuf_append(out, ").\n");
    if (!kj_bool(kj_get(c, "available"), true))
        strbuf_append(out, "The configuration was never readable: nodes stay as they are.\n");
    for (size_t i = 0; i < kj_len(problems); i++)
        strbuf_appendf(out, "Problem: %s.\n", kj_str_or(kj_at(problems, i), ""));
}

static void put_report(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *r = kj_get(root, "report"), *a = kj_get(root, "adaptive");

    if (r)
        strbuf_appendf(out, "Last report: %s, %s ago, with %" PRId64 " pods.\n", text_of(r, "time"),
                       text_of(r, "age"), number_of(r, "pods"));
    else
        strbuf_append(out, "The node never reported.\n");
    if (a)
        strbuf_appendf(out,
                       "In trouble: its reclaim thresholds are %" PRId64 " (cpu) and %" PRId64
                       " (memory) points below the configured ones.\n",
                       number_of(a, "cpuCutPercent"), number_of(a, "memoryCutPercent"));
}

/* ---- formulas -------------------------------------------------------------------------------- */

static void put_line(const char *name, int64_t value, const char *note, struct strbuf *out)
{
    strbuf_appendf(out, "  %-32s %20" PRId64 "%s%s\n", name, value, *note ? "   " : "", note);
}

static void put_terms(const struct kj_val *terms, struct strbuf *out)
{
    for (size_t i = 0; i < kj_len(terms); i++) {
        const struct kj_val *t = kj_at(terms, i);
        put_line(text_of(t, "name"), number_of(t, "value"), text_of(t, "note"), out);
    }
}

static void put_resource(const char *name, const char *unit, const struct kj_val *v,
                         struct strbuf *out)
{
    const struct kj_val *damping = kj_get(v, "damping");

    strbuf_appendf(out, "\n%s (%s), by %s\n", name, unit, text_of(v, "policy"));
    put_terms(kj_get(v, "terms"), out);
    if (kj_get(v, "limitPercent")) {
        CLEANUP(mem_free)
        char *note =
            xasprintf("at most %" PRId64 "%% of the capacity", number_of(v, "limitPercent"));
        put_line("limit", number_of(v, "result"), note, out);
    }
    if (damping) {
        CLEANUP(mem_free)
        char *note =
            xasprintf("a fall to %" PRId64
                      " that use does not explain waits for a second report: requests of "
                      "new pods %" PRId64,
                      number_of(damping, "undamped"), number_of(damping, "requestsOfNewPods"));
        put_line("held back", number_of(v, "result"), note, out);
    }
    put_line("=", number_of(v, "result"), "", out);
    if (kj_get(v, "thirdParty"))
        put_line("given away by third parties", -number_of(v, "thirdParty"), "", out);
}

static void put_pair(const struct kj_val *root, const char *key, struct strbuf *out)
{
    const struct kj_val *v = kj_get(root, key);
    CLEANUP(mem_free) char *cpu = xasprintf("%s-cpu", key), *memory = xasprintf("%s-memory", key);

    if (kj_get(v, "reset")) {
        strbuf_appendf(out, "\n%s and %s are taken away: %s.\n", cpu, memory, text_of(v, "why"));
        return;
    }
    if (kj_get(v, "cpu"))
        put_resource(cpu, "milli-cores", kj_get(v, "cpu"), out);
    if (kj_get(v, "memory"))
        put_resource(memory, "bytes", kj_get(v, "memory"), out);
}

static void put_zones(const struct kj_val *zones, struct strbuf *out)
{
    if (kj_len(zones) == 0)
        return;
    strbuf_appendf(out, "\n%-12s %12s %20s\n", "NUMA zone", "batch-cpu", "batch-memory");
    for (size_t i = 0; i < kj_len(zones); i++) {
        const struct kj_val *z = kj_at(zones, i);
        strbuf_appendf(out, "%-12s %12" PRId64 " %20" PRId64 "\n", text_of(z, "name"),
                       number_of(z, "cpu"), number_of(z, "memory"));
    }
}

/* ---- what holds a change back ---------------------------------------------------------------- */

static void put_change(const struct kj_val *r, struct strbuf *out)
{
    double percent;

    if (kj_get(r, "changePercent") && kj_f64(kj_get(r, "changePercent"), &percent) == 0)
        strbuf_appendf(out, " %9.1f%%", percent);
    else
        strbuf_appendf(out, " %10s", "");
    strbuf_append(out, kj_bool(kj_get(r, "due"), false) ? "  to be written\n" : "\n");
}

static void put_resources(const struct kj_val *list, struct strbuf *out)
{
    if (kj_len(list) == 0)
        return;
    strbuf_appendf(out, "\n%-36s %16s %16s %10s\n", "Resource", "now", "calculated", "change");
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *r = kj_at(list, i);
        strbuf_appendf(out, "%-36s %16s %16s", text_of(r, "name"), kj_str_or(kj_get(r, "now"), "-"),
                       kj_str_or(kj_get(r, "calculated"), "-"));
        put_change(r, out);
    }
}

static void put_write(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *w = kj_get(root, "write");
    double threshold = 10;

    (void)kj_f64(kj_get(w, "thresholdPercent"), &threshold);
    strbuf_append(out, "\n");
    if (!kj_bool(kj_get(kj_get(root, "colocation"), "available"), true))
        strbuf_append(out, "Nothing is written without a readable configuration.\n");
    else if (!kj_bool(kj_get(w, "differs"), false))
        strbuf_append(out, "The node is as it should be.\n");
    else if (kj_bool(kj_get(w, "now"), false))
        strbuf_append(out, "The difference is written with the next look at the node.\n");
    else
        strbuf_appendf(out,
                       "Held back: no resource is apart by more than %g%% (resourceDiffThreshold). "
                       "Written with the first\nreport that comes %" PRId64
                       " s after the last write (updateTimeThresholdSeconds).\n",
                       threshold, number_of(w, "atLatestSeconds"));
}

static void put_plugins(const struct kj_val *plugins, struct strbuf *out)
{
    struct kj_iter it = kj_iter(plugins);
    const struct kj_val *why;
    struct str name;

    if (kj_len(plugins) > 0)
        strbuf_append(out, "\n");
    while (kj_next(&it, &name, &why))
        strbuf_appendf(out, "%.*s gives nothing: %s.\n", (int)name.n, name.p, kj_str_or(why, ""));
}

void explain_node_text(const struct kj_val *answer, struct strbuf *out)
{
    put_colocation(answer, out);
    put_report(answer, out);
    put_pair(answer, "batch", out);
    put_pair(answer, "mid", out);
    put_zones(kj_get(answer, "zones"), out);
    put_plugins(kj_get(answer, "plugins"), out);
    put_resources(kj_get(answer, "resources"), out);
    put_write(answer, out);
}
