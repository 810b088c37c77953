/* profile.h - ClusterColocationProfile: what the webhook writes into matching pods. */
#ifndef KOORD_API_KOORD_PROFILE_H
#define KOORD_API_KOORD_PROFILE_H
#include "api/koord/common.h"

struct colocation_profile_spec {
    struct label_selector *namespace_selector, *selector; /* NULL and empty: everything */
    struct int_or_str *probability;                       /* NULL: 100 percent */
    const char *qos_class;                                /* "" when not set */
    const char *priority_class_name, *scheduler_name;
    struct opt_i32 koordinator_priority;
    kstrmap labels, annotations;
    kstrmap label_keys_mapping, annotation_keys_mapping; /* old key -> new key */
    kstrmap label_suffixes;
    const char *patch; /* JSON of a strategic merge patch; NULL: none */
};
struct colocation_profile {
    struct kobj obj;
    struct colocation_profile_spec spec;
    struct empty_object status;
};

extern const struct kschema colocation_profile_schema;
extern const struct kind kind_colocation_profile;
extern const struct kind_crd crd_colocation_profile;

static inline const struct colocation_profile *colocation_profile_of(const struct kobj *o)
{
    return container_of(o, const struct colocation_profile, obj);
}
/* The share of pods in percent: an integer as it is, "N%" as N, absent 100. */
int colocation_profile_percent(const struct colocation_profile *p, int32_t *ret, struct kerr *err);
#endif
