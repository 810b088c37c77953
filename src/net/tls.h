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
/* Is this the TLS stream of a tls_* call? */
bool stream_is_tls(const struct stream *s);

DEFINE_CLEANUP(tls_unref, struct tls_ctx *)
#endif
