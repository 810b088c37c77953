/* internal.h - what the files of this folder share. Nobody outside includes it.
 *
 *   kinds.c         the table of resources            util.c      documents, quantities, words
 *   check.c         grammars, selectors, resources     cell.c      table cells
 *   pod_default.c   defaults of pod specs              pod_spec.c, container.c, probe.c, volume.c,
 *   pod.c           strategy of pods                   placement.c validation of pod specs
 *   pod_update.c    what may change                    pod_cell.c  columns of pods
 *   warn.c, pod_warn.c, volume_warn.c   what is taken and better written otherwise
 *   bind.c          pods/binding                       evict.c     pods/eviction
 *   downward.c      fieldRef, resourceFieldRef         apps_check.c, job_policy.c  workloads
 *   node.c namespace.c event.c service.c core.c apps.c job.c (with CronJob) policy.c storage.c
 *   networking.c autoscaling.c   as their groups      stored.c    kinds that nothing acts on
 *   endpoints.c     Endpoints and EndpointSlices       address.c   their addresses
 *   claim*.c slice.c device_check.c   resource.k8s.io (device_check.h)
 *   admission_policy.c   policies and their bindings   misc.c   the other kinds
 */
#ifndef KOORD_APISERVER_KINDS_INTERNAL_H
#define KOORD_APISERVER_KINDS_INTERNAL_H
#include "apiserver/kinds/kinds.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/qty.h"

/* ---- strategies and columns, one pair per kind --------------------------------------------------
 */

extern const struct res_strategy pod_strategy, node_strategy, namespace_strategy, event_strategy,
    event_v1_strategy, configmap_strategy, secret_strategy, service_strategy,
    serviceaccount_strategy, rc_strategy, pv_strategy, pvc_strategy, deployment_strategy,
    replicaset_strategy, statefulset_strategy, daemonset_strategy, revision_strategy, job_strategy,
    cronjob_strategy, pdb_strategy, lease_strategy, priorityclass_strategy, storageclass_strategy,
    csinode_strategy, capacity_strategy, csidriver_strategy, attachment_strategy, claim_strategy,
    claim_template_strategy, deviceclass_strategy, slice_strategy, webhooks_strategy,
    limitrange_strategy, quota_strategy, podtemplate_strategy, binding_strategy, role_strategy,
    ingress_strategy, ingress_class_strategy, network_policy_strategy, service_cidr_strategy,
    ip_address_strategy, hpa_strategy, hpa_v1_strategy, apiservice_strategy, runtimeclass_strategy,
    csr_strategy, flowschema_strategy, priority_level_strategy, volume_attributes_strategy,
    policy_strategy, policy_binding_strategy, taintrule_strategy, endpoints_strategy,
    endpointslice_strategy;

struct kj_doc *hpa_v1_as_v2(const struct kj_val *obj); /* hpa_v1.c; the caller's */
void hpa_v1_drop_annotations(struct kj_mval *obj);     /* what v1 carries in them; not of v2 */
enum { HPA_CPU_PERCENT = 80 }; /* what an autoscaler without metrics aims at */

struct columns {
    const struct res_column *list;
    size_t n;
};
/* clang-format off */
extern const struct columns pod_columns, node_columns, namespace_columns, event_columns,
    configmap_columns, secret_columns, service_columns, age_columns, rc_columns, pv_columns,
    pvc_columns, endpoints_columns, quota_columns, podtemplate_columns, deployment_columns,
    replicaset_columns, statefulset_columns, daemonset_columns, revision_columns, job_columns,
    cronjob_columns, pdb_columns, lease_columns, priorityclass_columns, storageclass_columns,
    csinode_columns, csidriver_columns, attachment_columns, claim_columns, slice_columns, taintrule_columns,
    binding_columns, webhooks_columns, endpointslice_columns, ingress_columns,
    ingress_class_columns, network_policy_columns, service_cidr_columns, ip_address_columns,
    hpa_columns, runtimeclass_columns, csr_columns, flowschema_columns, priority_level_columns,
    volume_attributes_columns, component_columns, apiservice_columns, policy_columns,
    policy_binding_columns;
/* clang-format on */

/* ---- util.c: documents ----------------------------------------------------------------------- */

struct kj_mval *m_obj(struct kj_mdoc *d, struct kj_mval *parent,
                      const char *key);                        /* made if absent */
bool m_has(const struct kj_mval *obj, const char *key);        /* not null */
const char *m_str(const struct kj_mval *obj, const char *key); /* "" if absent */
bool m_true(const struct kj_mval *obj, const char *key);
int64_t m_i64(const struct kj_mval *obj, const char *key, int64_t otherwise);
void m_default_str(struct kj_mdoc *d, struct kj_mval *obj, const char *key, const char *value);
void m_default_i64(struct kj_mdoc *d, struct kj_mval *obj, const char *key, int64_t value);
void m_default_bool(struct kj_mdoc *d, struct kj_mval *obj, const char *key, bool value);
/* Puts a copy of old's member in place of obj's own; removes it when old has none. */
void m_keep_old(struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *old, const char *key);
struct kj_mval *m_path(const struct kj_mval *v, const char *dotted);

/* "" if absent. A text with a NUL in it, which would end early here, is one that no name, value of
 * an enum or path may be. */
const char *v_str(const struct kj_val *obj, const char *key);
/* The same, for a message: only the NUL is another character. */
const char *v_name(struct arena *a, const struct kj_val *obj, const char *key);
bool v_has(const struct kj_val *obj, const char *key); /* present and not null */
/* The value of a dotted path as a field selector sees it: "" when absent. */
const char *v_text(const struct kj_val *obj, const char *path, struct arena *a);
/* Quantity of a resource list; false when absent or no quantity. */
bool v_qty(const struct kj_val *list, const char *name, struct qty *ret);
/* {"a":"b"} as "a=b,c=d", sorted by key. */
void v_labels_text(const struct kj_val *map, struct strbuf *out);
/* A LabelSelector as kubectl prints it; "<none>" when empty. */
void v_selector_text(const struct kj_val *selector, struct strbuf *out);
/* Does a LabelSelector match these labels? Empty matches all, absent nothing, broken nothing. */
bool v_selector_matches(const struct kj_val *selector, const struct kj_val *labels);
/* An int-or-string as text. */
const char *v_ios(const struct kj_val *v, struct arena *a);

/* Status as the rule has it: made new on create (group and kind tell its table), kept on update;
 * spec kept on status updates. */
void prepare_status(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                    const struct kj_val *old, const char *group, const char *kind);
/* A prepare hook that does just that. */
#define PREPARE_STATUS(fn, group, kind)                                        \
    static void fn(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj, \
                   const struct kj_val *old, nsec_t now)                       \
    {                                                                          \
        (void)now;                                                             \
        prepare_status(verb, d, obj, old, group, kind);                        \
    }

/* ---- check.c: validation --------------------------------------------------------------------- */

struct check {
    struct field_errors *errors;
    struct arena *a;
};
struct check check_begin(struct field_errors *errors);
void check_end(struct check *c);
static inline UNUSED void check_end_p(struct check *c)
{
    check_end(c);
}
const char *at(struct check *c, const char *fmt, ...) PRINTF(2, 3); /* a path in the arena */
const char *quoted(struct check *c, const char *s);                 /* as Go's %q */
const char *text_quoted(struct arena *a, const char *s);            /* the same */
const char *as_json(struct check *c, const struct kj_val *v);
void err_required(struct check *c, const char *path, const char *why);
void err_forbidden(struct check *c, const char *path, const char *why);
void err_invalid(struct check *c, const char *path, const char *value, const char *why);
void err_invalid_i64(struct check *c, const char *path, int64_t value, const char *why);
void err_duplicate(struct check *c, const char *path, const char *value);
/* values: the supported ones, NULL at the end, in the order in which they are told. */
void err_unsupported(struct check *c, const char *path, const char *value,
                     const char *const *values);
/* The value is one of these, or said so. absent_ok: "" passes. */
bool check_enum(struct check *c, const char *path, const char *value, const char *const *values,
                bool absent_ok);

/* Names seen so far; strings are borrowed. false: it was there already. Lists come from outside
 * and may be long: never compare each with each. */
bool names_add(struct map *seen, const char *name);
/* A DNS label that is there, and that no other entry of the list has. */
void check_own_label(struct check *c, const char *path, const char *name, struct map *seen);

void check_dns_label(struct check *c, const char *path, const char *s);
void check_dns_subdomain(struct check *c, const char *path, const char *s);
const char *dns1035_problem(const char *s); /* NULL: it is a DNS-1035 label */
void check_wildcard_subdomain(struct check *c, const char *path, const char *s); /* "*.x.y" */
void check_domain_path(struct check *c, const char *path, const char *s); /* "x.y/controller" */
void check_qualified(struct check *c, const char *path, const char *s);
void check_label_value(struct check *c, const char *path, const char *s);
void check_labels(struct check *c, const char *path, const struct kj_val *labels);
void check_config_key(struct check *c, const char *path, const char *s);
void check_ip(struct check *c, const char *path, const char *s);
void check_cidr(struct check *c, const char *path, const char *s);
/* false: there are more than max entries. That has been said, and nobody should look at them. */
bool check_at_most(struct check *c, const char *path, const struct kj_val *list, size_t max);
/* 1..65535 */
void check_port(struct check *c, const char *path, int64_t port);
/* A port name (IANA service name); one error for each rule it breaks. */
void check_port_name(struct check *c, const char *path, const char *s);
void check_port_or_name(struct check *c, const char *path, const struct kj_val *v);
void check_not_negative(struct check *c, const char *path, const struct kj_val *v);
void check_range(struct check *c, const char *path, const struct kj_val *v, int64_t lo, int64_t hi);
void check_immutable(struct check *c, const char *path, const struct kj_val *v,
                     const struct kj_val *old);
/* A relative path without "..". */
void check_local_path(struct check *c, const char *path, const char *s, bool must_be_relative);
void check_label_selector(struct check *c, const char *path, const struct kj_val *selector);
/* An int-or-string that is not negative and at most 100%. */
void check_int_or_percent(struct check *c, const char *path, const struct kj_val *v);
/* ResourceRequirements of a container (or pod). claims: names in spec.resourceClaims. */
void check_resources(struct check *c, const char *path, const struct kj_val *resources,
                     const struct kj_val *claims, bool of_pod);
/* Names of resources: of anything; of containers. */
void check_resource_name(struct check *c, const char *path, const char *name);
void check_container_resource(struct check *c, const char *path, const char *name);
bool resource_is_extended(const char *name);
bool resource_may_overcommit(const char *name);
/* limits_check.c */
void check_limit_range(struct check *c, const struct kj_val *limits);
void check_quota(struct check *c, const struct kj_val *spec);
/* Quantities of a resource list: names known, not negative, extended ones whole. */
void check_resource_list(struct check *c, const char *path, const struct kj_val *list);

/* ---- address.c ------------------------------------------------------------------------------- */

int address_family(const char *s); /* 4, 6, or 0 for what is no address; ::ffff:1.2.3.4 is of 4 */
/* An address in any form that was ever taken; in the one form of today. */
bool check_ip_loosely(struct check *c, const char *path, const char *s);
bool check_ip_strictly(struct check *c, const char *path, const char *s);
/* One that others can reach: no loopback, nothing link-local. */
void check_endpoint_ip(struct check *c, const char *path, const char *s);
/* Tells the sender of an unusual form which one is better. */
void warn_of_ip(struct api_call *call, const char *s, const char *path_fmt, ...) PRINTF(3, 4);
void warn_of_cidr(struct api_call *call, const char *s, const char *path_fmt, ...) PRINTF(3, 4);
/* A range of addresses, in any form that was ever taken; IPv4 written as IPv6 counts as IPv4. */
struct cidr {
    unsigned char bytes[16];
    int bits, total; /* of the prefix, of the family */
};
bool check_parsed_cidr(struct check *c, const char *path, const char *s, struct cidr *ret);

/* ---- warnings: warn.c, pod_warn.c, volume_warn.c ---------------------------------------------- */

#define FRACTION_WORDS      "fractional byte value %s is invalid, must be an integer"
#define FRACTION_SIGNS      ".munEe" /* without one of these a quantity is whole */
#define NULL_SELECTOR_WORDS "a null labelSelector results in matching no pod"

/* A pod, or a template at this path with a dot at its end ("spec.template."); of a pod: "". */
void warn_of_pod(struct api_call *call, const char *at, const struct kj_val *pod);
/* spec.template of a workload, when its spec is new or has changed; names: the names of its pods
 * begin with its own. */
void warn_of_workload(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                      const struct kj_val *old, bool names);
/* A new object whose name is no DNS label, though it is used where one would be better. */
#define WARN_POD_NAMES "Pod names and hostnames"
void warn_of_name(struct api_call *call, const struct kj_val *obj, const char *used_in);
void warn_of_volumes(struct api_call *call, const char *at, const struct kj_val *volumes);
void warn_of_claim_spec(struct api_call *call, const struct kj_val *spec, const char *path_fmt, ...)
    PRINTF(3, 4);
/* Addresses of load balancers in the status of a service or an ingress. */
void warn_of_balancers(struct api_call *call, const struct kj_val *obj);
/* What to say of a label of nodes with this key; NULL: nothing. */
const char *deprecated_node_label(const char *key);
/* matchExpressions; the path is that of the object around them. */
void warn_of_node_terms(struct api_call *call, const struct kj_val *expressions,
                        const char *path_fmt, ...) PRINTF(3, 4);
/* The quantity as text when it is no whole number of bytes; else NULL. */
const char *fraction_of_byte(const struct kj_val *list, const char *name);
/* A path that was not made before. */
const char *warn_path(struct api_call *call, const char *fmt, va_list ap) PRINTF(2, 0);
/* Generation tells whether the spec of an object has changed. */
bool spec_changed(const struct kj_val *obj, const struct kj_val *old);

/* Members by name, all in one pass over the object: ret[i] is the one of names[i], or NULL. */
void v_pick(const struct kj_val *obj, const struct str *names, size_t n, const struct kj_val **ret);

/* Names, mostly few; borrowed. */
struct few {
    const char *first[16];
    size_t n;
    struct map rest;
};
bool few_add(struct few *f, const char *name); /* false: it was there */
static inline UNUSED void few_fini_p(struct few *f)
{
    map_fini(&f->rest);
}

/* ---- pods ------------------------------------------------------------------------------------ */

void podspec_default(struct kj_mdoc *d, struct kj_mval *spec); /* pods and templates alike */
/* spec.template of a workload: {metadata, spec}. */
void template_default(struct kj_mdoc *d, struct kj_mval *obj);
void check_pod_spec(struct check *c, const char *path, const struct kj_val *spec);
void check_containers(struct check *c, const char *path, const struct kj_val *spec);
void check_volumes(struct check *c, const char *path, const struct kj_val *spec);
/* downward.c. supported: the field paths that make sense here. */
void check_field_ref(struct check *c, const char *path, const struct kj_val *ref,
                     const char *const *supported);
void check_resource_ref(struct check *c, const char *path, const struct kj_val *ref,
                        bool in_volume);
void check_downward(struct check *c, const char *path, const struct kj_val *v);
#define FILE_MODE_WORDS "must be a number between 0 and 0777 (octal), both inclusive"
void check_volume_mounts(struct check *c, const char *path, const struct kj_val *container,
                         const struct kj_val *spec);
void check_probe(struct check *c, const char *path, const struct kj_val *probe, const char *which);
void check_lifecycle(struct check *c, const char *path, const struct kj_val *lifecycle);
void check_placement(struct check *c, const char *path, const struct kj_val *spec);
void check_node_selector(struct check *c, const char *path, const struct kj_val *selector);
void check_taints(struct check *c, const char *path, const struct kj_val *list);
void check_pvc_spec(struct check *c, const char *path, const struct kj_val *spec);
void check_pod_update(struct check *c, const struct kj_val *obj, const struct kj_val *old);
/* Labels and spec of a template whose pods a controller runs: restartPolicy among these. */
void check_template(struct check *c, const char *path, const struct kj_val *template,
                    const char *const *restart_policies);
/* apps_check.c: strategies, and claims of stateful sets. */
void check_statefulset_spec(struct check *c, const struct kj_val *spec);
void check_daemonset_strategy(struct check *c, const struct kj_val *strategy);
/* The spec with the volumes that its claim templates stand for; the caller's. */
struct kj_doc *statefulset_with_claims(const struct kj_val *spec);
/* {"Type":"x","RollingUpdate":null}: a strategy of an unknown type as Go prints it. */
const char *strategy_text(struct check *c, const char *type);
/* admission_policy.c: a rule with operations, of a policy or a webhook. */
void check_admission_rule(struct check *c, const char *path, const struct kj_val *rule);
/* service_alloc.c */
int service_allocate(const struct res_allocation *x, struct kerr *err);
bool service_still_free(struct apiserver *s, const struct kj_val *obj);
/* service_check.c */
/* clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy, each by itself and beside the others. */
void check_service_ips(struct check *c, const struct kj_val *spec);
void check_service_addresses(struct check *c, const struct kj_val *spec);
/* What may not change, and what load balancers tell. */
void check_service_change(struct check *c, const struct kj_val *spec, const struct kj_val *old);
void check_service_status(struct check *c, const struct kj_val *obj);
void check_service_traffic(struct check *c, const struct kj_val *spec);
/* job_policy.c: what a job does about failed and finished indexes. */
void check_job_policy(struct check *c, const char *path, const struct kj_val *spec);
/* A pod that counts as ready / that has ended. */
bool pod_is_ready(const struct kj_val *pod);
bool pod_is_ended(const struct kj_val *pod);
void pod_bind(struct apiserver *s, struct api_call *c);  /* bind.c */
void pod_evict(struct apiserver *s, struct api_call *c); /* evict.c */
/* The old path of bindings: the name of the pod is in the body. */
extern const struct res_strategy old_binding_strategy;
/* pod_parts.c */
void pod_prepare_part(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                      const struct kj_val *old);
void check_pod_part(struct check *c, enum res_verb verb, const struct kj_val *spec,
                    const struct kj_val *old);
/* kubelet.c */
bool pod_is_kubelets(const char *sub);
void pod_ask_kubelet(struct apiserver *s, struct api_call *c);
void object_proxy(struct apiserver *s, struct api_call *c);

/* ---- cell.c ---------------------------------------------------------------------------------- */

typedef void (*cell_fn)(const struct kj_val *obj, nsec_t now, struct strbuf *out);
void cell_text(struct strbuf *out, const char *text); /* as a JSON string */
void cell_labels(const struct kj_val *map, struct strbuf *out);
void cell_name(const struct kj_val *obj, nsec_t now, struct strbuf *out);
void cell_age(const struct kj_val *obj, nsec_t now, struct strbuf *out);
/* "5d3h" as kubectl words durations; "<unknown>" for what cannot be read. */
void age_text(const char *timestamp, nsec_t now, struct strbuf *out);
void duration_text(nsec_t d, struct strbuf *out);
void cell_containers(const struct kj_val *pod_spec, struct strbuf *out);
void cell_images(const struct kj_val *pod_spec, struct strbuf *out);
/* Cell functions that print one path: text (nothing: otherwise), a number (absent: 0), a bool. */
void cell_path(const struct kj_val *obj, const char *path, const char *otherwise,
               struct strbuf *out);
#define TEXT_CELL(fn, path, otherwise)                                       \
    static void fn(const struct kj_val *obj, nsec_t now, struct strbuf *out) \
    {                                                                        \
        (void)now;                                                           \
        cell_path(obj, path, otherwise, out);                                \
    }
#define INT_CELL(fn, path)                                                   \
    static void fn(const struct kj_val *obj, nsec_t now, struct strbuf *out) \
    {                                                                        \
        (void)now;                                                           \
        strbuf_append_i64(out, kj_i64_or(kj_path(obj, path), 0));            \
    }
#define LABELS_CELL(fn, path)                                                \
    static void fn(const struct kj_val *obj, nsec_t now, struct strbuf *out) \
    {                                                                        \
        (void)now;                                                           \
        cell_labels(kj_path(obj, path), out);                                \
    }
#define BOOL_CELL(fn, path, otherwise)                                                 \
    static void fn(const struct kj_val *obj, nsec_t now, struct strbuf *out)           \
    {                                                                                  \
        (void)now;                                                                     \
        strbuf_append(out, kj_bool(kj_path(obj, path), otherwise) ? "true" : "false"); \
    }
/* Columns of kinds with a pod template: containers, images, selector. */
void cell_template_containers(const struct kj_val *obj, nsec_t now, struct strbuf *out);
void cell_template_images(const struct kj_val *obj, nsec_t now, struct strbuf *out);
void cell_selector(const struct kj_val *obj, nsec_t now, struct strbuf *out);
#define NAME_COLUMN                                         \
    {                                                       \
        .name = "Name", .type = "string", .cell = cell_name \
    }
#define AGE_COLUMN                                        \
    {                                                     \
        .name = "Age", .type = "string", .cell = cell_age \
    }
#define COLUMNS(id) const struct columns id = { id##_list, ARRAY_LEN(id##_list) }
#endif
