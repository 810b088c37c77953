/* hollow_claim.c - pods with ResourceClaims on a hollow node.
 *
 * As a kubelet, the node does not start such a pod before its claims are allocated and reserved for
 * it. From then on the pod carries a finalizer of the node until its containers have ended: a pod
 * that is deleted by force is still there for the claim controller while the node may use its
 * devices (kubernetes#141471).
 */
#include <stdio.h>

#include "cluster/hollow.h"
#include "cluster/resourceclaim.h"

#define FINALIZER "sim.koordinator.sh/devices"

/* NULL when the claim is the pod's to use, else why not. */
static const char *why_not(const struct hollow *h, const struct pod *p, const char *name,
                           struct arena *a)
{
    char key[KOBJ_KEY_MAX];

    (void)snprintf(key, sizeof key, "%s/%s", p->obj.meta.ns, name);
    struct kobj *o = informer_get(h->claim_cache, key);
    if (!o)
        return arena_printf(a, "ResourceClaim %s not found", name);
    if (!resource_claim_of(o)->status.allocation)
        return arena_printf(a, "ResourceClaim %s not allocated", name);
    if (!claim_is_reserved_for(resource_claim_of(o), p->obj.meta.uid))
        return arena_printf(a, "ResourceClaim %s not reserved for pod", name);
    return NULL;
}

/* The same of all claims of the pod, that of its extended resources included. */
static const char *why_none(const struct hollow *h, const struct pod *p, struct arena *a)
{
    const char *extended = pod_extended_claim(p), *why = NULL;

    for (uint32_t i = 0; !why && i < p->spec->resource_claims.n; i++) {
        const struct pod_resource_claim *entry = &p->spec->resource_claims.items[i];
        const char *name = pod_claim_name(p, entry);
        if (!name)
            why = arena_printf(a, "claim %s: ResourceClaim not created yet", entry->name);
        else if (*name)
            why = why_not(h, p, name, a);
    }
    return why || !extended ? why : why_not(h, p, extended, a);
}

static void write_finalizer(struct batch *b, const struct pod *p, bool add)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    char uid[KUID_TEXT_MAX];

    kuid_format(p->obj.meta.uid, uid, sizeof uid);
    strbuf_appendf(&body, "{\"metadata\":{\"uid\":\"%s\",\"%sfinalizers\":[\"%s\"]}}", uid,
                   add ? "" : "$deleteFromPrimitiveList/", FINALIZER);
    batch_patch(b, &p->obj, NULL, KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
}

bool hpod_prepare_claims(struct batch *b, struct hpod *hp, const struct pod *p)
{
    struct hollow *h = hp->node->h;

    if (p->spec->resource_claims.n == 0 && !pod_extended_claim(p))
        return true;
    const char *why = why_none(h, p, batch_arena(b));
    if (why) {
        recorder_event_on(h->c->events, &p->obj, true, "FailedPrepareDynamicResources", NULL,
                          "Failed to prepare dynamic resources: prepare dynamic resources: %s",
                          why);
        batch_again(b, NSEC_PER_SEC);
        return false;
    }
    if (meta_has_finalizer(&p->obj, FINALIZER))
        return true;
    write_finalizer(b, p, true);
    return false; /* the news of it brings the next look */
}

void hpod_release_claims(struct batch *b, const struct pod *p)
{
    if (meta_has_finalizer(&p->obj, FINALIZER))
        write_finalizer(b, p, false);
}

bool hpod_holds_devices(const struct pod *p)
{
    return meta_has_finalizer(&p->obj, FINALIZER);
}
