/* hpa_v1.c - autoscaling/v1 of HorizontalPodAutoscaler, which is stored in the form of v2.
 *
 * v1 knows one metric, the use of CPU. Everything else of a v2 object travels in annotations, in
 * the words of an older form, so that a client of v1 that reads and writes an object loses nothing.
 */
#include <strings.h>

#include "apiserver/kinds/internal.h"
#include "apiserver/schema/types.h"

#define ANNOTATION(n) "autoscaling.alpha.kubernetes.io/" n

/* What annotations hold, as fields with their names: an annotation whose value does not fit here
 * says nothing. Behavior is Go's struct of no version, whose members are those of v2 but for
 * upper-case letters, which Go's decoder does not mind. */
enum { METRICS, BEHAVIOR, CURRENT, CONDITIONS };
#define CARRIED(n, s, t)                                                                   \
    {                                                                                      \
        .name = ANNOTATION(n), .kind = T_OBJ, .shape = (s), .flags = T_EMPTY, .type = &(t) \
    }
static const struct t_field carried[] = {
    [METRICS] = CARRIED("metrics", T_LIST, autoscaling_v1_metric_spec),
    [BEHAVIOR] = CARRIED("behavior", T_ONE, autoscaling_horizontal_pod_autoscaler_behavior),
    [CURRENT] = CARRIED("current-metrics", T_LIST, autoscaling_v1_metric_status),
    [CONDITIONS] = CARRIED("conditions", T_LIST, autoscaling_horizontal_pod_autoscaler_condition),
    { .name = NULL },
};
static const struct t_type carried_type = { .name = "Annotations", .fields = carried };
/* Of older servers: they are read no more. */
static const char *const outdated[] = { ANNOTATION("scale-down-tolerance"),
                                        ANNOTATION("scale-up-tolerance") };

/* ---- one metric ------------------------------------------------------------------------------ */

struct rename {
    const char *v1, *v2; /* dotted, inside of the source of the metric */
};
#define RENAMES_MAX 6
static const struct metric_form {
    const char *key;
    struct { /* v2 says of what type a target is: v1 has a field, or has not */
        const char *field, *with, *without;
    } type;
    struct rename target[RENAMES_MAX], current[RENAMES_MAX];
} forms[] = {
    { "containerResource",
      { "averageUtilization", "Utilization", "AverageValue" },
      { { "name", "name" },
        { "targetAverageUtilization", "target.averageUtilization" },
        { "targetAverageValue", "target.averageValue" },
        { "container", "container" } },
      { { "name", "name" },
        { "currentAverageUtilization", "current.averageUtilization" },
        { "currentAverageValue", "current.averageValue" },
        { "container", "container" } } },
    { "external",
      { "value", "Value", "AverageValue" },
      { { "metricName", "metric.name" },
        { "metricSelector", "metric.selector" },
        { "targetValue", "target.value" },
        { "targetAverageValue", "target.averageValue" } },
      { { "metricName", "metric.name" },
        { "metricSelector", "metric.selector" },
        { "currentValue", "current.value" },
        { "currentAverageValue", "current.averageValue" } } },
    { "object",
      { "averageValue", "AverageValue", "Value" },
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
      { "averageValue", "AverageValue", "AverageValue" },
      { { "metricName", "metric.name" },
        { "targetAverageValue", "target.averageValue" },
        { "selector", "metric.selector" } },
      { { "metricName", "metric.name" },
        { "currentAverageValue", "current.averageValue" },
        { "selector", "metric.selector" } } },
    { "resource",
      { "averageUtilization", "Utilization", "AverageValue" },
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
        if (to_v2 && !current) {
            struct kj_mval *target = m_obj(d, made, "target");
            bool with = m_has(target, forms[i].type.field);
            kj_mset(d, target, "type",
                    kj_mstr(d, with ? forms[i].type.with : forms[i].type.without));
        }
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
                                  const struct rename *names)
{
    struct kj_mval *out = kj_mobj(d);

    for (; names->v1; names++) {
        struct kj_mval *v = kj_mtype(from) == KJ_OBJ ? kj_mget(from, names->v2) : NULL;
        bool there = v && kj_mtype(v) != KJ_NULL;
        kj_mset(d, out, names->v1, there ? kj_mclone(d, v) : kj_mnull(d));
    }
    return out;
}

static struct kj_mval *print_behavior(struct kj_mdoc *d, const struct kj_mval *from)
{
    struct kj_mval *out = rename_all(d, from, behavior_names), *v;
    struct str key;

    for (struct kj_miter it = kj_miter(out); kj_mnext(&it, &key, &v);) {
        if (kj_mtype(v) != KJ_OBJ)
            continue;
        struct kj_mval *rules = rename_all(d, v, rules_names), *policy;
        for (struct kj_miter p = kj_miter(kj_mget(rules, "Policies")); kj_mnext(&p, NULL, &policy);)
            kj_massign(policy, rename_all(d, policy, policy_names));
        kj_massign(v, rules);
    }
    return out;
}

/* ---- annotations ------------------------------------------------------------------------------ */

static struct kj_mval *annotations_of(const struct kj_mval *obj)
{
    struct kj_mval *list = kj_mget(kj_mget(obj, "metadata"), "annotations");
    return kj_mtype(list) == KJ_OBJ ? list : NULL;
}

static void annotate(struct kj_mdoc *d, struct kj_mval *obj, const char *key, struct kj_mval *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kj_mwrite(v, 0, &text);
    kj_mset(d, m_obj(d, m_obj(d, obj, "metadata"), "annotations"), key,
            kj_mstrn(d, text.data, text.len));
}

static void drop_annotation(struct kj_mval *obj, const char *key)
{
    struct kj_mval *list = annotations_of(obj);

    if (!list || !kj_mdel(list, key, strlen(key)) || kj_mlen(list))
        return;
    kj_mdel(kj_mget(obj, "metadata"), "annotations", strlen("annotations"));
}

void hpa_v1_drop_annotations(struct kj_mval *obj)
{
    for (size_t i = 0; i < ARRAY_LEN(outdated); i++)
        drop_annotation(obj, outdated[i]);
    for (const struct t_field *f = carried; f->name; f++)
        drop_annotation(obj, f->name);
}

/* An annotation that no client may set: as it was. */
static void keep_annotation(struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *old,
                            const char *key)
{
    const struct kj_val *was = kj_get(kj_path(old, "metadata.annotations"), key);

    if (kj_str(was))
        kj_mset(d, m_obj(d, m_obj(d, obj, "metadata"), "annotations"), key, kj_mcopy(d, was));
    else
        drop_annotation(obj, key);
}

static const struct t_field *field_named(const struct t_type *t, struct str name)
{
    const struct t_field *same = NULL;

    for (const struct t_field *f = t->fields; f->name; f++) {
        if (str_eqz(name, f->name))
            return f;
        if (!same && strlen(f->name) == name.n && strncasecmp(f->name, name.p, name.n) == 0)
            same = f;
    }
    return same;
}

/* A value with the names of the table, which Go's own decoder takes in letters of any case; what
 * has no field there goes. */
static struct kj_mval *with_names(struct kj_mdoc *d, const struct t_field *f,
                                  const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct kj_mval *out;
    struct str key;

    if (f->kind == T_OBJ && f->shape != T_MAP && kj_type(v) == KJ_ARR) {
        for (out = kj_marr(d); kj_next(&it, NULL, &item);)
            kj_mpush(out, with_names(d, f, item));
        return out;
    }
    if (f->kind != T_OBJ || f->shape == T_MAP || kj_type(v) != KJ_OBJ)
        return kj_mcopy(d, v);
    for (out = kj_mobj(d); kj_next(&it, &key, &item);) {
        const struct t_field *member = field_named(f->type, key);
        if (member)
            kj_mset(d, out, member->name, with_names(d, member, item));
    }
    return out;
}

/* What an annotation holds; NULL: nothing that can be read, or that is of the type it should be. */
static struct kj_mval *read_annotation(struct kj_mdoc *d, const struct kj_mval *obj,
                                       const struct t_field *f)
{
    const char *text = kj_mstr_get(kj_mget(annotations_of(obj), f->name));
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *checked = NULL;
    struct kj_mval *holder = kj_mobj(d);
    struct kerr err = { 0 };

    if (!text || kj_parse(text, strlen(text), KJ_RAW_NUMBERS, &doc, NULL) < 0)
        return NULL;
    kj_mset(d, holder, f->name, with_names(d, f, kj_root(doc)));
    checked = kj_view(holder);
    if (types_check(&carried_type, kj_root(checked), NULL, NULL, &err) < 0)
        return NULL;
    types_prune(&carried_type, d, holder);
    return kj_mget(holder, f->name);
}

/* The rest of a list, each item with all of the members that Go prints. */
static void move_rest(struct kj_mdoc *d, struct kj_mval *obj, struct kj_mval *rest,
                      const struct t_field *f)
{
    struct kj_mval *holder = kj_mobj(d);

    if (kj_mlen(rest) == 0)
        return;
    kj_mset(d, holder, f->name, rest);
    types_prune(&carried_type, d, holder);
    annotate(d, obj, f->name, kj_mget(holder, f->name));
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

static struct kj_mval *converted(struct kj_mdoc *d, struct kj_mval *from, bool current)
{
    struct kj_mval *list = kj_marr(d), *v;

    for (struct kj_miter it = kj_miter(from); kj_mnext(&it, NULL, &v);)
        kj_mpush(list, convert_metric(d, v, current, true));
    return list;
}

/* Without any metric, the one that v1 stands for by default. */
static void spec_to_v2(struct kj_mdoc *d, struct kj_mval *obj, struct kj_mval *spec)
{
    static const char percent[] = "targetCPUUtilizationPercentage";
    struct kj_mval *metrics = converted(d, read_annotation(d, obj, &carried[METRICS]), false);
    struct kj_mval *behavior = read_annotation(d, obj, &carried[BEHAVIOR]);

    if (m_has(spec, percent) || kj_mlen(metrics) == 0)
        kj_mpush(metrics, cpu_metric(d, m_i64(spec, percent, HPA_CPU_PERCENT), false));
    kj_mdel(spec, percent, sizeof percent - 1);
    kj_mset(d, spec, "metrics", metrics);
    if (kj_mlen(behavior) > 0)
        kj_mset(d, spec, "behavior", behavior);
}

static void status_to_v2(struct kj_mdoc *d, struct kj_mval *obj, struct kj_mval *status)
{
    static const char percent[] = "currentCPUUtilizationPercentage";
    struct kj_mval *current = read_annotation(d, obj, &carried[CURRENT]);
    struct kj_mval *conditions = read_annotation(d, obj, &carried[CONDITIONS]);
    struct kj_mval *list = converted(d, current, true);

    if (!current && m_has(status, percent))
        kj_mpush(list, cpu_metric(d, m_i64(status, percent, 0), true));
    kj_mdel(status, percent, sizeof percent - 1);
    if (m_i64(status, "currentReplicas", 0) == 0)
        kj_mdel(status, "currentReplicas", strlen("currentReplicas"));
    kj_mset(d, status, "currentMetrics", kj_mlen(list) ? list : kj_mnull(d));
    if (kj_mlen(conditions) > 0)
        kj_mset(d, status, "conditions", conditions);
}

static void hpa_to_v2(struct kj_mdoc *d, struct kj_mval *obj)
{
    spec_to_v2(d, obj, m_obj(d, obj, "spec"));
    if (kj_mtype(kj_mget(obj, "status")) == KJ_OBJ)
        status_to_v2(d, obj, kj_mget(obj, "status"));
    hpa_v1_drop_annotations(obj);
    kj_mset(d, obj, "apiVersion", kj_mstr(d, "autoscaling/v2"));
}

/* Whatever reads what is stored gets it with the defaults of v2. */
static void hpa_to_stored(struct kj_mdoc *d, struct kj_mval *obj)
{
    hpa_to_v2(d, obj);
    hpa_strategy.set_defaults(d, obj);
}

/* ---- v2 to v1 --------------------------------------------------------------------------------- */

/* The metrics of a list in the words of v1, and the use of CPU (-1: none). A spec has that in a
 * field of its own, once; a status has it in the list as well, as there is more to say of it. */
static struct kj_mval *to_v1(struct kj_mdoc *d, struct kj_mval *list, bool current, int64_t *ret)
{
    struct kj_mval *rest = kj_marr(d), *v;

    *ret = -1;
    for (struct kj_miter it = kj_miter(list); kj_mnext(&it, NULL, &v);) {
        int64_t n = m_i64(m_path(v, current ? "resource.current" : "resource.target"),
                          "averageUtilization", -1);
        bool is_use = is_cpu(v) && n >= 0;
        if (is_use && (current || *ret < 0))
            *ret = n;
        if (!is_use || current)
            kj_mpush(rest, convert_metric(d, v, current, false));
    }
    return rest;
}

static void hpa_from_stored(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = m_obj(d, obj, "spec"), *status = kj_mget(obj, "status"), *v;
    int64_t cpu;

    hpa_v1_drop_annotations(obj); /* of objects that are older than this rule */
    move_rest(d, obj, to_v1(d, kj_mget(spec, "metrics"), false, &cpu), &carried[METRICS]);
    kj_mdel(spec, "metrics", strlen("metrics"));
    if (cpu >= 0)
        kj_mset(d, spec, "targetCPUUtilizationPercentage", kj_mi64(d, cpu));
    v = kj_mget(spec, "behavior");
    if (kj_mtype(v) == KJ_OBJ)
        annotate(d, obj, carried[BEHAVIOR].name, print_behavior(d, v));
    kj_mdel(spec, "behavior", strlen("behavior"));
    if (kj_mtype(status) == KJ_OBJ) {
        v = to_v1(d, kj_mget(status, "currentMetrics"), true, &cpu);
        move_rest(d, obj, v, &carried[CURRENT]);
        kj_mdel(status, "currentMetrics", strlen("currentMetrics"));
        if (cpu >= 0)
            kj_mset(d, status, "currentCPUUtilizationPercentage", kj_mi64(d, cpu));
        v = kj_mget(status, "conditions");
        if (kj_mlen(v) > 0)
            annotate(d, obj, carried[CONDITIONS].name, v);
        kj_mdel(status, "conditions", strlen("conditions"));
        if (!kj_mget(status, "currentReplicas"))
            kj_mset(d, status, "currentReplicas", kj_mi64(d, 0));
    }
    kj_mset(d, obj, "apiVersion", kj_mstr(d, "autoscaling/v1"));
}

/* ---- the strategy ----------------------------------------------------------------------------- */

/* What says nothing goes at once, so that nobody is shown it: neither admission nor a client. */
static void hpa_v1_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = kj_mget(obj, "spec");

    for (size_t i = 0; i < ARRAY_LEN(outdated); i++)
        drop_annotation(obj, outdated[i]);
    for (const struct t_field *f = carried; f->name; f++)
        if (kj_mget(annotations_of(obj), f->name) && !read_annotation(d, obj, f))
            drop_annotation(obj, f->name);
    if (kj_mtype(spec) == KJ_OBJ && !m_has(spec, "targetCPUUtilizationPercentage") &&
        kj_mlen(read_annotation(d, obj, &carried[METRICS])) == 0)
        kj_mset(d, spec, "targetCPUUtilizationPercentage", kj_mi64(d, HPA_CPU_PERCENT));
}

/* Annotations are a part of the spec or of the status, and change only with it. */
static void hpa_v1_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                           const struct kj_val *old, nsec_t now)
{
    static const char empty[] = "{\"currentReplicas\":0,\"desiredReplicas\":0}";
    bool of_status = verb == RES_STATUS;

    (void)now;
    if (verb == RES_CREATE)
        kj_mset(d, obj, "status", kj_mraw(d, empty, sizeof empty - 1));
    else
        prepare_status(verb, d, obj, old, "autoscaling", "HorizontalPodAutoscaler");
    keep_annotation(d, obj, old, carried[of_status ? METRICS : CURRENT].name);
    keep_annotation(d, obj, old, carried[of_status ? BEHAVIOR : CONDITIONS].name);
}

struct kj_doc *hpa_v1_as_v2(const struct kj_val *obj)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *v2 = kj_mcopy(d, obj);

    hpa_to_v2(d, v2);
    return kj_freeze(v2);
}

/* The rules are those of v2, in whose words they are told. */
static void hpa_v1_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                            struct field_errors *errors)
{
    CLEANUP(kj_doc_free) struct kj_doc *v2 = hpa_v1_as_v2(obj), *was = NULL;

    if (old)
        was = hpa_v1_as_v2(old);
    hpa_strategy.validate(verb, kj_root(v2), was ? kj_root(was) : NULL, errors);
}

const struct res_strategy hpa_v1_strategy = { .set_defaults = hpa_v1_set_defaults,
                                              .prepare = hpa_v1_prepare,
                                              .validate = hpa_v1_validate,
                                              .to_stored = hpa_to_stored,
                                              .from_stored = hpa_from_stored };
