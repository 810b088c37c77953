/* stream_uv.h - sockets of libuv as streams; for dial.c and listener.c only. */
#ifndef KOORD_NET_STREAM_UV_H
#define KOORD_NET_STREAM_UV_H
#include "net/stream.h"

struct uv_stream_s;

/* Takes over a connected (accepted) TCP or pipe handle that came from malloc; the stream closes and
 * frees it. TCP_NODELAY is set here. */
struct stream *stream_uv_wrap(struct loop *l, struct uv_stream_s *h);
/* Closes a handle from malloc that never became a stream, and frees it. */
void stream_uv_discard(struct uv_stream_s *h);
#endif
