/* fuzz_http.c - what a client may send to the HTTP server, HTTP/1 and HTTP/2.
 *
 * Byte 0: bit 0 says the HTTP/2 preface and SETTINGS for you, bits 1-3 cut the input into pieces of
 * that size, bit 4 breaks the connection at the end. Byte 1: where to stop for a moment (in 1/256
 * of the rest) to let delayed answers happen. Byte 2 picks how the handlers behave.
 *
 * Holds: every request is let go exactly once, by its answer or by on_close; the client gets at
 * most one final answer per request, plus one refusal per HTTP/1 connection; all memory of bodies
 * is given back; after the time limits nothing is left open but answers that take their time.
 */
#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/stream.h"

#include <nghttp2/nghttp2.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REQS_MAX = 512 };

struct seen {
    struct fixture *b;
    struct httpd_req *r; /* NULL: let go */
    int style;
};
struct fixture {
    struct loop *l;
    struct strbuf got;
    struct stream *end;
    struct seen reqs[REQS_MAX];
    int n_reqs, n_gone;
    int style;
};

/* ---- handlers -------------------------------------------------------------------------------- */

static void gone(struct seen *s)
{
    assert(s->r);
    s->r = NULL;
    s->b->n_gone++;
}

static void answer(struct seen *s)
{
    static const struct http_header h = { STR("x-some"), STR("thing\r\nwith a break") };

    switch (s->style % 3) {
    case 0: httpd_reply(s->r, 200, "text/plain", "answer", 6); break;
    case 1:
        httpd_respond(s->r, 201, &h, 1, true);
        httpd_write(s->r, "streamed ", 9);
        httpd_write(s->r, "answer", 6);
        httpd_trailers(s->r, &h, 1);
        httpd_end(s->r);
        break;
    default: httpd_end(s->r); break;
    }
    gone(s);
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct seen *s = arg;

    assert(s->r && p && n > 0);
    if (s->style & 16)
        answer(s);
}

static void on_body_end(void *arg)
{
    answer(arg);
}

static void on_close(void *arg)
{
    gone(arg);
}

static void on_body(void *arg, struct httpd_req *r, char *body, size_t n)
{
    struct seen *s = arg;

    assert(s->r == r && (body ? body[n] == '\0' : n == 0));
    answer(s);
}

static void handle(void *arg, struct httpd_req *r)
{
    static const struct httpd_events all = { .on_data = on_data,
                                             .on_body_end = on_body_end,
                                             .on_close = on_close };
    static const struct httpd_events quiet = { .on_close = on_close };
    struct fixture *b = arg;

    assert(httpd_target(r)[0] == '/' || httpd_target(r)[0] == '*');
    assert(httpd_method(r)[0] != '\0' && httpd_header(r, "x-none").p == NULL);
    if (b->n_reqs == REQS_MAX) {
        httpd_reply(r, 503, NULL, NULL, 0);
        return;
    }
    struct seen *s = &b->reqs[b->n_reqs++];
    *s = (struct seen){ b, r, b->style * 7 + b->n_reqs };
    httpd_set_events(r, &quiet, s);
    switch (s->style / 3 % 4) {
    case 0: answer(s); break;
    case 1: httpd_set_events(r, &all, s); break;
    case 2: httpd_read_body(r, on_body, s); break;
    default: break; /* later */
    }
}

static void answer_late_ones(struct fixture *b)
{
    for (int i = 0; i < b->n_reqs; i++)
        if (b->reqs[i].r && b->reqs[i].style / 3 % 4 == 3)
            answer(&b->reqs[i]);
}

/* ---- the client ------------------------------------------------------------------------------ */

static void client_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct fixture *)arg)->got, p, n);
}

static void client_close(void *arg, const struct kerr *err)
{
    (void)arg, (void)err;
}

static const struct stream_events client_events = { client_data, NULL, client_close };

static int count_h1(const struct fixture *b)
{
    int n = 0;

    for (const char *p = strbuf_str(&b->got); (p = strstr(p, "HTTP/1.1 ")); p++)
        n += !str_starts(p, "HTTP/1.1 100 ");
    return n;
}

/* Final answers on HTTP/2: the status of each HEADERS frame; trailers have none. */
static int count_h2(const struct fixture *b)
{
    const uint8_t *p = (const uint8_t *)strbuf_str(&b->got), *end = p + b->got.len;
    nghttp2_hd_inflater *inf;
    int answers = 0;

    if (nghttp2_hd_inflate_new(&inf))
        abort();
    while (end - p >= 9) {
        size_t n = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2], at = 0;

        assert((size_t)(end - p) >= 9 + n); /* only whole frames leave */
        while (p[3] == NGHTTP2_HEADERS && at < n) {
            nghttp2_nv nv;
            int flags = 0;
            ssize_t used = nghttp2_hd_inflate_hd2(inf, &nv, &flags, p + 9 + at, n - at, 1);

            assert(used > 0);
            at += (size_t)used;
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) && streq((char *)nv.name, ":status"))
                answers += nv.value[0] != '1';
            if (flags & NGHTTP2_HD_INFLATE_FINAL)
                nghttp2_hd_inflate_end_headers(inf);
        }
        p += 9 + n;
    }
    nghttp2_hd_inflate_del(inf);
    return answers;
}

/* Streams the client opened, refused ones too: HEADERS frames are the most there can be. */
static int count_heads(const uint8_t *data, size_t size)
{
    int n = 0;

    for (size_t i = 3; i < size; i++)
        n += data[i] == NGHTTP2_HEADERS;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char hello[] =
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0\0\0\0\4\1\0\0\0\0";
    struct fixture b = { 0 };
    struct stream *ends[2];

    if (size < 3 || size > 100000)
        return 0;
    b.l = loop_new_virtual(0, 1);
    b.style = data[2];
    struct httpd *d = httpd_new(b.l,
                                &(struct httpd_opts){ .max_header = 2000,
                                                      .max_body = data[0] & 64 ? 40 : 1000,
                                                      .tell_too_large = data[0] & 32,
                                                      .max_streams = 50 },
                                handle, &b);
    stream_mem_pair(b.l, &(struct mem_opts){ .chunk = data[0] >> 1 & 7 }, ends);
    httpd_serve(d, ends[1], "fuzz");
    b.end = ends[0];
    stream_listen(b.end, &client_events, &b);

    if (data[0] & 1)
        stream_write(b.end, hello, sizeof hello - 1);
    size_t split = 3 + (size - 3) * data[1] / 256;
    stream_write(b.end, data + 3, split - 3);
    loop_advance(b.l, NSEC_PER_MSEC);
    answer_late_ones(&b);
    loop_advance(b.l, NSEC_PER_MSEC);
    stream_write(b.end, data + split, size - split);
    loop_advance(b.l, NSEC_PER_MSEC);
    answer_late_ones(&b);
    if (data[0] & 16)
        stream_mem_break(b.end, -ECONNRESET, "enough");
    loop_advance(b.l, 200 * NSEC_PER_SEC);
    for (int i = 0; i < REQS_MAX && b.n_gone < b.n_reqs; i++) { /* each may let another one in */
        answer_late_ones(&b);
        loop_advance(b.l, 200 * NSEC_PER_SEC);
    }
    assert(b.n_gone == b.n_reqs);

    bool h2 = (data[0] & 1) || (b.got.len > 4 && b.got.data[3] == NGHTTP2_SETTINGS);
    if (!(data[0] & 16) && h2)
        assert(count_h2(&b) <= count_heads(data, size));
    else if (!(data[0] & 16))
        assert(count_h1(&b) <= b.n_reqs + 1);
    httpd_free(d);
    stream_close(b.end);
    loop_free(b.l);
    strbuf_fini(&b.got);
    return 0;
}
