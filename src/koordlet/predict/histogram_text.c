/* histogram_text.c - histograms in checkpoints. */
#include <math.h>
#include <stdio.h>

#include "base/ktime.h"
#include "base/num.h"
#include "koordlet/predict/histogram_int.h"
#include "json/kj.h"

enum { HEAVIEST = 10000 };
#define NO_REFERENCE "0001-01-01T00:00:00Z" /* Go's zero time */

/* ---- encoding -------------------------------------------------------------------------------- */

struct entry {
    char key[12];
    uint32_t weight;
};

/* Members of an object go in order of their text: 10 before 2. */
static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

static void encode_weights(const struct histogram *h, struct kjw *w)
{
    CLEANUP(mem_free) struct entry *entries = xnewn0(h->n, struct entry);
    double heaviest = 0;
    size_t n = 0;

    for (uint32_t b = h->min; b <= h->max; b++)
        heaviest = MAX(heaviest, h->weights[b]);
    for (uint32_t b = h->min; b <= h->max; b++) {
        uint32_t weight = (uint32_t)floor(h->weights[b] * (HEAVIEST / heaviest) + 0.5);
        if (weight == 0)
            continue;
        snprintf(entries[n].key, sizeof entries[n].key, "%u", b);
        entries[n++].weight = weight;
    }
    qsort(entries, n, sizeof *entries, by_key);
    kjw_obj(w, "bucketWeights");
    for (size_t i = 0; i < n; i++)
        kjw_i64(w, entries[i].key, entries[i].weight);
    kjw_end(w);
}

void histogram_encode(const struct histogram *h, struct kjw *w, const char *key)
{
    char when[KTIME_TEXT_MAX] = NO_REFERENCE;

    if (h->has_reference)
        ktime_format_nano(h->reference, when);
    kjw_obj(w, key);
    kjw_str(w, "referenceTimestamp", when);
    if (!histogram_is_empty(h))
        encode_weights(h, w);
    if (h->total != 0)
        kjw_f64(w, "totalWeight", h->total);
    kjw_end(w);
}

/* ---- decoding -------------------------------------------------------------------------------- */

static int decode_entry(const struct histogram *h, struct str key, const struct kj_val *v,
                        uint32_t *ret_bucket, uint32_t *ret_weight, struct kerr *err)
{
    int64_t bucket, weight;

    if (i64_parse(key.p, key.n, &bucket) < 0 || bucket < 0 || bucket >= h->n)
        return kerr_set(err, -EINVAL, "bucketWeights: bucket %.*s is not in 0..%u",
                        (int)MIN(key.n, (size_t)32), key.p, h->n - 1);
    if (kj_i64(v, &weight) < 0 || weight < 0 || weight > UINT32_MAX)
        return kerr_set(err, -EINVAL, "bucketWeights: the weight of bucket %u is not a uint32",
                        (unsigned)bucket);
    *ret_bucket = (uint32_t)bucket;
    *ret_weight = (uint32_t)weight;
    return 0;
}

static int decode_sum(const struct histogram *h, const struct kj_val *weights, double *ret,
                      struct kerr *err)
{
    struct kj_iter it = kj_iter(weights);
    const struct kj_val *v;
    uint32_t bucket, weight;
    uint64_t sum = 0;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        int r = decode_entry(h, key, v, &bucket, &weight, err);
        if (r < 0)
            return r;
        sum += weight;
    }
    *ret = (double)sum;
    return 0;
}

static int decode_reference(const struct kj_val *v, bool *ret_has, nsec_t *ret, struct kerr *err)
{
    const char *text = kj_str(v);

    if (kj_type(v) == KJ_ABSENT || kj_type(v) == KJ_NULL || (text && streq(text, NO_REFERENCE))) {
        *ret_has = false;
        *ret = 0;
        return 0;
    }
    if (!text)
        return kerr_set(err, -EINVAL, "referenceTimestamp is not a time");
    *ret_has = true;
    int r = ktime_parse(text, strlen(text), ret, err);
    return r < 0 && err ? kerr_wrap(err, "referenceTimestamp") : r;
}

int histogram_decode(struct histogram *h, const struct kj_val *in, struct kerr *err)
{
    const struct kj_val *weights = kj_get(in, "bucketWeights"), *v;
    double total = 0, sum = 0;
    uint32_t bucket = 0, weight = 0;
    bool has_reference = false;
    nsec_t reference = 0;
    struct str key;

    if (kj_type(in) != KJ_OBJ)
        return kerr_set(err, -EINVAL, "not an object");
    if (kj_get(in, "totalWeight") && kj_f64(kj_get(in, "totalWeight"), &total) < 0)
        return kerr_set(err, -EINVAL, "totalWeight is not a number");
    if (total < 0)
        return kerr_set(err, -EINVAL, "totalWeight is negative");
    int r = decode_reference(kj_get(in, "referenceTimestamp"), &has_reference, &reference, err);
    if (r == 0)
        r = decode_sum(h, weights, &sum, err);
    if (r < 0)
        return r;
    h->has_reference = has_reference;
    h->reference = reference;
    if (!has_reference || sum == 0) /* weights of no time count nothing */
        return 0;
    for (struct kj_iter it = kj_iter(weights); kj_next(&it, &key, &v);) {
        if (decode_entry(h, key, v, &bucket, &weight, err) < 0)
            continue;
        h->weights[bucket] += weight * (total / sum);
        h->min = MIN(h->min, bucket);
        h->max = MAX(h->max, bucket);
    }
    histogram_trim(h);
    h->total += total;
    return 0;
}
