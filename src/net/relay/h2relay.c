/* h2relay.c - clients on one side, the connection to the server on the other. */
#include "net/relay/h2relay_int.h"

struct relay_dial { /* may outlive the relay */
    struct h2relay *r;
    struct dial *dial;
};

/* ---- events ---------------------------------------------------------------------------------- */

static void dial_server(struct h2relay *r);

/* Calls of a connection that is gone: the server's fail, a client's are cancelled. */
static void orphan_calls(struct h2relay *r, struct relay_conn *c)
{
    struct h2relay_call *call, *next;

    for (call = TAILQ_FIRST(&r->calls); call; call = next) {
        next = TAILQ_NEXT(call, link);
        if (call->back == c) {
            call->back = NULL;
            relay_call_fail(call, GRPC_UNAVAILABLE, c->why.text);
        } else if (call->front == c) {
            relay_call_closed(call, false, NGHTTP2_CANCEL);
        }
    }
}

static void reap(struct h2relay *r)
{
    struct relay_conn *c, *next;

    for (c = LIST_FIRST(&r->conns); c; c = next) {
        next = LIST_NEXT(c, link);
        /* The server said GOAWAY, and the last call over it has ended. */
        if (c->is_back && c->going && c->calls == 0 && r->back != c)
            c->dead = true;
        if (!c->dead)
            continue;
        orphan_calls(r, c);
        relay_conn_free(c);
    }
}

static void send_waiting(struct h2relay *r)
{
    struct h2relay_call *c, *next;

    for (c = TAILQ_FIRST(&r->calls); c && r->back; c = next) {
        next = TAILQ_NEXT(c, link);
        if (c->waiting)
            relay_call_to_back(c);
    }
}

static bool any_waiting(const struct h2relay *r)
{
    struct h2relay_call *c;

    TAILQ_FOREACH(c, &r->calls, link)
    if (c->waiting)
        return true;
    return false;
}

static bool flush_dirty(struct h2relay *r)
{
    struct relay_conn *c;
    bool any = false;

    LIST_FOREACH(c, &r->conns, link)
    if (c->dirty && !c->dead) {
        any = true;
        relay_conn_flush(c);
    }
    return any;
}

static void on_drained(struct loop *l, void *arg)
{
    struct h2relay *r = arg;

    (void)l;
    r->drained_timer = NULL;
    r->drained(r->drained_arg);
}

void relay_enter(struct h2relay *r)
{
    r->busy++;
}

void relay_leave(struct h2relay *r)
{
    if (r->busy > 1) {
        r->busy--;
        return;
    }
    do {
        reap(r);
        if (any_waiting(r) && !r->back)
            dial_server(r);
        send_waiting(r);
    } while (flush_dirty(r));
    reap(r);
    r->busy--;
    if (r->draining && r->stats.open == 0 && r->drained && !r->drained_timer)
        r->drained_timer = loop_after(r->o.loop, 0, on_drained, r);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void fail_waiting(struct h2relay *r, const struct kerr *err)
{
    struct h2relay_call *c, *next;

    for (c = TAILQ_FIRST(&r->calls); c; c = next) {
        next = TAILQ_NEXT(c, link);
        if (c->waiting)
            relay_call_fail(c, GRPC_UNAVAILABLE, err->text);
    }
}

static void on_dialed(void *arg, struct stream *s, const struct kerr *err)
{
    struct relay_dial *d = arg;
    struct h2relay *r = d->r;

    free(d);
    if (!r) {
        stream_close(s);
        return;
    }
    relay_enter(r);
    r->dialing = NULL;
    r->refused = !s;
    if (s)
        r->back = relay_conn_new(r, s, true);
    else
        fail_waiting(r, err);
    relay_leave(r);
}

static void dial_server(struct h2relay *r)
{
    if (r->dialing)
        return;
    r->dialing = xnew0(struct relay_dial);
    r->dialing->r = r;
    if (r->o.dial)
        r->o.dial(r->o.dial_arg, r->o.loop, on_dialed, r->dialing);
    else
        r->dialing->dial = stream_dial(r->o.loop, &(struct dial_opts){ .unix_path = r->path },
                                       on_dialed, r->dialing);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct h2relay *h2relay_new(const struct h2relay_opts *o)
{
    struct h2relay *r = xnew0(struct h2relay);

    r->o = *o;
    r->path = o->unix_path ? xstrdup(o->unix_path) : NULL;
    LIST_INIT(&r->conns);
    TAILQ_INIT(&r->calls);
    return r;
}

struct h2relay *h2relay_free(struct h2relay *r)
{
    struct h2relay_call *call;
    struct relay_conn *c;

    if (!r)
        return NULL;
    timer_cancel(r->drained_timer);
    while ((call = TAILQ_FIRST(&r->calls))) {
        relay_call_gone(call);
        relay_call_free(call);
    }
    while ((c = LIST_FIRST(&r->conns)))
        relay_conn_free(c);
    if (r->dialing && r->dialing->dial) {
        dial_cancel(r->dialing->dial);
        free(r->dialing);
    } else if (r->dialing) {
        r->dialing->r = NULL;
    }
    free(r->path);
    free(r);
    return NULL;
}

void h2relay_serve(struct h2relay *r, struct stream *s)
{
    relay_enter(r);
    struct relay_conn *c = relay_conn_new(r, s, false);
    if (r->draining)
        nghttp2_submit_goaway(c->ng, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, NULL, 0);
    relay_leave(r);
}

/* The last stream that was taken is named: a client knows which of its calls were not, and makes
 * them again elsewhere. */
void h2relay_drain(struct h2relay *r, void (*done)(void *arg), void *arg)
{
    struct relay_conn *c;

    relay_enter(r);
    r->draining = true;
    r->drained = done;
    r->drained_arg = arg;
    LIST_FOREACH(c, &r->conns, link)
    if (!c->is_back) {
        nghttp2_submit_goaway(c->ng, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(c->ng), NGHTTP2_NO_ERROR,
                              NULL, 0);
        c->dirty = true;
    }
    relay_leave(r);
}

struct h2relay_stats h2relay_stats(const struct h2relay *r)
{
    struct h2relay_stats s = r->stats;

    s.connected = r->back != NULL;
    s.refused = r->refused;
    return s;
}
