/* endpoints.c - what stands behind Services: Endpoints and EndpointSlices from pods, and slices
 * that mirror Endpoints which somebody else writes.
 *
 * Pods are read with their ports and addresses, which other caches leave out: that cache is made
 * when the first Service with a selector appears.
 */
#include <stdio.h>

#include "api/node.h"
#include "cluster/ep.h"

#define GATHER        (50 * NSEC_PER_MSEC)
#define SLICES_BY     "endpointslice-controller.k8s.io"
#define MIRRORED_BY   "endpointslicemirroring-controller.k8s.io"
#define OVER_CAPACITY "endpoints.kubernetes.io/over-capacity"

struct epctl {
    struct cluster *c;
    struct controller *controller, *mirror;
    struct informer *services, *endpoints, *slices, *nodes;
    struct informer *pods; /* NULL: no Service asked for pods yet */
};

/* ---- Endpoints of a Service ---------------------------------------------------------------- */

static bool same_subsets(const struct endpoints_doc *e, const struct strbuf *want)
{
    CLEANUP(kj_doc_free) struct kj_doc *x = NULL, *y = NULL;
    const char *have = str_or(e->subsets_json, "[]");

    return kj_parse(have, strlen(have), 0, &x, NULL) == 0 &&
           kj_parse(want->data, want->len, 0, &y, NULL) == 0 && kj_equal(kj_root(x), kj_root(y));
}

static bool has_labels(const struct endpoints_doc *e, const struct svc *s)
{
    for (uint32_t i = 0; i < s->obj.meta.labels.n; i++) {
        const struct kstrpair *want = &s->obj.meta.labels.items[i];
        if (!streq(str_or(kstrmap_get(&e->obj.meta.labels, want->key), "\n"), want->value))
            return false;
    }
    return true;
}

static void write_meta(struct kjw *w, const struct svc *s, const struct endpoints_doc *had,
                       bool over)
{
    kjw_obj(w, "metadata");
    if (had)
        kjw_str(w, "resourceVersion", had->obj.meta.resource_version);
    else
        kjw_str(w, "name", s->obj.meta.name);
    kjw_obj(w, "labels");
    for (uint32_t i = 0; i < s->obj.meta.labels.n; i++)
        kjw_str(w, s->obj.meta.labels.items[i].key, s->obj.meta.labels.items[i].value);
    kjw_str(w, "endpoints.kubernetes.io/managed-by", "endpoint-controller");
    if (streq(s->spec.cluster_ip, "None"))
        kjw_str(w, "service.kubernetes.io/headless", "");
    kjw_end(w);
    if (over || (had && kstrmap_get(&had->obj.meta.annotations, OVER_CAPACITY))) {
        kjw_obj(w, "annotations");
        kjw_str(w, OVER_CAPACITY, over ? "truncated" : NULL);
        kjw_end(w);
    }
    kjw_end(w);
}

static void sync_endpoints(struct epctl *ec, struct batch *b, const struct svc *s,
                           const epgroupvec *groups)
{
    CLEANUP(strbuf_fini) struct strbuf subsets = STRBUF_INIT, body = STRBUF_INIT;
    struct kobj *o = informer_get(ec->endpoints, batch_key(b));
    const struct endpoints_doc *had = o ? endpoints_doc_of(o) : NULL;
    struct kjw w = kjw_to(&body);
    bool over;

    ep_write_subsets(groups, s->spec.ports.n > 0, &subsets, &over);
    if (had && same_subsets(had, &subsets) && has_labels(had, s))
        return;
    kjw_obj(&w, NULL);
    if (!had) {
        kjw_str(&w, "apiVersion", "v1");
        kjw_str(&w, "kind", "Endpoints");
    }
    write_meta(&w, s, had, over);
    kjw_raw(&w, "subsets", subsets.data, subsets.len);
    kjw_end(&w);
    if (had)
        batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
    else
        batch_create(b, &doc_endpoints, s->obj.meta.ns, &body, NULL, NULL);
}

/* ---- one Service --------------------------------------------------------------------------- */

static bool selects_pods(const struct svc *s)
{
    bool ipv6 = s->spec.ip_families.n == 1 && streq(s->spec.ip_families.items[0], "IPv6");
    return s->spec.selector.n > 0 && !streq(s->spec.type, "ExternalName") && !ipv6;
}

static void sync_service(struct epctl *ec, struct batch *b, const struct svc *s)
{
    kobjvec pods = { 0 };
    epgroupvec groups = { 0 };

    if (!selects_pods(s) || s->obj.meta.deleted || !ec->pods || !informer_synced(ec->pods))
        return;
    objects_by(ec->pods, index_ns, s->obj.meta.ns, &pods);
    ep_view_service(s, &pods, ec->nodes, &groups, batch_arena(b));
    sync_endpoints(ec, b, s, &groups);
    ep_sync_slices(b, &(struct ep_slicing){ .owner = &s->obj,
                                            .managed_by = SLICES_BY,
                                            .headless = streq(s->spec.cluster_ip, "None"),
                                            .slices = ec->slices,
                                            .groups = &groups });
    epgroups_fini(&groups);
    vec_fini(&pods);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct epctl *ec = arg;
    struct kobj *left = o ? NULL : informer_get(ec->endpoints, key);

    if (o)
        sync_service(ec, b, svc_of(o));
    else if (left) /* slices go with their owner */
        batch_delete(b, left, &(struct delete_opts){ .grace = -1 }, NULL, NULL);
}

/* ---- mirrored ------------------------------------------------------------------------------ */

static bool is_mirrored(struct epctl *ec, const struct kobj *endpoints, const char *key)
{
    struct kobj *s = informer_get(ec->services, key);

    return s && !s->meta.deleted && svc_of(s)->spec.selector.n == 0 &&
           !streq(str_or(kstrmap_get(&endpoints->meta.labels,
                                     "endpointslice.kubernetes.io/skip-mirror"),
                         ""),
                  "true") &&
           !kstrmap_get(&endpoints->meta.annotations, "control-plane.alpha.kubernetes.io/leader");
}

static void drop_mirrored(struct epctl *ec, struct batch *b, const struct kobj *endpoints)
{
    kobjvec owned = { 0 };

    objects_by_owner(ec->slices, endpoints->meta.uid, &owned);
    vec_foreach(&owned, i)
        if (ep_is_slice_of(owned.items[i], MIRRORED_BY))
            batch_delete(b, owned.items[i], &(struct delete_opts){ .grace = -1 }, NULL, NULL);
    vec_fini(&owned);
}

static void sync_mirror(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct epctl *ec = arg;
    epgroupvec groups = { 0 };

    if (!o || o->meta.deleted)
        return; /* its slices go with it */
    if (!is_mirrored(ec, o, key)) {
        drop_mirrored(ec, b, o);
        return;
    }
    ep_view_endpoints(endpoints_doc_of(o), &groups, batch_arena(b));
    ep_sync_slices(
        b, &(struct ep_slicing){
               .owner = o, .managed_by = MIRRORED_BY, .slices = ec->slices, .groups = &groups });
    epgroups_fini(&groups);
}

/* ---- news ---------------------------------------------------------------------------------- */

static void add_services_of(struct epctl *ec, const struct kobj *pod)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kobjvec services = { 0 };
    char key[KOBJ_KEY_MAX];

    objects_by(ec->services, index_ns, pod->meta.ns, &services);
    vec_foreach(&services, i) {
        const struct svc *s = svc_of(services.items[i]);
        if (!selects_pods(s) ||
            !labelsel_matches(labelsel_from_map(&s->spec.selector, a), &pod->meta.labels))
            continue;
        kobj_key(&s->obj, key, sizeof key);
        controller_add_after(ec->controller, key, GATHER);
    }
    vec_fini(&services);
}

static void on_pod(void *arg, struct kobj *o)
{
    if (*backend_of(o)->status.pod_ip)
        add_services_of(arg, o);
}

static bool looks_the_same(const struct backend *a, const struct backend *b)
{
    return a->obj.meta.deleted == b->obj.meta.deleted &&
           streq(a->status.pod_ip, b->status.pod_ip) && streq(a->status.phase, b->status.phase) &&
           condition_is_true(&a->status.conditions, "Ready") ==
               condition_is_true(&b->status.conditions, "Ready") &&
           kstrmap_equal(&a->obj.meta.labels, &b->obj.meta.labels);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (looks_the_same(backend_of(old), backend_of(o)))
        return;
    add_services_of(arg, o);
    if (!kstrmap_equal(&old->meta.labels, &o->meta.labels))
        add_services_of(arg, old);
}

static void read_pods(struct epctl *ec)
{
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod };
    ec->pods = caches_get(ec->c->caches, &doc_backend);
    controller_watch(ec->controller, ec->pods, &pods, ec);
}

static void on_service(void *arg, struct kobj *o)
{
    struct epctl *ec = arg;

    if (!ec->pods && selects_pods(svc_of(o)))
        read_pods(ec);
    controller_add_object(ec->controller, o);
    controller_add_object(ec->mirror, o);
}

static void on_service_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_service(arg, o);
}

/* Endpoints or a slice that somebody changed: both are put right. */
static void on_endpoints(void *arg, struct kobj *o)
{
    struct epctl *ec = arg;
    char key[KOBJ_KEY_MAX];

    kobj_key(o, key, sizeof key);
    if (informer_get(ec->services, key))
        controller_add(ec->controller, key);
    controller_add(ec->mirror, key);
}

static void on_slice(void *arg, struct kobj *o)
{
    struct epctl *ec = arg;
    char key[KOBJ_KEY_MAX];

    if (owner_key(o, "Service", key, sizeof key) && informer_get(ec->services, key))
        controller_add_after(ec->controller, key, GATHER);
    else if (owner_key(o, "Endpoints", key, sizeof key))
        controller_add_after(ec->mirror, key, GATHER);
}

static void on_endpoints_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_endpoints(arg, o);
}

static void on_slice_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_slice(arg, o);
}

struct epctl *epctl_new(struct cluster *c)
{
    static const struct informer_handler services = { .on_add = on_service,
                                                      .on_update = on_service_update,
                                                      .on_delete = on_service };
    static const struct informer_handler endpoints = { .on_add = on_endpoints,
                                                       .on_update = on_endpoints_update,
                                                       .on_delete = on_endpoints };
    static const struct informer_handler slices = { .on_add = on_slice,
                                                    .on_update = on_slice_update,
                                                    .on_delete = on_slice };
    struct epctl *ec = xnew0(struct epctl);

    ec->c = c;
    ec->services = caches_get(c->caches, &doc_service);
    ec->endpoints = caches_get(c->caches, &doc_endpoints);
    ec->slices = caches_get(c->caches, &doc_slice);
    ec->nodes = caches_get(c->caches, &kind_node);
    ec->controller =
        controller_new(c->controllers, &(struct controller_opts){ .name = "endpoints",
                                                                  .of = ec->services,
                                                                  .sync = sync,
                                                                  .self = ec,
                                                                  .queue.concurrency = 8 });
    ec->mirror =
        controller_new(c->controllers, &(struct controller_opts){ .name = "endpoints-mirror",
                                                                  .of = ec->endpoints,
                                                                  .sync = sync_mirror,
                                                                  .self = ec,
                                                                  .queue.concurrency = 4 });
    controller_watch(ec->controller, ec->services, &services, ec);
    controller_watch(ec->controller, ec->endpoints, &endpoints, ec);
    controller_watch(ec->controller, ec->slices, &slices, ec);
    controller_read(ec->controller, ec->nodes);
    controller_read(ec->mirror, ec->services);
    controller_read(ec->mirror, ec->slices);
    return ec;
}

struct epctl *epctl_free(struct epctl *ec)
{
    if (!ec)
        return NULL;
    controller_free(ec->controller);
    controller_free(ec->mirror);
    free(ec);
    return NULL;
}
