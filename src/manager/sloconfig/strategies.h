/* strategies.h - strategies of slo-controller-config that no API object holds: host applications,
 * CPU normalization, resource amplification. The others are in api/protocol/node.h (colocation)
 * and api/koord/nodeslo.h. Structs and tables only.
 */
#ifndef KOORD_MANAGER_STRATEGIES_H
#define KOORD_MANAGER_STRATEGIES_H
#include "api/koord/nodeslo.h"
#include "api/protocol/node.h"

struct host_app_strategy {
    host_applicationlist applications;
};

struct cpu_model_ratios { /* by hyper-threading and turbo */
    struct opt_f64 base, hyper_thread, turbo, hyper_thread_turbo;
};
struct cpu_model_entry {
    const char *model;
    struct cpu_model_ratios ratios;
};
struct normalization_strategy {
    struct opt_bool enable;
    struct opt_f64 default_ratio; /* of models that are not listed */
    KLIST(struct cpu_model_entry) ratio_model;
};

struct amplification_strategy {
    struct opt_bool enable;
    struct amplification_ratios ratios;
};

extern const struct kschema host_app_strategy_schema, normalization_strategy_schema,
    amplification_strategy_schema;
extern const struct colocation_strategy colocation_strategy_default;
#endif
