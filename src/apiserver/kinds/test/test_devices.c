/* test_devices.c - resource.k8s.io where tests/api cannot ask: a real server drops the fields of
 * gates that are off. Words are those of a kube-apiserver 1.35 with the gates on. */
#include "apiserver/test/api_fixture.h"

#define GROUP  "/apis/resource.k8s.io/v1"
#define CLAIMS GROUP "/namespaces/default/resourceclaims"
#define SLICES GROUP "/resourceslices"
#define RULES  "/apis/resource.k8s.io/v1alpha3/devicetaintrules"
#define SHARE  "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
#define THEN   "2025-11-15T09:46:41Z" /* a second after WALL0 */
#define NORMAL                                                                              \
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with " \
    "lowercase hexadecimal characters"

static void test_shares_are_uuids(void **state)
{
    static const char faulty[] = "error validating uid: ";
    static const struct {
        const char *share, *why;
        bool faulty;
    } list[] = {
        { SHARE, NULL, false },
        { "garbage", "invalid UUID length: 7", true },
        { "", "invalid UUID length: 0", true },
        { "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", NORMAL, false },
        { "urn:uuid:" SHARE, NORMAL, false },
        { "URN:UUID:" SHARE, NORMAL, false },
        { "{" SHARE "}", NORMAL, false },
        { "6ba7b8109dad11d180b400c04fd430c8", NORMAL, false },
        { "6ba7b810x9dad-11d1-80b4-00c04fd430c8", "invalid UUID format", true },
        { "gba7b810-9dad-11d1-80b4-00c04fd430c8", "invalid UUID format", true },
        { "6ba7b8109dad11d180b400c04fd430cg", "invalid UUID format", true },
        { "urx:uuid:" SHARE, "invalid urn prefix: \"urx:uuid:\"", true },
        { "(" SHARE ")", "invalid bracketed UUID format", true },
    };
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        fixture_post(&r, CLAIMS,
                     fixture_json("{'metadata':{'name':'c'},'spec':{'devices':{'requests':[{"
                                  "'name':'r','exactly':{'deviceClassName':'c'}}]}}}")),
        201);
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        CLEANUP(mem_free)
        char *body = xasprintf(
            "{\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
            "\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\",\"shareID\":\"%s\"}]}},\"devices\":"
            "[{\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\",\"shareID\":\"%s\"}]}}",
            list[i].share, list[i].share);
        CLEANUP(mem_free)
        char *want =
            xasprintf("is invalid: [status.devices[0].shareID: Invalid value: \"%s\": %s%s, "
                      "status.allocation.devices.results[0].shareID: Invalid value: \"%s\": %s%s]",
                      list[i].share, list[i].faulty ? faulty : "", str_or(list[i].why, ""),
                      list[i].share, list[i].faulty ? faulty : "", str_or(list[i].why, ""));
        int status = fixture_do(&r, "PATCH", CLAIMS "/c/status?dryRun=All", MERGE, body);
        assert_int_equal(status, list[i].why ? 422 : 200);
        if (list[i].why)
            assert_contains(fixture_str(&r, "message"), want);
    }
}

/* Two results of one device are told apart by their shares, and so is what is said about them. */
static void test_a_share_that_is_deallocated_loses_its_status(void **state)
{
    static const char other[] = "6ba7b810-9dad-11d1-80b4-00c04fd430c9";
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(mem_free)
    char *body = xasprintf("{'status':{'allocation':{'devices':{'results':[{'request':'r','driver':"
                           "'d','pool':'p','device':'x','shareID':'%s'}]}},'devices':[{'driver':"
                           "'d','pool':'p','device':'x','shareID':'%s'}]}}",
                           SHARE, SHARE);
    CLEANUP(mem_free)
    char *wrong = xasprintf("{'status':{'allocation':null,'devices':[{'driver':'d','pool':'p',"
                            "'device':'x','shareID':'%s'}]}}",
                            other);

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        fixture_post(&r, CLAIMS,
                     fixture_json("{'metadata':{'name':'c'},'spec':{'devices':{'requests':[{"
                                  "'name':'r','exactly':{'deviceClassName':'c'}}]}}}")),
        201);
    assert_int_equal(fixture_do(&r, "PATCH", CLAIMS "/c/status", MERGE, fixture_json(body)), 200);
    assert_int_equal(fixture_do(&r, "PATCH", CLAIMS "/c/status", MERGE, fixture_json(wrong)), 422);
    assert_contains(fixture_str(&r, "message"), "must be an allocated device in the claim");
    assert_int_equal(
        fixture_do(&r, "PATCH", CLAIMS "/c/status", MERGE, "{\"status\":{\"allocation\":null}}"),
        200);
    assert_null(kj_path(kj_root(r.doc), "status.devices"));
}

static const char *added(struct fixture *r, size_t i)
{
    const struct kj_val *devices = kj_path(kj_root(r->doc), "spec.devices");

    return kj_str_or(kj_get(kj_at(kj_get(kj_at(devices, 0), "taints"), i), "timeAdded"), "");
}

static void test_taints_of_devices_are_there_since_somebody_wrote_them(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        fixture_post(&r, SLICES,
                     fixture_json("{'metadata':{'name':'s'},'spec':{'driver':'d','nodeName':'n',"
                                  "'pool':{'name':'n','generation':1,'resourceSliceCount':1},"
                                  "'devices':[{'name':'d0','taints':[{'key':'a','effect':"
                                  "'NoExecute'},{'key':'b','effect':'NoSchedule','timeAdded':"
                                  "'2025-01-01T00:00:00Z'},{'key':'c','effect':'NoSchedule',"
                                  "'timeAdded':null}]},{'name':'d1'}]}}")),
        201);
    assert_string_equal(added(&r, 0), THEN);
    assert_string_equal(added(&r, 1), "2025-01-01T00:00:00Z");
    assert_string_equal(added(&r, 2), THEN);
    loop_advance(r.loop, 60 * NSEC_PER_SEC);
    assert_int_equal(
        fixture_do(&r, "PATCH", SLICES "/s", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
        200);
    assert_string_equal(added(&r, 0), THEN);
}

static void test_taints_of_rules_are_there_since_somebody_wrote_them(void **state)
{
    CLEANUP(fixture_fini) struct fixture r = { .loop = loop_new_virtual(WALL0, 7) };
    struct apiserver_opts opts = { .no_crds = true, .alpha_apis = true };

    (void)state;
    assert_int_equal(apiserver_new(r.loop, &opts, &r.s, NULL), 0);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_post(&r, RULES,
                                  fixture_json("{'metadata':{'name':'t'},'spec':{'taint':{'key':"
                                               "'a','effect':'NoExecute'}}}")),
                     201);
    assert_string_equal(fixture_str(&r, "spec.taint.timeAdded"), THEN);
    loop_advance(r.loop, 60 * NSEC_PER_SEC);
    assert_int_equal(fixture_do(&r, "PATCH", RULES "/t", MERGE,
                                "{\"spec\":{\"taint\":{\"effect\":\"NoSchedule\"}}}"),
                     200);
    assert_string_equal(fixture_str(&r, "spec.taint.timeAdded"), THEN);
    assert_int_equal(
        fixture_do(&r, "PATCH", RULES "/t", MERGE, "{\"spec\":{\"taint\":{\"timeAdded\":null}}}"),
        200);
    assert_string_equal(fixture_str(&r, "spec.taint.timeAdded"), "2025-11-15T09:47:41Z");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_shares_are_uuids),
    cmocka_unit_test(test_a_share_that_is_deallocated_loses_its_status),
    cmocka_unit_test(test_taints_of_devices_are_there_since_somebody_wrote_them),
    cmocka_unit_test(test_taints_of_rules_are_there_since_somebody_wrote_them),
};
FIXTURE_MAIN(tests)
