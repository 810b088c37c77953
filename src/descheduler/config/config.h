/* config.h - DeschedulerConfiguration v1alpha2: read, defaulted, checked, and made into profiles
 * (descheduler 1.2).
 *
 * The kind of component/config.h: config_load(&desched_config_spec, ...) gives a refcounted struct
 * config whose value is a struct desched_config, and config_watch_new() reads it again when the
 * file changes. What the file leaves out is filled in, so that the value is what is in force.
 * Strings live as long as the struct config. Loop thread.
 */
#ifndef KOORD_DESCHEDULER_CONFIG_H
#define KOORD_DESCHEDULER_CONFIG_H
#include "api/types.h"
#include "component/common_config.h"
#include "component/config.h"
#include "descheduler/framework/profile.h"

#define DESCHED_CONFIG_API_VERSION "descheduler/v1alpha2"
#define DESCHED_CONFIG_KIND        "DeschedulerConfiguration"

struct desched_plugin_name {
    const char *name;
};
typedef KLIST(struct desched_plugin_name) desched_plugin_names;
struct desched_plugin_set {
    desched_plugin_names enabled, disabled;
};
struct desched_plugins {
    struct desched_plugin_set points[KD_POINTS];
};
struct desched_plugin_config {
    const char *name;
    const char *args; /* JSON with all defaults */
};
struct desched_profile {
    const char *name;
    struct label_selector *node_selector; /* NULL: all nodes */
    struct desched_plugins plugins;       /* enabled: merged with the defaults */
    KLIST(struct desched_plugin_config) plugin_config;
};
struct desched_config {
    struct election_config election;
    struct client_config client;
    struct opt_bool profiling, contention_profiling;
    const char *healthz_address, *metrics_address; /* "0.0.0.0:10251" */
    nsec_t interval;                               /* 0: one round */
    bool dry_run;
    struct label_selector *node_selector;
    struct kd_limits limits;
    KLIST(struct desched_profile) profiles;

    /* Made of these. */
    struct kd_profile_config *made; /* one for each profile */
    const struct labelsel *nodes;   /* NULL: all */
};
extern const struct config_spec desched_config_spec;
extern const struct kschema desched_config_schema;

/* The one of Koordinator's chart (api-config 7): jobs are carried out, and no plugin starts any. */
int desched_config_chart(struct config **ret, struct kerr *err);
/* The configuration in force as JSON: reading it again gives the same. */
void desched_config_write(const struct desched_config *c, struct strbuf *out);
#endif
