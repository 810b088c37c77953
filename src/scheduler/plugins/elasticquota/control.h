/* control.h - what ElasticQuota writes by itself, where the scheduler leads: the status of quotas,
 * the three built-in quotas, events on quotas that are wrong, and the eviction of pods whose quota
 * uses more than its runtime (sched-quota 7, 15, 16). Loop thread.
 */
#ifndef KOORD_SCHEDULER_ELASTICQUOTA_CONTROL_H
#define KOORD_SCHEDULER_ELASTICQUOTA_CONTROL_H
#include "scheduler/framework/service.h"

struct controller;
struct controllers;
struct controller_env;
struct quota_revoker;
struct quotas;

extern const struct ks_controller quotas_controller;
struct quota_control;
/* Numbers of some quotas have changed. NULL: nobody leads here. */
void control_touch(struct quota_control *c);

/* ---- revoker.c: quotas that use too much ----------------------------------------------------- */

struct quota_revoker *revoker_new(struct quotas *s, struct controllers *all,
                                  const struct controller_env *env);
struct quota_revoker *revoker_free(struct quota_revoker *r); /* NULL is fine; always returns NULL */
#endif
