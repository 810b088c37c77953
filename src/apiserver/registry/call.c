/* call.c - the life of a call: dispatch, answers, writes on its behalf. */
#include <stdio.h>

#include "apiserver/admission/quota.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/ranges.h"
#include "apiserver/registry/convert.h"
#include "apiserver/registry/internal.h"
#include "apiserver/registry/list_text.h"
#include "base/klog.h"

enum { ANSWER_WITHIN_S = 60 }; /* as kube-apiserver's --request-timeout */

/* One write that the store has not answered yet. Outlives its call when that is cancelled. */
struct write_op {
    struct write_op *prev, *next;
    struct apiserver *s;
    struct api_call *c; /* NULL: cancelled */
    bool ranged;        /* accounted by ranges_account() */
    char *doc;
    size_t n;
    write_done_fn fn;
    void *arg;
};

struct api_call *api_call_new(struct apiserver *s, const struct api_sink *sink, void *sink_arg)
{
    struct arena *a = arena_new();
    struct api_call *c = arena_new0(a, struct api_call);
    c->s = s;
    c->arena = a;
    c->sink = sink;
    c->sink_arg = sink_arg;
    c->send_initial = -1;
    c->grace = -1;
    c->ns = c->name = c->sub = c->path = "";
    c->user = &api_user_anonymous;
    return c;
}

static void call_free(struct api_call *c)
{
    timer_cancel(c->late);
    if (c->on_gone)
        c->on_gone(c->gone_arg);
    if (c->op)
        c->op->c = NULL;
    admission_forget(c);
    convert_forget(c);
    if (c->watch)
        metrics_answer(c, 200);
    metrics_end(c);
    if (c->watch)
        watch_close(c->watch);
    resource_unref(c->res);
    vec_fini(&c->warnings);
    vec_foreach(&c->docs, i)
        kj_doc_free(c->docs.items[i]);
    vec_fini(&c->docs);
    arena_free(c->arena);
}

const struct kj_val *call_keep(struct api_call *c, struct kj_doc *doc)
{
    vec_push(&c->docs, doc);
    return kj_root(doc);
}

void api_cancel(struct api_call *c)
{
    call_free(c);
}

void api_resume(struct api_call *c)
{
    if (c->watch)
        watch_resume(c->watch);
}

/* ---- answers ------------------------------------------------------------------------------------
 */

static void send(struct api_call *c, int status, const char *json, size_t n)
{
    assert(!c->done);
    c->done = true;
    if (status >= 400)
        c->s->stats.errors++;
    metrics_answer(c, status);
    c->sink->reply(c->sink_arg, c, status, json, n);
    call_free(c);
}

void api_reply(struct api_call *c, int status, const char *json, size_t n)
{
    bool yaml = c->reply_type && streq(c->reply_type, "application/yaml");
    if ((c->pretty || yaml) && (!c->reply_type || yaml)) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        if (kj_parse(json, n, KJ_RAW_NUMBERS, &doc, NULL) == 0) {
            if (yaml)
                kj_write_yaml(kj_root(doc), &b);
            else
                kj_write(kj_root(doc), KJ_PRETTY, &b);
            send(c, status, b.data, b.len);
            return;
        }
    }
    send(c, status, json, n);
}

void api_reply_list(struct api_call *c, const struct api_list *l)
{
    CLEANUP(strbuf_fini) struct strbuf whole = STRBUF_INIT;
    bool rewritten = c->pretty || (c->reply_type && streq(c->reply_type, "application/yaml"));

    if (c->sink->reply_list && !rewritten) {
        assert(!c->done);
        c->done = true;
        metrics_answer(c, 200);
        c->sink->reply_list(c->sink_arg, c, l);
        call_free(c);
        return;
    }
    strbuf_reserve(&whole, l->head.n + l->items->items.len + l->tail.n);
    strbuf_appendn(&whole, l->head.p, l->head.n);
    strbuf_appendn(&whole, strbuf_str(&l->items->items), l->items->items.len);
    strbuf_appendn(&whole, l->tail.p, l->tail.n);
    api_reply(c, 200, whole.data, whole.len);
}

static void reply_object_again(void *arg, struct api_call *c, const char *doc, size_t n)
{
    api_reply_object(c, *(const int *)arg, doc, n);
}

void api_reply_object(struct api_call *c, int status, const char *doc, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    int *kept = arena_new0(c->arena, int);

    *kept = status;
    if (!convert_ready(c, c->res, &doc, &n, reply_object_again, kept))
        return;
    if (c->format == API_AS_METADATA) {
        object_metadata_only(doc, n, false, &b);
    } else if (c->format == API_AS_TABLE) {
        CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
        CLEANUP(strbuf_fini) struct strbuf rows = STRBUF_INIT, shown = STRBUF_INIT;
        object_show(c->res, doc, n, false, &shown);
        if (kj_parse(shown.data, shown.len, KJ_RAW_NUMBERS, &parsed, NULL) == 0) {
            const char *rv = kj_str_or(kj_path(kj_root(parsed), "metadata.resourceVersion"), "");
            table_row(c, kj_root(parsed), &rows);
            table_wrap(c, arena_printf(c->arena, "{\"resourceVersion\":\"%s\"}", rv), &rows, true,
                       &b);
        }
    } else {
        object_show(c->res, doc, n, false, &b);
    }
    api_reply(c, status, b.data, b.len);
}

/* Characters: beyond the first all texts are cut to the second, and then those that come when the
 * cut ones have as many left out. */
enum { WARNED_MAX = 4096, WARNING_CUT = 256 };

static size_t characters(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static const char *cut_warning(struct api_call *c, const char *text)
{
    size_t n = 0, end = 0;

    for (; text[end]; end++)
        if (((unsigned char)text[end] & 0xc0) != 0x80 && n++ == WARNING_CUT)
            return arena_strndup(c->arena, text, end);
    return text;
}

static void cut_warnings(struct api_call *c)
{
    c->warnings_cut = true;
    c->warned = 0;
    vec_foreach(&c->warnings, i) {
        c->warnings.items[i] = cut_warning(c, c->warnings.items[i]);
        c->warned += characters(c->warnings.items[i]);
    }
}

void api_warn(struct api_call *c, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    va_list ap;

    if (c->warnings_cut && c->warned >= WARNED_MAX)
        return;
    va_start(ap, fmt);
    strbuf_vappendf(&b, fmt, ap);
    va_end(ap);
    if (!b.len)
        return;
    const char *text = arena_strndup(c->arena, b.data, b.len);
    if (c->warnings_cut)
        text = cut_warning(c, text);
    vec_foreach(&c->warnings, i)
        if (streq(c->warnings.items[i], text))
            return;
    vec_push(&c->warnings, text);
    c->warned += characters(text);
    if (c->warned > WARNED_MAX && !c->warnings_cut)
        cut_warnings(c);
}

void warn_all(struct api_call *c, const struct field_errors *warnings)
{
    vec_foreach(warnings, i)
        api_warn(c, "%s: %s", warnings->items[i].path, warnings->items[i].text);
}

void warn_anew(struct api_call *c)
{
    c->warnings.n = MIN(c->warnings.n, (size_t)(c->res->deprecated ? 1 : 0)); /* it comes first */
    c->warnings_cut = false;
    c->warned = 0;
    vec_foreach(&c->warnings, i)
        c->warned += characters(c->warnings.items[i]);
}

void api_fail_too_large(struct api_call *c)
{
    struct kerr err;
    kerr_api(&err, -E2BIG, KR_TOO_LARGE, "Request entity too large: limit is %d", API_BODY_MAX);
    api_fail(c, &err);
}

/* ---- dispatch -----------------------------------------------------------------------------------
 */

/* For paths that are not the API's: no Status, but a line of text. */
static void reply_page(struct api_call *c, int status)
{
    const char *text = status == 404 ? "404 page not found\n" : "400 Bad Request";
    c->reply_type = "text/plain; charset=utf-8";
    api_reply(c, status, text, strlen(text));
}

static void reply_version(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf minor = STRBUF_INIT;
    const char *v = c->s->version, *dot = strchr(v, '.');
    struct kjw w = kjw_to(&b);

    strbuf_appendn(&minor, dot ? dot + 1 : "35", dot ? strspn(dot + 1, "0123456789") : 2);
    kjw_obj(&w, NULL);
    kjw_str(&w, "major", "1");
    kjw_str(&w, "minor", minor.data);
    kjw_str(&w, "emulationMajor", "1");
    kjw_str(&w, "emulationMinor", minor.data);
    kjw_str(&w, "minCompatibilityMajor", "1");
    kjw_str(&w, "minCompatibilityMinor",
            arena_printf(c->arena, "%ld", strtol(minor.data, NULL, 10) - 1));
    kjw_str(&w, "gitVersion", v);
    kjw_str(&w, "gitCommit", "");
    kjw_str(&w, "gitTreeState", "clean");
    kjw_str(&w, "buildDate", "1970-01-01T00:00:00Z");
    kjw_str(&w, "goVersion", "none");
    kjw_str(&w, "compiler", "C");
    kjw_str(&w, "platform", "linux/amd64");
    kjw_end(&w);
    c->pretty = true;
    api_reply(c, 200, b.data, b.len);
}

bool api_reads(const struct api_call *c)
{
    return streq(c->method, "GET") || streq(c->method, "HEAD");
}

static void run_version(struct api_call *c)
{
    struct kerr err = { 0 };

    if (!streq(c->path, "/version") && !streq(c->path, "/version/"))
        api_err_not_served(&err);
    else if (!api_reads(c))
        api_err_method(&err);
    if (err.code < 0)
        api_fail(c, &err);
    else
        reply_version(c);
}

static void run_other(struct api_call *c)
{
    if (health_handle(c))
        return;
    if (streq(c->path, "/metrics") && api_reads(c))
        metrics_reply(c);
    else if (streq(c->path, "/version") || str_starts(c->path, "/version/"))
        run_version(c);
    else if (!discovery_handle(c))
        reply_page(c, 404);
}

static void run_verb(struct api_call *c)
{
    switch (c->verb) {
    case API_GET: verb_get(c); break;
    case API_LIST: verb_list(c); break;
    case API_WATCH: verb_watch(c); break;
    case API_CREATE: verb_create(c); break;
    case API_UPDATE: verb_update(c); break;
    case API_PATCH: verb_patch(c); break;
    case API_DELETE: verb_delete(c); break;
    case API_DELETE_COLLECTION: verb_delete_collection(c); break;
    default: assert(!"no verb");
    }
}

static const struct {
    const char *sub;
    enum res_verb verb;
} parts[] = { { "status", RES_STATUS },
              { "ephemeralcontainers", RES_EPHEMERAL },
              { "resize", RES_RESIZE },
              { "approval", RES_APPROVAL } };

bool is_part(const char *sub)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (streq(parts[i].sub, sub))
            return true;
    return false;
}

enum res_verb call_res_verb(const struct api_call *c)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (streq(parts[i].sub, c->sub))
            return parts[i].verb;
    return RES_UPDATE;
}

/* Kinds that cannot be written, or only that. */
static bool has_call_verb(const struct api_call *c)
{
    static const char *const words[] = {
        [API_GET] = "get",       [API_LIST] = "list",
        [API_WATCH] = "watch",   [API_CREATE] = "create",
        [API_UPDATE] = "update", [API_PATCH] = "patch",
        [API_DELETE] = "delete", [API_DELETE_COLLECTION] = "deletecollection",
    };
    return *c->sub || resource_has_verb(c->res, words[c->verb]);
}

static void run_resource(struct api_call *c)
{
    const struct resource *r = c->res;
    struct kerr err = { 0 };

    if (!query_parse(c))
        return;
    if (!accept_parse(c)) {
        fail_not_acceptable(c);
        return;
    }
    if (c->verb == API_CREATE && !*c->sub && review_handle(c))
        return;
    if (r->deprecated)
        api_warn(c, "%s", r->deprecated);
    if (!has_call_verb(c)) {
        api_err_method(&err);
        api_fail(c, &err);
        return;
    }
    if (*c->sub && !is_part(c->sub)) {
        if (r->crd)
            crd_subresource(c->s, c);
        else if (r->strategy && r->strategy->subresource)
            r->strategy->subresource(c->s, c);
        else {
            api_err_method(&err);
            api_fail(c, &err);
        }
        return;
    }
    bool update = c->verb == API_UPDATE || c->verb == API_PATCH;
    if (is_review(r) || (*c->sub && c->verb != API_GET && !update) || (update && r->no_update)) {
        api_err_method(&err);
        api_fail(c, &err);
        return;
    }
    if (c->verb == API_CREATE && r->strategy && r->strategy->create)
        r->strategy->create(c->s, c);
    else if ((c->verb == API_GET || c->verb == API_LIST) && r->strategy && r->strategy->read)
        r->strategy->read(c->s, c);
    else
        run_verb(c);
}

void api_run(struct api_call *c)
{
    struct kerr err = { 0 };
    bool page;

    c->s->stats.requests++;
    metrics_begin(c);
    if (!authz_call(c))
        return;
    int e = path_parse(c, &page, &err);
    if (c->body_len > API_BODY_MAX) {
        api_fail_too_large(c);
    } else if (e < 0 && page) {
        reply_page(c, kreason_http(err.reason));
    } else if (e < 0) {
        api_fail(c, &err);
    } else if (c->verb == API_NONE) {
        run_other(c);
    } else {
        run_resource(c);
    }
}

/* What the request says was read before; a warning that is given once more counts once. */
void api_again(struct api_call *c)
{
    run_resource(c);
}

/* ---- calls that wait ----------------------------------------------------------------------------
 */

static void on_late(struct loop *l, void *arg)
{
    struct api_call *c = arg;
    struct kerr err;

    (void)l;
    c->late = NULL;
    kerr_api(&err, -ETIMEDOUT, KR_TIMEOUT,
             "Timeout: request did not complete within the allotted timeout");
    api_fail(c, &err);
}

void call_waits(struct api_call *c)
{
    nsec_t most = ANSWER_WITHIN_S * NSEC_PER_SEC;
    nsec_t limit = c->timeout > 0 ? MIN(c->timeout, most) : most;

    /* Our own programs have deadlines of their own, watches are there to wait, and the deletion of
     * one object of many (not counted) is asked for by another call. */
    if (!c->late && c->counted && !c->in_process && c->verb != API_WATCH)
        c->late = loop_after(c->s->loop, c->began + limit - loop_mono(c->s->loop), on_late, c);
}

/* ---- writes -------------------------------------------------------------------------------------
 */

static void op_free(struct write_op *op)
{
    if (op->prev)
        op->prev->next = op->next;
    else
        op->s->ops = op->next;
    if (op->next)
        op->next->prev = op->prev;
    if (op->c)
        op->c->op = NULL;
    free(op->doc);
    free(op);
}

static void op_done(void *arg, uint64_t rev, const struct kerr *err)
{
    struct write_op *op = arg;
    struct api_call *c = op->c;

    (void)rev;
    if (err && op->ranged)
        ranges_doubt(op->s->ranges);
    if (c) {
        c->op = NULL;
        op->c = NULL;
        op->fn(op->arg, c, op->doc, op->n, err);
    }
    op_free(op);
}

static struct write_op *op_new(struct api_call *c, struct strbuf *doc, write_done_fn fn, void *arg)
{
    struct write_op *op = xnew0(struct write_op);
    op->s = c->s;
    op->c = c;
    op->n = doc->len;
    op->doc = strbuf_take(doc);
    op->fn = fn;
    op->arg = arg;
    op->next = c->s->ops;
    if (op->next)
        op->next->prev = op;
    c->s->ops = op;
    c->op = op;
    call_waits(c);
    return op;
}

/* What quotas and the ranges of Services have to know of an object as it is before a write. */
struct account {
    bool quotas, ranges;
    struct strbuf before;
};

static void account_open(struct account *a, struct apiserver *s, const struct store_key *k)
{
    *a = (struct account){ .quotas = quotas_concern(s->quotas, k), .ranges = ranges_concern(k) };
    if (a->quotas || a->ranges)
        (void)store_get_latest(s->store, k, &a->before, NULL, NULL);
}

/* e: what the store said to the write. */
static int account_close(struct account *a, struct write_op *op, const struct store_key *k,
                         const char *doc, size_t n, int e)
{
    struct apiserver *s = op->s;

    op->ranged = a->ranges;
    if (e >= 0 && a->quotas)
        quotas_account(s->quotas, k, &a->before, doc, n);
    if (e >= 0 && a->ranges)
        ranges_account(s->ranges, k, &a->before, doc, n);
    if (e < 0)
        op_free(op);
    strbuf_fini(&a->before);
    return e;
}

int call_put(struct api_call *c, const struct store_key *k, uint64_t from, struct strbuf *doc,
             write_done_fn fn, void *arg, struct kerr *err)
{
    if (object_too_deep(doc->data, doc->len))
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "the object nests too deep: more than %d levels", OBJECT_DEPTH_MAX);
    struct write_op *op = op_new(c, doc, fn, arg);
    struct account a;

    account_open(&a, c->s, k);
    int e = store_put(c->s->store, k, from, op->doc, op->n, op_done, op, err);
    return account_close(&a, op, k, op->doc, op->n, e);
}

int call_remove(struct api_call *c, const struct store_key *k, uint64_t from, struct strbuf *doc,
                write_done_fn fn, void *arg, struct kerr *err)
{
    struct write_op *op = op_new(c, doc, fn, arg);
    struct account a;

    account_open(&a, c->s, k);
    int e = store_delete(c->s->store, k, from, op->doc, op->n, op_done, op, err);
    return account_close(&a, op, k, "", 0, e);
}

void call_drop_writes(struct apiserver *s)
{
    while (s->ops)
        op_free(s->ops);
}

int api_read(struct api_call *c, const struct resource *r, const char *ns, const char *name,
             struct kj_doc **ret_doc, uint64_t *ret_rev, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct store_key k = { r->store_res, r->namespaced ? ns : "", name };
    uint64_t rev;
    int e = store_get_latest(c->s->store, &k, &b, &rev, err);
    const char *doc = b.data;
    size_t n = b.len;

    if (e == -ENOENT)
        return api_err_not_found(c, err, r, name);
    if (e == 0)
        e = convert_stored(c, r, &doc, &n, err);
    if (e == -EINPROGRESS)
        e = convert_wait_object(c, r, name, err);
    if (e == 0)
        e = object_load(r, doc, n, ret_doc, err);
    if (e == 0 && ret_rev)
        *ret_rev = rev;
    return e;
}
