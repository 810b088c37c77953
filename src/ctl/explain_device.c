/* explain_device.c - the devices of each node, as DeviceShare sees them, for koordctl explain: what
 * is free on each card, who has the rest, and what it lacks for the pod.
 */
#include <stdio.h>

#include "base/qty.h"
#include "base/strbuf.h"
#include "ctl/explain.h"
#include "json/kj.h"

/* "gpu-core 50, gpu-memory 4Gi": names without their domain. */
static void put_amounts(const struct kj_val *list, struct strbuf *out)
{
    const struct kj_val *v;
    struct str name;
    bool first = true;

    for (struct kj_iter it = kj_iter(list); kj_next(&it, &name, &v); first = false) {
        char text[QTY_TEXT_MAX + 1];
        const char *slash = memchr(name.p, '/', name.n);
        bool memory = name.n > 7 && memcmp(name.p + name.n - 7, "-memory", 7) == 0;
        size_t skip = slash ? (size_t)(slash - name.p) + 1 : 0;
        text[qty_print(qty_from_i64(kj_i64_or(v, 0), memory ? QTY_BINARY_SI : QTY_DECIMAL_SI),
                       text)] = 0;
        strbuf_appendf(out, "%s%.*s %s", first ? "" : ", ", (int)(name.n - skip), name.p + skip,
                       text);
    }
}

static void put_verdict(const struct kj_val *device, struct strbuf *out)
{
    const struct kj_val *lacks = kj_get(device, "lacks"), *holders = kj_get(device, "holders");

    if (!kj_bool(kj_get(device, "healthy"), false))
        strbuf_append(out, "not healthy");
    else if (!lacks)
        strbuf_append(out, "has enough");
    else {
        strbuf_append(out, "lacks ");
        put_amounts(lacks, out);
    }
    for (size_t i = 0; i < kj_len(holders); i++)
        strbuf_appendf(out, "%s%s", i ? ", " : "; held by ", kj_str_or(kj_at(holders, i), ""));
    strbuf_appendc(out, '\n');
}

static void put_node(struct str name, const struct kj_val *details, struct strbuf *out)
{
    const struct kj_val *list = kj_get(details, "devices");

    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *v = kj_at(list, i);
        CLEANUP(strbuf_fini) struct strbuf free = STRBUF_INIT;
        put_amounts(kj_get(v, "free"), &free);
        strbuf_appendf(out, "  %-20.*s %-4s %5lld  %-52s ", i ? 0 : (int)name.n, name.p,
                       kj_str_or(kj_get(v, "type"), ""),
                       (long long)kj_i64_or(kj_get(v, "minor"), 0), strbuf_str(&free));
        put_verdict(v, out);
    }
}

const struct explain_table explain_device_table = {
    .plugin = "DeviceShare",
    .list = "devices",
    .heading =
        "Devices, free:\n"
        "  NODE                 TYPE MINOR  FREE                                             "
        "    FOR THIS POD\n",
    .put_node = put_node,
};
