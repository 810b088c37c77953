/* args.c - MigrationControllerArgs: table, defaults, checks. */
#include "descheduler/migration/args.h"

#include "api/koord/common.h"
#include "api/selector/selector.h"
#include "base/num.h"
#include "component/config.h"
#include "controllers/percent.h"
#include "descheduler/framework/plugin.h"

#define DEFAULT(name, json) static const struct kmeta name = { .def = (json) }
DEFAULT(def_1, "1");
DEFAULT(def_2, "2");
DEFAULT(def_qps, "10");
DEFAULT(def_ttl, "\"5m\"");
DEFAULT(def_interval, "\"500ms\"");
DEFAULT(def_true, "true");
DEFAULT(def_mode, "\"" MIGRATION_MODE_RESERVATION_FIRST "\"");
DEFAULT(def_policy, "\"Eviction\"");
DEFAULT(def_schedulers, "[\"koord-scheduler\"]");
DEFAULT(def_limiters, "{\"workload\":{\"duration\":\"5m\"}}");

static const char *const approval_names[] = { "", "Automatic", "Manual", NULL };
static const struct kmeta meta_approval = { .names = approval_names, .def = "\"Automatic\"" };

static const char *const gate_names[EVICTION_GATES] = {
    [GATE_MAX_UNAVAILABLE_PER_WORKLOAD] = "MaxUnavailablePerWorkload",
    [GATE_MAX_MIGRATING_PER_WORKLOAD] = "MaxMigratingPerWorkload",
    [GATE_MAX_MIGRATING_PER_NODE] = "MaxMigratingPerNode",
    [GATE_MAX_MIGRATING_PER_NAMESPACE] = "MaxMigratingPerNamespace",
    [GATE_MAX_MIGRATING_GLOBALLY] = "MaxMigratingGlobally",
    [GATE_EXPECTED_REPLICAS] = "ExpectedReplicas",
    [GATE_PVC] = "PVC",
    [GATE_BARE_PODS] = "BarePods",
    [GATE_LOCAL_STORAGE] = "LocalStorage",
    [GATE_SYSTEM_CRITICAL] = "SystemCritical",
    [GATE_PRIORITY_THRESHOLD] = "PriorityThreshold",
    [GATE_LABEL_SELECTOR] = "LabelSelector",
    [GATE_NAMESPACES] = "Namespaces",
    [GATE_NODE_FIT] = "NodeFit",
};

/* ---- tables ---------------------------------------------------------------------------------- */

#define STYPE struct priority_threshold
static const struct kfield threshold_fields[] = {
    KF(STYPE, value, "value", KF_OPT_I32, OMIT),
    KF(STYPE, name, "name", KF_STR, OMIT),
};
static const struct kschema threshold_schema =
    KSCHEMA("PriorityThreshold", STYPE, threshold_fields);
#undef STYPE

#define STYPE struct namespaces
static const struct kfield namespaces_fields[] = {
    KF_LIST_OF(STYPE, include, "include", KF_STR, OMIT),
    KF_LIST_OF(STYPE, exclude, "exclude", KF_STR, OMIT),
};
static const struct kschema namespaces_schema = KSCHEMA("Namespaces", STYPE, namespaces_fields);
#undef STYPE

#define STYPE struct object_limiter
static const struct kfield limiter_fields[] = {
    KF(STYPE, duration, "duration", KF_DUR, OMIT),
    KF(STYPE, max_migrating, "maxMigrating", KF_OBJ, OMIT_PTR, .sub = &int_or_str_schema),
    KF(STYPE, burst, "burst", KF_I32, OMIT),
};
static const struct kschema limiter_schema =
    KSCHEMA("MigrationObjectLimiter", STYPE, limiter_fields);
#undef STYPE

#define STYPE struct arbitration_args
static const struct kfield arbitration_fields[] = {
    KF(STYPE, enabled, "enabled", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, interval, "interval", KF_OPT_DUR, .meta = &def_interval),
};
static const struct kschema arbitration_schema =
    KSCHEMA("ArbitrationArgs", STYPE, arbitration_fields);
#undef STYPE

#define STYPE              struct migration_args
#define FLAG(member, json) KF(STYPE, member, json, KF_BOOL, OMIT)
static const struct kfield args_fields[] = {
    FLAG(dry_run, "dryRun"),
    KF(STYPE, max_concurrent_reconciles, "maxConcurrentReconciles", KF_I32, .meta = &def_1),
    FLAG(evict_failed_bare_pods, "evictFailedBarePods"),
    FLAG(evict_all_bare_pods, "evictAllBarePods"),
    FLAG(evict_local_storage_pods, "evictLocalStoragePods"),
    FLAG(evict_system_critical_pods, "evictSystemCriticalPods"),
    FLAG(ignore_pvc_pods, "ignorePvcPods"),
    KF(STYPE, priority_threshold, "priorityThreshold", KF_OBJ, OMIT_PTR, .sub = &threshold_schema),
    KF(STYPE, label_selector, "labelSelector", KF_OBJ, OMIT_PTR, .sub = &label_selector_schema),
    KF(STYPE, namespaces, "namespaces", KF_OBJ, OMIT_PTR, .sub = &namespaces_schema),
    FLAG(node_fit, "nodeFit"),
    KF(STYPE, node_selector_text, "nodeSelector", KF_STR, OMIT),
    KF_LIST_OF(STYPE, skip_eviction_gates, "skipEvictionGates", KF_STR, OMIT),
    KF(STYPE, max_migrating_globally, "maxMigratingGlobally", KF_OPT_I32, OMIT),
    KF(STYPE, max_migrating_per_node, "maxMigratingPerNode", KF_OPT_I32, .meta = &def_2),
    KF(STYPE, max_migrating_per_namespace, "maxMigratingPerNamespace", KF_OPT_I32, OMIT),
    KF(STYPE, max_migrating_per_workload, "maxMigratingPerWorkload", KF_OBJ, OMIT_PTR,
       .sub = &int_or_str_schema),
    KF(STYPE, max_unavailable_per_workload, "maxUnavailablePerWorkload", KF_OBJ, OMIT_PTR,
       .sub = &int_or_str_schema),
    KF(STYPE, skip_check_expected_replicas, "skipCheckExpectedReplicas", KF_OPT_BOOL, OMIT),
    KF_MAP_OF(STYPE, object_limiters, "objectLimiters", KF_OBJ, OMIT, .sub = &limiter_schema,
              .meta = &def_limiters),
    KF(STYPE, default_job_mode, "defaultJobMode", KF_STR, .meta = &def_mode),
    KF(STYPE, default_job_ttl, "defaultJobTTL", KF_OPT_DUR, .meta = &def_ttl),
    KF_LIST_OF(STYPE, scheduler_names, "schedulerNames", KF_STR, .meta = &def_schedulers),
    KF(STYPE, evict_qps_text, "evictQPS", KF_RAW, .meta = &def_qps),
    KF(STYPE, evict_burst, "evictBurst", KF_I32, .meta = &def_1),
    KF(STYPE, eviction_policy, "evictionPolicy", KF_STR, .meta = &def_policy),
    KF(STYPE, default_delete_options, "defaultDeleteOptions", KF_OBJ, OMIT_PTR,
       .sub = &delete_options_schema),
    KF(STYPE, arbitration, "arbitrationArgs", KF_OBJ, .sub = &arbitration_schema),
    KF(STYPE, approval, "approval", KF_ENUM, .meta = &meta_approval),
};
#undef FLAG
#undef STYPE
const struct kschema migration_args_schema =
    KSCHEMA("MigrationControllerArgs", struct migration_args, args_fields);

/* ---- checks ---------------------------------------------------------------------------------- */

static int invalid(struct kerr *err, const char *path, const char *value, const char *what)
{
    return kerr_api(err, -EINVAL, KR_INVALID, "%s: Invalid value: \"%.64s\": %s", path, value,
                    what);
}

static int check_number(const char *path, struct opt_i32 v, struct kerr *err)
{
    return v.set ? config_range(path, v.v, 0, INT32_MAX, err) : 0;
}

/* A number from 0 on, or a percentage. */
static int check_share(const char *path, const struct int_or_str *v, struct kerr *err)
{
    int64_t percent;
    size_t n = v && v->s ? strlen(v->s) : 0;

    if (!v)
        return 0;
    if (!v->s)
        return config_range(path, v->i, 0, INT32_MAX, err);
    if (n < 2 || v->s[n - 1] != '%' || i64_parse(v->s, n - 1, &percent) < 0)
        return invalid(err, path, v->s, "must be a number or a percentage");
    return percent < 0 ? invalid(err, path, v->s, "must not be negative") : 0;
}

static int check_qps(struct migration_args *m, struct kerr *err)
{
    const char *text = m->evict_qps_text;
    size_t n = strlen(text);

    if (n >= 2 && text[0] == '"') {
        text++;
        n -= 2;
    }
    if (f64_parse(text, n, &m->evict_qps) < 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "evictQPS: Invalid value: %.64s: must be a number", m->evict_qps_text);
    if (!(m->evict_qps > 0))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "evictQPS: Invalid value: %.64s: evictQPS must be greater than 0",
                        m->evict_qps_text);
    return 0;
}

static int check_gates(struct migration_args *m, struct kerr *err)
{
    const kstrlist *l = &m->skip_eviction_gates;

    m->skipped = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        unsigned g = 0;
        while (g < EVICTION_GATES && !streq(gate_names[g], l->items[i]))
            g++;
        if (g == EVICTION_GATES)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "skipEvictionGates[%u]: Invalid value: \"%.64s\": unknown eviction "
                            "gate",
                            i, l->items[i]);
        m->skipped |= 1u << g;
    }
    return 0;
}

static int check_limiters(const struct migration_args *m, struct kerr *err)
{
    for (uint32_t i = 0; i < m->object_limiters.n; i++) {
        const struct named_limiter *l = &m->object_limiters.items[i];
        int r = config_duration("duration", l->limiter.duration, err);
        if (r == 0)
            r = check_share("maxMigrating", l->limiter.max_migrating, err);
        if (r == 0)
            r = config_range("burst", l->limiter.burst, 0, INT32_MAX, err);
        if (r < 0)
            return config_under(err, "objectLimiters[%.64s]", l->key);
    }
    return 0;
}

static int check_words(struct migration_args *m, struct arena *a, struct kerr *err)
{
    if (!args_mode_known(m->default_job_mode))
        return invalid(err, "defaultJobMode", m->default_job_mode,
                       "defaultJobMode must be ReservationFirst or EvictDirectly");
    m->policy = (uint8_t)evict_policy_parse(m->eviction_policy);
    if (m->policy == EVICT_POLICY_NONE)
        return invalid(err, "evictionPolicy", m->eviction_policy,
                       "must be Eviction, Delete or SoftEviction");
    if (m->namespaces && m->namespaces->include.n && m->namespaces->exclude.n)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "namespaces: Invalid value: only one of include and exclude can be set");
    m->selector = m->node_selector = NULL;
    if (m->label_selector && labelsel_from(m->label_selector, a, &m->selector, err) < 0)
        return config_under(err, "labelSelector");
    if (*m->node_selector_text &&
        labelsel_parse(m->node_selector_text, strlen(m->node_selector_text), a, &m->node_selector,
                       err) < 0)
        return config_under(err, "nodeSelector");
    return 0;
}

static int check_args(void *args, struct arena *a, struct kerr *err)
{
    struct migration_args *m = args;
    int r =
        config_range("maxConcurrentReconciles", m->max_concurrent_reconciles, 1, INT32_MAX, err);

    if (r == 0)
        r = check_number("maxMigratingGlobally", m->max_migrating_globally, err);
    if (r == 0)
        r = check_number("maxMigratingPerNode", m->max_migrating_per_node, err);
    if (r == 0)
        r = check_number("maxMigratingPerNamespace", m->max_migrating_per_namespace, err);
    if (r == 0)
        r = check_share("maxMigratingPerWorkload", m->max_migrating_per_workload, err);
    if (r == 0)
        r = check_share("maxUnavailablePerWorkload", m->max_unavailable_per_workload, err);
    if (r == 0)
        r = check_qps(m, err);
    if (r == 0)
        r = config_range("evictBurst", m->evict_burst, 1, INT32_MAX, err);
    if (r == 0)
        r = config_duration("defaultJobTTL", m->default_job_ttl.v, err);
    if (r == 0)
        r = config_duration("arbitrationArgs.interval", m->arbitration.interval.v, err);
    if (r == 0)
        r = check_gates(m, err);
    if (r == 0)
        r = check_limiters(m, err);
    return r == 0 ? check_words(m, a, err) : r;
}

const struct kd_args migration_kd_args = { .schema = &migration_args_schema, .check = check_args };

/* ---- reading --------------------------------------------------------------------------------- */

const struct object_limiter *args_limiter(const struct migration_args *a, const char *key)
{
    for (uint32_t i = 0; i < a->object_limiters.n; i++)
        if (streq(a->object_limiters.items[i].key, key))
            return a->object_limiters.items[i].limiter.duration > 0
                       ? &a->object_limiters.items[i].limiter
                       : NULL;
    return NULL;
}

bool args_mode_known(const char *mode)
{
    return streq(mode, MIGRATION_MODE_RESERVATION_FIRST) ||
           streq(mode, MIGRATION_MODE_EVICT_DIRECTLY);
}

int64_t max_of(int64_t replicas, const struct int_or_str *given)
{
    int64_t n;

    if (given)
        n = MAX(int_or_percent(given, replicas, false), (int64_t)1);
    else
        n = replicas > 10 ? replicas / 10 : replicas >= 4 ? 2 : 1;
    return MIN(n, replicas);
}
