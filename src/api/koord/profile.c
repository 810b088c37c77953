/* profile.c - tables of ClusterColocationProfile (api-crds 3). */
#include "api/koord/profile.h"

#include "api/qos.h"
#include "base/num.h"

#define SPEC                       struct colocation_profile_spec
#define F(member, json, type, ...) KF(SPEC, member, json, type, __VA_ARGS__)
static const struct kfield spec_fields[] = {
    F(namespace_selector, "namespaceSelector", KF_OBJ, OMIT_PTR, .sub = &crd_label_selector_schema,
      DOC("namespaces the profile is for; absent or empty: all")),
    F(selector, "selector", KF_OBJ, OMIT_PTR, .sub = &crd_label_selector_schema,
      DOC("pods the profile is for; absent or empty: all")),
    F(probability, "probability", KF_OBJ, OMIT_PTR, .sub = &int_or_str_schema,
      DOC("share of the pods to change, in percent; absent: 100")),
    F(qos_class, "qosClass", KF_STR, OMIT_STR,
      META(.names = qos_class_names + 1, .description = "QoS class to give the pod")),
    F(priority_class_name, "priorityClassName", KF_STR, OMIT_STR,
      DOC("PriorityClass to give the pod")),
    F(koordinator_priority, "koordinatorPriority", KF_OPT_I32, OMIT,
      DOC("priority within the class")),
    F_STRMAP(SPEC, labels, "labels", "labels to set"),
    F_STRMAP(SPEC, annotations, "annotations", "annotations to set"),
    F_STRMAP(SPEC, label_keys_mapping, "labelKeysMapping",
             "labels to copy to another key: old to new"),
    F_STRMAP(SPEC, annotation_keys_mapping, "annotationKeysMapping",
             "annotations to copy to another key: old to new"),
    F_STRMAP(SPEC, label_suffixes, "labelSuffixes", "texts to append to the values of labels"),
    F(scheduler_name, "schedulerName", KF_STR, OMIT_STR, DOC("scheduler to give the pod")),
    F(patch, "patch", KF_RAW, OMIT, DOC("a strategic merge patch over the whole pod")),
};
#undef F
static const struct kschema spec_schema =
    KSCHEMA("ClusterColocationProfileSpec", SPEC, spec_fields);

static const struct kfield profile_fields[] = {
    F_METADATA(struct colocation_profile),
    KF(struct colocation_profile, spec, "spec", KF_OBJ, OMIT, .sub = &spec_schema,
       DOC("which pods to change, and how")),
    KF(struct colocation_profile, status, "status", KF_OBJ, OMIT, .sub = &empty_object_schema,
       DOC("nothing yet")),
};
const struct kschema colocation_profile_schema =
    KSCHEMA("ClusterColocationProfile", struct colocation_profile, profile_fields);

const struct kind kind_colocation_profile = {
    .group = "config.koordinator.sh",
    .version = "v1alpha1",
    .kind = "ClusterColocationProfile",
    .plural = "clustercolocationprofiles",
    .has_status = true,
    .schema = &colocation_profile_schema,
};
const struct kind_crd crd_colocation_profile = {
    .versions = { { &kind_colocation_profile, true } },
    .generator = CONTROLLER_GEN,
    .description = "ClusterColocationProfile says which pods take part in co-location, and how.",
};

int colocation_profile_percent(const struct colocation_profile *p, int32_t *ret, struct kerr *err)
{
    const struct int_or_str *v = p->spec.probability;
    size_t n = v && v->s ? strlen(v->s) : 0;
    int64_t percent;

    if (!v || !v->s) {
        *ret = v ? v->i : 100;
        return 0;
    }
    /* The words of Kubernetes' intstr: users of the webhook read them. */
    if (n == 0 || v->s[n - 1] != '%')
        return kerr_set(err, -EINVAL, "invalid type: string is not a percentage");
    if (i64_parse(v->s, n - 1, &percent) < 0 || percent < INT32_MIN || percent > INT32_MAX)
        return kerr_set(err, -EINVAL,
                        "invalid value \"%s\": strconv.Atoi: parsing \"%.*s\": invalid syntax",
                        v->s, (int)(n - 1), v->s);
    *ret = (int32_t)percent;
    return 0;
}
