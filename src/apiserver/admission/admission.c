/* admission.c - runs the steps in order. */
#include "apiserver/server_int.h"

void apiserver_add_admission(struct apiserver *s, const struct admission_step *step, void *self)
{
    vec_push(&s->steps, ((struct admission_entry){ step, self }));
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
    vec_foreach(&s->steps, i) {
        const struct admission_step *step = s->steps.items[i].step;
        if (!step->mutate)
            continue;
        int e = step->mutate(s->steps.items[i].self, r, d, obj, err);
        if (e < 0)
            return refused(e, err);
    }
    return 0;
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
