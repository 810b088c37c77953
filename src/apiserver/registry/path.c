/* path.c - what the path and the query of a request ask for. */
#include "apiserver/registry/internal.h"
#include "base/num.h"
#include "net/url.h"

enum { SEGMENTS_MAX = 16 };

static int not_served(struct kerr *err)
{
    return kerr_api(err, -ENOENT, KR_NOT_FOUND, "the server could not find the requested resource");
}

/* ---- path ---------------------------------------------------------------------------------------
 */

/* Unescaped segments without empty ones; -1 when there are too many or one cannot be read. */
static int split(struct api_call *c, const char **seg)
{
    size_t len = strcspn(c->target, "?#");
    int n = 0;

    for (const char *p = c->target, *end = p + len; p < end;) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        size_t k = (size_t)((slash ? slash : end) - p);
        if (k > 0) {
            if (n == SEGMENTS_MAX)
                return -1;
            seg[n] = url_unescape(p, k, false, c->arena);
            if (!seg[n] || strchr(seg[n], '/') || streq(seg[n], "..") || streq(seg[n], "."))
                return -1;
            n++;
        }
        p += k + 1;
    }
    return n;
}

/* The rest after group and version: [namespaces NS] RESOURCE [NAME [SUB]]. */
static int parse_object(struct api_call *c, const char *group, const char *version,
                        const char **seg, int n, struct kerr *err)
{
    const struct res_table *t = c->s->resources;
    const struct resource *r;
    bool scoped = false;

    if (n >= 3 && streq(seg[0], "namespaces") &&
        !(streq(group, "") && n == 3 && (streq(seg[2], "status") || streq(seg[2], "finalize")))) {
        c->ns = seg[1];
        scoped = true;
        seg += 2;
        n -= 2;
    }
    r = res_table_find(t, group, version, seg[0]);
    if (!r || n > 3 || (scoped && !r->namespaced) || (!scoped && r->namespaced && n > 1))
        return not_served(err);
    if (n > 1)
        c->name = seg[1];
    if (n > 2) {
        c->sub = seg[2];
        if (!resource_has_sub(r, c->sub))
            return not_served(err);
    }
    c->res = resource_ref(r);
    return 0;
}

/* Namespaces are deleted one by one. */
static bool is_namespaces(const struct resource *r)
{
    return !*r->group && streq(r->plural, "namespaces");
}

static int find_verb(struct api_call *c, struct kerr *err)
{
    bool named = *c->name, sub = *c->sub;
    bool scoped = !c->res->namespaced || *c->ns; /* a collection one may write to */
    const char *m = c->method;

    if (streq(m, "GET"))
        c->verb = named ? API_GET : API_LIST;
    else if (streq(m, "POST") && scoped && named == sub)
        c->verb = API_CREATE;
    else if (streq(m, "PUT") && named)
        c->verb = API_UPDATE;
    else if (streq(m, "PATCH") && named)
        c->verb = API_PATCH;
    else if (streq(m, "DELETE") && named && !sub)
        c->verb = API_DELETE;
    else if (streq(m, "DELETE") && !named && scoped && !is_namespaces(c->res))
        c->verb = API_DELETE_COLLECTION;
    else
        return api_err_method(err);
    return 0;
}

int path_parse(struct api_call *c, bool *ret_page, struct kerr *err)
{
    const char *seg[SEGMENTS_MAX];
    const char *group, *version;
    int skip, n = split(c, seg);

    *ret_page = false;
    c->path = url_unescape(c->target, strcspn(c->target, "?#"), false, c->arena);
    c->ns = c->name = c->sub = "";
    if (n < 0 || !c->path)
        return not_served(err);
    if (n > 2 && streq(seg[0], "api")) {
        group = "", version = seg[1], skip = 2;
    } else if (n > 3 && streq(seg[0], "apis")) {
        group = seg[1], version = seg[2], skip = 3;
    } else {
        c->verb = API_NONE;
        return 0;
    }
    if (!res_table_has_group(c->s->resources, group, NULL) ||
        (skip == 2 && !streq(version, "v1"))) {
        *ret_page = true;
        return not_served(err);
    }
    /* The old form of a watch: /api/v1/watch/pods. */
    bool watch = n > skip + 1 && streq(seg[skip], "watch") && streq(c->method, "GET");
    skip += watch;
    int e = parse_object(c, group, version, seg + skip, n - skip, err);
    if (e == 0)
        e = find_verb(c, err);
    if (e == 0 && watch && c->verb == API_LIST)
        c->verb = API_WATCH;
    return e;
}

/* ---- query --------------------------------------------------------------------------------------
 */

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

static bool fail_number(struct api_call *c, const char *text, bool is_bool)
{
    struct kerr err = { 0 };
    char quoted[80];
    kerr_api(&err, -EINVAL, KR_BAD_REQUEST, "strconv.%s: parsing %s: invalid syntax",
             is_bool ? "ParseBool" : "ParseInt",
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
    const char *limit, *timeout, *grace, *watch, *field_validation, *dry_run, *orphan, *include;
    bool bad_dry_run;
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
        { "timeoutSeconds", &q->timeout },
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
        c->force = to_bool(v);
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
        return fail_number(c, text, false);
    return true;
}

static bool parse_dry_run(struct api_call *c, const struct raw_query *q)
{
    if (!q->dry_run)
        return true;
    if (!streq(q->dry_run, "All")) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        strbuf_appendc(&b, '[');
        strbuf_append_quoted(&b, q->dry_run, strlen(q->dry_run));
        strbuf_appendc(&b, ']');
        fail_options(c, options_kind(c), FIELD_NOT_SUPPORTED, "dryRun", b.data,
                     "supported values: \"All\"");
        return false;
    }
    c->dry_run = true;
    return true;
}

static bool parse_validation(struct api_call *c, const struct raw_query *q)
{
    const char *v = q->field_validation;
    if (!v || streq(v, "Warn"))
        c->fields = API_FIELDS_WARN;
    else if (streq(v, "Strict"))
        c->fields = API_FIELDS_STRICT;
    else if (streq(v, "Ignore"))
        c->fields = API_FIELDS_IGNORE;
    else {
        fail_options(c, options_kind(c), FIELD_NOT_SUPPORTED, "fieldValidation", v,
                     "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
        return false;
    }
    return true;
}

/* The rules of resourceVersionMatch and sendInitialEvents (metav1 validation of ListOptions). */
static bool check_list_options(struct api_call *c)
{
    const char *rv = c->resource_version, *m = c->rv_match;
    const char *why = NULL, *field = "resourceVersionMatch";

    if (c->verb == API_WATCH) {
        if (m && c->send_initial < 0)
            why =
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        else if (c->send_initial >= 0 && (!m || !streq(m, "NotOlderThan")))
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    } else if (c->send_initial >= 0) {
        field = "sendInitialEvents";
        why = "sendInitialEvents is forbidden for list";
    } else if (m && !rv) {
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
    } else if (m && c->continue_token) {
        why = "resourceVersionMatch is forbidden when continue is provided";
    } else if (m && !streq(m, "Exact") && !streq(m, "NotOlderThan")) {
        fail_options(c, "ListOptions", FIELD_NOT_SUPPORTED, field, m,
                     "supported values: \"Exact\", \"NotOlderThan\", \"\"");
        return false;
    } else if (m && streq(m, "Exact") && streq(rv, "0")) {
        why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
    }
    if (why)
        fail_options(c, "ListOptions", FIELD_FORBIDDEN, field, NULL, why);
    return !why;
}

bool query_parse(struct api_call *c)
{
    struct raw_query q = { 0 };

    walk_query(c, &q);
    if (!parse_int(c, q.limit, &c->limit) || !parse_int(c, q.timeout, &c->timeout_s) ||
        !parse_int(c, q.grace, &c->grace) || !parse_dry_run(c, &q) || !parse_validation(c, &q))
        return false;
    if (c->verb == API_LIST && q.watch && to_bool(q.watch))
        c->verb = API_WATCH;
    if (q.orphan && !c->propagation)
        c->propagation = to_bool(q.orphan) ? "Orphan" : "Background";
    if (q.include)
        c->include = streq(q.include, "None")     ? API_INCLUDE_NONE
                     : streq(q.include, "Object") ? API_INCLUDE_OBJECT
                                                  : API_INCLUDE_METADATA;
    if (c->verb == API_LIST || c->verb == API_WATCH)
        return check_list_options(c);
    return true;
}
