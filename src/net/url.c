/* url.c - taking URLs apart and escaping their parts. */
#include "net/url.h"

#include <ctype.h>

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

static int bad(struct kerr *err, const char *text, const char *why)
{
    return kerr_set(err, -EINVAL, "URL \"%.120s\": %s", text, why);
}

static int parse_port(const char *p, size_t n, uint16_t *ret)
{
    unsigned v = 0;

    if (n == 0 || n > 5)
        return -EINVAL;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -EINVAL;
        v = v * 10 + (unsigned)(p[i] - '0');
    }
    if (v == 0 || v > UINT16_MAX)
        return -EINVAL;
    *ret = (uint16_t)v;
    return 0;
}

/* "host", "host:port", "[v6]", "[v6]:port" */
static int parse_authority(const char *text, const char *p, size_t n, struct arena *a,
                           struct url *u, struct kerr *err)
{
    const char *host = p, *end = p + n, *colon;
    size_t host_n;

    if (n > 0 && *p == '[') {
        const char *close = memchr(p, ']', n);
        if (!close)
            return bad(err, text, "missing ']'");
        host = p + 1;
        host_n = (size_t)(close - host);
        colon = close + 1;
        if (colon < end && *colon != ':')
            return bad(err, text, "text after ']'");
    } else {
        colon = memchr(p, ':', n);
        if (!colon)
            colon = end;
        else if (memchr(colon + 1, ':', (size_t)(end - colon - 1)))
            return bad(err, text, "an IPv6 address needs brackets");
        host_n = (size_t)(colon - host);
    }
    if (host_n == 0)
        return bad(err, text, "no host");
    for (size_t i = 0; i < host_n; i++)
        if (!is_unreserved((unsigned char)host[i]) && host[i] != ':' && host[i] != '%')
            return bad(err, text, "bad character in the host");
    if (colon < end && colon + 1 < end &&
        parse_port(colon + 1, (size_t)(end - colon - 1), &u->port))
        return bad(err, text, "bad port");
    u->host = arena_strndup(a, host, host_n);
    return 0;
}

static int parse_scheme(const char *text, struct arena *a, struct url *u, const char **ret_rest,
                        struct kerr *err)
{
    const char *sep = strstr(text, "://");

    *ret_rest = text;
    u->scheme = "https";
    if (sep) {
        char *scheme = arena_strndup(a, text, (size_t)(sep - text));
        for (char *c = scheme; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        u->scheme = scheme;
        *ret_rest = sep + 3;
    } else if (str_starts(text, "unix:")) {
        u->scheme = "unix";
        *ret_rest = text + 5;
    }
    if (streq(u->scheme, "https"))
        u->port = 443;
    else if (streq(u->scheme, "http"))
        u->port = 80;
    else if (!streq(u->scheme, "unix"))
        return bad(err, text, "unknown scheme (want https, http or unix)");
    return 0;
}

int url_parse(const char *text, struct arena *a, struct url *ret, struct kerr *err)
{
    struct url u = { .path = "" };
    const char *p;
    int r = parse_scheme(text, a, &u, &p, err);

    if (r < 0)
        return r;
    for (const char *c = p; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 127)
            return bad(err, text, "blank or control character");
    if (streq(u.scheme, "unix")) {
        if (!*p)
            return bad(err, text, "no path");
        u.host = arena_strdup(a, p);
        *ret = u;
        return 0;
    }
    size_t n = strcspn(p, "/?#");
    const char *at = memrchr(p, '@', n), *rest = p + n;
    if (at) {
        u.user = url_unescape(p, (size_t)(at - p), false, a);
        if (!u.user)
            return bad(err, text, "bad escape in the user name");
        n -= (size_t)(at + 1 - p);
        p = at + 1;
    }
    r = parse_authority(text, p, n, a, &u, err);
    if (r < 0)
        return r;
    size_t path_n = strcspn(rest, "#"); /* a fragment never leaves the client */
    u.path =
        *rest == '?' ? arena_printf(a, "/%.*s", (int)path_n, rest) : arena_strndup(a, rest, path_n);
    *ret = u;
    return 0;
}

void url_escape(struct strbuf *b, const char *s)
{
    static const char hex[] = "0123456789ABCDEF";

    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        if (is_unreserved(*p)) {
            strbuf_appendc(b, (char)*p);
        } else {
            const char out[3] = { '%', hex[*p >> 4], hex[*p & 15] };
            strbuf_appendn(b, out, sizeof out);
        }
    }
}

void url_add_query(struct strbuf *b, const char *key, const char *value)
{
    bool first = b->len == 0 || !memchr(b->data, '?', b->len);

    strbuf_appendc(b, first ? '?' : '&');
    url_escape(b, key);
    strbuf_appendc(b, '=');
    url_escape(b, value);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char *url_unescape(const char *s, size_t n, bool plus_is_space, struct arena *a)
{
    char *out = arena_alloc(a, n + 1, 1);
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '%') {
            int hi = i + 2 < n ? hex_value(s[i + 1]) : -1;
            int lo = i + 2 < n ? hex_value(s[i + 2]) : -1;
            if (hi < 0 || lo < 0 || (hi == 0 && lo == 0))
                return NULL; /* an escaped NUL would cut the text for everyone above */
            c = (char)(hi << 4 | lo);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        out[len++] = c;
    }
    out[len] = '\0';
    return out;
}

const char *url_query_get(const char *target, const char *key, struct arena *a)
{
    const char *p = strchr(target, '?');

    for (p = p ? p + 1 : NULL; p;) {
        size_t n = strcspn(p, "&#");
        const char *eq = memchr(p, '=', n);
        size_t key_n = eq ? (size_t)(eq - p) : n;
        const char *name = url_unescape(p, key_n, true, a);
        if (name && streq(name, key)) {
            const char *value = eq ? url_unescape(eq + 1, n - key_n - 1, true, a) : "";
            if (value)
                return value;
        }
        p = p[n] == '&' ? p + n + 1 : NULL;
    }
    return NULL;
}
