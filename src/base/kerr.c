/* kerr.c - errors with context, on the caller's stack. */
#include "base/base.h"

#include <stdio.h>

/* Cutting at a byte may have split a character, and broken UTF-8 does not pass through JSON. */
static size_t whole_chars(const char *s, size_t n)
{
    size_t back = 0;
    while (back < 3 && back < n && ((unsigned char)s[n - 1 - back] & 0xC0) == 0x80)
        back++;
    if (back == n)
        return n;
    unsigned char lead = (unsigned char)s[n - 1 - back];
    size_t len = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return len > back + 1 ? n - 1 - back : n;
}

static PRINTF(4, 0) int set(struct kerr *err, int code, enum kreason reason, const char *fmt,
                            va_list ap)
{
    char text[sizeof err->text]; /* an argument may well be err->text itself */

    assert(code < 0);
    if (!err)
        return code;
    int n = vsnprintf(text, sizeof text, fmt, ap);
    /* A refusal always says why, even when the text could not be formatted. */
    if (n <= 0)
        n = snprintf(text, sizeof text, "%s", strerror(-code));
    if ((size_t)n >= sizeof text)
        n = (int)whole_chars(text, sizeof text - 1);
    text[n] = '\0';
    err->code = code;
    err->reason = reason;
    memcpy(err->text, text, (size_t)n + 1);
    return code;
}

int kerr_set(struct kerr *err, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int r = set(err, code, KR_NONE, fmt, ap);
    va_end(ap);
    return r;
}

int kerr_api(struct kerr *err, int code, enum kreason reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int r = set(err, code, reason, fmt, ap);
    va_end(ap);
    return r;
}

int kerr_wrap(struct kerr *err, const char *fmt, ...)
{
    char ctx[sizeof err->text];
    va_list ap;

    assert(err);
    size_t cause = strlen(err->text), room = sizeof err->text - 1 - cause;
    va_start(ap, fmt);
    int n = vsnprintf(ctx, sizeof ctx, fmt, ap);
    va_end(ap);
    if (n <= 0 || room < 3)
        return err->code;
    /* When space runs out we cut the new context: the innermost cause explains the failure. */
    size_t keep = (size_t)n <= room - 2 ? (size_t)n : whole_chars(ctx, room - 2);
    memmove(err->text + keep + 2, err->text, cause + 1);
    memcpy(err->text, ctx, keep);
    memcpy(err->text + keep, ": ", 2);
    return err->code;
}

/* One row a reason: metav1 name, HTTP status, errno. */
static const struct {
    const char *name;
    int http, err;
} reasons[] = {
    [KR_NONE] = { "", 500, -EIO },
    [KR_BAD_REQUEST] = { "BadRequest", 400, -EINVAL },
    [KR_UNAUTHORIZED] = { "Unauthorized", 401, -EACCES },
    [KR_FORBIDDEN] = { "Forbidden", 403, -EPERM },
    [KR_NOT_FOUND] = { "NotFound", 404, -ENOENT },
    [KR_METHOD_NOT_ALLOWED] = { "MethodNotAllowed", 405, -EOPNOTSUPP },
    [KR_ALREADY_EXISTS] = { "AlreadyExists", 409, -EEXIST },
    [KR_CONFLICT] = { "Conflict", 409, -ESTALE },
    [KR_GONE] = { "Gone", 410, -EIDRM },
    [KR_EXPIRED] = { "Expired", 410, -EIDRM },
    [KR_INVALID] = { "Invalid", 422, -EINVAL },
    [KR_TOO_LARGE] = { "RequestEntityTooLarge", 413, -E2BIG },
    [KR_UNSUPPORTED_MEDIA_TYPE] = { "UnsupportedMediaType", 415, -EINVAL },
    [KR_TOO_MANY_REQUESTS] = { "TooManyRequests", 429, -EAGAIN },
    [KR_TIMEOUT] = { "Timeout", 504, -ETIMEDOUT },
    [KR_UNAVAILABLE] = { "ServiceUnavailable", 503, -EAGAIN },
    [KR_INTERNAL] = { "InternalError", 500, -EIO },
};

const char *kreason_name(enum kreason reason)
{
    return (size_t)reason < ARRAY_LEN(reasons) ? reasons[reason].name : "";
}

enum kreason kreason_from_name(const char *name)
{
    for (size_t i = 1; i < ARRAY_LEN(reasons); i++)
        if (streq(reasons[i].name, name))
            return (enum kreason)i;
    return KR_NONE;
}

int kreason_http(enum kreason reason)
{
    return (size_t)reason < ARRAY_LEN(reasons) ? reasons[reason].http : 500;
}

enum kreason kreason_from_http(int status)
{
    switch (status) {
    case 409: return KR_CONFLICT;
    case 500: return KR_INTERNAL;
    case 502: return KR_UNAVAILABLE;
    default: break;
    }
    for (size_t i = 1; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].http == status)
            return (enum kreason)i;
    return status >= 500 ? KR_INTERNAL : status >= 400 ? KR_BAD_REQUEST : KR_NONE;
}

int kreason_errno(enum kreason reason)
{
    return (size_t)reason < ARRAY_LEN(reasons) ? reasons[reason].err : -EIO;
}
