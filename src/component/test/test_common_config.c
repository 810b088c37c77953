/* test_common_config.c - leaderElection and clientConnection: defaults and refusals. */
#include "base/arena.h"
#include "base/test/asserts.h"
#include "component/common_config.h"

static struct election_config election_of(const char *text, struct arena *a)
{
    struct election_config c = { 0 };
    struct kerr err = { 0 };

    assert_int_equal(kj_decode_text(&election_config_schema, text, strlen(text), 0, a, &c, &err),
                     0);
    kj_default(&election_config_schema, a, &c);
    return c;
}

static void test_defaults_are_upstreams(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct election_config c = election_of("{}", a);
    struct election_options o = election_config_options(&c);

    (void)state;
    assert_true(o.enabled);
    assert_int_equal(o.lease_duration, 15 * NSEC_PER_SEC);
    assert_int_equal(o.renew_deadline, 10 * NSEC_PER_SEC);
    assert_int_equal(o.retry_period, 2 * NSEC_PER_SEC);
    assert_string_equal(o.lock, "leases");
    assert_string_equal(o.name, "");
}

static void refuse(const char *text, const char *message)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct election_config c = election_of(text, a);
    struct kerr err = { 0 };

    assert_int_equal(election_config_check(&c, &err), -EINVAL);
    assert_string_equal(err.text, message);
}

static void test_what_contradicts_itself_is_refused(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kerr err = { 0 };

    (void)state;
    refuse("{\"leaseDuration\":\"-1s\"}",
           "leaderElection.leaseDuration: Invalid value: must be greater than zero");
    refuse("{\"leaseDuration\":\"10s\"}", "leaderElection.leaseDuration: Invalid value: "
                                          "LeaseDuration must be greater than RenewDeadline");
    refuse("{\"resourceLock\":\"endpoints\"}",
           "leaderElection.resourceLock: Invalid value: \"endpoints\": resourceLock value must be "
           "\"leases\"");
    struct election_config off =
        election_of("{\"leaderElect\":false,\"leaseDuration\":\"-1s\"}", a);
    assert_int_equal(election_config_check(&off, &err), 0); /* nobody stands for election */
    const struct client_config c = { .burst = -1 };
    assert_int_equal(client_config_check(&c, &err), -EINVAL);
    assert_string_equal(err.text,
                        "clientConnection.burst: Invalid value: -1: must be non-negative");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_upstreams),
        cmocka_unit_test(test_what_contradicts_itself_is_refused),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
