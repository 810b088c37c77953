/* pod_spec.c - validation of a pod spec, in pods and in the templates of workloads. */
#include "apiserver/kinds/internal.h"

enum { NAMESERVERS_MAX = 3 };

static void check_security(struct check *c, const char *path, const struct kj_val *spec)
{
    static const char *const ids[] = { "fsGroup", "runAsUser", "runAsGroup" };
    const struct kj_val *v = kj_get(spec, "securityContext"), *s;
    const char *p = at(c, "%s.securityContext", path);
    struct kj_iter it = kj_iter(kj_get(v, "sysctls"));

    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        check_range(c, at(c, "%s.%s", p, ids[i]), kj_get(v, ids[i]), 0, INT32_MAX);
    if (kj_bool(kj_get(spec, "shareProcessNamespace"), false) &&
        kj_bool(kj_get(spec, "hostPID"), false))
        field_error(c->errors, FIELD_INVALID, at(c, "%s.shareProcessNamespace", p), "true",
                    "ShareProcessNamespace and HostPID cannot both be enabled");
    for (size_t i = 0; kj_next(&it, NULL, &s); i++) {
        const char *name = v_str(s, "name");
        size_t n = strlen(name);
        if (n == 0)
            err_required(c, at(c, "%s.sysctls[%zu].name", p, i), "");
        else if (n > 253 || strspn(name, "-_./0123456789abcdefghijklmnopqrstuvwxyz") != n)
            err_invalid(c, at(c, "%s.sysctls[%zu].name", p, i), name,
                        "must have at most 253 characters and match regex "
                        "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
    }
}

static void check_dns(struct check *c, const char *path, const struct kj_val *spec)
{
    static const char *const policies[] = { "ClusterFirstWithHostNet", "ClusterFirst", "Default",
                                            "None", NULL };
    const char *policy = v_str(spec, "dnsPolicy");
    const struct kj_val *config = kj_get(spec, "dnsConfig"), *v;
    struct kj_iter it = kj_iter(kj_get(config, "nameservers"));

    check_enum(c, at(c, "%s.dnsPolicy", path), policy, policies, true);
    if (streq(policy, "None")) {
        if (!v_has(spec, "dnsConfig"))
            err_required(c, at(c, "%s.dnsConfig", path),
                         "must provide `dnsConfig` when `dnsPolicy` is None");
        else if (kj_len(kj_get(config, "nameservers")) == 0)
            err_required(c, at(c, "%s.dnsConfig.nameservers", path),
                         "must provide at least one DNS nameserver when `dnsPolicy` is None");
    }
    if (kj_len(kj_get(config, "nameservers")) > NAMESERVERS_MAX)
        field_error(c->errors, FIELD_INVALID, at(c, "%s.dnsConfig.nameservers", path),
                    as_json(c, kj_get(config, "nameservers")),
                    "must not have more than %d nameservers", NAMESERVERS_MAX);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        (void)check_ip_loosely(c, at(c, "%s.dnsConfig.nameservers[%zu]", path, i),
                               kj_str_or(v, ""));
}

static void check_host_aliases(struct check *c, const char *path, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list), names;
    const struct kj_val *v, *name;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        (void)check_ip_loosely(c, at(c, "%s[%zu].ip", path, i), v_str(v, "ip"));
        names = kj_iter(kj_get(v, "hostnames"));
        for (size_t k = 0; kj_next(&names, NULL, &name); k++)
            check_dns_subdomain(c, at(c, "%s[%zu].hostnames[%zu]", path, i, k),
                                kj_str_or(name, ""));
    }
}

static void check_gates(struct check *c, const char *path, const struct kj_val *spec)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(kj_get(spec, "readinessGates"));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_qualified(c, at(c, "%s.readinessGates[%zu].conditionType", path, i),
                        v_str(v, "conditionType"));
    it = kj_iter(kj_get(spec, "schedulingGates"));
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *name = v_str(v, "name"), *p = at(c, "%s.schedulingGates[%zu]", path, i);
        check_qualified(c, p, name);
        if (!names_add(&seen, name))
            err_duplicate(c, p, name);
    }
}

/* The claim as Go prints its struct. */
static const char *claim_text(struct check *c, const struct kj_val *v)
{
    static const char *const keys[][2] = { { "Name", "name" },
                                           { "ResourceClaimName", "resourceClaimName" },
                                           { "ResourceClaimTemplateName",
                                             "resourceClaimTemplateName" } };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);

    kjw_obj(&w, NULL);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        kjw_str(&w, keys[i][0], kj_str(kj_get(v, keys[i][1])));
    kjw_end(&w);
    return arena_strndup(c->a, b.data, b.len);
}

static void check_claims(struct check *c, const char *path, const struct kj_val *list)
{
    static const char *const sources[] = { "resourceClaimName", "resourceClaimTemplateName" };
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *name = v_str(v, "name");
        bool direct = v_has(v, sources[0]), made = v_has(v, sources[1]);
        if (!*name)
            err_required(c, at(c, "%s.name", p), "");
        else if (!names_add(&seen, name))
            err_duplicate(c, at(c, "%s.name", p), name);
        else
            check_dns_label(c, at(c, "%s.name", p), name);
        if (direct && made)
            field_error(c->errors, FIELD_INVALID, p, claim_text(c, v),
                        "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                        "specified");
        else if (!direct && !made)
            field_error(c->errors, FIELD_INVALID, p, claim_text(c, v),
                        "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
        for (size_t k = 0; k < ARRAY_LEN(sources); k++)
            if (v_has(v, sources[k]))
                check_dns_subdomain(c, at(c, "%s.%s", p, sources[k]), v_str(v, sources[k]));
    }
}

static void check_names(struct check *c, const char *path, const struct kj_val *spec)
{
    /* Not schedulerName: upstream takes any. */
    static const char *const subdomains[] = { "runtimeClassName", "priorityClassName",
                                              "serviceAccountName", "nodeName" };
    static const char *const systems[] = { "linux", "windows", NULL };
    const char *hostname = v_str(spec, "hostname"), *sub = v_str(spec, "subdomain");

    for (size_t i = 0; i < ARRAY_LEN(subdomains); i++)
        if (*v_str(spec, subdomains[i]))
            check_dns_subdomain(c, at(c, "%s.%s", path, subdomains[i]), v_str(spec, subdomains[i]));
    if (*hostname)
        check_dns_label(c, at(c, "%s.hostname", path), hostname);
    if (strchr(sub, '.'))
        err_invalid(c, at(c, "%s.subdomain", path), sub, "must not contain dots");
    else if (*sub)
        check_dns_label(c, at(c, "%s.subdomain", path), sub);
    if (v_has(spec, "os") && !*v_str(kj_get(spec, "os"), "name"))
        err_required(c, at(c, "%s.os.name", path), "cannot be empty");
    else if (v_has(spec, "os"))
        check_enum(c, at(c, "%s.os", path), v_str(kj_get(spec, "os"), "name"), systems, false);
}

void check_pod_spec(struct check *c, const char *path, const struct kj_val *spec)
{
    static const char *const restarts[] = { "Always", "OnFailure", "Never", NULL };
    static const char *const preemptions[] = { "PreemptLowerPriority", "Never", NULL };

    check_volumes(c, path, spec);
    check_claims(c, at(c, "%s.resourceClaims", path), kj_get(spec, "resourceClaims"));
    check_containers(c, path, spec);
    check_resources(c, at(c, "%s.resources", path), kj_get(spec, "resources"), NULL, true);
    check_enum(c, at(c, "%s.restartPolicy", path), v_str(spec, "restartPolicy"), restarts, false);
    check_dns(c, path, spec);
    check_security(c, path, spec);
    check_gates(c, path, spec);
    check_host_aliases(c, at(c, "%s.hostAliases", path), kj_get(spec, "hostAliases"));
    check_names(c, path, spec);
    check_placement(c, path, spec);
    check_enum(c, at(c, "%s.preemptionPolicy", path), v_str(spec, "preemptionPolicy"), preemptions,
               true);
    check_resource_list(c, at(c, "%s.overhead", path), kj_get(spec, "overhead"));
    if (v_has(spec, "activeDeadlineSeconds"))
        check_range(c, at(c, "%s.activeDeadlineSeconds", path),
                    kj_get(spec, "activeDeadlineSeconds"), 1, INT32_MAX);
}

void check_template(struct check *c, const char *path, const struct kj_val *template,
                    const char *const *restart_policies)
{
    const struct kj_val *labels = kj_path(template, "metadata.labels");
    const struct kj_val *spec = kj_get(template, "spec");
    const char *restart = v_str(spec, "restartPolicy");

    check_labels(c, at(c, "%s.labels", path), labels); /* sic: without "metadata" */
    check_pod_spec(c, at(c, "%s.spec", path), spec);
    if (!restart_policies)
        return;
    for (size_t i = 0; restart_policies[i]; i++)
        if (streq(restart, restart_policies[i]))
            return;
    if (streq(restart, "Always") || streq(restart, "OnFailure") || streq(restart, "Never"))
        err_unsupported(c, at(c, "%s.spec.restartPolicy", path), restart, restart_policies);
}
