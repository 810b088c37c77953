/* test_koordlet_metric_reporter.c - when and how NodeMetric is written (koordlet-metrics 6.1). */
#include "base/test/asserts.h"
#include "koordlet/report/test/reporter_fixture.h"

#include "base/strbuf.h"

/* ---- NodeMetric ------------------------------------------------------------------------------ */

static const char *update_time(struct fixture *b, char buf[64])
{
    return stored_text(b, METRICS, "status.updateTime", buf, 64);
}

static void sample(struct fixture *b, double cores)
{
    struct series *c = metriccache_open(b->mc, M_NODE_CPU, NULL);
    struct series *m = metriccache_open(b->mc, M_NODE_MEMORY, NULL);
    int64_t ms = loop_wall(b->client.loop) / NSEC_PER_MSEC;
    struct kerr err = { 0 };

    metriccache_retain(b->mc, M_NODE_CPU, SECOND, 600 * SECOND);
    metriccache_retain(b->mc, M_NODE_MEMORY, SECOND, 600 * SECOND);
    assert_int_equal(series_append(c, ms, cores, &err), 0);
    assert_int_equal(series_append(m, ms, 4096, &err), 0);
    series_close(c);
    series_close(m);
}

static void test_metric_is_reported_once_an_interval(void **state)
{
    struct fixture b;
    char buf[64];

    (void)state;
    fixture_init(&b);
    fake_put(b.client.fake, METRICS, "n1",
             "{\"spec\":{\"keep\":1},\"status\":{\"prodPeakMetric\":{\"resource\":{}},\"old\":1}}");
    struct metric_reporter *r = metric_reporter_new(&b.env);
    metric_reporter_start(r);
    run(&b, 53 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 0); /* none at once */
    sample(&b, 1.5);
    run(&b, 7 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 1);
    assert_contains(fake_stats(b.client.fake).last_target, "/nodemetrics/n1/status");
    CLEANUP(kj_doc_free) struct kj_doc *doc = stored(&b, METRICS);
    assert_string_equal(kj_str(kj_path(kj_root(doc), "status.nodeMetric.nodeUsage.resources.cpu")),
                        "1500m");
    /* What was measured before and is not now must go; the spec is not ours. */
    assert_null(kj_path(kj_root(doc), "status.prodPeakMetric"));
    assert_null(kj_path(kj_root(doc), "status.old"));
    assert_non_null(kj_path(kj_root(doc), "spec.keep"));
    assert_true(*update_time(&b, buf));
    /* The same numbers are written again: the time is what consumers look at. */
    run(&b, 600 * SECOND);
    unsigned n = fake_stats(b.client.fake).patches;
    assert_in_range(n, 11, 13);
    assert_null(metric_reporter_missing(r));
    metric_reporter_free(r);
    fixture_fini(&b);
}

static void test_metric_interval_follows_the_policy(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_put(b.client.fake, METRICS, "n1", "{}");
    b.known.policy.report_interval = 666 * SECOND;
    struct metric_reporter *r = metric_reporter_new(&b.env);
    metric_reporter_start(r);
    run(&b, 200 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 0);
    b.known.policy.report_interval = 30 * SECOND; /* over already */
    policy_changed(&b);
    run(&b, SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 1);
    b.known.policy.report_interval = 666 * SECOND;
    policy_changed(&b);
    run(&b, 590 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 1);
    run(&b, 80 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 2);
    metric_reporter_free(r);
    fixture_fini(&b);
}

/* The policy changes while a report is on its way: what it says counts for the rest after it. */
static void test_metric_policy_changes_during_a_report(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_put(b.client.fake, METRICS, "n1", "{}");
    b.known.policy.report_interval = 3600 * SECOND;
    struct metric_reporter *r = metric_reporter_new(&b.env);
    fake_slow(b.client.fake, 5 * SECOND);
    metric_reporter_start(r);
    while (fake_stats(b.client.fake).requests == 0)
        run(&b, SECOND);
    b.known.policy.report_interval = 60 * SECOND;
    policy_changed(&b);
    run(&b, 75 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).patches, 2);
    metric_reporter_free(r);
    fixture_fini(&b);
}

static void test_metric_is_never_created(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    b.known.nodemetric = NULL;
    struct metric_reporter *r = metric_reporter_new(&b.env);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    metrics_write(&b.metrics, 1, &text);
    assert_lacks(strbuf_str(&text), "koordlet_"); /* nothing to show yet */
    metric_reporter_start(r);
    run(&b, 61 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).requests, 0);
    assert_contains(metric_reporter_missing(r), "koord-manager");
    b.known.nodemetric = &b.nodemetric; /* the watch says so, but it is gone again */
    run(&b, 60 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).requests, 1);
    assert_int_equal(fake_count(b.client.fake, "nodemetrics"), 0);
    assert_non_null(metric_reporter_missing(r));
    fake_put(b.client.fake, METRICS, "n1", "{}");
    run(&b, 60 * SECOND);
    assert_null(metric_reporter_missing(r));
    assert_int_equal(fake_stats(b.client.fake).patches, 1);
    metric_reporter_free(r);
    fixture_fini(&b);
}

/* 409 soon again, 500 after a pause that grows, 429 when the server said. */
static void test_metric_backs_off(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_put(b.client.fake, METRICS, "n1", "{}");
    struct metric_reporter *r = metric_reporter_new(&b.env);
    fake_answer_next(b.client.fake, 2, 409, -1);
    metric_reporter_start(r);
    run(&b, 61 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).requests, 3);
    assert_int_equal(fake_stats(b.client.fake).patches, 1);

    fake_answer_next(b.client.fake, 1, 429, 20);
    while (fake_stats(b.client.fake).requests == 3)
        run(&b, SECOND);
    run(&b, 19 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).requests, 4);
    assert_non_null(metric_reporter_missing(r));
    run(&b, 3 * SECOND);
    assert_int_equal(fake_stats(b.client.fake).requests, 5);
    assert_int_equal(fake_stats(b.client.fake).patches, 2);

    fake_answer_next(b.client.fake, 1000, 500, -1);
    run(&b, 600 * SECOND);
    unsigned tries = fake_stats(b.client.fake).requests - 5;
    assert_in_range(tries, 6, 25); /* not one a second */
    fake_answer_next(b.client.fake, 0, 0, -1);
    run(&b, 73 * SECOND); /* the longest pause with its jitter */
    assert_that(fake_stats(b.client.fake).patches, >=, 3);
    assert_null(metric_reporter_missing(r));
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    metrics_write(&b.metrics, 1, &text);
    assert_contains(strbuf_str(&text),
                    "koordlet_report_total{node=\"n1\",object=\"NodeMetric\",status="
                    "\"succeeded\"}");
    metric_reporter_free(r);
    fixture_fini(&b);
}

/* The answer is lost or slow: one request at a time, and the next report is the next. */
static void test_metric_outlives_lost_and_slow_answers(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_put(b.client.fake, METRICS, "n1", "{}");
    struct metric_reporter *r = metric_reporter_new(&b.env);
    http_fault_set(b.client.faulty, &(struct http_faults){ .lose_answer = 1000 });
    metric_reporter_start(r);
    run(&b, 61 * SECOND);
    assert_that(fake_stats(b.client.fake).patches, >=, 1);
    assert_non_null(metric_reporter_missing(r));
    http_fault_set(b.client.faulty, &(struct http_faults){ 0 });
    run(&b, 70 * SECOND);
    assert_null(metric_reporter_missing(r));
    unsigned before = fake_stats(b.client.fake).requests;
    fake_slow(b.client.fake, 3600 * SECOND); /* time-outs only */
    run(&b, 600 * SECOND);
    assert_in_range(fake_stats(b.client.fake).requests - before, 5, 25);
    metric_reporter_free(r); /* with a request under way */
    fixture_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metric_is_reported_once_an_interval),
        cmocka_unit_test(test_metric_interval_follows_the_policy),
        cmocka_unit_test(test_metric_policy_changes_during_a_report),
        cmocka_unit_test(test_metric_is_never_created),
        cmocka_unit_test(test_metric_backs_off),
        cmocka_unit_test(test_metric_outlives_lost_and_slow_answers),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
