/* httpd_conn.c - one connection of the server: life, output of a turn, deadlines. */
#include "net/server/httpd_int.h"

#define LINGER_MAX (2 * NSEC_PER_SEC)

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/* ---- life ------------------------------------------------------------------------------------ */

static void conn_free(struct httpd_conn *c)
{
    struct httpd *d = c->d;

    if (c->proto)
        c->proto->fini(c);
    strbuf_fini(&c->out);
    free(c->peer);
    free(c);
    httpd_unref(d);
}

static void conn_unmark(struct httpd_conn *c)
{
    if (!c->dirty)
        return;
    c->dirty = false;
    TAILQ_REMOVE(&c->d->dirty, c, dirty_link);
    c->d->n_dirty--;
}

void conn_kill(struct httpd_conn *c)
{
    if (c->dead)
        return;
    assert(c->busy > 0);
    c->dead = true;
    TAILQ_REMOVE(&c->d->conns, c, link);
    conn_unmark(c);
    c->timer = timer_cancel(c->timer);
    if (c->out.len > 0)
        stream_write(c->s, c->out.data, c->out.len); /* a complete answer, or as far as it came */
    for (struct httpd_req *r; (r = TAILQ_FIRST(&c->reqs));) {
        req_close(r); /* the stream is still there for tls_peer_*() */
        req_free(r);
    }
    c->s = stream_close(c->s);
    c->d->n_conns--;
    httpd_check_done(c->d);
}

void conn_finish(struct httpd_conn *c, bool linger)
{
    if (c->state != CONN_OPEN)
        return;
    c->state = linger ? CONN_LINGER : CONN_CLOSING;
    conn_wait(c, WAIT_NOTHING);
    conn_mark(c);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void conn_push(struct httpd_conn *c)
{
    if (c->out.len == 0)
        return;
    stream_write(c->s, c->out.data, c->out.len);
    c->written += c->out.len;
    if (c->out.cap > HTTPD_KEEP)
        strbuf_fini(&c->out);
    else
        strbuf_reset(&c->out);
}

void conn_put(struct httpd_conn *c, const void *p, size_t n)
{
    if (c->out.len + n < HTTPD_PUSH) {
        strbuf_appendn(&c->out, p, n);
        return;
    }
    conn_push(c); /* large pieces need not be copied twice */
    stream_write(c->s, p, n);
    c->written += n;
}

static void watch_writing(struct httpd_conn *c)
{
    size_t queued = stream_queued(c->s);

    if (c->write_watch || queued == 0)
        return;
    c->write_watch = true;
    c->taken = (int64_t)c->written - (int64_t)queued;
    c->taken_at = loop_mono(c->d->loop);
    conn_arm(c, c->taken_at + c->d->o.write_timeout);
}

static void conn_flush(struct httpd_conn *c)
{
    conn_unmark(c);
    for (struct httpd_req *r; (r = TAILQ_FIRST(&c->todo));) {
        TAILQ_REMOVE(&c->todo, r, todo_link);
        r->in_todo = false;
        req_work(r);
        if (c->dead)
            return;
    }
    if (c->proto && c->state == CONN_OPEN)
        c->proto->advance(c);
    if (c->dead)
        return;
    conn_push(c);
    watch_writing(c);
    if (c->state == CONN_OPEN) {
        if (c->proto)
            c->proto->sent(c);
        return;
    }
    if (stream_queued(c->s) >= STREAM_LOW_WATER)
        return; /* closing a stream drops what takes longer than a few seconds: wait for on_drain */
    if (c->state == CONN_CLOSING) {
        conn_kill(c);
    } else if (!c->shut) {
        c->shut = true;
        stream_shutdown(c->s);
        stream_pause(c->s, false);
        conn_wait(c, WAIT_LINGER);
    }
}

void conn_enter(struct httpd_conn *c)
{
    c->busy++;
}

void conn_leave(struct httpd_conn *c)
{
    if (c->busy == 1 && !c->dead) {
        c->flushing = true;
        conn_flush(c);
        c->flushing = false;
    }
    if (--c->busy == 0 && c->dead)
        conn_free(c);
}

static void on_flush(struct loop *l, void *arg)
{
    struct httpd *d = arg;
    struct httpd_conn *c;

    (void)l;
    d->flush = NULL;
    d->refs++;
    /* Those that are marked again meanwhile have their turn later. */
    for (unsigned n = d->n_dirty; n > 0 && (c = TAILQ_FIRST(&d->dirty)); n--) {
        conn_unmark(c);
        conn_enter(c);
        conn_leave(c);
    }
    if (d->n_dirty > 0 && !d->flush && !d->freed)
        d->flush = loop_after(d->loop, 0, on_flush, d);
    httpd_unref(d);
}

/* A timer of delay 0 and not loop_post(), which cannot be taken back when the server is freed. */
void conn_mark(struct httpd_conn *c)
{
    struct httpd *d = c->d;

    if (c->dirty || c->dead || (c->busy > 0 && !c->flushing)) /* conn_leave() flushes anyway */
        return;
    c->dirty = true;
    TAILQ_INSERT_TAIL(&d->dirty, c, dirty_link);
    d->n_dirty++;
    if (!d->flush && !d->freed)
        d->flush = loop_after(d->loop, 0, on_flush, d);
}

void conn_mark_stop(struct httpd_conn *c)
{
    if (c->proto)
        c->proto->stop(c);
    else
        conn_finish(c, false);
    conn_mark(c);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static void on_tick(struct loop *l, void *arg);

/* Deadlines move with every request and mostly away from us, so the timer stays where it is and
 * looks again when it fires; only an earlier deadline moves it. */
void conn_arm(struct httpd_conn *c, nsec_t due)
{
    if (c->dead || due == NSEC_MAX || (c->timer && c->timer_due <= due))
        return;
    timer_cancel(c->timer);
    c->timer_due = due;
    c->timer = loop_after(c->d->loop, due - loop_mono(c->d->loop), on_tick, c);
}

void conn_wait(struct httpd_conn *c, enum conn_wait w)
{
    const struct httpd_opts *o = &c->d->o;
    const nsec_t how_long[] = {
        [WAIT_HEAD] = loop_outside(c->d->loop, o->header_timeout),
        [WAIT_IDLE] = o->idle_timeout,
        [WAIT_LINGER] = loop_outside(c->d->loop, LINGER_MAX),
    };

    c->wait = (uint8_t)w;
    c->wait_due = w == WAIT_NOTHING ? NSEC_MAX : loop_mono(c->d->loop) + how_long[w];
    conn_arm(c, c->wait_due);
}

/* The next time to look, or 0 when the peer has taken nothing for too long. */
static nsec_t tick_write(struct httpd_conn *c, nsec_t now)
{
    int64_t taken = (int64_t)c->written - (int64_t)stream_queued(c->s);

    if (!c->write_watch)
        return NSEC_MAX;
    if (stream_queued(c->s) == 0) {
        c->write_watch = false;
        return NSEC_MAX;
    }
    if (taken > c->taken) {
        c->taken = taken;
        c->taken_at = now;
    } else if (now - c->taken_at >= c->d->o.write_timeout) {
        return 0;
    }
    /* Progress is seen only when we look: four looks, so that a quarter is the most we err. */
    return MIN(c->taken_at + c->d->o.write_timeout, now + c->d->o.write_timeout / 4);
}

/* A connection whose every request has timed out goes too: it has shown what it is good for. */
static nsec_t tick_reqs(struct httpd_conn *c, nsec_t now)
{
    nsec_t next = NSEC_MAX;
    struct httpd_req *r;
    size_t good = 0, late = 0;

    TAILQ_FOREACH(r, &c->reqs, link)
    {
        if (r->body_due <= now) {
            r->body_due = NSEC_MAX;
            r->late = true;
            req_refuse(r, 408);
            if (c->dead)
                return NSEC_MAX;
        }
        if (r->out.len > 0 && r->progress + c->d->o.write_timeout <= now) {
            r->linger = r->late = true; /* no more patience */
            c->proto->abort(r);
        } else if (r->out.len > 0)
            next = MIN(next, r->progress + c->d->o.write_timeout);
        next = MIN(next, r->body_due);
        *(r->late ? &late : &good) += 1;
    }
    if (late > 0 && good == 0)
        c->proto->stop(c);
    return next;
}

static void tick(struct httpd_conn *c)
{
    nsec_t now = loop_mono(c->d->loop), next;

    if (c->wait_due <= now) {
        c->wait_due = NSEC_MAX;
        if (c->state != CONN_OPEN || !c->proto)
            conn_kill(c);
        else
            c->proto->timeout(c);
    }
    if (c->dead)
        return;
    next = tick_write(c, now);
    if (next == 0) {
        conn_kill(c);
        return;
    }
    next = MIN(next, tick_reqs(c, now));
    if (!c->dead)
        conn_arm(c, MIN(next, c->wait_due));
}

static void on_tick(struct loop *l, void *arg)
{
    struct httpd_conn *c = arg;

    (void)l;
    c->timer = NULL;
    conn_enter(c);
    tick(c);
    conn_leave(c);
}

/* ---- input ----------------------------------------------------------------------------------- */

static void conn_start(struct httpd_conn *c, const struct httpd_proto *proto)
{
    c->proto = proto;
    proto->start(c);
}

/* Plain connections may speak HTTP/2 from the first byte; its preface is no HTTP/1 request. */
static void detect(struct httpd_conn *c, const char *p, size_t n)
{
    size_t seen = c->preface, more = MIN(n, sizeof preface - 1 - seen);
    bool same = memcmp(p, preface + seen, more) == 0;

    if (same && seen + more < sizeof preface - 1) {
        c->preface += more;
        return;
    }
    conn_start(c, same ? &httpd_h2 : &httpd_h1);
    if (seen > 0)
        c->proto->input(c, preface, seen);
    if (!c->dead)
        c->proto->input(c, p, n);
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct httpd_conn *c = arg;

    conn_enter(c);
    if (c->state == CONN_OPEN) {
        if (c->proto)
            c->proto->input(c, p, n);
        else
            detect(c, p, n);
    }
    conn_leave(c);
}

static void on_drain(void *arg)
{
    struct httpd_conn *c = arg;

    conn_enter(c);
    conn_leave(c);
}

static void on_close(void *arg, const struct kerr *err)
{
    struct httpd_conn *c = arg;

    (void)err;
    conn_enter(c);
    conn_kill(c);
    conn_leave(c);
}

static const struct stream_events conn_events = { on_data, on_drain, on_close };

static bool peer_is_local(const char *peer)
{
    return str_starts(peer, "127.") || str_starts(peer, "[::1]:") || streq(peer, "unix");
}

void httpd_serve(struct httpd *d, struct stream *s, const char *peer)
{
    const char *alpn = stream_alpn(s);

    if (d->stopping || d->n_conns >= d->o.max_conns) {
        stream_close(s);
        return;
    }
    struct httpd_conn *c = xnew0(struct httpd_conn);
    c->d = d;
    d->refs++;
    c->s = s;
    c->peer = xstrdup(str_or(peer, ""));
    c->loopback = peer_is_local(c->peer);
    c->wait_due = NSEC_MAX;
    TAILQ_INIT(&c->reqs);
    TAILQ_INIT(&c->todo);
    TAILQ_INSERT_TAIL(&d->conns, c, link);
    d->n_conns++;
    stream_listen(s, &conn_events, c);
    conn_wait(c, WAIT_HEAD);
    if (alpn)
        conn_start(c, streq(alpn, "h2") ? &httpd_h2 : &httpd_h1);
}
