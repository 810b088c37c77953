/* hold.c - a gang that was refused for long keeps by nomination what it could get, so that smaller
 * pods do not starve it. Ours, and off unless holdAfter is set.
 *
 * One group holds at a time, so no two of them wait for each other's room. It holds for a bounded
 * time and then waits as long as any other before its next turn; it holds a bounded share of what
 * the nodes have; and pods of higher priority do not see what is nominated. While it holds it is
 * first in line for room that pods leave: otherwise every room would go to the pods that queue for
 * it by the dozen.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "loop/loop.h"
#include "scheduler/model/requests.h"
#include "scheduler/plugins/coscheduling/gangs_int.h"

/* Rounds of a large gang cost milliseconds: pods that end by the dozen lead to few of them. */
#define TRY_PERIOD (200 * NSEC_PER_MSEC)

static bool hold_is_by(const struct gangs *s, const struct gang_group *g)
{
    return s->hold.group == g;
}

/* ---- how much -------------------------------------------------------------------------------- */

/* Takes the pod's requests from what is left; false: they are not to be had, and nothing is taken.
 */
static bool take_share(struct hold_share *h, const struct ks_nodes *nodes, const struct kobj *pod)
{
    struct requests r;

    requests_placed(pod_of(pod), h->arena, &r);
    requests_resolve(&r, nodes);
    for (uint32_t i = 0; i < KS_FIXED; i++)
        if (r.fixed[i] > h->left[i])
            return false;
    for (uint32_t i = 0; i < r.nmore; i++)
        if (r.more[i].column != KS_NO_COLUMN && r.more[i].count > h->left[r.more[i].column])
            return false;
    for (uint32_t i = 0; i < KS_FIXED; i++)
        h->left[i] -= r.fixed[i];
    for (uint32_t i = 0; i < r.nmore; i++)
        if (r.more[i].column != KS_NO_COLUMN)
            h->left[r.more[i].column] -= r.more[i].count;
    return true;
}

void hold_share_open(struct gangs *s, const struct gang_group *g, struct hold_share *ret)
{
    const struct ks_nodes *nodes = s->env.nodes;

    *ret = (struct hold_share){ 0 };
    if (!hold_is_by(s, g) || !nodes)
        return;
    ret->arena = arena_new();
    ret->left = arena_newn0(ret->arena, nodes->nres, int64_t);
    for (uint32_t i = 0; i < nodes->nres; i++) {
        __int128 sum = 0;
        for (uint32_t row = 0; row < nodes->n; row++)
            sum += nodes->alloc[i][row];
        ret->left[i] = (int64_t)MIN(sum * s->hold.percentage / 100, (__int128)INT64_MAX);
    }
    uint32_t n;
    struct gang_member **all = group_pending(s, g, ret->arena, &n);
    for (uint32_t i = 0; i < n; i++)
        if (all[i]->held)
            (void)take_share(ret, nodes, all[i]->pod);
}

bool hold_share_take(struct gangs *s, struct hold_share *h, struct gang_member *m)
{
    m->held = h->left && take_share(h, s->env.nodes, m->pod);
    return m->held;
}

void hold_share_close(struct hold_share *h)
{
    arena_free(h->arena);
}

/* ---- for how long ---------------------------------------------------------------------------- */

/* A scheduler before this one has kept room for it: the turn goes on, for as long as a new one. */
static bool was_holding(const struct gangs *s, const struct gang_group *g)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    uint32_t n;
    struct gang_member **all = group_pending(s, g, a, &n);
    bool any = false;

    for (uint32_t i = 0; i < n; i++) {
        all[i]->held = !str_empty(pod_of(all[i]->pod)->status.nominated_node_name);
        any |= all[i]->held;
    }
    return any;
}

static void on_end(struct loop *l, void *arg)
{
    struct gangs *s = arg;
    struct gang_group *g = s->hold.group;

    s->hold.end = NULL;
    hold_drop(s, g);
    g->refused_since = MAX(loop_mono(l), 1); /* others have their turn before it has another */
}

static void begin(struct gangs *s, struct gang_group *g, nsec_t refused)
{
    char after[KTIME_TEXT_MAX], lasts[KTIME_TEXT_MAX];

    s->hold.group = g;
    s->hold.end = loop_after(s->env.loop, s->hold.lasts, on_end, s);
    after[kdur_format(refused / NSEC_PER_SEC * NSEC_PER_SEC, after)] = '\0';
    lasts[kdur_format(s->hold.lasts, lasts)] = '\0';
    CLEANUP(mem_free)
    char *text = xasprintf("refused for %s: nodes that members could get are kept for them by "
                           "nomination, for up to %s",
                           after, lasts);
    if (s->ops->holds)
        s->ops->holds(s->arg, g, text);
}

void hold_refused(struct gangs *s, struct gang_group *g)
{
    if (!s->hold.after || !s->env.loop || s->outcome != GANG_PREEMPTION_FAILED)
        return;
    nsec_t now = MAX(loop_mono(s->env.loop), 1);
    bool first = g->refused_since == 0;
    if (first)
        g->refused_since = now;
    if (s->hold.group)
        return;
    if (now - g->refused_since >= s->hold.after || (first && was_holding(s, g)))
        begin(s, g, now - g->refused_since);
}

void hold_drop(struct gangs *s, struct gang_group *g)
{
    if (!g)
        return;
    g->refused_since = 0;
    if (!hold_is_by(s, g))
        return;
    s->hold.group = NULL;
    s->hold.due = false;
    s->hold.end = timer_cancel(s->hold.end);
    s->hold.again = timer_cancel(s->hold.again);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang_or_gone(s, g, i);
        for (size_t k = 0; gang && k < gang->members.n; k++)
            hold_release(s, gang->members.items[k]);
    }
}

void hold_release(struct gangs *s, struct gang_member *m)
{
    if (!m->held)
        return;
    m->held = false;
    if (m->state == MEMBER_PENDING && s->ops->unnominate)
        s->ops->unnominate(s->arg, m);
}

void gangs_set_hold(struct gangs *s, nsec_t after, nsec_t lasts, int64_t percentage)
{
    s->hold.after = after;
    s->hold.lasts = lasts;
    s->hold.percentage = percentage;
    if (!after)
        hold_drop(s, s->hold.group);
}

/* ---- first in line --------------------------------------------------------------------------- */

static void try_now(struct gangs *s)
{
    s->hold.tried = loop_mono(s->env.loop);
    s->hold.due = true;
    if (s->env.scheduler)
        ks_ask_next(&s->env);
}

static void on_again(struct loop *l, void *arg)
{
    struct gangs *s = arg;

    (void)l;
    s->hold.again = NULL;
    try_now(s);
}

void gangs_room_freed(struct gangs *s)
{
    if (!s->hold.group || s->hold.due || s->hold.again)
        return;
    nsec_t wait = s->hold.tried + TRY_PERIOD - loop_mono(s->env.loop);
    if (wait <= 0)
        try_now(s);
    else
        s->hold.again = loop_after(s->env.loop, wait, on_again, s);
}

struct gang_member *hold_next(struct gangs *s)
{
    CLEANUP(arena_free) struct arena *a = NULL;
    const struct gang_group *g = s->hold.group;
    uint32_t n;

    if (!g || !s->hold.due)
        return NULL;
    s->hold.due = false;
    if (g->root && g->root->state == MEMBER_PENDING && g->root->able)
        return g->root;
    a = arena_new();
    struct gang_member **all = group_pending(s, g, a, &n);
    return n ? all[0] : NULL;
}
