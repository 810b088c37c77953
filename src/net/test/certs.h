/* certs.h - certificates for tests, made on the spot. */
#ifndef KOORD_NET_TEST_CERTS_H
#define KOORD_NET_TEST_CERTS_H
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/base.h"

struct cert {
    X509 *x;
    EVP_PKEY *key;
    char *pem, *key_pem;
};
struct cert_opts {
    const char *cn, *org, *org2;
    const char *san; /* "DNS:localhost,IP:127.0.0.1"; NULL for none */
    bool ca;
    int64_t not_before, not_after; /* seconds since 1970; 0: a century around now */
};

static inline char *cert_bio_text(BIO *b)
{
    char *p;
    long n = BIO_get_mem_data(b, &p);
    char *text = xstrndup(p, (size_t)n);
    BIO_free(b);
    return text;
}

static inline void cert_name(X509_NAME *name, const char *field, const char *value)
{
    if (value)
        X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, (const unsigned char *)value, -1, -1,
                                   0);
}

static inline void cert_ext(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    assert(e);
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
}

/* issuer NULL: signed by itself. */
static inline void cert_make(struct cert *c, const struct cert_opts *o, const struct cert *issuer)
{
    static long serial = 1;

    c->key = EVP_EC_gen("P-256");
    c->x = X509_new();
    X509_set_version(c->x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c->x), serial++);
    ASN1_TIME_set(X509_getm_notBefore(c->x), o->not_before ? o->not_before : 0);
    ASN1_TIME_set(X509_getm_notAfter(c->x), o->not_after ? o->not_after : 4000000000);
    X509_set_pubkey(c->x, c->key);
    X509_NAME *name = X509_get_subject_name(c->x);
    cert_name(name, "CN", o->cn);
    cert_name(name, "O", o->org);
    cert_name(name, "O", o->org2);
    X509_set_issuer_name(c->x, issuer ? X509_get_subject_name(issuer->x) : name);
    if (o->ca) {
        cert_ext(c->x, NID_basic_constraints, "critical,CA:TRUE");
        cert_ext(c->x, NID_key_usage, "critical,keyCertSign,cRLSign");
    }
    if (o->san)
        cert_ext(c->x, NID_subject_alt_name, o->san);
    X509_sign(c->x, issuer ? issuer->key : c->key, EVP_sha256());
    BIO *b = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(b, c->x);
    c->pem = cert_bio_text(b);
    b = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(b, c->key, NULL, NULL, 0, NULL, NULL);
    c->key_pem = cert_bio_text(b);
}

static inline void cert_fini(struct cert *c)
{
    X509_free(c->x);
    EVP_PKEY_free(c->key);
    free(c->pem);
    free(c->key_pem);
    *c = (struct cert){ 0 };
}
#endif
