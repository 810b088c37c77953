/* test_dynamicresources.c - pods that ask for devices by claim are turned down (8.17). */
#include "scheduler/test/volumes.h"

#define POD(claims) \
    "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':[]" claims "}}"

static void test_claims_are_turned_down(void **state)
{
    CLEANUP(field_fini) struct field f;

    field_init(&f, state, "DynamicResources", NULL);
    vol_node(&f, "a", "");
    field_try(&f, POD(""));
    assert_true(field_fits(&f, "a"));
    field_try(&f, POD(",'resourceClaims':[{'name':'gpu','resourceClaimName':'g'}]"));
    assert_int_equal(field_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(field_message(&f),
                        "0/1 nodes are available: pod has resource claims, which this scheduler "
                        "does not allocate.");
    field_try(&f, POD(""));
    assert_true(field_fits(&f, "a"));
}

static void test_events_do_not_wake_them(void **state)
{
    CLEANUP(field_fini) struct field f;

    field_init(&f, state, "DynamicResources", NULL);
    assert_false(vol_worth(&f, "DynamicResources", KS_RES_NODE, KS_ADD, &kind_node, NULL,
                           "{'metadata':{'name':'n'}}", ""));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_claims_are_turned_down),
        BED_TEST(test_events_do_not_wake_them),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
