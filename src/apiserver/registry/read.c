/* read.c - GET of one object, LIST with pages, selectors and revisions. */
#include "apiserver/registry/internal.h"
#include "base/b64.h"
#include "base/num.h"

void verb_get(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    struct store_key k = { c->res->store_res, c->ns, c->name };
    struct kerr err = { 0 };
    uint64_t want;

    (void)parse_rev_param(c->resource_version, &want, &err);
    if (!err.code && want > store_revision(c->s->store))
        kerr_api(&err, -ETIMEDOUT, KR_TIMEOUT,
                 "Timeout: Too large resource version: %llu, current: %llu",
                 (unsigned long long)want, (unsigned long long)store_revision(c->s->store));
    if (!err.code && store_get(c->s->store, &k, &doc, NULL, &err) == -ENOENT)
        api_err_not_found(&err, c->res, c->name);
    if (err.code < 0)
        api_fail(c, &err);
    else
        api_reply_object(c, 200, doc.data, doc.len);
}

/* ---- continue tokens ----------------------------------------------------------------------------
 * base64url without padding of {"v":"meta.k8s.io/v1","rv":7,"start":"ns/name\0","rem":12}. rv -1:
 * go on in the present, whatever happened meanwhile. */

struct token {
    int64_t rev;
    const char *ns, *name; /* after this key */
    int64_t rem;           /* items left, -1: not known (selectors) */
};

static const char *token_text(struct arena *a, const struct token *t)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT, out = STRBUF_INIT, start = STRBUF_INIT;
    struct kjw w = kjw_to(&json);

    strbuf_appendf(&start, "%s/%s", t->ns, t->name);
    strbuf_appendn(&start, "", 1);
    kjw_obj(&w, NULL);
    kjw_str(&w, "v", "meta.k8s.io/v1");
    kjw_i64(&w, "rv", t->rev);
    kjw_strn(&w, "start", start.data, start.len);
    if (t->rem >= 0)
        kjw_i64(&w, "rem", t->rem);
    kjw_end(&w);
    b64_encode(json.data, json.len, &out);
    while (out.len && out.data[out.len - 1] == '=')
        strbuf_truncate(&out, out.len - 1);
    for (char *p = out.data; *p; p++)
        *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
    return arena_strdup(a, out.data);
}

/* A key that a client made up and that does not stay where it belongs. */
static bool goes_up(const char *start)
{
    for (const char *p = start; *p; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.')
            return true;
        p += n;
    }
    return false;
}

static int token_parse(struct api_call *c, struct token *t, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT, json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr why = { 0 };

    strbuf_append(&in, c->continue_token);
    for (char *p = in.data; *p; p++)
        *p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
    while (in.len % 4)
        strbuf_appendc(&in, '=');
    if (b64_decode(in.data, in.len, &json) < 0)
        kerr_set(&why, -EINVAL, "it is not base64");
    else if (kj_parse(strbuf_str(&json), json.len, 0, &doc, &why) == 0 &&
             !streq(kj_str_or(kj_get(kj_root(doc), "v"), ""), "meta.k8s.io/v1"))
        kerr_set(&why, -EINVAL, "incorrect version");
    const char *start = kj_str(kj_get(kj_root(doc), "start"));
    const char *slash = start ? strchr(start, '/') : NULL;
    if (!why.code &&
        (str_empty(start) || goes_up(start) || kj_i64(kj_get(kj_root(doc), "rv"), &t->rev) < 0 ||
         t->rev < -1 || t->rev == 0))
        kerr_set(&why, -EINVAL, "incorrect encoded start resourceVersion or key");
    if (why.code)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "invalid continue token: continue key is not valid: %s", why.text);
    t->ns = slash ? arena_strndup(c->arena, start, (size_t)(slash - start)) : c->ns;
    t->name = arena_strdup(c->arena, slash ? slash + 1 : start);
    t->rem = kj_i64_or(kj_get(kj_root(doc), "rem"), -1);
    return 0;
}

/* ---- list ---------------------------------------------------------------------------------------
 */

struct listing {
    struct api_call *c;
    struct selection *sel;
    struct strbuf items;
    int64_t n;
    bool more, opened;         /* opened: items starts with the head of the list */
    char *last_ns, *last_name; /* of the last one shown */
};

static void show_item(struct listing *l, const char *doc, size_t n, struct kj_doc **parsed)
{
    struct api_call *c = l->c;
    if (l->n)
        strbuf_appendc(&l->items, ',');
    l->n++;
    if (c->format == API_AS_METADATA) {
        object_metadata_only(doc, n, true, &l->items);
    } else if (c->format == API_AS_TABLE) {
        if (!*parsed)
            (void)object_load(c->res, doc, n, parsed, NULL);
        table_row(c, kj_root(*parsed), &l->items);
    } else {
        object_show(c->res, doc, n, true, &l->items);
    }
}

static bool on_item(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct listing *l = arg;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;

    (void)rev;
    if (!selection_match(l->sel, k, doc, n, &parsed))
        return true;
    if (l->c->limit > 0 && l->n >= l->c->limit) {
        l->more = true;
        return false;
    }
    show_item(l, doc, n, &parsed);
    if (l->c->limit > 0 && l->n == l->c->limit) {
        l->last_ns = xstrdup(k->ns);
        l->last_name = xstrdup(k->name);
    }
    return true;
}

static void listing_fini(struct listing *l)
{
    strbuf_fini(&l->items);
    free(l->last_ns);
    free(l->last_name);
}

/* Which state is asked for: *at 0 is now. */
static int choose_revision(struct api_call *c, struct token *t, uint64_t *at, struct kerr *err)
{
    uint64_t now = store_revision(c->s->store), rv;
    int e;

    *at = 0;
    if (c->continue_token) {
        if (c->resource_version && !streq(c->resource_version, "0"))
            return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                            "specifying resource version is not allowed when using continue");
        e = token_parse(c, t, err);
        if (e < 0)
            return e;
        if (t->rev > 0)
            *at = (uint64_t)t->rev;
        return 0;
    }
    if (parse_rev(c->resource_version, &rv) < 0) {
        char q[80];
        text_quote(q, sizeof q, c->resource_version, strlen(c->resource_version));
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "invalid resource version: resourceVersion: Invalid value: %s: "
                        "strconv.ParseUint: parsing %s: invalid syntax",
                        q, q);
    }
    if (rv > now)
        return kerr_api(err, -ETIMEDOUT, KR_TIMEOUT,
                        "Timeout: Too large resource version: %llu, current: %llu",
                        (unsigned long long)rv, (unsigned long long)now);
    bool exact = c->rv_match ? streq(c->rv_match, "Exact") : c->limit > 0;
    if (rv > 0 && exact)
        *at = rv;
    return 0;
}

static void fail_expired(struct api_call *c, const struct token *t)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct token again = *t;

    if (!c->continue_token) {
        status_write(&b, NULL, "The resourceVersion for the provided list is too old.", "Expired",
                     NULL, 410);
    } else {
        again.rev = -1;
        status_write(&b,
                     arena_printf(c->arena, "{\"continue\":\"%s\"}", token_text(c->arena, &again)),
                     "The provided continue parameter is too old to display a consistent list "
                     "result. You can start a new list without the continue parameter, or use the "
                     "continue token in this response to retrieve the remainder of the results. "
                     "Continuing with the provided token results in an inconsistent list - "
                     "objects that were created, modified, or deleted between the time the first "
                     "chunk was returned and now may show up in the list.",
                     "Expired", NULL, 410);
    }
    api_reply(c, 410, b.data, b.len);
}

/* ListMeta as text. */
static const char *list_meta(struct listing *l, const struct token *t, uint64_t shown_rev)
{
    struct api_call *c = l->c;
    const char *ns = c->res->namespaced && *c->ns ? c->ns : NULL;
    struct token next = { (int64_t)shown_rev, l->last_ns, l->last_name, -1 };

    if (!l->more)
        return arena_printf(c->arena, "{\"resourceVersion\":\"%llu\"}",
                            (unsigned long long)shown_rev);
    if (!l->sel) {
        int64_t total =
            c->continue_token ? t->rem : (int64_t)store_count(c->s->store, c->res->store_res, ns);
        if (total > l->n)
            next.rem = total - l->n;
    }
    const char *text = token_text(c->arena, &next);
    if (next.rem > 0)
        return arena_printf(c->arena,
                            "{\"resourceVersion\":\"%llu\",\"continue\":\"%s\","
                            "\"remainingItemCount\":%lld}",
                            (unsigned long long)shown_rev, text, (long long)next.rem);
    return arena_printf(c->arena, "{\"resourceVersion\":\"%llu\",\"continue\":\"%s\"}",
                        (unsigned long long)shown_rev, text);
}

static void open_list(const struct listing *l, const char *meta, struct strbuf *out)
{
    const struct resource *r = l->c->res;
    bool partial = l->c->format == API_AS_METADATA;

    strbuf_appendf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":%s,\"items\":[",
                   partial ? "PartialObjectMetadataList" : r->list_kind,
                   partial ? "meta.k8s.io/v1" : resource_api_version(r, l->c->arena), meta);
}

static void reply_list(struct listing *l, const char *meta)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct api_call *c = l->c;

    if (c->format == API_AS_TABLE) {
        table_wrap(c, meta, &l->items, true, &out);
    } else if (!l->opened) {
        open_list(l, meta, &out);
        strbuf_appendn(&out, strbuf_str(&l->items), l->items.len);
        strbuf_append(&out, "]}");
    } else {
        strbuf_append(&l->items, "]}");
    }
    if (l->opened)
        api_reply(c, 200, l->items.data, l->items.len);
    else
        api_reply(c, 200, out.data, out.len);
}

void verb_list(struct api_call *c)
{
    const char *ns = c->res->namespaced && *c->ns ? c->ns : NULL;
    struct listing l = { .c = c };
    struct token t = { 0 };
    struct kerr err = { 0 };
    uint64_t at;

    if (choose_revision(c, &t, &at, &err) < 0 || selection_new(c, &l.sel, &err) < 0) {
        api_fail(c, &err);
        return;
    }
    struct store_key after = { c->res->store_res, t.ns, t.name };
    uint64_t shown = at ? at : store_revision(c->s->store);
    /* A whole list can be large: it is written in one piece, its metadata being known. */
    if (c->limit <= 0 && c->format != API_AS_TABLE) {
        open_list(&l, list_meta(&l, &t, shown), &l.items);
        l.opened = true;
    }
    int e = store_list(c->s->store, c->res->store_res, ns, at, t.name ? &after : NULL, on_item, &l,
                       &err);
    if (e == -EIDRM)
        fail_expired(c, &t);
    else if (e < 0)
        api_fail(c, &err);
    else
        reply_list(&l, list_meta(&l, &t, shown));
    listing_fini(&l);
}
