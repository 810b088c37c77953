/* args.c - args of plugins that have no folder yet. */
#include "scheduler/config/config_int.h"

const struct ks_args *args_of_absent(const char *plugin)
{
    for (size_t i = 0; i < args_koord_n; i++)
        if (streq(args_koord[i].plugin, plugin))
            return &args_koord[i].args;
    return NULL;
}
