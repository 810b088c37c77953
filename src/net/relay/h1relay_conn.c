/* h1relay_conn.c - a client and its connection to the server: requests there, answers back. */
#include "net/relay/h1relay_int.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void to_front(struct h1conn *c, const void *p, size_t n)
{
    if (!c->front || n == 0)
        return;
    c->said = true;
    stream_write(c->front, p, n);
}

static void dial_server(struct h1conn *c);

void h1conn_to_back(struct h1conn *c, const void *p, size_t n)
{
    if (c->back)
        stream_write(c->back, p, n);
    else
        strbuf_appendn(&c->wait, p, n);
    if (!c->back && !c->back_eof)
        dial_server(c);
}

static void shut_back(struct h1conn *c)
{
    if (c->back && !c->back_shut)
        stream_shutdown(c->back);
    c->back_shut = true;
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static void call_reset(struct h1relay_call *h)
{
    strbuf_fini(&h->head);
    strbuf_fini(&h->body);
    strbuf_fini(&h->answer);
    strbuf_fini(&h->said);
    *h = (struct h1relay_call){ 0 };
}

void h1conn_end_exchange(struct h1conn *c)
{
    c->r->stats.open -= c->is_open;
    c->is_open = c->asked = c->answered = c->said = false;
    call_reset(&c->call);
    if (c->r->draining)
        c->dead = true;
}

void h1conn_fail(struct h1conn *c, int status, const char *text)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!c->said) {
        h1_answer(status, "text/plain; charset=utf-8", str_of(text), true, &out);
        to_front(c, out.data, out.len);
    }
    c->dead = true;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void start_exchange(struct h1conn *c, size_t head)
{
    struct h1relay *r = c->r;
    struct h1relay_call *h = &c->call;
    const char *method = llhttp_method_name((llhttp_method_t)c->request.parser.method);

    c->is_open = true;
    r->stats.open++;
    r->stats.calls++;
    h1msg_start(&c->reply, true);
    c->reply.skips_body = c->request.parser.method == HTTP_HEAD;
    if (!r->o.wants || !r->o.wants(r->o.arg, method, c->request.target)) {
        h1conn_to_back(c, c->in.data, head);
        return;
    }
    size_t target = (size_t)(c->request.target.p - c->in.data);
    strbuf_appendn(&h->head, c->in.data, head);
    h->hold = HELD_REQUEST;
    h->method = method;
    h->target = (struct str){ h->head.data + target, c->request.target.n };
    c->request.body = &h->body;
    if (c->request.expects && c->front)
        stream_write(c->front, "HTTP/1.1 100 Continue\r\n\r\n", 25);
}

static void request_complete(struct h1conn *c)
{
    struct h1relay_call *h = &c->call;

    c->asked = h->hold == HELD_NOT;
    if (h->hold != HELD_REQUEST)
        return;
    h->hold = HELD_SHOWN;
    c->r->o.on_request(c->r->o.arg, h, h->method, h->target,
                       (struct str){ strbuf_str(&h->body), h->body.len });
}

/* false: there is nothing to go on with. */
static bool read_head(struct h1conn *c)
{
    size_t blank = strspn(strbuf_str(&c->in), "\r\n"); /* behind the body of an earlier request */

    if (blank > 0)
        strbuf_consume(&c->in, MIN(blank, c->in.len));
    size_t head = h1_head_length(c->in.data, c->in.len, c->scanned);
    c->scanned = head > 0 ? 0 : c->in.len;
    if (head == 0 && c->in.len >= H1_HEAD_MAX)
        h1conn_fail(c, 431, "the head of the request is too large\n");
    if (head == 0)
        return false;
    h1msg_start(&c->request, false);
    if (h1msg_feed(&c->request, c->in.data, head) != (ssize_t)head || !c->request.has_head) {
        h1conn_fail(c, 400, "this is no request of HTTP/1.1\n");
        return false;
    }
    start_exchange(c, head);
    strbuf_consume(&c->in, head);
    if (c->request.done)
        request_complete(c);
    return true;
}

static bool read_body(struct h1conn *c)
{
    if (c->in.len == 0)
        return false;
    ssize_t n = h1msg_feed(&c->request, c->in.data, c->in.len);
    if (n < 0 || c->request.is_large) {
        h1conn_fail(c, n < 0 ? 400 : 413,
                    n < 0 ? "the body of the request is malformed\n"
                          : "the body of the request is too large\n");
        return false;
    }
    if (c->call.hold == HELD_NOT)
        h1conn_to_back(c, c->in.data, (size_t)n);
    strbuf_consume(&c->in, (size_t)n);
    if (c->request.done)
        request_complete(c);
    return true;
}

static void pipe_to_back(struct h1conn *c)
{
    if (c->in.len > 0)
        h1conn_to_back(c, c->in.data, c->in.len);
    strbuf_reset(&c->in);
}

/* What the client sent, as far as it may go on now. */
static void go_on(struct h1conn *c)
{
    bool more = true;

    while (more && !c->dead) {
        if (c->is_pipe) {
            pipe_to_back(c);
            more = false;
        } else if (!c->is_open) {
            more = read_head(c);
        } else if (!c->request.done) {
            more = read_body(c);
        } else if (c->asked && c->answered) {
            h1conn_end_exchange(c);
        } else {
            more = false;
        }
    }
}

/* Nothing more comes from the client. Between two requests it is over. Whoever waits for an answer
 * may have closed altogether, and the server notices as it would without us; but what is held shall
 * come to its end. */
static void end_front(struct h1conn *c)
{
    if (c->is_pipe ? c->back_eof : !c->is_open || !c->request.done)
        c->dead = true;
    else if (c->call.hold == HELD_NOT && c->in.len == 0)
        shut_back(c);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void show_answer(struct h1conn *c, int status)
{
    struct h1relay_call *h = &c->call;

    h->hold = HELD_DONE;
    c->r->o.on_answer(c->r->o.arg, h, status, (struct str){ strbuf_str(&h->said), h->said.len });
}

static void fail_held(struct h1conn *c, const char *why)
{
    struct h1relay_call *h = &c->call;

    strbuf_reset(&h->answer);
    strbuf_reset(&h->said);
    kerr_set(&h->why, -EIO, "%s", why);
    show_answer(c, 0);
}

/* The server's connection is gone. Its end is the client's, as it would be without us; a request
 * that was not forwarded yet finds another one. */
static void lose_back(struct h1conn *c, const char *why)
{
    enum h1_hold hold = c->call.hold;

    if (hold == HELD_REQUEST || hold == HELD_SHOWN) {
        c->back = stream_close(c->back);
        c->back_eof = c->back_shut = false;
    } else if (hold == HELD_ANSWER) {
        fail_held(c, why);
    } else if (hold == HELD_NOT) {
        c->dead = true;
    }
}

/* An answer, or one of those that come before it (100, 103). false: it is not complete. */
static bool answer_complete(struct h1conn *c)
{
    int status = h1msg_status(&c->reply);
    bool is_interim = status >= 100 && status < 200 && status != 101;

    if (!c->reply.done)
        return false;
    if (is_interim) {
        bool skips = c->reply.skips_body;
        h1msg_start(&c->reply, true);
        c->reply.skips_body = skips;
        strbuf_reset(&c->call.answer);
        return true;
    }
    if (c->call.hold == HELD_ANSWER)
        show_answer(c, status);
    else
        c->answered = true;
    return true;
}

static void become_pipe(struct h1conn *c)
{
    c->is_pipe = true;
    c->asked = c->answered = true;
}

/* Returns how much was used. */
static size_t take_answer(struct h1conn *c, const char *p, size_t n)
{
    struct h1relay_call *h = &c->call;

    c->reply.body = h->hold == HELD_ANSWER ? &h->said : NULL;
    ssize_t used = h1msg_feed(&c->reply, p, n);
    if (h->hold == HELD_ANSWER) {
        if (used > 0)
            strbuf_appendn(&h->answer, p, (size_t)used);
        if (used < 0 || h->answer.len > H1RELAY_HELD_MAX || h1msg_status(&c->reply) == 101) {
            fail_held(c, "the server's answer cannot be read");
            return n;
        }
    } else if (used < 0 || c->reply.is_pipe) { /* whatever it is, it is not for us */
        to_front(c, p, n);
        become_pipe(c);
        return n;
    } else {
        to_front(c, p, (size_t)used);
    }
    return answer_complete(c) ? (size_t)used : n;
}

static bool takes_answers(const struct h1conn *c)
{
    enum h1_hold hold = c->call.hold;

    return c->is_open && !c->answered && (hold == HELD_NOT || hold == HELD_ANSWER);
}

static void on_back_data(void *arg, const char *p, size_t n)
{
    struct h1conn *c = arg;

    h1conn_enter(c);
    for (size_t used; n > 0 && !c->dead && !c->is_pipe && takes_answers(c); p += used, n -= used)
        used = take_answer(c, p, n);
    if (n > 0 && !c->dead && c->is_pipe)
        to_front(c, p, n);
    else if (n > 0 && !c->dead) { /* nobody has asked: the client may see why it ends */
        to_front(c, p, n);
        c->dead = true;
    }
    h1conn_leave(c);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void on_front_data(void *arg, const char *p, size_t n)
{
    struct h1conn *c = arg;

    h1conn_enter(c);
    strbuf_appendn(&c->in, p, n);
    h1conn_leave(c);
}

static void on_front_eof(void *arg)
{
    struct h1conn *c = arg;

    h1conn_enter(c);
    c->front_eof = true;
    h1conn_leave(c);
}

static void on_front_close(void *arg, const struct kerr *err)
{
    struct h1conn *c = arg;
    enum h1_hold hold = c->call.hold;

    (void)err;
    h1conn_enter(c);
    c->front = stream_close(c->front);
    c->front_eof = true;
    if (hold != HELD_ANSWER && hold != HELD_DONE)
        c->dead = true;
    h1conn_leave(c);
}

static void on_back_eof(void *arg)
{
    struct h1conn *c = arg;

    h1conn_enter(c);
    c->back_eof = true;
    if (c->is_pipe) {
        stream_shutdown(c->front);
    } else if (takes_answers(c) && c->reply.has_head && h1msg_ends(&c->reply)) {
        answer_complete(c);
    } else {
        lose_back(c, "the server closed the connection without an answer");
    }
    h1conn_leave(c);
}

static void on_back_close(void *arg, const struct kerr *err)
{
    struct h1conn *c = arg;

    h1conn_enter(c);
    c->back = stream_close(c->back);
    c->back_eof = true;
    if (c->is_pipe)
        c->dead = true;
    else
        lose_back(c, err ? err->text : "the server closed the connection");
    h1conn_leave(c);
}

static void on_drain(void *arg)
{
    h1conn_enter(arg);
    h1conn_leave(arg);
}

static const struct stream_events front_events = { .on_data = on_front_data,
                                                   .on_drain = on_drain,
                                                   .on_close = on_front_close,
                                                   .on_eof = on_front_eof };
static const struct stream_events back_events = {
    .on_data = on_back_data, .on_drain = on_drain, .on_close = on_back_close, .on_eof = on_back_eof
};

/* ---- the server ------------------------------------------------------------------------------ */

static void on_dialed(void *arg, struct stream *s, const struct kerr *err)
{
    struct h1dial *d = arg;
    struct h1conn *c = d->c;
    struct kerr why;

    free(d);
    if (!c) {
        stream_close(s);
        return;
    }
    h1conn_enter(c);
    c->dialing = NULL;
    c->r->stats.refused = !s;
    c->back = s;
    if (s) {
        stream_listen(s, &back_events, c);
        stream_write(s, strbuf_str(&c->wait), c->wait.len);
        strbuf_fini(&c->wait);
        if (c->back_shut)
            stream_shutdown(s);
    } else {
        why = *err;
        kerr_wrap(&why, "%s cannot be reached", c->r->path ? c->r->path : "the server");
        c->back_eof = true;
        if (c->call.hold == HELD_ANSWER)
            fail_held(c, why.text);
        else
            h1conn_fail(c, 502, why.text);
    }
    h1conn_leave(c);
}

static void dial_server(struct h1conn *c)
{
    struct h1relay *r = c->r;

    if (c->dialing)
        return;
    c->dialing = xnew0(struct h1dial);
    c->dialing->c = c;
    if (r->o.dial)
        r->o.dial(r->o.dial_arg, r->o.loop, on_dialed, c->dialing);
    else
        c->dialing->dial = stream_dial(r->o.loop, &(struct dial_opts){ .unix_path = r->path },
                                       on_dialed, c->dialing);
}

/* ---- back-pressure --------------------------------------------------------------------------- */

static void set_paused(struct stream *s, bool *is, size_t queued)
{
    bool paused = queued >= (*is ? STREAM_LOW_WATER : STREAM_HIGH_WATER);

    if (s && paused != *is)
        stream_pause(s, paused);
    *is = paused;
}

static void balance(struct h1conn *c)
{
    size_t there = c->back ? stream_queued(c->back) : c->wait.len;

    set_paused(c->front, &c->front_paused, MAX(there, c->in.len));
    set_paused(c->back, &c->back_paused, c->front ? stream_queued(c->front) : 0);
}

/* ---- life ------------------------------------------------------------------------------------ */

void h1conn_enter(struct h1conn *c)
{
    c->busy++;
}

void h1conn_leave(struct h1conn *c)
{
    if (c->busy == 1 && !c->dead) {
        go_on(c);
        if (c->front_eof && !c->dead)
            end_front(c);
        if (!c->dead)
            balance(c);
    }
    if (--c->busy == 0 && c->dead) {
        struct h1relay *r = c->r;
        h1conn_free(c);
        h1relay_check_drained(r);
    }
}

struct h1conn *h1conn_new(struct h1relay *r, struct stream *s)
{
    struct h1conn *c = xnew0(struct h1conn);

    c->r = r;
    c->front = s;
    LIST_INSERT_HEAD(&r->conns, c, link);
    r->stats.clients++;
    stream_listen(s, &front_events, c);
    return c;
}

void h1conn_free(struct h1conn *c)
{
    struct h1relay *r = c->r;

    if (c->call.hold != HELD_NOT && c->call.hold != HELD_REQUEST)
        r->o.on_gone(r->o.arg, &c->call);
    r->stats.open -= c->is_open;
    r->stats.clients--;
    LIST_REMOVE(c, link);
    if (c->dialing && c->dialing->dial) {
        dial_cancel(c->dialing->dial);
        free(c->dialing);
    } else if (c->dialing) {
        c->dialing->c = NULL;
    }
    stream_close(c->front);
    stream_close(c->back);
    strbuf_fini(&c->in);
    strbuf_fini(&c->wait);
    call_reset(&c->call);
    h1msg_fini(&c->request);
    h1msg_fini(&c->reply);
    free(c);
}
