/* web.h - the dashboard's page and its streams, over HTTP on loopback.
 *
 *   /?key=...          exchanges the key of the printed URL for a cookie, once
 *   / /dash.css /dash.js /icon.svg   the page
 *   /stream?view=overview|nodes|pending|moves   server-sent events, until the page goes
 *   /stream?node=NAME
 * GET only; see session.h for who may ask. Loop thread only.
 */
#ifndef KOORD_DASH_WEB_H
#define KOORD_DASH_WEB_H
#include "base/base.h"

struct dash;
struct stream;
struct strbuf;
struct web;

/* The dash must outlive it. */
int web_new(struct dash *d, struct web **ret, struct kerr *err);
struct web *web_free(struct web *w); /* streams end; NULL is fine; always returns NULL */
DEFINE_CLEANUP(web_free, struct web *)
/* "127.0.0.1:0", "[::1]:8080"; -EPERM for anything that is not loopback. Once. */
int web_listen(struct web *w, const char *addr, struct kerr *err);
/* With the key. */
void web_url(const struct web *w, struct strbuf *out);
/* One connected stream, for tests. */
void web_serve(struct web *w, struct stream *s);
#endif
