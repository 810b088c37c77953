/* test_dash.c - sums follow what informers tell, and say what they cannot know. */
#include "dash/test/dash_fixture.h"

#include "base/test/asserts.h"

#define SECOND NSEC_PER_SEC
#define MINUTE (60 * NSEC_PER_SEC)

#define FIXTURE(f)                                        \
    CLEANUP(client_fixture_fini) struct client_fixture f; \
    client_fixture_init(&f, 3)

static void test_sums_of_a_cluster(void **state)
{
    (void)state;
    FIXTURE(f);
    put_cluster(&f);
    CLEANUP(dash_free) struct dash *d = dash_new(f.kube, &(struct dash_opts){ 0 });
    assert_false(dash_settled(d));
    client_fixture_run(&f, SECOND);
    assert_true(dash_settled(d));

    struct dash_sums s = dash_sums(d);
    assert_int_equal(s.nodes, 2);
    assert_int_equal(s.reporting, 1);
    assert_int_equal(s.pods, 3);
    assert_int_equal(s.pending, 1);
    assert_int_equal(s.capacity.mcpu, 8000);
    assert_int_equal(s.used.mcpu, 3000);
    assert_int_equal(s.by_user[DASH_PROD].mcpu, 1000);
    assert_int_equal(s.by_user[DASH_BATCH].mcpu, 500);
    assert_int_equal(s.by_user[DASH_SYSTEM].mcpu, 1500);
    assert_int_equal(s.by_user[DASH_SYSTEM].bytes, 4 * GI);
    assert_int_equal(s.batch_allocatable.mcpu, 4000);
    assert_int_equal(s.batch_requested.mcpu, 1500);
}

static void test_a_node(void **state)
{
    (void)state;
    FIXTURE(f);
    put_cluster(&f);
    CLEANUP(dash_free) struct dash *d = dash_new(f.kube, &(struct dash_opts){ 0 });
    client_fixture_run(&f, SECOND);

    const struct dash_node *n = dash_node(d, "n1");
    assert_non_null(n);
    assert_int_equal(n->pods, 2);
    assert_int_equal(n->requested.mcpu, 2000);
    assert_int_equal(n->batch_requested.bytes, 2 * GI);
    assert_int_equal(n->by_qos[QOS_LS].bytes, 4 * GI);
    assert_int_equal(n->by_qos[QOS_BE].mcpu, 500);
    assert_true(n->is_fresh && n->is_ready && !n->is_unschedulable);
    n = dash_node(d, "n2");
    assert_false(n->is_fresh);
    assert_int_equal(n->used.mcpu, 0);
    assert_null(dash_node(d, "n3"));
    size_t it = 0, seen = 0;
    while (dash_next_node(d, &it))
        seen++;
    assert_int_equal(seen, 2);
}

/* Without a word from anybody: the report is just too old. */
static void test_a_report_grows_old(void **state)
{
    (void)state;
    FIXTURE(f);
    put_cluster(&f);
    CLEANUP(dash_free) struct dash *d = dash_new(f.kube, &(struct dash_opts){ 0 });
    client_fixture_run(&f, DASH_FRESH - SECOND);
    assert_int_equal(dash_sums(d).reporting, 1);
    client_fixture_run(&f, 2 * SECOND);
    assert_int_equal(dash_sums(d).reporting, 0);
    assert_int_equal(dash_sums(d).used.mcpu, 0);
    put_metric(&f, "n1");
    client_fixture_run(&f, SECOND);
    assert_int_equal(dash_sums(d).used.mcpu, 3000);
}

static void test_pods_come_and_go(void **state)
{
    (void)state;
    FIXTURE(f);
    put_cluster(&f);
    CLEANUP(dash_free) struct dash *d = dash_new(f.kube, &(struct dash_opts){ 0 });
    client_fixture_run(&f, SECOND);

    put_pod(&f, "web", "c", PROD_POD("n2"));
    client_fixture_run(&f, SECOND);
    assert_int_equal(dash_sums(d).pending, 0);
    assert_int_equal(dash_node(d, "n2")->requested.mcpu, 2000);
    fake_patch(f.fake, "/api/v1/namespaces/job/pods", "b",
               "{\"status\":{\"phase\":\"Succeeded\"}}");
    client_fixture_run(&f, SECOND);
    assert_int_equal(dash_node(d, "n1")->pods, 1);
    assert_int_equal(dash_sums(d).batch_requested.mcpu, 0);
    fake_delete(f.fake, "/api/v1/namespaces/web/pods", "a");
    fake_delete(f.fake, "/api/v1/namespaces/web/pods", "c");
    fake_delete(f.fake, "/api/v1/namespaces/job/pods", "b");
    fake_delete(f.fake, NODES, "n2");
    client_fixture_run(&f, SECOND);
    assert_int_equal(dash_sums(d).pods, 0);
    assert_int_equal(dash_sums(d).nodes, 1);
    assert_null(dash_node(d, "n2"));
    assert_int_equal(dash_node(d, "n1")->requested.mcpu, 0);
}

struct found {
    struct dash_pod_use a, b, c;
};

static void find(void *arg, const struct dash_pod_use *p)
{
    struct found *to = arg;

    if (streq(p->name, "a"))
        to->a = *p;
    else if (streq(p->name, "b"))
        to->b = *p;
    else
        to->c = *p;
}

static void test_use_of_pods(void **state)
{
    struct found got = { 0 };

    (void)state;
    FIXTURE(f);
    put_cluster(&f);
    CLEANUP(dash_free) struct dash *d = dash_new(f.kube, &(struct dash_opts){ 0 });
    client_fixture_run(&f, SECOND);
    dash_each_pod(d, find, &got);
    assert_true(got.a.is_measured && got.b.is_measured && !got.c.is_measured);
    assert_int_equal(got.a.used.bytes, 4 * GI);
    assert_int_equal(got.a.priority, PRIO_PROD);
    assert_int_equal(got.b.used.mcpu, 500);
    assert_int_equal(got.b.qos, QOS_BE);
    assert_int_equal(got.b.batch_requested.mcpu, 1500);
    assert_string_equal(got.c.node, "");
}

static void test_minutes(void **state)
{
    struct dash_minute got[DASH_MINUTES];

    (void)state;
    FIXTURE(f);
    put_cluster(&f);
    CLEANUP(dash_free) struct dash *d = dash_new(f.kube, &(struct dash_opts){ 0 });
    client_fixture_run(&f, 2 * MINUTE + SECOND);
    size_t n = dash_minutes(d, DASH_MINUTES, got);
    assert_int_equal(n, 2);
    assert_int_equal(got[1].at - got[0].at, MINUTE);
    assert_int_equal(got[0].at % MINUTE, 0);
    assert_int_equal(got[0].sums.used.mcpu, 3000);
    client_fixture_run(&f, 25 * 60 * MINUTE);
    assert_int_equal(dash_minutes(d, DASH_MINUTES, got), DASH_MINUTES);
    assert_int_equal(got[0].sums.reporting, 0); /* nobody has reported for a day */
    assert_int_equal(dash_minutes(d, 5, got), 5);
}

/* The rights are missing for one kind; the others are shown. */
static void test_a_right_is_missing(void **state)
{
    struct dash_source s;
    bool found = false;

    (void)state;
    FIXTURE(f);
    put_cluster(&f);
    fake_answer_next_to(f.fake, "GET", "/api/v1/pods", 1000, 403);
    CLEANUP(dash_free) struct dash *d = dash_new(f.kube, &(struct dash_opts){ 0 });
    client_fixture_run(&f, SECOND);
    assert_true(dash_settled(d));
    for (size_t i = 0; dash_source(d, i, &s); i++) {
        if (streq(s.resource, "pods")) {
            found = true;
            assert_int_equal(s.state, DASH_FORBIDDEN);
            assert_true(*s.problem);
        } else {
            assert_int_equal(s.state, DASH_WELL);
        }
    }
    assert_true(found);
    assert_int_equal(dash_sums(d).used.mcpu, 3000);
}

static void test_the_server_goes_and_comes_back(void **state)
{
    struct dash_source s;

    (void)state;
    FIXTURE(f);
    put_cluster(&f);
    CLEANUP(dash_free) struct dash *d = dash_new(f.kube, &(struct dash_opts){ 0 });
    client_fixture_run(&f, SECOND);
    fake_refuse(f.fake, true);
    fake_break_connections(f.fake);
    client_fixture_run(&f, 4 * SECOND);
    for (size_t i = 0; dash_source(d, i, &s); i++)
        assert_int_equal(s.state, DASH_LOST);
    assert_int_equal(dash_sums(d).pods, 3); /* what was known is still shown */
    fake_refuse(f.fake, false);
    put_pod(&f, "web", "d", PROD_POD("n1"));
    client_fixture_run(&f, 60 * SECOND);
    for (size_t i = 0; dash_source(d, i, &s); i++)
        assert_int_equal(s.state, DASH_WELL);
    assert_int_equal(dash_sums(d).pods, 4);
}

static void test_reports_are_untrusted(void **state)
{
    (void)state;
    FIXTURE(f);
    put_node(&f, "n1");
    fake_put(f.fake, METRICS, "n1",
             "{\"status\":{\"updateTime\":\"2099-01-01T00:00:00Z\",\"nodeMetric\":{\"nodeUsage\":"
             "{\"resources\":{\"cpu\":\"-3\",\"memory\":\"9Ei\"}}},\"podsMetric\":[{\"namespace\":"
             "\"x\",\"name\":\"y\",\"podUsage\":{\"resources\":{\"cpu\":\"9E\",\"memory\":\"-1\"}}}"
             "]}}");
    fake_put(f.fake, METRICS, "unknown", "{\"status\":{}}");
    CLEANUP(dash_free) struct dash *d = dash_new(f.kube, &(struct dash_opts){ .no_pods = true });
    client_fixture_run(&f, SECOND);
    assert_int_equal(dash_sums(d).nodes, 1);
    assert_int_equal(dash_sums(d).used.mcpu, 0);
    assert_int_equal(dash_sums(d).by_user[DASH_SYSTEM].mcpu, 0);
    assert_that(dash_sums(d).by_user[DASH_PROD].mcpu, >, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_a_cluster),
        cmocka_unit_test(test_a_node),
        cmocka_unit_test(test_a_report_grows_old),
        cmocka_unit_test(test_pods_come_and_go),
        cmocka_unit_test(test_use_of_pods),
        cmocka_unit_test(test_minutes),
        cmocka_unit_test(test_a_right_is_missing),
        cmocka_unit_test(test_the_server_goes_and_comes_back),
        cmocka_unit_test(test_reports_are_untrusted),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
