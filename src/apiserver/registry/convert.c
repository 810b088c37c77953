/* convert.c - conversion by webhooks: what is asked, by whom, and what is kept of the answers. */
#include "apiserver/registry/convert.h"

#include "apiserver/admission/admithook.h"
#include "apiserver/admission/hookcall.h"
#include "apiserver/crd/conversion.h"
#include "apiserver/registry/internal.h"
#include "base/klog.h"
#include "base/map.h"

#include <stdio.h>

enum {
    BATCH_OBJECTS = 100, /* in one review */
    BATCH_BYTES = 1 << 20,
    KEPT_BYTES = 4 << 20, /* of documents that nobody uses */
    ROUNDS_MAX = 16,      /* of a call whose object changes all the time */
    TIMEOUT_S = 30,       /* as kube-apiserver's client */
};

/* One document on its way from one version to another. */
struct converted {
    struct converted *prev, *next; /* those that nobody uses, oldest first */
    unsigned refs;                 /* calls and the batch */
    char key[200];
    struct crd_conversion *by;
    char *api_version, *kind; /* which it gets; of the source, as messages show it */
    char *source, *text;      /* until it was asked; since it was answered */
    size_t source_n, n;
    bool asked;
    struct vec_of(struct call_conversions *) waiters;
};

struct batch {
    struct batch *prev, *next;
    struct conversions *all;
    struct hookcall *call;
    char uid[37];
    struct vec_of(struct converted *) list;
};

/* What one call has and waits for. */
struct call_conversions {
    struct api_call *c;
    struct vec_of(struct converted *) held, wanted;
    size_t waiting; /* for so many of held */
    char *error;
    convert_done_fn fn;
    void *arg;
    struct kj_doc *written, *written_as; /* of a write; written_as NULL: it is being asked */
    struct converted *writing;
    unsigned rounds; /* of a write */
    unsigned waits;
};

struct conversions {
    struct apiserver *s;
    struct map all; /* by key */
    struct converted *oldest, *newest;
    size_t kept;
    struct batch *batches;
    struct vec_of(struct call_conversions *) ready;
    struct vec_of(struct call_conversions *) waiting;
};

/* ---- documents ------------------------------------------------------------------------------- */

static void unlink_kept(struct conversions *x, struct converted *v)
{
    *(v->prev ? &v->prev->next : &x->oldest) = v->next;
    *(v->next ? &v->next->prev : &x->newest) = v->prev;
    v->prev = v->next = NULL;
    x->kept -= v->n;
}

static void converted_free(struct conversions *x, struct converted *v)
{
    if (map_getz(&x->all, v->key) == v)
        map_removez(&x->all, v->key);
    vec_fini(&v->waiters);
    crd_conversion_unref(v->by);
    free(v->api_version);
    free(v->kind);
    free(v->source);
    free(v->text);
    free(v);
}

/* The last one to use a document leaves it for others. */
static void converted_unref(struct conversions *x, struct converted *v)
{
    if (--v->refs > 0)
        return;
    if (!v->text || map_getz(&x->all, v->key) != v) {
        converted_free(x, v);
        return;
    }
    v->prev = x->newest;
    *(x->newest ? &x->newest->next : &x->oldest) = v;
    x->newest = v;
    x->kept += v->n;
    while (x->kept > KEPT_BYTES) {
        struct converted *old = x->oldest;
        unlink_kept(x, old);
        converted_free(x, old);
    }
}

static struct converted *converted_ref(struct conversions *x, struct converted *v)
{
    if (v->refs++ == 0)
        unlink_kept(x, v);
    return v;
}

/* apiVersion and kind of a document in the form of store: both stand at its beginning. */
static struct str head_value(const char *doc, size_t n, const char *mark)
{
    const char *p = memmem(doc, MIN(n, (size_t)1024), mark, strlen(mark));
    if (!p)
        return (struct str){ "", 0 };
    p += strlen(mark);
    return (struct str){ p, strcspn(p, "\"") };
}

static char *kind_shown(const char *doc, size_t n)
{
    struct str version = head_value(doc, n, "\"apiVersion\":\"");
    struct str kind = head_value(doc, n, "{\"kind\":\"");

    return xasprintf("%.*s, Kind=%.*s", (int)version.n, version.p, (int)kind.n, kind.p);
}

/* The one for this text, which may be there already; a reference. */
static struct converted *converted_get(struct conversions *x, struct crd_conversion *by,
                                       const char *api_version, const char *doc, size_t n)
{
    struct converted *v;
    char key[sizeof v->key];

    const char *version = strrchr(api_version, '/');

    /* The id stands for the definition, and so for the group. */
    (void)snprintf(key, sizeof key, "%llu %s %llx %zu", (unsigned long long)crd_conversion_id(by),
                   version ? version : api_version, (unsigned long long)hash_bytes(doc, n), n);
    v = map_getz(&x->all, key);
    if (v)
        return converted_ref(x, v);
    v = xnew0(struct converted);
    v->refs = 1;
    memcpy(v->key, key, sizeof key);
    v->by = crd_conversion_ref(by);
    v->api_version = xstrdup(api_version);
    v->kind = kind_shown(doc, n);
    v->source = xstrndup(doc, n);
    v->source_n = n;
    map_putz(&x->all, v->key, v);
    return v;
}

/* ---- a call ---------------------------------------------------------------------------------- */

static struct call_conversions *of_call(struct api_call *c)
{
    if (!c->conversions) {
        c->conversions = xnew0(struct call_conversions);
        c->conversions->c = c;
    }
    return c->conversions;
}

/* Nobody tells it any more. */
static void stop_waiting(struct conversions *x, struct call_conversions *w)
{
    vec_foreach(&w->held, i) {
        struct converted *v = w->held.items[i];
        for (size_t k = v->waiters.n; k-- > 0;)
            if (v->waiters.items[k] == w)
                vec_swap_remove(&v->waiters, k);
    }
    for (size_t i = x->ready.n; i-- > 0;)
        if (x->ready.items[i] == w)
            vec_remove(&x->ready, i);
    for (size_t i = x->waiting.n; i-- > 0;)
        if (x->waiting.items[i] == w)
            vec_swap_remove(&x->waiting, i);
    w->waiting = 0;
}

void convert_release(struct api_call *c)
{
    struct call_conversions *w = c->conversions;

    if (!w)
        return;
    stop_waiting(c->s->conversions, w);
    vec_foreach(&w->wanted, i)
        converted_unref(c->s->conversions, w->wanted.items[i]);
    vec_foreach(&w->held, i)
        converted_unref(c->s->conversions, w->held.items[i]);
    w->wanted.n = w->held.n = 0;
}

void convert_forget_written(struct api_call *c)
{
    struct call_conversions *w = c->conversions;

    if (!w)
        return;
    w->written = kj_doc_free(w->written);
    w->written_as = kj_doc_free(w->written_as);
    w->writing = NULL;
}

void convert_forget(struct api_call *c)
{
    struct call_conversions *w = c->conversions;

    if (!w)
        return;
    convert_release(c);
    convert_forget_written(c);
    vec_fini(&w->held);
    vec_fini(&w->wanted);
    free(w->error);
    free(w);
    c->conversions = NULL;
}

static void convert_fail(struct api_call *c, const char *error)
{
    fail_raw(c, 500, "", error, NULL);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Those who have all they need, or never will, one after the other: each may ask again. */
static void tell_ready(struct conversions *x)
{
    while (x->ready.n) {
        struct call_conversions *w = x->ready.items[0];
        CLEANUP(mem_free) char *error = take(w->error);
        vec_remove(&x->ready, 0);
        w->fn(w->arg, w->c, error);
    }
}

static void forget_waiting(struct conversions *x, struct call_conversions *w)
{
    vec_foreach(&x->waiting, i)
        if (x->waiting.items[i] == w) {
            vec_swap_remove(&x->waiting, i);
            return;
        }
}

/* A failure is not kept: whoever needs the document next asks again. */
static void settle(struct conversions *x, struct converted *v, const char *why)
{
    CLEANUP(mem_free)
    char *error = why ? xasprintf("conversion webhook for %s%s", v->kind, why) : NULL;

    if (why)
        map_removez(&x->all, v->key);
    free(take(v->source));
    vec_foreach(&v->waiters, i) {
        struct call_conversions *w = v->waiters.items[i];
        if (error && !w->error)
            w->error = xstrdup(error);
        if (--w->waiting > 0)
            continue;
        forget_waiting(x, w);
        vec_push(&x->ready, w);
    }
    v->waiters.n = 0;
}

/* The schema of the version decides what remains of the answer, as of anything that is written. */
static void take_text(struct converted *v, struct kj_mdoc *d, struct kj_mval *obj, uint64_t rev)
{
    const struct crd_schema *schema = crd_conversion_schema(v->by, v->api_version);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_free) char *kind = xstrdup(str_or(kj_mstr_get(kj_mget(obj, "kind")), ""));

    crd_prune(schema, d, obj);
    object_write_as(kind, v->api_version, obj, rev, &text);
    v->n = text.len;
    v->text = strbuf_take(&text);
}

static int take_object(struct converted *v, const struct kj_val *converted, size_t at, size_t of,
                       struct strbuf *why)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *source = NULL;
    struct kj_mval *obj = NULL;
    struct kerr err = { 0 };
    uint64_t rev = 0;

    if (kj_parse(v->source, v->source_n, KJ_RAW_NUMBERS, &source, &err) < 0) {
        strbuf_appendf(why, " failed: %s", err.text);
        return -EBADMSG;
    }
    int e = conversion_accept(kj_root(source), converted, v->api_version, at, of, d, &obj, why);
    if (e < 0)
        return e;
    (void)parse_rev(kj_str_or(kj_path(kj_root(source), "metadata.resourceVersion"), ""), &rev);
    take_text(v, d, obj, rev);
    return 0;
}

static void batch_free(struct batch *b)
{
    *(b->prev ? &b->prev->next : &b->all->batches) = b->next;
    if (b->next)
        b->next->prev = b->prev;
    hookcall_cancel(b->call);
    vec_foreach(&b->list, i)
        converted_unref(b->all, b->list.items[i]);
    vec_fini(&b->list);
    free(b);
}

static void log_failure(const struct converted *v, const char *why)
{
    enum { SHOWN = 300 };
    CLEANUP(mem_free) char *shown = xstrndup(why, strnlen(why, SHOWN));
    KLOG_W("Failed calling conversion webhook", KV_S("definition", crd_conversion_name(v->by)),
           KV_S("from", v->kind), KV_S("to", v->api_version),
           KV_S("reason", shown + strspn(shown, " ")));
}

static void on_answer(void *arg, const char *error, const char *body, size_t n)
{
    struct batch *b = arg;
    struct conversions *x = b->all;
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *objects = NULL;
    bool logged = false;

    b->call = NULL;
    if (error)
        strbuf_appendf(&why, " failed: %s", error);
    else
        (void)conversion_read(b->list.items[0]->by, b->uid, body, n, b->list.n, &doc, &objects,
                              &why);
    vec_foreach(&b->list, i) {
        CLEANUP(strbuf_fini) struct strbuf own = STRBUF_INIT;
        if (!why.len)
            (void)take_object(b->list.items[i], kj_at(objects, i), i, b->list.n, &own);
        const char *reason = why.len ? why.data : own.len ? own.data : NULL;
        if (reason && !logged)
            log_failure(b->list.items[i], reason);
        logged |= reason != NULL;
        settle(x, b->list.items[i], reason);
    }
    batch_free(b);
    tell_ready(x);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void batch_send(struct conversions *x, struct batch *b)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct converted *first = b->list.items[0];
    struct conversion_texts objects = { 0 };

    vec_foreach(&b->list, i)
        vec_push(&objects, ((struct str){ b->list.items[i]->source, b->list.items[i]->source_n }));
    uid_new(x->s->loop, b->uid);
    conversion_write(first->by, b->uid, first->api_version, &objects, &body);
    vec_fini(&objects);
    b->call = hookcall_start(admithooks_calls(x->s->webhooks), crd_conversion_client(first->by),
                             TIMEOUT_S, body.data, body.len, on_answer, b);
}

static struct batch *batch_new(struct conversions *x)
{
    struct batch *b = xnew0(struct batch);

    b->all = x;
    b->next = x->batches;
    if (b->next)
        b->next->prev = b;
    x->batches = b;
    return b;
}

static bool fits(const struct batch *b, size_t bytes, const struct converted *v)
{
    const struct converted *first = b->list.items[0];

    return b->list.n < BATCH_OBJECTS && bytes + v->source_n <= BATCH_BYTES && first->by == v->by &&
           streq(first->api_version, v->api_version);
}

static void ask_all(struct conversions *x, struct call_conversions *w)
{
    struct batch *b = NULL;
    size_t bytes = 0;

    vec_foreach(&w->wanted, i) {
        struct converted *v = w->wanted.items[i];
        if (v->asked)
            continue;
        if (b && !fits(b, bytes, v)) {
            batch_send(x, b);
            b = NULL;
        }
        if (!b) {
            b = batch_new(x);
            bytes = 0;
        }
        v->asked = true;
        bytes += v->source_n;
        vec_push(&b->list, converted_ref(x, v));
    }
    if (b)
        batch_send(x, b);
}

void convert_wait(struct api_call *c, convert_done_fn fn, void *arg)
{
    struct conversions *x = c->s->conversions;
    struct call_conversions *w = of_call(c);

    assert(w->wanted.n && !w->waiting);
    w->fn = fn;
    w->arg = arg;
    w->waits++;
    w->waiting = w->wanted.n;
    vec_push(&x->waiting, w);
    vec_foreach(&w->wanted, i) {
        vec_push(&w->wanted.items[i]->waiters, w);
        vec_push(&w->held, w->wanted.items[i]);
    }
    call_waits(c);
    ask_all(x, w);
    w->wanted.n = 0;
}

static void look_again(void *arg, struct api_call *c, const char *error)
{
    (void)arg;
    if (error)
        convert_fail(c, error);
    else
        api_again(c);
}

void convert_wait_again(struct api_call *c)
{
    convert_wait(c, look_again, NULL);
}

unsigned convert_waits(const struct api_call *c)
{
    return c->conversions ? c->conversions->waits : 0;
}

int convert_wait_object(struct api_call *c, const struct resource *r, const char *name,
                        struct kerr *err)
{
    if (convert_waits(c) >= ROUNDS_MAX)
        return api_err_conflict(c, err, r, name);
    convert_wait_again(c);
    return -EINPROGRESS;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A document whose head says group/version is in the version of the resource. */
static bool is_own(const struct resource *r, struct str version)
{
    size_t n = strlen(r->group);

    return version.n == n + 1 + strlen(r->version) && memcmp(version.p, r->group, n) == 0 &&
           memcmp(version.p + n + 1, r->version, strlen(r->version)) == 0;
}

int convert_stored(struct api_call *c, const struct resource *r, const char **doc, size_t *n,
                   struct kerr *err)
{
    struct crd_conversion *by = r->crd ? crd_schema_conversion(r->crd) : NULL;
    struct conversions *x = c->s->conversions;

    if (!by)
        return 0;
    struct str version = head_value(*doc, *n, "\"apiVersion\":\"");
    if (is_own(r, version))
        return 0;
    CLEANUP(mem_free) char *from = xstrndup(version.p, version.n);
    CLEANUP(mem_free) char *to = xasprintf("%s/%s", r->group, r->version);
    const struct crd_schema *schema = crd_conversion_schema(by, from);
    if (!schema)
        return kerr_set(err, -EINVAL, "request to convert CR from an invalid group/version: %s",
                        from);
    CLEANUP(strbuf_fini) struct strbuf full = STRBUF_INIT;
    bool filled = object_fill(schema, *doc, *n, &full);
    struct converted *v =
        converted_get(x, by, to, filled ? full.data : *doc, filled ? full.len : *n);
    if (!v->text) {
        vec_push(&of_call(c)->wanted, v);
        return -EINPROGRESS;
    }
    vec_push(&of_call(c)->held, v);
    *doc = v->text;
    *n = v->n;
    return 0;
}

struct ready_later {
    convert_again_fn again;
    void *arg;
    const char *doc;
    size_t n;
};

static void on_ready(void *arg, struct api_call *c, const char *error)
{
    const struct ready_later *l = arg;

    if (error)
        convert_fail(c, error);
    else
        l->again(l->arg, c, l->doc, l->n);
}

bool convert_ready(struct api_call *c, const struct resource *r, const char **doc, size_t *n,
                   convert_again_fn again, void *arg)
{
    struct kerr err = { 0 };
    int e = convert_stored(c, r, doc, n, &err);

    if (e == 0)
        return true;
    if (e != -EINPROGRESS) {
        api_fail(c, &err);
        return false;
    }
    struct ready_later *l = arena_new0(c->arena, struct ready_later);
    *l = (struct ready_later){ again, arg, arena_strndup(c->arena, *doc, *n), *n };
    convert_wait(c, on_ready, l);
    return false;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_written(const struct call_conversions *w, const struct kj_val *obj)
{
    return w->written && w->writing &&
           (kj_equal(kj_root(w->written), obj) || managed_only_times(kj_root(w->written), obj));
}

static int take_written(struct call_conversions *w, const struct kj_val **ret, struct kerr *err)
{
    int e = w->written_as
                ? 0
                : kj_parse(w->writing->text, w->writing->n, KJ_RAW_NUMBERS, &w->written_as, err);
    if (e == 0)
        *ret = kj_root(w->written_as);
    return e;
}

int convert_written(struct api_call *c, const struct resource *r, const struct kj_val *obj,
                    const struct kj_val **ret, struct kerr *err)
{
    struct crd_conversion *by = r->crd ? crd_schema_conversion(r->crd) : NULL;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = NULL;

    *ret = NULL;
    if (!by || is_own(r, str_of(r->stored_as)))
        return 0;
    struct call_conversions *w = of_call(c);
    if (is_written(w, obj) && w->writing->text)
        return take_written(w, ret, err);
    if (++w->rounds > ROUNDS_MAX)
        return api_err_conflict(c, err, r, kj_str_or(kj_path(obj, "metadata.name"), ""));
    convert_forget_written(c);
    d = kj_mdoc_new();
    struct kj_mval *v = kj_mborrow(d, obj);
    w->written = kj_freeze(v);
    object_write_as(r->kind, resource_api_version(r, c->arena), v, 0, &text);
    w->writing = converted_get(c->s->conversions, by, r->stored_as, text.data, text.len);
    if (w->writing->text) {
        vec_push(&w->held, w->writing);
        return take_written(w, ret, err);
    }
    vec_push(&w->wanted, w->writing);
    convert_wait_again(c);
    return -EINPROGRESS;
}

const struct kj_val *convert_kept(const struct api_call *c)
{
    return c->conversions && c->conversions->written ? kj_root(c->conversions->written) : NULL;
}

/* ---- birth and end --------------------------------------------------------------------------- */

struct conversions *conversions_new(struct apiserver *s)
{
    struct conversions *x = xnew0(struct conversions);

    x->s = s;
    return x;
}

void conversions_stop(struct conversions *x)
{
    struct kerr err;

    if (!x)
        return;
    kerr_api(&err, -ESHUTDOWN, KR_UNAVAILABLE, "the server is shutting down");
    while (x->waiting.n)
        api_fail(vec_last(&x->waiting)->c, &err); /* which ends the call */
    while (x->batches)
        batch_free(x->batches);
}

struct conversions *conversions_free(struct conversions *x)
{
    if (!x)
        return NULL;
    while (x->oldest) {
        struct converted *v = x->oldest;
        unlink_kept(x, v);
        converted_free(x, v);
    }
    map_fini(&x->all);
    vec_fini(&x->ready);
    vec_fini(&x->waiting);
    free(x);
    return NULL;
}
