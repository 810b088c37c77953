/* vector.c - the resources that count, and numbers by them (sched-loadaware 1.1). */
#include "api/reslist.h"
#include "base/arena.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"

static int add_name(struct loads *l, const char *name, struct kerr *err)
{
    uint32_t at = 0;

    while (at < l->n && strcmp(l->names[at], name) < 0)
        at++;
    if (at < l->n && streq(l->names[at], name))
        return 0;
    if (l->n == LOADS_RESOURCES_MAX)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "supportedResources: Too many: more than %d resources have thresholds, "
                        "weights or scaling factors",
                        LOADS_RESOURCES_MAX);
    memmove(l->names + at + 1, l->names + at, (l->n - at) * sizeof *l->names);
    l->names[at] = name;
    l->n++;
    return 0;
}

static int add_amounts(struct loads *l, const loadaware_amounts *from, struct kerr *err)
{
    int r = 0;

    for (uint32_t i = 0; i < from->n && r == 0; i++)
        r = add_name(l, from->items[i].name, err);
    return r;
}

static void vector_of_amounts(const struct loads *l, const loadaware_amounts *from, int64_t *out)
{
    for (uint32_t i = 0; i < from->n; i++)
        for (uint32_t r = 0; r < l->n; r++)
            if (streq(l->names[r], from->items[i].name))
                out[r] = from->items[i].value;
}

int loads_init_names(struct loads *l, struct kerr *err)
{
    const struct loadaware_args *a = l->args;
    const struct loadaware_aggregated *g = a->aggregated;
    const loadaware_amounts *const all[] = { &a->thresholds, &a->prod_thresholds, &a->weights,
                                             &a->factors };
    int r = add_name(l, "cpu", err);

    if (r == 0)
        r = add_name(l, "memory", err);
    for (size_t i = 0; i < ARRAY_LEN(all) && r == 0; i++)
        r = add_amounts(l, all[i], err);
    if (g && r == 0)
        r = add_amounts(l, &g->thresholds, err);
    for (uint32_t i = 0; i < a->supported.n && r == 0; i++)
        r = add_name(l, a->supported.items[i], err);
    if (r < 0)
        return r;
    vector_of_amounts(l, &a->thresholds, l->thresholds.usage);
    vector_of_amounts(l, &a->prod_thresholds, l->thresholds.prod);
    vector_of_amounts(l, &a->weights, l->weights);
    vector_of_amounts(l, &a->factors, l->factors);
    if (g && !str_empty(g->usage_type))
        vector_of_amounts(l, &g->thresholds, l->thresholds.aggregated);
    l->thresholds.type = g ? g->usage_type : NULL;
    l->thresholds.duration = g ? g->usage_duration.v : 0;
    return 0;
}

bool load_vector_is_empty(const struct loads *l, const int64_t *v)
{
    for (uint32_t r = 0; r < l->n; r++)
        if (v[r] != 0)
            return false;
    return true;
}

void load_vector_of(const struct loads *l, const reslist *from, int64_t *out)
{
    uint32_t at = 0; /* both are sorted */

    for (uint32_t r = 0; r < l->n; r++) {
        int order = -1;
        while (at < from->n && (order = strcmp(from->items[at].name, l->names[r])) < 0)
            at++;
        int64_t v =
            at < from->n && order == 0 ? resource_count(l->names[r], from->items[at].value) : 0;
        out[r] = v < 0 ? 0 : MIN(v, LOADS_AMOUNT_MAX);
    }
}
