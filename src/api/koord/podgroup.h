/* podgroup.h - PodGroup: pods that are scheduled together or not at all.
 *
 * No status subresource: status is written with the object.
 */
#ifndef KOORD_API_KOORD_PODGROUP_H
#define KOORD_API_KOORD_PODGROUP_H
#include "api/koord/common.h"

enum podgroup_phase {
    PODGROUP_PHASE_NONE,
    PODGROUP_PENDING,
    PODGROUP_PRE_SCHEDULING,
    PODGROUP_SCHEDULING,
    PODGROUP_SCHEDULED,
    PODGROUP_RUNNING,
    PODGROUP_UNKNOWN,
    PODGROUP_FINISHED,
    PODGROUP_FAILED
};
extern const char *const podgroup_phase_names[];

struct podgroup_status {
    const char *occupied_by;
    nsec_t schedule_start_time;
    int32_t scheduled, running, succeeded, failed;
    uint8_t phase; /* enum podgroup_phase */
};
struct podgroup {
    struct kobj obj;
    struct podgroup_spec {
        reslist min_resources; /* informative */
        struct opt_i32 schedule_timeout_seconds;
        int32_t min_member;
    } spec;
    struct podgroup_status status;
};
extern const struct kschema podgroup_status_schema, podgroup_schema;
extern const struct kind kind_podgroup;
extern const struct kind_crd crd_podgroup;

static inline const struct podgroup *podgroup_of(const struct kobj *o)
{
    return container_of(o, const struct podgroup, obj);
}
#endif
