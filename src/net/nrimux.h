/* nrimux.h - NRI's multiplexer: several byte streams over one connection (runtime-proxy 6.2).
 *
 * A core without I/O: bytes in, payloads out, and frames to write. A connection is opened by using
 * its number; frames of numbers that nobody serves are the listener's to drop. Any thread.
 */
#ifndef KOORD_NET_NRIMUX_H
#define KOORD_NET_NRIMUX_H
#include "base/base.h"
#include "base/strbuf.h"

enum {
    NRIMUX_PLUGIN = 1,  /* the plugin's service: the runtime calls */
    NRIMUX_RUNTIME = 2, /* the runtime's service: the plugin calls */
};
enum {
    NRIMUX_HEAD = 8,
    NRIMUX_PAYLOAD_MAX = (4 << 20) + 10, /* of one frame */
    /* Go's reader puts a frame that starts a message into a buffer of this size, and gives the
     * session up when it does not fit. */
    NRIMUX_FIRST_MAX = 4096,
};

struct nrimux_reader { /* all zero at first */
    unsigned char head[NRIMUX_HEAD];
    uint32_t have; /* bytes of the head */
    uint32_t id, left;
};
/* Bytes of one connection, in order; a frame may come in pieces. false: stop for good, the reader
 * may be gone. */
typedef bool (*nrimux_fn)(void *arg, uint32_t id, const char *p, size_t n);
/* 0, or -EMSGSIZE: a frame is too large, and the connection is of no use any more. */
int nrimux_feed(struct nrimux_reader *r, const char *p, size_t n, nrimux_fn fn, void *arg,
                struct kerr *err);
/* Appends the frames of one whole message: no frame spans two of them. */
void nrimux_put(struct strbuf *out, uint32_t id, struct str message);
#endif
