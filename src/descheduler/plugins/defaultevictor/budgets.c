/* budgets.c - PodDisruptionBudgets of pods that are to be evicted. */
#include "descheduler/plugins/defaultevictor/budgets.h"

#include "api/policy.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "descheduler/framework/plugin.h"

struct use {
    uint64_t since; /* version of the budget, and round, that it counts for */
    int32_t n;
    char key[];
};

void budgets_fini(struct budgets *b)
{
    map_foreach(&b->used, e)
        free(e->value);
    map_fini(&b->used);
}

static const struct pdb *pdb_of(const struct kobj *o)
{
    return container_of(o, const struct pdb, obj);
}

static bool covers(const struct pdb *b, const struct pod *p, struct arena *a)
{
    struct labelsel *sel = NULL;

    return streq(b->obj.meta.ns, p->obj.meta.ns) && b->spec.selector &&
           labelsel_from(b->spec.selector, a, &sel, NULL) == 0 &&
           labelsel_matches(sel, &p->obj.meta.labels);
}

bool budgets_cover(const struct kd_view *v, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct kobj *o;
    size_t it = 0;

    while ((o = kd_view_next(v, &kind_pdb, &it)))
        if (covers(pdb_of(o), p, a))
            return true;
    return false;
}

/* Pods that have ended, wait or are on their way out are never counted; those that are not ready
 * only while the others are enough, or never when the budget says so. */
static bool counts(const struct pdb *b, const struct pod *p)
{
    if (pod_is_terminal(p) || p->status.phase == POD_PENDING || p->obj.meta.deleted)
        return false;
    if (pod_is_ready(p))
        return true;
    if (streq(b->spec.unhealthy_pod_eviction_policy, "AlwaysAllow"))
        return false;
    return b->status.current_healthy < b->status.desired_healthy || b->status.desired_healthy <= 0;
}

static struct use *use_of(struct budgets *b, const struct kobj *o, nsec_t round)
{
    char key[KOBJ_KEY_MAX];
    size_t n = kobj_key(o, key, sizeof key) + 1;
    struct use *u = map_getz(&b->used, key);
    const char *version = o->meta.resource_version;
    uint64_t since = hash_stable(version, strlen(version)) ^ (uint64_t)round;

    if (!u) {
        u = xcalloc(1, sizeof *u + n);
        memcpy(u->key, key, n);
        map_putz(&b->used, u->key, u);
    }
    if (u->since != since)
        u->n = 0;
    u->since = since;
    return u;
}

bool eviction_budgets_take(struct budgets *b, const struct kd_view *v, const struct pod *p,
                           struct kd_why *why)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct use *u = NULL;
    const struct kobj *o;
    size_t it = 0;

    while ((o = kd_view_next(v, &kind_pdb, &it))) {
        const struct pdb *x = pdb_of(o);
        if (!covers(x, p, a) || !counts(x, p))
            continue;
        u = use_of(b, o, kd_view_time(v));
        if (x->status.disruptions_allowed - u->n <= 0)
            return kd_no(why, "PodDisruptionBudget %s allows no disruption", o->meta.name);
    }
    if (u)
        u->n++;
    return true;
}
