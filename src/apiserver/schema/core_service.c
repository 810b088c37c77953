/* core_service.c - core/v1: services, endpoints, service accounts. */
#include "apiserver/schema/tables.h"

static const struct t_field core_service_port_fields[] = {
    F(1, "name", T_STR, 0),
    ENUM(2, "protocol", protocol_values, "v1.Protocol", 0, DEF("\"TCP\"")),
    F(6, "appProtocol", T_STR, T_PTR),
    F(3, "port", T_I32, T_REQ | T_EMIT),
    F(4, "targetPort", T_IOS, T_EMIT),
    F(5, "nodePort", T_I32, 0),
    END,
};
static TYPE(core_service_port, "io.k8s.api.core.v1.ServicePort");

static const struct t_field core_client_ip_config_fields[] = {
    F(1, "timeoutSeconds", T_I32, T_PTR),
    END,
};
static TYPE(core_client_ip_config, "io.k8s.api.core.v1.ClientIPConfig");

static const struct t_field core_session_affinity_config_fields[] = {
    OBJ(1, "clientIP", core_client_ip_config, T_PTR),
    END,
};
static TYPE(core_session_affinity_config, "io.k8s.api.core.v1.SessionAffinityConfig");

static const char *const service_type_values[] = { "ClusterIP", "NodePort", "LoadBalancer",
                                                   "ExternalName", NULL };
static const char *const service_affinity_values[] = { "ClientIP", "None", NULL };
static const char *const service_external_traffic_policy_values[] = { "Cluster", "Local", NULL };
static const char *const ip_family_values[] = { "IPv4", "IPv6", "", NULL };
static const char *const ip_family_policy_values[] = { "SingleStack", "PreferDualStack",
                                                       "RequireDualStack", NULL };
static const char *const service_internal_traffic_policy_values[] = { "Cluster", "Local", NULL };
static const struct t_field core_service_spec_fields[] = {
    OBJS(1, "ports", core_service_port, T_KEY, KEYS("port,protocol")),
    MAP(2, "selector", T_STR, T_ATOMIC),
    F(3, "clusterIP", T_STR, 0),
    LIST(18, "clusterIPs", T_STR, T_ATOMIC),
    ENUM(4, "type", service_type_values, "v1.ServiceType", 0, DEF("\"ClusterIP\"")),
    LIST(5, "externalIPs", T_STR, T_ATOMIC),
    ENUM(7, "sessionAffinity", service_affinity_values, "v1.ServiceAffinity", 0, DEF("\"None\"")),
    F(8, "loadBalancerIP", T_STR, 0),
    LIST(9, "loadBalancerSourceRanges", T_STR, T_ATOMIC),
    F(10, "externalName", T_STR, 0),
    ENUM(11, "externalTrafficPolicy", service_external_traffic_policy_values,
         "v1.ServiceExternalTrafficPolicy", 0),
    F(12, "healthCheckNodePort", T_I32, 0),
    F(13, "publishNotReadyAddresses", T_BOOL, 0),
    OBJ(14, "sessionAffinityConfig", core_session_affinity_config, T_PTR),
    ENUMS(19, "ipFamilies", ip_family_values, "v1.IPFamily", T_ATOMIC),
    ENUM(17, "ipFamilyPolicy", ip_family_policy_values, "v1.IPFamilyPolicy", T_PTR),
    F(20, "allocateLoadBalancerNodePorts", T_BOOL, T_PTR),
    F(21, "loadBalancerClass", T_STR, T_PTR),
    ENUM(22, "internalTrafficPolicy", service_internal_traffic_policy_values,
         "v1.ServiceInternalTrafficPolicy", T_PTR),
    F(23, "trafficDistribution", T_STR, T_PTR),
    END,
};
static TYPE(core_service_spec, "io.k8s.api.core.v1.ServiceSpec");

static const struct t_field core_port_status_fields[] = {
    F(1, "port", T_I32, T_REQ | T_EMIT),
    ENUM(2, "protocol", protocol_values, "v1.Protocol", T_REQ | T_EMIT),
    F(3, "error", T_STR, T_PTR),
    END,
};
static TYPE(core_port_status, "io.k8s.api.core.v1.PortStatus");

static const struct t_field core_load_balancer_ingress_fields[] = {
    F(1, "ip", T_STR, 0),
    F(2, "hostname", T_STR, 0),
    F(3, "ipMode", T_STR, T_PTR, GO("v1.LoadBalancerIPMode")),
    OBJS(4, "ports", core_port_status, T_ATOMIC),
    END,
};
static TYPE(core_load_balancer_ingress, "io.k8s.api.core.v1.LoadBalancerIngress");

static const struct t_field core_load_balancer_status_fields[] = {
    OBJS(1, "ingress", core_load_balancer_ingress, T_ATOMIC),
    END,
};
static TYPE(core_load_balancer_status, "io.k8s.api.core.v1.LoadBalancerStatus");

static const struct t_field core_service_status_fields[] = {
    OBJ(1, "loadBalancer", core_load_balancer_status, T_EMIT),
    OBJS(2, "conditions", meta_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(core_service_status, "io.k8s.api.core.v1.ServiceStatus");

static const struct t_field core_service_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_service_spec, T_EMIT),
    OBJ(3, "status", core_service_status, T_EMIT),
    END,
};
TYPE(core_service, "io.k8s.api.core.v1.Service");

static const struct t_field core_endpoint_address_fields[] = {
    F(1, "ip", T_STR, T_REQ | T_EMIT),
    F(3, "hostname", T_STR, 0),
    F(4, "nodeName", T_STR, T_PTR),
    OBJ(2, "targetRef", core_object_reference, T_PTR),
    END,
};
static ATOMIC_TYPE(core_endpoint_address, "io.k8s.api.core.v1.EndpointAddress");

static const struct t_field core_endpoint_port_fields[] = {
    F(1, "name", T_STR, 0),
    F(2, "port", T_I32, T_REQ | T_EMIT),
    ENUM(3, "protocol", protocol_values, "v1.Protocol", 0, DEF("\"TCP\"")),
    F(4, "appProtocol", T_STR, T_PTR),
    END,
};
static ATOMIC_TYPE(core_endpoint_port, "io.k8s.api.core.v1.EndpointPort");

static const struct t_field core_endpoint_subset_fields[] = {
    OBJS(1, "addresses", core_endpoint_address, T_ATOMIC),
    OBJS(2, "notReadyAddresses", core_endpoint_address, T_ATOMIC),
    OBJS(3, "ports", core_endpoint_port, T_ATOMIC),
    END,
};
static TYPE(core_endpoint_subset, "io.k8s.api.core.v1.EndpointSubset");

static const struct t_field core_endpoints_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJS(2, "subsets", core_endpoint_subset, T_ATOMIC),
    END,
};
TYPE(core_endpoints, "io.k8s.api.core.v1.Endpoints");

static const struct t_field core_service_account_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJS(2, "secrets", core_object_reference, T_KEY, KEYS("name")),
    OBJS(3, "imagePullSecrets", core_local_object_reference, T_ATOMIC),
    F(4, "automountServiceAccountToken", T_BOOL, T_PTR),
    END,
};
TYPE(core_service_account, "io.k8s.api.core.v1.ServiceAccount");
