/* quota.h - ElasticQuota and ElasticQuotaProfile.
 *
 * Most of a quota stands in labels and annotations: protocol/quota.h. Neither kind has a status
 * subresource.
 */
#ifndef KOORD_API_KOORD_QUOTA_H
#define KOORD_API_KOORD_QUOTA_H
#include "api/koord/common.h"

struct elasticquota {
    struct kobj obj;
    struct elasticquota_spec {
        reslist min, max;
    } spec;
    reslist used; /* status.used */
};
extern const struct kschema elasticquota_schema;
extern const struct kind kind_elasticquota;
extern const struct kind_crd crd_elasticquota;

struct elasticquotaprofile {
    struct kobj obj;
    struct elasticquotaprofile_spec {
        const char *quota_name;
        kstrmap quota_labels;
        const char *resource_ratio;           /* "0.9"; NULL: not set */
        struct label_selector *node_selector; /* NULL: absent, selects nothing */
    } spec;
    struct empty_object status;
};
extern const struct kschema elasticquotaprofile_schema;
extern const struct kind kind_elasticquotaprofile;
extern const struct kind_crd crd_elasticquotaprofile;

static inline const struct elasticquota *elasticquota_of(const struct kobj *o)
{
    return container_of(o, const struct elasticquota, obj);
}
static inline const struct elasticquotaprofile *elasticquotaprofile_of(const struct kobj *o)
{
    return container_of(o, const struct elasticquotaprofile, obj);
}
#endif
