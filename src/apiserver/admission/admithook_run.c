/* admithook_run.c - the questions of one request, and what comes of their answers.
 *
 * A run lives while its request waits. It works on a copy of the object: when all have answered,
 * the copy is the answer of the whole step, and counts if the request still is about the object
 * that the run began with.
 */
#include "apiserver/admission/admithook_int.h"
#include "apiserver/admission/admithook_patch.h"
#include "apiserver/admission/hookcall.h"
#include "apiserver/registry/internal.h"
#include "base/klog.h"

struct question {
    struct admithook_run *run;
    const struct admithook *h;
    const struct resource *as; /* a reference of its own */
    struct hookcall *call;     /* NULL: answered */
    char uid[37];
    struct api_refusal refusal; /* of a validating one; message NULL: none */
};

struct admithook_run {
    struct admithook_run *prev, *next;
    struct admithooks *w;
    struct admithook_set *set;
    struct arena *arena;
    struct admission_req req;
    struct admission_later *later; /* NULL: nobody was asked yet */
    struct kj_doc *old, *obj;      /* obj NULL: a deletion */
    struct api_refusal refusal;    /* of the whole; message NULL: none */
    struct question *questions;    /* mutating: one at a time */
    size_t n, waiting;
    /* mutating */
    size_t at;
    unsigned round;       /* 1: those that want to see what later ones did */
    bool changed;         /* by anybody */
    bool *before, *again; /* asked before and reinvocable; to be asked in round 1 */
};

/* ---- life ------------------------------------------------------------------------------------ */

static struct admithook_run *run_new(struct admithooks *w, struct admithook_set *set,
                                     const struct admission_req *r, struct kj_doc *obj)
{
    struct admithook_run *x = xnew0(struct admithook_run);
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    x->w = w;
    x->set = set;
    x->arena = arena_new();
    x->req = *r;
    x->req.name = arena_strdup(x->arena, r->name);
    x->req.ns = arena_strdup(x->arena, r->ns);
    x->old = r->old ? kj_freeze(kj_mborrow(d, r->old)) : NULL;
    x->req.old = r->old ? kj_root(x->old) : NULL;
    x->obj = obj;
    x->next = w->runs;
    if (x->next)
        x->next->prev = x;
    w->runs = x;
    return x;
}

static void run_free(struct admithook_run *x)
{
    if (x->prev)
        x->prev->next = x->next;
    else
        x->w->runs = x->next;
    if (x->next)
        x->next->prev = x->prev;
    for (size_t i = 0; i < x->n; i++) {
        hookcall_cancel(x->questions[i].call);
        resource_unref(x->questions[i].as);
    }
    admithook_set_unref(x->set);
    kj_doc_free(x->old);
    kj_doc_free(x->obj);
    arena_free(x->arena);
    free(x);
}

static void on_gone(void *arg)
{
    run_free(arg);
}

void admithook_runs_fail(struct admithooks *w)
{
    struct kerr err;

    kerr_api(&err, -ESHUTDOWN, KR_UNAVAILABLE, "the server is shutting down");
    while (w->runs)
        api_fail(w->runs->req.call, &err); /* which ends the call, and the run with it */
}

static const struct kj_val *object_of(const struct admithook_run *x)
{
    return x->obj ? kj_root(x->obj) : NULL;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static struct api_refusal internal_error(struct arena *a, const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf details = STRBUF_INIT;
    struct kjw w = kjw_to(&details);

    kjw_obj(&w, NULL);
    kjw_arr(&w, "causes");
    kjw_obj(&w, NULL);
    kjw_str(&w, "message", why);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    return (struct api_refusal){ .code = 500,
                                 .reason = "InternalError",
                                 .message = arena_printf(a, "Internal error occurred: %s", why),
                                 .details = arena_strdup(a, details.data) };
}

/* It could not be asked, or its answer is none. Message NULL: that does not matter. */
static struct api_refusal call_failed(struct admithook_run *x, const struct admithook *h,
                                      const char *why)
{
    KLOG_W("Failed calling webhook", KV_S("webhook", h->name), KV_S("configuration", h->config),
           KV_S("policy", h->ignore_failure ? "Ignore" : "Fail"), KV_S("reason", why));
    if (h->ignore_failure)
        return (struct api_refusal){ 0 };
    return internal_error(
        x->arena, arena_printf(x->arena, "failed calling webhook \"%s\": %s", h->name, why));
}

/* As kube-apiserver refuses what it cannot decide about. */
static struct api_refusal forbidden(const struct admithook_run *x, const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf details = STRBUF_INIT, what = STRBUF_INIT;
    const struct resource *res = x->req.res;
    const char *name = x->req.name;
    struct kjw w = kjw_to(&details);

    if (!*name && x->obj && !*x->req.subresource)
        name = kj_str_or(kj_path(kj_root(x->obj), "metadata.name"), "");
    strbuf_appendf(&what, "%s%s%s", res->plural, *res->group ? "." : "", res->group);
    if (*name)
        strbuf_appendf(&what, " \"%s\"", name);
    kjw_obj(&w, NULL);
    if (*name)
        kjw_str(&w, "name", name);
    if (*res->group)
        kjw_str(&w, "group", res->group);
    kjw_str(&w, "kind", res->plural);
    kjw_end(&w);
    return (struct api_refusal){ .code = 403,
                                 .reason = "Forbidden",
                                 .message =
                                     arena_printf(x->arena, "%s is forbidden: %s", what.data, why),
                                 .details = arena_strdup(x->arena, details.data) };
}

/* Conditions that cannot be decided are as a webhook that cannot be asked. */
static int conditions_hold(struct admithook_run *x, const struct admithook *h,
                           const struct resource *as)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    int e = admithook_conditions_match(h, &x->req, as, object_of(x), &why);

    if (e >= 0)
        return e;
    KLOG_W("Failed evaluating match conditions", KV_S("webhook", h->name),
           KV_S("configuration", h->config), KV_S("policy", h->ignore_failure ? "Ignore" : "Fail"),
           KV_S("reason", why.data));
    if (!h->ignore_failure)
        x->refusal = forbidden(x, why.data);
    return 0;
}

/* What stands between a webhook and its question; message NULL: nothing. */
static struct api_refusal not_to_ask(struct admithook_run *x, const struct admithook *h)
{
    if (x->req.dry_run && !h->dry_run_safe)
        return (struct api_refusal){
            .code = 400,
            .reason = "BadRequest",
            .message = arena_printf(x->arena, "admission webhook \"%s\" does not support dry run",
                                    h->name),
        };
    return (struct api_refusal){ 0 };
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void on_answer(void *arg, const char *error, const char *body, size_t n);

static void ask(struct question *q)
{
    struct admithook_run *x = q->run;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (!x->later) {
        x->later = admission_later(&x->req);
        admission_on_gone(x->later, on_gone, x);
    }
    uid_new(x->w->s->loop, q->uid);
    admithook_review_write(q->h, q->as, &x->req, object_of(x), q->uid, &text);
    x->waiting++;
    q->call = hookcall_start(x->w->calls, kj_get(q->h->spec, "clientConfig"), q->h->timeout_s,
                             text.data, text.len, on_answer, q);
}

/* 1: it is to be asked, as *ret_as. Negative: x->refusal says why not. */
static int wants(struct admithook_run *x, const struct admithook *h, const struct resource **ret_as)
{
    struct kerr err = { 0 };

    *ret_as = admithook_rules_match(h, &x->req);
    int e = *ret_as ? selectors_match(x->w->s, h->spec, &x->req, object_of(x), &err) : 0;
    if (e < 0)
        x->refusal = (struct api_refusal){ .code = kreason_http(err.reason),
                                           .reason = kreason_name(err.reason),
                                           .message = arena_strdup(
                                               x->arena, api_err_text(x->req.call, &err)) };
    if (e > 0)
        e = conditions_hold(x, h, *ret_as);
    if (e > 0)
        x->refusal = not_to_ask(x, h);
    return x->refusal.message ? -EPERM : e;
}

/* Somebody wants to know by its rules alone: the rest of the requests costs no more than this. */
static bool concerns_any(const struct admithook_list *l, const struct admission_req *r)
{
    vec_foreach(l, i)
        if (admithook_rules_match(&l->items[i], r))
            return true;
    return false;
}

/* Before anybody was asked: the outcome is the step's own. */
static int finish_now(struct admithook_run *x)
{
    struct api_call *c = x->req.call;
    int e = 0;

    if (x->refusal.message) {
        struct api_refusal *r = arena_new0(c->arena, struct api_refusal);
        *r = x->refusal;
        r->message = arena_strdup(c->arena, r->message);
        r->details = r->details ? arena_strdup(c->arena, r->details) : NULL;
        c->refusal = r;
        e = -EPERM;
    }
    run_free(x);
    return e;
}

static void finish(struct admithook_run *x)
{
    struct admission_later *l = take(x->later);
    struct arena *texts = take(x->arena); /* of the refusal, which the answer still reads */
    struct api_refusal r = x->refusal;
    struct kj_doc *obj = x->changed ? take(x->obj) : NULL;

    x->arena = arena_new();
    run_free(x);
    if (r.message)
        admission_answer_status(l, r.code, r.reason, r.message, r.details);
    else
        admission_answer_object(l, obj);
    arena_free(texts);
}

/* ---- mutating -------------------------------------------------------------------------------- */

/* After a change all that were asked before it, and want to, are asked once more. */
static void require_again(struct admithook_run *x)
{
    for (size_t i = 0; i < x->set->mutating.n; i++) {
        x->again[i] |= x->before[i];
        x->before[i] = false;
    }
}

/* The server's own steps see what webhooks made of the object, and these what those did. */
static bool begin_round(struct admithook_run *x)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kerr err = { 0 };

    if (x->round || !x->changed || !x->obj)
        return false;
    x->round = 1;
    x->at = 0;
    struct kj_mval *v = kj_mcopy(d, kj_root(x->obj));
    int e = admission_mutate_builtin(x->w->s, &x->req, d, v, &err);
    if (e < 0) {
        x->refusal = (struct api_refusal){ .code = kreason_http(err.reason),
                                           .reason = kreason_name(err.reason),
                                           .message = arena_strdup(
                                               x->arena, api_err_text(x->req.call, &err)) };
        return false;
    }
    if (e > 0)
        object_default(x->req.res, d, v);
    struct kj_doc *now = kj_freeze(v);
    if (!kj_equal(kj_root(now), kj_root(x->obj)))
        require_again(x);
    kj_doc_free(x->obj);
    x->obj = now;
    return true;
}

/* Asks the next webhook that wants to know; false: there is none any more. */
static bool ask_next(struct admithook_run *x)
{
    const struct admithook_list *list = &x->set->mutating;
    struct question *q = x->questions;

    do {
        for (; x->at < list->n; x->at++) {
            const struct admithook *h = &list->items[x->at];
            const struct resource *as;
            if (x->round && !x->again[x->at])
                continue;
            int e = wants(x, h, &as);
            if (e < 0)
                return false;
            if (e == 0)
                continue;
            resource_unref(q->as);
            *q = (struct question){ .run = x, .h = h, .as = resource_ref(as) };
            ask(q);
            return true;
        }
    } while (begin_round(x));
    return false;
}

static void take_patch(struct admithook_run *x, const struct question *q,
                       const struct admithook_answer *a)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    struct kj_doc *now = NULL;

    if (!a->patch)
        return;
    if (!x->obj) {
        strbuf_appendf(&why,
                       "admission webhook \"%s\" attempted to modify the object, which is not "
                       "supported for this operation",
                       q->h->name);
    } else if (admithook_patch(&x->req, q->as, kj_root(x->obj), kj_root(a->patch), &now, &why) ==
               0) {
        if (!kj_equal(kj_root(now), kj_root(x->obj))) {
            x->changed = true;
            require_again(x);
        }
        kj_doc_free(x->obj);
        x->obj = now;
        return;
    }
    x->refusal = internal_error(x->arena, why.data);
}

/* What one said; x->refusal is the end of the request. */
static struct api_refusal judge(struct admithook_run *x, const struct question *q,
                                const char *error, const char *body, size_t n,
                                struct admithook_answer *ret)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    int e = 0;

    if (error)
        strbuf_appendf(&why, "failed to call webhook: %s", error);
    else
        e = admithook_answer_read(body, n, q->h->version, q->uid, q->h->mutating, ret, &why);
    if (error || e == -EBADMSG)
        return call_failed(x, q->h, why.data);
    if (e < 0)
        return internal_error(x->arena, why.data);
    for (size_t i = 0; i < kj_len(ret->warnings); i++)
        admission_later_warn(x->later, kj_str_or(kj_at(ret->warnings, i), ""));
    if (ret->allowed)
        return (struct api_refusal){ 0 };
    return admithook_answer_refusal(ret, q->h->name, x->arena);
}

static void on_answer(void *arg, const char *error, const char *body, size_t n)
{
    struct question *q = arg;
    struct admithook_run *x = q->run;
    CLEANUP(admithook_answer_fini) struct admithook_answer a = { 0 };

    q->call = NULL;
    x->waiting--;
    q->refusal = judge(x, q, error, body, n, &a);
    if (!q->h->mutating) {
        for (size_t i = 0; x->waiting == 0 && i < x->n && !x->refusal.message; i++)
            x->refusal = x->questions[i].refusal; /* of several, the first counts */
        if (x->waiting == 0)
            finish(x);
        return;
    }
    x->refusal = q->refusal;
    if (!x->refusal.message)
        take_patch(x, q, &a);
    if (q->h->reinvoke)
        x->before[x->at] = true;
    x->at++;
    if (x->refusal.message || !ask_next(x))
        finish(x);
}

static int admithook_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                            struct kj_mval *obj, struct kerr *err)
{
    struct admithooks *w = self;
    CLEANUP(admithook_set_unref) struct admithook_set *set = admithook_set_get(w);
    size_t n = set->mutating.n;

    (void)d, (void)err;
    if (!n || admithook_is_exempt(r->res) || !concerns_any(&set->mutating, r))
        return 0;
    struct admithook_run *x = run_new(w, take(set), r, obj ? kj_freeze(obj) : NULL);
    x->before = arena_newn0(x->arena, n, bool);
    x->again = arena_newn0(x->arena, n, bool);
    x->questions = arena_new0(x->arena, struct question);
    x->n = 1;
    return ask_next(x) ? -EINPROGRESS : finish_now(x);
}

/* ---- validating ------------------------------------------------------------------------------ */

static int admithook_validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                              struct kerr *err)
{
    struct admithooks *w = self;
    CLEANUP(admithook_set_unref) struct admithook_set *set = admithook_set_get(w);
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = NULL;
    const struct admithook_list *list = &set->validating;

    (void)err;
    if (!list->n || admithook_is_exempt(r->res) || !concerns_any(list, r))
        return 0;
    d = kj_mdoc_new();
    struct admithook_run *x = run_new(w, take(set), r, obj ? kj_freeze(kj_mborrow(d, obj)) : NULL);
    x->questions = arena_newn0(x->arena, list->n, struct question);
    vec_foreach(list, i) {
        const struct resource *as;
        int e = wants(x, &list->items[i], &as);
        if (e < 0)
            return finish_now(x);
        if (e > 0)
            x->questions[x->n++] =
                (struct question){ .run = x, .h = &list->items[i], .as = resource_ref(as) };
    }
    for (size_t i = 0; i < x->n; i++)
        ask(&x->questions[i]);
    return x->n ? -EINPROGRESS : finish_now(x);
}

const struct admission_step admithook_step = { "Webhooks", admithook_mutate, admithook_validate };
