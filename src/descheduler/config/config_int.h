/* config_int.h - what the files of config/ share. */
#ifndef KOORD_DESCHEDULER_CONFIG_INT_H
#define KOORD_DESCHEDULER_CONFIG_INT_H
#include "descheduler/config/config.h"
#include "descheduler/config/registry.h"

/* merge.c: the profile's plugin sets over the defaults, then made->points. Messages begin with
 * "plugins." */
int merge_plugins(struct desched_profile *p, struct kd_profile_config *made, struct arena *a,
                  struct kerr *err);
/* plugin_config.c: completes the profile's pluginConfig, and makes made->args. Messages begin with
 * "pluginConfig". After merge_plugins(). */
int plugin_args_finish(struct desched_profile *p, const struct kd_args_context *c,
                       struct kd_profile_config *made, struct arena *a, struct kerr *err);
#endif
