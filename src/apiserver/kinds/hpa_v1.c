/* hpa_v1.c - autoscaling/v1 of HorizontalPodAutoscaler, which is stored in the form of v2.
 *
 * v1 knows one metric, the use of CPU. Everything else of a v2 object travels in annotations, in
 * the words of an older form, so that a client of v1 that reads and writes an object loses nothing.
 */
#include "apiserver/kinds/internal.h"

#define ANNOTATION(n) "autoscaling.alpha.kubernetes.io/" n
static const char metrics_key[] = ANNOTATION("metrics"), behavior_key[] = ANNOTATION("behavior"),
                  conditions_key[] = ANNOTATION("conditions"),
                  current_key[] = ANNOTATION("current-metrics");

/* ---- one metric ------------------------------------------------------------------------------ */

struct rename {
    const char *v1, *v2; /* dotted, inside of the source of the metric */
};
#define RENAMES_MAX 6
static const struct metric_form {
    const char *key;
    struct rename target[RENAMES_MAX], current[RENAMES_MAX];
} forms[] = {
    { "containerResource",
      { { "name", "name" },
        { "targetAverageUtilization", "target.averageUtilization" },
        { "targetAverageValue", "target.averageValue" },
        { "container", "container" } },
      { { "name", "name" },
        { "currentAverageUtilization", "current.averageUtilization" },
        { "currentAverageValue", "current.averageValue" },
        { "container", "container" } } },
    { "external",
      { { "metricName", "metric.name" },
        { "metricSelector", "metric.selector" },
        { "targetValue", "target.value" },
        { "targetAverageValue", "target.averageValue" } },
      { { "metricName", "metric.name" },
        { "metricSelector", "metric.selector" },
        { "currentValue", "current.value" },
        { "currentAverageValue", "current.averageValue" } } },
    { "object",
      { { "target", "describedObject" },
        { "metricName", "metric.name" },
        { "targetValue", "target.value" },
        { "selector", "metric.selector" },
        { "averageValue", "target.averageValue" } },
      { { "target", "describedObject" },
        { "metricName", "metric.name" },
        { "currentValue", "current.value" },
        { "selector", "metric.selector" },
        { "averageValue", "current.averageValue" } } },
    { "pods",
      { { "metricName", "metric.name" },
        { "targetAverageValue", "target.averageValue" },
        { "selector", "metric.selector" } },
      { { "metricName", "metric.name" },
        { "currentAverageValue", "current.averageValue" },
        { "selector", "metric.selector" } } },
    { "resource",
      { { "name", "name" },
        { "targetAverageUtilization", "target.averageUtilization" },
        { "targetAverageValue", "target.averageValue" } },
      { { "name", "name" },
        { "currentAverageUtilization", "current.averageUtilization" },
        { "currentAverageValue", "current.averageValue" } } },
};

/* Sets obj.a.b, for a path of one or two words. */
static void set_path(struct kj_mdoc *d, struct kj_mval *obj, const char *path, struct kj_mval *v)
{
    const char *dot = strchr(path, '.');

    if (dot) {
        CLEANUP(mem_free) char *first = xstrndup(path, (size_t)(dot - path));
        obj = m_obj(d, obj, first);
        path = dot + 1;
    }
    kj_mset(d, obj, path, v);
}

/* v2 says what kind of target it is. */
static void set_target_type(struct kj_mdoc *d, struct kj_mval *source)
{
    struct kj_mval *target = kj_mget(source, "target");

    if (kj_mtype(target) != KJ_OBJ)
        return;
    kj_mset(d, target, "type",
            kj_mstr(d, m_has(target, "averageUtilization") ? "Utilization"
                       : m_has(target, "averageValue")     ? "AverageValue"
                                                           : "Value"));
}

/* A metric (of the spec, or its current state) from one form to the other. */
static struct kj_mval *convert_metric(struct kj_mdoc *d, struct kj_mval *metric, bool current,
                                      bool to_v2)
{
    struct kj_mval *out = kj_mobj(d);

    kj_mset(d, out, "type", kj_mstr(d, m_str(metric, "type")));
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        const struct rename *r = current ? forms[i].current : forms[i].target;
        struct kj_mval *source = kj_mget(metric, forms[i].key);
        if (kj_mtype(source) != KJ_OBJ)
            continue;
        struct kj_mval *made = m_obj(d, out, forms[i].key);
        for (size_t k = 0; k < RENAMES_MAX && r[k].v1; k++) {
            struct kj_mval *v = m_path(source, to_v2 ? r[k].v1 : r[k].v2);
            if (v && kj_mtype(v) != KJ_NULL)
                set_path(d, made, to_v2 ? r[k].v2 : r[k].v1, kj_mclone(d, v));
        }
        if (to_v2 && !current)
            set_target_type(d, made);
    }
    return out;
}

static bool is_cpu(const struct kj_mval *metric)
{
    return streq(m_str(metric, "type"), "Resource") &&
           streq(m_str(kj_mget(metric, "resource"), "name"), "cpu");
}

/* ---- behavior: Go prints a struct that has no names for JSON, with all of its members ---------- */

static const struct rename rules_names[] = {
    { "StabilizationWindowSeconds", "stabilizationWindowSeconds" },
    { "SelectPolicy", "selectPolicy" },
    { "Policies", "policies" },
    { "Tolerance", "tolerance" },
    { NULL, NULL },
};
static const struct rename policy_names[] = {
    { "Type", "type" },
    { "Value", "value" },
    { "PeriodSeconds", "periodSeconds" },
    { NULL, NULL },
};
static const struct rename behavior_names[] = {
    { "ScaleUp", "scaleUp" },
    { "ScaleDown", "scaleDown" },
    { NULL, NULL },
};

static struct kj_mval *rename_all(struct kj_mdoc *d, const struct kj_mval *from,
                                  const struct rename *names, bool to_v2)
{
    struct kj_mval *out = kj_mobj(d);

    for (; names->v1; names++) {
        struct kj_mval *v =
            kj_mtype(from) == KJ_OBJ ? kj_mget(from, to_v2 ? names->v1 : names->v2) : NULL;
        bool there = v && kj_mtype(v) != KJ_NULL;
        if (there || !to_v2)
            kj_mset(d, out, to_v2 ? names->v2 : names->v1, there ? kj_mclone(d, v) : kj_mnull(d));
    }
    return out;
}

static struct kj_mval *convert_behavior(struct kj_mdoc *d, const struct kj_mval *from, bool to_v2)
{
    struct kj_mval *out = rename_all(d, from, behavior_names, to_v2), *v;
    struct str key;

    for (struct kj_miter it = kj_miter(out); kj_mnext(&it, &key, &v);) {
        if (kj_mtype(v) != KJ_OBJ)
            continue;
        struct kj_mval *rules = rename_all(d, v, rules_names, to_v2), *policy;
        struct kj_mval *list = kj_mget(rules, to_v2 ? "policies" : "Policies");
        for (struct kj_miter p = kj_miter(list); kj_mnext(&p, NULL, &policy);)
            kj_massign(policy, rename_all(d, policy, policy_names, to_v2));
        kj_massign(v, rules);
    }
    return out;
}

/* ---- annotations ------------------------------------------------------------------------------ */

static void annotate(struct kj_mdoc *d, struct kj_mval *obj, const char *key, struct kj_mval *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kj_mwrite(v, 0, &text);
    kj_mset(d, m_obj(d, m_obj(d, obj, "metadata"), "annotations"), key,
            kj_mstrn(d, text.data, text.len));
}

/* What an annotation holds, which goes; NULL: nothing that can be read. */
static struct kj_mval *take_annotation(struct kj_mdoc *d, struct kj_mval *obj, const char *key)
{
    struct kj_mval *list = kj_mget(kj_mget(obj, "metadata"), "annotations"), *out = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = kj_mtype(list) == KJ_OBJ ? kj_mstr_get(kj_mget(list, key)) : NULL;

    if (!text)
        return NULL;
    if (kj_parse(text, strlen(text), KJ_RAW_NUMBERS, &doc, NULL) == 0)
        out = kj_mcopy(d, kj_root(doc));
    kj_mdel(list, key, strlen(key));
    if (kj_mlen(list) == 0)
        kj_mdel(kj_mget(obj, "metadata"), "annotations", strlen("annotations"));
    return out;
}

static void move_rest(struct kj_mdoc *d, struct kj_mval *obj, struct kj_mval *rest, const char *key)
{
    if (kj_mlen(rest) > 0)
        annotate(d, obj, key, rest);
}

/* ---- v1 to v2 --------------------------------------------------------------------------------- */

static struct kj_mval *cpu_metric(struct kj_mdoc *d, int64_t percent, bool current)
{
    struct kj_mval *m = kj_mobj(d), *cpu = m_obj(d, m, "resource");
    struct kj_mval *amount = m_obj(d, cpu, current ? "current" : "target");

    kj_mset(d, m, "type", kj_mstr(d, "Resource"));
    kj_mset(d, cpu, "name", kj_mstr(d, "cpu"));
    if (!current)
        kj_mset(d, amount, "type", kj_mstr(d, "Utilization"));
    kj_mset(d, amount, "averageUtilization", kj_mi64(d, percent));
    return m;
}

static void append_converted(struct kj_mdoc *d, struct kj_mval *list, struct kj_mval *from,
                             bool current)
{
    struct kj_mval *v;

    for (struct kj_miter it = kj_miter(from); kj_mnext(&it, NULL, &v);)
        if (kj_mtype(v) == KJ_OBJ)
            kj_mpush(list, convert_metric(d, v, current, true));
}

static void spec_to_v2(struct kj_mdoc *d, struct kj_mval *obj, struct kj_mval *spec)
{
    static const char percent[] = "targetCPUUtilizationPercentage";
    struct kj_mval *metrics = kj_marr(d), *behavior;

    append_converted(d, metrics, take_annotation(d, obj, metrics_key), false);
    if (m_has(spec, percent))
        kj_mpush(metrics, cpu_metric(d, m_i64(spec, percent, 0), false));
    kj_mdel(spec, percent, sizeof percent - 1);
    if (kj_mlen(metrics) > 0)
        kj_mset(d, spec, "metrics", metrics);
    behavior = take_annotation(d, obj, behavior_key);
    if (kj_mtype(behavior) == KJ_OBJ)
        kj_mset(d, spec, "behavior", convert_behavior(d, behavior, true));
}

static void hpa_to_stored(struct kj_mdoc *d, struct kj_mval *obj)
{
    static const char percent[] = "currentCPUUtilizationPercentage";
    struct kj_mval *status = kj_mget(obj, "status"), *list = kj_marr(d), *conditions;

    spec_to_v2(d, obj, m_obj(d, obj, "spec"));
    append_converted(d, list, take_annotation(d, obj, current_key), true);
    conditions = take_annotation(d, obj, conditions_key);
    if (kj_mtype(status) == KJ_OBJ) {
        if (m_has(status, percent))
            kj_mpush(list, cpu_metric(d, m_i64(status, percent, 0), true));
        kj_mdel(status, percent, sizeof percent - 1);
        if (m_i64(status, "currentReplicas", 0) == 0)
            kj_mdel(status, "currentReplicas", strlen("currentReplicas"));
        kj_mset(d, status, "currentMetrics", kj_mlen(list) ? list : kj_mnull(d));
        if (kj_mlen(conditions) > 0)
            kj_mset(d, status, "conditions", conditions);
    }
    kj_mset(d, obj, "apiVersion", kj_mstr(d, "autoscaling/v2"));
}

/* ---- v2 to v1 --------------------------------------------------------------------------------- */

/* The metrics of a list but the CPU, which the caller gets. */
static struct kj_mval *take_cpu(struct kj_mdoc *d, struct kj_mval *list, bool current, int64_t *ret)
{
    struct kj_mval *rest = kj_marr(d), *v;

    *ret = -1;
    for (struct kj_miter it = kj_miter(list); kj_mnext(&it, NULL, &v);) {
        int64_t n = m_i64(m_path(v, current ? "resource.current" : "resource.target"),
                          "averageUtilization", -1);
        if (is_cpu(v) && n >= 0 && *ret < 0)
            *ret = n;
        else
            kj_mpush(rest, convert_metric(d, v, current, false));
    }
    return rest;
}

static void hpa_from_stored(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = m_obj(d, obj, "spec"), *status = kj_mget(obj, "status"), *v;
    int64_t cpu;

    move_rest(d, obj, take_cpu(d, kj_mget(spec, "metrics"), false, &cpu), metrics_key);
    kj_mdel(spec, "metrics", strlen("metrics"));
    if (cpu >= 0)
        kj_mset(d, spec, "targetCPUUtilizationPercentage", kj_mi64(d, cpu));
    v = kj_mget(spec, "behavior");
    if (kj_mtype(v) == KJ_OBJ)
        annotate(d, obj, behavior_key, convert_behavior(d, v, false));
    kj_mdel(spec, "behavior", strlen("behavior"));
    if (kj_mtype(status) == KJ_OBJ) {
        move_rest(d, obj, take_cpu(d, kj_mget(status, "currentMetrics"), true, &cpu), current_key);
        kj_mdel(status, "currentMetrics", strlen("currentMetrics"));
        if (cpu >= 0)
            kj_mset(d, status, "currentCPUUtilizationPercentage", kj_mi64(d, cpu));
        v = kj_mget(status, "conditions");
        if (kj_mlen(v) > 0)
            annotate(d, obj, conditions_key, v);
        kj_mdel(status, "conditions", strlen("conditions"));
        if (!kj_mget(status, "currentReplicas"))
            kj_mset(d, status, "currentReplicas", kj_mi64(d, 0));
    }
    kj_mset(d, obj, "apiVersion", kj_mstr(d, "autoscaling/v1"));
}

/* ---- the strategy ----------------------------------------------------------------------------- */

static void hpa_v1_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = kj_mget(obj, "spec"),
                   *notes = kj_mget(kj_mget(obj, "metadata"), "annotations");

    if (kj_mtype(spec) == KJ_OBJ && !m_has(spec, "targetCPUUtilizationPercentage") &&
        !*m_str(notes, metrics_key))
        kj_mset(d, spec, "targetCPUUtilizationPercentage", kj_mi64(d, HPA_CPU_PERCENT));
}

static void hpa_v1_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                           const struct kj_val *old, nsec_t now)
{
    static const char empty[] = "{\"currentReplicas\":0,\"desiredReplicas\":0}";

    (void)now;
    if (verb == RES_CREATE)
        kj_mset(d, obj, "status", kj_mraw(d, empty, sizeof empty - 1));
    else
        prepare_status(verb, d, obj, old, "autoscaling", "HorizontalPodAutoscaler");
}

struct kj_doc *hpa_v1_as_v2(const struct kj_val *obj)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *v2 = kj_mcopy(d, obj);

    hpa_to_stored(d, v2);
    return kj_freeze(v2);
}

/* The rules are those of v2, in whose words they are told. */
static void hpa_v1_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                            struct field_errors *errors)
{
    CLEANUP(kj_doc_free) struct kj_doc *v2 = hpa_v1_as_v2(obj);

    hpa_strategy.validate(verb, kj_root(v2), old, errors);
}

const struct res_strategy hpa_v1_strategy = { .set_defaults = hpa_v1_set_defaults,
                                              .prepare = hpa_v1_prepare,
                                              .validate = hpa_v1_validate,
                                              .to_stored = hpa_to_stored,
                                              .from_stored = hpa_from_stored };
