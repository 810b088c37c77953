/* discovery.c - which kinds the API server serves. */
#include "cluster/discovery.h"

#include <stdio.h>

#include "base/klog.h"

#define ROUND_EVERY (30 * NSEC_PER_SEC)
#define ROUND_SOON  (500 * NSEC_PER_MSEC)

struct listener {
    discovery_fn fn;
    void *arg;
};
struct discovery {
    struct cluster *c;
    struct controller *rounds; /* one key */
    struct arena *arena;       /* names of kinds, for ever */
    struct kinds vec_of(struct disco_kind *) kinds;
    struct listeners vec_of(struct listener) listeners;
    unsigned pending; /* answers of this round */
    bool complete, failed;
};

static const struct kind kind_crd_meta = { .group = "apiextensions.k8s.io",
                                           .version = "v1",
                                           .kind = "CustomResourceDefinition",
                                           .plural = "customresourcedefinitions",
                                           .schema = &metaonly_schema };

/* ---- what a server says -------------------------------------------------------------------- */

static bool has_verb(const struct kj_val *res, const char *verb)
{
    const struct kj_val *verbs = kj_get(res, "verbs"), *v;
    struct str key;
    for (struct kj_iter it = kj_iter(verbs); kj_next(&it, &key, &v);)
        if (streq(kj_str_or(v, ""), verb))
            return true;
    return false;
}

static struct disco_kind *find(const struct discovery *d, const char *group, const char *plural)
{
    vec_foreach(&d->kinds, i) {
        struct disco_kind *k = d->kinds.items[i];
        if (streq(k->kind.group, group) && streq(k->kind.plural, plural))
            return k;
    }
    return NULL;
}

/* Events are many, short-lived and owned by nobody: no graph of them is kept. */
static bool is_ownerless(const char *group, const char *plural)
{
    return streq(plural, "events") && (!*group || streq(group, "events.k8s.io"));
}

/* group and version belong to the arena of the batch. */
static void learn(struct discovery *d, const char *group, const char *version,
                  const struct kj_val *res)
{
    const char *plural = kj_str_or(kj_get(res, "name"), "");
    const char *kind = kj_str_or(kj_get(res, "kind"), "");

    if (!*plural || strchr(plural, '/') || !has_verb(res, "list") || !has_verb(res, "delete") ||
        !kind[0])
        return;
    struct disco_kind *k = find(d, group, plural);
    if (!k) {
        k = xnew0(struct disco_kind);
        k->kind = (struct kind){ .group = arena_strdup(d->arena, group),
                                 .version = arena_strdup(d->arena, version),
                                 .kind = arena_strdup(d->arena, kind),
                                 .plural = arena_strdup(d->arena, plural),
                                 .namespaced = kj_bool(kj_get(res, "namespaced"), false),
                                 .schema = &metaonly_schema };
        vec_push(&d->kinds, k);
    }
    k->served = true;
    k->ownerless = is_ownerless(group, plural);
    k->watch = has_verb(res, "watch");
    k->delete_collection = has_verb(res, "deletecollection");
}

/* ---- a round ------------------------------------------------------------------------------- */

struct asking {
    struct discovery *d;
    const char *group, *version;
};

static void round_step(struct discovery *d, bool ok)
{
    d->failed = d->failed || !ok;
    if (--d->pending > 0)
        return;
    d->complete = !d->failed;
    vec_foreach(&d->listeners, i)
        d->listeners.items[i].fn(d->listeners.items[i].arg);
}

static bool on_resources(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct asking *q = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct str key;
    const struct kj_val *res;

    if (!err && kj_parse(r->body, r->n, 0, &doc, NULL) == 0)
        for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "resources"));
             kj_next(&it, &key, &res);)
            learn(q->d, q->group, q->version, res);
    round_step(q->d, doc != NULL);
    /* A group that is coming or going: the round does not count, the next one comes soon. */
    if (err && err->reason == KR_NOT_FOUND)
        batch_again(b, ROUND_SOON);
    return err && err->reason == KR_NOT_FOUND;
}

static void ask(struct batch *b, struct discovery *d, const char *group, const char *version)
{
    struct arena *a = batch_arena(b);
    struct asking *q = arena_new0(a, struct asking);

    *q = (struct asking){ d, arena_strdup(a, group), arena_strdup(a, version) };
    struct kube_req r = { .verb = KUBE_GET,
                          .raw_path = *group ? arena_printf(a, "/apis/%s/%s", group, version)
                                             : arena_printf(a, "/api/%s", version) };
    d->pending++;
    batch_call(b, &r, on_resources, q);
}

static bool on_groups(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct discovery *d = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct str key;
    const struct kj_val *group;

    if (!err && kj_parse(r->body, r->n, 0, &doc, NULL) == 0) {
        for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "groups"));
             kj_next(&it, &key, &group);)
            ask(b, d, kj_str_or(kj_get(group, "name"), ""),
                kj_str_or(kj_path(group, "preferredVersion.version"), ""));
    }
    round_step(d, doc != NULL);
    return false;
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *obj)
{
    struct discovery *d = arg;

    (void)key, (void)obj;
    d->failed = false;
    vec_foreach(&d->kinds, i)
        d->kinds.items[i]->served = false;
    ask(b, d, "", "v1");
    d->pending++;
    batch_call(b, &(struct kube_req){ .verb = KUBE_GET, .raw_path = "/apis" }, on_groups, d);
    batch_again(b, ROUND_EVERY);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void on_crd(void *arg, struct kobj *o)
{
    struct discovery *d = arg;
    (void)o;
    controller_add_after(d->rounds, "round", ROUND_SOON);
}

static void on_crd_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old->meta.generation != o->meta.generation || old->meta.generation == 0)
        on_crd(arg, o);
}

static void on_start(void *arg)
{
    struct discovery *d = arg;
    controller_add(d->rounds, "round");
}

struct discovery *discovery_new(struct cluster *c)
{
    static const struct informer_handler crds = { .on_add = on_crd,
                                                  .on_update = on_crd_update,
                                                  .on_delete = on_crd };
    struct discovery *d = xnew0(struct discovery);

    d->c = c;
    d->arena = arena_new();
    d->rounds = controller_new(c->controllers,
                               &(struct controller_opts){ .name = "discovery",
                                                          .sync = sync,
                                                          .start = on_start,
                                                          .self = d,
                                                          .queue.backoff_max = 10 * NSEC_PER_SEC,
                                                          .eager = true });
    controller_watch(d->rounds, caches_get(c->caches, &kind_crd_meta), &crds, d);
    return d;
}

void discovery_stop(struct discovery *d)
{
    if (d)
        d->rounds = controller_free(d->rounds);
}

struct discovery *discovery_free(struct discovery *d)
{
    if (!d)
        return NULL;
    controller_free(d->rounds);
    vec_foreach(&d->kinds, i)
        free(d->kinds.items[i]);
    vec_fini(&d->kinds);
    vec_fini(&d->listeners);
    arena_free(d->arena);
    free(d);
    return NULL;
}

void discovery_on_round(struct discovery *d, discovery_fn fn, void *arg)
{
    struct listener l = { fn, arg };
    vec_push(&d->listeners, l);
}

bool discovery_complete(const struct discovery *d)
{
    return d->complete;
}

size_t discovery_count(const struct discovery *d)
{
    return d->kinds.n;
}

struct disco_kind *discovery_at(const struct discovery *d, size_t i)
{
    return d->kinds.items[i];
}

struct disco_kind *discovery_find(const struct discovery *d, const char *api_version,
                                  const char *kind)
{
    const char *slash = strchr(api_version, '/');
    struct str group =
        slash ? (struct str){ api_version, (size_t)(slash - api_version) } : (struct str){ "", 0 };
    vec_foreach(&d->kinds, i) {
        struct disco_kind *k = d->kinds.items[i];
        if (str_eqz(group, k->kind.group) && streq(k->kind.kind, kind))
            return k;
    }
    return NULL;
}
