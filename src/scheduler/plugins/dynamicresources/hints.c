/* hints.c - events that may help a pod with claims. */
#include "scheduler/plugins/dynamicresources/hints.h"

#include "api/dra.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/dynamicresources/claimcache.h"
#include "scheduler/plugins/dynamicresources/internal.h"

static bool has_its_claims(const struct dra *d, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new_sized(512);
    struct ks_texts why = { .arena = a };
    const struct resource_claim **claims;
    uint32_t n;

    return pod_claims(d->cache, p, a, &claims, &n, &why) == 0;
}

static bool is_allocated(const struct kobj *o)
{
    return o && resource_claim_of(o)->status.allocation;
}

static bool is_its_own(const struct kobj *claim, const struct pod *p)
{
    if (!streq(claim->meta.ns, p->obj.meta.ns))
        return false;
    for (uint32_t i = 0; i < p->spec->resource_claims.n; i++)
        if (streq(str_or(p->spec->resource_claims.items[i].claim_name, ""), claim->meta.name))
            return true;
    for (uint32_t i = 0; i < p->status.resource_claim_statuses.n; i++)
        if (streq(p->status.resource_claim_statuses.items[i].claim_name, claim->meta.name))
            return true;
    return false;
}

static bool same_users(const struct claim_status *a, const struct claim_status *b)
{
    bool same = a->reserved_for.n == b->reserved_for.n;

    for (uint32_t i = 0; same && i < a->reserved_for.n; i++)
        same = kuid_equal(a->reserved_for.items[i].uid, b->reserved_for.items[i].uid);
    return same;
}

static bool worth_claim(void *self, const struct ks_event *e, const struct pod *p)
{
    if (is_allocated(e->before) && !is_allocated(e->now))
        return has_its_claims(self, p);
    if (!e->now || !is_its_own(e->now, p) || !has_its_claims(self, p))
        return false;
    return !e->before || is_allocated(e->before) != is_allocated(e->now) ||
           !same_users(&resource_claim_of(e->before)->status, &resource_claim_of(e->now)->status);
}

static bool worth_own_statuses(void *self, const struct ks_event *e, const struct pod *p)
{
    return e->now && kuid_equal(e->now->meta.uid, p->obj.meta.uid) &&
           has_its_claims(self, pod_of(e->now));
}

/* A pod with claims that was on its way and is not any more: its devices are free. */
static bool worth_given_back(void *self, const struct ks_event *e, const struct pod *p)
{
    const struct pod *gone = pod_of(e->before);

    (void)self, (void)p;
    return str_empty(gone->node_name) && gone->spec->resource_claims.n > 0;
}

const struct ks_hint dra_hints[DRA_HINTS] = {
    { KS_RES_NODE, KS_ADD | KS_NODE_LABEL | KS_NODE_ALLOCATABLE, NULL },
    { KS_RES_RESOURCE_CLAIM, KS_ADD | KS_UPDATE | KS_DELETE, worth_claim },
    { KS_RES_UNSCHEDULABLE_POD, KS_POD_CLAIM, worth_own_statuses },
    { KS_RES_ASSIGNED_POD, KS_DELETE, worth_given_back },
    { KS_RES_DEVICE_CLASS, KS_ADD | KS_UPDATE, NULL },
    { KS_RES_RESOURCE_SLICE, KS_ADD | KS_UPDATE, NULL },
};
