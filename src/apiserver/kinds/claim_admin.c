/* claim_admin.c - resource.k8s.io: adminAccess gives devices that others use, so only namespaces
 * that an administrator has labelled may ask for it. */
#include "apiserver/kinds/device_check.h"
#include "apiserver/server_int.h"
#include "apiserver/store/store.h"

static const char label[] = "resource.kubernetes.io/admin-access";

static bool namespace_may(struct apiserver *s, const char *ns)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct store_key k = { "namespaces", "", ns };

    if (store_get_latest(s->store, &k, &text, NULL, NULL) < 0 ||
        kj_parse(text.data, text.len, 0, &doc, NULL) < 0)
        return false;
    return streq(v_str(kj_path(kj_root(doc), "metadata.labels"), label), "true");
}

/* Of these entries the first with adminAccess decides, and only it is told. member: where that
 * field is; NULL: in the entry itself. */
static void check_admin(struct apiserver *s, const struct kj_val *obj, const char *path,
                        const struct kj_val *list, const char *member, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        if (!kj_bool(kj_get(member ? kj_get(v, member) : v, "adminAccess"), false))
            continue;
        if (!namespace_may(s, v_str(kj_get(obj, "metadata"), "namespace")))
            err_forbidden(&c, at(&c, "%s[%zu].adminAccess", path, i),
                          "admin access to devices requires the "
                          "`resource.kubernetes.io/admin-access: true` label on the containing "
                          "namespace");
        return;
    }
}

static const char requests_path[] = "spec.devices.requests";

void claim_validate_in(struct apiserver *s, enum res_verb verb, const struct kj_val *obj,
                       const struct kj_val *old, struct field_errors *errors)
{
    static const char results[] = "status.allocation.devices.results";

    if (verb == RES_CREATE)
        check_admin(s, obj, requests_path, kj_path(obj, requests_path), "exactly", errors);
    else if (verb == RES_STATUS && !v_has(kj_get(old, "status"), "allocation"))
        check_admin(s, obj, results, kj_path(obj, results), NULL, errors);
}

/* The path is that of a claim, as upstream's. */
void claim_template_validate_in(struct apiserver *s, enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old, struct field_errors *errors)
{
    (void)old;
    if (verb == RES_CREATE)
        check_admin(s, obj, requests_path, kj_path(obj, "spec.spec.devices.requests"), "exactly",
                    errors);
}
