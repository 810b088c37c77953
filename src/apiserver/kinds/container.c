/* container.c - what a container may say. */
#include "apiserver/kinds/internal.h"

static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };

static void check_ports(struct check *c, const char *path, const struct kj_val *ports,
                        bool host_network)
{
    CLEANUP(map_fini) struct map names = { 0 };
    struct kj_iter it = kj_iter(ports);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *name = v_str(v, "name");
        int64_t port = kj_i64_or(kj_get(v, "containerPort"), 0);
        int64_t host = kj_i64_or(kj_get(v, "hostPort"), 0);
        if (*name) {
            size_t before = field_errors_count(c->errors);
            check_port_name(c, at(c, "%s.name", p), name);
            if (field_errors_count(c->errors) == before && !names_add(&names, name))
                err_duplicate(c, at(c, "%s.name", p), name);
        }
        if (port == 0)
            err_required(c, at(c, "%s.containerPort", p), "");
        else
            check_port(c, at(c, "%s.containerPort", p), port);
        if (host != 0)
            check_port(c, at(c, "%s.hostPort", p), host);
        if (host != 0 && host_network && host != port)
            err_invalid_i64(c, at(c, "%s.hostPort", p), host,
                            "must match `containerPort` when `hostNetwork` is true");
        if (!*v_str(v, "protocol"))
            err_required(c, at(c, "%s.protocol", p), "");
        else
            check_enum(c, at(c, "%s.protocol", p), v_str(v, "protocol"), protocols, false);
    }
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool is_env_name(const char *s)
{
    for (; *s; s++)
        if (*s < ' ' || *s > '~' || *s == '=')
            return false;
    return true;
}

#define ENV_NAME_WORDS                                                                         \
    "a valid environment variable name must consist only of printable ASCII characters other " \
    "than '='"

static void check_key_ref(struct check *c, const char *path, const struct kj_val *ref)
{
    check_dns_subdomain(c, at(c, "%s.name", path), v_str(ref, "name"));
    if (!*v_str(ref, "key"))
        err_required(c, at(c, "%s.key", path), "");
    else
        check_config_key(c, at(c, "%s.key", path), v_str(ref, "key"));
}

static void check_value_from(struct check *c, const char *path, const struct kj_val *from,
                             bool has_value)
{
    static const char *const sources[] = { "fieldRef", "resourceFieldRef", "configMapKeyRef",
                                           "secretKeyRef", "fileKeyRef" };
    static const char *const paths[] = { "metadata.name",
                                         "metadata.namespace",
                                         "metadata.uid",
                                         "spec.nodeName",
                                         "spec.serviceAccountName",
                                         "status.hostIP",
                                         "status.hostIPs",
                                         "status.podIP",
                                         "status.podIPs",
                                         NULL };
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        const struct kj_val *ref = kj_get(from, sources[i]);
        const char *p = at(c, "%s.%s", path, sources[i]);
        if (!v_has(from, sources[i]))
            continue;
        n++;
        if (i == 0)
            check_field_ref(c, p, ref, paths);
        else if (i == 1)
            check_resource_ref(c, p, ref, false);
        else if (i < 4)
            check_key_ref(c, p, ref);
    }
    if (n == 0)
        err_invalid(c, path, "",
                    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                    "`secretKeyRef` or `fileKeyRef`");
    else if (has_value)
        err_invalid(c, path, "", "may not be specified when `value` is not empty");
    else if (n > 1)
        err_invalid(c, path, "", "may not have more than one field specified at a time");
}

static void check_env(struct check *c, const char *path, const struct kj_val *container)
{
    struct kj_iter it = kj_iter(kj_get(container, "env"));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *name = v_str(v, "name");
        if (!*name)
            err_required(c, at(c, "%s.env[%zu].name", path, i), "");
        else if (!is_env_name(name))
            err_invalid(c, at(c, "%s.env[%zu].name", path, i), name, ENV_NAME_WORDS);
        if (v_has(v, "valueFrom"))
            check_value_from(c, at(c, "%s.env[%zu].valueFrom", path, i), kj_get(v, "valueFrom"),
                             *v_str(v, "value"));
    }
}

static void check_env_from(struct check *c, const char *path, const struct kj_val *container)
{
    static const char *const sources[] = { "configMapRef", "secretRef" };
    struct kj_iter it = kj_iter(kj_get(container, "envFrom"));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s.envFrom[%zu]", path, i), *prefix = v_str(v, "prefix");
        size_t n = 0;
        if (*prefix && !is_env_name(prefix))
            err_invalid(c, at(c, "%s.prefix", p), prefix, ENV_NAME_WORDS);
        for (size_t k = 0; k < ARRAY_LEN(sources); k++) {
            const char *name = v_str(kj_get(v, sources[k]), "name");
            if (!v_has(v, sources[k]))
                continue;
            n++;
            if (!*name)
                err_required(c, at(c, "%s.%s.name", p, sources[k]), "");
            else
                check_dns_subdomain(c, at(c, "%s.%s.name", p, sources[k]), name);
        }
        if (n == 0)
            err_invalid(c, at(c, "%s.envFrom", path), "",
                        "must specify one of: `configMapRef` or `secretRef`");
        else if (n > 1)
            err_invalid(c, at(c, "%s.envFrom", path), "",
                        "may not have more than one field specified at a time");
    }
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void check_security(struct check *c, const char *path, const struct kj_val *v)
{
    static const char *const mounts[] = { "Default", "Unmasked", NULL };

    check_range(c, at(c, "%s.runAsUser", path), kj_get(v, "runAsUser"), 0, INT32_MAX);
    check_range(c, at(c, "%s.runAsGroup", path), kj_get(v, "runAsGroup"), 0, INT32_MAX);
    check_enum(c, at(c, "%s.procMount", path), v_str(v, "procMount"), mounts, true);
    if (!kj_bool(kj_get(v, "allowPrivilegeEscalation"), true) &&
        kj_bool(kj_get(v, "privileged"), false))
        field_error(c->errors, FIELD_INVALID, path, as_json(c, v),
                    "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
}

static void check_resize(struct check *c, const char *path, const struct kj_val *list,
                         const char *pod_restart)
{
    static const char *const resources[] = { "cpu", "memory", NULL };
    static const char *const policies[] = { "NotRequired", "RestartContainer", NULL };
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *name = v_str(v, "resourceName"), *policy = v_str(v, "restartPolicy");
        if (!names_add(&seen, name))
            err_duplicate(c, at(c, "%s[%zu]", path, i), name);
        if (!*name)
            err_required(c, path, "");
        else
            check_enum(c, path, name, resources, false);
        if (!*policy)
            err_required(c, path, "");
        else if (check_enum(c, path, policy, policies, false) && streq(pod_restart, "Never") &&
                 streq(policy, "RestartContainer"))
            err_invalid(c, path, policy, "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
}

static void check_restart(struct check *c, const char *path, const struct kj_val *v)
{
    static const char *const policies[] = { "Always", "Never", "OnFailure", NULL };
    static const char *const actions[] = { "Restart", NULL };
    static const char *const operators[] = { "In", "NotIn", NULL };
    const struct kj_val *rules = kj_get(v, "restartPolicyRules"), *rule;
    struct kj_iter it = kj_iter(rules);

    check_enum(c, at(c, "%s.restartPolicy", path), v_str(v, "restartPolicy"), policies, true);
    if (kj_len(rules) > 0 && !*v_str(v, "restartPolicy"))
        err_required(c, at(c, "%s.restartPolicy", path),
                     "must specify restartPolicy when restart rules are used");
    for (size_t i = 0; kj_next(&it, NULL, &rule); i++) {
        const char *p = at(c, "%s.restartPolicyRules[%zu]", path, i);
        check_enum(c, at(c, "%s.action", p), v_str(rule, "action"), actions, false);
        if (!v_has(rule, "exitCodes"))
            err_required(c, at(c, "%s.exitCodes", p), "must be specified");
        else
            check_enum(c, at(c, "%s.exitCodes.operator", p),
                       v_str(kj_get(rule, "exitCodes"), "operator"), operators, false);
    }
}

static void check_common(struct check *c, const char *path, const struct kj_val *v,
                         const struct kj_val *spec)
{
    static const char *const pulls[] = { "Always", "IfNotPresent", "Never", NULL };
    static const char *const messages[] = { "File", "FallbackToLogsOnError", NULL };
    const char *name = v_str(v, "name"), *image = v_str(v, "image");
    size_t n = strlen(image);

    if (!*name)
        err_required(c, at(c, "%s.name", path), "");
    else
        check_dns_label(c, at(c, "%s.name", path), name);
    if (!*image)
        err_required(c, at(c, "%s.image", path), "");
    else if (image[0] == ' ' || image[n - 1] == ' ')
        err_invalid(c, at(c, "%s.image", path), image,
                    "must not have leading or trailing whitespace");
    check_enum(c, at(c, "%s.terminationMessagePolicy", path), v_str(v, "terminationMessagePolicy"),
               messages, true);
    check_ports(c, at(c, "%s.ports", path), kj_get(v, "ports"),
                kj_bool(kj_get(spec, "hostNetwork"), false));
    check_env(c, path, v);
    check_env_from(c, path, v);
    check_volume_mounts(c, path, v, spec);
    check_enum(c, at(c, "%s.imagePullPolicy", path), v_str(v, "imagePullPolicy"), pulls, true);
    check_resources(c, at(c, "%s.resources", path), kj_get(v, "resources"),
                    kj_get(spec, "resourceClaims"), false);
    check_resize(c, at(c, "%s.resizePolicy", path), kj_get(v, "resizePolicy"),
                 v_str(spec, "restartPolicy"));
    check_restart(c, path, v);
    if (v_has(v, "securityContext"))
        check_security(c, at(c, "%s.securityContext", path), kj_get(v, "securityContext"));
}

static void check_probes(struct check *c, const char *path, const struct kj_val *v)
{
    static const char *const probes[] = { "livenessProbe", "readinessProbe", "startupProbe" };

    if (v_has(v, "lifecycle"))
        check_lifecycle(c, at(c, "%s.lifecycle", path), kj_get(v, "lifecycle"));
    for (size_t i = 0; i < ARRAY_LEN(probes); i++)
        check_probe(c, path, kj_get(v, probes[i]), probes[i]);
}

static void check_init(struct check *c, const char *path, const struct kj_val *v)
{
    static const char *const not_allowed[] = { "lifecycle", "livenessProbe", "readinessProbe",
                                               "startupProbe" };

    if (streq(v_str(v, "restartPolicy"), "Always")) {
        check_probes(c, path, v);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(not_allowed); i++)
        if (v_has(v, not_allowed[i]))
            err_forbidden(c, at(c, "%s.%s", path, not_allowed[i]),
                          "may not be set for init containers without restartPolicy=Always");
}

/* Two containers cannot listen on the same port of the host. */
static void check_host_ports(struct check *c, const char *path, const struct kj_val *containers)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(containers), ports;
    const struct kj_val *v, *p;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        ports = kj_iter(kj_get(v, "ports"));
        for (size_t k = 0; kj_next(&ports, NULL, &p); k++) {
            int64_t host = kj_i64_or(kj_get(p, "hostPort"), 0);
            if (host == 0)
                continue;
            const char *key =
                at(c, "%s/%s/%lld", v_str(p, "protocol"), v_str(p, "hostIP"), (long long)host);
            if (!names_add(&seen, key))
                err_duplicate(c, at(c, "%s[%zu].ports[%zu].hostPort", path, i, k), key);
        }
    }
}

void check_containers(struct check *c, const char *path, const struct kj_val *spec)
{
    CLEANUP(map_fini) struct map names = { 0 };
    const struct kj_val *list = kj_get(spec, "containers"), *v;
    struct kj_iter it = kj_iter(list);

    if (kj_len(list) == 0)
        err_required(c, at(c, "%s.containers", path), "");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s.containers[%zu]", path, i), *name = v_str(v, "name");
        check_common(c, p, v, spec);
        if (*name && !names_add(&names, name))
            err_duplicate(c, at(c, "%s.name", p), name);
        check_probes(c, p, v);
    }
    check_host_ports(c, at(c, "%s.containers", path), list);
    it = kj_iter(kj_get(spec, "initContainers"));
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s.initContainers[%zu]", path, i), *name = v_str(v, "name");
        check_common(c, p, v, spec);
        if (*name && !names_add(&names, name))
            err_duplicate(c, at(c, "%s.name", p), name);
        check_init(c, p, v);
    }
}
