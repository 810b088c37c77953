/* claim.c - which children belong to an owner: adopt those that match, release those that do not.
 *
 * An adoption asks the server first whether the owner still lives: a cache may lag behind a
 * deletion, and what is adopted by the dead is deleted with them.
 */
#include "cluster/internal.h"

struct adoption {
    const struct kind *owner_kind;
    const char *owner_name, *owner_uid_text, *finalizer;
    const struct kind *child_kind;
    const char *ns;
    const char **names, **uids;
    size_t n;
};

static void write_adopt(struct strbuf *body, const struct adoption *ad, const char *uid)
{
    struct kjw w = kjw_to(body);
    char version[128];

    kind_api_version(ad->owner_kind, version, sizeof version);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", uid);
    kjw_arr(&w, "ownerReferences");
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", version);
    kjw_str(&w, "kind", ad->owner_kind->kind);
    kjw_str(&w, "name", ad->owner_name);
    kjw_str(&w, "uid", ad->owner_uid_text);
    kjw_bool(&w, "controller", true);
    kjw_bool(&w, "blockOwnerDeletion", true);
    kjw_end(&w);
    kjw_end(&w);
    if (ad->finalizer) {
        kjw_arr(&w, "finalizers");
        kjw_str(&w, NULL, ad->finalizer);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
}

static bool on_owner(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct adoption *ad = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return err && err->reason == KR_NOT_FOUND;
    const struct kj_val *meta = kj_get(kj_root(doc), "metadata");
    bool lives = streq(kj_str_or(kj_get(meta, "uid"), ""), ad->owner_uid_text) &&
                 !kj_get(meta, "deletionTimestamp");
    for (size_t i = 0; lives && i < ad->n; i++) {
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
        write_adopt(&body, ad, ad->uids[i]);
        struct kube_req q = { .verb = KUBE_PATCH,
                              .kind = ad->child_kind,
                              .ns = ad->ns,
                              .name = ad->names[i],
                              .patch = KUBE_PATCH_STRATEGIC,
                              .body = body.data,
                              .body_len = body.len };
        batch_call(b, &q, NULL, NULL);
    }
    return true;
}

static void release(struct batch *b, const struct claim *cl, const struct kobj *child)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kuid_format(child->meta.uid, uid, sizeof uid);
    kjw_str(&w, "uid", uid);
    kjw_arr(&w, "ownerReferences");
    kjw_obj(&w, NULL);
    kjw_str(&w, "$patch", "delete");
    kuid_format(cl->owner->meta.uid, uid, sizeof uid);
    kjw_str(&w, "uid", uid);
    kjw_end(&w);
    kjw_end(&w);
    if (cl->finalizer) {
        kjw_arr(&w, "$deleteFromPrimitiveList/finalizers");
        kjw_str(&w, NULL, cl->finalizer);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, child, NULL, KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
}

static bool has_controller(const struct kobj *child, struct kuid uid)
{
    const struct owner_ref *ref = kobj_controller(child);
    return ref && kuid_equal(ref->uid, uid);
}

static void adopt(struct batch *b, const struct claim *cl, const kobjvec *orphans)
{
    struct arena *a = batch_arena(b);
    struct adoption *ad = arena_new0(a, struct adoption);
    char uid[KUID_TEXT_MAX];

    kuid_format(cl->owner->meta.uid, uid, sizeof uid);
    ad->owner_kind = cl->owner_kind;
    ad->owner_name = arena_strdup(a, cl->owner->meta.name);
    ad->owner_uid_text = arena_strdup(a, uid);
    ad->finalizer = cl->finalizer;
    ad->child_kind = orphans->items[0]->kind;
    ad->ns = arena_strdup(a, cl->owner->meta.ns);
    ad->n = orphans->n;
    ad->names = arena_newn0(a, ad->n, const char *);
    ad->uids = arena_newn0(a, ad->n, const char *);
    vec_foreach(orphans, i) {
        kuid_format(orphans->items[i]->meta.uid, uid, sizeof uid);
        ad->names[i] = arena_strdup(a, orphans->items[i]->meta.name);
        ad->uids[i] = arena_strdup(a, uid);
    }
    struct kube_req r = {
        .verb = KUBE_GET, .kind = cl->owner_kind, .ns = ad->ns, .name = ad->owner_name
    };
    batch_call(b, &r, on_owner, ad);
}

bool claim_children(struct batch *b, const struct claim *cl, kobjvec *mine)
{
    kobjvec owned = { 0 }, orphans = { 0 }, wanted = { 0 };
    bool dying = cl->owner->meta.deleted != 0;
    size_t writes = 0;

    shared_by_uid(cl->children, cl->owner->meta.uid, &owned);
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
        shared_by(cl->children, cl->children->orphans, cl->owner->meta.ns, &orphans);
    vec_foreach(&orphans, i) {
        struct kobj *o = orphans.items[i];
        bool ended = o->kind == &kind_pod && pod_is_terminal(pod_of(o));
        if (o->meta.deleted == 0 && !ended && labelsel_matches(cl->selector, &o->meta.labels))
            vec_push(&wanted, o);
    }
    if (wanted.n)
        adopt(b, cl, &wanted), writes++;
    vec_fini(&owned);
    vec_fini(&orphans);
    vec_fini(&wanted);
    return writes == 0;
}
