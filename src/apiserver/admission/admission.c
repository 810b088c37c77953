/* admission.c - runs the steps in order. */
#include "apiserver/server_int.h"

void apiserver_add_admission(struct apiserver *s, const struct admission_step *step, void *self)
{
    vec_push(&s->steps, ((struct admission_entry){ step, self }));
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

void admission_warn(const struct admission_req *r, const char *text)
{
    api_warn(r->call, "%s", text);
}

/* ---- answers that take time ------------------------------------------------------------------ */

enum { ASKED_MAX = 8 }; /* times, about a request whose object changes all the time */

struct admission_later {
    struct admission_later *next;
    struct api_call *call; /* NULL: it has ended */
    size_t step;
    struct kj_doc *obj, *old; /* what the step was asked about; NULL: nothing */
    bool answered;
    const struct api_refusal *refusal; /* NULL: allowed */
};

static struct kj_doc *copy_of(const struct kj_val *v)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    return v ? kj_freeze(kj_mborrow(d, v)) : NULL;
}

static bool same(const struct kj_doc *a, const struct kj_val *b)
{
    return a && b ? kj_equal(kj_root(a), b) : !a && !b;
}

static void later_free(struct admission_later *l)
{
    kj_doc_free(l->obj);
    kj_doc_free(l->old);
    free(l);
}

struct admission_later *admission_later(const struct admission_req *r)
{
    struct admission_later *l = xnew0(struct admission_later);

    l->call = r->call;
    l->next = r->call->laters;
    r->call->laters = l;
    return l;
}

void admission_forget(struct api_call *c)
{
    while (c->laters) {
        struct admission_later *l = c->laters;
        c->laters = l->next;
        l->call = NULL; /* who has not answered yet frees it */
        if (l->answered)
            later_free(l);
    }
}

const struct kj_val *admission_kept(const struct api_call *c)
{
    return c->laters && c->laters->answered ? kj_root(c->laters->obj) : NULL;
}

void admission_answer(struct admission_later *l, const struct admission_refusal *why)
{
    struct api_call *c = l->call;

    l->answered = true;
    if (!c) {
        later_free(l);
        return;
    }
    if (why) {
        const struct admission_req r = { .call = c };
        (void)admission_refuse(&r, why->webhook, why->code, why->reason, why->message);
        l->refusal = take(c->refusal);
    }
    api_again(c);
}

/* The answer that this step gave about this; NULL: it is to be asked. */
static const struct admission_later *answer_of(struct api_call *c, size_t step,
                                               const struct admission_req *r,
                                               const struct kj_val *obj)
{
    for (struct admission_later **at = &c->laters; *at; at = &(*at)->next) {
        struct admission_later *l = *at;
        if (l->step != step)
            continue;
        if (same(l->obj, obj) && same(l->old, r->old))
            return l;
        *at = l->next;
        later_free(l);
        break;
    }
    return NULL;
}

/* The step has said that it answers later. */
static int wait_for(struct api_call *c, size_t step, const struct admission_req *r,
                    const struct kj_val *obj, struct kerr *err)
{
    struct admission_later *l = c->laters;

    assert(l && l->call == c && !l->answered);
    l->step = step;
    l->obj = copy_of(obj);
    l->old = copy_of(r->old);
    if (++c->asked <= ASKED_MAX)
        return -EINPROGRESS;
    c->laters = l->next;
    l->call = NULL;
    return api_err_conflict(err, r->res, r->name);
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

int admission_mutate(struct apiserver *s, const struct admission_req *r, struct kj_mdoc *d,
                     struct kj_mval *obj, struct kerr *err)
{
    int changed = 0;

    vec_foreach(&s->steps, i) {
        const struct admission_step *step = s->steps.items[i].step;
        if (!step->mutate)
            continue;
        int e = step->mutate(s->steps.items[i].self, r, d, obj, err);
        if (e < 0)
            return refused(e, err);
        changed |= e;
    }
    return changed;
}

int admission_validate(struct apiserver *s, const struct admission_req *r, const struct kj_val *obj,
                       struct kerr *err)
{
    vec_foreach(&s->steps, i) {
        const struct admission_step *step = s->steps.items[i].step;
        const struct admission_later *l = answer_of(r->call, i, r, obj);
        if (!step->validate || (l && !l->refusal))
            continue;
        if (l)
            r->call->refusal = l->refusal;
        int e = l ? -EPERM : step->validate(s->steps.items[i].self, r, obj, err);
        if (e == -EINPROGRESS)
            e = wait_for(r->call, i, r, obj, err);
        if (e == -EINPROGRESS)
            return e;
        if (e < 0)
            return refused(e, err);
    }
    return 0;
}
