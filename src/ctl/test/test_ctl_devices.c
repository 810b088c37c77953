/* test_ctl_devices.c - koordctl devices: slices and claims joined, what it prints. */
#include "base/test/asserts.h"
#include "ctl/test/fixture.h"

#define SLICES "/apis/resource.k8s.io/v1/resourceslices"
#define CLAIMS "/apis/resource.k8s.io/v1/resourceclaims"

static const char slices[] =
    "{\"metadata\":{},\"items\":["
    "{\"spec\":{\"driver\":\"gpu.example.com\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"n1\","
    "\"generation\":2,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"d0\",\"attributes\":{"
    "\"model\":{\"string\":\"a100\"},\"index\":{\"int\":0}}},{\"name\":\"d1\",\"taints\":[{\"key\":"
    "\"x.io/broken\",\"effect\":\"NoSchedule\"}]},{\"name\":\"d2\"}]}},"
    "{\"spec\":{\"driver\":\"gpu.example.com\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"n1\","
    "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"old\"}]}},"
    "{\"spec\":{\"driver\":\"net.example.com\",\"allNodes\":true,\"pool\":{\"name\":\"fabric\","
    "\"generation\":1,\"resourceSliceCount\":2},\"devices\":[{\"name\":\"p0\"}]}}]}";

#define RESULT(device, more)                                                                 \
    "{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1\",\"device\":\"" device \
    "\"" more "}"
static const char claims[] =
    "{\"metadata\":{},\"items\":[{\"metadata\":{\"namespace\":\"ns\",\"name\":\"mine\"},"
    "\"status\":{\"allocation\":{\"devices\":{\"results\":[" RESULT(
        "d0", "") "]}},"
                  "\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"a\",\"uid\":\"1\"},{"
                  "\"resource\":\"pods\","
                  "\"name\":\"b\",\"uid\":\"2\"}]}},{\"metadata\":{\"namespace\":\"ns\",\"name\":"
                  "\"watch\"},"
                  "\"status\":{\"allocation\":{\"devices\":{\"results\":[" RESULT(
                      "d2", ",\"adminAccess\":true") "]}}}},{\"metadata\":{\"namespace\":\"ns\","
                                                     "\"name\":\"waits\"}}]}";

static void cluster(struct fixture *x)
{
    fixture_init(x);
    fake_add(&x->f, (struct fake_answer){ SLICES, 200, slices });
    fake_add(&x->f, (struct fake_answer){ CLAIMS, 200, claims });
}

static void test_pools_with_their_holders(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    cluster(&x);
    assert_int_equal(run(&x, "devices"), CTL_OK);
    assert_string_equal(
        x.out, "gpu.example.com, pool n1: 1 of 3 devices held\n"
               "    d0  ns/mine for a, b  index=0  model=a100\n"
               "    d1  free  taint x.io/broken:NoSchedule\n"
               "    d2  ns/watch (admin access)  free\n"
               "net.example.com, pool fabric for several nodes: 0 of 1 devices held; incomplete: 1 "
               "of 2 slices, nothing of it is given away\n"
               "    p0  free\n");
    assert_int_equal(run(&x, "devices", "n1"), CTL_OK);
    assert_contains(x.out, "pool n1");
    assert_lacks(x.out, "fabric");
    assert_int_equal(run(&x, "devices", "n2"), CTL_OK);
    assert_string_equal(x.out, "No driver has published devices there.\n");
    assert_int_equal(run(&x, "devices", "-o", "json"), CTL_OK);
    assert_contains(x.out, "\"claim\": \"ns/mine\"");
}

/* ---- beside DeviceShare ----------------------------------------------------------------------- */

#define DEVICES      "/apis/scheduling.koordinator.sh/v1alpha1/devices"
#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define RULES        "/apis/resource.k8s.io/v1alpha3/devicetaintrules"
#define CARD(name, attribute, value) \
    "{\"name\":\"" name "\",\"attributes\":{\"" attribute "\":{\"string\":\"" value "\"}}}"
#define HOLDS(minor)                                    \
    "\"annotations\":{\"scheduling.koordinator.sh/"     \
    "device-allocated\":\"{\\\"gpu\\\":[{\\\"minor\\\"" \
    ":" #minor "}]}\"}"

static const char cards[] =
    "{\"metadata\":{},\"items\":[{\"spec\":{\"driver\":\"d\",\"nodeName\":\"n1\",\"pool\":{"
    "\"name\":\"n1\",\"generation\":1,\"resourceSliceCount\":1},\"devices\":[" CARD(
        "d0", "uuid", "gpu-a") "," CARD("d1", "x.io/pciBusID",
                                        "3B:00.0") "," CARD("d2", "uuid",
                                                            "gpu-c") "," CARD("d3", "other",
                                                                              "gpu-a") "]}}]}";
static const char device[] =
    "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"n1\"},\"spec\":{\"devices\":["
    "{\"type\":\"gpu\",\"minor\":0,\"id\":\"GPU-A\"},{\"type\":\"gpu\",\"minor\":1,\"id\":"
    "\"GPU-B\",\"topology\":{\"busID\":\"0000:3b:00.0\"}},{\"type\":\"gpu\",\"minor\":2,\"id\":"
    "\"GPU-C\"}]}}]}";
static const char pods[] =
    "{\"metadata\":{},\"items\":["
    "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\"," HOLDS(
        1) "},\"spec\":{\"nodeName\":"
           "\"n1\"}},{\"metadata\":{\"namespace\":\"ns\",\"name\":\"done\"," HOLDS(
               2) "},\"spec\":{"
                  "\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Succeeded\"}},{\"metadata\":{"
                  "\"namespace\":"
                  "\"ns\",\"name\":\"waits\"," HOLDS(
                      2) "},\"spec\":{}},{\"metadata\":{\"namespace\":\"ns\","
                         "\"name\":\"bad\",\"annotations\":{\"scheduling.koordinator.sh/"
                         "device-allocated\":\"{\"}},"
                         "\"spec\":{\"nodeName\":\"n1\"}}]}";
static const char reservations[] =
    "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"r\"," HOLDS(
        0) "},\"status\":{"
           "\"phase\":\"Available\",\"nodeName\":\"n1\"}}]}";
static const char rules[] =
    "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"sick\"},\"spec\":{\"deviceSelector\":{"
    "\"device\":\"d2\"},\"taint\":{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoExecute\"}}}]}";

static void test_cards_that_deviceshare_has_given(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    fixture_init(&x);
    fake_add(&x.f, (struct fake_answer){ SLICES, 200, cards });
    fake_add(&x.f, (struct fake_answer){ CLAIMS, 200, "{\"metadata\":{},\"items\":[]}" });
    fake_add(&x.f, (struct fake_answer){ DEVICES, 200, device });
    fake_add(&x.f, (struct fake_answer){ "/api/v1/pods", 200, pods });
    fake_add(&x.f, (struct fake_answer){ RESERVATIONS, 200, reservations });
    fake_add(&x.f, (struct fake_answer){ RULES, 200, rules });
    assert_int_equal(run(&x, "devices"), CTL_OK);
    assert_string_equal(x.out, "d, pool n1: 2 of 4 devices held\n"
                               "    d0  by DeviceShare: Reservation r  uuid=gpu-a\n"
                               "    d1  by DeviceShare: ns/p  x.io/pciBusID=3B:00.0\n"
                               "    d2  free  taint k=v:NoExecute (rule sick)  uuid=gpu-c\n"
                               "    d3  free  other=gpu-a\n");
    assert_int_equal(run(&x, "devices", "-o", "json"), CTL_OK);
    assert_contains(x.out, "\"rule\": \"sick\"");
}

static void test_cards_that_may_not_be_read(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    cluster(&x);
    fake_add(&x.f, (struct fake_answer){ DEVICES, 403,
                                         "{\"kind\":\"Status\",\"reason\":\"Forbidden\","
                                         "\"message\":\"devices is forbidden\",\"code\":403}" });
    assert_int_equal(run(&x, "devices"), CTL_OK);
    assert_contains(x.out, "pool n1: 1 of 3 devices held");
    assert_string_equal(
        x.err, "note: devices may not be listed: who has cards by DeviceShare is unknown\n");
}

static void test_wrong_usage_and_a_server_without_claims(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    fixture_init(&x);
    assert_int_equal(run(&x, "devices", "n1", "n2"), CTL_USAGE);
    assert_int_equal(run(&x, "devices", "-o", "wide"), CTL_USAGE);
    assert_int_equal(run(&x, "devices"), CTL_FAILED);
    assert_starts(x.err, "Error from server (NotFound)");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pools_with_their_holders),
        cmocka_unit_test(test_cards_that_deviceshare_has_given),
        cmocka_unit_test(test_cards_that_may_not_be_read),
        cmocka_unit_test(test_wrong_usage_and_a_server_without_claims),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
