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
        if (!step->validate)
            continue;
        int e = step->validate(s->steps.items[i].self, r, obj, err);
        if (e < 0)
            return refused(e, err);
    }
    return 0;
}
