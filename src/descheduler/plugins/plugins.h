/* plugins.h - the plugins of the descheduler, by name; config/registry.c lists them. */
#ifndef KOORD_DESCHEDULER_PLUGINS_H
#define KOORD_DESCHEDULER_PLUGINS_H

struct kd_plugin;

/* Koordinator's own (descheduler 3, 5). */
extern const struct kd_plugin plugin_lownodeload, plugin_custompriority, plugin_fragmentationaware,
    plugin_scaledownbinpack, plugin_defaultevictor;
/* Kubernetes' (6). */
extern const struct kd_plugin plugin_lownodeutilization, plugin_highnodeutilization,
    plugin_podlifetime, plugin_removefailedpods, plugin_removeduplicates, plugin_toomanyrestarts,
    plugin_interpodantiaffinity, plugin_nodeaffinity, plugin_nodetaints, plugin_topologyspread;
#endif
