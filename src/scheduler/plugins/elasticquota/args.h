/* args.h - ElasticQuotaArgs (api-config 4.2). */
#ifndef KOORD_SCHEDULER_ELASTICQUOTA_ARGS_H
#define KOORD_SCHEDULER_ELASTICQUOTA_ARGS_H
#include "api/types.h"
#include "scheduler/framework/plugin.h"

struct quota_hook {
    const char *key, *factory, *args;
};
struct quota_args {
    struct opt_i64 delay_evict, revoke, snapshot; /* nanoseconds */
    reslist default_max, system_max;
    const char *ns;
    struct opt_bool monitor_all, check_parent, runtime, scale_min, spare_default, hint;
    KLIST(struct quota_hook) hooks;
};
extern const struct ks_args quota_args;
#endif
