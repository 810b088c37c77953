/* user.h - who makes a request: name, uid, groups and what else authentication says of him.
 *
 * A plain value. Its texts live where it lives: in a call's arena, in the table that a token was
 * found in (copied into the arena of the call), or for ever.
 */
#ifndef KOORD_APISERVER_AUTHN_USER_H
#define KOORD_APISERVER_AUTHN_USER_H
#include "base/arena.h"
#include "base/base.h"

struct kj_val;
struct kjw;

#define GROUP_MASTERS         "system:masters" /* may do everything, whatever roles say */
#define GROUP_AUTHENTICATED   "system:authenticated"
#define GROUP_UNAUTHENTICATED "system:unauthenticated"
#define GROUP_ACCOUNTS        "system:serviceaccounts"
#define USER_ANONYMOUS        "system:anonymous"
#define USER_ACCOUNT_PREFIX   "system:serviceaccount:" /* then NAMESPACE:NAME */

struct user_extra {
    const char *key;
    const char *const *values;
    size_t n;
};
struct api_user {
    const char *name, *uid; /* uid "": none */
    const char *const *groups;
    size_t ngroups;
    const struct user_extra *extra;
    size_t nextra;
};

extern const struct api_user api_user_admin;     /* "admin": who has the administrator's token */
extern const struct api_user api_user_server;    /* the server's requests to itself */
extern const struct api_user api_user_anonymous; /* only where anonymous requests are allowed */

bool user_in_group(const struct api_user *u, const char *group);
const struct api_user *user_copy(const struct api_user *u, struct arena *a);
/* The same with one group more; as it is when he is in it already. */
const struct api_user *user_with_group(const struct api_user *u, const char *group,
                                       struct arena *a);
/* In-process users are trusted: they are administrators under another name. */
const struct api_user *user_trusted(const char *name, struct arena *a);

/* A service account's name in three parts; false: it is not one's. */
bool user_account_of(const char *name, struct str *ret_ns, struct str *ret_name);
/* Who a service account is, without what its token adds. */
const struct api_user *user_of_account(const char *ns, const char *name, const char *uid,
                                       struct arena *a);

/* authentication.k8s.io UserInfo: {"username":..,"uid":..,"groups":[..],"extra":{..}}. */
void api_user_write(const struct api_user *u, struct kjw *w, const char *key);
/* A user as a SubjectAccessReview describes him: user, uid, groups, extra. Texts are borrowed from
 * the document. */
const struct api_user *api_user_read(const struct kj_val *spec, struct arena *a);
#endif
