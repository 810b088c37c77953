/* histogram.c - weights in growing buckets, relative to a reference time. */
#include "koordlet/predict/histogram.h"

#include <math.h>

#include "koordlet/predict/histogram_int.h"

enum { SHIFT_HALF_LIVES = 100 };
/* Multiples of the half life are counted from the year 1, as Go's Time.Round does. */
#define YEAR_ONE_SEC INT64_C(-62135596800)

struct histogram_options histogram_cpu(nsec_t half_life)
{
    return (struct histogram_options){
        .max = 1024, .first = 0.025, .ratio = 1.05, .epsilon = 1e-4, .half_life = half_life
    };
}

struct histogram_options histogram_memory(nsec_t half_life)
{
    return (struct histogram_options){ .max = 2199023255552.0,
                                       .first = 5242880,
                                       .ratio = 1.05,
                                       .epsilon = 1e-4,
                                       .half_life = half_life };
}

/* How many buckets begin at or before the value. */
static double steps(const struct histogram_options *o, double value)
{
    return log(value * (o->ratio - 1) / o->first + 1) / log(o->ratio);
}

struct histogram *histogram_new(const struct histogram_options *o, struct kerr *err)
{
    if (!(o->max > 0 && o->first > 0 && o->epsilon > 0 && o->ratio > 1)) {
        kerr_set(err, -EINVAL,
                 "maxValue, firstBucketSize and epsilon must be > 0.0, ratio must be > 1.0");
        return NULL;
    }
    double n = ceil(steps(o, o->max)) + 1;
    if (!(n <= HISTOGRAM_BUCKETS_MAX) || o->half_life <= 0) {
        kerr_set(err, -EINVAL, o->half_life <= 0 ? "half life must be > 0" : "too many buckets");
        return NULL;
    }
    struct histogram *h = xcalloc(1, sizeof *h + (size_t)n * sizeof h->weights[0]);
    h->o = *o;
    h->n = (uint32_t)n;
    h->min = h->n - 1;
    return h;
}

struct histogram *histogram_free(struct histogram *h)
{
    free(h);
    return NULL;
}

uint32_t histogram_buckets(const struct histogram *h)
{
    return h->n;
}

bool histogram_is_empty(const struct histogram *h)
{
    return h->weights[h->min] < h->o.epsilon;
}

static uint32_t bucket_of(const struct histogram *h, double value)
{
    if (!(value >= h->o.first))
        return 0;
    double b = steps(&h->o, value);
    return b >= h->n - 1 ? h->n - 1 : (uint32_t)b;
}

static double bucket_start(const struct histogram *h, uint32_t b)
{
    return b == 0 ? 0 : h->o.first * (pow(h->o.ratio, b) - 1) / (h->o.ratio - 1);
}

void histogram_trim(struct histogram *h)
{
    while (h->min < h->n - 1 && h->weights[h->min] < h->o.epsilon)
        h->min++;
    while (h->max > 0 && h->weights[h->max] < h->o.epsilon)
        h->max--;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* The nearest multiple of the step; the later one of two that are as near. */
static nsec_t round_to(nsec_t wall, nsec_t step)
{
    __extension__ __int128 age = (__int128)wall - (__int128)YEAR_ONE_SEC * NSEC_PER_SEC;
    nsec_t over = (nsec_t)(age % step);
    return over < step - over ? wall - over : wall + (step - over);
}

static double half_lives(const struct histogram *h, nsec_t from, nsec_t to)
{
    nsec_t d;
    if (__builtin_sub_overflow(to, from, &d))
        d = to > from ? INT64_MAX : INT64_MIN;
    return (double)d / (double)h->o.half_life;
}

static void shift_reference(struct histogram *h, nsec_t wall)
{
    nsec_t to = round_to(wall, h->o.half_life);

    if (h->has_reference) { /* without one there are no weights yet */
        double factor = exp2(floor(half_lives(h, to, h->reference) + 0.5));
        for (uint32_t b = 0; b < h->n; b++)
            h->weights[b] *= factor;
        h->total *= factor;
        histogram_trim(h);
    }
    h->reference = to;
    h->has_reference = true;
}

/* What a weight of 1 at this time counts. */
static double weight_at(struct histogram *h, nsec_t wall)
{
    if (!h->has_reference || half_lives(h, h->reference, wall) > SHIFT_HALF_LIVES)
        shift_reference(h, wall);
    return exp2(half_lives(h, h->reference, wall));
}

/* ---- samples --------------------------------------------------------------------------------- */

void histogram_add(struct histogram *h, double value, double weight, nsec_t wall)
{
    uint32_t b = bucket_of(h, value);
    double w = weight * weight_at(h, wall);

    h->weights[b] += w;
    h->total += w;
    if (h->weights[b] >= h->o.epsilon) {
        h->min = MIN(h->min, b);
        h->max = MAX(h->max, b);
    }
}

static double less(double a, double b, double epsilon)
{
    return a - b < epsilon ? 0 : a - b;
}

void histogram_subtract(struct histogram *h, double value, double weight, nsec_t wall)
{
    uint32_t b = bucket_of(h, value);
    double w = weight * weight_at(h, wall);

    h->total = less(h->total, w, h->o.epsilon);
    h->weights[b] = less(h->weights[b], w, h->o.epsilon);
    histogram_trim(h);
}

double histogram_percentile(const struct histogram *h, double p)
{
    double sum = 0, enough = p * h->total;
    uint32_t b = h->min;

    if (histogram_is_empty(h))
        return 0;
    for (; b < h->max; b++) {
        sum += h->weights[b];
        if (sum >= enough)
            break;
    }
    return bucket_start(h, b < h->n - 1 ? b + 1 : b);
}
