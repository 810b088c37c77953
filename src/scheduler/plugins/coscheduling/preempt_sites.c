/* preempt_sites.c - where room for a gang can be made: which pods may go, and the rows of nodes in
 * the order of what their leaving would cost (sched-gang 6, steps 6 to 8). */
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/vec.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/plugins/coscheduling/preempt_int.h"

/* ---- victims --------------------------------------------------------------------------------- */

static const char *label(const struct pod *p, const char *key)
{
    return str_or(kstrmap_get(&p->obj.meta.labels, key), "");
}

bool job_may_evict(void *arg, const struct attempt *a, const struct pod *victim, uint32_t row)
{
    const struct job *j = arg;

    (void)row;
    return pod_priority(victim) < pod_priority(a->pod.pod) &&
           pod_quota_preemptible(&victim->obj.meta.labels) &&
           !streq(label(victim, LABEL_DISABLE_PREEMPTIBLE), "true") &&
           !ks_stays(&j->c->env, victim->obj.meta.uid);
}

/* For the dry runs, which then take those away that may go. */
static bool takes_away(void *arg, const struct attempt *a, const struct pod *victim, uint32_t row)
{
    const struct job *j = arg;

    if (!job_may_evict(arg, a, victim, row))
        return false;
    if (!j->gentle || !budgets_take(j->rules.budgets, victim))
        return true;
    budgets_give(j->rules.budgets, victim);
    return false;
}

/* The most important first: priority, then job, then name. */
static int by_importance(void *arg, const struct attempt *a, const struct pod *x,
                         const struct pod *y)
{
    (void)arg, (void)a;
    if (pod_priority(x) != pod_priority(y))
        return pod_priority(x) > pod_priority(y) ? -1 : 1;
    int r = strcmp(label(x, LABEL_QUESTIONED_OBJECT), label(y, LABEL_QUESTIONED_OBJECT));
    if (r == 0)
        r = strcmp(x->obj.meta.name, y->obj.meta.name);
    return r ? r : strcmp(x->obj.meta.ns, y->obj.meta.ns);
}

struct preemption_rules job_rules(struct job *j)
{
    return (struct preemption_rules){ .arg = j,
                                      .may_evict = takes_away,
                                      .compare = by_importance,
                                      .budgets = j->c->budgets,
                                      .shares_budgets = true };
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t rank_of(const int32_t *priorities, uint32_t n, int32_t p)
{
    const int32_t *found = bsearch(&p, priorities, n, sizeof p, by_number);
    return found ? (uint32_t)(found - priorities) : 0;
}

/* Priorities of all that may go, each once, the lowest first. */
static int32_t *rank_priorities(struct job *j, uint32_t *ret_n)
{
    struct vec_of(int32_t) all = { 0 };
    uint32_t n = 0;

    for (uint32_t i = 0; i < j->nsites; i++) {
        const struct ks_podlist *on = &j->a->cycle.nodes->pods[j->sites[i].row];
        for (uint32_t k = 0; k < on->n; k++) {
            int32_t p = pod_priority(on->items[k]);
            if (p >= pod_priority(j->a->pod.pod) || (all.n && vec_last(&all) == p) ||
                !job_may_evict(j, j->a, on->items[k], j->sites[i].row))
                continue;
            vec_push(&all, p);
        }
    }
    if (all.n)
        qsort(all.items, all.n, sizeof *all.items, by_number);
    for (size_t i = 0; i < all.n; i++)
        if (n == 0 || all.items[i] != all.items[n - 1])
            all.items[n++] = all.items[i];
    int32_t *ranks = arena_newn0(j->a->arena, n + 1, int32_t);
    if (n)
        memcpy(ranks, all.items, n * sizeof *ranks);
    vec_fini(&all);
    *ret_n = n;
    return ranks;
}

/* The ranks of the priorities of those that may go, one for each job; pods without a job share
 * one. */
static void weigh(struct job *j, struct site *s, const int32_t *ranks, uint32_t nranks)
{
    const struct ks_podlist *on = &j->a->cycle.nodes->pods[s->row];
    const char *jobs[64];
    uint32_t njobs = 0;

    for (uint32_t i = 0; i < on->n; i++) {
        const struct pod *p = on->items[i];
        if (!job_may_evict(j, j->a, p, s->row))
            continue;
        s->nvictims++;
        const char *key = label(p, LABEL_QUESTIONED_OBJECT);
        uint32_t k = 0;
        while (k < njobs && !streq(jobs[k], key))
            k++;
        if (k < njobs || njobs == ARRAY_LEN(jobs))
            continue;
        jobs[njobs++] = key;
        s->cost += rank_of(ranks, nranks, pod_priority(p));
    }
}

struct site_order {
    struct nodecache *cache;
};

/* Where nobody has to go first; then by cost; then by name. */
static int by_cost(const void *a, const void *b, void *arg)
{
    const struct site *x = a, *y = b;
    const struct site_order *o = arg;

    if ((x->nvictims == 0) != (y->nvictims == 0))
        return x->nvictims == 0 ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return strcmp(nodecache_row_name(o->cache, x->row), nodecache_row_name(o->cache, y->row));
}

void job_find_sites(struct job *j)
{
    struct site_order o = { j->a->cache };
    uint32_t nranks;

    j->sites = arena_newn0(j->a->arena, j->a->n, struct site);
    j->by_row = arena_newn0(j->a->arena, j->a->n, struct site *);
    for (uint32_t row = 0; row < j->a->n; row++) {
        if (attempt_code(j->a, row) == KS_UNSCHEDULABLE)
            j->sites[j->nsites++].row = row;
        else
            j->helpless++;
    }
    const int32_t *ranks = rank_priorities(j, &nranks);
    for (uint32_t i = 0; i < j->nsites; i++) {
        weigh(j, &j->sites[i], ranks, nranks);
        j->sites[i].run = (struct dry_run){ .a = j->a, .rules = &j->rules };
    }
    qsort_r(j->sites, j->nsites, sizeof *j->sites, by_cost, &o);
    for (uint32_t i = 0; i < j->nsites; i++)
        j->by_row[j->sites[i].row] = &j->sites[i];
}

void site_clear(struct site *s)
{
    if (!s->cleared && s->nvictims)
        (void)dry_run_remove(&s->run, s->row);
    s->cleared = true;
}

void site_fill(struct job *j, struct site *s, uint32_t mark)
{
    ks_overlay_rollback(j->a->overlay, mark);
    for (uint32_t i = 0; i < s->run.n; i++)
        budgets_give(j->rules.budgets, s->run.pods[i]);
    s->cleared = false;
}
