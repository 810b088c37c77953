/* ttrpc.c - messages of ttrpc, the calls that wait for one, and what is asked of us. */
#include "net/ttrpc.h"

#include <stdio.h>

#include "base/vec.h"
#include "base/wire_codec.h"
#include "loop/loop.h"

enum message_type { TYPE_REQUEST = 1, TYPE_RESPONSE = 2 };

struct head {
    uint32_t length, stream;
    uint8_t type;
};
struct call {
    struct ttrpc *t;
    uint32_t stream;
    ttrpc_done_fn fn;
    void *arg;
    struct timer *timer;
};
struct ttrpc {
    struct ttrpc_opts o;
    struct strbuf in; /* a message that is not whole yet */
    uint32_t skip;    /* bytes of one that is too large */
    struct arena *arena;
    uint32_t last_seen, last_used; /* stream numbers: of the other side, of ours */
    struct vec_of(struct call *) calls;
};

/* ---- messages by table ----------------------------------------------------------------------- */

struct wire_request {
    struct str service, method, payload;
    int64_t timeout;
    struct str unknown;
};
static const struct wire_member request_members[] = {
    WIRE_MEMBER(struct wire_request, service, 1, WK_STR),
    WIRE_MEMBER(struct wire_request, method, 2, WK_STR),
    WIRE_MEMBER(struct wire_request, payload, 3, WK_STR),
    WIRE_MEMBER(struct wire_request, timeout, 4, WK_INT),
};
static const struct wire_table request_table =
    WIRE_TABLE("ttrpc.Request", struct wire_request, request_members);

struct wire_status {
    int64_t code;
    struct str text, unknown;
};
static const struct wire_member status_members[] = {
    WIRE_MEMBER(struct wire_status, code, 1, WK_INT),
    WIRE_MEMBER(struct wire_status, text, 2, WK_STR),
};
static const struct wire_table status_table =
    WIRE_TABLE("ttrpc.Status", struct wire_status, status_members);

struct wire_response {
    struct wire_status *status;
    struct str payload, unknown;
};
static const struct wire_member response_members[] = {
    WIRE_MEMBER(struct wire_response, status, 1, WK_MSG, .sub = &status_table),
    WIRE_MEMBER(struct wire_response, payload, 2, WK_STR),
};
static const struct wire_table response_table =
    WIRE_TABLE("ttrpc.Response", struct wire_response, response_members);

/* ---- sending --------------------------------------------------------------------------------- */

static void put_u32(struct strbuf *out, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        strbuf_appendc(out, (char)(v >> shift));
}

/* false: too large, and nothing was sent. */
static bool send_message(struct ttrpc *t, uint32_t stream, enum message_type type,
                         const struct wire_table *table, const void *body)
{
    CLEANUP(strbuf_fini) struct strbuf data = STRBUF_INIT, out = STRBUF_INIT;

    wire_encode(table, body, &data);
    if (data.len > TTRPC_DATA_MAX)
        return false;
    put_u32(&out, (uint32_t)data.len);
    put_u32(&out, stream);
    strbuf_appendc(&out, (char)type);
    strbuf_appendc(&out, 0); /* flags: unary */
    strbuf_appendn(&out, strbuf_str(&data), data.len);
    t->o.send(t->o.arg, (struct str){ out.data, out.len });
    return true;
}

void ttrpc_fail(struct ttrpc *t, uint32_t stream, enum grpc_code code, const char *fmt, ...)
{
    char text[GRPC_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct wire_status status = { .code = code, .text = str_of(text) };
    (void)send_message(t, stream, TYPE_RESPONSE, &response_table,
                       &(struct wire_response){ .status = &status });
}

void ttrpc_reply(struct ttrpc *t, uint32_t stream, struct str payload)
{
    if (!send_message(t, stream, TYPE_RESPONSE, &response_table,
                      &(struct wire_response){ .payload = payload }))
        ttrpc_fail(t, stream, GRPC_RESOURCE_EXHAUSTED, "the answer has %zu bytes, at most %d",
                   payload.n, TTRPC_DATA_MAX);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void call_end(struct ttrpc *t, size_t i, enum grpc_code code, struct str text,
                     struct str payload)
{
    struct call *c = t->calls.items[i];

    vec_swap_remove(&t->calls, i);
    timer_cancel(c->timer);
    c->fn(c->arg, code, text, payload);
    free(c);
}

static void call_find_end(struct ttrpc *t, uint32_t stream, enum grpc_code code, struct str text,
                          struct str payload)
{
    vec_foreach(&t->calls, i)
        if (t->calls.items[i]->stream == stream) {
            call_end(t, i, code, text, payload);
            return;
        }
}

static void on_timeout(struct loop *l, void *arg)
{
    struct call *c = arg;

    (void)l;
    c->timer = NULL;
    call_find_end(c->t, c->stream, GRPC_DEADLINE_EXCEEDED, STR("no answer in time"),
                  (struct str){ NULL, 0 });
}

static void on_too_large(struct loop *l, void *arg)
{
    struct call *c = arg;

    (void)l;
    c->timer = NULL;
    call_find_end(c->t, c->stream, GRPC_RESOURCE_EXHAUSTED, STR("the request is too large"),
                  (struct str){ NULL, 0 });
}

void ttrpc_call(struct ttrpc *t, const struct ttrpc_request *r, ttrpc_done_fn fn, void *arg)
{
    struct call *c = xnew0(struct call);
    struct wire_request body = {
        .service = r->service, .method = r->method, .payload = r->payload, .timeout = r->timeout
    };

    t->last_used = t->last_used ? t->last_used + 2 : 1;
    *c = (struct call){ .t = t, .stream = t->last_used, .fn = fn, .arg = arg };
    vec_push(&t->calls, c);
    if (!send_message(t, c->stream, TYPE_REQUEST, &request_table, &body))
        c->timer = loop_after(t->o.loop, 0, on_too_large, c);
    else if (r->timeout > 0)
        c->timer = loop_after(t->o.loop, r->timeout, on_timeout, c);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void on_response(struct ttrpc *t, uint32_t stream, struct str data)
{
    struct wire_response r;
    struct kerr err;

    if (wire_decode(&response_table, data, t->arena, &r, &err) < 0) {
        call_find_end(t, stream, GRPC_INTERNAL, str_of(err.text), (struct str){ NULL, 0 });
        return;
    }
    int64_t code = r.status ? r.status->code : GRPC_OK;
    call_find_end(t, stream,
                  code < GRPC_OK || code > GRPC_UNAUTHENTICATED ? GRPC_UNKNOWN
                                                                : (enum grpc_code)code,
                  r.status ? r.status->text : (struct str){ NULL, 0 }, r.payload);
}

/* false: the number was answered. */
static bool stream_is_new(struct ttrpc *t, uint32_t stream)
{
    if (stream % 2 == 0) {
        ttrpc_fail(t, stream, GRPC_INVALID_ARGUMENT, "stream %u is not odd", stream);
        return false;
    }
    if (stream <= t->last_seen) {
        ttrpc_fail(t, stream, GRPC_INVALID_ARGUMENT, "stream %u is not above %u", stream,
                   t->last_seen);
        return false;
    }
    t->last_seen = stream;
    return true;
}

static void on_request(struct ttrpc *t, uint32_t stream, struct str data)
{
    struct wire_request r;
    struct kerr err;

    if (!stream_is_new(t, stream))
        return;
    if (wire_decode(&request_table, data, t->arena, &r, &err) < 0) {
        ttrpc_fail(t, stream, GRPC_INVALID_ARGUMENT, "%s", err.text);
        return;
    }
    if (!t->o.serve) {
        ttrpc_fail(t, stream, GRPC_UNIMPLEMENTED, "service %.*s", (int)MIN(r.service.n, 200u),
                   r.service.n ? r.service.p : "");
        return;
    }
    t->o.serve(t->o.arg, &(struct ttrpc_request){ .stream = stream,
                                                  .service = r.service,
                                                  .method = r.method,
                                                  .payload = r.payload,
                                                  .timeout = MAX(r.timeout, (int64_t)0) });
}

static struct head head_of(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (struct head){
        .length = (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3],
        .stream = (uint32_t)u[4] << 24 | (uint32_t)u[5] << 16 | (uint32_t)u[6] << 8 | u[7],
        .type = u[8],
    };
}

static void on_too_long(struct ttrpc *t, const struct head *h)
{
    if (h->type == TYPE_REQUEST && stream_is_new(t, h->stream))
        ttrpc_fail(t, h->stream, GRPC_RESOURCE_EXHAUSTED, "a message of %u bytes, at most %d",
                   h->length, TTRPC_DATA_MAX);
    else if (h->type == TYPE_RESPONSE)
        call_find_end(t, h->stream, GRPC_RESOURCE_EXHAUSTED, STR("the answer is too large"),
                      (struct str){ NULL, 0 });
}

/* The message at the front of what came in, if it is whole. */
static bool take_message(struct ttrpc *t)
{
    if (t->in.len < TTRPC_HEAD)
        return false;
    struct head h = head_of(t->in.data);
    if (h.length > TTRPC_DATA_MAX) {
        t->skip = h.length;
        strbuf_consume(&t->in, TTRPC_HEAD);
        on_too_long(t, &h);
        size_t here = MIN(t->in.len, (size_t)t->skip);
        strbuf_consume(&t->in, here);
        t->skip -= (uint32_t)here;
        return true;
    }
    if (t->in.len - TTRPC_HEAD < h.length)
        return false;
    struct str data = { t->in.data + TTRPC_HEAD, h.length };
    arena_reset(t->arena);
    if (h.type == TYPE_REQUEST)
        on_request(t, h.stream, data);
    else if (h.type == TYPE_RESPONSE)
        on_response(t, h.stream, data);
    strbuf_consume(&t->in, TTRPC_HEAD + h.length);
    return true;
}

void ttrpc_feed(struct ttrpc *t, const char *p, size_t n)
{
    size_t skipped = MIN(n, (size_t)t->skip);

    t->skip -= (uint32_t)skipped;
    if (n > skipped)
        strbuf_appendn(&t->in, p + skipped, n - skipped);
    while (take_message(t))
        ;
    if (t->in.len == 0)
        strbuf_fini(&t->in); /* a large one is not kept */
}

/* ---- life ------------------------------------------------------------------------------------ */

struct ttrpc *ttrpc_new(const struct ttrpc_opts *o)
{
    struct ttrpc *t = xnew0(struct ttrpc);

    t->o = *o;
    t->arena = arena_new();
    return t;
}

struct ttrpc *ttrpc_free(struct ttrpc *t)
{
    if (!t)
        return NULL;
    vec_foreach(&t->calls, i) {
        timer_cancel(t->calls.items[i]->timer);
        free(t->calls.items[i]);
    }
    vec_fini(&t->calls);
    strbuf_fini(&t->in);
    arena_free(t->arena);
    free(t);
    return NULL;
}
