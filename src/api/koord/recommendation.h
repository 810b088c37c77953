/* recommendation.h - Recommendation: what the containers of a workload should ask for. */
#ifndef KOORD_API_KOORD_RECOMMENDATION_H
#define KOORD_API_KOORD_RECOMMENDATION_H
#include "api/koord/common.h"

#define RECOMMENDATION_TARGET_WORKLOAD     "workload"
#define RECOMMENDATION_TARGET_POD_SELECTOR "podSelector"

struct workload_ref {
    const char *api_version, *kind, *name;
};
struct recommendation_target {
    const char *type;
    struct workload_ref *workload;
    struct label_selector *pod_selector;
};
struct recommended_container {
    const char *name;
    reslist resources;
};
struct recommended_pod {
    KLIST(struct recommended_container) containers;
};
struct recommendation {
    struct kobj obj;
    struct recommendation_target target; /* spec.target */
    struct recommendation_status {
        struct recommended_pod *pod_status;
        nsec_t update_time;
        meta_conditionlist conditions;
    } status;
};
extern const struct kschema recommendation_schema;
extern const struct kind kind_recommendation;
extern const struct kind_crd crd_recommendation;

static inline const struct recommendation *recommendation_of(const struct kobj *o)
{
    return container_of(o, const struct recommendation, obj);
}
#endif
