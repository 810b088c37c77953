/* config.h - KubeSchedulerConfiguration v1: read, defaulted, checked, and made into profiles
 * (scheduler-core 4, 9.1-9.3).
 *
 * The kind of component/config.h: config_load(&sched_config_spec, ...) gives a refcounted struct
 * config whose value is a struct sched_config, and config_watch_new() reads it again when the file
 * changes. What the file leaves out is filled in, so that the value is what is in force. Strings
 * live as long as the struct config. Loop thread.
 */
#ifndef KOORD_SCHEDULER_CONFIG_H
#define KOORD_SCHEDULER_CONFIG_H
#include "component/common_config.h"
#include "component/config.h"
#include "scheduler/framework/profile.h"
#include "json/schema.h"

/* ---- profiles -------------------------------------------------------------------------------- */

struct sched_plugin {
    const char *name;
    int32_t weight;
};
typedef KLIST(struct sched_plugin) sched_plugin_list;
struct sched_plugin_set {
    sched_plugin_list enabled, disabled;
};
struct sched_plugins {
    struct sched_plugin_set points[KS_POINTS], multi_point;
};
struct sched_plugin_config {
    const char *name;
    const char *args; /* JSON with all defaults, as far as the plugin's table is known */
};
struct sched_profile {
    const char *scheduler_name;
    struct opt_i32 percentage; /* checked, then without effect: all nodes are scored */
    struct sched_plugins plugins;
    KLIST(struct sched_plugin_config) plugin_config;
    /* Made of these: who takes part where, in order, with plugins that are not here yet. */
    struct profile_set order[KS_POINTS];
};

/* ---- extenders ------------------------------------------------------------------------------- */

struct sched_extender_tls {
    bool insecure;
    const char *server_name, *cert_file, *key_file, *ca_file;
    const char *cert_data, *key_data, *ca_data; /* base64 */
};
struct sched_managed {
    const char *name;
    bool ignored_by_scheduler;
};
struct sched_extender {
    const char *url_prefix, *filter_verb, *preempt_verb, *prioritize_verb, *bind_verb;
    int64_t weight;
    bool https, node_cache_capable, ignorable;
    struct sched_extender_tls *tls; /* NULL when absent */
    nsec_t timeout;
    KLIST(struct sched_managed) managed;
};

/* ---- the whole ------------------------------------------------------------------------------- */

struct sched_config {
    struct opt_i32 parallelism;
    struct election_config election;
    struct client_config client;
    struct opt_bool profiling, contention_profiling;
    struct opt_i32 percentage;                   /* as in a profile */
    struct opt_i64 backoff_initial, backoff_max; /* seconds */
    KLIST(struct sched_profile) profiles;
    KLIST(struct sched_extender) extenders; /* those that may not be ignored come first */
    bool delay_cache;

    /* Made of these. */
    struct profile_config
        *made;                  /* one a profile, for profile_new(); without what is not here yet */
    const char *const *not_yet; /* enabled plugins that are not here yet; ends with NULL */
};
extern const struct config_spec sched_config_spec;
extern const struct kschema sched_config_schema;

/* What runs without a configuration file: the profile that Koordinator ships (9.2). */
int sched_config_shipped(struct config **ret, struct kerr *err);
/* The one of Koordinator's Helm chart, which also keeps pods from nodes under load (api-config 9).
 */
int sched_config_chart(struct config **ret, struct kerr *err);

/* The configuration in force as JSON: reading it again gives the same. Without secrets the private
 * keys of extenders are left out. */
void sched_config_write(const struct sched_config *c, bool secrets, struct strbuf *out);
#endif
