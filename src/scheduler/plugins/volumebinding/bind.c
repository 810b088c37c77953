/* bind.c - volumes and claims are written to the API server, and waited for.
 *
 * One change after the other, each only if the object is still the one we know: by merge patch with
 * its resourceVersion, so that fields we do not know survive. Then the object cache is looked at,
 * with every change of these objects and once a second, until all claims have their volumes.
 */
#include "api/node.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/volumebinding/internal.h"
#include "json/kj.h"

#define LOOK_EVERY NSEC_PER_SEC

void writing_stop(struct assumed *r)
{
    r->call = kube_cancel(r->call);
    r->timer = timer_cancel(r->timer);
    r->waits = false;
    r->bind = NULL;
}

/* The engine may give the reservation back at once: nothing may touch it afterwards. */
static void finish(struct assumed *r, enum ks_code code, const char *why)
{
    r->waits = false;
    ks_bind_done(take(r->bind), code, why);
}

/* The object as it is now; NULL with a text when it went, or another has its name. */
static struct kobj *current(const struct assumed *r, const struct kobj *o, struct kerr *err)
{
    struct kobj *now = objects_get(r->binder->env.objects, o->kind,
                                   o->kind->namespaced ? o->meta.ns : NULL, o->meta.name);

    if (now && kuid_equal(now->meta.uid, o->meta.uid))
        return now;
    kerr_set(err, -ENOENT, "%s \"%s\" not found",
             o->kind == &kind_pv ? "persistentvolume" : "persistentvolumeclaim", o->meta.name);
    return NULL;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int check_reach(const struct assumed *r, const struct pv *v, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    if (!v->spec.node_affinity ||
        nodesel_match(nodesel_from(v->spec.node_affinity, a), &r->node->meta.labels, "") == 1)
        return 0;
    return kerr_set(err, -EINVAL,
                    "pv \"%s\" node affinity doesn't match node \"%s\": no matching "
                    "NodeSelectorTerms",
                    v->obj.meta.name, r->node->meta.name);
}

/* Our own change has the first version after the one it was based on. */
static bool is_stale(const struct step *s, const struct kobj *now)
{
    return s->sent && streq(s->sent->meta.resource_version, now->meta.resource_version);
}

/* 1: it is bound; 0: not yet; negative: it will not be. */
static int check_static(const struct assumed *r, const struct step *s, struct kerr *err)
{
    const struct kobj *volume = current(r, s->volume, err);
    const struct kobj *claim = volume ? current(r, s->claim, err) : NULL;

    if (!claim)
        return kerr_wrap(err, "failed to check binding");
    if (is_stale(s, volume))
        return 0;
    const struct object_ref *ref = pv_of(volume)->spec.claim_ref;
    if (check_reach(r, pv_of(volume), err) < 0)
        return err->code;
    if (!ref || kuid_is_empty(ref->uid))
        return kerr_set(err, -ECANCELED, "ClaimRef got reset for pv \"%s\"", volume->meta.name);
    return pvc_is_bound(pvc_of(claim));
}

static int check_provisioned(const struct assumed *r, const struct step *s, struct kerr *err)
{
    const struct kobj *claim = current(r, s->claim, err);

    if (!claim)
        return kerr_wrap(err, "failed to check provisioning pvc");
    if (is_stale(s, claim))
        return 0;
    const char *node = kstrmap_get(&claim->meta.annotations, ANN_SELECTED_NODE);
    /* Who could not make the volume takes the annotation away, to ask for another node. */
    if (!node || !streq(node, r->node->meta.name))
        return kerr_set(err, -ECANCELED, "provisioning failed for PVC \"%s\"", claim->meta.name);
    const char *name = pvc_of(claim)->spec.volume_name;
    if (str_empty(name))
        return 0;
    const struct pv *v = claims_pv(r->binder->env.objects, name);
    if (!v) /* its news are on the way */
        return 0;
    if (check_reach(r, v, err) < 0)
        return err->code;
    return pvc_is_bound(pvc_of(claim));
}

static int check_all(const struct assumed *r, struct kerr *err)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const struct step *s = &r->steps[i];
        int code = s->volume ? check_static(r, s, err) : check_provisioned(r, s, err);
        if (code <= 0)
            return code;
    }
    return 1;
}

static void on_look(struct loop *l, void *arg);

static void look_later(struct assumed *r)
{
    struct loop *l = r->binder->env.loop;
    r->timer = loop_after(l, MIN(LOOK_EVERY, r->deadline - loop_mono(l)), on_look, r);
}

static void look_now(struct assumed *r)
{
    timer_cancel(r->timer);
    r->timer = loop_after(r->binder->env.loop, 0, on_look, r);
}

static bool is_about(const struct assumed *r, const struct kobj *o)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const struct kobj *volume = r->steps[i].volume;
        if (kuid_equal(r->steps[i].claim->meta.uid, o->meta.uid) ||
            (volume && kuid_equal(volume->meta.uid, o->meta.uid)))
            return true;
    }
    return false;
}

void writing_news(void *binder, struct kobj *before, struct kobj *now)
{
    struct binder *b = binder;
    struct assumed *r;

    for (size_t it = 0; (r = uidmap_next(&b->reservations, &it));)
        if (r->waits && is_about(r, now ? now : before))
            look_now(r);
}

static void on_look(struct loop *l, void *arg)
{
    struct assumed *r = arg;
    struct kerr err = { 0 };

    r->timer = NULL;
    int code = check_all(r, &err);
    if (code == 0 && loop_mono(l) >= r->deadline)
        code = kerr_set(&err, -ETIMEDOUT, "context deadline exceeded");
    if (code < 0) {
        kerr_wrap(&err, "binding volumes");
        finish(r, KS_ERROR, err.text);
    } else if (code == 0) {
        look_later(r);
    } else {
        finish(r, KS_SUCCESS, "");
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_head(struct kjw *w, const struct kobj *o, const char *key, const char *value)
{
    kjw_obj(w, NULL);
    kjw_obj(w, "metadata");
    kjw_str(w, "resourceVersion", o->meta.resource_version);
    if (key) {
        kjw_obj(w, "annotations");
        kjw_str(w, key, value);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_claim_ref(struct kjw *w, const struct kobj *claim)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(claim->meta.uid, uid, sizeof uid);
    kjw_obj(w, "spec");
    kjw_obj(w, "claimRef");
    kjw_str(w, "apiVersion", "v1");
    kjw_str(w, "kind", "PersistentVolumeClaim");
    kjw_str(w, "namespace", claim->meta.ns);
    kjw_str(w, "name", claim->meta.name);
    kjw_str(w, "uid", uid);
    kjw_str(w, "resourceVersion", claim->meta.resource_version);
    kjw_end(w);
    kjw_end(w);
}

/* 1: a change is written; 0: nothing to change; negative: it is not ours any more. */
static int write_volume(const struct kobj *now, const struct kobj *claim, struct strbuf *out,
                        struct kerr *err)
{
    const struct pv *v = pv_of(now);
    const struct object_ref *ref = v->spec.claim_ref;
    bool ours = pv_is_bound_to(v, pvc_of(claim));
    struct kjw w = kjw_to(out);

    if (ref && !ours)
        return kerr_set(err, -EBUSY, "pv \"%s\" is bound to another claim", now->meta.name);
    if (ours && !kuid_is_empty(ref->uid))
        return 0;
    /* A volume that its owner pre-bound to the claim is not marked: it is not ours to take back. */
    write_head(&w, now, ours ? NULL : ANN_BOUND_BY_CONTROLLER, "yes");
    write_claim_ref(&w, claim);
    kjw_end(&w);
    return 1;
}

static int write_claim(const struct kobj *now, const char *node, struct strbuf *out,
                       struct kerr *err)
{
    const char *has = kstrmap_get(&now->meta.annotations, ANN_SELECTED_NODE);
    struct kjw w = kjw_to(out);

    if (has && !streq(has, node))
        return kerr_set(err, -EBUSY, "PVC \"%s\" is to be provisioned for node \"%s\"",
                        now->meta.name, has);
    if (has)
        return 0;
    write_head(&w, now, ANN_SELECTED_NODE, node);
    kjw_end(&w);
    return 1;
}

static void on_written(void *arg, struct kube_resp *resp, const struct kerr *err);

static int send_step(struct assumed *r, struct step *s, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kobj *now = current(r, s->volume ? s->volume : s->claim, err);

    if (!now)
        return err->code;
    int code = s->volume ? write_volume(now, s->claim, &body, err)
                         : write_claim(now, r->node->meta.name, &body, err);
    if (code <= 0)
        return code;
    s->sent = kobj_ref(now);
    r->call = kube_do(r->binder->env.kube,
                      &(struct kube_req){
                          .verb = KUBE_PATCH,
                          .patch = KUBE_PATCH_MERGE,
                          .kind = now->kind,
                          .ns = now->kind->namespaced ? now->meta.ns : NULL,
                          .name = now->meta.name,
                          .body = body.data,
                          .body_len = body.len,
                      },
                      on_written, r);
    return 1;
}

/* The next change, or the wait after the last one. false: err says why not. */
static bool go_on(struct assumed *r, struct kerr *err)
{
    while (r->at < r->n) {
        int code = send_step(r, &r->steps[r->at++], err);
        if (code != 0)
            return code > 0;
    }
    r->deadline = loop_mono(r->binder->env.loop) + r->binder->timeout;
    r->waits = true;
    look_now(r); /* the news may have been faster than the answer */
    return true;
}

static void on_written(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct assumed *r = arg;
    struct kerr own = { 0 };

    (void)resp;
    r->call = NULL;
    if (err)
        finish(r, KS_ERROR, err->text);
    else if (!go_on(r, &own))
        finish(r, KS_ERROR, own.text);
}

static void on_start(struct loop *l, void *arg)
{
    struct assumed *r = arg;
    struct kerr err = { 0 };

    (void)l;
    r->timer = NULL;
    if (!go_on(r, &err))
        finish(r, KS_ERROR, err.text);
}

void writing_start(struct assumed *r, struct ks_bind *bind)
{
    r->bind = bind;
    r->at = 0;
    r->timer = loop_after(r->binder->env.loop, 0, on_start, r); /* answers come from a later turn */
}
