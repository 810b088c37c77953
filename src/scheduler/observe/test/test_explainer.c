/* test_explainer.c - ScheduleExplanations are answered, kept fresh and removed (api-crds 10). */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "base/ktime.h"
#include "scheduler/framework/profile.h"
#include "scheduler/observe/explain/controller.h"
#include "scheduler/plugins/registry.h"

#define EXPLANATIONS "/apis/scheduling.koordinator.sh/v1alpha1/namespaces/ns/scheduleexplanations"
#define TAINTED      ",\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]"

struct desk { /* a scheduler that answers questions */
    struct engine_fixture engine;
    struct explainer *x;
};

/* Few, so that the answers can be told to the letter. */
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_scheduling_gates, 0, true },
    { &ks_plugin_taint_toleration, 3, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};
static const struct ks_registered with_gangs[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_scheduling_gates, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_coscheduling, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static void desk_open_with(struct desk *d, const struct ks_registered *table)
{
    engine_start_with(&d->engine, 1, table);
    d->x = explainer_new(d->engine.client.loop, d->engine.client.kube, d->engine.s);
}

static void desk_open(struct desk *d)
{
    desk_open_with(d, plugins);
}

static void desk_close_p(struct desk *d)
{
    explainer_free(d->x);
    engine_stop_p(&d->engine);
}

/* ttl: as ",\"ttl\":\"1h\""; may be "". */
static void ask_for(struct desk *d, const char *name, const char *key, const char *ttl)
{
    char body[512], when[KTIME_TEXT_MAX];

    ktime_format(loop_wall(d->engine.client.loop), when);
    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"creationTimestamp\":\"%s\"},\"spec\":{\"questionObjectKey\":"
                   "\"%s\"%s}}",
                   when, key, ttl);
    fake_put(d->engine.client.fake, EXPLANATIONS, name, body);
}

static void ask(struct desk *d, const char *name, const char *key)
{
    ask_for(d, name, key, "");
}

/* The status as sorted JSON without the time; "" when there is none. Valid until the next call. */
static const char *status(const struct desk *d, const char *name, char *ret_when)
{
    static struct strbuf text;
    const char *json = fake_find(d->engine.client.fake, EXPLANATIONS, name);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *copy = kj_mdoc_new();

    strbuf_fini(&text);
    if (!json || kj_parse(json, strlen(json), 0, &doc, NULL) < 0 || !kj_get(kj_root(doc), "status"))
        return "";
    struct kj_mval *v = kj_mcopy(copy, kj_get(kj_root(doc), "status"));
    if (ret_when)
        (void)snprintf(ret_when, KTIME_TEXT_MAX, "%s",
                       kj_str_or(kj_path(kj_root(doc), "status.lastUpdateTime"), ""));
    kj_mdel(v, "lastUpdateTime", strlen("lastUpdateTime"));
    kj_mwrite(v, KJ_SORTED, &text);
    return strbuf_str(&text);
}

static char *uid_of(const struct desk *d, const char *pod)
{
    return xstrdup(engine_get(&d->engine, pod, "metadata.uid"));
}

/* `text` with the first # replaced by a, the next by b. */
static void assert_status(const struct desk *d, const char *name, const char *text, const char *a,
                          const char *b)
{
    CLEANUP(strbuf_fini) struct strbuf want = STRBUF_INIT;
    const char *with[] = { a, b };
    unsigned n = 0;

    for (; *text; text++) {
        if (*text == '#')
            strbuf_append(&want, with[n++]);
        else
            strbuf_appendc(&want, *text);
    }
    assert_string_equal(status(d, name, NULL), strbuf_str(&want));
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void test_a_pod_that_fits_nowhere(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    engine_node(&d.engine, "n4", 1000, 1024, 10, "");
    engine_node(&d.engine, "n3", 2000, 1024, 10, "");
    engine_node(&d.engine, "n2", 2000, 1024, 10, "");
    engine_node(&d.engine, "n1", 8000, 8192, 10, TAINTED);
    engine_pod(&d.engine, "on-n2", 500, 16, ",\"nodeName\":\"n2\"");
    engine_pod(&d.engine, "on-n3", 500, 16, ",\"nodeName\":\"n3\"");
    engine_pod(&d.engine, "big", 2000, 16, "");
    ask(&d, "why", "ns/big");
    client_fixture_run(&d.engine.client, 3 * SEC);
#define ROOM                                                                                  \
    "preemption: 0/4 nodes are available: 2 No preemption victims found for incoming pod, 2 " \
    "Preemption is not helpful for scheduling."
#define MESSAGE \
    "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu. " ROOM
    assert_status(
        &d, "why",
        "{\"detailedExplanation\":[{\"failedMessage\":\"" MESSAGE "\",\"preemptExplanation\":"
        "{\"failedMessage\":\"" ROOM "\",\"schedulable\":false},"
        "\"schedulable\":false,\"schedulableAfterPreemption\":false,\"scheduleExplanation\":"
        "{\"failedMessage\":\"" MESSAGE "\",\"nodeFailedDetails\":["
        "{\"failedNodes\":[\"n2\",\"n3\"],\"failedPlugin\":\"NodeResourcesFit\","
        "\"preemptMightHelp\":true,\"reason\":\"Insufficient cpu\"},"
        "{\"failedNodes\":[\"n4\"],\"failedPlugin\":\"NodeResourcesFit\","
        "\"preemptMightHelp\":false,\"reason\":\"Insufficient cpu\"},"
        "{\"failedNodes\":[\"n1\"],\"failedPlugin\":\"TaintToleration\",\"preemptMightHelp\":false,"
        "\"reason\":\"node(s) had untolerated taint(s)\"}],\"schedulable\":false}}],"
        "\"failedMessage\":\"" MESSAGE "\",\"schedulable\":false,"
        "\"schedulableAfterPreemption\":false}",
        "", "");
#undef ROOM
#undef MESSAGE
    /* The same words as in the event. */
    assert_contains(status(&d, "why", NULL), engine_condition(&d.engine, "big", "message"));
}

static void test_a_pod_that_has_a_node(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    engine_node(&d.engine, "n1", 1000, 1024, 10, "");
    engine_pod(&d.engine, "web", 100, 16, "");
    client_fixture_run(&d.engine.client, 3 * SEC);
    ask(&d, "why", "ns/web");
    client_fixture_run(&d.engine.client, SEC);
    CLEANUP(mem_free) char *uid = uid_of(&d, "web");
    assert_status(
        &d, "why",
        "{\"detailedExplanation\":[{\"failedMessage\":\"\",\"schedulable\":true,"
        "\"schedulableAfterPreemption\":false,\"scheduleExplanation\":{"
        "\"feasibleSchedulingResult\":[{\"name\":\"web\",\"namespace\":\"ns\",\"nodeName\""
        ":\"n1\",\"uid\":\"#\"}],\"schedulable\":true}}],\"failedMessage\":\"\","
        "\"schedulable\":true,\"schedulableAfterPreemption\":false}",
        uid, "");
}

static void assert_failed(const struct desk *d, const char *name, const char *message)
{
    CLEANUP(mem_free) char *want = xasprintf("],\"failedMessage\":\"%s\"", message);
    if (!strstr(status(d, name, NULL), want))
        fail_msg("%s not in %s", want, status(d, name, NULL));
}

static void test_questions_without_a_pod(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    engine_node(&d.engine, "n1", 1000, 1024, 10, "");
    fake_put(d.engine.client.fake, PODS, "other",
             "{\"spec\":{\"schedulerName\":\"mine\",\"containers\":[{\"name\":\"c\"}]}}");
    ask(&d, "missing", "ns/nobody");
    ask(&d, "gang", "gang-1");
    ask(&d, "other", "ns/other");
    client_fixture_run(&d.engine.client, 3 * SEC);
    assert_failed(&d, "missing", "pod ns/nobody does not exist, or has ended");
    assert_failed(&d, "gang", "questionObjectKey 'gang-1' is not the namespace/name of a pod");
    assert_failed(&d, "other", "scheduler mine is not run here");
}

static void put_member(struct desk *d, int i)
{
    char name[16], body[512];

    (void)snprintf(name, sizeof name, "g-%d", i);
    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"annotations\":{\"gang.scheduling.koordinator.sh/name\":\"g\","
                   "\"gang.scheduling.koordinator.sh/min-available\":\"3\"}},\"spec\":{"
                   "\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\","
                   "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
    fake_put(d->engine.client.fake, PODS, name, body);
}

/* The question may be about a gang: who is missing, then how many fit and what would help. */
static void test_a_gang(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open_with(&d, with_gangs);
    engine_node(&d.engine, "n1", 2000, 1024, 10, "");
    put_member(&d, 0);
    put_member(&d, 1);
    ask(&d, "gang", "ns/g");
    client_fixture_run(&d.engine.client, 3 * SEC);
    assert_non_null(
        strstr(status(&d, "gang", NULL), "gang ns/g has 2 of 3 members that may be scheduled"));
    put_member(&d, 2);
    client_fixture_run(&d.engine.client, 10 * SEC);
    assert_non_null(
        strstr(status(&d, "gang", NULL),
               "\"failedMessage\":\"2 of 3 members fit, ns/g-2 is the first that does not: 0/1 "
               "nodes are available: 1 Insufficient cpu. one more node like cpu=2 memory=1Gi: 1 "
               "more members\""));
    engine_node(&d.engine, "n2", 1000, 1024, 10, "");
    client_fixture_run(&d.engine.client, 12 * SEC);
    assert_non_null(strstr(status(&d, "gang", NULL), "\"schedulable\":true"));
}

/* Held, so that nobody carries out what is planned. */
static void test_a_held_pod_and_its_victims(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    engine_node(&d.engine, "n1", 1000, 1024, 10, "");
    engine_pod(&d.engine, "small", 800, 16, "");
    client_fixture_run(&d.engine.client, 3 * SEC);
    assert_string_equal(engine_node_of(&d.engine, "small"), "n1");
    engine_pod(&d.engine, "vip", 500, 16,
               ",\"priority\":100,\"schedulingGates\":[{\"name\":\"g\"}]");
    ask(&d, "why", "ns/vip");
    client_fixture_run(&d.engine.client, 3 * SEC);
    CLEANUP(mem_free) char *vip = uid_of(&d, "vip"), *small = uid_of(&d, "small");
#define MESSAGE                                                          \
    "held by SchedulingGates: waiting for scheduling gates: [g]; then: " \
    "0/1 nodes are available: 1 Insufficient cpu."
    assert_status(
        &d, "why",
        "{\"detailedExplanation\":[{\"failedMessage\":\"" MESSAGE "\",\"nodePossibleVictims\":["
        "{\"nodeName\":\"n1\",\"possibleVictims\":[{\"isNominatedPod\":false,\"name\":\"small\","
        "\"namespace\":\"ns\",\"uid\":\"#\"}]}],\"preemptExplanation\":{"
        "\"feasibleSchedulingResult\":[{\"name\":\"vip\",\"namespace\":\"ns\",\"nodeName\":\"n1\","
        "\"uid\":\"#\"}],\"schedulable\":true},\"schedulable\":false,"
        "\"schedulableAfterPreemption\":false,\"scheduleExplanation\":{\"failedMessage\":"
        "\"" MESSAGE "\",\"nodeFailedDetails\":[{\"failedNodes\":[\"n1\"],\"failedPlugin\":"
        "\"NodeResourcesFit\",\"preemptMightHelp\":true,\"reason\":\"Insufficient cpu\"}],"
        "\"schedulable\":false}}],\"failedMessage\":\"" MESSAGE "\",\"schedulable\":false,"
        "\"schedulableAfterPreemption\":false}",
        small, vip);
#undef MESSAGE
    assert_string_equal(engine_node_of(&d.engine, "small"), "n1"); /* still there */
}

/* ---- when it is said ------------------------------------------------------------------------- */

static void test_the_answer_follows_the_pod(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    ask(&d, "why", "ns/web");
    client_fixture_run(&d.engine.client, 2 * SEC);
    assert_failed(&d, "why", "pod ns/web does not exist, or has ended");
    engine_pod(&d.engine, "web", 100, 16, "");
    client_fixture_run(&d.engine.client, 2 * SEC);
    assert_failed(&d, "why", "no nodes available to schedule pods");
    engine_node(&d.engine, "n1", 1000, 1024, 10, "");
    client_fixture_run(&d.engine.client, 12 * SEC); /* the pod backs off meanwhile */
    assert_string_equal(engine_node_of(&d.engine, "web"), "n1");
    assert_contains(status(&d, "why", NULL), "\"nodeName\":\"n1\"");
    fake_delete(d.engine.client.fake, PODS, "web");
    client_fixture_run(&d.engine.client, 2 * SEC);
    assert_failed(&d, "why", "pod ns/web does not exist, or has ended");
}

static void test_another_question(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    ask(&d, "why", "ns/a");
    client_fixture_run(&d.engine.client, 2 * SEC);
    ask(&d, "why", "ns/b");
    client_fixture_run(&d.engine.client, SEC / 2);
    assert_failed(&d, "why", "pod ns/b does not exist, or has ended");
}

static void test_fresh_but_not_restless(void **state)
{
    CLEANUP(desk_close) struct desk d;
    char first[KTIME_TEXT_MAX], now[KTIME_TEXT_MAX];

    (void)state;
    desk_open(&d);
    engine_node(&d.engine, "n1", 1000, 1024, 10, "");
    engine_pod(&d.engine, "big", 2000, 16, "");
    ask(&d, "why", "ns/big");
    client_fixture_run(&d.engine.client, 10 * SEC);
    (void)status(&d, "why", first);
    struct explainer_stats before = explainer_stats(d.x);
    assert_int_equal(before.questions, 1);
    client_fixture_run(&d.engine.client,
                       30 * SEC); /* the pod waits in the queue: every 5 s, and nothing to write */
    struct explainer_stats then = explainer_stats(d.x);
    assert_in_range(then.computed - before.computed, 5, 7);
    assert_int_equal(then.written, before.written);
    (void)status(&d, "why", now);
    assert_string_equal(now, first);
    client_fixture_run(&d.engine.client, 30 * SEC);
    (void)status(&d, "why", now);
    assert_that(strcmp(now, first), >, 0);
    assert_int_equal(explainer_stats(d.x).written, before.written + 1);
}

static void test_one_answer_at_a_time(void **state)
{
    CLEANUP(desk_close) struct desk d;
    char name[16];

    (void)state;
    desk_open(&d);
    client_fixture_run(&d.engine.client, SEC);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "why-%d", i);
        ask(&d, name, "ns/nobody");
    }
    uint64_t seen = explainer_stats(d.x).computed;
    assert_int_equal(seen, 0);
    for (int i = 0; i < 1000 && seen < 20; i++) {
        client_fixture_run(&d.engine.client, NSEC_PER_MSEC);
        uint64_t now = explainer_stats(d.x).computed;
        assert_in_range(now - seen, 0, 1);
        seen = now;
    }
    assert_int_equal(seen, 20);
    client_fixture_run(&d.engine.client, SEC);
    assert_failed(&d, "why-19", "pod ns/nobody does not exist, or has ended");
}

static void test_a_refused_write_is_tried_again(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    client_fixture_run(&d.engine.client, SEC);
    ask(&d, "why", "ns/nobody");
    fake_answer_next(d.engine.client.fake, 1, 403, -1);
    client_fixture_run(&d.engine.client, 2 * SEC);
    assert_string_equal(status(&d, "why", NULL), "");
    client_fixture_run(&d.engine.client, 6 * SEC);
    assert_failed(&d, "why", "pod ns/nobody does not exist, or has ended");
}

/* ---- how long it stays ----------------------------------------------------------------------- */

static bool is_there(const struct desk *d, const char *name)
{
    return fake_find(d->engine.client.fake, EXPLANATIONS, name) != NULL;
}

static void test_its_time_is_limited(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    client_fixture_run(&d.engine.client, SEC);
    ask_for(&d, "short", "ns/a", ",\"ttl\":\"10s\"");
    ask_for(&d, "usual", "ns/a", "");
    ask_for(&d, "keep", "ns/a", ",\"ttl\":\"0s\"");
    client_fixture_run(&d.engine.client, 8 * SEC);
    assert_true(is_there(&d, "short"));
    client_fixture_run(&d.engine.client, 4 * SEC);
    assert_false(is_there(&d, "short"));
    client_fixture_run(&d.engine.client, (24 * 3600 - 20) * SEC);
    assert_true(is_there(&d, "usual"));
    client_fixture_run(&d.engine.client, 20 * SEC);
    assert_false(is_there(&d, "usual"));
    assert_true(is_there(&d, "keep"));
    assert_int_equal(explainer_stats(d.x).questions, 1);
    assert_int_equal(explainer_stats(d.x).expired, 2);
}

static void test_a_delete_that_is_refused_is_tried_again_later(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    client_fixture_run(&d.engine.client, SEC);
    fake_answer_next_to(d.engine.client.fake, "DELETE", "scheduleexplanations", 1, 403);
    ask_for(&d, "short", "ns/a", ",\"ttl\":\"10s\"");
    client_fixture_run(&d.engine.client, 40 * SEC);
    assert_true(is_there(&d, "short"));
    assert_int_equal(explainer_stats(d.x).expired, 1);
    client_fixture_run(&d.engine.client, 40 * SEC);
    assert_false(is_there(&d, "short"));
    assert_int_equal(explainer_stats(d.x).expired, 2);
}

/* ---- without the kind ------------------------------------------------------------------------ */

static void count_lines(void *arg, const char *text, size_t n)
{
    unsigned *lines = arg;
    *lines += n > 0 && strstr(text, "ScheduleExplanation") != NULL;
}

static void test_waits_quietly_for_its_kind(void **state)
{
    CLEANUP(desk_close) struct desk d = { 0 };
    unsigned lines = 0;

    (void)state;
    engine_start(&d.engine, 1);
    client_fixture_run(&d.engine.client, SEC);
    ask(&d, "why", "ns/nobody");
    fake_answer_next(d.engine.client.fake, 4, 404, -1);
    klog_set_sink(count_lines, &lines);
    d.x = explainer_new(d.engine.client.loop, d.engine.client.kube, d.engine.s);
    client_fixture_run(&d.engine.client, 2 * SEC);
    assert_string_equal(status(&d, "why", NULL), "");
    client_fixture_run(&d.engine.client, 60 * SEC);
    assert_int_equal(lines, 1);
    klog_set_sink(client_fixture_quiet, NULL);
    assert_failed(&d, "why", "pod ns/nobody does not exist, or has ended");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pod_that_fits_nowhere),
        cmocka_unit_test(test_a_pod_that_has_a_node),
        cmocka_unit_test(test_questions_without_a_pod),
        cmocka_unit_test(test_a_gang),
        cmocka_unit_test(test_a_held_pod_and_its_victims),
        cmocka_unit_test(test_the_answer_follows_the_pod),
        cmocka_unit_test(test_another_question),
        cmocka_unit_test(test_fresh_but_not_restless),
        cmocka_unit_test(test_one_answer_at_a_time),
        cmocka_unit_test(test_a_refused_write_is_tried_again),
        cmocka_unit_test(test_its_time_is_limited),
        cmocka_unit_test(test_a_delete_that_is_refused_is_tried_again_later),
        cmocka_unit_test(test_waits_quietly_for_its_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
