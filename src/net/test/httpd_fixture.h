/* httpd_fixture.h - a server on the virtual loop with a handler that plays roles, and a raw client
 * end.
 *
 * The target picks the role: /hi answers at once, /later keeps the request in fixture.kept, /echo
 * reads the whole body and sends it back, /events logs body events, /mute never asks for the body,
 * /stream begins a stream of unknown length, /free frees the server. Everything is written to
 * fixture.log. Include after the cmocka headers.
 */
#ifndef KOORD_NET_TEST_HTTPD_FIXTURE_H
#define KOORD_NET_TEST_HTTPD_FIXTURE_H
#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/stream.h"

#include <stdio.h>

#define SEC       NSEC_PER_SEC
#define TOO_LARGE "{\"too\":\"large\"}" /* of /echo, with tell_too_large */

/* Requests of HTTP/1. */
#define HOST            "Host: x\r\n"
#define GET(path)       "GET " path " HTTP/1.1\r\n" HOST "\r\n"
#define POST(path, len) "POST " path " HTTP/1.1\r\n" HOST "Content-Length: " len "\r\n\r\n"
#define CHUNKED(path)   "POST " path " HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"

struct fixture {
    struct loop *l;
    struct httpd *d;
    struct stream *end; /* the client's */
    struct strbuf got;
    bool closed; /* the server closed its side */
    struct strbuf log;
    struct httpd_req *kept[300];
    int n_kept, n_close, n_drain, n_req;
    const char *end_in; /* name of the callback that ends the request */
};

struct role { /* what events point to: a request and its fixture */
    struct fixture *b;
    struct httpd_req *r;
};
static struct role roles[1024];
static size_t n_roles;

static inline void fixture_log(struct fixture *b, const char *fmt, ...) PRINTF(2, 3);
static inline void fixture_log(struct fixture *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&b->log, fmt, ap);
    va_end(ap);
}

static inline void role_end(struct role *o, const char *where)
{
    if (o->b->end_in && streq(o->b->end_in, where))
        httpd_reply(o->r, 200, NULL, where, strlen(where));
    else if (o->b->end_in && str_starts(o->b->end_in, "free:") && streq(o->b->end_in + 5, where))
        httpd_free(take(o->b->d));
}

static void role_data(void *arg, const char *p, size_t n)
{
    struct role *o = arg;

    (void)p;
    fixture_log(o->b, "data %zu;", n);
    role_end(o, "data");
}

static void role_body_end(void *arg)
{
    struct role *o = arg;

    fixture_log(o->b, "end;");
    role_end(o, "end");
}

static void role_drain(void *arg)
{
    struct role *o = arg;

    o->b->n_drain++;
    role_end(o, "drain");
}

static void role_close(void *arg)
{
    struct role *o = arg;

    o->b->n_close++;
    fixture_log(o->b, "close;");
    httpd_end(o->r); /* does nothing here, and does no harm */
    role_end(o, "close");
}

static const struct httpd_events role_events = { role_data, role_body_end, role_drain, role_close };
static const struct httpd_events role_quiet = { .on_drain = role_drain, .on_close = role_close };

static void role_echo(void *arg, struct httpd_req *r, char *body, size_t n)
{
    struct fixture *b = arg;

    if (!body) {
        fixture_log(b, "too large;");
        httpd_reply(r, 413, "application/json", TOO_LARGE, strlen(TOO_LARGE));
        return;
    }
    fixture_log(b, "body %zu;", n);
    assert(body[n] == '\0' && body[n + 4] == '\0');
    memset(body + n, 'x', 4);
    httpd_reply(r, 200, "text/plain", body, n);
}

static UNUSED void role_take(void *arg, struct httpd_req *r, char *body, size_t n)
{
    (void)r, (void)body;
    fixture_log(arg, "body %zu;", n);
}

static void fixture_handle(void *arg, struct httpd_req *r)
{
    struct fixture *b = arg;
    const char *t = httpd_target(r);
    struct role *o = &roles[n_roles++ % ARRAY_LEN(roles)];

    *o = (struct role){ b, r };
    b->n_req++;
    fixture_log(b, "%s %s;", httpd_method(r), t);
    httpd_set_events(r, &role_quiet, o);
    if (streq(t, "/hi")) {
        httpd_reply(r, 200, "text/plain", "hi", 2);
    } else if (streq(t, "/echo")) {
        httpd_read_body(r, role_echo, b);
    } else if (streq(t, "/events")) {
        httpd_set_events(r, &role_events, o);
        b->kept[b->n_kept++] = r;
    } else if (streq(t, "/stream")) {
        httpd_respond(r, 200, NULL, 0, false);
        b->kept[b->n_kept++] = r;
    } else if (streq(t, "/free")) {
        b->d = httpd_free(b->d);
    } else if (streq(t, "/empty")) {
        httpd_reply(r, 204, NULL, NULL, 0);
    } else if (streq(t, "/end")) {
        httpd_end(r);
    } else if (b->n_kept < (int)ARRAY_LEN(b->kept)) { /* /later, /mute */
        b->kept[b->n_kept++] = r;
    }
}

static void client_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct fixture *)arg)->got, p, n);
}

static void client_close(void *arg, const struct kerr *err)
{
    (void)err;
    ((struct fixture *)arg)->closed = true;
}

static const struct stream_events client_events = { client_data, NULL, client_close };

static inline void fixture_connect(struct fixture *b, const struct mem_opts *m)
{
    struct stream *ends[2];

    stream_close(b->end);
    strbuf_reset(&b->got);
    b->closed = false;
    stream_mem_pair(b->l, m, ends);
    httpd_serve(b->d, ends[1], "127.0.0.1:4711");
    b->end = ends[0];
    stream_listen(b->end, &client_events, b);
}

static inline void fixture_open(struct fixture *b, const struct httpd_opts *o)
{
    *b = (struct fixture){ .l = loop_new_virtual(1700000000 * NSEC_PER_SEC, 1) };
    b->d = httpd_new(b->l, o, fixture_handle, b);
    fixture_connect(b, NULL);
}

static inline void fixture_close(struct fixture *b)
{
    httpd_free(b->d);
    stream_close(b->end);
    loop_free(b->l);
    strbuf_fini(&b->got);
    strbuf_fini(&b->log);
}

static inline void fixture_fini_p(struct fixture *b)
{
    fixture_close(b);
}

static inline void settle(struct fixture *b)
{
    loop_advance(b->l, 0);
}

static inline void say(struct fixture *b, const char *text)
{
    stream_write(b->end, text, strlen(text));
    settle(b);
}

/* How often needle occurs in what the client got. */
static inline int count_got(const struct fixture *b, const char *needle)
{
    int n = 0;

    for (const char *p = strbuf_str(&b->got); (p = strstr(p, needle)); p++)
        n++;
    return n;
}

#define assert_got(b, needle)                                              \
    do {                                                                   \
        if (!strstr(strbuf_str(&(b)->got), (needle)))                      \
            fail_msg("'%s' not in:\n%s", (needle), strbuf_str(&(b)->got)); \
    } while (0)
#define assert_log(b, text) assert_string_equal(strbuf_str(&(b)->log), (text))
#define FIXTURE(b, o)                       \
    CLEANUP(fixture_fini) struct fixture b; \
    fixture_open(&b, (o))
#endif
