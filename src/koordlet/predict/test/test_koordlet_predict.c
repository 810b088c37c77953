/* test_koordlet_predict.c - histograms, models, checkpoints (koordlet-metrics 9.1 to 9.3). */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include <math.h>

#include "base/ktime.h"
#include "koordlet/predict/histogram.h"
#include "koordlet/predict/models.h"

#define MINUTE (60 * NSEC_PER_SEC)
#define HOUR   (60 * MINUTE)
#define MIB    1048576.0
static const nsec_t noon = INT64_C(1767268800) * NSEC_PER_SEC; /* 2026-01-01T12:00:00Z */

/* ---- histogram ------------------------------------------------------------------------------- */

static void assert_near(double got, double want)
{
    if (fabs(got - want) > 1e-6 * fmax(1, fabs(want)))
        fail_msg("%.17g is not %.17g", got, want);
}

/* Buckets that hardly grow are buckets of one size. */
static void test_old_samples_fade(void **state)
{
    static const double want[][2] = { { 0.02, 2 }, { 0.03, 3 }, { 0.10, 3 },
                                      { 0.11, 4 }, { 0.34, 4 }, { 0.35, 5 } };
    struct histogram_options o = {
        .max = 5, .first = 1, .ratio = 1 + 1e-9, .epsilon = 1e-4, .half_life = HOUR
    };
    CLEANUP(histogram_free) struct histogram *h = histogram_new(&o, NULL);

    (void)state;
    for (int i = 1; i <= 4; i++)
        histogram_add(h, i + 0.5, i, noon + i * HOUR);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_near(histogram_percentile(h, want[i][0]), want[i][1]);
}

static void test_a_shift_of_the_reference_changes_nothing(void **state)
{
    static const double p[] = { 0.1, 0.6, 0.7, 1 };
    struct histogram_options o = histogram_cpu(HOUR);
    CLEANUP(histogram_free) struct histogram *h = histogram_new(&o, NULL);
    double before[ARRAY_LEN(p)];

    (void)state;
    histogram_add(h, 8, 1e35, noon); /* heavy enough for 101 half lives */
    histogram_add(h, 1, 1e35, noon + HOUR);
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        before[i] = histogram_percentile(h, p[i]);
    assert_that(before[1], <, 1.1);
    assert_that(before[2], >, 8);
    histogram_add(h, 1, 0, noon + 101 * HOUR);
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        assert_that(histogram_percentile(h, p[i]), ==, before[i]);
}

static void test_what_is_too_light_is_nothing(void **state)
{
    struct histogram_options o = histogram_cpu(HOUR);
    CLEANUP(histogram_free) struct histogram *h = histogram_new(&o, NULL);

    (void)state;
    histogram_add(h, 8, 1, noon);
    histogram_add(h, 1, 2, noon + 101 * HOUR); /* the 8 has faded */
    assert_that(histogram_percentile(h, 1), <, 1.1);
    histogram_subtract(h, 1, 1, noon + 101 * HOUR);
    assert_false(histogram_is_empty(h));
    histogram_subtract(h, 1, 1, noon + 101 * HOUR);
    assert_true(histogram_is_empty(h));
    assert_that(histogram_percentile(h, 0.5), ==, 0);
}

static void test_options(void **state)
{
    struct histogram_options cpu = histogram_cpu(HOUR), memory = histogram_memory(HOUR), bad = cpu;
    CLEANUP(histogram_free) struct histogram *c = histogram_new(&cpu, NULL);
    CLEANUP(histogram_free) struct histogram *m = histogram_new(&memory, NULL);
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(histogram_buckets(c), 158);
    assert_int_equal(histogram_buckets(m), 205);
    bad.ratio = 1;
    assert_null(histogram_new(&bad, &err));
    assert_string_equal(err.text, "maxValue, firstBucketSize and epsilon must be > 0.0, ratio must "
                                  "be > 1.0");
    bad.ratio = 1 + 1e-12;
    bad.max = 1e9;
    assert_null(histogram_new(&bad, &err));
    bad = cpu;
    bad.half_life = 0;
    assert_null(histogram_new(&bad, &err));
}

static int decode(struct histogram *h, const char *quoted, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(quoted);
    return histogram_decode(h, kj_root(doc), err);
}

/* A first bucket that weighs next to nothing does not hide the others. */
static void test_light_buckets_of_a_checkpoint(void **state)
{
    const struct histogram_options o = histogram_cpu(12 * 3600 * NSEC_PER_SEC);
    struct kerr err = { 0 };
    CLEANUP(histogram_free) struct histogram *h = histogram_new(&o, &err);

    (void)state;
    assert_int_equal(decode(h,
                            "{'referenceTimestamp':'2026-01-01T00:00:00Z','bucketWeights':"
                            "{'5':1,'10':10000,'20':1},'totalWeight':0.5}",
                            &err),
                     0);
    assert_false(histogram_is_empty(h));
    assert_that(histogram_percentile(h, 0.5), >, 0.3);
    assert_that(histogram_percentile(h, 1.0), <, 0.5); /* nor does the last one count */
}

static void test_bad_checkpoints_are_refused(void **state)
{
    static const char *const bad[] = {
        "{'referenceTimestamp':'2026-01-01T00:00:00Z','bucketWeights':{'158':1},'totalWeight':1}",
        "{'referenceTimestamp':'2026-01-01T00:00:00Z','bucketWeights':{'-1':1},'totalWeight':1}",
        "{'referenceTimestamp':'2026-01-01T00:00:00Z','bucketWeights':{'1':1},'totalWeight':-1}",
        "{'referenceTimestamp':'2026-01-01T00:00:00Z','bucketWeights':{'1':-1},'totalWeight':1}",
        "{'referenceTimestamp':'yesterday','bucketWeights':{'1':1},'totalWeight':1}",
        "[]",
    };
    struct histogram_options o = histogram_cpu(HOUR);
    CLEANUP(histogram_free) struct histogram *h = histogram_new(&o, NULL);
    struct kerr err = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (decode(h, bad[i], &err) != -EINVAL)
            fail_msg("taken: %s", bad[i]);
        assert_true(histogram_is_empty(h));
    }
    assert_int_equal(decode(h, "{'referenceTimestamp':'0001-01-01T00:00:00Z'}", &err), 0);
    assert_int_equal(decode(h,
                            "{'referenceTimestamp':'2026-01-01T00:00:00Z',"
                            "'bucketWeights':{'0':10000,'157':1},'totalWeight':2}",
                            &err),
                     0);
    assert_near(histogram_percentile(h, 0.5), 0.025);
    assert_that(histogram_percentile(h, 1), >, 1000);
}

/* ---- models ---------------------------------------------------------------------------------- */

static struct models *models_of(double cpu, double memory)
{
    struct models_options o = models_options_default();
    struct models *m = models_new(&o);
    models_train(m, noon, &(struct pod_usage){ "u", PRIO_PROD, { true, cpu, memory } }, 1,
                 (struct usage){ 0 });
    return m;
}

static void assert_peak(double cpu, double memory, int64_t want_cpu, int64_t want_memory)
{
    CLEANUP(models_free) struct models *m = models_of(cpu, memory);
    struct prediction p;

    assert_int_equal(models_predict(m, "u", &p, NULL), 0);
    assert_int_equal(p.p60.cpu, want_cpu);
    assert_int_equal(p.max.cpu, want_cpu);
    assert_int_equal(p.p60.memory, want_memory);
    assert_int_equal(p.max.memory, want_memory);
}

static void test_one_sample(void **state)
{
    (void)state;
    assert_peak(0, 0, 25, 5242880);
    assert_peak(1, 128 * MIB, 1035, 135477939);
    assert_peak(3, 256 * MIB, 3019, 286623669);
    assert_peak(4, 0, 4217, 5242880);
}

static void test_training_makes_models(void **state)
{
    static const struct pod_usage pods[] = { { "a", PRIO_PROD, { true, 1, 1e9 } },
                                             { "b", PRIO_BATCH, { true, 2, 2e9 } },
                                             { "c", PRIO_BATCH, { false, 0, 0 } } };
    struct models_options o = models_options_default();
    CLEANUP(models_free) struct models *m = models_new(&o), *none = models_new(&o);
    struct usage node = { true, 8, 8e9 };
    struct kerr err = { 0 };
    struct prediction p;

    (void)state;
    models_train(none, noon, NULL, 0, node);
    assert_int_equal(models_count(none), 7);
    models_train(m, noon, pods, ARRAY_LEN(pods), node);
    assert_int_equal(models_count(m), 9);
    assert_int_equal(models_predict(m, "c", &p, &err), -ENOENT);
    assert_string_equal(err.text, "UID c not found in predict server");
    models_predict(m, MODEL_SYSTEM, &p, &err); /* 8 - 3 = 5 cores */
    assert_that(p.max.cpu, >, 5000);
    assert_that(p.max.cpu, <, 5300);
    models_predict(m, model_of_class(PRIO_BATCH), &p, &err);
    assert_that(p.max.cpu, >, 2000);
    assert_that(p.max.cpu, <, 2150);
    models_predict(m, model_of_class(PRIO_MID), &p, &err);
    assert_int_equal(p.max.cpu, 25);
}

static void on_drop(void *arg, const char *uid)
{
    assert_string_equal(uid, "u");
    ++*(int *)arg;
}

static void test_models_expire(void **state)
{
    CLEANUP(models_free) struct models *m = models_of(1, 1);
    int dropped = 0;

    (void)state;
    models_train(m, noon + MINUTE, NULL, 0, (struct usage){ 0 });
    models_expire(m, noon + 30 * MINUTE, on_drop, &dropped);
    assert_int_equal(dropped, 0);
    models_expire(m, noon + 30 * MINUTE + 1, on_drop, &dropped);
    assert_int_equal(dropped, 1);
    assert_false(models_have(m, "u"));
    assert_true(models_have(m, MODEL_SYSTEM));
}

static void test_checkpoint_text(void **state)
{
    CLEANUP(models_free) struct models *m = models_of(0, 0);
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct models_options o = models_options_default();
    CLEANUP(models_free) struct models *again = models_new(&o);
    struct kerr err = { 0 };
    struct prediction p;

    (void)state;
    assert_int_equal(models_encode(m, "u", noon + MINUTE, &b, &err), 0);
    assert_string_equal(strbuf_str(&b),
                        "{\"UID\":\"u\",\"CPU\":{\"referenceTimestamp\":\"2026-01-01T12:00:00Z\","
                        "\"bucketWeights\":{"
                        "\"0\":10000},\"totalWeight\":1},\"Memory\":{\"referenceTimestamp\":\"2026-"
                        "01-02T00:00:00Z\""
                        ",\"bucketWeights\":{\"0\":10000},\"totalWeight\":0.7071067811865476},"
                        "\"LastUpdated\":\"2026-01-01T12:01:00Z\"}\n");
    assert_int_equal(models_decode(again, "other", b.data, b.len, &err), 0);
    assert_int_equal(models_decode(again, "other", b.data, b.len, &err), 0); /* replaces */
    assert_int_equal(models_count(again), 1);
    assert_int_equal(models_predict(again, "other", &p, &err), 0);
    assert_int_equal(p.p95.cpu, 25);
    models_expire(again, noon + 31 * MINUTE, NULL, NULL);
    assert_int_equal(models_count(again), 1);
    models_expire(again, noon + 31 * MINUTE + 1, NULL, NULL);
    assert_int_equal(models_count(again), 0);
    assert_int_equal(models_encode(m, "nobody", noon, &b, &err), -ENOENT);
    assert_that(models_decode(again, "x", "{", 1, &err), <, 0);
    assert_that(models_decode(again, "x", "{}", 2, &err), <, 0);
    assert_int_equal(models_count(again), 0);
}

static void test_checkpoints_take_turns(void **state)
{
    CLEANUP(models_free) struct models *m = models_of(1, 1);
    const char *uid;

    (void)state;
    for (size_t i = 0; i < 7; i++) /* six of the node's own without node metrics, and one pod */
        assert_non_null(models_next_checkpoint(m, noon + (nsec_t)i));
    assert_null(models_next_checkpoint(m, noon + 10 * MINUTE - 1));
    uid = models_next_checkpoint(m, noon + 10 * MINUTE);
    assert_string_equal(uid, "__node-__"); /* first in the first turn */
    assert_null(models_next_checkpoint(m, noon + 10 * MINUTE));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old_samples_fade),
        cmocka_unit_test(test_a_shift_of_the_reference_changes_nothing),
        cmocka_unit_test(test_what_is_too_light_is_nothing),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_light_buckets_of_a_checkpoint),
        cmocka_unit_test(test_bad_checkpoints_are_refused),
        cmocka_unit_test(test_one_sample),
        cmocka_unit_test(test_training_makes_models),
        cmocka_unit_test(test_models_expire),
        cmocka_unit_test(test_checkpoint_text),
        cmocka_unit_test(test_checkpoints_take_turns),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
