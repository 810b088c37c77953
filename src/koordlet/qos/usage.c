/* usage.c - questions to the metric cache. */
#include "koordlet/qos/usage.h"

bool usage_over(const struct usage_in *u, enum metric_kind k, const char *const *labels,
                nsec_t window, enum aggregate what, double *ret)
{
    return metriccache_ask(u->mc, k, labels, (u->now - window) / NSEC_PER_MSEC,
                           u->now / NSEC_PER_MSEC, what, ret, NULL) == 0;
}

bool usage_last(const struct usage_in *u, enum metric_kind k, const char *const *labels,
                double *ret)
{
    return usage_over(u, k, labels, 2 * u->collect_interval, WINDOW_LAST, ret);
}
