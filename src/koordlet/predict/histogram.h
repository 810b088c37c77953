/* histogram.h - a histogram that forgets: a sample's weight halves with every half life.
 *
 * Buckets grow by a ratio. Weights are kept relative to a reference time, so that old ones need not
 * be touched when new ones come; the reference moves along when it is 100 half lives behind. One
 * block of memory for life: samples and percentiles allocate nothing. Loop thread only.
 */
#ifndef KOORD_KOORDLET_HISTOGRAM_H
#define KOORD_KOORDLET_HISTOGRAM_H
#include "base/base.h"
#include "base/strbuf.h"

struct kj_val;
struct kjw;

struct histogram_options {
    double max;     /* the last bucket begins at or before it, and has no end */
    double first;   /* size of the first bucket */
    double ratio;   /* of a bucket's size to that of the one before; above 1 */
    double epsilon; /* weights below it are nothing at the ends of the histogram */
    nsec_t half_life;
};
enum { HISTOGRAM_BUCKETS_MAX = 65536 };
/* CPU in cores up to 1024, memory in bytes up to 2 TiB; their buckets grow by 5 %. */
struct histogram_options histogram_cpu(nsec_t half_life);
struct histogram_options histogram_memory(nsec_t half_life);

struct histogram;
/* NULL with -EINVAL for options that make no histogram. */
struct histogram *histogram_new(const struct histogram_options *o, struct kerr *err);
struct histogram *histogram_free(struct histogram *h);
DEFINE_CLEANUP(histogram_free, struct histogram *)

uint32_t histogram_buckets(const struct histogram *h);
bool histogram_is_empty(const struct histogram *h);
void histogram_add(struct histogram *h, double value, double weight, nsec_t wall);
void histogram_subtract(struct histogram *h, double value, double weight, nsec_t wall);
/* The upper edge of the bucket that p (0..1) of the weight reaches; 0 when empty. */
double histogram_percentile(const struct histogram *h, double p);

/* {"referenceTimestamp":...,"bucketWeights":{...},"totalWeight":...} under the key (NULL: on top).
 * Weights are whole numbers up to 10000, relative to the heaviest. */
void histogram_encode(const struct histogram *h, struct kjw *w, const char *key);
/* Adds what was encoded. -EINVAL leaves the histogram as it was. */
int histogram_decode(struct histogram *h, const struct kj_val *in, struct kerr *err);
#endif
