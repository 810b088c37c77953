/* networking.c - networking.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field networking_parent_reference_fields[] = {
    F(1, "group", T_STR, 0),
    F(2, "resource", T_STR, T_REQ),
    F(3, "namespace", T_STR, 0),
    F(4, "name", T_STR, T_REQ),
    END,
};
static TYPE(networking_parent_reference, "io.k8s.api.networking.v1.ParentReference");

static const struct t_field networking_ip_address_spec_fields[] = {
    OBJ(1, "parentRef", networking_parent_reference, T_REQ | T_PTR),
    END,
};
static TYPE(networking_ip_address_spec, "io.k8s.api.networking.v1.IPAddressSpec");

static const struct t_field networking_ip_address_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", networking_ip_address_spec, T_EMIT),
    END,
};
TYPE(networking_ip_address, "io.k8s.api.networking.v1.IPAddress");

static const struct t_field networking_service_backend_port_fields[] = {
    F(1, "name", T_STR, 0),
    F(2, "number", T_I32, 0),
    END,
};
static ATOMIC_TYPE(networking_service_backend_port, "io.k8s.api.networking.v1.ServiceBackendPort");

static const struct t_field networking_ingress_service_backend_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    OBJ(2, "port", networking_service_backend_port, T_EMIT),
    END,
};
static TYPE(networking_ingress_service_backend, "io.k8s.api.networking.v1.IngressServiceBackend");

static const struct t_field networking_ingress_backend_fields[] = {
    OBJ(4, "service", networking_ingress_service_backend, T_PTR),
    OBJ(3, "resource", core_typed_local_object_reference, T_PTR),
    END,
};
static TYPE(networking_ingress_backend, "io.k8s.api.networking.v1.IngressBackend");

static const struct t_field networking_ingress_tls_fields[] = {
    LIST(1, "hosts", T_STR, T_ATOMIC),
    F(2, "secretName", T_STR, 0),
    END,
};
static TYPE(networking_ingress_tls, "io.k8s.api.networking.v1.IngressTLS");

static const char *const path_type_values[] = { "Exact", "ImplementationSpecific", "Prefix", NULL };
static const struct t_field networking_http_ingress_path_fields[] = {
    F(1, "path", T_STR, 0),
    ENUM(3, "pathType", path_type_values, "v1.PathType", T_REQ | T_PTR | T_EMIT),
    OBJ(2, "backend", networking_ingress_backend, T_REQ | T_EMIT),
    END,
};
static TYPE(networking_http_ingress_path, "io.k8s.api.networking.v1.HTTPIngressPath");

static const struct t_field networking_http_ingress_rule_value_fields[] = {
    OBJS(1, "paths", networking_http_ingress_path, T_REQ | T_ATOMIC | T_EMIT),
    END,
};
static TYPE(networking_http_ingress_rule_value, "io.k8s.api.networking.v1.HTTPIngressRuleValue");

static const struct t_field networking_ingress_rule_fields[] = {
    F(1, "host", T_STR, 0),
    OBJ(IN(2, 1), "http", networking_http_ingress_rule_value, T_PTR),
    END,
};
static TYPE(networking_ingress_rule, "io.k8s.api.networking.v1.IngressRule");

static const struct t_field networking_ingress_spec_fields[] = {
    F(4, "ingressClassName", T_STR, T_PTR),
    OBJ(1, "defaultBackend", networking_ingress_backend, T_PTR),
    OBJS(2, "tls", networking_ingress_tls, T_ATOMIC),
    OBJS(3, "rules", networking_ingress_rule, T_ATOMIC),
    END,
};
static TYPE(networking_ingress_spec, "io.k8s.api.networking.v1.IngressSpec");

static const struct t_field networking_ingress_port_status_fields[] = {
    F(1, "port", T_I32, T_REQ | T_EMIT),
    ENUM(2, "protocol", protocol_values, "v1.Protocol", T_REQ | T_EMIT),
    F(3, "error", T_STR, T_PTR),
    END,
};
static TYPE(networking_ingress_port_status, "io.k8s.api.networking.v1.IngressPortStatus");

static const struct t_field networking_ingress_load_balancer_ingress_fields[] = {
    F(1, "ip", T_STR, 0),
    F(2, "hostname", T_STR, 0),
    OBJS(4, "ports", networking_ingress_port_status, T_ATOMIC),
    END,
};
static TYPE(networking_ingress_load_balancer_ingress,
            "io.k8s.api.networking.v1.IngressLoadBalancerIngress");

static const struct t_field networking_ingress_load_balancer_status_fields[] = {
    OBJS(1, "ingress", networking_ingress_load_balancer_ingress, T_ATOMIC),
    END,
};
static TYPE(networking_ingress_load_balancer_status,
            "io.k8s.api.networking.v1.IngressLoadBalancerStatus");

static const struct t_field networking_ingress_status_fields[] = {
    OBJ(1, "loadBalancer", networking_ingress_load_balancer_status, T_EMIT),
    END,
};
static TYPE(networking_ingress_status, "io.k8s.api.networking.v1.IngressStatus");

static const struct t_field networking_ingress_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", networking_ingress_spec, T_EMIT),
    OBJ(3, "status", networking_ingress_status, T_EMIT),
    END,
};
TYPE(networking_ingress, "io.k8s.api.networking.v1.Ingress");

static const struct t_field networking_ingress_class_parameters_reference_fields[] = {
    F(1, "apiGroup", T_STR, T_PTR),      F(2, "kind", T_STR, T_REQ | T_EMIT),
    F(3, "name", T_STR, T_REQ | T_EMIT), F(4, "scope", T_STR, T_PTR | T_EMIT, DEF("\"Cluster\"")),
    F(5, "namespace", T_STR, T_PTR),     END,
};
static TYPE(networking_ingress_class_parameters_reference,
            "io.k8s.api.networking.v1.IngressClassParametersReference");

static const struct t_field networking_ingress_class_spec_fields[] = {
    F(1, "controller", T_STR, 0),
    OBJ(2, "parameters", networking_ingress_class_parameters_reference, T_PTR),
    END,
};
static TYPE(networking_ingress_class_spec, "io.k8s.api.networking.v1.IngressClassSpec");

static const struct t_field networking_ingress_class_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", networking_ingress_class_spec, T_EMIT),
    END,
};
TYPE(networking_ingress_class, "io.k8s.api.networking.v1.IngressClass");

static const struct t_field networking_network_policy_port_fields[] = {
    ENUM(1, "protocol", protocol_values, "v1.Protocol", T_PTR, DEF("\"TCP\"")),
    F(2, "port", T_IOS, T_PTR),
    F(3, "endPort", T_I32, T_PTR),
    END,
};
static TYPE(networking_network_policy_port, "io.k8s.api.networking.v1.NetworkPolicyPort");

static const struct t_field networking_ip_block_fields[] = {
    F(1, "cidr", T_STR, T_REQ | T_EMIT),
    LIST(2, "except", T_STR, T_ATOMIC),
    END,
};
static TYPE(networking_ip_block, "io.k8s.api.networking.v1.IPBlock");

static const struct t_field networking_network_policy_peer_fields[] = {
    OBJ(1, "podSelector", meta_label_selector, T_PTR),
    OBJ(2, "namespaceSelector", meta_label_selector, T_PTR),
    OBJ(3, "ipBlock", networking_ip_block, T_PTR),
    END,
};
static TYPE(networking_network_policy_peer, "io.k8s.api.networking.v1.NetworkPolicyPeer");

static const struct t_field networking_network_policy_ingress_rule_fields[] = {
    OBJS(1, "ports", networking_network_policy_port, T_ATOMIC),
    OBJS(2, "from", networking_network_policy_peer, T_ATOMIC),
    END,
};
static TYPE(networking_network_policy_ingress_rule,
            "io.k8s.api.networking.v1.NetworkPolicyIngressRule");

static const struct t_field networking_network_policy_egress_rule_fields[] = {
    OBJS(1, "ports", networking_network_policy_port, T_ATOMIC),
    OBJS(2, "to", networking_network_policy_peer, T_ATOMIC),
    END,
};
static TYPE(networking_network_policy_egress_rule,
            "io.k8s.api.networking.v1.NetworkPolicyEgressRule");

static const char *const policy_type_values[] = { "Ingress", "Egress", NULL };

static const struct t_field networking_network_policy_spec_fields[] = {
    OBJ(1, "podSelector", meta_label_selector, T_EMIT),
    OBJS(2, "ingress", networking_network_policy_ingress_rule, T_ATOMIC),
    OBJS(3, "egress", networking_network_policy_egress_rule, T_ATOMIC),
    ENUMS(4, "policyTypes", policy_type_values, "v1.PolicyType", T_ATOMIC),
    END,
};
static TYPE(networking_network_policy_spec, "io.k8s.api.networking.v1.NetworkPolicySpec");

static const struct t_field networking_network_policy_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", networking_network_policy_spec, T_EMIT),
    END,
};
TYPE(networking_network_policy, "io.k8s.api.networking.v1.NetworkPolicy");

static const struct t_field networking_service_cidr_spec_fields[] = {
    LIST(1, "cidrs", T_STR, T_ATOMIC),
    END,
};
static TYPE(networking_service_cidr_spec, "io.k8s.api.networking.v1.ServiceCIDRSpec");

static const struct t_field networking_service_cidr_status_fields[] = {
    OBJS(1, "conditions", meta_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(networking_service_cidr_status, "io.k8s.api.networking.v1.ServiceCIDRStatus");

static const struct t_field networking_service_cidr_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", networking_service_cidr_spec, T_EMIT),
    OBJ(3, "status", networking_service_cidr_status, T_EMIT),
    END,
};
TYPE(networking_service_cidr, "io.k8s.api.networking.v1.ServiceCIDR");
