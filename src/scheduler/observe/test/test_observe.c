/* test_observe.c - what a running scheduler shows of itself: metrics, the monitor, diagnoses
 * (scheduler-core 11.2, 11.3, 11.6).
 */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "base/klog.h"
#include "component/metrics.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

struct stage {
    struct engine_fixture engine;
    struct metrics *m;
    struct strbuf text, log;
};

static void on_line(void *arg, const char *text, size_t n)
{
    strbuf_appendn(&((struct stage *)arg)->log, text, n);
}

static void stage_start(struct stage *g, struct scheduler_opts o)
{
    struct kerr err = { 0 };

    *g = (struct stage){ .m = metrics_new() };
    client_fixture_init(&g->engine.client, 1);
    klog_set_sink(on_line, g);
    o.metrics = g->m;
    o.verify_reuse = true;
    g->engine.s = scheduler_new(g->engine.client.loop, g->engine.client.kube, &o, &err);
    assert_string_equal(err.text, "");
    scheduler_start(g->engine.s);
}

static void stage_stop_p(struct stage *g)
{
    scheduler_free(g->engine.s);
    client_fixture_fini(&g->engine.client);
    metrics_free(g->m);
    strbuf_fini(&g->text);
    strbuf_fini(&g->log);
}

/* The value of a series, by its whole name with labels; -1: there is none. */
static double value(struct stage *g, const char *series)
{
    strbuf_reset(&g->text);
    strbuf_append(&g->text, "\n");
    metrics_write(&g->m, 1, &g->text);
    CLEANUP(mem_free) char *line = xasprintf("\n%s ", series);
    const char *at = strstr(strbuf_str(&g->text), line);
    return at ? strtod(at + strlen(line), NULL) : -1;
}

static unsigned lines(const struct stage *g, const char *part)
{
    unsigned n = 0;
    for (const char *at = strbuf_str(&g->log); (at = strstr(at, part)); at++)
        n++;
    return n;
}

#define POINT(name, status)                                                              \
    "scheduler_framework_extension_point_duration_seconds_count{extension_point=\"" name \
    "\",profile=\"koord-scheduler\",status=\"" status "\"}"
#define PLUGIN_SAID(what, plugin, point, status)                                    \
    "scheduler_plugin_execution_duration_seconds_" what "{extension_point=\"" point \
    "\",plugin=\"" plugin "\",status=\"" status "\"}"
#define PLUGIN(plugin, point) PLUGIN_SAID("count", plugin, point, "Success")
#define TAKES_PART(plugin, point)                                                      \
    "scheduler_plugin_evaluation_total{extension_point=\"" point "\",plugin=\"" plugin \
    "\",profile=\"koord-scheduler\"}"
#define INCOMING(queue, event) \
    "scheduler_queue_incoming_pods_total{event=\"" event "\",queue=\"" queue "\"}"

static void test_extension_points_and_plugins(void **state)
{
    CLEANUP(stage_stop) struct stage g;
    char name[16];

    (void)state;
    stage_start(&g, (struct scheduler_opts){ 0 });
    engine_node(&g.engine, "n1", 64000, 65536, 110, "");
    engine_node(&g.engine, "n2", 64000, 65536, 110,
                ",\"taints\":[{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}]");
    for (int i = 0; i < 21; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        engine_pod(&g.engine, name, 100, 10, "");
    }
    client_fixture_run(&g.engine.client, 5 * SEC);
    assert_int_equal(scheduler_stats(g.engine.s).scheduled, 21);
    assert_that(value(&g, POINT("PreEnqueue", "Success")), ==, 21);
    assert_that(value(&g, POINT("PreFilter", "Success")), ==, 21);
    assert_that(value(&g, POINT("Filter", "Success")), ==, 21);
    assert_that(value(&g, POINT("PreScore", "Success")), ==, 21);
    assert_that(value(&g, POINT("Score", "Success")), ==, 21);
    assert_that(value(&g, POINT("Reserve", "Success")), ==, 21);
    assert_that(value(&g, POINT("PreBind", "Success")), ==, 21);
    assert_that(value(&g, POINT("Bind", "Success")), ==, 21);
    /* the first attempt and each tenth */
    assert_that(value(&g, PLUGIN("SchedulingGates", "PreEnqueue")), ==, 3);
    assert_that(value(&g, PLUGIN("NodeResourcesFit", "Filter")), ==, 3);
    assert_that(value(&g, PLUGIN("NodeResourcesFit", "Score")), ==, 3);
    assert_that(value(&g, PLUGIN("TaintToleration", "ScoreExtensionNormalize")), ==, 3);
    assert_that(value(&g, PLUGIN("DefaultBinder", "Bind")), ==, 3);
    /* all of them, whether the verdict was reused or not */
    assert_that(value(&g, TAKES_PART("NodeResourcesFit", "PreFilter")), ==, 21);
    assert_that(value(&g, TAKES_PART("NodeResourcesFit", "Filter")), ==, 21);
    assert_that(value(&g, TAKES_PART("NodeResourcesFit", "Score")), ==, 21);
    assert_that(value(&g, TAKES_PART("NodePorts", "Filter")), ==, -1); /* it has nothing to say */
    assert_that(value(&g, "scheduler_goroutines{operation=\"binding\"}"), ==, 0);
    assert_that(value(&g, "scheduler_inflight_events{event=\"PodPopped\"}"), ==, 0);
    assert_that(value(&g, "scheduler_event_handling_duration_seconds_count{event=\"NodeAdd\"}"), ==,
                1);
    assert_that(value(&g, "scheduler_event_handling_duration_seconds_count{event="
                          "\"UnschedulablePodAdd\"}"),
                ==, 3);
}

static void test_attempts_that_fail(void **state)
{
    CLEANUP(stage_stop) struct stage g;

    (void)state;
    stage_start(&g, (struct scheduler_opts){ 0 });
    engine_node(&g.engine, "n1", 1000, 1024, 110, "");
    engine_pod(&g.engine, "big", 2000, 10, "");
    client_fixture_run(&g.engine.client, 5 * SEC);
    assert_that(value(&g, POINT("PostFilter", "Unschedulable")), ==, 1);
    assert_that(value(&g, POINT("Score", "Success")), ==, -1);
    assert_that(value(&g, TAKES_PART("NodeResourcesFit", "Filter")), ==, 1);
    assert_that(value(&g, TAKES_PART("NodeResourcesFit", "Score")), ==, -1);
    assert_that(value(&g, INCOMING("active", "UnschedulablePodAdd")), ==, 1);
    assert_that(value(&g, INCOMING("unschedulable", "ScheduleAttemptFailure")), ==, 1);
    /* A node comes that is too small: one hint says no. Then it grows. */
    engine_node(&g.engine, "n2", 1000, 1024, 110, "");
    client_fixture_run(&g.engine.client, 5 * SEC);
    assert_that(value(&g, "scheduler_queueing_hint_execution_duration_seconds_count{event="
                          "\"NodeAdd\",hint=\"QueueSkip\",plugin=\"NodeResourcesFit\"}"),
                ==, 1);
    engine_node(&g.engine, "n2", 4000, 4096, 110, "");
    client_fixture_run(&g.engine.client, 5 * SEC);
    assert_string_equal(engine_node_of(&g.engine, "big"), "n2");
    assert_that(value(&g, INCOMING("active", "NodeUpdateNodeAllocatable")), ==, 1);
    assert_that(value(&g, INCOMING("active", "NodeAdd")), ==, -1);
}

/* Holds pods of the name "w", and fails to prepare others. */
static enum ks_code warden_permit(void *self, const struct pod *p, const char *node,
                                  nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)node, (void)why;
    *ret_timeout = 60 * SEC;
    return streq(p->obj.meta.name, "w") ? KS_WAIT : KS_SUCCESS;
}

static enum ks_code warden_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self, (void)b;
    ks_texts_add(why, "no way");
    return KS_ERROR;
}

static const struct ks_plugin warden = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Warden",
    .permit = warden_permit,
    .pre_bind = warden_pre_bind,
};

#define ATTEMPTS(result) \
    "scheduler_schedule_attempts_total{profile=\"koord-scheduler\",result=\"" result "\"}"

static void test_attempts_that_fail_on_the_way(void **state)
{
    static const struct ks_registered plugins[] = {
        { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true }, { &warden, 0, true },
        { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
    };
    CLEANUP(stage_stop) struct stage g;

    (void)state;
    stage_start(&g, (struct scheduler_opts){ .plugins = plugins });
    engine_node(&g.engine, "n1", 1000, 1024, 110, "");
    engine_pod(&g.engine, "p", 100, 10, "");
    client_fixture_run(&g.engine.client, 100 * NSEC_PER_MSEC);
    assert_that(value(&g, ATTEMPTS("error")), ==, 1);
    assert_that(value(&g, POINT("PreBind", "Error")), ==, 1);
    assert_that(value(&g, PLUGIN("Warden", "Permit")), ==, 1);
    assert_that(value(&g, PLUGIN_SAID("count", "Warden", "PreBind", "Error")), ==, 1);
    fake_delete(g.engine.client.fake, PODS, "p");
    engine_pod(&g.engine, "w", 100, 10, "");
    client_fixture_run(&g.engine.client, 2 * SEC);
    uint64_t patches = fake_stats(g.engine.client.fake).patches;
    fake_delete(g.engine.client.fake, PODS, "w");
    client_fixture_run(&g.engine.client, SEC);
    assert_that(value(&g, ATTEMPTS("unschedulable")), ==, 1);
    assert_that(value(&g, "scheduler_permit_wait_duration_seconds_count{result=\"Unschedulable\"}"),
                ==, 1);
    /* nobody writes about a pod that is gone */
    assert_int_equal(fake_stats(g.engine.client.fake).patches, patches);
}

/* Takes its time with each pod, and says no to those of the name "r". */
static struct usher {
    struct ks_bind *asked;
} usher;

static enum ks_code usher_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    (void)self, (void)c, (void)row;
    if (!streq(p->pod->obj.meta.name, "r"))
        return KS_SUCCESS;
    ks_texts_add(why, "not here");
    return KS_UNSCHEDULABLE;
}

static void usher_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
}

static enum ks_code usher_permit(void *self, const struct pod *p, const char *node,
                                 nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)p, (void)node, (void)ret_timeout, (void)why;
    return KS_SUCCESS;
}

static enum ks_code usher_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self, (void)why;
    usher.asked = b;
    return KS_WAIT;
}

static void usher_post_bind(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
}

static bool usher_next(void *self, struct kuid *ret_uid)
{
    (void)self, (void)ret_uid;
    return false;
}

static const struct ks_plugin usher_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Usher",
    .reserve = usher_reserve,
    .unreserve = usher_unreserve,
    .permit = usher_permit,
    .pre_bind = usher_pre_bind,
    .post_bind = usher_post_bind,
    .next = usher_next,
};

static const struct ks_registered usher_plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &usher_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static void test_plugins_on_the_way_to_the_node(void **state)
{
    CLEANUP(stage_stop) struct stage g;

    (void)state;
    stage_start(&g, (struct scheduler_opts){ .plugins = usher_plugins });
    engine_node(&g.engine, "n1", 1000, 1024, 110, "");
    engine_pod(&g.engine, "p", 100, 10, "");
    client_fixture_run(&g.engine.client, 3 * SEC);
    assert_that(value(&g, PLUGIN("Usher", "NextPod")), ==, 1);
    assert_that(value(&g, PLUGIN("Usher", "Reserve")), ==, 1);
    assert_that(value(&g, PLUGIN("Usher", "Permit")), ==, 1);
    assert_that(value(&g, POINT("Permit", "Success")), ==, 1);
    assert_that(value(&g, PLUGIN("Usher", "PreBind")), ==, -1); /* it goes on */
    ks_bind_done(usher.asked, KS_SUCCESS, NULL);
    client_fixture_run(&g.engine.client, SEC);
    assert_string_equal(engine_node_of(&g.engine, "p"), "n1");
    assert_that(value(&g, PLUGIN("Usher", "PreBind")), ==, 1);
    double took = value(&g, PLUGIN_SAID("sum", "Usher", "PreBind", "Success"));
    assert_that(took, >, 2.9);
    assert_that(took, <=, 3);
    assert_that(value(&g, POINT("PreBind", "Success")), ==, 1);
    assert_that(value(&g, PLUGIN("Usher", "PostBind")), ==, 1);
    assert_that(value(&g, POINT("PostBind", "Success")), ==, 1);
    assert_that(value(&g, POINT("Unreserve", "Success")), ==, -1);
}

static void test_what_is_undone_is_measured(void **state)
{
    CLEANUP(stage_stop) struct stage g;

    (void)state;
    stage_start(&g, (struct scheduler_opts){ .plugins = usher_plugins });
    engine_node(&g.engine, "n1", 1000, 1024, 110, "");
    engine_pod(&g.engine, "r", 100, 10, "");
    client_fixture_run(&g.engine.client, 500 * NSEC_PER_MSEC);
    double tries = value(&g, POINT("Reserve", "Unschedulable"));
    assert_that(tries, >=, 1);
    assert_that(tries, <, 10);
    assert_that(value(&g, PLUGIN_SAID("count", "Usher", "Reserve", "Unschedulable")), ==, 1);
    assert_that(value(&g, POINT("Unreserve", "Success")), ==, tries);
    assert_that(value(&g, PLUGIN("Usher", "Unreserve")), ==, 1);
    fake_delete(g.engine.client.fake, PODS, "r");
    engine_pod(&g.engine, "p", 100, 10, "");
    client_fixture_run(&g.engine.client, 500 * NSEC_PER_MSEC);
    ks_bind_done(usher.asked, KS_UNSCHEDULABLE, "no way"); /* not a tenth attempt */
    assert_that(value(&g, POINT("PreBind", "Unschedulable")), ==, 1);
    assert_that(value(&g, PLUGIN_SAID("count", "Usher", "PreBind", "Unschedulable")), ==, -1);
    assert_that(value(&g, POINT("Unreserve", "Success")), ==, tries + 1);
    assert_that(value(&g, PLUGIN("Usher", "Unreserve")), ==, 1);
}

static void test_gates_and_timeouts_are_causes(void **state)
{
    CLEANUP(stage_stop) struct stage g;

    (void)state;
    stage_start(&g, (struct scheduler_opts){ 0 });
    engine_pod(&g.engine, "gated", 1, 1, ",\"schedulingGates\":[{\"name\":\"g\"}]");
    client_fixture_run(&g.engine.client, SEC);
    engine_node(&g.engine, "n1", 1000, 1024, 110, "");
    engine_pod(&g.engine, "big", 2000, 10, "");
    client_fixture_run(&g.engine.client, 400 * SEC);
    assert_that(value(&g, POINT("PreEnqueue", "UnschedulableAndUnresolvable")), ==, 1);
    assert_that(value(&g, PLUGIN_SAID("count", "SchedulingGates", "PreEnqueue",
                                      "UnschedulableAndUnresolvable")),
                ==, 1);
    assert_that(value(&g, INCOMING("unschedulable", "UnschedulablePodAdd")), ==, 1);
    assert_that(value(&g, INCOMING("active", "UnschedulableTimeout")), >=, 1);
}

static void test_victims_are_counted_when_they_are_gone(void **state)
{
    CLEANUP(stage_stop) struct stage g;

    (void)state;
    stage_start(&g, (struct scheduler_opts){ 0 });
    engine_node(&g.engine, "n1", 1000, 1024, 110, "");
    engine_pod(&g.engine, "low", 1000, 10, "");
    client_fixture_run(&g.engine.client, 2 * SEC);
    engine_pod(&g.engine, "high", 1000, 10, ",\"priority\":10");
    client_fixture_run(&g.engine.client, 5 * SEC);
    assert_that(value(&g, POINT("PostFilter", "Success")), ==, 1);
    assert_that(value(&g, "scheduler_preemption_goroutines_execution_total{result=\"success\"}"),
                ==, 1);
    assert_that(
        value(&g, "scheduler_preemption_goroutines_duration_seconds_count{result=\"success\"}"), ==,
        1);
}

/* ---- the monitor ----------------------------------------------------------------------------- */

static enum ks_code slow_permit(void *self, const struct pod *p, const char *node,
                                nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)p, (void)node, (void)why;
    *ret_timeout = 45 * SEC;
    return KS_WAIT;
}

static const struct ks_plugin slow_plugin = {
    .abi = KS_PLUGIN_ABI, .size = sizeof slow_plugin, .name = "Slow", .permit = slow_permit
};

#define LATE "scheduler_scheduling_timeout{profile=\"koord-scheduler\"}"

static void test_a_pod_that_takes_too_long(void **state)
{
    static const struct ks_registered plugins[] = { { &ks_plugin_priority_sort, 0, true },
                                                    { &slow_plugin, 0, true },
                                                    { &ks_plugin_default_binder, 0, true },
                                                    { NULL, 0, false } };
    CLEANUP(stage_stop) struct stage g;

    (void)state;
    stage_start(&g, (struct scheduler_opts){ .plugins = plugins,
                                             .monitor_period = 10 * SEC,
                                             .monitor_timeout = 30 * SEC });
    engine_node(&g.engine, "n1", 1000, 1024, 110, "");
    engine_pod(&g.engine, "web", 100, 10, "");
    client_fixture_run(&g.engine.client, 25 * SEC);
    assert_that(value(&g, POINT("Permit", "Wait")), ==, 1);
    assert_that(value(&g, "scheduler_inflight_events{event=\"PodPopped\"}"), ==, 1);
    assert_that(value(&g, LATE), ==, 0);
    client_fixture_run(&g.engine.client, 18 * SEC); /* found at 40 s */
    assert_that(value(&g, LATE), ==, 1);
    assert_int_equal(lines(&g, "!!!CRITICAL TIMEOUT!!! scheduling pod ns/web("), 1);
    assert_int_equal(lines(&g, " than the timeout 30s"), 1);
    client_fixture_run(&g.engine.client, 4 * SEC); /* and when it ended, late, at 45 s */
    assert_that(value(&g, LATE), ==, 2);
    assert_int_equal(lines(&g, "took longer (45s) than the timeout 30s"), 1);
}

/* ---- diagnoses ------------------------------------------------------------------------------- */

static void test_diagnoses_wait_their_turn_or_do_not(void **state)
{
    static const char head[] = "dump diagnosis for ns/big0, targetPod: ns/big0/";
    static const char body[] =
        "\"scheduleDiagnosis\":{\"alreadyWaitForBound\":0,\"nodeFailedDetails\":[{\"failedPlugin\":"
        "\"NodeResourcesFit\",\"reason\":\"Insufficient cpu\",\"preemptMightHelp\":false,"
        "\"failedNodes\":[\"n1\"]}]},\"preemptionDiagnosis\":{";
    const struct scheduler_opts all[] = {
        { .debug_diagnosis = true, .debug_diagnosis_blocking = true, .diagnosis_queue = 2 },
        { .debug_diagnosis = true, .diagnosis_queue = 2, .diagnosis_a_turn = 1 },
        { .debug_diagnosis_blocking = true },
    };
    const unsigned expected[] = { 4, 2, 0 };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(all); k++) {
        CLEANUP(stage_stop) struct stage g;
        char name[16];
        stage_start(&g, all[k]);
        engine_node(&g.engine, "n1", 1000, 1024, 110, "");
        for (int i = 0; i < 4; i++) { /* they fail in one turn */
            (void)snprintf(name, sizeof name, "big%d", i);
            engine_pod(&g.engine, name, 2000, 10, "");
        }
        client_fixture_run(&g.engine.client, 5 * SEC);
        assert_int_equal(scheduler_stats(g.engine.s).failed, 4);
        assert_int_equal(lines(&g, "dump diagnosis for"), expected[k]);
        assert_int_equal(lines(&g, head), expected[k] > 0);
        assert_int_equal(lines(&g, body), expected[k]);
        assert_that(value(&g, "koord_scheduler_diagnosis_dropped_total"), ==, (k == 1 ? 2 : 0));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extension_points_and_plugins),
        cmocka_unit_test(test_attempts_that_fail),
        cmocka_unit_test(test_attempts_that_fail_on_the_way),
        cmocka_unit_test(test_plugins_on_the_way_to_the_node),
        cmocka_unit_test(test_what_is_undone_is_measured),
        cmocka_unit_test(test_gates_and_timeouts_are_causes),
        cmocka_unit_test(test_victims_are_counted_when_they_are_gone),
        cmocka_unit_test(test_a_pod_that_takes_too_long),
        cmocka_unit_test(test_diagnoses_wait_their_turn_or_do_not),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
