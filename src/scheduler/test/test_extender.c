/* test_extender.c - extenders filter; and what happens while they are asked (scheduler-core 4.4).
 */
#include "outside.h"

static void start_filter(struct outside *o, bool ignorable, int status, const char *answer)
{
    struct sched_extender e = outside_extender();

    e.filter_verb = "filter";
    e.ignorable = ignorable;
    outside_start(o, &e, 1);
    outside_answer(o, "/x/filter", status, answer);
    outside_two_nodes(o);
    bed_pod(&o->bed, "p", 100, 100, "");
}

/* ---- filter ---------------------------------------------------------------------------------- */

static void test_filter_by_names(void **state)
{
    CLEANUP(outside_stop) struct outside o;

    (void)state;
    start_filter(&o, false, 200, "{'NodeNames':['n2'],'FailedNodes':{'n1':'no'},'Error':''}");
    rig_run(&o.bed.rig, SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "n2");
    assert_int_equal(outside_asked(&o, "/x/filter"), 1);
    assert_int_equal(kj_type(outside_said(&o, "/x/filter", "Nodes")), KJ_NULL);
    const struct kj_val *names = outside_said(&o, "/x/filter", "NodeNames");
    assert_int_equal(kj_len(names), 2);
    assert_string_equal(kj_str(kj_at(names, 0)), "n1");
    assert_string_equal(kj_str(outside_said(&o, "/x/filter", "Pod.metadata.name")), "p");
    assert_string_equal(kj_str(outside_said(&o, "/x/filter", "Pod.metadata.namespace")), "ns");
    const struct kj_val *c = kj_at(outside_said(&o, "/x/filter", "Pod.spec.containers"), 0);
    assert_string_equal(kj_str(kj_path(c, "resources.requests.cpu")), "100m");
    bed_verify(&o.bed);
}

static void test_filter_by_whole_nodes(void **state)
{
    CLEANUP(outside_stop) struct outside o;
    struct sched_extender e = outside_extender();

    (void)state;
    e.filter_verb = "filter";
    e.node_cache_capable = false;
    outside_start(&o, &e, 1);
    outside_answer(&o, "/x/filter", 200, /* keys as somebody else's JSON library writes them */
                   "{'nodes':{'items':[{'metadata':{'name':'n1'}}]},'nodenames':['n2']}");
    outside_two_nodes(&o);
    fake_put(
        o.bed.rig.fake, PODS, "p",
        "{\"metadata\":{\"labels\":{\"app\":\"web\"},\"ownerReferences\":[{\"kind\":\"Job\","
        "\"name\":\"j\",\"apiVersion\":\"batch/v1\",\"uid\":\"u\"}]},\"spec\":{\"schedulerName\":"
        "\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}],\"tolerations\":[{\"key\":\"k\"}],"
        "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]},\"status\":{\"phase\":\"Pending\"}}");
    rig_run(&o.bed.rig, SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "n1");
    const struct kj_val *pod = outside_said(&o, "/x/filter", "Pod");
    assert_string_equal(kj_str(kj_path(pod, "metadata.uid")), bed_get(&o.bed, "p", "metadata.uid"));
    assert_string_equal(kj_str(kj_path(pod, "metadata.labels.app")), "web");
    assert_string_equal(kj_str(kj_get(kj_at(kj_path(pod, "metadata.ownerReferences"), 0), "name")),
                        "j");
    assert_string_equal(kj_str(kj_get(kj_at(kj_path(pod, "spec.tolerations"), 0), "key")), "k");
    assert_string_equal(kj_str(kj_get(kj_at(kj_path(pod, "spec.volumes"), 0), "name")), "v");
    assert_string_equal(kj_str(kj_path(pod, "status.phase")), "Pending");
    const struct kj_val *items = outside_said(&o, "/x/filter", "Nodes.items");
    assert_int_equal(kj_len(items), 2);
    assert_string_equal(kj_str(kj_path(kj_at(items, 1), "metadata.name")), "n2");
    assert_string_equal(kj_str(kj_path(kj_at(items, 1), "status.allocatable.cpu")), "4");
    assert_int_equal(kj_type(outside_said(&o, "/x/filter", "NodeNames")), KJ_NULL);
}

static void test_failed_nodes_are_in_the_message(void **state)
{
    CLEANUP(outside_stop) struct outside o;

    (void)state;
    start_filter(&o, false, 200,
                 "{'NodeNames':[],'FailedNodes':{'n1':'no card','n2':'no card'},"
                 "'FailedAndUnresolvableNodes':{'n2':'never'}}");
    bed_node(&o.bed, "n3", 4000, 8192, 110, ""); /* dropped without a word */
    bed_node(&o.bed, "n4", 10, 8192, 110, "");
    rig_run(&o.bed.rig, SEC);
    assert_string_equal(bed_condition(&o.bed, "p", "reason"), "Unschedulable");
    const char *message = bed_condition(&o.bed, "p", "message");
    assert_true(
        str_starts(message, "0/4 nodes are available: 1 Insufficient cpu, 1 never, 1 no card. "));
    assert_true(str_ends(message, "preemption: 0/4 nodes are available: 1 No preemption victims "
                                  "found for incoming pod, 3 Preemption is not helpful for "
                                  "scheduling."));
    assert_int_equal(scheduler_stats(o.bed.s).turned_down, 1);
    /* Any event may help. */
    outside_answer(&o, "/x/filter", 200, "{'NodeNames':['n1']}");
    bed_node(&o.bed, "n4", 11, 8192, 110, "");
    rig_run(&o.bed.rig, 20 * SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "n1");
}

static void test_filters_one_after_the_other(void **state)
{
    CLEANUP(outside_stop) struct outside o;
    struct sched_extender e[2] = { outside_extender(), outside_extender() };

    (void)state;
    e[0].filter_verb = "one";
    e[1].filter_verb = "two";
    outside_start(&o, e, 2);
    outside_answer(&o, "/x/one", 200, "{'NodeNames':['n2']}");
    outside_answer(&o, "/x/two", 200, "{'NodeNames':['n2']}");
    outside_two_nodes(&o);
    bed_pod(&o.bed, "p", 100, 100, "");
    rig_run(&o.bed.rig, SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "n2");
    assert_int_equal(kj_len(outside_said(&o, "/x/two", "NodeNames")), 1);
    /* Nothing left: the second one is not asked. */
    outside_answer(&o, "/x/one", 200, "{}");
    bed_pod(&o.bed, "q", 100, 100, "");
    rig_run(&o.bed.rig, SEC);
    assert_string_equal(bed_node_of(&o.bed, "q"), "");
    assert_int_equal(outside_asked(&o, "/x/two"), 1);
}

/* A pod that was promised a node; the extender says what it says. */
static void start_promised(struct outside *o, const char *answer)
{
    struct sched_extender e = outside_extender();

    e.filter_verb = "filter";
    outside_start(o, &e, 1);
    outside_answer(o, "/x/filter", 200, answer);
    outside_path(o, "/x/filter")->delay = SEC;
    outside_two_nodes(o);
    fake_put(o->bed.rig.fake, PODS, "p",
             "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}]},"
             "\"status\":{\"nominatedNodeName\":\"n1\"}}");
    rig_run(&o->bed.rig, SEC / 2);
    assert_int_equal(kj_len(outside_said(o, "/x/filter", "NodeNames")), 1);
}

static void test_a_promise_is_asked_about_alone(void **state)
{
    CLEANUP(outside_stop) struct outside o;

    (void)state;
    start_promised(&o, "{'NodeNames':['n1']}");
    rig_run(&o.bed.rig, 2 * SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "n1");
    assert_int_equal(outside_asked(&o, "/x/filter"), 1);
}

static void test_a_promise_that_is_refused_leaves_the_others(void **state)
{
    static const char *const answers[] = {
        "{'NodeNames':[],'FailedNodes':{'n1':'no card'}}",
        "{'Error':'no idea'}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        CLEANUP(outside_stop) struct outside o;
        start_promised(&o, answers[i]);
        rig_run(&o.bed.rig, SEC);
        assert_int_equal(outside_asked(&o, "/x/filter"), 2);
        assert_int_equal(kj_len(outside_said(&o, "/x/filter", "NodeNames")), 2);
        outside_answer(&o, "/x/filter", 200, "{'NodeNames':['n2']}");
        rig_run(&o.bed.rig, 2 * SEC);
        assert_string_equal(bed_node_of(&o.bed, "p"), "n2");
        assert_int_equal(scheduler_stats(o.bed.s).attempts, 1);
        assert_int_equal(outside_asked(&o, "/x/filter"), 2);
    }
}

static void test_not_interested_is_not_asked(void **state)
{
    CLEANUP(outside_stop) struct outside o;
    struct sched_extender e = outside_extender();
    struct sched_managed card = { .name = "example.com/card" };

    (void)state;
    e.filter_verb = "filter";
    e.managed.items = &card;
    e.managed.n = 1;
    outside_start(&o, &e, 1);
    outside_answer(&o, "/x/filter", 200, "{'NodeNames':['n']}");
    fake_put(o.bed.rig.fake, NODES, "n",
             "{\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"10\","
             "\"example.com/card\":\"4\"}}}");
    rig_run(&o.bed.rig, SEC);
    bed_pod(&o.bed, "p", 100, 100, "");
    rig_run(&o.bed.rig, SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "n");
    assert_int_equal(outside_asked(&o, "/x/filter"), 0);
    fake_put(o.bed.rig.fake, PODS, "q",
             "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"initContainers\":[{\"name\":\"c\","
             "\"resources\":{\"limits\":{\"example.com/card\":\"1\"},\"requests\":{"
             "\"example.com/card\":\"1\"}}}],\"containers\":[{\"name\":\"d\"}]}}");
    rig_run(&o.bed.rig, SEC);
    assert_string_equal(bed_node_of(&o.bed, "q"), "n");
    assert_int_equal(outside_asked(&o, "/x/filter"), 1);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void expect_error(int status, const char *answer, const char *text)
{
    CLEANUP(outside_stop) struct outside o;

    start_filter(&o, false, status, answer);
    rig_run(&o.bed.rig, SEC / 2);
    assert_string_equal(bed_condition(&o.bed, "p", "reason"), "SchedulerError");
    assert_string_equal(bed_condition(&o.bed, "p", "message"), text);
    assert_int_equal(scheduler_stats(o.bed.s).backoff, 1);
    assert_string_equal(bed_node_of(&o.bed, "p"), "");
    /* It is tried again when the time has come. */
    outside_answer(&o, "/x/filter", 200, "{'NodeNames':['n1']}");
    rig_run(&o.bed.rig, 5 * SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "n1");
    bed_verify(&o.bed);
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
        CLEANUP(outside_stop) struct outside o;
        start_filter(&o, false, 200, garbage[i]);
        rig_run(&o.bed.rig, SEC / 2);
        assert_string_equal(bed_condition(&o.bed, "p", "reason"), "SchedulerError");
        assert_string_equal(bed_node_of(&o.bed, "p"), "");
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
        CLEANUP(outside_stop) struct outside o;
        start_filter(&o, true, bad[i].status, bad[i].body);
        rig_run(&o.bed.rig, SEC);
        assert_true(*bed_node_of(&o.bed, "p"));
        assert_int_equal(outside_asked(&o, "/x/filter"), 1);
    }
}

static void test_silence_ends_after_five_seconds(void **state)
{
    CLEANUP(outside_stop) struct outside o;

    (void)state;
    start_filter(&o, false, 0, "");
    rig_run(&o.bed.rig, SEC);
    bed_pod(&o.bed, "q", 100, 100, ""); /* waits: attempts are made one after the other */
    rig_run(&o.bed.rig, 39 * SEC / 10);
    assert_string_equal(bed_condition(&o.bed, "p", "reason"), "");
    assert_int_equal(scheduler_stats(o.bed.s).attempts, 1);
    rig_run(&o.bed.rig, 2 * SEC / 10);
    assert_string_equal(bed_condition(&o.bed, "p", "reason"), "SchedulerError");
    assert_non_null(
        strstr(bed_condition(&o.bed, "p", "message"), "Post \"http://extender:8080/x/filter\": "));
    assert_int_equal(o.cut, 1);
    assert_int_equal(scheduler_stats(o.bed.s).attempts, 2);
}

static void test_own_timeout(void **state)
{
    CLEANUP(outside_stop) struct outside o;
    struct sched_extender e = outside_extender();

    (void)state;
    e.filter_verb = "filter";
    e.timeout = 30 * SEC;
    outside_start(&o, &e, 1);
    outside_answer(&o, "/x/filter", 200, "{'NodeNames':['n1']}");
    outside_path(&o, "/x/filter")->delay = 29 * SEC;
    outside_two_nodes(&o);
    bed_pod(&o.bed, "p", 100, 100, "");
    rig_run(&o.bed.rig, 28 * SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "");
    rig_run(&o.bed.rig, 2 * SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "n1");
}

/* ---- what happens while they are asked ------------------------------------------------------- */

static void start_slow(struct outside *o)
{
    start_filter(o, false, 200, "{'NodeNames':['n1']}");
    outside_path(o, "/x/filter")->delay = 3 * SEC;
    rig_run(&o->bed.rig, SEC);
    assert_int_equal(outside_asked(o, "/x/filter"), 1);
    assert_int_equal(scheduler_stats(o->bed.s).binding, 1);
}

static void test_pod_is_deleted_while_asked(void **state)
{
    CLEANUP(outside_stop) struct outside o;

    (void)state;
    start_slow(&o);
    fake_delete(o.bed.rig.fake, PODS, "p");
    bed_pod(&o.bed, "q", 100, 100, "");
    rig_run(&o.bed.rig, SEC);
    assert_int_equal(o.cut, 1);
    assert_int_equal(outside_asked(&o, "/x/filter"), 2); /* the next one does not wait */
    rig_run(&o.bed.rig, 5 * SEC);
    assert_string_equal(bed_node_of(&o.bed, "q"), "n1");
    assert_int_equal(scheduler_stats(o.bed.s).pending, 0);
    bed_verify(&o.bed);
}

static void test_pod_changes_while_asked(void **state)
{
    CLEANUP(outside_stop) struct outside o;

    (void)state;
    start_slow(&o);
    bed_pod(&o.bed, "p", 5000, 100, ""); /* fits nowhere now */
    rig_run(&o.bed.rig, 5 * SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "");
    assert_int_equal(outside_asked(&o, "/x/filter"), 1);
    bed_pod(&o.bed, "p", 50, 100, "");
    for (int i = 0; i < 50 && outside_asked(&o, "/x/filter") < 2; i++)
        rig_run(&o.bed.rig, SEC / 10);
    assert_int_equal(outside_asked(&o, "/x/filter"), 2);
    bed_pod(&o.bed, "p", 60, 100, ""); /* the answer is about another spec */
    rig_run(&o.bed.rig, 4 * SEC);
    assert_int_equal(outside_asked(&o, "/x/filter"), 3);
    assert_string_equal(bed_node_of(&o.bed, "p"), "");
    fake_put(o.bed.rig.fake, PODS, "p", /* annotations: they may be what the extender reads */
             "{\"metadata\":{\"annotations\":{\"a\":\"b\"}},\"spec\":{\"schedulerName\":"
             "\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
             "\"cpu\":\"60m\",\"memory\":\"100Mi\"}}}]}}");
    rig_run(&o.bed.rig, 10 * SEC);
    assert_int_equal(outside_asked(&o, "/x/filter"), 4);
    assert_string_equal(kj_str(outside_said(&o, "/x/filter", "Pod.metadata.annotations.a")), "b");
    assert_string_equal(bed_node_of(&o.bed, "p"), "n1");
}

static void test_node_goes_while_asked(void **state)
{
    CLEANUP(outside_stop) struct outside o;

    (void)state;
    start_slow(&o);
    fake_delete(o.bed.rig.fake, NODES, "n1");
    bed_node(&o.bed, "n3", 4000, 8192, 110, "");
    rig_run(&o.bed.rig, SEC);
    fake_slow(o.bed.rig.fake, SEC); /* the pod's new condition would be news too */
    rig_run(&o.bed.rig, 15 * SEC / 10);
    /* n2 and n3 fit, but nobody allowed them. The new node was news: no need to wait for more. */
    assert_int_equal(scheduler_stats(o.bed.s).failed, 1);
    assert_int_equal(scheduler_stats(o.bed.s).turned_down, 0);
    fake_slow(o.bed.rig.fake, 0);
    rig_run(&o.bed.rig, SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "");
    assert_non_null(strstr(bed_condition(&o.bed, "p", "message"),
                           "1 node(s) changed while extenders were asked"));
    outside_answer(&o, "/x/filter", 200, "{'NodeNames':['n3']}");
    rig_run(&o.bed.rig, 15 * SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "n3");
    bed_verify(&o.bed);
}

static void test_reload_while_asked(void **state)
{
    CLEANUP(outside_stop) struct outside o;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct profile_config c = profile_config_default(ks_registry, "koord-scheduler", a);
    struct sched_extender e = outside_extender();
    struct scheduler_opts opts = { .profiles = &c, .nprofiles = 1, .extenders = &e };
    struct kerr err = { 0 };

    (void)state;
    start_slow(&o);
    e.filter_verb = "other";
    outside_answer(&o, "/x/other", 200, "{'NodeNames':['n2']}");
    opts.nextenders = 1;
    assert_int_equal(scheduler_reload(o.bed.s, &opts, &err), 0);
    rig_run(&o.bed.rig, 10 * SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "n2");
    assert_int_equal(outside_asked(&o, "/x/other"), 1);
    e.url_prefix = "unix:///run/extender";
    assert_true(scheduler_reload(o.bed.s, &opts, &err) < 0);
    assert_string_equal(
        err.text, "extenders[0]: urlPrefix: 'unix:///run/extender': expected http:// or https://");
    opts.nextenders = 0; /* the old ones stayed; now there are none */
    assert_int_equal(scheduler_reload(o.bed.s, &opts, &err), 0);
    bed_pod(&o.bed, "q", 100, 100, "");
    rig_run(&o.bed.rig, SEC);
    assert_true(*bed_node_of(&o.bed, "q"));
    assert_int_equal(outside_asked(&o, "/x/other"), 1);
}

static void test_stop_while_asked(void **state)
{
    CLEANUP(outside_stop) struct outside o;

    (void)state;
    start_slow(&o);
    o.bed.s = scheduler_free(o.bed.s);
    rig_run(&o.bed.rig, 10 * SEC);
    assert_string_equal(bed_node_of(&o.bed, "p"), "");
    assert_int_equal(o.cut, 1);
}

/* ---- all at once ----------------------------------------------------------------------------- */

/* One step of a bad day: the extender changes its mind, pods come, change and go. */
static void bad_step(struct outside *o, int i)
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
    struct loop *l = o->bed.rig.loop;
    size_t mood = loop_rand_below(l, ARRAY_LEN(moods));
    char name[16];

    outside_answer(o, "/x/filter", moods[mood].status, moods[mood].body);
    outside_path(o, "/x/filter")->delay = (nsec_t)loop_rand_below(l, 4) * SEC;
    (void)snprintf(name, sizeof name, "p%d", i);
    bed_pod(&o->bed, name, 10, 10, "");
    (void)snprintf(name, sizeof name, "p%d", (int)loop_rand_below(l, (uint64_t)i + 1));
    if (loop_rand_below(l, 4) == 0)
        fake_delete(o->bed.rig.fake, PODS, name);
    else if (fake_find(o->bed.rig.fake, PODS, name) && !*bed_node_of(&o->bed, name))
        bed_pod(&o->bed, name, 20, 10, "");
    bed_node(&o->bed, "n1", 4000 + i, 8192, 110, "");
    rig_run(&o->bed.rig, (nsec_t)loop_rand_below(l, 3 * SEC));
    bed_verify(&o->bed);
}

static void test_no_pod_is_lost(void **state)
{
    (void)state;
    for (int seed = 0; seed < 20; seed++) {
        CLEANUP(outside_stop) struct outside o;
        start_filter(&o, false, 200, "{'NodeNames':['n1']}");
        for (int i = 0; i <= seed; i++)
            (void)loop_rand(o.bed.rig.loop);
        for (int i = 0; i < 30; i++)
            bad_step(&o, i);
        outside_answer(&o, "/x/filter", 200, "{'NodeNames':['n1','n2']}");
        outside_path(&o, "/x/filter")->delay = 0;
        bed_node(&o.bed, "n1", 5000, 8192, 110, "");
        rig_run(&o.bed.rig, 60 * SEC);
        struct scheduler_stats st = scheduler_stats(o.bed.s);
        assert_int_equal(st.pending, 0);
        assert_int_equal(st.assumed, 0);
        assert_int_equal(st.pods, fake_count(o.bed.rig.fake, "pods"));
        bed_verify(&o.bed);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_by_names),
        cmocka_unit_test(test_filter_by_whole_nodes),
        cmocka_unit_test(test_failed_nodes_are_in_the_message),
        cmocka_unit_test(test_filters_one_after_the_other),
        cmocka_unit_test(test_a_promise_is_asked_about_alone),
        cmocka_unit_test(test_a_promise_that_is_refused_leaves_the_others),
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
