/* explain_profile.c - the webhooks' part of koordctl explain: the steps of the manager on a pod. */
#include "api/policy.h"
#include "apiserver/schema/types.h"
#include "ctl/explain.h"
#include "main/koordctl.h"
#include "manager/profile/explain.h"

static const struct priority_class_obj *find_class(void *self, const char *name)
{
    const struct explain_profile_objects *o = self;

    for (size_t i = 0; i < o->nclasses; i++)
        if (streq(o->classes[i]->meta.name, name))
            return container_of(o->classes[i], struct priority_class_obj, obj);
    return NULL;
}

void main_explain_profile(const struct explain_profile_objects *o, struct strbuf *json)
{
    CLEANUP(profile_set_free) struct profile_set *set = profile_set_new();
    struct profile_explain_in in = {
        .pod = o->pod,
        .ns = o->ns,
        .profiles = set,
        .namespace_labels = o->ns_object ? &o->ns_object->meta.labels : NULL,
        .priority_class = find_class,
        .self = (void *)(uintptr_t)o,
        .limit_ranges = o->limit_ranges,
        .pod_merge = types_merge(types_find("", "v1", "Pod")),
    };

    for (size_t i = 0; i < o->nprofiles; i++)
        profile_set_put(set, o->profiles[i]);
    profile_explain(&in, json);
}
