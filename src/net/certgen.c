/* certgen.c - self-signed certificates by OpenSSL, and the steps that all makers of certificates
 * share. */
#include "net/certgen.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "net/cert_int.h"
#include "net/tls_int.h"

static int failed(struct kerr *err, const char *what)
{
    return kerr_set(err, -EIO, "make a certificate: %s failed", what);
}

bool cert_add_extension(X509 *c, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, c, c, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = e && X509_add_ext(c, e, -1) == 1;
    X509_EXTENSION_free(e);
    return ok;
}

bool cert_is_address(const char *host)
{
    unsigned char raw[16];
    return inet_pton(AF_INET, host, raw) == 1 || inet_pton(AF_INET6, host, raw) == 1;
}

bool cert_add_hosts(X509 *c, const char *const *hosts)
{
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;
    for (size_t i = 0; hosts && hosts[i]; i++)
        strbuf_appendf(&names, "%s%s:%s", i ? "," : "", cert_is_address(hosts[i]) ? "IP" : "DNS",
                       hosts[i]);
    return names.len == 0 || cert_add_extension(c, NID_subject_alt_name, strbuf_str(&names));
}

bool cert_set_serial(X509 *c)
{
    unsigned char raw[8];
    uint64_t serial;
    if (RAND_bytes(raw, sizeof raw) != 1)
        return false;
    memcpy(&serial, raw, sizeof serial);
    return ASN1_INTEGER_set_uint64(X509_get_serialNumber(c), serial >> 1 | 1) == 1;
}

static bool set_times(X509 *c, nsec_t now, unsigned days)
{
    time_t from = (time_t)(now / NSEC_PER_SEC) - 3600;
    time_t to = from + (time_t)days * 86400;
    return ASN1_TIME_set(X509_getm_notBefore(c), from) && ASN1_TIME_set(X509_getm_notAfter(c), to);
}

bool cert_set_name(X509_NAME *name, const char *common_name)
{
    return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common_name,
                                      -1, -1, 0) == 1;
}

/* Frees the BIO. */
static bool take_bio(BIO *b, bool ok, struct strbuf *out)
{
    char *text;
    long n = ok ? BIO_get_mem_data(b, &text) : 0;

    if (n > 0)
        strbuf_appendn(out, text, (size_t)n);
    BIO_free(b);
    return n > 0;
}

bool cert_write(X509 *c, struct strbuf *out)
{
    BIO *b = BIO_new(BIO_s_mem());
    return b && take_bio(b, PEM_write_bio_X509(b, c) == 1, out);
}

bool cert_write_key(EVP_PKEY *k, bool traditional, struct strbuf *out)
{
    BIO *b = BIO_new(BIO_s_mem());

    if (!b)
        return false;
    int r = traditional ? PEM_write_bio_PrivateKey_traditional(b, k, NULL, NULL, 0, NULL, NULL)
                        : PEM_write_bio_PrivateKey(b, k, NULL, NULL, 0, NULL, NULL);
    return take_bio(b, r == 1, out);
}

int certgen_self_signed(const struct certgen_opts *o, struct strbuf *cert_pem,
                        struct strbuf *key_pem, struct kerr *err)
{
    CLEANUP(pkey_drop) EVP_PKEY *key = EVP_EC_gen("P-256");
    CLEANUP(x509_drop) X509 *c = X509_new();

    if (!key || !c)
        return failed(err, "the key");
    if (X509_set_version(c, 2) != 1 || !cert_set_serial(c) || !set_times(c, o->now, o->days) ||
        !cert_set_name(X509_get_subject_name(c), o->common_name) ||
        X509_set_issuer_name(c, X509_get_subject_name(c)) != 1 || X509_set_pubkey(c, key) != 1)
        return failed(err, "its contents");
    if (!cert_add_extension(c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !cert_add_extension(c, NID_key_usage, "critical,digitalSignature,keyCertSign") ||
        !cert_add_extension(c, NID_ext_key_usage, "serverAuth") || !cert_add_hosts(c, o->hosts))
        return failed(err, "an extension");
    if (X509_sign(c, key, EVP_sha256()) == 0)
        return failed(err, "signing");
    return cert_write(c, cert_pem) && cert_write_key(key, false, key_pem)
               ? 0
               : failed(err, "writing it");
}

nsec_t certgen_expires(const char *cert_pem, size_t n)
{
    BIO *b = BIO_new_mem_buf(cert_pem, (int)n);
    CLEANUP(x509_drop) X509 *c = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;
    struct tm tm = { 0 };

    BIO_free(b);
    if (!c || ASN1_TIME_to_tm(X509_get0_notAfter(c), &tm) != 1)
        return 0;
    return (nsec_t)timegm(&tm) * NSEC_PER_SEC;
}
