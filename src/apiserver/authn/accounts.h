/* accounts.h - tokens of service accounts: who signs them, whom they stand for, and for how long.
 *
 * The key is made once and kept with the server's data. A token that was found good is remembered
 * by its digest (bounded), so a signature is checked once; that its account, its uid and the object
 * it is bound to are still there is looked up at every request. Loop thread only.
 */
#ifndef KOORD_APISERVER_AUTHN_ACCOUNTS_H
#define KOORD_APISERVER_AUTHN_ACCOUNTS_H
#include "apiserver/authn/authn.h"
#include "base/strbuf.h"

struct accounts;
struct api_call;
struct kj_val;

/* kept: the key is read from the store, or made and put there. */
int accounts_new(struct apiserver *s, bool kept, struct accounts **ret, struct kerr *err);
struct accounts *accounts_free(struct accounts *a); /* NULL is fine; returns NULL */

bool accounts_authenticate(struct accounts *a, struct str token, const char *const *wanted,
                           struct arena *arena, struct authn_answer *ret);
/* Claims, signed. */
int accounts_sign(const struct accounts *a, const struct strbuf *claims, struct strbuf *ret,
                  struct kerr *err);
/* /openid/v1/jwks: the public key. */
int accounts_keys(const struct accounts *a, struct strbuf *out, struct kerr *err);
#endif
