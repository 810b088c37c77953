/* service_check.c - addresses, families and traffic policies of a service. */
#include <arpa/inet.h>

#include "apiserver/kinds/internal.h"

enum { AFFINITY_MAX_S = 86400, FAMILIES = 2 };

static const char *const traffic[] = { "Cluster", "Local", NULL };

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

static void check_none(struct check *c, const struct kj_val *spec, size_t i)
{
    const struct kj_val *ips = kj_get(spec, "clusterIPs");
    const char *type = v_str(spec, "type");

    if (i > 0 || kj_len(ips) > 1)
        invalid_ips(c, ips, "'None' must be the first and only value");
    else if (streq(type, "NodePort") || streq(type, "LoadBalancer"))
        err_invalid(c, "spec.clusterIPs[0]", "None",
                    at(c, "may not be set to 'None' for %s services", type));
}

static void check_cluster_ips(struct check *c, const struct kj_val *spec)
{
    const struct kj_val *ips = kj_get(spec, "clusterIPs"), *v;
    const struct kj_val *families = kj_get(spec, "ipFamilies");
    const char *first = v_str(spec, "clusterIP");
    struct kj_iter it = kj_iter(ips);
    size_t n[7] = { 0 };

    if (!*first && kj_len(ips) > 0)
        invalid_ips(c, ips, "must be empty when `clusterIP` is not specified");
    else if (kj_len(ips) > 0 && !streq(first, kj_str_or(kj_at(ips, 0), "")))
        invalid_ips(c, ips, "first value must match `clusterIP`");
    if (kj_len(ips) > FAMILIES)
        invalid_ips(c, ips, "may only hold up to 2 values");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *ip = kj_str_or(v, ""), *p = at(c, "spec.clusterIPs[%zu]", i);
        const char *family = i < kj_len(families) ? kj_str_or(kj_at(families, i), "") : "";
        int is = family_of(ip);
        n[is]++;
        if (streq(ip, "None"))
            check_none(c, spec, i);
        else if (!is)
            check_ip(c, p, ip);
        else if ((streq(family, "IPv4") && is != 4) || (streq(family, "IPv6") && is != 6))
            err_invalid(c, p, ip,
                        at(c, "expected an %s value as indicated by `ipFamilies[%zu]`", family, i));
    }
    if (n[4] > 1 || n[6] > 1)
        invalid_ips(c, ips, "may specify no more than one IP for each IP family");
}

static void check_families(struct check *c, const struct kj_val *spec)
{
    static const char *const families[] = { "IPv4", "IPv6", NULL };
    static const char *const policies[] = { "PreferDualStack", "RequireDualStack", "SingleStack",
                                            NULL };
    CLEANUP(map_fini) struct map seen = { 0 };
    const char *policy = v_str(spec, "ipFamilyPolicy");
    struct kj_iter it = kj_iter(kj_get(spec, "ipFamilies"));
    const struct kj_val *v;
    size_t i;

    for (i = 0; kj_next(&it, NULL, &v); i++) {
        const char *family = kj_str_or(v, ""), *p = at(c, "spec.ipFamilies[%zu]", i);
        check_enum(c, p, family, families, false);
        if (!names_add(&seen, family)) {
            err_duplicate(c, p, family);
            return;
        }
    }
    if (check_enum(c, "spec.ipFamilyPolicy", policy, policies, true) && i > 1 &&
        streq(policy, "SingleStack"))
        err_invalid(c, "spec.ipFamilyPolicy", policy,
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are "
                    "specified");
}

static void forbid_addresses(struct check *c, const struct kj_val *spec)
{
    static const char *const fields[] = { "clusterIPs", "ipFamilies", "ipFamilyPolicy" };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (v_has(spec, fields[i]) || (i == 0 && *v_str(spec, "clusterIP")))
            err_forbidden(c, at(c, "spec.%s", fields[i]),
                          "may not be set for ExternalName services");
}

void check_service_addresses(struct check *c, const struct kj_val *spec)
{
    struct kj_iter it = kj_iter(kj_get(spec, "externalIPs"));
    const struct kj_val *v;

    if (streq(v_str(spec, "type"), "ExternalName")) {
        forbid_addresses(c, spec);
    } else {
        check_cluster_ips(c, spec);
        check_families(c, spec);
    }
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_ip(c, at(c, "spec.externalIPs[%zu]", i), kj_str_or(v, ""));
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
