/* tls_trust.c - client certificates that are judged after the handshake. */
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "net/tls_int.h"

struct tls_trust {
    X509_STORE *store;
};

static X509_STORE_CTX *store_ctx_drop(X509_STORE_CTX *c)
{
    X509_STORE_CTX_free(c);
    return NULL;
}
DEFINE_CLEANUP(store_ctx_drop, X509_STORE_CTX *)

int tls_trust_new(struct str ca_pem, struct tls_trust **ret, struct kerr *err)
{
    CLEANUP(tls_trust_free) struct tls_trust *t = xnew0(struct tls_trust);

    if (ca_pem.n == 0 || ca_pem.n >= INT32_MAX)
        return kerr_set(err, -EINVAL, "read CA certificates: there are none");
    tls_openssl_init();
    t->store = X509_STORE_new();
    int r = tls_trust_pem(t->store, ca_pem, NULL, err);
    if (r < 0)
        return r;
    *ret = take(t);
    return 0;
}

struct tls_trust *tls_trust_free(struct tls_trust *t)
{
    if (!t)
        return NULL;
    X509_STORE_free(t->store);
    free(t);
    return NULL;
}

bool tls_peer_shown(struct stream *s)
{
    return s && stream_is_tls(s) && SSL_get0_peer_certificate(tls_of(s)->ssl) != NULL;
}

int tls_trust_peer(const struct tls_trust *t, struct stream *s, nsec_t wall, struct tls_peer *ret,
                   struct kerr *err)
{
    if (!tls_peer_shown(s))
        return kerr_set(err, -EKEYREJECTED, "no client certificate");
    SSL *ssl = tls_of(s)->ssl;
    CLEANUP(x509_drop) X509 *leaf = SSL_get1_peer_certificate(ssl);
    CLEANUP(store_ctx_drop) X509_STORE_CTX *c = X509_STORE_CTX_new();
    if (!c || X509_STORE_CTX_init(c, t->store, leaf, SSL_get_peer_cert_chain(ssl)) != 1 ||
        X509_STORE_CTX_set_default(c, "ssl_client") != 1) {
        char why[160];
        return kerr_set(err, -EKEYREJECTED, "verify client certificate: %s",
                        tls_openssl_reason(why, sizeof why));
    }
    X509_VERIFY_PARAM *how = X509_STORE_CTX_get0_param(c);
    X509_VERIFY_PARAM_set_time(how, wall / NSEC_PER_SEC);
    /* Weak keys and digests are refused as in a handshake; who is trusted need not be a root. */
    X509_VERIFY_PARAM_set_auth_level(how, SSL_get_security_level(ssl));
    X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_PARTIAL_CHAIN);
    if (X509_verify_cert(c) != 1) {
        int why = X509_STORE_CTX_get_error(c);
        ERR_clear_error();
        return kerr_set(err, -EKEYREJECTED, "client certificate: %s",
                        X509_verify_cert_error_string(why));
    }
    tls_subject(leaf, ret);
    return 0;
}
