/* apps.c - deployments, replica sets, stateful sets, daemon sets, and replication controllers. */
#include <stdio.h>

#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"

static const char *const only_always[] = { "Always", NULL };

/* ---- shared ---------------------------------------------------------------------------------- */

/* false: no pod can be asked whether the selector selects it. */
static bool check_selector(struct check *c, const struct kj_val *spec, const char *kind)
{
    const struct kj_val *s = kj_get(spec, "selector");
    bool daemon = streq(kind, "daemonset");
    size_t before = field_errors_count(c->errors);

    if (kj_type(s) != KJ_OBJ) {
        if (!daemon)
            err_required(c, "spec.selector", "");
        return true;
    }
    check_label_selector(c, "spec.selector", s);
    if (field_errors_count(c->errors) > before) {
        if (!daemon)
            field_error(c->errors, FIELD_INVALID, "spec.selector", as_json(c, s),
                        "invalid label selector");
        return false;
    }
    if (kj_len(kj_get(s, "matchLabels")) + kj_len(kj_get(s, "matchExpressions")) == 0)
        field_error(c->errors, FIELD_INVALID, "spec.selector", "{}",
                    "empty selector is invalid for %s", kind);
    return true;
}

static void check_workload_template(struct check *c, const struct kj_val *spec, bool selects)
{
    const struct kj_val *t = kj_get(spec, "template"), *s = kj_get(spec, "selector");
    const struct kj_val *labels = kj_path(t, "metadata.labels");

    if (selects && !v_selector_matches(s, labels))
        field_error(c->errors, FIELD_INVALID, "spec.template.metadata.labels", as_json(c, labels),
                    "`selector` does not match template `labels`");
    check_template(c, "spec.template", t, only_always);
    if (v_has(kj_get(t, "spec"), "activeDeadlineSeconds"))
        err_forbidden(c, "spec.template.spec.activeDeadlineSeconds",
                      "activeDeadlineSeconds in ReplicaSet is not Supported");
}

static void check_numbers(struct check *c, const char *of, const struct kj_val *v,
                          const char *const *names)
{
    for (; *names; names++)
        check_not_negative(c, at(c, "%s.%s", of, *names), kj_get(v, *names));
}

/* parts: counts of which none may be above status.replicas. */
static void check_status_counts(struct check *c, const struct kj_val *obj, const char *const *parts)
{
    static const char *const counts[] = { "replicas", "observedGeneration", NULL };
    const struct kj_val *s = kj_get(obj, "status");
    int64_t all = kj_i64_or(kj_get(s, "replicas"), 0), ready;

    check_numbers(c, "status", s, counts);
    check_numbers(c, "status", s, parts);
    for (; *parts; parts++) {
        int64_t n = kj_i64_or(kj_get(s, *parts), 0);
        if (n > all)
            err_invalid_i64(c, at(c, "status.%s", *parts), n,
                            "cannot be greater than status.replicas");
    }
    ready = kj_i64_or(kj_get(s, "readyReplicas"), 0);
    if (kj_i64_or(kj_get(s, "availableReplicas"), 0) > ready)
        err_invalid_i64(c, "status.availableReplicas", kj_i64_or(kj_get(s, "availableReplicas"), 0),
                        "cannot be greater than readyReplicas");
}

static const char *const set_counts[] = { "fullyLabeledReplicas", "readyReplicas",
                                          "availableReplicas", NULL };

static const char *replicas_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    if (!streq(path, "status.replicas"))
        return NULL;
    const char *s = v_text(obj, path, a);
    return *s ? s : "0";
}

static void scale_subresource(struct apiserver *s, struct api_call *c)
{
    static const struct api_scale_paths paths = { "spec.replicas", "status.replicas",
                                                  "spec.selector" };
    (void)s;
    api_scale(c, &paths);
}

static void workload_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                          const struct kj_val *old)
{
    warn_of_workload(call, verb, obj, old, true);
}

/* ---- deployments ----------------------------------------------------------------------------- */

static void deployment_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *strategy = m_obj(d, m_obj(d, obj, "spec"), "strategy");

    template_default(d, obj);
    if (streq(m_str(strategy, "type"), "RollingUpdate")) {
        struct kj_mval *r = m_obj(d, strategy, "rollingUpdate");
        if (!m_has(r, "maxUnavailable"))
            kj_mset(d, r, "maxUnavailable", kj_mstr(d, "25%"));
        if (!m_has(r, "maxSurge"))
            kj_mset(d, r, "maxSurge", kj_mstr(d, "25%"));
    }
}

PREPARE_STATUS(deployment_prepare, "apps", "Deployment")

static bool is_zero(const struct kj_val *v)
{
    const char *s = kj_str(v);
    return s ? streq(s, "0%") : kj_i64_or(v, 1) == 0;
}

static void check_strategy(struct check *c, const struct kj_val *strategy)
{
    const char *type = v_str(strategy, "type");
    const struct kj_val *r = kj_get(strategy, "rollingUpdate");

    if (streq(type, "Recreate")) {
        if (v_has(strategy, "rollingUpdate"))
            err_forbidden(c, "spec.strategy.rollingUpdate",
                          "may not be specified when strategy `type` is 'Recreate'");
    } else if (streq(type, "RollingUpdate")) {
        check_int_or_percent(c, "spec.strategy.rollingUpdate.maxUnavailable",
                             kj_get(r, "maxUnavailable"));
        check_int_or_percent(c, "spec.strategy.rollingUpdate.maxSurge", kj_get(r, "maxSurge"));
        if (is_zero(kj_get(r, "maxUnavailable")) && is_zero(kj_get(r, "maxSurge")))
            err_invalid_i64(c, "spec.strategy.rollingUpdate.maxUnavailable", 0,
                            "may not be 0 when `maxSurge` is 0");
    } else {
        field_error(c->errors, FIELD_NOT_SUPPORTED, "spec.strategy", strategy_text(c, type),
                    "supported values: \"Recreate\", \"RollingUpdate\"");
    }
}

static void deployment_validate(enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old, struct field_errors *errors)
{
    static const char *const numbers[] = { "replicas", NULL };
    static const char *const more[] = { "minReadySeconds", "revisionHistoryLimit",
                                        "progressDeadlineSeconds", NULL };
    static const char *const counts[] = { "updatedReplicas", "readyReplicas", "availableReplicas",
                                          NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");
    int64_t deadline = kj_i64_or(kj_get(spec, "progressDeadlineSeconds"), 600);

    if (verb == RES_STATUS) {
        check_status_counts(&c, obj, counts);
        return;
    }
    check_numbers(&c, "spec", spec, numbers);
    check_workload_template(&c, spec, check_selector(&c, spec, "deployment"));
    check_strategy(&c, kj_get(spec, "strategy"));
    check_numbers(&c, "spec", spec, more);
    if (deadline <= kj_i64_or(kj_get(spec, "minReadySeconds"), 0))
        err_invalid_i64(&c, "spec.progressDeadlineSeconds", deadline,
                        "must be greater than minReadySeconds");
    if (verb == RES_UPDATE)
        check_immutable(&c, "spec.selector", kj_get(spec, "selector"),
                        kj_path(old, "spec.selector"));
}
const struct res_strategy deployment_strategy = { .set_defaults = deployment_set_defaults,
                                                  .prepare = deployment_prepare,
                                                  .validate = deployment_validate,
                                                  .warn = workload_warn,
                                                  .subresource = scale_subresource };

/* ---- replica sets and replication controllers ------------------------------------------------ */

PREPARE_STATUS(replicaset_prepare, "apps", "ReplicaSet")

static void replicaset_validate(enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old, struct field_errors *errors)
{
    static const char *const numbers[] = { "replicas", "minReadySeconds", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");

    if (verb == RES_STATUS) {
        check_status_counts(&c, obj, set_counts);
        return;
    }
    check_numbers(&c, "spec", spec, numbers);
    check_workload_template(&c, spec, check_selector(&c, spec, "replicaset"));
    if (verb == RES_UPDATE)
        check_immutable(&c, "spec.selector", kj_get(spec, "selector"),
                        kj_path(old, "spec.selector"));
}
const struct res_strategy replicaset_strategy = { .set_defaults = template_default,
                                                  .prepare = replicaset_prepare,
                                                  .validate = replicaset_validate,
                                                  .warn = workload_warn,
                                                  .field = replicas_field,
                                                  .subresource = scale_subresource };

static void rc_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = m_obj(d, obj, "spec"), *meta = m_obj(d, obj, "metadata");
    struct kj_mval *labels = m_path(spec, "template.metadata.labels");

    template_default(d, obj);
    if (kj_mtype(labels) != KJ_OBJ)
        return;
    if (kj_mlen(kj_mget(spec, "selector")) == 0)
        kj_mset(d, spec, "selector", kj_mclone(d, labels));
    if (kj_mlen(kj_mget(meta, "labels")) == 0)
        kj_mset(d, meta, "labels", kj_mclone(d, labels));
}

PREPARE_STATUS(rc_prepare, "", "ReplicationController")

static bool map_is_subset(const struct kj_val *map, const struct kj_val *of)
{
    struct kj_iter it = kj_iter(map);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const char *have = kj_str(kj_getn(of, key.p, key.n));
        if (!have || !streq(have, kj_str_or(v, "")))
            return false;
    }
    return true;
}

static void rc_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                        struct field_errors *errors)
{
    static const char *const numbers[] = { "minReadySeconds", "replicas", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *t = kj_get(spec, "template");
    const struct kj_val *labels = kj_path(t, "metadata.labels");

    (void)old;
    if (verb == RES_STATUS) {
        check_status_counts(&c, obj, set_counts);
        return;
    }
    check_numbers(&c, "spec", spec, numbers);
    if (kj_len(kj_get(spec, "selector")) == 0)
        err_required(&c, "spec.selector", "");
    if (kj_type(t) != KJ_OBJ) {
        err_required(&c, "spec.template", "");
        return;
    }
    if (!map_is_subset(kj_get(spec, "selector"), labels))
        field_error(errors, FIELD_INVALID, "spec.template.metadata.labels", as_json(&c, labels),
                    "`selector` does not match template `labels`");
    check_template(&c, "spec.template", t, only_always);
}

/* Upstream looks at the old template when one is changed, and so do we. */
static void rc_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                    const struct kj_val *old)
{
    if (verb == RES_CREATE)
        warn_of_workload(call, verb, obj, old, true);
    else if (verb == RES_UPDATE && spec_changed(obj, old))
        warn_of_pod(call, "spec.template.", kj_path(old, "spec.template"));
}
const struct res_strategy rc_strategy = { .set_defaults = rc_set_defaults,
                                          .prepare = rc_prepare,
                                          .validate = rc_validate,
                                          .warn = rc_warn,
                                          .field = replicas_field,
                                          .subresource = scale_subresource };

/* ---- stateful sets --------------------------------------------------------------------------- */

static void statefulset_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = m_obj(d, obj, "spec"), *strategy = m_obj(d, spec, "updateStrategy"), *v;

    template_default(d, obj);
    if (!*m_str(strategy, "type")) {
        kj_mset(d, strategy, "type", kj_mstr(d, "RollingUpdate"));
        m_obj(d, strategy, "rollingUpdate");
    }
    if (streq(m_str(strategy, "type"), "RollingUpdate") && m_has(strategy, "rollingUpdate"))
        m_default_i64(d, kj_mget(strategy, "rollingUpdate"), "partition", 0);
    for (struct kj_miter it = kj_miter(kj_mget(spec, "volumeClaimTemplates"));
         kj_mnext(&it, NULL, &v);) {
        m_default_str(d, v, "kind", "PersistentVolumeClaim");
        m_default_str(d, v, "apiVersion", "v1");
    }
}

PREPARE_STATUS(statefulset_prepare, "apps", "StatefulSet")

/* Everything but these is fixed once the set exists. */
static bool statefulset_same(const struct kj_val *spec, const struct kj_val *old)
{
    static const char *const may_change[] = { "replicas",
                                              "ordinals",
                                              "template",
                                              "updateStrategy",
                                              "revisionHistoryLimit",
                                              "persistentVolumeClaimRetentionPolicy",
                                              "minReadySeconds" };
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *a = kj_mcopy(d, spec), *b = kj_mcopy(d, old);

    for (size_t i = 0; i < ARRAY_LEN(may_change); i++) {
        kj_mdel(a, may_change[i], strlen(may_change[i]));
        kj_mdel(b, may_change[i], strlen(may_change[i]));
    }
    return kj_mequal(a, b);
}

static void statefulset_validate(enum res_verb verb, const struct kj_val *obj,
                                 const struct kj_val *old, struct field_errors *errors)
{
    static const char *const numbers[] = { "replicas", "minReadySeconds", NULL };
    static const char *const counts[] = { "readyReplicas", "currentReplicas", "updatedReplicas",
                                          "availableReplicas", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    CLEANUP(kj_doc_free) struct kj_doc *whole = NULL;
    const struct kj_val *spec = kj_get(obj, "spec");

    if (verb == RES_STATUS) {
        check_status_counts(&c, obj, counts);
        return;
    }
    check_statefulset_spec(&c, spec);
    check_numbers(&c, "spec", spec, numbers);
    whole = statefulset_with_claims(spec);
    check_workload_template(&c, kj_root(whole), check_selector(&c, spec, "statefulset"));
    if (verb == RES_UPDATE && !statefulset_same(spec, kj_get(old, "spec")))
        err_forbidden(&c, "spec",
                      "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                      "'template', 'updateStrategy', 'revisionHistoryLimit', "
                      "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
                      "forbidden");
}

static void statefulset_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                             const struct kj_val *old)
{
    const struct kj_val *spec = kj_get(obj, "spec"), *v;
    struct kj_iter it = kj_iter(kj_get(spec, "volumeClaimTemplates"));

    if (verb == RES_STATUS)
        return;
    warn_of_workload(call, verb, obj, old, false);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_claim_spec(call, kj_get(v, "spec"), "spec.volumeClaimTemplates[%zu]%s", i,
                           verb == RES_CREATE ? "" : ".Spec"); /* upstream's paths */
    if (kj_i64_or(kj_get(spec, "revisionHistoryLimit"), 0) < 0)
        api_warn(call, "spec.revisionHistoryLimit: a negative value retains all historical "
                       "revisions; a value >= 0 is recommended");
}
const struct res_strategy statefulset_strategy = { .set_defaults = statefulset_set_defaults,
                                                   .prepare = statefulset_prepare,
                                                   .validate = statefulset_validate,
                                                   .warn = statefulset_warn,
                                                   .subresource = scale_subresource };

/* ---- daemon sets ----------------------------------------------------------------------------- */

static void daemonset_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *strategy = m_obj(d, m_obj(d, obj, "spec"), "updateStrategy");

    template_default(d, obj);
    if (streq(m_str(strategy, "type"), "RollingUpdate")) {
        struct kj_mval *r = m_obj(d, strategy, "rollingUpdate");
        m_default_i64(d, r, "maxUnavailable", 1);
        m_default_i64(d, r, "maxSurge", 0);
    }
}

/* Counts changes of the template, in an annotation since the field for it went away. */
static void daemonset_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                              const struct kj_val *old, nsec_t now)
{
    static const char note[] = "deprecated.daemonset.template.generation";
    const struct kj_val *was = kj_path(old, "metadata.annotations");
    struct kj_mval *t = m_path(obj, "spec.template"), *notes;
    char text[24];

    (void)now;
    prepare_status(verb, d, obj, old, "apps", "DaemonSet");
    if (verb == RES_STATUS)
        return;
    int64_t n = verb == RES_CREATE ? 1 : atoll(kj_str_or(kj_get(was, note), "0"));
    if (verb == RES_UPDATE && t) {
        CLEANUP(kj_doc_free) struct kj_doc *frozen = kj_freeze(t);
        n += !kj_equal(kj_root(frozen), kj_path(old, "spec.template"));
    }
    notes = m_obj(d, m_obj(d, obj, "metadata"), "annotations");
    snprintf(text, sizeof text, "%lld", (long long)n);
    kj_mset(d, notes, note, kj_mstr(d, text));
}

static void daemonset_validate(enum res_verb verb, const struct kj_val *obj,
                               const struct kj_val *old, struct field_errors *errors)
{
    static const char *const numbers[] = { "minReadySeconds", "revisionHistoryLimit", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");

    if (verb == RES_STATUS)
        return;
    check_workload_template(&c, spec, check_selector(&c, spec, "daemonset"));
    check_numbers(&c, "spec", spec, numbers);
    check_daemonset_strategy(&c, kj_get(spec, "updateStrategy"));
    if (verb == RES_UPDATE)
        check_immutable(&c, "spec.selector", kj_get(spec, "selector"),
                        kj_path(old, "spec.selector"));
}

static void daemonset_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                           const struct kj_val *old)
{
    const struct kj_val *t = kj_path(obj, "spec.template");

    if (verb == RES_CREATE || (verb == RES_UPDATE && !kj_equal(t, kj_path(old, "spec.template"))))
        warn_of_pod(call, "spec.template.", t);
}
const struct res_strategy daemonset_strategy = { .set_defaults = daemonset_set_defaults,
                                                 .prepare = daemonset_prepare,
                                                 .validate = daemonset_validate,
                                                 .warn = daemonset_warn };

/* ---- controller revisions -------------------------------------------------------------------- */

static void revision_validate(enum res_verb verb, const struct kj_val *obj,
                              const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);

    check_not_negative(&c, "revision", kj_get(obj, "revision"));
    if (verb == RES_UPDATE)
        check_immutable(&c, "data", kj_get(obj, "data"), kj_get(old, "data"));
}
const struct res_strategy revision_strategy = { .validate = revision_validate };
