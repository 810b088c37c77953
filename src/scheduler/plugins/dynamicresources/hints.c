/* hints.c - events that may help a pod with claims. */
#include "scheduler/plugins/dynamicresources/hints.h"

#include "api/dra.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/cards/cards.h"
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

static bool worth_claim(void *self, const struct ks_event *e, const struct pod *p)
{
    if (is_allocated(e->before) && !is_allocated(e->now))
        return has_its_claims(self, p);
    if (!e->now || !is_its_own(e->now, p) || !has_its_claims(self, p))
        return false;
    return !e->before ||
           !kj_struct_equal(&claim_status_schema, &resource_claim_of(e->before)->status,
                            &resource_claim_of(e->now)->status);
}

static bool worth_own_statuses(void *self, const struct ks_event *e, const struct pod *p)
{
    return e->now && kuid_equal(e->now->meta.uid, p->obj.meta.uid) &&
           has_its_claims(self, pod_of(e->now));
}

/* Something that DeviceShare gives: koordinator.sh/gpu, nvidia.com/gpu, and what vendors have. */
static bool ask_for_devices(const struct container *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const reslist *l = &list[i].resources.requests;
        for (uint32_t k = 0; k < l->n; k++)
            if (strchr(l->items[k].name, '/'))
                return true;
    }
    return false;
}

static bool asks_for_devices(const struct pod *p)
{
    return ask_for_devices(p->spec->containers.items, p->spec->containers.n) ||
           ask_for_devices(p->spec->init_containers.items, p->spec->init_containers.n);
}

/* A pod with claims that was on its way and is not any more: its devices are free. So are the cards
 * of a pod that had them by DeviceShare, wherever it was. */
static bool worth_given_back(void *self, const struct ks_event *e, const struct pod *p)
{
    const struct pod *gone = pod_of(e->before);
    const struct dra *d = self;

    (void)p;
    if (str_empty(gone->node_name) && gone->spec->resource_claims.n > 0)
        return true;
    return cards_are_shared(d->cache->pools->cards) && asks_for_devices(gone);
}

const struct ks_hint dra_hints[DRA_HINTS] = {
    { KS_RES_NODE, KS_ADD | KS_NODE_LABEL | KS_NODE_ALLOCATABLE, NULL },
    { KS_RES_RESOURCE_CLAIM, KS_ADD | KS_UPDATE | KS_DELETE, worth_claim },
    { KS_RES_UNSCHEDULABLE_POD, KS_POD_CLAIM, worth_own_statuses },
    { KS_RES_ASSIGNED_POD, KS_DELETE, worth_given_back },
    { KS_RES_DEVICE_CLASS, KS_ADD | KS_UPDATE, NULL },
    { KS_RES_RESOURCE_SLICE, KS_ADD | KS_UPDATE, NULL },
    { KS_RES_OTHER, KS_ALL, NULL, &kind_device_taint_rule },
};
