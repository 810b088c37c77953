/* fuzz_checkpoint.c - checkpoints of the prediction.
 *
 * A text is refused with a reason, and then there is no model; or it makes one whose predictions
 * are not negative and rise with the percentile. Its own checkpoint makes it again, but for weights
 * that are too light to count.
 */
#include "koordlet/predict/models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW (INT64_C(1763200000) * NSEC_PER_SEC)

static void check_rises(int64_t a, int64_t b)
{
    assert(a >= 0 && a <= b);
}

static struct prediction predict(const struct models *m)
{
    struct prediction p;
    struct kerr err = { 0 };
    int r = models_predict(m, "u", &p, &err);

    assert(r == 0);
    (void)r;
    check_rises(p.p60.cpu, p.p90.cpu);
    check_rises(p.p90.cpu, p.p95.cpu);
    check_rises(p.p95.cpu, p.p98.cpu);
    check_rises(p.p98.cpu, p.max.cpu);
    check_rises(p.p60.memory, p.p90.memory);
    check_rises(p.p90.memory, p.p95.memory);
    check_rises(p.p95.memory, p.p98.memory);
    check_rises(p.p98.memory, p.max.memory);
    return p;
}

static void train(struct models *m)
{
    const struct pod_usage pod = { "u", PRIO_PROD, { true, 0.5, 1 << 30 } };

    models_train(m, NOW, &pod, 1, (struct usage){ true, 1, 2e9 });
    predict(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct models_options o = models_options_default();
    CLEANUP(models_free) struct models *m = models_new(&o);
    CLEANUP(models_free) struct models *again = models_new(&o);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };

    if (models_decode(m, "u", (const char *)data, size, &err) < 0) {
        assert(err.code < 0 && err.text[0] && models_count(m) == 0);
        return 0;
    }
    assert(models_count(m) == 1 && models_have(m, "u"));
    struct prediction before = predict(m);
    int r = models_encode(m, "u", NOW, &text, &err);
    assert(r == 0);
    r = models_decode(again, "u", text.data, text.len, &err);
    assert(r == 0);
    struct prediction after = predict(again);
    assert(after.max.cpu <= before.max.cpu && after.max.memory <= before.max.memory);
    train(m);
    (void)r;
    return 0;
}
