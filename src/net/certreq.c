/* certreq.c - requests for certificates, and what was issued for them. */
#include "net/certreq.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "net/cert_int.h"

struct block { /* of a PEM text; OpenSSL's memory */
    char *type, *header;
    unsigned char *der;
    long n;
};

static void block_fini_p(struct block *b)
{
    OPENSSL_free(b->type);
    OPENSSL_free(b->header);
    OPENSSL_free(b->der);
}

static BIO *bio_drop(BIO *b)
{
    BIO_free(b);
    return NULL;
}
DEFINE_CLEANUP(bio_drop, BIO *)

static X509_REQ *req_drop(X509_REQ *r)
{
    X509_REQ_free(r);
    return NULL;
}
DEFINE_CLEANUP(req_drop, X509_REQ *)

static BIO *text_bio(const char *pem, size_t n)
{
    return n <= INT_MAX ? BIO_new_mem_buf(pem, (int)n) : NULL;
}

/* false: no further one. What OpenSSL has to say of it concerns nobody else. */
static bool block_next(BIO *bio, struct block *b)
{
    bool found = PEM_read_bio(bio, &b->type, &b->header, &b->der, &b->n) == 1;
    ERR_clear_error();
    return found;
}

static int req_read(const char *pem, size_t n, X509_REQ **ret, struct kerr *err)
{
    CLEANUP(bio_drop) BIO *bio = text_bio(pem, n);
    CLEANUP(block_fini) struct block b = { 0 };

    if (!bio || !block_next(bio, &b) || !streq(b.type, "CERTIFICATE REQUEST"))
        return kerr_set(err, -EINVAL, "PEM block type must be CERTIFICATE REQUEST");
    const unsigned char *p = b.der;
    X509_REQ *req = d2i_X509_REQ(NULL, &p, b.n);
    ERR_clear_error();
    if (req && p == b.der + b.n) {
        *ret = req;
        return 0;
    }
    X509_REQ_free(req);
    return req ? kerr_set(err, -EINVAL, "asn1: syntax error: trailing data")
               : kerr_set(err, -EINVAL, "asn1: structure error: no certificate request");
}

int certreq_check(const char *pem, size_t n, struct kerr *err)
{
    CLEANUP(req_drop) X509_REQ *req = NULL;
    int e = req_read(pem, n, &req, err);

    if (e < 0)
        return e;
    EVP_PKEY *key = X509_REQ_get0_pubkey(req);
    bool good = key && X509_REQ_verify(req, key) == 1;
    ERR_clear_error();
    if (!key)
        return kerr_set(err, -EINVAL, "x509: unknown public key algorithm");
    return good ? 0 : kerr_set(err, -EINVAL, "x509: the signature is not that of the key");
}

bool certreq_has_organization(const char *pem, size_t n, const char *name)
{
    CLEANUP(req_drop) X509_REQ *req = NULL;
    bool found = false;

    if (req_read(pem, n, &req, NULL) < 0)
        return false;
    X509_NAME *subject = X509_REQ_get_subject_name(req);
    for (int at = -1;
         !found && (at = X509_NAME_get_index_by_NID(subject, NID_organizationName, at)) >= 0;) {
        unsigned char *text = NULL;
        int len =
            ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
        found = len == (int)strlen(name) && memcmp(text, name, (size_t)len) == 0;
        OPENSSL_free(text);
    }
    ERR_clear_error();
    return found;
}

/* A block may hold several, one behind the other. */
static bool has_certificates(const struct block *b)
{
    const unsigned char *p = b->der, *end = b->der + b->n;

    while (p < end) {
        X509 *x = d2i_X509(NULL, &p, end - p);
        ERR_clear_error();
        if (!x)
            return false;
        X509_free(x);
    }
    return b->n > 0;
}

int certreq_check_issued(const char *pem, size_t n, struct kerr *err)
{
    CLEANUP(bio_drop) BIO *bio = text_bio(pem, n);

    for (size_t i = 0;; i++) {
        CLEANUP(block_fini) struct block b = { 0 };
        char q[80];
        if (!bio || !block_next(bio, &b))
            return i ? 0
                     : kerr_set(err, -EINVAL, "must contain at least one CERTIFICATE PEM block");
        if (!streq(b.type, "CERTIFICATE"))
            return kerr_set(err, -EINVAL, "only CERTIFICATE PEM blocks are allowed, found %s",
                            text_quote(q, sizeof q, b.type, strlen(b.type)));
        if (*b.header)
            return kerr_set(err, -EINVAL, "no PEM block headers are permitted");
        if (!has_certificates(&b))
            return kerr_set(err, -EINVAL, "x509: malformed certificate");
    }
}
