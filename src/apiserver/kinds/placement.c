/* placement.c - where a pod may run: node selectors, affinity, spreading, tolerations, taints. */
#include "apiserver/kinds/internal.h"
#include "base/num.h"

static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };

/* ---- node selectors -------------------------------------------------------------------------- */

static void check_expression(struct check *c, const char *path, const struct kj_val *e)
{
    const char *op = v_str(e, "operator"), *key = v_str(e, "key");
    const char *values = at(c, "%s.values", path);
    size_t n = kj_len(kj_get(e, "values"));

    if (streq(op, "In") || streq(op, "NotIn")) {
        if (n == 0)
            err_required(c, values, "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (streq(op, "Exists") || streq(op, "DoesNotExist")) {
        if (n > 0)
            err_forbidden(c, values,
                          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else if (streq(op, "Gt") || streq(op, "Lt")) {
        if (n != 1)
            err_required(c, values,
                         "must be specified single value when `operator` is 'Lt' or 'Gt'");
    } else {
        err_invalid(c, at(c, "%s.operator", path), op, "not a valid selector operator");
    }
    check_qualified(c, at(c, "%s.key", path), key);
}

static void check_field(struct check *c, const char *path, const struct kj_val *e)
{
    const char *op = v_str(e, "operator"), *key = v_str(e, "key");

    if (!streq(op, "In") && !streq(op, "NotIn"))
        err_invalid(c, at(c, "%s.operator", path), op, "not a valid selector operator");
    else if (kj_len(kj_get(e, "values")) != 1)
        err_required(c, at(c, "%s.values", path),
                     "must be only one value when `operator` is 'In' or 'NotIn' for node field "
                     "selector");
    if (!streq(key, "metadata.name"))
        err_invalid(c, at(c, "%s.key", path), key, "not a valid field selector key");
}

static void check_node_term(struct check *c, const char *path, const struct kj_val *term)
{
    struct kj_iter it = kj_iter(kj_get(term, "matchExpressions"));
    const struct kj_val *e;

    for (size_t i = 0; kj_next(&it, NULL, &e); i++)
        check_expression(c, at(c, "%s.matchExpressions[%zu]", path, i), e);
    it = kj_iter(kj_get(term, "matchFields"));
    for (size_t i = 0; kj_next(&it, NULL, &e); i++)
        check_field(c, at(c, "%s.matchFields[%zu]", path, i), e);
}

void check_node_selector(struct check *c, const char *path, const struct kj_val *selector)
{
    const struct kj_val *terms = kj_get(selector, "nodeSelectorTerms"), *t;
    struct kj_iter it = kj_iter(terms);

    if (kj_len(terms) == 0)
        err_required(c, at(c, "%s.nodeSelectorTerms", path),
                     "must have at least one node selector term");
    for (size_t i = 0; kj_next(&it, NULL, &t); i++)
        check_node_term(c, at(c, "%s.nodeSelectorTerms[%zu]", path, i), t);
}

/* ---- affinity -------------------------------------------------------------------------------- */

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static void check_weight(struct check *c, const char *path, const struct kj_val *v)
{
    int64_t w = kj_i64_or(kj_get(v, "weight"), 0);
    if (w < 1 || w > 100)
        err_invalid_i64(c, at(c, "%s.weight", path), w, "must be in the range 1-100");
}

static void check_pod_term(struct check *c, const char *path, const struct kj_val *term)
{
    struct kj_iter it = kj_iter(kj_get(term, "namespaces"));
    const struct kj_val *ns;
    const char *key = v_str(term, "topologyKey");

    check_label_selector(c, at(c, "%s.labelSelector", path), kj_get(term, "labelSelector"));
    check_label_selector(c, at(c, "%s.namespaceSelector", path), kj_get(term, "namespaceSelector"));
    while (kj_next(&it, NULL, &ns))
        check_dns_label(c, at(c, "%s.namespace", path), kj_str_or(ns, ""));
    if (!*key)
        err_required(c, at(c, "%s.topologyKey", path), "can not be empty");
    check_qualified(c, at(c, "%s.topologyKey", path), key);
}

static void check_pod_terms(struct check *c, const char *path, const struct kj_val *affinity)
{
    struct kj_iter it = kj_iter(kj_get(affinity, REQUIRED));
    const struct kj_val *t;

    for (size_t i = 0; kj_next(&it, NULL, &t); i++)
        check_pod_term(c, at(c, "%s.%s[%zu]", path, REQUIRED, i), t);
    it = kj_iter(kj_get(affinity, PREFERRED));
    for (size_t i = 0; kj_next(&it, NULL, &t); i++) {
        const char *p = at(c, "%s.%s[%zu]", path, PREFERRED, i);
        check_weight(c, p, t);
        check_pod_term(c, at(c, "%s.podAffinityTerm", p), kj_get(t, "podAffinityTerm"));
    }
}

static void check_affinity(struct check *c, const char *path, const struct kj_val *affinity)
{
    const struct kj_val *node = kj_get(affinity, "nodeAffinity"), *t;
    const char *p = at(c, "%s.nodeAffinity", path);

    if (v_has(node, REQUIRED))
        check_node_selector(c, at(c, "%s.%s", p, REQUIRED), kj_get(node, REQUIRED));
    struct kj_iter it = kj_iter(kj_get(node, PREFERRED));
    for (size_t i = 0; kj_next(&it, NULL, &t); i++) {
        check_weight(c, at(c, "%s.%s[%zu]", p, PREFERRED, i), t);
        check_node_term(c, at(c, "%s.%s[%zu].preference", p, PREFERRED, i),
                        kj_get(t, "preference"));
    }
    check_pod_terms(c, at(c, "%s.podAffinity", path), kj_get(affinity, "podAffinity"));
    check_pod_terms(c, at(c, "%s.podAntiAffinity", path), kj_get(affinity, "podAntiAffinity"));
}

/* ---- spreading ------------------------------------------------------------------------------- */

static const char *spread_key(struct check *c, const struct kj_val *v)
{
    return at(c, "{%s, %s}", v_str(v, "topologyKey"), v_str(v, "whenUnsatisfiable"));
}

static void check_spread(struct check *c, const char *path, const struct kj_val *v, bool twice)
{
    static const char *const actions[] = { "DoNotSchedule", "ScheduleAnyway", NULL };
    static const char *const policies[] = { "Honor", "Ignore", NULL };
    const char *action = v_str(v, "whenUnsatisfiable");
    int64_t skew = kj_i64_or(kj_get(v, "maxSkew"), 0), domains;

    if (skew <= 0)
        err_invalid_i64(c, at(c, "%s.maxSkew", path), skew, "must be greater than zero");
    if (!*v_str(v, "topologyKey"))
        err_required(c, at(c, "%s.topologyKey", path), "can not be empty");
    check_enum(c, at(c, "%s.whenUnsatisfiable", path), action, actions, false);
    if (twice)
        err_duplicate(c, at(c, "%s.{topologyKey, whenUnsatisfiable}", path), spread_key(c, v));
    if (kj_i64(kj_get(v, "minDomains"), &domains) == 0) {
        if (domains <= 0)
            err_invalid_i64(c, at(c, "%s.minDomains", path), domains, "must be greater than zero");
        if (!streq(action, "DoNotSchedule"))
            err_invalid_i64(c, at(c, "%s.minDomains", path), domains,
                            at(c,
                               "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %s",
                               action));
    }
    check_enum(c, at(c, "%s.nodeAffinityPolicy", path), v_str(v, "nodeAffinityPolicy"), policies,
               true);
    check_enum(c, at(c, "%s.nodeTaintsPolicy", path), v_str(v, "nodeTaintsPolicy"), policies, true);
    if (kj_len(kj_get(v, "matchLabelKeys")) > 0 && !v_has(v, "labelSelector"))
        err_forbidden(c, at(c, "%s.matchLabelKeys", path),
                      "must not be specified when labelSelector is not set");
    check_label_selector(c, at(c, "%s.labelSelector", path), kj_get(v, "labelSelector"));
}

static void check_spreads(struct check *c, const char *path, const struct kj_val *list)
{
    CLEANUP(map_fini) struct map left = { 0 }; /* how often each pair is still to come */
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v)) {
        const char *key = spread_key(c, v);
        int *n = map_getz(&left, key);
        if (!n)
            map_putz(&left, key, n = arena_new0(c->a, int));
        ++*n;
    }
    it = kj_iter(list);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        int *n = map_getz(&left, spread_key(c, v));
        check_spread(c, at(c, "%s[%zu]", path, i), v, --*n > 0);
    }
}

/* ---- taints and tolerations ------------------------------------------------------------------ */

static void check_tolerations(struct check *c, const char *path, const struct kj_val *list)
{
    static const char *const operators[] = { "Equal", "Exists", NULL };
    static const char *const gated[] = { "Equal", "Exists", "Lt", "Gt", NULL };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *operator= at(c, "%s.operator", p);
        const char *op = v_str(v, "operator"), *value = v_str(v, "value");
        const char *effect = v_str(v, "effect");
        if (*v_str(v, "key"))
            check_qualified(c, at(c, "%s.key", p), v_str(v, "key"));
        else if (!streq(op, "Exists"))
            err_invalid(c, operator, op,
                        "operator must be Exists when `key` is empty, which means \"match all "
                        "values and all keys\"");
        if (v_has(v, "tolerationSeconds") && !streq(effect, "NoExecute"))
            err_invalid(c, at(c, "%s.effect", p), effect,
                        "effect must be 'NoExecute' when `tolerationSeconds` is set");
        if (!*op || streq(op, "Equal"))
            check_label_value(c, operator, value);
        else if (streq(op, "Exists") && *value)
            err_invalid(c, operator, value, "value must be empty when `operator` is 'Exists'");
        else if (streq(op, "Gt") || streq(op, "Lt"))
            err_unsupported(c, operator, op, gated);
        else
            check_enum(c, operator, op, operators, true);
        check_enum(c, at(c, "%s.effect", p), effect, effects, true);
    }
}

void check_taints(struct check *c, const char *path, const struct kj_val *list)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *effect = v_str(v, "effect");
        check_qualified(c, at(c, "%s.key", p), v_str(v, "key"));
        check_label_value(c, at(c, "%s.value", p), v_str(v, "value"));
        if (!*effect)
            err_required(c, at(c, "%s.effect", p), "");
        else
            check_enum(c, at(c, "%s.effect", p), effect, effects, false);
        if (!names_add(&seen, at(c, "%s:%s", v_str(v, "key"), effect)))
            field_error(c->errors, FIELD_DUPLICATE, p,
                        at(c, "{\"Key\":%s,\"Value\":%s,\"Effect\":%s,\"TimeAdded\":%s}",
                           quoted(c, v_str(v, "key")), quoted(c, v_str(v, "value")),
                           quoted(c, effect), as_json(c, kj_get(v, "timeAdded"))),
                        "taints must be unique by key and effect pair");
    }
}

void check_placement(struct check *c, const char *path, const struct kj_val *spec)
{
    check_labels(c, at(c, "%s.nodeSelector", path), kj_get(spec, "nodeSelector"));
    check_affinity(c, at(c, "%s.affinity", path), kj_get(spec, "affinity"));
    check_spreads(c, at(c, "%s.topologySpreadConstraints", path),
                  kj_get(spec, "topologySpreadConstraints"));
    check_tolerations(c, at(c, "%s.tolerations", path), kj_get(spec, "tolerations"));
}
