/* limits_check.c - LimitRanges and ResourceQuotas that contradict themselves, or name what nobody
 * counts. */
#include "apiserver/kinds/internal.h"

static bool among(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (streq(s, *list))
            return true;
    return false;
}

/* ---- limit ranges ---------------------------------------------------------------------------- */

enum { MIN_OF, MAX_OF, DEFAULT_OF, REQUEST_OF, RATIO_OF, LISTS };
static const char *const list_names[LISTS] = { "min", "max", "default", "defaultRequest",
                                               "maxLimitRequestRatio" };

struct bound { /* one resource in one list */
    bool there;
    struct qty q;
    const char *text;
};

static void check_names(struct check *c, const char *p, const struct kj_val *limit,
                        const char *list, bool of_pods)
{
    struct kj_iter it = kj_iter(kj_get(limit, list));
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const char *name = arena_strndup(c->a, key.p, key.n);
        const char *where = at(c, "%s.%s[%s]", p, list, name);
        if (of_pods)
            check_container_resource(c, where, name);
        else
            check_resource_name(c, where, name);
    }
}

/* x may not be greater than y: told at the list `told`, with the value of `shown`. */
static void check_order(struct check *c, const char *p, const char *name, const struct bound *b,
                        int x, int y, int told, int shown)
{
    static const char *const words[LISTS] = { "min value", "max value", "default value",
                                              "default request value", "" };
    bool limit = x == REQUEST_OF && y == DEFAULT_OF;

    if (b[x].there && b[y].there && qty_cmp(b[x].q, b[y].q) > 0)
        err_invalid(c, at(c, "%s.%s[%s]", p, list_names[told], name), b[shown].text,
                    arena_printf(c->a, "%s %s is greater than %s %s", words[x], b[x].text,
                                 limit ? "default limit value" : words[y], b[y].text));
}

static void check_ratio(struct check *c, const char *p, const char *name, const struct bound *b)
{
    const char *path = at(c, "%s.maxLimitRequestRatio[%s]", p, name);

    if (!b[RATIO_OF].there)
        return;
    if (qty_cmp(b[RATIO_OF].q, qty_from_i64(1, QTY_DECIMAL_SI)) < 0)
        err_invalid(c, path, b[RATIO_OF].text,
                    arena_printf(c->a, "ratio %s is less than 1", b[RATIO_OF].text));
    if (!b[MIN_OF].there || !b[MAX_OF].there)
        return;
    double most = (double)qty_milli(b[MAX_OF].q) / (double)qty_milli(b[MIN_OF].q);
    if ((double)qty_milli(b[RATIO_OF].q) / 1000 > most)
        err_invalid(
            c, path, b[RATIO_OF].text,
            arena_printf(c->a, "ratio %s is greater than max/min = %f", b[RATIO_OF].text, most));
}

static void check_bounds(struct check *c, const char *p, const struct kj_val *limit,
                         const char *name, bool of_pod)
{
    struct bound b[LISTS] = { 0 };

    for (size_t i = 0; i < LISTS; i++) {
        b[i].text = kj_str_or(kj_get(kj_get(limit, list_names[i]), name), "");
        b[i].there = !(of_pod && (i == DEFAULT_OF || i == REQUEST_OF)) &&
                     qty_parse(b[i].text, strlen(b[i].text), &b[i].q, NULL) == 0;
    }
    check_order(c, p, name, b, MIN_OF, MAX_OF, MIN_OF, MIN_OF);
    check_order(c, p, name, b, MIN_OF, REQUEST_OF, REQUEST_OF, REQUEST_OF);
    check_order(c, p, name, b, REQUEST_OF, MAX_OF, REQUEST_OF, REQUEST_OF);
    check_order(c, p, name, b, REQUEST_OF, DEFAULT_OF, REQUEST_OF, REQUEST_OF);
    check_order(c, p, name, b, MIN_OF, DEFAULT_OF, DEFAULT_OF, MIN_OF);
    check_order(c, p, name, b, DEFAULT_OF, MAX_OF, DEFAULT_OF, MAX_OF);
    check_ratio(c, p, name, b);
    if (!resource_may_overcommit(name) && b[DEFAULT_OF].there && b[REQUEST_OF].there &&
        qty_cmp(b[DEFAULT_OF].q, b[REQUEST_OF].q) != 0)
        err_invalid(c, at(c, "%s.defaultRequest[%s]", p, name), b[REQUEST_OF].text,
                    arena_printf(c->a,
                                 "default value %s must equal to defaultRequest value %s in %s",
                                 b[DEFAULT_OF].text, b[REQUEST_OF].text, name));
}

static void check_type(struct check *c, const char *path, const char *type)
{
    static const char *const types[] = { "Pod", "Container", "PersistentVolumeClaim", NULL };
    size_t before = field_errors_count(c->errors);

    check_qualified(c, path, type);
    if (field_errors_count(c->errors) == before && !strchr(type, '/') && !among(type, types))
        err_invalid(c, path, type, "must be a standard limit type or fully qualified");
}

static void check_limit(struct check *c, const char *p, const struct kj_val *limit)
{
    CLEANUP(map_fini) struct map names = { 0 };
    const char *type = v_str(limit, "type");
    bool of_pod = streq(type, "Pod"), of_pods = of_pod || streq(type, "Container");
    const struct kj_val *v;
    struct str key;

    for (size_t i = 0; i < LISTS; i++) {
        const struct kj_val *list = kj_get(limit, list_names[i]);
        if (of_pod && (i == DEFAULT_OF || i == REQUEST_OF)) {
            if (kj_len(list))
                err_forbidden(c, at(c, "%s.%s", p, list_names[i]),
                              "may not be specified when `type` is 'Pod'");
            continue;
        }
        check_names(c, p, limit, list_names[i], of_pods);
    }
    if (streq(type, "PersistentVolumeClaim") && !kj_path(limit, "min.storage") &&
        !kj_path(limit, "max.storage"))
        err_required(c, at(c, "%s.limits", p),
                     "either minimum or maximum storage value is required, but neither was "
                     "provided");
    for (size_t i = 0; i < LISTS; i++)
        for (struct kj_iter it = kj_iter(kj_get(limit, list_names[i])); kj_next(&it, &key, &v);) {
            const char *name = arena_strndup(c->a, key.p, key.n);
            if (names_add(&names, name))
                check_bounds(c, p, limit, name, of_pod);
        }
}

void check_limit_range(struct check *c, const struct kj_val *limits)
{
    CLEANUP(map_fini) struct map types = { 0 };
    struct kj_iter it = kj_iter(limits);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "spec.limits[%zu]", i), *type = v_str(v, "type");
        check_type(c, at(c, "%s.type", p), type);
        if (!names_add(&types, type))
            err_duplicate(c, at(c, "%s.type", p), type);
        check_limit(c, p, v);
    }
}

/* ---- quotas ---------------------------------------------------------------------------------- */

static const char *const counted[] = { "pods",
                                       "resourcequotas",
                                       "services",
                                       "replicationcontrollers",
                                       "secrets",
                                       "persistentvolumeclaims",
                                       "configmaps",
                                       "services.nodeports",
                                       "services.loadbalancers",
                                       NULL };
static const char *const computed[] = {
    "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", NULL
};
static const char *const stored[] = { "ephemeral-storage", "requests.storage",
                                      "requests.ephemeral-storage", "limits.ephemeral-storage",
                                      NULL };

static bool is_quota_resource(const char *name)
{
    return among(name, counted) || among(name, computed) || among(name, stored) ||
           str_starts(name, "hugepages-") || str_starts(name, "requests.hugepages-");
}

static void check_hard(struct check *c, const struct kj_val *hard)
{
    struct kj_iter it = kj_iter(hard);
    const struct kj_val *v;
    struct str key;
    struct qty q;

    while (kj_next(&it, &key, &v)) {
        const char *name = arena_strndup(c->a, key.p, key.n), *text = kj_str_or(v, "");
        const char *p = at(c, "spec.hard[%s]", name);
        check_resource_name(c, p, name);
        if (!strchr(name, '/') && !is_quota_resource(name))
            err_invalid(c, p, name, "must be a standard resource for quota");
        if (qty_parse(text, strlen(text), &q, NULL) < 0)
            continue;
        if (qty_sign(q) < 0)
            err_invalid(c, p, text, "must be greater than or equal to 0");
        if ((among(name, counted) || resource_is_extended(name)) && qty_milli(q) % 1000 != 0)
            err_invalid(c, p, text, "must be an integer");
    }
}

static bool scope_fits(const char *scope, const char *resource)
{
    static const char *const of_pods[] = { "Terminating",
                                           "NotTerminating",
                                           "NotBestEffort",
                                           "PriorityClass",
                                           "CrossNamespacePodAffinity",
                                           NULL };

    if (among(scope, of_pods))
        return streq(resource, "pods") || among(resource, computed);
    if (streq(scope, "BestEffort"))
        return streq(resource, "pods");
    if (streq(scope, "VolumeAttributesClass"))
        return streq(resource, "persistentvolumeclaims") || streq(resource, "requests.storage");
    return true;
}

static bool is_scope(const char *s)
{
    static const char *const scopes[] = { "Terminating",
                                          "NotTerminating",
                                          "BestEffort",
                                          "NotBestEffort",
                                          "PriorityClass",
                                          "VolumeAttributesClass",
                                          "CrossNamespacePodAffinity",
                                          NULL };
    return among(s, scopes);
}

/* Is there a resource that the scope says nothing about? */
static bool misses(const char *scope, const struct kj_val *hard)
{
    struct kj_iter it = kj_iter(hard);
    const struct kj_val *v;
    struct str key;
    char name[64];

    while (kj_next(&it, &key, &v)) {
        if (key.n >= sizeof name)
            continue; /* none that is counted for pods */
        memcpy(name, key.p, key.n);
        name[key.n] = '\0';
        if (is_quota_resource(name) && !scope_fits(scope, name))
            return true;
    }
    return false;
}

static bool has_pair(const struct map *seen)
{
    return (map_getz(seen, "BestEffort") && map_getz(seen, "NotBestEffort")) ||
           (map_getz(seen, "Terminating") && map_getz(seen, "NotTerminating"));
}

/* All of them are looked through once for each scope there is, however often it is named. */
static bool misses_anew(struct map *seen, const char *scope, const struct kj_val *hard)
{
    static int fine, missing;
    const void *known = map_getz(seen, scope);

    if (!known) {
        known = is_scope(scope) && misses(scope, hard) ? &missing : &fine;
        map_putz(seen, scope, (void *)(uintptr_t)known);
    }
    return known == &missing;
}

static void check_scopes(struct check *c, const struct kj_val *scopes, const struct kj_val *hard)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(scopes);
    const char *all = as_json(c, scopes);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v)) {
        const char *scope = kj_str_or(v, "");
        if (!is_scope(scope))
            field_error(c->errors, FIELD_INVALID, "spec.scopes", all, "unsupported scope");
        if (misses_anew(&seen, scope, hard))
            field_error(c->errors, FIELD_INVALID, "spec.scopes", all,
                        "unsupported scope applied to resource");
    }
    if (has_pair(&seen))
        field_error(c->errors, FIELD_INVALID, "spec.scopes", all, "conflicting scopes");
}

#define SELECTOR "spec.scopeSelector.matchExpressions"

static void check_requirement(struct check *c, const struct kj_val *v)
{
    const char *scope = v_str(v, "scopeName"), *how = v_str(v, "operator");
    const struct kj_val *values = kj_get(v, "values");

    if (is_scope(scope) && !streq(scope, "PriorityClass") &&
        !streq(scope, "VolumeAttributesClass") && !streq(how, "Exists"))
        err_invalid(c, SELECTOR ".operator", how,
                    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                    "ResourceQuotaScopeNotBestEffort or "
                    "ResourceQuotaScopeCrossNamespacePodAffinity");
    if (streq(how, "In") || streq(how, "NotIn")) {
        if (kj_len(values) == 0)
            err_required(c, SELECTOR ".values",
                         "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                         "selector");
    } else if (streq(how, "Exists") || streq(how, "DoesNotExist")) {
        if (kj_len(values))
            field_error(c->errors, FIELD_INVALID, SELECTOR ".values", as_json(c, values),
                        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope "
                        "selector");
    } else {
        err_invalid(c, SELECTOR ".operator", how, "not a valid selector operator");
    }
}

static void check_selector(struct check *c, const struct kj_val *selector,
                           const struct kj_val *hard)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(kj_get(selector, "matchExpressions"));
    const char *all = as_json(c, selector);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v)) {
        const char *scope = v_str(v, "scopeName");
        if (!is_scope(scope))
            err_invalid(c, SELECTOR ".scopeName", scope, "unsupported scope");
        if (misses_anew(&seen, scope, hard))
            field_error(c->errors, FIELD_INVALID, SELECTOR, all,
                        "unsupported scope applied to resource");
        check_requirement(c, v);
    }
    if (has_pair(&seen))
        field_error(c->errors, FIELD_INVALID, SELECTOR, "null", "conflicting scopes");
}

void check_quota(struct check *c, const struct kj_val *spec)
{
    check_hard(c, kj_get(spec, "hard"));
    check_scopes(c, kj_get(spec, "scopes"), kj_get(spec, "hard"));
    check_selector(c, kj_get(spec, "scopeSelector"), kj_get(spec, "hard"));
}
