/* jwt.h - JSON Web Tokens signed with ES256: written, and read only when the signature is right.
 *
 * Any other algorithm, "none" among them, is refused before anything else of the token is read.
 */
#ifndef KOORD_APISERVER_AUTHN_JWT_H
#define KOORD_APISERVER_AUTHN_JWT_H
#include "base/base.h"
#include "base/strbuf.h"
#include "json/kj.h"

struct es256;

enum { JWT_MAX = 16 << 10 }; /* bytes of a token; longer ones are nobody's */

int jwt_sign(const struct es256 *key, const char *kid, const struct strbuf *claims,
             struct strbuf *ret, struct kerr *err);
/* The claims, an object. -EINVAL: it is no token; -EACCES: another key or algorithm, or forged. */
int jwt_verify(const struct es256 *key, const char *kid, struct str token, struct kj_doc **ret,
               struct kerr *err);
/* What key ids are made of, and what goes into a JSON Web Key. */
void jwt_base64url(const void *p, size_t n, struct strbuf *out);
#endif
