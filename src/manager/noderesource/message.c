/* message.c - the formulas with their numbers, as upstream words them (manager 5.1, 5.3). */
#include <inttypes.h>

#include "manager/noderesource/nr.h"

enum { GIGA = 9 };

static bool is_cpu(const char *resource)
{
    return streq(resource, RES_CPU);
}

/* cpu in milli-cores, memory in 10^9 bytes. */
static int64_t count(const char *resource, struct nr_amount a)
{
    return is_cpu(resource) ? qty_milli(a.cpu) : qty_scaled(a.memory, GIGA);
}

static void append_ratio(struct strbuf *out, int64_t percent)
{
    char text[40];
    size_t n = f64_format(percent_ratio(percent), text, sizeof text);
    strbuf_appendn(out, text, n);
}

static void append_batch_formula(const struct nr_batch_terms *t, const char *resource,
                                 struct strbuf *out)
{
    bool cpu = is_cpu(resource);
    enum nr_policy policy = (enum nr_policy)(cpu ? t->cpu_policy : t->memory_policy);

    strbuf_appendf(out, "nodeCapacity:%" PRId64 " - nodeSafetyMargin:%" PRId64,
                   count(resource, t->capacity), count(resource, t->margin));
    if (policy == NR_BY_REQUEST) {
        strbuf_appendf(out, " - nodeReserved:%" PRId64 " - podHPRequest:%" PRId64,
                       count(resource, t->reserved), count(resource, t->hp.request));
        return;
    }
    strbuf_appendf(out, " - %s:%" PRId64, cpu ? "systemUsageOrNodeReserved" : "systemUsage",
                   count(resource, t->system_or_reserved));
    if (policy == NR_BY_MAX_USAGE_REQUEST)
        strbuf_appendf(out, " - podHPMaxUsedRequest:%" PRId64, count(resource, t->hp.max));
    else
        strbuf_appendf(out, " - podHPUsed:%" PRId64, count(resource, t->hp.used));
}

void nr_batch_message(const struct nr_batch_terms *t, const char *resource, struct strbuf *out)
{
    struct opt_i64 limit = is_cpu(resource) ? t->cpu_limit_percent : t->memory_limit_percent;

    strbuf_appendf(out, "batchAllocatable[%s]:%" PRId64 " = ",
                   is_cpu(resource) ? "CPU(Milli-Core)" : "Mem(GB)", count(resource, t->result));
    if (!limit.set) {
        append_batch_formula(t, resource, out);
        return;
    }
    strbuf_appendf(out,
                   "min(nodeCapacity:%" PRId64 " * thresholdRatio:", count(resource, t->capacity));
    append_ratio(out, limit.v);
    strbuf_append(out, ", ");
    append_batch_formula(t, resource, out);
    strbuf_append(out, ")");
}

void nr_mid_message(const struct nr_mid_terms *t, const char *resource, struct strbuf *out)
{
    bool cpu = is_cpu(resource);
    int64_t capacity = count(resource, t->capacity);

    strbuf_appendf(out, "midAllocatable[%s]:%" PRId64 " = min(",
                   cpu ? "CPU(milli-core)" : "Memory(GB)", count(resource, t->result));
    if (t->is_static) {
        strbuf_appendf(out, "nodeCapacity:%" PRId64 " * staticReservedPercent:", capacity);
        append_ratio(out, cpu ? t->static_cpu_percent : t->static_memory_percent);
        strbuf_appendf(out, ", nodeCapacity:%" PRId64, capacity);
    } else {
        strbuf_appendf(out,
                       "min(ProdReclaimable:%" PRId64 ", NodeUnused:%" PRId64
                       ") + Unallocated:%" PRId64 " * midUnallocatedRatio:",
                       count(resource, t->reclaimable), count(resource, t->unused),
                       count(resource, t->unallocated));
        append_ratio(out, t->unallocated_percent);
        strbuf_appendf(out, ", NodeCapacity:%" PRId64, capacity);
    }
    strbuf_append(out, " * thresholdRatio:");
    append_ratio(out, cpu ? t->cpu_threshold_percent : t->memory_threshold_percent);
    strbuf_append(out, ")");
}
