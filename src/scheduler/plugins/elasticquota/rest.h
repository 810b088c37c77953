/* rest.h - what ElasticQuota shows: REST paths and gauges (sched-quota 16, 17). */
#ifndef KOORD_SCHEDULER_ELASTICQUOTA_REST_H
#define KOORD_SCHEDULER_ELASTICQUOTA_REST_H
#include "scheduler/framework/service.h"

struct quotas;

extern const struct ks_path quotas_paths[];
void quotas_gauges_start(struct quotas *s);
void quotas_gauges_stop(struct quotas *s);
#endif
