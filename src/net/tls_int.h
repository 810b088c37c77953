/* tls_int.h - shared by tls.c (contexts), tls_shake.c (handshakes) and tls_stream.c (data). */
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

enum { TLS_ORGS_MAX = 32 };
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
    char *peer_cn;
    char *peer_orgs[TLS_ORGS_MAX];
    size_t n_orgs;
    bool peer_known;
};

static inline struct tls_stream *tls_of(struct stream *s)
{
    return container_of(s, struct tls_stream, base);
}
/* Before its handshake; takes `raw` over. */
struct tls_stream *tls_stream_new(struct loop *l, struct tls_ctx *c, struct stream *raw);
extern const struct stream_events tls_raw_events;

/* What OpenSSL's error queue says last, and empties it. */
const char *tls_openssl_reason(char *buf, size_t size);
#endif
