/* usage.h - samples of the metric cache as the strategies ask for them (koordlet-qos 4.1). */
#ifndef KOORD_KOORDLET_QOS_USAGE_H
#define KOORD_KOORDLET_QOS_USAGE_H
#include "koordlet/metriccache/store.h"

struct usage_in {
    struct metriccache *mc;
    nsec_t now;              /* wall */
    nsec_t collect_interval; /* of the collectors */
};
/* The newest sample of the last two intervals. false: there is none. */
bool usage_last(const struct usage_in *u, enum metric_kind k, const char *const *labels,
                double *ret);
/* One aggregate over the time up to now. */
bool usage_over(const struct usage_in *u, enum metric_kind k, const char *const *labels,
                nsec_t window, enum aggregate what, double *ret);
#endif
