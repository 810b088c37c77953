/* metric_gauges.h - the reported NodeMetric and the predictions behind it as gauges
 * (koordlet-metrics 6.4).
 */
#ifndef KOORD_KOORDLET_REPORT_METRIC_GAUGES_H
#define KOORD_KOORDLET_REPORT_METRIC_GAUGES_H
#include "koordlet/report/nodemetric.h"

struct metric;
struct metrics;

struct metric_gauges {
    struct metric *node, *system, *numa_node, *numa_system; /* NULL: gate NodeMetricPromMetrics */
    struct metric *reclaimable, *reclaimable_status, *predicted_reclaimable, *predicted_peak;
};
void metric_gauges_init(struct metric_gauges *m, struct metrics *internal, struct metrics *external,
                        bool usages);
/* p: NULL when nothing is predicted. */
void metric_gauges_set(struct metric_gauges *m, const char *node, const struct nodemetric_status *s,
                       const struct nodemetric_predicted *p);
#endif
