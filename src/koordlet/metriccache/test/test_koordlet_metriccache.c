/* test_koordlet_metriccache.c - rings, windows and aggregates (koordlet-metrics 3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "koordlet/metriccache/aggregate.h"

#define SEC NSEC_PER_SEC

static double ask(struct window *w, enum aggregate what)
{
    struct kerr err = { 0 };
    double v = -1;
    assert_int_equal(window_aggregate(w, what, &v, &err), 0);
    return v;
}

static void add_values(struct window *w, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        window_add(w, &(struct sample){ (int64_t)i + 1, values[i] }, 1);
}

static void test_percentiles_take_a_sample(void **state)
{
    static const double values[] = { 800, 100, 200, 600, 700, 0, 500, 400, 300 };
    CLEANUP(window_fini) struct window w = { 0 };

    (void)state;
    add_values(&w, values, ARRAY_LEN(values));
    assert_that(ask(&w, WINDOW_P90), ==, 700);
    assert_that(ask(&w, WINDOW_P50), ==, 300);
    window_reset(&w);
    add_values(&w, values, 1);
    for (int a = WINDOW_AVG; a <= WINDOW_LAST; a++)
        assert_that(ask(&w, (enum aggregate)a), ==, 800);
}

static void test_percentile_index_is_single_precision(void **state)
{
    static const struct {
        size_t n, want[4];
    } cases[] = { { 5, { 1, 3, 3, 3 } },           { 10, { 4, 8, 8, 8 } },
                  { 60, { 29, 53, 56, 58 } },      { 300, { 149, 269, 284, 296 } },
                  { 600, { 299, 539, 569, 593 } }, { 1, { 0, 0, 0, 0 } } };
    static const float p[4] = { 0.5F, 0.9F, 0.95F, 0.99F };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t k = 0; k < ARRAY_LEN(p); k++)
            assert_int_equal(percentile_index(cases[i].n, p[k]), cases[i].want[k]);
}

static void test_last_is_the_first_of_the_newest(void **state)
{
    static const struct sample s[] = { { 5, 1 }, { 9, 2 }, { 9, 3 }, { 7, 4 } };
    CLEANUP(window_fini) struct window w = { 0 };

    (void)state;
    window_add(&w, s, ARRAY_LEN(s));
    assert_that(ask(&w, WINDOW_LAST), ==, 2);
}

static void test_empty_is_an_error_but_for_the_count(void **state)
{
    CLEANUP(window_fini) struct window w = { 0 };
    struct kerr err = { 0 };
    double v = -1;

    (void)state;
    assert_int_equal(window_aggregate(&w, WINDOW_LAST, &v, &err), -ENODATA);
    assert_string_equal(err.text, "metric input is empty");
    assert_that(ask(&w, WINDOW_COUNT), ==, 0);
}

static void fill(struct ring *r, const struct sample *s, size_t n)
{
    struct kerr err = { 0 };
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ring_append(r, s[i].ms, s[i].value, &err), 0);
}

static void test_windows_of_a_ring(void **state)
{
    static const struct sample s[] = { { 880000, 0.7 }, { 990000, 0.6 }, { 995000, 0.5 } };
    CLEANUP(window_fini) struct window w = { 0 };
    struct ring r;

    (void)state;
    ring_init(&r, SEC, 1800 * SEC);
    fill(&r, s, ARRAY_LEN(s));
    assert_int_equal(window_add_ring(&w, &r, 0, INT64_MAX), 3);
    assert_that(ask(&w, WINDOW_LAST), ==, 0.5);
    assert_that(ask(&w, WINDOW_COUNT), ==, 3);
    assert_int_equal(w.range_ms, 115000);
    window_reset(&w); /* both ends belong to the window */
    assert_int_equal(window_add_ring(&w, &r, 990000, 995000), 2);
    window_reset(&w);
    assert_int_equal(window_add_ring(&w, &r, 990001, 994999), 0);
    ring_fini(&r);
}

static void test_series_pool(void **state)
{
    static const struct sample one[] = { { 6000, 4 }, { 8000, 1 }, { 9000, 1 } };
    CLEANUP(window_fini) struct window w = { 0 };
    struct ring a, b;

    (void)state;
    ring_init(&a, SEC, 60 * SEC);
    ring_init(&b, SEC, 60 * SEC);
    fill(&a, one, ARRAY_LEN(one));
    fill(&b, &(struct sample){ 7000, 300 }, 1);
    window_add_ring(&w, &a, 0, 10000);
    assert_that(ask(&w, WINDOW_AVG), ==, 2);
    assert_int_equal(w.range_ms, 3000);
    assert_that(ask(&w, WINDOW_P99), ==, 1);
    window_add_ring(&w, &b, 0, 10000); /* the sorted copy is made anew */
    assert_that(ask(&w, WINDOW_COUNT), ==, 4);
    assert_that(ask(&w, WINDOW_LAST), ==, 1);
    assert_that(ask(&w, WINDOW_AVG), ==, 76.5);
    assert_int_equal(w.range_ms, 0);
    ring_fini(&a);
    ring_fini(&b);
}

static void test_ring_keeps_its_retention(void **state)
{
    struct kerr err = { 0 };
    uint32_t first = 0;
    struct ring r;

    (void)state;
    assert_int_equal(ring_capacity(SEC, 1800 * SEC), 1802);
    assert_int_equal(ring_capacity(1, NSEC_MAX), RING_SAMPLES_MAX);
    ring_init(&r, SEC, 10 * SEC);
    for (int64_t i = 1; i <= 1000; i++)
        assert_int_equal(ring_append(&r, i * 1000, (double)i, &err), 0);
    assert_int_equal(ring_find(&r, 0, INT64_MAX, &first), 11);
    assert_that(ring_at(&r, first).value, ==, 990);
    assert_int_equal(ring_find(&r, 995000, 996000, &first), 2);
    /* Time passes without samples: what is there stays, until a new one makes it too old. */
    assert_int_equal(ring_append(&r, 2000000, 1, &err), 0);
    assert_int_equal(ring_find(&r, 0, INT64_MAX, &first), 1);
    ring_fini(&r);
}

static void test_late_samples(void **state)
{
    struct kerr err = { 0 };
    struct ring r;

    (void)state;
    ring_init(&r, SEC, 100 * SEC);
    fill(&r, (struct sample[]){ { 100000, 1 }, { 160000, 2 }, { 130000, 3 }, { 100000, 1 } }, 4);
    assert_int_equal(r.n, 3);
    assert_that(ring_at(&r, 1).value, ==, 3);
    assert_int_equal(ring_append(&r, 130000, 4, &err), -EEXIST);
    assert_int_equal(ring_append(&r, 99999, 4, &err), -ERANGE);
    ring_fini(&r);

    ring_init(&r, SEC, 0); /* room for two: one before both finds none */
    fill(&r, (struct sample[]){ { 1000, 1 }, { 2000, 2 }, { 3000, 3 } }, 3);
    assert_int_equal(ring_append(&r, 1500, 4, &err), -ERANGE);
    assert_int_equal(ring_append(&r, 2500, 4, &err), 0);
    assert_that(r.n, ==, 2);
    assert_that(ring_at(&r, 0).ms, ==, 2500);
    assert_that(ring_at(&r, 1).ms, ==, 3000);
    ring_fini(&r);
}

static void test_steady_state_keeps_its_memory(void **state)
{
    CLEANUP(window_fini) struct window w = { 0 };
    struct kerr err = { 0 };
    struct ring r;

    (void)state;
    ring_init(&r, SEC, 60 * SEC);
    for (int64_t i = 1; i <= 62; i++)
        ring_append(&r, i * 1000, 1, &err);
    window_add_ring(&w, &r, 0, INT64_MAX);
    ask(&w, WINDOW_P90);
    const void *ring = r.values, *samples = w.samples.items, *sorted = w.sorted.items;
    for (int64_t i = 63; i <= 5000; i++) {
        assert_int_equal(ring_append(&r, i * 1000, (double)i, &err), 0);
        window_reset(&w);
        window_add_ring(&w, &r, (i - 30) * 1000, i * 1000);
        assert_that(ask(&w, WINDOW_COUNT), ==, 31);
        assert_that(ask(&w, WINDOW_P90), >=, 1);
        assert_that(ring, ==, r.values);
        assert_that(samples, ==, w.samples.items);
        assert_that(sorted, ==, w.sorted.items);
    }
    ring_fini(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percentiles_take_a_sample),
        cmocka_unit_test(test_percentile_index_is_single_precision),
        cmocka_unit_test(test_last_is_the_first_of_the_newest),
        cmocka_unit_test(test_empty_is_an_error_but_for_the_count),
        cmocka_unit_test(test_windows_of_a_ring),
        cmocka_unit_test(test_series_pool),
        cmocka_unit_test(test_ring_keeps_its_retention),
        cmocka_unit_test(test_late_samples),
        cmocka_unit_test(test_steady_state_keeps_its_memory),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
