/* preempt.c - room for a whole gang at the cost of pods with lower priority, or no eviction at all
 * (sched-gang 6).
 *
 * All members without a node get one in an overlay where those that may be evicted are away, row by
 * row, the cheapest rows first; then as many of these as possible come back. A row is changed only
 * when a member is tried there, so the cost is that of the rows that are used, not of the cluster.
 * Where that breaks disruption budgets, which count over all rows of the plan, another way is
 * looked for in which nobody goes whose budget does not allow it.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/framework/shapes.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"
#include "scheduler/plugins/coscheduling/observe.h"
#include "scheduler/plugins/coscheduling/preempt_int.h"
#include "scheduler/plugins/coscheduling/topo_plan.h"

/* ---- members --------------------------------------------------------------------------------- */

/* All members of the group that have no node. */
static struct topo_job job_of(const struct gangs *s, const struct gang_member *m, struct arena *a)
{
    uint32_t n;
    struct gang_member **all = group_pending(s, m->gang->group, a, &n);
    struct kobj **pods = arena_newn0(a, n + 1, struct kobj *);

    for (uint32_t i = 0; i < n; i++)
        pods[i] = all[i]->pod;
    return (struct topo_job){ &m->gang->spec.topology, pods, n };
}

/* False: all of them would not be enough. */
static bool collect_claims(struct job *j)
{
    struct arena *a = j->a->arena;
    struct gang_member **all = NULL;

    j->n = j->required = 1;
    if (j->trigger)
        all = group_wanted(j->c->gangs, j->trigger->gang->group, a, &j->n, &j->required);
    if (j->required == UINT32_MAX || j->n == 0)
        return false;
    j->claims = arena_newn0(a, j->n, struct claim);
    j->uids = arena_newn0(a, j->n, struct kuid);
    for (uint32_t i = 0; i < j->n; i++) {
        j->claims[i] = (struct claim){ all ? all[i]->pod : j->a->obj, NULL, KS_NO_ROW };
        j->uids[i] = j->claims[i].pod->meta.uid;
    }
    return true;
}

/* Rows must be as the attempt around sees them: all trials begin before the first row changes. */
static struct trial *begin_trial(struct job *j, struct kobj *pod)
{
    struct trial *t = arena_new0(j->a->arena, struct trial);

    t->pod = pod_of(pod);
    attempt_init(&t->a,
                 &(struct attempt_input){ .profile = j->a->profile,
                                          .cache = j->a->cache,
                                          .nominator = j->a->nominator,
                                          .objects = j->c->env.objects,
                                          .pod = pod,
                                          .now = j->a->cycle.now,
                                          .nominated_once = j->a->nominated_once,
                                          .within = j->a,
                                          .ignored = j->uids,
                                          .nignored = j->n },
                 j->a->arena);
    attempt_filter(&t->a);
    t->next = j->trials;
    j->trials = t;
    return t;
}

static void begin_trials(struct job *j)
{
    bool was = j->c->network && j->c->network->planning;

    if (j->c->network)
        j->c->network->planning = true; /* no plans within it */
    for (uint32_t i = 0; i < j->n; i++) {
        struct claim *m = &j->claims[i];
        for (struct trial *t = j->trials; t && !m->trial; t = t->next)
            if (shapes_alike(j->a->profile, t->pod, pod_of(m->pod)))
                m->trial = t;
        m->trial = m->trial ? m->trial : begin_trial(j, m->pod);
    }
    if (j->c->network)
        j->c->network->planning = was;
}

static void end_trials(struct job *j)
{
    for (struct trial *t = j->trials; t; t = t->next)
        attempt_end(&t->a);
}

/* ---- is it allowed? -------------------------------------------------------------------------- */

static bool makes_way(const struct pod *p)
{
    const struct condition *c = condition_find(&p->status.conditions, "DisruptionTarget");

    return p->obj.meta.deleted && c && c->status == COND_TRUE &&
           streq(c->reason, "PreemptionByScheduler");
}

/* Does somebody already leave the node that is nominated for a member? */
static bool room_is_coming(struct job *j, const struct kobj *pod)
{
    const char *node = j->a->nominator ? nominator_node(j->a->nominator, pod->meta.uid) : NULL;
    uint32_t row;

    if (!node)
        node = pod_of(pod)->status.nominated_node_name;
    row = str_empty(node) ? KS_NO_ROW : ks_row_of(j->a->cycle.nodes, node);
    if (row == KS_NO_ROW || (kuid_equal(pod->meta.uid, j->a->obj->meta.uid) &&
                             attempt_code(j->a, row) == KS_UNRESOLVABLE))
        return false;
    const struct ks_podlist *on = &j->a->cycle.nodes->pods[row];
    for (uint32_t i = 0; i < on->n; i++)
        if (makes_way(on->items[i]) && job_may_evict(j, j->a, on->items[i], row))
            return true;
    return false;
}

/* Why not; NULL: it is. */
static const char *forbidden(struct job *j)
{
    if (j->a->pod.pod->spec->preemption_policy == PREEMPT_NEVER)
        return "not eligible due to preemptionPolicy=Never.";
    for (uint32_t i = 0; i < j->n; i++)
        if (room_is_coming(j, j->claims[i].pod))
            return "not eligible due to terminating pod on the nominated node.";
    return NULL;
}

/* ---- who goes where -------------------------------------------------------------------------- */

static bool fits(const struct claim *m, uint32_t row)
{
    struct attempt *a = &m->trial->a;

    return a->code == KS_SUCCESS && a->by[row] != ATTEMPT_LEFT_OUT && attempt_fits(a, row, NULL);
}

static void put(struct job *j, struct claim *m, struct site *s)
{
    m->row = s->row;
    s->used = true;
    ks_overlay_add_pod(j->a->overlay, s->row, m->pod);
}

/* What the budgets allow is kept for rows that are of use. */
static bool has_room(struct job *j, const struct claim *m, struct site *s)
{
    uint32_t mark = ks_overlay_mark(j->a->overlay);
    bool was_cleared = s->cleared;

    site_clear(s);
    bool ok = fits(m, s->row);
    if (!ok && j->gentle && !was_cleared)
        site_fill(j, s, mark);
    return ok;
}

/* Members that are alike go on where the one before them went: rows that were too small for it are
 * too small for them. */
static bool place_all(struct job *j)
{
    struct trial *last = NULL;
    uint32_t from = 0;

    for (uint32_t i = 0; i < j->n; i++) {
        struct claim *m = &j->claims[i];
        uint32_t k = m->trial == last ? from : 0;
        while (k < j->nsites && !has_room(j, m, &j->sites[k]))
            k++;
        if (k == j->nsites) {
            last = NULL;
            if (i < j->required)
                return false;
            continue;
        }
        put(j, m, &j->sites[k]);
        last = m->trial;
        from = k;
    }
    return true;
}

/* The same by the plan of the network topology, with everybody away who may go; of domains that are
 * equal otherwise the cheapest. */
static bool place_by_plan(struct job *j, struct ks_texts *why)
{
    struct topo_job job = job_of(j->c->gangs, j->trigger, j->a->arena);
    int64_t *score = arena_newn0(j->a->arena, j->a->n, int64_t);
    struct topo_plan *plan = NULL;

    for (uint32_t i = 0; i < j->nsites; i++) {
        site_clear(&j->sites[i]);
        score[j->sites[i].row] = -(j->sites[i].cost + (j->sites[i].nvictims > 0));
    }
    job.score = score;
    if (topo_plan_make(j->c->network, j->a, &job, &plan, why) != KS_SUCCESS)
        return false;
    bool ok = true;
    for (uint32_t i = 0; i < j->n && ok; i++) {
        const char *node = topo_plan_node(plan, j->claims[i].pod->meta.uid);
        uint32_t row = node ? ks_row_of(j->a->cycle.nodes, node) : KS_NO_ROW;
        ok = row != KS_NO_ROW && j->by_row[row];
        if (ok)
            put(j, &j->claims[i], j->by_row[row]);
    }
    topo_plan_free(plan);
    return ok;
}

/* For dry_run_spare(): do all members that get this row still fit it? */
static bool all_fit(void *arg, struct attempt *a, uint32_t row)
{
    struct job *j = arg;

    for (uint32_t i = 0; i < j->n; i++) {
        const struct claim *m = &j->claims[i];
        if (m->row != row || (i > 0 && j->claims[i - 1].row == row &&
                              j->claims[i - 1].trial == m->trial)) /* as the one before it */
            continue;
        uint32_t mark = ks_overlay_mark(a->overlay);
        ks_overlay_remove_pod(a->overlay, row, pod_of(m->pod));
        bool ok = fits(m, row);
        ks_overlay_rollback(a->overlay, mark);
        if (!ok)
            return false;
    }
    return true;
}

static void write_node(struct job *j, struct site *s, struct preemption_node *out)
{
    struct arena *a = j->a->arena;
    struct kobj **nominees = arena_newn0(a, j->n, struct kobj *);
    struct victims v = { 0 };

    if (s->nvictims)
        dry_run_spare(&s->run, s->row, &v);
    *out = (struct preemption_node){ .node = nodecache_row_name(j->a->cache, s->row),
                                     .nominees = nominees };
    for (uint32_t i = 0; i < j->n; i++)
        if (j->claims[i].row == s->row)
            nominees[out->nnominees++] = j->claims[i].pod;
    out->n = v.n;
    out->violations = v.violations;
    const struct pod **victims = arena_newn0(a, v.n + 1, const struct pod *);
    if (v.n)
        memcpy(victims, v.pods, v.n * sizeof *victims);
    out->victims = victims;
}

static void write_plan(struct job *j, struct preemption *ret)
{
    struct preemption_node *nodes = arena_newn0(j->a->arena, j->n, struct preemption_node);
    const struct objmeta *m = &j->a->obj->meta;
    uint32_t n = 0;

    budgets_begin(j->rules.budgets);
    for (uint32_t i = 0; i < j->nsites; i++)
        if (j->sites[i].used)
            write_node(j, &j->sites[i], &nodes[n++]);
    *ret = (struct preemption){
        .nodes = nodes,
        .n = n,
        .reason = arena_printf(j->a->arena,
                               "preempting to accommodate higher priority pods, preemptor: %s, "
                               "triggerPod: %s/%s",
                               j->trigger ? j->trigger->gang->group->id : m->name, m->ns, m->name),
    };
}

static const char *refusal(struct job *j)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct tally *t = tally_new(j->a->arena);

    if (j->helpless)
        tally_add(t, "Preemption is not helpful for scheduling", j->helpless);
    for (uint32_t i = 0; i < j->nsites; i++) {
        const struct site *s = &j->sites[i];
        struct ks_texts why = { .arena = j->a->arena };
        struct attempt_verdict v;
        struct claim *m = &j->claims[0];
        if (s->nvictims == 0) {
            tally_add(t, "no potential victims", 1);
            continue;
        }
        for (uint32_t k = 0; k < j->n; k++)
            if (j->claims[k].row == KS_NO_ROW) {
                m = &j->claims[k];
                break;
            }
        if (m->trial->a.code == KS_SUCCESS && !attempt_fits(&m->trial->a, s->row, &v))
            attempt_fits_texts(&m->trial->a, s->row, &v, &why);
        for (uint32_t k = 0; k < why.n; k++)
            tally_add(t, why.items[k], 1);
    }
    tally_format(t, j->a->n, &text);
    return arena_strdup(j->a->arena, strbuf_str(&text));
}

static bool place(struct job *j, struct ks_texts *why)
{
    return j->by_plan ? place_by_plan(j, why) : place_all(j);
}

static bool breaks_budgets(const struct preemption *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->nodes[i].violations)
            return true;
    return false;
}

/* A plan that breaks no budget takes the place of the one that does, if there is one. */
static void spare_budgets(struct job *j, struct preemption *plan)
{
    struct ks_texts unread = { .arena = j->a->arena };

    for (uint32_t i = 0; i < j->n; i++)
        j->claims[i].row = KS_NO_ROW;
    for (uint32_t i = 0; i < j->nsites; i++)
        j->sites[i].cleared = j->sites[i].used = false;
    j->gentle = true;
    budgets_begin(j->rules.budgets);
    if (place(j, &unread))
        write_plan(j, plan);
}

/* NULL: there is a plan in *ret. *ret_tried: rows were looked at. */
static const char *make_plan(struct job *j, struct preemption *ret, bool *ret_tried)
{
    struct ks_texts why = { .arena = j->a->arena };
    const char *no = forbidden(j);

    *ret_tried = !no;
    if (no)
        return no;
    j->by_plan = j->trigger && j->c->topology && topo_network_tree(j->c->network) &&
                 j->trigger->gang->spec.has_topology;
    if (j->by_plan && j->c->gangs->round)
        return "plan become invalid, wait for the next round";
    uint32_t mark = ks_overlay_mark(j->a->overlay);
    begin_trials(j);
    job_find_sites(j);
    budgets_refresh(j->rules.budgets);
    if (place(j, &why))
        write_plan(j, ret);
    else
        no = why.n ? ks_texts_join(&why) : refusal(j);
    ks_overlay_rollback(j->a->overlay, mark);
    if (!no && breaks_budgets(ret)) {
        spare_budgets(j, ret);
        ks_overlay_rollback(j->a->overlay, mark);
    }
    end_trials(j);
    return no;
}

/* ---- the extension point --------------------------------------------------------------------- */

/* Would the group be satisfied if this one had a node? */
static bool completes(const struct gangs *s, const struct gang_member *m)
{
    const struct gang_group *g = m->gang->group;

    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        if (!gang || !gang->ready || gang_lacks(gang) > (gang == m->gang))
            return false;
    }
    return true;
}

/* Nobody makes room for a member of a gang that would not be whole by it: the plugins that make
 * room for one pod are not asked then. */
static enum ks_code plan(void *self, struct attempt *a, struct preemption *ret,
                         struct ks_texts *why)
{
    const struct coscheduling *c = self;
    struct gangs *s = c->gangs;
    const struct gang_member *m = gangs_member(s, a->obj->meta.uid);
    const struct gang_member *in_gang =
        m && m->gang->group && !m->gang->gone && !gang_is_free(m->gang) ? m : NULL;
    enum ks_code no =
        in_gang && (c->preempts || !completes(s, in_gang)) ? KS_UNRESOLVABLE : KS_UNSCHEDULABLE;

    if (!c->preempts)
        return no;
    struct job j = { .c = c, .trigger = in_gang, .a = a };
    j.rules = job_rules(&j);
    j.rules.fits = all_fit;
    if (!collect_claims(&j))
        return no;
    bool tried;
    nsec_t began = gang_metrics_now(s);
    const char *text = make_plan(&j, ret, &tried);
    gang_metrics_preemption(s, in_gang, text == NULL, began);
    if (!text) {
        uint32_t waiting = in_gang ? group_count(s, in_gang->gang->group, MEMBER_WAITING) : 0;
        ks_texts_addf(why, "preemption: preempt success, alreadyWaitingForBound: %u/%u", waiting,
                      waiting + j.n);
        return KS_SUCCESS;
    }
    ret->keep = !tried;
    ks_texts_addf(why, "preemption: %s", text);
    return no;
}

/* The others of the group keep or lose what was nominated for them, as it came out. */
static void after(void *self, const struct pod *p, const struct post_filter_outcome *o)
{
    const struct coscheduling *c = self;
    struct gangs *s = c->gangs;

    /* Whoever waits keeps its node by nomination, also when it was another plugin that made room
     * for the last one: otherwise others take it meanwhile, and the victims have gone in vain. A
     * gang that cannot be whole does not keep room for some of its members; upstream lets them keep
     * their nominations, and two such gangs keep each other out. */
    if (o->plan)
        s->outcome = GANG_PREEMPTION_WORKED;
    else if (!o->keep)
        s->outcome = GANG_PREEMPTION_FAILED;
    if (o->plan)
        gangs_planned(s, p, o->plan);
    gangs_failed(s, p, o->fit);
    if (s->round && s->round->failure)
        round_give_up(s, o->plan);
    s->outcome = GANG_REJECT;
}

const struct ks_post_filter coscheduling_post_filter = { plan, after };
