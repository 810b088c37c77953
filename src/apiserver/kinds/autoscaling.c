/* autoscaling.c - HorizontalPodAutoscaler. */
#include "apiserver/kinds/internal.h"

PREPARE_STATUS(hpa_prepare, "autoscaling", "HorizontalPodAutoscaler")

static void rules_default(struct kj_mdoc *d, struct kj_mval *rules, const char *policies)
{
    if (!m_has(rules, "selectPolicy"))
        kj_mset(d, rules, "selectPolicy", kj_mstr(d, "Max"));
    if (!m_has(rules, "policies"))
        kj_mset(d, rules, "policies", kj_mraw(d, policies, strlen(policies)));
}

/* Who says something about the behavior gets the rest of it spelled out. How long to look back
 * before scaling down is left to the controller, whose flag it is. */
static void behavior_default(struct kj_mdoc *d, struct kj_mval *behavior)
{
    struct kj_mval *up = m_obj(d, behavior, "scaleUp"), *down = m_obj(d, behavior, "scaleDown");

    m_default_i64(d, up, "stabilizationWindowSeconds", 0);
    rules_default(d, up,
                  "[{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":15},"
                  "{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]");
    rules_default(d, down, "[{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]");
}

/* Without metrics: the CPU that the pods ask for, used to 80%. */
static void hpa_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    static const char cpu[] = "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{"
                              "\"type\":\"Utilization\",\"averageUtilization\":80}}}]";
    struct kj_mval *spec = kj_mget(obj, "spec");

    hpa_v1_drop_annotations(obj);
    if (kj_mtype(spec) != KJ_OBJ)
        return;
    if (kj_mlen(kj_mget(spec, "metrics")) == 0)
        kj_mset(d, spec, "metrics", kj_mraw(d, cpu, sizeof cpu - 1));
    if (kj_mtype(kj_mget(spec, "behavior")) == KJ_OBJ)
        behavior_default(d, kj_mget(spec, "behavior"));
}

/* ---- references ------------------------------------------------------------------------------ */

/* What the apiVersion of a reference has to be. */
enum ref_version { VERSION_ANY, VERSION_PARSED, VERSION_WITH_GROUP };

static const char *version_problem(struct check *c, const char *version, enum ref_version rule)
{
    const char *slash = strchr(version, '/');

    if (rule == VERSION_ANY)
        return NULL;
    if (slash && strchr(slash + 1, '/'))
        return at(c, "unexpected GroupVersion string: %s", version);
    if (rule == VERSION_WITH_GROUP && (!slash || slash == version))
        return "apiVersion must specify API group";
    return NULL;
}

/* What becomes a part of a path: kinds, names, and names of metrics. */
static void check_segment(struct check *c, const char *path, const char *s, const char *if_missing)
{
    if (!*s)
        err_required(c, path, if_missing);
    if (streq(s, ".") || streq(s, ".."))
        err_invalid(c, path, s, at(c, "may not be '%s'", s));
    if (strchr(s, '/'))
        err_invalid(c, path, s, "may not contain '/'");
    if (strchr(s, '%'))
        err_invalid(c, path, s, "may not contain '%'");
}

static void check_reference(struct check *c, const char *p, const struct kj_val *ref,
                            enum ref_version rule)
{
    const char *version = v_str(ref, "apiVersion"), *why = version_problem(c, version, rule);

    check_segment(c, at(c, "%s.kind", p), v_str(ref, "kind"), "");
    check_segment(c, at(c, "%s.name", p), v_str(ref, "name"), "");
    if (why)
        err_invalid(c, at(c, "%s.apiVersion", p), version, why);
}

/* What scales is found by group; core has one kind that does. A reference from before that rule
 * may stay. */
static enum ref_version target_version(const struct kj_val *ref, const struct kj_val *old)
{
    if (old && streq(v_str(ref, "kind"), v_str(old, "kind")) &&
        streq(v_str(ref, "apiVersion"), v_str(old, "apiVersion")))
        return VERSION_ANY;
    return streq(v_str(ref, "kind"), "ReplicationController") ? VERSION_PARSED : VERSION_WITH_GROUP;
}

/* Objects that metrics are about may be of core. One that cannot be parsed, from before that rule,
 * lets all of them be anything. */
static enum ref_version described_version(struct check *c, const struct kj_val *old_metrics)
{
    struct kj_iter it = kj_iter(old_metrics);
    const struct kj_val *m;

    while (kj_next(&it, NULL, &m)) {
        const char *version = v_str(kj_path(m, "object.describedObject"), "apiVersion");
        if (streq(v_str(m, "type"), "Object") && version_problem(c, version, VERSION_PARSED))
            return VERSION_ANY;
    }
    return VERSION_PARSED;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void check_positive(struct check *c, const char *p, const struct kj_val *target,
                           const char *key)
{
    struct qty q;

    if (v_qty(target, key, &q) && qty_sign(q) <= 0)
        err_invalid(c, at(c, "%s.%s", p, key), v_str(target, key), "must be positive");
}

static void check_target(struct check *c, const char *p, const struct kj_val *target)
{
    const char *type = v_str(target, "type");
    int64_t percent = kj_i64_or(kj_get(target, "averageUtilization"), 0);

    if (!*type)
        err_required(c, at(c, "%s.type", p), "must specify a metric target type");
    if (!streq(type, "Utilization") && !streq(type, "Value") && !streq(type, "AverageValue"))
        err_invalid(c, at(c, "%s.type", p), type,
                    "must be either Utilization, Value, or AverageValue");
    check_positive(c, p, target, "value");
    check_positive(c, p, target, "averageValue");
    if (v_has(target, "averageUtilization") && percent < 1)
        err_invalid_i64(c, at(c, "%s.averageUtilization", p), percent, "must be greater than 0");
}

/* The name of a metric and its target, which all but resources have. */
static const struct kj_val *check_identified(struct check *c, const char *p,
                                             const struct kj_val *source)
{
    const struct kj_val *target = kj_get(source, "target");

    check_segment(c, at(c, "%s.metric.name", p), v_str(kj_get(source, "metric"), "name"),
                  "must specify a metric name");
    check_target(c, at(c, "%s.target", p), target);
    return target;
}

static void check_object_source(struct check *c, const char *p, const struct kj_val *source)
{
    const struct kj_val *target = check_identified(c, p, source);

    if (!v_has(target, "value") && !v_has(target, "averageValue"))
        err_required(c, at(c, "%s.target.averageValue", p),
                     "must set either a target value or averageValue");
}

static void check_external_source(struct check *c, const char *p, const struct kj_val *source)
{
    const struct kj_val *target = check_identified(c, p, source);
    bool value = v_has(target, "value"), average = v_has(target, "averageValue");

    if (!value && !average)
        err_required(c, at(c, "%s.target.averageValue", p),
                     "must set either a target value for metric or a per-pod target");
    if (value && average)
        err_forbidden(c, at(c, "%s.target.value", p),
                      "may not set both a target value for metric and a per-pod target");
}

static void check_pods_source(struct check *c, const char *p, const struct kj_val *source)
{
    if (!v_has(check_identified(c, p, source), "averageValue"))
        err_required(c, at(c, "%s.target.averageValue", p),
                     "must specify a positive target averageValue");
}

static void check_use(struct check *c, const char *p, const struct kj_val *target)
{
    bool percent = v_has(target, "averageUtilization"), average = v_has(target, "averageValue");

    check_target(c, p, target);
    if (!percent && !average)
        err_required(c, at(c, "%s.averageUtilization", p),
                     "must set either a target raw value or a target utilization");
    if (percent && average)
        err_forbidden(c, at(c, "%s.averageValue", p),
                      "may not set both a target raw value and a target utilization");
}

static void check_resource_source(struct check *c, const char *p, const struct kj_val *source)
{
    if (!*v_str(source, "name"))
        err_required(c, at(c, "%s.name", p), "must specify a resource name");
    check_use(c, at(c, "%s.target", p), kj_get(source, "target"));
}

static void check_container_source(struct check *c, const char *p, const struct kj_val *source)
{
    const char *name = v_str(source, "name"), *container = v_str(source, "container");

    if (!*name)
        err_required(c, at(c, "%s.name", p), "must specify a resource name");
    else
        check_container_resource(c, at(c, "%s.name", p), name);
    if (!*container)
        err_required(c, at(c, "%s.container", p), "must specify a container");
    else
        check_dns_label(c, at(c, "%s.container", p), container);
    check_use(c, at(c, "%s.target", p), kj_get(source, "target"));
}

/* What a metric of each type keeps under a key of its own, in the order in which they are looked
 * at. */
static const struct metric_source {
    const char *type, *key;
    void (*check)(struct check *c, const char *p, const struct kj_val *source);
} sources[] = {
    { "Object", "object", check_object_source },
    { "External", "external", check_external_source },
    { "Pods", "pods", check_pods_source },
    { "Resource", "resource", check_resource_source },
    { "ContainerResource", "containerResource", check_container_source },
};

/* Of several sources, the first is looked into: whatever the type, all but one are too many. */
static void check_metric(struct check *c, const char *p, const struct kj_val *metric,
                         enum ref_version described)
{
    static const char *const types[] = { "ContainerResource", "External", "Object", "Pods",
                                         "Resource",          NULL };
    const char *type = v_str(metric, "type"), *wanted = "";
    size_t n = 0;

    if (!*type)
        err_required(c, at(c, "%s.type", p), "must specify a metric source type");
    check_enum(c, at(c, "%s.type", p), type, types, false);
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        const struct kj_val *source = kj_get(metric, sources[i].key);
        const char *where = at(c, "%s.%s", p, sources[i].key);
        if (streq(sources[i].type, type))
            wanted = sources[i].key;
        if (kj_type(source) != KJ_OBJ || n++ > 0)
            continue;
        if (sources[i].check == check_object_source)
            check_reference(c, at(c, "%s.describedObject", where),
                            kj_get(source, "describedObject"), described);
        sources[i].check(c, where, source);
    }
    if (*wanted && !v_has(metric, wanted))
        err_required(c, at(c, "%s.%s", p, wanted),
                     "must populate information for the given metric source");
    for (size_t i = 0; i < ARRAY_LEN(sources) && n > 1; i++)
        if (!streq(sources[i].key, wanted) && v_has(metric, sources[i].key))
            err_forbidden(c, at(c, "%s.%s", p, sources[i].key),
                          "must populate the given metric source only");
}

/* By something that can be measured without pods. */
static bool scales_from_zero(const struct kj_val *metrics)
{
    struct kj_iter it = kj_iter(metrics);
    const struct kj_val *m;

    while (kj_next(&it, NULL, &m))
        if (streq(v_str(m, "type"), "Object") || streq(v_str(m, "type"), "External"))
            return true;
    return false;
}

static void check_metrics(struct check *c, const struct kj_val *spec, const struct kj_val *old)
{
    enum ref_version described = described_version(c, kj_get(old, "metrics"));
    struct kj_iter it = kj_iter(kj_get(spec, "metrics"));
    const struct kj_val *m;

    for (size_t i = 0; kj_next(&it, NULL, &m); i++)
        check_metric(c, at(c, "spec.metrics[%zu]", i), m, described);
    if (kj_i64_or(kj_get(spec, "minReplicas"), 1) == 0 &&
        !scales_from_zero(kj_get(spec, "metrics")))
        err_forbidden(c, "spec.metrics",
                      "must specify at least one Object or External metric to support scaling to "
                      "zero replicas");
}

/* ---- behavior -------------------------------------------------------------------------------- */

static void check_limits(struct check *c, const char *path, const struct kj_val *v, int64_t lo,
                         int64_t hi)
{
    int64_t n = kj_i64_or(v, lo);

    if (n < lo)
        err_invalid_i64(c, path, n,
                        lo ? "must be greater than zero" : "must be greater than or equal to zero");
    else if (n > hi)
        err_invalid_i64(c, path, n, at(c, "must be less than or equal to %lld", (long long)hi));
}

static void check_scaling(struct check *c, const char *p, const struct kj_val *rules)
{
    enum { WINDOW_MAX_S = 3600, PERIOD_MAX_S = 1800 };
    static const char *const selects[] = { "Disabled", "Max", "Min", NULL };
    static const char *const types[] = { "Percent", "Pods", NULL };
    struct kj_iter it = kj_iter(kj_get(rules, "policies"));
    const struct kj_val *v;
    struct qty tolerance;

    if (kj_type(rules) != KJ_OBJ)
        return;
    check_limits(c, at(c, "%s.stabilizationWindowSeconds", p),
                 kj_get(rules, "stabilizationWindowSeconds"), 0, WINDOW_MAX_S);
    if (v_has(rules, "selectPolicy"))
        check_enum(c, at(c, "%s.selectPolicy", p), v_str(rules, "selectPolicy"), selects, false);
    if (kj_len(kj_get(rules, "policies")) == 0)
        err_required(c, at(c, "%s.policies", p), "must specify at least one Policy");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *where = at(c, "%s.policies[%zu]", p, i);
        check_enum(c, at(c, "%s.type", where), v_str(v, "type"), types, false);
        if (kj_i64_or(kj_get(v, "value"), 0) <= 0)
            err_invalid_i64(c, at(c, "%s.value", where), kj_i64_or(kj_get(v, "value"), 0),
                            "must be greater than zero");
        check_limits(c, at(c, "%s.periodSeconds", where), kj_get(v, "periodSeconds"), 1,
                     PERIOD_MAX_S);
    }
    if (v_qty(rules, "tolerance", &tolerance) && qty_sign(tolerance) < 0)
        err_invalid(c, at(c, "%s.tolerance", p), v_str(rules, "tolerance"),
                    "must be greater than or equal to 0");
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* To have none at all is for autoscalers that could already. */
static void check_bounds(struct check *c, const struct kj_val *spec, const struct kj_val *old)
{
    int64_t min = kj_i64_or(kj_get(spec, "minReplicas"), 1),
            max = kj_i64_or(kj_get(spec, "maxReplicas"), 0),
            least = kj_i64_or(kj_get(old, "minReplicas"), 1) == 0 ? 0 : 1;

    if (min < least)
        err_invalid_i64(c, "spec.minReplicas", min,
                        at(c, "must be greater than or equal to %lld", (long long)least));
    if (max < 1)
        err_invalid_i64(c, "spec.maxReplicas", max, "must be greater than 0");
    if (max < min)
        err_invalid_i64(c, "spec.maxReplicas", max,
                        "must be greater than or equal to `minReplicas`");
}

static void hpa_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                         struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *ref = kj_get(spec, "scaleTargetRef"),
                        *was = kj_get(old, "spec");

    if (verb == RES_STATUS) {
        check_not_negative(&c, "status.currentReplicas", kj_path(obj, "status.currentReplicas"));
        check_not_negative(&c, "status.desiredReplicas", kj_path(obj, "status.desiredReplicas"));
        return;
    }
    check_bounds(&c, spec, was);
    check_reference(&c, "spec.scaleTargetRef", ref,
                    target_version(ref, kj_get(was, "scaleTargetRef")));
    check_metrics(&c, spec, was);
    check_scaling(&c, "spec.behavior.scaleUp", kj_path(spec, "behavior.scaleUp"));
    check_scaling(&c, "spec.behavior.scaleDown", kj_path(spec, "behavior.scaleDown"));
}

const struct res_strategy hpa_strategy = { .set_defaults = hpa_set_defaults,
                                           .prepare = hpa_prepare,
                                           .validate = hpa_validate };

static void cell_reference(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *ref = kj_path(obj, "spec.scaleTargetRef");
    (void)now;
    strbuf_appendf(&b, "%s/%s", v_str(ref, "kind"), v_str(ref, "name"));
    cell_text(out, strbuf_str(&b));
}

/* "12%" of a utilization, "100m" of a value, "<unknown>" of what is not there. */
static void append_amount(struct strbuf *b, const struct kj_val *v)
{
    static const char *const values[] = { "averageValue", "value" };

    if (v_has(v, "averageUtilization")) {
        strbuf_appendf(b, "%lld%%", (long long)kj_i64_or(kj_get(v, "averageUtilization"), 0));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        if (v_has(v, values[i])) {
            strbuf_append(b, v_str(v, values[i]));
            return;
        }
    strbuf_append(b, "<unknown>");
}

static const char *metric_key(const struct kj_val *metric)
{
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (streq(v_str(metric, "type"), sources[i].type))
            return sources[i].key;
    return "";
}

static void cell_targets(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    enum { SHOWN = 2 };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *v2 = NULL;
    if (streq(v_str(obj, "apiVersion"), "autoscaling/v1")) {
        v2 = hpa_v1_as_v2(obj);
        obj = kj_root(v2);
    }
    const struct kj_val *current = kj_path(obj, "status.currentMetrics"), *m;
    struct kj_iter it = kj_iter(kj_path(obj, "spec.metrics"));
    size_t n = 0;

    (void)now;
    for (; kj_next(&it, NULL, &m); n++) {
        const char *key = metric_key(m);
        if (n >= SHOWN)
            continue;
        strbuf_append(&b, n ? ", " : "");
        if (str_ends(key, "esource"))
            strbuf_appendf(&b, "%s: ", v_str(kj_get(m, key), "name"));
        append_amount(&b, kj_get(kj_get(kj_at(current, n), key), "current"));
        strbuf_append(&b, "/");
        append_amount(&b, kj_get(kj_get(m, key), "target"));
    }
    if (n > SHOWN)
        strbuf_appendf(&b, " + %zu more...", n - SHOWN);
    cell_text(out, n ? strbuf_str(&b) : "<none>");
}

TEXT_CELL(cell_min_pods, "spec.minReplicas", "<unset>")
INT_CELL(cell_max_pods, "spec.maxReplicas")
INT_CELL(cell_replicas, "status.currentReplicas")

static const struct res_column hpa_columns_list[] = {
    NAME_COLUMN,
    { .name = "Reference", .type = "string", .cell = cell_reference },
    { .name = "Targets", .type = "string", .cell = cell_targets },
    { .name = "MinPods", .type = "string", .cell = cell_min_pods },
    { .name = "MaxPods", .type = "string", .cell = cell_max_pods },
    { .name = "Replicas", .type = "string", .cell = cell_replicas },
    AGE_COLUMN,
};
COLUMNS(hpa_columns);
