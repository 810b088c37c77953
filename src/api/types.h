/* types.h - the pieces that many kinds are made of: resource lists, selectors, taints,
 * tolerations, affinity, references, conditions. Structs and tables only; what they mean is in
 * selector.h, toleration.h and podresources.h.
 *
 * Enum members are KF_ENUM bytes: 0 is "absent, or a word we do not know".
 */
#ifndef KOORD_API_TYPES_H
#define KOORD_API_TYPES_H
#include "api/kobj.h"
#include "api/reslist.h"

/* ---- resource lists -------------------------------------------------------------------------- */

/* A table line for a member that is a reslist. */
#define KF_RESLIST(stype, member, jsonname) \
    KF_MAP_OF(stype, member, jsonname, KF_QTY, .flags = KF_INTERN_KEYS | KF_OMITEMPTY)
/* Table lines for kstrmap and kstrlist members whose strings repeat over objects. */
#define KF_STRMAP(stype, member, jsonname) \
    KF_MAP_OF(stype, member, jsonname, KF_STR, .flags = KF_INTERN | KF_OMITEMPTY)
#define KF_STRLIST(stype, member, jsonname) \
    KF_LIST_OF(stype, member, jsonname, KF_STR, .flags = KF_INTERN | KF_OMITEMPTY)

struct resources { /* ResourceRequirements */
    reslist requests, limits;
};
extern const struct kschema resources_schema;

/* ---- selectors ------------------------------------------------------------------------------- */

enum selop { /* of label and node selector requirements */
             SELOP_NONE,
             SELOP_IN,
             SELOP_NOT_IN,
             SELOP_EXISTS,
             SELOP_DOES_NOT_EXIST,
             SELOP_GT, /* node selectors and selector text only */
             SELOP_LT
};
extern const char *const selop_names[]; /* "", "In", ..., NULL */

struct selreq { /* LabelSelectorRequirement, NodeSelectorRequirement */
    const char *key;
    kstrlist values;
    uint8_t op; /* enum selop */
};
typedef KLIST(struct selreq) selreqlist;

struct label_selector {
    kstrmap match_labels;
    selreqlist match_expressions;
};
struct node_selector_term {
    selreqlist match_expressions, match_fields;
};
struct node_selector {
    KLIST(struct node_selector_term) terms; /* nodeSelectorTerms, ORed */
};
extern const struct kschema selreq_schema, label_selector_schema, node_selector_term_schema,
    node_selector_schema;

/* ---- taints and tolerations ------------------------------------------------------------------ */

enum taint_effect {
    TAINT_EFFECT_NONE,
    TAINT_NO_SCHEDULE,
    TAINT_PREFER_NO_SCHEDULE,
    TAINT_NO_EXECUTE
};
extern const char *const taint_effect_names[];
struct taint {
    const char *key, *value;
    nsec_t time_added;
    uint8_t effect; /* enum taint_effect */
};

enum tol_op { TOL_OP_NONE, TOL_OP_EQUAL, TOL_OP_EXISTS, TOL_OP_LT, TOL_OP_GT };
struct toleration {
    const char *key, *value;
    struct opt_i64 toleration_seconds;
    uint8_t op;     /* enum tol_op */
    uint8_t effect; /* enum taint_effect; none: every effect */
};
typedef KLIST(struct taint) taintlist;
typedef KLIST(struct toleration) tolerationlist;
extern const struct kschema taint_schema, toleration_schema;

/* ---- affinity -------------------------------------------------------------------------------- */

struct preferred_node_term {
    struct node_selector_term preference;
    int32_t weight;
};
struct node_affinity {
    struct node_selector *required; /* NULL when absent */
    KLIST(struct preferred_node_term) preferred;
};
struct pod_affinity_term {
    const char *topology_key;
    struct label_selector *label_selector;     /* NULL matches nothing */
    struct label_selector *namespace_selector; /* NULL: absent; empty: every namespace */
    kstrlist namespaces;
    kstrlist match_label_keys, mismatch_label_keys; /* merged into label_selector by the server */
};
struct weighted_pod_affinity_term {
    struct pod_affinity_term term;
    int32_t weight;
};
struct pod_affinity { /* also of PodAntiAffinity */
    KLIST(struct pod_affinity_term) required;
    KLIST(struct weighted_pod_affinity_term) preferred;
};
struct affinity {
    struct node_affinity *node;
    struct pod_affinity *pod, *pod_anti;
};
extern const struct kschema node_affinity_schema, pod_affinity_term_schema, affinity_schema;

/* ---- references and conditions --------------------------------------------------------------- */

struct object_ref {
    const char *api_version, *kind, *ns, *name, *resource_version, *field_path;
    struct kuid uid;
};
extern const struct kschema object_ref_schema;

enum cond_status { COND_ABSENT, COND_TRUE, COND_FALSE, COND_UNKNOWN };
extern const char *const cond_status_names[];
struct condition { /* of pods, nodes, workloads: the members they share */
    const char *type, *reason, *message;
    nsec_t last_transition_time;
    uint8_t status; /* enum cond_status */
};
typedef KLIST(struct condition) conditionlist;
extern const struct kschema condition_schema;
struct timed_condition { /* with every time that some kind has: for those who write conditions */
    const char *type, *reason, *message;
    nsec_t last_probe_time, last_update_time, last_transition_time;
    uint8_t status; /* enum cond_status */
};
typedef KLIST(struct timed_condition) timed_conditionlist;
/* NULL when there is none of this type. */
const struct condition *condition_find(const conditionlist *l, const char *type);
bool condition_is_true(const conditionlist *l, const char *type);
#endif
