/* dispatch.c - clients of hook servers, the ten that were used last. */
#include "runtimeproxy/dispatch.h"

#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/grpc.h"

enum { CLIENTS = 10, ANSWER_MAX = 4 << 20 };

struct client {
    char *endpoint; /* NULL: free */
    struct http *http;
    unsigned calls;
    uint64_t used;
};
struct dispatch {
    struct loop *loop;
    http_dial_fn dial;
    void *dial_arg;
    struct client clients[CLIENTS];
    uint64_t uses;
};
struct hook_call {
    struct client *client; /* NULL: none was free */
    struct grpc_call *grpc;
    struct timer *failing;
    hook_done_fn fn;
    void *arg;
    struct strbuf message;
};

struct dispatch *dispatch_new(struct loop *l, http_dial_fn dial, void *dial_arg)
{
    struct dispatch *d = xnew0(struct dispatch);

    *d = (struct dispatch){ .loop = l, .dial = dial, .dial_arg = dial_arg };
    return d;
}

static void client_fini(struct client *c)
{
    http_free(c->http);
    free(c->endpoint);
    *c = (struct client){ 0 };
}

struct dispatch *dispatch_free(struct dispatch *d)
{
    if (!d)
        return NULL;
    for (int i = 0; i < CLIENTS; i++)
        if (d->clients[i].endpoint)
            client_fini(&d->clients[i]);
    free(d);
    return NULL;
}

/* The one for the endpoint, else a free one, else the idle one whose last use is the longest ago.
 */
static struct client *client_of(struct dispatch *d, const char *endpoint)
{
    struct client *best = NULL;

    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &d->clients[i];
        if (c->endpoint && streq(c->endpoint, endpoint))
            return c;
        if (c->calls == 0 && (!best || c->used < best->used))
            best = c;
    }
    if (!best)
        return NULL;
    if (best->endpoint)
        client_fini(best);
    best->endpoint = xstrdup(endpoint);
    best->http = grpc_client_new(d->loop, endpoint, d->dial, d->dial_arg);
    return best;
}

static void call_free(struct hook_call *c)
{
    if (c->client)
        c->client->calls--;
    timer_cancel(c->failing);
    strbuf_fini(&c->message);
    free(c);
}

static void on_message(void *arg, struct str message)
{
    struct hook_call *c = arg;

    strbuf_reset(&c->message);
    if (message.n > 0)
        strbuf_appendn(&c->message, message.p, message.n);
}

/* As grpc-go has them. */
static const char *const codes[] = {
    "OK",       "Canceled",        "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",   "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",      "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated",
};

static void on_end(void *arg, const struct grpc_status *st)
{
    struct hook_call *c = arg;
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;

    c->grpc = NULL;
    if (st->code != GRPC_OK)
        strbuf_appendf(&why, "rpc error: code = %s desc = %.*s", codes[st->code],
                       (int)MIN(st->text.n, (size_t)GRPC_TEXT_MAX), st->text.n ? st->text.p : "");
    c->fn(c->arg, why.len > 0 ? strbuf_str(&why) : NULL,
          (struct str){ strbuf_str(&c->message), c->message.len });
    call_free(c);
}

static void on_failing(struct loop *l, void *arg)
{
    struct hook_call *c = arg;

    (void)l;
    c->failing = NULL;
    c->fn(c->arg, "rpc error: code = Unavailable desc = too many hook servers at the same time",
          (struct str){ NULL, 0 });
    call_free(c);
}

struct hook_call *dispatch_call(struct dispatch *d, const char *endpoint, const char *method,
                                struct str message, nsec_t timeout, hook_done_fn fn, void *arg)
{
    static const struct grpc_call_events events = { on_message, on_end };
    struct hook_call *c = xnew0(struct hook_call);

    *c = (struct hook_call){ .client = client_of(d, endpoint), .fn = fn, .arg = arg };
    if (!c->client) {
        c->failing = loop_after(d->loop, 0, on_failing, c);
        return c;
    }
    c->client->calls++;
    c->client->used = ++d->uses;
    c->grpc = grpc_call_send(
        c->client->http,
        &(struct grpc_call_opts){
            .method = method, .message = message, .timeout = timeout, .max_message = ANSWER_MAX },
        &events, c);
    return c;
}

struct hook_call *hook_call_cancel(struct hook_call *c)
{
    if (!c)
        return NULL;
    grpc_call_cancel(c->grpc);
    call_free(c);
    return NULL;
}
