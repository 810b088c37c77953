/* grpc_relay.c - a request that another server answers. */
#include "net/grpc.h"

#include "net/stream.h"

enum { METADATA_MAX = 64 };

struct relay {
    struct grpc_req *req;
    struct grpc_call *call;
    struct grpc_relay_opts o; /* without method and message */
    struct strbuf edited;
    bool paused;
};

static void relay_free(struct relay *y)
{
    grpc_call_cancel(y->call);
    strbuf_fini(&y->edited);
    free(y);
}

static void relay_end(struct relay *y, const struct grpc_status *st)
{
    if (y->o.on_end)
        y->o.on_end(y->o.arg, st);
    grpc_finish(y->req, st);
    relay_free(y);
}

static void on_message(void *arg, struct str message)
{
    struct relay *y = arg;
    struct kerr err;

    if (y->o.edit) {
        strbuf_reset(&y->edited);
        int r = y->o.edit(y->o.arg, message, &y->edited, &err);
        if (r < 0) {
            relay_end(y, &(struct grpc_status){ .code = GRPC_INTERNAL, .text = str_of(err.text) });
            return;
        }
        if (r == 0)
            message = (struct str){ strbuf_str(&y->edited), y->edited.len };
    }
    grpc_send(y->req, message);
    if (!y->paused && grpc_queued(y->req) > STREAM_HIGH_WATER) {
        y->paused = true;
        grpc_call_pause(y->call, true);
    }
}

static void on_end(void *arg, const struct grpc_status *st)
{
    struct relay *y = arg;

    y->call = NULL;
    relay_end(y, st);
}

static void on_drain(void *arg)
{
    struct relay *y = arg;

    if (!y->paused)
        return;
    y->paused = false;
    grpc_call_pause(y->call, false);
}

static void on_close(void *arg)
{
    relay_free(arg);
}

static nsec_t shorter(nsec_t a, nsec_t b)
{
    return a == 0 ? b : b == 0 ? a : MIN(a, b);
}

void grpc_relay(struct grpc_req *r, const struct grpc_relay_opts *o)
{
    static const struct grpc_call_events call_events = { on_message, on_end };
    static const struct grpc_req_events req_events = { on_drain, on_close };
    struct http_header metadata[METADATA_MAX];
    size_t n = 0;
    struct relay *y = xnew0(struct relay);

    *y = (struct relay){ .req = r, .o = *o };
    while (n < ARRAY_LEN(metadata) && grpc_metadata_at(r, n, &metadata[n]))
        n++;
    grpc_set_events(r, &req_events, y);
    y->call = grpc_call_send(o->to,
                             &(struct grpc_call_opts){
                                 .method = o->method,
                                 .message = o->message,
                                 .metadata = { metadata, n },
                                 .timeout = shorter(grpc_timeout(r), o->timeout),
                             },
                             &call_events, y);
}
