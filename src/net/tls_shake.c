/* tls_shake.c - TLS handshakes, and what they tell about the peer. */
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "loop/loop.h"
#include "net/tls_int.h"

struct tls_shake {
    struct tls_stream *t;
    struct timer *timer; /* timeout */
    struct timer *fail_timer;
    struct kerr fail;
    nsec_t timeout;
    char *server_name;
    dial_fn fn;
    void *arg;
};

static void shake_free(struct tls_shake *h)
{
    timer_cancel(h->timer);
    timer_cancel(h->fail_timer);
    free(h->server_name);
    free(h);
}

static void shake_end(struct tls_shake *h, const struct kerr *err)
{
    struct tls_stream *t = h->t;
    dial_fn fn = h->fn;
    void *arg = h->arg;
    struct kerr copy = { 0 };

    if (err) {
        copy = *err;
        kerr_wrap(&copy, "TLS handshake");
        stream_close(&t->base); /* the alert that tells the peer why is queued: it still leaves */
    }
    shake_free(h);
    fn(arg, err ? NULL : &t->base, err ? &copy : NULL);
}

static void shake_explain(struct tls_shake *h, struct kerr *err)
{
    long v = SSL_get_verify_result(h->t->ssl);
    char why[160];

    if (v == X509_V_ERR_HOSTNAME_MISMATCH || v == X509_V_ERR_IP_ADDRESS_MISMATCH)
        kerr_set(err, -EKEYREJECTED,
                 "certificate verify failed: %s (the certificate is not for %s)",
                 X509_verify_cert_error_string(v), str_or(h->server_name, "this peer"));
    else if (v != X509_V_OK && !h->t->ctx->insecure)
        kerr_set(err, -EKEYREJECTED, "certificate verify failed: %s",
                 X509_verify_cert_error_string(v));
    else
        kerr_set(err, -EPROTO, "%s", tls_openssl_reason(why, sizeof why));
    ERR_clear_error();
}

/* 1: done; 0: needs more from the peer; else the error. */
static int shake_step(struct tls_shake *h, struct kerr *err)
{
    ERR_clear_error();
    int r = SSL_do_handshake(h->t->ssl);
    if (r == 1)
        return 1;
    if (SSL_get_error(h->t->ssl, r) == SSL_ERROR_WANT_READ)
        return 0;
    h->t->broken = true;
    shake_explain(h, err);
    return err->code;
}

static void on_shake_data(void *arg, const char *p, size_t n)
{
    struct tls_shake *h = arg;
    struct tls_stream *t = h->t;
    struct kerr err = { 0 };

    if (h->fail.code)
        return;
    t->in = p;
    t->in_n = n;
    int r = shake_step(h, &err);
    if (r < 0) {
        shake_end(h, &err);
        return;
    }
    if (r == 1) {
        /* The first records may have come along; they wait for a listener. */
        if (t->in_n > 0)
            strbuf_appendn(&t->held, t->in, t->in_n);
        t->in_n = 0;
        t->paused = true;
        stream_listen(t->raw, &tls_raw_events, t);
        stream_pause(t->raw, true);
        shake_end(h, NULL);
        return;
    }
    assert(t->in_n == 0);
}

static void on_shake_close(void *arg, const struct kerr *raw_err)
{
    struct tls_shake *h = arg;
    struct kerr err = { 0 };

    if (raw_err)
        err = *raw_err;
    else
        kerr_set(&err, -ECONNRESET, "connection closed by the peer");
    h->t->broken = true;
    shake_end(h, &err);
}

static void on_shake_timeout(struct loop *l, void *arg)
{
    struct tls_shake *h = arg;
    struct kerr err;

    (void)l;
    h->timer = NULL;
    kerr_set(&err, -ETIMEDOUT, "no answer within %.3gs", (double)h->timeout / 1e9);
    h->t->broken = true;
    shake_end(h, &err);
}

static void on_shake_fail(struct loop *l, void *arg)
{
    struct tls_shake *h = arg;
    struct kerr err = h->fail;

    (void)l;
    h->fail_timer = NULL;
    shake_end(h, &err);
}

static const struct stream_events shake_events = {
    .on_data = on_shake_data,
    .on_close = on_shake_close,
};

static struct tls_shake *shake_new(struct loop *l, struct tls_ctx *c, struct stream *raw,
                                   nsec_t timeout, dial_fn fn, void *arg)
{
    struct tls_shake *h = xnew0(struct tls_shake);

    h->t = tls_stream_new(l, c, raw);
    h->fn = fn;
    h->arg = arg;
    h->timeout = timeout > 0 ? timeout : 30 * NSEC_PER_SEC;
    h->timer = loop_after(l, loop_outside(l, h->timeout), on_shake_timeout, h);
    stream_listen(raw, &shake_events, h);
    return h;
}

static void shake_fail_later(struct tls_shake *h)
{
    h->fail_timer = loop_after(h->t->loop, 0, on_shake_fail, h);
}

struct tls_shake *tls_connect(struct loop *l, struct tls_ctx *c, struct stream *raw,
                              const char *server_name, nsec_t timeout, dial_fn fn, void *arg)
{
    struct tls_shake *h = shake_new(l, c, raw, timeout, fn, arg);
    SSL *ssl = h->t->ssl;

    assert(!c->is_server);
    SSL_set_connect_state(ssl);
    if (!str_empty(server_name)) {
        X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

        h->server_name = xstrdup(server_name);
        if (X509_VERIFY_PARAM_set1_ip_asc(param, server_name) != 1) {
            ERR_clear_error();
            X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
            X509_VERIFY_PARAM_set1_host(param, server_name, 0);
            SSL_set_tlsext_host_name(ssl, server_name);
        }
    } else if (!c->insecure) {
        kerr_set(&h->fail, -EINVAL, "no server name to verify");
    }
    if (h->fail.code || shake_step(h, &h->fail) < 0)
        shake_fail_later(h);
    return h;
}

struct tls_shake *tls_accept(struct loop *l, struct tls_ctx *c, struct stream *raw, nsec_t timeout,
                             dial_fn fn, void *arg)
{
    struct tls_shake *h = shake_new(l, c, raw, timeout, fn, arg);

    assert(c->is_server);
    SSL_set_accept_state(h->t->ssl);
    return h;
}

struct tls_shake *tls_cancel(struct tls_shake *h)
{
    if (!h)
        return NULL;
    h->t->broken = true;
    stream_close(&h->t->base);
    shake_free(h);
    return NULL;
}

/* ---- who the peer is ------------------------------------------------------------------------- */

static char *entry_text(X509_NAME *name, int at)
{
    unsigned char *utf8 = NULL;
    X509_NAME_ENTRY *e = X509_NAME_get_entry(name, at);
    int n = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(e));
    /* A NUL inside would make "admin\0.evil" look like "admin": such a name is nobody's. */
    bool good = n >= 0 && !memchr(utf8, '\0', (size_t)n);
    char *text = good ? xstrndup((const char *)utf8, (size_t)n) : NULL;

    OPENSSL_free(utf8);
    return text;
}

void tls_subject(X509 *x, struct tls_peer *ret)
{
    X509_NAME *name = X509_get_subject_name(x);
    int cn = X509_NAME_get_index_by_NID(name, NID_commonName, -1);

    if (cn >= 0)
        ret->name = entry_text(name, cn);
    for (int at = -1; ret->n_orgs < TLS_ORGS_MAX &&
                      (at = X509_NAME_get_index_by_NID(name, NID_organizationName, at)) >= 0;) {
        char *text = entry_text(name, at);
        if (text)
            ret->orgs[ret->n_orgs++] = text;
    }
}

void tls_peer_fini(struct tls_peer *p)
{
    free(p->name);
    for (size_t i = 0; i < p->n_orgs; i++)
        free(p->orgs[i]);
    *p = (struct tls_peer){ 0 };
}

static void learn_peer(struct tls_stream *t)
{
    X509 *x = NULL;

    if (t->peer_known)
        return;
    t->peer_known = true;
    if (SSL_get_verify_mode(t->ssl) & SSL_VERIFY_PEER && SSL_get_verify_result(t->ssl) == X509_V_OK)
        x = SSL_get1_peer_certificate(t->ssl);
    if (!x)
        return;
    tls_subject(x, &t->peer);
    X509_free(x);
}

const char *tls_peer_common_name(struct stream *s)
{
    if (!s || !stream_is_tls(s))
        return "";
    learn_peer(tls_of(s));
    return str_or(tls_of(s)->peer.name, "");
}

size_t tls_peer_organizations(struct stream *s, const char **ret, size_t max)
{
    if (!s || !stream_is_tls(s))
        return 0;
    struct tls_stream *t = tls_of(s);
    learn_peer(t);
    size_t n = MIN(t->peer.n_orgs, max);
    for (size_t i = 0; i < n; i++)
        ret[i] = t->peer.orgs[i];
    return n;
}
