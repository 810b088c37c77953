/* test_extender.c - extenders filter; and what happens while they are asked (scheduler-core 4.4).
 */
#include "base/test/asserts.h"
#include "scheduler/extender/test/extender_fixture.h"

static void start_filter(struct fake_extenders *o, bool ignorable, int status, const char *answer)
{
    struct sched_extender e = fake_extender_extender();

    e.filter_verb = "filter";
    e.ignorable = ignorable;
    fake_extender_start(o, &e, 1);
    fake_extender_answer(o, "/x/filter", status, answer);
    fake_extender_two_nodes(o);
    engine_pod(&o->engine, "p", 100, 100, "");
}

/* ---- filter ---------------------------------------------------------------------------------- */

static void test_filter_by_names(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_filter(&o, false, 200, "{'NodeNames':['n2'],'FailedNodes':{'n1':'no'},'Error':''}");
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n2");
    assert_int_equal(fake_extender_asked(&o, "/x/filter"), 1);
    assert_int_equal(kj_type(fake_extender_said(&o, "/x/filter", "Nodes")), KJ_NULL);
    const struct kj_val *names = fake_extender_said(&o, "/x/filter", "NodeNames");
    assert_int_equal(kj_len(names), 2);
    assert_string_equal(kj_str(kj_at(names, 0)), "n1");
    assert_string_equal(kj_str(fake_extender_said(&o, "/x/filter", "Pod.metadata.name")), "p");
    assert_string_equal(kj_str(fake_extender_said(&o, "/x/filter", "Pod.metadata.namespace")),
                        "ns");
    const struct kj_val *c = kj_at(fake_extender_said(&o, "/x/filter", "Pod.spec.containers"), 0);
    assert_string_equal(kj_str(kj_path(c, "resources.requests.cpu")), "100m");
    engine_verify(&o.engine);
}

static void test_filter_by_whole_nodes(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();

    (void)state;
    e.filter_verb = "filter";
    e.node_cache_capable = false;
    fake_extender_start(&o, &e, 1);
    fake_extender_answer(&o, "/x/filter",
                         200, /* keys as somebody else's JSON library writes them */
                         "{'nodes':{'items':[{'metadata':{'name':'n1'}}]},'nodenames':['n2']}");
    fake_extender_two_nodes(&o);
    fake_put(
        o.engine.client.fake, PODS, "p",
        "{\"metadata\":{\"labels\":{\"app\":\"web\"},\"ownerReferences\":[{\"kind\":\"Job\","
        "\"name\":\"j\",\"apiVersion\":\"batch/v1\",\"uid\":\"u\"}]},\"spec\":{\"schedulerName\":"
        "\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}],\"tolerations\":[{\"key\":\"k\"}],"
        "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]},\"status\":{\"phase\":\"Pending\"}}");
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n1");
    const struct kj_val *pod = fake_extender_said(&o, "/x/filter", "Pod");
    assert_string_equal(kj_str(kj_path(pod, "metadata.uid")),
                        engine_get(&o.engine, "p", "metadata.uid"));
    assert_string_equal(kj_str(kj_path(pod, "metadata.labels.app")), "web");
    assert_string_equal(kj_str(kj_get(kj_at(kj_path(pod, "metadata.ownerReferences"), 0), "name")),
                        "j");
    assert_string_equal(kj_str(kj_get(kj_at(kj_path(pod, "spec.tolerations"), 0), "key")), "k");
    assert_string_equal(kj_str(kj_get(kj_at(kj_path(pod, "spec.volumes"), 0), "name")), "v");
    assert_string_equal(kj_str(kj_path(pod, "status.phase")), "Pending");
    const struct kj_val *items = fake_extender_said(&o, "/x/filter", "Nodes.items");
    assert_int_equal(kj_len(items), 2);
    assert_string_equal(kj_str(kj_path(kj_at(items, 1), "metadata.name")), "n2");
    assert_string_equal(kj_str(kj_path(kj_at(items, 1), "status.allocatable.cpu")), "4");
    assert_int_equal(kj_type(fake_extender_said(&o, "/x/filter", "NodeNames")), KJ_NULL);
}

static void test_failed_nodes_are_in_the_message(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_filter(&o, false, 200,
                 "{'NodeNames':[],'FailedNodes':{'n1':'no card','n2':'no card'},"
                 "'FailedAndUnresolvableNodes':{'n2':'never'}}");
    engine_node(&o.engine, "n3", 4000, 8192, 110, ""); /* dropped without a word */
    engine_node(&o.engine, "n4", 10, 8192, 110, "");
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_condition(&o.engine, "p", "reason"), "Unschedulable");
    const char *message = engine_condition(&o.engine, "p", "message");
    assert_starts(message, "0/4 nodes are available: 1 Insufficient cpu, 1 never, 1 no card. ");
    assert_true(str_ends(message, "preemption: 0/4 nodes are available: 1 No preemption victims "
                                  "found for incoming pod, 3 Preemption is not helpful for "
                                  "scheduling."));
    assert_int_equal(scheduler_stats(o.engine.s).unschedulable, 1);
    /* Any event may help. */
    fake_extender_answer(&o, "/x/filter", 200, "{'NodeNames':['n1']}");
    engine_node(&o.engine, "n4", 11, 8192, 110, "");
    client_fixture_run(&o.engine.client, 20 * SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n1");
}

static void test_filters_one_after_the_other(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e[2] = { fake_extender_extender(), fake_extender_extender() };

    (void)state;
    e[0].filter_verb = "one";
    e[1].filter_verb = "two";
    fake_extender_start(&o, e, 2);
    fake_extender_answer(&o, "/x/one", 200, "{'NodeNames':['n2']}");
    fake_extender_answer(&o, "/x/two", 200, "{'NodeNames':['n2']}");
    fake_extender_two_nodes(&o);
    engine_pod(&o.engine, "p", 100, 100, "");
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n2");
    assert_int_equal(kj_len(fake_extender_said(&o, "/x/two", "NodeNames")), 1);
    /* Nothing left: the second one is not asked. */
    fake_extender_answer(&o, "/x/one", 200, "{}");
    engine_pod(&o.engine, "q", 100, 100, "");
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_node_of(&o.engine, "q"), "");
    assert_int_equal(fake_extender_asked(&o, "/x/two"), 1);
}

/* A pod that was nominated a node; the extender says what it says. */
static void start_nominated(struct fake_extenders *o, const char *answer)
{
    struct sched_extender e = fake_extender_extender();

    e.filter_verb = "filter";
    fake_extender_start(o, &e, 1);
    fake_extender_answer(o, "/x/filter", 200, answer);
    fake_extender_path(o, "/x/filter")->delay = SEC;
    fake_extender_two_nodes(o);
    fake_put(o->engine.client.fake, PODS, "p",
             "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}]},"
             "\"status\":{\"nominatedNodeName\":\"n1\"}}");
    client_fixture_run(&o->engine.client, SEC / 2);
    assert_int_equal(kj_len(fake_extender_said(o, "/x/filter", "NodeNames")), 1);
}

static void test_a_nominated_node_is_asked_about_alone(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_nominated(&o, "{'NodeNames':['n1']}");
    client_fixture_run(&o.engine.client, 2 * SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n1");
    assert_int_equal(fake_extender_asked(&o, "/x/filter"), 1);
}

static void test_a_nominated_node_that_is_refused_leaves_the_others(void **state)
{
    static const char *const answers[] = {
        "{'NodeNames':[],'FailedNodes':{'n1':'no card'}}",
        "{'Error':'no idea'}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        CLEANUP(fake_extender_stop) struct fake_extenders o;
        start_nominated(&o, answers[i]);
        client_fixture_run(&o.engine.client, SEC);
        assert_int_equal(fake_extender_asked(&o, "/x/filter"), 2);
        assert_int_equal(kj_len(fake_extender_said(&o, "/x/filter", "NodeNames")), 2);
        fake_extender_answer(&o, "/x/filter", 200, "{'NodeNames':['n2']}");
        client_fixture_run(&o.engine.client, 2 * SEC);
        assert_string_equal(engine_node_of(&o.engine, "p"), "n2");
        assert_int_equal(scheduler_stats(o.engine.s).attempts, 1);
        assert_int_equal(fake_extender_asked(&o, "/x/filter"), 2);
    }
}

static void test_not_interested_is_not_asked(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();
    struct sched_managed card = { .name = "example.com/card" };

    (void)state;
    e.filter_verb = "filter";
    e.managed.items = &card;
    e.managed.n = 1;
    fake_extender_start(&o, &e, 1);
    fake_extender_answer(&o, "/x/filter", 200, "{'NodeNames':['n']}");
    fake_put(o.engine.client.fake, NODES, "n",
             "{\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"10\","
             "\"example.com/card\":\"4\"}}}");
    client_fixture_run(&o.engine.client, SEC);
    engine_pod(&o.engine, "p", 100, 100, "");
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n");
    assert_int_equal(fake_extender_asked(&o, "/x/filter"), 0);
    fake_put(o.engine.client.fake, PODS, "q",
             "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"initContainers\":[{\"name\":\"c\","
             "\"resources\":{\"limits\":{\"example.com/card\":\"1\"},\"requests\":{"
             "\"example.com/card\":\"1\"}}}],\"containers\":[{\"name\":\"d\"}]}}");
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_node_of(&o.engine, "q"), "n");
    assert_int_equal(fake_extender_asked(&o, "/x/filter"), 1);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void expect_error(int status, const char *answer, const char *text)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    start_filter(&o, false, status, answer);
    client_fixture_run(&o.engine.client, SEC / 2);
    assert_string_equal(engine_condition(&o.engine, "p", "reason"), "SchedulerError");
    assert_string_equal(engine_condition(&o.engine, "p", "message"), text);
    assert_int_equal(scheduler_stats(o.engine.s).backoff, 1);
    assert_string_equal(engine_node_of(&o.engine, "p"), "");
    /* It is tried again when the time has come. */
    fake_extender_answer(&o, "/x/filter", 200, "{'NodeNames':['n1']}");
    client_fixture_run(&o.engine.client, 5 * SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n1");
    engine_verify(&o.engine);
}

static void test_errors_fail_the_attempt(void **state)
{
    (void)state;
    expect_error(500, "{'NodeNames':['n1']}",
                 "failed filter with extender at URL http://extender:8080/x/filter, code 500");
    expect_error(200, "{'NodeNames':['n1'],'Error':'out of order'}", "out of order");
    expect_error(200, "{'NodeNames':['n1','n9']}",
                 "extender \"http://extender:8080/x\" claims a filtered node \"n9\" which is not "
                 "found in the input node list");
}

static void test_garbage_is_an_error(void **state)
{
    static const char *const garbage[] = { "",
                                           "<html>",
                                           "[]",
                                           "7",
                                           "{'NodeNames':7}",
                                           "{'NodeNames':[{}]}",
                                           "{'Nodes':{'items':{}}}",
                                           "{'NodeNames':['n1'],'FailedNodes':['n2']}",
                                           "{'NodeNames':['n1'],'Error':{}}" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
        CLEANUP(fake_extender_stop) struct fake_extenders o;
        start_filter(&o, false, 200, garbage[i]);
        client_fixture_run(&o.engine.client, SEC / 2);
        assert_string_equal(engine_condition(&o.engine, "p", "reason"), "SchedulerError");
        assert_string_equal(engine_node_of(&o.engine, "p"), "");
    }
}

static void test_ignorable_is_ignored(void **state)
{
    static const struct {
        int status;
        const char *body;
    } bad[] = { { 503, "" }, { 200, "{'Error':'out of order'}" }, { 200, "{'NodeNames':['x']}" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(fake_extender_stop) struct fake_extenders o;
        start_filter(&o, true, bad[i].status, bad[i].body);
        client_fixture_run(&o.engine.client, SEC);
        assert_true(*engine_node_of(&o.engine, "p"));
        assert_int_equal(fake_extender_asked(&o, "/x/filter"), 1);
    }
}

static void test_silence_ends_after_five_seconds(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_filter(&o, false, 0, "");
    client_fixture_run(&o.engine.client, SEC);
    engine_pod(&o.engine, "q", 100, 100, ""); /* waits: attempts are made one after the other */
    client_fixture_run(&o.engine.client, 39 * SEC / 10);
    assert_string_equal(engine_condition(&o.engine, "p", "reason"), "");
    assert_int_equal(scheduler_stats(o.engine.s).attempts, 1);
    client_fixture_run(&o.engine.client, 2 * SEC / 10);
    assert_string_equal(engine_condition(&o.engine, "p", "reason"), "SchedulerError");
    assert_contains(engine_condition(&o.engine, "p", "message"),
                    "Post \"http://extender:8080/x/filter\": ");
    assert_int_equal(o.cut, 1);
    assert_int_equal(scheduler_stats(o.engine.s).attempts, 2);
}

static void test_own_timeout(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();

    (void)state;
    e.filter_verb = "filter";
    e.timeout = 30 * SEC;
    fake_extender_start(&o, &e, 1);
    fake_extender_answer(&o, "/x/filter", 200, "{'NodeNames':['n1']}");
    fake_extender_path(&o, "/x/filter")->delay = 29 * SEC;
    fake_extender_two_nodes(&o);
    engine_pod(&o.engine, "p", 100, 100, "");
    client_fixture_run(&o.engine.client, 28 * SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "");
    client_fixture_run(&o.engine.client, 2 * SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n1");
}

/* ---- what happens while they are asked ------------------------------------------------------- */

static void start_slow(struct fake_extenders *o)
{
    start_filter(o, false, 200, "{'NodeNames':['n1']}");
    fake_extender_path(o, "/x/filter")->delay = 3 * SEC;
    client_fixture_run(&o->engine.client, SEC);
    assert_int_equal(fake_extender_asked(o, "/x/filter"), 1);
    assert_int_equal(scheduler_stats(o->engine.s).binding, 1);
}

static void test_pod_is_deleted_while_asked(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_slow(&o);
    fake_delete(o.engine.client.fake, PODS, "p");
    engine_pod(&o.engine, "q", 100, 100, "");
    client_fixture_run(&o.engine.client, SEC);
    assert_int_equal(o.cut, 1);
    assert_int_equal(fake_extender_asked(&o, "/x/filter"), 2); /* the next one does not wait */
    client_fixture_run(&o.engine.client, 5 * SEC);
    assert_string_equal(engine_node_of(&o.engine, "q"), "n1");
    assert_int_equal(scheduler_stats(o.engine.s).pending, 0);
    engine_verify(&o.engine);
}

static void test_pod_changes_while_asked(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_slow(&o);
    engine_pod(&o.engine, "p", 5000, 100, ""); /* fits nowhere now */
    client_fixture_run(&o.engine.client, 5 * SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "");
    assert_int_equal(fake_extender_asked(&o, "/x/filter"), 1);
    engine_pod(&o.engine, "p", 50, 100, "");
    for (int i = 0; i < 50 && fake_extender_asked(&o, "/x/filter") < 2; i++)
        client_fixture_run(&o.engine.client, SEC / 10);
    assert_int_equal(fake_extender_asked(&o, "/x/filter"), 2);
    engine_pod(&o.engine, "p", 60, 100, ""); /* the answer is about another spec */
    client_fixture_run(&o.engine.client, 4 * SEC);
    assert_int_equal(fake_extender_asked(&o, "/x/filter"), 3);
    assert_string_equal(engine_node_of(&o.engine, "p"), "");
    fake_put(o.engine.client.fake, PODS, "p", /* annotations: they may be what the extender reads */
             "{\"metadata\":{\"annotations\":{\"a\":\"b\"}},\"spec\":{\"schedulerName\":"
             "\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
             "\"cpu\":\"60m\",\"memory\":\"100Mi\"}}}]}}");
    client_fixture_run(&o.engine.client, 10 * SEC);
    assert_int_equal(fake_extender_asked(&o, "/x/filter"), 4);
    assert_string_equal(kj_str(fake_extender_said(&o, "/x/filter", "Pod.metadata.annotations.a")),
                        "b");
    assert_string_equal(engine_node_of(&o.engine, "p"), "n1");
}

static void test_node_goes_while_asked(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_slow(&o);
    fake_delete(o.engine.client.fake, NODES, "n1");
    engine_node(&o.engine, "n3", 4000, 8192, 110, "");
    client_fixture_run(&o.engine.client, SEC);
    fake_slow(o.engine.client.fake, SEC); /* the pod's new condition would be news too */
    client_fixture_run(&o.engine.client, 15 * SEC / 10);
    /* n2 and n3 fit, but nobody allowed them. The new node was news: no need to wait for more. */
    assert_int_equal(scheduler_stats(o.engine.s).failed, 1);
    assert_int_equal(scheduler_stats(o.engine.s).unschedulable, 0);
    fake_slow(o.engine.client.fake, 0);
    client_fixture_run(&o.engine.client, SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "");
    assert_contains(engine_condition(&o.engine, "p", "message"),
                    "1 node(s) changed while extenders were asked");
    fake_extender_answer(&o, "/x/filter", 200, "{'NodeNames':['n3']}");
    client_fixture_run(&o.engine.client, 15 * SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n3");
    engine_verify(&o.engine);
}

static void test_reload_while_asked(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct profile_config c = profile_config_default(ks_registry, "koord-scheduler", a);
    struct sched_extender e = fake_extender_extender();
    struct scheduler_opts opts = { .profiles = &c, .nprofiles = 1, .extenders = &e };
    struct kerr err = { 0 };

    (void)state;
    start_slow(&o);
    e.filter_verb = "other";
    fake_extender_answer(&o, "/x/other", 200, "{'NodeNames':['n2']}");
    opts.nextenders = 1;
    assert_int_equal(scheduler_reload(o.engine.s, &opts, &err), 0);
    client_fixture_run(&o.engine.client, 10 * SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "n2");
    assert_int_equal(fake_extender_asked(&o, "/x/other"), 1);
    e.url_prefix = "unix:///run/extender";
    assert_that(scheduler_reload(o.engine.s, &opts, &err), <, 0);
    assert_string_equal(
        err.text, "extenders[0]: urlPrefix: 'unix:///run/extender': expected http:// or https://");
    opts.nextenders = 0; /* the old ones stayed; now there are none */
    assert_int_equal(scheduler_reload(o.engine.s, &opts, &err), 0);
    engine_pod(&o.engine, "q", 100, 100, "");
    client_fixture_run(&o.engine.client, SEC);
    assert_true(*engine_node_of(&o.engine, "q"));
    assert_int_equal(fake_extender_asked(&o, "/x/other"), 1);
}

static void test_stop_while_asked(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;

    (void)state;
    start_slow(&o);
    o.engine.s = scheduler_free(o.engine.s);
    client_fixture_run(&o.engine.client, 10 * SEC);
    assert_string_equal(engine_node_of(&o.engine, "p"), "");
    assert_int_equal(o.cut, 1);
}

/* ---- all at once ----------------------------------------------------------------------------- */

/* One step of a bad day: the extender changes its mind, pods come, change and go. */
static void bad_step(struct fake_extenders *o, int i)
{
    static const struct {
        int status;
        const char *body;
    } moods[] = { { 200, "{'NodeNames':['n1','n2']}" },
                  { 200, "{'FailedNodes':{'n1':'no','n2':'no'}}" },
                  { 200, "{'NodeNames':['n2'],'Error':''}" },
                  { 500, "" },
                  { 200, "{" },
                  { 0, "" } };
    struct loop *l = o->engine.client.loop;
    size_t mood = loop_rand_below(l, ARRAY_LEN(moods));
    char name[16];

    fake_extender_answer(o, "/x/filter", moods[mood].status, moods[mood].body);
    fake_extender_path(o, "/x/filter")->delay = (nsec_t)loop_rand_below(l, 4) * SEC;
    (void)snprintf(name, sizeof name, "p%d", i);
    engine_pod(&o->engine, name, 10, 10, "");
    (void)snprintf(name, sizeof name, "p%d", (int)loop_rand_below(l, (uint64_t)i + 1));
    if (loop_rand_below(l, 4) == 0)
        fake_delete(o->engine.client.fake, PODS, name);
    else if (fake_find(o->engine.client.fake, PODS, name) && !*engine_node_of(&o->engine, name))
        engine_pod(&o->engine, name, 20, 10, "");
    engine_node(&o->engine, "n1", 4000 + i, 8192, 110, "");
    client_fixture_run(&o->engine.client, (nsec_t)loop_rand_below(l, 3 * SEC));
    engine_verify(&o->engine);
}

static void test_no_pod_is_lost(void **state)
{
    (void)state;
    for (int seed = 0; seed < 20; seed++) {
        CLEANUP(fake_extender_stop) struct fake_extenders o;
        start_filter(&o, false, 200, "{'NodeNames':['n1']}");
        for (int i = 0; i <= seed; i++)
            (void)loop_rand(o.engine.client.loop);
        for (int i = 0; i < 30; i++)
            bad_step(&o, i);
        fake_extender_answer(&o, "/x/filter", 200, "{'NodeNames':['n1','n2']}");
        fake_extender_path(&o, "/x/filter")->delay = 0;
        engine_node(&o.engine, "n1", 5000, 8192, 110, "");
        client_fixture_run(&o.engine.client, 60 * SEC);
        struct scheduler_stats st = scheduler_stats(o.engine.s);
        assert_int_equal(st.pending, 0);
        assert_int_equal(st.assumed, 0);
        assert_int_equal(st.pods, fake_count(o.engine.client.fake, "pods"));
        engine_verify(&o.engine);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_by_names),
        cmocka_unit_test(test_filter_by_whole_nodes),
        cmocka_unit_test(test_failed_nodes_are_in_the_message),
        cmocka_unit_test(test_filters_one_after_the_other),
        cmocka_unit_test(test_a_nominated_node_is_asked_about_alone),
        cmocka_unit_test(test_a_nominated_node_that_is_refused_leaves_the_others),
        cmocka_unit_test(test_not_interested_is_not_asked),
        cmocka_unit_test(test_errors_fail_the_attempt),
        cmocka_unit_test(test_garbage_is_an_error),
        cmocka_unit_test(test_ignorable_is_ignored),
        cmocka_unit_test(test_silence_ends_after_five_seconds),
        cmocka_unit_test(test_own_timeout),
        cmocka_unit_test(test_pod_is_deleted_while_asked),
        cmocka_unit_test(test_pod_changes_while_asked),
        cmocka_unit_test(test_node_goes_while_asked),
        cmocka_unit_test(test_reload_while_asked),
        cmocka_unit_test(test_stop_while_asked),
        cmocka_unit_test(test_no_pod_is_lost),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
