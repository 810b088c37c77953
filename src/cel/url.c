/* url.c - URLs taken apart and put together, as Go's net/url does. */
#include <ctype.h>

#include "cel/urls.h"

enum part { USER, HOST, ZONE, PATH, FRAGMENT };

/* May this byte stand in a part as it is? */
static bool is_plain(unsigned char c, enum part part)
{
    static const char *const more[] = {
        [USER] = "$&+,;=",    [HOST] = "!$&'()*+,;=:[]<>\"", [ZONE] = "!$&'()*+,;=:[]<>\"",
        [PATH] = "$&+,/:;=@", [FRAGMENT] = "!$&()*+,/:;=?@",
    };
    return c < 0x80 && c && (isalnum(c) || strchr("-_.~", c) || strchr(more[part], c));
}

static int hex(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : (tolower((unsigned char)c) - 'a') + 10;
}

const char *cel_quoted(struct arena *a, struct str s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_append_quoted(&b, s.p, s.n);
    return arena_strndup(a, b.data, b.len);
}

const char *cel_url_bad_escape(struct arena *a, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '%' && (i + 2 >= s.n || !isxdigit((unsigned char)s.p[i + 1]) ||
                              !isxdigit((unsigned char)s.p[i + 2])))
            return arena_printf(a, "invalid URL escape %s",
                                cel_quoted(a, (struct str){ s.p + i, MIN(s.n - i, (size_t)3) }));
    }
    return NULL;
}

/* Hosts may escape what is not ASCII, and percent signs; zones of addresses what they may write. */
static const char *bad_host_sign(struct arena *a, struct str s, enum part part)
{
    const char *why = cel_url_bad_escape(a, s);

    for (size_t i = 0; i < s.n && !why; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c != '%') {
            if (c < 0x80 && !is_plain(c, part))
                why = arena_printf(a, "invalid character %s in host name",
                                   cel_quoted(a, (struct str){ s.p + i, 1 }));
            continue;
        }
        unsigned char v = (unsigned char)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2]));
        if (v != '%' && (part == HOST ? v < 0x80 : v != ' ' && !is_plain(v, HOST)))
            why = arena_printf(a, "invalid URL escape \"%.3s\"", s.p + i);
        i += 2;
    }
    return why;
}

static struct str unescape(struct arena *a, struct str s)
{
    char *out;
    size_t n = 0;

    if (s.n == 0 || !memchr(s.p, '%', s.n))
        return s;
    out = arena_alloc(a, s.n + 1, 1);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '%') {
            out[n++] = (char)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2]));
            i += 2;
        } else {
            out[n++] = s.p[i];
        }
    }
    out[n] = '\0';
    return (struct str){ out, n };
}

static void escape(struct str s, enum part part, struct strbuf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        if (is_plain((unsigned char)s.p[i], part))
            strbuf_appendc(out, s.p[i]);
        else
            strbuf_appendf(out, "%%%02X", (unsigned char)s.p[i]);
    }
}

/* As it was written, when nothing in it must be escaped. */
static void escape_again(struct arena *a, struct str raw, enum part part, struct strbuf *out)
{
    for (size_t i = 0; i < raw.n; i++) {
        if (!is_plain((unsigned char)raw.p[i], part) && !strchr("!$&'()*+,;=:@[]%", raw.p[i])) {
            escape(unescape(a, raw), part, out);
            return;
        }
    }
    strbuf_appendn(out, raw.p, raw.n);
}

/* What is read on the way; raw parts are escaped still. */
struct reading {
    struct str scheme, opaque, user, host, path, query, fragment;
    bool has_user, has_query, omit_host;
};

static const char *first(struct str s, char c)
{
    return s.p && s.n ? memchr(s.p, c, s.n) : NULL;
}
static const char *last(struct str s, char c)
{
    return s.p && s.n ? memrchr(s.p, c, s.n) : NULL;
}

static bool is_port(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (i == 0 ? s.p[i] != ':' : !isdigit((unsigned char)s.p[i]))
            return false;
    }
    return true;
}

static struct str from(struct str s, const char *p)
{
    return (struct str){ p, s.n - (size_t)(p - s.p) };
}
static struct str until(struct str s, const char *p)
{
    return (struct str){ s.p, (size_t)(p - s.p) };
}

/* "[fe80::1%25eth0]:80" */
static const char *parse_literal(struct arena *a, struct str host, struct str *ret)
{
    const char *close = last(host, ']'), *why;
    struct cel_addr addr;

    if (!close)
        return "missing ']' in host";
    struct str port = from(host, close + 1), name = { host.p + 1, (size_t)(close - host.p) - 1 };
    if (!is_port(port))
        return arena_printf(a, "invalid port %s after host", cel_quoted(a, port));
    const char *zone = name.n ? memmem(name.p, name.n, "%25", 3) : NULL;
    why = bad_host_sign(a, zone ? until(name, zone) : name, HOST);
    if (!why && zone)
        why = bad_host_sign(a, from(name, zone), ZONE);
    if (why)
        return why;
    name = unescape(a, name);
    const char *percent = first(name, '%');
    why = cel_addr_parse(percent ? until(name, percent) : name, &addr);
    if (!why && percent)
        why = percent + 1 == name.p + name.n ? "zone must be a non-empty string"
              : !addr.is6                    ? "zones cannot be used with IPv4 addresses"
                                             : NULL;
    if (why)
        return arena_printf(a, "invalid host: ParseAddr(%s): %s", cel_quoted(a, name), why);
    if (!addr.is6)
        return "invalid IP-literal";
    const char *all = arena_printf(a, "[%.*s]%.*s", (int)name.n, name.p, (int)port.n, port.p);
    *ret = str_of(all);
    return NULL;
}

static const char *parse_host(struct arena *a, struct str host, struct str *ret)
{
    const char *open = last(host, '['), *why;

    if (open)
        return open > host.p ? "invalid IP-literal" : parse_literal(a, host, ret);
    const char *colon = last(host, ':');
    if (colon && !is_port(from(host, colon)))
        return arena_printf(a, "invalid port %s after host", cel_quoted(a, from(host, colon)));
    if ((why = bad_host_sign(a, host, HOST)))
        return why;
    *ret = unescape(a, host);
    return NULL;
}

static const char *parse_authority(struct arena *a, struct str s, struct reading *r)
{
    const char *at = last(s, '@');
    const char *why = parse_host(a, at ? from(s, at + 1) : s, &r->host);

    if (why || !at)
        return why;
    r->has_user = true;
    r->user = until(s, at);
    for (size_t i = 0; i < r->user.n; i++) {
        unsigned char c = (unsigned char)r->user.p[i];
        if (c >= 0x80 || (!isalnum(c) && !strchr("-._:~!$&'()*+,;=%@", c)))
            return "net/url: invalid userinfo";
    }
    return cel_url_bad_escape(a, r->user);
}

static const char *parse_scheme(struct arena *a, struct str *rest, struct reading *r)
{
    struct str s = *rest;
    size_t i = 0;

    while (i < s.n && (isalpha((unsigned char)s.p[i]) ||
                       (i > 0 && (isdigit((unsigned char)s.p[i]) || strchr("+-.", s.p[i])))))
        i++;
    if (i == s.n || s.p[i] != ':')
        return NULL;
    if (i == 0)
        return "missing protocol scheme";
    char *lower = arena_strndup(a, s.p, i);
    for (size_t k = 0; k < i; k++)
        lower[k] = (char)tolower((unsigned char)lower[k]);
    r->scheme = (struct str){ lower, i };
    *rest = from(s, s.p + i + 1);
    return NULL;
}

static const char *parse(struct arena *a, struct str s, bool request, struct reading *r)
{
    const char *why;

    *r = (struct reading){ 0 };
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return "net/url: invalid control character in URL";
    }
    if (s.n == 0 && request)
        return "empty url";
    if (str_eqz(s, "*")) {
        r->path = s;
        return NULL;
    }
    if ((why = parse_scheme(a, &s, r)))
        return why;
    const char *query = first(s, '?');
    if (query) {
        r->has_query = true;
        r->query = from(s, query + 1);
        s = until(s, query);
    }
    if (!s.n || s.p[0] != '/') {
        r->opaque = s;
        return r->scheme.n ? NULL : "invalid URI for request"; /* such do not get here twice */
    }
    bool authority =
        s.n >= 2 && s.p[1] == '/' && (r->scheme.n || (!request && !(s.n >= 3 && s.p[2] == '/')));
    if (authority) {
        s = from(s, s.p + 2);
        const char *slash = first(s, '/');
        if ((why = parse_authority(a, slash ? until(s, slash) : s, r)))
            return why;
        s = slash ? from(s, slash) : (struct str){ "", 0 };
    }
    r->omit_host = !authority;
    r->path = s;
    return cel_url_bad_escape(a, s);
}

/* The whole, as Go would write it. */
static void print(struct arena *a, const struct reading *r, struct str path, struct strbuf *out)
{
    strbuf_appendf(out, "%.*s%s", (int)r->scheme.n, r->scheme.p, r->scheme.n ? ":" : "");
    strbuf_appendn(out, r->opaque.p, r->opaque.n);
    if (!r->opaque.n) {
        if (!r->omit_host && (r->host.n || path.n || r->has_user) &&
            (r->scheme.n || r->host.n || r->has_user))
            strbuf_append(out, "//");
        if (r->has_user) {
            const char *colon = first(r->user, ':');
            escape(unescape(a, colon ? until(r->user, colon) : r->user), USER, out);
            if (colon) {
                strbuf_appendc(out, ':');
                escape(unescape(a, from(r->user, colon + 1)), USER, out);
            }
            strbuf_appendc(out, '@');
        }
        escape(r->host, HOST, out);
        strbuf_appendn(out, path.p, path.n);
    }
    if (r->has_query)
        strbuf_appendf(out, "?%.*s", (int)r->query.n, r->query.p);
    if (r->fragment.n) {
        strbuf_appendc(out, '#');
        escape_again(a, r->fragment, FRAGMENT, out);
    }
}

static struct str keep(struct arena *a, struct strbuf *b)
{
    struct str s = { arena_strndup(a, strbuf_str(b), b->len), b->len };
    strbuf_reset(b);
    return s;
}

const char *cel_uri_check(struct arena *a, struct str s)
{
    struct reading r;
    return parse(a, s, true, &r);
}

const char *cel_url_parse(struct arena *a, struct str s, struct cel_url *u)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *why = cel_uri_check(a, s), *hash = first(s, '#');
    struct reading r;

    if (!why)
        why = parse(a, hash ? until(s, hash) : s, false, &r);
    if (!why && hash) {
        r.fragment = from(s, hash + 1);
        why = cel_url_bad_escape(a, r.fragment);
    }
    if (why)
        return why;
    *u = (struct cel_url){ .scheme = r.scheme, .host = r.host, .query = r.query };
    u->hostname = u->host;
    const char *colon = last(u->host, ':');
    if (colon && is_port(from(u->host, colon))) {
        u->hostname = until(u->host, colon);
        u->port = from(u->host, colon + 1);
    }
    if (u->hostname.n > 1 && u->hostname.p[0] == '[' && u->hostname.p[u->hostname.n - 1] == ']')
        u->hostname = (struct str){ u->hostname.p + 1, u->hostname.n - 2 };
    if (str_eqz(r.path, "*"))
        strbuf_append(&b, "*");
    else
        escape_again(a, r.path, PATH, &b);
    u->path = keep(a, &b);
    print(a, &r, u->path, &b);
    u->text = keep(a, &b);
    return NULL;
}
