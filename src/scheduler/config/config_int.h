/* config_int.h - what the files of config/ share. */
#ifndef KOORD_SCHEDULER_CONFIG_INT_H
#define KOORD_SCHEDULER_CONFIG_INT_H
#include "scheduler/config/config.h"

#define CONFIG_API_VERSION "kubescheduler.config.k8s.io/v1"
#define CONFIG_KIND        "KubeSchedulerConfiguration"
#define DEFAULT_PRE_BIND   "DefaultPreBind"

struct kj_val;

/* ---- known.c --------------------------------------------------------------------------------- */

bool known_name(const char *name);
bool known_implements(const char *name, enum ks_point point);
bool known_is_removed(const char *name);     /* refused by name in v1 */
const char *known_nearest(const char *name); /* NULL: none is near */

/* ---- merge.c --------------------------------------------------------------------------------- */

/* The profile's sets over the defaults, then its order at every point. Messages begin with
 * "plugins." */
int merge_profile(struct sched_profile *p, struct arena *a, struct kerr *err);

/* ---- args.c ---------------------------------------------------------------------------------- */

/* Args of plugins that have no folder yet; NULL: there are none by this name. */
const struct ks_args *args_of_absent(const char *plugin);

struct args_table {
    const char *plugin;
    struct ks_args args;
};
extern const struct args_table args_koord[];
extern const size_t args_koord_n;

extern const struct kschema args_loadaware_schema, args_numa_schema, args_device_schema;
void args_loadaware_fill(void *value, const struct ks_args_context *c, struct arena *a);
int args_loadaware_check(const void *value, struct kerr *err);
int args_numa_check(const void *value, struct kerr *err);
int args_device_check(const void *value, struct kerr *err);

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
