/* test_gangengine.c - gangs in a whole engine (sched-gang 3, 4): all or none, at once, and nobody
 * is forgotten. Numbers with # are issues of Koordinator. */
#include "gang_engine.h"

static void settle(struct engine_fixture *b)
{
    client_fixture_run(&b->client, 12 * SEC); /* the longest back-off */
}

static void soon(struct engine_fixture *b)
{
    client_fixture_run(&b->client, SEC);
}

static void pods(struct engine_fixture *b, const char *prefix, const char *gang, int n, int cpu)
{
    char name[64];

    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s%d", prefix, i);
        gang_pod(b, name, gang, cpu);
    }
}

struct writes { /* what the scheduler sent */
    int bindings, conditions, events;
};

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct writes *w = arg;

    (void)agent, (void)body;
    w->bindings += strstr(target, "/binding") != NULL;
    w->conditions +=
        streq(method, "PATCH") && strstr(target, "/pods/") && strstr(target, "/status");
    w->events += strstr(target, "/events") != NULL;
}

/* ---- all or none ----------------------------------------------------------------------------- */

static void test_all_are_bound_with_one_write_each(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct writes w = { 0 };

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 100);
    gang_podgroup(&b, "g", 100, "");
    soon(&b);
    fake_on_write(b.client.fake, on_write, &w);
    pods(&b, "g", "g", 100, 1);
    soon(&b);
    assert_int_equal(gang_bound(&b, "g", 100), 100);
    assert_int_equal(gang_attempts(&b), 100);
    assert_int_equal(w.bindings, 100);
    assert_int_equal(w.conditions, 0); /* also not for those that waited for the others */
    assert_string_equal(engine_get(&b, "g7",
                                   "metadata.annotations.internal.scheduling.koordinator."
                                   "sh/bind-gang-member-count"),
                        "");
    const char *json = fake_find(b.client.fake, PODS, "g7");
    assert_non_null(strstr(json, "\"" ANNO_BIND_GANG_GROUP_ID "\":\"ns/g\""));
    assert_non_null(strstr(json, "\"" ANNO_BIND_GANG_MEMBER_COUNT "\":\"100\""));
    engine_verify(&b);
}

static void test_none_without_room_for_all(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct writes w = { 0 };

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 2);
    gang_podgroup(&b, "g", 3, "");
    soon(&b);
    fake_on_write(b.client.fake, on_write, &w);
    pods(&b, "g", "g", 3, 1);
    soon(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 0);
    assert_int_equal(w.conditions, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(engine_condition(&b, (const char *[]){ "g0", "g1", "g2" }[i], "reason"),
                            "Unschedulable");
    assert_int_equal(
        engine_events(&b, "FailedScheduling",
                      "GangGroup \"ns/g\" gets rejected due to member Pod \"ns/g1\" is "
                      "unschedulable with reason \"0/1 nodes are available: 1 "
                      "Insufficient cpu.\", alreadyWaitForBound: 2"),
        1);                                            /* on the PodGroup */
    assert_int_equal(scheduler_stats(b.s).assumed, 0); /* nothing is held */
    uint64_t tried = gang_attempts(&b);
    client_fixture_run(&b.client, 100 * SEC);
    assert_int_equal(gang_attempts(&b), tried); /* nothing changed: nobody tries */
    gang_node(&b, "n2", 1);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 3);
    engine_verify(&b);
}

static void test_a_gang_waits_for_its_members(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 10);
    gang_podgroup(&b, "g", 3, "");
    pods(&b, "g", "g", 2, 1);
    soon(&b);
    assert_int_equal(gang_attempts(&b), 0);
    /* #2480, #2884: they are told within a second. */
    assert_string_equal(engine_condition(&b, "g0", "message"),
                        "gangGroup [ns/g] basic check: memberGangs [ns/g] child pod not collect "
                        "enough, current gang: ns/g, podName: ns/g0");
    assert_string_equal(engine_condition(&b, "g1", "reason"), "Unschedulable");
    gang_pod(&b, "g2", "g", 1);
    soon(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 3);
}

/* A member with scheduling gates does not count, and is not tried. */
static void test_gated_members(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 10);
    gang_podgroup(&b, "g", 3, "");
    pods(&b, "g", "g", 2, 1);
    gang_pod_with(&b, "g2", LABEL("g"), "", 1, ",\"schedulingGates\":[{\"name\":\"x\"}]");
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 0);
    fake_patch(b.client.fake, PODS, "g2", "{\"spec\":{\"schedulingGates\":null}}");
    soon(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 3);
}

/* #872: {A,B} and {C,D} in the order A C B D, with room for one of them. */
static void groups_cross(const char *mode)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char first[256], second[256];

    gang_start(&b, "{}");
    gang_node(&b, "n1", 4);
    (void)snprintf(first, sizeof first,
                   "\"" ANNO_GANG_MODE "\":\"%s\",\"" ANNO_GANG_GROUPS
                   "\":\"[\\\"ns/a\\\",\\\"ns/b\\\"]\"",
                   mode);
    (void)snprintf(second, sizeof second,
                   "\"" ANNO_GANG_MODE "\":\"%s\",\"" ANNO_GANG_GROUPS
                   "\":\"[\\\"ns/c\\\",\\\"ns/d\\\"]\"",
                   mode);
    gang_podgroup(&b, "a", 2, first);
    gang_podgroup(&b, "b", 2, first);
    gang_podgroup(&b, "c", 2, second);
    gang_podgroup(&b, "d", 2, second);
    soon(&b);
    pods(&b, "a", "a", 2, 1);
    pods(&b, "c", "c", 2, 1);
    pods(&b, "b", "b", 2, 1);
    pods(&b, "d", "d", 2, 1);
    settle(&b);
    int ab = gang_bound(&b, "a", 2) + gang_bound(&b, "b", 2);
    int cd = gang_bound(&b, "c", 2) + gang_bound(&b, "d", 2);
    assert_int_equal(ab + cd, 4);
    assert_true(ab == 0 || ab == 4);
    gang_node(&b, "n2", 4);
    settle(&b);
    assert_int_equal(gang_bound(&b, "a", 2) + gang_bound(&b, "b", 2) + gang_bound(&b, "c", 2) +
                         gang_bound(&b, "d", 2),
                     8);
}

static void test_groups_that_cross(void **state)
{
    (void)state;
    groups_cross("Strict");
    groups_cross("NonStrict");
}

/* ---- members that cannot be placed ----------------------------------------------------------- */

/* Three of five are enough, and one fits nowhere: the others run at once. */
static void one_is_impossible(const char *mode, int which)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char annotation[128], name[8];

    gang_start(&b, "{}");
    gang_node(&b, "n1", 10);
    (void)snprintf(annotation, sizeof annotation, "\"" ANNO_GANG_MODE "\":\"%s\"", mode);
    gang_podgroup(&b, "g", 3, annotation);
    soon(&b);
    for (int i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof name, "g%d", i);
        gang_pod(&b, name, "g", i == which ? 64 : 1);
    }
    client_fixture_run(&b.client, 2 * SEC);
    assert_int_equal(gang_bound(&b, "g", 5), 4);
    engine_verify(&b);
}

static void test_one_impossible_member(void **state)
{
    (void)state;
    for (int which = 0; which < 5; which++) {
        one_is_impossible("Strict", which);
        one_is_impossible("NonStrict", which);
    }
}

/* Two of four are enough and there is room for three: the fourth waits alone. */
static void test_more_than_the_minimum(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 6);
    gang_podgroup(&b, "g", 2, "");
    pods(&b, "g", "g", 4, 2);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 4), 3);
}

/* #3185: a member that is deleted while it fails is not tried again, and the others are. */
static void test_the_failed_member_goes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 4);
    gang_podgroup(&b, "g", 3, "");
    gang_pod(&b, "g0", "g", 1);
    gang_pod(&b, "g1", "g", 1);
    gang_pod(&b, "big", "g", 64);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 2), 0);
    fake_delete(b.client.fake, PODS, "big");
    soon(&b);
    assert_int_equal(gang_bound(&b, "g", 2), 0); /* two are too few */
    gang_pod(&b, "g2", "g", 1);
    soon(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 3);
}

/* Four members, the one that did not fit is deleted: the other three are enough at once. */
static void test_another_takes_its_place(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 2);
    gang_podgroup(&b, "g", 2, "");
    gang_pod_with(&b, "x0", LABEL("g"), "", 1, ",\"nodeSelector\":{\"no\":\"where\"}");
    gang_pod_with(&b, "x1", LABEL("g"), "", 1, ",\"nodeSelector\":{\"no\":\"where\"}");
    settle(&b);
    pods(&b, "g", "g", 2, 1);
    client_fixture_run(&b.client, 2 * SEC);
    assert_int_equal(gang_bound(&b, "g", 2), 2);
}

/* #2148: a member is made again under its name, and news of the old one's end comes late. */
static void test_a_member_made_again(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 1);
    gang_podgroup(&b, "g", 2, "");
    pods(&b, "g", "g", 2, 1);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 2), 0);
    for (int i = 0; i < 3; i++) {
        fake_delete(b.client.fake, PODS, "g0");
        gang_pod(&b, "g0", "g", 1);
        fake_end_watches(b.client.fake);
        settle(&b);
    }
    gang_node(&b, "n2", 1);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 2), 2);
}

/* #874: what keeps a gang waiting goes: it is tried within its back-off, never by the flush. */
static void test_no_slow_retry(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 4);
    engine_pod(&b, "other", 2000, 1, "");
    soon(&b);
    gang_podgroup(&b, "g", 4, "");
    pods(&b, "g", "g", 4, 1);
    client_fixture_run(&b.client, 40 * SEC);
    assert_int_equal(gang_bound(&b, "g", 4), 0);
    fake_delete(b.client.fake, PODS, "other");
    client_fixture_run(&b.client, 10 * SEC);
    assert_int_equal(gang_bound(&b, "g", 4), 4);
}

/* ---- PodGroups ------------------------------------------------------------------------------- */

static void test_a_minimum_that_is_lowered(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 2);
    gang_podgroup(&b, "g", 3, "");
    pods(&b, "g", "g", 3, 1);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 0);
    fake_patch(b.client.fake, PODGROUPS, "g", "{\"spec\":{\"minMember\":2}}");
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 2);
}

/* The PodGroup comes after its pods, goes while they wait, and comes again. */
static void test_a_podgroup_that_comes_and_goes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 2);
    pods(&b, "g", "g", 3, 1);
    soon(&b);
    assert_string_equal(engine_condition(&b, "g0", "message"),
                        "gang has not init, gangName: ns/g, podName: ns/g0");
    gang_podgroup(&b, "g", 3, "");
    settle(&b);
    fake_delete(b.client.fake, PODGROUPS, "g");
    soon(&b);
    gang_node(&b, "n2", 1);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 0);
    gang_podgroup(&b, "g", 3, ""); /* #1787: without a timeout */
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 3);
}

/* #2030, scheduler-plugins#446: the status follows the pods to the end. */
static void test_status_of_a_podgroup(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 10);
    gang_podgroup(&b, "g", 2, "");
    soon(&b);
    assert_non_null(strstr(fake_find(b.client.fake, PODGROUPS, "g"), "\"phase\":\"Pending\""));
    pods(&b, "g", "g", 2, 1);
    soon(&b);
    assert_non_null(strstr(fake_find(b.client.fake, PODGROUPS, "g"), "\"phase\":\"Scheduled\""));
    fake_patch(b.client.fake, PODS, "g0", "{\"status\":{\"phase\":\"Running\"}}");
    fake_patch(b.client.fake, PODS, "g1", "{\"status\":{\"phase\":\"Running\"}}");
    soon(&b);
    assert_non_null(strstr(fake_find(b.client.fake, PODGROUPS, "g"), "\"phase\":\"Running\""));
    assert_non_null(strstr(fake_find(b.client.fake, PODGROUPS, "g"), "\"running\":2"));
    fake_patch(b.client.fake, PODS, "g0", "{\"status\":{\"phase\":\"Succeeded\"}}");
    soon(&b);
    assert_non_null(strstr(fake_find(b.client.fake, PODGROUPS, "g"), "\"succeeded\":1"));
    fake_patch(b.client.fake, PODS, "g1", "{\"status\":{\"phase\":\"Succeeded\"}}");
    soon(&b);
    assert_non_null(strstr(fake_find(b.client.fake, PODGROUPS, "g"), "\"phase\":\"Finished\""));
    assert_non_null(strstr(fake_find(b.client.fake, PODGROUPS, "g"), "\"succeeded\":2"));
}

/* ---- room for others ------------------------------------------------------------------------- */

/* #1160: nobody is evicted for one member of a gang that would not be whole by it. */
static void test_no_useless_evictions(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 4);
    engine_pod(&b, "low", 4000, 1, ",\"priority\":1");
    soon(&b);
    gang_podgroup(&b, "g", 8, "");
    char name[8];
    for (int i = 0; i < 8; i++) {
        (void)snprintf(name, sizeof name, "g%d", i);
        gang_pod_with(&b, name, LABEL("g"), "", 1, ",\"priority\":100");
    }
    settle(&b);
    assert_true(gang_runs(&b, "low"));
    assert_int_equal(gang_bound(&b, "g", 8), 0);
    assert_int_equal(scheduler_stats(b.s).victims, 0);
}

/* Gangs that do not fit wake nobody with the room that they took and gave back. */
static void test_gangs_do_not_wake_each_other(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 2);
    gang_podgroup(&b, "g", 3, "");
    gang_podgroup(&b, "h", 3, "");
    pods(&b, "g", "g", 3, 1);
    pods(&b, "h", "h", 3, 1);
    engine_pod(&b, "big", 3000, 1, "");
    soon(&b);
    uint64_t before = gang_attempts(&b);
    client_fixture_run(&b.client, 60 * SEC);
    assert_int_equal(gang_attempts(&b), before);
}

/* A new configuration while a gang waits. */
static void test_reload(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 2);
    gang_podgroup(&b, "g", 3, "");
    pods(&b, "g", "g", 3, 1);
    settle(&b);
    gang_engine_config(&b, "{\"defaultTimeout\":\"20s\",\"defaultMatchPolicy\":\"only-waiting\"}",
                       true);
    gang_node(&b, "n2", 2);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 3), 3);
    engine_verify(&b);
}

struct logged {
    char first[4096], last[4096]; /* diagnoses */
    int n;
};

static void on_line(void *arg, const char *text, size_t n)
{
    struct logged *l = arg;

    if (!memmem(text, n, "dump diagnosis", 14))
        return;
    (void)snprintf(l->n++ == 0 ? l->first : l->last, sizeof l->last, "%.*s", (int)n, text);
}

/* The diagnosis is about the gang: who waits where when one does not fit (scheduler-core 11.2).
 * That one is the root cause; the others are not tried because of it, and say so. */
static void test_diagnosis(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    struct logged l = { .n = 0 };

    (void)state;
    gang_opts =
        (struct scheduler_opts){ .debug_diagnosis = true, .debug_diagnosis_blocking = true };
    gang_start(&b, "{}");
    gang_opts = (struct scheduler_opts){ 0 };
    gang_node(&b, "n1", 2);
    gang_podgroup(&b, "g", 5, "");
    soon(&b);
    klog_set_sink(on_line, &l);
    pods(&b, "g", "g", 5, 1);
    soon(&b);
    klog_set_sink(client_fixture_quiet, NULL);
    assert_int_equal(l.n, 3); /* two have a node */
    assert_contains(l.first, "dump diagnosis for ns/g, targetPod: ns/g1/");
    assert_contains(l.first, "\"questionedKey\":\"ns/g\"");
    assert_contains(l.first, "\"isRootCausePod\":true");
    assert_contains(l.first, "\"alreadyWaitForBound\":2,\"nodeOfferSlot\":{\"n1\":2}");
    assert_null(strstr(l.first, "\"suggestion\""));
    assert_contains(l.last, "dump diagnosis for ns/g, targetPod: ns/g3/");
    assert_contains(l.last, "\"preFilterMessage\":\"0/1 nodes are available: GangGroup "
                            "\\\"ns/g\\\" gets rejected due to member Pod \\\"ns/g1\\\"");
    assert_contains(l.last, "\"isRootCausePod\":false");
}

/* What cannot be used has a default, and people are told which. */
static void test_bad_input(void **state)
{
    static const struct {
        const char *annotations, *event;
    } cases[] = {
        { "\"" ANNO_GANG_MODE "\":\"Loose\"",
          ANNO_GANG_MODE ": \"Loose\" is neither Strict nor NonStrict: Strict counts" },
        { "\"" ANNO_GANG_MATCH_POLICY "\":\"never\"",
          ANNO_GANG_MATCH_POLICY ": \"never\" is unknown: once-satisfied counts" },
        { "\"" ANNO_GANG_TOTAL_NUMBER "\":\"1\"",
          ANNO_GANG_TOTAL_NUMBER ": 1 is below the minimum of 2, which counts" },
        { "\"" ANNO_GANG_TOTAL_NUMBER "\":\"many\"",
          ANNO_GANG_TOTAL_NUMBER ": \"many\" is not a whole number: the minimum counts" },
        { "\"" ANNO_GANG_GROUPS "\":\"[\\\"ns/other\\\"]\"",
          ANNO_GANG_GROUPS ": ns/g is not among them" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        gang_start(&b, "{}");
        gang_node(&b, "n1", 10);
        gang_podgroup(&b, "g", 2, cases[i].annotations);
        gang_podgroup(&b, "other", 2, "");
        pods(&b, "other", "other", 2, 1);
        pods(&b, "g", "g", 2, 1);
        settle(&b);
        assert_int_equal(engine_events(&b, "InvalidGang", cases[i].event), 1);
        assert_int_equal(gang_bound(&b, "other", 2), 2); /* nobody else is disturbed */
        assert_int_equal(gang_bound(&b, "g", 2), 2);
    }
}

/* The same of gangs by annotations. Nobody waits for a minimum of 0 or less; without a number the
 * gang waits, and whose words would help is told. */
static void test_bad_annotations(void **state)
{
    static const struct {
        const char *annotations, *event;
        int bound;
    } cases[] = {
        { "", ANNO_GANG_MIN_AVAILABLE " is missing: the gang waits for a pod that has it", 0 },
        { ",\"" ANNO_GANG_MIN_AVAILABLE "\":\"x\"",
          ANNO_GANG_MIN_AVAILABLE ": \"x\" is not a whole number of 32 bits: the gang waits for a "
                                  "pod that has one",
          0 },
        { ",\"" ANNO_GANG_MIN_AVAILABLE "\":\"0\"",
          ANNO_GANG_MIN_AVAILABLE ": 0: nobody is waited for", 2 },
        { ",\"" ANNO_GANG_MIN_AVAILABLE "\":\"-3\"",
          ANNO_GANG_MIN_AVAILABLE ": -3: nobody is waited for", 2 },
        { ",\"" ANNO_GANG_MIN_AVAILABLE "\":\"2\",\"" ANNO_GANG_WAITING_TIME "\":\"soon\"",
          ANNO_GANG_WAITING_TIME ": \"soon\" is not a positive duration: defaultTimeout counts",
          2 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        char annotations[256];
        gang_start(&b, "{}");
        gang_node(&b, "n1", 10);
        (void)snprintf(annotations, sizeof annotations, "\"" ANNO_GANG_NAME "\":\"g\"%s",
                       cases[i].annotations);
        gang_podgroup(&b, "other", 2, "");
        pods(&b, "other", "other", 2, 1);
        gang_pod_with(&b, "g0", "", annotations, 1, "");
        gang_pod_with(&b, "g1", "", annotations, 1, "");
        settle(&b);
        assert_int_equal(engine_events(&b, "InvalidGang", cases[i].event), 1);
        assert_int_equal(gang_bound(&b, "other", 2), 2); /* nobody else is disturbed */
        assert_int_equal(gang_bound(&b, "g", 2), cases[i].bound);
    }
}

/* A pod that is bound makes its group once-satisfied for a scheduler that has just started. */
static void test_a_member_that_is_made_later(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    gang_start(&b, "{}");
    gang_node(&b, "n1", 10);
    gang_podgroup(&b, "g", 2, "");
    pods(&b, "g", "g", 2, 1);
    soon(&b);
    assert_int_equal(gang_bound(&b, "g", 2), 2);
    fake_delete(b.client.fake, PODS, "g0");
    gang_pod(&b, "late", "g", 1);
    soon(&b);
    assert_true(gang_runs(&b, "late"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_bound_with_one_write_each),
        cmocka_unit_test(test_none_without_room_for_all),
        cmocka_unit_test(test_a_gang_waits_for_its_members),
        cmocka_unit_test(test_gated_members),
        cmocka_unit_test(test_groups_that_cross),
        cmocka_unit_test(test_one_impossible_member),
        cmocka_unit_test(test_more_than_the_minimum),
        cmocka_unit_test(test_the_failed_member_goes),
        cmocka_unit_test(test_another_takes_its_place),
        cmocka_unit_test(test_a_member_made_again),
        cmocka_unit_test(test_no_slow_retry),
        cmocka_unit_test(test_a_minimum_that_is_lowered),
        cmocka_unit_test(test_a_podgroup_that_comes_and_goes),
        cmocka_unit_test(test_status_of_a_podgroup),
        cmocka_unit_test(test_no_useless_evictions),
        cmocka_unit_test(test_gangs_do_not_wake_each_other),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_bad_annotations),
        cmocka_unit_test(test_diagnosis),
        cmocka_unit_test(test_a_member_that_is_made_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
