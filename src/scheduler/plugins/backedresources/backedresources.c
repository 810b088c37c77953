/* backedresources.c - extended resources that a DeviceClass backs. */
#include "scheduler/plugins/backedresources/backedresources.h"

#include "api/names.h"
#include "scheduler/model/objects.h"

static bool is_better(const struct kobj *a, const struct kobj *than)
{
    if (!than || a->meta.created != than->meta.created)
        return !than || a->meta.created > than->meta.created;
    return strcmp(a->meta.name, than->meta.name) < 0;
}

const struct device_class *backing_class(const struct objects *objects, const char *resource)
{
    const struct kobj *o, *best = NULL;

    if (!objects)
        return NULL;
    if (str_starts(resource, DEVICE_CLASS_RESOURCE_PREFIX)) {
        o = objects_get(objects, &kind_device_class, NULL,
                        resource + strlen(DEVICE_CLASS_RESOURCE_PREFIX));
        return o ? device_class_of(o) : NULL;
    }
    if (!name_is_extended_resource(resource))
        return NULL;
    for (size_t it = 0; (o = objects_next(objects, &kind_device_class, &it));) {
        const char *name = device_class_of(o)->spec.extended_resource_name;
        if (name && streq(name, resource) && is_better(o, best))
            best = o;
    }
    return best ? device_class_of(best) : NULL;
}
