/* test_elasticquota.c - ElasticQuota: what may be written about it (sched-quota). */
#include "scheduler/plugins/elasticquota/args.h"

#include "scheduler/plugins/elasticquota/quotas.h"
#include "scheduler/test/plugin_checks.h"

#define NAME "ElasticQuota"

static void test_defaults(void **state)
{
    const struct quota_args *a = plugin_args(*state, NAME, "{}");

    assert_int_equal(a->delay_evict.v, 120 * NSEC_PER_SEC);
    assert_int_equal(a->revoke.v, NSEC_PER_SEC);
    assert_int_equal(a->snapshot.v, 120 * NSEC_PER_SEC);
    assert_int_equal(a->default_max.n, 2);
    assert_string_equal(a->default_max.items[0].name, "cpu");
    assert_int_equal(a->system_max.n, 2);
    assert_string_equal(a->ns, "koordinator-system");
    assert_true(a->runtime.v && a->scale_min.v && a->spare_default.v);
    assert_false(a->monitor_all.v || a->check_parent.v || a->hint.v);
    assert_int_equal(a->hooks.n, 0);
}

static void test_what_is_written_counts(void **state)
{
    const struct quota_args *a = plugin_args(*state, NAME,
                                             "{'defaultQuotaGroupMax':{'cpu':'9'},"
                                             "'enableRuntimeQuota':false}");

    assert_int_equal(a->default_max.n, 1);
    assert_false(a->runtime.v);
    assert_true(a->scale_min.v);
}

static void test_refusals(void **state)
{
    (void)state;
    plugin_refuses(NAME, "{'delayEvictTime':'-1s'}",
                   "delayEvictTime: Invalid value: must not be negative");
    plugin_refuses(NAME, "{'systemQuotaGroupMax':{'cpu':'-1'}}",
                   "systemQuotaGroupMax[cpu]: Invalid value: must not be negative");
}

static void refuse_hooks(struct object_fixture *f, const char *hooks, const char *want)
{
    char text[256];
    void *service = NULL;
    struct kerr err = { 0 };

    (void)snprintf(text, sizeof text, "{'hookPlugins':[%s]}", hooks);
    const struct quota_args *args = plugin_args(f, NAME, text);
    assert_int_equal(quotas_service.create(&(struct ks_env){ 0 }, args, &service, &err), -EINVAL);
    assert_string_equal(err.text, want);
}

/* None is compiled in: who configures one learns it at once (sched-quota 13). */
static void test_hook_plugins(void **state)
{
    refuse_hooks(*state, "{}",
                 "failed to init hook plugins for tree , err=failed to initialize index-0 "
                 "hook plugin: key is empty");
    refuse_hooks(*state, "{'key':'k'}",
                 "failed to init hook plugins for tree , err=failed to initialize "
                 "hook plugin k: factory key is empty");
    refuse_hooks(*state, "{'key':'k','factoryKey':'f'}",
                 "failed to init hook plugins for tree , err=failed to initialize hook plugin k: "
                 "factory f not found");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_defaults),
        FIXTURE_TEST(test_what_is_written_counts),
        FIXTURE_TEST(test_refusals),
        FIXTURE_TEST(test_hook_plugins),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
