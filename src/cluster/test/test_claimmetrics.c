/* test_claimmetrics.c - what the resourceclaim controller counts (sched-dra 8). */
#include "base/test/asserts.h"
#include "client/test/client_fixture.h"

#include "base/strbuf.h"
#include "cluster/cluster.h"
#include "component/metrics.h"

#define CLAIMS    "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"
#define TEMPLATES "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaimtemplates"
#define REQUEST(more)                                                                           \
    "{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\"" more \
    "}}]}}"
#define POD(template)                                                                     \
    "{\"spec\":{\"containers\":[{\"name\":\"c\"}],\"resourceClaims\":[{\"name\":\"gpu\"," \
    "\"resourceClaimTemplateName\":\"" template "\"}]}}"

static void test_claims_are_counted(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct client_fixture f;
    struct kerr err = { 0 };
    struct metrics *m = metrics_new();

    (void)state;
    client_fixture_init(&f, 1);
    struct cluster *c = cluster_new(
        f.loop, f.kube, &(struct cluster_opts){ .resourceclaims = true, .metrics = m }, &err);
    assert_non_null(c);
    fake_put(f.fake, TEMPLATES, "one", "{\"spec\":{\"spec\":" REQUEST("") "}}");
    fake_put(f.fake, TEMPLATES, "admin",
             "{\"spec\":{\"spec\":" REQUEST(",\"adminAccess\":true") "}}");
    fake_put(
        f.fake, CLAIMS, "own",
        "{\"spec\":" REQUEST("") ",\"status\":{\"allocation\":{"
                                 "\"devices\":{\"results\":[]}},\"reservedFor\":[{\"resource\":"
                                 "\"things\",\"name\":\"x\",\"uid\":\"u\"}]}}");
    fake_put(f.fake, CLAIMS, "extended",
             "{\"metadata\":{\"annotations\":{\"resource.kubernetes.io/extended-resource-claim\":"
             "\"true\"}},\"spec\":" REQUEST("") "}");
    client_fixture_run(&f, NSEC_PER_SEC);
    fake_answer_next_to(f.fake, "POST", "resourceclaims", 1, 500);
    fake_put(f.fake, PODS, "p", POD("one"));
    client_fixture_run(&f, 60 * NSEC_PER_SEC);
    fake_put(f.fake, PODS, "q", POD("admin"));
    client_fixture_run(&f, 10 * NSEC_PER_SEC);
    metrics_write(&m, 1, &out);
    const char *text = strbuf_str(&out);
#define SAYS(name, labels, n) \
    assert_contains(text, "resourceclaim_controller_" name "{" labels "} " n)
    SAYS("creates_total", "admin_access=\"false\",status=\"failure\"", "1");
    SAYS("creates_total", "admin_access=\"false\",status=\"success\"", "1");
    SAYS("creates_total", "admin_access=\"true\",status=\"success\"", "1");
    SAYS("resource_claims", "admin_access=\"false\",allocated=\"true\",source=\"\"", "1");
    SAYS("resource_claims",
         "admin_access=\"false\",allocated=\"false\",source=\"resource_claim_template\"", "1");
    SAYS("resource_claims",
         "admin_access=\"true\",allocated=\"false\",source=\"resource_claim_template\"", "1");
    SAYS("resource_claims",
         "admin_access=\"false\",allocated=\"false\",source=\"extended_resource\"", "1");
    cluster_free(c);
    client_fixture_fini(&f);
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_claims_are_counted) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
