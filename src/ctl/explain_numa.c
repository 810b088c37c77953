/* explain_numa.c - the NUMA nodes of each node, as NodeNUMAResource sees them, for koordctl
 * explain: what is free, and who would have to leave before the pod fits on one of them.
 */
#include <stdio.h>

#include "base/qty.h"
#include "base/strbuf.h"
#include "ctl/explain.h"
#include "json/kj.h"

#define PLUGIN "NodeNUMAResource"
enum { TEXT_MAX = 24 };

static const struct kj_val *numa_of(const struct kj_val *node)
{
    return kj_get(kj_path(node, "details." PLUGIN), "numaNodes");
}

/* "-": the NUMA node does not list it. */
static const char *amount(const struct kj_val *free, const char *name, char buf[QTY_TEXT_MAX + 1])
{
    const struct kj_val *v = kj_get(free, name);
    int64_t n = kj_i64_or(v, 0);
    struct qty q = streq(name, "cpu") ? qty_from_milli(n, QTY_DECIMAL_SI)
                                      : qty_from_i64(n >> 20 << 20, QTY_BINARY_SI);

    if (!v)
        return "-";
    buf[qty_print(q, buf)] = 0;
    return buf;
}

static void put_leavers(const struct kj_val *numa, struct strbuf *out)
{
    const struct kj_val *list = kj_get(numa, "wouldHaveToLeave");

    if (kj_bool(kj_get(numa, "tooSmall"), false))
        strbuf_append(out, "too small");
    else if (kj_len(list) == 0)
        strbuf_append(out, "fits");
    for (size_t i = 0; i < kj_len(list); i++)
        strbuf_appendf(out, "%s%s", i ? ", " : "without ", kj_str_or(kj_at(list, i), ""));
    strbuf_appendc(out, '\n');
}

static void put_node(struct str name, const struct kj_val *list, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    strbuf_appendn(&text, name.p, name.n);
    const char *node = strbuf_str(&text);
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *v = kj_at(list, i), *free = kj_get(v, "free");
        char cpu[QTY_TEXT_MAX + 1], memory[QTY_TEXT_MAX + 1], cores[TEXT_MAX];
        const char *cpus = kj_str(kj_get(v, "freeCPUs"));
        (void)snprintf(cores, sizeof cores, "%lld",
                       (long long)kj_i64_or(kj_get(v, "freeCores"), 0));
        strbuf_appendf(out, "  %-20s %4lld %8s %8s %6s  %-16s ", node,
                       (long long)kj_i64_or(kj_get(v, "node"), 0), amount(free, "cpu", cpu),
                       amount(free, "memory", memory), cpus ? cores : "-",
                       cpus && *cpus ? cpus : "-");
        put_leavers(v, out);
        node = "";
    }
}

static bool is_rejected(const struct kj_val *node)
{
    const char *plugin = kj_str(kj_get(node, "plugin"));

    return plugin && streq(plugin, PLUGIN);
}

void explain_numa_text(const struct explained *e, const struct explain_options *o,
                       struct strbuf *out)
{
    const struct kj_val *nodes = kj_get(e->answer, "nodes"), *v;
    int shown = 0, known = 0, most = o->all_nodes ? INT32_MAX : o->top;
    struct str name;

    for (int round = 0; round < 2; round++) /* those that it rejected come first */
        for (struct kj_iter it = kj_iter(nodes); kj_next(&it, &name, &v);) {
            if (!numa_of(v) || is_rejected(v) != (round == 0))
                continue;
            if (known++ == 0)
                strbuf_appendf(out, "\nNUMA nodes, free:\n  %-20s %4s %8s %8s %6s  %-16s %s\n",
                               "NODE", "NUMA", "CPU", "MEMORY", "CORES", "CPUS", "THIS POD THERE");
            if (shown >= most)
                continue;
            put_node(name, numa_of(v), out);
            shown++;
        }
    if (known > shown)
        strbuf_appendf(out, "  ... and %d more (--all-nodes)\n", known - shown);
}
