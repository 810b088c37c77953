/* core.c - tables of the small core kinds. Single members of spec and status are lifted into the
 * struct: spec.selector of a Service is service.selector. */
#include "api/core.h"

#include "api/meta_fields.h"

#define OMIT        KF_OMITEMPTY
#define INTERN_OMIT (KF_INTERN | KF_OMITEMPTY)

struct phase_part {
    const char *phase;
};
static const struct kfield phase_fields[] = {
    KF(struct phase_part, phase, "phase", KF_STR, .flags = INTERN_OMIT),
};
static const struct kschema namespace_status_schema =
    KSCHEMA("NamespaceStatus", struct phase_part, phase_fields);
static const struct kfield namespace_fields[] = {
    KF_OBJMETA(struct namespace),
    KF(struct namespace, phase, "status", KF_OBJ, .flags = OMIT, .sub = &namespace_status_schema),
};
const struct kschema namespace_schema = KSCHEMA("Namespace", struct namespace, namespace_fields);
const struct kind kind_namespace = {
    .group = "",
    .version = "v1",
    .kind = "Namespace",
    .plural = "namespaces",
    .short_names = "ns",
    .has_status = true,
    .schema = &namespace_schema,
};

static const struct kfield configmap_fields[] = {
    KF_OBJMETA(struct configmap),
    KF_MAP_OF(struct configmap, data, "data", KF_STR, .flags = OMIT),
    KF_MAP_OF(struct configmap, binary_data, "binaryData", KF_STR, .flags = OMIT),
};
const struct kschema configmap_schema = KSCHEMA("ConfigMap", struct configmap, configmap_fields);
const struct kind kind_configmap = {
    .group = "",
    .version = "v1",
    .kind = "ConfigMap",
    .plural = "configmaps",
    .short_names = "cm",
    .namespaced = true,
    .schema = &configmap_schema,
};

static const struct kfield secret_fields[] = {
    KF_OBJMETA(struct secret),
    KF_MAP_OF(struct secret, data, "data", KF_STR, .flags = OMIT),
    KF(struct secret, type, "type", KF_STR, .flags = INTERN_OMIT),
};
const struct kschema secret_schema = KSCHEMA("Secret", struct secret, secret_fields);
const struct kind kind_secret = {
    .group = "",
    .version = "v1",
    .kind = "Secret",
    .plural = "secrets",
    .namespaced = true,
    .schema = &secret_schema,
};

/* struct service from its selector on. */
struct service_spec {
    kstrmap selector;
    const char *cluster_ip, *type;
};
_Static_assert(offsetof(struct service, type) - offsetof(struct service, selector) ==
                   offsetof(struct service_spec, type),
               "the members of the spec lie together");
static const struct kfield service_spec_fields[] = {
    KF_STRMAP(struct service_spec, selector, "selector"),
    KF(struct service_spec, cluster_ip, "clusterIP", KF_STR, .flags = OMIT),
    KF(struct service_spec, type, "type", KF_STR, .flags = INTERN_OMIT),
};
static const struct kschema service_spec_schema =
    KSCHEMA("ServiceSpec", struct service_spec, service_spec_fields);
static const struct kfield service_fields[] = {
    KF_OBJMETA(struct service),
    KF(struct service, selector, "spec", KF_OBJ, .flags = OMIT, .sub = &service_spec_schema),
};
const struct kschema service_schema = KSCHEMA("Service", struct service, service_fields);
const struct kind kind_service = {
    .group = "",
    .version = "v1",
    .kind = "Service",
    .plural = "services",
    .short_names = "svc",
    .namespaced = true,
    .has_status = true,
    .schema = &service_schema,
};
