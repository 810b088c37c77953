/* claim.c - adopting and releasing.
 *
 * An adoption asks the server first whether the owner still lives: a cache may lag behind a
 * deletion, and what is adopted by the dead is deleted with them.
 */
#include "controllers/claim.h"

#include "api/pod.h"
#include "api/selector/selector.h"
#include "base/strbuf.h"
#include "controllers/batch.h"
#include "controllers/owner.h"
#include "json/kj.h"

struct adoption { /* in the arena; the objects are held by the batch */
    const struct kobj *owner;
    const char *finalizer;
    const struct kobj **orphans;
    size_t n;
};

/* {"metadata":{"uid":...  only this object, not a later one of its name. */
static struct kjw begin_patch(struct strbuf *body, const struct kobj *o)
{
    struct kjw w = kjw_to(body);
    char uid[KUID_TEXT_MAX];

    kuid_format(o->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", uid);
    return w;
}

static void send_patch(struct batch *b, const struct kobj *o, struct kjw *w,
                       const struct strbuf *body)
{
    kjw_end(w);
    kjw_end(w);
    batch_patch(b, o, NULL, KUBE_PATCH_STRATEGIC, body, NULL, NULL);
}

static void adopt_one(struct batch *b, const struct adoption *ad, const struct kobj *o)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = begin_patch(&body, o);

    owner_write(&w, ad->owner, true);
    if (ad->finalizer) {
        kjw_arr(&w, "finalizers");
        kjw_str(&w, NULL, ad->finalizer);
        kjw_end(&w);
    }
    send_patch(b, o, &w, &body);
}

static bool on_owner(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct adoption *ad = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char uid[KUID_TEXT_MAX];

    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return err && err->reason == KR_NOT_FOUND;
    const struct kj_val *meta = kj_get(kj_root(doc), "metadata");
    kuid_format(ad->owner->meta.uid, uid, sizeof uid);
    bool lives =
        streq(kj_str_or(kj_get(meta, "uid"), ""), uid) && !kj_get(meta, "deletionTimestamp");
    for (size_t i = 0; lives && i < ad->n; i++)
        adopt_one(b, ad, ad->orphans[i]);
    return true;
}

static void adopt(struct batch *b, const struct claim *cl, const kobjvec *orphans)
{
    struct adoption *ad = arena_new0(batch_arena(b), struct adoption);

    ad->owner = batch_hold(b, cl->owner);
    ad->finalizer = cl->finalizer;
    ad->n = orphans->n;
    ad->orphans = arena_newn0(batch_arena(b), ad->n, const struct kobj *);
    vec_foreach(orphans, i)
        ad->orphans[i] = batch_hold(b, orphans->items[i]);
    struct kube_req r = { .verb = KUBE_GET,
                          .kind = ad->owner->kind,
                          .ns = ad->owner->kind->namespaced ? ad->owner->meta.ns : NULL,
                          .name = ad->owner->meta.name };
    batch_call(b, &r, on_owner, ad);
}

static void release(struct batch *b, const struct claim *cl, const struct kobj *child)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = begin_patch(&body, child);

    owner_write_drop(&w, cl->owner->meta.uid);
    if (cl->finalizer) {
        kjw_arr(&w, "$deleteFromPrimitiveList/finalizers");
        kjw_str(&w, NULL, cl->finalizer);
        kjw_end(&w);
    }
    send_patch(b, child, &w, &body);
}

static bool has_controller(const struct kobj *child, struct kuid uid)
{
    const struct owner_ref *ref = kobj_controller(child);
    return ref && kuid_equal(ref->uid, uid);
}

static bool is_adoptable(const struct claim *cl, const struct kobj *o)
{
    bool ended = o->kind == &kind_pod && pod_is_terminal(pod_of(o));
    return o->meta.deleted == 0 && !ended && labelsel_matches(cl->selector, &o->meta.labels) &&
           (!cl->is_adoptable || cl->is_adoptable(cl->owner, o));
}

bool claim_children(struct batch *b, const struct claim *cl, kobjvec *mine)
{
    kobjvec owned = { 0 }, orphans = { 0 }, wanted = { 0 };
    bool dying = cl->owner->meta.deleted != 0;
    size_t writes = 0;

    objects_by_owner(cl->children, cl->owner->meta.uid, &owned);
    vec_foreach(&owned, i) {
        struct kobj *o = owned.items[i];
        if (!has_controller(o, cl->owner->meta.uid))
            continue;
        if (labelsel_matches(cl->selector, &o->meta.labels))
            vec_push(mine, o);
        else if (!dying && o->meta.deleted == 0)
            release(b, cl, o), writes++;
    }
    if (!dying)
        objects_by(cl->children, index_orphan, cl->owner->meta.ns, &orphans);
    vec_foreach(&orphans, i)
        if (is_adoptable(cl, orphans.items[i]))
            vec_push(&wanted, orphans.items[i]);
    if (wanted.n)
        adopt(b, cl, &wanted), writes++;
    vec_fini(&owned);
    vec_fini(&orphans);
    vec_fini(&wanted);
    return writes == 0;
}
