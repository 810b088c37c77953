/* registration.c - APIService and ComponentStatus: what the server says about itself.
 *
 * An APIService without a service is a group version that this server answers itself; apiservices.c
 * keeps one for each. One with a service stands for another server, which is never asked: it is
 * stored, and its condition says so.
 */
#include "apiserver/kinds/internal.h"
#include "base/ktime.h"

static void set_available(struct kj_mdoc *d, struct kj_mval *obj, bool local, nsec_t now)
{
    struct kj_mval *list = kj_marr(d), *c = kj_mobj(d), *status = kj_mobj(d);
    char when[KTIME_TEXT_MAX];

    ktime_format(now, when);
    kj_mset(d, c, "type", kj_mstr(d, "Available"));
    kj_mset(d, c, "status", kj_mstr(d, local ? "True" : "False"));
    kj_mset(d, c, "lastTransitionTime", kj_mstr(d, when));
    kj_mset(d, c, "reason", kj_mstr(d, local ? "Local" : "NotAggregated"));
    kj_mset(d, c, "message",
            kj_mstr(d, local ? "Local APIServices are always available"
                             : "this server does not pass requests on to other servers"));
    kj_mpush(list, c);
    kj_mset(d, status, "conditions", list);
    kj_mset(d, obj, "status", status);
}

static void apiservice_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                               const struct kj_val *old, nsec_t now)
{
    bool local = !m_has(kj_mget(obj, "spec"), "service");

    if (verb == RES_CREATE) {
        set_available(d, obj, local, now);
        return;
    }
    prepare_status(verb, d, obj, old, "apiregistration.k8s.io", "APIService");
    if (verb == RES_UPDATE && local == v_has(kj_get(old, "spec"), "service"))
        set_available(d, obj, local, now);
}

static void apiservice_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    enum { HTTPS = 443 };
    struct kj_mval *service = kj_mget(kj_mget(obj, "spec"), "service");

    if (kj_mtype(service) == KJ_OBJ)
        m_default_i64(d, service, "port", HTTPS);
}

static void check_service(struct check *c, const struct kj_val *spec)
{
    const struct kj_val *service = kj_get(spec, "service");
    bool insecure = kj_bool(kj_get(spec, "insecureSkipTLSVerify"), false);

    if (kj_type(service) != KJ_OBJ) {
        if (*v_str(spec, "caBundle"))
            err_invalid(c, "spec.caBundle", at(c, "%zu bytes", strlen(v_str(spec, "caBundle"))),
                        "local APIServices may not have a caBundle");
        if (insecure)
            field_error(c->errors, FIELD_INVALID, "spec.insecureSkipTLSVerify", "true",
                        "local APIServices may not have insecureSkipTLSVerify");
        return;
    }
    if (!*v_str(service, "namespace"))
        err_required(c, "spec.service.namespace", "");
    if (!*v_str(service, "name"))
        err_required(c, "spec.service.name", "");
    check_port(c, "spec.service.port", kj_i64_or(kj_get(service, "port"), 0));
    if (insecure && *v_str(spec, "caBundle"))
        field_error(c->errors, FIELD_INVALID, "spec.insecureSkipTLSVerify", "true",
                    "may not be true if caBundle is present");
}

static void apiservice_validate(enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old, struct field_errors *errors)
{
    enum { GROUP_PRIORITY_MAX = 20000, VERSION_PRIORITY_MAX = 1000 };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");
    const char *name = kj_str_or(kj_path(obj, "metadata.name"), ""), *group = v_str(spec, "group"),
               *version = v_str(spec, "version");

    (void)old;
    if (verb == RES_STATUS)
        return;
    if (!streq(name, at(&c, "%s.%s", version, group)))
        err_invalid(&c, "metadata.name", name, "must be `spec.version+\".\"+spec.group`");
    if (*group)
        check_dns_subdomain(&c, "spec.group", group);
    check_dns_label(&c, "spec.version", version);
    if (kj_i64_or(kj_get(spec, "groupPriorityMinimum"), 0) <= 0 ||
        kj_i64_or(kj_get(spec, "groupPriorityMinimum"), 0) > GROUP_PRIORITY_MAX)
        err_invalid_i64(&c, "spec.groupPriorityMinimum",
                        kj_i64_or(kj_get(spec, "groupPriorityMinimum"), 0),
                        "must be positive and less than 20000");
    if (kj_i64_or(kj_get(spec, "versionPriority"), 0) <= 0 ||
        kj_i64_or(kj_get(spec, "versionPriority"), 0) > VERSION_PRIORITY_MAX)
        err_invalid_i64(&c, "spec.versionPriority", kj_i64_or(kj_get(spec, "versionPriority"), 0),
                        "must be positive and less than 1000");
    check_service(&c, spec);
}

const struct res_strategy apiservice_strategy = { .set_defaults = apiservice_set_defaults,
                                                  .prepare = apiservice_prepare,
                                                  .validate = apiservice_validate };

static void cell_service(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *service = kj_path(obj, "spec.service");

    (void)now;
    if (kj_type(service) == KJ_OBJ)
        strbuf_appendf(&b, "%s/%s", v_str(service, "namespace"), v_str(service, "name"));
    cell_text(out, b.len ? b.data : "Local");
}

static const struct kj_val *condition(const struct kj_val *list, const char *type)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(v_str(v, "type"), type))
            return v;
    return NULL;
}

static void cell_available(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *v = condition(kj_path(obj, "status.conditions"), "Available");

    (void)now;
    strbuf_append(&b, v ? v_str(v, "status") : "Unknown");
    if (v && !streq(v_str(v, "status"), "True") && *v_str(v, "reason"))
        strbuf_appendf(&b, " (%s)", v_str(v, "reason"));
    cell_text(out, b.data);
}

static const struct res_column apiservice_columns_list[] = {
    NAME_COLUMN,
    { .name = "Service", .type = "string", .cell = cell_service },
    { .name = "Available", .type = "string", .cell = cell_available },
    AGE_COLUMN,
};
COLUMNS(apiservice_columns);

static void cell_healthy(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    const struct kj_val *v = condition(kj_get(obj, "conditions"), "Healthy");
    (void)now;
    cell_text(out, streq(v_str(v, "status"), "True") ? "Healthy" : "Unhealthy");
}

static void cell_message(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_text(out, v_str(condition(kj_get(obj, "conditions"), "Healthy"), "message"));
}

static void cell_error(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_text(out, v_str(condition(kj_get(obj, "conditions"), "Healthy"), "error"));
}

static const struct res_column component_columns_list[] = {
    NAME_COLUMN,
    { .name = "Status", .type = "string", .cell = cell_healthy },
    { .name = "Message", .type = "string", .cell = cell_message },
    { .name = "Error", .type = "string", .cell = cell_error },
};
COLUMNS(component_columns);
