/* tls_stream.c - one TLS connection over any stream.
 *
 * OpenSSL reads and writes through a BIO of ours that does no I/O: reading takes from the bytes the
 * raw stream just delivered (no copy is kept between calls), writing goes to stream_write(). The
 * plain text of one turn gathers in `out`, so small writes share a record.
 */
#include <openssl/err.h>
#include <pthread.h>

#include "loop/loop.h"
#include "net/tls_int.h"

enum { RECORD_MAX = SSL3_RT_MAX_PLAIN_LENGTH };

/* ---- the BIO --------------------------------------------------------------------------------- */

static int bio_read(BIO *b, char *p, int n)
{
    struct tls_stream *t = BIO_get_data(b);
    size_t take = MIN(t->in_n, (size_t)n);

    BIO_clear_retry_flags(b);
    if (take == 0) {
        BIO_set_retry_read(b);
        return -1;
    }
    memcpy(p, t->in, take);
    t->in += take;
    t->in_n -= take;
    return (int)take;
}

static int bio_write(BIO *b, const char *p, int n)
{
    struct tls_stream *t = BIO_get_data(b);

    BIO_clear_retry_flags(b);
    stream_write(t->raw, p, (size_t)n);
    return n;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
    (void)b, (void)num, (void)ptr;
    return cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method; /* never changes once made; lives as long as the process */

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "koord stream");
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_ctrl(method, bio_ctrl);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void tls_failed(struct tls_stream *t, struct kerr *err)
{
    char why[160];

    t->broken = true;
    kerr_set(err, -EPROTO, "TLS: %s", tls_openssl_reason(why, sizeof why));
}

static void finish(struct tls_stream *t, const struct kerr *err)
{
    if (t->finished || !t->base.ev)
        return;
    t->finished = true;
    t->base.ev->on_close(t->base.arg, err);
}

static void finish_raw_ended(struct tls_stream *t)
{
    struct kerr cut = { 0 };

    if (!t->raw_err.code)
        kerr_set(&cut, -ECONNRESET, "connection closed without a TLS close_notify");
    finish(t, t->raw_err.code ? &t->raw_err : &cut);
}

/* Hands out what can be decrypted. False when the stream was closed meanwhile. */
static bool pump(struct tls_stream *t)
{
    char buf[RECORD_MAX];
    struct kerr err = { 0 };
    bool gone = false;

    t->gone = &gone;
    while (!t->paused && !t->finished && t->base.ev) {
        ERR_clear_error();
        int n = SSL_read(t->ssl, buf, sizeof buf);
        if (n > 0) {
            t->base.ev->on_data(t->base.arg, buf, (size_t)n);
        } else {
            int e = SSL_get_error(t->ssl, n);
            if (e == SSL_ERROR_WANT_READ && t->in_n == 0 && t->raw_ended) {
                finish_raw_ended(t);
            } else if (e == SSL_ERROR_WANT_READ) {
                break;
            } else if (e == SSL_ERROR_ZERO_RETURN) {
                finish(t, NULL);
            } else {
                tls_failed(t, &err);
                finish(t, &err);
            }
        }
        if (gone)
            return false;
    }
    t->gone = NULL;
    return true;
}

static void feed(struct tls_stream *t, const char *p, size_t n)
{
    struct strbuf held = t->held;

    t->held = (struct strbuf)STRBUF_INIT;
    if (held.len > 0 && n > 0)
        strbuf_appendn(&held, p, n);
    t->in = held.len > 0 ? held.data : p;
    t->in_n = held.len > 0 ? held.len : n;
    if (pump(t)) {
        if (t->in_n > 0 && !t->finished)
            strbuf_appendn(&t->held, t->in, t->in_n);
        t->in = NULL;
        t->in_n = 0;
    }
    strbuf_fini(&held);
}

static void on_raw_data(void *arg, const char *p, size_t n)
{
    feed(arg, p, n);
}

static void on_raw_drain(void *arg)
{
    struct tls_stream *t = arg;

    if (t->base.ev && t->base.ev->on_drain && !t->finished)
        t->base.ev->on_drain(t->base.arg);
}

static void on_raw_close(void *arg, const struct kerr *err)
{
    struct tls_stream *t = arg;

    t->raw_ended = true;
    if (err)
        t->raw_err = *err;
    /* What came before still goes to a reader that takes it; a paused one learns of a failure. */
    if (t->paused && err)
        finish_raw_ended(t);
    else
        feed(t, NULL, 0);
}

static void on_pump_timer(struct loop *l, void *arg)
{
    struct tls_stream *t = arg;

    (void)l;
    t->pump_timer = NULL;
    if (t->broken && t->raw_err.code)
        finish(t, &t->raw_err);
    else
        feed(t, NULL, 0);
}

const struct stream_events tls_raw_events = {
    .on_data = on_raw_data,
    .on_drain = on_raw_drain,
    .on_close = on_raw_close,
};

static void tls_pause(struct stream *s, bool paused)
{
    struct tls_stream *t = tls_of(s);

    t->paused = paused;
    stream_pause(t->raw, paused);
    if (!paused && !t->gone && !t->pump_timer && (t->held.len > 0 || t->raw_ended))
        t->pump_timer = loop_after(t->loop, 0, on_pump_timer, t);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Never blocks: the raw stream takes everything, and renegotiation is off. */
static void seal(struct tls_stream *t, const char *p, size_t n)
{
    while (n > 0 && !t->broken) {
        ERR_clear_error();
        int r = SSL_write(t->ssl, p, (int)MIN(n, (size_t)RECORD_MAX));
        if (r <= 0) {
            tls_failed(t, &t->raw_err);
            if (!t->pump_timer)
                t->pump_timer = loop_after(t->loop, 0, on_pump_timer, t);
            return;
        }
        p += r;
        n -= (size_t)r;
    }
}

static void tls_flush(struct stream *s)
{
    struct tls_stream *t = tls_of(s);

    t->flush_timer = timer_cancel(t->flush_timer);
    if (t->out.len == 0)
        return;
    seal(t, t->out.data, t->out.len);
    strbuf_fini(&t->out); /* idle connections hold no buffer */
}

static void on_flush_timer(struct loop *l, void *arg)
{
    struct tls_stream *t = arg;

    (void)l;
    t->flush_timer = NULL;
    tls_flush(&t->base);
}

static void tls_write(struct stream *s, const void *data, size_t n)
{
    struct tls_stream *t = tls_of(s);
    const char *p = data;

    if (t->broken || t->finished || t->shut)
        return;
    while (n > 0) {
        if (t->out.len == 0 && n >= RECORD_MAX) {
            seal(t, p, RECORD_MAX);
            p += RECORD_MAX;
            n -= RECORD_MAX;
            continue;
        }
        size_t part = MIN(n, RECORD_MAX - t->out.len);
        strbuf_appendn(&t->out, p, part);
        p += part;
        n -= part;
        if (t->out.len == RECORD_MAX) {
            seal(t, t->out.data, t->out.len);
            strbuf_reset(&t->out);
        }
    }
    if (t->out.len > 0 && !t->flush_timer)
        t->flush_timer = loop_after(t->loop, 0, on_flush_timer, t);
}

static size_t tls_queued(const struct stream *s)
{
    const struct tls_stream *t = container_of(s, const struct tls_stream, base);

    return t->out.len + stream_queued(t->raw);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void say_goodbye(struct tls_stream *t)
{
    if (t->shut || t->broken || !SSL_is_init_finished(t->ssl))
        return;
    tls_flush(&t->base);
    t->shut = true;
    ERR_clear_error();
    (void)SSL_shutdown(t->ssl);
    ERR_clear_error();
}

static void tls_shutdown(struct stream *s)
{
    struct tls_stream *t = tls_of(s);

    say_goodbye(t);
    stream_shutdown(t->raw);
}

static void tls_close(struct stream *s)
{
    struct tls_stream *t = tls_of(s);

    say_goodbye(t);
    if (t->gone)
        *t->gone = true;
    timer_cancel(t->flush_timer);
    timer_cancel(t->pump_timer);
    SSL_free(t->ssl);
    stream_close(t->raw);
    tls_unref(t->ctx);
    strbuf_fini(&t->held);
    strbuf_fini(&t->out);
    tls_peer_fini(&t->peer);
    free(t);
}

static const char *tls_alpn(const struct stream *s)
{
    const struct tls_stream *t = container_of(s, const struct tls_stream, base);
    const unsigned char *p = NULL;
    unsigned n = 0;

    SSL_get0_alpn_selected(t->ssl, &p, &n);
    if (n == 2 && memcmp(p, "h2", 2) == 0)
        return "h2";
    return n == 8 && memcmp(p, "http/1.1", 8) == 0 ? "http/1.1" : NULL;
}

static const struct stream_ops tls_ops = {
    .write = tls_write,
    .queued = tls_queued,
    .pause = tls_pause,
    .shutdown = tls_shutdown,
    .close = tls_close,
    .alpn = tls_alpn,
    .flush = tls_flush,
};

bool stream_is_tls(const struct stream *s)
{
    return s->ops == &tls_ops;
}

struct tls_stream *tls_stream_new(struct loop *l, struct tls_ctx *c, struct stream *raw)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct tls_stream *t = xnew0(struct tls_stream);

    pthread_once(&once, make_method);
    BIO *bio = BIO_new(method);
    t->base.ops = &tls_ops;
    t->loop = l;
    t->ctx = tls_ref(c);
    t->raw = raw;
    t->ssl = SSL_new(c->ssl);
    assert(t->ssl && bio); /* only for lack of memory */
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    SSL_set_bio(t->ssl, bio, bio);
    /* Validity is judged by the loop's clock: virtual time in tests, the same as time() else. */
    X509_VERIFY_PARAM_set_time(SSL_get0_param(t->ssl), loop_wall(l) / NSEC_PER_SEC);
    return t;
}
