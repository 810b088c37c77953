/* session.h - who may look: a key that works once, then a cookie; and requests of no other page.
 *
 * The page is served on loopback, where any local process and any page of the person's browser can
 * send requests. So a request must name us as its host (no rebinding of names), come from no other
 * origin, and carry the cookie, which only the browser that opened the printed URL first has.
 * Plain data; secrets are compared in constant time.
 */
#ifndef KOORD_DASH_SESSION_H
#define KOORD_DASH_SESSION_H
#include "base/base.h"

enum { SESSION_SECRET = 48 }; /* characters; 192 bits */
struct session {
    char key[SESSION_SECRET + 1], cookie[SESSION_SECRET + 1];
    uint16_t port; /* part of the cookie's name: browsers share cookies between ports */
    bool key_used;
};

int session_init(struct session *s, struct kerr *err); /* new secrets */
/* 127.0.0.1, localhost or [::1], with our port. */
bool session_host_ok(const struct session *s, struct str host);
/* No origin at all, or the page's own. */
bool session_origin_ok(const struct session *s, struct str origin);
bool session_cookie_ok(const struct session *s, struct str cookies);
/* Whether this key may be exchanged for the cookie: the first time, and for who has that already.
 */
bool session_redeem(struct session *s, const char *key, struct str cookies);
/* The value of Set-Cookie. */
enum { SESSION_COOKIE_MAX = 160 };
void session_set_cookie(const struct session *s, char buf[SESSION_COOKIE_MAX]);
#endif
