/* owners.c - the source of workloads: informers, and the scale subresource of other owners. */
#include "descheduler/migration/owners.h"

#include "api/workload.h"
#include "base/map.h"
#include "client/discovery.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "json/kj.h"

/* How long an answer counts. */
#define SCALE_FRESH (30 * NSEC_PER_SEC)
/* An owner of which nobody has asked for so long is forgotten. */
#define SCALE_KEPT       (30 * 60 * NSEC_PER_SEC)
#define DISCOVERY_PERIOD (5 * 60 * NSEC_PER_SEC)
enum { SCALES_MAX = 4096 };

/* Every cluster has the first ones; the others are watched where the server has them. */
static const struct kind *const owner_kinds[] = {
    &kind_deployment, &kind_replicaset, &kind_statefulset,        &kind_replicationcontroller,
    &kind_job,        &kind_cloneset,   &kind_kruise_statefulset,
};
enum { OWNER_KINDS = ARRAY_LEN(owner_kinds), OWNER_KINDS_USUAL = OWNER_KINDS - 2 };

struct scale {
    struct owners *owners;
    struct kube_call *call; /* NULL: none under way */
    enum workload_known known;
    int32_t replicas;
    nsec_t at, used; /* mono; at 0: not known yet */
    char *owner_uid;
    char key[];
};
struct owners {
    struct owners_opts o;
    struct informer *informers[OWNER_KINDS], *pods, *replicasets; /* NULL: not served, so far */
    struct subscription *news[OWNER_KINDS];
    struct discovery *discovery;
    bool discovered; /* once at least */
    struct map scales;
};

/* ---- caches ---------------------------------------------------------------------------------- */

static enum workload_known get(void *arg, const struct kind *k, const char *ns, const char *name,
                               const struct kobj **ret)
{
    struct owners *w = arg;
    size_t i = 0;
    char key[KOBJ_KEY_MAX];

    while (owner_kinds[i] != k)
        i++;
    if (!w->informers[i])
        return w->discovered ? WORKLOAD_REFUSED : WORKLOAD_AWAITED;
    if (informer_refused(w->informers[i]))
        return WORKLOAD_REFUSED;
    if (!informer_synced(w->informers[i]))
        return WORKLOAD_AWAITED;
    const struct kobj named = { .kind = k, .meta = { .ns = ns, .name = name } };
    kobj_key(&named, key, sizeof key);
    *ret = informer_get(w->informers[i], key);
    return *ret ? WORKLOAD_FOUND : WORKLOAD_NONE;
}

static void owned(void *arg, const struct kind *k, struct kuid owner, kobjvec *out)
{
    struct owners *w = arg;
    objects_by_owner(k == &kind_pod ? w->pods : w->replicasets, owner, out);
}

static void on_object(void *arg, struct kobj *o)
{
    struct owners *w = arg;

    (void)o;
    w->o.on_news(w->o.arg);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    const struct workload *a = workload_of(old), *b = workload_of(o);

    if (old->meta.generation != o->meta.generation ||
        memcmp(&a->status, &b->status, sizeof a->status) != 0)
        on_object(arg, o);
}

static void on_synced(void *arg)
{
    on_object(arg, NULL);
}

/* ---- scale ----------------------------------------------------------------------------------- */

static void scale_free(struct scale *s)
{
    kube_cancel(s->call);
    free(s->owner_uid);
    free(s);
}

static void answer(struct scale *s, enum workload_known known, int32_t replicas)
{
    s->known = known;
    s->replicas = replicas;
    s->at = loop_mono(s->owners->o.loop);
    s->owners->o.on_news(s->owners->o.arg);
}

static void on_scale(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct scale *s = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    s->call = NULL;
    if (err) {
        answer(s, err->reason == KR_NOT_FOUND ? WORKLOAD_NONE : WORKLOAD_REFUSED, 0);
        return;
    }
    if (kj_parse(r->body, r->n, 0, &doc, NULL) < 0) {
        answer(s, WORKLOAD_REFUSED, 0);
        return;
    }
    const char *uid = kj_str_or(kj_path(kj_root(doc), "metadata.uid"), "");
    int64_t n = kj_i64_or(kj_path(kj_root(doc), "spec.replicas"), 0);
    bool same = !*uid || streq(uid, s->owner_uid);
    answer(s, same ? WORKLOAD_FOUND : WORKLOAD_NONE,
           same ? (int32_t)MIN(MAX(n, (int64_t)0), (int64_t)INT32_MAX) : 0);
}

/* NULL: it is not served, or not known yet (*ret_known says which). */
static const struct kind *served(struct owners *w, const struct owner_ref *o,
                                 enum workload_known *ret_known)
{
    const struct served_kind *k = discovery_find(w->discovery, o->api_version, o->kind);
    *ret_known = w->discovered ? WORKLOAD_REFUSED : WORKLOAD_AWAITED;
    return k && k->served && k->kind.namespaced ? &k->kind : NULL;
}

/* Those that nobody asks for any more. */
static void sweep(struct owners *w, nsec_t now)
{
    struct map left = { 0 };

    map_foreach(&w->scales, e) {
        struct scale *s = e->value;
        if (now - s->used > SCALE_KEPT && !s->call)
            scale_free(s);
        else
            map_putz(&left, s->key, s);
    }
    map_fini(&w->scales);
    w->scales = left;
}

static struct scale *scale_of(struct owners *w, const char *ns, const struct owner_ref *o,
                              nsec_t now)
{
    CLEANUP(mem_free) char *key = xasprintf("%s %s %s/%s", o->api_version, o->kind, ns, o->name);
    struct scale *s = map_getz(&w->scales, key);
    size_t n = strlen(key);

    if (s)
        return s;
    if (w->scales.n >= SCALES_MAX)
        sweep(w, now);
    if (w->scales.n >= SCALES_MAX)
        return NULL;
    s = xcalloc(1, sizeof *s + n + 1);
    s->owners = w;
    memcpy(s->key, key, n + 1);
    map_put(&w->scales, s->key, n, s);
    return s;
}

static enum workload_known scale(void *arg, const char *ns, const struct owner_ref *o,
                                 int32_t *ret_replicas)
{
    struct owners *w = arg;
    nsec_t now = loop_mono(w->o.loop);
    enum workload_known known;
    const struct kind *k = served(w, o, &known);
    struct scale *s = k ? scale_of(w, ns, o, now) : NULL;
    char uid[KUID_TEXT_MAX];

    if (!s)
        return known;
    s->used = now;
    kuid_format(o->uid, uid, sizeof uid);
    bool same = s->owner_uid && streq(s->owner_uid, uid);
    if (!s->call && (!s->at || !same || now - s->at > SCALE_FRESH)) {
        free(s->owner_uid);
        s->owner_uid = xstrdup(uid);
        s->at = same ? s->at : 0;
        s->call = kube_do(
            w->o.kube,
            &(struct kube_req){
                .verb = KUBE_GET, .kind = k, .ns = ns, .name = o->name, .subresource = "scale" },
            on_scale, s);
    }
    *ret_replicas = s->replicas;
    return s->at ? s->known : WORKLOAD_AWAITED;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct workload_source owners_source(struct owners *w)
{
    return (struct workload_source){ .arg = w, .get = get, .owned = owned, .scale = scale };
}

static void watch_kind(struct owners *w, size_t i)
{
    static const struct informer_handler news = { .on_add = on_object,
                                                  .on_update = on_update,
                                                  .on_delete = on_object,
                                                  .on_synced = on_synced,
                                                  .on_refused = on_synced };

    w->informers[i] = caches_get(w->o.caches, owner_kinds[i]);
    w->news[i] = informer_add_handler(w->informers[i], &news, w);
}

/* Discovery knows the kinds of the preferred version of a group, and CloneSets are not in Kruise's:
 * the group has to do. */
static bool is_served(const struct owners *w, const char *group)
{
    for (size_t i = 0; i < discovery_count(w->discovery); i++) {
        const struct served_kind *s = discovery_at(w->discovery, i);
        if (s->served && streq(s->kind.group, group))
            return true;
    }
    return false;
}

/* A server that does not answer is asked again soon; one that tells nobody what it has is not. */
static void on_discovery(void *arg)
{
    struct owners *w = arg;
    const struct kerr *problem = discovery_problem(w->discovery);

    w->discovered |= !problem || problem->reason != KR_NONE;
    for (size_t i = OWNER_KINDS_USUAL; i < OWNER_KINDS; i++)
        if (!w->informers[i] && is_served(w, owner_kinds[i]->group))
            watch_kind(w, i);
    w->o.on_news(w->o.arg);
}

bool owners_ready(const struct owners *w)
{
    for (size_t i = 0; i < OWNER_KINDS; i++)
        if (w->informers[i] && !informer_synced(w->informers[i]) &&
            !informer_refused(w->informers[i]))
            return false;
    return w->discovered;
}

struct owners *owners_new(const struct owners_opts *o)
{
    struct owners *w = xnew0(struct owners);

    w->o = *o;
    w->pods = caches_get(o->caches, &kind_pod);
    w->replicasets = caches_get(o->caches, &kind_replicaset);
    for (size_t i = 0; i < OWNER_KINDS_USUAL; i++)
        watch_kind(w, i);
    w->discovery = discovery_new(o->kube);
    discovery_on_round(w->discovery, on_discovery, w);
    discovery_start(w->discovery, DISCOVERY_PERIOD);
    return w;
}

struct owners *owners_free(struct owners *w)
{
    if (!w)
        return NULL;
    for (size_t i = 0; i < OWNER_KINDS; i++)
        informer_remove_handler(w->news[i]);
    map_foreach(&w->scales, e)
        scale_free(e->value);
    map_fini(&w->scales);
    discovery_free(w->discovery);
    free(w);
    return NULL;
}
