/* es256.h - ECDSA signatures on P-256 with SHA-256, as JSON Web Tokens carry them (ES256).
 *
 * A key that signs and checks what it has signed. Pure but for the random numbers of OpenSSL.
 */
#ifndef KOORD_NET_ES256_H
#define KOORD_NET_ES256_H
#include "base/base.h"
#include "base/strbuf.h"

struct es256;
enum { ES256_SIZE = 64, ES256_COORDINATE = 32 };

int es256_new(struct es256 **ret, struct kerr *err); /* a fresh key */
int es256_parse(const char *pem, size_t n, struct es256 **ret, struct kerr *err);
struct es256 *es256_free(struct es256 *k); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(es256_free, struct es256 *)
int es256_format(const struct es256 *k, struct strbuf *pem, struct kerr *err); /* the secret key */
/* The public key: a point, for a JSON Web Key. */
int es256_point(const struct es256 *k, uint8_t x[ES256_COORDINATE], uint8_t y[ES256_COORDINATE],
                struct kerr *err);

int es256_sign(const struct es256 *k, const void *p, size_t n, uint8_t ret[ES256_SIZE],
               struct kerr *err);
bool es256_verify(const struct es256 *k, const void *p, size_t n, const uint8_t sig[ES256_SIZE]);
#endif
