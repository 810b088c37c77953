/* target.c - request to URL path and query, and answers to errors: what all transports share. */
#include "client/kube.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "net/url.h"
#include "json/kj.h"

/* Names that are path segments must not smuggle in others; the server checks the rest. */
static int add_segment(struct strbuf *out, const char *what, const char *s, struct kerr *err)
{
    if (!*s || streq(s, ".") || streq(s, "..") || strchr(s, '/') || strchr(s, '%'))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "invalid %s '%.80s': may not be empty, '.', '..' "
                        "or contain '/' or '%%'",
                        what, s);
    strbuf_appendc(out, '/');
    url_escape(out, s);
    return 0;
}

static int add_path(const struct kube_req *r, struct strbuf *out, struct kerr *err)
{
    const struct kind *k = r->kind;
    int e = 0;

    if (*k->group)
        strbuf_appendf(out, "/apis/%s/%s", k->group, k->version);
    else
        strbuf_appendf(out, "/api/%s", k->version);
    if (k->namespaced && r->ns) {
        strbuf_append(out, "/namespaces");
        e = add_segment(out, "namespace", r->ns, err);
    }
    if (e == 0)
        strbuf_appendf(out, "/%s", k->plural);
    if (e == 0 && r->name)
        e = add_segment(out, "name", r->name, err);
    if (e == 0 && r->subresource)
        e = add_segment(out, "subresource", r->subresource, err);
    return e;
}

static void add_str(struct strbuf *out, const char *key, const char *value)
{
    if (!str_empty(value))
        url_add_query(out, key, value);
}

static void add_i64(struct strbuf *out, const char *key, int64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    url_add_query(out, key, text);
}

static int check(const struct kube_req *r, struct kerr *err)
{
    bool wants_name = r->verb == KUBE_GET || r->verb == KUBE_UPDATE || r->verb == KUBE_PATCH ||
                      r->verb == KUBE_DELETE || (r->verb == KUBE_CREATE && r->subresource);
    if (wants_name && !r->name)
        return kerr_api(err, -EINVAL, KR_INVALID, "%s: a name is required", r->kind->plural);
    if (wants_name && r->kind->namespaced && !r->ns)
        return kerr_api(err, -EINVAL, KR_INVALID, "%s '%.80s': a namespace is required",
                        r->kind->plural, r->name);
    return 0;
}

int kube_target(const struct kube_req *r, nsec_t watch_timeout, struct strbuf *out,
                struct kerr *err)
{
    if (r->raw_path) {
        strbuf_append(out, r->raw_path);
        return 0;
    }
    int e = check(r, err);
    if (e == 0)
        e = add_path(r, out, err);
    if (e < 0)
        return e;
    add_str(out, "labelSelector", r->label_selector);
    add_str(out, "fieldSelector", r->field_selector);
    add_str(out, "resourceVersion", r->resource_version);
    add_str(out, "resourceVersionMatch", r->resource_version_match);
    add_str(out, "continue", r->continue_token);
    add_str(out, "fieldManager", r->field_manager);
    add_str(out, "fieldValidation", r->field_validation);
    if (r->limit > 0)
        add_i64(out, "limit", r->limit);
    if (r->dry_run)
        add_str(out, "dryRun", "All");
    if (r->force)
        add_str(out, "force", "true");
    if (r->verb == KUBE_WATCH) {
        add_str(out, "watch", "1");
        if (r->bookmarks)
            add_str(out, "allowWatchBookmarks", "true");
        if (r->send_initial_events)
            add_str(out, "sendInitialEvents", "true");
        if (watch_timeout > 0)
            add_i64(out, "timeoutSeconds", (watch_timeout + NSEC_PER_SEC - 1) / NSEC_PER_SEC);
    }
    return 0;
}

bool kube_status_err(int http_status, const char *body, size_t n, struct kerr *err)
{
    enum kreason reason = kreason_from_http(http_status);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *message = NULL;

    if (n > 0 && body[0] == '{' && kj_parse(body, n, 0, &doc, NULL) == 0) {
        const struct kj_val *root = kj_root(doc);
        enum kreason named = kreason_from_name(kj_str_or(kj_get(root, "reason"), ""));
        if (named != KR_NONE)
            reason = named;
        message = kj_str(kj_get(root, "message"));
    }
    int code = kreason_errno(reason);
    if (!str_empty(message))
        kerr_api(err, code, reason, "%s", message);
    else if (n > 0)
        kerr_api(err, code, reason, "the server answered %d: %.*s", http_status,
                 (int)MIN(strcspn(body, "\r\n"), (size_t)200), body);
    else
        kerr_api(err, code, reason, "the server answered %d without a message", http_status);
    return !str_empty(message);
}
