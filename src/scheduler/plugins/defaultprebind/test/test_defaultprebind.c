/* test_defaultprebind.c - DefaultPreBind in configurations. What is written: engine/test. */
#include "scheduler/config/test/config_fixture.h"
#include "scheduler/test/plugin_checks.h"

static void test_it_may_be_ordered_and_disabled(void **state)
{
    struct config *c = load(PLUGINS("preBind: {enabled: [{name: DefaultPreBind}]}"));

    (void)state;
    assert_string_equal(order_of(c, KS_POINT_PRE_BIND),
                        "VolumeBinding DynamicResources DefaultPreBind");
    assert_string_equal(names_of(&of(c)->made->points[KS_POINT_PRE_BIND]),
                        "VolumeBinding DynamicResources DefaultPreBind");
    for (const char *const *name = of(c)->not_yet; *name; name++)
        assert_string_not_equal(*name, "DefaultPreBind");
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
