/* meta_discovery.c - what the server says it serves: meta/v1, and apidiscovery.k8s.io/v2 in one
 * piece.
 */
#include "apiserver/schema/tables.h"

static const struct t_field meta_server_address_fields[] = {
    F(1, "clientCIDR", T_STR, T_REQ | T_EMIT),
    F(2, "serverAddress", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(meta_server_address, "io.k8s.apimachinery.pkg.apis.meta.v1.ServerAddressByClientCIDR");

static const struct t_field meta_group_version_fields[] = {
    F(1, "groupVersion", T_STR, T_REQ | T_EMIT),
    F(2, "version", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(meta_group_version, "io.k8s.apimachinery.pkg.apis.meta.v1.GroupVersionForDiscovery");

static const struct t_field meta_api_versions_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    LIST(1, "versions", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    OBJS(2, "serverAddressByClientCIDRs", meta_server_address, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
TYPE(meta_api_versions, "io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions");

static const struct t_field meta_api_group_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    F(1, "name", T_STR, T_REQ | T_EMIT),
    OBJS(2, "versions", meta_group_version, T_REQ | T_EMIT | T_ATOMIC),
    OBJ(3, "preferredVersion", meta_group_version, T_EMIT),
    OBJS(4, "serverAddressByClientCIDRs", meta_server_address, T_ATOMIC),
    END,
};
TYPE(meta_api_group, "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup");

static const struct t_field meta_api_group_list_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJS(1, "groups", meta_api_group, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
TYPE(meta_api_group_list, "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList");

/* Verbs are a message of their own in protobuf. */
static const struct t_field meta_api_resource_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(6, "singularName", T_STR, T_REQ | T_EMIT),
    F(2, "namespaced", T_BOOL, T_REQ | T_EMIT),
    F(8, "group", T_STR, 0),
    F(9, "version", T_STR, 0),
    F(3, "kind", T_STR, T_REQ | T_EMIT),
    F(4, "verbs", T_STRS, T_REQ | T_EMIT),
    LIST(5, "shortNames", T_STR, T_ATOMIC),
    LIST(7, "categories", T_STR, T_ATOMIC),
    F(10, "storageVersionHash", T_STR, 0),
    END,
};
static TYPE(meta_api_resource, "io.k8s.apimachinery.pkg.apis.meta.v1.APIResource");

static const struct t_field meta_api_resource_list_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    F(1, "groupVersion", T_STR, T_REQ | T_EMIT),
    OBJS(2, "resources", meta_api_resource, T_REQ | T_EMIT | T_ATOMIC),
    END,
};
TYPE(meta_api_resource_list, "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList");

/* ---- apidiscovery.k8s.io/v2; v2beta1 has the same fields -------------------------------------- */

static const struct t_field meta_group_version_kind_fields[] = {
    F(1, "group", T_STR, T_REQ | T_EMIT),
    F(2, "version", T_STR, T_REQ | T_EMIT),
    F(3, "kind", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(meta_group_version_kind, "io.k8s.apimachinery.pkg.apis.meta.v1.GroupVersionKind");

static const struct t_field apidiscovery_subresource_fields[] = {
    F(1, "subresource", T_STR, T_REQ | T_EMIT),
    OBJ(2, "responseKind", meta_group_version_kind, T_PTR),
    OBJS(3, "acceptedTypes", meta_group_version_kind, T_KEY | T_REPLACE,
         KEYS("group,version,kind")),
    LIST(4, "verbs", T_STR, T_REQ | T_EMIT | T_SET | T_REPLACE),
    END,
};
static TYPE(apidiscovery_subresource, "io.k8s.api.apidiscovery.v2.APISubresourceDiscovery");

static const struct t_field apidiscovery_resource_fields[] = {
    F(1, "resource", T_STR, T_REQ | T_EMIT),
    OBJ(2, "responseKind", meta_group_version_kind, T_PTR),
    F(3, "scope", T_STR, T_REQ | T_EMIT),
    F(4, "singularResource", T_STR, T_REQ | T_EMIT),
    LIST(5, "verbs", T_STR, T_REQ | T_EMIT | T_SET | T_REPLACE),
    LIST(6, "shortNames", T_STR, T_SET | T_REPLACE),
    LIST(7, "categories", T_STR, T_SET | T_REPLACE),
    OBJS(8, "subresources", apidiscovery_subresource, T_KEY | T_REPLACE, KEYS("subresource")),
    END,
};
static TYPE(apidiscovery_resource, "io.k8s.api.apidiscovery.v2.APIResourceDiscovery");

static const struct t_field apidiscovery_version_fields[] = {
    F(1, "version", T_STR, T_REQ | T_EMIT),
    OBJS(2, "resources", apidiscovery_resource, T_KEY | T_REPLACE, KEYS("resource")),
    F(3, "freshness", T_STR, 0),
    END,
};
static TYPE(apidiscovery_version, "io.k8s.api.apidiscovery.v2.APIVersionDiscovery");

static const struct t_field apidiscovery_group_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJS(2, "versions", apidiscovery_version, T_KEY | T_REPLACE, KEYS("version")),
    END,
};
TYPE(apidiscovery_group, "io.k8s.api.apidiscovery.v2.APIGroupDiscovery");

static const struct t_field meta_watch_event_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT),
    F(2, "object", T_ANY, T_REQ | T_EMIT),
    END,
};
TYPE(meta_watch_event, "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent");
