/* calculate.c - the plugins in their order: items, and what the node should say (manager 4.2). */
#include "manager/noderesource/plugin.h"

const struct nr_plugin *const nr_plugins[NR_PLUGINS] = {
    [NR_NORMALIZATION] = &nr_plugin_normalization,
    [NR_AMPLIFICATION] = &nr_plugin_amplification,
    [NR_MID] = &nr_plugin_mid,
    [NR_BATCH] = &nr_plugin_batch,
    [NR_GPU] = &nr_plugin_gpu,
    [NR_RDMA] = &nr_plugin_rdma,
};
const char *const nr_resource_names[NR_RESOURCES] = {
    [NR_BATCH_CPU] = RES_BATCH_CPU,
    [NR_BATCH_MEMORY] = RES_BATCH_MEMORY,
    [NR_MID_CPU] = RES_MID_CPU,
    [NR_MID_MEMORY] = RES_MID_MEMORY,
    [NR_RES_GPU] = RES_GPU,
    [NR_RES_GPU_CORE] = RES_GPU_CORE,
    [NR_RES_GPU_MEMORY] = RES_GPU_MEMORY,
    [NR_RES_GPU_MEMORY_RATIO] = RES_GPU_MEMORY_RATIO,
    [NR_RES_GPU_SHARED] = RES_GPU_SHARED,
    [NR_RES_NPU_CORE] = RES_NPU_CORE,
    [NR_RES_NPU_CPU] = RES_NPU_CPU,
    [NR_RES_NPU_DVPP] = RES_NPU_DVPP,
    [NR_RES_RDMA] = RES_RDMA,
};
const char *const nr_annotation_keys[NR_ANNOTATIONS] = {
    [NR_ANNO_NORMALIZATION] = ANNO_CPU_NORMALIZATION_RATIO,
    [NR_ANNO_AMPLIFICATION] = ANNO_AMPLIFICATION_RATIO,
    [NR_ANNO_ORIGIN] = ANNO_ORIGIN_EXTENDED,
};
const char *const nr_label_keys[NR_LABELS] = {
    [NR_LABEL_GPU_VENDOR] = LABEL_GPU_VENDOR,
    [NR_LABEL_GPU_MODEL] = LABEL_GPU_MODEL,
    [NR_LABEL_GPU_DRIVER] = LABEL_GPU_DRIVER_VERSION,
};

#define DISABLED "node colocation is disabled in Config, reason: DisableInConfig"

static void reset_all(const struct nr_input *in, struct nr_result *r)
{
    r->disabled = true;
    for (size_t i = 0; i < NR_PLUGINS; i++)
        if (in->plugins >> i & 1 && nr_plugins[i]->reset) {
            nr_plugins[i]->reset(r);
            r->outcome[i].reset = DISABLED;
            r->outcome[i].reset_why = "colocation is off for this node";
        }
}

static struct opt_i64 less(struct opt_i64 percent, int64_t cut)
{
    percent.v = percent.set ? MAX(percent.v - cut, (int64_t)0) : percent.v;
    return percent;
}

/* extensions.koord: a node in trouble has lower reclaim thresholds. */
static void apply_extension(const struct nr_input *in, struct arena *a, struct nr_result *r)
{
    struct colocation_strategy *s;
    struct kerr err = { 0 };

    if (koord_extension_read(r->strategy, a, &r->extension, &err) < 0)
        r->extension_problem = arena_strdup(a, err.text);
    if (!r->extension.adaptive.enable || (in->cut.cpu == 0 && in->cut.memory == 0))
        return;
    s = arena_new0(a, struct colocation_strategy);
    *s = *r->strategy;
    s->cpu_reclaim_threshold_percent = less(s->cpu_reclaim_threshold_percent, in->cut.cpu);
    s->memory_reclaim_threshold_percent = less(s->memory_reclaim_threshold_percent, in->cut.memory);
    r->cut = in->cut;
    r->strategy = s;
}

void nr_calculate(const struct nr_input *in, struct arena *a, struct nr_result *ret)
{
    const struct slo_section *section = sloconfig_get(in->config, SLO_COLOCATION);
    const struct objmeta *m = &in->node->obj.meta;

    *ret = (struct nr_result){ 0 };
    ret->strategy = colocation_strategy_of(section, &m->labels, &m->annotations, a, &ret->sources);
    ret->configured = ret->strategy;
    if (!colocation_enabled(section, ret->strategy)) {
        reset_all(in, ret);
        return;
    }
    if (ret->strategy->extensions.n > 0)
        apply_extension(in, a, ret);
    for (size_t i = 0; i < NR_PLUGINS; i++)
        if (in->plugins >> i & 1)
            nr_plugins[i]->calculate(in, a, ret, &ret->outcome[i].err);
}

/* ---- preparing ------------------------------------------------------------------------------- */

struct qty nr_whole(struct qty q)
{
    struct qty whole = qty_from_i64(qty_value(q), (enum qty_format)q.format);
    return qty_cmp(whole, q) == 0 ? q : whole;
}

struct qty nr_normalized(const struct nr_result *r, enum nr_resource name, struct qty q)
{
    struct f64_value ratio;

    if (name != NR_BATCH_CPU || !r->normalization ||
        cpu_normalization_decode(r->normalization, NULL, &ratio, NULL) < 0 || ratio.v <= 1)
        return q;
    return qty_scale_milli(q, ratio.v);
}

void nr_want_item(const struct nr_result *r, enum nr_resource name, struct nr_plan *p)
{
    const struct nr_item *item = &r->items[name];
    struct nr_want *w = &p->resources[name];

    if (item->state == NR_VALUE)
        *w = (struct nr_want){ .act = NR_SET,
                               .value = nr_whole(nr_normalized(r, name, item->value)) };
    else
        *w = (struct nr_want){ .act = NR_REMOVE };
}

void nr_prepare(const struct nr_input *in, const struct nr_result *r, struct arena *a,
                struct nr_plan *ret)
{
    *ret = (struct nr_plan){ 0 };
    for (size_t i = 0; i < NR_PLUGINS; i++)
        if (in->plugins >> i & 1)
            nr_plugins[i]->prepare(in, r, a, ret, &ret->bad[i]);
}
