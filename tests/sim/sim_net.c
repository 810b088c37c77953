/* sim_net.c - links between programs and the API server. */
#include "sim_net.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "json/kj.h"

struct event { /* on its way to a watch */
    nsec_t due;
    enum kube_event_type type;
    char *text; /* NULL: the watch ends */
    struct kerr err;
    bool has_err;
};
struct call {
    struct kube_call head;
    struct call *next, **at; /* of the net's */
    struct net *net;
    struct link *link; /* NULL: the program is gone, or does not care */
    struct kube_call *inner;
    struct timer *timer;
    /* a request */
    struct arena *arena;
    struct kube_req req;
    kube_done_fn fn;
    void *arg;
    bool lose, twice, fail_done;
    nsec_t back; /* time for the answer */
    struct kube_resp resp;
    struct kerr err;
    bool has_err;
    /* a watch */
    const struct kube_watch_handler *on;
    struct vec_of(struct event) events;
};
struct net {
    struct loop *loop;
    struct kube *server;
    struct call *calls;
};
struct link {
    struct kube head;
    struct net *net;
    struct net_faults faults;
    unsigned until; /* writes until at_write; 0: none */
    void (*at_write)(void *arg);
    void *arg;
    struct timer *timer;
};

static struct link *link_of(struct kube *k)
{
    return container_of(k, struct link, head);
}

static bool draw(struct net *n, unsigned per_mille)
{
    return per_mille && loop_rand_below(n->loop, 1000) < per_mille;
}

static struct call *call_new(struct link *l)
{
    struct call *c = xnew0(struct call);

    c->head.kube = &l->head;
    c->net = l->net;
    c->link = l;
    c->next = l->net->calls;
    c->at = &l->net->calls;
    if (c->next)
        c->next->at = &c->next;
    l->net->calls = c;
    return c;
}

static void call_free(struct call *c)
{
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    kube_cancel(c->inner);
    timer_cancel(c->timer);
    vec_foreach(&c->events, i)
        free(c->events.items[i].text);
    vec_fini(&c->events);
    free(c->resp.body);
    arena_free(c->arena);
    free(c);
}

/* ---- requests --------------------------------------------------------------------------------- */

static void deliver(struct loop *l, void *arg)
{
    struct call *c = arg;

    (void)l;
    c->timer = NULL;
    bool heard = take(c->link) != NULL;
    if (heard)
        c->fn(c->arg, &c->resp, c->has_err ? &c->err : NULL);
    call_free(c);
}

static void answer_after(struct call *c, nsec_t wait)
{
    c->timer = loop_after(c->net->loop, wait, deliver, c);
}

static void set_failure(struct call *c, int status, enum kreason reason, const char *text)
{
    memset(&c->err, 0, sizeof c->err);
    if (reason == KR_NONE)
        (void)kerr_set(&c->err, -ECONNRESET, "%s", text);
    else
        kerr_api(&c->err, -EIO, reason, "%s", text);
    c->has_err = true;
    c->resp.status = status;
    c->resp.n = 0;
}

static bool is_write(const struct kube_req *r)
{
    return r->verb != KUBE_GET && r->verb != KUBE_LIST && r->verb != KUBE_WATCH;
}

static void on_timer(struct loop *l, void *arg)
{
    struct link *link = arg;

    (void)l;
    link->timer = NULL;
    link->at_write(link->arg);
}

static void count_write(struct call *c)
{
    struct link *l = c->link;

    if (!l || !is_write(&c->req))
        return;
    if (l->until && --l->until == 0 && !l->timer)
        l->timer = loop_after(l->net->loop, 0, on_timer, l);
}

static void send(struct call *c);

static void on_answer(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct call *c = arg;

    c->inner = NULL;
    count_write(c);
    if (c->twice) {
        c->twice = false;
        send(c);
        return;
    }
    free(c->resp.body);
    c->resp = *r;
    c->resp.body = xmalloc(r->n + 8);
    memset(c->resp.body, 0, r->n + 8);
    if (r->n)
        memcpy(c->resp.body, r->body, r->n);
    c->has_err = err != NULL;
    if (err)
        c->err = *err;
    if (c->lose)
        set_failure(c, 0, KR_NONE, "connection reset (injected)");
    else if (c->fail_done)
        set_failure(c, 500, KR_INTERNAL, "internal error (injected)");
    answer_after(c, c->back);
}

/* SIM_LOG shows every write. */
static void tell(const struct call *c)
{
    if (!getenv("SIM_LOG") || !is_write(&c->req) || !c->req.kind)
        return;
    fprintf(stderr, "%.4f %p: %d %s %s %s: %.900s\n",
            (double)loop_mono(c->net->loop) / NSEC_PER_SEC, (const void *)c->link, (int)c->req.verb,
            c->req.kind->kind, str_or(c->req.name, ""), str_or(c->req.subresource, ""),
            c->req.body ? (const char *)c->req.body : "");
}

static void send(struct call *c)
{
    tell(c);
    c->inner = kube_do(c->net->server, &c->req, on_answer, c);
}

static void on_arrival(struct loop *l, void *arg)
{
    struct call *c = arg;

    (void)l;
    c->timer = NULL;
    send(c);
}

static const char *keep(struct arena *a, const char *text)
{
    return text ? arena_strdup(a, text) : NULL;
}

/* Kinds that a program has found at the server go with the program. */
static const struct kind *keep_kind(struct arena *a, const struct kind *k)
{
    struct kind *to = arena_new0(a, struct kind);

    *to = *k;
    to->group = keep(a, k->group);
    to->version = keep(a, k->version);
    to->kind = keep(a, k->kind);
    to->plural = keep(a, k->plural);
    return to;
}

static void copy_request(struct call *c, const struct kube_req *r)
{
    struct arena *a = c->arena = arena_new_sized(1024);

    c->req = *r;
    c->req.kind = r->kind ? keep_kind(a, r->kind) : NULL;
    c->req.ns = keep(a, r->ns);
    c->req.name = keep(a, r->name);
    c->req.subresource = keep(a, r->subresource);
    c->req.raw_path = keep(a, r->raw_path);
    c->req.label_selector = keep(a, r->label_selector);
    c->req.field_selector = keep(a, r->field_selector);
    c->req.resource_version = keep(a, r->resource_version);
    c->req.resource_version_match = keep(a, r->resource_version_match);
    c->req.continue_token = keep(a, r->continue_token);
    c->req.field_manager = keep(a, r->field_manager);
    c->req.field_validation = keep(a, r->field_validation);
    if (r->body_len)
        c->req.body = arena_strndup(a, r->body, r->body_len);
}

/* It is not sent at all. */
static bool is_spoiled(struct call *c, const struct net_faults *f)
{
    if (draw(c->net, f->refuse)) {
        set_failure(c, 0, KR_NONE, "connection refused (injected)");
    } else if ((c->req.verb == KUBE_PATCH || c->req.verb == KUBE_UPDATE) &&
               draw(c->net, f->conflict)) {
        set_failure(c, 409, KR_CONFLICT, "the object has been modified (injected)");
    } else if (draw(c->net, f->fail)) {
        set_failure(c, 500, KR_INTERNAL, "internal error (injected)");
    } else if (draw(c->net, f->too_many)) {
        set_failure(c, 429, KR_TOO_MANY_REQUESTS, "too many requests (injected)");
        c->resp.retry_after = NSEC_PER_SEC;
    } else {
        return false;
    }
    return true;
}

static struct kube_call *link_do(struct kube *k, const struct kube_req *r, kube_done_fn fn,
                                 void *arg)
{
    struct link *l = link_of(k);
    struct net *n = l->net;
    const struct net_faults *f = &l->faults;
    struct call *c = call_new(l);

    c->fn = fn;
    c->arg = arg;
    copy_request(c, r);
    if (is_spoiled(c, f)) {
        answer_after(c, NSEC_PER_MSEC);
        return &c->head;
    }
    c->lose = draw(n, f->lose);
    c->twice = draw(n, f->twice);
    c->fail_done = draw(n, f->fail_done);
    nsec_t out = 0;
    if (draw(n, f->slow)) {
        out = (nsec_t)loop_rand_below(n->loop, (uint64_t)f->slow_max / 2 + 1);
        c->back = (nsec_t)loop_rand_below(n->loop, (uint64_t)f->slow_max / 2 + 1);
    }
    if (out)
        c->timer = loop_after(n->loop, out, on_arrival, c);
    else
        send(c);
    return &c->head;
}

/* ---- watches ---------------------------------------------------------------------------------- */

static void take_first(struct call *c, struct event *ret)
{
    *ret = c->events.items[0];
    vec_remove(&c->events, 0);
}

static void on_due(struct loop *l, void *arg);

static void arm(struct call *c)
{
    nsec_t now = loop_mono(c->net->loop);

    if (!c->timer && c->events.n)
        c->timer =
            loop_after(c->net->loop, MAX(c->events.items[0].due - now, (nsec_t)0), on_due, c);
}

static void on_due(struct loop *l, void *arg)
{
    struct call *c = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct event e;

    (void)l;
    c->timer = NULL;
    take_first(c, &e);
    if (!e.text) {
        const struct kube_watch_handler *on = c->on;
        void *to = c->arg;
        call_free(c);
        on->on_end(to, e.has_err ? &e.err : NULL);
        return;
    }
    arm(c); /* the handler may end the watch */
    if (kj_parse(e.text, strlen(e.text), 0, &doc, NULL) < 0)
        abort();
    free(e.text);
    c->on->on_event(c->arg, e.type, kj_root(doc));
}

static void push(struct call *c, struct event e)
{
    nsec_t due = loop_mono(c->net->loop) + c->link->faults.lag;

    e.due = c->events.n ? MAX(vec_last(&c->events).due, due) : due; /* in their order */
    vec_push(&c->events, e);
    arm(c);
}

static void on_event(void *arg, enum kube_event_type type, const struct kj_val *obj)
{
    struct call *c = arg;
    struct strbuf text = STRBUF_INIT;

    kj_write(obj, 0, &text);
    if (draw(c->net, c->link->faults.repeat))
        push(c, (struct event){ .type = type, .text = xstrdup(strbuf_str(&text)) });
    push(c, (struct event){ .type = type, .text = strbuf_take(&text) });
}

static void on_end(void *arg, const struct kerr *err)
{
    struct call *c = arg;
    struct event e = { .has_err = err != NULL };

    c->inner = NULL;
    if (err)
        e.err = *err;
    push(c, e);
}

static void on_open(void *arg)
{
    struct call *c = arg;

    if (c->on->on_open)
        c->on->on_open(c->arg);
}

static struct kube_call *link_watch(struct kube *k, const struct kube_req *r,
                                    const struct kube_watch_handler *on, void *arg)
{
    static const struct kube_watch_handler mine = { on_event, on_end, on_open };
    struct link *l = link_of(k);
    struct call *c = call_new(l);

    c->on = on;
    c->arg = arg;
    c->inner = kube_watch(l->net->server, r, &mine, c);
    return &c->head;
}

/* What was on its way is lost: whoever resumes gets it again. */
static void end_watch(struct call *c, enum net_end how)
{
    struct event e = { .has_err = how != NET_ORDERLY };

    c->inner = kube_cancel(c->inner);
    vec_foreach(&c->events, i)
        free(c->events.items[i].text);
    vec_clear(&c->events);
    c->timer = timer_cancel(c->timer);
    if (how == NET_BROKEN)
        (void)kerr_set(&e.err, -ECONNRESET, "connection reset (injected)");
    else if (how == NET_EXPIRED)
        kerr_api(&e.err, -EIO, KR_EXPIRED, "too old resource version (injected)");
    e.due = loop_mono(c->net->loop) + 1;
    vec_push(&c->events, e);
    arm(c);
}

void link_end_watches(struct kube *link, enum net_end how)
{
    struct link *l = link_of(link);

    for (struct call *c = l->net->calls; c; c = c->next)
        if (c->link == l && c->on)
            end_watch(c, how);
}

/* ---- links ------------------------------------------------------------------------------------ */

static void link_cancel(struct kube_call *head)
{
    struct call *c = container_of(head, struct call, head);

    if (c->on || c->has_err || (!c->inner && c->resp.body))
        call_free(c); /* nothing of it can take effect any more */
    else
        c->link = NULL;
}

static void link_free(struct kube *k)
{
    struct link *l = link_of(k);
    struct call *next;

    for (struct call *c = l->net->calls; c; c = next) {
        next = c->next;
        if (c->link == l)
            link_cancel(&c->head);
    }
    timer_cancel(l->timer);
    free(l);
}

struct kube *net_link(struct net *n)
{
    static const struct kube_ops ops = { link_do, link_watch, link_cancel, link_free };
    struct link *l = xnew0(struct link);

    l->head = (struct kube){ &ops, n->loop, n->server->strings };
    l->net = n;
    return &l->head;
}

void link_set(struct kube *link, const struct net_faults *f)
{
    link_of(link)->faults = *f;
}

void link_at_write(struct kube *link, unsigned nth, void (*fn)(void *arg), void *arg)
{
    struct link *l = link_of(link);

    l->until = nth;
    l->at_write = fn;
    l->arg = arg;
}

struct net *net_new(struct loop *l, struct kube *server)
{
    struct net *n = xnew0(struct net);

    n->loop = l;
    n->server = server;
    return n;
}

struct net *net_free(struct net *n)
{
    while (n->calls)
        call_free(n->calls);
    free(n);
    return NULL;
}
