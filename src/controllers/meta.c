/* meta.c - reading and naming metadata. */
#include "controllers/meta.h"

#include "base/strbuf.h"
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

void meta_finalizer_patch(const struct kobj *o, const char *version, const char *name, bool with,
                          struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", version);
    kjw_arr(&w, "finalizers");
    for (uint32_t i = 0; i < o->meta.finalizers.n; i++)
        if (!streq(o->meta.finalizers.items[i], name))
            kjw_str(&w, NULL, o->meta.finalizers.items[i]);
    if (with)
        kjw_str(&w, NULL, name);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
}
