/* tables.h - how the field tables are written, and the types that several files share.
 *
 * One line per field: its protobuf number, name, kind, flags (types.h), then what few need: KEYS,
 * DEF, GO. Fields stand in the order of the Go structs. No file but those of this folder includes
 * this.
 */
#ifndef KOORD_APISERVER_SCHEMA_TABLES_H
#define KOORD_APISERVER_SCHEMA_TABLES_H
#include "apiserver/schema/types.h"

/* The number of a field that JSON shows in its parent, but protobuf keeps in a message of its own,
 * which is field `outer` of the parent: Go's embedded structs. */
#define IN(outer, inner) ((outer) << 8 | (inner))
/* The same in a struct `middle` that is embedded in `outer`; both are below 16. */
#define IN_IN(outer, middle, inner) ((middle) << 12 | (outer) << 8 | (inner))

/* Scalars: one, a list, a map with string keys. */
#define F(p, n, k, f, ...)                                                \
    {                                                                     \
        .num = (p), .name = (n), .kind = (k), .flags = (f), ##__VA_ARGS__ \
    }
#define LIST(p, n, k, f, ...)                                                              \
    {                                                                                      \
        .num = (p), .name = (n), .kind = (k), .shape = T_LIST, .flags = (f), ##__VA_ARGS__ \
    }
#define MAP(p, n, k, f, ...)                                                              \
    {                                                                                     \
        .num = (p), .name = (n), .kind = (k), .shape = T_MAP, .flags = (f), ##__VA_ARGS__ \
    }
/* Strings of a named Go type with a closed list of values. */
#define ENUM(p, n, v, g, f, ...)    F(p, n, T_STR, f, .values = (v), .go = (g), ##__VA_ARGS__)
#define ENUMS(p, n, v, g, f, ...)   LIST(p, n, T_STR, f, .values = (v), .go = (g), ##__VA_ARGS__)
#define ENUMMAP(p, n, v, g, f, ...) MAP(p, n, T_STR, f, .values = (v), .go = (g), ##__VA_ARGS__)
/* Structs. */
#define OBJ(p, n, t, f, ...)    F(p, n, T_OBJ, f, .type = &(t), ##__VA_ARGS__)
#define OBJS(p, n, t, f, ...)   LIST(p, n, T_OBJ, f, .type = &(t), ##__VA_ARGS__)
#define OBJMAP(p, n, t, f, ...) MAP(p, n, T_OBJ, f, .type = &(t), ##__VA_ARGS__)

#define KEYS(k)                 .merge_key = (k)
#define DEF(json)               .def = (json)
#define GO(g)                   .go = (g)
#define END          \
    {                \
        .name = NULL \
    }
/* The type whose fields are in <id>_fields. */
#define TYPE(id, openapi) const struct t_type id = { .name = (openapi), .fields = id##_fields }
/* One that server-side apply replaces whole. */
#define ATOMIC_TYPE(id, openapi) \
    const struct t_type id = { .name = (openapi), .fields = id##_fields, .atomic = true }

/* types.c: the field of this name (any bytes), NULL when there is none. */
const struct t_field *types_field(const struct t_type *t, const char *name, size_t n);
/* types.c: the field for a value of this form, of a type that is one or the other (t_type.either).
 */
const struct t_field *types_form(const struct t_type *t, enum kj_type is);

/* meta.c */
extern const struct t_type meta_label_selector_requirement;
extern const struct t_type meta_label_selector;
extern const struct t_type meta_condition;

/* core_common.c */
extern const struct t_type core_object_reference;
extern const struct t_type core_local_object_reference;
extern const struct t_type core_typed_local_object_reference;
extern const struct t_type core_node_selector_term;
extern const struct t_type core_node_selector;
extern const struct t_type core_topology_selector_term;

/* core_volume.c */
extern const struct t_type core_persistent_volume_claim;
extern const struct t_type core_persistent_volume_spec;
extern const struct t_type core_persistent_volume;
extern const struct t_type core_object_field_selector;
extern const struct t_type core_resource_field_selector;
extern const struct t_type core_volume;
extern const char *const persistent_volume_reclaim_policy_values[];
extern const char *const pull_policy_values[];

/* core_pod.c */
extern const struct t_type core_pod;
extern const struct t_type core_pod_template_spec;
extern const struct t_type core_pod_template;
extern const struct t_type core_binding;
extern const struct t_type core_toleration;
extern const char *const preemption_policy_values[];
extern const char *const protocol_values[];
extern const char *const taint_effect_values[];

/* core_node.c */
extern const struct t_type core_node;

/* core_service.c */
extern const struct t_type core_service;
extern const struct t_type core_endpoints;
extern const struct t_type core_service_account;

/* core.c */
extern const struct t_type core_namespace;
extern const struct t_type core_event_source;
extern const struct t_type core_event;
extern const struct t_type core_config_map;
extern const struct t_type core_secret;
extern const struct t_type core_replication_controller;
extern const struct t_type core_limit_range;
extern const struct t_type core_resource_quota;

/* authorization.c */
extern const struct t_type authorization_self_subject_access_review;
extern const struct t_type authorization_self_subject_rules_review;
extern const struct t_type authorization_subject_access_review;
extern const struct t_type authorization_local_subject_access_review;
extern const struct t_type authentication_self_subject_review;
extern const struct t_type authentication_token_request;
extern const struct t_type authentication_token_review;

/* apiextensions.c */
extern const struct t_type extensions_definition;

/* apps.c */
extern const struct t_type apps_deployment;
extern const struct t_type apps_replica_set;
extern const struct t_type apps_stateful_set;
extern const struct t_type apps_daemon_set;
extern const struct t_type apps_controller_revision;

/* batch.c */
extern const struct t_type batch_job;
extern const struct t_type batch_cron_job;

/* policy.c */
extern const struct t_type policy_pod_disruption_budget;
extern const struct t_type policy_eviction;
extern const struct t_type autoscaling_scale;

/* coordination.c */
extern const struct t_type coordination_lease;

/* scheduling.c */
extern const struct t_type scheduling_priority_class;

/* storage.c */
extern const struct t_type storage_storage_class;
extern const struct t_type storage_csi_node;
extern const struct t_type storage_csi_driver;
extern const struct t_type storage_csi_storage_capacity;
extern const struct t_type storage_volume_attachment;
extern const struct t_type storage_volume_attributes_class;

/* resource.c */
extern const struct t_type resource_resource_claim;
extern const struct t_type resource_resource_claim_template;
extern const struct t_type resource_resource_slice;
extern const struct t_type resource_device_taint_rule;
extern const struct t_type resource_device_class;

/* rbac.c */
extern const struct t_type rbac_role;
extern const struct t_type rbac_role_binding;
extern const struct t_type rbac_cluster_role;
extern const struct t_type rbac_cluster_role_binding;

/* admission.c */
extern const struct t_type admission_mutating_webhook_configuration;
extern const struct t_type admission_validating_webhook_configuration;
extern const struct t_type admission_validating_admission_policy;
extern const struct t_type admission_validating_admission_policy_binding;

/* discovery.c */
extern const struct t_type discovery_endpoint_slice;

/* networking.c */
extern const struct t_type networking_ingress;
extern const struct t_type networking_ingress_class;
extern const struct t_type networking_ip_address;
extern const struct t_type networking_network_policy;
extern const struct t_type networking_service_cidr;

/* registration.c */
extern const struct t_type core_component_status;
extern const struct t_type registration_api_service;

/* autoscaling.c */
extern const struct t_type autoscaling_horizontal_pod_autoscaler;
extern const struct t_type autoscaling_v1_horizontal_pod_autoscaler;

/* certificates.c */
extern const struct t_type certificates_certificate_signing_request;

/* flowcontrol.c */
extern const struct t_type flowcontrol_flow_schema;
extern const struct t_type flowcontrol_priority_level_configuration;

/* metrics.c */
extern const struct t_type metrics_node_metrics;
extern const struct t_type metrics_pod_metrics;

/* runtimeclass.c */
extern const struct t_type node_runtime_class;

/* events.c */
extern const struct t_type events_event;
#endif
