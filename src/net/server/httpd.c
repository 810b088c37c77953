/* httpd.c - the server: listeners, TLS handshakes, starting and stopping.
 *
 * What happens on a connection is in httpd_conn.c and the protocols.
 */
#include "net/server/httpd_int.h"

#include "base/klog.h"
#include "net/tls.h"

#define OR(v, otherwise) ((v) ? (v) : (otherwise))

struct httpd *httpd_new(struct loop *l, const struct httpd_opts *o, httpd_fn fn, void *arg)
{
    struct httpd *d = xnew0(struct httpd);

    d->loop = l;
    if (o)
        d->o = *o;
    d->o.max_header = OR(d->o.max_header, 64 * 1024);
    d->o.max_body = OR(d->o.max_body, 3 * 1024 * 1024);
    d->o.max_buffered = OR(d->o.max_buffered, 64 * 1024 * 1024);
    d->o.max_conns = OR(d->o.max_conns, 1024);
    d->o.max_streams = OR(d->o.max_streams, 250);
    d->o.header_timeout = OR(d->o.header_timeout, 15 * NSEC_PER_SEC);
    /* Peers are outside: a faster clock gives them no less time. */
    d->o.body_timeout = loop_outside(l, OR(d->o.body_timeout, 60 * NSEC_PER_SEC));
    d->o.idle_timeout = loop_outside(l, OR(d->o.idle_timeout, 120 * NSEC_PER_SEC));
    d->o.write_timeout = loop_outside(l, OR(d->o.write_timeout, 60 * NSEC_PER_SEC));
    d->fn = fn;
    d->arg = arg;
    d->refs = 1;
    d->date_at = -1;
    TAILQ_INIT(&d->conns);
    TAILQ_INIT(&d->dirty);
    TAILQ_INIT(&d->shakes);
    TAILQ_INIT(&d->pool);
    return d;
}

void httpd_unref(struct httpd *d)
{
    if (--d->refs > 0)
        return;
    req_pool_free(d);
    vec_fini(&d->ports);
    strbuf_fini(&d->scratch);
    free(d);
}

/* ---- accepting ------------------------------------------------------------------------------- */

static void shake_free(struct httpd_shake *k)
{
    TAILQ_REMOVE(&k->d->shakes, k, link);
    k->d->n_shakes--;
    free(k->peer);
    free(k);
}

static void on_shaken(void *arg, struct stream *s, const struct kerr *err)
{
    struct httpd_shake *k = arg;
    struct httpd *d = k->d;

    if (s)
        httpd_serve(d, s, k->peer);
    else
        KLOG_I(4, "TLS handshake failed", KV_S("peer", k->peer), KV_S("err", err->text));
    shake_free(k);
}

static void on_accept(void *arg, struct stream *s, const char *peer)
{
    struct httpd_port *port = arg;
    struct httpd *d = port->d;

    bool was_full = d->full;

    d->full = d->n_conns + d->n_shakes >= d->o.max_conns;
    if (d->full && !was_full)
        KLOG_W("Refusing connections: too many are open", KV_S("peer", peer),
               KV_I("count", d->n_conns + d->n_shakes));
    if (d->full || d->stopping) {
        stream_close(s);
        return;
    }
    if (!port->tls) {
        httpd_serve(d, s, peer);
        return;
    }
    struct httpd_shake *k = xnew0(struct httpd_shake);
    k->d = d;
    k->peer = xstrdup(peer);
    TAILQ_INSERT_TAIL(&d->shakes, k, link);
    d->n_shakes++;
    k->shake = tls_accept(d->loop, port->tls, s, d->o.header_timeout, on_shaken, k);
}

int httpd_listen(struct httpd *d, const char *addr, struct tls_ctx *tls, uint16_t *ret_port,
                 struct kerr *err)
{
    struct httpd_port *port = xnew0(struct httpd_port);
    int r = listener_open(d->loop, addr, on_accept, port, &port->ls, err);

    if (r < 0) {
        free(port);
        return r;
    }
    port->d = d;
    port->tls = tls ? tls_ref(tls) : NULL;
    vec_push(&d->ports, port);
    if (ret_port)
        *ret_port = listener_port(port->ls);
    return 0;
}

void httpd_set_tls(struct httpd *d, struct tls_ctx *tls)
{
    vec_foreach(&d->ports, i) {
        struct httpd_port *port = d->ports.items[i];

        if (!port->tls)
            continue;
        tls_ref(tls); /* first: it may be the one in use */
        tls_unref(port->tls);
        port->tls = tls;
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void ports_close(struct httpd *d)
{
    vec_foreach(&d->ports, i) {
        struct httpd_port *port = d->ports.items[i];

        listener_close(port->ls);
        tls_unref(port->tls);
        free(port);
    }
    vec_clear(&d->ports);
    for (struct httpd_shake *k; (k = TAILQ_FIRST(&d->shakes));) {
        tls_cancel(k->shake);
        shake_free(k);
    }
}

static void conns_kill(struct httpd *d)
{
    /* on_close may do anything but start new connections: each pass takes one away. */
    for (struct httpd_conn *c; (c = TAILQ_FIRST(&d->conns));) {
        conn_enter(c);
        conn_kill(c);
        conn_leave(c);
    }
}

static void on_done(struct loop *l, void *arg)
{
    struct httpd *d = arg;
    void (*done)(void *) = d->done;

    (void)l;
    d->done_timer = NULL;
    d->done = NULL;
    if (done)
        done(d->done_arg); /* d may be gone */
}

void httpd_check_done(struct httpd *d)
{
    if (!d->stopping || d->freed || d->n_conns > 0)
        return;
    d->stop_timer = timer_cancel(d->stop_timer);
    if (d->done && !d->done_timer)
        d->done_timer = loop_after(d->loop, 0, on_done, d);
}

static void on_grace_over(struct loop *l, void *arg)
{
    struct httpd *d = arg;

    (void)l;
    d->stop_timer = NULL;
    d->refs++;
    KLOG_I(2, "Closing connections that did not finish in time", KV_I("count", d->n_conns));
    conns_kill(d);
    httpd_unref(d);
}

void httpd_leave(struct httpd *d)
{
    d->leaving = true;
}

void httpd_stop(struct httpd *d, nsec_t grace, void (*done)(void *arg), void *arg)
{
    d->done = done;
    d->done_arg = arg;
    if (!d->stopping) {
        d->leaving = d->stopping = true;
        ports_close(d);
        struct httpd_conn *c;
        TAILQ_FOREACH(c, &d->conns, link)
        conn_mark_stop(c);
    }
    d->stop_timer = timer_cancel(d->stop_timer);
    if (d->n_conns > 0)
        d->stop_timer = loop_after(d->loop, loop_outside(d->loop, grace), on_grace_over, d);
    httpd_check_done(d);
}

struct httpd *httpd_free(struct httpd *d)
{
    if (!d)
        return NULL;
    assert(!d->freed);
    d->freed = d->stopping = true;
    ports_close(d);
    conns_kill(d);
    d->flush = timer_cancel(d->flush);
    d->stop_timer = timer_cancel(d->stop_timer);
    d->done_timer = timer_cancel(d->done_timer);
    httpd_unref(d);
    return NULL;
}

const char *httpd_date(struct httpd *d)
{
    nsec_t now = loop_wall(d->loop) / NSEC_PER_SEC;

    if (now != d->date_at) {
        struct tm tm;
        time_t t = (time_t)now;

        d->date_at = now;
        gmtime_r(&t, &tm);
        /* No setlocale() in our programs, so the names are English. */
        strftime(d->date, sizeof d->date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    }
    return d->date;
}
