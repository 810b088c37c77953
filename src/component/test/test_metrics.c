/* test_metrics.c - the registry and its text form. */
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "component/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static const char *text_of(struct metrics *m, struct strbuf *out)
{
    strbuf_reset(out);
    metrics_write(&m, 1, out);
    return strbuf_str(out);
}

static void test_numbers_look_as_gos(void **state)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {
        { 0, "0" },
        { -0.0, "0" },
        { 1, "1" },
        { -1, "-1" },
        { 999999, "999999" },
        { 1000000, "1e+06" },
        { 1234567, "1.234567e+06" },
        { 123456.7, "123456.7" },
        { 0.005, "0.005" },
        { 0.0001, "0.0001" },
        { 0.00001, "1e-05" },
        { 0.00012345, "0.00012345" },
        { 1.5e-7, "1.5e-07" },
        { 1e21, "1e+21" },
        { 1.7976931348623157e308, "1.7976931348623157e+308" },
        { 5e-324, "5e-324" },
        { 104857600, "1.048576e+08" },
        { 1763230000.12, "1.76323000012e+09" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { -2.5, "-2.5" },
        { 100, "100" },
        { 250000, "250000" },
        { INFINITY, "+Inf" },
        { -INFINITY, "-Inf" },
        { NAN, "NaN" },
    };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        strbuf_reset(&out);
        metrics_append_f64(&out, cases[i].v);
        assert_string_equal(strbuf_str(&out), cases[i].text);
        if (isfinite(cases[i].v))
            assert_that(strtod(strbuf_str(&out), NULL), ==, cases[i].v);
    }
}

static const struct metric_desc pods = {
    "pods_total",
    "Pods by \\ result.\nSecond line.",
    METRIC_COUNTER,
    .labels = { "result", "profile" },
};

static void test_output_is_sorted_and_escaped(void **state)
{
    static const struct metric_desc zeta = { "zeta", "Last.", METRIC_GAUGE };
    static const struct metric_desc alpha = { "alpha:sum", "First.", METRIC_COUNTER };
    static const struct metric_desc empty = { "no_children", "Never shown.", METRIC_GAUGE,
                                              .labels = { "x" } };
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)state;
    gauge_set(metric_gauge(metrics_add(m, &zeta), NULL), -1.5);
    metrics_add(m, &empty);
    struct metric *f = metrics_add(m, &pods);
    counter_inc(metric_counter(f, METRIC_VALUES("scheduled", "b")));
    counter_add(metric_counter(f, METRIC_VALUES("scheduled", "a")), 2.5);
    counter_inc(metric_counter(f, METRIC_VALUES("er\"r\\o\nr", "a")));
    counter_inc(metric_counter(f, METRIC_VALUES("scheduled", "b")));
    metrics_add(m, &alpha);
    /* Labels are shown by name, whatever their order in the table. */
    assert_string_equal(text_of(m, &out),
                        "# HELP alpha:sum First.\n"
                        "# TYPE alpha:sum counter\n"
                        "alpha:sum 0\n"
                        "# HELP pods_total Pods by \\\\ result.\\nSecond line.\n"
                        "# TYPE pods_total counter\n"
                        "pods_total{profile=\"a\",result=\"er\\\"r\\\\o\\nr\"} 1\n"
                        "pods_total{profile=\"a\",result=\"scheduled\"} 2.5\n"
                        "pods_total{profile=\"b\",result=\"scheduled\"} 2\n"
                        "# HELP zeta Last.\n"
                        "# TYPE zeta gauge\n"
                        "zeta -1.5\n");
}

static void test_histogram(void **state)
{
    static const double bounds[] = { 0.5, 1, 2 };
    static const struct metric_desc d = {
        "latency_seconds",    "How long.",       METRIC_HISTOGRAM,
        .labels = { "zone" }, .buckets = bounds, .nbuckets = 3,
    };
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct histogram *h = metric_histogram(metrics_add(m, &d), METRIC_VALUES("a"));

    (void)state;
    histogram_observe(h, 0.25);
    histogram_observe(h, 1); /* an upper bound belongs to its bucket */
    histogram_observe(h, 99);
    assert_string_equal(text_of(m, &out), "# HELP latency_seconds How long.\n"
                                          "# TYPE latency_seconds histogram\n"
                                          "latency_seconds_bucket{zone=\"a\",le=\"0.5\"} 1\n"
                                          "latency_seconds_bucket{zone=\"a\",le=\"1\"} 2\n"
                                          "latency_seconds_bucket{zone=\"a\",le=\"2\"} 2\n"
                                          "latency_seconds_bucket{zone=\"a\",le=\"+Inf\"} 3\n"
                                          "latency_seconds_sum{zone=\"a\"} 100.25\n"
                                          "latency_seconds_count{zone=\"a\"} 3\n");
}

static void test_usual_buckets(void **state)
{
    static const struct metric_desc plain = { "plain_seconds", NULL, METRIC_HISTOGRAM };
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)state;
    metrics_add(m, &plain);
    const char *text = text_of(m, &out);
    assert_starts(text, "# TYPE plain_seconds histogram\n"
                        "plain_seconds_bucket{le=\"0.005\"} 0\n");
    assert_contains(text, "plain_seconds_sum 0\nplain_seconds_count 0\n");
}

static void test_children_are_bounded(void **state)
{
    static const struct metric_desc d = { "few", "Two at most.", METRIC_GAUGE, .labels = { "pod" },
                                          .max_children = 2 };
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct metric *f = metrics_add(m, &d);

    (void)state;
    gauge_set(metric_gauge(f, METRIC_VALUES("a")), 1);
    gauge_set(metric_gauge(f, METRIC_VALUES("b")), 2);
    gauge_set(metric_gauge(f, METRIC_VALUES("c")), 3);
    gauge_set(metric_gauge(f, METRIC_VALUES("d")), 4);
    assert_int_equal(metric_children(f), 2);
    assert_string_equal(text_of(m, &out),
                        "# HELP few Two at most.\n# TYPE few gauge\nfew{pod=\"a\"} 1\n"
                        "few{pod=\"b\"} 2\n"
                        "# HELP koord_metrics_overflow_total Number of times a metric was asked "
                        "for label values beyond the number it keeps.\n"
                        "# TYPE koord_metrics_overflow_total counter\n"
                        "koord_metrics_overflow_total{metric=\"few\"} 2\n");
    /* Room again once an object is gone. */
    assert_true(metric_remove(f, METRIC_VALUES("a")));
    assert_false(metric_remove(f, METRIC_VALUES("a")));
    gauge_set(metric_gauge(f, METRIC_VALUES("c")), 5);
    assert_contains(text_of(m, &out), "few{pod=\"c\"} 5\n");
}

static void test_removing_children_of_an_object(void **state)
{
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct metric *f = metrics_add(m, &pods);

    (void)state;
    counter_inc(metric_counter(f, METRIC_VALUES("x", "a")));
    counter_inc(metric_counter(f, METRIC_VALUES("y", "a")));
    counter_inc(metric_counter(f, METRIC_VALUES("x", "b")));
    /* Values that run together must not be taken for each other. */
    counter_inc(metric_counter(f, METRIC_VALUES("xa", "")));
    counter_inc(metric_counter(f, METRIC_VALUES("", "xa")));
    assert_int_equal(metric_children(f), 5);
    assert_int_equal(metric_remove_where(f, "profile", "a"), 2);
    assert_int_equal(metric_children(f), 3);
    metric_clear(f);
    assert_string_equal(text_of(m, &out), "");
    counter_inc(metric_counter(f, METRIC_VALUES("x", "a")));
    assert_int_equal(metric_children(f), 1);
}

static void bump(void *arg)
{
    gauge_add(arg, 1);
}

static void test_values_made_at_scrape(void **state)
{
    static const struct metric_desc hook = { "hooked", "Hooked.", METRIC_GAUGE };
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)state;
    metrics_on_scrape(m, bump, metric_gauge(metrics_add(m, &hook), NULL));
    assert_contains(text_of(m, &out), "\nhooked 1\n");
    assert_contains(text_of(m, &out), "\nhooked 2\n");
}

static void tell_rows(void *arg, metric_put_fn put, void *out)
{
    for (int i = 0; i < *(int *)arg; i++)
        put(out, METRIC_VALUES("told", i ? "b\"" : "a"), i);
}

static void test_rows_told_at_scrape(void **state)
{
    static const struct metric_desc d = { "rows", NULL, METRIC_GAUGE, .labels = { "z", "b" } };
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct metric *f = metrics_add(m, &d);
    int n = 0;

    (void)state;
    metric_set_rows(f, tell_rows, &n);
    metrics_write(&m, 1, &out);
    assert_string_equal(strbuf_str(&out), ""); /* no rows, no header */
    n = 2;
    gauge_set(metric_gauge(f, METRIC_VALUES("kept", "x")), 7);
    strbuf_reset(&out);
    metrics_write(&m, 1, &out);
    assert_string_equal(strbuf_str(&out), "# TYPE rows gauge\nrows{b=\"x\",z=\"kept\"} 7\n"
                                          "rows{b=\"a\",z=\"told\"} 0\n"
                                          "rows{b=\"b\\\"\",z=\"told\"} 1\n");
    metric_clear(f);
    metric_set_rows(f, NULL, NULL);
    strbuf_reset(&out);
    metrics_write(&m, 1, &out);
    assert_string_equal(strbuf_str(&out), "");
}

static void test_registries_merge(void **state)
{
    CLEANUP(metrics_free) struct metrics *a = metrics_new(), *b = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct metrics *both[] = { a, b };

    (void)state;
    assert_ptr_equal(metrics_add(a, &pods), metrics_add(a, &pods));
    counter_inc(metric_counter(metrics_add(a, &pods), METRIC_VALUES("x", "2")));
    counter_inc(metric_counter(metrics_add(b, &pods), METRIC_VALUES("x", "1")));
    metrics_write(both, 2, &out);
    assert_contains(strbuf_str(&out),
                    "# TYPE pods_total counter\npods_total{profile=\"1\",result=\"x\"} 1\n"
                    "pods_total{profile=\"2\",result=\"x\"} 1\n");
    assert_lacks(strstr(strbuf_str(&out), "# TYPE") + 1, "# TYPE");
}

static double value_of(const char *text, const char *name)
{
    char line[80];
    (void)snprintf(line, sizeof line, "\n%s ", name);
    const char *p = strstr(text, line);
    assert_non_null(p);
    return strtod(p + strlen(line), NULL);
}

static void test_process_metrics(void **state)
{
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)state;
    metrics_add_process(m, NULL);
    metrics_add_process(m, NULL); /* once is enough */
    double before = value_of(text_of(m, &out), "process_open_fds");
    int fd = dup(0);
    const char *text = text_of(m, &out);
    assert_that(value_of(text, "process_open_fds"), ==, before + 1);
    close(fd);
    assert_that(value_of(text, "process_resident_memory_bytes"), >, 100000);
    assert_that(value_of(text, "process_virtual_memory_bytes"), >,
                value_of(text, "process_resident_memory_bytes"));
    assert_that(value_of(text, "process_start_time_seconds"), >, 1.6e9);
    assert_that(value_of(text, "process_max_fds"), >, 10);
    assert_contains(text, "# TYPE process_cpu_seconds_total counter\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_look_as_gos),
        cmocka_unit_test(test_output_is_sorted_and_escaped),
        cmocka_unit_test(test_histogram),
        cmocka_unit_test(test_usual_buckets),
        cmocka_unit_test(test_children_are_bounded),
        cmocka_unit_test(test_removing_children_of_an_object),
        cmocka_unit_test(test_values_made_at_scrape),
        cmocka_unit_test(test_rows_told_at_scrape),
        cmocka_unit_test(test_registries_merge),
        cmocka_unit_test(test_process_metrics),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
