/* cert_int.h - what the makers of certificates share. Internal to the net room. */
#ifndef KOORD_NET_CERT_INT_H
#define KOORD_NET_CERT_INT_H
#include "base/base.h"
#include "base/strbuf.h"

#include <openssl/evp.h>
#include <openssl/x509.h>

static inline UNUSED EVP_PKEY *pkey_drop(EVP_PKEY *k)
{
    EVP_PKEY_free(k);
    return NULL;
}
DEFINE_CLEANUP(pkey_drop, EVP_PKEY *)

bool cert_is_address(const char *host); /* IPv4 or IPv6 */
bool cert_add_extension(X509 *c, int nid, const char *value);
/* Names and IP addresses; NULL ends. */
bool cert_add_hosts(X509 *c, const char *const *hosts);
bool cert_set_serial(X509 *c); /* a random one */
bool cert_set_name(X509_NAME *name, const char *common_name);
/* Appends the PEM text; the key as PKCS#1 or SEC1 when traditional, else as PKCS#8. */
bool cert_write(X509 *c, struct strbuf *out);
bool cert_write_key(EVP_PKEY *k, bool traditional, struct strbuf *out);
#endif
