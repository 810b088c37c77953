/* test_descheduler_example.c - the plugin of docs/descheduler-plugins.md, compiled from that page,
 * does what the page says.
 */
#include "descheduler/framework/plugin.h"

extern const struct kd_plugin plugin_bedtime;
#include "bedtime_example.h" /* made from docs/descheduler-plugins.md */

#include "descheduler/plugins/plugins.h"
#include "descheduler/test/fixture.h"

/* At noon. */
static void run_example(struct fixture *f, int32_t at_most)
{
    static const struct kd_plugin *const bedtime[] = { &plugin_bedtime };
    static const struct kd_plugin *const evictor[] = { &plugin_defaultevictor };
    CLEANUP(mem_free)
    char *yaml = config_of("deschedule", "RemoveFailedPods", "{}", "{}");
    struct rounds r;
    const struct bedtime_args args = { "bedtime", at_most };
    struct kerr err = { 0 };

    rounds_init(&r, f, yaml);
    const struct desched_config *c = r.config->value;
    const struct kd_plugin_args all[] = { { &plugin_bedtime, &args },
                                          { &plugin_defaultevictor, c->made[0].args[1].args } };
    struct kd_profile_config profile = { .name = "example", .args = all, .nargs = 2 };
    profile.points[KD_DESCHEDULE] = (struct kd_enabled){ bedtime, 1 };
    profile.points[KD_EVICT] = profile.points[KD_FILTER] = (struct kd_enabled){ evictor, 1 };
    assert_int_equal(kd_profile_update(r.profiles.items[0], &profile, 0, &err), 0);
    (void)rounds_run(&r);
    rounds_fini(&r);
}

static void test_example(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    add_node(&f, (struct node_text){ "n1" });
    add_node(&f, (struct node_text){ "n2" });
    add_pod(&f, (struct pod_text){ "a", "n1", .meta = ",\"labels\":{\"bedtime\":\"12\"}" });
    add_pod(&f, (struct pod_text){ "b", "n1", .meta = ",\"labels\":{\"bedtime\":\"12\"}" });
    add_pod(&f, (struct pod_text){ "c", "n2", .meta = ",\"labels\":{\"bedtime\":\"13\"}" });
    add_pod(&f, (struct pod_text){ "d", "n2", .meta = ",\"labels\":{\"bedtime\":\"noon\"}" });
    add_pod(&f, (struct pod_text){ "e", "n2", .owner = "",
                                   .meta = ",\"labels\":{\"bedtime\":\"12\"}" });
    run_example(&f, 1);
    assert_string_equal(strbuf_str(&f.gone), "a");
    assert_string_equal(strbuf_str(&f.reasons), "bedtime");
    run_example(&f, 5);
    assert_string_equal(strbuf_str(&f.gone), "a b");
    fixture_fini(&f);
}

static void test_args_of_the_example(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct bedtime_args args;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(kj_decode_text(&bedtime_schema, "{}", 2, KJ_STRICT, a, &args, &err), 0);
    kj_default(&bedtime_schema, a, &args);
    assert_string_equal(args.label, "bedtime");
    assert_int_equal(args.at_most, 1);
    args.at_most = 0;
    assert_int_equal(bedtime_check(&args, a, &err), -EINVAL);
    assert_non_null(strstr(err.text, "atMost"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_args_of_the_example),
    };
    return cmocka_run_group_tests_name("descheduler_example", tests, NULL, NULL);
}
