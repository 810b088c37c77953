/* test_certauth.c - a CA, what it signs, and who believes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/test/asserts.h"
#include "net/certauth.h"
#include "net/tls.h"

#define WALL0 (INT64_C(1763200000) * NSEC_PER_SEC)
#define DAY   (86400 * NSEC_PER_SEC)
#define NAME  "koordinator-webhook-service.koordinator-system.svc"

struct fixture {
    struct strbuf ca, ca_key, cert, key;
};

static struct str text(const struct strbuf *b)
{
    return (struct str){ b->data, b->len };
}

static void make(struct fixture *f, const char *host)
{
    struct kerr err = { 0 };

    assert_int_equal(certauth_make_ca("webhook-cert-ca", WALL0, 3650, &f->ca, &f->ca_key, &err), 0);
    const struct certauth_leaf o = { text(&f->ca), text(&f->ca_key), host, WALL0 + DAY, 3650 };
    assert_int_equal(certauth_sign(&o, &f->cert, &f->key, &err), 0);
}

static void drop(struct fixture *f)
{
    strbuf_fini(&f->ca);
    strbuf_fini(&f->ca_key);
    strbuf_fini(&f->cert);
    strbuf_fini(&f->key);
}

static int verify(const struct fixture *f, const char *host, nsec_t at)
{
    struct kerr err = { 0 };
    int r = certauth_verify(text(&f->cert), text(&f->ca), host, at, &err);

    assert_true(r == 0 || err.text[0]);
    return r;
}

static void test_a_leaf_is_believed_for_its_names_and_its_time(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    make(&f, NAME);
    assert_int_equal(verify(&f, NAME, WALL0), 0);
    assert_int_equal(verify(&f, "localhost", WALL0 + 3600 * DAY), 0);
    assert_int_equal(verify(&f, NULL, WALL0), 0);
    assert_int_equal(verify(&f, "other.svc", WALL0), -EKEYREJECTED);
    assert_int_equal(verify(&f, NAME, WALL0 - DAY), -EKEYREJECTED);
    /* A day longer than its CA: it does not outlive that. */
    assert_int_equal(verify(&f, NAME, WALL0 + 3650 * DAY + DAY / 2), -EKEYREJECTED);
    drop(&f);
}

static void test_an_address_is_believed_as_an_address(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    make(&f, "192.0.2.7");
    assert_int_equal(verify(&f, "192.0.2.7", WALL0), 0);
    assert_int_equal(verify(&f, "192.0.2.8", WALL0), -EKEYREJECTED);
    drop(&f);
}

static void test_certificates_are_as_specified(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    make(&f, NAME);
    BIO *b = BIO_new_mem_buf(f.ca.data, (int)f.ca.len);
    X509 *ca = PEM_read_bio_X509(b, NULL, NULL, NULL);
    BIO_free(b);
    b = BIO_new_mem_buf(f.cert.data, (int)f.cert.len);
    X509 *c = PEM_read_bio_X509(b, NULL, NULL, NULL);
    BIO_free(b);
    assert_int_equal(EVP_PKEY_get_bits(X509_get0_pubkey(ca)), 2048);
    assert_int_equal(EVP_PKEY_get_base_id(X509_get0_pubkey(c)), EVP_PKEY_RSA);
    assert_int_equal(X509_check_ca(ca), 1);
    assert_int_equal(X509_check_ca(c), 0);
    assert_int_equal(X509_get_key_usage(ca),
                     KU_DIGITAL_SIGNATURE | KU_KEY_ENCIPHERMENT | KU_KEY_CERT_SIGN);
    assert_int_equal(X509_get_extended_key_usage(c), XKU_SSL_SERVER);
    assert_int_equal(ASN1_TIME_compare(X509_get0_notBefore(c), X509_get0_notBefore(ca)), 0);
    assert_int_equal(X509_check_host(ca, "webhook-cert-ca", 0, 0, NULL), 1);
    assert_contains(f.key.data, "BEGIN RSA PRIVATE KEY");
    assert_contains(f.ca_key.data, "BEGIN RSA PRIVATE KEY");
    X509_free(ca);
    X509_free(c);
    drop(&f);
}

static void test_pairs_and_what_is_no_certificate(void **state)
{
    struct fixture f = { 0 }, other = { 0 };
    struct kerr err = { 0 };

    (void)state;
    make(&f, NAME);
    make(&other, NAME);
    assert_true(certauth_is_pair(text(&f.cert), text(&f.key)));
    assert_false(certauth_is_pair(text(&f.cert), text(&other.key)));
    assert_false(certauth_is_pair(text(&f.key), text(&f.cert)));
    assert_false(certauth_is_pair(STR("garbage"), text(&f.key)));
    assert_int_equal(certauth_verify(text(&f.cert), text(&other.ca), NAME, WALL0, &err),
                     -EKEYREJECTED);
    assert_int_equal(certauth_verify(text(&f.cert), STR(""), NAME, WALL0, &err), -EINVAL);
    assert_int_equal(certauth_verify(STR("x"), text(&f.ca), NAME, WALL0, &err), -EINVAL);
    const struct certauth_leaf bad = { text(&f.ca), text(&f.ca_key), "a,DNS:b", WALL0, 1 };
    assert_int_equal(certauth_sign(&bad, &f.cert, &f.key, &err), -EINVAL);
    const struct certauth_leaf none = { STR("x"), text(&f.ca_key), "a", WALL0, 1 };
    assert_that(certauth_sign(&none, &f.cert, &f.key, &err), <, 0);
    drop(&f);
    drop(&other);
}

static void test_a_bundle_holds_each_certificate_once(void **state)
{
    struct fixture f = { 0 }, other = { 0 };
    CLEANUP(strbuf_fini) struct strbuf both = STRBUF_INIT, again = STRBUF_INIT, one = STRBUF_INIT;

    (void)state;
    make(&f, NAME);
    make(&other, NAME);
    const struct str parts[] = { text(&f.ca), STR("# a comment\n"), text(&other.ca), text(&f.ca) };
    assert_int_equal(certauth_bundle(parts, ARRAY_LEN(parts), 4, WALL0, &both), 2);
    assert_true(certauth_contains(text(&both), text(&f.ca)));
    assert_true(certauth_contains(text(&both), text(&other.ca)));
    assert_false(certauth_contains(text(&f.ca), text(&both)));
    assert_false(certauth_contains(text(&both), STR("")));
    assert_int_equal(certauth_bundle(&(struct str){ both.data, both.len }, 1, 4, WALL0, &again), 2);
    assert_string_equal(again.data, both.data);
    assert_int_equal(certauth_bundle(parts, ARRAY_LEN(parts), 1, WALL0, &one), 1);
    assert_true(certauth_contains(text(&one), text(&f.ca)));
    strbuf_reset(&one);
    assert_int_equal(certauth_bundle(parts, 4, 4, WALL0 + 3651 * DAY, &one), 0);
    drop(&f);
    drop(&other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_leaf_is_believed_for_its_names_and_its_time),
        cmocka_unit_test(test_an_address_is_believed_as_an_address),
        cmocka_unit_test(test_certificates_are_as_specified),
        cmocka_unit_test(test_pairs_and_what_is_no_certificate),
        cmocka_unit_test(test_a_bundle_holds_each_certificate_once),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
