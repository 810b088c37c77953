/* tls.h - TLS on OpenSSL, over any stream; handshakes and records happen in memory.
 *
 * A context is shared by many connections and refcounted (a live listener swaps its certificate by
 * swapping the context: old connections keep the old one). TLS 1.2 and newer.
 */
#ifndef KOORD_NET_TLS_H
#define KOORD_NET_TLS_H
#include "net/stream.h"

struct tls_ctx;

struct tls_client_opts {
    struct str ca_pem;   /* empty: the system's trust store */
    struct str cert_pem; /* client certificate, with key_pem; empty for none */
    struct str key_pem;
    bool insecure; /* no verification: only where a kubeconfig says so */
    bool no_h2;    /* offer only http/1.1 */
    bool no_alpn;
};
int tls_client_new(const struct tls_client_opts *o, struct tls_ctx **ret, struct kerr *err);

struct tls_server_opts {
    struct str cert_pem, key_pem;
    struct str client_ca_pem; /* not empty: ask for a client certificate and verify it when given */
    bool ask_client; /* ask, and take any: tls_trust_peer() judges it; without client_ca_pem */
    bool no_h2;
};
int tls_server_new(const struct tls_server_opts *o, struct tls_ctx **ret, struct kerr *err);
struct tls_ctx *tls_ref(struct tls_ctx *c);
struct tls_ctx *tls_unref(struct tls_ctx *c); /* NULL is fine; returns NULL */

/* Takes `raw` over. fn gets the ready stream (callee owns it) or NULL and the error; exactly one
 * call, in a later turn. server_name (client): a host name or an IP literal to verify. The result
 * is for tls_cancel() and valid until fn is called; one who never goes away earlier ignores it. */
struct tls_shake;
struct tls_shake *tls_connect(struct loop *l, struct tls_ctx *c, struct stream *raw,
                              const char *server_name, nsec_t timeout, dial_fn fn, void *arg);
struct tls_shake *tls_accept(struct loop *l, struct tls_ctx *c, struct stream *raw, nsec_t timeout,
                             dial_fn fn, void *arg);
struct tls_shake *tls_cancel(struct tls_shake *h); /* no call follows; NULL is fine; returns NULL */
/* Of the verified peer certificate, "" when there is none: common name, and organizations. */
const char *tls_peer_common_name(struct stream *s);
size_t tls_peer_organizations(struct stream *s, const char **ret, size_t max);

/* Certificates of clients judged after the handshake, where the trust changes or is of several
 * kinds (ask_client). Made from PEM; for client certificates only. */
struct tls_trust;
int tls_trust_new(struct str ca_pem, struct tls_trust **ret, struct kerr *err);
struct tls_trust *tls_trust_free(struct tls_trust *t); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(tls_trust_free, struct tls_trust *)
enum { TLS_ORGS_MAX = 32 };
struct tls_peer {
    char *name; /* common name; NULL: it has none */
    char *orgs[TLS_ORGS_MAX];
    size_t n_orgs;
};
void tls_peer_fini(struct tls_peer *p);
bool tls_peer_shown(struct stream *s); /* the peer has shown a certificate, good or bad */
/* Fills *ret. -EKEYREJECTED: none, or not of this trust at that time. */
int tls_trust_peer(const struct tls_trust *t, struct stream *s, nsec_t wall, struct tls_peer *ret,
                   struct kerr *err);

/* Is this the TLS stream of a tls_* call? */
bool stream_is_tls(const struct stream *s);

DEFINE_CLEANUP(tls_unref, struct tls_ctx *)
#endif
