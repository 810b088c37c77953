/* docs_service.c - tables of Services, of what stands behind them, and of pods as they see them. */
#include "cluster/docs_int.h"

/* ---- Service ------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct svc_port, member, json, type, __VA_ARGS__)
static const struct kfield svc_port_fields[] = {
    F(name, "name", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(protocol, "protocol", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(app_protocol, "appProtocol", KF_OPT_STR, OMIT),
    F(port, "port", KF_I32),
    F(target, "targetPort", KF_INT_OR_STR, OMIT),
};
#undef F
static const struct kschema svc_port_schema =
    KSCHEMA("ServicePort", struct svc_port, svc_port_fields);
#define F(member, json, type, ...) KF(struct svc_spec, member, json, type, __VA_ARGS__)
static const struct kfield svc_spec_fields[] = {
    KF_MAP_OF(struct svc_spec, selector, "selector", KF_STR, .flags = KF_INTERN),
    KF_LIST_OF(struct svc_spec, ports, "ports", KF_OBJ, OMIT, .sub = &svc_port_schema),
    KF_LIST_OF(struct svc_spec, ip_families, "ipFamilies", KF_STR, OMIT),
    F(type, "type", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(cluster_ip, "clusterIP", KF_STR, OMIT),
    F(publish_not_ready, "publishNotReadyAddresses", KF_BOOL, OMIT),
};
#undef F
static const struct kschema svc_spec_schema =
    KSCHEMA("ServiceSpec", struct svc_spec, svc_spec_fields);
static const struct kfield svc_fields[] = {
    META(struct svc),
    KF(struct svc, spec, "spec", KF_OBJ, OMIT, .sub = &svc_spec_schema),
};
static const struct kschema svc_schema = KSCHEMA("Service", struct svc, svc_fields);
const struct kind doc_service = { .group = "",
                                  .version = "v1",
                                  .kind = "Service",
                                  .plural = "services",
                                  .namespaced = true,
                                  .has_status = true,
                                  .schema = &svc_schema };

/* ---- Endpoints, EndpointSlice -------------------------------------------------------------- */

static const struct kfield endpoints_fields[] = {
    META(struct endpoints_doc),
    KF(struct endpoints_doc, subsets_json, "subsets", KF_RAW, OMIT),
};
static const struct kschema endpoints_schema =
    KSCHEMA("Endpoints", struct endpoints_doc, endpoints_fields);
const struct kind doc_endpoints = { .group = "",
                                    .version = "v1",
                                    .kind = "Endpoints",
                                    .plural = "endpoints",
                                    .namespaced = true,
                                    .schema = &endpoints_schema };

static const struct kfield slice_fields[] = {
    META(struct slice_doc),
    KF(struct slice_doc, address_type, "addressType", KF_STR, .flags = KF_INTERN),
    KF(struct slice_doc, endpoints_json, "endpoints", KF_RAW, OMIT),
    KF(struct slice_doc, ports_json, "ports", KF_RAW, OMIT),
};
static const struct kschema slice_schema = KSCHEMA("EndpointSlice", struct slice_doc, slice_fields);
const struct kind doc_slice = { .group = "discovery.k8s.io",
                                .version = "v1",
                                .kind = "EndpointSlice",
                                .plural = "endpointslices",
                                .namespaced = true,
                                .schema = &slice_schema };

/* ---- Pod ----------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct backend_port, member, json, type, __VA_ARGS__)
static const struct kfield backend_port_fields[] = {
    F(name, "name", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(protocol, "protocol", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(port, "containerPort", KF_I32),
};
#undef F
static const struct kschema backend_port_schema =
    KSCHEMA("ContainerPort", struct backend_port, backend_port_fields);
static const struct kfield backend_container_fields[] = {
    KF_LIST_OF(struct backend_container, ports, "ports", KF_OBJ, OMIT, .sub = &backend_port_schema),
};
static const struct kschema backend_container_schema =
    KSCHEMA("Container", struct backend_container, backend_container_fields);
#define F(member, json, type, ...) KF(struct backend_spec, member, json, type, __VA_ARGS__)
static const struct kfield backend_spec_fields[] = {
    F(node_name, "nodeName", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(hostname, "hostname", KF_STR, OMIT),
    F(subdomain, "subdomain", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    KF_LIST_OF(struct backend_spec, containers, "containers", KF_OBJ, OMIT,
               .sub = &backend_container_schema),
};
#undef F
static const struct kschema backend_spec_schema =
    KSCHEMA("PodSpec", struct backend_spec, backend_spec_fields);
#define F(member, json, type, ...) KF(struct backend_status, member, json, type, __VA_ARGS__)
static const struct kfield backend_status_fields[] = {
    F(phase, "phase", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(pod_ip, "podIP", KF_STR, OMIT),
    KF_LIST_OF(struct backend_status, conditions, "conditions", KF_OBJ, OMIT,
               .sub = &condition_schema),
};
#undef F
static const struct kschema backend_status_schema =
    KSCHEMA("PodStatus", struct backend_status, backend_status_fields);
static const struct kfield backend_fields[] = {
    META(struct backend),
    KF(struct backend, spec, "spec", KF_OBJ, OMIT, .sub = &backend_spec_schema),
    KF(struct backend, status, "status", KF_OBJ, OMIT, .sub = &backend_status_schema),
};
static const struct kschema backend_schema = KSCHEMA("Pod", struct backend, backend_fields);
const struct kind doc_backend = { .group = "",
                                  .version = "v1",
                                  .kind = "Pod",
                                  .plural = "pods",
                                  .namespaced = true,
                                  .has_status = true,
                                  .schema = &backend_schema };

/* ---- ServiceCIDR --------------------------------------------------------------------------- */

static const struct kfield cidr_status_fields[] = { CONDITIONS(struct cidr_status) };
const struct kschema cidr_status_schema =
    KSCHEMA("ServiceCIDRStatus", struct cidr_status, cidr_status_fields);
static const struct kfield cidr_spec_fields[] = {
    KF_LIST_OF(struct cidr_spec, cidrs, "cidrs", KF_STR, OMIT),
};
static const struct kschema cidr_spec_schema =
    KSCHEMA("ServiceCIDRSpec", struct cidr_spec, cidr_spec_fields);
static const struct kfield cidr_fields[] = {
    META(struct cidr),
    KF(struct cidr, spec, "spec", KF_OBJ, OMIT, .sub = &cidr_spec_schema),
    KF(struct cidr, status, "status", KF_OBJ, OMIT, .sub = &cidr_status_schema),
};
static const struct kschema cidr_schema = KSCHEMA("ServiceCIDR", struct cidr, cidr_fields);
const struct kind doc_cidr = { .group = "networking.k8s.io",
                               .version = "v1",
                               .kind = "ServiceCIDR",
                               .plural = "servicecidrs",
                               .has_status = true,
                               .schema = &cidr_schema };
