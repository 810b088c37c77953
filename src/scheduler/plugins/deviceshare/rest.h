/* rest.h - devices of nodes as JSON and as a gauge, for people and tools (sched-device 3, 10). */
#ifndef KOORD_SCHEDULER_DEVICESHARE_REST_H
#define KOORD_SCHEDULER_DEVICESHARE_REST_H
#include "scheduler/framework/service.h"

struct holdings;
extern const struct ks_path device_paths[]; /* of the service holdings */
void device_gauges_start(struct holdings *h);
void device_gauges_stop(struct holdings *h);
#endif
