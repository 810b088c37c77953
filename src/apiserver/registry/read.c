/* read.c - GET of one object, LIST with pages, selectors and revisions. */
#include "apiserver/http/protobuf.h"
#include "apiserver/registry/convert.h"
#include "apiserver/registry/internal.h"
#include "apiserver/registry/list_text.h"
#include "apiserver/schema/types.h"

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
        api_err_not_found(c, &err, c->res, c->name);
    if (err.code < 0)
        api_fail(c, &err);
    else
        api_reply_object(c, 200, doc.data, doc.len);
}

/* ---- list ---------------------------------------------------------------------------------------
 */

struct listing {
    struct api_call *c;
    struct selection *sel;
    const struct t_type *protobuf; /* items are encoded by this; NULL: JSON */
    struct strbuf items;
    int64_t n;
    int64_t missing; /* conversions that a webhook has to make first */
    int64_t ahead;   /* so many of them, and items, are looked at before the webhook is asked */
    struct kerr *err;
    bool more;
    char *last_ns, *last_name; /* of the last one shown */
};

static void show_protobuf(struct listing *l, const char *doc, size_t n, struct kj_doc **parsed)
{
    if (!*parsed)
        (void)object_load(l->c->res, doc, n, parsed, NULL);
    protobuf_put_item(l->protobuf, kj_root(*parsed), &l->items);
}

static void show_item(struct listing *l, const char *doc, size_t n, struct kj_doc **parsed)
{
    struct api_call *c = l->c;
    if (l->n && !l->protobuf)
        strbuf_appendc(&l->items, ',');
    l->n++;
    if (l->protobuf) {
        show_protobuf(l, doc, n, parsed);
    } else if (c->format == API_AS_METADATA) {
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
    int e = convert_stored(l->c, l->c->res, &doc, &n, l->err);
    if (e == -EINPROGRESS)
        return ++l->missing + l->n < l->ahead;
    if (e < 0)
        return false;
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
    if (c->list_rev) /* what was looked at when the conversions were asked for */
        *at = c->list_rev;
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

static void open_list(const struct api_call *c, const char *meta, size_t items, bool protobuf,
                      struct strbuf *out)
{
    bool partial = c->format == API_AS_METADATA;
    const char *kind = partial ? "PartialObjectMetadataList" : c->res->list_kind,
               *version = partial ? "meta.k8s.io/v1" : resource_api_version(c->res, c->arena);

    if (protobuf)
        protobuf_open_list(version, kind, meta, items, out);
    else if (c->format == API_AS_TABLE)
        table_open(c, meta, true, out);
    else
        strbuf_appendf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":%s,\"items\":[",
                       kind, version, meta);
}

static void reply_list(struct api_call *c, const char *meta, struct list_text *items, bool protobuf)
{
    CLEANUP(strbuf_fini) struct strbuf head = STRBUF_INIT, tail = STRBUF_INIT;

    open_list(c, meta, items->items.len, protobuf, &head);
    if (protobuf)
        protobuf_close_list(&tail);
    else
        strbuf_append(&tail, "]}");
    api_reply_list(c, &(struct api_list){
                          .head = { head.data, head.len },
                          .items = items,
                          .tail = { tail.data, tail.len },
                      });
}

/* ---- one text for all
 * -----------------------------------------------------------------------------
 */

/* The table by which items are encoded, when the carrier can say so in its answer. */
static const struct t_type *protobuf_of(const struct api_call *c)
{
    if (!c->sink->reply_list || !c->reply_type || !streq(c->reply_type, PROTOBUF_TYPE))
        return NULL;
    return c->format == API_AS_METADATA
               ? &meta_partial_object_metadata
               : types_find_message(c->res->group, c->res->version, c->res->kind);
}

/* Everything that the text of the items depends on but the objects; NULL: only this call has use
 * for it. */
static const char *share_key(const struct api_call *c, const struct listing *l, uint64_t at)
{
    if (at || c->limit > 0 || c->continue_token || !c->sink->reply_list)
        return NULL;
    return arena_printf(c->arena, "%llu %s %s %s %s %d %d %d %s %s",
                        (unsigned long long)res_table_generation(c->s->resources), c->res->group,
                        c->res->version, c->res->plural, c->ns, (int)c->format, (int)c->include,
                        l->protobuf != NULL, str_or(c->label_selector, ""),
                        str_or(c->field_selector, ""));
}

/* Clients that take their time, each with another list, hold no more than this together. */
static bool fits(struct api_call *c, const struct strbuf *items)
{
    if (items->cap <= API_LIST_SMALL || c->s->texts.bytes + items->cap <= API_LISTS_MAX ||
        c->s->texts.bytes == 0)
        return true;
    c->retry_after_s = 1;
    return false;
}

/* The items as text; NULL: the call was answered with an error. */
static struct list_text *encode_items(struct listing *l, const struct token *t, uint64_t at)
{
    struct api_call *c = l->c;
    const char *ns = c->res->namespaced && *c->ns ? c->ns : NULL, *key = share_key(c, l, at);
    uint64_t changed = store_changed(c->s->store, c->res->store_res);
    struct store_key after = { c->res->store_res, t->ns, t->name };
    struct list_text *shared = key ? list_text_find(&c->s->texts, key, changed) : NULL;
    struct kerr err = { 0 };

    if (shared) {
        l->n = shared->n;
        return shared;
    }
    l->err = &err;
    int e = store_list(c->s->store, c->res->store_res, ns, at, t->name ? &after : NULL, on_item, l,
                       &err);
    if (e == 0 && l->missing) {
        c->list_rev = at ? at : store_revision(c->s->store);
        convert_wait_again(c);
        return NULL;
    }
    e = e == 0 ? err.code : e;
    if (e == 0 && !fits(c, &l->items))
        e = kerr_api(&err, -EAGAIN, KR_TOO_MANY_REQUESTS,
                     "Too many requests, please try again later.");
    if (e == -EIDRM)
        fail_expired(c, t);
    else if (e < 0)
        api_fail(c, &err);
    return e < 0 ? NULL : list_text_new(&c->s->texts, key, changed, &l->items, l->n);
}

/* As many as the page may need, not all that there are. Where a selector leaves most out nobody
 * knows how many these are: more each time, so that a few rounds see all of them. */
static int64_t look_ahead(const struct api_call *c, const struct selection *sel)
{
    enum { FIRST = 100, DOUBLED_MAX = 20 };

    if (c->limit <= 0)
        return INT64_MAX;
    return sel ? MAX(c->limit, (int64_t)FIRST << MIN(convert_waits(c), (unsigned)DOUBLED_MAX))
               : c->limit;
}

void verb_list(struct api_call *c)
{
    struct listing l = { .c = c, .protobuf = protobuf_of(c) };
    struct token t = { 0 };
    struct kerr err = { 0 };
    uint64_t at;

    if (choose_revision(c, &t, &at, &err) < 0 || selection_new(c, &l.sel, &err) < 0) {
        api_fail(c, &err);
        return;
    }
    l.ahead = look_ahead(c, l.sel);
    uint64_t shown = at ? at : store_revision(c->s->store);
    CLEANUP(list_text_unref) struct list_text *items = encode_items(&l, &t, at);
    if (items)
        reply_list(c, list_meta(&l, &t, shown), items, l.protobuf != NULL);
    listing_fini(&l);
}
