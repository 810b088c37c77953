/* later.c - answers that take time. */
#include "apiserver/admission/later.h"

#include "apiserver/registry/internal.h"

enum { ASKED_MAX = 16 }; /* times, about a request whose object changes all the time */

struct admission_later {
    struct admission_later *next;
    struct api_call *call; /* NULL: it has ended */
    size_t step;
    bool mutating, answered;
    struct kj_doc *obj, *old;          /* what the step was asked about; NULL: nothing */
    struct kj_doc *result;             /* NULL: the object stays as it was */
    const struct api_refusal *refusal; /* in the call's arena; NULL: allowed */
    struct vec_of(char *) warnings;
    void (*gone)(void *arg);
    void *gone_arg;
};

static struct kj_doc *copy_of(const struct kj_val *v)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    return v ? kj_freeze(kj_mborrow(d, v)) : NULL;
}

/* An object that is made once more notes another time of its last change. */
static bool same(const struct kj_doc *a, const struct kj_val *b)
{
    if (!a || !b)
        return !a && !b;
    return kj_equal(kj_root(a), b) || managed_only_times(kj_root(a), b);
}

static void later_free(struct admission_later *l)
{
    kj_doc_free(l->obj);
    kj_doc_free(l->old);
    kj_doc_free(l->result);
    vec_foreach(&l->warnings, i)
        free(l->warnings.items[i]);
    vec_fini(&l->warnings);
    free(l);
}

struct admission_later *admission_later(const struct admission_req *r)
{
    struct admission_later *l = xnew0(struct admission_later);

    l->call = r->call;
    l->next = r->call->laters;
    r->call->laters = l;
    call_waits(r->call);
    return l;
}

void admission_on_gone(struct admission_later *l, void (*fn)(void *arg), void *arg)
{
    l->gone = fn;
    l->gone_arg = arg;
}

void admission_later_warn(struct admission_later *l, const char *text)
{
    vec_push(&l->warnings, xstrdup(text));
}

/* Nobody waits for it any more. */
static void later_drop(struct admission_later *l)
{
    l->call = NULL;
    if (!l->answered && l->gone)
        l->gone(l->gone_arg);
    if (l->answered || l->gone)
        later_free(l); /* else whoever answers frees it */
}

void admission_forget(struct api_call *c)
{
    while (c->laters) {
        struct admission_later *l = c->laters;
        c->laters = l->next;
        later_drop(l);
    }
}

const struct kj_val *admission_kept(const struct api_call *c)
{
    for (const struct admission_later *l = c->laters; l; l = l->next)
        if (!l->mutating && l->answered)
            return kj_root(l->obj);
    return NULL;
}

/* ---- answering ------------------------------------------------------------------------------- */

/* False: to nobody, and it is gone. */
static bool answered(struct admission_later *l)
{
    l->answered = true;
    if (l->call)
        return true;
    later_free(l);
    return false;
}

void admission_answer(struct admission_later *l, const struct admission_refusal *why)
{
    struct api_call *c = l->call;

    if (!answered(l))
        return;
    if (why) {
        const struct admission_req r = { .call = c };
        (void)admission_refuse(&r, why->webhook, why->code, why->reason, why->message);
        l->refusal = take(c->refusal);
    }
    api_again(c);
}

void admission_answer_object(struct admission_later *l, struct kj_doc *obj)
{
    struct api_call *c = l->call;

    l->result = obj;
    if (answered(l))
        api_again(c);
}

void admission_answer_status(struct admission_later *l, int code, const char *reason,
                             const char *message, const char *details)
{
    struct api_call *c = l->call;

    if (!answered(l))
        return;
    struct api_refusal *x = arena_new0(c->arena, struct api_refusal);
    x->code = code;
    x->reason = arena_strdup(c->arena, reason);
    x->message = arena_strdup(c->arena, message);
    x->details = details ? arena_strdup(c->arena, details) : NULL;
    l->refusal = x;
    api_again(c);
}

/* ---- looking again --------------------------------------------------------------------------- */

bool later_expects(const struct api_call *c, size_t step, bool mutating)
{
    for (const struct admission_later *l = c->laters; l; l = l->next)
        if (l->step == step && l->mutating == mutating && l->answered)
            return true;
    return false;
}

const struct admission_later *later_find(struct api_call *c, size_t step, bool mutating,
                                         const struct admission_req *r, const struct kj_val *obj)
{
    for (struct admission_later **at = &c->laters; *at; at = &(*at)->next) {
        struct admission_later *l = *at;
        if (l->step != step || l->mutating != mutating)
            continue;
        if (same(l->obj, obj) && same(l->old, r->old))
            return l;
        *at = l->next;
        later_drop(l);
        break;
    }
    return NULL;
}

const struct api_refusal *later_use(const struct admission_later *l, struct api_call *c)
{
    vec_foreach(&l->warnings, i)
        api_warn(c, "%s", l->warnings.items[i]);
    return l->refusal;
}

const struct kj_val *later_result(const struct admission_later *l)
{
    return l->result ? kj_root(l->result) : NULL;
}

int later_wait(struct api_call *c, size_t step, bool mutating, const struct admission_req *r,
               const struct kj_val *obj, struct kerr *err)
{
    struct admission_later *l = c->laters;

    assert(l && l->call == c && !l->answered);
    l->step = step;
    l->mutating = mutating;
    l->obj = copy_of(obj);
    l->old = copy_of(r->old);
    if (++c->asked <= ASKED_MAX)
        return -EINPROGRESS;
    c->laters = l->next;
    later_drop(l);
    return api_err_conflict(c, err, r->res, r->name);
}
