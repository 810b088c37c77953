/* explain_load.c - the load of nodes, as LoadAwareScheduling sees it, for koordctl explain. */
#include <stdio.h>

#include "base/qty.h"
#include "base/strbuf.h"
#include "ctl/explain.h"
#include "json/kj.h"

enum { TEXT_MAX = 24 };

/* cpu in milli, everything else in units; memory in whole Mi. */
static const char *amount(const char *resource, const struct kj_val *v, char buf[QTY_TEXT_MAX + 1])
{
    int64_t n = kj_i64_or(v, 0);
    struct qty q = qty_from_i64(n, QTY_DECIMAL_SI);

    if (streq(resource, "cpu"))
        q = qty_from_milli(n, QTY_DECIMAL_SI);
    else if (streq(resource, "memory"))
        q = qty_from_i64(n >> 20 << 20, QTY_BINARY_SI);
    buf[qty_print(q, buf)] = 0;
    return buf;
}

static const char *percent(const struct kj_val *v, char buf[TEXT_MAX])
{
    (void)snprintf(buf, TEXT_MAX, v ? "%lld%%" : "-", (long long)kj_i64_or(v, 0));
    return buf;
}

static void put_resource(const char *node, struct str name, const struct kj_val *v,
                         struct strbuf *out)
{
    char used[QTY_TEXT_MAX + 1], estimated[QTY_TEXT_MAX + 1], incoming[QTY_TEXT_MAX + 1],
        capacity[QTY_TEXT_MAX + 1], now[TEXT_MAX], threshold[TEXT_MAX], evict[TEXT_MAX];
    char resource[64];

    (void)snprintf(resource, sizeof resource, "%.*s", (int)MIN(name.n, sizeof resource - 1),
                   name.p);
    strbuf_appendf(out, "  %-20s %-10s %9s %9s %9s %9s %6s %9s %9s\n", node, resource,
                   amount(resource, kj_get(v, "used"), used),
                   amount(resource, kj_get(v, "estimated"), estimated),
                   amount(resource, kj_get(v, "incoming"), incoming),
                   amount(resource, kj_get(v, "capacity"), capacity),
                   percent(kj_get(v, "percent"), now), percent(kj_get(v, "threshold"), threshold),
                   percent(kj_get(v, "evictionThreshold"), evict));
}

static void put_node(struct str name, const struct kj_val *load, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct kj_val *v;
    struct str resource;

    strbuf_appendn(&text, name.p, name.n);
    const char *node = strbuf_str(&text);
    if (kj_bool(kj_get(load, "expired"), false))
        strbuf_appendf(out, "  %-20s its NodeMetric has expired\n", node);
    for (struct kj_iter it = kj_iter(kj_get(load, "resources")); kj_next(&it, &resource, &v);) {
        put_resource(node, resource, v, out);
        node = "";
    }
}

const struct explain_table explain_load_table = {
    .plugin = "LoadAwareScheduling",
    .heading = "Load, with this pod:\n"
               "  NODE                 RESOURCE        USED ESTIMATED  THIS POD        OF  TOTAL "
               "THRESHOLD  EVICTION\n",
    .put_node = put_node,
};
