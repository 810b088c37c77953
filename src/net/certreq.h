/* certreq.h - requests for certificates (PKCS #10) and certificates in PEM, as the API carries
 * them. Pure: reads texts, keeps nothing. Untrusted input.
 */
#ifndef KOORD_NET_CERTREQ_H
#define KOORD_NET_CERTREQ_H
#include "base/base.h"

/* The first block of the text is a request that its own key has signed. */
int certreq_check(const char *pem, size_t n, struct kerr *err);
/* Is this one of the organizations of its subject? false too for what is no request. */
bool certreq_has_organization(const char *pem, size_t n, const char *name);
/* Blocks of certificates, one at least, and no other blocks. */
int certreq_check_issued(const char *pem, size_t n, struct kerr *err);
#endif
