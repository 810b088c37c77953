/* mirror.h - the reported NodeMetric and the predictions behind it as gauges
 * (koordlet-metrics 6.4).
 */
#ifndef KOORD_KOORDLET_MIRROR_H
#define KOORD_KOORDLET_MIRROR_H
#include "koordlet/report/nodemetric.h"

struct metric;
struct metrics;

struct mirror {
    struct metric *node, *system, *numa_node, *numa_system; /* NULL: gate NodeMetricPromMetrics */
    struct metric *reclaimable, *reclaimable_status, *predicted_reclaimable, *predicted_peak;
};
void mirror_init(struct mirror *m, struct metrics *internal, struct metrics *external, bool usages);
/* p: NULL when nothing is predicted. */
void mirror_set(struct mirror *m, const char *node, const struct nodemetric_status *s,
                const struct nodemetric_predicted *p);
#endif
