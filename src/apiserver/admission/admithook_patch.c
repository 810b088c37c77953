/* admithook_patch.c - patches of webhooks. */
#include "apiserver/admission/admithook_patch.h"

#include "apiserver/registry/internal.h"
#include "json/patch.h"

static void set_type(struct kj_mdoc *d, struct kj_mval *v, const struct admission_req *r,
                     const struct resource *as)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    kj_mset(d, v, "apiVersion", kj_mstr(d, r->kind ? r->api_version : resource_api_version(as, a)));
    kj_mset(d, v, "kind", kj_mstr(d, r->kind ? r->kind : as->kind));
}

static void convert(struct kj_mdoc *d, struct kj_mval *v, const struct resource *from,
                    const struct resource *to)
{
    if (from == to)
        return;
    if (from->strategy && from->strategy->to_stored)
        from->strategy->to_stored(d, v);
    if (to->strategy && to->strategy->from_stored)
        to->strategy->from_stored(d, v);
}

struct kj_mval *admithook_show(const struct admission_req *r, const struct resource *as,
                               struct kj_mdoc *d, const struct kj_val *obj)
{
    struct kj_mval *v = kj_mborrow(d, obj);

    convert(d, v, r->res, as);
    set_type(d, v, r, as);
    return v;
}

int admithook_patch(const struct admission_req *r, const struct resource *as,
                    const struct kj_val *obj, const struct kj_val *patch, struct kj_doc **ret,
                    struct strbuf *why)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *shown = kj_freeze(admithook_show(r, as, d, obj));
    CLEANUP(kj_doc_free) struct kj_doc *patched = NULL;
    struct kj_mval *v;
    struct kerr err = { 0 };

    int e = kj_patch_json(d, kj_root(shown), patch, &v, &err);
    if (e == 0 && kj_mtype(v) != KJ_OBJ)
        e = kerr_set(&err, -EINVAL, "the patched document is not an object");
    if (e == 0) {
        convert(d, v, as, r->res);
        patched = kj_freeze(v);
        e = r->kind ? 0 : object_check_types(r->res, kj_root(patched), &err);
    }
    if (e < 0) {
        strbuf_append(why, err.text);
        return -EINVAL;
    }
    set_type(d, v, r, r->res);
    if (!r->kind)
        object_default(r->res, d, v);
    *ret = kj_freeze(v);
    return 0;
}
