/* discovery.c - discovery.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field discovery_endpoint_conditions_fields[] = {
    F(1, "ready", T_BOOL, T_PTR),
    F(2, "serving", T_BOOL, T_PTR),
    F(3, "terminating", T_BOOL, T_PTR),
    END,
};
static TYPE(discovery_endpoint_conditions, "io.k8s.api.discovery.v1.EndpointConditions");

static const struct t_field discovery_for_zone_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(discovery_for_zone, "io.k8s.api.discovery.v1.ForZone");

static const struct t_field discovery_for_node_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(discovery_for_node, "io.k8s.api.discovery.v1.ForNode");

static const struct t_field discovery_endpoint_hints_fields[] = {
    OBJS(1, "forZones", discovery_for_zone, T_ATOMIC),
    OBJS(2, "forNodes", discovery_for_node, T_ATOMIC),
    END,
};
static TYPE(discovery_endpoint_hints, "io.k8s.api.discovery.v1.EndpointHints");

static const struct t_field discovery_endpoint_fields[] = {
    LIST(1, "addresses", T_STR, T_REQ | T_EMIT | T_SET | T_REPLACE),
    OBJ(2, "conditions", discovery_endpoint_conditions, T_EMIT),
    F(3, "hostname", T_STR, T_PTR),
    OBJ(4, "targetRef", core_object_reference, T_PTR),
    MAP(5, "deprecatedTopology", T_STR, 0),
    F(6, "nodeName", T_STR, T_PTR),
    F(7, "zone", T_STR, T_PTR),
    OBJ(8, "hints", discovery_endpoint_hints, T_PTR),
    END,
};
static TYPE(discovery_endpoint, "io.k8s.api.discovery.v1.Endpoint");

static const struct t_field discovery_endpoint_port_fields[] = {
    F(1, "name", T_STR, T_PTR, DEF("\"\"")),
    ENUM(2, "protocol", protocol_values, "v1.Protocol", T_PTR, DEF("\"TCP\"")),
    F(3, "port", T_I32, T_PTR),
    F(4, "appProtocol", T_STR, T_PTR),
    END,
};
static ATOMIC_TYPE(discovery_endpoint_port, "io.k8s.api.discovery.v1.EndpointPort");

static const char *const address_type_values[] = { "IPv4", "IPv6", "FQDN", NULL };
static const struct t_field discovery_endpoint_slice_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    ENUM(4, "addressType", address_type_values, "v1.AddressType", T_REQ | T_EMIT),
    OBJS(2, "endpoints", discovery_endpoint, T_REQ | T_EMIT | T_ATOMIC),
    OBJS(3, "ports", discovery_endpoint_port, T_EMIT | T_ATOMIC),
    END,
};
TYPE(discovery_endpoint_slice, "io.k8s.api.discovery.v1.EndpointSlice");
