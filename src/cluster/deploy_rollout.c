/* deploy_rollout.c - who grows and who shrinks. No I/O: sets the plan (`want`) of each set. */
#include "base/num.h"
#include "cluster/deploy.h"
#include "controllers/percent.h"

void dview_resolve(struct dview *v)
{
    static const struct int_or_str quarter = { .s = "25%" };
    const struct strategy *s = &v->d->spec.strategy;
    bool rolling = !streq(s->type, "Recreate");

    v->replicas = v->d->spec.replicas.set ? v->d->spec.replicas.v : 1;
    v->surge = v->unavailable = 0;
    if (!rolling)
        return;
    v->surge = int_or_percent(s->rolling ? &s->rolling->max_surge : &quarter, v->replicas, true);
    v->unavailable =
        int_or_percent(s->rolling ? &s->rolling->max_unavailable : &quarter, v->replicas, false);
    /* Both rounded to nothing would stand still for ever. */
    if (v->surge == 0 && v->unavailable == 0)
        v->unavailable = 1;
    v->unavailable = MIN(v->unavailable, v->replicas);
}

static int64_t dview_total(const struct dview *v)
{
    int64_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += v->sets[i].replicas;
    return n;
}

int64_t dview_available(const struct dview *v)
{
    int64_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += v->sets[i].available;
    return n;
}

/* Pods that were asked to go and are still there take up room too. Upstream counts only what was
 * asked for, and with slow deletions exceeds its surge for a moment. */
static int64_t pods_there(const struct dview *v)
{
    int64_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += MAX(v->sets[i].replicas, v->sets[i].actual);
    return n;
}

int64_t rollout_fresh_replicas(const struct dview *v, int64_t fresh_now)
{
    if (streq(v->d->spec.strategy.type, "Recreate"))
        return v->replicas;
    int64_t room = v->replicas + v->surge - pods_there(v);
    if (room <= 0)
        return fresh_now;
    return fresh_now + MIN(room, MAX(v->replicas - fresh_now, (int64_t)0));
}

static bool is_changed(const struct dview *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->sets[i].want != v->sets[i].replicas)
            return true;
    return false;
}

bool rollout_grow(struct dview *v)
{
    struct dset *f = v->fresh;
    if (f->replicas > v->replicas)
        f->want = v->replicas;
    else if (f->replicas < v->replicas)
        f->want = rollout_fresh_replicas(v, f->replicas);
    return is_changed(v);
}

bool rollout_shrink(struct dview *v)
{
    int64_t min_available = v->replicas - v->unavailable;
    int64_t fresh_missing = v->fresh ? v->fresh->replicas - v->fresh->available : 0;
    int64_t may_go = dview_total(v) - min_available - MAX(fresh_missing, (int64_t)0);
    int64_t left = may_go;

    if (may_go <= 0)
        return false;
    /* Those that serve nobody cost nothing. */
    for (size_t i = 0; i < v->n && left > 0; i++) {
        struct dset *s = &v->sets[i];
        if (s == v->fresh || s->want == 0 || s->want <= s->available)
            continue;
        int64_t down = MIN(left, s->want - s->available);
        s->want -= down;
        left -= down;
    }
    int64_t spare = MIN(dview_available(v) - min_available, left);
    for (size_t i = 0; i < v->n && spare > 0; i++) {
        struct dset *s = &v->sets[i];
        if (s == v->fresh || s->want == 0)
            continue;
        int64_t down = MIN(spare, s->want);
        s->want -= down;
        spare -= down;
    }
    return is_changed(v);
}

/* ---- scaling in the middle of a rollout ---------------------------------------------------- */

bool rollout_is_scaling(const struct dview *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct dset *s = &v->sets[i];
        if (s->replicas > 0 && s->annotated_desired >= 0 && s->annotated_desired != v->replicas)
            return true;
    }
    return false;
}

/* The only set with replicas, or the newest when there is none; NULL when several have some. */
static struct dset *only_active(struct dview *v)
{
    struct dset *found = NULL;
    size_t active = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (v->sets[i].replicas > 0) {
            found = &v->sets[i];
            active++;
        }
    }
    if (active > 1)
        return NULL;
    if (active == 1)
        return found;
    return v->fresh ? v->fresh : v->n ? &v->sets[v->n - 1] : NULL;
}

/* Round half away from zero, as upstream does it with floats. */
static int64_t share_of(int64_t size, int64_t num, int64_t den)
{
    return den > 0 ? (2 * size * num + den) / (2 * den) : size;
}

static int by_size_newest_first(const void *a, const void *b)
{
    const struct dset *x = *(struct dset *const *)a, *y = *(struct dset *const *)b;
    if (x->replicas != y->replicas)
        return x->replicas > y->replicas ? -1 : 1;
    return x > y ? -1 : 1; /* the array is in order of age */
}

static int by_size_oldest_first(const void *a, const void *b)
{
    const struct dset *x = *(struct dset *const *)a, *y = *(struct dset *const *)b;
    if (x->replicas != y->replicas)
        return x->replicas > y->replicas ? -1 : 1;
    return x < y ? -1 : 1;
}

static void in_proportion(struct dview *v)
{
    int64_t allowed = v->replicas > 0 ? v->replicas + v->surge : 0;
    int64_t add = allowed - dview_total(v), given = 0;
    struct vec_of(struct dset *) order = { 0 };

    for (size_t i = 0; i < v->n; i++)
        if (v->sets[i].replicas > 0)
            vec_push(&order, &v->sets[i]);
    if (order.n)
        qsort(order.items, order.n, sizeof *order.items,
              add > 0 ? by_size_newest_first : by_size_oldest_first);
    vec_foreach(&order, i) {
        struct dset *s = order.items[i];
        int64_t max = s->annotated_max > 0 ? s->annotated_max : v->d->status.replicas;
        int64_t part = share_of(s->replicas, allowed, max) - s->replicas;
        part = add > 0 ? MIN(MAX(part, (int64_t)0), add - given)
                       : MAX(MIN(part, (int64_t)0), add - given);
        if (add == 0)
            part = 0;
        s->want = s->replicas + part;
        given += part;
    }
    /* What rounding left over goes to the largest. */
    if (order.n)
        order.items[0]->want = MAX(order.items[0]->want + add - given, (int64_t)0);
    vec_fini(&order);
}

bool rollout_scale(struct dview *v)
{
    struct dset *only = only_active(v);
    if (only) {
        only->want = v->replicas;
        return is_changed(v);
    }
    bool saturated = v->fresh && v->fresh->replicas == v->replicas &&
                     v->fresh->annotated_desired == v->replicas &&
                     v->fresh->available == v->replicas;
    if (saturated) {
        for (size_t i = 0; i < v->n; i++)
            if (&v->sets[i] != v->fresh)
                v->sets[i].want = 0;
    } else if (!streq(v->d->spec.strategy.type, "Recreate")) {
        in_proportion(v);
    }
    return is_changed(v);
}
