/* round.c - the members of a group are tried one after the other (sched-gang 3, 4).
 *
 * A group has one member in the queue, which represents it. When that one has a node and must wait,
 * the round is open, and next() fetches the others until the group is satisfied, one of them does
 * not fit, or all were tried. Then nobody waits any more: what an incomplete gang holds is released
 * at once, and a member that was rejected stops counting in the same step.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/coscheduling/gangs_int.h"
#include "scheduler/plugins/coscheduling/topo_plan.h"

#define ALL_TRIED "all pending pods is already been attempted"
enum { SETTLE_TRIES = 16 };
/* A gang whose members come one by one is not told each time that it is not whole. */
#define TELL_AFTER (300 * NSEC_PER_MSEC)

static const char *key_of(const struct pod *p, struct arena *a)
{
    return arena_printf(a, "%s/%s", p->obj.meta.ns, p->obj.meta.name);
}

/* ---- may it be tried? ------------------------------------------------------------------------ */

/* As Go prints a list of strings. */
static void append_ids(struct strbuf *b, const struct gangs *s, const struct gang_group *g,
                       bool (*lists)(const struct gang *))
{
    bool first = true;

    strbuf_append(b, "[");
    for (uint32_t i = 0; i < g->n; i++) {
        if (lists && !lists(group_gang(s, g, i)))
            continue;
        strbuf_appendf(b, "%s%s", first ? "" : " ", g->ids[i]);
        first = false;
    }
    strbuf_append(b, "]");
}

static bool is_missing(const struct gang *g)
{
    return !g;
}

static bool is_not_ready(const struct gang *g)
{
    return g && !g->ready;
}

static bool is_too_small(const struct gang *g)
{
    return g && g->ready && !gang_is_whole(g);
}

static bool any_gang(const struct gangs *s, const struct gang_group *g,
                     bool (*is)(const struct gang *))
{
    for (uint32_t i = 0; i < g->n; i++)
        if (is(group_gang(s, g, i)))
            return true;
    return false;
}

static bool is_incomplete(const struct gangs *s, const struct gang_group *g)
{
    return any_gang(s, g, is_missing) || any_gang(s, g, is_not_ready) ||
           any_gang(s, g, is_too_small);
}

/* What is missing of the gangs of its group. */
static const char *what_is_missing(const struct gangs *s, const struct gang *gang,
                                   const struct pod *p, struct arena *a)
{
    static const struct {
        bool (*is)(const struct gang *);
        bool names_all;
        const char *text;
    } checks[] = { { is_missing, false, "doesn't exists" },
                   { is_not_ready, false, "has not init" },
                   { is_too_small, true, "child pod not collect enough" } };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT, all = STRBUF_INIT;
    const struct gang_group *g = gang->group;

    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (!any_gang(s, g, checks[i].is))
            continue;
        strbuf_append(&b, b.len ? ", memberGangs " : "memberGangs ");
        append_ids(&b, s, g, checks[i].names_all ? NULL : checks[i].is);
        strbuf_appendf(&b, " %s", checks[i].text);
    }
    append_ids(&all, s, g, NULL);
    return arena_printf(a, "gangGroup %s basic check: %s, current gang: %s, podName: %s",
                        strbuf_str(&all), strbuf_str(&b), gang->id, key_of(p, a));
}

/* The gang of a pod: most are members, for which no text has to be made. */
static struct gang *gang_of(const struct gangs *s, const struct pod *p, const char *name,
                            struct arena *a)
{
    const struct gang_member *m = gangs_member(s, p->obj.meta.uid);

    return m ? (m->gang->gone ? NULL : m->gang) : gangs_find(s, gang_id(p->obj.meta.ns, name, a));
}

/* Why a pod with this gang may not be tried; NULL: it may. *ret_gang: NULL when it needs none. */
static const char *obstacle(const struct gangs *s, const struct pod *p, struct arena *a,
                            struct gang **ret_gang)
{
    const char *name = gang_name(&p->obj.meta);

    *ret_gang = NULL;
    if (!name)
        return NULL;
    struct gang *g = gang_of(s, p, name, a);
    if (!g || !g->ready)
        return arena_printf(a, "%s, gangName: %s/%s, podName: %s",
                            g ? "gang has not init" : "can't find gang", p->obj.meta.ns, name,
                            key_of(p, a));
    if (gang_is_free(g))
        return NULL;
    *ret_gang = g;
    return is_incomplete(s, g->group) ? what_is_missing(s, g, p, a) : NULL;
}

static bool round_is_of(const struct gangs *s, const struct gang *g)
{
    for (uint32_t i = 0; s->round && i < s->round->group->n; i++)
        if (streq(s->round->group->ids[i], g->id))
            return !gang_is_apart(g, s->round->group);
    return false;
}

/* ---- conditions ------------------------------------------------------------------------------ */

static uint32_t count_nodes(const struct gangs *s)
{
    return s->env.nodes ? s->env.nodes->n : s->nodes;
}

static const char *sentence(const struct gangs *s, const char *why, struct arena *a)
{
    return arena_printf(a, "0/%u nodes are available: %s.", count_nodes(s), why);
}

static void on_tell(struct loop *l, void *arg)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct gangs *s = arg;
    struct gang *gang;

    (void)l;
    s->tell = NULL;
    while (s->untold.n) {
        struct gang_member *m = vec_pop(&s->untold);
        m->untold = false;
        if (m->state != MEMBER_PENDING || !m->able)
            continue;
        const char *why = obstacle(s, pod_of(m->pod), a, &gang);
        const struct gang_group *g = m->gang->group;
        if (!why && g && g->failure && g->representative != m && m->tried != g->round)
            why = sentence(s, g->failure, a);
        if (why && s->ops->tell)
            s->ops->tell(s->arg, m, why);
    }
}

/* Its condition says why it is not tried, unless that is over soon. */
static void tell_later(struct gangs *s, struct gang_member *m)
{
    if (!m || m->untold || !s->env.loop)
        return;
    m->untold = true;
    vec_push(&s->untold, m);
    if (!s->tell)
        s->tell = loop_after(s->env.loop, TELL_AFTER, on_tell, s);
}

/* ---- the queue ------------------------------------------------------------------------------- */

static enum ks_code keep_out(struct ks_texts *why, const char *text)
{
    ks_texts_add(why, text);
    return KS_UNRESOLVABLE;
}

/* Outside of the queue it hears of nothing that could help it: it is not the one that waits. */
static void drop_root(const struct gang_member *m)
{
    struct gang_group *g = m ? m->gang->group : NULL;

    if (g && g->root == m)
        g->root = NULL;
}

static enum ks_code enqueue(struct gangs *s, struct gang_member *m, const struct pod *p,
                            struct ks_texts *why)
{
    struct gang *gang;
    const char *text = obstacle(s, p, why->arena, &gang);

    if (text) {
        if (gang && gang->group->representative == m)
            gang->group->representative = NULL;
        tell_later(s, m);
        return keep_out(why, text);
    }
    if (!gang)
        return KS_SUCCESS;
    struct gang_group *g = gang->group;
    if (round_is_of(s, gang) && (!m || m->tried != s->round->number))
        return keep_out(why, arena_printf(why->arena,
                                          "gangGroup %s is scheduling and this pod has not been "
                                          "attempted",
                                          g->id));
    if (!m || m->state != MEMBER_PENDING)
        return keep_out(why, arena_printf(why->arena, "pod %s is not exists in gangCache",
                                          key_of(p, why->arena)));
    if (g->representative && g->representative != m) {
        if (g->failure)
            tell_later(s, m);
        return keep_out(why, arena_printf(why->arena,
                                          "representative pod %s of gangGroupID %s already exists",
                                          member_key(g->representative, why->arena), g->id));
    }
    g->representative = m;
    return KS_SUCCESS;
}

enum ks_code gangs_enqueue(struct gangs *s, const struct pod *p, struct ks_texts *why)
{
    struct gang_member *m = gangs_member(s, p->obj.meta.uid);
    enum ks_code code = enqueue(s, m, p, why);

    if (code != KS_SUCCESS)
        drop_root(m);
    return code;
}

enum ks_code gangs_check(const struct gangs *s, const struct pod *p, struct ks_texts *why)
{
    struct gang *gang;
    const char *text = obstacle(s, p, why->arena, &gang);

    if (text)
        return keep_out(why, text);
    if (gang && round_is_of(s, gang) && s->round->failure)
        return keep_out(why, arena_strdup(why->arena, s->round->failure));
    return KS_SUCCESS;
}

/* ---- waiting --------------------------------------------------------------------------------- */

#define group_foreach(s, g, gang)                                        \
    for (uint32_t gang##_i = 0; gang##_i < (g)->n; gang##_i++)           \
        for (struct gang *gang = group_gang_or_gone((s), (g), gang##_i); \
             gang && !gang_is_apart(gang, (g)); gang = NULL)

/* They stop counting before the first of them is told: whoever hears of it and looks at the gang
 * finds nobody waiting. */
static void group_reject(struct gangs *s, struct gang_group *g, enum gang_rejection how,
                         const char *why)
{
    struct vec_of(struct kuid) rejected = { 0 };
    CLEANUP(mem_free) char *text = xstrdup(why); /* it may be that of a round that ends by this */
    struct hold_share share;

    group_foreach(s, g, gang) {
        vec_foreach(&gang->members, i) {
            struct gang_member *m = gang->members.items[i];
            if (m->state == MEMBER_WAITING && !m->allowed)
                vec_push(&rejected, m->uid);
        }
    }
    vec_foreach(&rejected, i) {
        struct gang_member *m = gangs_member(s, rejected.items[i]);
        member_set(s, m, MEMBER_PENDING, NULL);
        m->held = false; /* it is decided anew */
    }
    hold_share_open(s, g, &share);
    vec_foreach(&rejected, i) {
        struct gang_member *m = gangs_member(s, rejected.items[i]);
        bool keeps = m && how == GANG_PREEMPTION_FAILED && hold_share_take(s, &share, m);
        if (m && s->ops->reject)
            s->ops->reject(s->arg, m, keeps ? GANG_PREEMPTION_WORKED : how, text);
    }
    hold_share_close(&share);
    vec_fini(&rejected);
}

/* What a gang that has left the group would have to say does not bind members that need no others:
 * the workers of a job may be made again when its annotated parameter servers have ended. Upstream
 * lets them wait until they time out. */
static bool all_satisfied(const struct gangs *s, const struct gang_member *m)
{
    const struct gang_group *g = m->gang->group;

    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        if (gang ? !gang_is_satisfied(gang) : !gang_is_free(m->gang))
            return false;
    }
    return true;
}

/* Those that wait now are the ones that were permitted together. */
static void note_binding(struct gangs *s, struct gang_group *g)
{
    if (g->binding)
        return;
    g->binding = ++s->serial;
    group_foreach(s, g, gang) {
        vec_foreach(&gang->members, i) {
            struct gang_member *m = gang->members.items[i];
            if (m->state != MEMBER_WAITING)
                continue;
            m->binding = g->binding;
            g->nbinding++;
        }
    }
}

static void allow_all(struct gangs *s, struct gang_group *g, struct gang_member *last)
{
    last->allowed = true;
    group_foreach(s, g, gang) {
        vec_foreach(&gang->members, i) {
            struct gang_member *m = gang->members.items[i];
            if (m->state != MEMBER_WAITING || m->allowed)
                continue;
            m->allowed = true;
            if (s->ops->allow)
                s->ops->allow(s->arg, m);
        }
    }
}

static void round_open(struct gangs *s, struct gang_member *first)
{
    struct gang_group *g = first->gang->group;
    struct gang_round *r = xnew0(struct gang_round);

    r->number = ++s->rounds;
    r->group = g;
    r->first = first->gang;
    r->began = s->env.loop ? loop_mono(s->env.loop) : 0;
    r->tried = 1;
    r->changes = s->changes - 1; /* the order is still to be made */
    first->tried = r->number;
    r->again = g->retries;
    if (s->planned_for == first)
        r->plan = take(s->plan);
    g->round = r->number;
    if (!g->retries) {
        g->series = ++s->serial;
        g->lean = false;
    }
    g->retries = false;
    g->failure = mem_free(g->failure);
    s->round = r;
}

/* The attempt that is under way may still read it. */
static void retire(struct gangs *s, struct topo_plan *plan)
{
    if (!plan)
        return;
    topo_plan_free(s->plan_before);
    s->plan_before = plan;
}

void gangs_set_plan(struct gangs *s, struct topo_plan *plan, const struct gang_member *first)
{
    retire(s, s->plan);
    s->plan = plan;
    s->planned_for = first;
}

void round_close(struct gangs *s, const char *reason)
{
    struct gang_round *r = take(s->round);

    if (!r)
        return;
    if (s->ops->round_over)
        s->ops->round_over(s->arg, r, reason);
    group_due(s, r->group);
    retire(s, r->plan);
    free(r->order);
    free(r->failure);
    free(r);
}

void round_begin(struct gangs *s, const struct pod *p)
{
    struct gang_member *m = gangs_member(s, p->obj.meta.uid);

    if (!s->round && m && m->gang->group)
        round_open(s, m);
}

enum ks_code gangs_permit(struct gangs *s, const struct pod *p, const char *node, nsec_t *ret_wait,
                          struct ks_texts *why)
{
    struct gang_member *m = gangs_member(s, p->obj.meta.uid);

    if (!gang_name(&p->obj.meta))
        return KS_SUCCESS;
    if (!m || m->gang->gone) {
        ks_texts_add(why, "Gang not found");
        return KS_UNSCHEDULABLE;
    }
    struct gang_group *g = m->gang->group;
    member_set(s, m, MEMBER_WAITING, node);
    *ret_wait = m->gang->spec.waiting_time_ns;
    if (!g)
        return KS_WAIT;
    g->representative = g->representative == m ? NULL : g->representative;
    g->root = g->root == m ? NULL : g->root;
    if (all_satisfied(s, m)) {
        note_binding(s, g);
        round_close(s, "gang is already succeed");
        g->failure = mem_free(g->failure);
        allow_all(s, g, m);
        hold_drop(s, g);
        group_due(s, g);
        return KS_SUCCESS;
    }
    group_waits_for_all(s, g);
    if (!gang_is_free(m->gang))
        round_begin(s, p);
    return KS_WAIT;
}

void gangs_unreserve(struct gangs *s, const struct pod *p)
{
    struct gang_member *m = gangs_member(s, p->obj.meta.uid);

    if (!m || m->state != MEMBER_WAITING) /* rejected by us, or it did not get so far */
        return;
    struct gang_group *g = m->gang->group;
    member_set(s, m, MEMBER_PENDING, NULL);
    if (!g)
        return;
    if (s->round && s->round->group == g)
        s->round->lost = true;
    group_due(s, g);
    if (gang_is_free(m->gang) || m->gang->spec.mode != GANG_STRICT)
        return;
    CLEANUP(mem_free)
    char *why = xasprintf("Gang \"%s\" gets rejected due to Pod \"%s\" in Unreserve", m->gang->id,
                          p->obj.meta.name);
    group_reject(s, g, GANG_REJECT, why);
}

/* ---- the next one ---------------------------------------------------------------------------- */

/* Who has room waiting for it comes first: others would find that taken. Those that failed in this
 * series come last. */
enum { RANKS = 3 };
static int rank_of(const struct gangs *s, const struct gang_member *m, bool failed)
{
    if (failed)
        return RANKS - 1;
    return s->ops->is_nominated && s->ops->is_nominated(s->arg, m) ? 0 : 1;
}

static void order_members(struct gangs *s, struct gang_round *r)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct gang_group *g = r->group;
    uint32_t n, required, at = 0;
    struct gang_member **all =
        g->lean ? group_wanted(s, g, a, &n, &required) : group_pending(s, g, a, &n);

    free(r->order);
    r->order = xnewn0(n + 1, struct gang_member *);
    for (int rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < n; i++)
            if (rank_of(s, all[i], r->again && all[i]->failed == g->series) == rank)
                r->order[at++] = all[i];
    r->n = n;
    r->at = 0;
    r->changes = s->changes;
}

struct gang_member *round_next(struct gangs *s)
{
    struct gang_round *r = s->round;

    if (!r)
        return NULL;
    const char *reason = "gang is nil, may be already deleted";
    if (r->first && !r->first->gone) {
        if (r->changes != s->changes)
            order_members(s, r);
        while (r->at < r->n) {
            struct gang_member *m = r->order[r->at++];
            if (m->tried == r->number || m->state != MEMBER_PENDING ||
                (r->plan && !topo_plan_node(r->plan, m->uid)))
                continue;
            m->tried = r->number;
            r->tried++;
            r->last = m;
            return m;
        }
        reason = ALL_TRIED;
    }
    r->group->stuck = !r->lost && !r->failure;
    group_reject(s, r->group, GANG_PREEMPTION_FAILED, reason);
    round_close(s, reason);
    return NULL;
}

/* ---- failure --------------------------------------------------------------------------------- */

/* What is true of one member is true of those that ask for the same. */
static void mark_failed(struct gangs *s, struct gang_member *m)
{
    const struct pod *p = pod_of(m->pod);
    m->failed = s->round->group->series;
    vec_foreach(&m->gang->members, i) {
        struct gang_member *other = m->gang->members.items[i];
        const struct pod *o = pod_of(other->pod);
        if (other->state == MEMBER_PENDING && other->tried != s->round->number &&
            o->spec == p->spec && kstrmap_equal(&o->obj.meta.labels, &p->obj.meta.labels) &&
            kstrmap_equal(&o->obj.meta.annotations, &p->obj.meta.annotations))
            other->failed = m->failed;
    }
}

static char *failure_of(const struct gangs *s, const struct gang_member *m,
                        const struct gang_round *r, const char *fit)
{
    const struct gang_group *g = r ? r->group : m->gang->group;
    const char *ns = m->pod->meta.ns, *name = m->pod->meta.name;

    if (!r || !fit)
        return xasprintf("GangGroup \"%s\" gets rejected due to member pod \"%s/%s\" is "
                         "unschedulable",
                         g->id, ns, name);
    return xasprintf("GangGroup \"%s\" gets rejected due to member Pod \"%s/%s\" is unschedulable "
                     "with reason \"%s\", alreadyWaitForBound: %u",
                     g->id, ns, name, fit, group_count(s, g, MEMBER_WAITING));
}

void gangs_failed(struct gangs *s, const struct pod *p, const char *fit)
{
    struct gang_member *m = gangs_member(s, p->obj.meta.uid);
    struct gang *gang = m ? m->gang : NULL;

    if (!gang || gang->gone || !gang->group)
        return;
    struct gang_group *g = gang->group;
    g->representative = g->representative == m ? NULL : g->representative;
    if (gang_is_free(gang) || (s->round && !round_is_of(s, gang)))
        return;
    if (!s->round && !is_incomplete(s, g))
        round_open(s, m);
    struct gang_round *r = s->round;
    CLEANUP(mem_free) char *text = r && r->failure ? xstrdup(r->failure) : failure_of(s, m, r, fit);
    if (r && !r->failure) {
        r->failure = xstrdup(text);
        g->root = r->group == g ? m : NULL;
        m->held = false; /* what was kept for it does not do */
        hold_refused(s, r->group);
        r->group->stuck = m->failed == r->group->series;
        mark_failed(s, m);
    }
    if (gang->spec.mode == GANG_STRICT) {
        group_reject(s, g, s->outcome, text);
        for (uint32_t i = 0; i < g->n; i++)
            group_set_waits(s, g, i, false);
    }
}

void round_tell_rest(struct gangs *s)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct gang_round *r = s->round;

    if (!s->patches || !s->ops->tell)
        return;
    const char *why = sentence(s, r->failure, a);
    uint32_t n;
    struct gang_member **all = group_pending(s, r->group, a, &n);
    for (uint32_t i = 0; i < n; i++)
        if (all[i]->tried != r->number)
            s->ops->tell(s->arg, all[i], why);
}

/* Would the others reach what every gang of the group needs? */
static bool others_suffice(const struct gangs *s, const struct gang_group *g)
{
    bool any = false;

    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        int64_t n = 0;
        if (!gang || !gang->ready || (gang_is_apart(gang, g) && !gang_is_satisfied(gang)))
            return false;
        if (gang_is_apart(gang, g))
            continue;
        vec_foreach(&gang->members, k) {
            const struct gang_member *m = gang->members.items[k];
            bool fresh = m->state == MEMBER_PENDING && m->able && m->failed != g->series;
            any |= fresh;
            n += fresh || m->state == MEMBER_WAITING ||
                 (m->state == MEMBER_BOUND &&
                  gang->spec.match_policy == GANG_MATCH_WAITING_AND_RUNNING);
        }
        if (n < gang->spec.min_available && !gang_is_free(gang))
            return false;
    }
    return any;
}

static bool has_spare(const struct gangs *s, const struct gang_group *g)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    uint32_t n, required;

    (void)group_wanted(s, g, a, &n, &required);
    return required < n;
}

/* What is nominated for its members is free again; not for those with a place in the plan or, where
 * that is NULL, with one that is held. True: there was something. */
static bool unnominate_all(struct gangs *s, const struct gang_group *g,
                           const struct preemption *plan)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    bool freed = false;
    uint32_t n;
    struct gang_member **all = group_pending(s, g, a, &n);

    for (uint32_t i = 0; s->ops->unnominate && i < n; i++) {
        if (gang_is_free(all[i]->gang) ||
            (plan ? preemption_node_for(plan, all[i]->uid) != NULL : all[i]->held))
            continue;
        all[i]->held = false;
        freed |= s->ops->unnominate(s->arg, all[i]);
    }
    return freed;
}

/* Those whom the plan gives no place would keep the others off what was nominated for them before.
 */
void gangs_planned(struct gangs *s, const struct pod *p, const struct preemption *plan)
{
    const struct gang_member *m = gangs_member(s, p->obj.meta.uid);

    if (m && m->gang->group)
        (void)unnominate_all(s, m->gang->group, plan);
}

static bool evicts(const struct preemption *plan)
{
    for (uint32_t i = 0; i < plan->n; i++)
        if (plan->nodes[i].n)
            return true;
    return false;
}

void round_give_up(struct gangs *s, const struct preemption *plan)
{
    struct gang_round *r = s->round;
    struct gang_group *g = r->group;
    bool again = g->stuck; /* it has failed in this series before: no other order helps */

    g->stuck = false;
    free(g->failure);
    g->failure = xstrdup(r->failure);
    round_tell_rest(s);
    if (s->ops->refused)
        s->ops->refused(s->arg, g, r->failure);
    group_reject(s, g, s->outcome, r->failure);
    /* Room was looked for in vain. */
    bool freed = s->outcome == GANG_PREEMPTION_FAILED && unnominate_all(s, g, NULL);
    if (plan && !evicts(plan)) {
        /* There is room already, only elsewhere than the round looked. Where it did not find that
         * room a second time, it waits for news as others do. */
        g->retries |= !again;
        g->urgent |= !again;
        g->lean |= !again && has_spare(s, g); /* the plan has places for those that it takes */
    } else if (!plan && !again && (freed || others_suffice(s, g)))
        g->retries = g->urgent = true; /* what it lacked may have been nominated for its peers */
    else if (!plan && !g->lean && g->n > 1 && has_spare(s, g)) {
        /* Spare members of one gang may have had the room that another one needs. */
        g->retries = g->urgent = g->lean = true;
        g->series = ++s->serial;
    }
    round_close(s, ALL_TRIED);
}

/* ---- groups that nobody would try any more --------------------------------------------------- */

static bool needs_a_try(const struct gangs *s, const struct gang_group *g)
{
    if (g->representative || (s->round && s->round->group == g))
        return false;
    if (g->retries)
        return true;
    return !(g->root && g->root->state == MEMBER_PENDING && g->root->able) && !g->stuck &&
           !is_incomplete(s, g);
}

static void settle(struct gangs *s, struct gang_group *g)
{
    CLEANUP(arena_free) struct arena *a = NULL;
    bool urgent = g->urgent;
    uint32_t n, required, tries = 0;

    g->urgent = false;
    if (is_incomplete(s, g)) { /* it cannot take what is nominated for the others: others can */
        hold_drop(s, g);
        (void)unnominate_all(s, g, NULL);
    }
    if (!needs_a_try(s, g) || group_count(s, g, MEMBER_PENDING) == 0)
        return;
    a = arena_new();
    struct gang_member **all =
        g->lean && g->retries ? group_wanted(s, g, a, &n, &required) : group_pending(s, g, a, &n);
    for (int rank = 0; rank < RANKS; rank++) {
        for (uint32_t i = 0; i < n && tries < SETTLE_TRIES && !g->representative; i++) {
            if (rank_of(s, all[i], all[i]->failed == g->series) != rank)
                continue;
            tries++;
            if (urgent && s->ops->activate)
                s->ops->activate(s->arg, all[i]);
            else if (!urgent && s->ops->retry)
                s->ops->retry(s->arg, all[i]);
        }
    }
}

void gangs_settle(struct gangs *s)
{
    struct vec_of(struct gang_group *) due = { s->due.items, s->due.n, s->due.cap };

    s->due.items = NULL;
    s->due.n = s->due.cap = 0;
    vec_foreach(&due, i)
        due.items[i]->queued = false;
    vec_foreach(&due, i)
        settle(s, due.items[i]);
    vec_fini(&due);
}

/* ---- binding --------------------------------------------------------------------------------- */

const char *gangs_binding(const struct gangs *s, struct kuid uid, uint32_t *ret_n)
{
    const struct gang_member *m = gangs_member(s, uid);
    const struct gang_group *g = m ? m->gang->group : NULL;

    if (!g || !g->binding || g->nbinding < 2 || m->binding != g->binding)
        return NULL;
    *ret_n = g->nbinding;
    return g->id;
}
