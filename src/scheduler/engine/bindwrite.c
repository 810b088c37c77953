/* bindwrite.c - what plugins want on the object that is bound (scheduler-core 10).
 *
 * Annotations travel with the binding: one write, and nothing is left when it fails. Labels, keys
 * that go, and all of it when the binding cannot carry annotations, are written before in one
 * patch, which is taken back when the binding comes to nothing.
 */
#include "api/pod.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/engine/binding.h"
#include "json/kj.h"

enum { PATCH_TRIES = 4 };
#define PATCH_WAIT (20 * NSEC_PER_MSEC)

/* ---- what they want -------------------------------------------------------------------------- */

/* As the object has it; NULL: it has no such key. */
static const char *value_now(const struct binding *b, bool label, const char *key)
{
    const struct kobj *o = subject_object(&b->subject, pod_of(b->pub.pod));

    if (!o)
        return NULL;
    return kstrmap_get(label ? &o->meta.labels : &o->meta.annotations, key);
}

static struct written *written_new(struct written *next, bool label, const char *key,
                                   const char *value)
{
    size_t nkey = strlen(key) + 1, nvalue = value ? strlen(value) + 1 : 0;
    struct written *w = xmalloc(sizeof *w + nkey + nvalue);

    *w = (struct written){ .next = next, .label = label, .value = value ? w->key + nkey : NULL };
    memcpy(w->key, key, nkey);
    if (value)
        memcpy(w->key + nkey, value, nvalue);
    return w;
}

void bindwrite_want(struct ks_bind *pub, bool label, const char *key, const char *value)
{
    struct binding *b = container_of(pub, struct binding, pub);
    const char *has = value_now(b, label, key);

    for (struct written **at = &b->written; *at; at = &(*at)->next) {
        struct written *w = *at;
        if (w->label != label || !streq(w->key, key))
            continue;
        *at = w->next;
        free(w);
        break;
    }
    if (value ? has && streq(has, value) : !has)
        return; /* it is so already */
    b->written = written_new(b->written, label, key, value);
}

void bindwrite_fini(struct binding *b)
{
    for (struct written *w; (w = b->written);) {
        b->written = w->next;
        free(w);
    }
}

/* ---- with the binding ------------------------------------------------------------------------ */

/* An extender's binding carries nothing. */
static bool travels(const struct binding *b, const struct written *w)
{
    return !w->label && w->value && b->subject.how->annotates && !b->binder;
}

void bindwrite_annotations(const struct ks_bind *pub, struct kjw *w)
{
    const struct binding *b = container_of(pub, const struct binding, pub);
    bool any = false;

    for (const struct written *x = b->written; x; x = x->next) {
        if (!travels(b, x))
            continue;
        if (!any)
            kjw_obj(w, "annotations");
        any = true;
        kjw_str(w, x->key, x->value);
    }
    if (any)
        kjw_end(w);
}

bool bindwrite_is_needed(const struct binding *b)
{
    for (const struct written *w = b->written; w; w = w->next)
        if (!travels(b, w))
            return true;
    return false;
}

/* ---- before it, and back --------------------------------------------------------------------- */

/* In WRITE what is wanted, in RESTORE what was there before. */
static void write_map(struct kjw *w, struct binding *b, bool label, const char *name)
{
    bool back = b->state == BIND_RESTORE, any = false;

    for (struct written *x = b->written; x; x = x->next) {
        if (x->label != label || (back ? !x->patched : travels(b, x)))
            continue;
        if (!any)
            kjw_obj(w, name);
        any = x->patched = true;
        const char *value = back ? value_now(b, label, x->key) : x->value;
        if (value)
            kjw_str(w, x->key, value);
        else
            kjw_null(w, x->key);
    }
    if (any)
        kjw_end(w);
}

static void on_patch_again(struct loop *l, void *arg);

/* The object with our UID is gone: another one has its name now. */
static bool is_another_object(const struct kerr *err)
{
    return err->reason == KR_CONFLICT && strstr(err->text, "UID in precondition");
}

/* Worth another try: it came too early, or the connection broke. What the server refuses for other
 * reasons it will refuse again. */
static bool may_pass(const struct kerr *err)
{
    return err->reason == KR_CONFLICT || err->reason == KR_TOO_MANY_REQUESTS ||
           err->reason == KR_NONE;
}

/* True: it is tried again. */
static bool try_again(struct binding *b)
{
    struct loop *l = b->s->loop;

    if (++b->tries >= PATCH_TRIES)
        return false;
    b->timer = loop_after(l, loop_jitter(l, b->tries * PATCH_WAIT, 0.1), on_patch_again, b);
    return true;
}

/* The object as the server has it now. True: it is being deleted. */
static bool read_answer(struct binding *b, const struct kube_resp *r)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return false;
    bindsend_saw(b, kj_root(doc));
    return kj_path(kj_root(doc), "metadata.deletionTimestamp");
}

static void patch_failed(struct binding *b, const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    binding_count_time(b, LAP_PRE_BIND, KS_ERROR);
    strbuf_appendf(&text, "running PreBind plugin \"DefaultPreBind\": %s", why);
    binding_failed(b, strbuf_str(&text));
}

static void on_patched(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct binding *b = arg;

    b->call = NULL;
    if (err && (err->reason == KR_NOT_FOUND || is_another_object(err)))
        binding_vanished(b);
    else if (err && !(may_pass(err) && try_again(b)))
        patch_failed(b, err->text);
    else if (!err && read_answer(b, r))
        patch_failed(b, "pod is being deleted");
    else if (!err)
        binding_enter(b, BIND_SEND);
}

static void on_restored(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct binding *b = arg;

    (void)r;
    b->call = NULL;
    if (err && (err->reason == KR_NOT_FOUND || is_another_object(err))) {
        binding_vanished(b);
        return;
    }
    if (err && try_again(b)) /* whatever it says: nothing may stay */
        return;
    if (err)
        KLOG_E(err, "Failed to restore labels and annotations after a failed binding",
               KV_S("pod", LOG_KEY(b->pub.pod)));
    if (b->lost)
        binding_vanished(b);
    else
        binding_give_up(b, &b->failure);
}

static void send_patch(struct binding *b)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    struct kube_req r = { .verb = KUBE_PATCH, .patch = KUBE_PATCH_MERGE };

    if (!subject_request(&b->subject, pod_of(b->pub.pod), &r)) {
        binding_vanished(b);
        return;
    }
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", b->object_uid); /* not on one that took over the name */
    write_map(&w, b, false, "annotations");
    write_map(&w, b, true, "labels");
    kjw_end(&w);
    kjw_end(&w);
    r.body = body.data;
    r.body_len = body.len;
    b->call = kube_do(b->s->kube, &r, b->state == BIND_RESTORE ? on_restored : on_patched, b);
}

static void on_patch_again(struct loop *l, void *arg)
{
    struct binding *b = arg;
    (void)l;
    b->timer = NULL;
    send_patch(b);
}

void bindwrite_start(struct binding *b)
{
    b->wrote = true;
    send_patch(b);
}

void bindwrite_restore(struct binding *b)
{
    b->tries = 0;
    send_patch(b);
}
