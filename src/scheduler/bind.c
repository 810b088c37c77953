/* bind.c - from the choice of a node to the answer of the server (scheduler-core 6).
 *
 * The pod is assumed on its node all the while, and the next attempts go on. An answer that is not
 * a success does not say that nothing happened: it may have been lost on the way, or refused
 * because an earlier try had arrived. So before the room is given to others the server is asked
 * what is true, until it answers; the informer may be faster.
 */
#include "api/pod.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/informer.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/internal.h"
#include "json/kj.h"

#define ASK_WAIT_MIN (100 * NSEC_PER_MSEC)
#define ASK_WAIT_MAX (10 * NSEC_PER_SEC)

struct binding {
    struct scheduler *s;
    struct binding *next, **link;
    struct kobj *pod; /* as it was when it was placed */
    char *node;
    struct kube_call *call;
    struct timer *timer;
    nsec_t wait;     /* before the next question */
    bool was_bound;  /* the server had accepted it; we only wonder why nobody confirms */
    struct kerr err; /* of the binding */
};

static void binding_end(struct binding *b)
{
    struct scheduler *s = b->s;

    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
    s->nbindings--;
    kube_cancel(b->call);
    timer_cancel(b->timer);
    kobj_unref(b->pod);
    free(b->node);
    free(b);
    scheduler_wake(s);
}

static struct binding *binding_new(struct scheduler *s, struct kobj *pod, const char *node)
{
    struct binding *b = xnew0(struct binding);
    *b = (struct binding){ .s = s, .pod = kobj_ref(pod), .node = xstrdup(node) };
    b->wait = ASK_WAIT_MIN;
    b->next = s->bindings;
    b->link = &s->bindings;
    if (b->next)
        b->next->link = &b->next;
    s->bindings = b;
    s->nbindings++;
    return b;
}

void binding_free_all(struct scheduler *s)
{
    while (s->bindings)
        binding_end(s->bindings);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void succeeded(struct binding *b)
{
    struct scheduler *s = b->s;

    podqueue_remove(s->queue, b->pod->meta.uid);
    nodecache_bound(s->cache, b->pod->meta.uid, loop_mono(s->loop) + s->confirm_after);
    scheduler_watch_bound(s);
    if (!b->was_bound) {
        s->scheduled++;
        report_scheduled(s, b->pod, b->node);
        KLOG_I(2, "Bound pod", KV_S("pod", LOG_KEY(b->pod)), KV_S("node", b->node));
    }
    binding_end(b);
}

/* Undoes what the attempt did, in reverse order, and gives the room to who waits for it. */
static void undo(struct binding *b)
{
    struct scheduler *s = b->s;
    profile_unreserve(s->profile, pod_of(b->pod), b->node);
    if (nodecache_forget(s->cache, b->pod->meta.uid))
        watch_pod_gone(s, b->pod);
}

/* The pod is not there any more, or has another node: the informer tells the rest. */
static void vanished(struct binding *b)
{
    struct scheduler *s = b->s;
    undo(b);
    podqueue_remove(s->queue, b->pod->meta.uid);
    binding_end(b);
}

/* The pod is there and has no node. */
static void failed(struct binding *b)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct scheduler *s = b->s;
    struct kobj *pod = NULL;
    char key[KOBJ_KEY_MAX];

    strbuf_appendf(&text, "running Bind plugin \"DefaultBinder\": %s", b->err.text);
    undo(b);
    if (podqueue_find(s->queue, b->pod->meta.uid, &pod) == PODQUEUE_IN_FLIGHT) {
        report_failure(s, pod, &(struct failure){ .error = true, .message = strbuf_str(&text) });
    } else if (!pod) { /* its binding was accepted and came undone: it is new to the queue */
        kobj_key(b->pod, key, sizeof key);
        pod = informer_get(s->pods, key);
        if (pod && kuid_equal(pod->meta.uid, b->pod->meta.uid) && !pod->meta.deleted &&
            str_empty(pod_of(pod)->node_name) && !pod_is_terminal(pod_of(pod)))
            podqueue_put(s->queue, pod);
    }
    binding_end(b);
}

/* ---- asking what is true --------------------------------------------------------------------- */

static void ask(struct binding *b);

static void on_ask_timer(struct loop *l, void *arg)
{
    struct binding *b = arg;
    (void)l;
    b->timer = NULL;
    ask(b);
}

static void on_told(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct binding *b = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char uid[KUID_TEXT_MAX];

    b->call = NULL;
    if (err && err->reason == KR_NOT_FOUND) {
        vanished(b);
        return;
    }
    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0) {
        b->timer = loop_after(b->s->loop, loop_jitter(b->s->loop, b->wait, 0.1), on_ask_timer, b);
        b->wait = MIN(b->wait * 2, ASK_WAIT_MAX);
        return;
    }
    const char *node = kj_str_or(kj_path(kj_root(doc), "spec.nodeName"), "");
    kuid_format(b->pod->meta.uid, uid, sizeof uid);
    bool same = streq(kj_str_or(kj_path(kj_root(doc), "metadata.uid"), ""), uid);
    if (same && streq(node, b->node))
        succeeded(b);
    else if (same && !*node)
        failed(b);
    else
        vanished(b);
}

static void ask(struct binding *b)
{
    const char *node = NULL;

    switch (nodecache_find(b->s->cache, b->pod->meta.uid, &node)) {
    case NODECACHE_ADDED: /* the informer was faster */
        if (streq(node, b->node))
            succeeded(b);
        else
            vanished(b);
        return;
    case NODECACHE_ABSENT: vanished(b); return; /* deleted meanwhile */
    case NODECACHE_ASSUMED: break;
    }
    b->call = kube_do(b->s->kube,
                      &(struct kube_req){
                          .verb = KUBE_GET,
                          .kind = &kind_pod,
                          .ns = b->pod->meta.ns,
                          .name = b->pod->meta.name,
                      },
                      on_told, b);
}

/* ---- binding --------------------------------------------------------------------------------- */

static void on_answer(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct binding *b = arg;

    (void)r;
    b->call = NULL;
    if (!err) {
        succeeded(b);
        return;
    }
    b->err = *err;
    if (err->reason == KR_NOT_FOUND)
        vanished(b);
    else
        ask(b);
}

static void write_binding(const struct binding *b, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    char uid[KUID_TEXT_MAX];

    kuid_format(b->pod->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "Binding");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "namespace", b->pod->meta.ns);
    kjw_str(&w, "name", b->pod->meta.name);
    kjw_str(&w, "uid", uid);
    kjw_end(&w);
    kjw_obj(&w, "target");
    kjw_str(&w, "kind", "Node");
    kjw_str(&w, "name", b->node);
    kjw_end(&w);
    kjw_end(&w);
}

void binding_start(struct scheduler *s, struct kobj *pod, const char *node)
{
    struct binding *b = binding_new(s, pod, node);
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    report_drop(s, pod->meta.uid); /* "it does not fit" is not true any more */
    write_binding(b, &body);
    b->call = kube_do(s->kube,
                      &(struct kube_req){
                          .verb = KUBE_CREATE,
                          .kind = &kind_pod,
                          .ns = pod->meta.ns,
                          .name = pod->meta.name,
                          .subresource = "binding",
                          .body = body.data,
                          .body_len = body.len,
                      },
                      on_answer, b);
}

void binding_verify(struct scheduler *s, struct kobj *pod, const char *node)
{
    struct binding *b = binding_new(s, pod, node);
    b->was_bound = true;
    kerr_set(&b->err, -ETIMEDOUT, "the accepted binding did not take effect");
    ask(b);
}
