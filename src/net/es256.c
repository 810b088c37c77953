/* es256.c - OpenSSL's signatures are DER, those of tokens two numbers side by side. */
#include "net/es256.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

struct es256 {
    EVP_PKEY *key;
};

static int failed(struct kerr *err, const char *what)
{
    return kerr_set(err, -EIO, "key for tokens: %s failed", what);
}

int es256_new(struct es256 **ret, struct kerr *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");

    if (!key)
        return failed(err, "making one");
    *ret = xnew0(struct es256);
    (*ret)->key = key;
    return 0;
}

static bool is_p256(const EVP_PKEY *key)
{
    char group[32] = "";
    size_t n;

    return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
           EVP_PKEY_get_group_name(key, group, sizeof group, &n) == 1 &&
           (streq(group, "prime256v1") || streq(group, "P-256"));
}

int es256_parse(const char *pem, size_t n, struct es256 **ret, struct kerr *err)
{
    BIO *bio = n <= INT_MAX ? BIO_new_mem_buf(pem, (int)n) : NULL;
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;

    BIO_free(bio);
    if (!key || !is_p256(key)) {
        EVP_PKEY_free(key);
        return failed(err, "reading it");
    }
    *ret = xnew0(struct es256);
    (*ret)->key = key;
    return 0;
}

struct es256 *es256_free(struct es256 *k)
{
    if (!k)
        return NULL;
    EVP_PKEY_free(k->key);
    free(k);
    return NULL;
}

int es256_format(const struct es256 *k, struct strbuf *pem, struct kerr *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;

    if (!bio || PEM_write_bio_PrivateKey(bio, k->key, NULL, NULL, 0, NULL, NULL) != 1) {
        BIO_free(bio);
        return failed(err, "writing it");
    }
    long n = BIO_get_mem_data(bio, &text);
    strbuf_appendn(pem, text, (size_t)n);
    BIO_free(bio);
    return 0;
}

static bool coordinate(const EVP_PKEY *key, const char *name, uint8_t out[ES256_COORDINATE])
{
    BIGNUM *v = NULL;
    bool ok = EVP_PKEY_get_bn_param(key, name, &v) == 1 &&
              BN_bn2binpad(v, out, ES256_COORDINATE) == ES256_COORDINATE;

    BN_free(v);
    return ok;
}

int es256_point(const struct es256 *k, uint8_t x[ES256_COORDINATE], uint8_t y[ES256_COORDINATE],
                struct kerr *err)
{
    if (!coordinate(k->key, OSSL_PKEY_PARAM_EC_PUB_X, x) ||
        !coordinate(k->key, OSSL_PKEY_PARAM_EC_PUB_Y, y))
        return failed(err, "reading its public part");
    return 0;
}

int es256_sign(const struct es256 *k, const void *p, size_t n, uint8_t ret[ES256_SIZE],
               struct kerr *err)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    uint8_t der[128];
    size_t len = sizeof der;
    const uint8_t *at = der;

    bool ok = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
              EVP_DigestSign(ctx, der, &len, p, n) == 1;
    EVP_MD_CTX_free(ctx);
    ECDSA_SIG *sig = ok ? d2i_ECDSA_SIG(NULL, &at, (long)len) : NULL;
    ok = sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), ret, 32) == 32 &&
         BN_bn2binpad(ECDSA_SIG_get0_s(sig), ret + 32, 32) == 32;
    ECDSA_SIG_free(sig);
    return ok ? 0 : failed(err, "signing");
}

/* NULL: out of memory. */
static ECDSA_SIG *signature_of(const uint8_t raw[ES256_SIZE])
{
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, 32, NULL), *s = BN_bin2bn(raw + 32, 32, NULL);

    if (sig && r && s && ECDSA_SIG_set0(sig, r, s) == 1)
        return sig;
    ECDSA_SIG_free(sig);
    BN_free(r);
    BN_free(s);
    return NULL;
}

bool es256_verify(const struct es256 *k, const void *p, size_t n, const uint8_t raw[ES256_SIZE])
{
    ECDSA_SIG *sig = signature_of(raw);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    uint8_t *der = NULL;
    int len = sig ? i2d_ECDSA_SIG(sig, &der) : -1;

    bool good = ctx && len > 0 &&
                EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
                EVP_DigestVerify(ctx, der, (size_t)len, p, n) == 1;
    OPENSSL_free(der);
    ECDSA_SIG_free(sig);
    EVP_MD_CTX_free(ctx);
    return good;
}
