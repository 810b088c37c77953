/* owner.c - owner references as JSON. */
#include "controllers/owner.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "json/kj.h"

bool owner_key(const struct kobj *o, const char *kind, char *key, size_t size)
{
    const struct owner_ref *ref = kobj_controller(o);

    if (!ref || !streq(ref->kind, kind))
        return false;
    (void)snprintf(key, size, "%s%s%s", o->meta.ns, *o->meta.ns ? "/" : "", ref->name);
    return true;
}

static void write_ref(struct kjw *w, const struct owner_ref *ref)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(ref->uid, uid, sizeof uid);
    kjw_obj(w, NULL);
    kjw_str(w, "apiVersion", ref->api_version);
    kjw_str(w, "kind", ref->kind);
    kjw_str(w, "name", ref->name);
    kjw_str(w, "uid", uid);
    if (ref->controller)
        kjw_bool(w, "controller", true);
    if (ref->block_owner_deletion)
        kjw_bool(w, "blockOwnerDeletion", true);
    kjw_end(w);
}

static void write_list(struct kjw *w, const char *key, const struct kobj *owner, bool controls)
{
    char version[128];

    kind_api_version(owner->kind, version, sizeof version);
    kjw_arr(w, key);
    write_ref(w, &(struct owner_ref){ .api_version = version,
                                      .kind = owner->kind->kind,
                                      .name = owner->meta.name,
                                      .uid = owner->meta.uid,
                                      .controller = controls,
                                      .block_owner_deletion = controls });
    kjw_end(w);
}

void owner_write(struct kjw *w, const struct kobj *owner, bool controls)
{
    write_list(w, "ownerReferences", owner, controls);
}

struct kj_mval *owner_value(struct kj_mdoc *d, const struct kobj *owner)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kjw w = kjw_to(&text);

    write_list(&w, NULL, owner, true);
    return kj_mraw(d, text.data, text.len);
}

void owner_write_drop(struct kjw *w, struct kuid owner)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(owner, uid, sizeof uid);
    kjw_arr(w, "ownerReferences");
    kjw_obj(w, NULL);
    kjw_str(w, "$patch", "delete");
    kjw_str(w, "uid", uid);
    kjw_end(w);
    kjw_end(w);
}

static bool is_one_of(struct kuid uid, const struct kuid *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (kuid_equal(uid, list[i]))
            return true;
    return false;
}

void owner_write_others(struct kjw *w, const struct kobj *o, const struct kuid *drop, size_t n)
{
    kjw_arr(w, "ownerReferences");
    for (uint32_t i = 0; i < o->meta.owners.n; i++)
        if (!is_one_of(o->meta.owners.items[i].uid, drop, n))
            write_ref(w, &o->meta.owners.items[i]);
    kjw_end(w);
}
