/* explanation.h - ScheduleExplanation: why the pods of an object do or do not get a node. */
#ifndef KOORD_API_KOORD_EXPLANATION_H
#define KOORD_API_KOORD_EXPLANATION_H
#include "api/koord/common.h"

struct explained_pod {
    const char *ns, *name, *uid, *node_name;
};
struct node_failed_detail { /* sorted by plugin, reason, preemption first */
    const char *failed_plugin, *reason;
    kstrlist failed_nodes; /* sorted */
    bool preempt_might_help;
};
struct node_level_explanation {
    const char *failed_message;
    KLIST(struct explained_pod) feasible_result;
    KLIST(struct node_failed_detail) node_failed_details;
    bool schedulable;
};
struct possible_victim {
    const char *ns, *name, *uid;
    bool is_nominated_pod;
};
struct node_possible_victims {
    const char *node_name;
    KLIST(struct possible_victim) possible_victims;
};
struct detailed_explanation {
    const char *topology_domain, *failed_message;
    struct node_level_explanation *schedule_explanation, *preempt_explanation;
    KLIST(struct node_possible_victims) node_possible_victims;
    bool schedulable, schedulable_after_preemption;
};

struct schedule_explanation {
    struct kobj obj;
    struct schedule_explanation_spec {
        const char *question_object_key;
        const char *question_object_template; /* JSON; not used so far */
        struct opt_i64 ttl_ns;
    } spec;
    struct schedule_explanation_status {
        const char *failed_message;
        nsec_t last_update_time;
        KLIST(struct detailed_explanation) details;
        bool schedulable, schedulable_after_preemption;
    } status;
};
extern const struct kschema schedule_explanation_status_schema, schedule_explanation_schema;
extern const struct kind kind_schedule_explanation;
extern const struct kind_crd crd_schedule_explanation;

static inline const struct schedule_explanation *schedule_explanation_of(const struct kobj *o)
{
    return container_of(o, const struct schedule_explanation, obj);
}
#endif
