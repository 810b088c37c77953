/* templates.h - shares of GPUs that a vendor allows, from a ConfigMap (sched-device 6.2).
 *
 * A service, one for each configuration of the plugin. A ConfigMap that goes takes its templates
 * with it; one that does not parse leaves those that were there. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_TEMPLATES_H
#define KOORD_SCHEDULER_DEVICESHARE_TEMPLATES_H
#include "api/protocol/device.h"
#include "scheduler/framework/plugin.h"

/* The key that pods wait for which need a template (ks_wake). */
#define DEVICE_WAITS_FOR_TEMPLATES UINT64_C(1)
/* That of all others: cards that claims give back. */
#define DEVICE_WAITS_FOR_CARDS UINT64_C(2)

struct templates {
    struct ks_env env;
    struct informer *informer; /* NULL where there is no cluster */
    struct arena *arena;       /* of the table */
    struct gpu_templates table;
};
KS_SERVICE(templates, struct templates)
#endif
