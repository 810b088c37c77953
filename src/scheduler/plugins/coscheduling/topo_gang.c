/* topo_gang.c - gangs that gather in the network (sched-gang 7.5). */
#include "scheduler/plugins/coscheduling/topo_gang.h"

#include "api/koord/podgroup.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/plugins/coscheduling/topo_solve.h"

/* More rules than layers that anybody has: somebody wants to keep us busy. */
enum { RULES_MAX = 64 };

/* ---- does the network matter? ---------------------------------------------------------------- */

static const struct kobj *object_of(const struct gangs *s, const struct gang *g)
{
    CLEANUP(mem_free) char *ns = xstrndup(g->id, g->ns_len);

    return g->by_podgroup ? objects_get(s->env.objects, &kind_podgroup, ns, g->name) : NULL;
}

/* Once for each gang; on its PodGroup, or on the pod that was tried. */
static void warn(const struct coscheduling *c, struct gang *g, const struct pod *p,
                 const char *note)
{
    const struct kobj *o = object_of(c->gangs, g);

    if (g->topology_told || !c->gangs->env.scheduler)
        return;
    g->topology_told = true;
    if (o)
        ks_warn_about(&c->gangs->env, o, "NetworkTopologyIgnored", note);
    else
        ks_warn(&c->gangs->env, p, "NetworkTopologyIgnored", note);
}

/* The annotation is there, and it is not what it should be. */
static void warn_bad(const struct coscheduling *c, struct gang *g, const struct pod *p,
                     struct arena *a)
{
    const struct kobj *o = object_of(c->gangs, g);
    const kstrmap *annotations = o ? &o->meta.annotations : &p->obj.meta.annotations;
    struct network_topology_spec spec;
    struct kerr err = { 0 };

    if (!g->topology_told && network_topology_spec_read(annotations, a, &spec, &err) < 0)
        warn(c, g, p, arena_printf(a, "%s: %s", ANNO_GANG_TOPOLOGY_SPEC, err.text));
}

/* The rules of the member's gang, if they count. */
static const struct network_topology_spec *rules_of(const struct coscheduling *c, struct gang *g,
                                                    const struct pod *p, struct arena *a)
{
    if (g->spec.bad_topology)
        warn_bad(c, g, p, a);
    if (!g->spec.has_topology)
        return NULL;
    if (!c->topology)
        warn(c, g, p,
             ANNO_GANG_TOPOLOGY_SPEC " is ignored: awareNetworkTopology is off in the scheduler's "
                                     "configuration");
    else if (!topo_network_tree(c->network))
        warn(c, g, p,
             ANNO_GANG_TOPOLOGY_SPEC " is ignored: there is no ClusterNetworkTopology \"default\", "
                                     "or koord-scheduler runs without "
                                     "--enable-network-topology-manager");
    else if (g->spec.topology.gather.n > RULES_MAX)
        warn(c, g, p, ANNO_GANG_TOPOLOGY_SPEC " is ignored: gatherStrategy has too many rules");
    else
        return &g->spec.topology;
    return NULL;
}

/* ---- members --------------------------------------------------------------------------------- */

/* Where members of the group are, or are about to be. */
static const char **nodes_of(const struct gangs *s, const struct gang_group *g, struct arena *a,
                             uint32_t *ret_n)
{
    uint32_t all = group_count(s, g, MEMBER_WAITING) + group_count(s, g, MEMBER_BOUND), n = 0;
    const char **nodes = arena_newn0(a, all + 1, const char *);

    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        for (size_t k = 0; gang && k < gang->members.n; k++) {
            const struct gang_member *m = gang->members.items[k];
            const char *node = pod_of(m->pod)->node_name;
            node = str_empty(node) ? m->node : node; /* bound, and the watch is behind */
            if (m->state != MEMBER_PENDING && !str_empty(node))
                nodes[n++] = node;
        }
    }
    *ret_n = n;
    return nodes;
}

static bool is_in_round(const struct gangs *s, const struct gang_member *m)
{
    return s->round && s->round->group == m->gang->group;
}

/* The members to plan for, in the order of their index: those that have not failed in this series,
 * or (few) no more than the gangs need. The first one is always among them. */
static void pick(const struct gangs *s, const struct gang_member *first, bool few, struct arena *a,
                 struct topo_job *job)
{
    const struct gang_group *g = first->gang->group;
    uint32_t n, at = 0;
    struct gang_member **all = group_pending(s, g, a, &n);
    struct kobj **pods = arena_newn0(a, n + 1, struct kobj *);
    int64_t *need = arena_newn0(a, g->n, int64_t);

    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        need[i] = gang ? gang->spec.min_available - (gang == first->gang) : 0;
        if (gang && gang->spec.match_policy == GANG_MATCH_WAITING_AND_RUNNING)
            need[i] -= gang->count[MEMBER_BOUND];
    }
    pods[at++] = first->pod;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t of = 0;
        while (of < g->n && group_gang(s, g, of) != all[i]->gang)
            of++;
        if (all[i] == first || (g->retries && all[i]->failed == g->series))
            continue;
        if (few && (of == g->n || need[of]-- <= 0))
            continue;
        pods[at++] = all[i]->pod;
    }
    qsort(pods, at, sizeof *pods, topo_compare_pods);
    job->pods = pods;
    job->n = at;
}

/* ---- the extension points -------------------------------------------------------------------- */

static enum ks_code go_to(const struct ks_cycle *cycle, const char *node, struct ks_only *only,
                          struct ks_texts *why)
{
    uint32_t *row = arena_new0(cycle->arena, uint32_t);

    if (!node) {
        ks_texts_add(why, "no planned pods");
        return KS_ERROR;
    }
    *row = ks_row_of(cycle->nodes, node);
    *only = (struct ks_only){ row, *row != KS_NO_ROW, true };
    return KS_SUCCESS;
}

enum ks_code topo_gang_pre_filter(struct coscheduling *c, const struct ks_cycle *cycle,
                                  const struct ks_pod *p, struct ks_only *only,
                                  struct ks_texts *why)
{
    struct gang_member *m =
        c->network->planning ? NULL : gangs_member(c->gangs, p->pod->obj.meta.uid);

    if (!m || !m->gang->group)
        return KS_SKIP;
    const struct network_topology_spec *spec = rules_of(c, m->gang, p->pod, cycle->arena);
    if (!spec)
        return KS_SKIP;
    if (is_in_round(c->gangs, m) && c->gangs->round->plan)
        return go_to(cycle, topo_plan_node(c->gangs->round->plan, m->uid), only, why);
    uint32_t n;
    const char **nodes = nodes_of(c->gangs, m->gang->group, cycle->arena, &n);
    return n == 0 ? KS_SKIP
                  : topo_stay(topo_network_tree(c->network), spec, nodes, n, cycle, only, why);
}

/* How many the gangs of the group need that have no node yet. */
static int64_t needed(const struct gangs *s, const struct gang_group *g)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        if (!gang || gang_is_free(gang))
            continue;
        int64_t has = gang->spec.match_policy == GANG_MATCH_WAITING_AND_RUNNING
                          ? gang->count[MEMBER_BOUND]
                          : 0;
        sum += MAX(gang->spec.min_available - has, 0);
    }
    return sum;
}

/* The plan as the engine carries it out, all at once. */
static const struct attempt_plan *for_engine(const struct gangs *s, const struct gang_group *g,
                                             const struct topo_job *job, struct topo_plan *plan,
                                             struct arena *a)
{
    struct attempt_plan *p = arena_new0(a, struct attempt_plan);

    p->items = arena_newn0(a, job->n, struct attempt_place);
    p->n = job->n;
    p->min = needed(s, g);
    p->members = topo_plan_members(plan);
    for (uint32_t i = 0; i < job->n; i++)
        p->items[i] =
            (struct attempt_place){ job->pods[i], topo_plan_node(plan, job->pods[i]->meta.uid) };
    return p;
}

static enum ks_code plan_for(struct coscheduling *c, struct attempt *a,
                             const struct gang_member *first,
                             const struct network_topology_spec *spec, struct ks_texts *why)
{
    struct topo_job all = { .spec = spec }, few = { .spec = spec };
    const struct topo_job *job = &all;
    struct topo_plan *plan = NULL;
    struct ks_texts unused = { .arena = a->arena };

    pick(c->gangs, first, false, a->arena, &all);
    enum ks_code code = topo_plan_make(c->network, a, &all, &plan, why);
    if (code == KS_UNSCHEDULABLE) { /* not for all of them, but perhaps for as many as must be */
        pick(c->gangs, first, true, a->arena, &few);
        job = &few;
        if (few.n < all.n)
            code = topo_plan_make(c->network, a, &few, &plan, &unused);
    }
    if (code != KS_SUCCESS)
        return code;
    if (c->batches)
        a->plan = for_engine(c->gangs, first->gang->group, job, plan, a->arena);
    gangs_set_plan(c->gangs, plan, first);
    return code;
}

enum ks_code topo_gang_find_one(struct coscheduling *c, struct attempt *a, uint32_t *ret_row,
                                struct ks_texts *why)
{
    struct gang_member *m = c->network->planning ? NULL : gangs_member(c->gangs, a->obj->meta.uid);

    if (!m || !m->gang->group)
        return KS_SKIP;
    if (is_in_round(c->gangs, m)) {
        if (c->gangs->round->plan) /* what is nominated for the others is part of the plan */
            a->ignored_set = topo_plan_members(c->gangs->round->plan);
        return KS_SKIP;
    }
    const struct network_topology_spec *spec = rules_of(c, m->gang, a->pod.pod, a->arena);
    if (!spec)
        return KS_SKIP;
    uint32_t n;
    (void)nodes_of(c->gangs, m->gang->group, a->arena, &n);
    if (n > 0 && gang_is_free(m->gang))
        return KS_SKIP; /* near the others; pre_filter has seen to that */
    enum ks_code code = plan_for(c, a, m, spec, why);
    m->gang->group->plan_refused = code != KS_SUCCESS;
    if (code != KS_SUCCESS)
        return code;
    a->ignored_set = topo_plan_members(c->gangs->plan);
    *ret_row = ks_row_of(a->cycle.nodes, topo_plan_node(c->gangs->plan, m->uid));
    return code;
}

bool topo_gang_suggest(void *self, struct attempt *a, struct ks_suggestion *ret)
{
    const struct coscheduling *c = self;
    const struct gang_member *m = gangs_member(c->gangs, a->obj->meta.uid);
    const char *must;
    uint32_t n;

    if (!m || !m->gang->group || !gang_is_free(m->gang) || !m->gang->spec.has_topology ||
        !c->topology || !topo_network_tree(c->network) ||
        topo_must_layer(topo_network_tree(c->network), &m->gang->spec.topology, &must) == 0)
        return false;
    (void)nodes_of(c->gangs, m->gang->group, a->arena, &n);
    if (n == 0)
        return false;
    *ret = (struct ks_suggestion){
        "EvictWorkloadSelf",
        arena_printf(a->arena,
                     "members of gang %s must gather in one domain of %s, and that of the %u that "
                     "have a node has no room: it can be placed anew without them",
                     m->gang->id, must, n)
    };
    return true;
}

bool topo_gang_worth(void *self, const struct ks_event *e, const struct pod *p)
{
    const struct coscheduling *c = self;
    const struct gang_member *m = gangs_member(c->gangs, p->obj.meta.uid);

    (void)e;
    return m && m->gang->group && m->gang->group->plan_refused;
}
