/* tls.c - TLS contexts: keys, certificates and trust, from PEM text. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "net/tls_int.h"

static const unsigned char alpn_both[] = "\x02h2\x08http/1.1";
static const unsigned char alpn_h1[] = "\x08http/1.1";

const char *tls_openssl_reason(char *buf, size_t size)
{
    unsigned long e = ERR_peek_last_error();
    const char *why = e ? ERR_reason_error_string(e) : NULL;

    if (why)
        snprintf(buf, size, "%s", why);
    else
        snprintf(buf, size, "%s", e ? strerror(ERR_GET_REASON(e)) : "no reason given");
    ERR_clear_error();
    return buf;
}

/* Without the system's openssl.cnf: it costs memory in every program, and what we allow is decided
 * here. */
void tls_openssl_init(void)
{
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    ERR_clear_error();
}

static int ssl_fail(struct kerr *err, const char *what)
{
    char why[160];

    return kerr_set(err, -EINVAL, "%s: %s", what, tls_openssl_reason(why, sizeof why));
}

/* ---- PEM ------------------------------------------------------------------------------------- */

static BIO *bio_free_all(BIO *b)
{
    BIO_free(b);
    return NULL;
}
DEFINE_CLEANUP(bio_free_all, BIO *)

static EVP_PKEY *pkey_drop(EVP_PKEY *k)
{
    EVP_PKEY_free(k);
    return NULL;
}
DEFINE_CLEANUP(pkey_drop, EVP_PKEY *)

static BIO *pem_open(struct str pem)
{
    assert(pem.n < INT32_MAX);
    return BIO_new_mem_buf(pem.p, (int)pem.n);
}

/* A key with a pass phrase must not make a daemon ask on its terminal. */
static int no_password(char *buf, int size, int rwflag, void *arg)
{
    (void)buf, (void)size, (void)rwflag, (void)arg;
    return -1;
}

/* Leaf first, then its chain, as in every PEM file of a server. */
static int use_certificate(SSL_CTX *ctx, struct str cert_pem, struct str key_pem, struct kerr *err)
{
    CLEANUP(bio_free_all) BIO *certs = pem_open(cert_pem);
    CLEANUP(bio_free_all) BIO *keys = pem_open(key_pem);
    CLEANUP(x509_drop) X509 *leaf = PEM_read_bio_X509(certs, NULL, no_password, NULL);

    if (!leaf)
        return ssl_fail(err, "read certificate");
    if (SSL_CTX_use_certificate(ctx, leaf) != 1)
        return ssl_fail(err, "use certificate");
    for (X509 *x; (x = PEM_read_bio_X509(certs, NULL, no_password, NULL));)
        if (SSL_CTX_add0_chain_cert(ctx, x) != 1) {
            X509_free(x);
            return ssl_fail(err, "use certificate chain");
        }
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        return ssl_fail(err, "read certificate chain");
    ERR_clear_error();
    CLEANUP(pkey_drop) EVP_PKEY *key = PEM_read_bio_PrivateKey(keys, NULL, no_password, NULL);
    if (!key)
        return ssl_fail(err, "read private key");
    if (SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1)
        return ssl_fail(err, "use private key");
    return 0;
}

int tls_trust_pem(X509_STORE *store, struct str pem, STACK_OF(X509_NAME) * names, struct kerr *err)
{
    CLEANUP(bio_free_all) BIO *b = pem_open(pem);
    size_t n = 0;

    for (X509 *x; (x = PEM_read_bio_X509(b, NULL, no_password, NULL)); n++) {
        CLEANUP(x509_drop) X509 *hold = x;
        if (X509_STORE_add_cert(store, x) != 1)
            return ssl_fail(err, "use CA certificate");
        X509_NAME *name = names ? X509_NAME_dup(X509_get_subject_name(x)) : NULL;
        if (name)
            sk_X509_NAME_push(names, name);
        (void)hold;
    }
    if (n == 0 || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        return ssl_fail(err, "read CA certificates");
    ERR_clear_error();
    return 0;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static int ctx_new(const SSL_METHOD *method, bool is_server, struct tls_ctx **ret, struct kerr *err)
{
    tls_openssl_init();
    SSL_CTX *ssl = SSL_CTX_new(method);
    if (!ssl)
        return ssl_fail(err, "new TLS context");
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    /* Idle connections (watches) give their 32 KiB of record buffers back. */
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    struct tls_ctx *c = xnew0(struct tls_ctx);
    c->refs = 1;
    c->ssl = ssl;
    c->is_server = is_server;
    *ret = c;
    return 0;
}

int tls_client_new(const struct tls_client_opts *o, struct tls_ctx **ret, struct kerr *err)
{
    CLEANUP(tls_unref) struct tls_ctx *c = NULL;
    int r = ctx_new(TLS_client_method(), false, &c, err);

    if (r < 0)
        return r;
    c->insecure = o->insecure;
    SSL_CTX_set_verify(c->ssl, o->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (!o->insecure && o->ca_pem.n > 0)
        r = tls_trust_pem(SSL_CTX_get_cert_store(c->ssl), o->ca_pem, NULL, err);
    else if (!o->insecure && SSL_CTX_set_default_verify_paths(c->ssl) != 1)
        r = ssl_fail(err, "load the system's CA certificates");
    if (r == 0 && o->cert_pem.n > 0)
        r = use_certificate(c->ssl, o->cert_pem, o->key_pem, err);
    if (r < 0)
        return r;
    if (!o->no_alpn) {
        const unsigned char *p = o->no_h2 ? alpn_h1 : alpn_both;
        SSL_CTX_set_alpn_protos(c->ssl, p, (unsigned)strlen((const char *)p));
    }
    *ret = take(c);
    return 0;
}

/* h2 when both speak it; nothing in common is no reason to refuse, HTTP/1.1 is then assumed. */
static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
                       const unsigned char *in, unsigned inlen, void *arg)
{
    const unsigned char *ours = arg;
    unsigned char *chosen = NULL;

    (void)ssl;
    if (SSL_select_next_proto(&chosen, outlen, ours, (unsigned)strlen((const char *)ours), in,
                              inlen) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* No error that tls_peer_common_name() could take for a verified peer. */
static int take_any(X509_STORE_CTX *c, void *arg)
{
    (void)arg;
    X509_STORE_CTX_set_error(c, X509_V_ERR_APPLICATION_VERIFICATION);
    return 1;
}

static void ask_client(SSL_CTX *ssl)
{
    SSL_CTX_set_cert_verify_callback(ssl, take_any, NULL);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    /* A resumed connection would not have the chain of its certificate any more. */
    SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(ssl, 0);
}

int tls_server_new(const struct tls_server_opts *o, struct tls_ctx **ret, struct kerr *err)
{
    CLEANUP(tls_unref) struct tls_ctx *c = NULL;
    int r = ctx_new(TLS_server_method(), true, &c, err);

    if (r == 0)
        r = use_certificate(c->ssl, o->cert_pem, o->key_pem, err);
    if (r < 0)
        return r;
    SSL_CTX_set_options(c->ssl, SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_alpn_select_cb(c->ssl, select_alpn,
                               (void *)(uintptr_t)(o->no_h2 ? alpn_h1 : alpn_both));
    /* One ticket is enough. The context name keeps resumption possible with client certificates. */
    SSL_CTX_set_num_tickets(c->ssl, 1);
    SSL_CTX_set_session_id_context(c->ssl, (const unsigned char *)"koord", 5);
    if (o->client_ca_pem.n > 0) {
        STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null();
        r = tls_trust_pem(SSL_CTX_get_cert_store(c->ssl), o->client_ca_pem, names, err);
        SSL_CTX_set_client_CA_list(c->ssl, names); /* takes it over */
        SSL_CTX_set_verify(c->ssl, SSL_VERIFY_PEER, NULL);
    } else if (o->ask_client) {
        ask_client(c->ssl);
    }
    if (r < 0)
        return r;
    *ret = take(c);
    return 0;
}

struct tls_ctx *tls_ref(struct tls_ctx *c)
{
    c->refs++;
    return c;
}

struct tls_ctx *tls_unref(struct tls_ctx *c)
{
    if (!c || --c->refs > 0)
        return NULL;
    SSL_CTX_free(c->ssl);
    free(c);
    return NULL;
}
