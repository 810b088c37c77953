/* evict.c - which pods of a hot node go, and in which order. */
#include "descheduler/plugins/lownodeload/lownodeload.h"

#include <stdio.h>

#include "api/koord/nodemetric.h"
#include "api/protocol/pod_protocol.h"
#include "base/klog.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "descheduler/framework/nodefit.h"
#include "descheduler/framework/podsort.h"

static struct lnl_level *level_of(const struct lnl_pass *p, struct lnl_node *n)
{
    return p->prod ? &n->prod : &n->all;
}

/* ---- candidates ------------------------------------------------------------------------------- */

static bool is_wanted(const struct lnl_pass *p, const struct pod *pod)
{
    const struct lnl_args *a = p->pool->args;

    if (p->prod && pod_priority_class(pod) != PRIO_PROD)
        return false;
    return args_namespaces_match(a->namespaces, pod->obj.meta.ns) &&
           args_pod_selectors_match(&a->pods, pod) && kd_filter(p->round, pod);
}

/* ---- room on targets --------------------------------------------------------------------------
 *
 * The first target that can take a pod is looked for thousands of times, and most of the first ones
 * are full before long. So the targets are the leaves of a tree whose nodes know the most room
 * below them, resource by resource: a subtree that cannot take the pod is passed over at once.
 */

static void set_room(struct lnl_pass *p, size_t at, size_t target)
{
    uint32_t n = p->pool->nresources;
    const struct lnl_level *l = level_of(p, p->targets->items[target]);

    for (uint32_t i = 0; i < n; i++)
        p->room[at * n + i] = i64_sub_sat(l->high[i], l->usage[i]);
}

static void sum_up(struct lnl_pass *p, size_t at)
{
    uint32_t n = p->pool->nresources;

    for (uint32_t i = 0; i < n; i++)
        p->room[at * n + i] = MAX(p->room[2 * at * n + i], p->room[(2 * at + 1) * n + i]);
}

static void make_tree(struct lnl_pass *p)
{
    uint32_t n = p->pool->nresources;

    for (p->leaves = 1; p->leaves < p->targets->n;)
        p->leaves *= 2;
    p->room = arena_newn0(p->pool->arena, 2 * p->leaves * n, int64_t);
    for (size_t i = 0; i < p->leaves; i++)
        if (i < p->targets->n)
            set_room(p, p->leaves + i, i);
        else
            for (uint32_t j = 0; j < n; j++)
                p->room[(p->leaves + i) * n + j] = INT64_MIN;
    for (size_t at = p->leaves; --at > 0;)
        sum_up(p, at);
}

static bool may_hold(const struct lnl_pass *p, size_t at, const int64_t *usage)
{
    uint32_t n = p->pool->nresources;

    for (uint32_t i = 0; i < n; i++)
        if (usage[i] > p->room[at * n + i])
            return false;
    return true;
}

/* The first target from this one on that has room; the number of targets when there is none. */
static size_t next_room(const struct lnl_pass *p, size_t at, size_t first, size_t width,
                        size_t from, const int64_t *usage)
{
    if (first + width <= from || !may_hold(p, at, usage))
        return p->targets->n;
    if (width == 1)
        return first;
    size_t found = next_room(p, 2 * at, first, width / 2, from, usage);
    return found < p->targets->n
               ? found
               : next_room(p, 2 * at + 1, first + width / 2, width / 2, from, usage);
}

/* The target keeps the room for this pod, whatever becomes of it: those that follow must find
 * another place. */
static bool find_target(struct lnl_pass *p, const struct pod *pod, const int64_t *usage)
{
    size_t i = 0;

    if (!p->room)
        make_tree(p);
    while ((i = next_room(p, 1, 0, p->leaves, i, usage)) < p->targets->n) {
        struct lnl_node *t = p->targets->items[i];
        struct lnl_level *l = level_of(p, t);
        if (!kd_fits(p->pool->view, pod, t->node, KD_FIT_KOORD)) {
            i++;
            continue;
        }
        for (uint32_t j = 0; j < p->pool->nresources; j++)
            l->usage[j] = i64_add_sat(l->usage[j], usage[j]);
        set_room(p, p->leaves + i, i);
        for (size_t at = (p->leaves + i) / 2; at > 0; at /= 2)
            sum_up(p, at);
        return true;
    }
    return false;
}

typedef struct vec_of(struct podrank) ranks;

static void collect(struct lnl_pass *p, struct lnl_node *source, ranks *out)
{
    struct kd_pods pods = kd_view_active(p->pool->view, source->node);
    bool fit = p->pool->args->node_fit.v;

    for (uint32_t i = 0; i < pods.n; i++) {
        const struct pod *pod = pods.items[i];
        if (!is_wanted(p, pod))
            continue;
        const struct lnl_pod_usage *usage = pool_pod_usage(p->pool, source, pod);
        if (fit && (!usage || !find_target(p, pod, usage->amounts)))
            continue;
        struct podrank rank = podrank_of(pod);
        rank.moved = kd_last_move(p->round, pod);
        rank.data = usage;
        vec_push(out, rank);
    }
}

/* ---- order ------------------------------------------------------------------------------------ */

double lnl_usage_score(const int64_t *usage, const int64_t *excess, const int64_t *weights,
                       uint32_t n)
{
    double score = 0;
    int64_t sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (usage[i] < 0)
            continue;
        sum += weights[i];
        if (excess[i] == 0)
            continue;
        double ratio = (double)usage[i] / (double)excess[i];
        score += (double)weights[i] * (ratio >= 1 ? 1 / ratio + 1 : ratio);
    }
    return sum == 0 ? 0 : score / (double)sum;
}

static void score(const struct lnl_pass *p, struct lnl_node *source, ranks *all)
{
    const struct lnl_round *r = p->pool;
    const struct lnl_level *l = level_of(p, source);
    int64_t *excess = arena_newn0(r->arena, r->nresources, int64_t);
    int64_t *weights = arena_newn0(r->arena, r->nresources, int64_t);
    int64_t *usage = arena_newn0(r->arena, r->nresources, int64_t);

    for (uint32_t i = 0; i < r->nresources; i++) {
        if (l->usage[i] <= l->high[i])
            continue;
        excess[i] = pool_count(&r->resources[i], i64_sub_sat(l->usage[i], l->high[i]));
        weights[i] = r->resources[i].weight;
    }
    vec_foreach(all, j) {
        const struct lnl_pod_usage *own = all->items[j].data;
        if (!own)
            continue;
        for (uint32_t i = 0; i < r->nresources; i++)
            usage[i] = own->known[i] ? pool_count(&r->resources[i], own->amounts[i]) : -1;
        all->items[j].has_score = true;
        all->items[j].score = lnl_usage_score(usage, excess, weights, r->nresources);
    }
}

/* ---- evicting --------------------------------------------------------------------------------- */

static double percent(const struct lnl_resource *x, int64_t part, int64_t whole)
{
    double have = (double)pool_milli(x, whole);
    return have == 0 ? 0 : 100 * (double)pool_milli(x, part) / have;
}

static void append_reason(const struct lnl_pass *p, struct lnl_node *source, struct strbuf *out)
{
    const struct lnl_round *r = p->pool;
    const struct lnl_level *l = level_of(p, source);

    strbuf_append(out, "node is overutilized");
    for (uint32_t i = 0; i < r->nresources; i++) {
        const struct lnl_resource *x = &r->resources[i];
        if (l->usage[i] <= l->high[i])
            continue;
        strbuf_appendf(out, ", %s %s usage(%.2f%%)>threshold(%.2f%%)", p->prod ? "prod" : "node",
                       x->name, percent(x, l->usage[i], source->allocatable[i]),
                       p->prod ? x->prod_high : x->high);
    }
}

static bool has_budget(const struct lnl_pass *p)
{
    for (uint32_t i = 0; i < p->pool->nresources; i++)
        if (p->budget[i] <= 0)
            return false;
    return true;
}

static bool goes_on(struct lnl_pass *p, struct lnl_node *source)
{
    const struct lnl_level *l = level_of(p, source);
    struct lnl *x = p->plugin;

    if (!pool_is_over(p->pool, l->usage, l->high)) {
        detector_reset(p->prod ? &x->prod_detectors : &x->detectors, source->name, p->pool->now);
        return false;
    }
    return has_budget(p);
}

static bool evict(struct lnl_pass *p, struct lnl_node *source, const struct pod *pod)
{
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT;

    append_reason(p, source, &reason);
    if (p->pool->args->dry_run) {
        KLOG_I(2, "LowNodeLoad would evict pod", KV_S("namespace", pod->obj.meta.ns),
               KV_S("pod", pod->obj.meta.name), KV_S("node", source->name),
               KV_S("reason", strbuf_str(&reason)));
        return true;
    }
    return kd_evict(p->round, pod, &(struct kd_eviction){ .reason = strbuf_str(&reason) });
}

static void subtract(struct lnl_pass *p, struct lnl_node *source, const int64_t *usage)
{
    for (uint32_t i = 0; i < p->pool->nresources; i++) {
        int64_t q = p->pool->resources[i].is_pods ? 1000 : usage[i];
        p->budget[i] = i64_sub_sat(p->budget[i], q);
        source->all.usage[i] = i64_sub_sat(source->all.usage[i], q);
        if (p->prod)
            source->prod.usage[i] = i64_sub_sat(source->prod.usage[i], q);
    }
}

static bool is_leaving(void *arg, const struct pod_metric_info *e, const struct pod *p,
                       nsec_t reported)
{
    const struct lnl_pass *pass = arg;

    return (p && p->obj.meta.deleted) || kd_leaving(pass->round, e->ns, e->name, reported);
}

/* What was decided in rounds before, and does not show in the report yet, need not be decided
 * again. */
void pass_source(struct lnl_pass *p, struct lnl_node *source)
{
    ranks all = { 0 };

    pool_discount(p->pool, source, is_leaving, p);
    if (!goes_on(p, source))
        return;
    collect(p, source, &all);
    score(p, source, &all);
    podrank_sort(all.items, all.n);
    vec_foreach(&all, i) {
        const struct pod *pod = all.items[i].pod;
        if (!goes_on(p, source))
            break;
        if (!is_wanted(p, pod) || !evict(p, source, pod))
            continue;
        const struct lnl_pod_usage *usage = all.items[i].data;
        if (usage)
            subtract(p, source, usage->amounts);
    }
    vec_fini(&all);
}
