/* networking.c - ingresses and their classes, network policies, ranges and addresses of services.
 * Stored: nothing here routes. */
#include <arpa/inet.h>

#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"

enum { CIDRS_MAX = 2, CONTROLLER_MAX = 250 };

/* ---- addresses ------------------------------------------------------------------------------- */

/* Is b strictly inside a? */
static bool cidr_contains(const struct cidr *a, const struct cidr *b)
{
    if (a->total != b->total || a->bits >= b->bits)
        return false;
    for (int i = 0; i < a->bits; i++) {
        int mask = 0x80 >> i % 8;
        if ((a->bytes[i / 8] & mask) != (b->bytes[i / 8] & mask))
            return false;
    }
    return true;
}

/* ---- ingresses ------------------------------------------------------------------------------- */

PREPARE_STATUS(ingress_prepare, "networking.k8s.io", "Ingress")

static void check_host(struct check *c, const char *path, const char *host)
{
    unsigned char ip[16];

    if (inet_pton(AF_INET, host, ip) == 1 || inet_pton(AF_INET6, host, ip) == 1)
        err_invalid(c, path, host, "must be a DNS name, not an IP address");
    else if (strchr(host, '*'))
        check_wildcard_subdomain(c, path, host);
    else
        check_dns_subdomain(c, path, host);
}

/* Two names or none are told of the backend, a bad one of itself. */
static void check_backend_port(struct check *c, const char *path, const struct kj_val *port)
{
    const char *name = v_str(port, "name");
    int64_t number = kj_i64_or(kj_get(port, "number"), 0);

    if (*name && number)
        err_invalid(c, path, "", "cannot set both port name & port number");
    else if (*name)
        check_port_name(c, at(c, "%s.service.port.name", path), name);
    else if (number)
        check_port(c, at(c, "%s.service.port.number", path), number);
    else
        err_required(c, path, "port name or number is required");
}

static void check_backend(struct check *c, const char *path, const struct kj_val *backend)
{
    const struct kj_val *service = kj_get(backend, "service"), *res = kj_get(backend, "resource");

    if (kj_type(service) == KJ_OBJ && kj_type(res) == KJ_OBJ) {
        err_invalid(c, path, "", "cannot set both resource and service backends");
    } else if (kj_type(res) == KJ_OBJ) {
        if (!*v_str(res, "kind"))
            err_required(c, at(c, "%s.resource.kind", path), "");
        if (!*v_str(res, "name"))
            err_required(c, at(c, "%s.resource.name", path), "");
    } else if (kj_type(service) == KJ_OBJ) {
        const char *p = at(c, "%s.service", path), *name = v_str(service, "name");
        if (!*name)
            err_required(c, at(c, "%s.name", p), "");
        else
            check_dns_label(c, at(c, "%s.name", p), name);
        check_backend_port(c, path, kj_get(service, "port"));
    } else {
        err_invalid(c, path, "", "resource or service backend is required");
    }
}

static void check_ingress_path(struct check *c, const char *p, const struct kj_val *path)
{
    static const char *const types[] = { "Exact", "ImplementationSpecific", "Prefix", NULL };
    static const char *const odd[] = { "//", "/./", "/../", "%2f", "%2F" };
    const char *text = v_str(path, "path"), *type = v_str(path, "pathType"),
               *at_path = at(c, "%s.path", p);

    if (!v_has(path, "pathType")) {
        err_required(c, at(c, "%s.pathType", p), "pathType must be specified");
    } else if (streq(type, "Exact") || streq(type, "Prefix")) {
        if (*text != '/')
            err_invalid(c, at_path, text, "must be an absolute path");
        for (size_t i = 0; *text && i < ARRAY_LEN(odd); i++)
            if (strstr(text, odd[i]))
                err_invalid(c, at_path, text, at(c, "must not contain '%s'", odd[i]));
        if (str_ends(text, "/..") || str_ends(text, "/."))
            err_invalid(c, at_path, text,
                        at(c, "cannot end with '%s'", str_ends(text, "/..") ? "/.." : "/."));
    } else if (streq(type, "ImplementationSpecific")) {
        if (*text && *text != '/')
            err_invalid(c, at_path, text, "must be an absolute path");
    } else {
        err_unsupported(c, at(c, "%s.pathType", p), type, types);
    }
    check_backend(c, at(c, "%s.backend", p), kj_get(path, "backend"));
}

static void check_ingress_rule(struct check *c, const char *p, const struct kj_val *rule)
{
    const struct kj_val *paths = kj_path(rule, "http.paths"), *v;
    struct kj_iter it = kj_iter(paths);

    if (*v_str(rule, "host"))
        check_host(c, at(c, "%s.host", p), v_str(rule, "host"));
    if (!v_has(rule, "http"))
        return;
    if (kj_len(paths) == 0)
        err_required(c, at(c, "%s.http.paths", p), "");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_ingress_path(c, at(c, "%s.http.paths[%zu]", p, i), v);
}

static void check_tls(struct check *c, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list), hosts;
    const struct kj_val *v, *host;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        hosts = kj_iter(kj_get(v, "hosts"));
        for (size_t j = 0; kj_next(&hosts, NULL, &host); j++) {
            const char *p = at(c, "spec.tls[%zu].hosts[%zu]", i, j), *s = kj_str_or(host, "");
            if (strchr(s, '*'))
                check_wildcard_subdomain(c, p, s);
            else
                check_dns_subdomain(c, p, s);
        }
        if (*v_str(v, "secretName"))
            check_dns_subdomain(c, at(c, "spec.tls[%zu].secretName", i), v_str(v, "secretName"));
    }
}

static void ingress_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                             struct field_errors *errors)
{
    static const char annotation[] = "kubernetes.io/ingress.class";
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *rules = kj_get(spec, "rules"), *rule;
    const char *class = kj_str(kj_get(kj_path(obj, "metadata.annotations"), annotation));
    struct kj_iter it = kj_iter(rules);

    (void)old;
    if (verb == RES_STATUS)
        return;
    if (verb == RES_CREATE && class && v_has(spec, "ingressClassName"))
        err_invalid(&c, at(&c, "annotations.%s", annotation), class,
                    "can not be set when the class field is also set");
    if (kj_len(rules) == 0 && !v_has(spec, "defaultBackend"))
        field_error(errors, FIELD_INVALID, "spec", kj_type(rules) == KJ_ARR ? "[]" : "null",
                    "either `defaultBackend` or `rules` must be specified");
    if (v_has(spec, "defaultBackend"))
        check_backend(&c, "spec.defaultBackend", kj_get(spec, "defaultBackend"));
    for (size_t i = 0; kj_next(&it, NULL, &rule); i++)
        check_ingress_rule(&c, at(&c, "spec.rules[%zu]", i), rule);
    check_tls(&c, kj_get(spec, "tls"));
    if (v_has(spec, "ingressClassName"))
        check_dns_subdomain(&c, "spec.ingressClassName", v_str(spec, "ingressClassName"));
}

static void ingress_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                         const struct kj_val *old)
{
    static const char note[] = "kubernetes.io/ingress.class";

    (void)old;
    if (verb == RES_STATUS)
        warn_of_balancers(call, obj);
    else if (verb == RES_CREATE && kj_get(kj_path(obj, "metadata.annotations"), note) &&
             !v_has(kj_get(obj, "spec"), "ingressClassName"))
        api_warn(call,
                 "annotation \"%s\" is deprecated, please use 'spec.ingressClassName' instead",
                 note);
}
const struct res_strategy ingress_strategy = { .prepare = ingress_prepare,
                                               .validate = ingress_validate,
                                               .warn = ingress_warn };

TEXT_CELL(cell_class, "spec.ingressClassName", "<none>")

static void cell_hosts(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    enum { SHOWN = 3 };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_path(obj, "spec.rules"));
    const struct kj_val *rule;
    size_t n = 0;

    (void)now;
    while (kj_next(&it, NULL, &rule))
        if (n++ < SHOWN)
            strbuf_appendf(&b, "%s%s", b.len ? "," : "",
                           *v_str(rule, "host") ? v_str(rule, "host") : "*");
    if (n > SHOWN)
        strbuf_appendf(&b, " + %zu more...", n - SHOWN);
    cell_text(out, n ? strbuf_str(&b) : "*");
}

static void cell_address(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_path(obj, "status.loadBalancer.ingress"));
    const struct kj_val *v;

    (void)now;
    while (kj_next(&it, NULL, &v))
        strbuf_appendf(&b, "%s%s", b.len ? "," : "",
                       *v_str(v, "ip") ? v_str(v, "ip") : v_str(v, "hostname"));
    cell_text(out, strbuf_str(&b));
}

static void cell_ports(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_text(out, kj_len(kj_path(obj, "spec.tls")) ? "80, 443" : "80");
}
static const struct res_column ingress_columns_list[] = {
    NAME_COLUMN,
    { .name = "Class", .type = "string", .cell = cell_class },
    { .name = "Hosts", .type = "string", .cell = cell_hosts },
    { .name = "Address", .type = "string", .cell = cell_address },
    { .name = "Ports", .type = "string", .cell = cell_ports },
    AGE_COLUMN,
};
COLUMNS(ingress_columns);

static void ingress_class_validate(enum res_verb verb, const struct kj_val *obj,
                                   const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *params = kj_get(spec, "parameters");
    const char *controller = v_str(spec, "controller");

    if (verb == RES_UPDATE)
        check_immutable(&c, "spec.controller", kj_get(spec, "controller"),
                        kj_path(old, "spec.controller"));
    if (strlen(controller) > CONTROLLER_MAX)
        field_error_text(errors, FIELD_TOO_LONG, "spec.controller", "",
                         "may not be more than %d bytes", CONTROLLER_MAX);
    check_domain_path(&c, "spec.controller", controller);
    if (kj_type(params) != KJ_OBJ)
        return;
    if (!*v_str(params, "kind"))
        err_required(&c, "spec.parameters.kind", "kind is required");
    if (!*v_str(params, "name"))
        err_required(&c, "spec.parameters.name", "name is required");
}
const struct res_strategy ingress_class_strategy = { .validate = ingress_class_validate };

TEXT_CELL(cell_controller, "spec.controller", "")

static void cell_parameters(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *p = kj_path(obj, "spec.parameters");

    (void)now;
    if (kj_type(p) != KJ_OBJ)
        strbuf_append(&b, "<none>");
    else
        strbuf_appendf(&b, "%s%s%s/%s", v_str(p, "kind"), *v_str(p, "apiGroup") ? "." : "",
                       v_str(p, "apiGroup"), v_str(p, "name"));
    cell_text(out, strbuf_str(&b));
}
static const struct res_column ingress_class_columns_list[] = {
    NAME_COLUMN,
    { .name = "Controller", .type = "string", .cell = cell_controller },
    { .name = "Parameters", .type = "string", .cell = cell_parameters },
    AGE_COLUMN,
};
COLUMNS(ingress_class_columns);

/* ---- network policies ------------------------------------------------------------------------ */

/* Ingress always; egress when the policy has rules for it. */
static void network_policy_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = kj_mget(obj, "spec"), *types;

    if (kj_mtype(spec) != KJ_OBJ || kj_mlen(kj_mget(spec, "policyTypes")) > 0)
        return;
    types = kj_marr(d);
    kj_mpush(types, kj_mstr(d, "Ingress"));
    if (kj_mlen(kj_mget(spec, "egress")) > 0)
        kj_mpush(types, kj_mstr(d, "Egress"));
    kj_mset(d, spec, "policyTypes", types);
}

static void check_policy_port(struct check *c, const char *p, const struct kj_val *v)
{
    static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
    const struct kj_val *port = kj_get(v, "port"), *end = kj_get(v, "endPort");
    int64_t first = kj_i64_or(port, 0), last = kj_i64_or(end, 0);

    check_enum(c, at(c, "%s.protocol", p), v_str(v, "protocol"), protocols, true);
    if (v_has(v, "port"))
        check_port_or_name(c, at(c, "%s.port", p), port);
    if (!v_has(v, "endPort"))
        return;
    if (!v_has(v, "port"))
        err_invalid_i64(c, at(c, "%s.endPort", p), last,
                        "may not be specified when `port` is not specified");
    else if (kj_type(port) != KJ_NUM)
        err_invalid_i64(c, at(c, "%s.endPort", p), last,
                        "may not be specified when `port` is non-numeric");
    else if (last < first)
        err_invalid_i64(c, at(c, "%s.endPort", p), last, "must be greater than or equal to `port`");
    else
        check_port(c, at(c, "%s.endPort", p), last);
}

static void check_ip_block(struct check *c, const char *p, const struct kj_val *block)
{
    struct kj_iter it = kj_iter(kj_get(block, "except"));
    struct cidr whole, except;
    const struct kj_val *v;
    const char *cidr = v_str(block, "cidr");

    if (!*cidr) {
        err_required(c, at(c, "%s.cidr", p), "");
        return;
    }
    if (!check_parsed_cidr(c, at(c, "%s.cidr", p), cidr, &whole))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *where = at(c, "%s.except[%zu]", p, i), *s = kj_str_or(v, "");
        if (check_parsed_cidr(c, where, s, &except) && !cidr_contains(&whole, &except))
            err_invalid(c, where, s, at(c, "must be a strict subset of `%s`", cidr));
    }
}

static void check_peer(struct check *c, const char *p, const struct kj_val *peer)
{
    bool block = v_has(peer, "ipBlock"), pods = v_has(peer, "podSelector"),
         namespaces = v_has(peer, "namespaceSelector");

    check_label_selector(c, at(c, "%s.podSelector", p), kj_get(peer, "podSelector"));
    check_label_selector(c, at(c, "%s.namespaceSelector", p), kj_get(peer, "namespaceSelector"));
    if (block)
        check_ip_block(c, at(c, "%s.ipBlock", p), kj_get(peer, "ipBlock"));
    if (!block && !pods && !namespaces)
        err_required(c, p, "must specify a peer");
    else if (block && (pods || namespaces))
        err_forbidden(c, p, "may not specify both ipBlock and another peer");
}

static void check_policy_rules(struct check *c, const char *key, const char *peers,
                               const struct kj_val *rules)
{
    struct kj_iter it = kj_iter(rules), inner;
    const struct kj_val *rule, *v;

    for (size_t i = 0; kj_next(&it, NULL, &rule); i++) {
        const char *p = at(c, "spec.%s[%zu]", key, i);
        inner = kj_iter(kj_get(rule, "ports"));
        for (size_t j = 0; kj_next(&inner, NULL, &v); j++)
            check_policy_port(c, at(c, "%s.ports[%zu]", p, j), v);
        inner = kj_iter(kj_get(rule, peers));
        for (size_t j = 0; kj_next(&inner, NULL, &v); j++)
            check_peer(c, at(c, "%s.%s[%zu]", p, peers, j), v);
    }
}

static void network_policy_validate(enum res_verb verb, const struct kj_val *obj,
                                    const struct kj_val *old, struct field_errors *errors)
{
    static const char *const types[] = { "Egress", "Ingress", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *list = kj_get(spec, "policyTypes"), *v;
    struct kj_iter it = kj_iter(list);

    (void)verb, (void)old;
    check_label_selector(&c, "spec.podSelector", kj_get(spec, "podSelector"));
    check_policy_rules(&c, "ingress", "from", kj_get(spec, "ingress"));
    check_policy_rules(&c, "egress", "to", kj_get(spec, "egress"));
    if (kj_len(list) > 2) {
        field_error(errors, FIELD_INVALID, "spec.policyTypes", as_json(&c, list),
                    "may not specify more than two policyTypes");
        return;
    }
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_enum(&c, at(&c, "spec.policyTypes[%zu]", i), kj_str_or(v, ""), types, false);
}

static void warn_of_blocks(struct api_call *call, const struct kj_val *rule, const char *direction,
                           size_t i, const char *peers)
{
    struct kj_iter it = kj_iter(kj_get(rule, peers)), except;
    const struct kj_val *peer, *v;

    for (size_t k = 0; kj_next(&it, NULL, &peer); k++) {
        const struct kj_val *block = kj_get(peer, "ipBlock");
        warn_of_cidr(call, v_str(block, "cidr"), "spec.%s[%zu].%s[%zu].ipBlock.cidr", direction, i,
                     peers, k);
        except = kj_iter(kj_get(block, "except"));
        for (size_t n = 0; kj_next(&except, NULL, &v); n++)
            warn_of_cidr(call, kj_str_or(v, ""), "spec.%s[%zu].%s[%zu].ipBlock.except[%zu]",
                         direction, i, peers, k, n);
    }
}

static void network_policy_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old)
{
    static const char *const directions[][2] = { { "ingress", "from" }, { "egress", "to" } };

    (void)verb, (void)old;
    for (size_t d = 0; d < ARRAY_LEN(directions); d++) {
        struct kj_iter it = kj_iter(kj_get(kj_get(obj, "spec"), directions[d][0]));
        const struct kj_val *rule;
        for (size_t i = 0; kj_next(&it, NULL, &rule); i++)
            warn_of_blocks(call, rule, directions[d][0], i, directions[d][1]);
    }
}
const struct res_strategy network_policy_strategy = { .set_defaults = network_policy_set_defaults,
                                                      .validate = network_policy_validate,
                                                      .warn = network_policy_warn };

static void cell_pod_selector(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    (void)now;
    v_selector_text(kj_path(obj, "spec.podSelector"), &b);
    cell_text(out, strbuf_str(&b));
}
static const struct res_column network_policy_columns_list[] = {
    NAME_COLUMN,
    { .name = "Pod-Selector", .type = "string", .cell = cell_pod_selector },
    AGE_COLUMN,
};
COLUMNS(network_policy_columns);

/* ---- ranges and addresses of services -------------------------------------------------------- */

PREPARE_STATUS(service_cidr_prepare, "networking.k8s.io", "ServiceCIDR")

static void service_cidr_validate(enum res_verb verb, const struct kj_val *obj,
                                  const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *list = kj_path(obj, "spec.cidrs"), *v;
    struct kj_iter it = kj_iter(list);

    if (verb == RES_STATUS)
        return;
    if (verb == RES_UPDATE) {
        check_immutable(&c, "spec.cidrs", list, kj_path(old, "spec.cidrs"));
        return;
    }
    if (kj_len(list) == 0)
        err_required(&c, "spec.cidrs", "at least one CIDR required");
    else if (kj_len(list) > CIDRS_MAX)
        field_error(errors, FIELD_INVALID, "spec", as_json(&c, kj_get(obj, "spec")),
                    "may only hold up to 2 values");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_cidr(&c, at(&c, "spec.cidrs[%zu]", i), kj_str_or(v, ""));
}
const struct res_strategy service_cidr_strategy = { .prepare = service_cidr_prepare,
                                                    .validate = service_cidr_validate };

static void cell_cidrs(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_path(obj, "spec.cidrs"));
    const struct kj_val *v;

    (void)now;
    while (kj_next(&it, NULL, &v))
        strbuf_appendf(&b, "%s%s", b.len ? "," : "", kj_str_or(v, ""));
    cell_text(out, strbuf_str(&b));
}
static const struct res_column service_cidr_columns_list[] = {
    NAME_COLUMN,
    { .name = "CIDRs", .type = "string", .cell = cell_cidrs },
    AGE_COLUMN,
};
COLUMNS(service_cidr_columns);

static void ip_address_validate(enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *ref = kj_path(obj, "spec.parentRef");

    if (verb == RES_UPDATE) {
        check_immutable(&c, "spec.parentRef", ref, kj_path(old, "spec.parentRef"));
        return;
    }
    check_ip(&c, "metadata.name", kj_str_or(kj_path(obj, "metadata.name"), ""));
    if (kj_type(ref) != KJ_OBJ) {
        err_required(&c, "spec.parentRef", "");
        return;
    }
    if (!*v_str(ref, "resource"))
        err_required(&c, "spec.parentRef.resource", "");
    if (!*v_str(ref, "name"))
        err_required(&c, "spec.parentRef.name", "");
}
const struct res_strategy ip_address_strategy = { .validate = ip_address_validate };

static void cell_parent(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    static const char *const keys[] = { "group", "resource", "namespace", "name" };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *ref = kj_path(obj, "spec.parentRef");

    (void)now;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (*v_str(ref, keys[i]))
            strbuf_appendf(&b, "%s%s", b.len ? "/" : "", v_str(ref, keys[i]));
    cell_text(out, strbuf_str(&b));
}
static const struct res_column ip_address_columns_list[] = {
    NAME_COLUMN,
    { .name = "ParentRef", .type = "string", .cell = cell_parent },
    AGE_COLUMN,
};
COLUMNS(ip_address_columns);
