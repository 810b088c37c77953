/* test_defaultprebind.c - DefaultPreBind is a name in configurations. */
#include "scheduler/config/test/config_fixture.h"
#include "scheduler/test/plugin_checks.h"

static void test_it_may_be_ordered_and_disabled(void **state)
{
    struct config *c = load(PLUGINS("preBind: {enabled: [{name: DefaultPreBind}]}"));

    (void)state;
    assert_string_equal(order_of(c, KS_POINT_PRE_BIND),
                        "VolumeBinding DynamicResources DefaultPreBind");
    /* What is made of it does not need the plugin: the engine writes. */
    assert_string_equal(names_of(&of(c)->made->points[KS_POINT_PRE_BIND]), "VolumeBinding");
    config_unref(c);
    c = load(PLUGINS("preBind: {disabled: [{name: DefaultPreBind}]}"));
    assert_string_equal(order_of(c, KS_POINT_PRE_BIND), "VolumeBinding DynamicResources");
    config_unref(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_it_may_be_ordered_and_disabled),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
