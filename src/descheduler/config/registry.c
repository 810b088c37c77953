/* registry.c - the plugins by which configurations may be written. */
#include "descheduler/config/registry.h"

#include "descheduler/plugins/plugins.h"

const struct kd_plugin *const kd_registry[] = {
    0,
};
