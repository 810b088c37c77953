/* core_service.c - core/v1: services, endpoints, service accounts. */
#include "apiserver/schema/tables.h"

static const struct t_field core_service_port_fields[] = {
    F("name", T_STR, 0),
    ENUM("protocol", protocol_values, "v1.Protocol", 0, DEF("\"TCP\"")),
    F("appProtocol", T_STR, T_PTR),
    F("port", T_I32, T_REQ | T_EMIT),
    F("targetPort", T_IOS, T_EMIT),
    F("nodePort", T_I32, 0),
    END,
};
static TYPE(core_service_port, "io.k8s.api.core.v1.ServicePort");

static const struct t_field core_client_ip_config_fields[] = {
    F("timeoutSeconds", T_I32, T_PTR),
    END,
};
static TYPE(core_client_ip_config, "io.k8s.api.core.v1.ClientIPConfig");

static const struct t_field core_session_affinity_config_fields[] = {
    OBJ("clientIP", core_client_ip_config, T_PTR),
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
    OBJS("ports", core_service_port, T_KEY, KEYS("port,protocol")),
    MAP("selector", T_STR, T_ATOMIC),
    F("clusterIP", T_STR, 0),
    LIST("clusterIPs", T_STR, T_ATOMIC),
    ENUM("type", service_type_values, "v1.ServiceType", 0, DEF("\"ClusterIP\"")),
    LIST("externalIPs", T_STR, T_ATOMIC),
    ENUM("sessionAffinity", service_affinity_values, "v1.ServiceAffinity", 0, DEF("\"None\"")),
    F("loadBalancerIP", T_STR, 0),
    LIST("loadBalancerSourceRanges", T_STR, T_ATOMIC),
    F("externalName", T_STR, 0),
    ENUM("externalTrafficPolicy", service_external_traffic_policy_values,
         "v1.ServiceExternalTrafficPolicy", 0),
    F("healthCheckNodePort", T_I32, 0),
    F("publishNotReadyAddresses", T_BOOL, 0),
    OBJ("sessionAffinityConfig", core_session_affinity_config, T_PTR),
    ENUMS("ipFamilies", ip_family_values, "v1.IPFamily", T_ATOMIC),
    ENUM("ipFamilyPolicy", ip_family_policy_values, "v1.IPFamilyPolicy", T_PTR),
    F("allocateLoadBalancerNodePorts", T_BOOL, T_PTR),
    F("loadBalancerClass", T_STR, T_PTR),
    ENUM("internalTrafficPolicy", service_internal_traffic_policy_values,
         "v1.ServiceInternalTrafficPolicy", T_PTR),
    F("trafficDistribution", T_STR, T_PTR),
    END,
};
static TYPE(core_service_spec, "io.k8s.api.core.v1.ServiceSpec");

static const struct t_field core_port_status_fields[] = {
    F("port", T_I32, T_REQ | T_EMIT),
    ENUM("protocol", protocol_values, "v1.Protocol", T_REQ | T_EMIT),
    F("error", T_STR, T_PTR),
    END,
};
static TYPE(core_port_status, "io.k8s.api.core.v1.PortStatus");

static const struct t_field core_load_balancer_ingress_fields[] = {
    F("ip", T_STR, 0),
    F("hostname", T_STR, 0),
    F("ipMode", T_STR, T_PTR, GO("v1.LoadBalancerIPMode")),
    OBJS("ports", core_port_status, T_ATOMIC),
    END,
};
static TYPE(core_load_balancer_ingress, "io.k8s.api.core.v1.LoadBalancerIngress");

static const struct t_field core_load_balancer_status_fields[] = {
    OBJS("ingress", core_load_balancer_ingress, T_ATOMIC),
    END,
};
static TYPE(core_load_balancer_status, "io.k8s.api.core.v1.LoadBalancerStatus");

static const struct t_field core_service_status_fields[] = {
    OBJ("loadBalancer", core_load_balancer_status, T_EMIT),
    OBJS("conditions", meta_condition, T_KEY, KEYS("type")),
    END,
};
static TYPE(core_service_status, "io.k8s.api.core.v1.ServiceStatus");

static const struct t_field core_service_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", core_service_spec, T_EMIT),
    OBJ("status", core_service_status, T_EMIT),
    END,
};
TYPE(core_service, "io.k8s.api.core.v1.Service");

static const struct t_field core_endpoint_address_fields[] = {
    F("ip", T_STR, T_REQ | T_EMIT),
    F("hostname", T_STR, 0),
    F("nodeName", T_STR, T_PTR),
    OBJ("targetRef", core_object_reference, T_PTR),
    END,
};
static TYPE(core_endpoint_address, "io.k8s.api.core.v1.EndpointAddress");

static const struct t_field core_endpoint_port_fields[] = {
    F("name", T_STR, 0),
    F("port", T_I32, T_REQ | T_EMIT),
    ENUM("protocol", protocol_values, "v1.Protocol", 0, DEF("\"TCP\"")),
    F("appProtocol", T_STR, T_PTR),
    END,
};
static TYPE(core_endpoint_port, "io.k8s.api.core.v1.EndpointPort");

static const struct t_field core_endpoint_subset_fields[] = {
    OBJS("addresses", core_endpoint_address, T_ATOMIC),
    OBJS("notReadyAddresses", core_endpoint_address, T_ATOMIC),
    OBJS("ports", core_endpoint_port, T_ATOMIC),
    END,
};
static TYPE(core_endpoint_subset, "io.k8s.api.core.v1.EndpointSubset");

static const struct t_field core_endpoints_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJS("subsets", core_endpoint_subset, T_ATOMIC),
    END,
};
TYPE(core_endpoints, "io.k8s.api.core.v1.Endpoints");

static const struct t_field core_service_account_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJS("secrets", core_object_reference, T_KEY, KEYS("name")),
    OBJS("imagePullSecrets", core_local_object_reference, T_ATOMIC),
    F("automountServiceAccountToken", T_BOOL, T_PTR),
    END,
};
TYPE(core_service_account, "io.k8s.api.core.v1.ServiceAccount");
