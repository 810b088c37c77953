/* lib_url.c - URLs and their parts. */
#include <ctype.h>

#include "cel/urls.h"

static int hex(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : (tolower((unsigned char)c) - 'a') + 10;
}

static struct cel_val url(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_STRING)
        return cel_misfit();
    struct cel_url *u = arena_new0(r->a, struct cel_url);
    const char *why = cel_url_parse(r->a, cel_str(v[0]), u);
    if (why)
        return cel_v_error(r->a, "URL parse error during conversion from string: parse %s: %s",
                           cel_quoted(r->a, cel_str(v[0])), why);
    return (struct cel_val){ .kind = CK_URL, .url = u };
}

static struct cel_val is_url(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val u = url(r, v, n);
    return u.kind == CK_ABSENT ? u : cel_v_bool(!cel_is_err(u));
}

#define PART(name, member)                                                             \
    static struct cel_val name(struct cel_run *r, const struct cel_val *v, unsigned n) \
    {                                                                                  \
        (void)r, (void)n;                                                              \
        return v[0].kind == CK_URL ? cel_v_str(v[0].url->member.p, v[0].url->member.n) \
                                   : cel_misfit();                                     \
    }
PART(get_scheme, scheme)
PART(get_host, host)
PART(get_hostname, hostname)
PART(get_port, port)
PART(get_path, path)

static struct cel_val unescape(struct arena *a, struct str s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '%' && i + 2 < s.n) {
            strbuf_appendc(&b, (char)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2])));
            i += 2;
        } else {
            strbuf_appendc(&b, s.p[i] == '+' ? ' ' : s.p[i]);
        }
    }
    return cel_v_take(a, &b);
}

/* Adds a value to the list of its key. */
static void add_query(struct arena *a, struct cel_entry *e, uint32_t *n, struct cel_val key,
                      struct cel_val val)
{
    uint32_t i = 0;

    while (i < *n && !str_eq(cel_str(e[i].key), cel_str(key)))
        i++;
    struct cel_val one = cel_v_list(a, memcpy(arena_alloc(a, sizeof val, 16), &val, sizeof val), 1);
    e[i] = (struct cel_entry){ key, i < *n ? cel_list_concat(a, e[i].val, one) : one };
    *n += i == *n;
}

static struct cel_val get_query(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    uint32_t count = 0;

    (void)n;
    if (v[0].kind != CK_URL)
        return cel_misfit();
    struct str q = v[0].url->query;
    struct cel_entry *e = arena_alloc(r->a, (q.n + 2) * sizeof *e, 16);
    while (q.n) {
        const char *amp = memchr(q.p, '&', q.n);
        struct str pair = { q.p, amp ? (size_t)(amp - q.p) : q.n };
        q.p += pair.n + (amp != NULL);
        q.n -= pair.n + (amp != NULL);
        const char *eq = pair.n ? memchr(pair.p, '=', pair.n) : NULL;
        struct str key = { pair.p, eq ? (size_t)(eq - pair.p) : pair.n };
        struct str val = { eq ? eq + 1 : "", eq ? pair.n - key.n - 1 : 0 };
        if (pair.n && !memchr(pair.p, ';', pair.n) && !cel_url_bad_escape(r->a, pair))
            add_query(r->a, e, &count, unescape(r->a, key), unescape(r->a, val));
    }
    return cel_v_map(r->a, e, count);
}

static const struct cel_type query_type = { .kind = CT_MAP,
                                            .name = "map",
                                            .key = &cel_string,
                                            .elem = &cel_list_string,
                                            .size_max = CEL_SIZE_UNKNOWN };
static const struct cel_overload o_url[] = { CEL_GLOBAL(&cel_url, &cel_string) };
static const struct cel_overload o_is_url[] = { CEL_GLOBAL(&cel_bool, &cel_string) };
static const struct cel_overload o_part[] = { CEL_MEMBER(&cel_string, &cel_url) };
static const struct cel_overload o_query[] = { CEL_MEMBER(&query_type, &cel_url) };
static const struct cel_function functions[] = {
    CEL_FN("url", url, o_url, .cost = CC_TENTH_SIZED), CEL_FN("isURL", is_url, o_is_url),
    CEL_FN("getScheme", get_scheme, o_part),           CEL_FN("getHost", get_host, o_part),
    CEL_FN("getHostname", get_hostname, o_part),       CEL_FN("getPort", get_port, o_part),
    CEL_FN("getEscapedPath", get_path, o_part),        CEL_FN("getQuery", get_query, o_query),
};
const struct cel_library cel_lib_url = { functions, ARRAY_LEN(functions) };
