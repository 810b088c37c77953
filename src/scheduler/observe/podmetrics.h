/* podmetrics.h - /metrics/resources: what pods ask for and may use, pod by pod (scheduler-core 9.6,
 * 11.6). Internal to the room.
 */
#ifndef KOORD_SCHEDULER_OBSERVE_PODMETRICS_H
#define KOORD_SCHEDULER_OBSERVE_PODMETRICS_H
#include "base/base.h"

struct kobj;
struct strbuf;

/* Prometheus' text for these pods, which are sorted by namespace and name on the way; those that
 * have ended are left out. */
void podmetrics_write(struct kobj **pods, size_t n, struct strbuf *out);
#endif
