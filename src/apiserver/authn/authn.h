/* authn.h - whose request is this? Bearer tokens of the administrator, of the token file and of
 * service accounts.
 */
#ifndef KOORD_APISERVER_AUTHN_AUTHN_H
#define KOORD_APISERVER_AUTHN_AUTHN_H
#include "apiserver/authn/user.h"

struct apiserver;

/* Who issues the server's tokens, and whom they are for unless they say otherwise. */
#define AUTHN_ISSUER "https://kubernetes.default.svc.cluster.local"

struct authn_answer { /* in the arena or for ever */
    const struct api_user *user;
    const char *const *audiences; /* that were asked for and that the token has; NULL at the end */
};
/* Whose token this is; false: nobody's. wanted: one of these audiences at least, NULL at the end;
 * NULL: the server's own. */
bool authn_token(const struct apiserver *s, struct str token, const char *const *wanted,
                 struct arena *a, struct authn_answer *ret);
/* Who makes a request with this header Authorization (p NULL: none); NULL: 401. */
const struct api_user *authn_header(const struct apiserver *s, struct str authorization,
                                    struct arena *a);
#endif
