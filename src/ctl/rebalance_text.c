/* rebalance_text.c - a plan of the descheduler, for people. */
#include "ctl/rebalance.h"

#include "base/strbuf.h"
#include "json/kj.h"

static bool is_source(const struct kj_val *node)
{
    const char *class = kj_str_or(kj_get(node, "class"), "");
    return streq(class, "high") || streq(class, "prodHigh");
}

/* ---- use before and after --------------------------------------------------------------------- */

/* What the moves add to the node, of one resource; negative: it has less. */
static int64_t change_of(const struct kj_val *moves, const char *node, const char *resource)
{
    int64_t sum = 0;

    for (size_t i = 0; i < kj_len(moves); i++) {
        const struct kj_val *m = kj_at(moves, i);
        int64_t use = kj_i64_or(kj_get(kj_get(m, "use"), resource), 0);
        const char *to = kj_str(kj_get(m, "to"));
        if (to && streq(kj_str_or(kj_get(m, "node"), ""), node))
            sum -= use;
        if (to && streq(to, node))
            sum += use;
    }
    return sum;
}

static void put_use(const struct kj_val *moves, const char *name, const struct kj_val *node,
                    const char *resource, struct strbuf *out)
{
    const struct kj_val *u = kj_get(kj_get(node, "use"), resource);
    int64_t capacity = kj_i64_or(kj_get(u, "capacity"), 0), used = kj_i64_or(kj_get(u, "used"), 0);
    int64_t change = change_of(moves, name, resource);

    if (capacity <= 0) {
        strbuf_appendf(out, "  %-16s", "-");
        return;
    }
    CLEANUP(strbuf_fini) struct strbuf cell = STRBUF_INIT;
    strbuf_appendf(&cell, "%.0f%%", 100.0 * (double)used / (double)capacity);
    if (change)
        strbuf_appendf(&cell, " -> %.0f%%", 100.0 * (double)(used + change) / (double)capacity);
    strbuf_appendf(out, "  %-16s", strbuf_str(&cell));
}

static void put_nodes(const struct kj_val *plan, struct strbuf *out)
{
    const struct kj_val *nodes = kj_get(plan, "nodes"), *moves = kj_get(plan, "moves"), *n;
    struct kj_iter it = kj_iter(nodes);
    struct str key;

    if (kj_len(nodes) == 0)
        return;
    strbuf_appendf(out, "%-24s  %-9s  %-16s  %-16s  %s\n", "NODE", "CLASS", "CPU", "MEMORY",
                   "USE OF THRESHOLD");
    while (kj_next(&it, &key, &n)) {
        CLEANUP(strbuf_fini) struct strbuf name = STRBUF_INIT;
        const struct kj_val *details = kj_get(n, "details");
        strbuf_appendn(&name, key.p, key.n);
        strbuf_appendf(out, "%-24s  %-9s", strbuf_str(&name), kj_str_or(kj_get(n, "class"), ""));
        put_use(moves, strbuf_str(&name), n, "cpu", out);
        put_use(moves, strbuf_str(&name), n, "memory", out);
        for (size_t i = 0; i < kj_len(details); i++)
            strbuf_appendf(out, "%s%s", i ? ", " : "  ", kj_str_or(kj_at(details, i), ""));
        strbuf_appendc(out, '\n');
    }
    strbuf_appendc(out, '\n');
}

/* ---- pods ------------------------------------------------------------------------------------- */

static void put_moves(const struct kj_val *moves, struct strbuf *out)
{
    if (kj_len(moves) == 0) {
        strbuf_append(out, "No pod would be moved.\n");
        return;
    }
    strbuf_appendf(out, "%-40s  %-20s  %-20s  %s\n", "POD", "FROM", "TO", "WHY");
    for (size_t i = 0; i < kj_len(moves); i++) {
        const struct kj_val *m = kj_at(moves, i);
        CLEANUP(strbuf_fini) struct strbuf pod = STRBUF_INIT;
        const char *to = kj_str(kj_get(m, "to")), *job = kj_str(kj_get(m, "job"));
        const char *reason = kj_str_or(kj_get(m, "reason"), "");
        strbuf_appendf(&pod, "%s/%s", kj_str_or(kj_get(m, "namespace"), ""),
                       kj_str_or(kj_get(m, "name"), ""));
        strbuf_appendf(out, "%-40s  %-20s  %-20s  %s%s%s\n", strbuf_str(&pod),
                       kj_str_or(kj_get(m, "node"), ""), to ? to : "nowhere",
                       kj_str_or(kj_get(m, "plugin"), ""), *reason ? ": " : "", reason);
        if (!to)
            strbuf_appendf(out, "    the scheduler: %s\n", kj_str_or(kj_get(m, "message"), ""));
        if (job)
            strbuf_appendf(out, "    podmigrationjob/%s created\n", job);
    }
}

static void put_kept(const struct kj_val *kept, struct strbuf *out)
{
    if (kj_len(kept) == 0)
        return;
    strbuf_appendf(out, "\n%-40s  %-20s  %s\n", "STAYS", "NODE", "BECAUSE");
    for (size_t i = 0; i < kj_len(kept); i++) {
        const struct kj_val *k = kj_at(kept, i);
        CLEANUP(strbuf_fini) struct strbuf pod = STRBUF_INIT;
        strbuf_appendf(&pod, "%s/%s", kj_str_or(kj_get(k, "namespace"), ""),
                       kj_str_or(kj_get(k, "name"), ""));
        strbuf_appendf(out, "%-40s  %-20s  %s\n", strbuf_str(&pod),
                       kj_str_or(kj_get(k, "node"), ""), kj_str_or(kj_get(k, "why"), ""));
    }
}

static unsigned count_sources(const struct kj_val *nodes)
{
    struct kj_iter it = kj_iter(nodes);
    const struct kj_val *n;
    struct str key;
    unsigned sum = 0;

    while (kj_next(&it, &key, &n))
        sum += is_source(n);
    return sum;
}

void rebalance_text(const struct kj_val *plan, struct strbuf *out)
{
    const char *error = kj_str(kj_get(plan, "error"));
    const struct kj_val *moves = kj_get(plan, "moves");

    put_nodes(plan, out);
    put_moves(moves, out);
    put_kept(kj_get(plan, "kept"), out);
    if (error)
        strbuf_appendf(out, "\nThe round ended early: %s\n", error);
    if (kj_len(moves))
        strbuf_appendf(out, "\n%zu pods would leave; %u nodes are above a threshold.\n",
                       kj_len(moves), count_sources(kj_get(plan, "nodes")));
}
