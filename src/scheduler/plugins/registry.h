/* registry.h - the plugins: one line here and one in registry.c for each. */
#ifndef KOORD_SCHEDULER_REGISTRY_H
#define KOORD_SCHEDULER_REGISTRY_H
#include "scheduler/framework/plugin.h"

extern const struct ks_plugin ks_plugin_scheduling_gates;
extern const struct ks_plugin ks_plugin_priority_sort;
extern const struct ks_plugin ks_plugin_default_binder;
extern const struct ks_plugin ks_plugin_node_unschedulable;
extern const struct ks_plugin ks_plugin_node_name;
extern const struct ks_plugin ks_plugin_taint_toleration;
extern const struct ks_plugin ks_plugin_node_affinity;
extern const struct ks_plugin ks_plugin_node_ports;
extern const struct ks_plugin ks_plugin_fit;
extern const struct ks_plugin ks_plugin_volume_restrictions;
extern const struct ks_plugin ks_plugin_node_volume_limits;
extern const struct ks_plugin ks_plugin_volume_binding;
extern const struct ks_plugin ks_plugin_volume_zone;
extern const struct ks_plugin ks_plugin_dynamic_resources;
extern const struct ks_plugin ks_plugin_pod_topology_spread;
extern const struct ks_plugin ks_plugin_inter_pod_affinity;
extern const struct ks_plugin ks_plugin_default_preemption;
extern const struct ks_plugin ks_plugin_balanced;
extern const struct ks_plugin ks_plugin_image_locality;
extern const struct ks_plugin ks_plugin_load_aware_scheduling;
extern const struct ks_plugin ks_plugin_node_numa_resource;
extern const struct ks_plugin ks_plugin_reservation;
extern const struct ks_plugin ks_plugin_coscheduling;
extern const struct ks_plugin ks_plugin_device_share;
extern const struct ks_plugin ks_plugin_elastic_quota;
extern const struct ks_plugin ks_plugin_default_pre_bind;
extern const struct ks_plugin ks_plugin_node_resources_fit_plus;
extern const struct ks_plugin ks_plugin_scarce_resource_avoidance;
extern const struct ks_plugin ks_plugin_scheduling_hint;
#endif
