/* controller.c - profiles on pods that exist already and wait for a node (manager 9).
 *
 * A pod that no node has yet can still be changed: labels, annotations and the patch of a profile
 * that came later reach it here. Upstream appends label suffixes again every five minutes, and
 * draws again in each round, so that in the end every pod is changed; here a suffix that is there
 * already is not appended, and whether a percentage is for a pod depends on pod and profile only.
 */
#include "api/protocol/protocol.h"
#include "api/selector/selector.h"
#include "base/map.h"
#include "client/bucket.h"
#include "loop/loop.h"
#include "manager/cached.h"
#include "manager/hooks.h"
#include "manager/manager_int.h"
#include "manager/profile/apply.h"
#include "json/patch.h"

struct profile_controller {
    struct manager *m;
    struct controller *controller;
    struct informer *pods;
    struct bucket writes;
    struct map applied; /* struct applied by key */
};

/* ---- what was applied ------------------------------------------------------------------------ */

struct applied { /* this version of a profile to this pod */
    nsec_t at;
    char key[]; /* "<resourceVersion>/<uid>" */
};

static const char *applied_key(struct arena *a, const struct kobj *profile, struct kuid pod)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(pod, uid, sizeof uid);
    return arena_printf(a, "%s/%s", profile->meta.resource_version, uid);
}

static bool is_applied(const struct profile_controller *c, const char *key)
{
    const struct applied *x = map_getz(&c->applied, key);
    return x && loop_mono(c->m->loop) - x->at < c->m->o.profiles.again_after;
}

static void remember(struct profile_controller *c, const char *key)
{
    struct applied *x = map_getz(&c->applied, key);

    if (!x) {
        x = xmalloc(sizeof *x + strlen(key) + 1);
        memcpy(x->key, key, strlen(key) + 1);
        map_putz(&c->applied, x->key, x);
    }
    x->at = loop_mono(c->m->loop);
}

static void forget(struct profile_controller *c, nsec_t older_than)
{
    nsec_t now = loop_mono(c->m->loop);
    struct vec_of(struct applied *) old = { 0 };

    map_foreach(&c->applied, e) {
        struct applied *x = e->value;
        if (now - x->at >= older_than)
            vec_push(&old, x);
    }
    vec_foreach(&old, i) {
        map_removez(&c->applied, old.items[i]->key);
        free(old.items[i]);
    }
    vec_fini(&old);
}

/* ---- one pod --------------------------------------------------------------------------------- */

struct visit {
    struct profile_controller *c;
    const struct kobj *profile; /* the version that is applied */
    const struct kobj *pod;     /* as the cache had it */
    const char *key;
};

static bool on_patched(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct visit *v = arg;

    (void)b, (void)r;
    if (!err)
        remember(v->c, v->key);
    return !err || err->reason == KR_NOT_FOUND;
}

/* Bound, gone or replaced meanwhile: not ours any more. */
static bool still_waits(const struct visit *v, const struct kj_val *pod)
{
    const char *uid = kj_str_or(kj_path(pod, "metadata.uid"), "");

    return kuid_equal(kuid_parse(uid, strlen(uid)), v->pod->meta.uid) &&
           str_empty(kj_str(kj_path(pod, "spec.nodeName"))) &&
           streq(kj_str_or(kj_path(pod, "status.phase"), ""), "Pending");
}

static int patch_of(const struct visit *v, const struct profile *p, const struct kj_val *pod,
                    struct arena *a, struct strbuf *body, struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *after = NULL;
    struct kj_mval *obj = kj_mcopy(d, pod);
    struct profile_target t = {
        .d = d,
        .obj = obj,
        .merge = v->c->m->o.pod_merge,
        .metadata_only = true,
        .suffixed = hooks_profiles(v->c->m->hooks),
        .a = a,
    };

    if (profile_apply(p, &t, err) < 0)
        return err->code;
    after = kj_freeze(obj);
    if (kj_equal(kj_root(after), pod))
        return 0;
    struct kj_mval *patch = kj_diff_merge(d, pod, kj_root(after));
    struct kj_mval *meta = kj_mget(patch, "metadata");
    if (!meta)
        kj_mset(d, patch, "metadata", meta = kj_mobj(d));
    kj_mset(d, meta, "resourceVersion",
            kj_mstr(d, kj_str_or(kj_path(pod, "metadata.resourceVersion"), "")));
    kj_mwrite(patch, 0, body);
    return 1;
}

static bool on_pod(struct batch *b, struct kube_resp *r, const struct kerr *failed, void *arg)
{
    struct visit *v = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const struct profile *p =
        profile_set_find(hooks_profiles(v->c->m->hooks), v->profile->meta.name);
    struct kerr err = { 0 };

    if (failed)
        return failed->reason == KR_NOT_FOUND;
    if (!p || &p->obj->obj != v->profile || kj_parse_insitu(r->body, r->n, 0, &doc, &err) < 0 ||
        !still_waits(v, kj_root(doc)))
        return true;
    switch (patch_of(v, p, kj_root(doc), batch_arena(b), &body, &err)) {
    case 0: remember(v->c, v->key); break;
    case 1: batch_patch(b, v->pod, NULL, KUBE_PATCH_MERGE, &body, on_patched, v); break;
    default: batch_fail(b, &err);
    }
    return true;
}

/* ---- one profile ----------------------------------------------------------------------------- */

static bool is_for(const struct profile *p, const struct pending_pod *pod)
{
    char uid[KUID_TEXT_MAX];
    size_t n = kuid_format(pod->obj.meta.uid, uid, sizeof uid);
    uint64_t draw = hash_stable(uid, n) ^ hash_stable(profile_name(p), strlen(profile_name(p)));

    return profile_drawn(p, draw % 100);
}

static bool take_token(struct profile_controller *c)
{
    if (bucket_take(&c->writes, loop_mono(c->m->loop)) == 0)
        return true;
    c->writes.tokens += 1; /* not reserved: the next round comes anyway */
    return false;
}

/* false: no token is left. */
static bool visit(struct profile_controller *c, struct batch *b, const struct profile *p,
                  const struct kobj *o)
{
    const struct pending_pod *pod = container_of(o, const struct pending_pod, obj);
    const kstrmap *ns = hooks_namespace_labels(c->m->hooks, o->meta.ns);
    struct profile_subject s = { .labels = &o->meta.labels, .namespace_labels = ns };

    if (*pod->spec.node_name || !streq(pod->status.phase, "Pending") || o->meta.deleted ||
        (p->namespaces && !ns) || profile_match(p, &s) != PROFILE_MATCHES || !is_for(p, pod))
        return true;
    const char *key = applied_key(batch_arena(b), &p->obj->obj, o->meta.uid);
    if (is_applied(c, key))
        return true;
    if (!take_token(c))
        return false;
    struct visit *v = arena_new0(batch_arena(b), struct visit);
    *v = (struct visit){ c, batch_hold(b, &p->obj->obj), batch_hold(b, o), key };
    batch_call(b,
               &(struct kube_req){
                   .verb = KUBE_GET, .kind = o->kind, .ns = o->meta.ns, .name = o->meta.name },
               on_pod, v);
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct objmeta *x = &(*(struct kobj *const *)a)->meta;
    const struct objmeta *y = &(*(struct kobj *const *)b)->meta;
    int r = strcmp(x->ns, y->ns);

    return r ? r : strcmp(x->name, y->name);
}

static bool is_managed(const struct profile_controller *c, const struct kobj *profile)
{
    return c->m->o.profiles.by_default ||
           label_is_true(&profile->meta.labels, LABEL_CONTROLLER_MANAGED);
}

static void sync(void *self, struct batch *b, const char *key, struct kobj *obj)
{
    struct profile_controller *c = self;
    const struct profile *p = profile_set_find(hooks_profiles(c->m->hooks), key);
    kobjvec pods = { 0 };
    size_t it = 0;
    struct kobj *o;

    if (!obj || !p || !is_managed(c, obj))
        return;
    forget(c, c->m->o.profiles.forget_after);
    batch_again(b, c->m->o.profiles.interval);
    if (!p->obj->spec.selector || p->bad_percent)
        return;
    while ((o = informer_next(c->pods, &it)))
        vec_push(&pods, o);
    if (pods.n > 1)
        qsort(pods.items, pods.n, sizeof *pods.items, by_key);
    for (size_t i = 0; i < pods.n && visit(c, b, p, pods.items[i]); i++)
        ;
    vec_fini(&pods);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct profile_controller *profile_controller_new(struct manager *m)
{
    struct profile_controller *c = xnew0(struct profile_controller);
    struct informer *profiles = caches_get(m->caches, &kind_colocation_profile);

    c->m = m;
    c->pods =
        caches_get_some(m->caches, &(struct informer_opts){ .kind = &cached_pending_pod,
                                                            .ns = m->ns,
                                                            .field_selector = "spec.nodeName=" });
    bucket_init(&c->writes, m->o.profiles.qps, m->o.profiles.burst, loop_mono(m->loop));
    c->controller = controller_new(
        m->controllers, &(struct controller_opts){
                            .name = "colocationprofile", .of = profiles, .sync = sync, .self = c });
    controller_watch(c->controller, profiles, NULL, NULL);
    controller_read(c->controller, c->pods);
    return c;
}

struct profile_controller *profile_controller_free(struct profile_controller *c)
{
    if (!c)
        return NULL;
    controller_free(c->controller);
    forget(c, 0);
    map_fini(&c->applied);
    free(c);
    return NULL;
}
