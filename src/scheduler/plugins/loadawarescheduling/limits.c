/* limits.c - how much more a node may be given, by thresholds and what is known of its load
 * (sched-loadaware 3.2, 4.5, 5, 6).
 */
#include "api/koord/nodemetric.h"
#include "api/node.h"
#include "api/protocol/loadaware.h"
#include "api/protocol/node.h"
#include "base/arena.h"
#include "base/num.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"

#include <math.h>

/* ---- capacity -------------------------------------------------------------------------------- */

/* Usage is compared with what the node has, not with what it was amplified to. */
static void read_capacity(const struct loads *l, const struct node *n, struct arena *a,
                          int64_t *out)
{
    struct reslist_value raw = { 0 };
    bool amplified = kstrmap_get(&n->obj.meta.annotations, ANNO_RAW_ALLOCATABLE) &&
                     raw_allocatable_read(&n->obj.meta.annotations, a, &raw, NULL) == 1;

    load_vector_of(l, &n->status.allocatable, out);
    for (uint32_t r = 0; amplified && r < l->n; r++) {
        const struct qty *q = reslist_find(&raw.v, l->names[r]);
        int64_t v = q ? resource_count(l->names[r], *q) : out[r];
        out[r] = v < 0 ? 0 : MIN(v, LOADS_AMOUNT_MAX);
    }
}

/* ---- thresholds ------------------------------------------------------------------------------ */

struct thresholds {
    int64_t usage[LOADS_RESOURCES_MAX], prod[LOADS_RESOURCES_MAX], aggregated[LOADS_RESOURCES_MAX];
    const char *type; /* of the aggregated ones */
    nsec_t duration;
};

/* A group that says something replaces all of the other. */
static bool replace(const struct loads *l, const named_i64list *from, int64_t *out)
{
    int64_t v[LOADS_RESOURCES_MAX] = { 0 };

    for (uint32_t r = 0; r < l->n; r++) {
        const int64_t *own = named_i64_find(from, l->names[r]);
        v[r] = own ? *own : 0;
    }
    if (load_vector_is_empty(l, v))
        return false;
    memcpy(out, v, l->n * sizeof *v);
    return true;
}

static void read_thresholds(const struct loads *l, const struct node *n, struct arena *a,
                            struct thresholds *ret)
{
    const struct loadaware_aggregated *g = l->args->aggregated;
    const kstrmap *annotations = &n->obj.meta.annotations;
    struct usage_thresholds own;

    memcpy(ret->usage, l->thresholds, l->n * sizeof *ret->usage);
    memcpy(ret->prod, l->prod_thresholds, l->n * sizeof *ret->prod);
    memcpy(ret->aggregated, l->aggregated, l->n * sizeof *ret->aggregated);
    ret->type = g ? g->usage_type : NULL;
    ret->duration = g ? g->usage_duration.v : 0;
    if (!kstrmap_get(annotations, ANNO_USAGE_THRESHOLDS) ||
        usage_thresholds_read(annotations, a, &own, NULL) != 1)
        return;
    replace(l, &own.usage, ret->usage);
    replace(l, &own.prod_usage, ret->prod);
    if (own.aggregated && own.aggregated->type != AGGREGATION_NONE &&
        replace(l, &own.aggregated->usage_thresholds, ret->aggregated)) {
        ret->type = aggregation_type_names[own.aggregated->type];
        ret->duration = own.aggregated->duration_ns;
    }
}

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

/* What pods on the node use, or will; type NULL: by the latest usage. */
static void existing_load(const struct loads *l, struct load_node *n, const char *type,
                          nsec_t duration, int64_t *out)
{
    const struct node_metric_info *m = nodemetric_of(n->metric)->status.node_metric;
    const int64_t *delta = load_sum(n, l, LOAD_SUM_NODE_DELTA);
    const reslist *usage = NULL;

    if (m && !str_empty(type))
        usage = aggregated_usage(m, type, duration);
    if (usage)
        load_vector_of(l, usage, out);
    else if (m && (str_empty(type) || duration == 0))
        memcpy(out, load_sum(n, l, LOAD_NODE_USAGE), l->n * sizeof *out);
    else {
        memcpy(out, load_sum(n, l, LOAD_SUM_ESTIMATED), l->n * sizeof *out);
        return;
    }
    for (uint32_t r = 0; r < l->n; r++)
        out[r] += delta[r];
}

static void existing_prod(const struct loads *l, struct load_node *n, int64_t *out)
{
    for (uint32_t r = 0; r < l->n; r++)
        out[r] = load_sum(n, l, LOAD_SUM_PROD_USAGE)[r] + load_sum(n, l, LOAD_SUM_PROD_DELTA)[r];
}

/* ---- how much more --------------------------------------------------------------------------- */

static int64_t percent(int64_t used, int64_t capacity)
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
    while (v > 0 && percent(v, capacity) > threshold)
        v--;
    while (percent(v + 1, capacity) <= threshold)
        v++;
    return v;
}

static void set_room(const struct loads *l, const int64_t *thresholds, const int64_t *load,
                     struct load_limits *m, enum load_class class)
{
    for (uint32_t r = 0; r < l->n; r++) {
        if (thresholds[r] == 0 || m->capacity[r] == 0)
            continue;
        int64_t highest = highest_load(thresholds[r], m->capacity[r]);
        m->room[class][r] = highest == INT64_MAX ? INT64_MAX : highest - load[r];
    }
}

static bool is_expired(const struct loads *l, const struct load_node *n, nsec_t now)
{
    int64_t age = i64_mul_sat(l->args->expiration.v, NSEC_PER_SEC);

    return n->update_time == 0 || i64_sub_sat(now, n->update_time) >= age;
}

/* One class of pods, by the thresholds that count for it. */
static void limit_class(const struct loads *l, struct load_node *n, const struct thresholds *t,
                        bool expired, struct load_limits *m, enum load_class class)
{
    bool prod = class == LOAD_PROD && !load_vector_is_empty(l, t->prod);
    bool aggregated = !prod && !load_vector_is_empty(l, t->aggregated);
    const int64_t *limits = prod ? t->prod : aggregated ? t->aggregated : t->usage;
    int64_t load[LOADS_RESOURCES_MAX];

    m->aggregated[class] = aggregated;
    if (load_vector_is_empty(l, limits))
        return;
    if (expired && l->args->filter_expired.v) {
        m->expired[class] = !l->args->schedule_expired.v;
        return;
    }
    if (!nodemetric_of(n->metric)->status.node_metric)
        return;
    if (prod)
        existing_prod(l, n, load);
    else
        existing_load(l, n, aggregated ? t->type : NULL, aggregated ? t->duration : 0, load);
    set_room(l, limits, load, m, class);
}

static void set_left(const struct loads *l, struct load_node *n, struct load_limits *m)
{
    const struct loadaware_aggregated *g = l->args->aggregated;
    int64_t load[LOADS_RESOURCES_MAX];

    for (int class = 0; class < LOAD_CLASSES; class ++) {
        if (class == LOAD_PROD && l->args->by_prod_usage)
            existing_prod(l, n, load);
        else
            existing_load(l, n, g ? g->score_type : NULL, g ? g->score_duration.v : 0, load);
        for (uint32_t r = 0; r < l->n; r++)
            m->left[class][r] = m->capacity[r] - load[r];
    }
}

void load_limits_of(const struct loads *l, const struct node *node, nsec_t now,
                    struct load_limits *m)
{
    struct load_node *n = loads_find(l, node->obj.meta.name);
    struct thresholds t;

    *m = (struct load_limits){ 0 };
    for (uint32_t r = 0; r < l->n; r++)
        m->room[LOAD_ANY][r] = m->room[LOAD_PROD][r] = INT64_MAX;
    if (!n || !n->metric)
        return;
    bool expired = is_expired(l, n, now);
    arena_reset(l->scratch);
    read_thresholds(l, node, l->scratch, &t);
    read_capacity(l, node, l->scratch, m->capacity);
    limit_class(l, n, &t, expired, m, LOAD_ANY);
    limit_class(l, n, &t, expired, m, LOAD_PROD);
    if (n->update_time != 0)
        m->valid_until =
            i64_add_sat(n->update_time, i64_mul_sat(l->args->expiration.v, NSEC_PER_SEC));
    if (expired || !nodemetric_of(n->metric)->status.node_metric)
        memset(m->capacity, 0, sizeof m->capacity); /* not scored */
    else
        set_left(l, n, m);
}

bool load_limits_allow(const struct loads *l, const struct load_limits *m, enum load_class class,
                       const int64_t *want)
{
    bool fits = !m->expired[class];

    for (uint32_t r = 0; r < l->n; r++)
        fits &= want[r] <= m->room[class][r];
    return fits;
}
