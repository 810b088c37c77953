/* registry.c - every plugin, in the order of the default profile (scheduler-core 4.1). */
#include "scheduler/plugins/registry.h"
#include "scheduler/framework/profile.h"

const struct ks_registered ks_registry[] = {
    { &ks_plugin_scheduling_gates, 0, true },
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_unschedulable, 0, true },
    { &ks_plugin_node_name, 0, true },
    { &ks_plugin_taint_toleration, 3, true },
    { &ks_plugin_node_affinity, 2, true },
    { &ks_plugin_node_ports, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_volume_restrictions, 0, true },
    { &ks_plugin_node_volume_limits, 0, true },
    { &ks_plugin_volume_binding, 0, true },
    { &ks_plugin_volume_zone, 0, true },
    { &ks_plugin_pod_topology_spread, 2, true },
    { &ks_plugin_inter_pod_affinity, 2, true },
    { &ks_plugin_dynamic_resources, 0, true },
    { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_balanced, 1, true },
    { &ks_plugin_image_locality, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};
