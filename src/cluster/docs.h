/* docs.h - the kinds that controllers of this room work on, with what src/api does not keep: pod
 * templates as JSON text, strategies, conditions with all their times.
 *
 * Informers of these kinds are this room's own; on the wire they are the same as those of src/api.
 */
#ifndef KOORD_CLUSTER_DOCS_H
#define KOORD_CLUSTER_DOCS_H
#include "api/types.h"

struct rolling {
    struct int_or_str max_surge, max_unavailable;
};
struct strategy {
    const char *type; /* "RollingUpdate", "Recreate" */
    struct rolling *rolling;
};
struct deploy_spec {
    struct opt_i32 replicas, revision_history_limit, progress_deadline_seconds;
    int32_t min_ready_seconds;
    bool paused;
    struct label_selector selector;
    struct strategy strategy;
    const char *template_json;
};
struct deploy_status {
    int64_t observed_generation;
    int32_t replicas, updated, ready, available, unavailable;
    struct opt_i32 collisions, terminating;
    timed_conditionlist conditions;
};
struct deploy {
    struct kobj obj;
    struct deploy_spec spec;
    struct deploy_status status;
};

struct rs_spec {
    struct opt_i32 replicas;
    int32_t min_ready_seconds;
    struct label_selector selector;
    const char *template_json;
};
struct rs_status {
    int64_t observed_generation;
    int32_t replicas, fully_labeled, ready, available;
    struct opt_i32 terminating;
    timed_conditionlist conditions;
};
struct rs {
    struct kobj obj;
    struct rs_spec spec;
    struct rs_status status;
};

struct sts_rolling {
    struct opt_i32 partition;
    struct int_or_str max_unavailable; /* not given: 0, which counts as 1 */
};
struct sts_strategy {
    const char *type; /* "RollingUpdate", "OnDelete" */
    struct sts_rolling *rolling;
};
struct sts_retention { /* "Retain", "Delete" */
    const char *when_deleted, *when_scaled;
};
struct sts_ordinals {
    int32_t start;
};
struct sts_spec {
    struct opt_i32 replicas, revision_history_limit;
    int32_t min_ready_seconds;
    const char *service_name, *pod_management_policy;
    struct label_selector selector;
    struct sts_strategy strategy;
    struct sts_retention retention;
    struct sts_ordinals ordinals;
    const char *template_json, *claims_json; /* claims: volumeClaimTemplates */
};
struct sts_status {
    int64_t observed_generation;
    int32_t replicas, ready, current, updated, available;
    const char *current_revision, *update_revision;
    struct opt_i32 collisions;
    timed_conditionlist conditions;
};
struct sts {
    struct kobj obj;
    struct sts_spec spec;
    struct sts_status status;
};

struct ds_strategy {
    const char *type; /* "RollingUpdate", "OnDelete" */
    struct rolling *rolling;
};
struct ds_spec {
    struct opt_i32 revision_history_limit;
    int32_t min_ready_seconds;
    struct label_selector selector;
    struct ds_strategy strategy;
    const char *template_json;
};
struct ds_status {
    int64_t observed_generation;
    int32_t current, misscheduled, desired, ready, updated, available, unavailable;
    struct opt_i32 collisions;
    timed_conditionlist conditions;
};
struct ds {
    struct kobj obj;
    struct ds_spec spec;
    struct ds_status status;
};

struct revision { /* ControllerRevision */
    struct kobj obj;
    const char *data_json;
    int64_t revision;
};

struct svc_port {
    const char *name, *protocol, *app_protocol; /* app_protocol: NULL when absent */
    int32_t port;
    struct int_or_str target;
};
struct svc_spec {
    kstrmap selector;
    KLIST(struct svc_port) ports;
    kstrlist ip_families;
    const char *type, *cluster_ip;
    bool publish_not_ready;
};
struct svc {
    struct kobj obj;
    struct svc_spec spec;
};
struct endpoints_doc {
    struct kobj obj;
    const char *subsets_json;
};
struct slice_doc {
    struct kobj obj;
    const char *address_type, *endpoints_json, *ports_json;
};

/* A pod behind Services: what their controller needs and caches of pods leave out. */
struct backend_port {
    const char *name, *protocol;
    int32_t port;
};
struct backend_container {
    KLIST(struct backend_port) ports;
};
struct backend_spec {
    const char *node_name, *hostname, *subdomain;
    KLIST(struct backend_container) containers;
};
struct backend_status {
    const char *phase, *pod_ip;
    conditionlist conditions;
};
struct backend {
    struct kobj obj;
    struct backend_spec spec;
    struct backend_status status;
};

struct job_uncounted {
    kstrlist succeeded, failed; /* UIDs */
};
struct job_exit_codes {         /* onExitCodes */
    const char *container, *op; /* container NULL: any */
    KLIST(int32_t) values;
};
struct job_failure_rule {
    const char *action;
    struct job_exit_codes *exit_codes;
    conditionlist conditions; /* onPodConditions: type and status */
};
struct job_failure_policy {
    KLIST(struct job_failure_rule) rules;
};
struct job_success_rule {
    const char *indexes; /* NULL: all */
    struct opt_i32 count;
};
struct job_success_policy {
    KLIST(struct job_success_rule) rules;
};
struct job_spec {
    struct opt_i32 parallelism, completions, backoff_limit, ttl_seconds;
    struct opt_i32 backoff_limit_per_index, max_failed_indexes;
    struct job_failure_policy *failure_policy;
    struct job_success_policy *success_policy;
    const char *managed_by;
    struct opt_i64 active_deadline_seconds;
    bool suspend;
    struct opt_bool manual_selector;
    struct label_selector selector;
    const char *completion_mode; /* "Indexed" */
    const char *replacement;     /* podReplacementPolicy: "TerminatingOrFailed", "Failed" */
    const char *template_json;
};
struct job_status {
    int32_t active, succeeded, failed;
    struct opt_i32 ready, terminating;
    nsec_t start_time, completion_time;
    const char *completed_indexes, *failed_indexes; /* failed: NULL when absent */
    struct job_uncounted *uncounted;
    timed_conditionlist conditions;
};
struct job {
    struct kobj obj;
    struct job_spec spec;
    struct job_status status;
};

struct cidr { /* ServiceCIDR */
    struct kobj obj;
    struct cidr_spec {
        kstrlist cidrs;
    } spec;
    struct cidr_status {
        timed_conditionlist conditions;
    } status;
};

struct cron_spec {
    const char *schedule, *time_zone; /* time_zone: NULL when absent */
    const char *concurrency_policy;   /* "Allow", "Forbid", "Replace" */
    bool suspend;
    struct opt_i64 starting_deadline_seconds;
    struct opt_i32 successful_limit, failed_limit; /* of the history */
    const char *template_json;                     /* jobTemplate */
};
typedef KLIST(struct object_ref) object_reflist;
struct cron_status {
    object_reflist active;
    nsec_t last_schedule_time, last_successful_time;
};
struct cronjob {
    struct kobj obj;
    struct cron_spec spec;
    struct cron_status status;
};

struct disrupted {
    const char *name;
    nsec_t since;
};
typedef KLIST(struct disrupted) disruptedlist; /* sorted */
struct pdb_doc_status {
    int64_t observed_generation;
    int32_t disruptions_allowed, current_healthy, desired_healthy, expected_pods;
    disruptedlist disrupted;
    timed_conditionlist conditions;
};
struct pdb_doc_spec {
    struct label_selector *selector; /* NULL matches nothing */
    const char *min_raw, *max_raw;   /* JSON texts: 1, "30%"; NULL when absent */
};
struct pdb_doc {
    struct kobj obj;
    struct pdb_doc_spec spec;
    struct pdb_doc_status status;
};

struct ns_doc_spec {
    kstrlist finalizers;
};
struct ns_doc_status {
    const char *phase;
    timed_conditionlist conditions;
};
struct ns_doc {
    struct kobj obj;
    struct ns_doc_spec spec;
    struct ns_doc_status status;
};

extern const struct kind doc_deployment, doc_replicaset, doc_rc, doc_job, doc_cronjob, doc_pdb,
    doc_namespace, doc_statefulset, doc_daemonset, doc_revision, doc_service, doc_endpoints,
    doc_slice, doc_backend, doc_cidr;
extern const struct kschema deployment_status_schema, replicaset_status_schema, rc_status_schema,
    cidr_status_schema, job_status_schema, cronjob_status_schema, pdb_status_schema,
    namespace_status_schema, statefulset_status_schema, daemonset_status_schema;

#define DOC_OF(noun, type)                                           \
    static inline const struct type *noun##_of(const struct kobj *o) \
    {                                                                \
        return container_of(o, const struct type, obj);              \
    }
DOC_OF(deploy, deploy)
DOC_OF(rs, rs)
DOC_OF(job, job)
DOC_OF(cronjob, cronjob)
DOC_OF(sts, sts)
DOC_OF(ds, ds)
DOC_OF(revision, revision)
DOC_OF(svc, svc)
DOC_OF(endpoints_doc, endpoints_doc)
DOC_OF(slice_doc, slice_doc)
DOC_OF(backend, backend)
DOC_OF(pdb_doc, pdb_doc)
DOC_OF(ns_doc, ns_doc)
#undef DOC_OF
#endif
