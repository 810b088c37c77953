/* args.c - ElasticQuotaArgs: table, defaults, checks (scheduler-core 9.3, api-config 4.2). */
#include "scheduler/plugins/elasticquota/args.h"

#include "component/config.h"
#include "scheduler/framework/args.h"

ARGS_DEFAULT(def_true, "true");
ARGS_DEFAULT(def_false, "false");
ARGS_DEFAULT(def_1s, "\"1s\"");
ARGS_DEFAULT(def_120s, "\"120s\"");
#define OMIT  .flags = KF_OMITEMPTY

#define STYPE struct quota_hook
static const struct kfield quota_hook_fields[] = {
    KF(STYPE, key, "key", KF_STR, OMIT),
    KF(STYPE, factory, "factoryKey", KF_STR, OMIT),
    KF(STYPE, args, "factoryArgs", KF_STR, OMIT),
};
static const struct kschema quota_hook_schema = KSCHEMA("HookPluginConf", STYPE, quota_hook_fields);
#undef STYPE

/* A fifth of the largest number, so that sums of a few do not overflow. */
ARGS_DEFAULT(def_group_max, "{\"cpu\":\"1844674407370955161\",\"memory\":\"1844674407370955161\"}");
ARGS_DEFAULT(def_quota_ns, "\"koordinator-system\"");
#define STYPE struct quota_args
static const struct kfield quota_fields[] = {
    KF(STYPE, delay_evict, "delayEvictTime", KF_OPT_DUR, .meta = &def_120s),
    KF(STYPE, revoke, "revokePodInterval", KF_OPT_DUR, .meta = &def_1s),
    KF_MAP_OF(STYPE, default_max, "defaultQuotaGroupMax", KF_QTY, .meta = &def_group_max),
    KF_MAP_OF(STYPE, system_max, "systemQuotaGroupMax", KF_QTY, .meta = &def_group_max),
    KF(STYPE, ns, "quotaGroupNamespace", KF_STR, .meta = &def_quota_ns),
    KF(STYPE, monitor_all, "monitorAllQuotas", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, check_parent, "enableCheckParentQuota", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, runtime, "enableRuntimeQuota", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, scale_min, "enableMinQuotaScale", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, spare_default, "disableDefaultQuotaPreemption", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, hint, "enableQueueHint", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, snapshot, "quotaSnapshotUpdateInterval", KF_OPT_DUR, .meta = &def_120s),
    KF_LIST_OF(STYPE, hooks, "hookPlugins", KF_OBJ, .sub = &quota_hook_schema, OMIT),
};
static const struct kschema quota_schema = KSCHEMA("ElasticQuotaArgs", STYPE, quota_fields);
#undef STYPE

static int check_amounts(const reslist *l, const char *path, struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (qty_sign(l->items[i].value) < 0)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "%s[%.64s]: Invalid value: must not be negative", path,
                            l->items[i].name);
    return 0;
}

static int quota_check(const void *value, struct kerr *err)
{
    const struct quota_args *q = value;
    int r = config_duration("delayEvictTime", q->delay_evict.v, err);

    if (r == 0)
        r = config_duration("revokePodInterval", q->revoke.v, err);
    if (r == 0)
        r = check_amounts(&q->default_max, "defaultQuotaGroupMax", err);
    if (r == 0)
        r = check_amounts(&q->system_max, "systemQuotaGroupMax", err);
    return r;
}

const struct ks_args quota_args = { .schema = &quota_schema, .check = quota_check };
