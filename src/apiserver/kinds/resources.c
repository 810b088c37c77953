/* resources.c - requests and limits: names, quantities, how the two relate. */
#include "api/names.h"
#include "apiserver/kinds/internal.h"

static bool among(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (streq(s, *list))
            return true;
    return false;
}

static bool resource_is_hugepages(const char *name)
{
    return str_starts(name, "hugepages-");
}

/* Kubernetes' own names: without a domain, or in kubernetes.io. */
static bool resource_is_native(const char *name)
{
    return !strchr(name, '/') || strstr(name, "kubernetes.io/");
}

bool resource_is_extended(const char *name)
{
    if (resource_is_native(name) || str_starts(name, "requests."))
        return false;
    return name_check_label_key(str_of(name)) == NULL;
}

bool resource_may_overcommit(const char *name)
{
    return resource_is_native(name) && !resource_is_hugepages(name);
}

void check_resource_name(struct check *c, const char *path, const char *name)
{
    static const char *const standard[] = { "cpu",
                                            "memory",
                                            "ephemeral-storage",
                                            "requests.cpu",
                                            "requests.memory",
                                            "requests.ephemeral-storage",
                                            "limits.cpu",
                                            "limits.memory",
                                            "limits.ephemeral-storage",
                                            "pods",
                                            "resourcequotas",
                                            "services",
                                            "replicationcontrollers",
                                            "secrets",
                                            "configmaps",
                                            "persistentvolumeclaims",
                                            "storage",
                                            "requests.storage",
                                            "services.nodeports",
                                            "services.loadbalancers",
                                            NULL };
    const char *why = name_check_label_key(str_of(name));

    if (why)
        err_invalid(c, path, name, why);
    else if (!strchr(name, '/') && !among(name, standard) && !resource_is_hugepages(name))
        err_invalid(c, path, name, "must be a standard resource type or fully qualified");
}

static void check_name(struct check *c, const char *path, const char *name, bool of_pod)
{
    static const char *const of_containers[] = { "cpu", "memory", "ephemeral-storage", NULL };
    static const char *const of_pods[] = { "cpu", "hugepages-", "memory", NULL };

    if (of_pod) {
        if (!streq(name, "cpu") && !streq(name, "memory") && !resource_is_hugepages(name))
            err_unsupported(c, path, name, of_pods);
        return;
    }
    check_resource_name(c, path, name);
    if (!strchr(name, '/')) {
        if (!among(name, of_containers) && !resource_is_hugepages(name))
            err_invalid(c, path, name, "must be a standard resource for containers");
    } else if (!resource_is_native(name) && !resource_is_extended(name)) {
        err_invalid(c, path, name, "doesn't follow extended resource name standard");
    }
}

void check_container_resource(struct check *c, const char *path, const char *name)
{
    check_name(c, path, name, false);
}

static void check_value(struct check *c, const char *path, const char *name, const char *text,
                        struct qty q)
{
    if (qty_sign(q) < 0)
        err_invalid(c, path, text, "must be greater than or equal to 0");
    if (resource_is_extended(name) && qty_milli(q) % 1000 != 0)
        err_invalid(c, path, text, "must be an integer");
}

static void check_list(struct check *c, const char *path, const struct kj_val *list, bool of_pod)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    struct str key;
    struct qty q;

    while (kj_next(&it, &key, &v)) {
        const char *name = arena_strndup(c->a, key.p, key.n);
        const char *p = at(c, "%s[%s]", path, name), *text = kj_str_or(v, "");
        check_name(c, p, name, of_pod);
        if (qty_parse(text, strlen(text), &q, NULL) == 0)
            check_value(c, p, name, text, q);
    }
}

void check_resource_list(struct check *c, const char *path, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    struct str key;
    struct qty q;

    while (kj_next(&it, &key, &v)) {
        const char *name = arena_strndup(c->a, key.p, key.n), *text = kj_str_or(v, "");
        const char *p = at(c, "%s.%s", path, name), *why = name_check_label_key(key);
        if (why)
            err_invalid(c, p, name, why);
        if (qty_parse(text, strlen(text), &q, NULL) == 0)
            check_value(c, p, name, text, q);
    }
}

static void check_requests(struct check *c, const char *path, const struct kj_val *requests,
                           const struct kj_val *limits)
{
    struct kj_iter it = kj_iter(requests);
    const struct kj_val *v;
    struct str key;
    struct qty want, limit;

    while (kj_next(&it, &key, &v)) {
        const char *name = arena_strndup(c->a, key.p, key.n), *text = kj_str_or(v, "");
        const char *p = at(c, "%s.requests", path);
        if (qty_parse(text, strlen(text), &want, NULL) < 0)
            continue;
        if (!v_qty(limits, name, &limit)) {
            if (!resource_may_overcommit(name))
                err_required(c, at(c, "%s.limits", path),
                             "Limit must be set for non overcommitable resources");
        } else if (!resource_may_overcommit(name) && qty_cmp(want, limit) != 0) {
            err_invalid(c, p, text,
                        at(c, "must be equal to %s limit of %s", name, v_str(limits, name)));
        } else if (resource_may_overcommit(name) && qty_cmp(want, limit) > 0) {
            err_invalid(
                c, p, text,
                at(c, "must be less than or equal to %s limit of %s", name, v_str(limits, name)));
        }
    }
}

static bool any_hugepages(const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v))
        if (key.n > 10 && memcmp(key.p, "hugepages-", 10) == 0)
            return true;
    return false;
}

static void check_claims(struct check *c, const char *path, const struct kj_val *list,
                         const struct kj_val *pod_claims)
{
    CLEANUP(map_fini) struct map known = { 0 };
    CLEANUP(map_fini) struct map seen = { 0 };
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;
    struct kj_iter it = kj_iter(pod_claims);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (names_add(&known, v_str(v, "name")))
            strbuf_appendf(&names, "%s%s", names.len ? ", " : "", v_str(v, "name"));
    it = kj_iter(list);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *name = v_str(v, "name"), *p = at(c, "%s[%zu]", path, i);
        if (!*name) {
            err_required(c, p, "");
            continue;
        }
        if (!names_add(&seen, name))
            err_duplicate(c, p, name);
        if (!map_getz(&known, name))
            field_error(c->errors, FIELD_NOT_FOUND, p, quoted(c, name),
                        "must be one of the names in pod.spec.resourceClaims%s%s",
                        names.len ? ": " : " which is empty", strbuf_str(&names));
    }
}

void check_resources(struct check *c, const char *path, const struct kj_val *resources,
                     const struct kj_val *claims, bool of_pod)
{
    const struct kj_val *limits = kj_get(resources, "limits");
    const struct kj_val *requests = kj_get(resources, "requests");

    if (!resources)
        return;
    check_list(c, at(c, "%s.limits", path), limits, of_pod);
    check_list(c, at(c, "%s.requests", path), requests, of_pod);
    check_requests(c, path, requests, limits);
    if (!of_pod && (any_hugepages(limits) || any_hugepages(requests)) && !v_has(limits, "cpu") &&
        !v_has(limits, "memory") && !v_has(requests, "cpu") && !v_has(requests, "memory"))
        err_forbidden(c, path, "HugePages require cpu or memory");
    if (!of_pod)
        check_claims(c, at(c, "%s.claims", path), kj_get(resources, "claims"), claims);
}
