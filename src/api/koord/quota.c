/* quota.c - tables of ElasticQuota and ElasticQuotaProfile (api-crds 7, 9). */
#include "api/koord/quota.h"

static const struct kfield quota_spec_fields[] = {
    F_RESLIST(struct elasticquota_spec, min, "min", "what the quota is guaranteed"),
    F_RESLIST(struct elasticquota_spec, max, "max", "what the quota may use at most"),
};
static const struct kschema quota_spec_schema =
    KSCHEMA("ElasticQuotaSpec", struct elasticquota_spec, quota_spec_fields);

struct quota_status { /* one member, which stands directly in struct elasticquota */
    reslist used;
};
static const struct kfield quota_status_fields[] = {
    F_RESLIST(struct quota_status, used, "used", "what its pods request"),
};
static const struct kschema quota_status_schema =
    KSCHEMA("ElasticQuotaStatus", struct quota_status, quota_status_fields);

static const struct kfield quota_fields[] = {
    F_METADATA(struct elasticquota),
    KF(struct elasticquota, spec, "spec", KF_OBJ, OMIT, .sub = &quota_spec_schema,
       DOC("guarantee and ceiling")),
    KF(struct elasticquota, used, "status", KF_OBJ, OMIT, .sub = &quota_status_schema,
       DOC("what is in use")),
};
const struct kschema elasticquota_schema =
    KSCHEMA("ElasticQuota", struct elasticquota, quota_fields);

const struct kind kind_elasticquota = {
    .group = "scheduling.sigs.k8s.io",
    .version = "v1alpha1",
    .kind = "ElasticQuota",
    .plural = "elasticquotas",
    .namespaced = true,
    .schema = &elasticquota_schema,
};
const struct kind_crd crd_elasticquota = {
    .versions = { { &kind_elasticquota, true } },
    .approved = APPROVED_SCHEDULER_PLUGINS,
    .generator = CONTROLLER_GEN,
    .description = "ElasticQuota guarantees resources to a group of pods and caps their use.",
};

/* ---- profile --------------------------------------------------------------------------------- */

#define F(member, json, type, ...) \
    KF(struct elasticquotaprofile_spec, member, json, type, __VA_ARGS__)
static const struct kfield profile_spec_fields[] = {
    F(quota_name, "quotaName", KF_STR, .flags = KF_REQUIRED,
      DOC("the quota to maintain in the same namespace")),
    F_STRMAP(struct elasticquotaprofile_spec, quota_labels, "quotaLabels",
             "labels to give the quota"),
    F(resource_ratio, "resourceRatio", KF_OPT_STR, OMIT,
      DOC("share of the nodes' resources, such as 0.9")),
    F(node_selector, "nodeSelector", KF_OBJ, .flags = KF_PTR | KF_REQUIRED,
      .sub = &crd_label_selector_schema, DOC("the nodes whose resources are summed up")),
};
#undef F
static const struct kschema profile_spec_schema =
    KSCHEMA("ElasticQuotaProfileSpec", struct elasticquotaprofile_spec, profile_spec_fields);

static const struct kfield profile_fields[] = {
    F_METADATA(struct elasticquotaprofile),
    KF(struct elasticquotaprofile, spec, "spec", KF_OBJ, OMIT, .sub = &profile_spec_schema,
       DOC("which nodes make up which quota")),
    KF(struct elasticquotaprofile, status, "status", KF_OBJ, OMIT, .sub = &empty_object_schema,
       DOC("nothing yet")),
};
const struct kschema elasticquotaprofile_schema =
    KSCHEMA("ElasticQuotaProfile", struct elasticquotaprofile, profile_fields);

const struct kind kind_elasticquotaprofile = {
    .group = "quota.koordinator.sh",
    .version = "v1alpha1",
    .kind = "ElasticQuotaProfile",
    .plural = "elasticquotaprofiles",
    .short_names = "eqp",
    .namespaced = true,
    .schema = &elasticquotaprofile_schema,
};
const struct kind_crd crd_elasticquotaprofile = {
    .versions = { { &kind_elasticquotaprofile, true } },
    .generator = CONTROLLER_GEN,
    .description = "ElasticQuotaProfile makes a quota out of the resources of some nodes.",
};
