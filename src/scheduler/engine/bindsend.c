/* bindsend.c - the binding itself: it is sent, and if its answer is no success the server is asked
 * what is true (scheduler-core 6). */
#include "api/pod.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/engine/binding.h"
#include "scheduler/extender/extender.h"
#include "json/kj.h"

#define ASK_WAIT_MAX (10 * NSEC_PER_SEC)
enum { CONFLICTS_MAX = 5 };

/* ---- sending --------------------------------------------------------------------------------- */

/* An extender may do it in our place. */
void bindsend_choose(struct binding *b)
{
    struct scheduler *s = b->s;

    if (b->subject.how == &ks_subject_pod)
        b->binder = extenders_first(s->extenders, EXTENDER_BIND, pod_of(b->pub.pod));
    if (b->binder)
        b->extenders = extenders_ref(s->extenders);
}

void bindsend_fini(struct binding *b)
{
    extender_cancel(b->asked_binder);
    extenders_unref(b->extenders);
}

bool bindsend_is_settled(struct binding *b)
{
    const char *node = NULL;

    switch (nodecache_find(b->s->cache, b->uid, &node)) {
    case NODECACHE_ADDED:
        if (streq(node, b->node))
            binding_succeeded(b);
        else
            binding_lost(b);
        return true;
    case NODECACHE_ABSENT: binding_vanished(b); return true; /* deleted meanwhile */
    case NODECACHE_ASSUMED: break;
    }
    return false;
}

static void on_answer(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct binding *b = arg;

    (void)r;
    b->call = NULL;
    if (!err) {
        binding_succeeded(b);
        return;
    }
    b->err = *err;
    if (err->reason == KR_NOT_FOUND)
        binding_vanished(b);
    else
        binding_enter(b, BIND_ASK);
}

static void send_to_server(struct binding *b)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    struct kube_req r = { 0 };

    if (!subject_request(&b->subject, pod_of(b->pub.pod), &r)) {
        binding_vanished(b);
        return;
    }
    b->subject.how->bind(b->subject.self, &b->pub, &r, &w);
    r.body = body.data;
    r.body_len = body.len;
    b->call = kube_do(b->s->kube, &r, on_answer, b);
}

static void on_binder_answer(void *arg, const struct kerr *err)
{
    struct binding *b = arg;

    b->asked_binder = NULL;
    if (!err) {
        binding_succeeded(b);
        return;
    }
    if (extender_is_ignorable(b->binder)) {
        KLOG_E(err, "Extender failed to bind, ignoring it", KV_S("pod", LOG_KEY(b->pub.pod)),
               KV_S("node", b->node));
        b->binder = NULL;
        send_to_server(b);
        return;
    }
    b->err = *err;
    binding_enter(b, BIND_ASK);
}

void bindsend_start(struct binding *b)
{
    if (b->conflicts == 0)
        binding_count_time(b, LAP_PRE_BIND, KS_SUCCESS);
    report_drop(b->s, b->uid);  /* "it does not fit" is not true any more */
    if (bindsend_is_settled(b)) /* while something was written before */
        return;
    if (b->binder)
        b->asked_binder = extender_bind(b->binder, b->pub.pod, b->node, on_binder_answer, b);
    else
        send_to_server(b);
}

/* ---- asking what is true --------------------------------------------------------------------- */

static void failed(struct binding *b)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (!b->was_bound)
        binding_count_time(b, LAP_BIND, KS_ERROR);
    if (!b->binder)
        strbuf_appendf(&text,
                       "running Bind plugin \"%s\": ", subject_plugin(&b->subject, b->active));
    strbuf_append(&text, b->err.text);
    binding_failed(b, strbuf_str(&text));
}

static void on_ask_timer(struct loop *l, void *arg)
{
    struct binding *b = arg;
    (void)l;
    b->timer = NULL;
    bindsend_ask(b);
}

static void ask_later(struct binding *b)
{
    b->timer = loop_after(b->s->loop, loop_jitter(b->s->loop, b->wait, 0.1), on_ask_timer, b);
    b->wait = MIN(b->wait * 2, ASK_WAIT_MAX);
}

void bindsend_saw(struct binding *b, const struct kj_val *object)
{
    const char *version = kj_str(kj_path(object, "metadata.resourceVersion"));

    free(b->version);
    b->pub.version = b->version = version ? xstrdup(version) : NULL;
}

/* Somebody changed the object after we had seen it, and it still needs its node. */
static bool send_again(struct binding *b, const struct kj_val *object)
{
    const struct ks_subject *how = b->subject.how;

    if (b->was_bound || b->err.reason != KR_CONFLICT || !how->may_be_bound ||
        b->conflicts >= CONFLICTS_MAX || !how->may_be_bound(object))
        return false;
    b->conflicts++;
    bindsend_saw(b, object);
    binding_enter(b, BIND_SEND);
    return true;
}

static void on_told(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct binding *b = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    b->call = NULL;
    if (err && err->reason == KR_NOT_FOUND) {
        binding_vanished(b);
        return;
    }
    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0) {
        ask_later(b);
        return;
    }
    const char *node = b->subject.how->node(kj_root(doc));
    bool same = streq(kj_str_or(kj_path(kj_root(doc), "metadata.uid"), ""), b->object_uid);
    if (same && streq(node, b->node))
        binding_succeeded(b);
    else if (same && !*node) {
        if (!send_again(b, kj_root(doc)))
            failed(b);
    } else if (same)
        binding_lost(b);
    else
        binding_vanished(b);
}

void bindsend_ask(struct binding *b)
{
    struct kube_req r = { .verb = KUBE_GET };

    if (bindsend_is_settled(b))
        return;
    if (subject_request(&b->subject, pod_of(b->pub.pod), &r))
        b->call = kube_do(b->s->kube, &r, on_told, b);
    else
        binding_vanished(b);
}
