/* args.c - which pods are protected: by the two lists, or by the older booleans. */
#include "descheduler/plugins/defaultevictor/args.h"

#include "api/selector/selector.h"
#include "component/config.h"

enum { SYSTEM_CRITICAL = 2000000000 };

#define STYPE struct evictor_threshold
static const struct kfield threshold_fields[] = {
    KF(STYPE, value, "value", KF_OPT_I32, .flags = KF_OMITEMPTY),
    KF(STYPE, name, "name", KF_STR, .flags = KF_OMITEMPTY),
};
static const struct kschema threshold_schema =
    KSCHEMA("PriorityThreshold", STYPE, threshold_fields);
#undef STYPE
#define STYPE struct evictor_storage_class
static const struct kfield storage_class_fields[] = { KF(STYPE, name, "name", KF_STR) };
static const struct kschema storage_class_schema =
    KSCHEMA("ProtectedStorageClass", STYPE, storage_class_fields);
#undef STYPE
#define STYPE struct evictor_pvc_config
static const struct kfield pvc_fields[] = {
    KF_LIST_OF(STYPE, storage_classes, "protectedStorageClasses", KF_OBJ,
               .sub = &storage_class_schema, .flags = KF_OMITEMPTY),
};
static const struct kschema pvc_schema = KSCHEMA("PodsWithPVCConfig", STYPE, pvc_fields);
#undef STYPE
#define STYPE struct evictor_protection_config
static const struct kfield protection_config_fields[] = {
    KF(STYPE, pvc, "PodsWithPVC", KF_OBJ, .sub = &pvc_schema, .flags = KF_PTR | KF_OMITEMPTY),
};
static const struct kschema protection_config_schema =
    KSCHEMA("PodProtectionsConfig", STYPE, protection_config_fields);
#undef STYPE
#define STYPE struct evictor_protections
static const struct kfield protections_fields[] = {
    KF_LIST_OF(STYPE, extra, "extraEnabled", KF_STR, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, disabled, "defaultDisabled", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, config, "config", KF_OBJ, .sub = &protection_config_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
};
static const struct kschema protections_schema =
    KSCHEMA("PodProtections", STYPE, protections_fields);
#undef STYPE
#define STYPE struct evictor_args
static const struct kfield args_fields[] = {
    KF(STYPE, node_selector, "nodeSelector", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, local_storage, "evictLocalStoragePods", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, daemon_sets, "evictDaemonSetPods", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, system_critical, "evictSystemCriticalPods", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, ignore_pvc, "ignorePvcPods", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, failed_bare, "evictFailedBarePods", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, ignore_without_pdb, "ignorePodsWithoutPDB", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, node_fit, "nodeFit", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, label_selector, "labelSelector", KF_OBJ, .sub = &label_selector_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF(STYPE, namespace_selector, "namespaceLabelSelector", KF_OBJ, .sub = &label_selector_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF(STYPE, threshold, "priorityThreshold", KF_OBJ, .sub = &threshold_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF(STYPE, min_replicas, "minReplicas", KF_I64, .flags = KF_OMITEMPTY),
    KF(STYPE, min_age, "minPodAge", KF_OPT_DUR, .flags = KF_OMITEMPTY),
    KF(STYPE, no_eviction, "noEvictionPolicy", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, protections, "podProtections", KF_OBJ, .sub = &protections_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
};
static const struct kschema args_schema = KSCHEMA("DefaultEvictorArgs", STYPE, args_fields);
#undef STYPE

/* ---- protections ------------------------------------------------------------------------------ */

static const char *const names[PROTECTIONS] = {
    [PROTECT_LOCAL_STORAGE] = "PodsWithLocalStorage",
    [PROTECT_SYSTEM_CRITICAL] = "SystemCriticalPods",
    [PROTECT_FAILED_BARE] = "FailedBarePods",
    [PROTECT_DAEMON_SET] = "DaemonSetPods",
    [PROTECT_PVC] = "PodsWithPVC",
    [PROTECT_WITHOUT_PDB] = "PodsWithoutPDB",
    [PROTECT_RESOURCE_CLAIMS] = "PodsWithResourceClaims",
};

static int apply_list(struct evictor_args *x, const kstrlist *l, const char *path, int from, int to,
                      bool on, struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++) {
        int p = from;
        while (p < to && !streq(names[p], l->items[i]))
            p++;
        if (p == to)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "podProtections.%s[%u]: Invalid value: \"%.64s\": no such protection",
                            path, i, l->items[i]);
        for (uint32_t j = 0; j < i; j++)
            if (streq(l->items[i], l->items[j]))
                return kerr_api(err, -EINVAL, KR_INVALID,
                                "podProtections.%s[%u]: Duplicate value: \"%.64s\"", path, i,
                                l->items[i]);
        x->protects[p] = on;
    }
    return 0;
}

/* The lists and the older booleans do not mix. */
static int check_lists(const struct evictor_args *x, struct kerr *err)
{
    const struct evictor_protections *p = x->protections;

    if (x->local_storage || x->daemon_sets || x->system_critical || x->ignore_pvc ||
        x->failed_bare || x->ignore_without_pdb)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "podProtections: Forbidden: extraEnabled and defaultDisabled cannot be "
                        "used with the booleans evict... and ignore...");
    if (!p->config || !p->config->pvc)
        return 0;
    for (uint32_t i = 0; i < p->config->pvc->storage_classes.n; i++)
        if (!*p->config->pvc->storage_classes.items[i].name)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "podProtections.config.PodsWithPVC.protectedStorageClasses[%u].name: "
                            "Required value: must not be empty",
                            i);
    return 0;
}

static int set_protections(struct evictor_args *x, struct kerr *err)
{
    const struct evictor_protections *p = x->protections;

    if (!p || (p->extra.n == 0 && p->disabled.n == 0)) {
        x->protects[PROTECT_LOCAL_STORAGE] = !x->local_storage;
        x->protects[PROTECT_SYSTEM_CRITICAL] = !x->system_critical;
        x->protects[PROTECT_FAILED_BARE] = !x->failed_bare;
        x->protects[PROTECT_DAEMON_SET] = !x->daemon_sets;
        x->protects[PROTECT_PVC] = x->ignore_pvc;
        x->protects[PROTECT_WITHOUT_PDB] = x->ignore_without_pdb;
        return 0;
    }
    for (int i = PROTECT_LOCAL_STORAGE; i < PROTECT_PVC; i++)
        x->protects[i] = true;
    int r = check_lists(x, err);
    if (r == 0)
        r = apply_list(x, &p->disabled, "defaultDisabled", 0, PROTECT_PVC, false, err);
    return r == 0 ? apply_list(x, &p->extra, "extraEnabled", PROTECT_PVC, PROTECTIONS, true, err)
                  : r;
}

/* ---- checks ----------------------------------------------------------------------------------- */

static int check_threshold(const struct evictor_threshold *t, struct kerr *err)
{
    if (!t)
        return 0;
    if (t->value.set && *t->name)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "priorityThreshold: Invalid value: only one of value and name can be set");
    if (t->value.set && t->value.v > SYSTEM_CRITICAL)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "priorityThreshold.value: Invalid value: %d: can't be greater than %d",
                        (int)t->value.v, SYSTEM_CRITICAL);
    return 0;
}

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct evictor_args *x = args;
    int r = set_protections(x, err);

    if (r == 0)
        r = check_threshold(x->threshold, err);
    if (r == 0)
        r = config_range("minReplicas", x->min_replicas, 0, INT64_MAX, err);
    if (r == 0)
        r = config_duration("minPodAge", x->min_age.v, err);
    if (r == 0 && *x->no_eviction && !streq(x->no_eviction, "Preferred") &&
        !streq(x->no_eviction, "Mandatory"))
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "noEvictionPolicy: Unsupported value: \"%.64s\": supported values: "
                     "\"Preferred\", \"Mandatory\"",
                     x->no_eviction);
    if (r == 0)
        r = args_selector_compile(x->label_selector, "labelSelector", a, &x->labels, err);
    if (r == 0)
        r = args_selector_compile(x->namespace_selector, "namespaceLabelSelector", a,
                                  &x->namespaces, err);
    if (r == 0 && *x->node_selector &&
        labelsel_parse(x->node_selector, strlen(x->node_selector), a, &x->nodes, err) < 0)
        r = kerr_wrap(err, "nodeSelector");
    return r;
}

const struct kd_args defaultevictor_args = { .schema = &args_schema, .check = check };
