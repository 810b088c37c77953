/* client_fixture.h - for tests of the HTTP client: dials that lead to memory streams on the virtual
 * loop, whose other ends the test holds, and calls that remember what happened to them. */
#ifndef KOORD_NET_TEST_CLIENT_FIXTURE_H
#define KOORD_NET_TEST_CLIENT_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/gzip.h"
#include "net/http.h"
#include "net/stream.h"

#ifndef KOORD_VERSION
#define KOORD_VERSION "dev"
#endif
#define SEC NSEC_PER_SEC

/* ---- a server made of bytes --------------------------------------------------------------------
 */

struct peer {
    struct fixture *f;
    struct stream *s; /* NULL: the client went away */
    struct strbuf in;
    void *h2; /* of test_http_client_h2.c */
};
struct fixture {
    struct loop *l;
    struct mem_opts mem;
    struct peer peers[16];
    unsigned n, dials;
    int refuse; /* error of the next dials */
    nsec_t dial_delay;
    void (*on_peer)(struct peer *x); /* instead of keeping what comes in `in` */
};
struct dialing {
    struct fixture *f;
    http_dialed_fn fn;
    void *arg;
};

static void peer_data(void *arg, const char *p, size_t n)
{
    struct peer *x = arg;
    strbuf_appendn(&x->in, p, n);
}

static void peer_close(void *arg, const struct kerr *err)
{
    struct peer *x = arg;
    (void)err;
    x->s = stream_close(x->s);
}

static const struct stream_events peer_events = { .on_data = peer_data, .on_close = peer_close };

static void dial_due(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct stream *ends[2];
    struct kerr err;

    free(arg);
    if (d.f->refuse) {
        kerr_set(&err, d.f->refuse, "connect nowhere: refused");
        d.fn(d.arg, NULL, &err);
        return;
    }
    struct peer *x = &d.f->peers[d.f->n++];
    stream_mem_pair(l, &d.f->mem, ends);
    x->f = d.f;
    x->s = ends[1];
    if (d.f->on_peer)
        d.f->on_peer(x);
    else
        stream_listen(x->s, &peer_events, x);
    d.fn(d.arg, ends[0], NULL);
}

static void fake_dial(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct dialing *d = xnew0(struct dialing);
    *d = (struct dialing){ dial_arg, fn, arg };
    d->f->dials++;
    loop_after(l, d->f->dial_delay, dial_due, d);
}

static UNUSED void say(struct peer *x, const char *text)
{
    assert_non_null(x->s);
    stream_write(x->s, text, strlen(text));
}

static void fixture_fini(struct fixture *f)
{
    for (unsigned i = 0; i < f->n; i++) {
        stream_close(f->peers[i].s);
        strbuf_fini(&f->peers[i].in);
    }
}

/* ---- a call that remembers ---------------------------------------------------------------------
 */

struct result {
    struct http_call *call;
    int status, heads, ends;
    struct strbuf body, log; /* log: "name=value;" of the headers */
    struct kerr err;
    bool sent;
    /* what to do inside callbacks */
    struct http *free_client;
    struct http *send_again;
    const struct http_req *again_req;
    struct result *again;
    bool cancel_at_head, cancel_at_data, pause_at_data, trailers;
};

static const struct http_handler handler;

static void res_headers(void *arg, const struct http_resp *r)
{
    struct result *x = arg;

    x->status = r->status;
    x->heads++;
    for (size_t i = 0; i < r->headers.n; i++)
        strbuf_appendf(&x->log, "%.*s=%.*s;", (int)r->headers.items[i].name.n,
                       r->headers.items[i].name.p, (int)r->headers.items[i].value.n,
                       r->headers.items[i].value.p);
    if (x->cancel_at_head)
        x->call = http_cancel(x->call);
}

static void res_data(void *arg, const char *p, size_t n)
{
    struct result *x = arg;

    strbuf_appendn(&x->body, p, n);
    if (x->cancel_at_data)
        x->call = http_cancel(x->call);
    if (x->pause_at_data)
        http_pause(x->call, true);
    if (x->free_client)
        x->free_client = http_free(x->free_client);
}

static void res_trailers(void *arg, const struct http_headers *h)
{
    struct result *x = arg;

    x->trailers = true;
    for (size_t i = 0; i < h->n; i++)
        strbuf_appendf(&x->log, "trailer %.*s=%.*s;", (int)h->items[i].name.n, h->items[i].name.p,
                       (int)h->items[i].value.n, h->items[i].value.p);
}

static void res_end(void *arg, const struct kerr *err, bool sent)
{
    struct result *x = arg;

    x->ends++;
    x->call = NULL;
    x->sent = sent;
    if (err)
        x->err = *err;
    if (x->send_again)
        x->again->call = http_send(x->send_again, x->again_req, &handler, x->again);
    if (x->free_client)
        x->free_client = http_free(x->free_client);
}

static const struct http_handler handler = { res_headers, res_data, res_end, res_trailers };

static UNUSED void result_fini(struct result *x)
{
    strbuf_fini(&x->body);
    strbuf_fini(&x->log);
}
static UNUSED void result_fini_p(struct result *x)
{
    result_fini(x);
}

static struct http *client(struct fixture *f, struct http_client_opts o)
{
    o.host = "api.test";
    o.port = 80;
    o.dial = fake_dial;
    o.dial_arg = f;
    return http_client_new(f->l, &o);
}

static UNUSED const struct http_req get_x = { .method = "GET", .target = "/x" };
static UNUSED const struct http_req post_x = {
    .method = "POST", .target = "/x", .body = "hello", .body_len = 5
};

#define SETUP(...)                                                         \
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);            \
    struct fixture f = { .l = l };                                         \
    struct http *h = client(&f, (struct http_client_opts){ __VA_ARGS__ }); \
    CLEANUP(result_fini) struct result r = { 0 }, r2 = { 0 };              \
    (void)state, (void)r, (void)r2
#define NONE     .port = 0
#define settle() loop_advance(l, 0)
#define TEARDOWN()        \
    do {                  \
        http_free(h);     \
        settle();         \
        fixture_fini(&f); \
    } while (0)

#define assert_ok(r, status_, body_)                         \
    do {                                                     \
        assert_int_equal((r).ends, 1);                       \
        assert_string_equal((r).err.text, "");               \
        assert_int_equal((r).status, (status_));             \
        assert_int_equal((r).heads, 1);                      \
        assert_string_equal(strbuf_str(&(r).body), (body_)); \
        assert_true((r).sent);                               \
    } while (0)
#define assert_failed(r, code_, sent_, part)                       \
    do {                                                           \
        assert_int_equal((r).ends, 1);                             \
        assert_int_equal((r).err.code, (code_));                   \
        assert_int_equal((r).sent, (sent_));                       \
        if (!strstr((r).err.text, (part)))                         \
            fail_msg("\"%s\" lacks \"%s\"", (r).err.text, (part)); \
    } while (0)
#endif
