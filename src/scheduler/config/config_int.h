/* config_int.h - what the files of config/ share. */
#ifndef KOORD_SCHEDULER_CONFIG_INT_H
#define KOORD_SCHEDULER_CONFIG_INT_H
#include "scheduler/config/config.h"

#define CONFIG_API_VERSION "kubescheduler.config.k8s.io/v1"
#define CONFIG_KIND        "KubeSchedulerConfiguration"
#define DEFAULT_PRE_BIND   "DefaultPreBind"

struct kj_doc;
struct kj_val;

struct sched_doc {
    struct sched_doc *next;
    struct kj_doc *doc;
};

enum { CONFIG_ITEMS_MAX = 256 }; /* of lists that are compared item by item */

/* err: "prefix.text" of what was "text", for a fault that was found further down. */
int config_under(struct kerr *err, const char *fmt, ...) PRINTF(2, 3);
/* "path: Too many: 9: must have at most 8 items" when there are more. */
int config_at_most(size_t n, size_t max, const char *path, struct kerr *err);

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

/* Checks the args as the user wrote them (NULL: none) and replaces them by the full ones. Messages
 * begin with the field. A plugin without a table takes any fields. */
int args_complete(const char *plugin, const struct kj_val *given, struct arena *a,
                  const char **ret_json, struct kerr *err);
/* The plugins with a table, by number; NULL behind the last. */
const char *args_plugin(size_t i);

struct args_table {
    const char *plugin;
    const struct kschema *schema;
    void (*fill)(void *value, struct arena *a);        /* defaults that a table cannot say */
    int (*check)(const void *value, struct kerr *err); /* and what else it cannot */
};
extern const struct args_table args_koord[];
extern const size_t args_koord_n;
int args_range(const char *path, int64_t v, int64_t min, int64_t max, struct kerr *err);
int args_duration(const char *path, struct opt_i64 v, struct kerr *err); /* not negative */

extern const struct kschema args_fit_schema, args_balanced_schema;
int args_fit_check(const void *value, struct kerr *err);
int args_balanced_check(const void *value, struct kerr *err);
extern const struct kschema args_loadaware_schema, args_numa_schema, args_device_schema;
void args_loadaware_fill(void *value, struct arena *a);
int args_loadaware_check(const void *value, struct kerr *err);
int args_numa_check(const void *value, struct kerr *err);
int args_device_check(const void *value, struct kerr *err);

/* ---- plugin_config.c ------------------------------------------------------------------------- */

/* Fills made->args, and completes the profile's own. Messages begin with "pluginConfig". */
int plugin_config_finish(struct sched_config *c, struct sched_profile *p,
                         struct profile_config *made, struct arena *a, struct kerr *err);

/* ---- here.c ---------------------------------------------------------------------------------- */

/* made->points, from the profile's order. */
void here_make(const struct sched_profile *p, struct profile_config *made, struct arena *a);
void here_not_yet(struct sched_config *c, struct arena *a);

/* ---- extender.c ------------------------------------------------------------------------------ */

/* NULL, or what is wrong with the name of an extended resource. */
const char *extended_name_check(const char *name);
int extenders_finish(struct sched_config *c, struct arena *a, struct kerr *err);
/* The resources that some extender takes off NodeResourcesFit, as a JSON array; NULL: none. */
const char *extenders_ignored(const struct sched_config *c, struct arena *a);

extern const struct kschema sched_extender_schema;
#endif
