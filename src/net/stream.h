/* stream.h - a connected byte stream: TCP, unix socket, TLS over another stream, or memory.
 *
 * Everything above (HTTP/1.1, HTTP/2, gRPC) sees only this, so protocol code runs the same over a
 * socket on the real loop and over memory on the virtual one. Loop thread only.
 *
 * Ownership: whoever holds the pointer calls stream_close() once, which frees it; no event comes
 * after that. on_close is the last event of a stream whose other side went away; the holder still
 * calls stream_close(), also from inside the event. Events never come from inside a call.
 */
#ifndef KOORD_NET_STREAM_H
#define KOORD_NET_STREAM_H
#include "base/base.h"

struct loop;
struct stream;
struct tls_ctx;

struct stream_events {
    void (*on_data)(void *arg, const char *p, size_t n);
    void (*on_drain)(
        void *arg); /* the write queue fell under STREAM_LOW_WATER again; may be NULL */
    /* The peer closed (err == NULL) or the connection failed. */
    void (*on_close)(void *arg, const struct kerr *err);
    /* The peer has ended its side and may still read ours: writing goes on, and on_close comes only
     * when that fails. NULL: the end of its side is the end of the stream (on_close). Sockets and
     * memory; TLS knows no such half. */
    void (*on_eof)(void *arg);
};
enum { STREAM_HIGH_WATER = 256 * 1024, STREAM_LOW_WATER = 64 * 1024 };

struct stream_ops {
    void (*write)(struct stream *s, const void *p, size_t n);
    size_t (*queued)(const struct stream *s);
    void (*pause)(struct stream *s, bool paused);
    void (*shutdown)(struct stream *s);
    void (*close)(struct stream *s);
    const char *(*alpn)(const struct stream *s);
    void (*flush)(struct stream *s); /* may be NULL */
};
struct stream { /* head of every kind of stream */
    const struct stream_ops *ops;
    const struct stream_events *ev; /* NULL until somebody listens: data is held back till then */
    void *arg;
};

/* From now on events go here; reading starts in a later turn (also after a pause). ev NULL: data is
 * held back again, for the next listener. */
void stream_listen(struct stream *s, const struct stream_events *ev, void *arg);
/* Copies what cannot be sent at once; writes of one turn leave together. Never fails visibly: a
 * broken connection shows in on_close. */
static inline void stream_write(struct stream *s, const void *p, size_t n)
{
    s->ops->write(s, p, n);
}
/* A hint that the writer is done for this turn: TLS makes its record now, not in a turn of its own.
 */
static inline void stream_flush(struct stream *s)
{
    if (s->ops->flush)
        s->ops->flush(s);
}
static inline size_t stream_queued(const struct stream *s) /* bytes not yet with the kernel */
{
    return s->ops->queued(s);
}
static inline void stream_pause(struct stream *s, bool paused) /* back-pressure on reading */
{
    s->ops->pause(s, paused);
}
static inline void stream_shutdown(struct stream *s) /* end of our side, after what is queued */
{
    s->ops->shutdown(s);
}
/* "h2", "http/1.1", or NULL when nothing was negotiated. */
static inline const char *stream_alpn(const struct stream *s)
{
    return s->ops->alpn ? s->ops->alpn(s) : NULL;
}
/* Frees. What is queued is still sent (up to 5 s) unless the connection is broken. NULL is fine;
 * always returns NULL. */
struct stream *stream_close(struct stream *s);

/* ---- connecting ------------------------------------------------------------------------------ */

struct dial_opts {
    const char *host; /* name or literal address */
    uint16_t port;
    const char *unix_path;  /* instead of host and port; "@name" is the abstract namespace */
    nsec_t timeout;         /* 0: 30 s; covers name look-up, connect, proxy and TLS handshake */
    const char *proxy_host; /* CONNECT proxy (plain HTTP), NULL for none */
    uint16_t proxy_port;
    const char *proxy_auth;  /* "user:password" or NULL */
    struct tls_ctx *tls;     /* NULL: plain. Not owned; must live until the call has ended */
    const char *server_name; /* for SNI and verification; NULL: host */
};
struct dial;
/* Exactly one call: a stream that the callee owns, or NULL with the error. */
typedef void (*dial_fn)(void *arg, struct stream *s, const struct kerr *err);
struct dial *stream_dial(struct loop *l, const struct dial_opts *o, dial_fn fn, void *arg);
struct dial *dial_cancel(struct dial *d); /* no call follows; NULL is fine; returns NULL */

/* ---- accepting ------------------------------------------------------------------------------- */

struct listener;
typedef void (*accept_fn)(void *arg, struct stream *s, const char *peer); /* callee owns s */
/* addr: "127.0.0.1:8080", "[::1]:0", or "unix:/path" (mode 0600). Port 0: see listener_port(). */
int listener_open(struct loop *l, const char *addr, accept_fn fn, void *arg, struct listener **ret,
                  struct kerr *err);
/* A unix socket that listens already, of systemd; taken over, and its file is left alone. */
int listener_adopt(struct loop *l, int fd, accept_fn fn, void *arg, struct listener **ret,
                   struct kerr *err);
uint16_t listener_port(const struct listener *ls);
struct listener *listener_close(struct listener *ls); /* NULL is fine; returns NULL */

/* ---- memory ---------------------------------------------------------------------------------- */

/* Two connected ends on any loop. Bytes arrive in a later turn; latency delays them further (real
 * or virtual time), chunk > 0 cuts them into pieces of at most that size: both to shake parsers. */
struct mem_opts {
    nsec_t latency;
    size_t chunk;
};
void stream_mem_pair(struct loop *l, const struct mem_opts *o, struct stream *ret_ends[2]);
/* Breaks the connection: queued data is lost, both ends get on_close with this error. */
void stream_mem_break(struct stream *end, int code, const char *why);

#endif
