/* hookcall.h - one POST of JSON to a webhook server: admission and conversion use it.
 *
 * A clientConfig names the server by URL or by Service. Connections are kept and shared by all
 * calls to the same server with the same CA; their number, the time of a call and the size of its
 * answer are bounded. Whatever goes wrong becomes a text in the words of kube-apiserver. Loop
 * thread only; the callback comes in a later turn, exactly once unless the call was cancelled.
 */
#ifndef KOORD_APISERVER_ADMISSION_HOOKCALL_H
#define KOORD_APISERVER_ADMISSION_HOOKCALL_H
#include "json/kj.h"

struct apiserver;
struct hookcall;
struct hookcalls; /* the connections of a server */
struct http;
struct loop;

struct hookcalls *hookcalls_new(struct apiserver *s);
struct hookcalls *hookcalls_free(struct hookcalls *p); /* NULL is fine; returns NULL */

/* How to reach a server; replaced in tests on the virtual loop. NULL: TLS over sockets. */
typedef struct http *(*hook_transport_fn)(void *arg, const char *host, uint16_t port);
void hookcalls_set_transport(struct hookcalls *p, hook_transport_fn fn, void *arg);

/* error NULL: body is the text of a 2xx answer. Valid during the call. */
typedef void (*hook_done_fn)(void *arg, const char *error, const char *body, size_t n);
/* config: {"url"} or {"service"}, and "caBundle"; read before this returns. */
struct hookcall *hookcall_start(struct hookcalls *p, const struct kj_val *config, int64_t timeout_s,
                                const char *body, size_t n, hook_done_fn fn, void *arg);
struct hookcall *hookcall_cancel(struct hookcall *c); /* NULL is fine; returns NULL */
#endif
