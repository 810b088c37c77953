/* config_int.h - what the files of config/ share. */
#ifndef KOORD_SCHEDULER_CONFIG_INT_H
#define KOORD_SCHEDULER_CONFIG_INT_H
#include "scheduler/config/config.h"

#define CONFIG_API_VERSION "kubescheduler.config.k8s.io/v1"
#define CONFIG_KIND        "KubeSchedulerConfiguration"
#define DEFAULT_PRE_BIND   "DefaultPreBind"

struct kj_val;

/* ---- names.c --------------------------------------------------------------------------------- */

const struct ks_plugin *names_find(const char *name); /* also one that is only planned */
bool names_is_removed(const char *name);              /* refused by name in v1 */
const char *names_nearest(const char *name);          /* NULL: none is near */

/* ---- merge.c --------------------------------------------------------------------------------- */

/* The profile's sets over the defaults, then its order at every point. Messages begin with
 * "plugins." */
int merge_profile(struct sched_profile *p, struct arena *a, struct kerr *err);

/* ---- plugin_config.c ------------------------------------------------------------------------- */

/* Fills made->args, and completes the profile's own. Messages begin with "pluginConfig". */
int plugin_config_finish(struct sched_config *c, struct sched_profile *p,
                         struct profile_config *made, struct arena *a, struct kerr *err);
/* The args of a plugin that the configuration does not mention, as JSON. */
const char *plugin_config_defaults(const char *plugin, struct arena *a);

/* ---- here.c ---------------------------------------------------------------------------------- */

/* made->points, from the profile's order. */
void here_make(const struct sched_profile *p, struct profile_config *made, struct arena *a);
void here_not_yet(struct sched_config *c, struct arena *a);

/* ---- extender.c ------------------------------------------------------------------------------ */

int extenders_finish(struct sched_config *c, struct arena *a, struct kerr *err);
/* What plugins' args have to know about the extenders. */
struct ks_args_context extenders_context(const struct sched_config *c, struct arena *a);

extern const struct kschema sched_extender_schema;
#endif
