/* limits.c - how much more a node may be given, by thresholds and what is known of its load
 * (sched-loadaware 4.5, 5, 6).
 */
#include "api/koord/nodemetric.h"
#include "api/node.h"
#include "base/num.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"

#include <math.h>

/* ---- load ------------------------------------------------------------------------------------ */

/* Duration 0: the longest that there is. */
static const reslist *aggregated_usage(const struct node_metric_info *m, const char *type,
                                       nsec_t duration)
{
    const reslist *found = NULL;
    nsec_t longest = -1;

    for (uint32_t i = 0; i < m->aggregated_node_usages.n; i++) {
        const struct aggregated_usage *u = &m->aggregated_node_usages.items[i];
        const struct resource_map *of = aggregated_usage_get(u, type);
        if (!of || of->resources.n == 0 || (duration && u->duration_ns != duration) ||
            u->duration_ns < longest)
            continue;
        longest = u->duration_ns;
        found = &of->resources;
    }
    return found;
}

/* What pods on the node use, and what they will use besides; points to sums of the node, or to
 * `own`. */
struct existing {
    const int64_t *used, *estimated;
    int64_t own[LOADS_RESOURCES_MAX];
};
static const int64_t nothing[LOADS_RESOURCES_MAX];

/* type NULL: by the latest usage. */
static void existing_load(const struct loads *l, struct load_node *n, const char *type,
                          nsec_t duration, struct existing *ret)
{
    const struct node_metric_info *m = nodemetric_of(n->metric)->status.node_metric;
    const reslist *usage = m && !str_empty(type) ? aggregated_usage(m, type, duration) : NULL;

    ret->estimated = load_sum(n, l, LOAD_SUM_NODE_DELTA);
    ret->used = load_sum(n, l, LOAD_NODE_USAGE);
    if (usage) {
        load_vector_of(l, usage, ret->own);
        ret->used = ret->own;
    } else if (!m || (!str_empty(type) && duration != 0)) {
        ret->used = nothing;
        ret->estimated = load_sum(n, l, LOAD_SUM_ESTIMATED);
    }
}

static void existing_prod(const struct loads *l, struct load_node *n, struct existing *ret)
{
    ret->used = load_sum(n, l, LOAD_SUM_PROD_USAGE);
    ret->estimated = load_sum(n, l, LOAD_SUM_PROD_DELTA);
}

/* ---- how much more --------------------------------------------------------------------------- */

int64_t load_percent(int64_t used, int64_t capacity)
{
    return i64_from_f64(round((double)used / (double)capacity * 100));
}

/* The highest load whose rounded percentage is not above the threshold: the product is close, and
 * the last steps make it exact. */
static int64_t highest_load(int64_t threshold, int64_t capacity)
{
    double about = ((double)threshold + 0.5) / 100 * (double)capacity;

    if (about >= (double)(INT64_C(1) << 62))
        return INT64_MAX;
    if (about <= 0)
        return threshold < 0 ? -1 : 0;
    int64_t v = (int64_t)about;
    while (v > 0 && load_percent(v, capacity) > threshold)
        v--;
    while (load_percent(v + 1, capacity) <= threshold)
        v++;
    return v;
}

static void set_room(const struct loads *l, const int64_t *thresholds, const struct existing *load,
                     struct load_limits *m, enum load_class class)
{
    for (uint32_t r = 0; r < l->n; r++) {
        if (thresholds[r] == 0 || m->capacity[r] == 0)
            continue;
        int64_t highest = highest_load(thresholds[r], m->capacity[r]);
        m->room[class][r] =
            highest == INT64_MAX ? INT64_MAX : highest - load->used[r] - load->estimated[r];
    }
}

nsec_t load_expires(const struct loads *l, const struct load_node *n)
{
    return i64_add_sat(n->update_time, i64_mul_sat(l->args->expiration.v, NSEC_PER_SEC));
}

static bool is_expired(const struct loads *l, const struct load_node *n, nsec_t now)
{
    return n->update_time == 0 || now >= load_expires(l, n);
}

/* Which thresholds count for a class, and what is compared with them. */
struct measure {
    const int64_t *thresholds;
    bool prod, aggregated;
};

static struct measure measure_of(const struct loads *l, const struct load_thresholds *t,
                                 enum load_class class)
{
    bool prod = class == LOAD_PROD && !load_vector_is_empty(l, t->prod);
    bool aggregated = !prod && !load_vector_is_empty(l, t->aggregated);

    return (struct measure){ prod         ? t->prod
                             : aggregated ? t->aggregated
                                          : t->usage,
                             prod, aggregated };
}

static void existing_by(const struct loads *l, struct load_node *n, const struct load_thresholds *t,
                        const struct measure *by, struct existing *ret)
{
    if (by->prod)
        existing_prod(l, n, ret);
    else
        existing_load(l, n, by->aggregated ? t->type : NULL, by->aggregated ? t->duration : 0, ret);
}

static void limit_class(const struct loads *l, struct load_node *n, const struct load_thresholds *t,
                        bool expired, struct load_limits *m, enum load_class class)
{
    const struct measure by = measure_of(l, t, class);
    struct existing load;

    m->aggregated[class] = by.aggregated;
    if (load_vector_is_empty(l, by.thresholds))
        return;
    if (expired && l->args->filter_expired.v) {
        m->expired[class] = !l->args->schedule_expired.v;
        return;
    }
    if (!nodemetric_of(n->metric)->status.node_metric)
        return;
    existing_by(l, n, t, &by, &load);
    set_room(l, by.thresholds, &load, m, class);
}

/* As any pod, and below what koordlet evicts at. */
static void limit_best_effort(const struct loads *l, struct load_node *n, const struct node *node,
                              bool expired, struct load_limits *m)
{
    int64_t percent[LOADS_RESOURCES_MAX], load[LOADS_RESOURCES_MAX];

    m->expired[LOAD_BE] = m->expired[LOAD_ANY];
    m->aggregated[LOAD_BE] = m->aggregated[LOAD_ANY];
    memcpy(m->room[LOAD_BE], m->room[LOAD_ANY], l->n * sizeof m->room[0][0]);
    if (expired || !nodemetric_of(n->metric)->status.node_metric ||
        !load_eviction_of(l, n->name, percent))
        return;
    for (uint32_t r = 0; r < l->n; r++)
        load[r] = load_sum(n, l, LOAD_NODE_USAGE)[r] + load_sum(n, l, LOAD_SUM_NODE_DELTA)[r];
    load_eviction_limit(l, node, percent, load, m);
}

static void set_left(const struct loads *l, struct load_node *n, struct load_limits *m)
{
    const struct loadaware_aggregated *g = l->args->aggregated;
    struct existing load;

    for (int class = 0; class < LOAD_SCORED; class ++) {
        if (class == LOAD_PROD && l->args->by_prod_usage)
            existing_prod(l, n, &load);
        else
            existing_load(l, n, g ? g->score_type : NULL, g ? g->score_duration.v : 0, &load);
        for (uint32_t r = 0; r < l->n; r++)
            m->left[class][r] = m->capacity[r] - load.used[r] - load.estimated[r];
    }
}

void load_limits_of(const struct loads *l, const struct node *node, nsec_t now,
                    struct load_limits *m)
{
    struct load_node *n = loads_find(l, node->obj.meta.name);

    *m = (struct load_limits){ 0 };
    for (int class = 0; class < LOAD_CLASSES; class ++)
        for (uint32_t r = 0; r < l->n; r++)
            m->room[class][r] = INT64_MAX;
    if (!n || !n->metric)
        return;
    bool expired = is_expired(l, n, now);
    const struct load_thresholds *t = load_thresholds_of(l, n, node);
    load_capacity_of(l, n, node, m->capacity);
    limit_class(l, n, t, expired, m, LOAD_ANY);
    limit_class(l, n, t, expired, m, LOAD_PROD);
    limit_best_effort(l, n, node, expired, m);
    if (n->update_time != 0)
        m->valid_until = load_expires(l, n);
    if (expired || !nodemetric_of(n->metric)->status.node_metric)
        memset(m->capacity, 0, sizeof m->capacity); /* not scored */
    else
        set_left(l, n, m);
}

bool load_figures_of(const struct loads *l, const struct node *node, enum load_class class,
                     nsec_t now, struct load_figures *ret)
{
    struct load_node *n = loads_find(l, node->obj.meta.name);
    struct existing load;

    if (!n || !n->metric)
        return false;
    *ret = (struct load_figures){ .expired = is_expired(l, n, now) };
    load_capacity_of(l, n, node, ret->capacity);
    const struct load_thresholds *t = load_thresholds_of(l, n, node);
    const struct measure by = measure_of(l, t, class);
    ret->aggregated = by.aggregated;
    existing_by(l, n, t, &by, &load);
    memcpy(ret->used, load.used, l->n * sizeof *ret->used);
    memcpy(ret->estimated, load.estimated, l->n * sizeof *ret->estimated);
    memcpy(ret->threshold, by.thresholds, l->n * sizeof *ret->threshold);
    load_eviction_of(l, n->name, ret->evict);
    for (uint32_t r = 0; class != LOAD_BE && r < l->n; r++)
        ret->evict[r] = -1;
    return true;
}

bool load_limits_allow(const struct loads *l, const struct load_limits *m, enum load_class class,
                       const int64_t *want)
{
    bool fits = !m->expired[class];

    for (uint32_t r = 0; r < l->n; r++)
        fits &= want[r] <= m->room[class][r];
    return fits;
}
