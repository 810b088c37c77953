/* amplification.c - plugin ResourceAmplification: by how much the node's cpu and memory are shown
 * larger than they are (manager 5.5).
 *
 * The normalization ratio is read from the node object: a new one gets here with the next pass.
 */
#include "manager/noderesource/plugin.h"

static int check_ratios(const struct amplification_ratios *r, struct kerr *err)
{
    for (uint32_t i = 0; i < r->v.n; i++)
        if (!(r->v.items[i].ratio >= 1))
            return kerr_set(err, -ERANGE, "the amplification ratio %g of %s is less than 1",
                            r->v.items[i].ratio, r->v.items[i].resource);
    return 0;
}

/* A copy with the ratio of cpu set. */
static void set_cpu(struct amplification_ratios *r, double ratio, struct arena *a)
{
    struct amplification *items = arena_newn0(a, r->v.n + 1, struct amplification);
    uint32_t n = 0;
    bool done = false;

    for (uint32_t i = 0; i < r->v.n; i++) {
        int order = strcmp(RES_CPU, r->v.items[i].resource);
        if (order <= 0 && !done) {
            items[n++] = (struct amplification){ RES_CPU, ratio };
            done = true;
        }
        if (order != 0)
            items[n++] = r->v.items[i];
    }
    if (!done)
        items[n++] = (struct amplification){ RES_CPU, ratio };
    r->v.items = items;
    r->v.n = n;
}

static int amplification_calculate(const struct nr_input *in, struct arena *a, struct nr_result *r,
                                   struct kerr *err)
{
    const struct slo_section *section = sloconfig_get(in->config, SLO_AMPLIFICATION);
    const struct amplification_strategy *s = slo_section_of(section, &in->node->obj.meta.labels);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct amplification_ratios ratios = { 0 };
    double normalization;

    if (s->enable.set && s->enable.v)
        ratios = s->ratios;
    int got = cpu_normalization_ratio(&in->node->obj.meta.annotations, &normalization, err);
    if (got < 0)
        return kerr_wrap(err, "annotation %s", ANNO_CPU_NORMALIZATION_RATIO);
    double cpu = amplification_of(&ratios, RES_CPU);
    cpu = (cpu > 0 ? cpu : 1) * (got > 0 ? normalization : 1);
    if (cpu > 1)
        set_cpu(&ratios, cpu, a);
    got = check_ratios(&ratios, err);
    if (got < 0)
        return got;
    if (ratios.v.n > 0) {
        amplification_ratios_encode(&ratios, &text);
        r->amplification = arena_strndup(a, text.data, text.len);
    }
    return 0;
}

/* Not produced means removed, also when the calculation failed or colocation is off. */
static int amplification_prepare(const struct nr_input *in, const struct nr_result *r,
                                 struct arena *a, struct nr_plan *p, struct kerr *err)
{
    struct nr_want *w = &p->annotations[NR_ANNO_AMPLIFICATION];

    (void)in, (void)a, (void)err;
    if (r->amplification)
        *w = (struct nr_want){ .act = NR_SET, .text = r->amplification };
    else
        w->act = NR_REMOVE;
    return 0;
}

static bool amplification_differs(const struct nr_input *in, const struct nr_plan *p)
{
    const struct nr_want *w = &p->annotations[NR_ANNO_AMPLIFICATION];
    const char *have = kstrmap_get(&in->node->obj.meta.annotations, ANNO_AMPLIFICATION_RATIO);
    const char *want = w->act == NR_SET ? w->text : w->act == NR_REMOVE ? "" : have;

    return !streq(str_or(have, ""), str_or(want, ""));
}

const struct nr_plugin nr_plugin_amplification = {
    .name = "ResourceAmplification",
    .calculate = amplification_calculate,
    .prepare = amplification_prepare,
    .meta_differs = amplification_differs,
};
