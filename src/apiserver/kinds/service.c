/* service.c - services and service accounts. Nothing routes to a service here; service_alloc.c
 * gives it its addresses and ports. */
#include "api/names.h"
#include "apiserver/authn/token_request.h"
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "base/map.h"

static bool is_exposed(const char *type)
{
    return streq(type, "NodePort") || streq(type, "LoadBalancer");
}

static void service_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = kj_mget(obj, "spec"), *p;
    const char *type = m_str(spec, "type");

    if (streq(m_str(spec, "sessionAffinity"), "None")) {
        kj_mdel(spec, "sessionAffinityConfig", strlen("sessionAffinityConfig"));
    } else if (streq(m_str(spec, "sessionAffinity"), "ClientIP")) {
        struct kj_mval *ip = m_obj(d, m_obj(d, spec, "sessionAffinityConfig"), "clientIP");
        m_default_i64(d, ip, "timeoutSeconds", 10800);
    }
    for (struct kj_miter it = kj_miter(kj_mget(spec, "ports")); kj_mnext(&it, NULL, &p);) {
        struct kj_mval *target = kj_mget(p, "targetPort");
        int64_t i;
        bool zero = kj_mi64_get(target, &i) == 0 && i == 0;
        if (zero || !m_has(p, "targetPort") || streq(str_or(kj_mstr_get(target), "x"), ""))
            kj_mset(d, p, "targetPort", kj_mi64(d, m_i64(p, "port", 0)));
    }
    if (is_exposed(type))
        m_default_str(d, spec, "externalTrafficPolicy", "Cluster");
    if (streq(type, "ClusterIP") || is_exposed(type))
        m_default_str(d, spec, "internalTrafficPolicy", "Cluster");
    if (streq(type, "LoadBalancer"))
        m_default_bool(d, spec, "allocateLoadBalancerNodePorts", true);
    if (streq(type, "LoadBalancer"))
        for (struct kj_miter it = kj_miter(m_path(obj, "status.loadBalancer.ingress"));
             kj_mnext(&it, NULL, &p);)
            if (*m_str(p, "ip"))
                m_default_str(d, p, "ipMode", "VIP");
}

static void drop_if_old(struct kj_mval *spec, const struct kj_val *old, const char *key)
{
    CLEANUP(kj_doc_free) struct kj_doc *now = NULL;
    struct kj_mval *v = kj_mget(spec, key);

    if (!v || !kj_get(old, key))
        return;
    now = kj_freeze(v);
    if (kj_equal(kj_root(now), kj_get(old, key)))
        kj_mdel(spec, key, strlen(key));
}

/* Every node port that it asks for is one that it had. */
static bool asks_no_new_ports(const struct kj_mval *spec, const struct kj_val *old)
{
    uint64_t had[65536 / 64] = { 0 };
    struct kj_mval *p;
    const struct kj_val *v;

    for (struct kj_iter it = kj_iter(kj_get(old, "ports")); kj_next(&it, NULL, &v);) {
        int64_t port = kj_i64_or(kj_get(v, "nodePort"), 0) & 65535;
        had[port / 64] |= UINT64_C(1) << (port % 64);
    }
    for (struct kj_miter it = kj_miter(kj_mget(spec, "ports")); kj_mnext(&it, NULL, &p);) {
        int64_t port = m_i64(p, "nodePort", 0);
        if (port && (port < 0 || port > 65535 || !(had[port / 64] >> (port % 64) & 1)))
            return false;
    }
    return true;
}

static void drop_ports(struct kj_mval *spec)
{
    struct kj_miter it = kj_miter(kj_mget(spec, "ports"));
    struct kj_mval *p;

    while (kj_mnext(&it, NULL, &p))
        kj_mdel(p, "nodePort", strlen("nodePort"));
}

static bool is_reachable(const char *type, size_t external_ips)
{
    return is_exposed(type) || (streq(type, "ClusterIP") && external_ips > 0);
}

/* A service that becomes another type gives back what only the old type has, unless the client
 * asks for it anew. */
static void drop_of_old_type(struct kj_mval *spec, const struct kj_val *old)
{
    static const char *const addresses[] = { "clusterIP", "clusterIPs", "ipFamilies",
                                             "ipFamilyPolicy" };
    const char *type = m_str(spec, "type"), *was = v_str(old, "type");
    bool balancer = streq(type, "LoadBalancer"), was_balancer = streq(was, "LoadBalancer");

    if (streq(type, "ExternalName") && !streq(was, "ExternalName"))
        for (size_t i = 0; i < ARRAY_LEN(addresses); i++)
            drop_if_old(spec, old, addresses[i]);
    if (is_exposed(was) && !is_exposed(type) && asks_no_new_ports(spec, old))
        drop_ports(spec);
    if (was_balancer && streq(v_str(old, "externalTrafficPolicy"), "Local") &&
        !(balancer && streq(m_str(spec, "externalTrafficPolicy"), "Local")))
        drop_if_old(spec, old, "healthCheckNodePort");
    if (was_balancer && !balancer) {
        drop_if_old(spec, old, "allocateLoadBalancerNodePorts");
        drop_if_old(spec, old, "loadBalancerClass");
    }
    if (is_reachable(was, kj_len(kj_get(old, "externalIPs"))) &&
        !is_reachable(type, kj_mlen(kj_mget(spec, "externalIPs"))))
        drop_if_old(spec, old, "externalTrafficPolicy");
}

static void service_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                            const struct kj_val *old, nsec_t now)
{
    struct kj_mval *spec;

    (void)now;
    prepare_status(verb, d, obj, old, "", "Service");
    if (verb != RES_UPDATE)
        return;
    spec = m_obj(d, obj, "spec");
    drop_of_old_type(spec, kj_get(old, "spec"));
    if (!streq(m_str(spec, "type"), "LoadBalancer"))
        kj_mset(d, m_obj(d, obj, "status"), "loadBalancer", kj_mobj(d));
}

/* ---- validation ------------------------------------------------------------------------------ */

static void check_service_name(struct check *c, const struct kj_val *obj)
{
    const char *name = kj_str_or(kj_path(obj, "metadata.name"), "");
    bool ok = name[0] >= 'a' && name[0] <= 'z' && !name_check_dns_label(str_of(name));

    if (!ok && *name && !name_check_dns_subdomain(str_of(name)))
        err_invalid(c, "metadata.name", name,
                    strlen(name) > 63
                        ? "must be no more than 63 bytes"
                        : "a DNS-1035 label must consist of lower case alphanumeric characters or "
                          "'-', start with an alphabetic character, and end with an alphanumeric "
                          "character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
                          "'[a-z]([-a-z0-9]*[a-z0-9])?')");
}

static void check_service_port(struct check *c, const char *p, const struct kj_val *v,
                               bool need_name, struct map *names)
{
    static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
    const char *name = v_str(v, "name");

    if (need_name && !*name) {
        err_required(c, at(c, "%s.name", p), "");
    } else if (*name) {
        check_dns_label(c, at(c, "%s.name", p), name);
        if (!names_add(names, name))
            err_duplicate(c, at(c, "%s.name", p), name);
    }
    check_port(c, at(c, "%s.port", p), kj_i64_or(kj_get(v, "port"), 0));
    check_enum(c, at(c, "%s.protocol", p), v_str(v, "protocol"), protocols, false);
    check_port_or_name(c, at(c, "%s.targetPort", p), kj_get(v, "targetPort"));
}

static void check_service_ports(struct check *c, const struct kj_val *spec)
{
    CLEANUP(map_fini) struct map names = { 0 };
    CLEANUP(map_fini) struct map pairs = { 0 };
    const struct kj_val *ports = kj_get(spec, "ports"), *v;
    struct kj_iter it = kj_iter(ports);

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "spec.ports[%zu]", i);
        check_service_port(c, p, v, kj_len(ports) > 1, &names);
        if (!names_add(&pairs, at(c, "%s/%lld", v_str(v, "protocol"),
                                  (long long)kj_i64_or(kj_get(v, "port"), 0))))
            field_error(c->errors, FIELD_DUPLICATE, p,
                        at(c,
                           "{\"Name\":\"\",\"Protocol\":\"%s\",\"AppProtocol\":null,\"Port\":%lld,"
                           "\"TargetPort\":0,\"NodePort\":0}",
                           v_str(v, "protocol"), (long long)kj_i64_or(kj_get(v, "port"), 0)),
                        NULL);
    }
}

static void service_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                             struct field_errors *errors)
{
    static const char *const types[] = { "ClusterIP", "ExternalName", "LoadBalancer", "NodePort",
                                         NULL };
    static const char *const affinities[] = { "ClientIP", "None", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");
    const char *type = v_str(spec, "type");

    if (verb == RES_STATUS) {
        check_service_status(&c, obj);
        return;
    }
    if (verb == RES_CREATE)
        check_service_name(&c, obj);
    if (kj_len(kj_get(spec, "ports")) == 0 && !streq(type, "ExternalName") &&
        !streq(v_str(spec, "clusterIP"), "None"))
        err_required(&c, "spec.ports", "");
    if (streq(type, "ExternalName")) {
        if (!*v_str(spec, "externalName"))
            err_required(&c, "spec.externalName", "");
        else
            check_dns_subdomain(&c, "spec.externalName", v_str(spec, "externalName"));
    }
    check_service_addresses(&c, spec);
    check_service_ports(&c, spec);
    check_service_traffic(&c, spec);
    check_labels(&c, "spec.selector", kj_get(spec, "selector"));
    check_enum(&c, "spec.sessionAffinity", v_str(spec, "sessionAffinity"), affinities, false);
    check_enum(&c, "spec.type", type, types, false);
    if (verb == RES_UPDATE)
        check_service_change(&c, spec, kj_get(old, "spec"));
}

static const char *service_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    if (streq(path, "spec.clusterIP") || streq(path, "spec.type"))
        return v_text(obj, path, a);
    return NULL;
}

/* ---- warnings -------------------------------------------------------------------------------- */

static void warn_of_each_ip(struct api_call *call, const struct kj_val *spec, const char *list)
{
    struct kj_iter it = kj_iter(kj_get(spec, list));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_ip(call, kj_str_or(v, ""), "spec.%s[%zu]", list, i);
}

static void warn_of_ignored(struct api_call *call, const struct kj_val *spec)
{
    if (*v_str(spec, "loadBalancerIP"))
        api_warn(call, "spec.loadBalancerIP is ignored for headless services");
    if (kj_len(kj_get(spec, "externalIPs")) > 0)
        api_warn(call, "spec.externalIPs is ignored for headless services");
    if (!streq(v_str(spec, "sessionAffinity"), "None"))
        api_warn(call, "spec.SessionAffinity is ignored for headless services");
}

static void warn_of_service(struct api_call *call, const struct kj_val *spec)
{
    struct kj_iter it = kj_iter(kj_get(spec, "loadBalancerSourceRanges"));
    bool named = streq(v_str(spec, "type"), "ExternalName");
    bool headless = streq(v_str(spec, "clusterIP"), "None");
    const struct kj_val *v;

    if (!headless && *v_str(spec, "clusterIP"))
        warn_of_each_ip(call, spec, "clusterIPs");
    if (headless && streq(v_str(spec, "type"), "ClusterIP"))
        warn_of_ignored(call, spec);
    warn_of_each_ip(call, spec, "externalIPs");
    if (*v_str(spec, "loadBalancerIP"))
        warn_of_ip(call, v_str(spec, "loadBalancerIP"), "spec.loadBalancerIP");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_cidr(call, kj_str_or(v, ""), "spec.loadBalancerSourceRanges[%zu]", i);
    if (named && kj_len(kj_get(spec, "externalIPs")) > 0)
        api_warn(call, "spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    if (!named && *v_str(spec, "externalName"))
        api_warn(call, "spec.externalName is ignored when spec.type is not \"ExternalName\"");
    if (streq(v_str(spec, "trafficDistribution"), "PreferClose"))
        api_warn(call, "spec.trafficDistribution: \"PreferClose\" is deprecated; use "
                       "\"PreferSameZone\"");
}

static void service_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                         const struct kj_val *old)
{
    static const char hints[] = "service.kubernetes.io/topology-aware-hints";

    (void)old;
    if (verb == RES_STATUS) {
        warn_of_balancers(call, obj);
        return;
    }
    if (kj_get(kj_path(obj, "metadata.annotations"), hints))
        api_warn(call,
                 "annotation %s is deprecated, please use service.kubernetes.io/topology-mode "
                 "instead",
                 hints);
    warn_of_service(call, kj_get(obj, "spec"));
}

/* Once: who has the annotation since before knows. */
static void serviceaccount_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old)
{
    static const char note[] = "kubernetes.io/enforce-mountable-secrets";

    (void)verb;
    if (kj_get(kj_path(obj, "metadata.annotations"), note) &&
        !kj_get(kj_path(old, "metadata.annotations"), note))
        api_warn(call,
                 "metadata.annotations[%s]: deprecated in v1.32+; prefer separate namespaces to "
                 "isolate access to mounted secrets",
                 note);
}

const struct res_strategy service_strategy = { .set_defaults = service_set_defaults,
                                               .prepare = service_prepare,
                                               .allocate = service_allocate,
                                               .still_free = service_still_free,
                                               .validate = service_validate,
                                               .warn = service_warn,
                                               .field = service_field,
                                               .subresource = object_proxy };
/* Its one subresource is "token". */
const struct res_strategy serviceaccount_strategy = { .warn = serviceaccount_warn,
                                                      .subresource = token_request };

/* ---- columns --------------------------------------------------------------------------------- */

TEXT_CELL(cell_type, "spec.type", "")

static void cell_cluster_ip(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_text(out, kj_str_or(kj_at(kj_path(obj, "spec.clusterIPs"), 0), "<none>"));
}

static void append_list(struct strbuf *b, const struct kj_val *list, const char *key)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        strbuf_appendf(b, "%s%s", b->len ? "," : "", key ? v_str(v, key) : kj_str_or(v, ""));
}

static void cell_external_ip(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *type = kj_str_or(kj_path(obj, "spec.type"), "");

    (void)now;
    if (streq(type, "ExternalName")) {
        cell_text(out, kj_str_or(kj_path(obj, "spec.externalName"), ""));
        return;
    }
    if (streq(type, "LoadBalancer"))
        append_list(&b, kj_path(obj, "status.loadBalancer.ingress"), "ip");
    append_list(&b, kj_path(obj, "spec.externalIPs"), NULL);
    cell_text(out, b.len ? strbuf_str(&b) : streq(type, "LoadBalancer") ? "<pending>" : "<none>");
}

static void cell_ports(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_path(obj, "spec.ports"));
    const struct kj_val *v;

    (void)now;
    while (kj_next(&it, NULL, &v)) {
        int64_t node = kj_i64_or(kj_get(v, "nodePort"), 0);
        strbuf_appendf(&b, "%s%lld", b.len ? "," : "", (long long)kj_i64_or(kj_get(v, "port"), 0));
        if (node > 0)
            strbuf_appendf(&b, ":%lld", (long long)node);
        strbuf_appendf(&b, "/%s", v_str(v, "protocol"));
    }
    cell_text(out, b.len ? strbuf_str(&b) : "<none>");
}

LABELS_CELL(cell_service_selector, "spec.selector")

static const struct res_column service_columns_list[] = {
    NAME_COLUMN,
    { .name = "Type", .type = "string", .cell = cell_type },
    { .name = "Cluster-IP", .type = "string", .cell = cell_cluster_ip },
    { .name = "External-IP", .type = "string", .cell = cell_external_ip },
    { .name = "Port(s)", .type = "string", .cell = cell_ports },
    AGE_COLUMN,
    { .name = "Selector", .type = "string", .priority = 1, .cell = cell_service_selector },
};
COLUMNS(service_columns);
