/* certauth.c - a CA, what it signs, and checks, by OpenSSL. */
#include "net/certauth.h"

#include <ctype.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "net/cert_int.h"
#include "net/tls_int.h"

enum { RSA_BITS = 2048, CERTS_MAX = 64, HOST_MAX = 253 };
#define DAY_S INT64_C(86400)

/* ---- reading --------------------------------------------------------------------------------- */

static BIO *bio_of(struct str pem)
{
    return pem.n && pem.n <= INT32_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
}

static int no_password(char *buf, int size, int rwflag, void *arg)
{
    (void)buf, (void)size, (void)rwflag, (void)arg;
    return 0;
}

static X509 *read_cert(struct str pem)
{
    BIO *b = bio_of(pem);
    X509 *c = b ? PEM_read_bio_X509(b, NULL, no_password, NULL) : NULL;

    BIO_free(b);
    return c;
}

static EVP_PKEY *read_key(struct str pem)
{
    BIO *b = bio_of(pem);
    EVP_PKEY *k = b ? PEM_read_bio_PrivateKey(b, NULL, no_password, NULL) : NULL;

    BIO_free(b);
    return k;
}

/* All certificates of a text, at most CERTS_MAX; the caller frees them. */
static size_t read_certs(struct str pem, X509 *ret[CERTS_MAX])
{
    BIO *b = bio_of(pem);
    size_t n = 0;

    while (b && n < CERTS_MAX && (ret[n] = PEM_read_bio_X509(b, NULL, no_password, NULL)))
        n++;
    BIO_free(b);
    return n;
}

static void drop_certs(X509 **certs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        X509_free(certs[i]);
}

/* ---- making ---------------------------------------------------------------------------------- */

static int failed(struct kerr *err, const char *what)
{
    char why[128];
    return kerr_set(err, -EIO, "make a certificate: %s: %s", what,
                    tls_openssl_reason(why, sizeof why));
}

/* It becomes part of an extension's text, where a comma would begin the next name. */
static int check_host(const char *host, struct kerr *err)
{
    size_t n = strlen(host);

    for (size_t i = 0; i < n && n <= HOST_MAX; i++)
        if (!isalnum((unsigned char)host[i]) && !strchr(".-:_", host[i]))
            n = 0;
    if (n == 0 || n > HOST_MAX)
        return kerr_set(err, -EINVAL, "make a certificate: not a host name: %.60s", host);
    return 0;
}

/* What a CA and a server certificate have in common. */
static X509 *begin(const char *common_name, EVP_PKEY *key)
{
    CLEANUP(x509_drop) X509 *c = X509_new();

    if (!c || X509_set_version(c, 2) != 1 || !cert_set_serial(c) ||
        !cert_set_name(X509_get_subject_name(c), common_name) || X509_set_pubkey(c, key) != 1)
        return NULL;
    return take(c);
}

int certauth_make_ca(const char *common_name, nsec_t now, unsigned days, struct strbuf *cert_pem,
                     struct strbuf *key_pem, struct kerr *err)
{
    const char *const names[] = { common_name, NULL };
    CLEANUP(pkey_drop) EVP_PKEY *key = EVP_RSA_gen(RSA_BITS);
    CLEANUP(x509_drop) X509 *c = key ? begin(common_name, key) : NULL;
    time_t at = (time_t)(now / NSEC_PER_SEC);

    if (check_host(common_name, err) < 0)
        return err->code;
    if (!c || X509_set_issuer_name(c, X509_get_subject_name(c)) != 1 ||
        !ASN1_TIME_set(X509_getm_notBefore(c), at - 3600) ||
        !ASN1_TIME_set(X509_getm_notAfter(c), at + (time_t)(days * DAY_S)))
        return failed(err, "its contents");
    if (!cert_add_extension(c, NID_basic_constraints, "critical,CA:TRUE") ||
        !cert_add_extension(c, NID_key_usage,
                            "critical,digitalSignature,keyEncipherment,keyCertSign") ||
        !cert_add_extension(c, NID_subject_key_identifier, "hash") || !cert_add_hosts(c, names))
        return failed(err, "an extension");
    if (X509_sign(c, key, EVP_sha256()) == 0)
        return failed(err, "signing");
    return cert_write(c, cert_pem) && cert_write_key(key, true, key_pem)
               ? 0
               : failed(err, "writing it");
}

static bool set_leaf(X509 *c, X509 *ca, const struct certauth_leaf *o)
{
    const char *const hosts[] = { "localhost", o->host, NULL };
    time_t at = (time_t)(o->now / NSEC_PER_SEC);

    return X509_set_issuer_name(c, X509_get_subject_name(ca)) == 1 &&
           X509_set1_notBefore(c, X509_get0_notBefore(ca)) == 1 &&
           ASN1_TIME_set(X509_getm_notAfter(c), at + (time_t)(o->days * DAY_S)) &&
           cert_add_extension(c, NID_key_usage, "critical,digitalSignature,keyEncipherment") &&
           cert_add_extension(c, NID_ext_key_usage, "serverAuth") && cert_add_hosts(c, hosts);
}

int certauth_sign(const struct certauth_leaf *o, struct strbuf *cert_pem, struct strbuf *key_pem,
                  struct kerr *err)
{
    CLEANUP(x509_drop) X509 *ca = read_cert(o->ca_cert), *c = NULL;
    CLEANUP(pkey_drop) EVP_PKEY *ca_key = read_key(o->ca_key), *key = NULL;

    if (!ca || !ca_key)
        return failed(err, "the CA");
    if (check_host(o->host, err) < 0)
        return err->code;
    key = EVP_RSA_gen(RSA_BITS);
    /* A common name has 64 characters at most; nobody reads it beside the alternative names. */
    c = key ? begin(strlen(o->host) > 64 ? "koord-webhook" : o->host, key) : NULL;
    if (!c || !set_leaf(c, ca, o))
        return failed(err, "its contents");
    if (X509_sign(c, ca_key, EVP_sha256()) == 0)
        return failed(err, "signing");
    return cert_write(c, cert_pem) && cert_write_key(key, true, key_pem)
               ? 0
               : failed(err, "writing it");
}

/* ---- checking -------------------------------------------------------------------------------- */

bool certauth_is_pair(struct str cert, struct str key)
{
    CLEANUP(x509_drop) X509 *c = read_cert(cert);
    CLEANUP(pkey_drop) EVP_PKEY *k = read_key(key);

    return c && k && X509_check_private_key(c, k) == 1;
}

static int verify_with(X509_STORE *trusted, X509_STORE_CTX *ctx, X509 *cert, const char *host,
                       nsec_t at, struct kerr *err)
{
    if (X509_STORE_CTX_init(ctx, trusted, cert, NULL) != 1)
        return failed(err, "the check");
    X509_VERIFY_PARAM *p = X509_STORE_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_time(p, (time_t)(at / NSEC_PER_SEC));
    /* A CA that was given to us is trusted whether it signed itself or not. */
    X509_VERIFY_PARAM_set_flags(p, X509_V_FLAG_PARTIAL_CHAIN);
    if (host && (cert_is_address(host) ? X509_VERIFY_PARAM_set1_ip_asc(p, host)
                                       : X509_VERIFY_PARAM_set1_host(p, host, 0)) != 1)
        return kerr_set(err, -EINVAL, "not a host name: %.60s", host);
    if (X509_verify_cert(ctx) != 1)
        return kerr_set(err, -EKEYREJECTED, "%s",
                        X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
    return 0;
}

int certauth_verify(struct str cert, struct str ca, const char *host, nsec_t at, struct kerr *err)
{
    CLEANUP(x509_drop) X509 *c = read_cert(cert);
    X509 *roots[CERTS_MAX];
    size_t n = read_certs(ca, roots);
    X509_STORE *trusted = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    int r;

    if (!c)
        r = kerr_set(err, -EINVAL, "the certificate cannot be read");
    else if (n == 0 || !trusted || !ctx)
        r = kerr_set(err, -EINVAL, "the CA's certificate cannot be read");
    else {
        for (size_t i = 0; i < n; i++)
            X509_STORE_add_cert(trusted, roots[i]);
        r = verify_with(trusted, ctx, c, host, at, err);
    }
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(trusted);
    drop_certs(roots, n);
    return r;
}

/* ---- bundles --------------------------------------------------------------------------------- */

static bool has(X509 *const *certs, size_t n, const X509 *c)
{
    for (size_t i = 0; i < n; i++)
        if (X509_cmp(certs[i], c) == 0)
            return true;
    return false;
}

static bool has_run_out(const X509 *c, nsec_t at)
{
    time_t t = (time_t)(at / NSEC_PER_SEC);
    return X509_cmp_time(X509_get0_notAfter(c), &t) <= 0;
}

size_t certauth_bundle(const struct str *pems, size_t n, size_t max, nsec_t at, struct strbuf *out)
{
    X509 *kept[CERTS_MAX];
    size_t nkept = 0;

    assert(max <= CERTS_MAX);
    for (size_t i = 0; i < n; i++) {
        X509 *certs[CERTS_MAX];
        size_t ncerts = read_certs(pems[i], certs);
        for (size_t j = 0; j < ncerts; j++) {
            if (nkept < max && !has(kept, nkept, certs[j]) && !has_run_out(certs[j], at) &&
                cert_write(certs[j], out))
                kept[nkept++] = certs[j];
            else
                X509_free(certs[j]);
        }
    }
    drop_certs(kept, nkept);
    return nkept;
}

bool certauth_contains(struct str bundle, struct str ca)
{
    X509 *all[CERTS_MAX], *wanted[CERTS_MAX];
    size_t nall = read_certs(bundle, all), nwanted = read_certs(ca, wanted);
    bool found = nwanted > 0;

    for (size_t i = 0; i < nwanted && found; i++)
        found = has(all, nall, wanted[i]);
    drop_certs(all, nall);
    drop_certs(wanted, nwanted);
    return found;
}
