/* h1relay.c - clients, calls that are held, and the end. */
#include "net/relay/h1relay_int.h"

struct h1relay *h1relay_new(const struct h1relay_opts *o)
{
    struct h1relay *r = xnew0(struct h1relay);

    r->o = *o;
    r->path = o->unix_path ? xstrdup(o->unix_path) : NULL;
    LIST_INIT(&r->conns);
    return r;
}

struct h1relay *h1relay_free(struct h1relay *r)
{
    struct h1conn *c;

    if (!r)
        return NULL;
    timer_cancel(r->drained_timer);
    while ((c = LIST_FIRST(&r->conns)))
        h1conn_free(c);
    free(r->path);
    free(r);
    return NULL;
}

void h1relay_serve(struct h1relay *r, struct stream *s)
{
    if (r->draining || r->stats.clients >= H1_CONNS_MAX)
        stream_close(s);
    else
        h1conn_new(r, s);
}

struct h1relay_stats h1relay_stats(const struct h1relay *r)
{
    return r->stats;
}

/* ---- draining -------------------------------------------------------------------------------- */

static void on_drained(struct loop *l, void *arg)
{
    struct h1relay *r = arg;

    (void)l;
    r->drained_timer = NULL;
    take(r->drained)(r->drained_arg);
}

void h1relay_check_drained(struct h1relay *r)
{
    if (r->draining && r->stats.open == 0 && r->drained && !r->drained_timer)
        r->drained_timer = loop_after(r->o.loop, 0, on_drained, r);
}

/* HTTP/1.1 has no GOAWAY: who sends a request at this moment finds its connection closed, and
 * clients of Docker try again. */
void h1relay_drain(struct h1relay *r, void (*done)(void *arg), void *arg)
{
    struct h1conn *c, *next;

    r->draining = true;
    r->drained = done;
    r->drained_arg = arg;
    for (c = LIST_FIRST(&r->conns); c; c = next) {
        next = LIST_NEXT(c, link);
        h1conn_enter(c);
        c->dead |= !c->is_open;
        h1conn_leave(c);
    }
    h1relay_check_drained(r);
}

/* ---- held calls ------------------------------------------------------------------------------ */

static struct h1conn *conn_of(struct h1relay_call *h)
{
    return container_of(h, struct h1conn, call);
}

void h1relay_call_set(struct h1relay_call *h, void *data)
{
    h->data = data;
}

void *h1relay_call_get(const struct h1relay_call *h)
{
    return h->data;
}

void h1relay_forward(struct h1relay_call *h, struct str body)
{
    CLEANUP(strbuf_fini) struct strbuf head = STRBUF_INIT;
    struct h1conn *c = conn_of(h);
    const llhttp_t *p = &c->request.parser;
    bool as_it_came = !body.p && !(p->flags & F_CHUNKED) && !c->request.expects;

    assert(h->hold == HELD_SHOWN);
    h1conn_enter(c);
    if (!body.p)
        body = (struct str){ strbuf_str(&h->body), h->body.len };
    if (!as_it_came)
        h1_head_with_length((struct str){ h->head.data, h->head.len }, body.n, &head);
    const struct strbuf *used = as_it_came ? &h->head : &head;
    h->hold = HELD_ANSWER;
    h1conn_to_back(c, used->data, used->len);
    h1conn_to_back(c, body.p, body.n);
    strbuf_fini(&h->body);
    h1conn_leave(c);
}

void h1relay_refuse(struct h1relay_call *h, int status, const char *type, struct str body)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct h1conn *c = conn_of(h);

    assert(h->hold == HELD_SHOWN);
    h1conn_enter(c);
    h1_answer(status, type, body, false, &out);
    if (c->front)
        stream_write(c->front, out.data, out.len);
    h1conn_end_exchange(c);
    h1conn_leave(c);
}

void h1relay_release(struct h1relay_call *h)
{
    struct h1conn *c = conn_of(h);
    bool ends = !c->front || c->back_eof;

    assert(h->hold == HELD_DONE);
    h1conn_enter(c);
    if (h->answer.len == 0)
        h1conn_fail(c, 502, h->why.text);
    else if (c->front)
        stream_write(c->front, h->answer.data, h->answer.len);
    h1conn_end_exchange(c);
    c->dead |= ends;
    h1conn_leave(c);
}
