/* namespace.c - namespaces: they go in two steps, and only once they are empty. */
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "apiserver/schema/types.h"

static const char kubernetes[] = "kubernetes"; /* the finalizer of every namespace */

static void namespace_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *meta = m_obj(d, obj, "metadata");
    const char *name = m_str(meta, "name");

    if (*name)
        kj_mset(d, m_obj(d, meta, "labels"), "kubernetes.io/metadata.name", kj_mstr(d, name));
}

static void namespace_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                              const struct kj_val *old, nsec_t now)
{
    struct kj_mval *spec, *list, *v;
    bool has = false;

    (void)now;
    if (verb == RES_UPDATE)
        m_keep_old(d, obj, old, "spec"); /* finalizers change through /finalize only */
    if (verb != RES_CREATE) {
        prepare_status(verb, d, obj, old, "", "Namespace");
        return;
    }
    kj_mset(d, obj, "status", kj_mobj(d));
    kj_mset(d, kj_mget(obj, "status"), "phase", kj_mstr(d, "Active"));
    spec = m_obj(d, obj, "spec");
    if (kj_mtype(kj_mget(spec, "finalizers")) != KJ_ARR)
        kj_mset(d, spec, "finalizers", kj_marr(d));
    list = kj_mget(spec, "finalizers");
    for (struct kj_miter it = kj_miter(list); kj_mnext(&it, NULL, &v);)
        has |= streq(str_or(kj_mstr_get(v), ""), kubernetes);
    if (!has)
        kj_mpush(list, kj_mstr(d, kubernetes));
}

static void namespace_validate(enum res_verb verb, const struct kj_val *obj,
                               const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    struct kj_iter it = kj_iter(kj_path(obj, "spec.finalizers"));
    const struct kj_val *v;

    (void)old;
    while (verb == RES_CREATE && kj_next(&it, NULL, &v)) {
        const char *f = kj_str_or(v, "");
        check_qualified(&c, "spec.finalizers", f);
        if (!strchr(f, '/') && !streq(f, kubernetes) && !streq(f, "orphan") &&
            !streq(f, "foregroundDeletion"))
            err_invalid(&c, "spec.finalizers", f,
                        "name is neither a standard finalizer name nor is it fully qualified");
    }
}

static const char *namespace_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    if (streq(path, "status.phase") || streq(path, "name"))
        return v_text(obj, *path == 'n' ? "metadata.name" : path, a);
    return NULL;
}

static void ignore(void *arg, const char *problem)
{
    (void)arg, (void)problem;
}

static int edit_finalizers(void *arg, struct api_call *c, const struct kj_val *old,
                           struct kj_mdoc *d, struct kj_mval *obj, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *body = NULL;
    int r = api_body(c, "v1", "Namespace", &body, err);
    const struct kj_val *list = kj_path(kj_root(body), "spec.finalizers");

    const char *name = kj_str_or(kj_path(kj_root(body), "metadata.name"), c->name);

    (void)arg, (void)old;
    if (r == 0)
        r = types_check(c->res->type, kj_root(body), ignore, NULL, err);
    if (r < 0)
        return r;
    if (!streq(name, c->name))
        return api_err(c, err, -EINVAL, KR_BAD_REQUEST,
                       "the name of the object (%s) does not match the name on the URL (%s)", name,
                       c->name);
    struct kj_mval *spec = m_obj(d, obj, "spec");
    if (kj_len(list) > 0)
        kj_mset(d, spec, "finalizers", kj_mcopy(d, list));
    else
        kj_mdel(spec, "finalizers", strlen("finalizers"));
    return 0;
}

/* The registry removes a namespace that is being deleted when its last finalizer has gone. */
static void namespace_subresource(struct apiserver *s, struct api_call *c)
{
    struct kerr err;

    (void)s;
    if (!streq(c->sub, "finalize") || (c->verb != API_UPDATE && c->verb != API_CREATE)) {
        api_err_method(&err);
        api_fail(c, &err);
        return;
    }
    api_change(c, &(struct api_change){
                      .verb = RES_STATUS, .edit = edit_finalizers, .skip_prepare = true });
}

const struct res_strategy namespace_strategy = { .set_defaults = namespace_set_defaults,
                                                 .prepare = namespace_prepare,
                                                 .validate = namespace_validate,
                                                 .field = namespace_field,
                                                 .subresource = namespace_subresource };

static void cell_phase(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_text(out, kj_str_or(kj_path(obj, "status.phase"), ""));
}

static const struct res_column namespace_columns_list[] = {
    NAME_COLUMN,
    { .name = "Status", .type = "string", .cell = cell_phase },
    AGE_COLUMN,
};
COLUMNS(namespace_columns);
