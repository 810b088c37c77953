/* meta.c - reading and naming metadata. */
#include "controllers/meta.h"

#include "json/kj.h"

const char *meta_annotation(const struct kobj *o, const char *key)
{
    return str_or(kstrmap_get(&o->meta.annotations, key), "");
}

bool meta_has_finalizer(const struct kobj *o, const char *name)
{
    for (uint32_t i = 0; i < o->meta.finalizers.n; i++)
        if (streq(o->meta.finalizers.items[i], name))
            return true;
    return false;
}

void meta_write_version(struct kjw *w, const struct kobj *o)
{
    kjw_obj(w, "metadata");
    kjw_str(w, "resourceVersion", o->meta.resource_version);
    kjw_end(w);
}
