/* admission.c - runs the steps in order. */
#include "apiserver/admission/later.h"
#include "apiserver/registry/internal.h"
#include "apiserver/server_int.h"

void apiserver_add_admission(struct apiserver *s, const struct admission_step *step, void *self)
{
    vec_push(&s->steps, ((struct admission_entry){ step, self }));
}

int admission_forbid(const struct admission_req *r, struct kerr *err, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&why, fmt, ap);
    va_end(ap);
    return api_err(r->call, err, -EPERM, KR_FORBIDDEN, "%s \"%s\" is forbidden: %s",
                   resource_group_resource(r->res, r->call->arena), r->name, strbuf_str(&why));
}

int admission_refuse(const struct admission_req *r, const char *webhook, int code,
                     const char *reason, const char *message)
{
    struct arena *a = r->call->arena;
    struct api_refusal *x = arena_new0(a, struct api_refusal);

    x->code = code < 400 ? 400 : code;
    x->reason = arena_strdup(a, reason);
    x->message =
        *message
            ? arena_printf(a, "admission webhook \"%s\" denied the request: %s", webhook, message)
            : arena_printf(a, "admission webhook \"%s\" denied the request without explanation",
                           webhook);
    r->call->refusal = x;
    return -EPERM;
}

int admission_invalid(const struct admission_req *r, const struct field_errors *errors)
{
    CLEANUP(strbuf_fini) struct strbuf message = STRBUF_INIT, details = STRBUF_INIT;
    struct arena *a = r->call->arena;
    struct api_refusal *x = arena_new0(a, struct api_refusal);

    invalid_write(r->res->group, r->res->kind, r->name, errors, &message, &details);
    x->code = 422;
    x->reason = "Invalid";
    x->message = arena_strdup(a, message.data);
    x->details = arena_strdup(a, details.data);
    r->call->refusal = x;
    return -EPERM;
}

void admission_warn(const struct admission_req *r, const char *text)
{
    api_warn(r->call, "%s", text);
}

/* ---- all steps ------------------------------------------------------------------------------- */

/* A refusal without a reason is a 403. */
static int refused(int r, struct kerr *err)
{
    if (err->code == 0)
        kerr_set(err, r, "refused by admission");
    if (err->reason == KR_NONE)
        err->reason = KR_FORBIDDEN;
    return err->code;
}

/* The steps that were added, then those that come last. */
static const struct admission_entry *entry_at(const struct apiserver *s, size_t i)
{
    if (i < s->steps.n)
        return &s->steps.items[i];
    i -= s->steps.n;
    return i < s->last_steps.n ? &s->last_steps.items[i] : NULL;
}

static int refuse_later(const struct admission_req *r, const struct admission_later *l)
{
    r->call->refusal = later_use(l, r->call);
    return r->call->refusal ? -EPERM : 0;
}

static int mutate(const struct admission_entry *at, size_t i, const struct admission_req *r,
                  struct kj_mdoc *d, struct kj_mval *obj, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *now = NULL;
    const struct admission_later *l = NULL;

    if (later_expects(r->call, i, true)) {
        now = obj ? kj_freeze(obj) : NULL;
        l = later_find(r->call, i, true, r, kj_root(now));
    }
    if (l) {
        const struct kj_val *result = later_result(l);
        int e = refuse_later(r, l);
        if (e == 0 && result) {
            kj_massign(obj, kj_mcopy(d, result));
            managed_mend(r->call, d, obj, kj_root(now), result);
        }
        return e < 0 ? e : result != NULL;
    }
    int e = at->step->mutate(at->self, r, d, obj, err);
    if (e != -EINPROGRESS)
        return e;
    if (!now && obj)
        now = kj_freeze(obj);
    return later_wait(r->call, i, true, r, kj_root(now), err);
}

int admission_mutate(struct apiserver *s, const struct admission_req *r, struct kj_mdoc *d,
                     struct kj_mval *obj, struct kerr *err)
{
    const struct admission_entry *at;
    int changed = 0;

    /* Of a deletion there is nothing to change; but webhooks may refuse it. */
    for (size_t i = obj ? 0 : s->steps.n; (at = entry_at(s, i)); i++) {
        if (!at->step->mutate)
            continue;
        int e = mutate(at, i, r, d, obj, err);
        if (e == -EINPROGRESS)
            return e;
        if (e < 0)
            return refused(e, err);
        changed |= e;
    }
    return changed;
}

int admission_mutate_builtin(struct apiserver *s, const struct admission_req *r, struct kj_mdoc *d,
                             struct kj_mval *obj, struct kerr *err)
{
    int changed = 0;

    for (size_t i = 0; i < s->builtin_steps; i++) {
        const struct admission_entry *at = &s->steps.items[i];
        int e = at->step->mutate ? at->step->mutate(at->self, r, d, obj, err) : 0;
        if (e < 0)
            return refused(e, err);
        changed |= e;
    }
    return changed;
}

int admission_validate(struct apiserver *s, const struct admission_req *r, const struct kj_val *obj,
                       struct kerr *err)
{
    const struct admission_entry *at;

    for (size_t i = 0; (at = entry_at(s, i)); i++) {
        if (!at->step->validate)
            continue;
        const struct admission_later *l = later_find(r->call, i, false, r, obj);
        int e = l ? refuse_later(r, l) : at->step->validate(at->self, r, obj, err);
        if (e == -EINPROGRESS)
            e = later_wait(r->call, i, false, r, obj, err);
        if (e == -EINPROGRESS)
            return e;
        if (e < 0)
            return refused(e, err);
    }
    return 0;
}
