/* certauth.h - a certificate authority of a program's own: an RSA CA, server certificates that it
 * signs, checks of both, and bundles of CAs.
 *
 * Making keys takes long (tens of milliseconds, sometimes much more): that is for a worker. No
 * function here has state; any thread may call. Certificates and keys are PEM texts.
 */
#ifndef KOORD_NET_CERTAUTH_H
#define KOORD_NET_CERTAUTH_H
#include "base/base.h"
#include "base/strbuf.h"

/* Appends a CA certificate (RSA 2048, valid from an hour before now) and its key (PKCS#1). */
int certauth_make_ca(const char *common_name, nsec_t now, unsigned days, struct strbuf *cert_pem,
                     struct strbuf *key_pem, struct kerr *err);

struct certauth_leaf {
    struct str ca_cert, ca_key;
    const char *host; /* a DNS name or an IP address; "localhost" is named beside it */
    nsec_t now;
    unsigned days;
};
/* Appends a server certificate (RSA 2048) and its key (PKCS#1). It is valid from when the CA is. */
int certauth_sign(const struct certauth_leaf *o, struct strbuf *cert_pem, struct strbuf *key_pem,
                  struct kerr *err);

/* Does the key belong to the certificate? */
bool certauth_is_pair(struct str cert, struct str key);
/* Would a client that trusts these CAs believe the server certificate, at that time? host NULL: of
 * any name. The error says why not. */
int certauth_verify(struct str cert, struct str ca, const char *host, nsec_t at, struct kerr *err);

/* Appends the certificates of these texts, each once, without those that have run out by then; at
 * most max of them. What is no certificate is left out. Returns how many there are. */
size_t certauth_bundle(const struct str *pems, size_t n, size_t max, nsec_t at, struct strbuf *out);
/* Is each certificate of ca also in the bundle? false when ca has none. */
bool certauth_contains(struct str bundle, struct str ca);
#endif
