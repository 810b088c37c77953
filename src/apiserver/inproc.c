/* inproc.c - struct kube without sockets: the same calls into the same registry.
 *
 * A request starts in a later turn than the one that asked, so every callback comes in a later turn
 * too. Events reach the handler from inside the registry; a handler that cancels its watch there is
 * only marked, and the watch is taken down in the next turn.
 */
#include "apiserver/registry/registry.h"
#include "apiserver/server.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "json/kj.h"

struct inproc {
    struct kube kube;
    struct apiserver *s;
    struct arena *arena;
    const struct api_user *user;
    struct icall *calls;
};

struct icall {
    struct kube_call head;
    struct icall *prev, *next;
    struct timer *timer; /* the start, or the end after a cancel from inside */
    struct api_call *c;  /* NULL once it has ended */
    kube_done_fn fn;
    const struct kube_watch_handler *on;
    void *arg;
    struct kerr err; /* of the watch, or of a request that could not be made */
    bool inside, dead;
};

static struct inproc *inproc_of(struct kube *k)
{
    return container_of(k, struct inproc, kube);
}

static void icall_free(struct icall *i)
{
    struct inproc *k = inproc_of(i->head.kube);
    if (i->prev)
        i->prev->next = i->next;
    else
        k->calls = i->next;
    if (i->next)
        i->next->prev = i->prev;
    timer_cancel(i->timer);
    if (i->c)
        api_cancel(i->c);
    free(i);
}

static void on_free(struct loop *l, void *arg)
{
    struct icall *i = arg;
    (void)l;
    i->timer = NULL;
    icall_free(i);
}

static void icall_cancel(struct kube_call *head)
{
    struct icall *i = container_of(head, struct icall, head);
    i->dead = true;
    if (!i->inside)
        icall_free(i);
}

/* ---- answers ------------------------------------------------------------------------------------
 */

static void finish(struct icall *i, int status, const char *json, size_t n)
{
    struct kerr err = i->err;
    i->c = NULL;
    i->inside = true;
    if (i->on) {
        i->on->on_end(i->arg, err.code < 0 ? &err : NULL);
    } else {
        CLEANUP(mem_free) char *body = xmalloc(n + KJ_PADDING + 1);
        struct kube_resp r = { .status = status, .body = body, .n = n };
        if (n)
            memcpy(body, json, n);
        memset(body + n, 0, KJ_PADDING + 1);
        i->fn(i->arg, &r, err.code < 0 ? &err : NULL);
    }
    icall_free(i);
}

static void on_reply(void *arg, struct api_call *c, int status, const char *json, size_t n)
{
    struct icall *i = arg;
    (void)c;
    if (status >= 300)
        kube_status_err(status, json, n, &i->err);
    finish(i, status, json, n);
}

static void on_open(void *arg, struct api_call *c)
{
    struct icall *i = arg;
    (void)c;
    i->inside = true;
    if (i->on->on_open)
        i->on->on_open(i->arg);
    i->inside = false;
    if (i->dead)
        i->timer = loop_after(i->head.kube->loop, 0, on_free, i);
}

static enum kube_event_type event_type(const char *type)
{
    return streq(type, "ADDED")      ? KUBE_ADDED
           : streq(type, "MODIFIED") ? KUBE_MODIFIED
           : streq(type, "DELETED")  ? KUBE_DELETED
                                     : KUBE_BOOKMARK;
}

static bool on_event(void *arg, struct api_call *c, const char *type, const char *json, size_t n)
{
    struct icall *i = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)c;
    if (i->dead)
        return false;
    if (streq(type, "ERROR")) {
        kube_status_err(500, json, n, &i->err);
        return true;
    }
    if (kj_parse(json, n, KJ_RAW_NUMBERS, &doc, &i->err) < 0)
        return true; /* the end tells; our own text is always well-formed */
    i->inside = true;
    i->on->on_event(i->arg, event_type(type), kj_root(doc));
    i->inside = false;
    if (i->dead)
        i->timer = loop_after(i->head.kube->loop, 0, on_free, i);
    return !i->dead;
}

static void on_end(void *arg, struct api_call *c)
{
    struct icall *i = arg;
    (void)c;
    if (i->dead) { /* cancelled in its last event: the timer is under way */
        i->c = NULL;
        return;
    }
    finish(i, 200, NULL, 0);
}

static const struct api_sink sink = { on_reply, NULL, on_open, on_event, on_end };

/* ---- requests -----------------------------------------------------------------------------------
 */

static const char *method_of(const struct kube_req *r)
{
    switch (r->verb) {
    case KUBE_CREATE: return "POST";
    case KUBE_UPDATE: return "PUT";
    case KUBE_PATCH: return "PATCH";
    case KUBE_DELETE:
    case KUBE_DELETE_COLLECTION: return "DELETE";
    default: return "GET";
    }
}

static const char *content_type_of_req(const struct kube_req *r)
{
    if (r->verb != KUBE_PATCH)
        return "application/json";
    switch (r->patch) {
    case KUBE_PATCH_JSON: return "application/json-patch+json";
    case KUBE_PATCH_STRATEGIC: return "application/strategic-merge-patch+json";
    case KUBE_PATCH_APPLY: return "application/apply-patch+yaml";
    default: return "application/merge-patch+json";
    }
}

static void on_start(struct loop *l, void *arg)
{
    struct icall *i = arg;
    (void)l;
    i->timer = NULL;
    if (i->c)
        api_run(i->c);
    else
        finish(i, 0, NULL, 0);
}

static struct icall *start(struct kube *kube, const struct kube_req *r, kube_done_fn fn,
                           const struct kube_watch_handler *on, void *arg)
{
    struct inproc *k = inproc_of(kube);
    struct icall *i = xnew0(struct icall);
    CLEANUP(strbuf_fini) struct strbuf target = STRBUF_INIT;
    struct kube_req q = *r;
    nsec_t timeout = r->timeout;

    if (on) {
        q.verb = KUBE_WATCH;
        if (timeout == 0)
            timeout = loop_jitter(kube->loop, 300 * NSEC_PER_SEC, 1.0);
    }
    i->head.kube = kube;
    i->fn = fn;
    i->on = on;
    i->arg = arg;
    i->next = k->calls;
    if (i->next)
        i->next->prev = i;
    k->calls = i;
    i->timer = loop_after(kube->loop, 0, on_start, i);
    if (kube_target(&q, on ? timeout : 0, &target, &i->err) < 0)
        return i;
    struct api_call *c = i->c = api_call_new(k->s, &sink, i);
    c->method = method_of(&q);
    c->target = arena_strdup(c->arena, target.data);
    c->content_type = content_type_of_req(&q);
    c->accept = r->as_table ? "application/json;as=Table;v=v1;g=meta.k8s.io" : NULL;
    c->user = k->user;
    c->in_process = true;
    c->body_len = r->body_len;
    c->body = arena_alloc(c->arena, r->body_len + KJ_PADDING + 1, 1);
    if (r->body_len)
        memcpy(c->body, r->body, r->body_len);
    memset(c->body + r->body_len, 0, KJ_PADDING + 1);
    return i;
}

static struct kube_call *inproc_call(struct kube *k, const struct kube_req *r, kube_done_fn fn,
                                     void *arg)
{
    return &start(k, r, fn, NULL, arg)->head;
}

static struct kube_call *inproc_watch(struct kube *k, const struct kube_req *r,
                                      const struct kube_watch_handler *on, void *arg)
{
    return &start(k, r, NULL, on, arg)->head;
}

static void inproc_free(struct kube *kube)
{
    struct inproc *k = inproc_of(kube);
    while (k->calls)
        icall_free(k->calls);
    arena_free(k->arena);
    free(k);
}

struct kube *apiserver_kube(struct apiserver *s, struct intern *strings, const char *user)
{
    static const struct kube_ops ops = { inproc_call, inproc_watch, icall_cancel, inproc_free };
    struct inproc *k = xnew0(struct inproc);
    k->kube = (struct kube){ .ops = &ops, .loop = apiserver_loop(s), .strings = strings };
    k->s = s;
    k->arena = arena_new();
    k->user = user_trusted(str_or(user, api_user_admin.name), k->arena);
    return &k->kube;
}
