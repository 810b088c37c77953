/* preemption.c - room for a pod at the cost of others: the search, and the choice between nodes
 * (scheduler-core 8.18).
 *
 * Where upstream draws the first node and leaves the last tie to the order of a map, the hash of
 * the pod's UID and the order of nodes decide: the same cluster gives the same plan.
 */
#include "scheduler/framework/preemption.h"

#include "api/kobj.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/framework/preemption_int.h"
#include "scheduler/framework/stopwatch.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"

const char *preemption_node_for(const struct preemption *p, struct kuid uid)
{
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->nodes[i].nnominees; k++)
            if (kuid_equal(p->nodes[i].nominees[k]->meta.uid, uid))
                return p->nodes[i].node;
    return NULL;
}

/* ---- eligible? ------------------------------------------------------------------------------- */

static bool makes_way(const struct pod *p)
{
    const struct condition *c = condition_find(&p->status.conditions, "DisruptionTarget");
    return p->obj.meta.deleted && c && c->status == COND_TRUE &&
           streq(c->reason, "PreemptionByScheduler");
}

/* Does somebody already leave the node that is nominated for the pod? */
static bool room_is_coming(const struct preemption_rules *r, const struct attempt *a)
{
    const char *node = a->nominator ? nominator_node(a->nominator, a->obj->meta.uid) : NULL;
    if (!node)
        node = a->pod.pod->status.nominated_node_name;
    uint32_t row = str_empty(node) ? KS_NO_ROW : ks_row_of(a->cycle.nodes, node);

    if (row == KS_NO_ROW || attempt_code(a, row) == KS_UNRESOLVABLE)
        return false;
    const struct ks_podlist *on = &a->cycle.nodes->pods[row];
    for (uint32_t i = 0; i < on->n; i++)
        if (makes_way(on->items[i]) && preemption_may_evict(r, a, on->items[i], row))
            return true;
    return false;
}

bool preemption_is_eligible(const struct preemption_rules *r, const struct attempt *a,
                            struct ks_texts *why)
{
    if (a->pod.pod->spec->preemption_policy == PREEMPT_NEVER) {
        ks_texts_add(why, "preemption: not eligible due to preemptionPolicy=Never.");
        return false;
    }
    if (room_is_coming(r, a)) {
        ks_texts_add(why, "preemption: not eligible due to a terminating pod on the nominated "
                          "node.");
        return false;
    }
    return true;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* What counts in the choice between nodes, the weightiest first; less is better. */
struct price {
    int64_t by[6];
};

static struct price price_of(const struct victims *v, nsec_t now)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < v->n; i++)
        sum += pod_priority(v->pods[i]) + (INT64_C(1) << 31); /* more pods never cost less */
    /* The first victim has the highest priority, and of those that have it started first. */
    return (struct price){ { v->violations, pod_priority(v->pods[0]), sum, v->n,
                             -preemption_started(v->pods[0], now), v->row } };
}

static bool is_cheaper(const struct price *a, const struct price *b)
{
    for (size_t i = 0; i < ARRAY_LEN(a->by); i++)
        if (a->by[i] != b->by[i])
            return a->by[i] < b->by[i];
    return false;
}

struct found {          /* a node where it would work */
    struct found *next; /* a dearer one */
    struct price price;
    struct kobj *nominee;
    struct preemption_node node;
    struct preemption plan;
};

/* Into the list at its place. Unless all are wanted, only the cheapest stays. */
static void keep(struct attempt *a, struct found **list, const struct victims *v)
{
    struct price price = price_of(v, a->cycle.now);

    while (*list && !is_cheaper(&price, &(*list)->price)) {
        if (!a->all_plans)
            return;
        list = &(*list)->next;
    }
    struct found *f = arena_new0(a->arena, struct found);
    f->next = a->all_plans ? *list : NULL;
    f->price = price;
    f->nominee = a->obj;
    f->node = (struct preemption_node){
        .node = nodecache_row_name(a->cache, v->row),
        .victims = memcpy(arena_newn0(a->arena, v->n, const struct pod *), v->pods,
                          v->n * sizeof *v->pods),
        .n = v->n,
        .violations = v->violations,
        .nominees = &f->nominee,
        .nnominees = 1,
    };
    f->plan = (struct preemption){ .nodes = &f->node, .n = 1 };
    *list = f;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Rows where the absence of pods may help. */
static uint32_t find_potential(const struct attempt *a, uint32_t *rows)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n; i++)
        if (attempt_code(a, i) == KS_UNSCHEDULABLE)
            rows[n++] = i;
    return n;
}

static uint32_t wanted_of(const struct preemption_rules *r, uint32_t n)
{
    if (r->percentage == 0 && r->absolute == 0)
        return n;
    int64_t wanted = i64_muldiv(n, r->percentage, 100);
    wanted = MAX(wanted, r->absolute);
    return (uint32_t)MIN(wanted, (int64_t)n);
}

/* The first candidates, counted from a row that differs between pods; NULL when there is none. */
static struct found *search(const struct preemption_rules *r, struct attempt *a,
                            const uint32_t *rows, uint32_t n, struct tally *tally)
{
    struct dry_run d = { .a = a, .rules = r };
    struct ks_texts why = { .arena = a->arena };
    struct found *list = NULL;
    struct victims v;
    uint32_t wanted = wanted_of(r, n), found = 0;
    uint32_t offset = n ? (uint32_t)(kuid_hash(a->obj->meta.uid) % n) : 0;
    bool clean = false;

    for (uint32_t i = 0; i < n && !(clean && found >= wanted); i++) {
        why.n = 0;
        enum ks_code code = dry_run_row(&d, rows[(offset + i) % n], &v, &why);
        if (code == KS_SUCCESS && v.n == 0) /* as things are: the pod was rejected as a whole */
            ks_texts_add(&why, PREEMPTION_NO_VICTIMS);
        for (uint32_t k = 0; k < why.n; k++)
            tally_add(tally, why.items[k], 1);
        if (code != KS_SUCCESS || v.n == 0)
            continue;
        found++;
        clean |= v.violations == 0;
        keep(a, &list, &v);
    }
    for (struct found *f = list; f; f = f->next)
        f->plan.next = f->next ? &f->next->plan : NULL;
    return list;
}

enum ks_code preemption_plan(const struct preemption_rules *r, struct attempt *a,
                             struct preemption *ret, struct ks_texts *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    *ret = (struct preemption){ .keep = true };
    if (!preemption_is_eligible(r, a, why))
        return KS_UNSCHEDULABLE;
    *ret = (struct preemption){ 0 };
    struct tally *tally = tally_new(a->arena);
    uint32_t *rows = arena_newn0(a->arena, a->n, uint32_t), n = find_potential(a, rows);
    if (r->budgets)
        budgets_refresh(r->budgets);
    const struct found *best = search(r, a, rows, n, tally);
    if (best) {
        *ret = best->plan;
        return KS_SUCCESS;
    }
    if (n < a->n)
        tally_add(tally, "Preemption is not helpful for scheduling", a->n - n);
    tally_format(tally, a->n, &text);
    ks_texts_addf(why, "preemption: %s", strbuf_str(&text));
    return KS_UNSCHEDULABLE;
}

/* ---- the extension point --------------------------------------------------------------------- */

/* Only what was said from here on counts. */
static void forget_texts(struct ks_texts *t, uint32_t n)
{
    t->items += n;
    t->n -= n;
    t->cap -= n;
}

static void ask_for_plan(struct attempt *a, uint32_t slot, struct stopwatch *w,
                         struct post_filter_result *ret)
{
    const struct profile_slot *s = &a->profile->slots[slot];
    struct preemption plan = { 0 };
    uint32_t said = ret->why.n;

    if (!s->plugin->post_filter->plan)
        return;
    ret->searches += s->plugin->seeks_victims;
    attempt_enter(a, slot, a->state[slot]);
    ret->code = s->plugin->post_filter->plan(s->self, a, &plan, &ret->why);
    stopwatch_plugin(w, LAP_POST_FILTER, slot, ret->code);
    stopwatch_point(w, LAP_POST_FILTER, ret->code);
    ret->keep |= plan.keep;
    if (ret->code == KS_UNRESOLVABLE || ret->code == KS_SUCCESS)
        forget_texts(&ret->why, said);
    if (ret->code == KS_SUCCESS)
        ret->plan = plan;
}

/* Whoever rejected the pod is asked first, wherever it stands: it knows whether victims help at
 * all. Others would find some on a full node and evict them in vain. */
void post_filter_run(struct attempt *a, struct stopwatch *w, struct post_filter_result *ret)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_POST_FILTER];

    *ret = (struct post_filter_result){ .code = KS_UNSCHEDULABLE, .why = { .arena = a->arena } };
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < point->n && ret->code == KS_UNSCHEDULABLE; i++)
            if ((a->rejectors >> point->slots[i] & 1) != (unsigned)turn)
                ask_for_plan(a, point->slots[i], w, ret);
}

void post_filter_finish(const struct profile *p, const struct pod *pod,
                        const struct post_filter_outcome *o, struct stopwatch *w)
{
    const struct profile_point *point = &p->points[KS_POINT_POST_FILTER];

    for (uint32_t i = 0; i < point->n; i++) {
        const struct profile_slot *s = &p->slots[point->slots[i]];
        if (!s->plugin->post_filter->after)
            continue;
        s->plugin->post_filter->after(s->self, pod, o);
        stopwatch_plugin(w, LAP_AFTER_POST_FILTER, point->slots[i], KS_SUCCESS);
    }
}
