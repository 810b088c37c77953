/* test_dynamicresources.c - pods that ask for devices by claim are rejected (8.17). */
#include "scheduler/test/volume_objects.h"

#define POD(claims) \
    "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':[]" claims "}}"

static void test_claims_are_rejected(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "DynamicResources", NULL);
    vol_node(&f, "a", "");
    fixture_try(&f, POD(""));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, POD(",'resourceClaims':[{'name':'gpu','resourceClaimName':'g'}]"));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_message(&f),
                        "0/1 nodes are available: pod has resource claims, which this scheduler "
                        "does not allocate.");
    fixture_try(&f, POD(""));
    assert_true(fixture_fits(&f, "a"));
}

static void test_events_do_not_wake_them(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, "DynamicResources", NULL);
    assert_false(vol_worth(&f, "DynamicResources", KS_RES_NODE, KS_ADD, &kind_node, NULL,
                           "{'metadata':{'name':'n'}}", ""));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_claims_are_rejected),
        FIXTURE_TEST(test_events_do_not_wake_them),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
