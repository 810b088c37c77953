/* kube.c - what all transports have in common. */
#include "client/kube.h"

#include <stdio.h>

#include "json/schema.h"

struct kube_problem {
    const struct kind *kind;
    char text[400];
};

struct kj_scratch *kube_scratch(struct kube *k)
{
    if (!k->scratch)
        k->scratch = kj_scratch_new(k->strings);
    return k->scratch;
}

const char *kube_problem(const struct kube *k)
{
    return k->problem && k->problem->kind ? k->problem->text : "";
}

void kube_set_problem(struct kube *k, const struct kind *kind, const struct kerr *err)
{
    if (!err) {
        if (k->problem && k->problem->kind == kind)
            k->problem->kind = NULL;
        return;
    }
    if (!k->problem)
        k->problem = xnew0(struct kube_problem);
    k->problem->kind = kind;
    if (err->reason == KR_NOT_FOUND)
        (void)snprintf(k->problem->text, sizeof k->problem->text,
                       "the API server does not know %s%s%s: is its CRD installed?", kind->plural,
                       *kind->group ? "." : "", kind->group);
    else
        (void)snprintf(k->problem->text, sizeof k->problem->text, "%s: %s", kind->plural,
                       err->text);
}

struct kube *kube_free(struct kube *k)
{
    if (!k)
        return NULL;
    struct kj_scratch *scratch = k->scratch;
    free(k->problem);
    k->ops->free(k);
    kj_scratch_free(scratch);
    return NULL;
}
