/* batch.c - the calls of one sync, and what becomes of it when all have answered. */
#include "controllers/batch.h"

#include "base/klog.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "controllers/controller_int.h"
#include "json/kj.h"
#include "json/patch.h"

struct bcall {
    struct batch *b;
    struct kube_call *call;
    struct bcall *next;
    batch_fn fn;
    void *arg;
    bool own; /* a write of the object that the batch is about */
};
struct batch {
    struct controller *c;
    const char *key;
    struct kobj *obj; /* of that key; held; may be NULL */
    struct work *w;
    struct arena *arena;
    struct batch *next, *prev;
    struct bcall *calls;
    struct vec_of(struct kobj *) held;
    unsigned open; /* calls, and one for the sync itself */
    nsec_t again;  /* 0: not asked for */
    bool failed;
    struct kerr err;
};

struct batch *batch_new(struct controller *c, const char *key, struct kobj *obj, struct work *w)
{
    struct batch *b = xnew0(struct batch);

    b->c = c;
    b->arena = arena_new();
    b->key = arena_strdup(b->arena, key);
    b->obj = obj ? kobj_ref(obj) : NULL;
    b->w = w;
    b->open = 1;
    b->next = c->batches;
    if (b->next)
        b->next->prev = b;
    c->batches = b;
    c->all->stats.syncs++;
    return b;
}

static void batch_free(struct batch *b)
{
    if (b->prev)
        b->prev->next = b->next;
    else
        b->c->batches = b->next;
    if (b->next)
        b->next->prev = b->prev;
    kobj_unref(b->obj);
    vec_foreach(&b->held, i)
        kobj_unref(b->held.items[i]);
    vec_fini(&b->held);
    arena_free(b->arena);
    free(b);
}

static void put(struct batch *b)
{
    struct work *w = b->w;

    if (--b->open > 0)
        return;
    if (b->failed) {
        struct kerr err = b->err;
        b->c->all->stats.retries++;
        /* Somebody else wrote first: the news is on its way, and nobody needs to hear of it. */
        if (err.reason == KR_CONFLICT)
            KLOG_I(4, "Conflict during sync, retrying", KV_S("controller", b->c->o.name),
                   KV_S("key", b->key), KV_S("why", err.text));
        else
            KLOG_E(&err, "Failed to sync", KV_S("controller", b->c->o.name), KV_S("key", b->key));
        batch_free(b);
        work_done(w, &err);
        return;
    }
    nsec_t again = b->again;
    batch_free(b);
    if (again > 0)
        work_again(w, again);
    else
        work_done(w, NULL);
}

const struct controller_env *batch_env(const struct batch *b)
{
    return &b->c->all->env;
}

const char *batch_key(const struct batch *b)
{
    return b->key;
}

struct arena *batch_arena(struct batch *b)
{
    return b->arena;
}

const struct kobj *batch_hold(struct batch *b, const struct kobj *o)
{
    vec_push(&b->held, kobj_ref((struct kobj *)(uintptr_t)o));
    return o;
}

void batch_fail(struct batch *b, const struct kerr *err)
{
    if (!b->failed)
        b->err = *err;
    b->failed = true;
}

void batch_again(struct batch *b, nsec_t after)
{
    after = MAX(after, (nsec_t)1);
    b->again = b->again ? MIN(b->again, after) : after;
}

void batch_close(struct batch *b)
{
    put(b);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void note_own_write(const struct batch *b, const struct kube_resp *r)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return;
    const char *version = kj_str(kj_path(kj_root(doc), "metadata.resourceVersion"));
    if (version)
        controller_wrote(b->c, b->key, version);
}

static void on_answer(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct bcall *call = arg;
    struct batch *b = call->b;
    bool handled = false;

    for (struct bcall **p = &b->calls; *p; p = &(*p)->next) {
        if (*p == call) {
            *p = call->next;
            break;
        }
    }
    b->c->all->stats.in_flight--;
    b->c->all->stats.failures += err != NULL;
    if (call->own && !err)
        note_own_write(b, r);
    if (call->fn)
        handled = call->fn(b, r, err, call->arg);
    else if (err)
        handled = err->reason == KR_NOT_FOUND;
    if (err && !handled)
        batch_fail(b, err);
    free(call);
    put(b);
}

static bool is_own(const struct batch *b, const struct kube_req *r)
{
    return (r->verb == KUBE_PATCH || r->verb == KUBE_UPDATE) && b->obj && r->kind == b->obj->kind &&
           r->name && streq(r->name, b->obj->meta.name) &&
           streq(str_or(r->ns, ""), b->obj->meta.ns);
}

void batch_call(struct batch *b, const struct kube_req *r, batch_fn fn, void *arg)
{
    struct bcall *call = xnew0(struct bcall);

    *call = (struct bcall){ .b = b, .fn = fn, .arg = arg, .next = b->calls, .own = is_own(b, r) };
    b->calls = call;
    b->open++;
    b->c->all->stats.in_flight++;
    b->c->all->stats.writes += r->verb >= KUBE_CREATE;
    call->call = kube_do(b->c->all->env.kube, r, on_answer, call);
}

void batches_drop(struct controller *c)
{
    while (c->batches) {
        struct batch *b = c->batches;
        while (b->calls) {
            struct bcall *call = b->calls;
            b->calls = call->next;
            c->all->stats.in_flight--;
            kube_cancel(call->call);
            free(call);
        }
        batch_free(b);
    }
}

/* ---- the usual requests ---------------------------------------------------------------------- */

void batch_create(struct batch *b, const struct kind *k, const char *ns, const struct strbuf *body,
                  batch_fn fn, void *arg)
{
    struct kube_req r = {
        .verb = KUBE_CREATE, .kind = k, .ns = ns, .body = body->data, .body_len = body->len
    };
    batch_call(b, &r, fn, arg);
}

static const char *ns_of(const struct kobj *o)
{
    return o->kind->namespaced ? o->meta.ns : NULL;
}

void batch_patch(struct batch *b, const struct kobj *o, const char *subresource,
                 enum kube_patch type, const struct strbuf *body, batch_fn fn, void *arg)
{
    struct kube_req r = { .verb = KUBE_PATCH,
                          .kind = o->kind,
                          .ns = ns_of(o),
                          .name = o->meta.name,
                          .subresource = subresource,
                          .patch = type,
                          .body = body->data,
                          .body_len = body->len };
    batch_call(b, &r, fn, arg);
}

/* A document of what a struct says; {} for none. */
static struct kj_doc *encode(const struct kschema *s, const void *value)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_doc *doc = NULL;

    if (value)
        kj_encode(s, value, &text);
    else
        strbuf_append(&text, "{}");
    int r = kj_parse(text.data, text.len, 0, &doc, NULL);
    assert(r == 0); /* our own writing */
    (void)r;
    return doc;
}

bool batch_patch_change(struct batch *b, const struct kobj *o, const struct change *c, batch_fn fn,
                        void *arg)
{
    CLEANUP(kj_doc_free) struct kj_doc *from = encode(c->schema, c->from);
    CLEANUP(kj_doc_free) struct kj_doc *to = encode(c->schema, c->to);
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kj_mval *diff = kj_diff_merge(d, kj_root(from), kj_root(to));
    struct kj_mval *patch = kj_mobj(d), *meta = kj_mobj(d);

    if (kj_mlen(diff) == 0)
        return false;
    if (c->same_version) {
        kj_mset(d, meta, "resourceVersion", kj_mstr(d, o->meta.resource_version));
        kj_mset(d, patch, "metadata", meta);
    }
    kj_mset(d, patch, c->member, diff);
    kj_mwrite(patch, 0, &body);
    batch_patch(b, o, streq(c->member, "status") ? "status" : NULL, KUBE_PATCH_MERGE, &body, fn,
                arg);
    return true;
}

static bool on_deleted(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)b, (void)r, (void)arg;
    return err && (err->reason == KR_NOT_FOUND || err->reason == KR_CONFLICT);
}

/* A conflict may be about the version too: whether it still is to be deleted, the next sync says.
 */
static bool on_version_deleted(struct batch *b, struct kube_resp *r, const struct kerr *err,
                               void *arg)
{
    (void)b, (void)r, (void)arg;
    return err && err->reason == KR_NOT_FOUND;
}

void batch_delete(struct batch *b, const struct kobj *o, const struct delete_opts *d, batch_fn fn,
                  void *arg)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    kuid_format(o->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "DeleteOptions");
    kjw_str(&w, "apiVersion", "v1");
    if (d->grace >= 0)
        kjw_i64(&w, "gracePeriodSeconds", d->grace);
    if (d->propagation)
        kjw_str(&w, "propagationPolicy", d->propagation);
    kjw_obj(&w, "preconditions");
    kjw_str(&w, "uid", uid);
    if (!d->any_version)
        kjw_str(&w, "resourceVersion", o->meta.resource_version);
    kjw_end(&w);
    kjw_end(&w);
    struct kube_req r = { .verb = KUBE_DELETE,
                          .kind = o->kind,
                          .ns = ns_of(o),
                          .name = o->meta.name,
                          .body = body.data,
                          .body_len = body.len };
    batch_call(b, &r, fn ? fn : d->any_version ? on_deleted : on_version_deleted, arg);
}

bool err_is_refusal(const struct kerr *err)
{
    switch (err->reason) {
    case KR_BAD_REQUEST:
    case KR_UNAUTHORIZED:
    case KR_FORBIDDEN:
    case KR_NOT_FOUND:
    case KR_METHOD_NOT_ALLOWED:
    case KR_ALREADY_EXISTS:
    case KR_CONFLICT:
    case KR_GONE:
    case KR_INVALID:
    case KR_TOO_LARGE:
    case KR_UNSUPPORTED_MEDIA_TYPE:
    case KR_TOO_MANY_REQUESTS: return true;
    default: return false;
    }
}
