/* normalization.c - plugin CPUNormalization: how much faster than the base model the CPUs of the
 * node are (manager 5.4).
 *
 * A failed calculation produces no annotation, and the node keeps the one it has.
 */
#include "api/protocol/cpu.h"
#include "manager/noderesource/plugin.h"

#define RATIO_MIN 1.0
#define RATIO_MAX 5.0

/* 1 or 0; the node's label goes before the strategy. */
static int is_enabled(const struct nr_input *in, const struct normalization_strategy *s,
                      struct kerr *err)
{
    bool on = s->enable.set && s->enable.v;

    if (cpu_normalization_enabled(&in->node->obj.meta.labels, &on, err) < 0)
        return kerr_wrap(err, "node label %s", LABEL_CPU_NORMALIZATION_ENABLE);
    return on;
}

static int read_cpu_info(const struct nr_input *in, struct arena *a, struct cpu_basic_info *ret,
                         struct kerr *err)
{
    if (!in->topology)
        return kerr_set(err, -ENOENT, "the node has no NodeResourceTopology");
    int r = cpu_basic_info_read(&in->topology->obj.meta.annotations, a, ret, err);
    if (r < 0)
        return kerr_wrap(err, "NodeResourceTopology annotation %s", ANNO_CPU_BASIC_INFO);
    if (r == 0)
        return kerr_set(err, -ENOENT, "the NodeResourceTopology has no annotation %s",
                        ANNO_CPU_BASIC_INFO);
    return 0;
}

static const struct cpu_model_ratios *find_model(const struct normalization_strategy *s,
                                                 const char *model)
{
    for (uint32_t i = 0; i < s->ratio_model.n; i++)
        if (streq(s->ratio_model.items[i].model, model))
            return &s->ratio_model.items[i].ratios;
    return NULL;
}

static int ratio_of(const struct normalization_strategy *s, const struct cpu_basic_info *info,
                    double *ret, struct kerr *err)
{
    static const char *const fields[] = { "baseRatio", "turboEnabledRatio",
                                          "hyperThreadEnabledRatio",
                                          "hyperThreadTurboEnabledRatio" };
    const struct cpu_model_ratios *m = find_model(s, info->cpu_model);
    int which = 2 * info->hyper_thread_enabled + info->turbo_enabled;
    struct opt_f64 v = { 0 };

    if (m)
        v = (const struct opt_f64[]){ m->base, m->turbo, m->hyper_thread,
                                      m->hyper_thread_turbo }[which];
    if (!v.set)
        v = s->default_ratio;
    if (!v.set && m)
        return kerr_set(err, -ENOENT, "the ratio model has no %s of CPU %s", fields[which],
                        info->cpu_model);
    if (!v.set)
        return kerr_set(err, -ENOENT, "the ratio model has no CPU %s", info->cpu_model);
    if (v.v < RATIO_MIN || v.v > RATIO_MAX)
        return kerr_set(err, -ERANGE, "the ratio %g of CPU %s is not between %g and %g", v.v,
                        info->cpu_model, RATIO_MIN, RATIO_MAX);
    *ret = v.v;
    return 0;
}

static int normalization_calculate(const struct nr_input *in, struct arena *a, struct nr_result *r,
                                   struct kerr *err)
{
    const struct slo_section *section = sloconfig_get(in->config, SLO_NORMALIZATION);
    const struct normalization_strategy *s = slo_section_of(section, &in->node->obj.meta.labels);
    struct cpu_basic_info info;
    double ratio = 1;

    int on = is_enabled(in, s, err);
    if (on > 0) {
        int got = read_cpu_info(in, a, &info, err);
        if (got == 0)
            got = ratio_of(s, &info, &ratio, err);
        if (got < 0)
            return got;
    }
    if (on < 0)
        return on;
    r->normalization = arena_printf(a, "%.2f", ratio);
    return 0;
}

static int normalization_prepare(const struct nr_input *in, const struct nr_result *r,
                                 struct arena *a, struct nr_plan *p, struct kerr *err)
{
    (void)in, (void)a, (void)err;
    if (r->normalization)
        p->annotations[NR_ANNO_NORMALIZATION] =
            (struct nr_want){ .act = NR_SET, .text = r->normalization };
    return 0;
}

static bool normalization_differs(const struct nr_input *in, const struct nr_plan *p)
{
    const struct nr_want *w = &p->annotations[NR_ANNO_NORMALIZATION];
    const char *have = kstrmap_get(&in->node->obj.meta.annotations, ANNO_CPU_NORMALIZATION_RATIO);
    const char *want = w->act == NR_SET ? w->text : have;
    struct f64_value old = { 0 }, new = { 0 };

    if (!have || !want)
        return have != want;
    if (cpu_normalization_decode(have, NULL, &old, NULL) < 0)
        return true;
    return cpu_normalization_decode(want, NULL, &new, NULL) == 0 &&
           cpu_normalization_differs(old.v, new.v);
}

const struct nr_plugin nr_plugin_normalization = {
    .name = "CPUNormalization",
    .calculate = normalization_calculate,
    .prepare = normalization_prepare,
    .meta_differs = normalization_differs,
};
