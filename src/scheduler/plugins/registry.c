/* registry.c - every plugin: those of the default profile in its order (scheduler-core 4.1), then
 * those that a profile has to name. */
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
    { &ks_plugin_dynamic_resources, 2, true },
    { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_balanced, 1, true },
    { &ks_plugin_image_locality, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { &ks_plugin_load_aware_scheduling, 0, false },
    { &ks_plugin_node_numa_resource, 0, false },
    { &ks_plugin_reservation, 0, false },
    { &ks_plugin_coscheduling, 0, false },
    { &ks_plugin_device_share, 0, false },
    { &ks_plugin_elastic_quota, 0, false },
    { &ks_plugin_default_pre_bind, 0, false },
    { &ks_plugin_node_resources_fit_plus, 0, false },
    { &ks_plugin_scarce_resource_avoidance, 0, false },
    { &ks_plugin_scheduling_hint, 0, false },
    { NULL, 0, false },
};
