/* service_check.c - addresses, families and traffic policies of a service. */
#include <arpa/inet.h>

#include "apiserver/kinds/internal.h"

enum { AFFINITY_MAX_S = 86400, FAMILIES = 2 };

static const char *const traffic[] = { "Cluster", "Local", NULL };
static const char *const distribution[] = { "PreferClose", "PreferSameZone", "PreferSameNode",
                                            NULL };

/* 4, 6, or 0 for what is no address. */
static int family_of(const char *ip)
{
    unsigned char buf[16];
    return inet_pton(AF_INET, ip, buf) == 1 ? 4 : inet_pton(AF_INET6, ip, buf) == 1 ? 6 : 0;
}

static void invalid_ips(struct check *c, const struct kj_val *ips, const char *why)
{
    field_error(c->errors, FIELD_INVALID, "spec.clusterIPs", as_json(c, ips), "%s", why);
}

static void check_family(struct check *c, const struct kj_val *spec, size_t i)
{
    const char *ip = kj_str_or(kj_at(kj_get(spec, "clusterIPs"), i), "");
    const char *family = kj_str_or(kj_at(kj_get(spec, "ipFamilies"), i), "");
    int is = family_of(ip);

    if ((streq(family, "IPv4") && is == 6) || (streq(family, "IPv6") && is != 6))
        err_invalid(c, at(c, "spec.clusterIPs[%zu]", i), ip,
                    at(c, "expected an %s value as indicated by `ipFamilies[%zu]`", family, i));
}

/* Each address by itself: false, when one is none. */
static bool check_each_ip(struct check *c, const struct kj_val *ips, bool *ret_both)
{
    struct kj_iter it = kj_iter(ips);
    size_t n[7] = { 0 };
    const struct kj_val *v;
    bool good = true;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *ip = kj_str_or(v, "");
        int is = family_of(ip);
        n[is]++;
        if (i == 0 && streq(ip, "None")) {
            if (kj_len(ips) > 1) {
                invalid_ips(c, ips, "'None' must be the first and only value");
                good = false;
            }
        } else if (!is) {
            check_ip(c, at(c, "spec.clusterIPs[%zu]", i), ip);
            good = false;
        }
    }
    *ret_both = n[4] == 1 && n[6] == 1;
    return good;
}

static void check_cluster_ips(struct check *c, const struct kj_val *spec)
{
    const struct kj_val *ips = kj_get(spec, "clusterIPs");
    bool headless = kj_len(ips) == 1 && streq(kj_str_or(kj_at(ips, 0), ""), "None"), both;

    bool good = check_each_ip(c, ips, &both);
    if (kj_len(ips) > FAMILIES)
        invalid_ips(c, ips, "may only hold up to 2 values");
    if (!good)
        return;
    if (kj_len(ips) > 1 && !both)
        invalid_ips(c, ips, "may specify no more than one IP for each IP family");
    for (size_t i = 0; !headless && i < kj_len(ips) && i < kj_len(kj_get(spec, "ipFamilies")); i++)
        check_family(c, spec, i);
}

void check_service_ips(struct check *c, const struct kj_val *spec)
{
    static const char *const families[] = { "IPv4", "IPv6", NULL };
    static const char *const policies[] = { "PreferDualStack", "RequireDualStack", "SingleStack",
                                            NULL };
    CLEANUP(map_fini) struct map seen = { 0 };
    const struct kj_val *ips = kj_get(spec, "clusterIPs"), *v;
    const char *first = v_str(spec, "clusterIP");
    struct kj_iter it = kj_iter(kj_get(spec, "ipFamilies"));

    if (!*first && kj_len(ips) > 0)
        invalid_ips(c, ips, "must be empty when `clusterIP` is not specified");
    else if (*first && kj_len(ips) == 0)
        err_required(c, "spec.clusterIPs", "");
    else if (kj_len(ips) > 0 && !streq(first, kj_str_or(kj_at(ips, 0), "")))
        invalid_ips(c, ips, "first value must match `clusterIP`");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *family = kj_str_or(v, ""), *p = at(c, "spec.ipFamilies[%zu]", i);
        check_enum(c, p, family, families, false);
        if (!names_add(&seen, family))
            err_duplicate(c, p, family);
    }
    check_enum(c, "spec.ipFamilyPolicy", v_str(spec, "ipFamilyPolicy"), policies, true);
    check_cluster_ips(c, spec);
}

static void forbid_addresses(struct check *c, const struct kj_val *spec)
{
    static const char *const fields[] = { "clusterIPs", "ipFamilies", "ipFamilyPolicy" };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (v_has(spec, fields[i]) || (i == 0 && *v_str(spec, "clusterIP")))
            err_forbidden(c, at(c, "spec.%s", fields[i]),
                          "may not be set for ExternalName services");
}

/* "None" is no address that a node could forward to. */
static void check_headless(struct check *c, const struct kj_val *spec)
{
    const struct kj_val *ips = kj_get(spec, "clusterIPs");
    const char *type = v_str(spec, "type");

    if (kj_len(ips) == 1 && streq(kj_str_or(kj_at(ips, 0), ""), "None") &&
        (streq(type, "NodePort") || streq(type, "LoadBalancer")))
        err_invalid(c, "spec.clusterIPs[0]", "None",
                    at(c, "may not be set to 'None' for %s services", type));
}

void check_service_addresses(struct check *c, const struct kj_val *spec)
{
    struct kj_iter it = kj_iter(kj_get(spec, "externalIPs"));
    const struct kj_val *v;

    if (streq(v_str(spec, "type"), "ExternalName")) {
        forbid_addresses(c, spec);
    } else {
        check_headless(c, spec);
        check_service_ips(c, spec);
    }
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *path = at(c, "spec.externalIPs[%zu]", i), *ip = kj_str_or(v, "");
        if (check_ip_loosely(c, path, ip)) /* an address that others can reach */
            check_endpoint_ip(c, path, ip);
    }
}

/* A pair of protocol and node port is there once; a check of the node answers on its own port. */
static void check_node_ports(struct check *c, const struct kj_val *spec)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(kj_get(spec, "ports"));
    int64_t health = kj_i64_or(kj_get(spec, "healthCheckNodePort"), 0);
    bool needed = streq(v_str(spec, "type"), "LoadBalancer") &&
                  streq(v_str(spec, "externalTrafficPolicy"), "Local");
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        int64_t port = kj_i64_or(kj_get(v, "nodePort"), 0);
        if (port && !names_add(&seen, at(c, "%s/%lld", v_str(v, "protocol"), (long long)port)))
            field_error(c->errors, FIELD_DUPLICATE, at(c, "spec.ports[%zu].nodePort", i),
                        at(c, "%lld", (long long)port), NULL);
    }
    if (!needed && health)
        err_invalid_i64(c, "spec.healthCheckNodePort", health,
                        "may only be set when `type` is 'LoadBalancer' and "
                        "`externalTrafficPolicy` is 'Local'");
    else if (needed && health)
        check_port(c, "spec.healthCheckNodePort", health);
    else if (needed)
        err_required(c, "spec.healthCheckNodePort", "");
}

static void check_source_ranges(struct check *c, const struct kj_val *spec)
{
    struct kj_iter it = kj_iter(kj_get(spec, "loadBalancerSourceRanges"));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *s = kj_str_or(v, "");
        size_t n;
        s += strspn(s, " \t\n\r"); /* blanks around it are part of the API */
        for (n = strlen(s); n && strchr(" \t\n\r", s[n - 1]);)
            n--;
        check_cidr(c, at(c, "spec.LoadBalancerSourceRanges[%zu]", i), arena_strndup(c->a, s, n));
    }
}

static void check_balancer(struct check *c, const struct kj_val *spec)
{
    static const char *const fields[] = { "LoadBalancerSourceRanges",
                                          "allocateLoadBalancerNodePorts", "loadBalancerClass" };
    static const char *const keys[] = { "loadBalancerSourceRanges", "allocateLoadBalancerNodePorts",
                                        "loadBalancerClass" };

    check_source_ranges(c, spec);
    if (streq(v_str(spec, "type"), "LoadBalancer")) {
        if (v_has(spec, "loadBalancerClass"))
            check_qualified(c, "spec.loadBalancerClass", v_str(spec, "loadBalancerClass"));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (v_has(spec, keys[i]) && (i > 0 || kj_len(kj_get(spec, keys[i]))))
            err_forbidden(c, at(c, "spec.%s", fields[i]),
                          "may only be used when `type` is 'LoadBalancer'");
}

void check_service_traffic(struct check *c, const struct kj_val *spec)
{
    const char *type = v_str(spec, "type"), *external = v_str(spec, "externalTrafficPolicy");
    bool exposed = streq(type, "NodePort") || streq(type, "LoadBalancer");
    bool reachable =
        exposed || (streq(type, "ClusterIP") && kj_len(kj_get(spec, "externalIPs")) > 0);
    struct kj_iter it = kj_iter(kj_get(spec, "ports"));
    const struct kj_val *v;
    int64_t seconds;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        if (streq(type, "ClusterIP") && kj_i64_or(kj_get(v, "nodePort"), 0))
            err_forbidden(c, at(c, "spec.ports[%zu].nodePort", i),
                          "may not be used when `type` is 'ClusterIP'");
    check_node_ports(c, spec);
    check_balancer(c, spec);
    if (v_has(spec, "trafficDistribution"))
        check_enum(c, "spec.trafficDistribution", v_str(spec, "trafficDistribution"), distribution,
                   false);
    if (*external && !reachable)
        err_invalid(c, "spec.externalTrafficPolicy", external,
                    "may only be set for externally-accessible services");
    else
        check_enum(c, "spec.externalTrafficPolicy", external, traffic, true);
    if (v_has(spec, "internalTrafficPolicy"))
        check_enum(c, "spec.internalTrafficPolicy", v_str(spec, "internalTrafficPolicy"), traffic,
                   false);
    if (kj_i64(kj_path(spec, "sessionAffinityConfig.clientIP.timeoutSeconds"), &seconds) == 0 &&
        (seconds <= 0 || seconds > AFFINITY_MAX_S))
        err_invalid_i64(c, "spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds,
                        "must be greater than 0 and less than 86400");
}

void check_service_change(struct check *c, const struct kj_val *spec, const struct kj_val *old)
{
    const char *type = v_str(spec, "type"), *was = v_str(old, "type");
    bool balancer = streq(type, "LoadBalancer") && streq(was, "LoadBalancer");

    if (!streq(type, "ExternalName") && !streq(was, "ExternalName") && *v_str(old, "clusterIP") &&
        !streq(v_str(old, "clusterIP"), v_str(spec, "clusterIP")))
        field_error(c->errors, FIELD_INVALID, "spec.clusterIPs[0]",
                    as_json(c, kj_get(spec, "clusterIPs")), "may not change once set");
    if (balancer && (v_has(spec, "loadBalancerClass") != v_has(old, "loadBalancerClass") ||
                     !streq(v_str(spec, "loadBalancerClass"), v_str(old, "loadBalancerClass"))))
        field_error(c->errors, FIELD_INVALID, "spec.loadBalancerClass",
                    v_has(spec, "loadBalancerClass") ? as_json(c, kj_get(spec, "loadBalancerClass"))
                                                     : "null",
                    "may not change once set");
    if (balancer && streq(v_str(spec, "externalTrafficPolicy"), "Local") &&
        streq(v_str(old, "externalTrafficPolicy"), "Local") &&
        kj_i64_or(kj_get(spec, "healthCheckNodePort"), 0) !=
            kj_i64_or(kj_get(old, "healthCheckNodePort"), 0))
        err_forbidden(c, "spec.healthCheckNodePort", "field is immutable");
}

static void check_ingress(struct check *c, const char *p, const struct kj_val *v)
{
    static const char *const modes[] = { "Proxy", "VIP", NULL };
    const char *ip = v_str(v, "ip"), *host = v_str(v, "hostname");

    if (*ip)
        (void)check_ip_loosely(c, at(c, "%s.ip", p), ip);
    if (!v_has(v, "ipMode")) {
        if (*ip)
            err_required(c, at(c, "%s.ipMode", p), "must be specified when `ip` is set");
    } else if (!*ip) {
        err_forbidden(c, at(c, "%s.ipMode", p), "may not be specified when `ip` is not set");
    } else {
        check_enum(c, at(c, "%s.ipMode", p), v_str(v, "ipMode"), modes, false);
    }
    if (*host)
        check_dns_subdomain(c, at(c, "%s.hostname", p), host);
    if (family_of(host))
        err_invalid(c, at(c, "%s.hostname", p), host, "must be a DNS name, not an IP address");
}

void check_service_status(struct check *c, const struct kj_val *obj)
{
    const struct kj_val *list = kj_path(obj, "status.loadBalancer.ingress"), *v;
    struct kj_iter it = kj_iter(list);

    if (!streq(v_str(kj_get(obj, "spec"), "type"), "LoadBalancer") && kj_len(list)) {
        err_forbidden(c, "status.loadBalancer.ingress",
                      "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_ingress(c, at(c, "status.loadBalancer.ingress[%zu]", i), v);
}
