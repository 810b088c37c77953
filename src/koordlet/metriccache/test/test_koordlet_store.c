/* test_koordlet_store.c - the metric cache: series, labels, windows, size (koordlet-metrics 3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/test/asserts.h"
#include "koordlet/metriccache/store.h"

#define SEC         NSEC_PER_SEC
#define LABELS(...) ((const char *const[]){ __VA_ARGS__ })
#define NOW         INT64_C(1700000000000)

static void put(struct series *s, int64_t ms, double v)
{
    struct kerr err = { 0 };
    assert_int_equal(series_append(s, ms, v, &err), 0);
}

static double ask(struct metriccache *mc, enum metric_kind k, const char *const *labels,
                  enum aggregate what)
{
    struct kerr err = { 0 };
    double v = -1;
    if (metriccache_ask(mc, k, labels, NOW - 3600000, NOW, what, &v, &err) < 0)
        assert_string_equal(err.text, "metric input is empty");
    return v;
}

static void test_kinds_have_names_and_labels(void **state)
{
    (void)state;
    for (int k = 0; k < M_KINDS; k++) {
        assert_non_null(metric_kind_info((enum metric_kind)k)->name);
        assert_null(metric_kind_info((enum metric_kind)k)->labels[METRIC_LABELS]);
    }
    assert_string_equal(metric_kind_info(M_CONTAINER_PSI)->labels[4], "psi_degree");
    assert_string_equal(metric_kind_info(M_NODE_BE)->labels[1], "be_allocation");
}

static void test_pods_do_not_mix(void **state)
{
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    CLEANUP(window_fini) struct window w = { 0 };

    (void)state;
    struct series *a = metriccache_open(mc, M_POD_CPU, LABELS("a"));
    struct series *b = metriccache_open(mc, M_POD_CPU, LABELS("b"));
    put(a, NOW - 4000, 4);
    put(a, NOW - 2000, 1);
    put(a, NOW - 1000, 1);
    put(b, NOW - 3000, 300);
    assert_int_equal(metriccache_query(mc, M_POD_CPU, LABELS("a"), NOW - 5000, NOW, &w), 3);
    assert_int_equal(w.range_ms, 3000);
    assert_that(ask(mc, M_POD_CPU, LABELS("a"), WINDOW_AVG), ==, 2);
    assert_that(ask(mc, M_POD_CPU, LABELS("nobody"), WINDOW_AVG), ==, -1);
    assert_that(ask(mc, M_POD_CPU, NULL, WINDOW_COUNT), ==, 4);
    assert_that(ask(mc, M_POD_MEMORY, NULL, WINDOW_COUNT), ==, 0);
    series_close(a);
    series_close(b);
}

static void test_last_count_range(void **state)
{
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    CLEANUP(window_fini) struct window w = { 0 };

    (void)state;
    metriccache_retain(mc, M_NODE_CPU, SEC, 1800 * SEC);
    struct series *s = metriccache_open(mc, M_NODE_CPU, NULL);
    put(s, NOW - 120000, 0.7);
    put(s, NOW - 10000, 0.6);
    put(s, NOW - 5000, 0.5);
    assert_that(ask(mc, M_NODE_CPU, NULL, WINDOW_LAST), ==, 0.5);
    assert_that(ask(mc, M_NODE_CPU, NULL, WINDOW_COUNT), ==, 3);
    metriccache_query(mc, M_NODE_CPU, NULL, NOW - 120000, NOW, &w);
    assert_int_equal(w.range_ms, 115000);
    series_close(s);
}

static void test_a_label_left_open_pools(void **state)
{
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();

    (void)state;
    struct series *a = metriccache_open(mc, M_NODE_BE, LABELS("cpu", "usage"));
    struct series *b = metriccache_open(mc, M_NODE_BE, LABELS("cpu", "request"));
    put(a, NOW, 1);
    put(b, NOW, 3);
    assert_that(ask(mc, M_NODE_BE, LABELS("cpu", NULL), WINDOW_AVG), ==, 2);
    assert_that(ask(mc, M_NODE_BE, LABELS(NULL, "request"), WINDOW_AVG), ==, 3);
    assert_that(ask(mc, M_NODE_BE, LABELS("memory", NULL), WINDOW_COUNT), ==, 0);
    series_close(a);
    series_close(b);
}

static void test_late_and_double_samples(void **state)
{
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    struct kerr err = { 0 };

    (void)state;
    metriccache_retain(mc, M_NODE_CPU, SEC, 600 * SEC);
    struct series *s = metriccache_open(mc, M_NODE_CPU, NULL);
    put(s, NOW, 1);
    put(s, NOW - 60000, 2);
    put(s, NOW, 1);
    assert_int_equal(series_append(s, NOW, 2, &err), -EEXIST);
    assert_int_equal(series_append(s, NOW - 60001, 2, &err), -ERANGE);
    assert_int_equal(metriccache_stats(mc).refused, 2);
    /* A clock that was set back: the future goes, and what comes is taken. */
    metriccache_rewind(mc, NOW - 300000);
    put(s, NOW - 300000, 5);
    assert_that(ask(mc, M_NODE_CPU, NULL, WINDOW_COUNT), ==, 1);
    series_close(s);
}

static void test_series_outlive_their_holder(void **state)
{
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();

    (void)state;
    metriccache_retain(mc, M_POD_CPU, SEC, 1800 * SEC);
    struct series *s = metriccache_open(mc, M_POD_CPU, LABELS("a"));
    put(s, NOW, 7);
    assert_ptr_equal(metriccache_open(mc, M_POD_CPU, LABELS("a")), s);
    series_close(s);
    metriccache_sweep(mc, NOW + 3600000);
    assert_int_equal(metriccache_stats(mc).series, 1); /* one holder is left */
    series_close(s);
    metriccache_sweep(mc, NOW + 60000);
    assert_that(ask(mc, M_POD_CPU, LABELS("a"), WINDOW_LAST), ==, 7);
    metriccache_sweep(mc, NOW + 60001); /* though the kind is kept for half an hour */
    assert_int_equal(metriccache_stats(mc).series, 0);
    assert_that(ask(mc, M_POD_CPU, LABELS("a"), WINDOW_LAST), ==, -1);
}

static void test_many_series(void **state)
{
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    struct series *all[1000];
    char name[16];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "pod-%d", i);
        all[i] = metriccache_open(mc, M_POD_CPU, LABELS(name));
        put(all[i], NOW, i);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "pod-%d", i);
        assert_that(ask(mc, M_POD_CPU, LABELS(name), WINDOW_LAST), ==, i);
        if (i % 2)
            series_close(all[i]);
    }
    metriccache_sweep(mc, NOW + 3600000);
    assert_int_equal(metriccache_stats(mc).series, 500);
    assert_that(ask(mc, M_POD_CPU, LABELS("pod-3"), WINDOW_LAST), ==, -1);
    assert_that(ask(mc, M_POD_CPU, LABELS("pod-4"), WINDOW_LAST), ==, 4);
    for (int i = 0; i < 1000; i += 2)
        series_close(all[i]);
}

static void count(void *arg, const char *const *labels, const struct series *s)
{
    struct sample last;
    assert_true(series_last(s, &last));
    *(double *)arg += last.value + (double)strlen(labels[0]);
}

static void test_retention_changes(void **state)
{
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    double sum = 0;

    (void)state;
    struct series *s = metriccache_open(mc, M_POD_CPU, LABELS("abc"));
    for (int i = 0; i < 60; i++)
        put(s, NOW - 60000 + i * 1000, i);
    metriccache_retain(mc, M_POD_CPU, SEC, 300 * SEC);
    assert_that(ask(mc, M_POD_CPU, NULL, WINDOW_COUNT), ==, 60);
    metriccache_retain(mc, M_POD_CPU, SEC, 10 * SEC);
    assert_that(ask(mc, M_POD_CPU, NULL, WINDOW_COUNT), ==, 11);
    assert_that(ask(mc, M_POD_CPU, NULL, WINDOW_LAST), ==, 59);
    put(s, NOW, 60);
    metriccache_each(mc, M_POD_CPU, count, &sum);
    assert_that(sum, ==, 63);
    series_close(s);
}

/* docs/koordlet.md states it: a pod's series of five minutes at a second. */
static void test_size_of_a_series(void **state)
{
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();

    (void)state;
    metriccache_retain(mc, M_POD_CPU, SEC, 300 * SEC);
    size_t one = metriccache_series_bytes(mc, M_POD_CPU);
    assert_in_range(one, 302 * 12, 302 * 12 + 128);
    struct series *first = metriccache_open(mc, M_POD_CPU, LABELS("z")); /* and the tables */
    size_t before = metriccache_stats(mc).bytes;
    struct series *s = metriccache_open(mc, M_POD_CPU, LABELS("a"));
    size_t grown = metriccache_stats(mc).bytes - before;
    assert_in_range(grown, one, one + 128); /* and its label */
    series_close(first);
    series_close(s);
}

static void test_rings_over_long_times(void **state)
{
    const int64_t day = INT64_C(86400000);
    struct kerr err = { 0 };
    struct ring r;

    (void)state;
    ring_init(&r, SEC, 100 * SEC);
    for (int64_t i = 0; i < 200; i++) /* far more than 32 bits of milliseconds */
        assert_int_equal(ring_append(&r, NOW + i * day, (double)i, &err), 0);
    assert_that(ring_at(&r, r.n - 1).ms, ==, NOW + 199 * day);
    for (uint32_t i = 1; i < r.n; i++)
        assert_that(ring_at(&r, i).ms - ring_at(&r, i - 1).ms, ==, day);
    assert_int_equal(ring_append(&r, NOW + 199 * day - 60000, 1, &err), 0);
    assert_that(ring_at(&r, r.n - 2).ms, ==, NOW + 199 * day - 60000);
    ring_fini(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_have_names_and_labels),
        cmocka_unit_test(test_pods_do_not_mix),
        cmocka_unit_test(test_last_count_range),
        cmocka_unit_test(test_a_label_left_open_pools),
        cmocka_unit_test(test_late_and_double_samples),
        cmocka_unit_test(test_series_outlive_their_holder),
        cmocka_unit_test(test_many_series),
        cmocka_unit_test(test_retention_changes),
        cmocka_unit_test(test_size_of_a_series),
        cmocka_unit_test(test_rings_over_long_times),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
