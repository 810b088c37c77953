/* defaultpreemption.c - DefaultPreemption: room for a pod at the cost of less important ones
 * (scheduler-core 8.18).
 *
 * Only the plan is made here, on the attempt's own rows; the scheduler evicts. Where upstream draws
 * the first node and leaves the last tie to the order of a map, the hash of the pod's UID and the
 * order of nodes decide: the same cluster gives the same plan.
 */
#include "api/kobj.h"
#include "api/pod.h"
#include "api/policy.h"
#include "base/arena.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"
#include "scheduler/plugins/defaultpreemption/args.h"
#include "scheduler/plugins/defaultpreemption/budgets.h"
#include "scheduler/plugins/defaultpreemption/dryrun.h"
#include "scheduler/plugins/registry.h"

struct preempt {
    struct ks_env env;
    int64_t percentage, absolute; /* how many candidates are enough */
    struct budgets *budgets;
};

/* ---- life ------------------------------------------------------------------------------------ */

static int preempt_create(const struct ks_env *env, const void *args, void **ret_self,
                          struct kerr *err)
{
    const struct preemption_args *a = args;
    struct preempt *p = xnew0(struct preempt);

    (void)err;
    *p = (struct preempt){ .env = *env, .percentage = a->percentage.v, .absolute = a->absolute.v };
    p->budgets = budgets_new(env->objects);
    *ret_self = p;
    return 0;
}

static void preempt_destroy(void *self)
{
    struct preempt *p = self;
    budgets_free(p->budgets);
    free(p);
}

/* Tried before its victims are on their way out, the pod would only find others. */
static enum ks_code preempt_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    const struct preempt *x = self;

    if (!ks_making_room(&x->env, p->obj.meta.uid))
        return KS_SUCCESS;
    ks_texts_add(why, "waiting for the preemption for this pod to be finished");
    return KS_UNRESOLVABLE;
}

/* ---- eligible? ------------------------------------------------------------------------------- */

static bool makes_way(const struct pod *p)
{
    const struct condition *c = condition_find(&p->status.conditions, "DisruptionTarget");
    return p->obj.meta.deleted && c && c->status == COND_TRUE &&
           streq(c->reason, "PreemptionByScheduler");
}

/* Does somebody already leave the node that is nominated for the pod? */
static bool room_is_coming(const struct attempt *a)
{
    const char *node = a->nominator ? nominator_node(a->nominator, a->obj->meta.uid) : NULL;
    if (!node)
        node = a->pod.pod->status.nominated_node_name;
    uint32_t row = str_empty(node) ? KS_NO_ROW : ks_row_of(a->cycle.nodes, node);

    if (row == KS_NO_ROW || attempt_code(a, row) == KS_UNRESOLVABLE)
        return false;
    const struct ks_podlist *on = &a->cycle.nodes->pods[row];
    for (uint32_t i = 0; i < on->n; i++)
        if (pod_priority(on->items[i]) < pod_priority(a->pod.pod) && makes_way(on->items[i]))
            return true;
    return false;
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
                             -dryrun_started(v->pods[0], now), v->row } };
}

static bool is_cheaper(const struct price *a, const struct price *b)
{
    for (size_t i = 0; i < ARRAY_LEN(a->by); i++)
        if (a->by[i] != b->by[i])
            return a->by[i] < b->by[i];
    return false;
}

/* Rows where the absence of pods may help. */
static uint32_t find_potential(const struct attempt *a, uint32_t *rows)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n; i++)
        if (attempt_code(a, i) == KS_UNSCHEDULABLE)
            rows[n++] = i;
    return n;
}

static uint32_t wanted_of(const struct preempt *p, uint32_t n)
{
    int64_t wanted = i64_muldiv(n, p->percentage, 100);
    wanted = MAX(wanted, p->absolute);
    return (uint32_t)MIN(wanted, (int64_t)n);
}

struct found {          /* a node where it would work */
    struct found *next; /* a dearer one */
    struct price price;
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
    f->plan = (struct preemption){
        .node = nodecache_row_name(a->cache, v->row),
        .victims = memcpy(arena_newn0(a->arena, v->n, const struct pod *), v->pods,
                          v->n * sizeof *v->pods),
        .n = v->n,
        .violations = v->violations,
    };
    *list = f;
}

/* The first candidates, counted from a row that differs between pods; NULL when there is none. */
static struct found *search(struct preempt *p, struct attempt *a, const uint32_t *rows, uint32_t n,
                            struct tally *tally)
{
    struct dryrun d = { .a = a, .budgets = p->budgets };
    struct ks_texts why = { .arena = a->arena };
    struct found *list = NULL;
    struct victims v;
    uint32_t wanted = wanted_of(p, n), found = 0;
    uint32_t offset = n ? (uint32_t)(kuid_hash(a->obj->meta.uid) % n) : 0;
    bool clean = false;

    for (uint32_t i = 0; i < n && !(clean && found >= wanted); i++) {
        why.n = 0;
        if (!dryrun_row(&d, rows[(offset + i) % n], &v, &why)) {
            for (uint32_t k = 0; k < why.n; k++)
                tally_add(tally, why.items[k], 1);
            continue;
        }
        found++;
        clean |= v.violations == 0;
        keep(a, &list, &v);
    }
    for (struct found *f = list; f; f = f->next)
        f->plan.next = f->next ? &f->next->plan : NULL;
    return list;
}

static enum ks_code preempt_plan(void *self, struct attempt *a, struct preemption *ret,
                                 struct ks_texts *why)
{
    struct preempt *p = self;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    *ret = (struct preemption){ .keep = true };
    if (a->pod.pod->spec->preemption_policy == PREEMPT_NEVER) {
        ks_texts_add(why, "preemption: not eligible due to preemptionPolicy=Never.");
        return KS_UNSCHEDULABLE;
    }
    if (room_is_coming(a)) {
        ks_texts_add(why, "preemption: not eligible due to a terminating pod on the nominated "
                          "node.");
        return KS_UNSCHEDULABLE;
    }
    struct tally *tally = tally_new(a->arena);
    uint32_t *rows = arena_newn0(a->arena, a->n, uint32_t), n = find_potential(a, rows);
    budgets_refresh(p->budgets);
    const struct found *best = search(p, a, rows, n, tally);
    if (best) {
        *ret = best->plan;
        return KS_SUCCESS;
    }
    if (n < a->n)
        tally_add(tally, "Preemption is not helpful for scheduling", a->n - n);
    tally_format(tally, a->n, &text);
    ks_texts_addf(why, "preemption: %s", strbuf_str(&text));
    *ret = (struct preemption){ .node = "" };
    return KS_UNSCHEDULABLE;
}

static const struct ks_post_filter preempt_post_filter = { .plan = preempt_plan };
static const struct kind *const preempt_kinds[] = { &kind_pdb, NULL };

static bool worth_nothing(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self, (void)e, (void)p;
    return false;
}

/* The scheduler lets the pod in when the last victim goes; no event does. */
static const struct ks_hint preempt_hints[] = { { KS_RES_POD, KS_DELETE, worth_nothing } };

const struct ks_plugin ks_plugin_default_preemption = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "DefaultPreemption",
    .gates_silently = true, /* what was said when victims were chosen stays true until they go */
    .seeks_victims = true,
    .kinds = preempt_kinds,
    .args = &preemption_args,
    .create = preempt_create,
    .destroy = preempt_destroy,
    .pre_enqueue = preempt_pre_enqueue,
    .hints = preempt_hints,
    .nhints = ARRAY_LEN(preempt_hints),
    .post_filter = &preempt_post_filter,
};
