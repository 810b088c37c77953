/* explain_numa.c - the NUMA nodes of each node, as NodeNUMAResource sees them, for koordctl
 * explain: what is free, and who would have to leave before the pod fits on one of them.
 */
#include <stdio.h>

#include "base/qty.h"
#include "base/strbuf.h"
#include "ctl/explain.h"
#include "json/kj.h"

enum { TEXT_MAX = 24 };

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

static void put_node(struct str name, const struct kj_val *details, struct strbuf *out)
{
    const struct kj_val *list = kj_get(details, "numaNodes");

    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *v = kj_at(list, i), *free = kj_get(v, "free");
        char cpu[QTY_TEXT_MAX + 1], memory[QTY_TEXT_MAX + 1], cores[TEXT_MAX];
        const char *cpus = kj_str(kj_get(v, "freeCPUs"));
        (void)snprintf(cores, sizeof cores, "%lld",
                       (long long)kj_i64_or(kj_get(v, "freeCores"), 0));
        strbuf_appendf(out, "  %-20.*s %4lld %8s %8s %6s  %-16s ", i ? 0 : (int)name.n, name.p,
                       (long long)kj_i64_or(kj_get(v, "node"), 0), amount(free, "cpu", cpu),
                       amount(free, "memory", memory), cpus ? cores : "-",
                       cpus && *cpus ? cpus : "-");
        put_leavers(v, out);
    }
}

const struct explain_table explain_numa_table = {
    .plugin = "NodeNUMAResource",
    .list = "numaNodes",
    .heading = "NUMA nodes, free:\n"
               "  NODE                 NUMA      CPU   MEMORY  CORES  CPUS             THIS POD "
               "THERE\n",
    .put_node = put_node,
};
