/* detector.h - is a node hot for a while, or only for a moment? (descheduler 3.5)
 *
 * A detector becomes abnormal after more than so many abnormal marks in a row, and normal again by
 * more than so many normal marks, by a reset, or when its time is over. Detectors of nodes that
 * nobody marks for a while are forgotten.
 */
#ifndef KOORD_DESCHEDULER_DETECTOR_H
#define KOORD_DESCHEDULER_DETECTOR_H
#include "base/map.h"

struct lnl_anomaly;

struct detectors { /* all zero is empty */
    struct map all;
    nsec_t keep; /* after the last mark */
};
void detectors_fini(struct detectors *d);
/* Forgets those whose time is over. */
void detectors_expire(struct detectors *d, nsec_t now);
/* Is it abnormal after this mark? */
bool detector_mark(struct detectors *d, const char *node, bool abnormal,
                   const struct lnl_anomaly *a, nsec_t now);
void detector_reset(struct detectors *d, const char *node, nsec_t now);
#endif
