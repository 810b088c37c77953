/* test_dynamicresources.c - devices by ResourceClaim, on small clusters (sched-dra 2 to 4). */
#include "scheduler/test/volume_objects.h"

#include "api/dra.h"
#include "base/strbuf.h"
#include "loop/loop.h"

#define POD(claims) \
    "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':[]" claims "}}"
#define USES(name) ",'resourceClaims':[{'name':'gpu','resourceClaimName':'" name "'}]"
#define ASKS(name, requests)                                           \
    "{'metadata':{'name':'" name "','namespace':'ns','uid':'uid-" name \
    "','resourceVersion':'1'},'spec':{'devices':{'requests':[" requests "]}}}"
#define REQUEST(name, count, more)                                                         \
    "{'name':'" name "','exactly':{'deviceClassName':'gpu','allocationMode':'ExactCount'," \
    "'count':" #count more "}}"

static void put_class(struct plugin_fixture *f)
{
    fixture_put(f, &kind_device_class, "{'metadata':{'name':'gpu'},'spec':{}}");
}

/* A slice of n devices that differ in their index alone. */
static void put_slice(struct plugin_fixture *f, const char *node, unsigned generation, unsigned n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b,
                   "{'metadata':{'name':'%s-gpus'},'spec':{'driver':'d','nodeName':'%s','pool':"
                   "{'name':'%s','generation':%u,'resourceSliceCount':1},'devices':[",
                   node, node, node, generation);
    for (unsigned i = 0; i < n; i++)
        strbuf_appendf(&b, "%s{'name':'g%u','attributes':{'index':{'int':%u},'even':{'bool':%s}}}",
                       i ? "," : "", i, i, i % 2 ? "false" : "true");
    strbuf_append(&b, "]}}");
    fixture_put(f, &kind_resource_slice, strbuf_str(&b));
}

static void open_fixture(struct plugin_fixture *f, void **state, unsigned devices)
{
    fixture_init(f, state, "DynamicResources", NULL);
    vol_node(f, "a", "");
    put_class(f);
    put_slice(f, "a", 1, devices);
}

static void test_pods_without_claims_are_left_alone(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 0);
    fixture_try(&f, POD(""));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, POD(USES("c")));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_message(&f),
                        "0/1 nodes are available: could not find ResourceClaim \"ns/c\".");
}

static void test_devices_are_counted(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 2);
    fixture_put(&f, &kind_resource_claim, ASKS("c", REQUEST("r", 2, "")));
    fixture_try(&f, POD(USES("c")));
    assert_true(fixture_fits(&f, "a"));
    put_slice(&f, "a", 2, 1); /* one is broken */
    fixture_try(&f, POD(USES("c")));
    assert_string_equal(fixture_why(&f, "a"), "cannot allocate all claims");
    put_slice(&f, "a", 3, 0);
    fixture_try(&f, POD(USES("c")));
    assert_string_equal(fixture_why(&f, "a"), "cannot allocate all claims");
    put_slice(&f, "a", 4, 1000);
    fixture_try(&f, POD(USES("c")));
    assert_true(fixture_fits(&f, "a"));
}

/* Of two claims of others only the one that is no administrator's takes the device. */
static void test_what_others_have_is_taken(void **state)
{
    static const char other[] =
        "{'metadata':{'name':'o','namespace':'ns','uid':'uid-o','resourceVersion':'%u'},'spec':{},"
        "'status':{'allocation':{'devices':{'results':[{'request':'r','driver':'d','pool':'a',"
        "'device':'g0'%s}]}}}}";
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char text[512];

    open_fixture(&f, state, 1);
    fixture_put(&f, &kind_resource_claim, ASKS("c", REQUEST("r", 1, "")));
    snprintf(text, sizeof text, other, 1, "");
    fixture_put(&f, &kind_resource_claim, text);
    fixture_try(&f, POD(USES("c")));
    assert_string_equal(fixture_why(&f, "a"), "cannot allocate all claims");
    snprintf(text, sizeof text, other, 2, ",'adminAccess':true");
    fixture_put(&f, &kind_resource_claim, text);
    fixture_try(&f, POD(USES("c")));
    assert_true(fixture_fits(&f, "a"));
}

/* Upstream tries C(32, 16) choices of devices that nobody can tell apart. */
static void test_equal_devices_are_tried_once(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 32);
    /* Enough devices for each alone, and each has one: only together they cannot be had. */
    fixture_put(&f, &kind_resource_claim,
                ASKS("c", REQUEST("r", 16, "") "," REQUEST(
                              "odd", 16,
                              ",'selectors':[{'cel':{'expression':'!device.attributes[\\\"d\\\"]."
                              "even'}}]")));
    fixture_put(&f, &kind_resource_claim,
                "{'metadata':{'name':'o','namespace':'ns','uid':'uid-o','resourceVersion':'9'},"
                "'spec':{},'status':{'allocation':{'devices':{'results':[{'request':'r','driver':"
                "'d','pool':'a','device':'g2'}]}}}}");
    CLEANUP(loop_free) struct loop *clock = loop_new();
    nsec_t began = loop_stopwatch(clock);
    fixture_try(&f, POD(USES("c")));
    assert_in_range(loop_stopwatch(clock) - began, 0, 100 * NSEC_PER_MSEC);
    assert_string_equal(fixture_why(&f, "a"), "cannot allocate all claims");
}

/* kubernetes#139016: an allocated claim beside one with alternatives. */
static void test_allocated_claims_do_not_spoil_scores(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 1);
    vol_node(&f, "b", "");
    put_slice(&f, "b", 1, 4);
    fixture_put(&f, &kind_resource_claim,
                "{'metadata':{'name':'shared','namespace':'ns','uid':'uid-s'},'spec':{},'status':"
                "{'allocation':{'devices':{'results':[]}}}}");
    fixture_put(&f, &kind_resource_claim,
                ASKS("c", "{'name':'r','firstAvailable':[{'name':'four','deviceClassName':'gpu',"
                          "'count':4},{'name':'one','deviceClassName':'gpu','count':1}]}"));
    fixture_try(&f, POD(",'resourceClaims':[{'name':'x','resourceClaimName':'shared'},{'name':'y',"
                        "'resourceClaimName':'c'}]"));
    assert_true(fixture_fits(&f, "a"));
    assert_true(fixture_fits(&f, "b"));
    assert_int_equal(fixture_score(&f, "DynamicResources", "b"), 100);
    assert_int_equal(fixture_score(&f, "DynamicResources", "a"), 7 * 100 / 8);
}

static void test_a_selector_that_fails_ends_the_attempt(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 2);
    fixture_put(
        &f, &kind_resource_claim,
        ASKS("c", REQUEST("r", 1,
                          ",'selectors':[{'cel':{'expression':'device.attributes[\\\"d\\\"]."
                          "nothing'}}]")));
    fixture_try(&f, POD(USES("c")));
    assert_int_equal(f.a.code, KS_ERROR);
    assert_string_equal(f.a.text,
                        "running \"DynamicResources\" filter plugin: claim ns/c: selector "
                        "#0: CEL runtime error: no such key: nothing");
    fixture_try(&f, POD("")); /* others are not disturbed */
    assert_true(fixture_fits(&f, "a"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_pods_without_claims_are_left_alone),
        FIXTURE_TEST(test_devices_are_counted),
        FIXTURE_TEST(test_what_others_have_is_taken),
        FIXTURE_TEST(test_equal_devices_are_tried_once),
        FIXTURE_TEST(test_allocated_claims_do_not_spoil_scores),
        FIXTURE_TEST(test_a_selector_that_fails_ends_the_attempt),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
