/* Requests for certificates: signed by their key, or refused; untrusted input. */
#include "net/certreq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/test/asserts.h"

/* O=team, CN=jane; P-256 */
static const char request[] = "-----BEGIN CERTIFICATE REQUEST-----\n"
                              "MIHaMIGAAgEAMB4xDTALBgNVBAoMBHRlYW0xDTALBgNVBAMMBGphbmUwWTATBgcq\n"
                              "hkjOPQIBBggqhkjOPQMBBwNCAATzT+EFpGwVanuxt6EKVr6eW2yDy98yrZGklo1M\n"
                              "mp6uqvYdrYwGerB67xz5MG8ImeJYXzP7zpFfLCIBOK5pMLIzoAAwCgYIKoZIzj0E\n"
                              "AwIDSQAwRgIhANhGtaFyCiAi5AQyq6UDECgfeWDEaYInUrWc1gIMtuM3AiEA9XrD\n"
                              "Tthz7sPs+iHS2bvBOBwUN+f4vWMe0I1lzrq88yE=\n"
                              "-----END CERTIFICATE REQUEST-----\n";
/* O=system:masters */
static const char masters[] = "-----BEGIN CERTIFICATE REQUEST-----\n"
                              "MIHkMIGKAgEAMCgxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMQ0wCwYDVQQDDARq\n"
                              "YW5lMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE80/hBaRsFWp7sbehCla+nlts\n"
                              "g8vfMq2RpJaNTJqerqr2Ha2MBnqweu8c+TBvCJniWF8z+86RXywiATiuaTCyM6AA\n"
                              "MAoGCCqGSM49BAMCA0kAMEYCIQDxY/QiqgkrHvDNFJe5BCsNZyX0FVd6I9QxFoRK\n"
                              "W3YW+wIhAOM5GlDFMmtvqv5HQBcaF1f+qrHeAqj9HEoz2gx8wbRm\n"
                              "-----END CERTIFICATE REQUEST-----\n";
static const char issued[] = "-----BEGIN CERTIFICATE-----\n"
                             "MIIBdTCCARugAwIBAgIUT4Qjcy35GRylcZ123HGBu9RO+fEwCgYIKoZIzj0EAwIw\n"
                             "DzENMAsGA1UEAwwEamFuZTAgFw0yNjExMTcxNzI5NTNaGA8yMTI2MTAyNDE3Mjk1\n"
                             "M1owDzENMAsGA1UEAwwEamFuZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPNP\n"
                             "4QWkbBVqe7G3oQpWvp5bbIPL3zKtkaSWjUyanq6q9h2tjAZ6sHrvHPkwbwiZ4lhf\n"
                             "M/vOkV8sIgE4rmkwsjOjUzBRMB0GA1UdDgQWBBRf2/3EsjvrDTYC3pmtIrWaqyGJ\n"
                             "sjAfBgNVHSMEGDAWgBRf2/3EsjvrDTYC3pmtIrWaqyGJsjAPBgNVHRMBAf8EBTAD\n"
                             "AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCje6HBQbKgg0lWlm79MebBZ4xqUUP6TL3M\n"
                             "B9zv36RNSQIgH+CghMqrmOhQtHY/u8bxwme1GTmvw7icv86jkfNOXsI=\n"
                             "-----END CERTIFICATE-----\n";

static void refused(const char *pem, size_t n, const char *why)
{
    struct kerr err = { 0 };
    assert_true(certreq_check(pem, n, &err) < 0);
    assert_contains(err.text, why);
}

static void test_requests(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(certreq_check(request, strlen(request), &err), 0);
    assert_true(certreq_has_organization(request, strlen(request), "team"));
    assert_false(certreq_has_organization(request, strlen(request), "tea"));
    assert_true(certreq_has_organization(masters, strlen(masters), "system:masters"));
    assert_false(certreq_has_organization(issued, strlen(issued), "team"));
    refused("", 0, "PEM block type must be CERTIFICATE REQUEST");
    refused("junk", 4, "PEM block type must be CERTIFICATE REQUEST");
    refused(issued, strlen(issued), "PEM block type must be CERTIFICATE REQUEST");
}

/* Each byte of the text changed: mostly refused, never worse. Texts that are cut off too. */
static void test_damaged_requests(void **state)
{
    char *text = xstrdup(request);
    size_t good = 0, n = strlen(request);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        text[i] ^= 1;
        good += certreq_check(text, n, NULL) == 0;
        (void)certreq_has_organization(text, n, "team");
        text[i] ^= 1;
    }
    assert_in_range(good, 0, 40); /* white space, padding, the dashes */
    for (size_t i = 0; i + 2 < n; i++)
        assert_true(certreq_check(request, i, NULL) < 0);
    free(text);
}

static void test_issued(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf two = STRBUF_INIT;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(certreq_check_issued(issued, strlen(issued), &err), 0);
    strbuf_appendf(&two, "%s%s", issued, issued);
    assert_int_equal(certreq_check_issued(two.data, two.len, &err), 0);
    assert_true(certreq_check_issued("x", 1, &err) < 0);
    assert_contains(err.text, "must contain at least one CERTIFICATE PEM block");
    strbuf_append(&two, request);
    assert_true(certreq_check_issued(two.data, two.len, &err) < 0);
    assert_contains(err.text, "only CERTIFICATE PEM blocks are allowed, found");
    static const char empty[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert_true(certreq_check_issued(empty, strlen(empty), &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_damaged_requests),
        cmocka_unit_test(test_issued),
    };
    return cmocka_run_group_tests_name("certreq", tests, NULL, NULL);
}
