/* lib_url.c - URLs and their parts. */
#include <ctype.h>

#include "cel/urls.h"

static int hex(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : (tolower((unsigned char)c) - 'a') + 10;
}

static struct cel_val url(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    enum { PASSES = 4 }; /* over a host, which is the slowest part */

    (void)n;
    if (v[0].kind != CK_STRING)
        return cel_misfit();
    struct cel_url *u = arena_new0(r->a, struct cel_url);
    if (!cel_reads(r, v[0], PASSES))
        return cel_v_null();
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

/* The values of a query by key, in the order of their coming. */
struct query {
    struct cel_run *r;
    struct cel_table table;
    struct cel_entry *entries;
    struct values {
        struct cel_val *items;
        size_t n, cap;
    } * values; /* of each entry */
    uint32_t n;
};

static bool add_query(struct query *q, struct cel_val key, struct cel_val val)
{
    uint64_t h = cel_hash(q->r, key);
    uint32_t it = 0, at;

    do {
        at = cel_table_next(&q->table, h, &it);
    } while (at != UINT32_MAX && !str_eq(cel_str(q->entries[at].key), cel_str(key)));
    if (at == UINT32_MAX) {
        at = q->n++;
        q->entries[at].key = key;
        q->values[at] = (struct values){ 0 };
        cel_table_put(&q->table, h, at);
    }
    struct values *all = &q->values[at];
    return cel_append(q->r, &all->items, all->n++, &all->cap, val);
}

static size_t count_pairs(struct str q)
{
    size_t n = 1;

    for (size_t i = 0; i < q.n; i++)
        n += q.p[i] == '&';
    return n;
}

static struct cel_val get_query(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_URL)
        return cel_misfit();
    struct str text = v[0].url->query;
    size_t most = count_pairs(text);
    struct query q = { .r = r, .table.a = r->a };
    q.entries = cel_alloc(r, most, sizeof *q.entries);
    q.values = cel_alloc(r, most, sizeof *q.values);
    if (!q.entries || !q.values || !cel_work(r, text.n / 8))
        return cel_v_null();
    while (text.n) {
        const char *amp = memchr(text.p, '&', text.n);
        struct str pair = { text.p, amp ? (size_t)(amp - text.p) : text.n };
        text.p += pair.n + (amp != NULL);
        text.n -= pair.n + (amp != NULL);
        const char *eq = pair.n ? memchr(pair.p, '=', pair.n) : NULL;
        struct str key = { pair.p, eq ? (size_t)(eq - pair.p) : pair.n };
        struct str val = { eq ? eq + 1 : "", eq ? pair.n - key.n - 1 : 0 };
        if (pair.n && !memchr(pair.p, ';', pair.n) && !cel_url_bad_escape(r->a, pair) &&
            !add_query(&q, unescape(r->a, key), unescape(r->a, val)))
            break;
    }
    for (uint32_t i = 0; i < q.n && !r->cancelled; i++)
        q.entries[i].val = cel_v_list(r->a, q.values[i].items, q.values[i].n);
    return cel_v_map(r->a, q.entries, r->cancelled ? 0 : q.n);
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
