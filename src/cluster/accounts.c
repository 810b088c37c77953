/* accounts.c - what every namespace has from its first moment on: the ServiceAccount "default",
 * which pods run as, and the ConfigMap "kube-root-ca.crt", by which they know the API server.
 *
 * Made when missing, and the ConfigMap put right when somebody changed it. An account belongs to
 * who edits it: nothing but its being there is seen to.
 */
#include "api/core.h"
#include "cluster/internal.h"

#define ACCOUNT     "default"
#define CA_MAP      "kube-root-ca.crt"
#define CA_KEY      "ca.crt"
#define DESCRIPTION "kubernetes.io/description"
#define CA_TEXT     "The certificates by which this cluster's API server is verified."

struct nsaccounts {
    struct cluster *c;
    struct controller *controller;
    struct informer *namespaces, *accounts, *maps;
    char *root_ca; /* PEM; NULL: no ConfigMap is made */
};

static const struct kind kind_account_meta = { .group = "",
                                               .version = "v1",
                                               .kind = "ServiceAccount",
                                               .plural = "serviceaccounts",
                                               .namespaced = true,
                                               .schema = &kobj_schema };

static const struct configmap *map_of(const struct kobj *o)
{
    return container_of(o, const struct configmap, obj);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Somebody else made it, or the namespace is on its way out: then its end is near. */
static bool on_written(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct nsaccounts *n = arg;

    (void)r;
    if (!err || err->reason == KR_ALREADY_EXISTS || err->reason == KR_NOT_FOUND)
        return true;
    const struct kobj *ns = informer_get(n->namespaces, batch_key(b));
    return !ns || ns->meta.deleted;
}

static void make_account(struct nsaccounts *n, struct batch *b, const char *ns)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "ServiceAccount");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", ACCOUNT);
    kjw_str(&w, "namespace", ns);
    kjw_end(&w);
    kjw_end(&w);
    batch_create(b, &kind_account_meta, ns, &body, on_written, n);
}

static void make_map(struct nsaccounts *n, struct batch *b, const char *ns)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "ConfigMap");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", CA_MAP);
    kjw_str(&w, "namespace", ns);
    kjw_obj(&w, "annotations");
    kjw_str(&w, DESCRIPTION, CA_TEXT);
    kjw_end(&w);
    kjw_end(&w);
    kjw_obj(&w, "data");
    kjw_str(&w, CA_KEY, n->root_ca);
    kjw_end(&w);
    kjw_end(&w);
    batch_create(b, &kind_configmap, ns, &body, on_written, n);
}

/* The description may be another's, as long as there is one. */
static bool is_right(const struct nsaccounts *n, const struct kobj *o)
{
    const struct configmap *m = map_of(o);

    return m->data.n == 1 && streq(str_or(kstrmap_get(&m->data, CA_KEY), ""), n->root_ca) &&
           *meta_annotation(o, DESCRIPTION);
}

static void mend_map(struct nsaccounts *n, struct batch *b, const struct kobj *o)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const kstrmap *data = &map_of(o)->data;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", o->meta.resource_version);
    if (!*meta_annotation(o, DESCRIPTION)) {
        kjw_obj(&w, "annotations");
        kjw_str(&w, DESCRIPTION, CA_TEXT);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_obj(&w, "data");
    for (uint32_t i = 0; i < data->n; i++)
        if (!streq(data->items[i].key, CA_KEY))
            kjw_null(&w, data->items[i].key);
    kjw_str(&w, CA_KEY, n->root_ca);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, on_written, n);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *ns)
{
    struct nsaccounts *n = arg;

    if (!ns || ns->meta.deleted)
        return;
    if (!informer_get(n->accounts, arena_printf(batch_arena(b), "%s/" ACCOUNT, key)))
        make_account(n, b, key);
    if (!n->root_ca)
        return;
    const struct kobj *map = informer_get(n->maps, arena_printf(batch_arena(b), "%s/" CA_MAP, key));
    if (!map)
        make_map(n, b, key);
    else if (!is_right(n, map))
        mend_map(n, b, map);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void on_gone(void *arg, struct kobj *o)
{
    struct nsaccounts *n = arg;
    controller_add(n->controller, o->meta.ns);
}

static void on_map_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_gone(arg, o);
}

static struct informer *named(struct cluster *c, const struct kind *k, const char *selector)
{
    return caches_get_some(c->caches,
                           &(struct informer_opts){ .kind = k, .field_selector = selector });
}

struct nsaccounts *nsaccounts_new(struct cluster *c, const char *root_ca)
{
    static const struct informer_handler account = { .on_delete = on_gone }, map = {
        .on_add = on_gone, .on_update = on_map_update, .on_delete = on_gone
    };
    struct nsaccounts *n = xnew0(struct nsaccounts);

    n->c = c;
    n->root_ca = root_ca ? xstrdup(root_ca) : NULL;
    n->namespaces = caches_get(c->caches, &doc_namespace);
    n->accounts = named(c, &kind_account_meta, "metadata.name=" ACCOUNT);
    n->maps = named(c, &kind_configmap, "metadata.name=" CA_MAP);
    n->controller = controller_new(
        c->controllers, &(struct controller_opts){ .name = "serviceaccount",
                                                   .of = n->namespaces,
                                                   .sync = sync,
                                                   .self = n,
                                                   .queue = { .concurrency = 4,
                                                              .backoff_initial = 5 * NSEC_PER_MSEC,
                                                              .backoff_max = 10 * NSEC_PER_SEC } });
    controller_watch(n->controller, n->namespaces, NULL, NULL);
    controller_watch(n->controller, n->accounts, &account, n);
    controller_watch(n->controller, n->maps, &map, n);
    return n;
}

struct nsaccounts *nsaccounts_free(struct nsaccounts *n)
{
    if (!n)
        return NULL;
    controller_free(n->controller);
    free(n->root_ca);
    free(n);
    return NULL;
}

void nsaccounts_set_root_ca(struct nsaccounts *n, const char *pem)
{
    struct kobj *o;
    size_t it = 0;

    free(n->root_ca);
    n->root_ca = xstrdup(pem);
    while ((o = informer_next(n->namespaces, &it)))
        controller_add_object(n->controller, o);
}
