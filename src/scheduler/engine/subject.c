/* subject.c - what a pod of the queue stands for, and requests about it (framework/subject.h). */
#include "api/pod.h"
#include "client/kube.h"
#include "scheduler/engine/internal.h"

struct subject subject_of(const struct active_profile *active, const struct pod *p)
{
    const struct profile_point *point = active ? &active->profile->points[KS_POINT_BIND] : NULL;

    for (uint32_t i = 0; point && i < point->n; i++) {
        const struct profile_slot *s = &active->profile->slots[point->slots[i]];
        const struct ks_subject *how = s->plugin->bind(s->self, p);
        if (how)
            return (struct subject){ how, s->self, point->slots[i] };
    }
    return (struct subject){ &ks_subject_pod, NULL, -1 };
}

const struct kobj *subject_object(const struct subject *x, const struct pod *p)
{
    return x->how->object(x->self, p);
}

bool subject_request(const struct subject *x, const struct pod *p, struct kube_req *r)
{
    const struct kobj *o = subject_object(x, p);

    if (!o)
        return false;
    r->kind = o->kind;
    r->ns = o->kind->namespaced ? o->meta.ns : NULL;
    r->name = o->meta.name;
    return true;
}

const char *subject_plugin(const struct subject *x, const struct active_profile *active)
{
    return x->slot >= 0 ? active->profile->slots[x->slot].plugin->name : "DefaultBinder";
}
