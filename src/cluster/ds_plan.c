/* ds_plan.c - what a DaemonSet does next: one pod on every node that should have one, and old ones
 * replaced within maxUnavailable or maxSurge.
 */
#include "cluster/ds.h"
#include "controllers/percent.h"

void dsplan_fini(struct dsplan *p)
{
    vec_fini(&p->create);
    vec_fini(&p->remove);
}

static int64_t desired(const struct dsview *v)
{
    int64_t n = 0;
    vec_foreach(&v->nodes, i)
        n += v->nodes.items[i].should_run;
    return n;
}

static int64_t max_surge(const struct dsview *v)
{
    const struct rolling *r = v->ds->spec.strategy.rolling;
    return r ? int_or_percent(&r->max_surge, desired(v), true) : 0;
}

static bool rolls(const struct dsview *v)
{
    return !streq(str_or(v->ds->spec.strategy.type, ""), "OnDelete");
}

/* ---- one pod on each node -------------------------------------------------------------------- */

struct pair { /* the oldest of each, of those that run and stay */
    struct kobj *fresh, *old;
};

/* With surge: an old pod leaves when the new one beside it is available, or when it is not itself.
 */
static void thin_out_surge(const struct dsview *v, const kobjvec *running, struct dsplan *out)
{
    struct pair p = { 0 };

    vec_foreach(running, i) {
        struct kobj **slot = dsview_is_updated(v, running->items[i]) ? &p.fresh : &p.old;
        if (*slot)
            vec_push(&out->remove, running->items[i]);
        else
            *slot = running->items[i];
    }
    if (p.fresh && p.old && (dsview_is_available(v, p.fresh) || !dsview_is_available(v, p.old)))
        vec_push(&out->remove, p.old);
}

static void plan_node(const struct dsview *v, const struct ds_node *n, bool surges,
                      struct dsplan *out)
{
    kobjvec running = { 0 };
    size_t before = out->remove.n;

    vec_foreach(&n->pods, i) {
        struct kobj *pod = n->pods.items[i];
        if (pod->meta.deleted)
            continue;
        if (!n->may_stay || pod_is_terminal(pod_of(pod)))
            vec_push(&out->remove, pod);
        else
            vec_push(&running, pod);
    }
    /* A pod that is on its way out still has its place; one that is to be replaced with surge not.
     */
    if (n->should_run && (n->pods.n == 0 || (surges && running.n == 0 && out->remove.n == before)))
        vec_push(&out->create, n->name);
    if (surges)
        thin_out_surge(v, &running, out);
    for (size_t i = 1; !surges && i < running.n; i++)
        vec_push(&out->remove, running.items[i]);
    vec_fini(&running);
}

void ds_plan(const struct dsview *v, struct dsplan *out)
{
    bool surges = rolls(v) && max_surge(v) > 0;

    vec_foreach(&v->nodes, i)
        plan_node(v, &v->nodes.items[i], surges, out);
    vec_foreach(&v->lost, i)
        vec_push(&out->remove, v->lost.items[i]);
}

/* ---- pods of an old template ------------------------------------------------------------------ */

static struct pair pair_on(const struct dsview *v, const struct ds_node *n)
{
    struct pair p = { 0 };

    vec_foreach(&n->pods, i) {
        struct kobj **slot = dsview_is_updated(v, n->pods.items[i]) ? &p.fresh : &p.old;
        if (!*slot && !n->pods.items[i]->meta.deleted)
            *slot = n->pods.items[i];
    }
    return p;
}

static void update_in_place(const struct dsview *v, int64_t limit, struct dsplan *out)
{
    kobjvec candidates = { 0 };
    int64_t down = 0;

    vec_foreach(&v->nodes, i) {
        const struct ds_node *n = &v->nodes.items[i];
        struct pair p = pair_on(v, n);
        struct kobj *pod = p.fresh ? p.fresh : p.old;
        bool up = pod && dsview_is_available(v, pod);
        down += n->should_run && !up;
        if (!p.old || p.fresh)
            continue;
        if (up)
            vec_push(&candidates, p.old);
        else /* it serves nobody: replaced at no cost */
            vec_push(&out->remove, p.old);
    }
    for (size_t i = 0; i < candidates.n && (int64_t)i < limit - down; i++)
        vec_push(&out->remove, candidates.items[i]);
    vec_fini(&candidates);
}

static void update_by_surge(const struct dsview *v, int64_t limit, struct dsplan *out)
{
    dsnamevec candidates = { 0 };
    int64_t surging = 0;

    vec_foreach(&v->nodes, i) {
        const struct ds_node *n = &v->nodes.items[i];
        struct pair p = pair_on(v, n);
        surging += p.fresh && p.old;
        if (!p.old || p.fresh || !n->should_run)
            continue;
        if (dsview_is_available(v, p.old))
            vec_push(&candidates, n->name);
        else
            vec_push(&out->create, n->name);
    }
    for (size_t i = 0; i < candidates.n && (int64_t)i < limit - surging; i++)
        vec_push(&out->create, candidates.items[i]);
    vec_fini(&candidates);
}

void ds_plan_update(const struct dsview *v, struct dsplan *out)
{
    const struct rolling *r = v->ds->spec.strategy.rolling;
    int64_t surge = max_surge(v);

    if (!rolls(v))
        return;
    if (surge > 0)
        update_by_surge(v, surge, out);
    else
        update_in_place(v, r ? int_or_percent(&r->max_unavailable, desired(v), true) : 1, out);
}
