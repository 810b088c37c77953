/* registry.c - the plugins by which configurations may be written. */
#include "descheduler/config/registry.h"

#include "descheduler/framework/plugin.h"
#include "descheduler/migration/migration.h"
#include "descheduler/plugins/plugins.h"

const struct kd_plugin *const kd_registry[] = {
    &plugin_migrationcontroller,
    &plugin_lownodeload,
    &plugin_custompriority,
    &plugin_fragmentationaware,
    &plugin_scaledownbinpack,
    &plugin_defaultevictor,
    &plugin_highnodeutilization,
    &plugin_lownodeutilization,
    &plugin_podlifetime,
    &plugin_removeduplicates,
    &plugin_removefailedpods,
    &plugin_toomanyrestarts,
    &plugin_interpodantiaffinity,
    &plugin_nodeaffinity,
    &plugin_nodetaints,
    &plugin_topologyspread,
    NULL,
};

const struct kd_plugin *registry_find(const char *name)
{
    for (const struct kd_plugin *const *p = kd_registry; *p; p++)
        if (streq((*p)->name, name))
            return *p;
    return NULL;
}
