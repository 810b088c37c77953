/* pool.c - use, thresholds and classes of the nodes of a pool. */
#include "descheduler/plugins/lownodeload/pool.h"

#include "api/koord/nodemetric.h"
#include "api/protocol/node.h"
#include "api/protocol/pod_protocol.h"
#include "base/num.h"

const char *const lnl_class_names[LNL_CLASSES] = {
    [LNL_NONE] = "none",          [LNL_LOW] = "low",
    [LNL_HIGH] = "high",          [LNL_PROD_LOW] = "prodLow",
    [LNL_PROD_HIGH] = "prodHigh", [LNL_BOTH_LOW] = "bothLow",
};

/* ---- amounts ---------------------------------------------------------------------------------- */

enum { PER_MILLI_CPU = 1000000, PER_UNIT = 1000 };

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

int64_t pool_count(const struct lnl_resource *x, int64_t amount)
{
    return divide_up(amount, x->is_cpu ? PER_MILLI_CPU : PER_UNIT);
}

int64_t pool_milli(const struct lnl_resource *x, int64_t amount)
{
    return x->is_cpu ? divide_up(amount, PER_MILLI_CPU) : amount;
}

/* The way back from milli cpu and units. */
static int64_t from_count(const struct lnl_resource *x, int64_t count)
{
    return i64_mul_sat(count, x->is_cpu ? PER_MILLI_CPU : PER_UNIT);
}

/* Most quantities are small whole numbers at a scale near ours. */
static int64_t amount_of(const struct lnl_resource *x, struct qty q)
{
    static const int64_t powers[] = { 1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000 };
    int up = q.scale + (x->is_cpu ? 9 : 3);

    if (q.hi == 0 && q.lo < UINT32_MAX && up >= 0 && up < (int)ARRAY_LEN(powers))
        return (int64_t)q.lo * powers[up];
    return qty_scaled(q, x->is_cpu ? -9 : -3);
}

static int64_t from_qty(const struct lnl_resource *x, const reslist *l)
{
    const struct qty *q = reslist_find(l, x->name);
    return q ? amount_of(x, *q) : 0;
}

/* ---- resources -------------------------------------------------------------------------------- */

static void add_name(const char **names, uint32_t *n, const char *name)
{
    uint32_t i = 0;

    while (i < *n && strcmp(names[i], name) < 0)
        i++;
    if (i < *n && streq(names[i], name))
        return;
    memmove(names + i + 1, names + i, (*n - i) * sizeof *names);
    names[i] = name;
    ++*n;
}

/* A resource without a low threshold has no high one either: it does not count. */
static void set_percents(const struct lnl_pool *p, const lnl_percents *low,
                         const lnl_percents *high, const char *name, double *ret_low,
                         double *ret_high)
{
    const double *l = lnl_percent(low, name), *h = lnl_percent(high, name);
    double off = p->deviation ? 0 : 100;

    *ret_low = l ? *l : off;
    *ret_high = !l ? off : h ? *h : 0;
}

static void make_resources(struct lnl_round *r)
{
    const struct lnl_pool *p = r->pool;
    const lnl_percents *const all[] = { &p->low, &p->high, &p->prod_low, &p->prod_high };
    uint32_t cap = 1, n = 0;

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        cap += all[i]->n;
    const char **names = arena_newn0(r->arena, cap, const char *);
    add_name(names, &n, "memory");
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        for (uint32_t j = 0; j < all[i]->n; j++)
            add_name(names, &n, all[i]->items[j].resource);
    r->resources = arena_newn0(r->arena, n, struct lnl_resource);
    r->nresources = n;
    r->pods_resource = -1;
    r->has_prod = p->prod_low.n || p->prod_high.n;
    for (uint32_t i = 0; i < n; i++) {
        struct lnl_resource *x = &r->resources[i];
        x->name = names[i];
        x->is_cpu = streq(x->name, "cpu");
        x->is_pods = streq(x->name, "pods");
        x->weight = lnl_weight(&p->weights, x->name);
        set_percents(p, &p->low, &p->high, x->name, &x->low, &x->high);
        set_percents(p, &p->prod_low, &p->prod_high, x->name, &x->prod_low, &x->prod_high);
        if (x->is_pods)
            r->pods_resource = i;
    }
}

static int64_t *amounts(const struct lnl_round *r)
{
    return arena_newn0(r->arena, r->nresources, int64_t);
}

void pool_init(struct lnl_round *r, const uint32_t *nodes, uint32_t n)
{
    make_resources(r);
    r->nodes = arena_newn0(r->arena, n, struct lnl_node);
    r->nnodes = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct kd_node *x = kd_view_node(r->view, nodes[i]);
        r->nodes[i].node = nodes[i];
        r->nodes[i].name = x->name;
        r->nodes[i].schedulable = !x->node->spec.unschedulable;
    }
}

/* ---- measuring -------------------------------------------------------------------------------- */

/* As the node was before resources were amplified. */
static void read_allocatable(const struct lnl_round *r, struct lnl_node *n)
{
    const struct node *node = kd_view_node(r->view, n->node)->node;
    struct reslist_value raw;
    const reslist *l = &kd_view_node(r->view, n->node)->allocatable;

    if (raw_allocatable_read(&node->obj.meta.annotations, r->arena, &raw, NULL) > 0)
        l = &raw.v;
    n->allocatable = amounts(r);
    for (uint32_t i = 0; i < r->nresources; i++) {
        const struct lnl_resource *x = &r->resources[i];
        n->allocatable[i] = from_count(x, pool_count(x, from_qty(x, l)));
    }
}

static bool is_negative(const reslist *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (qty_sign(l->items[i].value) < 0)
            return true;
    return false;
}

static int compare_key(const char *ns, const char *name, const struct pod *p)
{
    int r = strcmp(ns, p->obj.meta.ns);
    return r ? r : strcmp(name, p->obj.meta.name);
}

/* The pod of an entry; hint: where the last one was found, since both lists are often sorted. */
static const struct pod *find_pod(const struct kd_pods *pods, const struct pod_metric_info *e,
                                  uint32_t *hint)
{
    uint32_t lo = 0, hi = pods->n;

    if (*hint < pods->n && compare_key(e->ns, e->name, pods->items[*hint]) == 0)
        return pods->items[(*hint)++];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = compare_key(e->ns, e->name, pods->items[mid]);
        if (c == 0) {
            *hint = mid + 1;
            return pods->items[mid];
        }
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

static bool is_prod(const struct pod *p)
{
    return pod_priority_class(p) == PRIO_PROD;
}

/* Both lists are sorted by name. */
static void add_usage(const struct lnl_round *r, const reslist *l, int64_t *to)
{
    for (uint32_t i = 0, j = 0; i < r->nresources && j < l->n;) {
        struct lnl_resource *x = &r->resources[i];
        int c = x->met == l->items[j].name ? 0 : strcmp(x->name, l->items[j].name);
        if (c == 0) {
            x->met = l->items[j].name;
            if (!x->is_pods)
                to[i] = i64_add_sat(to[i], amount_of(x, l->items[j].value));
        }
        i += c <= 0;
        j += c >= 0;
    }
}

static void add_pods(const struct lnl_round *r, struct lnl_node *n)
{
    bool looks = r->has_prod || r->pods_resource >= 0;
    struct kd_pods pods = looks ? kd_view_active(r->view, n->node) : (struct kd_pods){ NULL, 0 };
    const struct nodemetric_status *s = &n->metric->status;
    int64_t prod = 0;
    uint32_t hint = 0;

    for (uint32_t i = 0; i < s->pods_metric.n; i++) {
        const struct pod_metric_info *e = &s->pods_metric.items[i];
        if (is_negative(&e->usage.resources))
            continue;
        add_usage(r, &e->usage.resources, n->all.usage);
        const struct pod *p = r->has_prod ? find_pod(&pods, e, &hint) : NULL;
        if (p && is_prod(p))
            add_usage(r, &e->usage.resources, n->prod.usage);
    }
    if (r->pods_resource < 0)
        return;
    for (uint32_t i = 0; i < pods.n && r->has_prod; i++)
        prod += is_prod(pods.items[i]);
    n->all.usage[r->pods_resource] = (int64_t)pods.n * PER_UNIT;
    n->prod.usage[r->pods_resource] = prod * PER_UNIT;
}

/* A report that is missing, empty, too old or impossible takes its node out of the round. */
static bool can_be_used(const struct lnl_round *r, const struct nodemetric *m)
{
    if (!m || !m->status.node_metric || m->status.update_time == 0)
        return false;
    if (r->now - m->status.update_time >= r->args->expiration.v * NSEC_PER_SEC)
        return false;
    return !is_negative(&m->status.node_metric->system_usage.resources);
}

void pool_measure(struct lnl_round *r, uint32_t i)
{
    struct lnl_node *n = &r->nodes[i];
    const struct kobj *o = kd_view_object(r->view, &kind_nodemetric, n->name);

    n->metric = o ? nodemetric_of(o) : NULL;
    if (!can_be_used(r, n->metric))
        return;
    (void)kd_view_hold(r->view, o);
    n->usable = true;
    read_allocatable(r, n);
    n->all.usage = amounts(r);
    n->prod.usage = amounts(r);
    add_usage(r, &n->metric->status.node_metric->system_usage.resources, n->all.usage);
    add_pods(r, n);
}

static void take_usage(const struct lnl_round *r, const int64_t *what, int64_t *from)
{
    for (uint32_t i = 0; i < r->nresources; i++)
        from[i] = i64_sub_sat(from[i], what[i]);
}

void pool_discount(const struct lnl_round *r, struct lnl_node *n, pool_leaving_fn leaving,
                   void *arg)
{
    struct kd_pods pods = kd_view_active(r->view, n->node);
    const struct nodemetric_status *s = &n->metric->status;
    int64_t *gone = amounts(r);
    uint32_t hint = 0;

    for (uint32_t i = 0; i < s->pods_metric.n; i++) {
        const struct pod_metric_info *e = &s->pods_metric.items[i];
        const struct pod *p = find_pod(&pods, e, &hint);
        if (is_negative(&e->usage.resources) || !leaving(arg, e, p, s->update_time))
            continue;
        memset(gone, 0, r->nresources * sizeof *gone);
        add_usage(r, &e->usage.resources, gone);
        take_usage(r, gone, n->all.usage);
        if (p && is_prod(p))
            take_usage(r, gone, n->prod.usage);
    }
}

static const struct pod_metric_info *find_entry(const struct lnl_node *n, const struct pod *p)
{
    const struct nodemetric_status *s = &n->metric->status;

    for (uint32_t i = 0; i < s->pods_metric.n; i++)
        if (compare_key(s->pods_metric.items[i].ns, s->pods_metric.items[i].name, p) == 0)
            return &s->pods_metric.items[i];
    return NULL;
}

const struct lnl_pod_usage *pool_pod_usage(const struct lnl_round *r, const struct lnl_node *n,
                                           const struct pod *p)
{
    const struct pod_metric_info *e = find_entry(n, p);

    if (!e || is_negative(&e->usage.resources))
        return NULL;
    struct lnl_pod_usage *u = arena_new0(r->arena, struct lnl_pod_usage);
    u->amounts = amounts(r);
    u->known = arena_newn0(r->arena, r->nresources, bool);
    add_usage(r, &e->usage.resources, u->amounts);
    for (uint32_t i = 0; i < r->nresources; i++)
        u->known[i] = reslist_has(&e->usage.resources, r->resources[i].name);
    return u;
}

/* ---- thresholds ------------------------------------------------------------------------------- */

static int64_t threshold(const struct lnl_resource *x, double percent, int64_t allocatable)
{
    double part = percent * 0.01 * (double)pool_count(x, allocatable);
    return from_count(x, i64_from_f64(part));
}

static double clamp(double percent)
{
    return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

/* A deviation of 0 says that the resource does not count. */
static void set_thresholds(const struct lnl_round *r, const struct lnl_node *n, bool prod,
                           const double *average, struct lnl_level *to)
{
    to->low = amounts(r);
    to->high = amounts(r);
    for (uint32_t i = 0; i < r->nresources; i++) {
        const struct lnl_resource *x = &r->resources[i];
        double low = prod ? x->prod_low : x->low, high = prod ? x->prod_high : x->high;
        if (r->pool->deviation && low == 0) {
            to->low[i] = to->high[i] = n->allocatable[i];
            continue;
        }
        if (r->pool->deviation) {
            low = clamp(average[i] - low);
            high = clamp(average[i] + high);
        }
        to->low[i] = threshold(x, low, n->allocatable[i]);
        to->high[i] = threshold(x, high, n->allocatable[i]);
    }
}

static double *averages(const struct lnl_round *r, bool prod)
{
    double *avg = arena_newn0(r->arena, r->nresources, double);
    uint32_t usable = 0;

    for (uint32_t j = 0; j < r->nnodes; j++) {
        const struct lnl_node *n = &r->nodes[j];
        if (!n->usable)
            continue;
        usable++;
        for (uint32_t i = 0; i < r->nresources; i++) {
            const struct lnl_resource *x = &r->resources[i];
            int64_t have = pool_count(x, n->allocatable[i]);
            int64_t used = pool_count(x, prod ? n->prod.usage[i] : n->all.usage[i]);
            if (have > 0)
                avg[i] += (double)used / (double)have * 100.0;
        }
    }
    for (uint32_t i = 0; i < r->nresources && usable; i++)
        avg[i] /= (double)usable;
    return avg;
}

/* ---- classes ---------------------------------------------------------------------------------- */

bool pool_is_over(const struct lnl_round *r, const int64_t *usage, const int64_t *limit)
{
    for (uint32_t i = 0; i < r->nresources; i++)
        if (usage[i] > limit[i])
            return true;
    return false;
}

static enum lnl_class class_of(const struct lnl_round *r, const struct lnl_node *n)
{
    bool low = n->schedulable && !pool_is_over(r, n->all.usage, n->all.low);

    if (!low && pool_is_over(r, n->all.usage, n->all.high))
        return LNL_HIGH;
    if (pool_is_over(r, n->prod.usage, n->prod.high))
        return LNL_PROD_HIGH;
    if (n->schedulable && !pool_is_over(r, n->prod.usage, n->prod.low))
        return low ? LNL_BOTH_LOW : LNL_PROD_LOW;
    return low ? LNL_LOW : LNL_NONE;
}

void pool_classify(struct lnl_round *r)
{
    double *average = r->pool->deviation ? averages(r, false) : NULL;
    double *prod_average = r->pool->deviation ? averages(r, true) : NULL;

    for (uint32_t i = 0; i < r->nnodes; i++) {
        struct lnl_node *n = &r->nodes[i];
        if (!n->usable)
            continue;
        set_thresholds(r, n, false, average, &n->all);
        set_thresholds(r, n, true, prod_average, &n->prod);
        n->class = class_of(r, n);
    }
}

/* ---- order of sources ------------------------------------------------------------------------- */

static int64_t part_of_thousand(int64_t used, int64_t have)
{
    return have == 0 ? 0 : i64_muldiv(MIN(used, have), 1000, have);
}

int64_t pool_score(const struct lnl_round *r, const struct lnl_node *n, const int64_t *usage)
{
    int64_t score = 0, weights = 0;

    for (uint32_t i = 0; i < r->nresources; i++) {
        const struct lnl_resource *x = &r->resources[i];
        int64_t part = part_of_thousand(pool_count(x, usage[i]), pool_count(x, n->allocatable[i]));
        score = i64_add_sat(score, i64_mul_sat(x->weight, part));
        weights = i64_add_sat(weights, x->weight);
    }
    return weights == 0 ? 0 : score / weights;
}
