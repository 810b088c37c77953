/* names.c - the plugins that a configuration may name. */
#include "scheduler/config/config_int.h"

#include "component/flags.h"

const struct ks_plugin *names_find(const char *name)
{
    for (const struct ks_registered *r = ks_registry; r->plugin; r++)
        if (streq(r->plugin->name, name))
            return r->plugin;
    return NULL;
}

bool names_is_removed(const char *name)
{
    static const char *const removed[] = { "AzureDiskLimits", "CinderLimits", "EBSLimits",
                                           "GCEPDLimits" };

    for (size_t i = 0; i < ARRAY_LEN(removed); i++)
        if (streq(removed[i], name))
            return true;
    return false;
}

const char *names_nearest(const char *name)
{
    const char *names[64];
    size_t n = 0;

    for (const struct ks_registered *r = ks_registry; r->plugin && n < ARRAY_LEN(names); r++)
        names[n++] = r->plugin->name;
    return word_nearest(name, names, n);
}
