/* test_gangreload.c - a new configuration while a round is open: extenders that take their time
 * spread it over several turns, with members that wait and one about whom they are asked. */
#include "gang_engine.h"
#include "scheduler/extender/test/extender_fixture.h"

static void start(struct fake_extenders *o)
{
    struct sched_extender e = fake_extender_extender();

    e.filter_verb = "filter";
    e.timeout = 30 * SEC;
    fake_extender_start_with(o, &e, 1, gang_table);
    fake_extender_answer(o, "/x/filter", 200, "{'NodeNames':['n1']}");
    fake_extender_path(o, "/x/filter")->delay = SEC;
    gang_node(&o->engine, "n1", 8);
    gang_podgroup(&o->engine, "g", 4, "");
    client_fixture_run(&o->engine.client, SEC);
    for (int i = 0; i < 4; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "g%d", i);
        gang_pod(&o->engine, name, "g", 1);
    }
    client_fixture_run(&o->engine.client, 5 * SEC / 2);
    assert_int_equal(scheduler_stats(o->engine.s).waiting, 2);
    assert_int_equal(fake_extender_asked(o, "/x/filter"), 3);
}

/* The configuration after start(): with the same extender; with: is Coscheduling one of the
 * plugins? */
static void reload(struct fake_extenders *o, bool with)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct ks_registered few[ARRAY_LEN(gang_table)];
    struct sched_extender e = fake_extender_extender();
    struct kerr err = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(gang_table); i++)
        if (with || gang_table[i].plugin != &ks_plugin_coscheduling)
            few[n++] = gang_table[i];
    e.filter_verb = "filter";
    e.timeout = 30 * SEC;
    struct profile_config c = profile_config_default(few, "koord-scheduler", a);
    struct scheduler_opts opts = {
        .profiles = &c, .nprofiles = 1, .extenders = &e, .nextenders = 1
    };
    if (scheduler_reload(o->engine.s, &opts, &err) < 0)
        fail_msg("%s", err.text);
}

static void check_clean(struct fake_extenders *o)
{
    assert_int_equal(scheduler_stats(o->engine.s).waiting, 0);
    assert_int_equal(scheduler_stats(o->engine.s).assumed, 0);
    assert_int_equal(scheduler_stats(o->engine.s).nominated, 0);
    engine_verify(&o->engine);
}

/* The round goes on under the new profile, and ends as it would have. */
static void test_the_round_goes_on(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start(&o);
    reload(&o, true);
    client_fixture_run(&o.engine.client, 15 * SEC);
    assert_int_equal(gang_bound(&o.engine, "g", 4), 4);
    check_clean(&o);
}

/* The same when the gang does not fit: nobody keeps anything. */
static void test_the_round_fails(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start(&o);
    fake_extender_answer(&o, "/x/filter", 200, "{'NodeNames':[]}");
    reload(&o, true);
    client_fixture_run(&o.engine.client, 15 * SEC);
    assert_int_equal(gang_bound(&o.engine, "g", 4), 0);
    check_clean(&o);
    fake_extender_answer(&o, "/x/filter", 200, "{'NodeNames':['n1']}");
    gang_node(&o.engine, "n2", 1);
    client_fixture_run(&o.engine.client, 30 * SEC);
    assert_int_equal(gang_bound(&o.engine, "g", 4), 4);
}

/* Two in a row: the second is refused as long as members wait under the profile before the first.
 */
static void test_reload_twice(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start(&o);
    reload(&o, true);
    client_fixture_run(&o.engine.client, 15 * SEC);
    reload(&o, true);
    client_fixture_run(&o.engine.client, SEC);
    assert_int_equal(gang_bound(&o.engine, "g", 4), 4);
    check_clean(&o);
}

/* Coscheduling is not there any more: members are pods like others, and nobody waits for a gang. */
static void test_the_plugin_goes(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start(&o);
    reload(&o, false);
    client_fixture_run(&o.engine.client, 15 * SEC);
    assert_int_equal(gang_bound(&o.engine, "g", 4), 4);
    check_clean(&o);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_round_goes_on),
        cmocka_unit_test(test_the_round_fails),
        cmocka_unit_test(test_reload_twice),
        cmocka_unit_test(test_the_plugin_goes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
