/* test_defaultbinder.c - the binder that every profile needs. What binding does is tested with the
 * engine (engine/test/test_binding.c). */
#include "scheduler/plugins/registry.h"
#include "scheduler/test/plugin_texts.h"

static void test_a_profile_needs_a_binder(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct kerr err = { 0 };

    fixture_init(&f, state, "DefaultBinder", NULL);
    assert_string_equal(profile_at(f.profile, KS_POINT_BIND, 0)->plugin->name, "DefaultBinder");
    struct profile_config c = profile_config_default(ks_registry, "s", f.base->arena);
    c.points[KS_POINT_BIND].n = 0;
    assert_null(profile_new(&c, ks_registry, &f.env, &err));
    assert_string_equal(err.text, "at least one bind plugin is needed for profile \"s\"");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_a_profile_needs_a_binder),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
