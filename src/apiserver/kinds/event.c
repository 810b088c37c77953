/* event.c - events, in the form of core/v1 and of events.k8s.io/v1. Stored as the former. */
#include <ctype.h>

#include "api/names.h"
#include "apiserver/kinds/internal.h"

/* ---- the two forms --------------------------------------------------------------------------- */

static const char *const names[][2] = { /* events.k8s.io, core */
                                        { "regarding", "involvedObject" },
                                        { "note", "message" },
                                        { "reportingController", "reportingComponent" },
                                        { "deprecatedSource", "source" },
                                        { "deprecatedFirstTimestamp", "firstTimestamp" },
                                        { "deprecatedLastTimestamp", "lastTimestamp" },
                                        { "deprecatedCount", "count" }
};

static void rename_fields(struct kj_mdoc *d, struct kj_mval *obj, int from, int to)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct kj_mval *v = kj_mget(obj, names[i][from]);
        if (!v)
            continue;
        struct kj_mval *copy = kj_mclone(d, v);
        kj_mdel(obj, names[i][from], strlen(names[i][from]));
        kj_mset(d, obj, names[i][to], copy);
    }
}

static void event_to_stored(struct kj_mdoc *d, struct kj_mval *obj)
{
    rename_fields(d, obj, 0, 1);
    kj_mset(d, obj, "kind", kj_mstr(d, "Event"));
    kj_mset(d, obj, "apiVersion", kj_mstr(d, "v1"));
    /* Printed always in this form, left out when empty in the other one. */
    static const char *const always[] = { "reportingComponent", "reportingInstance" };
    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        if (!kj_mget(obj, always[i]))
            kj_mset(d, obj, always[i], kj_mstr(d, ""));
}

static void event_from_stored(struct kj_mdoc *d, struct kj_mval *obj)
{
    rename_fields(d, obj, 1, 0);
    kj_mset(d, obj, "kind", kj_mstr(d, "Event"));
    kj_mset(d, obj, "apiVersion", kj_mstr(d, "events.k8s.io/v1"));
    static const char *const optional[] = { "reportingController", "reportingInstance" };
    for (size_t i = 0; i < ARRAY_LEN(optional); i++)
        if (!*m_str(obj, optional[i]))
            kj_mdel(obj, optional[i], strlen(optional[i]));
}

/* ---- validation ------------------------------------------------------------------------------ */

struct form { /* where a form keeps what the rules speak of */
    const char *object, *controller, *message;
};
static const struct form core_form = { "involvedObject", "reportingComponent", "message" };
static const struct form v1_form = { "regarding", "reportingController", "note" };

static void check_namespace(struct check *c, const struct form *f, const struct kj_val *obj)
{
    const char *ns = kj_str_or(kj_path(obj, "metadata.namespace"), "");
    const char *of = v_str(kj_get(obj, f->object), "namespace");
    bool ok = *of ? streq(of, ns) : streq(ns, "default") || streq(ns, "kube-system") || !*ns;

    if (!ok)
        err_invalid(c, "involvedObject.namespace", of, "does not match event.namespace");
}

/* Only events of the new style, with an eventTime, are held to the rules of the new API. */
static void check_new_style(struct check *c, const struct form *f, const struct kj_val *obj)
{
    const char *controller = v_str(obj, f->controller), *type = v_str(obj, "type");

    if (!*controller)
        err_required(c, f->controller, "");
    check_qualified(c, f->controller, controller);
    if (!*v_str(obj, "reportingInstance"))
        err_required(c, "reportingInstance", "");
    else if (strlen(v_str(obj, "reportingInstance")) > 128)
        err_invalid(c, "reportingInstance", "", "can have at most 128 characters");
    if (!*v_str(obj, "action"))
        err_required(c, "action", "");
    else if (strlen(v_str(obj, "action")) > 128)
        err_invalid(c, "action", "", "can have at most 128 characters");
    if (!*v_str(obj, "reason"))
        err_required(c, "reason", "");
    else if (strlen(v_str(obj, "reason")) > 128)
        err_invalid(c, "reason", "", "can have at most 128 characters");
    if (strlen(v_str(obj, f->message)) > 1024)
        err_invalid(c, f->message, "", "can have at most 1024 characters");
    if (!streq(type, "Normal") && !streq(type, "Warning"))
        err_invalid(c, "type", "", at(c, "has invalid value: %s", type));
}

static void event_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                           struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);

    (void)old;
    check_namespace(&c, &core_form, obj);
    if (verb == RES_CREATE && v_has(obj, "eventTime"))
        check_new_style(&c, &core_form, obj);
}

static void event_v1_validate(enum res_verb verb, const struct kj_val *obj,
                              const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);

    (void)old;
    check_namespace(&c, &v1_form, obj);
    if (verb != RES_CREATE)
        return;
    if (!v_has(obj, "eventTime")) {
        err_required(&c, "eventTime", "");
        if (!*v_str(obj, "type"))
            err_invalid(&c, "type", "", "has invalid value: ");
        return;
    }
    check_new_style(&c, &v1_form, obj);
}

/* ---- selectors ------------------------------------------------------------------------------- */

/* What follows a prefix; NULL: it is not there. */
static const char *after(const char *s, const char *prefix)
{
    return str_starts(s, prefix) ? s + strlen(prefix) : NULL;
}

/* Each form is asked in its own words; the source only in that of core. */
static const char *field_of(const struct form *f, const struct kj_val *obj, const char *path,
                            struct arena *a)
{
    static const char *const parts[] = { "kind",       "namespace",       "name",     "uid",
                                         "apiVersion", "resourceVersion", "fieldPath" };
    const char *part = after(path, f->object);

    if (streq(path, "reason") || streq(path, "type") || streq(path, f->controller))
        return v_text(obj, path, a);
    if (f == &core_form && streq(path, "source")) {
        const char *s = v_str(kj_get(obj, "source"), "component");
        return *s ? s : v_text(obj, f->controller, a);
    }
    for (size_t i = 0; part && *part == '.' && i < ARRAY_LEN(parts); i++)
        if (streq(part + 1, parts[i]))
            return v_str(kj_get(obj, f->object), parts[i]);
    return NULL;
}

static const char *event_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    return field_of(&core_form, obj, path, a);
}

static const char *event_v1_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    return field_of(&v1_form, obj, path, a);
}

const struct res_strategy event_strategy = { .validate = event_validate, .field = event_field };
const struct res_strategy event_v1_strategy = { .validate = event_v1_validate,
                                                .field = event_v1_field,
                                                .to_stored = event_to_stored,
                                                .from_stored = event_from_stored };

/* ---- columns: of whichever form -------------------------------------------------------------- */

static const struct kj_val *either(const struct kj_val *obj, const char *core, const char *v1)
{
    const struct kj_val *v = kj_get(obj, core);
    return v ? v : kj_get(obj, v1);
}

static const char *first_seen(const struct kj_val *obj)
{
    const char *t = kj_str(either(obj, "firstTimestamp", "deprecatedFirstTimestamp"));
    return t ? t : kj_str(kj_get(obj, "eventTime"));
}

static void cell_last_seen(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    const char *t = kj_str(kj_path(obj, "series.lastObservedTime"));

    if (!t)
        t = kj_str(either(obj, "lastTimestamp", "deprecatedLastTimestamp"));
    strbuf_appendc(out, '"');
    age_text(t ? t : first_seen(obj), now, out);
    strbuf_appendc(out, '"');
}

static void cell_first_seen(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    strbuf_appendc(out, '"');
    age_text(first_seen(obj), now, out);
    strbuf_appendc(out, '"');
}

TEXT_CELL(cell_type, "type", "")
TEXT_CELL(cell_reason, "reason", "")

static void cell_object(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *o = either(obj, "involvedObject", "regarding");

    (void)now;
    for (const char *p = v_str(o, "kind"); *p; p++)
        strbuf_appendc(&b, (char)tolower((unsigned char)*p));
    if (*v_str(o, "name"))
        strbuf_appendf(&b, "/%s", v_str(o, "name"));
    cell_text(out, strbuf_str(&b));
}

static void cell_subobject(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_text(out, v_str(either(obj, "involvedObject", "regarding"), "fieldPath"));
}

static void cell_source(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *s = either(obj, "source", "deprecatedSource");
    const char *component = v_str(s, "component"), *host = v_str(s, "host");

    (void)now;
    if (!*component)
        component = kj_str_or(either(obj, "reportingComponent", "reportingController"), "");
    if (!*host)
        host = v_str(obj, "reportingInstance");
    strbuf_appendf(&b, "%s%s%s", component, *host ? ", " : "", host);
    cell_text(out, strbuf_str(&b));
}

static void cell_message(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    const char *s = kj_str_or(either(obj, "message", "note"), "");
    size_t n;

    (void)now;
    while (isspace((unsigned char)*s))
        s++;
    for (n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]); n--)
        ;
    kj_append_string(out, s, n);
}

static void cell_count(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    int64_t n = kj_i64_or(kj_path(obj, "series.count"), 0);

    (void)now;
    if (n == 0)
        n = kj_i64_or(either(obj, "count", "deprecatedCount"), 0);
    strbuf_append_i64(out, n ? n : 1);
}

static const struct res_column event_columns_list[] = {
    { .name = "Last Seen", .type = "string", .cell = cell_last_seen },
    { .name = "Type", .type = "string", .cell = cell_type },
    { .name = "Reason", .type = "string", .cell = cell_reason },
    { .name = "Object", .type = "string", .cell = cell_object },
    { .name = "Subobject", .type = "string", .priority = 1, .cell = cell_subobject },
    { .name = "Source", .type = "string", .priority = 1, .cell = cell_source },
    { .name = "Message", .type = "string", .cell = cell_message },
    { .name = "First Seen", .type = "string", .priority = 1, .cell = cell_first_seen },
    { .name = "Count", .type = "string", .priority = 1, .cell = cell_count },
    { .name = "Name", .type = "string", .priority = 1, .cell = cell_name },
};
COLUMNS(event_columns);
