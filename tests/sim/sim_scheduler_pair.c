/* sim_scheduler_pair.c - a plugin that makes room for two pods with one plan, mostly on two nodes,
 * and hears what became of each attempt that found none.
 */
#include "sim_scheduler.h"

#include "api/kobj.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/framework/preemption.h"

static struct sim_scheduler *next_born;

void pair_for(struct sim_scheduler *s)
{
    next_born = s;
}

static int pair_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    (void)args, (void)err;
    next_born->env = *env;
    *ret_self = next_born;
    return 0;
}

static void pair_destroy(void *self)
{
    struct sim_scheduler *s = self;

    vec_foreach(&s->pairs, i)
        kobj_unref(s->pairs.items[i]);
    vec_clear(&s->pairs);
}

/* Whoever comes to the queue is remembered. */
static enum ks_code pair_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    struct sim_scheduler *s = self;
    const struct sim_pod *x = sim_pod_of(s->sim, p->obj.meta.uid);
    struct kobj *o = kobj_ref((struct kobj *)&p->obj);

    (void)why;
    for (size_t i = s->pairs.n; i-- > 0;) {
        const struct kobj *known = s->pairs.items[i];
        if (!kuid_equal(known->meta.uid, o->meta.uid) && sim_pod_of(s->sim, known->meta.uid))
            continue;
        kobj_unref(s->pairs.items[i]);
        vec_swap_remove(&s->pairs, i);
    }
    if (x && x->paired)
        vec_push(&s->pairs, o);
    else
        kobj_unref(o);
    return KS_SUCCESS;
}

/* Another one that waits, without a claim of its own. */
static struct kobj *find_partner(struct sim_scheduler *s, const struct attempt *a)
{
    vec_foreach(&s->pairs, i) {
        struct kobj *o = s->pairs.items[i];
        const struct sim_pod *p = sim_pod_of(s->sim, o->meta.uid);
        if (p && !kuid_equal(p->uid, a->obj->meta.uid) && p->node == SIM_NOWHERE &&
            p->nominated == SIM_NOWHERE && p->priority > 0 && !p->gated &&
            streq(p->scheduler, a->profile->scheduler_name) && !hold_find(s, p->uid) &&
            !ks_making_room(&s->env, p->uid))
            return o;
    }
    return NULL;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* The first row where the victims do not matter much. False: there is none. */
static bool first_row(struct attempt *a, const struct preemption_rules *r, struct victims *ret)
{
    struct dry_run d = { .a = a, .rules = r };
    struct ks_texts why = { .arena = a->arena };

    for (uint32_t row = 0; row < a->n; row++)
        if (attempt_code(a, row) == KS_UNSCHEDULABLE &&
            dry_run_row(&d, row, ret, &why) == KS_SUCCESS && ret->n)
            return true;
    return false;
}

static struct preemption_node room_on(struct attempt *a, const struct victims *v, struct kobj *who)
{
    struct kobj **nominee = arena_new0(a->arena, struct kobj *);

    *nominee = who;
    return (struct preemption_node){
        .node = a->cycle.nodes->node[v->row]->obj.meta.name,
        .victims = v->n ? memcpy(arena_newn0(a->arena, v->n, const struct pod *), v->pods,
                                 v->n * sizeof *v->pods)
                        : NULL,
        .n = v->n,
        .nominees = nominee,
        .nnominees = 1,
    };
}

/* Where the partner goes, with victims or without. */
static bool place_partner(struct attempt *b, const struct preemption_rules *r, struct victims *ret)
{
    attempt_filter(b);
    if (b->code != KS_SUCCESS)
        return false;
    for (uint32_t row = 0; b->feasible && row < b->n; row++) {
        if (attempt_code(b, row) != KS_SUCCESS)
            continue;
        *ret = (struct victims){ .row = row };
        return true;
    }
    return first_row(b, r, ret);
}

/* The first has its row; the partner looks for another one with that in mind. */
static bool plan_partner(struct sim_scheduler *s, struct attempt *a, struct kobj *partner,
                         const struct victims *first, struct preemption_node *ret)
{
    const struct preemption_rules rules = { 0 };
    uint32_t mark = ks_overlay_mark(a->overlay);
    const struct kuid job[] = { a->obj->meta.uid, partner->meta.uid };
    struct victims v = { 0 };
    struct attempt b;

    for (uint32_t i = 0; i < first->n; i++)
        ks_overlay_remove_pod(a->overlay, first->row, first->pods[i]);
    ks_overlay_add_pod(a->overlay, first->row, a->obj);
    attempt_init(&b,
                 &(struct attempt_input){ .profile = a->profile,
                                          .cache = a->cache,
                                          .nominator = a->nominator,
                                          .objects = s->env.objects,
                                          .pod = partner,
                                          .now = a->cycle.now,
                                          .within = a,
                                          .ignored = job,
                                          .nignored = ARRAY_LEN(job) },
                 a->arena);
    bool found = place_partner(&b, &rules, &v);
    if (found)
        *ret = room_on(&b, &v, partner);
    attempt_end(&b);
    ks_overlay_rollback(a->overlay, mark);
    return found;
}

static enum ks_code pair_plan(void *self, struct attempt *a, struct preemption *ret,
                              struct ks_texts *why)
{
    const struct preemption_rules rules = { 0 };
    struct sim_scheduler *s = self;
    const struct sim_pod *p = sim_pod_of(s->sim, a->obj->meta.uid);
    struct preemption_node *nodes = arena_newn0(a->arena, 2, struct preemption_node);
    struct victims v;

    if (s->asked)
        sim_fail(s->sim, "a plugin was not told what became of an attempt");
    s->asked = true;
    s->asked_of = a->obj->meta.uid;
    struct kobj *partner = p && p->paired ? find_partner(s, a) : NULL;
    if (!partner || !preemption_is_eligible(&rules, a, why) || !first_row(a, &rules, &v))
        return KS_UNSCHEDULABLE;
    nodes[0] = room_on(a, &v, a->obj);
    v.pods = (const struct pod **)nodes[0].victims;
    if (!plan_partner(s, a, partner, &v, &nodes[1]))
        return KS_UNSCHEDULABLE;
    *ret = (struct preemption){ .nodes = nodes, .n = 2, .reason = "two pods need room" };
    return KS_SUCCESS;
}

static void pair_after(void *self, const struct pod *p, const struct post_filter_outcome *o)
{
    struct sim_scheduler *s = self;

    if (s->asked && !kuid_equal(s->asked_of, p->obj.meta.uid))
        sim_fail(s->sim, "%s: the outcome of another attempt was told", p->obj.meta.name);
    s->asked = false;
    if (!o->plan != (o->code != KS_SUCCESS) || strncmp(o->message, "0/", 2) != 0)
        sim_fail(s->sim, "%s: the outcome is code %d and '%s'", p->obj.meta.name, o->code,
                 o->message);
    s->sim->n.outcomes++;
    s->sim->n.pairs += o->plan && o->plan->n == 2;
}

static const struct ks_post_filter pair_post_filter = { pair_plan, pair_after };
const struct ks_plugin pair_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Pair",
    .create = pair_create,
    .destroy = pair_destroy,
    .pre_enqueue = pair_pre_enqueue,
    .post_filter = &pair_post_filter,
    .seeks_victims = true,
};
