/* tables.c - the fields of a configuration file, with their defaults. */
#include "descheduler/config/config_int.h"

#define DEFAULT(name, json) static const struct kmeta name = { .def = (json) }
DEFAULT(def_true, "true");

#define STYPE struct desched_plugin_name
static const struct kfield plugin_fields[] = {
    KF(STYPE, name, "name", KF_STR),
};
static const struct kschema plugin_schema = KSCHEMA("Plugin", STYPE, plugin_fields);
#undef STYPE

#define STYPE struct desched_plugin_set
static const struct kfield plugin_set_fields[] = {
    KF_LIST_OF(STYPE, enabled, "enabled", KF_OBJ, .sub = &plugin_schema, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, disabled, "disabled", KF_OBJ, .sub = &plugin_schema, .flags = KF_OMITEMPTY),
};
static const struct kschema plugin_set_schema = KSCHEMA("PluginSet", STYPE, plugin_set_fields);
#undef STYPE

#define STYPE            struct desched_plugins
#define POINT(at, json_) KF(STYPE, points[at], json_, KF_OBJ, .sub = &plugin_set_schema)
static const struct kfield plugins_fields[] = {
    POINT(KD_DESCHEDULE, "deschedule"),
    POINT(KD_BALANCE, "balance"),
    POINT(KD_EVICT, "evict"),
    POINT(KD_FILTER, "filter"),
};
static const struct kschema plugins_schema = KSCHEMA("Plugins", STYPE, plugins_fields);
#undef POINT
#undef STYPE

#define STYPE struct desched_plugin_config
static const struct kfield plugin_config_fields[] = {
    KF(STYPE, name, "name", KF_STR),
    KF(STYPE, args, "args", KF_RAW, .flags = KF_OMITEMPTY),
};
static const struct kschema plugin_config_schema =
    KSCHEMA("PluginConfig", STYPE, plugin_config_fields);
#undef STYPE

#define STYPE struct desched_profile
static const struct kfield profile_fields[] = {
    KF(STYPE, name, "name", KF_STR),
    KF(STYPE, node_selector, "nodeSelector", KF_OBJ, .sub = &label_selector_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF(STYPE, plugins, "plugins", KF_OBJ, .sub = &plugins_schema),
    KF_LIST_OF(STYPE, plugin_config, "pluginConfig", KF_OBJ, .sub = &plugin_config_schema),
};
static const struct kschema profile_schema = KSCHEMA("DeschedulerProfile", STYPE, profile_fields);
#undef STYPE

#define STYPE struct desched_config
static const struct kfield config_fields[] = {
    KF(STYPE, election, "leaderElection", KF_OBJ, .sub = &election_config_schema),
    KF(STYPE, client, "clientConnection", KF_OBJ, .sub = &client_config_schema),
    KF(STYPE, profiling, "enableProfiling", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, contention_profiling, "enableContentionProfiling", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, healthz_address, "healthzBindAddress", KF_STR),
    KF(STYPE, metrics_address, "metricsBindAddress", KF_STR),
    KF(STYPE, interval, "deschedulingInterval", KF_DUR),
    KF(STYPE, dry_run, "dryRun", KF_BOOL),
    KF(STYPE, node_selector, "nodeSelector", KF_OBJ, .sub = &label_selector_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF(STYPE, limits.per_node, "maxNoOfPodsToEvictPerNode", KF_OPT_I64, .flags = KF_OMITEMPTY),
    KF(STYPE, limits.per_namespace, "maxNoOfPodsToEvictPerNamespace", KF_OPT_I64,
       .flags = KF_OMITEMPTY),
    KF(STYPE, limits.total, "maxNoOfPodsToEvictTotal", KF_OPT_I64, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, profiles, "profiles", KF_OBJ, .sub = &profile_schema),
};
const struct kschema desched_config_schema = KSCHEMA(DESCHED_CONFIG_KIND, STYPE, config_fields);
#undef STYPE
