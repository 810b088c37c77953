/* gangs.c - which gangs and groups there are, and who belongs to them (sched-gang 2). */
#include "scheduler/plugins/coscheduling/gangs.h"

#include <stdio.h>

#include "api/koord/podgroup.h"
#include "api/pod.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/plugins/coscheduling/gangs_int.h"
#include "scheduler/plugins/coscheduling/topo_plan.h"

/* ---- groups ---------------------------------------------------------------------------------- */

static struct gang_group *group_get(struct gangs *s, const struct gang_spec *spec)
{
    struct gang_group *g = map_getz(&s->groups, spec->group_id);

    if (g)
        return g;
    g = xnew0(struct gang_group);
    g->id = xstrdup(spec->group_id);
    g->n = spec->groups.n;
    g->ids = xnewn0(g->n, char *);
    g->waits = xnewn0(g->n, bool);
    for (uint32_t i = 0; i < g->n; i++)
        g->ids[i] = xstrdup(spec->groups.items[i]);
    map_putz(&s->groups, g->id, g);
    return g;
}

static void set_partial(struct gangs *s, struct gang_group *g, bool partial)
{
    if (g->partial == partial)
        return;
    g->partial = partial;
    if (partial)
        vec_push(&s->partial, g);
    for (size_t i = s->partial.n; !partial && i-- > 0;)
        if (s->partial.items[i] == g)
            vec_swap_remove(&s->partial, i);
}

static void group_free(struct gangs *s, struct gang_group *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        group_set_waits(s, g, i, false);
    if (s->round && s->round->group == g)
        round_close(s, "gang is nil, may be already deleted");
    for (size_t i = s->due.n; i-- > 0;)
        if (s->due.items[i] == g)
            vec_swap_remove(&s->due, i);
    set_partial(s, g, false);
    map_removez(&s->groups, g->id);
    for (uint32_t i = 0; i < g->n; i++)
        free(g->ids[i]);
    free(g->ids);
    free(g->waits);
    free(g->failure);
    free(g->id);
    free(g);
}

struct gang *group_gang_or_gone(const struct gangs *s, const struct gang_group *g, uint32_t i)
{
    return g->only ? g->only : map_getz(&s->by_id, g->ids[i]);
}

struct gang *group_gang(const struct gangs *s, const struct gang_group *g, uint32_t i)
{
    struct gang *gang = group_gang_or_gone(s, g, i);

    return gang && !gang->gone ? gang : NULL;
}

bool gang_is_apart(const struct gang *gang, const struct gang_group *g)
{
    return gang->group && gang->group != g && gang->group->n == 1;
}

static bool group_waits(const struct gang_group *g)
{
    bool any = false;

    for (uint32_t i = 0; i < g->n; i++)
        any |= g->waits[i];
    return any;
}

void group_set_waits(struct gangs *s, struct gang_group *g, uint32_t i, bool waits)
{
    bool before = group_waits(g);

    g->waits[i] = waits;
    if (group_waits(g) == before)
        return;
    s->waiting_groups += before ? -1u : 1u;
    if (before)
        g->binding = g->nbinding = 0;
}

void group_waits_for_all(struct gangs *s, struct gang_group *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        group_set_waits(s, g, i, true);
}

uint32_t group_count(const struct gangs *s, const struct gang_group *g, enum member_state state)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang_or_gone(s, g, i);
        n += gang && !gang_is_apart(gang, g) ? gang->count[state] : 0;
    }
    return n;
}

static void on_settle(struct loop *l, void *arg)
{
    struct gangs *s = arg;

    (void)l;
    s->settle = NULL;
    gangs_settle(s);
}

void group_due(struct gangs *s, struct gang_group *g)
{
    if (!g)
        return;
    if (!g->queued) {
        g->queued = true;
        vec_push(&s->due, g);
    }
    if (s->env.loop && !s->settle)
        s->settle = loop_after(s->env.loop, 0, on_settle, s);
}

/* Members came, went or changed: what was known of the group's chances is not true any more. */
static void group_changed(struct gangs *s, struct gang_group *g)
{
    s->changes++;
    if (!g)
        return;
    g->stuck = false;
    group_due(s, g);
}

/* ---- gangs ----------------------------------------------------------------------------------- */

struct gang *gangs_find(const struct gangs *s, const char *id)
{
    struct gang *g = map_getz(&s->by_id, id);

    return g && !g->gone ? g : NULL;
}

struct gang_member *gangs_member(const struct gangs *s, struct kuid uid)
{
    return uidmap_get(&s->members, uid);
}

static struct gang *gang_get(struct gangs *s, const char *ns, const char *name)
{
    CLEANUP(mem_free) char *id = xasprintf("%s/%s", ns, name);
    struct gang *g = map_getz(&s->by_id, id);

    if (g)
        return g;
    g = xnew0(struct gang);
    g->id = take(id);
    g->ns_len = strlen(ns);
    g->name = g->id + g->ns_len + 1;
    g->arena = arena_new_sized(512);
    map_putz(&s->by_id, g->id, g);
    return g;
}

static void gang_detach(struct gangs *s, struct gang *g)
{
    hold_drop(s, g->group); /* while it is still known: pods that hear of the room ask about it */
    struct gang_group *group = take(g->group);

    if (!group)
        return;
    if (group->only == g)
        group->only = NULL;
    if (s->round && s->round->first == g)
        s->round->first = NULL;
    vec_foreach(&g->members, i) {
        const struct gang_member *m = g->members.items[i];
        if (group->representative == m)
            group->representative = NULL;
        if (group->root == m)
            group->root = NULL;
    }
    for (uint32_t i = 0; i < group->n; i++)
        if (streq(group->ids[i], g->id))
            group_set_waits(s, group, i, false);
    if (--group->refs == 0) {
        group_free(s, group);
        return;
    }
    set_partial(s, group, true);
    group_changed(s, group);
}

static void gang_free(struct gangs *s, struct gang *g)
{
    gang_detach(s, g);
    map_removez(&s->by_id, g->id);
    vec_fini(&g->members);
    arena_free(g->arena);
    free(g->id);
    free(g);
}

/* Its groups may have changed. */
static void gang_attach(struct gangs *s, struct gang *g)
{
    if (g->group && streq(g->group->id, g->spec.group_id))
        return;
    bool moves = g->group; /* otherwise the next news of a bound member says so */
    gang_detach(s, g);
    g->group = group_get(s, &g->spec);
    set_partial(s, g->group, ++g->group->refs < g->group->n);
    if (g->group->n == 1 && streq(g->group->ids[0], g->id))
        g->group->only = g;
    g->group->once_satisfied |= moves && g->count[MEMBER_BOUND] > 0;
    group_changed(s, g->group);
}

bool gang_is_free(const struct gang *g)
{
    return g->spec.match_policy == GANG_MATCH_ONCE_SATISFIED && g->group &&
           g->group->once_satisfied;
}

bool gang_is_satisfied(const struct gang *g)
{
    int64_t waiting = g->count[MEMBER_WAITING], min = g->spec.min_available;

    if (!g->ready)
        return false;
    switch (g->spec.match_policy) {
    case GANG_MATCH_ONLY_WAITING: return waiting >= min;
    case GANG_MATCH_WAITING_AND_RUNNING: return waiting + g->count[MEMBER_BOUND] >= min;
    case GANG_MATCH_ONCE_SATISFIED: break;
    }
    return waiting >= min || (g->group && g->group->once_satisfied);
}

bool gang_is_whole(const struct gang *g)
{
    return g->ready && (int64_t)g->able >= g->spec.min_available;
}

/* ---- members --------------------------------------------------------------------------------- */

bool gangs_is_placeholder(const struct gang_member *m)
{
    return kstrmap_get(&m->pod->meta.annotations, ANNO_RESERVE_POD);
}

const char *member_key(const struct gang_member *m, struct arena *a)
{
    return arena_printf(a, "%s/%s", m->pod->meta.ns, m->pod->meta.name);
}

static bool counts(const struct gang_member *m)
{
    return m->able || m->state != MEMBER_PENDING;
}

static bool names(const struct gang_group *g, const char *id)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (streq(g->ids[i], id))
            return true;
    return false;
}

/* Also those hear of it that wait for the gang though it does not wait for them. */
static void touched(struct gangs *s, const struct gang *g)
{
    vec_foreach(&s->partial, i) {
        struct gang_group *other = s->partial.items[i];
        if (other != g->group && names(other, g->id)) {
            other->stuck = false;
            group_due(s, other);
        }
    }
    if (s->ops->touched)
        s->ops->touched(s->arg, g);
}

void member_set(struct gangs *s, struct gang_member *m, enum member_state state, const char *node)
{
    struct gang *g = m->gang;
    bool stays = state == MEMBER_BOUND && !node; /* where it waited, until its pod says so */
    char *next = node ? xstrdup(node) : NULL;    /* node may be the member's own */

    g->count[m->state]--;
    g->able -= counts(m);
    bool changed = m->state != state;
    bool stops = m->state == MEMBER_WAITING && changed && g->count[MEMBER_WAITING] == 0;
    m->state = state;
    if (!stays) {
        free(m->node);
        m->node = next;
    }
    m->allowed = m->allowed && state == MEMBER_WAITING;
    g->count[state]++;
    g->able += counts(m);
    if (stops && g->group)
        for (uint32_t i = 0; i < g->group->n; i++)
            if (streq(g->group->ids[i], g->id))
                group_set_waits(s, g->group, i, false);
    if (changed)
        touched(s, g);
}

static bool may_be_tried(const struct pod *p)
{
    return p->spec->scheduling_gates.n == 0 && !p->obj.meta.deleted;
}

/* True: it may be tried now and could not before. */
static bool member_update(struct gang_member *m, const struct pod *p)
{
    bool was = m->able;

    kobj_ref((struct kobj *)&p->obj);
    kobj_unref(m->pod);
    m->pod = (struct kobj *)&p->obj;
    m->uid = p->obj.meta.uid; /* its text may live in the object */
    m->index = gang_topology_index(&p->obj.meta.annotations);
    m->gang->able -= counts(m);
    m->able = may_be_tried(p);
    m->gang->able += counts(m);
    return m->able && !was;
}

static struct gang_member *member_new(struct gangs *s, struct gang *g, const struct pod *p)
{
    struct gang_member *m = xnew0(struct gang_member);

    m->gang = g;
    m->at = (uint32_t)g->members.n;
    vec_push(&g->members, m);
    g->count[MEMBER_PENDING]++;
    (void)member_update(m, p);
    uidmap_put(&s->members, m);
    return m;
}

static void member_free(struct gangs *s, struct gang_member *m)
{
    struct gang *g = m->gang;
    struct gang_group *group = g->group;

    if (m->state == MEMBER_WAITING)
        member_set(s, m, MEMBER_PENDING, NULL);
    hold_release(s, m);
    g->able -= counts(m);
    g->count[m->state]--;
    vec_last(&g->members)->at = m->at;
    vec_swap_remove(&g->members, m->at);
    if (group && (group->representative == m || group->root == m)) {
        group->urgent = true; /* another takes its place */
        group->representative = group->representative == m ? NULL : group->representative;
        group->root = group->root == m ? NULL : group->root;
    }
    if (s->round && s->round->last == m)
        s->round->last = NULL;
    if (s->planned_for == m)
        gangs_set_plan(s, NULL, NULL);
    for (size_t i = s->untold.n; m->untold && i-- > 0;)
        if (s->untold.items[i] == m)
            vec_swap_remove(&s->untold, i);
    uidmap_remove(&s->members, m->uid);
    kobj_unref(m->pod);
    free(m->node);
    free(m);
    touched(s, g);
    group_changed(s, group);
    if (g->members.n == 0 && (!g->by_podgroup || g->gone))
        gang_free(s, g);
}

static void satisfied(struct gangs *s, struct gang_group *g)
{
    if (!g || g->once_satisfied)
        return;
    g->once_satisfied = true;
    if (s->ops->let_in)
        s->ops->let_in(s->arg, g);
}

static void member_bound(struct gangs *s, struct gang_member *m)
{
    struct gang_group *g = m->gang->group;

    member_set(s, m, MEMBER_BOUND, NULL);
    if (!g)
        return;
    if (g->representative == m)
        g->representative = NULL;
    if (g->root == m)
        g->root = NULL;
    satisfied(s, g);
    group_due(s, g);
}

void gangs_bound(struct gangs *s, const struct pod *p)
{
    struct gang_member *m = gangs_member(s, p->obj.meta.uid);

    if (m && m->state != MEMBER_BOUND)
        member_bound(s, m);
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* The first pod that says how many are needed speaks for all. A pod with the label of a PodGroup
 * waits for that object. */
static void init_by_pod(struct gangs *s, struct gang *g, const struct pod *p)
{
    const struct objmeta *m = &p->obj.meta;

    if (g->ready || g->by_podgroup || !str_empty(kstrmap_get(&m->labels, LABEL_POD_GROUP)))
        return;
    arena_reset(g->arena);
    g->spec = (struct gang_spec){ 0 };
    if (gang_spec_from_pod(m, &s->defaults, g->arena, &g->spec, NULL) < 0)
        return;
    g->ready = true;
    g->created = m->created;
    gang_attach(s, g);
}

static struct gang *gang_of_pod(struct gangs *s, const struct pod *p)
{
    const char *name = gang_name(&p->obj.meta);

    if (!name)
        return NULL;
    struct gang *g = gang_get(s, p->obj.meta.ns, name);
    if (g->gone)
        g->gone = g->ready = g->by_podgroup = false;
    init_by_pod(s, g, p);
    return g;
}

static int member_order(const struct gang_member *a, const struct gang_member *b)
{
    return gang_topology_order(a->index, a->pod->meta.name, b->index, b->pod->meta.name);
}

static void activate_one(struct gangs *s, const struct gang *g)
{
    const struct gang_member *best = NULL;

    vec_foreach(&g->members, i) {
        const struct gang_member *m = g->members.items[i];
        if (m->state == MEMBER_PENDING && m->able && (!best || member_order(m, best) < 0))
            best = m;
    }
    if (best && s->ops->activate)
        s->ops->activate(s->arg, best);
}

void gangs_pod(struct gangs *s, const struct pod *now)
{
    struct gang_member *m = gangs_member(s, now->obj.meta.uid);
    struct gang *g = gang_of_pod(s, now);
    bool is_new = !m;

    if (m && m->gang != g) { /* it has another gang now, or none */
        member_free(s, m);
        is_new = true;
    }
    if (!g)
        return;
    if (is_new)
        m = member_new(s, g, now);
    bool wakes = member_update(m, now) || is_new;
    if (!str_empty(now->node_name)) {
        if (m->state != MEMBER_BOUND)
            member_bound(s, m);
        else
            satisfied(s, g->group);
    } else if (is_new && gang_is_whole(g) && s->ops->activate) {
        s->ops->activate(s->arg, m);
    }
    if (!m->able && g->group && g->group->representative == m) {
        g->group->representative = NULL;
        g->group->urgent = true;
    }
    touched(s, g);
    if (wakes || !m->able)
        group_changed(s, g->group);
}

void gangs_pod_gone(struct gangs *s, const struct pod *last)
{
    struct gang_member *m = gangs_member(s, last->obj.meta.uid);

    if (!m)
        return;
    if (s->ops->left)
        s->ops->left(s->arg, m);
    member_free(s, m);
}

/* ---- PodGroups ------------------------------------------------------------------------------- */

static void init_by_podgroup(struct gangs *s, struct gang *g, const struct kobj *o)
{
    const struct podgroup *p = podgroup_of(o);
    struct arena *before = g->arena;

    g->arena = arena_new_sized(512);
    gang_spec_from_podgroup(&o->meta, p->spec.min_member, p->spec.schedule_timeout_seconds,
                            &s->defaults, g->arena, &g->spec);
    arena_free(before);
    g->created = o->meta.created;
    g->by_podgroup = g->ready = true;
    g->gone = false;
    gang_attach(s, g);
    group_changed(s, g->group);
}

static void podgroup_gone(struct gangs *s, struct gang *g)
{
    struct gang_group *group = g->group;
    bool others = false;

    g->gone = true;
    g->ready = false;
    for (uint32_t i = 0; group && i < group->n; i++) {
        if (streq(group->ids[i], g->id))
            group_set_waits(s, group, i, false);
        others |= group_gang(s, group, i) != NULL;
    }
    if (s->round && s->round->first == g)
        s->round->first = NULL;
    if (group && !others) { /* what was true of it is not true of the next one */
        group->once_satisfied = false;
        group->representative = group->root = NULL;
        group->failure = mem_free(group->failure);
    }
    group_changed(s, group);
    if (g->members.n == 0)
        gang_free(s, g);
}

void gangs_podgroup(struct gangs *s, const struct kobj *before, const struct kobj *now)
{
    const struct objmeta *m = now ? &now->meta : &before->meta;
    CLEANUP(mem_free) char *id = xasprintf("%s/%s", m->ns, m->name);
    struct gang *g = map_getz(&s->by_id, id);

    if (!now) {
        if (g)
            podgroup_gone(s, g);
        return;
    }
    bool made = !g || !g->by_podgroup || g->gone;
    g = g ? g : gang_get(s, m->ns, m->name);
    bool was_whole = gang_is_whole(g) && !made;
    const struct gang_spec before_it = g->spec; /* its numbers; the texts are gone then */
    init_by_podgroup(s, g, now);
    if (before_it.min_available != g->spec.min_available || before_it.mode != g->spec.mode ||
        before_it.match_policy != g->spec.match_policy) {
        hold_drop(s, g->group);
        g->group->root = NULL; /* what it waits for may not be needed any more */
        g->group->urgent = true;
    }
    if (!was_whole && gang_is_whole(g))
        activate_one(s, g);
    touched(s, g);
}

void gangs_set_defaults(struct gangs *s, const struct gang_defaults *d)
{
    struct kobj *o;

    if (s->defaults.match_policy == d->match_policy &&
        s->defaults.waiting_time_ns == d->waiting_time_ns)
        return;
    s->defaults = *d;
    for (size_t it = 0; s->env.objects && (o = objects_next(s->env.objects, &kind_podgroup, &it));)
        gangs_podgroup(s, o, o);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int by_order(const void *a, const void *b)
{
    return member_order(*(struct gang_member *const *)a, *(struct gang_member *const *)b);
}

static uint32_t gang_pending(const struct gang *g, struct gang_member **out)
{
    uint32_t n = 0;

    vec_foreach(&g->members, i) {
        struct gang_member *m = g->members.items[i];
        if (m->state == MEMBER_PENDING && m->able)
            out[n++] = m;
    }
    qsort(out, n, sizeof *out, by_order);
    return n;
}

struct gang_member **group_pending(const struct gangs *s, const struct gang_group *g,
                                   struct arena *a, uint32_t *ret_n)
{
    struct gang_member **all =
        arena_newn0(a, group_count(s, g, MEMBER_PENDING) + 1, struct gang_member *);

    *ret_n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        if (gang && !gang_is_apart(gang, g))
            *ret_n += gang_pending(gang, all + *ret_n);
    }
    return all;
}

int64_t gang_lacks(const struct gang *g)
{
    int64_t has = g->count[MEMBER_WAITING];

    if (gang_is_free(g))
        return 0;
    if (g->spec.match_policy == GANG_MATCH_WAITING_AND_RUNNING)
        has += g->count[MEMBER_BOUND];
    for (size_t i = 0; i < g->members.n && g->spec.match_policy == GANG_MATCH_ONLY_WAITING; i++)
        has -= g->members.items[i]->allowed; /* soon it does not wait any more */
    return MAX(g->spec.min_available - has, 0);
}

struct gang_member **group_wanted(const struct gangs *s, const struct gang_group *g,
                                  struct arena *a, uint32_t *ret_n, uint32_t *ret_required)
{
    struct gang_member **all = group_pending(s, g, a, ret_n);
    struct gang_member **wanted = arena_newn0(a, *ret_n + 1, struct gang_member *);
    uint32_t at = 0;
    bool enough = true;

    for (int pass = 0; pass < 2; pass++) {
        const struct gang *gang = NULL;
        int64_t lacks = 0, seen = 0;
        for (uint32_t i = 0; i < *ret_n; i++) {
            if (all[i]->gang != gang) {
                gang = all[i]->gang;
                lacks = gang_lacks(gang);
                seen = 0;
            }
            if ((seen++ >= lacks) == pass)
                wanted[at++] = all[i];
        }
        *ret_required = pass ? *ret_required : at;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        int64_t able = 0;
        if (gang && gang_is_apart(gang, g)) {
            enough = enough && gang_is_satisfied(gang);
            continue;
        }
        for (size_t k = 0; gang && k < gang->members.n; k++)
            able += gang->members.items[k]->state == MEMBER_PENDING && gang->members.items[k]->able;
        enough = enough && gang && gang->ready && able >= gang_lacks(gang);
    }
    if (!enough)
        *ret_required = UINT32_MAX;
    return wanted;
}

/* ---- life ------------------------------------------------------------------------------------ */

void gangs_init(struct gangs *s, const struct gang_ops *ops, void *arg)
{
    *s = (struct gangs){ .ops = ops, .arg = arg, .workers = 1, .patches = true };
    s->defaults = (struct gang_defaults){ 600 * NSEC_PER_SEC, GANG_MATCH_ONCE_SATISFIED };
}

void gangs_fini(struct gangs *s)
{
    static const struct gang_ops nobody = { 0 };
    struct map_entry *e;

    s->ops = &nobody;
    if (s->round)
        round_close(s, "");
    gangs_set_plan(s, NULL, NULL);
    s->plan_before = topo_plan_free(s->plan_before);
    for (size_t it = 0; (e = map_next(&s->by_id, &it)); it = 0) {
        struct gang *g = e->value;
        g->by_podgroup = true; /* until its last member is gone */
        g->gone = false;
        while (g->members.n)
            member_free(s, vec_last(&g->members));
        gang_free(s, g);
    }
    map_fini(&s->by_id);
    map_fini(&s->groups);
    uidmap_fini(&s->members);
    vec_fini(&s->due);
    vec_fini(&s->partial);
    vec_fini(&s->untold);
    s->hold.end = timer_cancel(s->hold.end);
    s->hold.again = timer_cancel(s->hold.again);
    s->settle = timer_cancel(s->settle);
    s->tell = timer_cancel(s->tell);
}
