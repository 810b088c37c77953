/* hints.c - events that may help a pod that asks for devices. */
#include "scheduler/plugins/deviceshare/hints.h"

#include "api/dra.h"
#include "api/koord/device.h"

/* A claim that gives its devices back may have had cards that a Device lists. */
static bool worth_claim(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self, (void)p;
    return e->before && resource_claim_of(e->before)->status.allocation &&
           !(e->now && resource_claim_of(e->now)->status.allocation);
}

const struct ks_hint device_hints[DEVICE_HINTS] = {
    { KS_RES_ASSIGNED_POD, KS_DELETE, NULL, NULL },
    { KS_RES_NODE, KS_ADD | KS_NODE_LABEL, NULL, NULL },
    { KS_RES_OTHER, KS_ALL, NULL, &kind_device },
    { KS_RES_RESOURCE_CLAIM, KS_UPDATE | KS_DELETE, worth_claim, NULL },
};
