/* tls_int.h - shared by tls.c (contexts), tls_shake.c (handshakes), tls_stream.c (data) and
 * tls_trust.c (client certificates judged later). */
#ifndef KOORD_NET_TLS_INT_H
#define KOORD_NET_TLS_INT_H
#include <openssl/ssl.h>

#include "base/strbuf.h"
#include "net/tls.h"

struct tls_ctx {
    unsigned refs;
    SSL_CTX *ssl;
    bool is_server;
    bool insecure;
};

struct tls_stream {
    struct stream base;
    struct loop *loop;
    struct tls_ctx *ctx;
    struct stream *raw;
    SSL *ssl;
    const char *in; /* cipher text at hand, during feed() only */
    size_t in_n;
    struct strbuf held; /* cipher text that came while paused */
    struct strbuf out;  /* plain text that waits for the end of the turn */
    struct timer *flush_timer, *pump_timer;
    bool paused;
    bool raw_ended; /* raw_err tells why, when its code is set */
    bool broken;    /* OpenSSL failed on this connection: it must not be used for writing */
    bool shut;
    bool finished; /* on_close was called */
    bool *gone;    /* set when closed inside pump() */
    struct kerr raw_err;
    struct tls_peer peer; /* of a verified certificate */
    bool peer_known;
};

static inline struct tls_stream *tls_of(struct stream *s)
{
    return container_of(s, struct tls_stream, base);
}
/* Before its handshake; takes `raw` over. */
struct tls_stream *tls_stream_new(struct loop *l, struct tls_ctx *c, struct stream *raw);
extern const struct stream_events tls_raw_events;

static inline UNUSED X509 *x509_drop(X509 *x)
{
    X509_free(x);
    return NULL;
}
DEFINE_CLEANUP(x509_drop, X509 *)

/* Common name and organizations. */
void tls_subject(X509 *x, struct tls_peer *ret);
void tls_openssl_init(void); /* before anything is made */
/* Certificates from PEM, at least one. `names`, when not NULL, collects the subjects: what a server
 * tells clients to choose from. */
int tls_trust_pem(X509_STORE *store, struct str pem, STACK_OF(X509_NAME) * names, struct kerr *err);
/* What OpenSSL's error queue says last, and empties it. */
const char *tls_openssl_reason(char *buf, size_t size);
#endif
