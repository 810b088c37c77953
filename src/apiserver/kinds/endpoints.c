/* endpoints.c - where the traffic of a Service goes: Endpoints, and EndpointSlices of
 * discovery.k8s.io.
 *
 * What an update does not change is not judged again: default/kubernetes may lead to loopback, and
 * is still labelled.
 */
#include "api/names.h"
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"

enum { ADDRESSES_MAX = 100, PORTS_MAX = 20000, ENDPOINTS_MAX = 1000, HINTS_MAX = 8 };

static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };

static void check_node_name(struct check *c, const char *path, const struct kj_val *v)
{
    if (v_has(v, "nodeName"))
        check_dns_subdomain(c, at(c, "%s.nodeName", path), v_str(v, "nodeName"));
}

static void check_protocols(struct check *c, const char *path, const struct kj_val *port)
{
    const char *protocol = v_str(port, "protocol");

    if (!v_has(port, "protocol"))
        err_required(c, at(c, "%s.protocol", path), "");
    else
        check_enum(c, at(c, "%s.protocol", path), protocol, protocols, false);
    if (v_has(port, "appProtocol"))
        check_qualified(c, at(c, "%s.appProtocol", path), v_str(port, "appProtocol"));
}

/* ---- Endpoints ------------------------------------------------------------------------------- */

static void check_addresses(struct check *c, const char *path, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *ip = v_str(v, "ip");
        (void)check_ip_loosely(c, at(c, "%s.ip", p), ip);
        if (*v_str(v, "hostname"))
            check_dns_label(c, at(c, "%s.hostname", p), v_str(v, "hostname"));
        check_node_name(c, p, v);
        check_endpoint_ip(c, at(c, "%s.ip", p), ip);
    }
}

static void check_subset_ports(struct check *c, const char *path, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *name = v_str(v, "name");
        if (*name)
            check_dns_label(c, at(c, "%s.name", p), name);
        else if (kj_len(list) > 1)
            err_required(c, at(c, "%s.name", p), "");
        check_port(c, at(c, "%s.port", p), kj_i64_or(kj_get(v, "port"), 0));
        check_protocols(c, p, v);
    }
}

static void endpoints_validate(enum res_verb verb, const struct kj_val *obj,
                               const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *subsets = kj_get(obj, "subsets"), *v;
    struct kj_iter it = kj_iter(subsets);

    if (verb == RES_UPDATE && kj_equal(subsets, kj_get(old, "subsets")))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(&c, "subsets[%zu]", i);
        if (!kj_len(kj_get(v, "addresses")) && !kj_len(kj_get(v, "notReadyAddresses")))
            err_required(&c, p, "must specify `addresses` or `notReadyAddresses`");
        check_addresses(&c, at(&c, "%s.addresses", p), kj_get(v, "addresses"));
        check_addresses(&c, at(&c, "%s.notReadyAddresses", p), kj_get(v, "notReadyAddresses"));
        check_subset_ports(&c, at(&c, "%s.ports", p), kj_get(v, "ports"));
    }
}

/* Controllers write what they have read elsewhere, in its usual form. */
static bool is_of_a_controller(const struct kj_val *obj, const char *label,
                               const char *const *controllers)
{
    const char *by = v_str(kj_path(obj, "metadata.labels"), label);

    while (*controllers && !streq(by, *controllers))
        controllers++;
    return *controllers;
}

static void endpoints_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                           const struct kj_val *old)
{
    static const char *const controllers[] = { "endpoint-controller", NULL }, *const lists[] = {
        "addresses", "notReadyAddresses"
    };
    struct kj_iter it = kj_iter(kj_get(obj, "subsets"));
    const struct kj_val *subset, *v;

    (void)verb;
    (void)old;
    if (is_of_a_controller(obj, "endpoints.kubernetes.io/managed-by", controllers))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &subset); i++)
        for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
            struct kj_iter in = kj_iter(kj_get(subset, lists[k]));
            for (size_t n = 0; kj_next(&in, NULL, &v); n++)
                warn_of_ip(call, v_str(v, "ip"), "subsets[%zu].%s[%zu].ip", i, lists[k], n);
        }
}
const struct res_strategy endpoints_strategy = { .validate = endpoints_validate,
                                                 .warn = endpoints_warn };

static void cell_endpoints(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter subsets = kj_iter(kj_get(obj, "subsets")), ports, ips;
    const struct kj_val *s, *p, *a;
    size_t n = 0;
    enum { SHOWN = 3 };

    (void)now;
    while (kj_next(&subsets, NULL, &s)) {
        ports = kj_iter(kj_get(s, "ports"));
        while (kj_next(&ports, NULL, &p)) {
            ips = kj_iter(kj_get(s, "addresses"));
            for (; kj_next(&ips, NULL, &a); n++)
                if (n < SHOWN)
                    strbuf_appendf(&b, "%s%s:%lld", n ? "," : "", v_str(a, "ip"),
                                   (long long)kj_i64_or(kj_get(p, "port"), 0));
        }
    }
    if (n > SHOWN)
        strbuf_appendf(&b, " + %zu more...", n - SHOWN);
    cell_text(out, n ? strbuf_str(&b) : "<none>");
}
static const struct res_column endpoints_columns_list[] = {
    NAME_COLUMN,
    { .name = "Endpoints", .type = "string", .cell = cell_endpoints },
    AGE_COLUMN,
};
COLUMNS(endpoints_columns);

/* ---- EndpointSlices -------------------------------------------------------------------------- */

/* A field that nobody may write any more, and labels, which count as a change of a slice. */
static void endpointslice_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                                  const struct kj_val *old, nsec_t now)
{
    CLEANUP(kj_doc_free) struct kj_doc *fresh = kj_freeze(obj);
    struct kj_miter it = kj_miter(kj_mget(obj, "endpoints"));
    struct kj_mval *e;

    (void)now;
    if (verb == RES_UPDATE &&
        !kj_equal(kj_path(kj_root(fresh), "metadata.labels"), kj_path(old, "metadata.labels")))
        kj_mset(d, kj_mget(obj, "metadata"), "generation",
                kj_mi64(d, kj_i64_or(kj_path(old, "metadata.generation"), 0) + 1));
    if (verb == RES_UPDATE &&
        kj_equal(kj_get(kj_root(fresh), "endpoints"), kj_get(old, "endpoints")))
        return;
    while (kj_mnext(&it, NULL, &e))
        kj_mdel(e, "deprecatedTopology", strlen("deprecatedTopology"));
}

/* A name of at least two parts; a dot may end it. */
static void check_domain(struct check *c, const char *path, const char *s)
{
    size_t n = strlen(s);
    const char *name = n && s[n - 1] == '.' ? arena_strndup(c->a, s, n - 1) : s, *why;

    if (!n) {
        err_required(c, path, "");
        return;
    }
    if ((why = name_check_dns_subdomain(str_of(name)))) {
        err_invalid(c, path, name, why);
        return;
    }
    if (!strchr(name, '.')) {
        err_invalid(c, path, name,
                    "should be a domain with at least two segments separated by dots");
        return;
    }
    for (size_t len; *name; name += len + (name[len] == '.')) {
        len = strcspn(name, ".");
        if ((why = name_check_dns_label((struct str){ name, len }))) {
            err_invalid(c, path, arena_strndup(c->a, name, len), why);
            return;
        }
    }
}

/* The family is told of the list, all else of the address. */
static void check_slice_address(struct check *c, const char *list, size_t i, const char *s,
                                const char *type)
{
    const char *path = at(c, "%s[%zu]", list, i);
    bool six = streq(type, "IPv6");

    if (streq(type, "FQDN")) {
        check_domain(c, path, s);
        return;
    }
    if (!six && !streq(type, "IPv4"))
        return; /* the type itself is refused */
    if (six ? !check_ip_strictly(c, path, s) : !check_ip_loosely(c, path, s))
        return;
    if (address_family(s) != (six ? 6 : 4))
        err_invalid(c, list, s, six ? "must be an IPv6 address" : "must be an IPv4 address");
    check_endpoint_ip(c, path, s);
}

/* Zones or nodes that should use an endpoint. false: too many, which ends the matter. */
static bool check_hint(struct check *c, const char *path, const struct kj_val *list,
                       void (*check_name)(struct check *c, const char *path, const char *s))
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    if (!check_at_most(c, path, list, HINTS_MAX))
        return false;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu].name", path, i), *name = v_str(v, "name");
        if (!names_add(&seen, name))
            err_duplicate(c, p, name);
        check_name(c, p, name);
    }
    return true;
}

static void check_endpoint(struct check *c, const char *path, const struct kj_val *v,
                           const char *type)
{
    const struct kj_val *addresses = kj_get(v, "addresses"), *hints = kj_get(v, "hints"), *s;
    const char *list = at(c, "%s.addresses", path);
    struct kj_iter it = kj_iter(addresses);

    if (kj_len(addresses) == 0)
        err_required(c, list, "must contain at least 1 address");
    else
        (void)check_at_most(c, list, addresses, ADDRESSES_MAX);
    for (size_t i = 0; kj_next(&it, NULL, &s); i++)
        check_slice_address(c, list, i, kj_str_or(s, ""), type);
    check_node_name(c, path, v);
    if (v_has(v, "hostname"))
        check_dns_label(c, at(c, "%s.hostname", path), v_str(v, "hostname"));
    if (check_hint(c, at(c, "%s.hints.forZones", path), kj_get(hints, "forZones"),
                   check_label_value))
        (void)check_hint(c, at(c, "%s.hints.forNodes", path), kj_get(hints, "forNodes"),
                         check_dns_subdomain);
}

static void check_slice_ports(struct check *c, const struct kj_val *list)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    if (!check_at_most(c, "ports", list, PORTS_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "ports[%zu]", i), *name = v_str(v, "name");
        if (*name)
            check_dns_label(c, at(c, "%s.name", p), name);
        if (!names_add(&seen, name))
            err_duplicate(c, at(c, "%s.name", p), name);
        check_protocols(c, p, v);
    }
}

static void check_slice_endpoints(struct check *c, const struct kj_val *list, const char *type)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    if (!check_at_most(c, "endpoints", list, ENDPOINTS_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_endpoint(c, at(c, "endpoints[%zu]", i), v, type);
}

static void endpointslice_validate(enum res_verb verb, const struct kj_val *obj,
                                   const struct kj_val *old, struct field_errors *errors)
{
    static const char *const types[] = { "FQDN", "IPv4", "IPv6", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *endpoints = kj_get(obj, "endpoints");
    const char *type = v_str(obj, "addressType");

    if (!*type)
        err_required(&c, "addressType", "");
    else
        check_enum(&c, "addressType", type, types, false);
    check_slice_ports(&c, kj_get(obj, "ports"));
    if (verb != RES_UPDATE || !kj_equal(endpoints, kj_get(old, "endpoints")))
        check_slice_endpoints(&c, endpoints, type);
    if (verb == RES_UPDATE)
        check_immutable(&c, "addressType", kj_get(obj, "addressType"), kj_get(old, "addressType"));
}

static void endpointslice_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                               const struct kj_val *old)
{
    static const char *const controllers[] = { "endpointslice-controller.k8s.io",
                                               "endpointslicemirroring-controller.k8s.io", NULL };
    struct kj_iter it = kj_iter(kj_get(obj, "endpoints"));
    const struct kj_val *e, *v;

    (void)old;
    if (verb == RES_CREATE && streq(v_str(obj, "addressType"), "FQDN"))
        api_warn(call, "spec.addressType: FQDN endpoints are deprecated");
    if (is_of_a_controller(obj, "endpointslice.kubernetes.io/managed-by", controllers))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &e); i++) {
        struct kj_iter in = kj_iter(kj_get(e, "addresses"));
        for (size_t k = 0; kj_next(&in, NULL, &v); k++)
            warn_of_ip(call, kj_str_or(v, ""), "endpoints[%zu].addresses[%zu]", i, k);
    }
}
const struct res_strategy endpointslice_strategy = { .prepare = endpointslice_prepare,
                                                     .validate = endpointslice_validate,
                                                     .warn = endpointslice_warn };

TEXT_CELL(cell_address_type, "addressType", "")

/* The first three, and how many more there are. */
static void short_list(const struct kj_val *list, const char *key, bool is_list, struct strbuf *out)
{
    enum { SHOWN = 3 };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kj_iter it = kj_iter(list), inner;
    const struct kj_val *v, *item;
    size_t n = 0;

    while (kj_next(&it, NULL, &v)) {
        if (!is_list) {
            if (n++ < SHOWN)
                strbuf_appendf(&b, "%s%s", b.len ? "," : "", v_ios(kj_get(v, key), a));
            continue;
        }
        inner = kj_iter(kj_get(v, key));
        while (kj_next(&inner, NULL, &item))
            if (n++ < SHOWN)
                strbuf_appendf(&b, "%s%s", b.len ? "," : "", kj_str_or(item, ""));
    }
    if (n > SHOWN)
        strbuf_appendf(&b, " + %zu more...", n - SHOWN);
    cell_text(out, n ? strbuf_str(&b) : "<unset>");
}

static void cell_slice_ports(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    short_list(kj_get(obj, "ports"), "port", false, out);
}

static void cell_slice_endpoints(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    short_list(kj_get(obj, "endpoints"), "addresses", true, out);
}
static const struct res_column endpointslice_columns_list[] = {
    NAME_COLUMN,
    { .name = "AddressType", .type = "string", .cell = cell_address_type },
    { .name = "Ports", .type = "string", .cell = cell_slice_ports },
    { .name = "Endpoints", .type = "string", .cell = cell_slice_endpoints },
    AGE_COLUMN,
};
COLUMNS(endpointslice_columns);
