/* status.c - metav1.Status documents and the field errors that become their causes. */
#include <stdio.h>

#include "apiserver/registry/internal.h"

/* ---- field errors -------------------------------------------------------------------------------
 */

static const struct {
    const char *reason, *words;
} types[] = {
    [FIELD_REQUIRED] = { "FieldValueRequired", "Required value" },
    [FIELD_INVALID] = { "FieldValueInvalid", "Invalid value" },
    [FIELD_NOT_SUPPORTED] = { "FieldValueNotSupported", "Unsupported value" },
    [FIELD_FORBIDDEN] = { "FieldValueForbidden", "Forbidden" },
    [FIELD_DUPLICATE] = { "FieldValueDuplicate", "Duplicate value" },
    [FIELD_TOO_LONG] = { "FieldValueTooLong", "Too long" },
    [FIELD_TOO_MANY] = { "FieldValueTooMany", "Too many" },
    [FIELD_NOT_FOUND] = { "FieldValueNotFound", "Not found" },
    [FIELD_TYPE_INVALID] = { "FieldValueTypeInvalid", "Invalid value" },
    [FIELD_INTERNAL] = { "InternalError", "Internal error" },
};
enum {
    CAUSES_MAX = 500, /* nobody reads more; a hostile object can produce a million */
    /* Each of many may show the same large value: no further one follows beyond this. */
    CAUSES_BYTES_MAX = 4 << 20,
};

struct field_errors *field_errors_new(void)
{
    return xnew0(struct field_errors);
}

struct field_errors *field_errors_free(struct field_errors *e)
{
    if (!e)
        return NULL;
    vec_foreach(e, i) {
        free(e->items[i].path);
        free(e->items[i].text);
    }
    vec_fini(e);
    free(e);
    return NULL;
}

static void add_error(struct field_errors *e, enum field_error_type type, const char *path,
                      const char *value, const char *fmt, va_list ap) PRINTF(5, 0);
static void add_error(struct field_errors *e, enum field_error_type type, const char *path,
                      const char *value, const char *fmt, va_list ap)
{
    struct strbuf b = STRBUF_INIT;
    bool with_value = value && type != FIELD_REQUIRED && type != FIELD_FORBIDDEN &&
                      type != FIELD_TOO_LONG && type != FIELD_TOO_MANY;

    if (e->n >= CAUSES_MAX || e->bytes > CAUSES_BYTES_MAX)
        return;
    strbuf_append(&b, types[type].words);
    if (with_value)
        strbuf_appendf(&b, ": %s", value);
    if (!str_empty(fmt)) {
        strbuf_append(&b, ": ");
        strbuf_vappendf(&b, fmt, ap);
    }
    e->bytes += b.len;
    vec_push(e, ((struct field_cause){ type, xstrdup(path), strbuf_take(&b) }));
}

void field_error(struct field_errors *e, enum field_error_type type, const char *path,
                 const char *value, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_error(e, type, path, value, fmt, ap);
    va_end(ap);
}

void field_error_text(struct field_errors *e, enum field_error_type type, const char *path,
                      const char *value, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf quoted = STRBUF_INIT;
    va_list ap;

    strbuf_append_quoted(&quoted, value, strlen(value));
    va_start(ap, fmt);
    add_error(e, type, path, quoted.data, fmt, ap);
    va_end(ap);
}

void field_errors_move(struct field_errors *to, struct field_errors *from)
{
    vec_foreach(from, i)
        vec_push(to, from->items[i]);
    to->bytes += from->bytes;
    from->n = from->bytes = 0;
}

bool field_errors_any(const struct field_errors *e, enum field_error_type type)
{
    vec_foreach(e, i) {
        if (e->items[i].type == type)
            return true;
    }
    return false;
}

size_t field_errors_count(const struct field_errors *e)
{
    return e->n;
}

static void write_causes(struct kjw *w, const struct field_errors *e)
{
    kjw_arr(w, "causes");
    vec_foreach(e, i) {
        kjw_obj(w, NULL);
        kjw_str(w, "reason", types[e->items[i].type].reason);
        kjw_str(w, "message", e->items[i].text);
        kjw_str(w, "field", e->items[i].path);
        kjw_end(w);
    }
    kjw_end(w);
}

/* "a: x", or "[a: x, b: y]"; the same error twice is told once. */
static void write_summary(struct strbuf *out, const struct field_errors *e)
{
    if (e->n > 1)
        strbuf_appendc(out, '[');
    vec_foreach(e, i) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = streq(e->items[j].path, e->items[i].path) &&
                   streq(e->items[j].text, e->items[i].text);
        if (seen)
            continue;
        strbuf_appendf(out, "%s%s: %s", i ? ", " : "", e->items[i].path, e->items[i].text);
    }
    if (e->n > 1)
        strbuf_appendc(out, ']');
}

/* ---- documents ----------------------------------------------------------------------------------
 */

void status_write(struct strbuf *out, const char *metadata, const char *message, const char *reason,
                  const char *details, int code)
{
    struct kjw w = kjw_to(out);
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "Status");
    kjw_str(&w, "apiVersion", "v1");
    kjw_raw(&w, "metadata", metadata ? metadata : "{}", metadata ? strlen(metadata) : 2);
    kjw_str(&w, "status", "Failure");
    kjw_str(&w, "message", message);
    if (!str_empty(reason))
        kjw_str(&w, "reason", reason);
    if (details)
        kjw_raw(&w, "details", details, strlen(details));
    kjw_i64(&w, "code", code);
    kjw_end(&w);
}

/* Controllers look for this cause to give up in peace. */
static void add_namespace_cause(struct kjw *w, const char *message)
{
    static const char mark[] = "unable to create new content in namespace ";
    const char *p = strstr(message, mark);
    char text[128];

    if (!p)
        return;
    p += sizeof mark - 1;
    (void)snprintf(text, sizeof text, "namespace %.*s is being terminated", (int)strcspn(p, " "),
                   p);
    kjw_arr(w, "causes");
    kjw_obj(w, NULL);
    kjw_str(w, "reason", "NamespaceTerminating");
    kjw_str(w, "message", text);
    kjw_str(w, "field", "metadata.namespace");
    kjw_end(w);
    kjw_end(w);
}

/* What the error is about stands in its message, as all of these begin the same way:
 * deployments.apps "x" not found; Operation cannot be fulfilled on pods "x": ... Reading it back
 * spares every error on its way up a second set of fields. */
static void details_from(const char *message, struct strbuf *out)
{
    static const char conflict[] = "Operation cannot be fulfilled on ";
    const char *p = message;
    struct kjw w = kjw_to(out);

    if (str_starts(p, conflict))
        p += sizeof conflict - 1;
    size_t word = strcspn(p, " ");
    const char *quote = p + word + 1;
    kjw_obj(&w, NULL);
    if (p[word] == ' ' && (*quote == '"' || str_starts(quote, "is forbidden"))) {
        const char *dot = memchr(p, '.', word);
        size_t len = *quote == '"' ? strcspn(quote + 1, "\"") : 0;
        if (len)
            kjw_strn(&w, "name", quote + 1, len);
        if (dot)
            kjw_strn(&w, "group", dot + 1, word - (size_t)(dot + 1 - p));
        kjw_strn(&w, "kind", p, dot ? (size_t)(dot - p) : word);
        add_namespace_cause(&w, message);
    }
    kjw_end(&w);
}

static void write_status(struct strbuf *out, enum kreason r, const char *text)
{
    CLEANUP(strbuf_fini) struct strbuf details = STRBUF_INIT;
    bool with_details = r != KR_BAD_REQUEST && r != KR_NONE && r != KR_UNAUTHORIZED;

    if (r == KR_NOT_FOUND || r == KR_ALREADY_EXISTS || r == KR_CONFLICT || r == KR_FORBIDDEN)
        details_from(text, &details);
    else if (r == KR_TIMEOUT && str_starts(text, "Timeout: Too large resource version"))
        strbuf_append(&details, "{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":"
                                "\"Too large resource version\"}],\"retryAfterSeconds\":1}");
    else if (r == KR_TOO_MANY_REQUESTS || r == KR_UNAVAILABLE)
        strbuf_append(&details, "{\"retryAfterSeconds\":1}");
    else if (r == KR_EXPIRED || r == KR_GONE || (r == KR_UNSUPPORTED_MEDIA_TYPE && text[0] != '4'))
        with_details = false;
    else
        strbuf_append(&details, "{}");
    status_write(out, NULL, text, kreason_name(r), with_details ? strbuf_str(&details) : NULL,
                 kreason_http(r));
}

void api_status_text(struct strbuf *out, const struct kerr *err)
{
    write_status(out, err->reason, err->text);
}

void fail_raw(struct api_call *c, int code, const char *reason, const char *message,
              const char *details)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    status_write(&b, NULL, message, reason, details, code);
    c->format = API_AS_OBJECT;
    api_reply(c, code, b.data, b.len);
}

void api_fail(struct api_call *c, const struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    write_status(&b, err->reason, api_err_text(c, err));
    if (err->reason == KR_TOO_MANY_REQUESTS || err->reason == KR_UNAVAILABLE)
        c->retry_after_s = 1;
    api_reply(c, kreason_http(err->reason), b.data, b.len);
}

void api_fail_admission(struct api_call *c, const struct kerr *err)
{
    if (c->refusal)
        fail_raw(c, c->refusal->code, c->refusal->reason, c->refusal->message, c->refusal->details);
    else
        api_fail(c, err);
}

void api_fail_cause(struct api_call *c, const struct kerr *err, const char *cause_reason,
                    const char *cause_message, int retry_after_s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT, details = STRBUF_INIT;
    struct kjw w = kjw_to(&details);

    kjw_obj(&w, NULL);
    kjw_arr(&w, "causes");
    kjw_obj(&w, NULL);
    kjw_str(&w, "reason", cause_reason);
    kjw_str(&w, "message", cause_message);
    kjw_end(&w);
    kjw_end(&w);
    if (retry_after_s > 0)
        kjw_i64(&w, "retryAfterSeconds", retry_after_s);
    kjw_end(&w);
    c->retry_after_s = retry_after_s > 0 ? retry_after_s : 0;
    status_write(&b, NULL, api_err_text(c, err), kreason_name(err->reason), details.data,
                 kreason_http(err->reason));
    api_reply(c, kreason_http(err->reason), b.data, b.len);
}

void invalid_write(const char *group, const char *kind, const char *name,
                   const struct field_errors *errors, struct strbuf *message,
                   struct strbuf *details)
{
    struct kjw w = kjw_to(details);

    strbuf_appendf(message, "%s%s%s ", kind, *group ? "." : "", group);
    strbuf_append_quoted(message, name, strlen(name));
    strbuf_append(message, " is invalid: ");
    write_summary(message, errors);
    kjw_obj(&w, NULL);
    if (*name)
        kjw_str(&w, "name", name);
    if (*group)
        kjw_str(&w, "group", group);
    if (*kind)
        kjw_str(&w, "kind", kind);
    write_causes(&w, errors);
    kjw_end(&w);
}

void fail_invalid(struct api_call *c, const char *group, const char *kind, const char *name,
                  const struct field_errors *errors)
{
    CLEANUP(strbuf_fini)
    struct strbuf b = STRBUF_INIT, details = STRBUF_INIT, message = STRBUF_INIT;

    invalid_write(group, kind, name, errors, &message, &details);
    status_write(&b, NULL, message.data, "Invalid", details.data, 422);
    api_reply(c, 422, b.data, b.len);
}

void api_fail_invalid(struct api_call *c, const char *name, const struct field_errors *errors)
{
    fail_invalid(c, c->res->group, c->res->kind, name, errors);
}

void api_fail_invalid_kind(struct api_call *c, const char *kind, const char *name,
                           const struct field_errors *errors)
{
    fail_invalid(c, "", kind, name, errors);
}

void fail_field(struct api_call *c, const char *group, const char *kind, const char *name,
                enum field_error_type type, const char *field, const char *value, const char *why)
{
    CLEANUP(field_errors_free) struct field_errors *e = field_errors_new();
    field_error(e, type, field, value, "%s", why);
    fail_invalid(c, group, kind, name, e);
}

void fail_options(struct api_call *c, const char *kind, enum field_error_type type,
                  const char *field, const char *value, const char *why)
{
    CLEANUP(field_errors_free) struct field_errors *e = field_errors_new();
    field_error_text(e, type, field, value, "%s", why);
    fail_invalid(c, *kind ? "meta.k8s.io" : "", kind, "", e);
}

void api_reply_success(struct api_call *c, int status, const char *name, const char *uid)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);

    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "Status");
    kjw_str(&w, "apiVersion", "v1");
    kjw_raw(&w, "metadata", "{}", 2);
    kjw_str(&w, "status", "Success");
    if (name) {
        kjw_obj(&w, "details");
        kjw_str(&w, "name", name);
        if (*c->res->group)
            kjw_str(&w, "group", c->res->group);
        kjw_str(&w, "kind", c->res->plural);
        if (uid)
            kjw_str(&w, "uid", uid);
        kjw_end(&w);
    } else {
        kjw_i64(&w, "code", status);
    }
    kjw_end(&w);
    api_reply(c, status, b.data, b.len);
}

/* ---- words --------------------------------------------------------------------------------------
 */

int api_err(struct api_call *c, struct kerr *err, int code, enum kreason reason, const char *fmt,
            ...)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&text, fmt, ap);
    va_end(ap);
    if (text.len >= sizeof err->text)
        c->err_text = arena_strdup(c->arena, text.data);
    return kerr_api(err, code, reason, "%s", strbuf_str(&text));
}

/* The one that was noted may belong to another error, which somebody has put up with. */
const char *api_err_text(const struct api_call *c, const struct kerr *err)
{
    enum { CHAR_MAX_BYTES = 4 }; /* kerr cuts between characters */
    bool is_full = strlen(err->text) + CHAR_MAX_BYTES >= sizeof err->text;

    return is_full && c->err_text && str_starts(c->err_text, err->text) ? c->err_text : err->text;
}

int api_err_not_found(struct api_call *c, struct kerr *err, const struct resource *r,
                      const char *name)
{
    return api_err(c, err, -ENOENT, KR_NOT_FOUND, "%s \"%s\" not found",
                   resource_group_resource(r, c->arena), name);
}

int api_err_exists(struct api_call *c, struct kerr *err, const struct resource *r, const char *name)
{
    return api_err(c, err, -EEXIST, KR_ALREADY_EXISTS, "%s \"%s\" already exists",
                   resource_group_resource(r, c->arena), name);
}

int api_err_conflict(struct api_call *c, struct kerr *err, const struct resource *r,
                     const char *name)
{
    return api_err(c, err, -ESTALE, KR_CONFLICT,
                   "Operation cannot be fulfilled on %s \"%s\": the object has been modified; "
                   "please apply your changes to the latest version and try again",
                   resource_group_resource(r, c->arena), name);
}

int api_err_not_served(struct kerr *err)
{
    return kerr_api(err, -ENOENT, KR_NOT_FOUND, "the server could not find the requested resource");
}

int api_err_method(struct kerr *err)
{
    return kerr_api(err, -EOPNOTSUPP, KR_METHOD_NOT_ALLOWED,
                    "the server does not allow this method on the requested resource");
}
