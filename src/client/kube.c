/* kube.c - what all transports have in common. */
#include "client/kube.h"

#include "json/schema.h"

struct kj_scratch *kube_scratch(struct kube *k)
{
    if (!k->scratch)
        k->scratch = kj_scratch_new(k->strings);
    return k->scratch;
}

struct kube *kube_free(struct kube *k)
{
    if (!k)
        return NULL;
    struct kj_scratch *scratch = k->scratch;
    k->ops->free(k);
    kj_scratch_free(scratch);
    return NULL;
}
