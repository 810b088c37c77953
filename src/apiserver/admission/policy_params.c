/* policy_params.c - params: objects of any kind that is served. */
#include "apiserver/admission/policy_int.h"
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/internal.h"
#include "apiserver/store/store.h"

void policy_params_fini(struct policy_params *list)
{
    vec_foreach(list, i)
        kj_doc_free(list->items[i]);
    vec_fini(list);
}

const struct resource *policy_param_resource(const struct apiserver *s, const struct policy *p)
{
    const struct kj_val *of = kj_get(p->spec, "paramKind");
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct resource *x;

    for (size_t i = 0; (x = res_table_at(s->resources, i)); i++)
        if (streq(x->kind, v_str(of, "kind")) &&
            streq(resource_api_version(x, a), v_str(of, "apiVersion")))
            return x;
    return NULL;
}

struct finding {
    const struct resource *res;
    const struct kj_val *selector; /* NULL: all */
    struct policy_params *to;
};

static void take_object(struct finding *f, const char *text, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kerr err = { 0 };

    if (object_load(f->res, text, n, &doc, &err) < 0 ||
        (f->selector && !v_selector_matches(f->selector, kj_path(kj_root(doc), "metadata.labels"))))
        return;
    struct kj_mval *v = kj_mborrow(d, kj_root(doc));
    kj_mset(d, v, "apiVersion", kj_mstr(d, resource_api_version(f->res, a)));
    kj_mset(d, v, "kind", kj_mstr(d, f->res->kind));
    vec_push(f->to, kj_freeze(v));
}

static bool on_object(void *arg, const struct store_key *k, uint64_t rev, const char *text,
                      size_t n)
{
    (void)k, (void)rev;
    take_object(arg, text, n);
    return true;
}

static int fault(struct strbuf *why, const char *text)
{
    strbuf_append(why, text);
    return -EINVAL;
}

int policy_params_get(struct apiserver *s, const struct policy *p, const struct kj_val *binding,
                      const struct admission_req *r, struct policy_params *ret, struct strbuf *why)
{
    const struct kj_val *ref = kj_path(binding, "spec.paramRef");
    const struct resource *res = policy_param_resource(s, p);
    struct finding f = { .res = res, .to = ret };
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    const char *ns = v_str(ref, "namespace"), *name = v_str(ref, "name");

    if (!v_has(p->spec, "paramKind") || kj_type(ref) != KJ_OBJ) {
        vec_push(ret, NULL);
        return 0;
    }
    if (res->namespaced && !*ns && !*r->ns)
        return fault(why, "cannot use namespaced paramRef in policy binding that matches "
                          "cluster-scoped resources");
    if (!res->namespaced && *ns)
        return fault(why, "paramRef.namespace must not be provided for a cluster-scoped "
                          "`paramKind`");
    ns = !res->namespaced ? "" : *ns ? ns : r->ns;
    if (*name) {
        struct store_key k = { res->store_res, ns, name };
        if (store_get_latest(s->store, &k, &doc, NULL, NULL) >= 0)
            take_object(&f, doc.data, doc.len);
    } else {
        f.selector = kj_get(ref, "selector");
        (void)store_list_latest(s->store, res->store_res, res->namespaced ? ns : NULL, on_object,
                                &f, NULL);
    }
    if (!ret->n && streq(v_str(ref, "parameterNotFoundAction"), "Deny"))
        return fault(why, "no params found for policy binding with `Deny` parameterNotFoundAction");
    return 0;
}
