/* query.c - what the query of a request asks for, and the rules of its options. */
#include <ctype.h>

#include "apiserver/registry/internal.h"
#include "base/ktime.h"
#include "base/num.h"
#include "net/url.h"

enum { MANAGER_MAX = 128 };

static const char *options_kind(const struct api_call *c)
{
    switch (c->verb) {
    case API_CREATE: return "CreateOptions";
    case API_UPDATE: return "UpdateOptions";
    case API_PATCH: return "PatchOptions";
    case API_DELETE:
    case API_DELETE_COLLECTION: return "DeleteOptions";
    default: return "ListOptions";
    }
}

static bool fail_number(struct api_call *c, const char *text)
{
    struct kerr err = { 0 };
    char quoted[80];
    kerr_api(&err, -EINVAL, KR_BAD_REQUEST, "strconv.ParseInt: parsing %s: invalid syntax",
             text_quote(quoted, sizeof quoted, text, strlen(text)));
    api_fail(c, &err);
    return false;
}

/* As Go's conversion of query parameters: only "false" and "0" (any case) say no. */
static bool to_bool(const char *v)
{
    return !(strcasecmp(v, "false") == 0 || streq(v, "0"));
}

struct raw_query {
    const char *limit, *timeout, *seconds, *grace, *watch, *field_validation, *dry_run, *orphan,
        *include;
    const char *force;
};

static void take_param(struct api_call *c, struct raw_query *q, const char *k, const char *v)
{
    const struct {
        const char *key, **to;
    } texts[] = {
        { "labelSelector", &c->label_selector },
        { "fieldSelector", &c->field_selector },
        { "resourceVersion", &c->resource_version },
        { "resourceVersionMatch", &c->rv_match },
        { "continue", &c->continue_token },
        { "fieldManager", &c->field_manager },
        { "propagationPolicy", &c->propagation },
        { "limit", &q->limit },
        { "timeout", &q->timeout },
        { "timeoutSeconds", &q->seconds },
        { "gracePeriodSeconds", &q->grace },
        { "watch", &q->watch },
        { "fieldValidation", &q->field_validation },
        { "orphanDependents", &q->orphan },
        { "includeObject", &q->include },
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (streq(texts[i].key, k)) {
            if (!*texts[i].to && *v)
                *texts[i].to = v;
            return;
        }
    if (streq(k, "allowWatchBookmarks"))
        c->bookmarks = to_bool(v);
    else if (streq(k, "sendInitialEvents"))
        c->send_initial = to_bool(v);
    else if (streq(k, "force"))
        q->force = v;
    else if (streq(k, "pretty"))
        c->pretty = to_bool(v);
    else if (streq(k, "dryRun") && *v)
        q->dry_run = v;
}

static void walk_query(struct api_call *c, struct raw_query *q)
{
    const char *p = strchr(c->target, '?');
    for (p = p ? p + 1 : ""; *p;) {
        size_t n = strcspn(p, "&");
        const char *eq = memchr(p, '=', n);
        size_t klen = eq ? (size_t)(eq - p) : n;
        const char *k = url_unescape(p, klen, true, c->arena);
        const char *v = eq ? url_unescape(eq + 1, n - klen - 1, true, c->arena) : "";
        if (k && v)
            take_param(c, q, k, v);
        p += n;
        p += *p == '&';
    }
}

static bool parse_int(struct api_call *c, const char *text, int64_t *to)
{
    if (text && i64_parse(text, strlen(text), to) < 0)
        return fail_number(c, text);
    return true;
}

/* For how long the client waits. */
static bool check_timeout(struct api_call *c, const char *text)
{
    struct kerr why = { 0 }, err = { 0 };

    if (!text || c->verb == API_WATCH || kdur_parse(text, strlen(text), &c->timeout, &why) == 0)
        return true;
    kerr_api(&err, -EINVAL, KR_BAD_REQUEST, "invalid timeout specified in the request URL - %s",
             why.text);
    api_fail(c, &err);
    return false;
}

static void check_manager(const char *manager, struct field_errors *e)
{
    if (!manager)
        return;
    if (strlen(manager) > MANAGER_MAX)
        field_error(e, FIELD_TOO_LONG, "fieldManager", NULL, "may not be more than %d bytes",
                    MANAGER_MAX);
    for (const char *p = manager; *p; p++)
        if ((unsigned char)*p < 0x80 && !isprint((unsigned char)*p)) {
            field_error_text(e, FIELD_INVALID, "fieldManager", manager,
                             "invalid character U+%04X (at position %zu)", (unsigned)*p,
                             (size_t)(p - manager));
            return;
        }
}

static void check_dry_run(struct api_call *c, const char *v, struct field_errors *e)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    c->dry_run = v != NULL;
    if (!v || streq(v, "All"))
        return;
    strbuf_appendc(&b, '[');
    strbuf_append_quoted(&b, v, strlen(v));
    strbuf_appendc(&b, ']');
    field_error(e, FIELD_NOT_SUPPORTED, "dryRun", b.data, "supported values: \"All\"");
}

static void check_validation(struct api_call *c, const char *v, struct field_errors *e)
{
    if (!v || streq(v, "Warn"))
        c->fields = API_FIELDS_WARN;
    else if (streq(v, "Strict"))
        c->fields = API_FIELDS_STRICT;
    else if (streq(v, "Ignore"))
        c->fields = API_FIELDS_IGNORE;
    else
        field_error_text(e, FIELD_NOT_SUPPORTED, "fieldValidation", v,
                         "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
}

/* Options of writes. */
static void check_write(struct api_call *c, const struct raw_query *q, struct field_errors *e)
{
    bool deletes = c->verb == API_DELETE || c->verb == API_DELETE_COLLECTION;

    if (c->verb == API_PATCH && patch_type(c, NULL) == 0) {
        bool apply = c->patch == API_PATCH_APPLY;
        if (apply && str_empty(c->field_manager))
            field_error(e, FIELD_REQUIRED, "fieldManager", NULL, "is required for apply patch");
        if (!apply && q->force)
            field_error(e, FIELD_FORBIDDEN, "force", NULL,
                        "may not be specified for non-apply patch");
        c->force = apply && q->force && to_bool(q->force);
    }
    if (!deletes)
        check_manager(c->field_manager, e);
    check_dry_run(c, q->dry_run, e);
    check_validation(c, q->field_validation, e);
}

static void forbid(struct field_errors *e, const char *field, const char *why)
{
    field_error(e, FIELD_FORBIDDEN, field, NULL, "%s", why);
}

static void check_watch(const struct api_call *c, struct field_errors *e)
{
    static const char match[] = "resourceVersionMatch";
    const char *m = c->rv_match;
    bool newer = m && streq(m, "NotOlderThan");

    if (c->send_initial >= 0 && !newer)
        forbid(e, match, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (m && c->send_initial < 0)
        forbid(e, match,
               "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    if (m && !newer)
        field_error_text(e, FIELD_NOT_SUPPORTED, match, m, "supported values: \"NotOlderThan\"");
    if (c->continue_token && (m || c->send_initial < 0))
        forbid(e, match, "resourceVersionMatch is forbidden when continue is provided");
}

static void check_list(const struct api_call *c, struct field_errors *e)
{
    static const char match[] = "resourceVersionMatch";
    const char *rv = c->resource_version, *m = c->rv_match;

    if (m && !rv)
        forbid(e, match, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (m && c->continue_token)
        forbid(e, match, "resourceVersionMatch is forbidden when continue is provided");
    if (m && !streq(m, "Exact") && !streq(m, "NotOlderThan"))
        field_error_text(e, FIELD_NOT_SUPPORTED, match, m,
                         "supported values: \"Exact\", \"NotOlderThan\", \"\"");
    if (m && rv && streq(m, "Exact") && streq(rv, "0"))
        forbid(e, match, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    if (c->send_initial >= 0)
        forbid(e, "sendInitialEvents", "sendInitialEvents is forbidden for list");
}

static void check_options(struct api_call *c, const struct raw_query *q, struct field_errors *e)
{
    switch (c->verb) {
    case API_WATCH: check_watch(c, e); break;
    case API_LIST: check_list(c, e); break;
    case API_GET: break;
    default: check_write(c, q, e); break;
    }
}

bool query_parse(struct api_call *c)
{
    CLEANUP(field_errors_free) struct field_errors *errors = field_errors_new();
    struct raw_query q = { 0 };

    walk_query(c, &q);
    if (c->verb == API_LIST && q.watch && to_bool(q.watch))
        c->verb = API_WATCH;
    if (!check_timeout(c, q.timeout) || !parse_int(c, q.limit, &c->limit) ||
        !parse_int(c, q.seconds, &c->timeout_s) || !parse_int(c, q.grace, &c->grace))
        return false;
    if (q.orphan && !c->propagation)
        c->propagation = to_bool(q.orphan) ? "Orphan" : "Background";
    if (q.include)
        c->include = streq(q.include, "None")     ? API_INCLUDE_NONE
                     : streq(q.include, "Object") ? API_INCLUDE_OBJECT
                                                  : API_INCLUDE_METADATA;
    check_options(c, &q, errors);
    /* "Any version will do" is answered from the cache there, which has no pages. */
    if (c->resource_version && streq(c->resource_version, "0") && !c->continue_token)
        c->limit = 0;
    if (!field_errors_count(errors))
        return true;
    fail_invalid(c, "meta.k8s.io", options_kind(c), "", errors);
    return false;
}
