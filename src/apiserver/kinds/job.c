/* job.c - jobs and cron jobs. */
#include <strings.h>

#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "base/ktime.h"
#include "sys/cron_schedule.h"
#include "sys/tzone.h"

#define UID_LABEL "batch.kubernetes.io/controller-uid"

/* ---- jobs ------------------------------------------------------------------------------------ */

static void jobspec_default(struct kj_mdoc *d, struct kj_mval *spec)
{
    if (!m_has(spec, "completions") && !m_has(spec, "parallelism")) {
        kj_mset(d, spec, "completions", kj_mi64(d, 1));
        kj_mset(d, spec, "parallelism", kj_mi64(d, 1));
    }
    m_default_i64(d, spec, "parallelism", 1);
    m_default_i64(d, spec, "backoffLimit", m_has(spec, "backoffLimitPerIndex") ? INT32_MAX : 6);
    m_default_str(d, spec, "completionMode", "NonIndexed");
    m_default_bool(d, spec, "suspend", false);
    m_default_bool(d, spec, "manualSelector", false);
    m_default_str(d, spec, "podReplacementPolicy",
                  m_has(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
}

static void job_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = m_obj(d, obj, "spec"), *meta = m_obj(d, obj, "metadata");
    struct kj_mval *labels = m_path(spec, "template.metadata.labels");

    template_default(d, obj);
    jobspec_default(d, spec);
    if (kj_mtype(labels) == KJ_OBJ && kj_mlen(kj_mget(meta, "labels")) == 0)
        kj_mset(d, meta, "labels", kj_mclone(d, labels));
}

static void set_job_labels(struct kj_mdoc *d, struct kj_mval *labels, const char *uid,
                           const char *name)
{
    kj_mset(d, labels, "batch.kubernetes.io/job-name", kj_mstr(d, name));
    kj_mset(d, labels, "job-name", kj_mstr(d, name));
    kj_mset(d, labels, UID_LABEL, kj_mstr(d, uid));
    kj_mset(d, labels, "controller-uid", kj_mstr(d, uid));
}

/* Unless the user manages the selector, a job finds its pods by its own UID. */
static void generate_selector(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = m_obj(d, obj, "spec"), *meta = m_obj(d, obj, "metadata");
    struct kj_mval *template = m_obj(d, spec, "template");
    const char *uid = m_str(meta, "uid"), *name = m_str(meta, "name");

    if (m_true(spec, "manualSelector"))
        return;
    if (!m_has(template, "metadata"))
        kj_mset(d, template, "metadata", kj_mobj(d));
    set_job_labels(d, m_obj(d, m_obj(d, template, "metadata"), "labels"), uid, name);
    set_job_labels(d, m_obj(d, meta, "labels"), uid, name);
    kj_mset(d, m_obj(d, m_obj(d, spec, "selector"), "matchLabels"), UID_LABEL, kj_mstr(d, uid));
}

static void job_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                        const struct kj_val *old, nsec_t now)
{
    (void)now;
    prepare_status(verb, d, obj, old, "batch", "Job");
    if (verb == RES_CREATE)
        generate_selector(d, obj);
}

static void check_restart(struct check *c, const char *path, const struct kj_val *template)
{
    const char *policy = v_str(kj_get(template, "spec"), "restartPolicy");

    if (!*policy || streq(policy, "Always"))
        err_required(c, at(c, "%s.spec.restartPolicy", path),
                     "valid values: \"OnFailure\", \"Never\"");
}

static void check_job_spec(struct check *c, const char *path, const struct kj_val *spec)
{
    static const char *const numbers[] = { "parallelism",
                                           "completions",
                                           "activeDeadlineSeconds",
                                           "backoffLimit",
                                           "ttlSecondsAfterFinished",
                                           "backoffLimitPerIndex",
                                           "maxFailedIndexes" };
    static const char *const modes[] = { "NonIndexed", "Indexed", NULL };
    static const char *const replacements[] = { "Failed", "TerminatingOrFailed", NULL };

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        check_not_negative(c, at(c, "%s.%s", path, numbers[i]), kj_get(spec, numbers[i]));
    check_enum(c, at(c, "%s.completionMode", path), v_str(spec, "completionMode"), modes, true);
    if (streq(v_str(spec, "completionMode"), "Indexed") && !v_has(spec, "completions"))
        err_required(c, at(c, "%s.completions", path), "when completion mode is Indexed");
    check_enum(c, at(c, "%s.podReplacementPolicy", path), v_str(spec, "podReplacementPolicy"),
               replacements, true);
    check_job_policy(c, path, spec);
    check_template(c, at(c, "%s.template", path), kj_get(spec, "template"), NULL);
    check_restart(c, at(c, "%s.template", path), kj_get(spec, "template"));
}

static void check_job_selector(struct check *c, const struct kj_val *obj, bool create)
{
    const struct kj_val *spec = kj_get(obj, "spec"), *selector = kj_get(spec, "selector");
    const struct kj_val *labels = kj_path(spec, "template.metadata.labels");
    const char *uid = kj_str_or(kj_path(obj, "metadata.uid"), "");
    const struct kj_val *match = kj_get(selector, "matchLabels");

    if (kj_type(selector) != KJ_OBJ)
        err_required(c, "spec.selector", "");
    else
        check_label_selector(c, "spec.selector", selector);
    bool own = kj_len(match) == 1 && kj_len(kj_get(selector, "matchExpressions")) == 0 &&
               streq(v_str(match, UID_LABEL), uid);
    if (create && kj_type(selector) == KJ_OBJ && !own &&
        !kj_bool(kj_get(spec, "manualSelector"), false))
        field_error(c->errors, FIELD_INVALID, "spec.selector", as_json(c, selector),
                    "`selector` not auto-generated");
    if (kj_type(selector) != KJ_OBJ || !v_selector_matches(selector, labels))
        field_error(c->errors, FIELD_INVALID, "spec.template.metadata.labels", as_json(c, labels),
                    "`selector` does not match template `labels`");
}

/* A suspended job that has not started may still be moved: its template's placement can change. */
static bool template_is_kept(const struct kj_val *spec, const struct kj_val *old_obj)
{
    static const char *const placement[] = { "nodeSelector", "tolerations", "schedulingGates",
                                             "affinity" };
    const struct kj_val *old = kj_get(old_obj, "spec");
    const struct kj_val *now_t = kj_get(spec, "template"), *old_t = kj_get(old, "template");
    bool movable =
        kj_bool(kj_get(old, "suspend"), false) && !v_has(kj_get(old_obj, "status"), "startTime");

    if (kj_equal(now_t, old_t))
        return true;
    if (!movable)
        return false;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *a = kj_mcopy(d, now_t), *b = kj_mcopy(d, old_t);
    struct kj_mval *as = kj_mget(a, "spec"), *bs = kj_mget(b, "spec");
    for (size_t i = 0; as && bs && i < ARRAY_LEN(placement); i++) {
        kj_mdel(as, placement[i], strlen(placement[i]));
        kj_mdel(bs, placement[i], strlen(placement[i]));
    }
    kj_mdel(a, "metadata", strlen("metadata"));
    kj_mdel(b, "metadata", strlen("metadata"));
    return kj_mequal(a, b);
}

static void check_job_update(struct check *c, const struct kj_val *obj, const struct kj_val *old)
{
    const struct kj_val *spec = kj_get(obj, "spec"), *was = kj_get(old, "spec");
    bool indexed = streq(v_str(spec, "completionMode"), "Indexed");
    int64_t completions = kj_i64_or(kj_get(spec, "completions"), -1);

    /* An indexed job may grow and shrink, as long as parallelism goes along. */
    if (!(indexed && completions == kj_i64_or(kj_get(spec, "parallelism"), -2)))
        check_immutable(c, "spec.completions", kj_get(spec, "completions"),
                        kj_get(was, "completions"));
    check_immutable(c, "spec.selector", kj_get(spec, "selector"), kj_get(was, "selector"));
    if (!template_is_kept(spec, old))
        field_error(c->errors, FIELD_INVALID, "spec.template", as_json(c, kj_get(spec, "template")),
                    "field is immutable");
    check_immutable(c, "spec.completionMode", kj_get(spec, "completionMode"),
                    kj_get(was, "completionMode"));
    check_immutable(c, "spec.backoffLimitPerIndex", kj_get(spec, "backoffLimitPerIndex"),
                    kj_get(was, "backoffLimitPerIndex"));
}

static void job_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                         struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);

    if (verb == RES_STATUS)
        return;
    check_job_selector(&c, obj, verb == RES_CREATE);
    check_job_spec(&c, "spec", kj_get(obj, "spec"));
    if (verb == RES_UPDATE)
        check_job_update(&c, obj, old);
}

static const char *job_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    if (!streq(path, "status.successful"))
        return NULL;
    const char *s = v_text(obj, "status.succeeded", a);
    return *s ? s : "0";
}

static void warn_of_job(struct api_call *call, const char *path, const struct kj_val *spec)
{
    enum { COMPLETIONS_SOFT = 100000, PARALLELISM_SOFT = 10000 };

    if (streq(v_str(spec, "completionMode"), "Indexed") &&
        kj_i64_or(kj_get(spec, "completions"), 0) > COMPLETIONS_SOFT &&
        kj_i64_or(kj_get(spec, "parallelism"), 0) > PARALLELISM_SOFT)
        api_warn(call,
                 "%s: In Indexed Jobs with a number of completions higher than 10^5 and a "
                 "parallelism higher than 10^4, Kubernetes might not be able to track "
                 "completedIndexes when a big number of indexes fail",
                 path);
    warn_of_pod(call, arena_printf(call->arena, "%s.template.", path), kj_get(spec, "template"));
}

static void job_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                     const struct kj_val *old)
{
    if (verb == RES_CREATE)
        warn_of_name(call, obj, WARN_POD_NAMES);
    if (verb != RES_STATUS && spec_changed(obj, old))
        warn_of_job(call, "spec", kj_get(obj, "spec"));
}
const struct res_strategy job_strategy = { .set_defaults = job_set_defaults,
                                           .prepare = job_prepare,
                                           .validate = job_validate,
                                           .warn = job_warn,
                                           .field = job_field };

/* ---- cron jobs ------------------------------------------------------------------------------- */

static void cronjob_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    podspec_default(d, m_path(obj, "spec.jobTemplate.spec.template.spec"));
}

PREPARE_STATUS(cronjob_prepare, "batch", "CronJob")

/* old: the schedule before; one that names a zone is from a time when that was allowed. */
static void check_schedule(struct check *c, const struct kj_val *spec, const char *old)
{
    const char *s = v_str(spec, "schedule"), *fields = s;
    bool zoned = strstr(s, "TZ") != NULL, may = strstr(old, "TZ") != NULL;
    struct cron_schedule parsed;
    struct kerr err = { 0 };

    if (!*s) {
        err_required(c, "spec.schedule", "");
        return;
    }
    if (str_starts(s, "TZ=") || str_starts(s, "CRON_TZ=")) {
        fields = s + strcspn(s, " ");
        fields += strspn(fields, " ");
    }
    if (cron_parse(fields, &parsed, &err) < 0)
        err_invalid(c, "spec.schedule", s, err.text);
    if (may && zoned && v_has(spec, "timeZone"))
        err_invalid(c, "spec.schedule", s,
                    "cannot use both timeZone field and TZ or CRON_TZ in schedule");
    else if (zoned && !may)
        err_invalid(c, "spec.schedule", s,
                    "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
}

static bool is_zone_name(const char *s)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_+";
    enum { PART_MAX = 14 };

    for (size_t n;; s += n + 1) {
        n = strcspn(s, "/");
        if (n == 0 || n > PART_MAX || *s == '-' || strspn(s, good) < n || (n == 1 && *s == '.') ||
            (n == 2 && s[0] == '.' && s[1] == '.'))
            return false;
        if (!s[n])
            return true;
    }
}

static void check_time_zone(struct check *c, const char *name)
{
    CLEANUP(tzone_free) struct tzone *zone = NULL;
    static const char path[] = "spec.timeZone";

    if (!*name) {
        err_invalid(c, path, name, "timeZone must be nil or non-empty string");
        return;
    }
    if (!is_zone_name(name)) {
        err_invalid(c, path, name, arena_printf(c->a, "unknown time zone %s", name));
        return;
    }
    if (strcasecmp(name, "Local") == 0)
        err_invalid(c, path, name,
                    "timeZone must be an explicit time zone as defined in "
                    "https://www.iana.org/time-zones");
    /* "Local" itself is the machine's own to Go. */
    if (!streq(name, "Local") && tzone_open(name, &zone, NULL) < 0)
        err_invalid(c, path, name, arena_printf(c->a, "unknown time zone %s", name));
}

/* A Job of each time gets its selector from the server. */
static void check_job_template(struct check *c, const struct kj_val *job)
{
    static const char *const off[] = { "nil", "false", NULL };

    if (v_has(job, "selector"))
        field_error(c->errors, FIELD_INVALID, "spec.jobTemplate.spec.selector",
                    as_json(c, kj_get(job, "selector")), "`selector` will be auto-generated");
    if (kj_bool(kj_get(job, "manualSelector"), false))
        err_unsupported(c, "spec.jobTemplate.spec.manualSelector", "true", off);
}

static void cronjob_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                             struct field_errors *errors)
{
    static const char *const policies[] = { "Allow", "Forbid", "Replace", NULL };
    static const char *const numbers[] = { "startingDeadlineSeconds", "successfulJobsHistoryLimit",
                                           "failedJobsHistoryLimit" };
    enum { NAME_LONGEST = 52 }; /* its Jobs have a time behind it */
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *was = kj_get(old, "spec");
    const char *name = kj_str_or(kj_path(obj, "metadata.name"), "");

    if (verb == RES_STATUS)
        return;
    check_schedule(&c, spec, v_str(was, "schedule"));
    if (v_has(spec, "timeZone") &&
        (!v_has(was, "timeZone") || !streq(v_str(spec, "timeZone"), v_str(was, "timeZone"))))
        check_time_zone(&c, v_str(spec, "timeZone"));
    if (verb == RES_CREATE && strlen(name) > NAME_LONGEST)
        err_invalid(&c, "metadata.name", name, "must be no more than 52 characters");
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        check_not_negative(&c, at(&c, "spec.%s", numbers[i]), kj_get(spec, numbers[i]));
    check_enum(&c, "spec.concurrencyPolicy", v_str(spec, "concurrencyPolicy"), policies, false);
    check_job_spec(&c, "spec.jobTemplate.spec", kj_path(spec, "jobTemplate.spec"));
    check_job_template(&c, kj_path(spec, "jobTemplate.spec"));
}

static void cronjob_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                         const struct kj_val *old)
{
    const struct kj_val *spec = kj_get(obj, "spec");

    if (verb == RES_STATUS)
        return;
    if (verb == RES_CREATE)
        warn_of_name(call, obj, WARN_POD_NAMES);
    if (spec_changed(obj, old))
        warn_of_job(call, "spec.jobTemplate.spec", kj_path(spec, "jobTemplate.spec"));
    if (verb == RES_UPDATE && strstr(v_str(spec, "schedule"), "TZ"))
        api_warn(call, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
                       "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for "
                       "more details");
}
const struct res_strategy cronjob_strategy = { .set_defaults = cronjob_set_defaults,
                                               .prepare = cronjob_prepare,
                                               .validate = cronjob_validate,
                                               .warn = cronjob_warn };

/* ---- columns --------------------------------------------------------------------------------- */

static bool has_condition(const struct kj_val *obj, const char *type)
{
    struct kj_iter it = kj_iter(kj_path(obj, "status.conditions"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(v_str(v, "type"), type))
            return streq(v_str(v, "status"), "True");
    return false;
}

static void cell_status(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    const char *word = "Running";

    (void)now;
    if (has_condition(obj, "Complete"))
        word = "Complete";
    else if (has_condition(obj, "Failed"))
        word = "Failed";
    else if (v_has(kj_get(obj, "metadata"), "deletionTimestamp"))
        word = "Terminating";
    else if (has_condition(obj, "Suspended"))
        word = "Suspended";
    else if (has_condition(obj, "FailureTarget"))
        word = "FailureTarget";
    else if (has_condition(obj, "SuccessCriteriaMet"))
        word = "SuccessCriteriaMet";
    cell_text(out, word);
}

static void cell_completions(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    long long done = kj_i64_or(kj_path(obj, "status.succeeded"), 0);
    long long parallel = kj_i64_or(kj_path(obj, "spec.parallelism"), 0);
    int64_t wanted;

    (void)now;
    if (kj_i64(kj_path(obj, "spec.completions"), &wanted) == 0)
        strbuf_appendf(out, "\"%lld/%lld\"", done, (long long)wanted);
    else if (parallel > 1)
        strbuf_appendf(out, "\"%lld/1 of %lld\"", done, parallel);
    else
        strbuf_appendf(out, "\"%lld/1\"", done);
}

static void cell_duration(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    const char *start = kj_str(kj_path(obj, "status.startTime"));
    const char *end = kj_str(kj_path(obj, "status.completionTime"));
    nsec_t from, to = now;

    strbuf_appendc(out, '"');
    if (start && ktime_parse(start, strlen(start), &from, NULL) == 0) {
        if (end && ktime_parse(end, strlen(end), &to, NULL) < 0)
            to = now;
        duration_text(to - from, out);
    }
    strbuf_appendc(out, '"');
}

static const struct res_column job_columns_list[] = {
    NAME_COLUMN,
    { .name = "Status", .type = "string", .cell = cell_status },
    { .name = "Completions", .type = "string", .cell = cell_completions },
    { .name = "Duration", .type = "string", .cell = cell_duration },
    AGE_COLUMN,
    { .name = "Containers", .type = "string", .priority = 1, .cell = cell_template_containers },
    { .name = "Images", .type = "string", .priority = 1, .cell = cell_template_images },
    { .name = "Selector", .type = "string", .priority = 1, .cell = cell_selector },
};
COLUMNS(job_columns);

TEXT_CELL(cell_schedule, "spec.schedule", "")
TEXT_CELL(cell_zone, "spec.timeZone", "<none>")

static void cell_suspend(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_text(out, kj_bool(kj_path(obj, "spec.suspend"), false) ? "True" : "False");
}

static void cell_active(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    strbuf_append_i64(out, (int64_t)kj_len(kj_path(obj, "status.active")));
}

static void cell_last(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    const char *t = kj_str(kj_path(obj, "status.lastScheduleTime"));

    strbuf_appendc(out, '"');
    if (t)
        age_text(t, now, out);
    else
        strbuf_append(out, "<none>");
    strbuf_appendc(out, '"');
}

static void cell_cron_containers(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_containers(kj_path(obj, "spec.jobTemplate.spec.template.spec"), out);
}

static void cell_cron_images(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_images(kj_path(obj, "spec.jobTemplate.spec.template.spec"), out);
}

static void cell_cron_selector(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    (void)now;
    v_selector_text(kj_path(obj, "spec.jobTemplate.spec.selector"), &b);
    cell_text(out, strbuf_str(&b));
}

static const struct res_column cronjob_columns_list[] = {
    NAME_COLUMN,
    { .name = "Schedule", .type = "string", .cell = cell_schedule },
    { .name = "Timezone", .type = "string", .cell = cell_zone },
    { .name = "Suspend", .type = "boolean", .cell = cell_suspend },
    { .name = "Active", .type = "integer", .cell = cell_active },
    { .name = "Last Schedule", .type = "string", .cell = cell_last },
    AGE_COLUMN,
    { .name = "Containers", .type = "string", .priority = 1, .cell = cell_cron_containers },
    { .name = "Images", .type = "string", .priority = 1, .cell = cell_cron_images },
    { .name = "Selector", .type = "string", .priority = 1, .cell = cell_cron_selector },
};
COLUMNS(cronjob_columns);
