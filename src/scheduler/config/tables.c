/* tables.c - the fields of a configuration file, with their defaults. */
#include "scheduler/config/config_int.h"

#define DEFAULT(name, json) static const struct kmeta name = { .def = (json) }
DEFAULT(def_true, "true");
DEFAULT(def_0, "0");
DEFAULT(def_1, "1");
DEFAULT(def_10, "10");
DEFAULT(def_16, "16");

/* ---- profiles -------------------------------------------------------------------------------- */

#define STYPE struct sched_plugin
static const struct kfield plugin_fields[] = {
    KF(STYPE, name, "name", KF_STR),
    KF(STYPE, weight, "weight", KF_I32, .flags = KF_OMITEMPTY),
};
static const struct kschema plugin_schema = KSCHEMA("Plugin", STYPE, plugin_fields);
#undef STYPE

#define STYPE struct sched_plugin_set
static const struct kfield plugin_set_fields[] = {
    KF_LIST_OF(STYPE, enabled, "enabled", KF_OBJ, .sub = &plugin_schema, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, disabled, "disabled", KF_OBJ, .sub = &plugin_schema, .flags = KF_OMITEMPTY),
};
static const struct kschema plugin_set_schema = KSCHEMA("PluginSet", STYPE, plugin_set_fields);
#undef STYPE

#define STYPE            struct sched_plugins
#define POINT(at, json_) KF(STYPE, points[at], json_, KF_OBJ, .sub = &plugin_set_schema)
static const struct kfield plugins_fields[] = {
    POINT(KS_POINT_PRE_ENQUEUE, "preEnqueue"),
    POINT(KS_POINT_QUEUE_SORT, "queueSort"),
    POINT(KS_POINT_PRE_FILTER, "preFilter"),
    POINT(KS_POINT_FILTER, "filter"),
    POINT(KS_POINT_POST_FILTER, "postFilter"),
    POINT(KS_POINT_PRE_SCORE, "preScore"),
    POINT(KS_POINT_SCORE, "score"),
    POINT(KS_POINT_RESERVE, "reserve"),
    POINT(KS_POINT_PERMIT, "permit"),
    POINT(KS_POINT_PRE_BIND, "preBind"),
    POINT(KS_POINT_BIND, "bind"),
    POINT(KS_POINT_POST_BIND, "postBind"),
    KF(STYPE, multi_point, "multiPoint", KF_OBJ, .sub = &plugin_set_schema),
};
static const struct kschema plugins_schema = KSCHEMA("Plugins", STYPE, plugins_fields);
#undef POINT
#undef STYPE

#define STYPE struct sched_plugin_config
static const struct kfield plugin_config_fields[] = {
    KF(STYPE, name, "name", KF_STR),
    KF(STYPE, args, "args", KF_RAW, .flags = KF_OMITEMPTY),
};
static const struct kschema plugin_config_schema =
    KSCHEMA("PluginConfig", STYPE, plugin_config_fields);
#undef STYPE

#define STYPE struct sched_profile
static const struct kfield profile_fields[] = {
    KF(STYPE, scheduler_name, "schedulerName", KF_STR),
    KF(STYPE, percentage, "percentageOfNodesToScore", KF_OPT_I32, .flags = KF_OMITEMPTY),
    KF(STYPE, plugins, "plugins", KF_OBJ, .sub = &plugins_schema),
    KF_LIST_OF(STYPE, plugin_config, "pluginConfig", KF_OBJ, .sub = &plugin_config_schema),
};
static const struct kschema profile_schema = KSCHEMA("KubeSchedulerProfile", STYPE, profile_fields);
#undef STYPE

/* ---- the whole ------------------------------------------------------------------------------- */

#define STYPE struct sched_config
static const struct kfield config_fields[] = {
    KF(STYPE, parallelism, "parallelism", KF_OPT_I32, .meta = &def_16),
    KF(STYPE, election, "leaderElection", KF_OBJ, .sub = &election_config_schema),
    KF(STYPE, client, "clientConnection", KF_OBJ, .sub = &client_config_schema),
    KF(STYPE, profiling, "enableProfiling", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, contention_profiling, "enableContentionProfiling", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, percentage, "percentageOfNodesToScore", KF_OPT_I32, .meta = &def_0),
    KF(STYPE, backoff_initial, "podInitialBackoffSeconds", KF_OPT_I64, .meta = &def_1),
    KF(STYPE, backoff_max, "podMaxBackoffSeconds", KF_OPT_I64, .meta = &def_10),
    KF_LIST_OF(STYPE, profiles, "profiles", KF_OBJ, .sub = &profile_schema),
    KF_LIST_OF(STYPE, extenders, "extenders", KF_OBJ, .sub = &sched_extender_schema,
               .flags = KF_OMITEMPTY),
    KF(STYPE, delay_cache, "delayCacheUntilActive", KF_BOOL),
};
const struct kschema sched_config_schema = KSCHEMA(CONFIG_KIND, STYPE, config_fields);
#undef STYPE
