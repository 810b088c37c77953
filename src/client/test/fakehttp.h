/* fakehttp.h - a server by script: answers by method and target, on the virtual loop. */
#ifndef KOORD_CLIENT_TEST_FAKEHTTP_H
#define KOORD_CLIENT_TEST_FAKEHTTP_H
#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/http.h"

struct fake_answer {
    const char *target; /* a prefix of the request's target */
    int status;         /* 0: the connection is refused */
    const char *body;
    bool once;  /* used for one request only */
    bool stays; /* a watch that does not end */
    int cut;    /* not 0: ends with this error after the body */
};

struct fake {
    struct http http;
    struct loop *l;
    struct fake_answer answers[24];
    size_t n;
    struct strbuf log; /* "GET /api/v1/nodes;" */
    char accept[160];
};

struct fake_call {
    struct http_call head;
    struct fake *f;
    const struct http_handler *on;
    void *arg;
    struct fake_answer a;
    struct timer *timer;
    bool inside, dead; /* it may be cancelled from its own callbacks */
};

static inline void fake_reply(struct loop *l, void *arg)
{
    struct fake_call *c = arg;
    const struct http_resp r = { .status = c->a.status };
    struct kerr err = { 0 };

    (void)l;
    c->timer = NULL;
    if (c->a.status == 0) {
        kerr_set(&err, -ECONNREFUSED, "connect 10.0.0.1:6443: connection refused");
        c->on->on_end(c->arg, &err, false);
        free(c);
        return;
    }
    c->inside = true;
    c->on->on_headers(c->arg, &r);
    if (!c->dead)
        c->on->on_data(c->arg, c->a.body, strlen(c->a.body));
    c->inside = false;
    if (!c->dead && c->a.stays)
        return;
    if (!c->dead && c->a.cut)
        kerr_set(&err, c->a.cut, "connection reset by peer");
    if (!c->dead)
        c->on->on_end(c->arg, c->a.cut ? &err : NULL, true);
    free(c);
}

static inline struct http_call *fake_send(struct http *h, const struct http_req *r,
                                          const struct http_handler *on, void *arg)
{
    struct fake *f = (struct fake *)h;
    struct fake_call *c = xnew0(struct fake_call);

    strbuf_appendf(&f->log, "%s %s;", r->method, r->target);
    for (size_t i = 0; i < r->headers.n; i++)
        if (str_eqz(r->headers.items[i].name, "accept")) {
            struct str v = r->headers.items[i].value;
            size_t n = MIN(v.n, sizeof f->accept - 1);
            memcpy(f->accept, v.p, n);
            f->accept[n] = '\0';
        }
    *c = (struct fake_call){ .head = { h->ops }, .f = f, .on = on, .arg = arg };
    c->a = (struct fake_answer){ .status = 404, .body = "404 page not found\n" };
    for (size_t i = 0; i < f->n; i++) {
        if (!f->answers[i].target || !str_starts(r->target, f->answers[i].target))
            continue;
        c->a = f->answers[i];
        if (c->a.once)
            f->answers[i].target = NULL;
        break;
    }
    c->timer = loop_after(f->l, NSEC_PER_MSEC, fake_reply, c);
    return &c->head;
}

static inline void fake_cancel(struct http_call *h)
{
    struct fake_call *c = (struct fake_call *)h;
    c->dead = true;
    timer_cancel(c->timer);
    if (!c->inside)
        free(c);
}

static inline void fake_pause(struct http_call *c, bool paused)
{
    (void)c, (void)paused;
}

static inline void fake_free(struct http *h)
{
    (void)h;
}

static inline void fake_init(struct fake *f, struct loop *l)
{
    static const struct http_ops ops = { fake_send, fake_cancel, fake_pause, fake_free };
    *f = (struct fake){ .http = { &ops }, .l = l };
}

static inline void fake_add(struct fake *f, struct fake_answer a)
{
    assert(f->n < ARRAY_LEN(f->answers));
    f->answers[f->n++] = a;
}
#endif
