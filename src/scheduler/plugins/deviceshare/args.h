/* args.h - DeviceShareArgs (api-config 4.2). */
#ifndef KOORD_SCHEDULER_DEVICESHARE_ARGS_H
#define KOORD_SCHEDULER_DEVICESHARE_ARGS_H
#include "api/types.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/scoringstrategy/scoringstrategy.h"

/* Our own, beside upstream's: what stays free is still of use (packing.h). */
#define STRATEGY_FRAGMENTATION_AWARE "FragmentationAware"

struct gpu_templates_ref {
    const char *ns, *name;
    kstrlist matched;
};
struct gpu_model {
    const char *vendor, *model;
};
struct deviceshare_args {
    const char *allocator; /* deprecated, without effect */
    struct scoring_strategy *strategy;
    bool no_alignment;
    struct gpu_templates_ref *templates;
    KLIST(struct gpu_model) unsupported;
};
extern const struct ks_args deviceshare_args;
#endif
