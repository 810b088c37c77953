/* authn.h - whose request is this? Bearer tokens of the administrator and of the token file, and
 * who acts for somebody else (impersonation).
 */
#ifndef KOORD_APISERVER_AUTHN_AUTHN_H
#define KOORD_APISERVER_AUTHN_AUTHN_H
#include "apiserver/authn/user.h"

struct api_call;
struct apiserver;
struct http_header;

/* Whose token this is, in the arena or for ever; NULL: nobody's. */
const struct api_user *authn_token(const struct apiserver *s, struct str token, struct arena *a);
/* Who makes a request with this header Authorization (p NULL: none); NULL: 401. */
const struct api_user *authn_header(const struct apiserver *s, struct str authorization,
                                    struct arena *a);
#endif
