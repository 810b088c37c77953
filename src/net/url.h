/* url.h - taking URLs apart and escaping their parts. */
#ifndef KOORD_NET_URL_H
#define KOORD_NET_URL_H
#include "base/arena.h"
#include "base/base.h"
#include "base/strbuf.h"

struct url {
    const char *scheme; /* "https", "http", "unix" */
    const char *user;   /* "name:password" or NULL */
    const char *host;   /* without brackets; for unix: the path */
    uint16_t port;      /* the scheme's default when absent */
    const char *path;   /* with query, "" when absent */
};
/* "https://[::1]:6443/prefix?x=1", "unix:///run/x.sock". A text without scheme counts as https
 * when it has a host, as kubectl does. Parts live in the arena. */
int url_parse(const char *text, struct arena *a, struct url *ret, struct kerr *err);
/* Appends s with everything but unreserved characters as %XX. */
void url_escape(struct strbuf *b, const char *s);
/* Appends "?k=v" or "&k=v". */
void url_add_query(struct strbuf *b, const char *key, const char *value);
/* The first value of a query parameter, unescaped into the arena; NULL when absent. */
const char *url_query_get(const char *target, const char *key, struct arena *a);
char *url_unescape(const char *s, size_t n, bool plus_is_space, struct arena *a); /* NULL: bad */
#endif
