/* migration.h - eviction and migration by the descheduler (api 5.12). */
#ifndef KOORD_API_PROTOCOL_MIGRATION_H
#define KOORD_API_PROTOCOL_MIGRATION_H
#include "api/koord/podmigrationjob.h"
#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"

enum { EVICTION_COST_NEVER = INT32_MAX };
/* Lower is evicted first. Absent: 0 and no error. Bad: 0 and -EINVAL ("invalid value \"+10\""). */
int eviction_cost(const kstrmap *annotations, int32_t *ret, struct kerr *err);
int eviction_cost_parse(const char *text, int32_t *ret, struct kerr *err);

struct soft_eviction {
    nsec_t timestamp;
    struct delete_options *delete_options;
    const char *initiator, *reason;
};
DECLARE_ANNOTATION(soft_eviction, struct soft_eviction)

enum evict_policy {
    EVICT_POLICY_NONE,
    EVICT_POLICY_EVICTION,
    EVICT_POLICY_DELETE,
    EVICT_POLICY_SOFT
};
const char *evict_policy_name(enum evict_policy p);
enum evict_policy evict_policy_parse(const char *name); /* NULL and unknown words: none */
/* The pod's label, else the job's, else the default; an unknown word is the default. */
enum evict_policy evict_policy(const kstrmap *pod_labels, const kstrmap *job_labels,
                               enum evict_policy otherwise);
#endif
