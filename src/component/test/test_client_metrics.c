/* test_client_metrics.c - rest_client_* and workqueue_*, as they are shown. */
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "client/meter.h"
#include "client/test/client_fixture.h"
#include "client/workqueue.h"
#include "component/client_metrics.h"
#include "component/metrics.h"

struct fixture {
    struct client_fixture client;
    struct metrics *metrics;
    struct client_metrics *counting;
    struct strbuf text;
    struct work *held;
    bool fail;
};

static void init(struct fixture *f)
{
    *f = (struct fixture){ .text = STRBUF_INIT };
    client_fixture_init(&f->client, 1);
    f->metrics = metrics_new();
    f->counting = client_metrics_new(f->metrics);
    f->client.kube->meter = client_metrics_meter(f->counting);
}

static void fini_p(struct fixture *f)
{
    client_fixture_fini(&f->client);
    client_metrics_free(f->counting);
    metrics_free(f->metrics);
    strbuf_fini(&f->text);
}

static const char *shown(struct fixture *f)
{
    strbuf_reset(&f->text);
    metrics_write(&f->metrics, 1, &f->text);
    return strbuf_str(&f->text);
}

static void on_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    (void)r, (void)err;
    ++*(int *)arg;
}

static void ask(struct fixture *f, enum kube_verb verb, const char *body)
{
    int answers = 0;
    const struct kube_req r = { .verb = verb,
                                .kind = kind_find("pods"),
                                .ns = "ns",
                                .name = verb == KUBE_CREATE ? NULL : "a",
                                .body = body,
                                .body_len = body ? strlen(body) : 0,
                                .no_retry = verb == KUBE_DELETE };

    kube_do(f->client.kube, &r, on_done, &answers);
    loop_advance(f->client.loop, 20 * NSEC_PER_SEC);
    assert_int_equal(answers, 1);
}

static void test_requests_are_counted_by_code_and_method(void **state)
{
    CLEANUP(fini) struct fixture f;

    (void)state;
    init(&f);
    assert_string_equal(shown(&f), ""); /* nothing has happened: nothing is shown */
    fake_put(f.client.fake, PODS, "a", "{}");
    ask(&f, KUBE_GET, NULL);
    ask(&f, KUBE_GET, NULL);
    ask(&f, KUBE_DELETE, NULL);
    ask(&f, KUBE_GET, NULL);
    const char *text = shown(&f);
    assert_contains(text, "rest_client_requests_total{code=\"200\",host=\"\",method=\"GET\"} 2\n");
    assert_contains(text, "rest_client_requests_total{code=\"404\",host=\"\",method=\"GET\"} 1\n");
    assert_contains(text,
                    "rest_client_requests_total{code=\"200\",host=\"\",method=\"DELETE\"} 1\n");
    assert_contains(text, "rest_client_request_duration_seconds_count{host=\"\",verb=\"GET\"} 3\n");
    assert_contains(text,
                    "rest_client_rate_limiter_duration_seconds_count{host=\"\",verb=\"GET\"} 3\n");
    assert_lacks(text, "rest_client_request_retries_total");
}

static void test_sizes_are_those_of_the_bodies(void **state)
{
    CLEANUP(fini) struct fixture f;
    const char *body = "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"note\":\"longer than 64 "
                       "bytes, so that it falls into the second bucket\"}}}";

    (void)state;
    init(&f);
    ask(&f, KUBE_CREATE, body);
    const char *text = shown(&f);
    assert_contains(text,
                    "rest_client_request_size_bytes_bucket{host=\"\",verb=\"POST\",le=\"64\"} 0\n");
    assert_contains(
        text, "rest_client_request_size_bytes_bucket{host=\"\",verb=\"POST\",le=\"256\"} 1\n");
    assert_contains(text, "rest_client_response_size_bytes_count{host=\"\",verb=\"POST\"} 1\n");
}

static void test_every_attempt_counts_and_the_call_lasts_to_its_end(void **state)
{
    CLEANUP(fini) struct fixture f;

    (void)state;
    init(&f);
    fake_put(f.client.fake, PODS, "a", "{}");
    fake_answer_next(f.client.fake, 2, 429, 3);
    ask(&f, KUBE_GET, NULL);
    const char *text = shown(&f);
    assert_contains(text, "rest_client_requests_total{code=\"429\",host=\"\",method=\"GET\"} 2\n");
    assert_contains(text, "rest_client_requests_total{code=\"200\",host=\"\",method=\"GET\"} 1\n");
    assert_contains(text,
                    "rest_client_request_retries_total{code=\"429\",host=\"\",verb=\"GET\"} 2\n");
    assert_contains(
        text, "rest_client_request_duration_seconds_bucket{host=\"\",verb=\"GET\",le=\"4\"} 0\n");
    assert_contains(
        text, "rest_client_request_duration_seconds_bucket{host=\"\",verb=\"GET\",le=\"8\"} 1\n");
}

static void test_a_request_without_an_answer_is_an_error(void **state)
{
    CLEANUP(fini) struct fixture f;

    (void)state;
    init(&f);
    fake_refuse(f.client.fake, true);
    ask(&f, KUBE_GET, NULL);
    assert_contains(shown(&f),
                    "rest_client_requests_total{code=\"<error>\",host=\"\",method=\"GET\"} 1\n");
}

static void on_end(void *arg, const struct kerr *err)
{
    (void)arg, (void)err;
}

static void on_event(void *arg, enum kube_event_type type, const struct kj_val *obj)
{
    (void)arg, (void)type, (void)obj;
}

static void test_a_watch_is_a_request_without_duration(void **state)
{
    static const struct kube_watch_handler on = { .on_event = on_event, .on_end = on_end };
    CLEANUP(fini) struct fixture f;

    (void)state;
    init(&f);
    kube_watch(f.client.kube, &(struct kube_req){ .kind = kind_find("pods") }, &on, NULL);
    loop_advance(f.client.loop, NSEC_PER_SEC);
    const char *text = shown(&f);
    assert_contains(text, "rest_client_requests_total{code=\"200\",host=\"\",method=\"GET\"} 1\n");
    assert_lacks(text, "rest_client_request_duration_seconds");
}

/* ---- work queues ------------------------------------------------------------------------------ */

static void hold(void *arg, const char *key, struct work *w)
{
    struct fixture *f = arg;

    (void)key;
    f->held = w;
}

static void finish(struct fixture *f)
{
    const struct kerr err = { .code = -EIO };

    work_done(f->held, f->fail ? &err : NULL);
}

static struct workqueue *queue_of(struct fixture *f)
{
    const struct workqueue_opts o = { .name = "pods", .meter = client_metrics_meter(f->counting) };
    return workqueue_new(f->client.loop, &o, hold, f);
}

static void test_a_queue_shows_depth_and_what_is_under_way(void **state)
{
    CLEANUP(fini) struct fixture f;

    (void)state;
    init(&f);
    CLEANUP(workqueue_free) struct workqueue *q = queue_of(&f);
    workqueue_add(q, "a");
    workqueue_add(q, "b");
    workqueue_add(q, "b"); /* is there already: not one more */
    assert_contains(shown(&f), "workqueue_depth{name=\"pods\"} 2\n");
    loop_advance(f.client.loop, 5 * NSEC_PER_SEC);
    workqueue_add(q, "a"); /* runs now: once more afterwards */
    const char *text = shown(&f);
    assert_contains(text, "workqueue_adds_total{name=\"pods\"} 3\n");
    assert_contains(text, "workqueue_depth{name=\"pods\"} 2\n");
    assert_contains(text, "workqueue_unfinished_work_seconds{name=\"pods\"} 5\n");
    assert_contains(text, "workqueue_longest_running_processor_seconds{name=\"pods\"} 5\n");
    assert_contains(text, "workqueue_work_duration_seconds_count{name=\"pods\"} 0\n");
}

static void test_a_queue_counts_how_long_keys_wait_and_run(void **state)
{
    CLEANUP(fini) struct fixture f;

    (void)state;
    init(&f);
    CLEANUP(workqueue_free) struct workqueue *q = queue_of(&f);
    workqueue_add(q, "a");
    workqueue_add(q, "b");
    loop_advance(f.client.loop, 5 * NSEC_PER_SEC);
    f.fail = true;
    finish(&f);
    loop_advance(f.client.loop, NSEC_PER_SEC);
    const char *text = shown(&f);
    assert_contains(text,
                    "workqueue_queue_duration_seconds_bucket{name=\"pods\",le=\"1e-08\"} 1\n");
    assert_contains(text, "workqueue_queue_duration_seconds_bucket{name=\"pods\",le=\"1\"} 1\n");
    assert_contains(text, "workqueue_queue_duration_seconds_bucket{name=\"pods\",le=\"10\"} 2\n");
    assert_contains(
        text,
        "workqueue_work_duration_seconds_bucket{name=\"pods\",le=\"9.999999999999999e-06\"} 0\n");
    assert_contains(text, "workqueue_work_duration_seconds_sum{name=\"pods\"} 5\n");
    assert_contains(text, "workqueue_retries_total{name=\"pods\"} 1\n");
}

static void test_counters_outlive_their_queue_and_gauges_do_not(void **state)
{
    CLEANUP(fini) struct fixture f;

    (void)state;
    init(&f);
    struct workqueue *q = queue_of(&f);
    workqueue_add(q, "a");
    assert_contains(shown(&f), "workqueue_depth{name=\"pods\"} 1\n");
    workqueue_free(q);
    assert_contains(shown(&f), "workqueue_depth{name=\"pods\"} 0\n");
    CLEANUP(workqueue_free) struct workqueue *again = queue_of(&f);
    workqueue_add(again, "a");
    assert_contains(shown(&f), "workqueue_adds_total{name=\"pods\"} 2\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_are_counted_by_code_and_method),
        cmocka_unit_test(test_sizes_are_those_of_the_bodies),
        cmocka_unit_test(test_every_attempt_counts_and_the_call_lasts_to_its_end),
        cmocka_unit_test(test_a_request_without_an_answer_is_an_error),
        cmocka_unit_test(test_a_watch_is_a_request_without_duration),
        cmocka_unit_test(test_a_queue_shows_depth_and_what_is_under_way),
        cmocka_unit_test(test_a_queue_counts_how_long_keys_wait_and_run),
        cmocka_unit_test(test_counters_outlive_their_queue_and_gauges_do_not),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
