/* registry.c - every plugin, in the order of the default profile (scheduler-core 4.1). */
#include "scheduler/plugins/registry.h"
#include "scheduler/framework/profile.h"

const struct ks_registered ks_registry[] = {
    { &ks_plugin_scheduling_gates, 0 }, { &ks_plugin_node_unschedulable, 0 },
    { &ks_plugin_node_name, 0 },        { &ks_plugin_taint_toleration, 3 },
    { &ks_plugin_node_affinity, 0 },    { &ks_plugin_fit, 1 },
    { &ks_plugin_balanced, 1 },         { NULL, 0 },
};
