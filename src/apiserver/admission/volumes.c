/* volumes.c - the admission steps StorageObjectInUseProtection and PersistentVolumeClaimResize. */
#include "apiserver/server_int.h"
#include "apiserver/store/store.h"
#include "base/qty.h"

static const char class_res[] = "storageclasses.storage.k8s.io";
static const char class_note[] = "volume.beta.kubernetes.io/storage-class";

static bool is_claim(const struct admission_req *r)
{
    return !*r->res->group && streq(r->res->plural, "persistentvolumeclaims") && !*r->subresource;
}

/* ---- StorageObjectInUseProtection --------------------------------------------------------------
 */

/* The finalizer that a controller takes away from what is to go once nobody uses it. Classes of
 * attributes get none: no controller of ours would take it away. */
static int protect_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                          struct kj_mval *obj, struct kerr *err)
{
    const char *name = is_claim(r) ? "kubernetes.io/pvc-protection" : NULL;
    struct kj_mval *meta = kj_mget(obj, "metadata"), *list = kj_mget(meta, "finalizers");

    (void)self, (void)err;
    if (!*r->res->group && streq(r->res->plural, "persistentvolumes") && !*r->subresource)
        name = "kubernetes.io/pv-protection";
    if (!name || !streq(r->operation, "CREATE") || kj_mtype(meta) != KJ_OBJ)
        return 0;
    for (size_t i = 0; i < kj_mlen(list); i++)
        if (streq(str_or(kj_mstr_get(kj_mat(list, i)), ""), name))
            return 0;
    if (kj_mtype(list) != KJ_ARR) {
        list = kj_marr(d);
        kj_mset(d, meta, "finalizers", list);
    }
    kj_mpush(list, kj_mstr(d, name));
    return 0;
}

/* ---- PersistentVolumeClaimResize ---------------------------------------------------------------
 */

/* The annotation wins where it is there; "": no class. */
static const char *class_of(const struct kj_val *claim)
{
    const char *noted = kj_str(kj_get(kj_path(claim, "metadata.annotations"), class_note));

    return noted ? noted : kj_str_or(kj_path(claim, "spec.storageClassName"), "");
}

static struct qty size_of(const struct kj_val *claim)
{
    const struct kj_val *v = kj_path(claim, "spec.resources.requests.storage");
    struct qty q = { 0 };

    (void)qty_parse(kj_str_or(v, ""), kj_str(v) ? kj_len(v) : 0, &q, NULL);
    return q;
}

static bool class_allows_expansion(const struct apiserver *s, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct store_key k = { class_res, "", name };

    return store_get_latest(s->store, &k, &doc, NULL, NULL) == 0 &&
           kj_parse(doc.data, doc.len, 0, &parsed, NULL) == 0 &&
           kj_bool(kj_get(kj_root(parsed), "allowVolumeExpansion"), false);
}

/* Only bound claims get here: validation has refused to change the size of others. */
static int resize_validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                           struct kerr *err)
{
    if (!is_claim(r) || !streq(r->operation, "UPDATE") ||
        qty_cmp(size_of(obj), size_of(r->old)) <= 0)
        return 0;
    const char *class = class_of(obj);
    if (*class && streq(class, class_of(r->old)) && class_allows_expansion(self, class))
        return 0;
    return admission_forbid(r, err,
                            "only dynamically provisioned pvc can be resized and the storageclass "
                            "that provisions the pvc must support resize");
}

void volumes_add(struct apiserver *s)
{
    static const struct admission_step steps[] = {
        { "StorageObjectInUseProtection", protect_mutate, NULL },
        { "PersistentVolumeClaimResize", NULL, resize_validate },
    };

    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        apiserver_add_admission(s, &steps[i], s);
}
