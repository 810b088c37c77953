/* test_ganghold.c - a gang that was refused for long keeps what it could get (hold.c): smaller pods
 * do not starve it, and it starves nobody. */
#include "gang_engine.h"

#define HOLD "{\"holdAfter\":\"30s\",\"holdFor\":\"120s\",\"holdPercentage\":100}"

/* ---- small pods that come and go ------------------------------------------------------------- */

enum { BACKLOG = 3 }; /* small pods that wait, at any time */

struct traffic {
    int first, next; /* pods of these numbers may exist */
};

static const char *small(int i)
{
    static char name[32];

    (void)snprintf(name, sizeof name, "small%d", i);
    return name;
}

static int count_small(const struct engine_fixture *b, const struct traffic *t, bool running)
{
    int n = 0;

    for (int i = t->first; i < t->next; i++)
        n += fake_find(b->client.fake, PODS, small(i)) && gang_runs(b, small(i)) == running;
    return n;
}

static void refill(struct engine_fixture *b, struct traffic *t)
{
    while (count_small(b, t, false) < BACKLOG)
        engine_pod(b, small(t->next++), 1000, 1, "");
}

/* The oldest that runs ends, others come, and three seconds pass. */
static void step(struct engine_fixture *b, struct traffic *t)
{
    for (int i = t->first; i < t->next; i++) {
        if (!fake_find(b->client.fake, PODS, small(i)) || !gang_runs(b, small(i)))
            continue;
        fake_delete(b->client.fake, PODS, small(i));
        break;
    }
    while (t->first < t->next && !fake_find(b->client.fake, PODS, small(t->first)))
        t->first++;
    refill(b, t);
    client_fixture_run(&b->client, 3 * SEC);
}

static void steps(struct engine_fixture *b, struct traffic *t, int n)
{
    for (int i = 0; i < n; i++)
        step(b, t);
}

static void members(struct engine_fixture *b, const char *gang, int n)
{
    char name[32];

    gang_podgroup(b, gang, n, "");
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s%d", gang, i);
        gang_pod(b, name, gang, 1);
    }
}

static int nominated(const struct engine_fixture *b, const char *gang, int n)
{
    char name[32];
    int sum = 0;

    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s%d", gang, i);
        sum += *engine_get(b, name, "status.nominatedNodeName") != '\0' && !gang_runs(b, name);
    }
    return sum;
}

/* Two nodes with two CPUs each, full of small pods. */
static void start(struct engine_fixture *b, struct traffic *t, const char *args)
{
    *t = (struct traffic){ 0 };
    gang_start(b, args);
    gang_node(b, "n1", 2);
    gang_node(b, "n2", 2);
    refill(b, t);
    client_fixture_run(&b->client, SEC);
    refill(b, t);
    client_fixture_run(&b->client, SEC);
    refill(b, t);
    client_fixture_run(&b->client, SEC);
    assert_int_equal(count_small(b, t, true), 4);
}

/* ---- it runs --------------------------------------------------------------------------------- */

static void test_small_pods_do_not_starve_it(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;

    (void)state;
    start(&b, &t, HOLD);
    members(&b, "g", 4);
    steps(&b, &t, 30);
    assert_int_equal(gang_bound(&b, "g", 4), 4);
    assert_int_equal(
        engine_events(&b, "GangHoldsRoom",
                      "refused for 30s: nodes that members could get are kept for them "
                      "by nomination, for up to 2m0s"),
        1);
    engine_verify(&b);
}

/* What the plugin does otherwise, and upstream always: this is what the argument is for. */
static void test_without_the_argument_they_do(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;

    (void)state;
    start(&b, &t, "{}");
    members(&b, "g", 4);
    for (int i = 0; i < 100; i++) {
        step(&b, &t);
        assert_int_equal(nominated(&b, "g", 4), 0);
    }
    assert_int_equal(gang_bound(&b, "g", 4), 0);
    assert_int_equal(count_small(&b, &t, true), 4);
}

/* It is not refused for long: it holds nothing. */
static void test_not_before_its_time(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;

    (void)state;
    start(&b, &t, HOLD);
    members(&b, "g", 4);
    for (int i = 0; i < 9; i++) {
        step(&b, &t);
        assert_int_equal(nominated(&b, "g", 4), 0);
    }
}

/* ---- it gives up ----------------------------------------------------------------------------- */

/* Five cannot run where there is room for four: they hold for their time, and not again before they
 * have waited. */
static void test_its_time_is_bounded(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;
    int held = 0, longest = 0, free = 0;

    (void)state;
    start(&b, &t, HOLD);
    members(&b, "g", 5);
    for (int i = 0; i < 200; i++) {
        step(&b, &t);
        bool holds = nominated(&b, "g", 5) > 0;
        held = holds ? held + 1 : 0;
        longest = MAX(longest, held);
        free += !holds;
        if (held == 1 && longest > 1)
            assert_true(free >= 9); /* 30 s */
        if (holds)
            free = 0;
    }
    assert_int_equal(gang_bound(&b, "g", 5), 0);
    assert_that(longest, >=, 30);
    assert_that(longest, <=, 41); /* 120 s */
}

static void test_its_share_is_bounded(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;
    int most = 0;

    (void)state;
    start(&b, &t, "{\"holdAfter\":\"30s\",\"holdPercentage\":50}");
    members(&b, "g", 4);
    for (int i = 0; i < 60; i++) {
        step(&b, &t);
        most = MAX(most, nominated(&b, "g", 4));
        assert_that(count_small(&b, &t, true), >=, 1);
    }
    assert_int_equal(most, 2);
}

/* Held until there is nothing small left that runs. */
static void hold_all(struct engine_fixture *b, struct traffic *t, int n)
{
    for (int i = 0; i < 60 && nominated(b, "g", n) < 4; i++)
        step(b, t);
    assert_int_equal(nominated(b, "g", n), 4);
    assert_int_equal(count_small(b, t, true), 0);
}

static void test_a_higher_priority_goes_first(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;

    (void)state;
    start(&b, &t, HOLD);
    members(&b, "g", 5);
    hold_all(&b, &t, 5);
    engine_pod(&b, "high", 2000, 1, ",\"priority\":10");
    client_fixture_run(&b.client, SEC);
    assert_true(gang_runs(&b, "high"));
    assert_int_equal(count_small(&b, &t, true), 0); /* they are still kept out */
    engine_verify(&b);
}

/* The PodGroup goes, or a member without which it is not whole, or it wants something else. */
static void gone(void (*what)(struct engine_fixture *))
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;

    start(&b, &t, HOLD);
    members(&b, "g", 5);
    hold_all(&b, &t, 5);
    what(&b);
    client_fixture_run(&b.client, 12 * SEC);
    refill(&b, &t);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(nominated(&b, "g", 5), 0);
    assert_that(count_small(&b, &t, true), >=, 3);
    engine_verify(&b);
}

static void podgroup_goes(struct engine_fixture *b)
{
    fake_delete(b->client.fake, PODGROUPS, "g");
}

static void member_goes(struct engine_fixture *b)
{
    fake_delete(b->client.fake, PODS, "g4");
}

static void all_go(struct engine_fixture *b)
{
    podgroup_goes(b);
    for (int i = 0; i < 5; i++)
        fake_delete(b->client.fake, PODS, (const char *[]){ "g0", "g1", "g2", "g3", "g4" }[i]);
}

static void group_grows(struct engine_fixture *b)
{
    fake_patch(b->client.fake, PODGROUPS, "g",
               "{\"metadata\":{\"annotations\":{\"" ANNO_GANG_GROUPS
               "\":\"[\\\"ns/g\\\",\\\"ns/nobody\\\"]\"}}}");
}

static void minimum_grows(struct engine_fixture *b)
{
    fake_patch(b->client.fake, PODGROUPS, "g", "{\"spec\":{\"minMember\":6}}");
}

static void argument_goes(struct engine_fixture *b)
{
    gang_engine_config(b, "{}", true);
}

static void test_what_it_held_is_free_when_it_goes(void **state)
{
    (void)state;
    gone(podgroup_goes);
    gone(member_goes);
    gone(all_go);
    gone(group_grows);
    gone(minimum_grows);
    gone(argument_goes);
}

/* ---- several --------------------------------------------------------------------------------- */

/* Each would hold what the other lacks. */
static void test_two_gangs_do_not_block_each_other(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;
    const char *winner = NULL;

    (void)state;
    start(&b, &t, HOLD);
    members(&b, "g", 3);
    members(&b, "h", 3);
    for (int i = 0; i < 60 && !winner; i++) {
        step(&b, &t);
        assert_true(nominated(&b, "g", 3) == 0 || nominated(&b, "h", 3) == 0);
        winner = gang_bound(&b, "g", 3) ? "g" : gang_bound(&b, "h", 3) ? "h" : NULL;
    }
    assert_non_null(winner);
    assert_int_equal(gang_bound(&b, winner, 3), 3);
    for (int i = 0; i < 3; i++) { /* the job is done */
        char name[8];
        (void)snprintf(name, sizeof name, "%s%d", winner, i);
        fake_delete(b.client.fake, PODS, name);
    }
    steps(&b, &t, 60);
    assert_int_equal(gang_bound(&b, *winner == 'g' ? "h" : "g", 3), 3);
    engine_verify(&b);
}

/* One that can never run has its time, and then others have theirs. */
static void test_an_impossible_gang_does_not_keep_the_turn(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;

    (void)state;
    start(&b, &t, HOLD);
    members(&b, "g", 5);
    steps(&b, &t, 5);
    members(&b, "h", 4);
    steps(&b, &t, 150);
    assert_int_equal(gang_bound(&b, "h", 4), 4);
}

/* ---- another scheduler ----------------------------------------------------------------------- */

/* The next one knows by the nominations that the gang was holding. It goes on, for a bounded time.
 */
static void next_leader(bool warm)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;
    struct scheduler *next = NULL;

    start(&b, &t, HOLD);
    members(&b, "g", 5);
    if (warm)
        next = gang_standby(&b, HOLD);
    hold_all(&b, &t, 5);
    scheduler_free(b.s);
    b.s = warm ? next : gang_standby(&b, HOLD);
    scheduler_lead(b.s);
    steps(&b, &t, 20); /* 60 s */
    assert_int_equal(nominated(&b, "g", 5), 4);
    assert_int_equal(count_small(&b, &t, true), 0);
    steps(&b, &t, 25);
    assert_int_equal(nominated(&b, "g", 5), 0);
    assert_int_equal(count_small(&b, &t, true), 4);
    engine_verify(&b);
}

static void test_a_restart(void **state)
{
    (void)state;
    next_leader(false);
}

static void test_a_new_leader(void **state)
{
    (void)state;
    next_leader(true);
}

/* The next one does not hold: what was nominated is free at its first round. */
static void test_a_new_leader_without_the_argument(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct traffic t;

    (void)state;
    start(&b, &t, HOLD);
    members(&b, "g", 5);
    hold_all(&b, &t, 5);
    scheduler_free(b.s);
    b.s = gang_standby(&b, "{}");
    scheduler_lead(b.s);
    steps(&b, &t, 6);
    assert_int_equal(nominated(&b, "g", 5), 0);
    assert_int_equal(count_small(&b, &t, true), 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_pods_do_not_starve_it),
        cmocka_unit_test(test_without_the_argument_they_do),
        cmocka_unit_test(test_not_before_its_time),
        cmocka_unit_test(test_its_time_is_bounded),
        cmocka_unit_test(test_its_share_is_bounded),
        cmocka_unit_test(test_a_higher_priority_goes_first),
        cmocka_unit_test(test_what_it_held_is_free_when_it_goes),
        cmocka_unit_test(test_two_gangs_do_not_block_each_other),
        cmocka_unit_test(test_an_impossible_gang_does_not_keep_the_turn),
        cmocka_unit_test(test_a_restart),
        cmocka_unit_test(test_a_new_leader),
        cmocka_unit_test(test_a_new_leader_without_the_argument),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
