/* histogram_int.h - the body of a histogram, for its own files. */
#ifndef KOORD_KOORDLET_HISTOGRAM_INT_H
#define KOORD_KOORDLET_HISTOGRAM_INT_H
#include "koordlet/predict/histogram.h"

struct histogram {
    struct histogram_options o;
    uint32_t n;
    uint32_t min, max;  /* buckets outside are lighter than epsilon; empty: min = n - 1, max = 0 */
    bool has_reference; /* false: nothing was ever added */
    nsec_t reference;
    double total;
    double weights[];
};
/* Ends that are lighter than epsilon are no part of it. */
void histogram_trim(struct histogram *h);
#endif
