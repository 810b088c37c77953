/* discovery.c - discovery.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field discovery_endpoint_conditions_fields[] = {
    F("ready", T_BOOL, T_PTR),
    F("serving", T_BOOL, T_PTR),
    F("terminating", T_BOOL, T_PTR),
    END,
};
static TYPE(discovery_endpoint_conditions, "io.k8s.api.discovery.v1.EndpointConditions");

static const struct t_field discovery_for_zone_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(discovery_for_zone, "io.k8s.api.discovery.v1.ForZone");

static const struct t_field discovery_for_node_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(discovery_for_node, "io.k8s.api.discovery.v1.ForNode");

static const struct t_field discovery_endpoint_hints_fields[] = {
    OBJS("forZones", discovery_for_zone, T_ATOMIC),
    OBJS("forNodes", discovery_for_node, T_ATOMIC),
    END,
};
static TYPE(discovery_endpoint_hints, "io.k8s.api.discovery.v1.EndpointHints");

static const struct t_field discovery_endpoint_fields[] = {
    LIST("addresses", T_STR, T_REQ | T_EMIT | T_SET | T_REPLACE),
    OBJ("conditions", discovery_endpoint_conditions, T_EMIT),
    F("hostname", T_STR, T_PTR),
    OBJ("targetRef", core_object_reference, T_PTR),
    MAP("deprecatedTopology", T_STR, 0),
    F("nodeName", T_STR, T_PTR),
    F("zone", T_STR, T_PTR),
    OBJ("hints", discovery_endpoint_hints, T_PTR),
    END,
};
static TYPE(discovery_endpoint, "io.k8s.api.discovery.v1.Endpoint");

static const struct t_field discovery_endpoint_port_fields[] = {
    F("name", T_STR, T_PTR, DEF("\"\"")),
    ENUM("protocol", protocol_values, "v1.Protocol", T_PTR, DEF("\"TCP\"")),
    F("port", T_I32, T_PTR),
    F("appProtocol", T_STR, T_PTR),
    END,
};
static TYPE(discovery_endpoint_port, "io.k8s.api.discovery.v1.EndpointPort");

static const char *const address_type_values[] = { "IPv4", "IPv6", "FQDN", NULL };
static const struct t_field discovery_endpoint_slice_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    ENUM("addressType", address_type_values, "v1.AddressType", T_REQ | T_EMIT),
    OBJS("endpoints", discovery_endpoint, T_REQ | T_EMIT | T_ATOMIC),
    OBJS("ports", discovery_endpoint_port, T_EMIT | T_ATOMIC),
    END,
};
TYPE(discovery_endpoint_slice, "io.k8s.api.discovery.v1.EndpointSlice");
