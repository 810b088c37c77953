/* fuzz_http_client.c - what a server may answer to the HTTP client, HTTP/1 and HTTP/2.
 *
 * Byte 0: bit 0 picks HTTP/2, bits 1-3 cut the input into pieces of that size, bit 4 breaks the
 * connection at the end instead of closing it, bit 5 pauses and resumes on every piece of data.
 * Byte 1: which call (0-3) does what in a callback: nothing, cancel, free the client, send another.
 * Byte 2: where the answers are split over two connections (in 1/256 of the rest).
 *
 * Holds: every call ends exactly once unless cancelled or freed; a failure always says why; no
 * data comes while paused, none after the end; a body is never larger than its limit.
 */
#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/http.h"
#include "net/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CALLS = 4, CALLS_MAX = 8, MAX_BODY = 100000 };
enum act { ACT_NONE, ACT_CANCEL, ACT_FREE, ACT_SEND };

struct one {
    struct fixture *b;
    struct http_call *call; /* NULL: over */
    enum act act;
    int heads, ends;
    size_t got;
    bool paused, cancelled;
    struct timer *resume;
};
struct fixture {
    struct loop *l;
    struct http *h;
    struct stream *peer;
    const uint8_t *parts[2];
    size_t part_n[2];
    unsigned dials;
    size_t chunk;
    bool h2, break_it, pauses;
    struct one calls[CALLS_MAX];
    int n;
};

static void send_one(struct fixture *b, enum act act);

static void act(struct one *x)
{
    switch (x->act) {
    case ACT_CANCEL:
        x->cancelled = true;
        x->call = http_cancel(x->call);
        break;
    case ACT_FREE:
        x->b->h = http_free(x->b->h);
        for (int i = 0; i < x->b->n; i++) {
            x->b->calls[i].cancelled |= x->b->calls[i].ends == 0;
            x->b->calls[i].call = NULL;
        }
        break;
    case ACT_SEND:
        x->act = ACT_NONE;
        send_one(x->b, ACT_NONE);
        break;
    default: break;
    }
}

static void on_headers(void *arg, const struct http_resp *r)
{
    struct one *x = arg;

    assert(x->ends == 0 && !x->cancelled && x->heads == 0);
    assert(r->status >= 100);
    x->heads++;
    if (x->act == ACT_CANCEL)
        act(x);
}

static void on_resume(struct loop *l, void *arg)
{
    struct one *x = arg;

    (void)l;
    x->resume = NULL;
    x->paused = false;
    if (x->call)
        http_pause(x->call, false);
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct one *x = arg;

    assert(x->ends == 0 && !x->cancelled && x->heads == 1 && !x->paused && n > 0 && p);
    x->got += n;
    assert(x->got <= MAX_BODY);
    if (x->b->pauses) {
        x->paused = true;
        http_pause(x->call, true);
        if (!x->resume)
            x->resume = loop_after(x->b->l, NSEC_PER_MSEC, on_resume, x);
    }
    if (x->act == ACT_FREE)
        act(x);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct one *x = arg;

    assert(x->ends == 0 && !x->cancelled);
    assert(err ? err->code < 0 && err->text[0] : x->heads == 1 && sent);
    x->ends++;
    x->call = NULL;
    if (x->act == ACT_SEND || x->act == ACT_FREE)
        act(x);
}

static const struct http_handler handler = { on_headers, on_data, on_end, NULL };

static void send_one(struct fixture *b, enum act what)
{
    static const struct http_req reqs[] = {
        { .method = "GET", .target = "/a", .timeout = 60 * NSEC_PER_SEC, .max_body = MAX_BODY },
        { .method = "POST",
          .target = "/b",
          .body = "body",
          .body_len = 4,
          .timeout = 60 * NSEC_PER_SEC,
          .max_body = MAX_BODY },
        { .method = "HEAD", .target = "/c", .timeout = 60 * NSEC_PER_SEC, .max_body = MAX_BODY },
    };

    if (b->n == CALLS_MAX || !b->h)
        return;
    struct one *x = &b->calls[b->n];
    *x = (struct one){ .b = b, .act = what };
    x->call = http_send(b->h, &reqs[b->n % 3], &handler, x);
    b->n++;
}

/* ---- the server: the first two connections get the bytes, later ones are refused ------------- */

static void peer_data(void *arg, const char *p, size_t n)
{
    (void)arg, (void)p, (void)n;
}

static void peer_close(void *arg, const struct kerr *err)
{
    struct fixture *b = arg;

    (void)err;
    b->peer = stream_close(b->peer);
}

struct dialing {
    struct fixture *b;
    http_dialed_fn fn;
    void *arg;
};

static void dial_due(struct loop *l, void *arg)
{
    static const struct stream_events events = { .on_data = peer_data, .on_close = peer_close };
    static const char settings[9] = "\0\0\0\4\0\0\0\0\0";
    struct dialing d = *(struct dialing *)arg;
    struct fixture *b = d.b;
    unsigned i = b->dials++;
    struct stream *ends[2];
    struct kerr err;

    free(arg);
    if (i > 1 || b->peer) {
        kerr_set(&err, -ECONNREFUSED, "no more");
        d.fn(d.arg, NULL, &err);
        return;
    }
    stream_mem_pair(l, &(struct mem_opts){ .chunk = b->chunk }, ends);
    b->peer = ends[1];
    stream_listen(b->peer, &events, b);
    if (b->h2)
        stream_write(b->peer, settings, sizeof settings);
    stream_write(b->peer, b->parts[i], b->part_n[i]);
    d.fn(d.arg, ends[0], NULL);
}

static void fuzz_dial(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ dial_arg, fn, arg };
    loop_after(l, 0, dial_due, d);
}

static void hang_up(struct fixture *b)
{
    if (!b->peer)
        return;
    if (b->break_it)
        stream_mem_break(b->peer, -ECONNRESET, "broken");
    else
        b->peer = stream_close(b->peer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct fixture b = { .l = l };
    size_t cut = (size - 3) * data[2] / 256;

    b.h2 = data[0] & 1;
    b.chunk = data[0] >> 1 & 7;
    b.break_it = data[0] & 16;
    b.pauses = data[0] & 32;
    b.parts[0] = data + 3;
    b.part_n[0] = size - 3 - cut;
    b.parts[1] = data + 3 + b.part_n[0];
    b.part_n[1] = cut;
    b.h = http_client_new(l, &(struct http_client_opts){ .host = "fuzz",
                                                         .h2_prior_knowledge = b.h2,
                                                         .max_conns = 1,
                                                         .dial = fuzz_dial,
                                                         .dial_arg = &b });
    for (int i = 0; i < CALLS; i++)
        send_one(&b, (enum act)(data[1] >> 2 * i & 3));
    for (int i = 0; i < 3; i++) {
        loop_advance(l, NSEC_PER_SEC);
        hang_up(&b);
    }
    loop_advance(l, 300 * NSEC_PER_SEC);
    for (int i = 0; i < b.n; i++) {
        assert(b.calls[i].ends == 1 || b.calls[i].cancelled);
        timer_cancel(b.calls[i].resume);
    }
    b.h = http_free(b.h);
    loop_advance(l, NSEC_PER_SEC);
    stream_close(b.peer);
    return 0;
}
