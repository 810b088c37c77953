/* classes.c - the admission steps DefaultStorageClass and DefaultIngressClass: a new claim or
 * Ingress that names no class gets the default one.
 */
#include "apiserver/server_int.h"
#include "apiserver/store/store.h"

struct defaulting {
    const char *group, *plural; /* of what gets a class */
    const char *field, *note;   /* where a class is named: in spec, or by an annotation */
    const char *classes;        /* the store's name of the classes */
    const char *marks[2];       /* the annotations, one of which makes a class the default */
};

struct search {
    const struct defaulting *of;
    struct arena *a;
    const char *name, *since; /* of the best so far; name NULL: none */
};

/* The newest counts; of several of the same second the first by name, which is the store's order.
 */
static bool on_class(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct search *x = arg;
    bool is_default = false;

    (void)rev;
    if (kj_parse(doc, n, 0, &parsed, NULL) < 0)
        return true;
    const struct kj_val *meta = kj_get(kj_root(parsed), "metadata");
    const struct kj_val *notes = kj_get(meta, "annotations");
    const char *since = kj_str_or(kj_get(meta, "creationTimestamp"), "");
    for (size_t i = 0; i < ARRAY_LEN(x->of->marks); i++)
        is_default = is_default || (x->of->marks[i] &&
                                    streq(kj_str_or(kj_get(notes, x->of->marks[i]), ""), "true"));
    if (is_default && (!x->name || strcmp(since, x->since) > 0)) {
        x->name = arena_strdup(x->a, k->name);
        x->since = arena_strdup(x->a, since);
    }
    return true;
}

static int give_class(struct apiserver *s, const struct defaulting *of,
                      const struct admission_req *r, struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = kj_mget(obj, "spec");
    const struct kj_mval *notes = kj_mget(kj_mget(obj, "metadata"), "annotations");

    if (!streq(r->res->group, of->group) || !streq(r->res->plural, of->plural) || *r->subresource ||
        !streq(r->operation, "CREATE") || kj_mtype(spec) != KJ_OBJ ||
        kj_mstr_get(kj_mget(spec, of->field)) || kj_mget(notes, of->note) ||
        !store_has_latest(s->store, of->classes, NULL))
        return 0;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct search x = { .of = of, .a = a };
    (void)store_list_latest(s->store, of->classes, NULL, on_class, &x, NULL);
    if (x.name)
        kj_mset(d, spec, of->field, kj_mstr(d, x.name));
    return 0;
}

static int storage_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                          struct kj_mval *obj, struct kerr *err)
{
    static const struct defaulting of = { "",
                                          "persistentvolumeclaims",
                                          "storageClassName",
                                          "volume.beta.kubernetes.io/storage-class",
                                          "storageclasses.storage.k8s.io",
                                          { "storageclass.kubernetes.io/is-default-class",
                                            "storageclass.beta.kubernetes.io/is-default-class" } };

    (void)err;
    return give_class(self, &of, r, d, obj);
}

static int ingress_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                          struct kj_mval *obj, struct kerr *err)
{
    static const struct defaulting of = { "networking.k8s.io",
                                          "ingresses",
                                          "ingressClassName",
                                          "kubernetes.io/ingress.class",
                                          "ingressclasses.networking.k8s.io",
                                          { "ingressclass.kubernetes.io/is-default-class" } };

    (void)err;
    return give_class(self, &of, r, d, obj);
}

void classes_add(struct apiserver *s)
{
    static const struct admission_step steps[] = {
        { "DefaultStorageClass", storage_mutate, NULL },
        { "DefaultIngressClass", ingress_mutate, NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        apiserver_add_admission(s, &steps[i], s);
}
