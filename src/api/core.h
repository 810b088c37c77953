/* core.h - small kinds of core/v1: Namespace, ConfigMap, Secret, Service. */
#ifndef KOORD_API_CORE_H
#define KOORD_API_CORE_H
#include "api/types.h"

struct namespace
{
    struct kobj obj;
    const char *phase; /* "Active", "Terminating" */
};
extern const struct kschema namespace_schema;
extern const struct kind kind_namespace;

struct configmap {
    struct kobj obj;
    kstrmap data;
    kstrmap binary_data; /* base64, as on the wire */
};
extern const struct kschema configmap_schema;
extern const struct kind kind_configmap;

struct secret {
    struct kobj obj;
    const char *type; /* "kubernetes.io/tls" */
    kstrmap data;     /* base64, as on the wire: decode with base/b64.h where it is used */
};
extern const struct kschema secret_schema;
extern const struct kind kind_secret;

struct service {
    struct kobj obj;
    kstrmap selector;
    const char *cluster_ip, *type;
};
extern const struct kschema service_schema;
extern const struct kind kind_service;
#endif
