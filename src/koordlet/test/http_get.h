/* http_get.h - somebody who GETs what a handler or a whole server serves, over a connection in
 * memory on the virtual loop. For tests and fuzz targets. */
#ifndef KOORD_KOORDLET_TEST_HTTP_GET_H
#define KOORD_KOORDLET_TEST_HTTP_GET_H
#include <stdio.h>

#include "base/strbuf.h"
#include "component/serve.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/stream.h"

struct http_get {
    struct loop *l;
    struct httpd *d;     /* of one handler, or */
    struct serve *serve; /* a whole server, borrowed */
    struct http *http;
    const char *accept; /* NULL: not said */
    /* of the answer that came last */
    int status;
    char token[64]; /* next-page-token; "": the header is not there */
    struct strbuf body;
    bool ended; /* well */
};
struct http_get_dialing {
    struct http_get *k;
    http_dialed_fn fn;
    void *arg;
};

static inline void http_get_dial_now(struct loop *l, void *arg)
{
    struct http_get_dialing d = *(struct http_get_dialing *)arg;
    struct stream *ends[2];

    free(arg);
    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    if (d.k->serve)
        serve_stream(d.k->serve, ends[0], "127.0.0.1:999");
    else
        httpd_serve(d.k->d, ends[0], "memory");
    d.fn(d.arg, ends[1], NULL);
}

static inline void http_get_dial(void *http_get, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct http_get_dialing *d = xnew0(struct http_get_dialing);

    *d = (struct http_get_dialing){ http_get, fn, arg };
    loop_post(l, http_get_dial_now, d);
}

static inline void http_get_begin(struct http_get *k, struct loop *l)
{
    *k = (struct http_get){ .l = l };
    k->http = http_client_new(
        l, &(struct http_client_opts){ .host = "x", .dial = http_get_dial, .dial_arg = k });
}

static inline UNUSED void http_get_init(struct http_get *k, struct loop *l, httpd_fn fn, void *arg)
{
    http_get_begin(k, l);
    k->d = httpd_new(l, NULL, fn, arg);
}

static inline UNUSED void http_get_init_serve(struct http_get *k, struct loop *l, struct serve *s)
{
    http_get_begin(k, l);
    k->serve = s;
}

/* Before what it asks goes. */
static inline void http_get_fini(struct http_get *k)
{
    http_free(k->http);
    httpd_free(k->d);
    loop_advance(k->l, NSEC_PER_SEC);
    strbuf_fini(&k->body);
}

static inline void http_get_on_headers(void *arg, const struct http_resp *r)
{
    struct http_get *k = arg;
    struct str token = http_header_get(&r->headers, "next-page-token");

    k->status = r->status;
    (void)snprintf(k->token, sizeof k->token, "%.*s", (int)token.n, token.n ? token.p : "");
}

static inline void http_get_on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct http_get *)arg)->body, p, n);
}

static inline void http_get_on_end(void *arg, const struct kerr *err, bool sent)
{
    (void)sent;
    ((struct http_get *)arg)->ended = !err;
}

/* The answer's body, good until the next question; k->ended tells whether there is one. */
static inline const char *http_get_path(struct http_get *k, const char *target)
{
    static const struct http_handler on = { .on_headers = http_get_on_headers,
                                            .on_data = http_get_on_data,
                                            .on_end = http_get_on_end };
    const struct http_header accept = { STR("accept"), str_of(k->accept) };

    k->status = 0;
    k->ended = false;
    strbuf_reset(&k->body);
    http_send(k->http,
              &(struct http_req){
                  .method = "GET", .target = target, .headers = { &accept, k->accept != NULL } },
              &on, k);
    loop_advance(k->l, NSEC_PER_SEC);
    return strbuf_str(&k->body);
}
#endif
