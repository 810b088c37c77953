/* storage.c - persistent volumes and claims, storage classes and what drivers publish.
 */
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "base/ktime.h"

static const char *const access_modes[] = { "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                            "ReadWriteOncePod", NULL };
static const char *const volume_modes[] = { "Block", "Filesystem", NULL };

static void check_access_modes(struct check *c, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        check_enum(c, "spec.accessModes", kj_str_or(v, ""), access_modes, false);
}

/* ---- volumes --------------------------------------------------------------------------------- */

static void pv_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                       const struct kj_val *old, nsec_t now)
{
    char when[KTIME_TEXT_MAX];

    prepare_status(verb, d, obj, old, "", "PersistentVolume");
    ktime_format(now, when);
    struct kj_mval *status = kj_mget(obj, "status");
    if (verb == RES_CREATE ||
        (verb == RES_STATUS &&
         !streq(m_str(status, "phase"), kj_str_or(kj_path(old, "status.phase"), ""))))
        kj_mset(d, status, "lastPhaseTransitionTime", kj_mstr(d, when));
}

static const char *const pv_sources[] = { "gcePersistentDisk",
                                          "awsElasticBlockStore",
                                          "hostPath",
                                          "glusterfs",
                                          "nfs",
                                          "rbd",
                                          "iscsi",
                                          "cinder",
                                          "cephfs",
                                          "fc",
                                          "flocker",
                                          "flexVolume",
                                          "azureFile",
                                          "vsphereVolume",
                                          "quobyte",
                                          "azureDisk",
                                          "photonPersistentDisk",
                                          "portworxVolume",
                                          "scaleIO",
                                          "local",
                                          "storageos",
                                          "csi" };

static void check_pv_source(struct check *c, const struct kj_val *spec)
{
    bool any = false;

    for (size_t i = 0; i < ARRAY_LEN(pv_sources); i++) {
        if (!v_has(spec, pv_sources[i]))
            continue;
        if (any)
            err_forbidden(c, at(c, "spec.%s", pv_sources[i]),
                          "may not specify more than 1 volume type");
        any = true;
    }
    if (!any)
        err_required(c, "spec", "must specify a volume type");
    if (v_has(spec, "local") && !v_has(spec, "nodeAffinity"))
        err_required(c, "spec.nodeAffinity", "Local volume requires node affinity");
    if (v_has(kj_get(spec, "nodeAffinity"), "required"))
        check_node_selector(c, "spec.nodeAffinity.required",
                            kj_path(spec, "nodeAffinity.required"));
}

static void pv_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                        struct field_errors *errors)
{
    static const char *const policies[] = { "Delete", "Recycle", "Retain", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *capacity = kj_get(spec, "capacity");
    struct qty q;

    if (verb == RES_STATUS)
        return;
    if (kj_len(kj_get(spec, "accessModes")) == 0)
        err_required(&c, "spec.accessModes", "");
    check_access_modes(&c, kj_get(spec, "accessModes"));
    if (kj_len(capacity) == 0)
        err_required(&c, "spec.capacity", "");
    if (!v_has(capacity, "storage") || kj_len(capacity) > 1)
        field_error(errors, FIELD_NOT_SUPPORTED, "spec.capacity", as_json(&c, capacity),
                    "supported values: \"storage\"");
    else if (v_qty(capacity, "storage", &q) && qty_sign(q) <= 0)
        err_invalid(&c, "spec.capacity[storage]", v_str(capacity, "storage"),
                    "must be greater than zero");
    check_enum(&c, "spec.persistentVolumeReclaimPolicy",
               v_str(spec, "persistentVolumeReclaimPolicy"), policies, true);
    check_pv_source(&c, spec);
    check_enum(&c, "spec.volumeMode", v_str(spec, "volumeMode"), volume_modes, true);
    for (size_t i = 0; verb == RES_UPDATE && i < ARRAY_LEN(pv_sources); i++) {
        const struct kj_val *a = kj_get(spec, pv_sources[i]);
        const struct kj_val *b = kj_path(old, "spec");
        b = kj_get(b, pv_sources[i]);
        if ((a || b) && !(a && b && kj_equal(a, b))) {
            err_forbidden(&c, "spec.persistentvolumesource",
                          "spec.persistentvolumesource is immutable after creation");
            break;
        }
    }
}

static void pv_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                    const struct kj_val *old)
{
    static const char *const notes[][2] = {
        { "volume.beta.kubernetes.io/storage-class",
          "deprecated since v1.8; use \"storageClassName\" attribute instead" },
        { "volume.beta.kubernetes.io/mount-options",
          "deprecated since v1.31; use \"mountOptions\" attribute instead" },
    };
    /* Not those of flocker and quobyte, which are no better. */
    static const char *const gone[][3] = {
        { "cephfs", "cephfs", "v1.28, non-functional in v1.31+" },
        { "photonPersistentDisk", "photonPersistentDisk", "v1.11, non-functional in v1.16+" },
        { "scaleIO", "scaleIO", "v1.16, non-functional in v1.22+" },
        { "storageos", "storageOS", "v1.22, non-functional in v1.25+" },
        { "glusterfs", "glusterfs", "v1.25, non-functional in v1.26+" },
        { "rbd", "rbd", "v1.28, non-functional in v1.31+" },
    };
    const struct kj_val *spec = kj_get(obj, "spec"), *v;
    struct kj_iter it = kj_iter(kj_path(spec, "nodeAffinity.required.nodeSelectorTerms"));

    (void)old;
    if (verb == RES_STATUS)
        return;
    for (size_t i = 0; i < ARRAY_LEN(notes); i++)
        if (kj_get(kj_path(obj, "metadata.annotations"), notes[i][0]))
            api_warn(call, "metadata.annotations[%s]: %s", notes[i][0], notes[i][1]);
    if (streq(v_str(spec, "persistentVolumeReclaimPolicy"), "Recycle"))
        api_warn(call, "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is "
                       "deprecated. Instead, the recommended approach is to use dynamic "
                       "provisioning.");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_node_terms(call, kj_get(v, "matchExpressions"),
                           "spec.nodeAffinity.required.nodeSelectorTerms[%zu]", i);
    for (size_t i = 0; i < ARRAY_LEN(gone); i++)
        if (v_has(spec, gone[i][0]))
            api_warn(call, "spec.%s: deprecated in %s", gone[i][1], gone[i][2]);
}

const struct res_strategy pv_strategy = { .prepare = pv_prepare,
                                          .validate = pv_validate,
                                          .warn = pv_warn };

/* ---- claims ---------------------------------------------------------------------------------- */

static bool has_mode(const struct kj_val *modes, const char *mode)
{
    struct kj_iter it = kj_iter(modes);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(kj_str_or(v, ""), mode))
            return true;
    return false;
}

void check_pvc_spec(struct check *c, const char *path, const struct kj_val *spec)
{
    const struct kj_val *modes = kj_get(spec, "accessModes"), *v;
    const struct kj_val *requests = kj_path(spec, "resources.requests");
    struct kj_iter it = kj_iter(modes);
    struct qty q;

    if (kj_len(modes) == 0)
        err_required(c, at(c, "%s.accessModes", path), "at least 1 access mode is required");
    while (kj_next(&it, NULL, &v))
        check_enum(c, at(c, "%s.accessModes", path), kj_str_or(v, ""), access_modes, false);
    if (kj_len(modes) > 1 && has_mode(modes, "ReadWriteOncePod"))
        err_forbidden(c, at(c, "%s.accessModes", path),
                      "may not use ReadWriteOncePod with other access modes");
    if (!v_qty(requests, "storage", &q))
        err_required(c, at(c, "%s.resources[storage]", path), "");
    else if (qty_sign(q) <= 0)
        err_invalid(c, at(c, "%s.resources[storage]", path), v_str(requests, "storage"),
                    "must be greater than zero");
    if (*v_str(spec, "storageClassName"))
        check_dns_subdomain(c, at(c, "%s.storageClassName", path), v_str(spec, "storageClassName"));
    check_enum(c, at(c, "%s.volumeMode", path), v_str(spec, "volumeMode"), volume_modes, true);
    if (v_has(spec, "selector"))
        check_label_selector(c, at(c, "%s.selector", path), kj_get(spec, "selector"));
}

PREPARE_STATUS(pvc_prepare, "", "PersistentVolumeClaim")

static const char class_note[] = "volume.beta.kubernetes.io/storage-class";

/* The class by the annotation that came before the field; NULL: none. */
static const char *noted_class(const struct kj_val *claim)
{
    return kj_str(kj_get(kj_path(claim, "metadata.annotations"), class_note));
}

/* A class may be given to a claim that has none, but not another than its annotation says. */
static bool may_get_class(const struct kj_val *claim, const struct kj_val *old)
{
    const char *class = kj_str(kj_path(claim, "spec.storageClassName")), *noted = noted_class(old);

    return class && !kj_path(old, "spec.storageClassName") && (!noted || streq(class, noted));
}

static bool claim_is_kept(const struct kj_val *claim, const struct kj_val *old)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    const struct kj_val *spec = kj_get(claim, "spec"), *old_spec = kj_get(old, "spec");
    struct kj_mval *a = kj_mcopy(d, spec), *b = kj_mcopy(d, old_spec);

    if (!*v_str(old_spec, "volumeName")) /* the binder fills it in */
        kj_mdel(a, "volumeName", strlen("volumeName"));
    if (streq(v_str(kj_get(old, "status"), "phase"), "Bound")) {
        struct kj_mval *ra = kj_mget(kj_mget(a, "resources"), "requests");
        struct kj_mval *rb = kj_mget(kj_mget(b, "resources"), "requests");
        if (ra && rb) {
            kj_mdel(ra, "storage", strlen("storage"));
            kj_mdel(rb, "storage", strlen("storage"));
        }
        kj_mdel(a, "volumeAttributesClassName", strlen("volumeAttributesClassName"));
        kj_mdel(b, "volumeAttributesClassName", strlen("volumeAttributesClassName"));
    }
    if (may_get_class(claim, old))
        kj_mdel(a, "storageClassName", strlen("storageClassName"));
    return kj_mequal(a, b);
}

/* A request that grew may be taken back while the volume has not grown; volumes never shrink. */
static void check_claim_size(struct check *c, const struct kj_val *claim, const struct kj_val *old)
{
    struct qty now = { 0 }, was = { 0 }, has = { 0 };

    (void)v_qty(kj_path(claim, "spec.resources.requests"), "storage", &now);
    (void)v_qty(kj_path(old, "spec.resources.requests"), "storage", &was);
    (void)v_qty(kj_path(old, "status.capacity"), "storage", &has);
    if (qty_cmp(now, was) < 0 && qty_cmp(now, has) <= 0)
        err_forbidden(c, "spec.resources.requests.storage",
                      "field can not be less than status.capacity");
}

static void check_attributes_class(struct check *c, const struct kj_val *spec,
                                   const struct kj_val *old)
{
    static const char key[] = "volumeAttributesClassName";
    const char *path = at(c, "spec.%s", key);
    const char *now = kj_str(kj_get(spec, key)), *was = kj_str(kj_path(old, path));
    const char *current = kj_str(kj_path(old, "status.currentVolumeAttributesClassName"));

    if (!current || (now && was && streq(now, was)) || (now && *now) || (!now && !was))
        return;
    err_forbidden(c, path,
                  at(c,
                     "update to %s is forbidden when status.currentVolumeAttributesClassName is "
                     "not nil",
                     now ? "empty string" : "nil"));
}

static void check_claim_update(struct check *c, const struct kj_val *claim,
                               const struct kj_val *old)
{
    const struct kj_val *spec = kj_get(claim, "spec");
    const char *noted = str_or(noted_class(claim), ""), *was = str_or(noted_class(old), "");

    if (!streq(noted, was) && (*noted || !may_get_class(claim, old)))
        err_invalid(c, at(c, "metadata.annotations.%s", class_note), noted, "field is immutable");
    if (!claim_is_kept(claim, old))
        err_forbidden(c, "spec",
                      "spec is immutable after creation except resources.requests and "
                      "volumeAttributesClassName for bound claims");
    check_claim_size(c, claim, old);
    check_immutable(c, "volumeMode", kj_get(spec, "volumeMode"), kj_path(old, "spec.volumeMode"));
    check_attributes_class(c, spec, old);
}

static void pvc_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                         struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");

    if (verb == RES_STATUS)
        return;
    check_pvc_spec(&c, "spec", spec);
    if (verb == RES_UPDATE)
        check_claim_update(&c, obj, old);
}

static void pvc_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                     const struct kj_val *old)
{
    (void)old;
    if (verb == RES_STATUS)
        return;
    if (noted_class(obj))
        api_warn(call,
                 "metadata.annotations[%s]: deprecated since v1.8; use \"storageClassName\" "
                 "attribute instead",
                 class_note);
    warn_of_claim_spec(call, kj_get(obj, "spec"), "spec");
}
const struct res_strategy pvc_strategy = { .prepare = pvc_prepare,
                                           .validate = pvc_validate,
                                           .warn = pvc_warn };

/* ---- classes, nodes, drivers, attachments ---------------------------------------------------- */

static void storageclass_validate(enum res_verb verb, const struct kj_val *obj,
                                  const struct kj_val *old, struct field_errors *errors)
{
    static const char *const policies[] = { "Delete", "Retain", NULL };
    static const char *const bindings[] = { "Immediate", "WaitForFirstConsumer", NULL };
    static const char *const fixed[] = { "parameters", "provisioner", "reclaimPolicy",
                                         "volumeBindingMode" };
    CLEANUP(check_end) struct check c = check_begin(errors);

    if (verb == RES_UPDATE) {
        for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
            const struct kj_val *a = kj_get(obj, fixed[i]), *b = kj_get(old, fixed[i]);
            if ((a || b) && !(a && b && kj_equal(a, b)))
                err_forbidden(&c, fixed[i], at(&c, "updates to %s are forbidden.", fixed[i]));
        }
        return;
    }
    if (!*v_str(obj, "provisioner"))
        err_required(&c, "provisioner", "");
    else
        check_qualified(&c, "provisioner", v_str(obj, "provisioner"));
    check_enum(&c, "reclaimPolicy", v_str(obj, "reclaimPolicy"), policies, true);
    check_enum(&c, "volumeBindingMode", v_str(obj, "volumeBindingMode"), bindings, true);
}

static void storageclass_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                              const struct kj_val *old)
{
    struct kj_iter it = kj_iter(kj_get(obj, "allowedTopologies")), in;
    const struct kj_val *topology, *v;
    const char *advice;

    (void)verb, (void)old;
    for (size_t i = 0; kj_next(&it, NULL, &topology); i++) {
        in = kj_iter(kj_get(topology, "matchLabelExpressions"));
        for (size_t k = 0; kj_next(&in, NULL, &v); k++)
            if ((advice = deprecated_node_label(v_str(v, "key"))))
                api_warn(call, "allowedTopologies[%zu].matchLabelExpressions[%zu].key: %s", i, k,
                         advice);
    }
}
const struct res_strategy storageclass_strategy = { .validate = storageclass_validate,
                                                    .warn = storageclass_warn };

static void csinode_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                             struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    CLEANUP(map_fini) struct map names = { 0 };
    struct kj_iter it = kj_iter(kj_path(obj, "spec.drivers"));
    const struct kj_val *v;

    (void)verb, (void)old;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(&c, "spec.drivers[%zu]", i), *name = v_str(v, "name");
        if (!*name)
            err_required(&c, at(&c, "%s.name", p), "");
        if (!*v_str(v, "nodeID"))
            err_required(&c, at(&c, "%s.nodeID", p), "");
        check_not_negative(&c, at(&c, "%s.allocatable.count", p), kj_path(v, "allocatable.count"));
        if (*name && !names_add(&names, name))
            err_duplicate(&c, at(&c, "%s.name", p), name);
    }
}
const struct res_strategy csinode_strategy = { .validate = csinode_validate };

static void csidriver_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                           const struct kj_val *old)
{
    const struct kj_val *spec = kj_get(obj, "spec"), *asked = kj_get(spec, "tokenRequests"),
                        *was = kj_path(old, "spec.tokenRequests");

    (void)verb;
    if (kj_len(asked) > 0 && !v_has(spec, "serviceAccountTokenInSecrets") &&
        !(was && kj_equal(asked, was)))
        api_warn(call, "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI "
                       "driver, set to true to prevent possible logging of tokens in volume "
                       "attributes");
}
const struct res_strategy csidriver_strategy = { .warn = csidriver_warn };

static void capacity_validate(enum res_verb verb, const struct kj_val *obj,
                              const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    struct qty q;

    check_dns_subdomain(&c, "storageClassName", v_str(obj, "storageClassName"));
    if (v_qty(obj, "capacity", &q) && qty_sign(q) < 0)
        err_invalid(&c, "capacity", v_str(obj, "capacity"), "must be greater than or equal to 0");
    if (verb == RES_UPDATE)
        check_immutable(&c, "storageClassName", kj_get(obj, "storageClassName"),
                        kj_get(old, "storageClassName"));
}

static void capacity_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                          const struct kj_val *old)
{
    const struct kj_val *topology = kj_get(obj, "nodeTopology"), *v;
    struct kj_iter it = kj_iter(kj_get(topology, "matchLabels"));
    const char *advice;
    struct str key;

    (void)verb, (void)old;
    warn_of_node_terms(call, kj_get(topology, "matchExpressions"), "nodeTopology");
    while (kj_next(&it, &key, &v))
        if ((advice = deprecated_node_label(key.p)))
            api_warn(call, "nodeTopology.matchLabels.%s: %s", key.p, advice);
}
const struct res_strategy capacity_strategy = { .validate = capacity_validate,
                                                .warn = capacity_warn };

PREPARE_STATUS(attachment_prepare, "storage.k8s.io", "VolumeAttachment")

static void attachment_validate(enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *source = kj_get(spec, "source");

    if (verb == RES_STATUS)
        return;
    if (!*v_str(spec, "attacher"))
        err_required(&c, "spec.attacher", "");
    if (v_has(source, "inlineVolumeSpec") == v_has(source, "persistentVolumeName"))
        err_required(&c, "spec.source",
                     "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    check_dns_subdomain(&c, "spec.nodeName", v_str(spec, "nodeName"));
    if (verb == RES_UPDATE)
        check_immutable(&c, "spec", spec, kj_get(old, "spec"));
}
const struct res_strategy attachment_strategy = { .prepare = attachment_prepare,
                                                  .validate = attachment_validate };
