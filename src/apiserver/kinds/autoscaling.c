/* autoscaling.c - HorizontalPodAutoscaler. */
#include "apiserver/kinds/internal.h"

PREPARE_STATUS(hpa_prepare, "autoscaling", "HorizontalPodAutoscaler")

static void rules_default(struct kj_mdoc *d, struct kj_mval *rules, const char *policies)
{
    m_default_str(d, rules, "selectPolicy", "Max");
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

/* What one type of metric keeps under its own key, and what its target may be. */
static const struct metric_rule {
    const char *type, *key, *identified; /* identified: where its name is */
    bool utilization, value;
} metric_rules[] = {
    { "ContainerResource", "containerResource", "name", true, false },
    { "External", "external", "metric.name", false, true },
    { "Object", "object", "metric.name", false, true },
    { "Pods", "pods", "metric.name", false, false },
    { "Resource", "resource", "name", true, false },
};

static void check_target(struct check *c, const char *p, const struct kj_val *target,
                         const struct metric_rule *rule)
{
    static const char *const types[] = { "AverageValue", "Utilization", "Value", NULL };
    const char *type = v_str(target, "type");
    int64_t percent = kj_i64_or(kj_get(target, "averageUtilization"), 0);

    if (!*type)
        err_required(c, at(c, "%s.type", p), "must specify a metric target type");
    else
        check_enum(c, at(c, "%s.type", p), type, types, false);
    if (v_has(target, "averageUtilization") && percent < 1)
        err_invalid_i64(c, at(c, "%s.averageUtilization", p), percent, "must be greater than 0");
    if (rule->utilization && !v_has(target, "averageUtilization") && !v_has(target, "averageValue"))
        err_required(c, at(c, "%s.averageUtilization", p),
                     "must set either a target raw value or a target utilization");
    if (rule->utilization && v_has(target, "averageUtilization") && v_has(target, "averageValue"))
        err_forbidden(c, at(c, "%s.averageValue", p),
                      "may not set both a target raw value and a target utilization");
    if (rule->value && !v_has(target, "value") && !v_has(target, "averageValue"))
        err_required(c, at(c, "%s.averageValue", p),
                     "must set either a target value for metric or a per-pod target");
}

static void check_metric(struct check *c, const char *p, const struct kj_val *metric)
{
    static const char *const types[] = { "ContainerResource", "External", "Object", "Pods",
                                         "Resource",          NULL };
    const char *type = v_str(metric, "type");

    if (!*type)
        err_required(c, at(c, "%s.type", p), "must specify a metric source type");
    if (!check_enum(c, at(c, "%s.type", p), type, types, false))
        return;
    for (size_t i = 0; i < ARRAY_LEN(metric_rules); i++) {
        const struct metric_rule *r = &metric_rules[i];
        const struct kj_val *source = kj_get(metric, r->key);
        const char *where = at(c, "%s.%s", p, r->key);
        bool wanted = streq(r->type, type), there = kj_type(source) == KJ_OBJ;
        if (wanted && !there)
            err_required(c, where, "must populate information for the given metric source");
        else if (!wanted && there)
            err_forbidden(c, where, "must populate the given metric source only");
        if (!wanted || !there)
            continue;
        if (!*kj_str_or(kj_path(source, r->identified), ""))
            err_required(c, at(c, "%s.%s", where, r->identified), "must specify a resource name");
        check_target(c, at(c, "%s.target", where), kj_get(source, "target"), r);
    }
}

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

    if (kj_type(rules) != KJ_OBJ)
        return;
    check_limits(c, at(c, "%s.stabilizationWindowSeconds", p),
                 kj_get(rules, "stabilizationWindowSeconds"), 0, WINDOW_MAX_S);
    check_enum(c, at(c, "%s.selectPolicy", p), v_str(rules, "selectPolicy"), selects, true);
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
}

/* Kind and name become parts of a path. */
static void check_segment(struct check *c, const char *path, const char *s)
{
    if (!*s)
        err_required(c, path, "");
    else if (streq(s, ".") || streq(s, ".."))
        err_invalid(c, path, s, at(c, "may not be '%s'", s));
    else if (strpbrk(s, "/%"))
        err_invalid(c, path, s, at(c, "may not contain '%c'", *strpbrk(s, "/%")));
}

/* What scales is found by group; core has one kind that does. */
static void check_target_version(struct check *c, const char *kind, const char *version)
{
    static const char path[] = "spec.scaleTargetRef.apiVersion";
    const char *slash = strchr(version, '/');

    if (streq(kind, "ReplicationController"))
        return;
    if (slash && strchr(slash + 1, '/'))
        err_invalid(c, path, version, at(c, "unexpected GroupVersion string: %s", version));
    else if (!slash || slash == version)
        err_invalid(c, path, version, "apiVersion must specify API group");
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

static void hpa_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                         struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *ref = kj_get(spec, "scaleTargetRef"), *m;
    struct kj_iter it = kj_iter(kj_get(spec, "metrics"));
    int64_t min = kj_i64_or(kj_get(spec, "minReplicas"), 1),
            max = kj_i64_or(kj_get(spec, "maxReplicas"), 0);

    if (verb == RES_STATUS)
        return;
    if (min < 1)
        err_invalid_i64(&c, "spec.minReplicas", min, "must be greater than or equal to 1");
    if (max < 1)
        err_invalid_i64(&c, "spec.maxReplicas", max, "must be greater than 0");
    if (max < min)
        err_invalid_i64(&c, "spec.maxReplicas", max,
                        "must be greater than or equal to `minReplicas`");
    check_segment(&c, "spec.scaleTargetRef.kind", v_str(ref, "kind"));
    check_segment(&c, "spec.scaleTargetRef.name", v_str(ref, "name"));
    if (verb == RES_CREATE || !kj_equal(ref, kj_path(old, "spec.scaleTargetRef")))
        check_target_version(&c, v_str(ref, "kind"), v_str(ref, "apiVersion"));
    for (size_t i = 0; kj_next(&it, NULL, &m); i++)
        check_metric(&c, at(&c, "spec.metrics[%zu]", i), m);
    if (v_has(spec, "minReplicas") && min == 0 && !scales_from_zero(kj_get(spec, "metrics")))
        err_forbidden(&c, "spec.metrics",
                      "must specify at least one Object or External metric to support scaling to "
                      "zero replicas");
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
    for (size_t i = 0; i < ARRAY_LEN(metric_rules); i++)
        if (streq(v_str(metric, "type"), metric_rules[i].type))
            return metric_rules[i].key;
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
