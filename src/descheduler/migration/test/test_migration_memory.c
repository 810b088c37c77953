/* test_migration_memory.c - what the object limiters of a new leader know of the one before: its
 * jobs tell. */
#include "migration_fixture.h"

#include "api/protocol/keys.h"

#define DIRECTLY "'ttl':'10m','mode':'EvictDirectly',"
#define WORKLOAD DOMAIN_DESCHEDULER "workload"

/* One of a workload of 100 in 30 s, by default. */
static void begin(struct migration_fixture *f, const char *args)
{
    mig_prepare(f, 21, args);
    mig_replicaset(f, "web", 100);
    mig_pod(f, "web-0", "web", "n1");
    mig_pod(f, "web-1", "web", "n2");
    mig_lead(f);
    mig_new_job(f, "a", "web-0", DIRECTLY);
    mig_until_over(f, "a", MINUTE);
    assert_string_equal(mig_job(f, "a", "status.phase"), "Succeeded");
}

static nsec_t between_evictions(struct migration_fixture *f)
{
    mig_new_job(f, "b", "web-1", DIRECTLY);
    mig_until_over(f, "b", 4 * MINUTE);
    assert_string_equal(mig_job(f, "b", "status.phase"), "Succeeded");
    assert_int_equal(f->evictions, 2);
    return f->evicted_at[1] - f->evicted_at[0];
}

static void test_a_limiter_survives_a_restart(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    begin(&f, "{}");
    mig_resign(&f);
    mig_lead(&f);
    mig_run(&f, 5 * SEC);
    mig_new_job(&f, "b", "web-1", DIRECTLY);
    mig_run(&f, 5 * SEC);
    assert_string_equal(mig_condition(&f, "b", "Arbitration", "reason"), "ObjectLimiter");
    mig_until_over(&f, "b", 2 * MINUTE);
    assert_int_equal(f.evictions, 2);
    assert_that(f.evicted_at[1] - f.evicted_at[0], >=, 30 * SEC);
    assert_that(f.evicted_at[1] - f.evicted_at[0], <=, 40 * SEC);
}

static void test_so_does_one_of_a_namespace(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    begin(&f, "{'objectLimiters':{'workload':{'duration':'0s'},'namespace':{'duration':'1m',"
              "'maxMigrating':1}}}");
    mig_resign(&f);
    mig_lead(&f);
    nsec_t time = between_evictions(&f);
    assert_that(time, >=, 59 * SEC);
    assert_that(time, <=, 70 * SEC);
}

/* People may edit what a job says of its workload. */
static void test_what_cannot_be_read_does_not_count(void **state)
{
    static const char *const texts[] = { "", "{", "[]", "7", "{\\\"uid\\\":\\\"x\\\"}", "null" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CLEANUP(mig_end) struct migration_fixture f;
        CLEANUP(mem_free)
        char *patch = xasprintf("{'metadata':{'annotations':{'" WORKLOAD "':\"%s\"}}}", texts[i]);
        begin(&f, "{}");
        assert_that(strlen(mig_annotation(&f, "a", WORKLOAD)), >, 0);
        mig_patch(&f, JOBS, "a", patch);
        mig_resign(&f);
        mig_lead(&f);
        assert_that(between_evictions(&f), <, 30 * SEC);
    }
}

/* Jobs go some minutes after their time, but not before their eviction has stopped to count. */
static void test_a_job_stays_while_its_eviction_counts(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    begin(&f, "{'objectLimiters':{'workload':{'duration':'1h','maxMigrating':2}}}");
    mig_run(&f, 59 * MINUTE);
    assert_true(mig_has(&f, JOBS, "a"));
    mig_run(&f, 2 * MINUTE);
    assert_false(mig_has(&f, JOBS, "a"));
}

static bool is_leaving(struct migration_fixture *f, const char *pod, nsec_t since)
{
    return plugin_migrationcontroller.leaving(f->plugin, "ns", pod, since);
}

/* What was measured before an eviction shows a pod that has gone; so it does to a new leader. */
static void test_who_leaves_and_who_has_left(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    begin(&f, "{}");
    nsec_t before = loop_wall(f.client.loop) - MINUTE;
    mig_resign(&f);
    mig_lead(&f);
    assert_true(is_leaving(&f, "web-0", before));
    assert_false(is_leaving(&f, "web-0", loop_wall(f.client.loop) + MINUTE));
    assert_false(is_leaving(&f, "web-1", before));
    mig_new_job(&f, "held", "web-1", "'paused':true,'ttl':'10m',");
    mig_run(&f, SEC);
    assert_false(is_leaving(&f, "web-1", before));
    mig_new_job(&f, "b", "web-1", "'ttl':'10m',");
    mig_run(&f, SEC);
    assert_true(is_leaving(&f, "web-1", loop_wall(f.client.loop)));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_limiter_survives_a_restart),
        cmocka_unit_test(test_so_does_one_of_a_namespace),
        cmocka_unit_test(test_what_cannot_be_read_does_not_count),
        cmocka_unit_test(test_a_job_stays_while_its_eviction_counts),
        cmocka_unit_test(test_who_leaves_and_who_has_left),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
